"""Rows of n-grams equal their dense twins, and the most alike are found without comparing all with all."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
import torch
from scipy.sparse import csr_matrix

from mixtea.compute import ngrams
from mixtea.compute.ngrams import ngram_counts, row_products, similar_rows, sparse_unit_rows, tfidf, top_products

OURS = ["moskva", "new york", "beijing", "", "aaaa aa", "il", "al qahira", "new new york", "z"]
THEIRS = ["moscow", "york new", "peking", "", "aaa", "москва", "北京市", "القاهرة", "el kahira", "new york"]


def drawn(n: int, seed: int, letters: str = "abcdefg ") -> list[str]:
    draw = np.random.default_rng(seed)
    return ["".join(draw.choice(list(letters), 12)).strip() for _ in range(n)]


@pytest.mark.parametrize("lengths", [(2, 3, 4), (1,), (3,), ()])
def test_rows_equal_their_dense_twins(lengths):
    found = tfidf(*ngram_counts(OURS, THEIRS, lengths=lengths))
    ours, theirs = oracle.tfidf(OURS, THEIRS, lengths=lengths)
    assert found[0].shape[1] == found[1].shape[1] == ours.shape[1]
    products = torch.from_numpy((found[0] @ found[1].T).toarray())
    torch.testing.assert_close(products, ours @ theirs.T, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("at_once", [1, 7, 1 << 18])
def test_products_of_pairs_are_those_of_the_whole_matrix(at_once, monkeypatch):
    monkeypatch.setattr(ngrams, "PAIRS_PER_BLOCK", at_once)
    first, second = tfidf(*ngram_counts(OURS, THEIRS))
    row, other = (ends.ravel() for ends in np.indices((len(OURS), len(THEIRS))))
    dense = oracle.tfidf(OURS, THEIRS)
    found = torch.from_numpy(row_products(first, second, row, other)).view(len(OURS), -1)
    torch.testing.assert_close(found, dense[0] @ dense[1].T, atol=1e-6, rtol=1e-5)
    assert row_products(first, second, row[:0], other[:0]).shape == (0,)


def test_pairs_of_long_rows_are_multiplied_a_few_at_a_time(monkeypatch):
    monkeypatch.setattr(ngrams, "PAIRS_PER_BLOCK", 5)
    monkeypatch.setattr(ngrams, "NUMBERS_PER_BLOCK", 10)
    sizes, others = np.array([1, 4, 30]), np.array([0, 6])
    row, other = np.array([0, 0, 0, 1, 2, 2, 1, 0, 0, 0, 0]), np.array([0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0])
    parts = [range(11)[part] for part in ngrams._blocks(sizes, others, row, other)]
    assert [i for part in parts for i in part] == list(range(11))
    held = sizes[row] + others[other]
    assert all(len(part) <= 5 and (len(part) == 1 or held[list(part)].sum() < 2 * 10) for part in parts)
    assert not list(ngrams._blocks(sizes, others, row[:0], other[:0]))


def test_the_order_of_letters_and_of_texts_matters_and_the_side_does_not():
    rows = ngram_counts(["ab", "ba", "ab"], ["ab"], lengths=())
    assert rows[0].toarray().tolist()[0] == rows[0].toarray().tolist()[2] == rows[1].toarray().tolist()[0]
    assert (rows[0][0].multiply(rows[0][1])).nnz == 0


@pytest.mark.parametrize("texts", [([], []), ([""], [""]), (["a"], []), ([" ", "  "], ["\ud800"])])
def test_nothing_and_little_to_compare(texts):
    first, second = tfidf(*ngram_counts(*texts))
    assert (first.shape[0], second.shape[0]) == (len(texts[0]), len(texts[1]))
    assert np.isfinite(first.data).all() and np.isfinite(second.data).all()
    assert [len(ends) for ends in similar_rows(first, second, 3)] == [0, 0]


@pytest.mark.parametrize("k", [1, 3, 50])
def test_with_enough_looked_at_the_most_alike_are_those_of_the_dense_product(k):
    ours, theirs = drawn(40, 1), drawn(30, 2)
    found = set(zip(*(ends.tolist() for ends in similar_rows(*tfidf(*ngram_counts(ours, theirs)), k)), strict=True))
    dense = oracle.tfidf(ours, theirs)
    products = dense[0] @ dense[1].T
    for matrix, turned in ((products, False), (products.T, True)):
        best = matrix.topk(min(k, matrix.shape[1]), dim=1)
        for i, (values, places) in enumerate(zip(best.values.tolist(), best.indices.tolist(), strict=True)):
            least = values[-1] + 1e-5  # those that are tied at the end may be others
            certain = [j for value, j in zip(values, places, strict=True) if value > max(least, 2e-6)]
            assert all(((j, i) if turned else (i, j)) in found for j in certain)
    ends = np.array(sorted(found))
    assert len(ends) <= k * (40 + 30) and (products[ends[:, 0], ends[:, 1]] > 0).all()


def test_with_little_looked_at_equal_texts_are_found_still(monkeypatch):
    monkeypatch.setattr(ngrams, "MAX_ROWS_LOOKED_UP", 5)
    texts = drawn(300, 3)
    order = np.random.default_rng(4).permutation(len(texts))
    rows = tfidf(*ngram_counts(texts, [texts[i] for i in order]))
    found = set(zip(*(ends.tolist() for ends in similar_rows(*rows, 2)), strict=True))
    assert all((int(i), place) in found for place, i in enumerate(order))
    held = np.bincount(rows[1].indices, minlength=rows[1].shape[1])
    rare = ngrams._rarest(rows[0], held)
    led = np.array([held[rare.indices[a:b]].sum() for a, b in zip(rare.indptr, rare.indptr[1:], strict=False)])
    n_kept = np.diff(rare.indptr)
    assert ((led <= 5) | (n_kept == 1)).all() and n_kept.min() >= 1 and rare.nnz < rows[0].nnz


def test_the_rarest_is_looked_at_even_where_it_leads_to_too_many(monkeypatch):
    monkeypatch.setattr(ngrams, "MAX_ROWS_LOOKED_UP", 5)
    rows = csr_matrix(np.array([[1, 1, 0], [0, 1, 1], [0, 0, 0]], dtype=np.float32))
    rare = ngrams._rarest(rows, np.array([7, 9, 4])).toarray()
    assert rare.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_a_million_rows_are_looked_up_through_fewer(monkeypatch):
    monkeypatch.setattr(ngrams, "MAX_LOOKUPS", 1000)
    monkeypatch.setattr(ngrams, "MIN_ROWS_LOOKED_UP", 4)
    rows = tfidf(*ngram_counts(drawn(100, 5)))[0]
    held = np.bincount(rows.indices, minlength=rows.shape[1])
    assert ngrams._rarest(rows, held).nnz < ngrams._rarest(rows[:10], held).nnz * 10


def test_products_above_zero_alone_are_kept():
    first = csr_matrix(np.array([[1.0, 0.0], [0.0, -1.0], [0.0, 0.0]], dtype=np.float32))
    found = top_products(first, csr_matrix(np.eye(2, dtype=np.float32)), 2)
    assert found.toarray().tolist() == [[1, 0], [0, 0], [0, 0]]
    assert top_products(first[2:], csr_matrix(np.eye(2, dtype=np.float32)), 2).shape == (1, 2)


def test_rows_without_anything_stay_empty():
    rows = sparse_unit_rows(csr_matrix(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)))
    assert rows.toarray() == pytest.approx(np.array([[0.6, 0.8], [0, 0]])) and rows.dtype == np.float32


def test_a_very_long_text_is_no_trouble():
    first, second = tfidf(*ngram_counts(["abc " * 100_000, "xyz"], ["abc abc", "xyw"]))
    assert first.shape[0] == 2 and first.nnz < 60
    assert set(zip(*(ends.tolist() for ends in similar_rows(first, second, 1)), strict=True)) == {(0, 0), (1, 1)}
