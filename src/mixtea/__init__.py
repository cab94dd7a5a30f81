"""mixtea finds which entities of two knowledge graphs are the same, from a few known links.

>>> from mixtea import MixTEA, load_example
>>> task = load_example()                                  # or load_task("data/EN_DE_15K_V1", fold=1)
>>> aligner = MixTEA(preset="paper", max_epochs=20, seed=1).fit(task)
>>> candidates = aligner.predict(k=10)                      # ranked candidates for every entity without a link
>>> candidates.best().columns.tolist()
['source', 'target', 'rank', 'score', 'probability', 'voters']
>>> sorted(aligner.score(task.test))[-4:]
['hits@1', 'hits@10', 'hits@5', 'mrr']
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA
    from mixtea.callbacks import Callback
    from mixtea.config import Config
    from mixtea.decide.candidates import Candidates
    from mixtea.decide.mapping import Mapping
    from mixtea.errors import ConfigError, DataError, MixTEAError, NotFittedError, RunError
    from mixtea.evaluation.evaluate import Evaluation, evaluate
    from mixtea.example import load_example
    from mixtea.export.splits import split_links
    from mixtea.graph.task import Task
    from mixtea.io.filter import GraphFilter
    from mixtea.io.load import load_task
    from mixtea.io.load_graph import load_graph
    from mixtea.io.safe.limits import Limits
    from mixtea.pipeline import train
    from mixtea.update_run import update

try:
    __version__ = version("mixtea")
except PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0+unknown"

__all__ = [
    "Callback",
    "Candidates",
    "Config",
    "ConfigError",
    "DataError",
    "Evaluation",
    "GraphFilter",
    "Limits",
    "Mapping",
    "MixTEA",
    "MixTEAError",
    "NotFittedError",
    "RunError",
    "Task",
    "evaluate",
    "load_example",
    "load_graph",
    "load_task",
    "split_links",
    "train",
    "update",
]

_ROOMS = {
    "mixtea.aligner": ["MixTEA"],
    "mixtea.callbacks": ["Callback"],
    "mixtea.config": ["Config"],
    "mixtea.io.filter": ["GraphFilter"],
    "mixtea.io.safe.limits": ["Limits"],
    "mixtea.graph.task": ["Task"],
    "mixtea.io.load": ["load_task"],
    "mixtea.io.load_graph": ["load_graph"],
    "mixtea.pipeline": ["train"],
    "mixtea.update_run": ["update"],
    "mixtea.errors": ["ConfigError", "DataError", "MixTEAError", "NotFittedError", "RunError"],
    "mixtea.example": ["load_example"],
    "mixtea.export.splits": ["split_links"],
    "mixtea.decide.candidates": ["Candidates"],
    "mixtea.decide.mapping": ["Mapping"],
    "mixtea.evaluation.evaluate": ["Evaluation", "evaluate"],
}


def __getattr__(name: str) -> Any:
    """Each is imported on use: torch and pandas take seconds, in which the command could not be stopped in peace."""
    for room, names in _ROOMS.items():
        if name in names:
            return getattr(import_module(room), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, whether they were used already or not."""
    return sorted([*__all__, "__version__"])
