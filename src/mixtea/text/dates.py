"""Dates in common notations, with the months of several languages. No torch."""

from __future__ import annotations

import re
import unicodedata

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
