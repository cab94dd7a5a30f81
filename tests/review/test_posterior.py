"""What decisions change at once: the pair, its rivals, its neighbours; and that taking back takes all of it back."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import make_graph, said_task
from hypothesis import given
from hypothesis import strategies as st
from reviewing import model_of
from voting import known_pairs

from mixtea.relations.neighbours import MIN_BELIEF, Neighbourhood
from mixtea.review.posterior import (
    DEFAULT_FACTOR,
    FACTOR_RANGE,
    LIKELY_THRESHOLD,
    MAX_SHIFT,
    MIN_CANDIDATE_PROBABILITY,
    MIN_CHANGE,
    Effect,
    Posterior,
    _factor,
)

# Two equal chains 0 - 1 - 2 - 3 - 4, of which 0 and 4 are linked
CHAIN = [(0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 0, 4)]
# of 1, 2 and 3: the right target is uncertain, and each has a rival
UNCERTAIN = [{1: 0.5, 2: 0.2}, {2: 0.5, 3: 0.2}, {3: 0.5, 1: 0.2}]
INF = math.inf


def chains(candidates=UNCERTAIN, **more):
    task = said_task(make_graph(CHAIN, 5, "s"), make_graph(CHAIN, 5, "t"), [(0, 0), (4, 4)])
    return Posterior(model_of(task, candidates, **more))


def all_of(belief):
    return np.stack([belief.probability(row) for row in range(len(belief.model.sources))])


def test_nothing_decided_changes_nothing():
    assert all_of(chains()) == pytest.approx(np.array([[0.5, 0.2]] * 3))


def test_an_accepted_pair_is_certain_and_its_rivals_are_out():
    belief = chains()
    belief.decide((1, 1), INF)
    assert belief.probability(0).tolist() == [1, 0]
    assert belief.probability(2)[1] == 0  # 3 cannot have it any more
    assert belief.probability(1).min() > 0


def test_any_candidate_may_be_accepted_and_one_that_is_none():
    belief = chains()
    belief.decide((1, 2), INF)
    assert belief.probability(0).tolist() == [0, 1] and belief.probability(1)[0] == 0
    belief.decide((1, 2), None)
    belief.decide((1, 3), INF)  # which the run did not think of
    assert belief.probability(0).tolist() == [0, 0] and belief.probability(2)[0] == 0


def test_both_of_two_accepted_targets_are_certain():
    belief = chains()
    belief.decide((1, 1), INF)
    belief.decide((1, 2), INF)
    assert belief.probability(0).tolist() == [1, 1]


def test_a_rejected_pair_is_out_and_the_others_share_what_it_leaves():
    belief = chains()
    belief.decide((1, 1), -INF)
    assert belief.probability(0) == pytest.approx([0, 0.2 / 0.5])
    belief.decide((1, 2), -INF)
    assert belief.probability(0).tolist() == [0, 0]


def test_neighbours_of_an_accepted_pair_are_likelier_and_of_a_rejected_one_less_likely():
    accepted, rejected = chains(), chains()
    accepted.decide((2, 2), INF)
    rejected.decide((2, 2), -INF)
    for row in (0, 2):
        assert accepted.probability(row)[0] > 0.5 + MIN_CHANGE > 0.5 - MIN_CHANGE > rejected.probability(row)[0]


def test_a_rejected_pair_of_which_the_run_was_certain_speaks_for_nobody():
    belief = chains([{1: 0.5, 2: 0.2}, {2: 1.0, 3: 0.0}, {3: 0.5, 1: 0.2}])
    belief.decide((2, 2), -INF)
    assert belief.believed(2) == {} and belief.probability(0)[0] < 0.5 and belief.probability(2)[0] < 0.5


@pytest.mark.parametrize("weight", [1.5, 0.3, -0.7, 0.0])
def test_an_opinion_multiplies_the_odds(weight):
    belief = chains()
    before = belief.probability(0)[0]
    belief.decide((1, 1), weight)
    after = belief.probability(0)[0]
    assert after / (1 - after) == pytest.approx(before / (1 - before) * math.exp(weight))
    expected = 0.5 * math.exp(weight) / (0.5 * math.exp(weight) + 0.5)
    assert belief.believed(1)[1] == pytest.approx(expected)


def test_opinions_move_neighbours_less_than_facts():
    moved = []
    for weight in (-INF, -1.0, 1.0, INF):
        belief = chains()
        belief.decide((2, 2), weight)
        moved.append(belief.probability(0)[0])
    assert moved == sorted(moved) and len({*moved}) == 4


def test_without_what_was_decided_about_itself_neighbours_still_speak():
    belief = chains()
    belief.decide((1, 1), -INF)
    belief.decide((2, 2), INF)
    assert belief.probability(0)[0] == 0 and belief.probability(0, without=True)[0] > 0.5


def test_a_target_that_two_accept_is_anothers_for_both():
    belief = chains()
    belief.decide((1, 1), INF)
    belief.decide((3, 1), INF)
    assert belief.probability(0)[0] == belief.probability(2)[1] == 1
    assert belief.probability(0, without=True)[0] == belief.probability(2, without=True)[1] == 0


def test_what_was_accepted_by_two_and_taken_back_by_one_is_still_the_others():
    belief = chains([{1: 0.5, 2: 0.2}, {2: 0.5, 1: 0.2}, {3: 0.5, 1: 0.2}])
    belief.decide((1, 1), INF)
    before = all_of(belief)
    belief.decide((3, 1), INF)
    belief.decide((3, 1), None)
    assert all_of(belief) == pytest.approx(before, abs=1e-12) and belief.probability(1)[1] == 0


def test_no_candidate_gains_or_loses_without_bound():
    belief = chains()
    assert [belief.shift(0, 0, more) for more in (1e9, -1e9)] == [MAX_SHIFT, pytest.approx(-MAX_SHIFT, abs=MAX_SHIFT)]
    assert belief.shift(0, 0, -1e9) == belief.shift(0, 0, -belief.support_before[1, 1]) < 0 < belief.shift(0, 0, 0.1)


def test_unlikely_candidates_are_not_looked_at():
    belief = chains([{1: MIN_CANDIDATE_PROBABILITY / 2, 2: 0.9}, {2: 0.5, 3: 0.2}, {3: 0.5, 1: 0.2}])
    belief.decide((2, 2), INF)
    assert 0 not in belief.support[0] and 0 in belief.support[2]


def test_the_factor_is_what_agreement_adds_in_the_run():
    model = chains().model
    assert _factor(model) == DEFAULT_FACTOR
    model.run.answers_ = SimpleNamespace(
        parts={"agreement": np.array([[0, 2.0], [0, 9.0], [0, np.nan], [0, 5.0]])},
        scores={"agreement": np.array([[1.0], [3.0], [1.0], [0.01]])},
        ranked=SimpleNamespace(target=model.target),
    )
    assert _factor(model) == pytest.approx(2.5) and Posterior(model).factor == pytest.approx(2.5)
    model.run.answers_.parts["agreement"][:] = 1e6
    assert _factor(model) == FACTOR_RANGE[1]
    model.run.answers_.scores["agreement"][:] = 0
    assert _factor(model) == DEFAULT_FACTOR


# Against a slow twin, on small graphs of any kind


@st.composite
def models(draw):
    """Up to six entities a side, two relations, a link or two, two candidates each, and decisions about them."""
    n = draw(st.integers(4, 6))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, 1), st.integers(0, n - 1))
    graphs = [make_graph(sorted({*draw(st.lists(ends, min_size=3, max_size=10))}), n, side) for side in "st"]
    n_links = draw(st.integers(1, 2))
    places = st.lists(st.integers(n_links, n - 1), min_size=2, max_size=2, unique=True)
    chance = st.sampled_from([0.02, 0.09, 0.2, 0.4, 0.45])
    rows = [dict(zip(draw(places), (1 - draw(chance), draw(chance)), strict=True)) for _ in range(n - n_links)]
    for row in rows:
        total = max(1.0, sum(row.values()))
        row.update({target: p / total for target, p in row.items()})
    model = model_of(said_task(*graphs, [(i, i) for i in range(n_links)]), rows)
    open_ = st.integers(n_links, n - 1)
    thought_of = [(source, target) for source, row in zip(range(n_links, n), rows, strict=True) for target in row]
    pairs = st.sampled_from(thought_of) | st.tuples(open_, open_)
    weights = st.sampled_from([INF, INF, -INF, 1.2, -2.0, None])
    decisions = draw(st.lists(st.tuples(pairs, weights), max_size=8))
    return model, [(*pair, weight) for pair, weight in decisions]


def slow(model, said):
    """By row and place what speaks for likely candidates more than at first, all computed anew."""
    owners = {}
    for (source, target), weight in said.items():
        if weight == INF:
            owners.setdefault(target, set()).add(source)
    believed = {}
    for source in model.sources.tolist():
        mine = {target for target, sources in owners.items() if source in sources}
        for target, p in model.neighbourhood.believed(source).items():
            weight = said.get((source, target), 0.0)
            if mine or target in owners or weight == -INF:
                continue
            believed[source, target] = p * math.exp(weight) / (p * math.exp(weight) + 1 - p) if p < 1 else 1.0
        believed |= {(source, target): 1.0 for target in mine}
    believed |= {tuple(link): 1.0 for link in model.task.train.tolist()}
    ends = np.array([*believed], dtype=np.int64).reshape(-1, 2)
    known = known_pairs(ends[:, 0], ends[:, 1], np.array([*believed.values()]), {})
    empty = said_task(model.task.source, model.task.target)  # its links are among the believed ones
    now = Neighbourhood(empty, known)
    now._alike = model.neighbourhood._alike  # relations are as alike as the run has found them
    return {
        (row, place): math.expm1(now.score(source, target)) - math.expm1(model.neighbourhood.score(source, target))
        for row, source in enumerate(model.sources.tolist())
        for place, target in enumerate(model.target[row].tolist())
        if model.probability[row, place] > MIN_CANDIDATE_PROBABILITY
    }


def noted(model, decisions):
    belief, said = Posterior(model), {}
    for source, target, weight in decisions:
        belief.decide((source, target), weight)
        said.pop((source, target), None)
        if weight is not None:
            said[source, target] = weight
    return belief, said


@given(models())
def test_what_speaks_more_equals_a_slow_computation_from_scratch(drawn):
    model, decisions = drawn
    belief, said = noted(model, decisions)
    for (row, place), more in slow(model, said).items():
        assert belief.support.get(row, {}).get(place, 0.0) == pytest.approx(more, abs=1e-9)
    assert all(value > MIN_BELIEF for source in model.sources.tolist() for value in belief.believed(source).values())


@given(models())
def test_all_taken_back_all_is_as_before(drawn):
    model, decisions = drawn
    before = all_of(Posterior(model))
    belief, said = noted(model, decisions)
    for pair in said:
        belief.decide(pair, None)
    assert np.abs(all_of(belief) - before).max() <= 1e-12
    assert belief.log_odds_of == {} and belief.accepted_for == {}


@given(models(), st.integers(0, 5), st.integers(0, 5))
def test_one_taken_back_is_as_if_it_had_never_been(drawn, source, target):
    model, decisions = drawn
    pair = (int(model.sources[source % len(model.sources)]), target % model.task.target.n_entities)
    belief, _ = noted(model, [one for one in decisions if one[:2] != pair])
    before = all_of(belief)
    for weight in (INF, -INF, 0.5):
        belief.decide(pair, weight)
    belief.decide(pair, None)
    assert np.abs(all_of(belief) - before).max() <= 1e-12


@given(models())
def test_the_order_of_decisions_does_not_matter(drawn):
    model, decisions = drawn
    belief, said = noted(model, decisions)
    turned, taken_back = Posterior(model), (int(model.sources[0]), int(model.target[0, 0]))
    turned.decide(taken_back, INF)
    turned.decide(taken_back, None)
    for pair in reversed(said):
        turned.decide(pair, said[pair])
    assert np.abs(all_of(turned) - all_of(belief)).max() <= 1e-12


@given(models(), st.integers(0, 5), st.integers(0, 1))
def test_a_preview_is_what_then_happens_and_changes_nothing(drawn, row, place):
    model, decisions = drawn
    row %= len(model.sources)
    pair = (int(model.sources[row]), int(model.target[row, place]))
    belief, said = noted(model, decisions)
    before, more = all_of(belief), {row: dict(own) for row, own in belief.support.items()}
    effect = belief.preview(pair)
    assert np.array_equal(all_of(belief), before) and belief.support == more
    assert {(s, t): weight for s, own in belief.log_odds_of.items() for t, weight in own.items()} == said
    belief.decide(pair, INF)
    after, reached = all_of(belief), set()
    for other in range(len(model.sources)):
        own, was = belief.support.get(other, {}), more.get(other, {})
        if other != row and any(abs(own.get(p, 0.0) - was.get(p, 0.0)) > 1e-9 for p in (0, 1)):
            reached.add(other)
    best = [(before[other].max(), after[other].max()) for other in reached]
    moved = sum(abs(new - old) >= MIN_CHANGE for old, new in best)
    assert effect == Effect(moved, sum((new >= LIKELY_THRESHOLD) != (old >= LIKELY_THRESHOLD) for old, new in best))


def test_a_preview_counts_neighbours_that_come_to_be_likely():
    belief = chains([{1: 0.45, 2: 0.2}, {2: 0.5, 3: 0.2}, {3: 0.6, 1: 0.2}])
    assert belief.preview((2, 2)) == Effect(2, 1)
    belief.decide((2, 2), INF)
    assert belief.preview((2, 2)) == Effect(0, 0)
