"""Keep a part of a graph: by predicates, entity kinds, types and namespaces; and labels in some languages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace

import numpy as np

from mixtea.errors import DataError
from mixtea.graph.builder import GraphData
from mixtea.graph.entity_table import Attributes
from mixtea.graph.literal_columns import label_predicates, objects_to_literals
from mixtea.graph.prefixes import expand
from mixtea.graph.terms import ENTITY_KINDS, INDIVIDUAL, TYPE, iri_literals, is_obsolete, types_of


@dataclass(frozen=True)
class GraphFilter:
    """The part of both graphs to keep; IRIs in full or with a prefix.

    Predicates are filtered first, although types and labels are read all the same, then entities; a triple stays if
    both of its ends do. An empty option keeps everything.

    Parameters
    ----------
    keep_types
        Types of entities; ignored for a graph without any.
    keep_predicates, drop_predicates
        Predicates of triples and attribute triples.
    namespaces
        Beginnings of entity ids.
    languages
        Languages of the displayed labels, the best first; "" is text without a language. Others are used last.
    entities
        Some of "classes", "properties" and "individuals".
    literals
        Predicates of tables whose objects are values, not entities.
    keep_obsolete
        Keep entities that the files mark as obsolete.

    Examples
    --------
    >>> from mixtea import GraphFilter
    >>> GraphFilter(keep_types="dbo:Person").keep_types
    ('dbo:Person',)
    """

    keep_types: tuple[str, ...] = ()
    keep_predicates: tuple[str, ...] = ()
    drop_predicates: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    languages: tuple[str, ...] = ("en", "")
    entities: tuple[str, ...] = ()
    literals: tuple[str, ...] = ()
    keep_obsolete: bool = False

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            if not isinstance(value, bool):
                object.__setattr__(self, option.name, (value,) if isinstance(value, str) else tuple(value))
        kinds = [kind.strip() for words in self.entities for kind in words.split(",")]
        if unknown := [kind for kind in kinds if kind not in ENTITY_KINDS]:
            raise DataError(f"entities is {unknown[0]!r} (--entities). Choose some of {', '.join(ENTITY_KINDS)}.")
        object.__setattr__(self, "entities", tuple(kinds))

    @property
    def keeps_all(self) -> bool:
        chosen = (self.keep_types, self.keep_predicates, self.drop_predicates, self.namespaces, self.entities)
        return not any((*chosen, self.literals))


class AppliedFilter:
    """A `GraphFilter` applied to each side in turn; collects unmatched words and obsolete entities."""

    def __init__(self, graph_filter: GraphFilter | None = None) -> None:
        self.filter, self.untyped, self.without_kinds = graph_filter or GraphFilter(), 0, 0
        self.obsolete: list[int] = []  # how many of each side
        self.unmet = {
            (name, word)
            for name in ("keep_types", "keep_predicates", "drop_predicates", "namespaces", "literals")
            for word in getattr(self.filter, name)
        }

    def with_values(self, part: GraphData, prefixes: dict[str, str]) -> GraphData:
        """Replace the entities that are objects of `literals`, or labels in a table, by values."""
        wanted = self._are("literals", part.predicates, prefixes) | label_predicates(part)
        return objects_to_literals(part, wanted) if wanted.any() else part

    def __call__(self, part: GraphData, prefixes: dict[str, str]) -> tuple[GraphData, np.ndarray, np.ndarray]:
        """Return what is kept, the ids of the entities that are not, and the obsolete ones among these."""
        gone = is_obsolete(part) & (not self.filter.keep_obsolete)
        gone &= not gone.all()
        self.obsolete.append(int(gone.sum()))
        obsolete = part.ids[gone]
        kept, left_out = self._wanted(part.subset(~gone) if gone.any() else part, prefixes)
        return kept, np.concatenate([obsolete, left_out]), obsolete

    def _wanted(self, part: GraphData, prefixes: dict[str, str]) -> tuple[GraphData, np.ndarray]:
        """Return what the options keep, and the ids of the other entities."""
        if self.filter.keeps_all:
            return part, np.empty(0, dtype=object)
        allowed = self._predicates(part, prefixes)
        triples = part.triples[allowed[part.triples[:, 1]]]
        attributes = part.attributes.take(part.attributes.predicate.rows_with(set(part.predicates[allowed])))
        kept = replace(part, triples=triples, attributes=attributes)
        of_kind = self._of_kinds(part)
        stays = kept.referenced() & self._typed(part, prefixes) & self._in_namespaces(part, prefixes) & of_kind
        if not of_kind.all():  # of which type an entity is stays known
            is_type = np.array([word in TYPE for word in part.predicates], dtype=bool)[triples[:, 1]]
            values = iri_literals(kept, is_type & ~of_kind[triples[:, 2]])
            kept = replace(kept, attributes=Attributes.concat([attributes, values]))
        return kept.subset(stays), part.ids[~stays]

    def _of_kinds(self, part: GraphData) -> np.ndarray:
        """Return bool [n], the entities of a wanted kind."""
        if not self.filter.entities:
            return np.ones(len(part.ids), dtype=bool)
        wanted = np.array([kind in self.filter.entities for kind in ENTITY_KINDS])
        if (part.kinds == INDIVIDUAL).all():
            self.without_kinds += not wanted[INDIVIDUAL]
            return np.ones(len(part.ids), dtype=bool)
        return wanted[part.kinds]

    def _predicates(self, part: GraphData, prefixes: dict[str, str]) -> np.ndarray:
        allowed = np.ones(len(part.predicates), dtype=bool)
        if self.filter.keep_predicates:
            allowed = self._are("keep_predicates", part.predicates, prefixes)
        if self.filter.drop_predicates:
            allowed &= ~self._are("drop_predicates", part.predicates, prefixes)
        return allowed

    def _typed(self, part: GraphData, prefixes: dict[str, str]) -> np.ndarray:
        if not self.filter.keep_types:
            return np.ones(len(part.ids), dtype=bool)
        entities, types = types_of(part.ids, part.predicates, part.triples, part.attributes)
        if not len(entities):
            self.untyped += 1
            return np.ones(len(part.ids), dtype=bool)
        typed = np.zeros(len(part.ids), dtype=bool)
        typed[entities[self._are("keep_types", np.array(types, dtype=object), prefixes)]] = True
        return typed

    def _in_namespaces(self, part: GraphData, prefixes: dict[str, str]) -> np.ndarray:
        if not self.filter.namespaces:
            return np.ones(len(part.ids), dtype=bool)
        return self._are("namespaces", part.ids, prefixes, str.startswith)

    def _are(
        self, option: str, iris: np.ndarray, prefixes: dict[str, str],
        fits: Callable[[str, tuple[str, str]], bool] = lambda iri, meant: iri in meant,
    ) -> np.ndarray:  # fmt: skip
        """Return bool, which IRIs are one of the option's words, as written or in full."""
        found = np.zeros(len(iris), dtype=bool)
        for word in getattr(self.filter, option):
            meant = (word, expand(word, prefixes))
            here = np.array([fits(iri, meant) for iri in iris], dtype=bool)
            if here.any():
                self.unmet.discard((option, word))
            found |= here
        return found

    def warnings(self) -> Iterable[str]:
        if n := sum(self.obsolete):
            of = ", ".join(f"{k:,} of the {side}" for k, side in zip(self.obsolete, ("source", "target"), strict=False))
            many = "1 obsolete entity is" if n == 1 else f"{n:,} obsolete entities are"
            yield f"{many} left out (owl:deprecated, is_obsolete in OBO): {of}; --keep-obsolete keeps them"
        for n, option, what in (
            (self.untyped, "--keep-types", "rdf:type at all"),
            (self.without_kinds, "--entities", "classes or properties"),
        ):
            if n:
                which = "one graph has" if n == 1 else "both graphs have"
                yield f"{option}: {which} no {what} and stay{'s' if n == 1 else ''} whole"
        for option, word in sorted(self.unmet):
            yield f"--{option.replace('_', '-')} {word}: neither graph has it"
