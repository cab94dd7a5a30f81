"""Labels stay text, and every problem is reported with its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixtea.errors import DataError, Problems
from mixtea.io.formats.tables import read_table

ODD = ["NA", "null", "1e5", "007", '"quoted"', "'", " spaced ", "nan", "#x", "a,b", "é", "\u2028", "a\rb", "=1+1"]


def read(path, text, n_columns=2, **options):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    problems = Problems()
    return read_table(path, n_columns, problems, **options), [(p.line, p.what) for p in problems.found]


def test_odd_labels_survive_unchanged(tmp_path):
    table, problems = read(tmp_path / "t", "".join(f"{a}\t{a}!\n" for a in ODD))
    assert not problems
    assert table.columns[0].tolist() == ODD
    assert table.columns[1].tolist() == [f"{a}!" for a in ODD]


label = st.text(st.characters(blacklist_characters="\t\n", blacklist_categories=["Cs"]), min_size=1).filter(
    lambda s: not s.endswith("\r") and not s.startswith("\ufeff")
)


@given(st.lists(st.tuples(label, label), min_size=1, max_size=8))
def test_any_text_survives(tmp_path_factory, rows):
    table, problems = read(tmp_path_factory.mktemp("t") / "t", "".join(f"{a}\t{b}\n" for a, b in rows))
    assert not problems
    assert list(zip(*table.columns, strict=True)) == rows


@pytest.mark.parametrize("text", ["a\tb\r\nc\td\r\n", "\ufeffa\tb\nc\td", "a\tb\nc\td\n\n\n"])
def test_windows_line_ends_a_byte_order_mark_and_a_missing_last_line_end(tmp_path, text):
    table, problems = read(tmp_path / "t", text)
    assert not problems and [c.tolist() for c in table.columns] == [["a", "c"], ["b", "d"]]


def test_all_problems_of_a_file_come_together(tmp_path):
    table, problems = read(tmp_path / "t", b"a\tb\nc\n\nd\te\tf\ng\xff\th\n\ti\nj\tk\n")
    assert problems == [
        (5, "byte ff is not UTF-8 in"),
        (2, "1 column"),
        (3, "a blank line"),
        (4, "3 columns"),
        (6, "column 1 is empty"),
    ]
    assert table.columns[0].tolist() == ["a", "j"] and table.lines.tolist() == [1, 7]


def test_what_is_wrong_in_many_lines_is_said_once(tmp_path):
    problems = Problems()
    (tmp_path / "t").write_text("one column\n" + "x\n" * 49)
    read_table(tmp_path / "t", 2, problems)
    with pytest.raises(DataError) as caught:
        problems.raise_if_any()
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{tmp_path / 't'}: 50 problems"
    assert lines[1] == "  line 1: 1 column 'one column'. Write 2 columns separated by tabs."
    others = ", ".join(f"line {i} 'x'" for i in range(2, 7))
    assert lines[2:] == [f"  ... and 49 more like it: {others}, ..."]


def test_twenty_kinds_of_problem_and_a_count(tmp_path):
    problems = Problems()
    for i in range(50):
        problems.add(tmp_path, None if i == 1 else i, "v" * i, f"wrong {i % 25}", "Mend it.")
    with pytest.raises(DataError) as caught:
        problems.raise_if_any()
    lines = str(caught.value).splitlines()
    assert len(lines) == 42 and lines[-1] == "  ... and 10 more"
    assert lines[1:3] == ["  line 0: wrong 0. Mend it.", f"  ... and 1 more like it: line 25 '{'v' * 25}'"]


def test_attribute_values_may_hold_tabs_and_be_empty(tmp_path):
    table, problems = read(tmp_path / "t", "e\tp\tone\ttwo\ne\tq\t\n", 3, rest_is_value=True)
    assert not problems and table.columns[2].tolist() == ["one\ttwo", ""]


def test_an_empty_file(tmp_path):
    assert read(tmp_path / "t", "")[1] == [(None, "the file is empty")]


def test_a_line_that_only_looks_unreadable_is_reported(tmp_path):
    assert read(tmp_path / "t", "a\tb\n\ufffd\nc\td")[1] == [(2, "1 column")]


def test_an_optional_file_may_be_empty(tmp_path):
    table, problems = read(tmp_path / "t", "", may_be_empty=True)
    assert not problems and len(table) == 0 and len(table.columns) == 2
