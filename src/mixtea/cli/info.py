"""mixtea info"""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import typer

from mixtea.cli import options
from mixtea.messages import visible
from mixtea.voters.registry import known_voters

EXTRAS = {
    "faiss": "faiss", "optuna": "tune", "sentence_transformers": "text", "tensorboard": "tensorboard",
    "torch_geometric": "benchmarks", "fastapi": "review",
}  # fmt: skip


def info(as_json: options.AsJson = False) -> None:
    """Show versions, the default device, available voters, and installed optional libraries.

    Example: mixtea info --json
    """
    import torch

    from mixtea.aligner.saving import versions
    from mixtea.compute.device import choose_device, describe_device

    extras = {name: importlib.util.find_spec(name) is not None for name in EXTRAS}
    found: dict[str, Any] = {
        "versions": versions(),
        "device": describe_device(choose_device("auto")),
        "cuda": torch.cuda.is_available(),
        "threads": torch.get_num_threads(),
        "extras": extras,
        "voters": known_voters(),
    }
    if as_json:
        typer.echo(json.dumps(found, indent=1))
        return
    for name, number in found["versions"].items():
        typer.echo(f"{name:12} {number}")
    typer.echo(f"{'device':12} {found['device']}, {found['threads']} threads")
    typer.echo(f"{'voters':12} {', '.join(map(visible, found['voters']))}")
    for name, there in extras.items():
        typer.echo(f"{name:12} " + ("found" if there else f"not installed: pip install 'mixtea[{EXTRAS[name]}]'"))
