"""Mark in two texts what the other one does not have: whole words, or letters where no word is shared. No torch."""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher
from itertools import groupby

Marked = list[tuple[str, bool]]  # parts of a text, and whether the other side does not have them
MAX_COMPARED = 300  # letters of texts that share no word
MIN_SHARED_LETTERS = 0.4  # of two such texts, below which each is marked as a whole
_WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+")


def mark_differences(left: str, right: str) -> tuple[Marked, Marked]:
    """Split both texts into parts, marked where the other has something else; unlike ones as wholes.

    >>> mark_differences("Sony TV 42", "sony 40 TV")
    ([('Sony TV ', False), ('42', True)], [('sony ', False), ('40', True), (' TV', False)])
    >>> mark_differences("Rome", "Roma")
    ([('Rom', False), ('e', True)], [('Rom', False), ('a', True)])
    """
    ours, theirs = ({_plain(word) for word in _WORD.findall(text)} for text in (left, right))
    if ours & theirs:
        return _by_words(left, theirs), _by_words(right, ours)
    return ([(left, False)], [(right, False)]) if left == right else _by_letters(left, right)


def truncate(parts: Marked, longest: int) -> Marked:
    """Truncate a marked text, with … where something is left out.

    >>> truncate([("Rom", False), ("ania", True)], 5), truncate([("Rome", False)], 5)
    ([('Rom', False), ('an…', True)], [('Rome', False)])
    """
    found: Marked = []
    for text, differs in parts:
        if len(text) > longest:
            return [*found, (f"{text[:longest]}…", differs)]
        found.append((text, differs))
        longest -= len(text)
    return found


def _plain(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


def _by_words(text: str, others: set[str]) -> Marked:
    """Mark the words that the other text lacks, and what is between two of them."""
    parts: Marked = []
    end, before = 0, False
    for found in _WORD.finditer(text):
        differs = _plain(found[0]) not in others
        parts += [(text[end : found.start()], before and differs), (found[0], differs)]
        end, before = found.end(), differs
    parts.append((text[end:], False))
    return [
        ("".join(part for part, _ in group), differs)
        for differs, group in groupby([part for part in parts if part[0]], key=lambda part: part[1])
    ]


def _by_letters(left: str, right: str) -> tuple[Marked, Marked]:
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    too_long = max(len(left), len(right)) > MAX_COMPARED + 1
    if not left or not right or too_long or matcher.quick_ratio() < MIN_SHARED_LETTERS:
        return [(left, True)] if left else [], [(right, True)] if right else []
    ours: Marked = []
    theirs: Marked = []
    for kind, a, b, c, d in matcher.get_opcodes():
        ours += [(left[a:b], kind != "equal")] if b > a else []
        theirs += [(right[c:d], kind != "equal")] if d > c else []
    return ours, theirs
