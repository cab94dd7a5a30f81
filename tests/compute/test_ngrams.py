"""Rows of n-grams equal their dense twins."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
import torch
from scipy.sparse import csr_matrix

from mixtea.compute.ngrams import ngram_counts, sparse_unit_rows, tfidf
from mixtea.compute.similar_rows import similar_rows

OURS = ["moskva", "new york", "beijing", "", "aaaa aa", "il", "al qahira", "new new york", "z"]
THEIRS = ["moscow", "york new", "peking", "", "aaa", "москва", "北京市", "القاهرة", "el kahira", "new york"]


@pytest.mark.parametrize("lengths", [(2, 3, 4), (1,), (3,), ()])
def test_rows_equal_their_dense_twins(lengths):
    found = tfidf(*ngram_counts(OURS, THEIRS, lengths=lengths))
    ours, theirs = oracle.tfidf(OURS, THEIRS, lengths=lengths)
    assert found[0].shape[1] == found[1].shape[1] == ours.shape[1]
    products = torch.from_numpy((found[0] @ found[1].T).toarray())
    torch.testing.assert_close(products, ours @ theirs.T, atol=1e-6, rtol=1e-5)


def test_the_order_of_letters_and_of_texts_matters_and_the_side_does_not():
    rows = ngram_counts(["ab", "ba", "ab"], ["ab"], lengths=())
    assert rows[0].toarray().tolist()[0] == rows[0].toarray().tolist()[2] == rows[1].toarray().tolist()[0]
    assert (rows[0][0].multiply(rows[0][1])).nnz == 0


@pytest.mark.parametrize("texts", [([], []), ([""], [""]), (["a"], []), ([" ", "  "], ["\ud800"])])
def test_nothing_and_little_to_compare(texts):
    first, second = tfidf(*ngram_counts(*texts))
    assert (first.shape[0], second.shape[0]) == (len(texts[0]), len(texts[1]))
    assert np.isfinite(first.data).all() and np.isfinite(second.data).all()
    assert [len(part) for part in similar_rows(first, second, 3)] == [0, 0, 0]


def test_rows_without_anything_stay_empty():
    rows = sparse_unit_rows(csr_matrix(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)))
    assert rows.toarray() == pytest.approx(np.array([[0.6, 0.8], [0, 0]])) and rows.dtype == np.float32


def test_a_very_long_text_is_no_trouble():
    first, second = tfidf(*ngram_counts(["abc " * 100_000, "xyz"], ["abc abc", "xyw"]))
    assert first.shape[0] == 2 and first.nnz < 60
    found = similar_rows(first, second, 1)
    assert set(zip(found.first.tolist(), found.second.tolist(), strict=True)) == {(0, 0), (1, 1)}
