"""Tell entities with similar names apart, by words in brackets and by types that both graphs know. No torch."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
from scipy.sparse import csr_matrix

from mixtea.compute.similar_rows import row_products
from mixtea.graph.graph import Graph
from mixtea.graph.prefixes import BUILT_IN, expand
from mixtea.graph.terms import types_of
from mixtea.text.names import alphanumeric_words, entity_names, is_vocabulary_term

MISSING, DIFFERENT, SHARED = range(3)
_BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_INDIVIDUALS = tuple(BUILT_IN["owl"] + word for word in ("NamedIndividual", "Thing"))


def same_kind(ours: csr_matrix, theirs: csr_matrix, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Classify pairs of entities: they share a kind, both have some and these differ, or one of both has none."""
    shared = row_products(ours, theirs, source, target) > 0
    both = (np.diff(ours.indptr)[source] > 0) & (np.diff(theirs.indptr)[target] > 0)
    return np.where(shared, SHARED, np.where(both, DIFFERENT, MISSING))


def one_has_a_kind(ours: csr_matrix, theirs: csr_matrix, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return bool per pair of entities: one of both has a kind and the other has none."""
    return (np.diff(ours.indptr)[source] > 0) != (np.diff(theirs.indptr)[target] > 0)


def words_in_brackets(source: Graph, target: Graph) -> tuple[csr_matrix, ...]:
    """Return [entities, words] of each graph: `1953` and `film` of `Ulysses (1953 film)`."""
    number: dict[str, int] = {}
    rows = []
    for graph in (source, target):
        entity, column = entity_names(graph)
        found = {code: words for code, text in enumerate(column.texts()) if (words := _words_in_brackets(text))}
        kept = np.flatnonzero(np.isin(column.codes, [*found]))
        owners = zip(entity[kept].tolist(), column.codes[kept].tolist(), strict=True)
        rows.append([(owner, number.setdefault(word, len(number))) for owner, code in owners for word in found[code]])
    return _matrices(rows, (source, target), len(number))


def _words_in_brackets(text: str) -> list[str]:
    if text.isascii() and "(" not in text and "[" not in text:
        return []
    folded = unicodedata.normalize("NFKC", text).casefold()
    return alphanumeric_words(" ".join(_BRACKETS.findall(folded))).split()


def shared_types(source: Graph, target: Graph) -> tuple[csr_matrix, ...]:
    """Return [entities, types] of each graph, of the types that both have, as `owl:Class` and `owl:ObjectProperty`."""
    number: dict[str, int] = {}
    rows = [_typed(graph, number) for graph in (source, target)]
    known = {kind for _, kind in rows[0]} & {kind for _, kind in rows[1]}
    return _matrices([[row for row in side if row[1] in known] for side in rows], (source, target), len(number))


def are_properties(graph: Graph) -> np.ndarray:
    """Return bool [entities]: those that are properties by a type of RDF or OWL, such as `owl:ObjectProperty`."""
    owners, types = types_of(graph.ids, graph.relations, graph.triples, graph.attributes)
    found = np.zeros(graph.n_entities, dtype=bool)
    is_one = [is_vocabulary_term(kind) and kind.endswith("Property") for kind in types]
    found[np.asarray(owners, dtype=np.int64)[np.array(is_one, dtype=bool)]] = True
    return found


def own_types(graph: Graph) -> csr_matrix:
    """Return [entities, types] of a graph, whatever the other one has."""
    number: dict[str, int] = {}
    rows = _typed(graph, number)
    return _matrices([rows], (graph,), len(number))[0]


def _typed(graph: Graph, number: dict[str, int]) -> list[tuple[int, int]]:
    """Return (entity, number of its type), each once; new types get the next number.

    A class or property that is called an individual too, which OWL allows, is a class or property.
    """
    owners, types = types_of(graph.ids, graph.relations, graph.triples, graph.attributes)
    kinds = [(owner, expand(kind, BUILT_IN)) for owner, kind in zip(owners.tolist(), types, strict=True)]
    terms = {owner for owner, kind in kinds if is_vocabulary_term(kind) and kind not in _INDIVIDUALS}
    kept = (row for row in dict.fromkeys(kinds) if row[0] not in terms or row[1] not in _INDIVIDUALS)
    return [(owner, number.setdefault(kind, len(number))) for owner, kind in kept]


def _matrices(rows: list[list[tuple[int, int]]], graphs: tuple[Graph, ...], n_columns: int) -> tuple[csr_matrix, ...]:
    found = []
    for side, graph in zip(rows, graphs, strict=True):
        ends = np.array(side, dtype=np.int64).reshape(-1, 2)
        ones = np.ones(len(ends), dtype=np.int32)
        found.append(csr_matrix((ones, (ends[:, 0], ends[:, 1])), shape=(graph.n_entities, max(n_columns, 1))))
    return tuple(found)
