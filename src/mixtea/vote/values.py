"""Literal values in forms that can be compared: numbers with tolerance, dates in their units, words. No torch."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from mixtea.data.names import in_words, plain, readable
from mixtea.vote.name_index import in_latin

LONGEST = 400  # characters of a value that are compared
GRAMMED = 60  # of a text whose n-grams are compared too
STEP = 0.02  # of the logarithm: numbers that differ by about a hundredth are near
_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d{1,15})(\.\d{1,15})?([eE][+-]?\d{1,2})?")
_ISO = re.compile(r"([+-]?\d{4})-(\d{2})(?:-(\d{2}))?(?:[T ].*|Z|[+-]\d\d:\d\d)?")
_NUMERIC = re.compile(r"(\d{1,2})([./])(\d{1,2})\2(\d{4})")
_WRITTEN = re.compile(r"(?:(\d{1,2})\.? )?([a-z]{3,9})\.? (?:(\d{1,2}),? )?(\d{4})")
_MONTHS = {name: number for number, name in enumerate(
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
)}  # fmt: skip
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
        units = [date[:size] for size in (10, 7, 4) if len(date) >= size]
        return Form(units[0], " ".join(f"={unit}" for unit in units), "")
    if _NUMBER.fullmatch(value):
        return _number(float(value.replace(",", "")))
    words = plain(readable(value))
    text = in_latin(words) or words
    whole = " ".join(sorted(text.split()))
    return Form(whole, text, text if len(text) <= GRAMMED else "")


def _number(value: float) -> Form:
    """Two grids of buckets, the one between the other: what is near is in the same bucket of one of them."""
    if not math.isfinite(value) or value == 0:
        return Form(f"{value:.12g}", f"={value:.12g}", "")
    sign, step = "-" if value < 0 else "", math.log(abs(value)) / STEP
    near = f"{sign}~{math.floor(step)}", f"{sign}≈{math.floor(step + 0.5)}"
    return Form(f"{value:.12g}", f"={value:.12g} {near[0]} {near[1]}", "")


def _date(value: str, datatype: str) -> str:
    """`1990-05-03`, or a part of it, from the common ways to write a date; "" if it is none."""
    if datatype.endswith(_DATED) and re.fullmatch(r"\d{4}", value):
        return value
    iso = _ISO.fullmatch(value)
    if iso:
        return _written(iso[1], iso[2], iso[3])
    numeric = _NUMERIC.fullmatch(value)
    if numeric:
        first, second = int(numeric[1]), int(numeric[3])
        day, month = (second, first) if second > 12 else (first, second)
        return _written(numeric[4], str(month), str(day))
    named = _WRITTEN.fullmatch(value.lower())
    if named and named[2][:3] in _MONTHS:
        return _written(named[4], str(_MONTHS[named[2][:3]]), named[1] or named[3])
    return ""


def _written(year: str, month: str, day: str | None) -> str:
    if not 1 <= int(month) <= 12 or not 1 <= int(day or 1) <= 31:
        return ""
    return f"{int(year):04d}-{int(month):02d}" + (f"-{int(day):02d}" if day else "")


def same_words(value: str) -> str:
    """The words of a text as they are compared."""
    return in_words(value)
