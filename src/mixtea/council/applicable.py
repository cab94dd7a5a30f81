"""Which voters and epochs a task leaves room for: without relation triples, structure has nothing to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixtea.config import Config
from mixtea.errors import ConfigError
from mixtea.graph.task import Task
from mixtea.voters.registry import voter_named


def has_structure(task: Task) -> bool:
    """Whether both graphs have relation triples."""
    return bool(task.source.n_triples and task.target.n_triples)


def suited(task: Task, config: Config) -> dict[str, Any]:
    """Return the settings that a task without relation triples asks for: none of its voters needs them, and no epoch.

    Empty where both graphs have relation triples. Raises ConfigError where nobody would be left.
    """
    if has_structure(task):
        return {}
    voters, deciding = (_without_structure(task, names) for names in (config.voters, config.decode_voters))
    return {"voters": voters, "decode_voters": deciding, "max_epochs": 0}


def is_suited(task: Task, config: Config) -> bool:
    """Return whether a voter is left of those of the settings."""
    try:
        suited(task, config)
    except ConfigError:
        return False
    return True


def _without_structure(task: Task, names: Sequence[str]) -> tuple[str, ...]:
    left = tuple(name for name in names if "triples" not in voter_named(name).needs)
    if names and not left:
        who = " and ".join(side for side in ("source", "target") if not getattr(task, side).n_triples)
        raise ConfigError(
            f"{task.name}: the {who} graph has no relation triple, and {', '.join(names)} learn from nothing else. "
            "Let voters that compare names and values vote too, as in the preset best (--voters names,attributes)."
        )
    return left
