"""The most similar rows are those of the dense product, on every way that finds them."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
import torch
from scipy.sparse import csr_matrix

from mixtea.compute import similar_rows as module
from mixtea.compute.ngrams import ngram_counts, tfidf
from mixtea.compute.similar_rows import (
    RowIndex,
    all_products,
    row_products,
    similar_rows,
    top_products,
    top_products_in_blocks,
)

OURS = ["moskva", "new york", "beijing", "", "aaaa aa", "il", "al qahira", "new new york", "z"]
THEIRS = ["moscow", "york new", "peking", "", "aaa", "москва", "北京市", "القاهرة", "el kahira", "new york"]


def drawn(n: int, seed: int, letters: str = "abcdefg ") -> list[str]:
    draw = np.random.default_rng(seed)
    return ["".join(draw.choice(list(letters), 12)).strip() for _ in range(n)]


def ends_of(found):
    return set(zip(found.first.tolist(), found.second.tolist(), strict=True))


@pytest.mark.parametrize("at_once", [1, 7, 1 << 18])
def test_products_of_pairs_are_those_of_the_whole_matrix(at_once, monkeypatch):
    monkeypatch.setattr(module, "PAIRS_PER_BLOCK", at_once)
    first, second = tfidf(*ngram_counts(OURS, THEIRS))
    row, other = (ends.ravel() for ends in np.indices((len(OURS), len(THEIRS))))
    dense = oracle.tfidf(OURS, THEIRS)
    found = torch.from_numpy(row_products(first, second, row, other)).view(len(OURS), -1)
    torch.testing.assert_close(found, dense[0] @ dense[1].T, atol=1e-6, rtol=1e-5)
    assert row_products(first, second, row[:0], other[:0]).shape == (0,)


def test_pairs_of_long_rows_are_multiplied_a_few_at_a_time(monkeypatch):
    monkeypatch.setattr(module, "PAIRS_PER_BLOCK", 5)
    monkeypatch.setattr(module, "NUMBERS_PER_BLOCK", 10)
    sizes, others = np.array([1, 4, 30]), np.array([0, 6])
    row, other = np.array([0, 0, 0, 1, 2, 2, 1, 0, 0, 0, 0]), np.array([0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0])
    parts = [range(11)[part] for part in module._blocks(sizes, others, row, other)]
    assert [i for part in parts for i in part] == list(range(11))
    held = sizes[row] + others[other]
    assert all(len(part) <= 5 and (len(part) == 1 or held[list(part)].sum() < 2 * 10) for part in parts)
    assert not list(module._blocks(sizes, others, row[:0], other[:0]))


@pytest.mark.parametrize("k", [1, 3, 50])
def test_with_enough_looked_at_the_most_alike_are_those_of_the_dense_product(k):
    ours, theirs = drawn(40, 1), drawn(30, 2)
    rows = similar_rows(*tfidf(*ngram_counts(ours, theirs)), k)
    found = ends_of(rows)
    dense = oracle.tfidf(ours, theirs)
    products = dense[0] @ dense[1].T
    for matrix, turned in ((products, False), (products.T, True)):
        best = matrix.topk(min(k, matrix.shape[1]), dim=1)
        for i, (values, places) in enumerate(zip(best.values.tolist(), best.indices.tolist(), strict=True)):
            least = values[-1] + 1e-5  # those that are tied at the end may be others
            certain = [j for value, j in zip(values, places, strict=True) if value > max(least, 2e-6)]
            assert all(((j, i) if turned else (i, j)) in found for j in certain)
    ends = np.stack([rows.first, rows.second], axis=1)
    assert ends.tolist() == sorted(map(list, found))
    assert rows.product == pytest.approx(products[ends[:, 0], ends[:, 1]].numpy(), abs=1e-6)
    assert len(ends) <= k * (40 + 30) and (products[ends[:, 0], ends[:, 1]] > 0).all()


def test_with_little_looked_at_equal_texts_are_found_still(monkeypatch):
    monkeypatch.setattr(module, "MIN_ROWS_LOOKED_UP", 5)
    monkeypatch.setattr(module, "MAX_LOOKUPS", 0)
    texts = drawn(300, 3)
    order = np.random.default_rng(4).permutation(len(texts))
    rows = tfidf(*ngram_counts(texts, [texts[i] for i in order]))
    found = ends_of(similar_rows(*rows, 2))
    assert all((int(i), place) in found for place, i in enumerate(order))
    held = np.bincount(rows[1].indices, minlength=rows[1].shape[1])
    rare = module._rarest(rows[0], held)
    led = np.array([held[rare.indices[a:b]].sum() for a, b in zip(rare.indptr, rare.indptr[1:], strict=False)])
    n_kept = np.diff(rare.indptr)
    assert ((led <= 5) | (n_kept == 1)).all() and n_kept.min() >= 1 and rare.nnz < rows[0].nnz


def test_the_rarest_is_looked_at_even_where_it_leads_to_too_many(monkeypatch):
    monkeypatch.setattr(module, "MIN_ROWS_LOOKED_UP", 5)
    monkeypatch.setattr(module, "MAX_LOOKUPS", 0)
    rows = csr_matrix(np.array([[1, 1, 0], [0, 1, 1], [0, 0, 0]], dtype=np.float32))
    rare = module._rarest(rows, np.array([7, 9, 4])).toarray()
    assert rare.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_a_million_rows_are_looked_up_through_fewer(monkeypatch):
    monkeypatch.setattr(module, "MAX_LOOKUPS", 1000)
    monkeypatch.setattr(module, "MIN_ROWS_LOOKED_UP", 4)
    rows = tfidf(*ngram_counts(drawn(100, 5)))[0]
    held = np.bincount(rows.indices, minlength=rows.shape[1])
    assert module._rarest(rows, held).nnz < module._rarest(rows[:10], held).nnz * 10


def test_products_above_zero_alone_are_kept():
    first = csr_matrix(np.array([[1.0, 0.0], [0.0, -1.0], [0.0, 0.0]], dtype=np.float32))
    found = top_products(first, csr_matrix(np.eye(2, dtype=np.float32)), 2)
    assert found.toarray().tolist() == [[1, 0], [0, 0], [0, 0]]
    assert top_products(first[2:], csr_matrix(np.eye(2, dtype=np.float32)), 2).shape == (1, 2)


@pytest.mark.parametrize("at_once", [1, 7, 256])
def test_blocks_of_all_products_find_what_the_index_finds(at_once, monkeypatch):
    """The way of GPUs, and of machines without sparse products."""
    monkeypatch.setattr(module, "ROWS_AT_ONCE", (1, at_once))
    first, second = tfidf(*ngram_counts(drawn(40, 1), drawn(30, 2)))
    dense = torch.from_numpy((first @ second.T).toarray())
    torch.testing.assert_close(all_products(first, second), dense)
    torch.testing.assert_close(
        torch.cat([products for _, products in module._blocks_of_products(first, second, "cpu")]), dense
    )
    for k in (1, 3, 50):
        found, plain = top_products_in_blocks(first, second, k), top_products(first, csr_matrix(second.T), k)
        assert found.toarray() == pytest.approx(plain.toarray(), abs=1e-6)
    plain = similar_rows(first, second, 3)
    monkeypatch.setattr(module, "has_sparse_products", lambda: False)
    found = similar_rows(first, second, 3)
    assert ends_of(found) == ends_of(plain) and found.product == pytest.approx(plain.product, abs=1e-6)
    found, plain = top_products(first, csr_matrix(second.T), 2), top_products_in_blocks(first, second, 2)
    assert found.toarray() == pytest.approx(plain.toarray(), abs=1e-6)


def test_only_those_who_look_find_others():
    first, second = tfidf(*ngram_counts(drawn(40, 1), drawn(30, 2)))
    ahead, back = np.array([3, 7]), np.array([0, 5, 29])
    found = similar_rows(first, second, 4, looking=(ahead, back))
    whole = similar_rows(first, second, 4)
    assert ends_of(found) <= ends_of(whole) and len(found.first) <= 4 * 5
    assert all(row in ahead or other in back for row, other in ends_of(found))
    for row in ahead:
        assert sorted(found.product[found.first == row])[-4:] == sorted(whole.product[whole.first == row])[-4:]


def test_where_rare_columns_alone_are_looked_up_products_decide(monkeypatch):
    """Among spare rows that they lead to the best by all columns are chosen."""
    monkeypatch.setattr(module, "MIN_ROWS_LOOKED_UP", 60)
    monkeypatch.setattr(module, "MAX_LOOKUPS", 0)
    first, second = tfidf(*ngram_counts(drawn(200, 5), drawn(200, 6)))
    index = RowIndex(second)
    assert module._rarest(first, index.held).nnz < first.nnz
    best = -np.sort(-(first @ second.T).toarray(), axis=1)[:, :2]

    def recall(spare):
        monkeypatch.setattr(module, "SPARE_ROWS", spare)
        found = index.most_alike(first, 2)
        assert found.product == pytest.approx(row_products(first, second, found.first, found.second))
        assert np.bincount(found.first).max() <= 2
        return (found.product >= best[found.first, 1] - 1e-6).mean()

    assert recall(10) > recall(1) + 0.02 and recall(10) > 0.95
