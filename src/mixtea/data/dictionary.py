"""Names put into other words by a dictionary: word by word, or sign by sign where a script has no spaces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from mixtea.data.names import LONGEST_NAME, in_words

LONGEST_WORD = 200  # characters of an entry; what is longer is no word
MOST_UNITS = 32  # words or signs of an entry
_NO_SPACES = (  # signs of Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_UNIT = re.compile(f"[{_NO_SPACES}]|[^ {_NO_SPACES}]+")


class Dictionary:
    """Words, or several words or signs in a row, with a translation each; of two for the same the first counts.

    >>> Dictionary([("東京", "Tokyo"), ("站", "station"), ("weiße", "white")]).translated("新東京站, Weiße")
    '新 Tokyo station white'
    """

    def __init__(self, entries: Iterable[tuple[str, str]]) -> None:
        self.translations: dict[tuple[str, ...], str] = {}
        self.longest: dict[str, int] = {}  # in units, of the entries that begin with a unit
        self.left_out = 0
        for word, translation in entries:
            is_short = len(word) <= LONGEST_WORD >= len(translation)
            units = tuple(unit for unit, _, _ in _units(_normal(word))) if is_short and translation.strip() else ()
            if 0 < len(units) <= MOST_UNITS:
                self.translations.setdefault(units, translation)
                self.longest[units[0]] = max(self.longest.get(units[0], 0), len(units))
            else:
                self.left_out += 1

    def translated(self, name: str) -> str | None:
        """The name with all that stands in the dictionary replaced, longer entries first; None where nothing does."""
        text = _normal(name)
        units, parts, place, end, any_found = _units(text), [""], 0, 0, False
        while place < len(units):
            n, found = self._at([unit for unit, _, _ in units[place : place + MOST_UNITS]])
            start, until = units[place][1], units[place + n - 1][2]
            parts += [text[end:start], text[start:until] if found is None else f" {found} "]
            place, end, any_found = place + n, until, any_found or found is not None
        return " ".join("".join(parts).split())[:LONGEST_NAME] if any_found else None

    def _at(self, units: list[str]) -> tuple[int, str | None]:
        """How many of the units the longest entry takes that they begin with, and its translation; one if none does."""
        for n in range(min(self.longest.get(units[0], 0), len(units)), 0, -1):
            if (found := self.translations.get(tuple(units[:n]))) is not None:
                return n, found
        return 1, None


def _normal(text: str) -> str:
    """Letters and digits of one form."""
    return in_words(unicodedata.normalize("NFKC", text[:LONGEST_NAME]))


def _units(text: str) -> list[tuple[str, int, int]]:
    """Each word, or sign of a script without spaces, in small letters, and where it begins and ends."""
    return [(unit[0].casefold(), unit.start(), unit.end()) for unit in _UNIT.finditer(text)]
