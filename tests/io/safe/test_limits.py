"""Limits on files: how they are given, where they hold, and what exceeding each of them says."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import LINKS, TARGET, write
from processes import run

from mixtea import load_task
from mixtea.errors import ConfigError, DataError, Problems
from mixtea.io.load_graph import read_graph
from mixtea.io.safe import limits
from mixtea.io.safe.limits import (
    ENVIRONMENT,
    FIELDS,
    Limits,
    also_in_new_processes,
    current_limits,
    parse_limits,
    truncate_rows,
    use_limits,
)

TTL = "<a:a> <a:b> <a:c> .\n"
LONG = "x" * (1 << 20)
ONE, FOUR = dict(max_token_mib=1), dict(max_nesting=4)
DEEP = "<a:a> <a:b> " + "<<( <a:a> <a:b> " * 5 + "<a:c>" + ")>>" * 5 + "."


@pytest.mark.parametrize(
    "words, message",
    [
        (["max_gib"], "not of the form name=value"),
        (["max_gibs=1"], "There is no limit 'max_gibs'. Did you mean 'max_gib'"),
        (["wrong=1"], "There are max_gib, max_expansion"),
        (["max_rows=many"], "max_rows must be a whole number, not 'many'"),
        (["max_rows=1.5"], "max_rows must be a whole number, not 1.5: lines, rows or statements"),
        (["max_gib=nan"], "max_gib must be a number, not nan"),
        (["max_token_mib=17"], "max_token_mib must be from 1 to 16, not 17"),
        ([f"max_rows={'9' * 30}"], "max_rows must be from 1 to"),
    ],
)
def test_wrong_limits_are_explained(words, message):
    with pytest.raises(ConfigError, match=message):
        parse_limits(words)


def test_limits_are_numbers():
    assert parse_limits(["max_rows=1e6", " max_gib = 2 "]) == Limits(max_rows=1_000_000, max_gib=2.0)
    with pytest.raises(ConfigError, match="whole number, not True"):
        Limits(max_rows=True)


def test_limits_hold_in_a_block_and_in_processes_started_there(monkeypatch):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    with use_limits(Limits(max_rows=5)), use_limits(None):
        assert current_limits().max_rows == 5
    program = "from mixtea.io.safe.limits import current_limits; print(current_limits().max_rows)"
    with also_in_new_processes(Limits(max_rows=7)):
        assert current_limits().max_rows == 7
        assert run([sys.executable, "-c", program]).stdout == "7\n"
    assert current_limits() == Limits() and ENVIRONMENT not in os.environ
    monkeypatch.setenv(ENVIRONMENT, "max_rows=9")
    with also_in_new_processes(Limits()):
        pass
    assert current_limits().max_rows == 9


BEYOND = {
    "max_gib": ("g.tsv", TARGET * 100, dict(max_gib=2**-20), r"0\.0 GiB: beyond the limit max_gib"),
    "max_gib, packed": ("g.tsv.gz", gzip.compress(os.urandom(3000).hex().encode()), dict(max_gib=2**-18), "max_gib"),
    "max_expansion": ("g.tsv.gz", gzip.compress(TARGET.encode() * 10**6), dict(), "unpack to 16,777,217 and more"),
    "max_token_mib": ("g.tsv", f"a\tr\tb\n{LONG}x\n", ONE, "line 2: more than 1 MiB long"),
    "max_token_mib, Turtle": ("g.ttl", f'{TTL}<a:a> <a:b> "{LONG}" .', ONE, "statement 2 is more than"),
    "max_token_mib, CSV": ("g.csv", 'a,r,b\nc,r,"' + "d\n" * (1 << 19), ONE, "line 2: an open quote, or"),
    "max_nesting": ("g.nt", DEEP, FOUR, "line 1: triples in triples"),
    "max_nesting, Turtle": ("g.ttl", f"{TTL}\n{DEEP}", FOUR, "line 3: triples in triples in triples: beyond"),
    "max_rows": ("g.nt", TTL * 6, dict(max_rows=5), "line 6: one of more than 5: beyond the limit max_rows"),
    "max_rows, Turtle": ("g.ttl", TTL * 6, dict(max_rows=5), "statement 6 is one of more than 5"),
    "max_columns": ("g.csv", "a,b,c,d\n", dict(max_columns=3), "line 1: 4 columns: beyond the limit max_columns"),
}  # fmt: skip


@pytest.mark.parametrize("case", BEYOND)
def test_a_file_beyond_a_limit_is_refused_with_the_limit_and_a_way_out(case, tmp_path, mixtea):
    name, content, changed, message = BEYOND[case]
    write(tmp_path, {name: content, "t": TARGET, "l": LINKS})
    with pytest.raises(DataError, match=message) as caught:
        load_task(source=tmp_path / name, target=tmp_path / "t", links=tmp_path / "l", limits=Limits(**changed))
    limit = case.partition(",")[0]
    assert f"{tmp_path / name}: 1 problem" in str(caught.value) and f"--limit {limit}=" in str(caught.value)


def test_the_option(tmp_path, mixtea):
    write(tmp_path, {"g.nt": TTL * 6, "t": TARGET, "l": "a:a\tA\n"})
    own = ("inspect", "--source", tmp_path / "g.nt", "--target", tmp_path / "t", "--links", tmp_path / "l")
    code, _, err = mixtea(*own, "--limit", "max_rows=5", "--limit", "max_gib=1")
    assert code == 2 and "If the file is right, allow more: --limit max_rows=... (now 5)." in err
    assert mixtea(*own, "--limit", "max_rows=6")[0] == 0
    code, _, err = mixtea(*own, "--limit", "max_row=6")
    assert code == 2 and err == "error: There is no limit 'max_row'. Did you mean 'max_rows'?\n"
    code, _, err = mixtea("tune", *own[1:], "--out", tmp_path / "o", "--limit", "max_rows=2")
    assert code == 2 and "--limit max_rows" in err
    code, _, err = mixtea("reproduce", tmp_path, "--out", tmp_path / "o", "--limit", "max_rows=0")
    assert code == 2 and "max_rows must be from 1" in err


def test_problems_are_counted_and_not_all_kept(tmp_path):
    write(tmp_path, {"g.tsv": "a\n" * 500 + "\tr\tb\n" * 5})
    with use_limits(Limits(max_problems=100)):
        problems = Problems(current_limits().max_problems)
        read_graph(tmp_path / "g.tsv", problems)
        problems.add(tmp_path / "other", None, "", "wrong", "Correct it.")
    with pytest.raises(DataError) as caught:
        problems.raise_if_any()
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{tmp_path / 'g.tsv'}: 505 problems" and lines[2].startswith("  ... and 504 more like it")
    assert lines[3:] == [f"{tmp_path / 'other'}: 1 problem", "  wrong. Correct it."] and len(problems.found) == 101
    problems.add(tmp_path / "g.tsv", 1, "", "more", "")
    assert problems.skipped[tmp_path / "g.tsv"] == 406
    assert len(truncate_rows(Problems(), tmp_path, np.arange(5))) == 5
    Problems(current_limits().max_problems).raise_if_any()


def test_the_documentation_of_the_limits_is_current():
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
    assert limits.describe() in page and all(f"`{name}`" in page for name in FIELDS)
