"""Voters: everything that has an opinion on which source and target are the same.

Subclass `Voter`, `register` it, and name it in the setting `voters`. The council (council.py) lets all voters judge the
same candidates and adds their scores; favourites become votes, which remember who cast them.
"""

from __future__ import annotations

from mixtea.voters.base import Cost, Evidence, Voter, VotingState
from mixtea.voters.registry import register

__all__ = ["Cost", "Evidence", "Voter", "VotingState", "register"]
