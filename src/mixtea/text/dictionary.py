"""Names put into other words by a dictionary: word by word, or sign by sign where a script has no spaces."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from mixtea.text.names import MAX_NAME_LENGTH, alphanumeric_words
from mixtea.text.phrases import MAX_PHRASE_LENGTH, Phrases


class Dictionary:
    """Words, or several words or signs in a row, with a translation each; of two for the same the first counts.

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
        """The name with all that stands in the dictionary replaced, longer entries first; None where nothing does."""
        found = self.phrases.replaced(_normal(name))
        return None if found is None else found[:MAX_NAME_LENGTH]


def _normal(text: str) -> str:
    """Letters and digits of one form."""
    return alphanumeric_words(unicodedata.normalize("NFKC", text[:MAX_NAME_LENGTH]))
