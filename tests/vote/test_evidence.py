"""What likeness is worth: levels and log-odds by hand, and what happens to names that mislead."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import said_graph, said_task

from mixtea.vote import evidence
from mixtea.vote.evidence import BEHIND, CLEARLY, CLOSELY, PSEUDO, TIED
from mixtea.vote.name_opinions import NameOpinions

NO_LINKS = np.empty((0, 2), dtype=np.int64)


def levels(pairs, links=(), shape=(4, 4)):
    """(likeness level, standing) of pairs {(source, target): likeness}."""
    source, target = np.array(list(pairs), dtype=np.int64).reshape(-1, 2).T
    links = np.array(links, dtype=np.int64).reshape(-1, 2)
    found = evidence.levels(source, target, np.array(list(pairs.values())), links, shape)
    return dict(zip(pairs, zip((found // 4).tolist(), (found % 4).tolist(), strict=True), strict=True))


def standing(pairs, links=()):
    return {pair: place for pair, (_, place) in levels(pairs, links).items()}


def test_pairs_stand_by_how_far_they_are_ahead_of_their_rivals():
    assert standing({(0, 0): 0.9, (0, 1): 0.5}) == {(0, 0): CLEARLY, (0, 1): BEHIND}
    assert standing({(0, 0): 0.9, (0, 1): 0.85}) == {(0, 0): CLOSELY, (0, 1): BEHIND}
    assert standing({(0, 0): 0.9, (0, 1): 0.9}) == {(0, 0): TIED, (0, 1): TIED}
    assert standing({(0, 0): 0.9, (0, 1): 0.9, (0, 2): 0.2}) == {(0, 0): TIED, (0, 1): TIED, (0, 2): BEHIND}


def test_rivals_are_looked_for_on_either_side():
    found = standing({(0, 0): 0.9, (1, 0): 0.85, (1, 1): 0.7})
    assert found == {(0, 0): CLOSELY, (1, 0): BEHIND, (1, 1): BEHIND}


def test_a_lone_pair_is_clearly_the_best_unless_it_is_hardly_alike():
    assert standing({(2, 3): 0.5}) == {(2, 3): CLEARLY} and standing({(2, 3): 0.05}) == {(2, 3): CLOSELY}


def test_rivals_that_are_linked_do_not_count():
    pairs = {(0, 0): 0.8, (0, 1): 0.9, (2, 1): 0.3}
    assert standing(pairs)[0, 0] == BEHIND
    assert standing(pairs, [(2, 1)])[0, 0] == CLEARLY  # who is like s0 is known to be another one's


def test_a_link_is_judged_as_if_it_were_open():
    pairs = {(0, 0): 0.8, (0, 1): 0.9, (1, 1): 0.95}
    assert standing(pairs, [(0, 0)]) == {(0, 0): BEHIND, (0, 1): BEHIND, (1, 1): CLEARLY}
    assert standing(pairs, [(0, 0), (1, 1)]) == {(0, 0): CLEARLY, (0, 1): BEHIND, (1, 1): CLEARLY}


def test_equality_is_a_level_of_its_own():
    found = levels({(0, 0): 1.0, (1, 1): 0.999, (2, 2): 0.15, (3, 3): 0.149})
    assert [level for level, _ in found.values()] == [7, 6, 1, 0]
    assert evidence.N_LEVELS == 32 and len(evidence.TYPICAL_ODDS) == 32 and len(evidence.TYPICAL_SHARES) == 33
    assert levels({}) == {} and evidence.TYPICAL_SHARES.sum() == pytest.approx(1)


def test_learned_log_odds_are_counts_of_the_links_and_of_the_others_of_their_sources():
    """Three links: two at level 31, one not among the pairs. Two other pairs of their sources are open: at 31 and 3."""
    links = np.array([[0, 0], [1, 1], [2, 2]])
    source, target = np.array([[0, 0], [1, 1], [0, 3], [1, 4], [2, 1], [3, 3]]).T
    level = np.array([31, 31, 31, 3, 3, 31])  # (2, 1) has a linked end; (3, 3) is of nobody linked
    table = evidence.learned(level, source, target, links, (5, 10))
    assert table.n_links == 3 and 0 <= table.misleading <= 1
    share, usual = table.misleading, 1 / (1 + np.exp(-evidence.TYPICAL_ODDS))
    for place, (true, false) in {31: (2, 1), 3: (0, 1), 30: (0, 0)}.items():
        above = true + PSEUDO * (1 - share) * usual[place] + PSEUDO * share / 7
        assert table.odds[place] == pytest.approx(np.log(above / (false + PSEUDO * (1 - usual[place]))))
    assert table.unlike == pytest.approx(np.log((1 + PSEUDO * evidence.UNLIKE) / (3 + PSEUDO) / 7))


def test_the_prior_of_links_knows_how_many_have_a_counterpart():
    level, ends = np.array([31]), np.zeros(1, dtype=np.int64)
    many, few = (evidence.learned(level, ends, ends, NO_LINKS, (5, 10), matched) for matched in (1.0, 0.1))
    assert (few.odds < many.odds).all() and few.unlike < many.unlike


def alike(*rows):
    """source, target, value of rows of values, 0 for no pair."""
    value = np.array(rows, dtype=float)
    source, target = np.nonzero(value)
    return source, target, value[source, target]


def drawn(n_matched, n_alone, seed=0):
    """Pairs of n sources and targets of which so many are the same: these are alike by .45, all others by chance."""
    draw, n = np.random.default_rng(seed), n_matched + n_alone
    value = draw.beta(2, 12, (n, n))
    value[range(n_matched), range(n_matched)] = np.clip(draw.normal(0.6, 0.1, n_matched), 0.3, 0.95)
    return alike(*value)


@pytest.mark.parametrize(
    ("n_matched", "n_alone", "low", "high"), [(100, 0, 0.9, 1), (70, 30, 0.6, 0.8), (0, 100, 0, 0.6)]
)
def test_how_many_have_a_counterpart_follows_from_the_second_best(n_matched, n_alone, low, high):
    """Whatever likeness a match has: no pair is equal, few are well alike. Where none has one it is too great."""
    found, n = drawn(n_matched, n_alone), n_matched + n_alone
    level = evidence.levels(*found, NO_LINKS, (n, n))
    share = evidence.share_matched(level, *found, (n, n))
    assert low <= share <= high
    assert evidence.share_matched(level, *found, (n, n), 2.0) == pytest.approx(share**2)


def test_of_few_entities_those_that_are_well_alike_tell_how_many():
    found = alike([0.9, 0.1], [0.1, 0.2])
    level = evidence.levels(*found, NO_LINKS, (2, 2))
    assert evidence.share_matched(level, *found, (2, 2)) == pytest.approx(min(1.0, 1 / (2 * evidence.MATCHED_SO)))
    none = alike([0.0])
    table = evidence.without_links(evidence.levels(*none, NO_LINKS, (1, 1)), *none, (0, 0), (1, 1))
    assert np.isfinite(table.odds).all() and table.misleading == table.n_links == 0


def test_without_links_levels_are_worth_what_second_best_ones_do_not_explain():
    n = 200
    found = drawn(140, 60)
    level = evidence.levels(*found, NO_LINKS, (n, n))
    table = evidence.without_links(level, *found, (n, n), (n, n))
    is_match = (found[0] == found[1]) & (found[0] < 140)
    for one in np.unique(level[level % 4 == evidence.CLEARLY]):
        here = level == one
        if here.sum() >= 15:
            share = np.clip(is_match[here].mean(), 0.03, 0.97)
            assert table.odds[one] == pytest.approx(np.log(share / (1 - share)), abs=1.6), (one, share)


def test_more_alike_and_further_ahead_is_worth_more_in_all_that_is_typical():
    table = evidence.TYPICAL_ODDS.reshape(-1, 4)
    assert (np.diff(table, axis=0) >= 0).all() and (np.diff(table[1:], axis=1)[:, [0, 2]] > 0).all()


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
def test_names_that_were_all_shuffled_speak_for_nobody(seed):
    opinions, equal = opinions_with_shuffled(1.0, seed)
    assert len(equal) == 300 and opinions.table.misleading > 0.9
    n_right = evidence.among(opinions.found.source, opinions.found.target, opinions.links, 300)[
        opinions.found.value >= 1
    ]
    assert (np.abs(equal) < 1.5).all() if n_right.any() else (equal < 0).all()


def test_names_of_which_half_were_shuffled_say_less():
    opinions, half = opinions_with_shuffled(0.5)
    whole, all_right = opinions_with_shuffled(0.0)
    assert half.min() > 2 and half.max() + 2 < all_right.min()
    assert 0.3 < opinions.table.misleading < 0.6 and whole.table.misleading < 0.05


def test_a_level_that_was_never_right_has_no_weight_however_alike_it_is():
    n = 400
    links = np.stack([np.arange(n)] * 2, axis=1)
    source, target = np.r_[np.arange(n), np.arange(n)], np.r_[np.arange(n), np.arange(n) + n]
    level = np.r_[np.full(n, 23), np.full(n, 31)]  # the links are well alike; the others equal, and wrong
    table = evidence.learned(level, source, target, links, (n, 2 * n))
    assert table.odds[31] < np.log(0.02) and table.odds[23] > np.log(50)
