"""State of a whole training, composed of its parts' states; restoring it continues to the same end."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import torch

from mixtea.compute.arrays import (
    State,
    as_arrays,
    as_numpy,
    as_tensors,
    check_history,
    check_numbers,
    check_same_form,
    check_scores,
    checked_rows,
    to_tensor,
)
from mixtea.compute.scored_pairs import SCORE, ScoredPairs
from mixtea.council.trace import check_trace
from mixtea.errors import RunError, VoterError
from mixtea.graph.graph import SIDES
from mixtea.voters.votes import votes_of_state, votes_state

if TYPE_CHECKING:
    from mixtea.training.trainer import Trainer


LOWERED_FIELDS = {"diverged_at", "to_epoch", "factor"}
RECORD_FIELDS = ("loss_alignment", "seconds")  # required in the record of an epoch
logger = logging.getLogger(__name__)
MOMENTS = {"step", "exp_avg", "exp_avg_sq"}
MAX_THREADS = 1 << 16


def training_state(trainer: Trainer) -> State:
    """Return everything that the epochs to come depend on."""
    return {
        "device": trainer.links.device.type,
        "student": as_arrays(trainer.student.state_dict()),
        "teacher": as_arrays(trainer.teacher.state_dict()),
        "optimiser": optimiser_state(trainer.optimiser),
        "generator": as_numpy(trainer.generator.get_state()),
        "threads": torch.get_num_threads(),
        "negatives": trainer.negatives.state_dict(),
        "votes": None if trainer.votes is None else votes_state(trainer.votes),
        "counts": trainer.counts,
        "trace": trainer.trace.state_dict(),
        "strategy": None if trainer.strategy is None else trainer.strategy.state_dict(),
        "council": trainer.council.state_dict(),
        "holdout": None if trainer.holdout is None else _pairs_state(trainer.holdout),
        "progress": trainer.stopping.state_dict(),
        "history": trainer.history,
        "seconds": trainer.seconds(),
        "lowered": trainer.lowered,
    }


def restore_training(trainer: Trainer, state: State) -> None:
    """Restore a state of a training of the same task with the same settings; it may come from anywhere."""
    if state.get("device") != trainer.links.device.type:
        raise RunError(f"This training ran on {state.get('device')}; go on there (--device).")
    try:
        _check(state)
        _restore(trainer, state)
    except VoterError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise RunError(f"The state does not fit the task and the settings: {error}") from None


def _check(state: State) -> None:
    """Check what belongs to no part."""
    check_history(state["history"])
    if any(name not in record for record in state["history"] for name in RECORD_FIELDS):
        raise ValueError("a record of the history without its loss or seconds")
    check_numbers([state["seconds"], *state["counts"].values(), *state["lowered"].values()])
    if state["lowered"] and state["lowered"].keys() != LOWERED_FIELDS:
        raise ValueError("the fields of the learning rate")


def _restore(trainer: Trainer, state: State) -> None:
    n_epochs, device, parameters = len(state["history"]), trainer.links.device, as_arrays(trainer.student.state_dict())
    if device.type == "cpu":
        restore_threads(state["threads"])
    for encoder, name in ((trainer.student, "student"), (trainer.teacher, "teacher")):
        check_same_form(state[name], parameters, name)
        encoder.load_state_dict(as_tensors(state[name], device))
    restore_optimiser(trainer.optimiser, state["optimiser"])
    trainer.negatives.load_state_dict(state["negatives"])
    if state["votes"] is not None:
        n_voters, kind = len(trainer.council.voters), trainer.config.precision
        trainer.votes = votes_of_state(state["votes"], trainer.entities.shape, n_voters, trainer.links, kind)
    trainer.counts = dict(state["counts"])
    for part in ("closed", "open"):
        check_trace(state["trace"][part], trainer.entities.sizes, trainer.trace.n_voters, n_epochs)
    trainer.trace.load_state_dict(state["trace"])
    if trainer.strategy is not None:
        trainer.strategy.load_state_dict(state["strategy"])
    trainer.council.load_state_dict(state["council"])
    trainer.holdout = None if state["holdout"] is None else _pairs_of_state(state["holdout"], trainer)
    trainer.stopping.load_state_dict(state["progress"], trainer.student, n_epochs)
    trainer.history, trainer.lowered = list(state["history"]), dict(state["lowered"])
    trainer.seconds_before = float(state["seconds"])
    trainer.generator.set_state(to_tensor(state["generator"]))


def _pairs_state(pairs: ScoredPairs) -> State:
    return {"source": as_numpy(pairs.source), "target": as_numpy(pairs.target), "scores": as_arrays(pairs.scores)}


def _pairs_of_state(state: State, trainer: Trainer) -> ScoredPairs:
    """Restore opinions about held-out links, by entity index; ValueError if they are not of these graphs and voters."""
    shape, like, scores = trainer.task.joint_index.shape, trainer.entities.rows[0], state["scores"]
    if not scores.keys() <= {voter.opinion for voter in trainer.council.voters}:
        raise ValueError("opinions of unknown voters")
    for name, values in scores.items():
        check_scores(name, values, trainer.config.precision, or_nan=True)
    ends = [as_numpy(checked_rows(state[side], n, like)) for side, n in zip(SIDES, shape, strict=True)]
    if any(len(part) != len(ends[0]) for part in (ends[1], *scores.values())):
        raise ValueError("opinions of different lengths")
    return ScoredPairs.of(ends, shape, **{SCORE + name: values for name, values in scores.items()})


def optimiser_state(optimiser: torch.optim.Optimizer) -> State:
    """Return Adam's moments and steps; rates and the like come from the settings."""
    return {str(number): as_arrays(held) for number, held in optimiser.state_dict()["state"].items()}


def restore_optimiser(optimiser: torch.optim.Optimizer, state: State) -> None:
    for parts in state.values():
        if parts.keys() != MOMENTS or parts["step"].shape != () or not parts["step"] >= 0:
            raise ValueError("the optimiser's state is of another form")
    held = {int(number): as_tensors(parts, torch.device("cpu")) for number, parts in state.items()}
    for group in optimiser.param_groups:
        for number, parameter in enumerate(group["params"]):
            moments = [part for name, part in held.get(number, {}).items() if name != "step"]
            if any(part.shape != parameter.shape for part in moments):
                raise ValueError(f"the optimiser's state of parameter {number} has another shape")
    optimiser.load_state_dict({"state": held, "param_groups": optimiser.state_dict()["param_groups"]})


def restore_threads(n: int) -> None:
    """Set as many as before, for their number decides how products and sums round; `fit` sets them back."""
    if type(n) is not int or not 0 < n <= MAX_THREADS:
        raise ValueError("a number of threads that cannot be")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n == torch.get_num_threads():
        return
    if n > cores:
        few = "core" if cores == 1 else "cores"
        logger.warning("It began with %d threads and there are %d %s: the last bits may differ.", n, cores, few)
        return
    torch.set_num_threads(n)
