"""Voters bound to two small graphs, and open entities in plain order, for tests of votes."""

from __future__ import annotations

import torch
from conftest import make_graph

from mixtea import Task
from mixtea.config import Config
from mixtea.council.council import bind_voters
from mixtea.voters.base import Voter
from mixtea.voters.open_entities import OpenEntities


def make_entities(n: int, m: int) -> OpenEntities:
    """All of n and m entities open, in their own order."""
    return OpenEntities((torch.arange(n), torch.arange(m) + n), (n, m), (n, m))


def bind(*names: str, **settings: object) -> list[Voter]:
    """Voters of the project by name, on graphs of two entities."""
    graphs = [make_graph([(0, 0, 1)], 2, prefix) for prefix in "st"]
    links = torch.empty(0, 2, dtype=torch.int64).numpy()
    return bind_voters(Task("two", *graphs, links, links, links), Config.preset("best", **settings), names)
