"""Who has a counterpart: known laws, drawn samples, and links that were given for easy entities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from mixtea.calibration.calibrator import calibration_error, fit_evidence
from mixtea.calibration.calibrator import estimate_match_prior as counterparts_by_types
from mixtea.calibration.features import NO_CANDIDATE_MARGIN, Examples


def looking(standing, agreed=0.0):
    return np.stack([standing, np.broadcast_to(agreed, standing.shape)], axis=1)


def by_examples(features, triples, types, is_open, examples, at_most):
    weights = fit_evidence(examples)
    return counterparts_by_types(features, triples, types, is_open, weights, examples.linked_triples, at_most)


def estimate_match_prior(standing, triples, *others):
    """Of sources without types, whose neighbours tell nothing."""
    return by_examples(looking(standing), triples, csr_matrix((len(standing), 1)), *others)


def stands(has, seed):
    """How the best candidates of sources stand, by whether these have a counterpart."""
    random = np.random.default_rng(seed)
    return np.clip(
        np.where(has, random.normal(14, 7, len(has)), random.normal(-9, 5, len(has))), NO_CANDIDATE_MARGIN, 24
    )


def population(n, share, seed, by_triples=0.0):
    """Whether each of n sources has a counterpart, how its best candidate stands, and logarithms of its triples."""
    random = np.random.default_rng(seed)
    triples = np.log1p(random.integers(1, 20, n))
    odds = np.log(share / (1 - share)) + by_triples * (triples - triples.mean())
    has = random.random(n) < 1 / (1 + np.exp(-odds))
    return has, stands(has, seed + 1), triples


def links(triples, seed):
    """Examples of so many triples: judged with their counterparts, and without."""
    n = len(triples)
    yes, no = stands(np.ones(n, dtype=bool), seed), stands(np.zeros(n, dtype=bool), seed + 1)
    return Examples(np.ones((n, 8)), np.ones(n, dtype=bool), looking(yes), looking(no), triples, np.ones(n, dtype=bool))


@pytest.mark.parametrize("share", [0.3, 0.7])
@pytest.mark.parametrize("n_links", [40, 1000])
def test_a_mixture_is_taken_apart(share, n_links):
    has, standing, triples = population(6000, share, 0)
    found = estimate_match_prior(standing, triples, np.ones(6000, dtype=bool), links(triples[has][:n_links], 5), 1.0)
    assert found.links_are_random and found.probability.mean() == pytest.approx(share, abs=0.06)
    assert calibration_error(found.probability, has) < 0.06 and ((found.probability > 0.5) == has).mean() > 0.95


def test_links_of_the_best_connected_are_as_good_as_any():
    has, standing, triples = population(6000, 0.5, 2)
    easy = np.sort(triples[has])[-300:]
    p = estimate_match_prior(standing, triples, np.ones(6000, dtype=bool), links(easy, 7), 1.0).probability
    assert ((p > 0.5) == has).mean() > 0.9


def test_where_looks_do_not_tell_random_links_do():
    """Who has few triples has no counterpart, though a candidate looks like one."""
    random = np.random.default_rng(3)
    triples = np.log1p(random.integers(1, 20, 6000))
    has = triples > np.log(4)
    standing = stands(np.ones(6000, dtype=bool), 4)
    linked = random.choice(triples[has], 800)
    found = estimate_match_prior(standing, triples, np.ones(6000, dtype=bool), links(linked, 9), 1.0)
    assert found.probability[~has].mean() < 0.35 < 0.85 < found.probability[has].mean()


def test_links_by_which_nobody_sure_had_a_counterpart_are_not_believed():
    has, standing, triples = population(6000, 0.6, 5)
    hubs = np.full(3000, np.log1p(400.0))
    found = estimate_match_prior(standing, triples, np.ones(6000, dtype=bool), links(hubs, 11), 1.0)
    assert not found.links_are_random and ((found.probability > 0.5) == has).mean() > 0.8


@pytest.mark.parametrize("by_triples", [1.2, 1.8])
@pytest.mark.parametrize("most", [500, 1200])
def test_links_of_many_well_connected_sources_do_not_hide_those_with_few_triples(by_triples, most):
    """Links are of the sources with the most triples; the evidence of the others shows that they match as well."""
    random = np.random.default_rng(2)
    triples = np.clip(random.exponential(1.2, 6000) + 0.7, 0.7, 6)
    has = random.random(6000) < 1 / (1 + np.exp(1.2 - by_triples * (triples - 1.5)))
    linked = random.choice(np.sort(triples[has])[-most:], 200)
    found = estimate_match_prior(stands(has, 3), triples, np.ones(6000, dtype=bool), links(linked, 7), 1.0)
    assert not found.links_are_random and found.probability.mean() == pytest.approx(has.mean(), abs=0.06)
    assert ((found.probability > 0.5) == has).mean() > 0.95


def test_there_are_no_more_counterparts_than_targets():
    """Where all look the same, sizes tell."""
    same, triples, everyone = np.full(3000, 3.0), np.full(3000, 1.5), np.ones(3000, dtype=bool)
    alike = links(np.full(200, 1.5), 13)._replace(
        match_features=looking(np.full(200, 3.0)), hidden_features=looking(np.full(200, 3.0))
    )
    shares = [estimate_match_prior(same, triples, everyone, alike, most).probability.mean() for most in (0.3, 1.0)]
    assert shares[0] <= 0.3 + 1e-6 < 0.5 < shares[1]


def test_nor_where_looks_say_more():
    """All look as if they had one, and there are targets for four of ten, or for none."""
    triples, everyone = np.full(2000, 1.5), np.ones(2000, dtype=bool)
    standing = stands(everyone, 3)
    for most in (0.4, 0.0):
        p = estimate_match_prior(standing, triples, everyone, links(np.full(200, 1.5), 5), most).probability
        assert p.mean() == pytest.approx(most, abs=1e-4) and p[standing.argmax()] == p.max()


def test_without_links_or_open_sources_what_is_expected_speaks():
    none = links(np.empty(0), 0)
    p = estimate_match_prior(
        np.array([20.0, -20.0]), np.array([1.5, 1.5]), np.ones(2, dtype=bool), none, 1.0
    ).probability
    assert p[0] > 0.9 > 0.5 > p[1]
    assert estimate_match_prior(np.array([20.0]), np.array([1.5]), np.zeros(1, dtype=bool), none, 1.0).probability == [
        1.0
    ]


def test_a_type_that_the_other_graph_lacks():
    """Two types look alike but for a few: of one nobody looks as if it had a counterpart, so its doubtful have none."""
    n, everyone = 4000, np.ones(4000, dtype=bool)
    strange = np.arange(n) % 4 == 0
    has = ~strange & (np.random.default_rng(1).random(n) < 0.8)
    doubtful = np.arange(n) % 10 == 0
    standing, triples = np.where(doubtful, 0.0, stands(has, 2)), np.full(n, 1.5)
    types = csr_matrix((np.ones(n, dtype=np.int32), (np.arange(n), strange.astype(int))), shape=(n, 2))
    given, none = links(np.full(200, 1.5), 5), csr_matrix((n, 1))
    p, untyped = (by_examples(looking(standing), triples, t, everyone, given, 1.0).probability
                  for t in (types, none))  # fmt: skip
    assert p[doubtful & strange].mean() < untyped[doubtful & strange].mean() - 0.1
    assert p[doubtful & ~strange].mean() > untyped[doubtful & ~strange].mean()


def test_neighbours_that_are_matched_elsewhere_speak_against():
    """All candidates stand alike; what differs is where the neighbours' matches are, in links and elsewhere."""
    random = np.random.default_rng(0)
    has = random.random(4000) < 0.6
    looks = looking(np.zeros(4000), np.where(has, random.normal(2, 1, 4000), random.normal(-2, 1, 4000)))
    n = 300
    given = links(np.full(n, 1.5), 5)._replace(
        match_features=looking(np.zeros(n), random.normal(2, 1, n)),
        hidden_features=looking(np.zeros(n), random.normal(-2, 1, n)),
    )
    found = by_examples(looks, np.full(4000, 1.5), csr_matrix((4000, 1)), np.ones(4000, dtype=bool), given, 1.0)
    assert ((found.probability > 0.5) == has).mean() > 0.95
