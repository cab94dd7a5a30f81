"""The part of a graph that a user wants, chosen by predicates, types and namespaces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from mixtea.data.part import Part
from mixtea.data.prefixes import BUILT_IN, expand
from mixtea.data.reading import Reading
from mixtea.data.text_column import TextColumn

TYPE = frozenset({expand("rdf:type", BUILT_IN), "rdf:type"})


class Selection:
    """Applies a `Reading` to one side after the other and knows which of its words have met nothing."""

    def __init__(self, reading: Reading) -> None:
        self.reading, self.untyped = reading, 0
        self.unmet = {
            (name, word)
            for name in ("keep_types", "keep_predicates", "drop_predicates", "namespaces")
            for word in getattr(reading, name)
        }

    def __call__(self, part: Part, prefixes: dict[str, str]) -> tuple[Part, np.ndarray]:
        """What is kept of the part, and the ids of the entities that are not."""
        if self.reading.keeps_all:
            return part, np.empty(0, dtype=object)
        allowed = self._predicates(part, prefixes)
        triples = part.triples[allowed[part.triples[:, 1]]]
        attributes = part.attributes.take(_of(part.attributes.predicate, set(part.predicates[allowed])))
        stays = np.zeros(len(part.ids), dtype=bool)
        stays[np.concatenate([triples[:, [0, 2]].ravel(), attributes.entity])] = True
        stays &= self._typed(part, prefixes) & self._in_namespaces(part, prefixes)
        triples = triples[stays[triples[:, [0, 2]]].all(axis=1)]
        place = np.cumsum(stays) - 1
        triples = np.stack([place[triples[:, 0]], triples[:, 1], place[triples[:, 2]]], axis=1)
        attributes, labels = attributes.kept(stays), part.labels.kept(stays)
        ids, left_out = part.ids[stays], part.ids[~stays]
        return replace(part, ids=ids, triples=triples, attributes=attributes, labels=labels), left_out

    def _predicates(self, part: Part, prefixes: dict[str, str]) -> np.ndarray:
        allowed = np.ones(len(part.predicates), dtype=bool)
        if self.reading.keep_predicates:
            allowed = self._are("keep_predicates", part.predicates, prefixes)
        if self.reading.drop_predicates:
            allowed &= ~self._are("drop_predicates", part.predicates, prefixes)
        return allowed

    def _typed(self, part: Part, prefixes: dict[str, str]) -> np.ndarray:
        if not self.reading.keep_types:
            return np.ones(len(part.ids), dtype=bool)
        is_type = np.array([word in TYPE for word in part.predicates], dtype=bool)
        said = part.triples[is_type[part.triples[:, 1]]]
        if not len(said):
            self.untyped += 1
            return np.ones(len(part.ids), dtype=bool)
        classes = np.zeros(len(part.ids), dtype=bool)
        classes[said[:, 2]] = True
        wanted = classes & self._are("keep_types", part.ids, prefixes, among=classes)
        typed = np.zeros(len(part.ids), dtype=bool)
        typed[said[wanted[said[:, 2]], 0]] = True
        return typed

    def _in_namespaces(self, part: Part, prefixes: dict[str, str]) -> np.ndarray:
        if not self.reading.namespaces:
            return np.ones(len(part.ids), dtype=bool)
        inside = np.zeros(len(part.ids), dtype=bool)
        for word in self.reading.namespaces:
            starts = (word, expand(word, prefixes))
            here = np.array([name.startswith(starts) for name in part.ids], dtype=bool)
            self._met("namespaces", word, here)
            inside |= here
        return inside

    def _are(
        self, option: str, iris: np.ndarray, prefixes: dict[str, str], among: np.ndarray | None = None
    ) -> np.ndarray:
        """bool: those that are one of the option's words, as written or in full."""
        found = np.zeros(len(iris), dtype=bool)
        for word in getattr(self.reading, option):
            here = (iris == word) | (iris == expand(word, prefixes))
            if among is not None:
                here &= among
            self._met(option, word, here)
            found |= here
        return found

    def _met(self, option: str, word: str, here: np.ndarray) -> None:
        if here.any():
            self.unmet.discard((option, word))

    def warnings(self) -> Iterable[str]:
        if self.untyped:
            which = "one graph has" if self.untyped == 1 else "both graphs have"
            yield f"--keep-types: {which} no rdf:type at all and stay{'s' if self.untyped == 1 else ''} whole"
        for option, word in sorted(self.unmet):
            yield f"--{option.replace('_', '-')} {word}: neither graph has it"


def _of(column: TextColumn, words: set[str]) -> np.ndarray:
    """bool: the rows of the column that hold one of the words."""
    return np.array([text in words for text in column.texts()], dtype=bool)[column.codes]
