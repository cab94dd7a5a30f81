"""Adapt settings to a task and a device: voters, epochs and precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mixtea.config import FIELDS, PRESETS, PROPAGATION_SIZES, Config
from mixtea.errors import ConfigError
from mixtea.graph.task import Task
from mixtea.voters.registry import voter_class

REVIEWER = "reviewer"  # the voter
MIN_LARGE = 50_000  # entities of each side from which on propagation is approximate on a CPU


def adapt_config(task: Task, config: Config, device: str) -> Config:
    """Return the settings with which a task is trained on a kind of device, "cpu" or "cuda".

    Parameters
    ----------
    task, config
        What is aligned, and the settings as they were chosen.
    device
        The kind of device.

    Returns
    -------
    Config
        The same settings where the task asks for nothing else. Reviewers vote where there are decisions of theirs,
        voters and epochs that need relation triples are left out where a side has none, and large graphs are
        propagated in fewer dimensions on a CPU.

    Raises
    ------
    ConfigError
        No voter would be left.
    """
    for changes in (with_reviewer, without_structure):
        config = config.replace(**changes(task, config))
    return config.replace(**lighten(task, config, device))


def has_structure(task: Task) -> bool:
    """Return whether both graphs have relation triples."""
    return bool(task.source.n_triples and task.target.n_triples)


def can_vote(task: Task, config: Config) -> bool:
    """Return whether a voter of the settings is left."""
    try:
        without_structure(task, config)
    except ConfigError:
        return False
    return True


def with_reviewer(task: Task, config: Config) -> dict[str, Any]:
    """Let people's opinions vote beside all others, where the task has such; return the settings to change."""
    if not len(task.reviewed.pairs) or REVIEWER in config.voters:
        return {}
    return {"voters": (*config.voters, REVIEWER)}


def without_structure(task: Task, config: Config) -> dict[str, Any]:
    """Leave out voters and epochs that need relation triples, where a side has none; return the settings to change.

    Raises ConfigError where no voter would be left.
    """
    if has_structure(task):
        return {}
    voters, deciding = (_without_triples(task, names) for names in (config.voters, config.decode_voters))
    return {"voters": voters, "decode_voters": deciding, "max_epochs": 0}


def lighten(task: Task, config: Config, device: str) -> dict[str, Any]:
    """Take an eighth of the work in propagation and a quarter in L_u for large graphs on a CPU; else change nothing.

    Sizes that a user has chosen stay.
    """
    large = min(task.joint_index.shape) >= MIN_LARGE
    usual = all(getattr(config, name) == FIELDS[name].default for name in PROPAGATION_SIZES)
    if not (large and usual and device == "cpu" and "propagation" in config.voters):
        return {}
    rows = {"loss_rows": config.loss_rows / 4} if config.loss_rows == PRESETS["best"]["loss_rows"] else {}
    return {name: getattr(config, name) // 2 for name in PROPAGATION_SIZES} | rows


def _without_triples(task: Task, names: Sequence[str]) -> tuple[str, ...]:
    left = tuple(name for name in names if "triples" not in voter_class(name).needs)
    if names and not left:
        who = " and ".join(side for side in ("source", "target") if not getattr(task, side).n_triples)
        raise ConfigError(
            f"{task.name}: the {who} graph has no relation triple, and {', '.join(names)} learn from nothing else. "
            "Let voters that compare names and values vote too, as in the preset best (--voters names,attributes)."
        )
    return left
