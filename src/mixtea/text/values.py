"""Literal values in comparable forms: numbers with tolerance, dates in their units, words. No torch."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import NamedTuple

from mixtea.text.dates import parse_date
from mixtea.text.names import label_text, normalized_name, transliterated

MAX_VALUE_LENGTH = 400  # characters of a value that are compared
MAX_NGRAM_TEXT_LENGTH = 60  # of a text whose n-grams are compared too
LOG_STEP = 0.02  # of the logarithm: numbers that differ by about a hundredth are near
FINE_LOG_STEP, MAX_COARSE_DIGITS = 0.001, 4  # the same for fractions of more than that many digits, such as coordinates
_FINE_MARKS = "≃≅"
_DIGIT = re.compile(r"\d")
_WHOLE = r"(?:0|[1-9]\d{0,14}|[1-9]\d{0,2}(?:[ '’%s]\d{3})+)"  # %s may stand between thousands, too
_POINT = re.compile(rf"[+-]?(?:{_WHOLE % ','}(?:\.\d{{1,15}})?|\.\d{{1,15}})(?:[eE][+-]?\d{{1,2}})?")
_COMMA = re.compile(rf"[+-]?{_WHOLE % '.'},\d{{1,15}}")
_PADDED = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?(?:[eE][+-]?\d{1,2})?")
_NUMERIC = re.compile(r"(?:integer|(?:[#:]|unsigned)(?:int|long|short|byte)|decimal|double|float)$", re.IGNORECASE)
_MEASURED = re.compile(r"([-+\d.,' ’]*\d) ?([^\d\s]\S{0,9})")
# units behind a number, in small letters: lengths become metres, masses kilograms, others stay, a per cent sign goes
_OWN_UNITS = ("°c", "°f", "km²", "m²", "ha", "km/h", "mph", "min", "h", "kw", "mw", "hz", "khz", "mhz", "ghz")
_UNITS = {"%": (1, "")} | {unit: (1, unit) for unit in _OWN_UNITS} | {
    "km": (1000, "m"), "m": (1, "m"), "cm": (0.01, "m"), "mm": (0.001, "m"), "mi": (1609.344, "m"), "ft": (0.3048, "m"),
    "t": (1000, "kg"), "kg": (1, "kg"), "g": (0.001, "kg"), "mg": (1e-6, "kg"), "lb": (0.45359237, "kg"),
}  # fmt: skip
_SIGNS = str.maketrans("−٫٬\u00a0\u202f\u2009", "-.,   ")


class Form(NamedTuple):
    """A value to compare: equal values have the same `whole`, near ones share `words`; n-grams are those of `text`.

    Each is "" where there is none.
    """

    whole: str
    words: str
    text: str

    @property
    def nearly(self) -> str:
        """Return a form shared by most values that differ only behind the first digits of a fraction, else `whole`."""
        fine = next((word for word in self.words.split() if word.lstrip("-")[0] == _FINE_MARKS[1]), "")
        return f"{fine} {self.whole.partition(' ')[2]}".strip() if fine else self.whole


def form_of(value: str, datatype: str = "") -> Form:
    """Return the form of a literal; an empty one for a blank value.

    >>> form_of("1990-05-03").words, form_of("3 May 1990").words
    ('=1990-05-03 =1990-05 =1990', '=1990-05-03 =1990-05 =1990')
    >>> form_of("1,200.0").whole == form_of("1200").whole, form_of("1.5 km").whole, form_of("Bondi Street").whole
    (True, '1500 m', 'bondi street')
    """
    value = value[:MAX_VALUE_LENGTH].strip()
    if not _DIGIT.search(value):
        return _text(value)
    digits = _in_ascii_digits(value)
    date = parse_date(digits, datatype)
    if date:
        return Form("-".join(date), " ".join("=" + "-".join(date[:size]) for size in range(len(date), 0, -1)), "")
    number = _parse_number(digits, datatype)
    if number is not None:
        return _number(number)
    return _parse_quantity(digits) or _text(value)


def _text(value: str) -> Form:
    words = normalized_name(label_text(value))
    text = transliterated(words) or words
    whole = " ".join(sorted(text.split()))
    return Form(whole, text, text if len(text) <= MAX_NGRAM_TEXT_LENGTH else "")


def _in_ascii_digits(text: str) -> str:
    """Replace digits of any script by ASCII ones, and signs and spaces of numbers by plain ones."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(c, c)) for c in text.translate(_SIGNS))


def _parse_number(text: str, datatype: str = "") -> float | None:
    """Return a number as float; None if it is not one, or a code with leading zeros without a numeric datatype.

    >>> [_parse_number(text) for text in ("1,200.5", "1.200,5", "1 200", "1.200", "12,5", "007")]
    [1200.5, 1200.5, 1200.0, 1.2, 12.5, None]
    """
    if _POINT.fullmatch(text) or (_NUMERIC.search(datatype) and _PADDED.fullmatch(text)):
        return float(re.sub(r"[,' ’]", "", text))
    return float(re.sub(r"[.' ’]", "", text).replace(",", ".")) if _COMMA.fullmatch(text) else None


def _parse_quantity(text: str) -> Form | None:
    """Return the form of a number with a unit, lengths in metres, masses in kilograms; None if it is not one."""
    found = _MEASURED.fullmatch(text)
    if found is None or found[2].lower() not in _UNITS or (number := _parse_number(found[1])) is None:
        return None
    times, unit = _UNITS[found[2].lower()]
    form = _number(number * times)
    return Form(f"{form.whole} {unit}".strip(), f"{form.words} {unit}".strip(), "")


def _number(value: float) -> Form:
    """Assign a number to two overlapping grids of buckets, so that near numbers share one at least.

    Fractions of many digits have two finer grids as well.

    >>> _number(41.1304722).words.split()[3:] == _number(41.1305).words.split()[3:]
    True
    """
    if not math.isfinite(value) or not value:
        value += 0.0  # there is one zero
        return Form(f"{value:.12g}", f"={value:.12g}", "")
    near = [_bucket(value, LOG_STEP, mark, shift) for mark, shift in zip("~≈", (0.0, 0.5), strict=True)]
    if _is_fine(value):
        near += [
            _bucket(value, FINE_LOG_STEP, mark, shift) for mark, shift in zip(_FINE_MARKS, (0.0, 0.5), strict=True)
        ]
    return Form(f"{value:.12g}", " ".join([f"={value:.12g}", *near]), "")


def _is_fine(value: float) -> bool:
    """Return whether a number is a fraction of more than MAX_COARSE_DIGITS digits.

    >>> _is_fine(41.1304722), _is_fine(941.0), _is_fine(12.5)
    (True, False, False)
    """
    return value != round(value) and float(f"{value:.{MAX_COARSE_DIGITS}g}") != value


def _bucket(value: float, step: float, mark: str, shift: float) -> str:
    """Return the bucket of a number other than zero on a grid of its logarithm."""
    return f"{'-' if value < 0 else ''}{mark}{math.floor(math.log(abs(value)) / step + shift)}"
