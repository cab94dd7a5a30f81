"""Weights of features from links, the number of counterparts without any, and names that mislead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import oracle
import pytest
import torch
from conftest import said_graph, said_task
from hypothesis import given
from hypothesis import strategies as st

from mixtea.compute.matching import matching
from mixtea.compute.scored_pairs import ScoredPairs, best_rival
from mixtea.voters.candidate_pairs import (
    CLEAR_MARGIN,
    CLEAR_SIMILARITY,
    MAX_SHARE,
    MIN_SAMPLE,
    TYPICAL_WRONG_SHARE,
    CandidatePairs,
    Feature,
    _n_clear,
    choices,
    estimate_matched,
    fitted_weights,
    link_loss,
    robust_weights,
    share_matched,
)
from mixtea.voters.log_odds import (
    LearnedWeights,
    bounded_log_odds,
    learn_weights,
    log_odds_of_several,
    match_probability,
)
from mixtea.voters.names import NameOpinions

NO_LINKS = np.empty((0, 2), dtype=np.int64)
FEATURES = (Feature("similarity", 20.0, 6.0), Feature("equal", 0.0, 2.0))


def judged_pairs(source, target, similarity, features, shape, n_comparable):
    columns = {"similarity": similarity, "features": features}
    return CandidatePairs(source, target, shape, columns, n_comparable=n_comparable)


def candidates(pairs, shape=(4, 4), n_comparable=None):
    """Pairs {(source, target): similarity} with the features similarity and equal."""
    source, target = np.array(list(pairs), dtype=np.int64).reshape(-1, 2).T
    value = np.array(list(pairs.values()), dtype=float)
    return judged_pairs(source, target, value, np.column_stack([value, value >= 1]), shape, n_comparable or shape)


# links and their loss


@st.composite
def linked(draw):
    """CandidatePairs between three sources and four targets with two features, and links, also such that are none."""
    ends = st.tuples(st.integers(0, 2), st.integers(0, 3))
    pairs, links = sorted(draw(st.sets(ends, min_size=1))), sorted(draw(st.sets(ends)))
    numbers = st.lists(st.floats(-2, 2), min_size=2 * len(pairs) + 3, max_size=2 * len(pairs) + 3)
    values = np.array(draw(numbers))
    return pairs, links, values[:3], values[3:].reshape(-1, 2)


@given(linked())
def test_the_loss_of_links_equals_plain_loops_in_value_and_gradient(drawn):
    pairs, links, weights, columns = drawn
    source, target = np.array(pairs, dtype=np.int64).T
    known = judged_pairs(source, target, columns[:, 0], columns, (3, 4), (3, 4))
    value, slope = link_loss(weights, choices(known, np.array(links, dtype=np.int64).reshape(-1, 2)))
    w = torch.tensor(weights, requires_grad=True)
    loss = oracle.link_loss(w, pairs, torch.tensor(columns), links)
    assert value == pytest.approx(loss.item())
    by_loops = torch.autograd.grad(loss + 0 * w.sum(), w)[0]  # which has no gradient where no candidate is left
    assert slope == pytest.approx(by_loops.numpy(), abs=1e-9)


def test_the_candidates_of_a_link_are_those_without_a_link():
    """s0 has t0 (its link), t1 (of another link) and t2; t0 is also a candidate of s2, which has no link."""
    known = candidates({(0, 0): 0.9, (0, 1): 0.8, (0, 2): 0.5, (1, 1): 0.7, (2, 0): 0.4, (2, 2): 0.3})
    by_source, by_target = choices(known, np.array([[0, 0], [1, 1]]))
    assert by_source.line.tolist() == [0, 0, 1] and by_source.columns[:, 1].tolist() == [0.9, 0.5, 0.7]
    assert by_target.line.tolist() == [0, 1, 0] and by_target.columns[:, 1].tolist() == [0.9, 0.7, 0.4]
    assert by_source.links.tolist() == [1, 0, 1] and by_target.links.tolist() == [1, 1, 0]
    assert by_source.n_links.tolist() == [1, 1, 0, 0] and (by_source.columns[:, 0] == 1).all()


def test_without_links_the_prior_remains():
    known, features = candidates({(0, 0): 0.9}), (Feature("constant", -2.0, 1.0), *FEATURES)
    assert fitted_weights(known, NO_LINKS, features) == pytest.approx([-2.0, 20.0, 0.0])


def test_more_links_move_weights_further_and_a_small_spread_holds_them():
    def moved(n, spread):
        """Links that are less similar than their rivals."""
        pairs = {(i, i): 0.3 for i in range(n)} | {(i, n + i): 0.8 for i in range(n)}
        features = (Feature("constant", -8.0, 2.0), Feature("similarity", 20.0, spread), FEATURES[1])
        links = np.stack([np.arange(n)] * 2, axis=1)
        return 20.0 - fitted_weights(candidates(pairs, (n, 2 * n)), links, features)[1]

    assert 0 < moved(2, 6.0) < moved(20, 6.0) < moved(200, 6.0) and moved(20, 0.1) < 0.2


def test_what_is_never_right_is_less_likely_than_what_is_right_however_similar_it_is():
    """Each source has its own target, which is similar, and another one, which is equal."""
    n = 400
    pairs = {(i, i): 0.72 for i in range(n)} | {(i, n + i): 1.0 for i in range(n)}
    links = np.stack([np.arange(n)] * 2, axis=1)
    found = learn_weights(candidates(pairs, (n, 2 * n), (n, n)), FEATURES, links)
    right, equal = found.log_odds(np.array([[0.72, 0.0], [1.0, 1.0]]))
    assert right - equal > np.log(50) and right > np.log(20) and found.weights[1] < -2
    pairs = candidates(pairs, (n, 2 * n), (n, n))
    judged = bounded_log_odds(pairs, found.log_odds(pairs.features), links)
    assert judged.misleading == 0 and judged.n_links == n and judged.wrong < 0.1


# the number of counterparts


def by_chance(n, share, seed, kind="normal"):
    """Lines and values of n entities: a Poisson number of values by chance, and one of a counterpart for a share."""
    draw = np.random.default_rng(seed)
    line = np.repeat(np.arange(n), 1 + draw.poisson(12, n))
    chance = draw.normal(0, 1, len(line)) if kind == "normal" else draw.exponential(1, len(line))
    matched = np.arange(int(share * n))
    return np.r_[line, matched], np.r_[chance, draw.normal(5, 1, len(matched))]


@pytest.mark.parametrize("kind", ["normal", "exponential"])
@pytest.mark.parametrize(("share", "within"), [(0.3, 0.15), (0.6, 0.1), (0.9, 0.05), (1.0, 0.05)])
def test_the_share_with_a_counterpart_follows_from_best_and_second_best_values(share, within, kind):
    found = [share_matched(*by_chance(1000, share, seed, kind)) for seed in range(20)]
    assert np.median(found) == pytest.approx(share, abs=within) and np.std(found) < within


@pytest.mark.parametrize("kind", ["normal", "exponential"])
@pytest.mark.parametrize("n", [100, 1000])
def test_of_unrelated_sides_hardly_any_entity_has_a_counterpart(n, kind):
    found = [share_matched(*by_chance(n, 0.0, seed, kind)) for seed in range(30)]
    assert np.mean(found) < 0.1 and np.median(found) < 0.02


@given(st.integers(0, 2**32 - 1), st.integers(0, 200), st.floats(0, 1))
def test_a_share_lies_between_nothing_and_all(seed, n, share):
    line, value = by_chance(n, share, seed)
    assert 0 <= share_matched(line, value) <= 1
    assert share_matched(line, value) == pytest.approx(share_matched(line, 20 * value - 7))  # only their order counts


def test_few_entities_show_no_share():
    line = np.repeat(np.arange(MIN_SAMPLE - 1), 2)
    assert share_matched(line, np.tile([1.0, 0.1], MIN_SAMPLE - 1)) == 0
    assert share_matched(NO_LINKS[:, 0], np.empty(0)) == 0


def drawn(n, share, seed=0):
    """All pairs of n sources and targets, of which a share are the same: these are similar, all others by chance."""
    draw, n_same = np.random.default_rng(seed), int(share * n)
    value = draw.beta(2, 12, (n, n))
    value[range(n_same), range(n_same)] = np.clip(draw.normal(0.6, 0.1, n_same), 0.3, 0.95)
    return candidates(dict(np.ndenumerate(value)), (n, n))


@pytest.mark.parametrize(("share", "low", "high"), [(1.0, 0.85, 1.0), (0.9, 0.7, 0.95), (0.6, 0.35, 0.7)])
def test_the_constant_leads_to_the_number_of_counterparts(share, low, high):
    known = drawn(150, share)
    n_matched, constant, found = estimate_matched(known, 20 * known.similarity)
    assert low <= n_matched / 150 <= high
    assert found.probability.sum() == pytest.approx(n_matched, rel=0.02)
    again = matching(known, 20 * known.similarity + constant).probability
    assert again == pytest.approx(found.probability, abs=1e-3)
    is_match = (known.source == known.target) & (known.source < share * 150)
    assert found.probability[is_match].mean() > 0.45 > 0.001 > found.probability[~is_match].mean()


def test_there_are_at_least_as_many_counterparts_as_clear_matches_and_at_most_nearly_all():
    few = candidates({(0, 0): 0.9, (1, 1): 0.2, (2, 2): 0.1})
    assert estimate_matched(few, 20 * few.similarity)[0] == 1
    all_clear = candidates({(i, i): 0.9 for i in range(4)})
    assert estimate_matched(all_clear, 20 * all_clear.similarity)[0] == pytest.approx(4 * MAX_SHARE)
    none = candidates({})
    assert estimate_matched(none, none.similarity)[0] == 0


def test_no_more_counterparts_are_looked_for_than_candidates_can_match():
    """Each target is the only candidate of two sources, all of the same name: the constant must not grow for them."""
    known = candidates({(0, 0): 0.9, (1, 0): 0.9, (2, 1): 0.9, (3, 1): 0.9}, (40, 40))
    n_matched, constant, _ = estimate_matched(known, 20 * known.similarity)
    assert n_matched == pytest.approx(2 * MAX_SHARE) and constant < 0


def test_a_clear_match_is_similar_the_best_of_both_and_well_ahead_on_one_side():
    def n_clear(pairs):
        return _n_clear(candidates(pairs))

    assert n_clear({(0, 0): 0.9, (0, 1): 0.5}) == 1
    assert n_clear({(0, 0): CLEAR_SIMILARITY - 0.01}) == 0  # not similar
    assert n_clear({(0, 0): 0.9, (0, 1): 0.95}) == 1  # t1 is nearer
    assert n_clear({(0, 0): 0.9, (0, 1): 0.9}) == 1  # tied for s0, and each the only one of its target: s0 counts once
    close = 0.9 - CLEAR_MARGIN / 2
    assert n_clear({(0, 0): 0.9, (0, 1): close, (1, 0): close}) == 0  # ahead on neither side
    assert n_clear({(0, 0): 0.9, (0, 1): close, (1, 0): 0.3}) == 1  # ahead for t0
    assert n_clear({(0, 0): 0.9, (1, 0): 0.9}) == 1  # two of which one at most is a match
    assert n_clear({}) == 0
    less = candidates({(0, 0): CLEAR_SIMILARITY - 0.1})
    assert _n_clear(less) == 0 and _n_clear(replace(less, clear_similarity=CLEAR_SIMILARITY - 0.1)) == 1


def test_rivals_are_the_others_of_a_line():
    line, value = np.array([0, 0, 0, 1, 2, 2]), np.array([0.9, 0.5, 0.2, 0.4, 0.3, 0.3])
    assert best_rival(line, value, 4).tolist() == [0.5, 0.9, 0.9, 0.0, 0.3, 0.3]


# all together


def test_log_odds_are_a_constant_and_weighted_features():
    found = LearnedWeights(np.array([20.0, -1.0]), -12.0, 3.0)
    assert found.log_odds(np.array([[0.5, 0.0], [1.0, 2.0]])) == pytest.approx([-2.0, 6.0])


def test_without_links_weights_are_typical_and_nothing_misleads():
    known = drawn(100, 0.9)
    found = learn_weights(known, FEATURES, NO_LINKS)
    judged = bounded_log_odds(known, found.log_odds(known.features), NO_LINKS)
    assert (
        found.weights.tolist() == [20.0, 0.0]
        and judged.misleading == judged.n_links == 0
        and judged.wrong == TYPICAL_WRONG_SHARE
    )
    p = matching(known, found.log_odds(known.features)).probability
    assert p.sum() == pytest.approx(found.n_matched, rel=0.02)


def test_the_fewer_have_a_counterpart_the_smaller_are_all_log_odds():
    links = np.stack([np.arange(30)] * 2, axis=1)
    for given_links in (NO_LINKS, links):
        many, few = (learn_weights(drawn(150, share), FEATURES, given_links) for share in (1.0, 0.4))
        assert few.n_matched < many.n_matched
        assert few.log_odds(np.array([0.6, 0.0])) < many.log_odds(np.array([0.6, 0.0])) - 1


def test_neither_similarity_nor_its_absence_is_certain():
    """q = (1 - s) (p + u / m) + s / m, u how likely both ends are unmatched."""
    known = candidates({(0, 0): 1.0, (1, 1): 0.1}, (3, 4))
    log_odds = np.array([9.0, -9.0])
    judged = bounded_log_odds(known, log_odds, NO_LINKS)
    p = matching(known, log_odds).probability
    unmatched = 1 - p
    q = (1 - TYPICAL_WRONG_SHARE) * (p + unmatched / 4) + TYPICAL_WRONG_SHARE / 4
    assert judged.log_odds == pytest.approx(np.log(q / (1 - q))) and 3 < judged.log_odds[0] < 4
    sure, free = judged.of_others(np.array([0, 2]), np.array([3, 3]))
    assert free == pytest.approx(np.log(1 / 4)) and sure == pytest.approx(np.log(TYPICAL_WRONG_SHARE / 4), abs=0.01)


@given(st.lists(st.floats(-4, 12), min_size=1, max_size=5), st.floats(-4, 6))
def test_targets_of_a_source_with_several_are_judged_as_if_each_were_alone(odds, other):
    """Source 0 has all pairs but the last, which source 1 has with a target of its own; of many targets."""
    m, source = 100_000, np.array([0] * len(odds) + [1])
    known = judged_pairs(
        source, np.arange(len(source)), np.ones(len(source)), np.ones((len(source), 1)), (2, m), (2, m)
    )
    bounded = bounded_log_odds(known, np.array([*odds, other]), NO_LINKS)
    apart = log_odds_of_several(source, bounded.log_odds, bounded.wrong, (2, m))
    found = match_probability(apart, bounded.wrong, m)
    assert found == pytest.approx(1 / (1 + np.exp(-np.array([*odds, other]))), abs=2e-3)
    assert (apart >= bounded.log_odds - 1e-6).all()


def test_pairs_without_an_opinion_stay_without_one():
    assert np.isnan(log_odds_of_several(np.array([0, 0]), np.array([np.nan, 2.0]), 0.05, (1, 9))).tolist() == [
        True,
        False,
    ]


def test_links_without_a_similar_name_do_not_make_similar_names_doubtful():
    """Half of the links have no candidate at all: names are of no use for them, and right about the others."""
    pairs = candidates({(i, i): 0.9 for i in range(20)}, (50, 50))
    links = np.stack([np.arange(40)] * 2, axis=1)
    judged = bounded_log_odds(pairs, np.full(20, 6.0), links)
    assert judged.misleading == pytest.approx(0.5) and judged.n_links == 40 and judged.wrong < 0.05


def test_links_to_others_than_the_similar_one_make_similarity_doubtful():
    """Each linked source has a similar target that is not its own."""
    pairs = candidates({(i, i + 25): 0.9 for i in range(25)}, (50, 50))
    links = np.stack([np.arange(20)] * 2, axis=1)
    judged = bounded_log_odds(pairs, np.full(25, 6.0), links)
    assert judged.wrong > 0.5 and judged.misleading == 1 and judged.log_odds.max() < 0.5


def test_few_links_leave_log_odds_near_those_by_the_number_of_counterparts():
    """Each source has one target, similar by half, and links say that it is the right one, the surer the more."""
    pairs = candidates({(i, i): 0.5 for i in range(400)}, (400, 400))
    without = learn_weights(pairs, FEATURES, NO_LINKS).log_odds(pairs.features)[0]
    links = np.stack([np.arange(400)] * 2, axis=1)
    after = [learn_weights(pairs, FEATURES, links[:n]).log_odds(pairs.features)[0] - without for n in (2, 20, 200)]
    assert abs(after[0]) < 0.1 and after[0] < after[1] < after[2] - 0.5


def test_links_that_are_not_found_lower_the_number_of_counterparts():
    """Each of 60 sources has one similar target. That is one of chance if links say that others are right."""
    pairs = candidates({(i, i): 0.9 for i in range(60)}, (60, 60))
    right, wrong = (
        learn_weights(pairs, FEATURES, np.stack([np.arange(30), (np.arange(30) + by) % 60], axis=1)) for by in (0, 30)
    )
    probability = [matching(pairs, learned.log_odds(pairs.features)).probability.mean() for learned in (right, wrong)]
    assert probability[0] > 0.9 and probability[1] < 0.5


def test_links_that_the_comparison_is_wrong_about_teach_nothing():
    """20 links are similar, 20 link what is not, beside a similar rival each: the weight stays what the first show."""
    pairs = {(i, i): 0.9 for i in range(40)} | {(i, (i + 20) % 40): 0.1 for i in range(20, 40)}
    known = candidates(pairs, (40, 40))
    right = np.stack([np.arange(20)] * 2, axis=1)
    mixed = np.concatenate([right, np.stack([np.arange(20, 40), np.arange(20)], axis=1)])
    features = (Feature("constant", -13.0, 2.0), *FEATURES)
    alone, robust, plain = (
        fitted_weights(known, right, features)[1], robust_weights(known, mixed, features)[1],
        fitted_weights(known, mixed, features)[1],
    )  # fmt: skip
    assert plain < robust and abs(robust - alone) < abs(plain - alone)
    counts = np.r_[np.ones(20), np.zeros(20)]  # links that count for nothing are as good as none but for being rivals
    assert choices(known, mixed, counts)[0].n_links.sum() == 20 == choices(known, mixed, counts)[0].links.sum()


def test_links_are_found_among_pairs():
    links = np.array([[0, 2], [1, 1]])
    pairs = ScoredPairs(np.array([0, 0, 1, 1]), np.array([1, 2, 1, 0]), (2, 3))
    assert pairs.are_among(links).tolist() == [False, True, True, False]
    assert pairs.are_among(NO_LINKS).tolist() == [False] * 4


# names that mislead


def words(n, seed=0):
    draw = np.random.default_rng(seed)
    return ["".join(draw.choice(list("abcdefghiklmnoprstuvw"), 8)) for _ in range(n)]


def opinions_with_shuffled(share, seed=1, n=300, n_links=150):
    """Names of which a share was dealt out anew among the targets; the same number is the same entity."""
    names, draw = words(n), np.random.default_rng(seed)
    order, some = np.arange(n), draw.permutation(n)[: int(share * n)]
    order[some] = draw.permutation(order[some])
    target = said_graph([names[i] for i in order], prefix="t")
    opinions = NameOpinions(said_task(said_graph(names), target, [(i, i) for i in range(n_links)]))
    opinions.learn(NO_LINKS)
    equal = opinions.found.value >= 1
    return opinions, opinions.log_odds(opinions.found.source[equal], opinions.found.target[equal])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_names_that_were_all_shuffled_count_for_nothing(seed):
    opinions, equal = opinions_with_shuffled(1.0, seed)
    assert len(equal) == 300 and opinions.judged.misleading > 0.9 and (np.abs(equal) < 1.5).all()


def test_names_of_which_half_were_shuffled_count_for_less():
    opinions, half = opinions_with_shuffled(0.5)
    whole, all_right = opinions_with_shuffled(0.0)
    assert half.min() > 2 and half.max() + 2 < all_right.min()
    assert 0.3 < opinions.judged.misleading < 0.6 and whole.judged.misleading < 0.05
