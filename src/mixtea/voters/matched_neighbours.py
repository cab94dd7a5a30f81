"""Explain a pair by neighbours that are matched to each other, for voters of structure."""

from __future__ import annotations

import numpy as np

from mixtea.relations.neighbours import MIN_BELIEF, Neighbourhood, NeighbourSupport, neighbourhood
from mixtea.voters.base import Evidence, Voter

MAX_NEIGHBOURS = 10  # that an explanation names


def matched_neighbours(voter: Voter, source: int, target: int, above: float = MIN_BELIEF) -> list[Evidence]:
    """What speaks for a pair in words, the strongest first: the neighbours, and the relations that lead to them."""
    if voter.known is None:
        return []
    near = neighbourhood(voter.task, voter.known, voter.config.shared_relations)
    speaking = near.speaking(source, target, above)
    return [
        Evidence(_words(near, speaking, i), float(speaking.weight[i]))
        for i in np.argsort(-speaking.weight, kind="stable")[:MAX_NEIGHBOURS].tolist()
    ]


def _words(near: Neighbourhood, speaking: NeighbourSupport, i: int) -> str:
    """`capital: Rome ~ capitale: Rome`, each seen from its end of the pair."""
    graphs, ends = (near.task.source, near.task.target), (int(speaking.source[i]), int(speaking.target[i]))
    kinds = (int(speaking.kind[i]), int(speaking.other_kind[i]))
    return " ~ ".join(
        f"{near.relation_name(side, kind)}: {graph.display(end)}"
        for side, (graph, end, kind) in enumerate(zip(graphs, ends, kinds, strict=True))
    )
