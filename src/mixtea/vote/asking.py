"""Asking a voter, whoever wrote it: what comes back is checked, and an error names the voter."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mixtea.compute.memory import enough_memory
from mixtea.compute.pairs import Pairs
from mixtea.errors import VoterError
from mixtea.vote.open_entities import EntityPairs, OpenEntities
from mixtea.vote.voter import LARGEST, Voter, VotingState


def memory_for(voter: Voter) -> AbstractContextManager[None]:
    """Name the voter in the error when it fills memory, unless it has raised one with another way out."""
    return enough_memory(
        f"The voter {voter.name} fills it: leave it out of the setting voters, or use a machine with more memory."
    )


def proposal_of(voter: Voter, state: VotingState) -> Pairs | None:
    """The candidates that a voter proposes, as places among the open entities; None where it proposes none."""
    with memory_for(voter):
        found = voter.propose(state) if voter.proposes else None
    return found if found is None or isinstance(found, Pairs) else _as_pairs(voter, found, state.entities)


def _as_pairs(voter: Voter, proposed: Any, entities: OpenEntities) -> Pairs:
    """From numbers in their own graphs; those that are not open are left out."""
    ends = np.asarray(proposed)
    ends = ends if ends.size else np.empty((0, 2), dtype=np.int64)
    numbers = ends.ndim == 2 and ends.shape[1] == 2 and ends.dtype.kind in "iu"
    if not numbers or not ((ends >= 0) & (ends < np.array(entities.sizes))).all():
        raise VoterError(
            f"The voter {voter.name!r} proposed no pairs [p, 2] of source and target numbers, but {ends.dtype} "
            f"{list(ends.shape)}, or numbers outside the graphs."
        )
    source, target = torch.from_numpy(ends.astype(np.int64).T.copy()).to(entities.rows[0].device)
    return entities.pairs(source, target)


def scores_of(voter: Voter, asked: EntityPairs, state: VotingState) -> Tensor:
    """A voter's scores as a tensor of the vectors' kind, NaN for no opinion."""
    with memory_for(voter):
        given = voter.score(asked, state)
    found = given if isinstance(given, Tensor) else torch.from_numpy(np.array(given, dtype=np.float64))
    found = found.to(asked.rows.source.device, getattr(torch, state.config.precision))
    if found.shape != (len(asked),) or (found.abs() > LARGEST).any():
        raise VoterError(
            f"The voter {voter.name!r} must score each of {len(asked)} pairs by a number between -1e6 and 1e6, or NaN "
            f"for no opinion; it gave {list(found.shape)} numbers" + (", or larger ones." if len(found) else ".")
        )
    return found
