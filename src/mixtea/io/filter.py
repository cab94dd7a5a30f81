"""What a user wants of a graph: a part of its triples, and labels in some languages."""

from __future__ import annotations

from dataclasses import dataclass, fields

from mixtea.errors import DataError
from mixtea.graph.terms import ENTITY_KINDS


@dataclass(frozen=True)
class Reading:
    """Which part of the graphs to keep, for both sides; IRIs in full or with a prefix.

    Predicates come first: a triple with another predicate counts as not there, though types and labels are read.
    Then an entity stays if it is one of `entities` ("classes", "properties", "individuals"), has one of `keep_types`
    and starts with one of `namespaces`, and a triple stays if both of its ends do. What is empty asks for nothing, and
    a graph without any type is not asked for types.
    `languages` are those of the labels that are shown, the best first, "" for text without a language; an entity
    without a label in any of these is shown by another. `literals` are predicates of tables whose objects are values,
    not entities. Entities that the files call obsolete are left out unless `keep_obsolete`.
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
