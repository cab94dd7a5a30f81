"""Voters beside the teacher: label propagation and neighbour agreement equal their dense twins."""

from __future__ import annotations

import math

import numpy as np
import oracle
import pytest
import torch
from voting import known_pairs

from mixtea import Task
from mixtea.compute.scored_pairs import ScoredPairs, pairs_of_keys
from mixtea.compute.similarity import unit
from mixtea.config import Config
from mixtea.council.opinions import belief_of
from mixtea.graph.graph import Graph
from mixtea.graph.joint_index import OpenIndex
from mixtea.relations import neighbours as meetings
from mixtea.relations.neighbours import Neighbourhood
from mixtea.voters import agreement_steps, propagation_views
from mixtea.voters.base import VotingState
from mixtea.voters.propagation_views import PropagationGraph, Sizes
from mixtea.voters.structure import Agreement, Backward, Forward, Propagation

# Two graphs of five entities: 0-4 and 5-9 in joint numbers. Relations 0 and 1 in the first, 1 and 2 in the second.
SOURCE = [(0, 0, 1), (1, 0, 2), (2, 1, 3), (0, 1, 3), (3, 0, 4), (0, 0, 2)]
TARGET = [(5, 1, 6), (6, 1, 7), (7, 2, 8), (5, 2, 8), (8, 1, 9)]
LINKS = torch.tensor([[0, 5], [3, 8]])
ROWS = (torch.tensor([4, 1, 2]), torch.tensor([7, 6, 9]))
SMALL = dict(propagation_label_dim=64, propagation_relation_dim=16, propagation_part_dim=4, precision="float64")


def graph(triples, first, names, n=5, shift=0):
    """A graph whose entities and relations are numbered from `shift` and from the first name on."""
    rows = np.array([(h - shift, r - first, t - shift) for h, r, t in triples], dtype=np.int64)
    return Graph(np.array([f"e{shift + i}" for i in range(n)], object), np.array(names, object), rows)


def task(source=SOURCE, target=TARGET, links=((0, 0), (3, 3)), names=(("r0", "r1"), (1, "r1", "r2"))):
    first, *theirs = names[1]
    none = np.empty((0, 2), dtype=np.int64)
    sides = graph(source, 0, names[0]), graph(target, first, theirs, shift=5)
    return Task.of_two("two", *sides, np.array(links), none, none)


def bound(kind, of=None, **settings):
    return kind().bind(of or task(), Config.preset("best", **SMALL | settings))


def state_of(voter, rows=ROWS, **about):
    entities = OpenIndex(rows, (5, 5), (len(rows[0]), len(rows[1])))
    return VotingState(voter.task, voter.config, entities, torch.Generator().manual_seed(5), **about)


def all_pairs(state):
    n, m = state.entities.shape
    return state.entities.open_pairs(pairs_of_keys(torch.arange(n * m), (n, m)))


def columns(triples):
    return torch.tensor(triples).T.contiguous()


def test_two_hops_of_labels_equal_the_dense_twin():
    found = PropagationGraph(*columns(SOURCE + TARGET), n=10, n_relations=3, dtype=torch.float64)
    label = unit(torch.randn(2, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64))
    entities, kinds = found.hops(LINKS, label)
    wanted = oracle.propagated(SOURCE + TARGET, LINKS, label, 10, 3)
    torch.testing.assert_close(torch.stack(entities), wanted[0])
    torch.testing.assert_close(torch.stack(kinds), wanted[1])


@pytest.mark.parametrize("one_by_one", [False, True])
def test_the_third_hop_equals_the_dense_twin_however_many_weights_are_carried_at_once(one_by_one, monkeypatch):
    if one_by_one:
        monkeypatch.setattr(propagation_views, "sweep", lambda run, *_: run(0))
    found = PropagationGraph(*columns(SOURCE + TARGET), n=10, n_relations=3, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    entities = [torch.randn(10, 4, generator=generator, dtype=torch.float64) for _ in range(3)]
    entities = [entity.index_fill_(0, torch.tensor([2]), 0.0) for entity in entities]  # nothing reached it
    weight = torch.randn(6, 5, generator=generator, dtype=torch.float64)
    mixture = torch.randn(12, 5, 2, generator=generator, dtype=torch.float64)
    rows = (torch.tensor([4, 1]), torch.tensor([7, 9, 5]))
    wanted = oracle.third_hop(SOURCE + TARGET, entities, weight, mixture)
    for part, chosen in zip(found._third_hop(weight, entities, mixture, rows), rows, strict=True):
        torch.testing.assert_close(part, wanted[chosen])


def test_those_in_a_sure_pair_look_for_nobody():
    voter = bound(Propagation)
    state = state_of(
        voter, sure=torch.tensor([[4, 2], [1, 1]])
    )  # places 0 and 1 of the sources, 0 and 1 of the targets
    voter.learn(state)
    pairs = voter.propose(state)
    assert set(pairs.source[pairs.target != 2].tolist()) == {2} and set(pairs.target[pairs.source != 2].tolist()) == {2}


def test_rough_rounds_carry_fewer_numbers():
    voter = bound(Propagation)
    widths = []
    for rough in (True, False):
        state = state_of(voter, rough=rough)
        voter.learn(state)
        widths.append(voter._views.views[0][0].shape[1])
    assert widths == [8 * 2, 16 * 4] and Sizes(512, 128, 8).halved() == Sizes(256, 64, 4)


def test_propagation_finds_the_twin_of_each_entity():
    mirrored = task(SOURCE, [(h + 5, r, t + 5) for h, r, t in SOURCE], ((0, 0),), (("r0", "r1"), (0, "r0", "r1")))
    voter = bound(Propagation, mirrored, propagation_label_dim=512)
    state = state_of(voter, (torch.tensor([1, 2, 3, 4]), torch.tensor([6, 7, 8, 9])))
    voter.learn(state)
    scores = voter.score(state.entities.open_pairs(voter.propose(state)), state).view(4, 4)
    assert scores.argmax(1).tolist() == [0, 1, 2, 3]
    torch.testing.assert_close(scores.diagonal(), torch.ones(4, dtype=torch.float64))


def test_a_sure_pair_is_judged_by_the_propagation_that_does_not_know_it():
    voter, rows = bound(Propagation), (torch.tensor([1, 2, 4]), torch.tensor([6, 7, 9]))
    state = state_of(voter, rows, sure=torch.tensor([[1, 4], [4, 1]]))
    voter.learn(state)
    views, sure = voter._views, torch.tensor([[1, 9], [4, 6]])
    assert views.hand[sure[:, 0]].tolist() == views.hand[sure[:, 1]].tolist() == [1, 0]  # the seed deals one to each
    seen = [source @ target.T for source, target in views.views]
    scores = voter.score(all_pairs(state), state).view(3, 3)
    torch.testing.assert_close(scores[0, 2], seen[1][0, 2])  # the pair (1, 9) is in hand 1, left out of view 1
    torch.testing.assert_close(scores[2, 0], seen[0][2, 0])
    torch.testing.assert_close(scores[0, 0], (seen[0][0, 0] + seen[1][0, 0]) / 2)  # known in one view each
    torch.testing.assert_close(scores[0, 1], seen[1][0, 1])  # 7 is in no sure pair: the view without 1's decides
    torch.testing.assert_close(scores[1, 1], (seen[0][1, 1] + seen[1][1, 1]) / 2)  # nor is 2: both views


def test_nothing_speaks_for_entities_that_nothing_known_reaches():
    alone = [(0, 0, 1), (2, 1, 4)]  # neither neighbours nor relations connect 2 and 4 to the link
    others = [(h + 5, r + 2, t + 5) for h, r, t in alone]
    voter = bound(Propagation, task(alone, others, ((0, 0),), (("r0", "r1"), (2, "r2", "r3"))))
    state = state_of(voter, (torch.tensor([1, 2]), torch.tensor([6, 7])))
    voter.learn(state)
    scores = voter.score(all_pairs(state), state)
    assert scores[0] > 0.9 and scores[1:].tolist() == [0, 0, 0]
    untaught = OpenIndex(state.entities.rows, (5, 5), (1, 2))  # as if the second source had no triples
    assert untaught.mask_without_triples(all_pairs(state), scores).isnan().tolist() == [False, False, True, True]


def test_propagation_goes_on_from_what_it_remembers():
    voter = bound(Propagation)
    state = state_of(voter, sure=torch.tensor([[1, 1]]))
    voter.learn(state)
    again = bound(Propagation)
    again.load_state_dict(voter.state_dict())
    asked = all_pairs(state)
    assert torch.equal(again.score(asked, state), voter.score(asked, state))
    assert torch.equal(again.propose(state).key, voter.propose(state).key)
    with pytest.raises(ValueError, match="entities outside"):
        again.load_state_dict({"sure": np.array([[7, 0]]), "generator": voter.state_dict()["generator"]})
    with pytest.raises(ValueError, match="before it has learned"):
        bound(Propagation).propose(state)


def test_the_two_directions_share_one_cosine_and_say_nothing_of_entities_without_triples():
    forward, backward = bound(Forward, vote_candidates=1), bound(Backward)
    vectors = torch.randn(10, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    entities = OpenIndex(ROWS, (5, 5), (2, 3))  # the third source has no triples
    state = VotingState(forward.task, forward.config, entities, torch.Generator(), vectors=vectors)
    asked = all_pairs(state)
    wanted = (unit(vectors[ROWS[0]]) @ unit(vectors[ROWS[1]]).T).masked_fill(
        torch.tensor([[0], [0], [1]]).bool(), math.nan
    )
    torch.testing.assert_close(forward.score(asked, state).view(3, 3), wanted, equal_nan=True)
    assert forward.opinion == backward.opinion == "vectors"
    assert isinstance(forward.propose(state), ScoredPairs) and len(forward.propose(state)) <= 6


BELIEF = {(1, 6): 0.9, (1, 7): 0.2, (2, 7): 0.6, (4, 9): 0.3, (0, 5): 1.0, (3, 8): 1.0}


def agreement_voter():
    voter = bound(Agreement)
    state = state_of(voter)
    asked = all_pairs(state)
    p = [BELIEF.get((s, t), 0.0) for s in ROWS[0].tolist() for t in ROWS[1].tolist()]
    state.belief = belief_of(asked, torch.tensor(p, dtype=torch.float64), None)
    return voter, asked, state


@pytest.mark.parametrize("most", [0, 6, 1 << 20])
@pytest.mark.parametrize("dense", [0, 1 << 24])
@pytest.mark.parametrize("at_once", [1, 7, 4_000_000])
def test_agreement_equals_the_dense_twin_however_many_triples_are_held(at_once, dense, most, monkeypatch):
    monkeypatch.setattr(agreement_steps, "STEPS_PER_BLOCK", {"cpu": at_once})
    monkeypatch.setattr(agreement_steps, "MAX_STEPS", most)
    monkeypatch.setattr(agreement_steps, "MAX_DENSE_PAIRS", dense)
    monkeypatch.setattr(agreement_steps, "MIN_RELATION_SIMILARITY", 0.0)
    voter, asked, state = agreement_voter()
    wanted = oracle.agreement(SOURCE, TARGET, BELIEF)
    dense = [wanted.get((s, t), 0.0) for s in ROWS[0].tolist() for t in ROWS[1].tolist()]
    torch.testing.assert_close(voter.score(asked, state), torch.tensor(dense, dtype=torch.float64))
    assert max(dense) > 0.3


@pytest.mark.parametrize("at_once", [1, 1_000_000])
def test_one_local_step_on_plain_arrays_is_agreement(at_once, monkeypatch):
    """Without torch, for one pair at a time, from what a run has stored."""
    monkeypatch.setattr(meetings, "TRIPLES_PER_BLOCK", at_once)
    voter, asked, state = agreement_voter()
    belief = state.belief.p.numpy()
    near = Neighbourhood(voter.task, known_pairs(*asked.by_entity.ends, belief, {}))
    local = [near.score(s, t) for s, t in zip(*(end.tolist() for end in asked.by_entity.ends), strict=True)]
    assert local == pytest.approx(voter.score(asked, state).tolist()) and max(local) > 0.3


def test_agreement_and_propagation_name_the_neighbours_that_speak():
    voter, asked, state = agreement_voter()
    voter.known = known_pairs(*asked.by_entity.ends, state.belief.p.numpy(), {})
    found = voter.explain(1, 1)
    assert found[0].what == "inverse of r0: e0 ~ inverse of r1: e5" and found[0].weight > found[-1].weight > 0
    assert math.log1p(sum(row.weight for row in found)) == pytest.approx(
        voter.score(asked, state)[asked.by_entity.find(np.array([1]), np.array([1]))[0]].item()
    )
    sure = bound(Propagation)
    assert sure.explain(1, 1) == []  # before anything is known
    sure.known = voter.known
    assert {row.what for row in sure.explain(1, 1)} < {row.what for row in found}  # (2, 7) is not sure enough


def test_agreement_is_silent_about_relations_with_too_many_neighbours(monkeypatch):
    monkeypatch.setattr(meetings, "MAX_NEIGHBOURS_PER_RELATION", 0)
    voter, asked, state = agreement_voter()
    assert voter.score(asked, state).tolist() == [0.0] * 9


def test_agreement_needs_a_belief_to_judge_by():
    voter, asked, state = agreement_voter()
    state.belief = None
    with pytest.raises(ValueError, match="belief"):
        voter.score(asked, state)


def test_agreement_by_hand():
    """(0, r, 1) and (5, q, 6), with 0 and 5 linked: r and q have nothing else to be compared by."""
    voter = bound(Agreement, task([(0, 0, 1)], [(5, 1, 6)], ((0, 0),), (("r",), (1, "q"))))
    state = state_of(voter, (torch.tensor([1]), torch.tensor([6])))
    asked = all_pairs(state)
    state.belief = belief_of(asked, torch.tensor([0.5], dtype=torch.float64), None)
    alike = 0.5 / 1.5  # belief in the one meeting, over (0.5 + 1) on either side
    assert voter.score(asked, state).item() == pytest.approx(math.log1p(alike))


def test_voters_say_what_they_cost():
    assert bound(Forward).cost().products == 2 and bound(Agreement).cost().mib == 0
    one, two = bound(Propagation, propagation_cross_fit=False).cost(), bound(Propagation).cost()
    hops, view = 10 * 4 * 64 * 8 / 2**20, 10 * 64 * 8 / 2**20  # four of labels, and one or two that are kept
    assert (one.mib, two.mib) == (pytest.approx(hops + view), pytest.approx(hops + 2 * view))


def test_propagation_to_a_hub_of_hundreds_of_thousands_stays_finite():
    """Its neighbours' vectors add up to more than half precision holds, before they are divided by their length."""
    n = 300_001
    leaf, hub = torch.arange(1, n), torch.zeros(n - 1, dtype=torch.int64)
    graph = PropagationGraph(leaf, torch.zeros_like(hub), hub, n, 1, torch.float32)
    known, generator = torch.tensor([[0, 1]]), torch.Generator().manual_seed(1)
    (found,) = graph.vectors(known, generator, [torch.arange(3)], Sizes(8, 2, 2))
    assert found.dtype == torch.float16 and found.isfinite().all()
    assert torch.linalg.vector_norm(found.float(), dim=1) == pytest.approx(1, abs=1e-2)
