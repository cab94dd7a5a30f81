"""Names that many entities share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from conftest import make_graph

from mixtea.compute.scored_pairs import rank_within
from mixtea.graph.labels import Labels
from mixtea.voters import name_index
from mixtea.voters.name_index import NameIndex
from mixtea.voters.similarity import CANDIDATES_PER_ENTITY


def _graph(prefix):
    """400 entities, ten for each of forty names of which any two are somewhat alike."""
    texts = [f"street number {chr(97 + i % 20) * 3} {chr(97 + i // 20) * 2}" for i in range(40)]
    graph = make_graph([(0, 0, 1)], 400, prefix)
    return replace(graph, labels=Labels.of_entities(np.arange(400), [texts[i % 40] for i in range(400)], 0))


def test_what_is_not_looked_at_would_not_have_been_kept(monkeypatch):
    whole = NameIndex(_graph("s"), _graph("t")).likeness
    monkeypatch.setattr(name_index, "MAX_ENTITY_PAIRS", 0)
    least = NameIndex(_graph("s"), _graph("t")).likeness
    for line, part in ((whole.source, least.source), (whole.target, least.target)):
        best = rank_within(line, whole.value) < CANDIDATES_PER_ENTITY
        assert np.bincount(part, minlength=400).min() >= CANDIDATES_PER_ENTITY
        for entity in (0, 123, 399):
            values = np.sort(least.value[part == entity])[::-1][:CANDIDATES_PER_ENTITY]
            np.testing.assert_array_equal(values, np.sort(whole.value[best & (line == entity)])[::-1])
