"""Texts in arrays: each comes back as it was, and equal ones are stored once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixtea.graph import text_column
from mixtea.graph.text_column import TextColumn, is_distinct

TEXTS = [
    "NA",
    "null",
    "1e5",
    "007",
    "",
    "a\ttab\nand line",
    '"quoted"',
    "Größe",
    "\U0001f600",
    "half \udc80",
    "\0",
    "NA",
]
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=[]))


def test_texts_come_back_as_they_were():
    column = TextColumn.from_texts(TEXTS)
    assert column.tolist() == TEXTS and [column[i] for i in range(len(TEXTS))] == TEXTS and len(column) == len(TEXTS)
    assert column.n_texts == len(TEXTS) - 1 and column.texts() == TEXTS[:-1] and column[-1] == "NA"
    assert (column.data.dtype, column.offsets.dtype, column.codes.dtype) == (np.uint8, np.int64, np.int32)


def test_a_column_of_nothing():
    column = TextColumn.from_texts([])
    assert column.tolist() == column.texts() == [] and column.offsets.tolist() == [0] and column.nbytes == 8
    assert (
        TextColumn.concat([column, column]).tolist() == [] and column.compact() is column and len(column.ranks()) == 0
    )
    assert column.take(np.empty(0, dtype=np.int64)).tolist() == []


def test_rows_by_number_and_by_mask():
    column = TextColumn.from_texts(["a", "b", "a", "c"])
    assert column.take(np.array([3, 0, 0])).tolist() == ["c", "a", "a"]
    few = column.take(np.array([False, True, False, True]))
    assert few.tolist() == ["b", "c"] and few.texts() == ["a", "b", "c"]
    assert few.compact().texts() == ["b", "c"] and few.compact().codes.tolist() == [0, 1]


def test_compact_orders_texts_as_the_rows_bring_them():
    column = TextColumn.from_texts(["a", "bb", "", "bb"]).take(np.array([3, 2, 0]))
    assert column.compact().texts() == ["bb", "", "a"] and column.compact().tolist() == ["bb", "", "a"]


def test_joined_columns_share_their_texts():
    column = TextColumn.concat([TextColumn.from_texts(texts) for texts in (["a", "b"], [], ["b", "c", "b"])])
    assert column.tolist() == ["a", "b", "b", "c", "b"] and column.texts() == ["a", "b", "c"]


def test_ranks_are_those_of_the_code_points():
    texts = ["b", "", "B", "a", "ä", "\uffff", "\U0001f600", "half \udc80", "half", "ab"]
    ranks = TextColumn.from_texts(texts).ranks()
    assert [texts[i] for i in np.argsort(ranks)] == sorted(texts)


@given(st.lists(ANY_TEXT), st.lists(ANY_TEXT))
def test_any_texts(first, second):
    columns = [TextColumn.from_texts(texts) for texts in (first, second)]
    joined = TextColumn.concat(columns)
    assert joined.tolist() == first + second and joined.texts() == list(dict.fromkeys(first + second))
    assert [joined.texts()[i] for i in np.argsort(joined.ranks())] == sorted(set(first + second))


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 9])
def test_blocks_of_any_number(n, monkeypatch):
    monkeypatch.setattr(text_column, "TEXTS_PER_BLOCK", 4)
    assert TextColumn.from_texts(map(str, range(n))).tolist() == [str(i) for i in range(n)]


def test_texts_that_are_not_distinct_are_told():
    data = np.frombuffer(b"abab", dtype=np.uint8)
    assert is_distinct(data, np.array([0, 1, 2])) and not is_distinct(data, np.array([0, 2, 4]))
    shifted = np.frombuffer(b"x" + np.array([0, 2, 4]).tobytes(), dtype=np.uint8)[1:].view(np.int64)
    assert not shifted.flags.aligned and not is_distinct(data, shifted)


@given(st.lists(st.lists(st.sampled_from(["", "a", "b", "aa", "ab", "ba", "bb", "c" * 70, "c" * 80]), max_size=6)))
def test_columns_of_any_texts_are_joined_as_one_of_all_would_be(columns):
    rows = [text for texts in columns for text in texts]
    joined, plain = TextColumn.concat([TextColumn.from_texts(texts) for texts in columns]), TextColumn.from_texts(rows)
    assert joined.tolist() == rows and joined.texts() == plain.texts() == list(dict.fromkeys(rows))
    assert joined.array().tolist() == rows and joined.codes.dtype == np.int32


def test_many_columns_with_few_texts_in_common():
    columns = [[f"{letter}{i}" for i in range(9)] + ["same"] for letter in "abc"]
    joined = TextColumn.concat([TextColumn.from_texts(texts) for texts in columns])
    assert joined.tolist() == [text for texts in columns for text in texts] and joined.n_texts == 28


def test_ids_in_order_are_distinct_without_a_table_of_them():
    for texts in (["9", "10", "11", "100"], ["a", "b"], ["b", "a", "b"], ["aa", "b", "aa"], ["a", "a"]):
        column = TextColumn.from_texts(texts)
        assert column.tolist() == texts and column.n_texts == len(set(texts))


def test_texts_as_objects():
    whole, half = TextColumn.from_texts(["a", "é", "a"]), TextColumn.from_texts(["a", "half \udc80"])
    assert whole.objects().tolist() == ["a", "é"] and half.objects().tolist() == ["a", "half \udc80"]
    assert whole.array().tolist() == ["a", "é", "a"] and TextColumn.from_texts([]).array().tolist() == []


def test_texts_that_others_have():
    few, many = TextColumn.from_texts(["a1", "b2", "", "cc"]), TextColumn.from_texts(["b2", "ab1", "", "x", "y", "z"])
    assert few.is_among(many).tolist() == [False, True, True, False]
    assert many.is_among(few).tolist() == [True, False, True, False, False, False]
    assert few.is_among(TextColumn.from_texts([])).tolist() == [False] * 4
    assert TextColumn.from_texts([]).is_among(few).tolist() == TextColumn.from_texts([]).contain("a").tolist() == []


def test_blank_texts_and_texts_with_something_in_them():
    texts = ["", " ", "\t\n", "\x1f", "\x85", "\xa0", "\u1680", "\u2003", "\u3000", " a", "\u200b", "é", "http://a"]
    assert TextColumn.from_texts(texts).are_blank().tolist() == [not text.strip() for text in texts]
    assert TextColumn.from_texts(texts).contain("://").tolist() == [False] * 12 + [True]
