"""Voters bound to two small graphs, and open entities in plain order, for tests of votes."""

from __future__ import annotations

import numpy as np
import torch
from conftest import make_graph

from mixtea import Task
from mixtea.compute.scored_pairs import ScoredPairs, scored
from mixtea.config import Config
from mixtea.council.council import bind_voters
from mixtea.graph.joint_index import OpenIndex
from mixtea.voters.base import Voter


def make_entities(n: int, m: int) -> OpenIndex:
    """All of n and m entities open, in their own order."""
    return OpenIndex((torch.arange(n), torch.arange(m) + n), (n, m), (n, m))


def known_pairs(source, target, belief, scores, shape=(1000, 1000)) -> ScoredPairs:
    """Stored candidates with a belief, and scores by opinion."""
    ends = (np.asarray(end) for end in (source, target))
    return ScoredPairs(*ends, shape, {"belief": np.asarray(belief), **scored(scores)})


def bind(*names: str, **settings: object) -> list[Voter]:
    """Voters of the project by name, on graphs of two entities."""
    graphs = [make_graph([(0, 0, 1)], 2, prefix) for prefix in "st"]
    links = torch.empty(0, 2, dtype=torch.int64).numpy()
    return bind_voters(Task.of_two("two", *graphs, links, links, links), Config.preset("best", **settings), names)
