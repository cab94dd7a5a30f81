"""Literal values in comparable forms: numbers with tolerance, dates in many notations, words. No torch."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import NamedTuple

from mixtea.text.names import label_text, normalized_name, transliterated

MIN_MONTH_LETTERS = 3  # letters of a month that is not written out
_TIME = r"[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,12})?)? ?"
_ZONE = r"(?:Z|UTC|[+-]\d\d(?::?\d\d)?)?"
_YEAR_FIRST = (
    re.compile(rf"(?P<year>[+-]?\d{{4}})-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:{_TIME})?)?{_ZONE}"),
    re.compile(r"(?P<year>\d{4})([-./])(?P<month>\d{1,2})\2(?P<day>\d{1,2})"),
    re.compile(r"(?P<year>\d{4}) ?[年년](?: ?(?P<month>\d{1,2}) ?[月월](?: ?(?P<day>\d{1,2}) ?[日일])?)?"),
)
_YEAR_LAST = re.compile(r"(\d{1,2})([-./])(\d{1,2})\2(\d{4})")
_YEAR = re.compile(rf"([+-]?\d{{4}}){_ZONE}")
_NAMED = re.compile(
    r"(?:(\d{1,2})(?:st|nd|rd|th|er|o|\.)?[ -]?(?:of |de )?)?([^\W\d_]{3,12})\.?(?:, ?| |-)"
    r"(?:(\d{1,2})(?:st|nd|rd|th)?(?:, ?| |-))?(?:of |de |del )?(\d{4})"
)
_DATED = ("date", "dateTime", "gYear", "gYearMonth")
_LANGUAGES = """
january february march april may june july august september october november december
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
januar februar märz april mai juni juli august september oktober november dezember
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maart april mei juni juli augustus september oktober november december
januari februari mars april maj juni juli augusti september oktober november december
januar februar marts april maj juni juli august september oktober november december
januar februar mars april mai juni juli august september oktober november desember
styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
"""
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


def parse_date(text: str, datatype: str = "") -> list[str]:
    """Return year, month and day (`1990`, `05`, `03`), or the first of them, of a text; [] if it is not a date.

    Digits are those of ASCII. Of two numbers before a year the first is the day, unless only the second can be.

    >>> parse_date("3. März 1990"), parse_date("1990年5月"), parse_date("1990", "xsd:gYear"), parse_date("Mayor 1990")
    (['1990', '03', '03'], ['1990', '05'], ['1990'], [])
    """
    year = _YEAR.fullmatch(text) if datatype.endswith(_DATED) else None
    if year:
        return _written(year[1], None, None)
    for pattern in _YEAR_FIRST:
        if found := pattern.fullmatch(text):
            return _written(found["year"], found["month"], found["day"])
    last = _YEAR_LAST.fullmatch(text)
    if last:
        day, month = (last[3], last[1]) if int(last[3]) > 12 else (last[1], last[3])
        return _written(last[4], month, day)
    named = _NAMED.fullmatch(_folded(text)) if text[-4:].isdigit() else None
    if not named or named[2] not in _MONTHS or (named[1] and named[3]):
        return []
    return _written(named[4], _MONTHS[named[2]], named[1] or named[3])


def _written(year: str, month: str | int | None, day: str | None) -> list[str]:
    if not 1 <= int(month or 1) <= 12 or not 1 <= int(day or 1) <= 31:
        return []
    return [f"{int(year):04d}", *(f"{int(part):02d}" for part in (month, day) if part is not None)]


def _folded(text: str) -> str:
    """Return a text in lower case without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))


def _months() -> dict[str, int]:
    """Map the names of months in all languages, and each unambiguous beginning of them, to their numbers."""
    found: dict[str, set[int]] = {}
    for names in _LANGUAGES.strip().splitlines():
        for number, name in enumerate(_folded(names).split(), 1):
            for size in range(MIN_MONTH_LETTERS, len(name) + 1):
                found.setdefault(name[:size], set()).add(number)
    return {name: min(numbers) for name, numbers in found.items() if len(numbers) == 1}


_MONTHS = _months()


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
