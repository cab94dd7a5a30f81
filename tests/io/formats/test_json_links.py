"""Links in JSON: as we write them, as others do, and what is not such."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

from mixtea.errors import Problems
from mixtea.io.links.read import read_link_table
from mixtea.io.safe.limits import Limits, use_limits

ROWS = [
    {"source": 'a"\n', "target": "A", "probability": 0.5},
    {"source": "b", "target": None, "probability": 0.7},
    {"source": "c", "target": "C"},
]


def read(tmp_path, text):
    path, problems = tmp_path / "l.json", Problems()
    path.write_text(text, encoding="utf-8")
    table = read_link_table(path, problems)
    return table, [str(problem) for problem in problems.found]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("whole", [ROWS, {"title": '"mappings": [', "mappings": ROWS, "more": 1}])
def test_a_list_alone_or_under_mappings(tmp_path, whole, indent):
    table, problems = read(tmp_path, json.dumps(whole, indent=indent))
    assert problems == [] and [column.tolist() for column in table.columns] == [['a"\n', "c"], ["A", "C"]]
    np.testing.assert_array_equal(table.confidences, [0.5, np.nan])
    assert "1 row is left out, not stating that two are the same (1 without an end)" in table.warnings[0]
    assert table.lines.tolist() == ([1, 1] if indent is None else table.lines.tolist())


@pytest.mark.parametrize(
    ("rows", "name"),
    [*itertools.product([ROWS, ROWS[::2]], ["l.jsonl", "l.ndjson", "l.json", "links"]), (ROWS * 20_000, "l.json")],
)
def test_json_lines(tmp_path, rows, name):
    (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    table = read_link_table(tmp_path / name, problems := Problems())
    assert not problems.found and len(table) == sum(row["target"] is not None for row in rows)
    assert table.lines[:2].tolist() == ([1, 2] if len(rows) == 2 else [1, 3])
    (tmp_path / "one.jsonl").write_text(json.dumps(rows[0]), encoding="utf-8")
    assert len(read_link_table(tmp_path / "one.jsonl", problems)) == 1 and not problems.found


def test_rows_of_sssom_that_say_something_else_are_left_out(tmp_path):
    rows = [
        {"subject_id": "a", "predicate_id": name, "object_id": "A"} for name in ("skos:exactMatch", "skos:broadMatch")
    ]
    table, problems = read(tmp_path, json.dumps(rows))
    assert len(table) == 1 and problems == [] and "1 skos:broadMatch" in table.warnings[0] and table.confidences is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON with a list of links"),
        ('{"a": 1}', "not JSON with a list of links"),
        ("[]", "no links in it"),
        ('[{"source": "a", "target": "A"}', "not JSON"),
        ('[{"source": "a",\n"target": }]', "not JSON"),
        ("[1]", "no object: '1'"),
        ('[{"source": "a", "goal": "A"}]', "no source and target"),
        ('[{"source": 1, "target": "A"}]', "no source and target"),
        ('[{"source": "a", "target": "\\ud800"}]', r"line 1: half a character in source or target: 'a \ud800'"),
        ('[{"source": ' + "[" * 100_000, "nesting out of range"),
        ('[{"source": ' + "1" * 5000 + "}]", "a number or nesting out of range"),
    ],
)
def test_what_is_no_list_of_links_is_said(tmp_path, text, said):
    table, problems = read(tmp_path, text)
    assert len(table) == 0 and len(problems) == 1 and said in problems[0]


def test_no_more_than_one_object_is_held(tmp_path):
    rows = ",\n".join(json.dumps({"source": f"{i}", "note": "x" * 1000, "target": "A"}) for i in range(8000))
    table, problems = read(tmp_path, f"[{rows}]")
    assert problems == [] and table.columns[0].tolist() == [f"{i}" for i in range(8000)]
    assert table.lines.tolist() == list(range(1, 8001))
    with use_limits(Limits(max_token_mib=1)):
        lines = "\n".join(['"' + "x" * 1000 + '",'] * 12_000)
        _, problems = read(tmp_path, f'[{{"source": [\n{lines}\n1], "target": "A"}}]')
    assert len(problems) == 1 and "beyond the limit max_token_mib" in problems[0]
