"""The state of a whole training, and a training that goes on from it to the same end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from mixtea.errors import RunError
from mixtea.teach.state import (
    State,
    as_array,
    as_arrays,
    as_tensors,
    checked_rows,
    optimiser_state,
    random_states,
    restore_optimiser,
    restore_random_states,
    restore_threads,
    restored_votes,
    votes_state,
)  # fmt: skip
from mixtea.teach.state_checks import check_state

if TYPE_CHECKING:
    from mixtea.teach.loop import Trainer


def state_of(trainer: Trainer) -> State:
    """Everything that the epochs to come depend on."""
    return {
        "device": trainer.links.device.type,
        "student": as_arrays(trainer.student.state_dict()),
        "teacher": as_arrays(trainer.teacher.state_dict()),
        "optimiser": optimiser_state(trainer.optimiser),
        "generator": as_array(trainer.generator.get_state()),
        "random": random_states(),
        "threads": torch.get_num_threads(),
        "weights": trainer.weights,
        "negatives": as_array(trainer.negatives),
        "votes": votes_state(trainer.votes),
        "proposed": as_array(trainer.proposed),
        "counts": trainer.counts,
        "trace": trainer.trace.state(),
        "strategy": trainer.strategy.state(),
        "council": None if trainer.council is None else trainer.council.state(),
        "progress": trainer.progress.state(),
        "history": trainer.history,
        "seconds": trainer.seconds(),
        "lowered": trainer.lowered,
    }


def restore(trainer: Trainer, state: State) -> None:
    """Go on from a state of a training of the same task with the same settings."""
    if state.get("device") != trainer.links.device.type:
        raise RunError(f"This training ran on {state.get('device')}; go on there (--device).")
    try:
        _restore(trainer, state)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise RunError(f"The state does not fit the task and the settings: {error}") from None


def _restore(trainer: Trainer, state: State) -> None:
    sizes = (len(trainer.rows[0]), len(trainer.rows[1]))
    check_state(state, trainer.student.state_dict(), sizes, trainer.structure.n_source)
    links, n = trainer.links, len(trainer.student.entity)
    if links.device.type == "cpu":
        restore_threads(state["threads"])
    for encoder, name in ((trainer.student, "student"), (trainer.teacher, "teacher")):
        encoder.load_state_dict(as_tensors(state[name], links.device))
    restore_optimiser(trainer.optimiser, state["optimiser"])
    checked_rows(state["negatives"].reshape(-1), n, links)
    trainer.negatives = torch.from_numpy(state["negatives"]).to(links.device)
    trainer.proposed = checked_rows(state["proposed"], n, links, 2)
    trainer.votes = restored_votes(state["votes"], links)
    trainer.weights, trainer.counts = [float(weight) for weight in state["weights"]], dict(state["counts"])
    trainer.trace.restore(state["trace"])
    trainer.strategy.restore(state["strategy"])
    if trainer.council is not None:
        trainer.council.restore(state["council"])
    trainer.progress.restore(state["progress"], trainer.student)
    trainer.history, trainer.lowered = list(state["history"]), dict(state["lowered"])
    trainer.seconds_before = float(state["seconds"])
    trainer.generator.set_state(torch.from_numpy(state["generator"]))
    restore_random_states(state["random"])
