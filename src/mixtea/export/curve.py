"""Precision and recall by threshold, as a table or a picture."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from mixtea.export.metadata import add_link_origin
from mixtea.messages import origin_of
from mixtea.runs.atomic import atomic_file


def write_curve(curve: pd.DataFrame, path: Path, links_from: str = "given") -> None:
    """Write all columns of the curve (.csv), or draw precision, recall and F1 by minimum probability (.png)."""
    with atomic_file(path) as temporary:
        if path.suffix.lower() == ".csv":
            add_link_origin(curve, links_from).to_csv(temporary, index=False)
        else:
            _draw(curve, temporary, origin_of(links_from))


def _draw(curve: pd.DataFrame, path: Path, title: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    axes = figure.subplots()
    for name, style, colour in (("precision", "-", "#1b4f72"), ("recall", "--", "#b9770e"), ("f1", ":", "#616a6b")):
        axes.step(curve["threshold"], curve[name], style, where="post", color=colour, label=name.replace("f1", "F1"))
    axes.set(xlabel="least probability of a mapping", ylabel="share", xlim=(0, 1), ylim=(0, 1.02))
    axes.set_title(title, fontsize="medium")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, format="png", dpi=130, metadata={"Software": None, "Description": title or None})
