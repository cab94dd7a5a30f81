"""Texts that come later, as rows of the n-grams of those that are there."""

from __future__ import annotations

import numpy as np

from mixtea.compute.ngrams import NgramSpace, ngram_counts, tfidf

OURS, THEIRS = ["old mill", "north bridge", "old bridge"], ["old mill", "castle"]


def test_a_known_text_has_the_row_that_it_has_among_the_others():
    space = NgramSpace(OURS, THEIRS)
    plain = tfidf(*ngram_counts(OURS, THEIRS))
    for rows, whole in zip(space.rows, plain, strict=True):
        assert np.array_equal(rows.toarray()[:, :-1], whole.toarray()) and not rows.toarray()[:, -1].any()
    assert np.allclose(space.rows_of(OURS).toarray(), space.rows[0].toarray(), atol=1e-6)


def test_what_no_known_text_has_is_length_and_no_likeness():
    space = NgramSpace(OURS, THEIRS)
    rows = space.rows_of(["old mill", "old millet", "xyz"])
    assert np.allclose(np.sqrt(rows.multiply(rows).sum(axis=1)), 1)
    alike = (rows @ space.rows[1].T).toarray()
    assert alike[0, 0] > alike[1, 0] > 0.3 and alike[2].tolist() == [0, 0]
    assert rows.toarray()[2, -1] == 1


def test_a_space_of_nothing():
    space = NgramSpace([], [])
    assert space.rows_of(["old"]).toarray().tolist() == [[0.0]] and space.rows_of([]).shape == (0, 1)
