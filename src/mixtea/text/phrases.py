"""Replacement of phrases in texts: dictionaries of names, and names that mean the same.

Phrases are found word by word, or sign by sign in scripts without spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from mixtea.graph.graph import Graph
from mixtea.graph.synonym_groups import Groups, canonical_names
from mixtea.text.names import MAX_NAME_LENGTH, alphanumeric_words, comparison_form, entity_names

MAX_PHRASE_LENGTH = 200  # characters of an entry; what is longer is no word
MAX_PHRASE_UNITS = 32  # words or signs of an entry
TOO_LONG = f"more than {MAX_PHRASE_LENGTH} characters or {MAX_PHRASE_UNITS} words"
_NO_SPACES = (  # signs of Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_UNIT = re.compile(f"[{_NO_SPACES}]|[^ {_NO_SPACES}]+")
ACRONYM_LETTERS = range(2, 6)  # how many an acronym has


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


class Synonyms:
    """Groups of names that mean the same, each in the form in which names are compared.

    Parameters
    ----------
    groups
        Words, or several words in a row, such as `Task.synonyms` has them. Groups with a name in common are one.

    Examples
    --------
    >>> synonyms = Synonyms([("fe", "iron"), ("iron oxide", "rust"), ("größe", "size")])
    >>> [synonyms.canonical(text) for text in ("iron ore", "old rust", "size", "ferry")]
    ['fe ore', 'old iron oxide', 'grosse', 'ferry']
    """

    def __init__(self, groups: Iterable[Sequence[str]]) -> None:
        self.phrases = Phrases()
        for name, first in canonical_names([comparison_form(name) for name in group] for group in groups).items():
            self.phrases.add(name, first)

    def canonical(self, text: str) -> str:
        """Return a name with the members of groups in it replaced by the first of their groups, longer ones first.

        Parameters
        ----------
        text
            A name as it is compared: `mixtea.text.names.compared` makes it so. Members are found in it as whole words,
            from left to right, and what is put in place of one is not looked at again.

        Returns
        -------
        str
            The name in the same form; unchanged where it has no member of a group.
        """
        found = self.phrases.replaced(text)
        return text if found is None else found[: max(MAX_NAME_LENGTH, len(text))]

    def is_in(self, text: str) -> bool:
        """Return whether a name, as it is compared, has a member of a group."""
        return self.phrases.replaced(text) is not None

    def count(self, graph: Graph) -> tuple[int, int]:
        """Count the names of a graph that have a member of a group, and all its names."""
        _, names = entity_names(graph)
        has_member = [self.is_in(comparison_form(text)) for text in names.texts()]
        return sum(has_member[code] for code in names.codes.tolist()), len(names)


def acronyms(ours: Sequence[str], theirs: Sequence[str]) -> Groups:
    """Find the acronyms of one side for sequences of words of the other, each as (words, acronym).

    Names are in comparison form. An acronym is a word of two to five letters, the initials of a sequence of words. It
    is taken where a name with it and a name with the words have the same other words, one at least; where the side of
    the words does not have it as a word; and where no other words fit.

    >>> acronyms(["program committee", "program committee chair"], ["chair pc", "author"])
    (('program committee', 'pc'),)
    >>> acronyms(["alkali metal", "metal"], ["am", "fe"])
    ()
    """
    sides = [[text.split() for text in side] for side in (ours, theirs)]
    known = [{word for words in side for word in words} for side in sides]
    found: dict[str, set[str]] = {}
    for place in (0, 1):
        short = {word for word in known[1 - place] - known[place] if len(word) in ACRONYM_LETTERS and word.isalpha()}
        beside = {(word, frozenset(words) - {word}) for words in sides[1 - place] for word in short.intersection(words)}
        for words in sides[place]:
            for phrase, rest in _parts(words):
                initials = "".join(word[0] for word in phrase)
                if rest and initials in short and (initials, rest) in beside:
                    found.setdefault(initials, set()).add(" ".join(phrase))
    return tuple((words.pop(), initials) for initials, words in sorted(found.items()) if len(words) == 1)


def _parts(words: list[str]) -> Iterator[tuple[list[str], frozenset[str]]]:
    """Yield the sequences of words that may have an acronym, each with the other words."""
    for n in ACRONYM_LETTERS:
        for begin in range(len(words) - n + 1):
            yield words[begin : begin + n], frozenset(words[:begin] + words[begin + n :])
