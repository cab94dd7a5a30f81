"""The labels of columns: complete, of known kinds, and tables that refer to each other in one part."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import blind_tables
import package_tables
import pytest
from package_tables import MAX_ROWS, data_file

HERE = Path(__file__).parent
TABLES = {HERE / "labels.tsv": package_tables, HERE / "labels_blind.tsv": blind_tables}
PARTS = {"labels": ({"build"}, {"held_out"}), "labels_blind": ({"blind"},), "column_labels": ({"build"}, {"held_out"})}
FILES = [*TABLES, HERE.parents[2] / "benchmarks" / "column_labels.tsv"]
KINDS = {"id", "name", "text", "number", "date", "category", "reference", "list"}


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def parts(path: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in read(path):
        found.setdefault(row["table"], set()).add(row["part"])
    return found


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_there_is_a_label_for_every_table(path):
    assert parts(path).keys() == TABLES[path].LOADERS.keys()


@pytest.mark.parametrize(("path", "name"), [(path, name) for path, tables in TABLES.items() for name in tables.LOADERS])
def test_every_column_has_one_label(path, name):
    table = TABLES[path].table(name)
    assert [row["column"] for row in read(path) if row["table"] == name] == list(table)
    assert 0 < len(table) <= MAX_ROWS
    assert table.notna().any().all()


def test_no_table_is_in_two_files():
    assert package_tables.LOADERS.keys().isdisjoint(blind_tables.LOADERS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_kinds_and_parts_are_known_and_few_columns_have_two_kinds(path):
    rows = read(path)
    kinds = [row["kind"].split("|") for row in rows]
    assert {kind for several in kinds for kind in several} <= KINDS
    assert max(len(several) for several in kinds) == 2
    assert sum(len(several) == 2 for several in kinds) <= len(kinds) / 10
    assert max(Counter((row["table"], row["column"]) for row in rows).values()) == 1
    assert all(found in PARTS[path.stem] for found in parts(path).values())


@pytest.mark.parametrize(
    ("path", "name", "column", "to", "ids"),
    [
        (FILES[0], "cities", "countrycode", "geonames_countries", "iso"),
        (FILES[0], "subdivisions", "parent", "subdivisions", "code"),
        (FILES[0], "subdivisions", "country_code", "countries", "alpha_2"),
        (FILES[0], "hall_of_fame", "playerID", "people", "playerID"),
        (FILES[1], "franchises", "NAassoc", "franchises", "franchID"),
        (FILES[1], "teams", "franchID", "franchises", "franchID"),
        (FILES[1], "us_counties", "state", "us_states", "code"),
    ],
)
def test_references_lead_to_rows_of_the_same_part(path, name, column, to, ids):
    table = TABLES[path].table
    assert table(name)[column].dropna().isin(table(to)[ids]).all()
    assert parts(path)[name] == parts(path)[to]


def test_a_package_that_is_missing_is_named():
    with pytest.raises(FileNotFoundError, match=r"the package no_such_package is not installed: pip install"):
        data_file("no_such_package", "table.csv")
