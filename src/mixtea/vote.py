"""Voters of one's own: subclass `Voter`, `register` it, and name it in the setting `voters`.

The council (council/council.py) lets all voters judge the same candidates and adds their scores; favourites become
votes, with the names of their voters.
"""

from __future__ import annotations

from mixtea.voters.base import Cost, Evidence, Voter, VotingState
from mixtea.voters.registry import register

__all__ = ["Cost", "Evidence", "Voter", "VotingState", "register"]
