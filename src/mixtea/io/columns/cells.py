"""Recognise what is in a table by its cells (numbers with units, dates, codes, lists) and by the names of columns."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import chain

import numpy as np

from mixtea.io.formats.cell_values import Column
from mixtea.io.formats.tsv import object_array
from mixtea.text.values import parse_date

_NUMBER = re.compile(
    r"[~≈<>±]?\s*(?:[$€£¥₹]|(?:USD|EUR|GBP)\s)?\s*[+\-−]?\s*"
    r"(?:\d[\d,'’ \u00a0]*(?:\.\d*)?|\.\d+|\d{1,3}(?:\.\d{3})*,\d+)"
    r"(?:[eE][+-]?\d+)?\s*(%|[€$£¥₹]|°\s?[CFcf]?|\"|''|[^\W\d_]{1,5}\.?(?:[²³]|/[^\W\d_]{1,4}[²³]?)?)?"
)
SEVERAL_UNITS = re.compile(r"(?:\d+(?:\.\d+)?\s?[^\W\d_]{1,7}\.?,?\s?){2,4}")  # 1h 30m
_TIME = re.compile(r"(?:T)?\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?\s*(?:[AaPp]\.?[Mm]\.?)?(?:Z|[+-]\d\d:?\d\d)?")
_DATE_AND_TIME = re.compile(r"(\S+(?: \S+){0,3}?),?[ T]+(\d{1,2}:\d\d.*)")
_SHORT_DATE = re.compile(
    r"\d{1,2}([-/.])\d{1,2}\1\d{2}|\d{1,2}[- ][^\W\d_]{3,9}\.?[- ]\d{2}|[^\W\d_]{3,9}\.? \d{1,2},? \d{2}"
)
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d(?:\.0)?")
PACKED_DATE = re.compile(r"(?:1[6-9]|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")  # 19991231
_HEX = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16,64}", re.IGNORECASE)
_MIXED = re.compile(r"(?=\S*\d)(?=\S*[^\W\d_])[\w./:+-]{2,40}")  # letters and digits in one word
_CAPITALS = re.compile(r"[A-Z][A-Z0-9._-]{0,7}")
FLAGS = frozenset(["0", "1", "true", "false", "yes", "no", "y", "n", "t", "f"])
EARLIEST_YEAR = "1700"  # of a column that is not called so
SEPARATORS = ("|", ";", ",")
NAME_SEPARATORS = ("|", ";")  # between names, which may have commas in them
MAX_ITEM_WORDS = 4.0  # mean words of the items of a list
SHORT_ITEM = 4.0  # mean characters of items that are codes
MIN_ITEMS = 2.6  # mean items of a list with commas, unless its name is a plural


def is_number(text: str) -> bool:
    """Return whether a text is a number, with a currency or a unit or without.

    >>> [is_number(text) for text in ("12.5", "$ 1,200.00", "256 MB", "-3e5", "310-246-1501", "007", "12 Main St")]
    [True, True, True, True, False, False, False]
    """
    return _NUMBER.fullmatch(text) is not None and not (text[0] == "0" and text[1:2].isdigit())


def unit_of(text: str) -> str:
    """Return the unit behind a number, in small letters; "" without one."""
    found = _NUMBER.fullmatch(text)
    return (found[1] or "").lower() if found else ""


def is_year(text: str) -> bool:
    return _YEAR.fullmatch(text) is not None


def is_iri(text: str) -> bool:
    return "://" in text and " " not in text


def is_date(text: str) -> bool:
    """Return whether a text is a date, a time of day, or both; not a year alone.

    >>> [is_date(text) for text in ("1999-12-31", "Jan 5 1999", "10:30", "31/12/99 10:30", "1999", "12-inch")]
    [True, True, True, True, False, False]
    """
    if _TIME.fullmatch(text) or _SHORT_DATE.fullmatch(text):
        return True
    if parse_date(text):
        return not is_year(text)
    both = _DATE_AND_TIME.fullmatch(text)
    return both is not None and is_date(both[1])


def is_code(text: str) -> bool:
    """Return whether a text is a code: letters and digits in one word, capitals, or many hexadecimal digits.

    >>> [is_code(text) for text in ("SKU-12a", "FRA", "b0006zf55o", "Rome", "12", "Q64")]
    [True, True, True, False, False, True]
    """
    return any(pattern.fullmatch(text) for pattern in (_MIXED, _CAPITALS, _HEX)) and not is_number(text)


def is_list(text: str) -> bool:
    """Return whether a text is written as lists are in JSON or Python."""
    return len(text) > 1 and (text[0], text[-1]) in {("[", "]"), ("{", "}")}


def list_separator(
    texts: Sequence[str], least: float, *, trusted: bool = False, separators: Sequence[str] = SEPARATORS
) -> str | None:
    """Return what separates the items of lists; None if fewer than this share of the texts are such.

    Of `trusted` texts two items are enough; else commas must separate more, for `Smith, Jane` is one name.
    """
    for separator in separators:
        found = [text.split(separator) for text in texts if separator in text.strip(separator)]
        if len(found) < max(1.0, least * len(texts)):
            continue
        items = [item.strip() for row in found for item in row]
        mean = len(items) / len(found)
        are_short = np.mean([len(item) for item in items]) <= SHORT_ITEM
        if (
            separator == ","
            and not (trusted or are_short)
            and (mean < MIN_ITEMS or any(map(str.isdigit, chain(*items[:50]))))
        ):
            continue
        if np.mean([len(item.split()) for item in items]) <= MAX_ITEM_WORDS and "://" not in items[0]:
            return separator
    return None


def items_of(column: Column, separator: str = "", separators: Sequence[str] = SEPARATORS) -> Column:
    """Return a column of lists with an item in each cell; without a separator by that which most cells have.

    >>> import numpy as np
    >>> items_of(Column("genres", np.array([0, 1]), np.array(['["a", "b"]', "c|d"], dtype=object))).texts.tolist()
    ['a', 'b', 'c', 'd']
    >>> names = Column("names", np.array([0, 1]), np.array(["Ether; Oxide, ethyl", "Rust"], dtype=object))
    >>> items_of(names, separators=NAME_SEPARATORS).texts.tolist()
    ['Ether', 'Oxide, ethyl', 'Rust']
    """
    texts = column.texts.tolist()
    plain = [] if separator else [text for text in texts if not is_list(text)]
    separator = separator or list_separator(plain, 0.0, trusted=True, separators=separators) or ""
    found = [_items(text, separator) for text in texts]
    rows = np.repeat(column.rows, [len(items) for items in found])
    return Column(column.name, rows, object_array([item for items in found for item in items]))


def _items(text: str, separator: str) -> list[str]:
    if is_list(text):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = [item.strip(" '\"") for item in text[1:-1].split(separator or ",")]
        items = [*map(str, found)] if isinstance(found, list) else [text]
    else:
        items = text.split(separator) if separator else [text]
    return [item.strip() for item in items if item.strip()]


_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^\w]|_|(?<=[^\W\d_])(?=\d)")


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


IDS = word_set("""
    id ids identifier code key uri iri uuid guid isbn issn ean gtin upc sku asin doi orcid lei vin imo mmsi barcode
    iata icao lid fips wmo qid cas inchi smiles rowid rownames rownum rownumber index serial nr no alpha abbreviation
    abbr tailnum callsign symbol ticker acronym isocode ssn geonameid numeric slug handle
""")
DATES = word_set("""
    date dates year years month day days time hour minute second datetime timestamp born birth died death dob
    birthday created updated modified since until founded established released release published publication start
    end began begin expires expiry expiration jahr datum geburtsdatum annee fecha ano anno data rok
""")
MEASURES = word_set("""
    count number num total sum amount price cost rate ratio score rating stars rank size length width height depth
    weight mass area volume population pop age distance speed duration runtime minutes seconds hours quantity qty
    stock pages votes budget gross revenue salary income value percent percentage share mean median average avg min
    max std temperature temp latitude longitude lat lon lng elevation altitude density pressure radius energy power
    level levels points goals wins losses miles mpg cylinders horsepower displacement acceleration delay bedrooms
    bathrooms rooms floors seats capacity employees year month day hour minute date time
""")
REFERENCES = word_set("""
    parent parents child mother father spouse partner manager boss supervisor superior friend sibling owner author
    director successor predecessor next previous prev ref reference refers replaced replacedby replaces superclass
    subclass broader narrower belongs memberof partof source target from to foreign fk
""")
TEXTS = word_set("""
    alias host file url website link page image photo
""")
NO_MEASURES = word_set("""
    postcode postal zip zipcode plz phone telephone tel mobile fax street house building room flat unit extension
""")  # their numbers count nothing
CLASSES = word_set("""
    status type class category group grade level code kind stage phase cluster label season quarter
""")
NAME_PARTS = word_set("""
    first last given middle family surname forename firstname lastname maiden
""")
PAGES = word_set("""
    url urls website homepage web site link links page pages image images img photo photos picture thumbnail thumb
    logo icon video audio pdf wikipedia flag avatar poster trailer source download
""")


def words_of(name: str) -> list[str]:
    """Return the words of the name of a column, in small letters.

    >>> words_of("managerId"), words_of("birth_date"), words_of("alpha_3"), words_of("ISBN-13")
    (['manager', 'id'], ['birth', 'date'], ['alpha', '3'], ['isbn', '13'])
    """
    return [word.casefold() for word in _CAMEL.split(name) if word]


def is_called(name: str, words: frozenset[str]) -> bool:
    """Return whether a column is called by one of the words."""
    return not words.isdisjoint(words_of(name))


def is_id_word(name: str) -> bool:
    """Return whether a column is called as ids are; one without a name holds what pandas writes in front of rows."""
    words = words_of(name)
    return not words or not IDS.isdisjoint(words)


def is_reference_word(name: str) -> bool:
    """Return whether a column is called as references to other rows are, such as `parent` or `managerId`."""
    words = words_of(name)
    return (len(words) > 1 and words[-1] in IDS) or not REFERENCES.isdisjoint(words)


def is_plural(name: str) -> bool:
    """Return whether a column is called by a plural, as lists are: `authors`, `countries_of_origin`."""
    return any(
        len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) for word in words_of(name)
    )


def is_person_name_word(name: str) -> bool:
    """Return whether a column is called as a part of a person's name is, such as `nameFirst` or `surname`."""
    words = words_of(name)
    return "surname" in words or (not NAME_PARTS.isdisjoint(words) and "name" in "".join(words))


def is_named_after(name: str, table: str) -> bool:
    """Return whether a column is called as a table is, with or without a word for ids, in the plural or not.

    >>> is_named_after("director", "directors"), is_named_after("Country_ID", "countries")
    (True, True)
    >>> is_named_after("year", "films")
    False
    """
    ours = [word for word in words_of(name) if word not in IDS]
    theirs = words_of(table)
    return bool(ours and theirs) and _singular(ours[-1]) == _singular(theirs[-1])


def _singular(word: str) -> str:
    return word[:-3] + "y" if word.endswith("ies") else word[:-1] if word.endswith("s") else word
