"""The labels of columns: complete, of known kinds, and tables that refer to each other in one part."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest
from data.columns.package_tables import LOADERS, MAX_ROWS, data_file, table

HERE = Path(__file__).parent
FILES = [HERE / "labels.tsv", HERE.parents[2] / "benchmarks" / "column_labels.tsv"]
KINDS = {"id", "name", "text", "number", "date", "category", "reference", "list"}


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def parts(path: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in read(path):
        found.setdefault(row["table"], set()).add(row["part"])
    return found


def test_there_is_a_label_for_every_table():
    assert parts(FILES[0]).keys() == LOADERS.keys()


@pytest.mark.parametrize("name", LOADERS)
def test_every_column_has_one_label(name):
    assert [row["column"] for row in read(FILES[0]) if row["table"] == name] == list(table(name))
    assert 0 < len(table(name)) <= MAX_ROWS
    assert table(name).notna().any().all()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_kinds_and_parts_are_known_and_few_columns_have_two_kinds(path):
    rows = read(path)
    kinds = [row["kind"].split("|") for row in rows]
    assert {kind for several in kinds for kind in several} <= KINDS
    assert max(len(several) for several in kinds) == 2
    assert sum(len(several) == 2 for several in kinds) <= len(kinds) / 10
    assert max(Counter((row["table"], row["column"]) for row in rows).values()) == 1
    assert all(found in ({"build"}, {"held_out"}) for found in parts(path).values())


def test_references_lead_to_rows_of_the_same_part():
    part = parts(FILES[0])
    for name, column, to, ids in [
        ("cities", "countrycode", "geonames_countries", "iso"),
        ("subdivisions", "parent", "subdivisions", "code"),
        ("subdivisions", "country_code", "countries", "alpha_2"),
        ("hall_of_fame", "playerID", "people", "playerID"),
    ]:
        assert table(name)[column].dropna().isin(table(to)[ids]).all()
        assert part[name] == part[to]


def test_a_package_that_is_missing_is_named():
    with pytest.raises(FileNotFoundError, match=r"the package no_such_package is not installed: pip install"):
        data_file("no_such_package", "table.csv")
