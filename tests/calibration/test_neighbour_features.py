"""Where the matches of a source's neighbours are, by hand and against a plain count."""

from __future__ import annotations

import numpy as np
import pytest

from mixtea.calibration.features import MatchedNeighbours
from mixtea.graph.graph import Graph


def graph(n, ends):
    triples = np.array([(head, 0, tail) for head, tail in ends], dtype=np.int64).reshape(-1, 3)
    return Graph(np.array([f"e{i}" for i in range(n)], dtype=object), np.array(["r"], dtype=object), triples)


def test_beside_and_elsewhere(rings):
    """0 has the neighbours 1, 2, 3; 1 is matched to 11 beside 10, 2 to 12 elsewhere, 3 is not matched."""
    source = graph(4, [(0, 1), (2, 0), (0, 3), (0, 1), (0, 0)])
    target = graph(4, [(0, 1), (1, 0), (2, 3)])
    found = MatchedNeighbours(rings.replace(source=source, target=target), np.array([-1, 1, 2, -1]))
    assert found.agreement(np.array([0, 0, 0]), np.array([0, 3, -1])) == pytest.approx(
        [np.log(1.5 / 1.5), np.log(1.5 / 1.5), np.log(0.5 / 2.5)]
    )
    assert found.agreement(np.array([3]), np.array([0])) == [0.0]  # of whom no neighbour is matched


def test_a_plain_count(rings):
    random = np.random.default_rng(0)
    source, target = (graph(n, random.integers(n, size=(3 * n, 2)).tolist()) for n in (30, 20))
    matched = np.where(random.random(30) < 0.6, random.integers(20, size=30), -1)
    sources, targets = random.integers(30, size=200), random.integers(20, size=200)
    beside = [
        [{int(b) for a, _, b in np.r_[g.triples, g.triples[:, ::-1]] if a == i and b != i} for i in range(g.n_entities)]
        for g in (source, target)
    ]
    expected = []
    for s, t in zip(sources, targets, strict=True):
        near = [int(matched[i]) in beside[1][t] for i in beside[0][s] if matched[i] >= 0]
        expected.append(np.log((sum(near) + 0.5) / (len(near) - sum(near) + 0.5)))
    found = MatchedNeighbours(rings.replace(source=source, target=target), matched).agreement(sources, targets)
    assert found == pytest.approx(np.array(expected))


def test_nothing_beside_anything(rings):
    task = rings.replace(source=graph(2, [(0, 1)]), target=graph(2, []))
    assert MatchedNeighbours(task, np.array([-1, 0])).agreement(np.array([0]), np.array([1])) == np.log(0.5 / 1.5)
