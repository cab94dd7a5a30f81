"""Replacement of phrases in texts, word by word, or sign by sign in scripts without spaces; dictionaries of names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from mixtea.text.names import MAX_NAME_LENGTH, alphanumeric_words

MAX_PHRASE_LENGTH = 200  # characters of an entry; what is longer is no word
MAX_PHRASE_UNITS = 32  # words or signs of an entry
TOO_LONG = f"more than {MAX_PHRASE_LENGTH} characters or {MAX_PHRASE_UNITS} words"
_NO_SPACES = (  # signs of Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_UNIT = re.compile(f"[{_NO_SPACES}]|[^ {_NO_SPACES}]+")


class Phrases:
    """Words, or several words or signs in a row, with a replacement each; of two for the same the first counts.

    >>> phrases = Phrases()
    >>> [phrases.add(text, text.upper()) for text in ("red", "red cross", "")]
    [True, True, False]
    >>> phrases.replaced("the Red Cross in red"), phrases.replaced("reddish")
    ('the RED CROSS in RED', None)
    """

    def __init__(self) -> None:
        self.replacements: dict[tuple[str, ...], str] = {}
        self.longest: dict[str, int] = {}  # in units, of the phrases that begin with a unit

    def add(self, phrase: str, replacement: str) -> bool:
        """Take a phrase in words; return False for one that has none, or more than MAX_PHRASE_UNITS."""
        units = tuple(unit for unit, _, _ in _units(phrase))
        if not 0 < len(units) <= MAX_PHRASE_UNITS:
            return False
        self.replacements.setdefault(units, replacement)
        self.longest[units[0]] = max(self.longest.get(units[0], 0), len(units))
        return True

    def replaced(self, text: str) -> str | None:
        """Return the text with all phrases in it replaced, longer ones first; None where it has none."""
        units, parts, place, end, any_found = _units(text), [""], 0, 0, False
        while place < len(units):
            n, found = self._at([unit for unit, _, _ in units[place : place + MAX_PHRASE_UNITS]])
            start, until = units[place][1], units[place + n - 1][2]
            parts += [text[end:start], text[start:until] if found is None else f" {found} "]
            place, end, any_found = place + n, until, any_found or found is not None
        return " ".join("".join(parts).split()) if any_found else None

    def _at(self, units: list[str]) -> tuple[int, str | None]:
        """Return how many units the longest phrase takes that they begin with, and its replacement; 1 if none does."""
        for n in range(min(self.longest.get(units[0], 0), len(units)), 0, -1):
            if (found := self.replacements.get(tuple(units[:n]))) is not None:
                return n, found
        return 1, None


def _units(text: str) -> list[tuple[str, int, int]]:
    """Return each word, or sign of a script without spaces, case-folded, with its start and end."""
    return [(unit[0].casefold(), unit.start(), unit.end()) for unit in _UNIT.finditer(text)]


class Dictionary:
    """Words, or sequences of words or signs, with a translation each; of two for the same the first counts.

    >>> Dictionary([("東京", "Tokyo"), ("站", "station"), ("weiße", "white")]).translated("新東京站, Weiße")
    '新 Tokyo station white'
    """

    def __init__(self, entries: Iterable[tuple[str, str]]) -> None:
        self.phrases = Phrases()
        self.left_out = 0
        for word, translation in entries:
            can_be = len(word) <= MAX_PHRASE_LENGTH >= len(translation) and bool(translation.strip())
            if not (can_be and self.phrases.add(_normal(word), translation)):
                self.left_out += 1

    def translated(self, name: str) -> str | None:
        """Replace all entries in a name, longer ones first; None where there is none."""
        found = self.phrases.replaced(_normal(name))
        return None if found is None else found[:MAX_NAME_LENGTH]


def _normal(text: str) -> str:
    """Normalize letters and digits to one form."""
    return alphanumeric_words(unicodedata.normalize("NFKC", text[:MAX_NAME_LENGTH]))
