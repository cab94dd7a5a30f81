"""Literal values in forms that can be compared: numbers with tolerance, dates in their units, words. No torch."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from mixtea.data.names import plain, readable
from mixtea.vote.name_index import in_latin

LONGEST = 400  # characters of a value that are compared
GRAMMED = 60  # of a text whose n-grams are compared too
STEP = 0.02  # of the logarithm: numbers that differ by about a hundredth are near
_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d{1,15})(\.\d{1,15})?([eE][+-]?\d{1,2})?")
_TIME = r"[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,12})?)? ?"
_ISO = re.compile(rf"([+-]?\d{{4}})-(\d\d)(?:-(\d\d)(?:{_TIME})?)?(?:Z|UTC|[+-]\d\d(?::?\d\d)?)?")
_NUMERIC = re.compile(r"(\d{1,2})([./])(\d{1,2})\2(\d{4})")
_WRITTEN = re.compile(r"(?:(\d{1,2})\.? )?([a-z]{3,9})\.? (?:(\d{1,2}),? )?(\d{4})")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_DATED = ("date", "dateTime", "gYear", "gYearMonth")


class Form(NamedTuple):
    """A value to compare: `whole` is the same for the same value, `words` what it shares with near ones, `text` what

    n-grams are taken of. Each is "" where there is none.
    """

    whole: str
    words: str
    text: str


def form_of(value: str, datatype: str = "") -> Form:
    """The form of a literal; an empty one for a blank value.

    >>> form_of("1990-05-03").words, form_of("3 May 1990").words
    ('=1990-05-03 =1990-05 =1990', '=1990-05-03 =1990-05 =1990')
    >>> form_of("1,200.0").whole == form_of("1200").whole, form_of("Bondi Street").whole
    (True, 'bondi street')
    """
    value = value[:LONGEST].strip()
    date = _date(value, datatype)
    if date:
        return Form("-".join(date), " ".join("=" + "-".join(date[:size]) for size in range(len(date), 0, -1)), "")
    if _NUMBER.fullmatch(value):
        return _number(float(value.replace(",", "")))
    words = plain(readable(value))
    text = in_latin(words) or words
    whole = " ".join(sorted(text.split()))
    return Form(whole, text, text if len(text) <= GRAMMED else "")


def _number(value: float) -> Form:
    """Two grids of buckets, the one between the other: what is near is in the same bucket of one of them."""
    if not math.isfinite(value) or not value:
        value += 0.0  # there is one zero
        return Form(f"{value:.12g}", f"={value:.12g}", "")
    sign, step = "-" if value < 0 else "", math.log(abs(value)) / STEP
    near = f"{sign}~{math.floor(step)}", f"{sign}≈{math.floor(step + 0.5)}"
    return Form(f"{value:.12g}", f"={value:.12g} {near[0]} {near[1]}", "")


def _date(value: str, datatype: str) -> list[str]:
    """`1990`, `05`, `03`, or the first of them, from the common ways to write a date; [] if it is none."""
    if datatype.endswith(_DATED) and re.fullmatch(r"\d{4}", value):
        return [value]
    iso = _ISO.fullmatch(value)
    if iso:
        return _written(iso[1], iso[2], iso[3])
    numeric = _NUMERIC.fullmatch(value)
    if numeric:
        first, second = int(numeric[1]), int(numeric[3])
        day, month = (second, first) if second > 12 else (first, second)
        return _written(numeric[4], str(month), str(day))
    named = _WRITTEN.fullmatch(value.lower())
    months = [number for number, name in enumerate(_MONTHS, 1) if named and name.startswith(named[2])]
    return _written(named[4], str(months[0]), named[1] or named[3]) if named and months else []


def _written(year: str, month: str, day: str | None) -> list[str]:
    if not 1 <= int(month) <= 12 or not 1 <= int(day or 1) <= 31:
        return []
    return [f"{int(year):04d}", f"{int(month):02d}", *([f"{int(day):02d}"] if day else [])]
