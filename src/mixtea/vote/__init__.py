"""Voters: everything that has an opinion on which source and target are the same.

A voter has a `name`, proposes candidate `pairs`, and gives every candidate a score, larger for likelier
(`scores(pairs)`). Its favourites are its best target for a source and its best source for a target. The council
(`vote/council.py`) adds the scores up and decides.
"""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from mixtea.compute.pairs import Pairs


class Voter(Protocol):
    """Given the current state, casts sparse, scored votes."""

    name: str

    def pairs(self) -> Pairs | None:
        """The candidates that it proposes; None where it only judges those of others."""
        ...

    def scores(self, pairs: Pairs) -> Tensor:
        """Its opinion on each candidate."""
        ...
