"""Many relations between the same two entities: merged, they give the scores that they give one by one."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
import torch
from conftest import make_graph, said_task
from voting import known_pairs

from mixtea.compute.scored_pairs import pairs_of_keys
from mixtea.config import Config
from mixtea.council.opinions import belief_of
from mixtea.graph.joint_index import OpenIndex, joint_triples
from mixtea.relations import neighbours
from mixtea.relations.neighbours import Neighbourhood, merge_parallel
from mixtea.voters import agreement_steps
from mixtea.voters.agreement_steps import AgreementSteps
from mixtea.voters.base import VotingState
from mixtea.voters.structure import Agreement

# Relations 0, 1 and 2 state the same, 3 states more, and 4 the same the other way round.
SOURCE = [(0, 0, 1), (0, 1, 1), (0, 2, 1), (0, 3, 1), (1, 3, 2), (1, 4, 0), (2, 5, 0)]
TARGET = [(0, 0, 1), (0, 1, 1), (1, 2, 2), (0, 3, 1), (2, 5, 0), (0, 4, 1)]
LINKS, BELIEF = [(0, 0)], {(1, 1): 0.75, (1, 2): 0.25, (2, 2): 0.5}


@pytest.fixture
def few(monkeypatch):
    """Two relations between two entities are many."""
    monkeypatch.setattr(neighbours, "MAX_PARALLEL", 1)
    for module in (agreement_steps, neighbours):
        monkeypatch.setattr(module, "MIN_RELATION_SIMILARITY", 0.0)


def task_of(source, target, n=3):
    return said_task(make_graph(source, n, "s"), make_graph(target, n, "t"), LINKS)


def asked_of(task, **more):
    """The voter, the pairs of all entities without a link, and a state with the belief."""
    voter = Agreement().bind(task, Config.preset("best", precision="float64", **more))
    rows = (torch.tensor([1, 2]), torch.tensor([1, 2]) + task.source.n_entities)
    entities = OpenIndex(rows, (task.source.n_entities, task.target.n_entities), (2, 2))
    asked = entities.open_pairs(pairs_of_keys(torch.arange(4), (2, 2)))
    p = [BELIEF.get(pair, 0.0) for pair in zip(*(end.tolist() for end in asked.by_entity.ends), strict=True)]
    belief = belief_of(asked, torch.tensor(p, dtype=torch.float64), None)
    return voter, asked, VotingState(task, voter.config, entities, torch.Generator(), belief=belief)


def twin(source, target, asked):
    """By the dense formula; relations of the same name are the same, and graphs have entities of their own."""
    moved = [(h + 10, r, t + 10) for h, r, t in target]
    belief = {(a, b + 10): p for (a, b), p in BELIEF.items()} | {(a, b + 10): 1.0 for a, b in LINKS}
    found = oracle.agreement(source, moved, belief)
    return [found.get((s, t + 10), 0.0) for s, t in zip(*(end.tolist() for end in asked.by_entity.ends), strict=True)]


def test_relations_with_the_same_triples_are_one(few):
    found = merge_parallel(task_of(SOURCE, TARGET), shared_relations=True)
    assert found.relations.tolist() == [0, 2, 3, 4, 5]
    assert found.multiplicity.tolist() == [[3, 0, 1, 1, 1], [4, 1, 0, 0, 1]]
    rows = {(h, int(found.relations[r]), t) for h, r, t in found.triples.T.tolist()}
    assert rows == {(0, 0, 1), (0, 3, 1), (1, 3, 2), (1, 4, 0), (2, 5, 0), (3, 0, 4), (4, 2, 5), (5, 5, 3)}


@pytest.mark.parametrize("shared", [True, False])
def test_where_few_are_parallel_nothing_changes(shared):
    task = task_of(SOURCE, TARGET)
    triples, n = joint_triples((task.source, task.target), shared_relations=shared)
    found = merge_parallel(task, shared_relations=shared)
    np.testing.assert_array_equal(found.triples, triples)
    assert found.relations.tolist() == list(range(n)) and found.multiplicity.max() == 1
    empty = merge_parallel(task_of([], []), shared_relations=shared)
    assert empty.triples.shape == (3, 0) and empty.multiplicity.shape == (2, 0)


def test_the_score_is_that_of_the_dense_twin(few):
    voter, asked, state = asked_of(task_of(SOURCE, TARGET))
    wanted = twin(SOURCE, TARGET, asked)
    assert voter.score(asked, state).tolist() == pytest.approx(wanted, rel=1e-12) and max(wanted) > 1
    near = Neighbourhood(voter.task, known_pairs(*asked.by_entity.ends, state.belief.p.numpy(), {}))
    ends = list(zip(*(end.tolist() for end in asked.by_entity.ends), strict=True))
    assert [near.score(*pair) for pair in ends] == pytest.approx(wanted, rel=1e-12)


def test_what_a_belief_says_for_others_is_the_same(monkeypatch):
    found = []
    for most in (16, 1):
        monkeypatch.setattr(neighbours, "MAX_PARALLEL", most)
        pairs = [np.array(ends) for ends in zip(*BELIEF, strict=True)]
        near = Neighbourhood(task_of(SOURCE, TARGET), known_pairs(*pairs, np.array([*BELIEF.values()]), {}))
        found.append(near.supported_pairs(0, 0, lambda source: (0, 1, 2)))
    assert found[0] == pytest.approx(found[1], rel=1e-12) and found[0].keys() == {(1, 1), (1, 2), (2, 2)}


@pytest.mark.parametrize("n", [300, 600])
def test_a_thousand_parallel_relations_do_not_meet_in_pairs(n, monkeypatch):
    real, steps = AgreementSteps._steps, []

    def counted(self, *args):
        for weight, first, second in real(self, *args):
            steps.append(len(first))
            yield weight, first, second

    monkeypatch.setattr(AgreementSteps, "_steps", counted)
    both = [[*graph, *((0, 6 + r, 1) for r in range(n))] for graph in (SOURCE, TARGET)]
    voter, asked, state = asked_of(task_of(*both))
    assert voter.score(asked, state)[0] > np.log(n) and 0 < sum(steps) < 1000
    voter.known = known_pairs(*asked.by_entity.ends, state.belief.p.numpy(), {})
    words = f"inverse of r0 and {n + 2:,} more: s0 ~ inverse of r0 and {n + 3:,} more: t0"
    assert voter.explain(1, 1)[0].what == words
