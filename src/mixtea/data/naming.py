"""Decide which texts of a graph are names: by the vocabulary, by what a predicate is called, by what its values are.

A graph whose entities mostly have labels stays as it is. Else a predicate (of a table: a column) that is called as
names are and whose values look like names is taken; without one, and where ids are not names either, the one whose
values look like names alone: filled, distinct, short, of letters, and made of words that the other side has too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mixtea.data.entity_table import Attributes
from mixtea.data.graph import Graph
from mixtea.data.labels import LANGUAGES, NO_LABEL, PLAIN, TAKEN, TAKEN_FURTHER, TRANSLATED, Labels, label_rank
from mixtea.data.literals import form
from mixtea.data.name_words import EXACT, FURTHER, is_called_otherwise, kind_of_name
from mixtea.data.names import is_code, names_by_id, plain
from mixtea.data.prefixes import expand
from mixtea.data.texts import IRIS as DESCRIBING
from mixtea.data.vocabulary import TYPE, types_of
from mixtea.errors import DataError, shorten

MIN_NAMED = 0.5  # share of the entities with values: with so many labels, or names in their ids, none is looked for
MIN_BY_WORD, MIN_BY_LOOK = 0.5, 0.8  # share filled, share distinct and share of texts that can be names
MIN_ENTITIES, MAX_WORDS = 10, 12  # by look: entities with the predicate, and words of its median text
MIN_SHARED = 0.2  # by look: share of the words that the other side has too
MIN_LETTERS = 0.6  # share of a name's characters
CODE_LENGTH, SAME_LENGTH = 8, 0.9  # codes are no longer than that, and most of a column are equally long
MAX_SAMPLE, MAX_SHOWN = 5000, 20  # texts or ids that are looked at; columns that an error lists


@dataclass(frozen=True)
class NameColumns:
    """Predicates, or columns of a table, that the user wants as names: of whichever side has them, or of one side."""

    both: Sequence[str] = ()
    source: Sequence[str] = ()
    target: Sequence[str] = ()

    def applied(
        self, source: Graph, target: Graph, find: Sequence[bool], languages: Sequence[str] = LANGUAGES
    ) -> tuple[Graph, Graph]:
        """Return both graphs with the labels that are wanted, else where `find` says so with those that are found."""
        graphs = (source, target)
        wanted = [_wanted(source, self.source, "source"), _wanted(target, self.target, "target")]
        for word in self.both:
            found = [_predicate(graph, word) for graph in graphs]
            if not any(found):
                raise DataError(_unknown(word, "neither graph has", "--name-column", graphs))
            for side, predicate in enumerate(found):
                wanted[side] += [predicate] if predicate else []
        looks = [
            _looks(graph) if here and not own else [] for graph, here, own in zip(graphs, find, wanted, strict=True)
        ]
        taken = []
        for side, graph in enumerate(graphs):
            if wanted[side]:
                ranks = {predicate: min(rank, TAKEN) for rank, predicate in enumerate(wanted[side])}
                taken.append(_labelled(graph, ranks, Labels.none(), languages))
            elif ranks := _found(graph, looks[side], graphs[1 - side], looks[1 - side]):
                known = {word: rank for word in graph.attributes.predicate.texts() if (rank := label_rank(word)) >= 0}
                taken.append(_labelled(graph, known | ranks, graph.labels, languages))
            else:
                taken.append(graph)
        return taken[0], taken[1]


class Look(NamedTuple):
    """The values of a predicate: who has one, which share of the entities of the same types, and of all, that is.

    `distinct` is the share of different values, `rows` are the attribute triples.
    """

    predicate: str
    rows: np.ndarray
    entities: np.ndarray
    filled: float
    filled_of_all: float
    distinct: float


def names_taken(graph: Graph) -> list[dict[str, Any]]:
    """Return the predicates whose values are names, with how many entities have one and how distinct they are."""
    of, found = graph.attributes, []
    for predicate, rows in _rows_by_predicate(of):
        if graph.is_name(predicate):
            entities, values = (len(np.unique(codes[rows])) for codes in (of.entity, of.value.codes))
            numbers = {"entities": entities, "share": entities / graph.n_entities, "distinct": values / len(rows)}
            found.append({"predicate": graph.shorten(predicate)} | numbers)
    return sorted(found, key=lambda one: -one["entities"])


def names_line(graph: Graph) -> str:
    """Return in words which predicates are taken as names; "" where none is.

    >>> from mixtea import load_example
    >>> names_line(load_example().source)
    ''
    """
    return ", ".join(
        f"{shorten(one['predicate'], 60)} ({one['share']:.0%} filled, {one['distinct']:.0%} distinct)"
        for one in names_taken(graph)
    )


def _labelled(graph: Graph, ranks: dict[str, int], labels: Labels, languages: Sequence[str]) -> Graph:
    """Return the graph with the values of these predicates as labels, beside those that it has already."""
    stated = Labels.of_attributes(graph.attributes, lambda word: ranks.get(word, NO_LABEL))
    return replace(graph, labels=Labels.joined([labels, stated]).as_set(languages), name_predicates=tuple(ranks))


def _wanted(graph: Graph, words: Sequence[str], side: str) -> list[str]:
    """Return the predicates that a user names for one side."""
    found = []
    for word in words:
        if (predicate := _predicate(graph, word)) is None:
            raise DataError(_unknown(word, f"the {side} graph has", f"--{side}-name-column", [graph]))
        found.append(predicate)
    return found


def _predicate(graph: Graph, word: str) -> str | None:
    """Return the attribute predicate that a user means, as it is written, with a prefix, or in other letters."""
    there = graph.attributes.predicate.texts()
    meant = (word, expand(word, graph.prefixes), PLAIN.get(word.casefold()))
    exact = next((one for one in meant if one in there), None)
    return exact or next((one for one in there if graph.shorten(one).casefold() == word.casefold()), None)


def _unknown(word: str, who: str, option: str, graphs: Sequence[Graph]) -> str:
    """Return the error about a column that is not there, with those that are."""
    there = dict.fromkeys(graph.shorten(one) for graph in graphs for one in graph.attributes.predicate.texts())
    shown = ", ".join(map(shorten, list(there)[:MAX_SHOWN])) + (", ..." if len(there) > MAX_SHOWN else "")
    leads = any(word in graph.relations for graph in graphs)
    more = f" {shorten(word)} leads to entities; --literals makes values of it." if leads else ""
    return f"{option}: {who} no values of {shorten(word)}.{more} There are: {shown or 'none at all'}."


def _looks(graph: Graph) -> list[Look]:
    """Return what the predicates of values look like, unless the graph's entities mostly have labels already."""
    of = graph.attributes
    is_value = np.array([word not in TYPE for word in of.predicate.texts()], dtype=bool)[of.predicate.codes]
    described = np.unique(of.entity[is_value])
    if not len(described) or _has_label(graph)[described].mean() >= MIN_NAMED:
        return []
    group = _types(graph)
    sizes = np.bincount(group[described])
    found = []
    for predicate, rows in _rows_by_predicate(of):
        if predicate not in TYPE and label_rank(predicate) == NO_LABEL:
            entities = np.unique(of.entity[rows])
            of_types = sizes[np.unique(group[entities])].sum()
            shares = (len(entities) / of_types, len(entities) / len(described))
            found.append(Look(predicate, rows, entities, *shares, len(np.unique(of.value.codes[rows])) / len(rows)))
    return found


def _found(graph: Graph, looks: list[Look], other: Graph, others: list[Look]) -> dict[str, int]:
    """Return the predicates to take as names with their ranks; those called so before one that only looks so."""
    named, ranks = _has_label(graph), dict[str, int]()
    for kind, look in _called_so(graph, looks):
        if kind != FURTHER and not named[look.entities].mean() >= MIN_NAMED:
            ranks[look.predicate] = TAKEN
            named[look.entities] = True
        elif ranks and kind in (EXACT, FURTHER):
            ranks[look.predicate] = TAKEN_FURTHER
    if ranks or not looks or _has_named_ids(graph):
        return ranks
    words = _words_of_names(other, others)
    shared = [look for look in _by_look(graph, looks) if _share_of(_words(_sample(graph, look)), words) >= MIN_SHARED]
    shortest = sorted(shared, key=lambda look: _median_length(_sample(graph, look)))[:1]
    return {look.predicate: TAKEN for look in shortest}


def _called_so(graph: Graph, looks: list[Look]) -> list[tuple[int, Look]]:
    """Return the predicates called as names are, with how, whose values can be names: the best first."""
    found = [
        (kind, look) for look in looks
        if (kind := kind_of_name(look.predicate)) is not None
        and look.distinct >= MIN_BY_WORD and (kind == FURTHER or look.filled >= MIN_BY_WORD)
        and _readable(_sample(graph, look)) >= MIN_BY_WORD
    ]  # fmt: skip
    return sorted(found, key=lambda one: (one[0], -one[1].filled * one[1].distinct))


def _by_look(graph: Graph, looks: list[Look]) -> list[Look]:
    """Return the predicates whose values look like names whatever they are called."""
    return [
        look for look in looks
        if min(look.filled_of_all, look.distinct) >= MIN_BY_LOOK and len(look.entities) >= MIN_ENTITIES
        and look.predicate not in DESCRIBING and not is_called_otherwise(look.predicate)
        and _readable(texts := _sample(graph, look)) >= MIN_BY_LOOK
        and np.median([len(text.split()) for text in texts]) <= MAX_WORDS
    ]  # fmt: skip


def _words_of_names(graph: Graph, looks: list[Look]) -> set[str]:
    """Return the words of what is a name in a graph, or can be one."""
    labels = _spread(np.arange(graph.labels.text.n_texts))
    texts = [graph.labels.text.text(code) for code in labels.tolist()] or [*_sampled_id_names(graph)]
    candidates = [*(look for _, look in _called_so(graph, looks)), *_by_look(graph, looks)]
    return _words([*texts, *(text for look in candidates for text in _sample(graph, look))])


def _rows_by_predicate(of: Attributes) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each predicate with its rows."""
    order = np.argsort(of.predicate.codes, kind="stable")
    ends = np.cumsum(np.bincount(of.predicate.codes, minlength=of.predicate.n_texts)).tolist()
    for predicate, start, end in zip(of.predicate.texts(), [0, *ends], ends, strict=False):
        if end > start:
            yield predicate, order[start:end]


def _has_label(graph: Graph) -> np.ndarray:
    """bool [n]: the entities with a label of their own."""
    found = np.zeros(graph.n_entities, dtype=bool)
    found[graph.labels.entity[graph.labels.rank != TRANSLATED]] = True
    return found


def _has_named_ids(graph: Graph) -> bool:
    names = _sampled_id_names(graph)
    return sum(map(bool, names)) >= MIN_NAMED * len(names)


def _sampled_id_names(graph: Graph) -> list[str]:
    return names_by_id(graph.ids[_spread(np.arange(graph.n_entities))])


def _types(graph: Graph) -> np.ndarray:
    """int64 [n]: a number for the first type of each entity, 0 where it has none."""
    entities, types = types_of(graph.ids, graph.relations, graph.triples, graph.attributes)
    number: dict[str, int] = {}
    group = np.zeros(graph.n_entities, dtype=np.int64)
    codes = np.array([number.setdefault(word, len(number) + 1) for word in types], dtype=np.int64)
    group[entities[::-1].astype(np.int64)] = codes[::-1]
    return group


def _sample(graph: Graph, look: Look) -> list[str]:
    """Return different values of a predicate, evenly spread over all."""
    column = graph.attributes.value
    return [column.text(code) for code in _spread(np.unique(column.codes[look.rows])).tolist()]


def _spread(numbers: np.ndarray) -> np.ndarray:
    return numbers[:: len(numbers) // MAX_SAMPLE + 1]


def _readable(texts: list[str]) -> float:
    """Return the share of texts that can be names; 0 where they are codes of one length, such as `FRA`."""
    lengths = [
        len(text) for text in texts if len(text) <= CODE_LENGTH and " " not in text and text.lower() != text.upper()
    ]
    if len(texts) >= MIN_ENTITIES and np.bincount(lengths or [0]).max() >= SAME_LENGTH * len(texts):
        return 0.0
    return sum(map(_can_be_name, texts)) / len(texts)


def _can_be_name(text: str) -> bool:
    """Return whether a text is mostly letters, and is not a number, an IRI, an address of mail or a code.

    >>> [_can_be_name(text) for text in ("Abbey Road", "北京", "SKU-12a", "1999-01-31", "a@b.org", "IBM")]
    [True, True, False, False, False, True]
    """
    signs = [sign for sign in text if not sign.isspace()]
    if not signs or "@" in text or form(text) in ("id", "number"):
        return False
    if is_code(text) or (len(text.split()) == 1 and any(sign.isdigit() for sign in signs)):
        return False
    return sum(not sign.isdigit() for sign in plain(text).replace(" ", "")) >= MIN_LETTERS * len(signs)


def _words(texts: Sequence[str]) -> set[str]:
    return {word for text in texts for word in plain(text).split()}


def _share_of(words: set[str], others: set[str]) -> float:
    return len(words & others) / max(len(words), 1)


def _median_length(texts: list[str]) -> float:
    return float(np.median([len(text) for text in texts]))
