"""Decide which texts of a graph are labels beside those of common vocabularies: as the user wants, else as detected.

A graph whose entities mostly have labels stays as it is, unless the user names others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from mixtea.errors import DataError, shorten
from mixtea.graph.graph import Graph
from mixtea.graph.labels import DEFAULT_LANGUAGES, NAME_RANK, NO_LABEL, PLAIN_LABEL_PREDICATES, Labels, label_rank
from mixtea.graph.prefixes import expand
from mixtea.io.columns.hints import ColumnHints
from mixtea.io.columns.kinds import NAME
from mixtea.text.name_looks import name_predicates, predicate_profiles, rows_by_predicate

MIN_CLEAR_SHARE = 0.5  # share of the entities with a name, or of the names that differ, below which names are in doubt
MAX_COLUMNS_SHOWN = 20  # columns that an error lists


@dataclass(frozen=True)
class NameColumns:
    """Predicates or columns that the user wants as names: of whichever side has them, or of one side.

    `never` are predicates of the source and of the target that are not names, whatever their values.
    """

    both: Sequence[str] = ()
    source: Sequence[str] = ()
    target: Sequence[str] = ()
    never: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())

    def with_hints(self, hints: ColumnHints, source: Graph, target: Graph) -> NameColumns:
        """Return the same with the columns that hints call names, and those that they call something else."""
        found, never = [], []
        for side, graph, own in (("source", source, self.source), ("target", target, self.target)):
            of_side = hints.of_side(side).items()
            called = [name for name, hint in of_side if hint.kind == NAME and _predicate(graph, name)]
            found.append((*own, *called))
            never.append(frozenset(name for name, hint in of_side if hint.kind not in ("", NAME)))
        return replace(self, source=found[0], target=found[1], never=(never[0], never[1]))

    def apply(
        self, source: Graph, target: Graph, find: Sequence[bool], languages: Sequence[str] = DEFAULT_LANGUAGES
    ) -> tuple[Graph, Graph]:
        """Return both graphs with the labels that are wanted, else, where `find` is set, with detected ones."""
        graphs = (source, target)
        wanted = [_wanted(source, self.source, "source"), _wanted(target, self.target, "target")]
        for word in self.both:
            found = [_predicate(graph, word) for graph in graphs]
            if not any(found):
                raise DataError(_unknown(word, "neither graph has", "--name-column", graphs))
            for side, predicate in enumerate(found):
                wanted[side] += [predicate] if predicate else []
        looks = [
            [look for look in predicate_profiles(graph) if look.predicate not in no_names] if here and not own else []
            for graph, here, own, no_names in zip(graphs, find, wanted, self.never, strict=True)
        ]
        taken = []
        for side, graph in enumerate(graphs):
            if wanted[side]:
                ranks = {predicate: min(rank, NAME_RANK) for rank, predicate in enumerate(wanted[side])}
                taken.append(_with_labels(graph, ranks, Labels.empty(), languages))
            elif ranks := name_predicates(graph, looks[side], graphs[1 - side], looks[1 - side]):
                known = {word: rank for word in graph.attributes.predicate.texts() if (rank := label_rank(word)) >= 0}
                taken.append(_with_labels(graph, known | ranks, graph.labels, languages))
            else:
                taken.append(graph)
        return taken[0], taken[1]


def name_coverage(graph: Graph) -> list[dict[str, Any]]:
    """Return the predicates whose values are names, with the share of entities that have one and of distinct names."""
    of, found = graph.attributes, []
    for predicate, rows in rows_by_predicate(of):
        if graph.is_name(predicate):
            entities, values = (len(pd.unique(codes[rows])) for codes in (of.entity, of.value.codes))
            numbers = {"entities": entities, "share": entities / graph.n_entities, "distinct": values / len(rows)}
            found.append({"predicate": _as_written(graph, predicate)} | numbers)
    return sorted(found, key=lambda one: -one["entities"])


def name_coverage_line(graph: Graph) -> str:
    """Return in words which predicates are taken as names; "" where none is.

    >>> from mixtea import load_example
    >>> name_coverage_line(load_example().source)
    ''
    """
    return ", ".join(
        f"{shorten(one['predicate'], 60)} ({one['share']:.0%} filled, {one['distinct']:.0%} distinct)"
        for one in name_coverage(graph)
    )


def name_warning(source: Graph, target: Graph) -> str:
    """Return which predicates that are taken as names may not be those of things; "" where they may well be.

    Such names are few, or shared by many entities.
    """
    found = [f"{side} by {name_coverage_line(graph)}" for side, graph in (("source", source), ("target", target))
             if (of := name_coverage(graph)) and min(of[0]["share"], of[0]["distinct"]) < MIN_CLEAR_SHARE]  # fmt: skip
    names = "; ".join(found)
    return f"names: {names}: if another column has the names, give it (--name-column)" if names else ""


def _with_labels(graph: Graph, ranks: dict[str, int], labels: Labels, languages: Sequence[str]) -> Graph:
    """Return the graph with the values of these predicates as labels, beside those that it has already."""
    stated = Labels.of_attributes(graph.attributes, lambda word: ranks.get(word, NO_LABEL))
    return replace(graph, labels=Labels.concat([labels, stated]).as_set(languages), name_predicates=tuple(ranks))


def _wanted(graph: Graph, words: Sequence[str], side: str) -> list[str]:
    """Return the predicates that a user names for one side."""
    found = []
    for word in words:
        if (predicate := _predicate(graph, word)) is None:
            raise DataError(_unknown(word, f"the {side} graph has no", f"--{side}-name-column", [graph]))
        found.append(predicate)
    return found


def _predicate(graph: Graph, word: str) -> str | None:
    """Return the attribute predicate that a user means, as it is written, with a prefix, or in other letters."""
    there = graph.attributes.predicate.texts()
    meant = (word, expand(word, graph.prefixes), PLAIN_LABEL_PREDICATES.get(word.casefold()))
    exact = next((one for one in meant if one in there), None)
    return exact or next((one for one in there if graph.shorten(one).casefold() == word.casefold()), None)


def _unknown(word: str, who: str, option: str, graphs: Sequence[Graph]) -> str:
    """Return the error about a missing column, with the existing ones."""
    there = dict.fromkeys(_as_written(graph, one) for graph in graphs for one in graph.attributes.predicate.texts())
    shown = ", ".join(map(shorten, list(there)[:MAX_COLUMNS_SHOWN])) + (
        ", ..." if len(there) > MAX_COLUMNS_SHOWN else ""
    )
    leads = any({word, expand(word, graph.prefixes)} & {*graph.relations} for graph in graphs)
    more = f" {shorten(word)} leads to entities; --literals makes values of it." if leads else ""
    return f"{option}: {who} values of {shorten(word)}.{more} There are: {shown or 'none at all'}."


def _as_written(graph: Graph, predicate: str) -> str:
    """Return what the column of a predicate is called in its table, else the predicate with a prefix."""
    columns = (column.name for file in graph.files for column in file.columns)
    return next(
        (name for name in columns if PLAIN_LABEL_PREDICATES.get(name.casefold()) == predicate), graph.shorten(predicate)
    )
