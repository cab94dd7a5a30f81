"""The translator equals kernel ridge regression, and leaves a known pair out of its own translation."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
import torch
from conftest import ABROAD, WORDS, _two_words

from mixtea.compute.ngrams import ngram_counts, tfidf
from mixtea.voters import translator as module
from mixtea.voters.names import NameOpinions
from mixtea.voters.translator import RIDGE, Translator, _largest

NONE = np.empty((0, 2), dtype=np.int64)
HERE, THERE = ([_two_words(i, words).lower() for i in range(24)] for words in (WORDS, ABROAD))
KNOWN = np.array([0, 2, 3, 7, 8, 11, 15, 20, 21])


@pytest.fixture(scope="module")
def translator():
    return Translator(HERE, HERE)


@pytest.fixture(scope="module")
def kernel():
    """The cosines of all names, dense, as the translator compares them: as written, and in Latin letters."""
    rows = [oracle.tfidf(HERE, lengths=lengths)[0].double() for lengths in ((1, 2, 3), (2, 3, 4))]
    return sum(side @ side.T for side in rows) / 2


def learned(translator, target=KNOWN):
    return translator.learned_from(KNOWN, target, tfidf(*ngram_counts(THERE))[0])


@pytest.mark.parametrize("at_once", [5, 2048])
def test_weights_are_those_of_kernel_ridge_regression(translator, kernel, at_once, monkeypatch):
    monkeypatch.setattr(module, "NAMES_PER_BLOCK", at_once)
    weights = torch.cat(list(learned(translator).weights(np.arange(24)))).double()
    known, one_hot = kernel[KNOWN][:, KNOWN], torch.eye(len(KNOWN), dtype=torch.float64)
    others = np.setdiff1d(np.arange(24), KNOWN)
    told = oracle.ridge(known, kernel[others][:, KNOWN], one_hot, RIDGE)
    torch.testing.assert_close(weights[others], told, atol=1e-4, rtol=1e-3)


def test_a_known_name_is_translated_by_a_regression_that_has_never_seen_it(translator, kernel):
    weights = torch.cat(list(learned(translator).weights(np.arange(24)))).double()
    known, one_hot = kernel[KNOWN][:, KNOWN], torch.eye(len(KNOWN), dtype=torch.float64)
    for place, name in enumerate(KNOWN):
        told = oracle.ridge_without(known, one_hot, RIDGE, place)
        assert told[place] == 0
        torch.testing.assert_close(weights[name], told, atol=1e-4, rtol=1e-3)


def test_another_target_of_a_known_pair_does_not_change_its_own_translation(translator):
    """What is said of a pair does not come from the pair."""
    target = KNOWN.copy()
    before = learned(translator, target=target).translations(np.arange(24)).rows
    target[0] = 23
    after = learned(translator, target=target).translations(np.arange(24)).rows
    assert (before[0] != after[0]).nnz == 0 and (before[1] != after[1]).nnz > 0


def test_a_translation_is_likest_to_what_the_name_is_called_there(translator):
    rows = tfidf(*ngram_counts(THERE))[0]
    known = np.arange(20)
    told = translator.learned_from(known, known, rows).translations(np.arange(24))
    a, b = (ends.ravel() for ends in np.indices((24, 24)))
    likeness = told.likeness(rows, a, b).reshape(24, 24)
    assert (likeness[20:].argmax(1) == np.arange(20, 24)).all()  # never seen, of words that were
    plain = np.asarray((told.rows @ rows.T).todense())
    assert likeness[:, 20:] == pytest.approx(plain[:, 20:], abs=1e-5)  # their targets are nobody's translation
    assert likeness[21, 3] == pytest.approx(plain[21, 3] - told.heard[21, 3], abs=1e-5)


def test_pairs_of_one_source_name_count_once(translator):
    rows = tfidf(*ngram_counts(THERE))[0]
    once = translator.learned_from(KNOWN, KNOWN, rows).translations(np.arange(24))
    twice = translator.learned_from(np.r_[KNOWN, KNOWN], np.r_[KNOWN, KNOWN + 1], rows).translations(np.arange(24))
    assert (once.rows != twice.rows).nnz == 0 and once.place.tolist() == twice.place.tolist()


def test_names_that_are_not_asked_for_have_empty_rows(translator):
    every, some = (learned(translator).translations(names) for names in (np.arange(24), np.array([1, 2, 23])))
    for name in range(24):
        if name in (1, 2, 23):
            assert some.rows[name].toarray() == pytest.approx(every.rows[name].toarray(), abs=1e-5)
            assert some.heard[name].toarray() == pytest.approx(every.heard[name].toarray(), abs=1e-5)
        else:
            assert some.rows[name].nnz == some.heard[name].nnz == 0 < every.rows[name].nnz


def test_only_those_who_weigh_most_are_heard(monkeypatch):
    monkeypatch.setattr(module, "MAX_WEIGHTED_PAIRS", 2)
    assert _largest(torch.tensor([[0.5, -3.0, 1.0], [0.0, 0.0, 2.0]])).toarray().tolist() == [[0, -3, 1], [0, 0, 2]]


def test_enough_links_in_another_language_teach_to_translate(translated):
    opinions = NameOpinions(translated)
    plain = opinions.found
    opinions.learn(NONE)
    truth = np.concatenate([translated.valid, translated.test])
    opinions.found  # noqa: B018
    assert opinions.share > 0
    assert right(opinions.found, truth) > 0.8 > 0.4 > right(plain, truth)
    few = NameOpinions(translated)
    few.links = few.links[:20]
    few.learn(NONE)
    assert few.share == 0 and right(few.found, truth) == right(plain, truth)


def right(found, links):
    """The share of the links that are the most alike of their source."""
    best = {}
    for s, t, value in zip(*found.ends, found.value, strict=True):
        best[s] = max(best.get(s, (-1.0, -1)), (value, t))
    return np.mean([best.get(s, (0, -1))[1] == t for s, t in links])


def test_a_translation_that_misleads_is_not_used(translated):
    """Links dealt out anew teach nothing, and names are compared as they are."""
    opinions = NameOpinions(translated)
    opinions.links = np.stack([opinions.links[:, 0], np.roll(opinions.links[:, 1], 7)], axis=1)
    plain = opinions.found
    opinions.learn(NONE)
    assert np.array_equal(opinions.found.value, plain.value) and opinions.share == 0
