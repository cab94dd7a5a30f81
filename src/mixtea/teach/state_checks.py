"""What a state must look like before a training goes on from it: a checkpoint may be anyone's.

Every check raises ValueError, TypeError or KeyError; who calls it names the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from mixtea.match.candidates import JUDGES, VOTERS
from mixtea.teach.state import State

LOWERED = {"diverged_at", "to_epoch", "factor"}
MOMENTS = {"step", "exp_avg", "exp_avg_sq"}
MOST_THREADS = 1 << 16
POSITIONS = 624  # of NumPy's shared generator, whose code would read past them


def check_state(state: State, parameters: Mapping[str, Tensor], sizes: tuple[int, int], n_source: int) -> None:
    """Everything but indices, which are checked where they are used.

    `parameters` are the student's, `sizes` the numbers of unlabelled sources and targets.
    """
    check_history(state["history"])
    n_epochs, n = len(state["history"]), len(parameters["entity"])
    check_numbers(state["weights"], 2)
    check_numbers([state["seconds"], state["progress"]["best"], state["progress"]["misses"]])
    check_numbers(list(state["counts"].values()))
    if state["lowered"] and state["lowered"].keys() != LOWERED:
        raise ValueError("what it says of the learning rate")
    check_numbers(list(state["lowered"].values()))
    if type(state["threads"]) is not int or not 0 < state["threads"] <= MOST_THREADS:
        raise ValueError("a number of threads that cannot be")
    best_epoch = state["progress"]["best_epoch"]
    if best_epoch is not None and not (type(best_epoch) is int and 0 < best_epoch <= n_epochs):
        raise ValueError("its best epoch is not among those there were")
    for name in ("student", "teacher"):
        check_same_form(state[name], parameters, name)
    if state["progress"]["kept"] is not None:
        check_same_form(state["progress"]["kept"], parameters, "the best student")
    for held in state["optimiser"].values():
        if held.keys() != MOMENTS or held["step"].shape != () or not held["step"] >= 0:
            raise ValueError("the optimiser's state is of another form")
    check_votes(state["votes"], sizes, parameters["entity"])
    check_trace(state["trace"], n_source, n - n_source, n_epochs)
    if state["negatives"].ndim != 3 or state["negatives"].shape[2] != 2:
        raise ValueError("negatives of another form")
    if state["council"] is not None:
        check_council(state["council"], parameters["entity"])
    shared = state["random"]["numpy"]["state"]
    if shared["key"].shape != (POSITIONS,) or not 0 <= shared["pos"] <= POSITIONS:
        raise ValueError("a random state of another form")


def check_numbers(values: list[Any], n: int | None = None) -> None:
    """Finite numbers, and n of them."""
    for value in values:
        if type(value) not in (int, float) or not abs(value) < 1e300 or math.isnan(value):
            raise ValueError("what should be a number is none")
    if n is not None and len(values) != n:
        raise ValueError(f"{len(values)} numbers instead of {n}")


def check_history(history: Any) -> None:
    """A record an epoch, of numbers."""
    for epoch, record in enumerate(history, 1):
        check_numbers(list(record.values()))
        if record["epoch"] != epoch or "loss_alignment" not in record or "seconds" not in record:
            raise ValueError(f"record {epoch} of the history is not of this epoch")


def check_same_form(arrays: Mapping[str, np.ndarray], parameters: Mapping[str, Tensor], what: str) -> None:
    """As many numbers of the same kind as the parameters, and finite."""
    if arrays.keys() != parameters.keys():
        raise ValueError(f"{what} has other parameters")
    for name, array in arrays.items():
        kind = str(parameters[name].dtype).removeprefix("torch.")
        if array.dtype != kind or array.shape != tuple(parameters[name].shape):
            raise ValueError(f"{what}: {name} is {array.dtype} {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{what}: {name} holds what is no number")


def check_votes(votes: State | None, sizes: tuple[int, int], like: Tensor) -> None:
    if votes is None:
        return
    check_scores(votes["confidence"], like)
    if tuple(votes["shape"]) != sizes:
        raise ValueError("votes about other entities")
    bits = votes["voters"]
    if bits is not None and bits.size and not (bits.min() >= 0 and bits.max() < 1 << len(VOTERS)):
        raise ValueError("votes of unknown voters")


def check_scores(scores: np.ndarray, like: Tensor) -> None:
    """Numbers of the vectors' kind, in a row, and finite."""
    if scores.ndim != 1 or scores.dtype != str(like.dtype).removeprefix("torch.") or not np.isfinite(scores).all():
        raise ValueError("scores that are none")


def check_trace(trace: Mapping[str, np.ndarray], n_source: int, n_target: int, n_epochs: int) -> None:
    """Intervals of epochs in which known voters favoured entities that there are."""
    for table in trace.values():
        if table.ndim != 2 or table.shape[1] != 5 or table.dtype != np.int32:
            raise ValueError("a trace of another form")
        ends = np.array([n_source, n_target, 1 << len(VOTERS), n_epochs + 1, n_epochs + 1])
        if not ((table >= [0, 0, 0, 1, 1]) & (table < ends)).all() or (table[:, 3] > table[:, 4]).any():
            raise ValueError("a trace of entities, voters or epochs that there are not")


def check_council(council: State, like: Tensor) -> None:
    opinions = council["opinions"] or {"weights": {}, "scores": {}}
    for named in (council["weights"], opinions["weights"], opinions["scores"]):
        if not set(named) <= set(JUDGES):
            raise ValueError("opinions of unknown voters")
    check_numbers([*council["weights"].values(), *opinions["weights"].values()])
    if council["opinions"] is not None:
        for scores in (opinions["belief"], opinions["total"], *opinions["scores"].values()):
            check_scores(scores, like)
