"""Find the names of entities: the labels that a graph has, as the user wants or as detected, and files of names.

A graph whose entities mostly have labels stays as it is, unless the user names others. Files hold names, translations,
a dictionary to translate by, and groups of synonyms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mixtea.errors import DataError, Problems, listed, shorten
from mixtea.graph.graph import Graph
from mixtea.graph.labels import (
    DEFAULT_LANGUAGES,
    NAME_RANK,
    NO_LABEL,
    PLAIN_LABEL_PREDICATES,
    TRANSLATION_RANK,
    Labels,
    label_rank,
)
from mixtea.graph.prefixes import expand
from mixtea.graph.synonym_groups import Groups, merge_groups
from mixtea.io.columns.hints import ColumnHints
from mixtea.io.columns.kinds import NAME
from mixtea.io.formats.registry import FORMATS, detect_format_among
from mixtea.io.formats.tsv import Table, drop_empty_labels, text_blocks
from mixtea.io.safe.limits import collect_unreadable, current_limits, limit_exceeded
from mixtea.io.safe.lines import encoding_of
from mixtea.io.table_layout import NAME_HEADERS, WORD_HEADERS, Headers
from mixtea.text.name_looks import name_predicates, predicate_profiles, rows_by_predicate
from mixtea.text.names import entity_names, normalized_name
from mixtea.text.phrases import MAX_PHRASE_LENGTH, MAX_PHRASE_UNITS, TOO_LONG, Dictionary

MIN_CLEAR_SHARE = 0.5  # share of the entities with a name, or of the names that differ, below which names are in doubt


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
                taken.append(named_by(graph, wanted[side], languages))
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


def named_by(graph: Graph, predicates: Sequence[str], languages: Sequence[str] = DEFAULT_LANGUAGES) -> Graph:
    """Return the graph with the values of these predicates as its only labels, the best first."""
    ranks = {predicate: min(rank, NAME_RANK) for rank, predicate in enumerate(predicates)}
    return _with_labels(graph, ranks, Labels.empty(), languages)


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
    leads = any({word, expand(word, graph.prefixes)} & {*graph.relations} for graph in graphs)
    more = f" {shorten(word)} leads to entities; --literals makes values of it." if leads else ""
    return f"{option}: {who} values of {shorten(word)}.{more} There are: {listed([*there]) or 'none at all'}."


def _as_written(graph: Graph, predicate: str) -> str:
    """Return what the column of a predicate is called in its table, else the predicate with a prefix."""
    columns = (column.name for file in graph.files for column in file.columns)
    return next(
        (name for name in columns if PLAIN_LABEL_PREDICATES.get(name.casefold()) == predicate), graph.shorten(predicate)
    )


TABLES = {kind: row.read_columns for kind, row in FORMATS.items() if row.read_columns}


@dataclass(frozen=True)
class NameFiles:
    """Files of names per side, of translated names of the source, of words to translate by, and of synonyms."""

    source: Sequence[Path] = ()
    target: Sequence[Path] = ()
    translations: Sequence[Path] = ()
    dictionary: Sequence[Path] = ()
    synonyms: Sequence[Path] = ()

    def add_labels(
        self, source: Graph, target: Graph, problems: Problems, languages: Sequence[str] = DEFAULT_LANGUAGES
    ) -> tuple[Graph, Graph, list[str]]:
        """Return both graphs with the labels of the files, and warnings; errors of a file are problems."""
        warnings: list[str] = []

        def labels(graph: Graph, paths: Sequence[Path], side: str, rank: int) -> list[Labels]:
            return [_labels(path, graph, side, rank, problems, warnings) for path in paths]

        target = _labelled(target, labels(target, self.target, "target", 0), languages)
        source = _labelled(source, labels(source, self.source, "source", 0), languages)
        found = labels(source, self.translations, "source", TRANSLATION_RANK)
        if self.dictionary:
            found.append(_translate(self.dictionary, source, problems, warnings))
        return _labelled(source, found, languages), target, warnings


def _labelled(graph: Graph, more: list[Labels], languages: Sequence[str]) -> Graph:
    if not more:
        return graph
    return replace(graph, labels=Labels.concat([graph.labels, *more]).as_set(languages))


def _labels(path: Path, graph: Graph, side: str, rank: int, problems: Problems, warnings: list[str]) -> Labels:
    """Return the labels of a table of ids and texts; an error if the graph has none of the ids."""
    table = _read(path, NAME_HEADERS, problems)
    if table is None or not graph.n_entities:  # whose files are reported already
        return Labels.empty()
    warnings += [f"{path}: {note}" for note in table.notes]
    ids, texts = table.columns
    place = graph.find(ids)
    unknown = place < 0
    if len(graph.left_out) and unknown.any():
        unknown &= pd.Index(graph.left_out, dtype=object).get_indexer(pd.Index(ids, dtype=object)) < 0
    if unknown.any():
        _report_unknown_ids(table, unknown, side, problems, warnings)
    known = place >= 0
    return Labels.of_entities(place[known], texts[known], rank)


def _report_unknown_ids(table: Table, unknown: np.ndarray, side: str, problems: Problems, warnings: list[str]) -> None:
    """Say which ids the graph does not have: a warning, or an error if it has none of them."""
    first, n = int(np.argmax(unknown)), int(unknown.sum())
    id = table.columns[0][first]
    if n == len(table):
        what = f"the {side} graph has none of the {n:,} ids, such as" if n > 1 else f"the {side} graph has no"
        todo = "Write ids as the graph has them, then names; or is the file of the other side?"
        problems.add(table.path, int(table.lines[first]), id, what, todo)
    names = "1 name is left out, of an entity" if n == 1 else f"{n:,} names are left out, of entities"
    warnings.append(f"{table.path}: {names} that the {side} graph does not have, such as {shorten(id)}")


def _translate(paths: Sequence[Path], source: Graph, problems: Problems, warnings: list[str]) -> Labels:
    """Translate the source's own names that have a word in the dictionary."""
    entries: list[tuple[str, str]] = []
    for path in paths:
        if (table := _read(path, WORD_HEADERS, problems)) is not None:
            entries += zip(*table.columns, strict=True)
            warnings += [f"{path}: {note}" for note in table.notes]
    words = Dictionary(entries)
    entity, names = entity_names(source, translated=False)
    texts = [words.translated(name) for name in names.texts()]
    has_word = np.array([text is not None for text in texts], dtype=bool)[names.codes]
    if words.left_out:
        many = f"{words.left_out:,} entries are" if words.left_out > 1 else "1 entry is"
        warnings.append(f"{paths[0]}: {many} left out, without a word or with {TOO_LONG}")
    if len(entries) and not has_word.any():
        warnings.append(f"{paths[0]}: no name of the source has a word that is in the dictionary")
    found = [texts[code] or "" for code in names.codes[has_word].tolist()]
    return Labels.of_entities(entity[has_word], found, TRANSLATION_RANK)


def _read(path: Path, headers: Headers, problems: Problems) -> Table | None:
    """Read two columns, of which the second may be empty; None where the file cannot be read, which is a problem."""
    with collect_unreadable(problems):
        todo = f"Write a table of two columns ({', '.join(headers[0])}) as .tsv, .csv, .xlsx or .parquet."
        kind = detect_format_among(path, TABLES, "table of names", todo)
        return drop_empty_labels(TABLES[kind](path, kind, headers, problems), problems, n=1)
    return None


TEXTS = ("TSV", "CSV")  # a file of tabs may be called .csv
WRITE_NAMES = "Write two names or more in a line, separated by tabs."


def read_synonyms(paths: Sequence[Path], problems: Problems) -> tuple[Groups, list[str]]:
    """Return the groups of all files in plain names, joined where they share one; and warnings.

    A line of fewer than two names, or a file without any line, is a problem.
    """
    groups: list[list[str]] = []
    warnings: list[str] = []
    for path in paths:
        too_long: list[str] = []
        with collect_unreadable(problems):
            groups += _groups(path, problems, too_long)
        if n := len(too_long):
            warnings.append(f"{path}: {f'{n:,} names are' if n > 1 else '1 name is'} left out, with {TOO_LONG}")
    return merge_groups(groups), warnings


def _groups(path: Path, problems: Problems, too_long: list[str]) -> Iterator[list[str]]:
    """Yield the plain names of each line that has at least two; `too_long` collects others.

    A line may have any number of names, so that it is not a table. Blank lines, comments and empty cells do not count.
    """
    detect_format_among(path, TEXTS, "groups of synonyms", WRITE_NAMES)
    before, any_line = len(problems.found), False
    for start, text, _ in text_blocks(path, problems, encoding_of(path)):
        for number, line in enumerate(text.split("\n"), start):
            if not line.strip() or line.startswith("#"):
                continue
            if (n := line.count("\t") + 1) > current_limits().max_columns:
                raise limit_exceeded(path, number, f"{n:,} columns", "max_columns")
            any_line, names = True, list[str]()
            for cell in line.split("\t"):
                name = normalized_name(cell)
                is_long = len(cell) > MAX_PHRASE_LENGTH or len(name.split()) > MAX_PHRASE_UNITS
                (too_long if is_long else names).extend([name] * bool(name or is_long))
            if len(names) > 1:
                yield names
            else:
                what = "only one name that can be read in" if names else "no name that can be read in"
                problems.add(path, number, line, what, WRITE_NAMES)
    if not any_line and len(problems.found) == before:
        problems.add(path, None, "", "the file is empty", WRITE_NAMES)
