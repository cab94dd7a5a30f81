"""Names that mean the same: groups of them, joined where they share one, and names put into their first words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mixtea.graph.graph import Graph
from mixtea.graph.synonym_groups import Groups, canonical_names
from mixtea.text.names import MAX_NAME_LENGTH, comparison_form, entity_names
from mixtea.text.phrases import Phrases

ACRONYM_LETTERS = range(2, 6)  # how many an acronym has


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
