"""Labels: names of entities for people, the preferred ones first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from mixtea.graph.entity_table import Attributes, EntityTable
from mixtea.graph.prefixes import BUILT_IN, expand
from mixtea.graph.text_column import TextColumn

NAMING = ("rdfs:label", "skos:prefLabel", "foaf:name", "schema:name", "sdo:name")
ALTERNATIVE = (  # broader and narrower synonyms are not among them: what they name is something else
    "dcterms:title", "dc:title", "obo:IAO_0000589", "skos:altLabel", "schema:alternateName", "sdo:alternateName",
    "dcterms:alternative", "obo:IAO_0000118", "oboInOwl:hasExactSynonym", "oboInOwl:hasSynonym",
    "oboInOwl:hasRelatedSynonym", "foaf:nick", "skos:hiddenLabel",
)  # fmt: skip
LABEL_RANKS = {expand(name, BUILT_IN): rank for rank, name in enumerate(NAMING + ALTERNATIVE)}  # the best first
LABEL_RANKS |= {name.replace(BUILT_IN["skos"], BUILT_IN["skosxl"]): rank for name, rank in LABEL_RANKS.items()}
PLAIN_LABEL_PREDICATES = {
    "name": "rdfs:label",
    "label": "rdfs:label",
}  # what names are said by where no vocabulary is used
NO_LABEL = -1  # in place of a rank, of every other predicate
NAME_RANK, FURTHER_NAME_RANK = len(NAMING) - 1, 199  # ranks of names, and of further ones, of no vocabulary
TRANSLATION_RANK = 200  # the rank of a label that is a translation: shown only where there is no other
DEFAULT_LANGUAGES = ("en", "")


@dataclass(frozen=True, eq=False)
class Labels(EntityTable):
    """Labels of entities. `language` is a lower-case tag, "" for none; `rank` is that of the predicate, 0 the best.

    The rank `TRANSLATION_RANK` marks the name of an entity in the language of the other graph.

    >>> found = Labels.from_columns([0, 0], ["Hund", "dog"], ["de", "en"]).as_set()
    >>> found.text.tolist(), found.language.tolist()
    (['dog', 'Hund'], ['en', 'de'])
    """

    COLUMN_TYPES: ClassVar = {"entity": np.int32, "text": TextColumn, "language": TextColumn, "rank": np.uint8}
    text: TextColumn
    language: TextColumn
    rank: np.ndarray

    @classmethod
    def of_entities(cls, entity: Sequence[int] | np.ndarray, text: Sequence[str] | np.ndarray, rank: int = 0) -> Self:
        """Make labels without a language; blank texts are left out."""
        found = cls.from_columns(entity, text)
        return replace(found, rank=np.full(len(found), rank, dtype=np.uint8))._without_blank()

    @classmethod
    def of_attributes(cls, attributes: Attributes, rank_of: Callable[[str], int] | None = None) -> Self:
        """Take the labels among attribute triples, by the ranks of their predicates; blank texts are left out."""
        ranks = np.array([(rank_of or label_rank)(word) for word in attributes.predicate.texts()], dtype=np.int64)
        rank = ranks[attributes.predicate.codes]
        rows = np.flatnonzero(rank != NO_LABEL)
        language = attributes.language.take(rows)
        tags = TextColumn.from_texts(tag.lower() for tag in language.texts())
        language = TextColumn(tags.data, tags.offsets, tags.codes[language.codes])
        text = attributes.value.take(rows).compact()
        return cls(attributes.entity[rows], text, language, rank[rows].astype(np.uint8))._without_blank()

    def _without_blank(self) -> Self:
        blank = self.text.are_blank()
        return self.take(~blank[self.text.codes]) if blank.any() else self

    def as_set(self, languages: Sequence[str] = DEFAULT_LANGUAGES) -> Self:
        """Return each label once, sorted by entity: names, alternatives, translations, then by language.

        Then by tag, predicate and alphabet, so that the order does not depend on the input's.
        """
        if (self.entity[1:] > self.entity[:-1]).all():  # one label each: there is nothing to choose
            return self.drop_duplicates("entity", "text", "language")
        tags = self.language.texts()
        wanted = np.array([_language_rank(tag, languages) for tag in tags], dtype=np.int64)
        keys = (
            self.text.ranks()[self.text.codes], self.rank, self.language.ranks()[self.language.codes],
            wanted[self.language.codes], self.rank >= len(NAMING), self.rank == TRANSLATION_RANK, self.entity,
        )  # fmt: skip
        return self.take(np.lexsort(keys)).drop_duplicates("entity", "text", "language")


def label_rank(predicate: str) -> int:
    """Return the rank of a predicate, in full or with a common prefix; NO_LABEL if its values are not labels.

    >>> label_rank("rdfs:label"), label_rank("http://www.w3.org/2004/02/skos/core#prefLabel"), label_rank("label")
    (0, 1, -1)
    """
    return LABEL_RANKS.get(expand(predicate, BUILT_IN), NO_LABEL)


def _language_rank(tag: str, languages: Sequence[str]) -> int:
    """Return the index of a language among the wanted ones; `en` matches `en-gb` too, "" only text without one."""
    for place, wanted in enumerate(language.lower() for language in languages):
        if tag == wanted or (wanted and tag.startswith(wanted + "-")):
            return place
    return len(languages)
