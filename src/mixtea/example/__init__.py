"""The bundled example: the world in GeoNames (English) and Unicode CLDR (French)."""

from __future__ import annotations

from pathlib import Path

from mixtea.graph.task import Task
from mixtea.io.load import load_task

FOLDER = Path(__file__).parent / "world"


def load_example(fold: int | None = None) -> Task:
    """Load the bundled task; see the README beside it for contents and sources.

    `fold` is one of its five splits, 1 unless given. Returns a Task. Raises DataError for a fold that does not exist.

    >>> load_example().name
    'world'
    """
    return load_task(FOLDER, fold)
