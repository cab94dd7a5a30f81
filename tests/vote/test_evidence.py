"""What likeness is worth: levels and log-odds by hand, and what happens to names that mislead."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import said_graph, said_task

from mixtea.vote import evidence
from mixtea.vote.evidence import BEHIND, CLEARLY, CLOSELY, TIED
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
        above = true + 2 * (1 - share) * usual[place] + 2 * share / 7
        assert table.odds[place] == pytest.approx(np.log(above / (false + 2 * (1 - usual[place]))))
    assert table.unlike == pytest.approx(np.log((1 + 2 * evidence.UNLIKE) / (3 + 2) / 7))


def test_without_a_link_odds_are_typical_and_less_where_few_have_a_counterpart():
    clear = np.full(50, 31)
    many, few = (evidence.typical(clear, n, 100) for n in (50, 5000))
    assert many.odds == pytest.approx(evidence.TYPICAL_ODDS)
    assert (few.odds < many.odds).all() and few.unlike < many.unlike and few.misleading == few.n_links == 0
    assert np.isfinite(evidence.typical(clear[:0], 0, 1).odds).all()


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
    n = 200
    links = np.stack([np.arange(n)] * 2, axis=1)
    source, target = np.r_[np.arange(n), np.arange(n)], np.r_[np.arange(n), np.arange(n) + n]
    level = np.r_[np.full(n, 23), np.full(n, 31)]  # the links are well alike; the others equal, and wrong
    table = evidence.learned(level, source, target, links, (n, 2 * n))
    assert table.odds[31] < np.log(0.02) and table.odds[23] > np.log(50)
