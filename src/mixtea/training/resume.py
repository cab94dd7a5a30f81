"""The state of a whole training, and a training that goes on from it to the same end. Every part knows its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mixtea.compute.array_checks import check_history, check_numbers, check_same_form
from mixtea.compute.arrays import State, as_array, as_arrays, as_tensors
from mixtea.council.trace import check_trace
from mixtea.errors import RunError, VoterError
from mixtea.training.state import (
    optimiser_state,
    restore_optimiser,
    restore_threads,
)
from mixtea.voters.votes import votes_of_state

if TYPE_CHECKING:
    from mixtea.training.trainer import Trainer

LOWERED = {"diverged_at", "to_epoch", "factor"}
NEEDED = ("loss_alignment", "seconds")  # in the record of an epoch


def state_of(trainer: Trainer) -> State:
    """Everything that the epochs to come depend on."""
    return {
        "device": trainer.links.device.type,
        "student": as_arrays(trainer.student.state_dict()),
        "teacher": as_arrays(trainer.teacher.state_dict()),
        "optimiser": optimiser_state(trainer.optimiser),
        "generator": as_array(trainer.generator.get_state()),
        "threads": torch.get_num_threads(),
        "negatives": trainer.negatives.state_dict(),
        "votes": None if trainer.votes is None else trainer.votes.state_dict(),
        "counts": trainer.counts,
        "trace": trainer.trace.state_dict(),
        "strategy": None if trainer.strategy is None else trainer.strategy.state_dict(),
        "council": trainer.council.state_dict(),
        "progress": trainer.progress.state_dict(),
        "history": trainer.history,
        "seconds": trainer.seconds(),
        "lowered": trainer.lowered,
    }


def restore(trainer: Trainer, state: State) -> None:
    """Go on from a state of a training of the same task with the same settings, whoever wrote it."""
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
    """What belongs to no part."""
    check_history(state["history"])
    if any(name not in record for record in state["history"] for name in NEEDED):
        raise ValueError("a record of the history without its loss or seconds")
    check_numbers([state["seconds"], *state["counts"].values(), *state["lowered"].values()])
    if state["lowered"] and state["lowered"].keys() != LOWERED:
        raise ValueError("what it says of the learning rate")


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
    trainer.progress.load_state_dict(state["progress"], trainer.student, n_epochs)
    trainer.history, trainer.lowered = list(state["history"]), dict(state["lowered"])
    trainer.seconds_before = float(state["seconds"])
    trainer.generator.set_state(torch.from_numpy(state["generator"]))
