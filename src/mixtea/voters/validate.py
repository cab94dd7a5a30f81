"""Calls of voters: NumPy or tensors come back, and become pairs of open entities and tensors."""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np
import torch
from torch import Tensor

from mixtea.callbacks import report_step
from mixtea.compute.memory import enough_memory
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.voters.base import MAX_SCORE, Voter, VotingState
from mixtea.voters.registry import voter_error


def memory_for(voter: Voter) -> AbstractContextManager[None]:
    """Name the voter in the error when it fills memory, unless it has raised one with other advice."""
    return enough_memory(
        f"The voter {voter.name} fills it: leave it out of the setting voters, or use a machine with more memory."
    )


def proposed_pairs(voter: Voter, state: VotingState) -> ScoredPairs | None:
    """Return the candidates of a voter by open indices; None where it proposes none.

    Entity indices are converted; entities that are not open are left out.
    """
    report_step(f"{voter.name}: candidates")
    with memory_for(voter):
        found = voter.propose(state) if voter.proposes else None
    if found is None or isinstance(found, ScoredPairs):
        return found
    return state.entities.of_entities(found)


def voter_scores(voter: Voter, asked: ScoredPairs, state: VotingState) -> Tensor:
    """Return a voter's scores as a tensor of the vectors' dtype, NaN for no opinion."""
    report_step(f"{voter.name}: comparing")
    with memory_for(voter):
        given = voter.score(asked, state)
    found = given if isinstance(given, Tensor) else torch.as_tensor(np.array(given, dtype=np.float64))
    found = found.to(asked.source.device, getattr(torch, state.config.precision))
    if (found.abs() > MAX_SCORE).any():
        raise voter_error(
            voter.name, "must score by numbers between -1e6 and 1e6, or NaN for no opinion; it gave others"
        )
    return found
