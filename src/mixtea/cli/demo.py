"""mixtea demo"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from mixtea.cli import options
from mixtea.cli.tables import cell_text
from mixtea.cli.training import TrainingConsole
from mixtea.compute.torchrun import is_first
from mixtea.example import load_example
from mixtea.messages import visible
from mixtea.pipeline import train

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA

DEMO = Path("runs/demo")


def demo(
    out: Annotated[
        Path | None,
        typer.Option(help="The run folder to write; by default runs/demo, where an earlier demo is replaced."),
    ] = None,
    preset: options.Preset = "best",
    seed: Annotated[int, typer.Option(help="Random seed.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run that is in --out.")] = False,
    device: options.Device = None,
) -> None:
    """Align the bundled example: the world by GeoNames (English) and by Unicode CLDR (French).

    Example: mixtea demo --out runs/demo
    """
    settings: dict[str, Any] = {"seed": seed} | ({"device": device} if device else {})
    place, overwrite = out or DEMO, overwrite or out is None
    aligner = train(load_example, place, preset=preset, overwrite=overwrite, callbacks=TrainingConsole(), **settings)
    if not is_first():
        return
    Console().print(examples(aligner, seed))
    run = visible(shlex.quote(str(place)))
    typer.echo(f"Next: mixtea predict {run} --out candidates.tsv    (or: mixtea export {run} --out mapping.tsv)")


def examples(aligner: MixTEA, seed: int, n: int = 10) -> Table:
    """Show ten random test links: the predicted target, among all targets, and whether it is right."""
    task, candidates = aligner.task_, aligner.predict(k=1)
    predicted = dict(zip(candidates.source_index.tolist(), range(len(candidates)), strict=True))
    table = Table(title="Ten mappings of test entities, drawn at random", title_justify="left")
    for heading in ("source", "predicted target", "probability", "right?"):
        table.add_column(heading, justify="right" if heading == "probability" else "left")
    drawn = np.random.default_rng(seed).choice(len(task.test), size=min(n, len(task.test)), replace=False)
    for source, truth in task.test[drawn].tolist():
        row = predicted[source]
        target = int(candidates.target_index[row, 0])
        verdict = "yes" if target == truth else f"no: {task.target.display(truth)}"
        names = (task.source.display(source), task.target.display(target))
        table.add_row(*map(cell_text, names), f"{candidates.probability[row, 0]:.2f}", cell_text(verdict))
    return table
