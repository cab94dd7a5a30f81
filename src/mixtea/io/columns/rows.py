"""Convert tables with one entity per row to triples and values, all tables of a side together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from mixtea.errors import DataError, Problems, shorten
from mixtea.graph.builder import ColumnRead, GraphData, attribute_data, concat, triple_data, value_data
from mixtea.graph.labels import PLAIN_LABEL_PREDICATES
from mixtea.graph.text_column import TextColumn
from mixtea.io.columns.cells import NAME_SEPARATORS, is_id_word, items_of, words_of
from mixtea.io.columns.hints import IGNORE, ColumnHint, Hints
from mixtea.io.columns.kinds import (
    ID,
    LIST,
    MIN_DISTINCT_ID,
    NAME,
    REFERENCE,
    ColumnStats,
    RowKey,
    column_kinds,
    key_referred_to,
    unknown_key,
)
from mixtea.io.formats.cell_values import Column
from mixtea.io.formats.link_tables import TABLE_SEPARATOR
from mixtea.io.formats.tsv import Table, object_array
from mixtea.io.paths import plain_name, split_name
from mixtea.io.safe.limits import UnreadableError
from mixtea.io.table_layout import find_id_column
from mixtea.text.name_looks import kind_of_name

LABEL_SUFFIX = "Label"  # `countryLabel` is what the entity in the column `country` is called
TYPE = "rdf:type"  # states which of several tables an entity is a row of


@dataclass(frozen=True, eq=False)
class RowTable:
    """A table as it was read, with the `lines` [n] of its rows and `notes` for the user."""

    path: Path
    columns: tuple[Column, ...]
    lines: np.ndarray
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return name_of_table(self.path)


def name_of_table(path: Path) -> str:
    """Return the table's name in its file, else the name of the file or of the argument."""
    file, part, _ = split_name(path)
    return part or plain_name(file).partition(" (")[0]


@dataclass(frozen=True, eq=False)
class _Read:
    """A table with the kind of each column; `place` is the column of ids, None where rows are numbered."""

    table: RowTable
    hints: Hints
    columns: tuple[Column, ...]
    place: int | None
    name: str = ""
    prefix: str = ""
    kinds: Mapping[str, str] = field(default_factory=dict)
    references: Mapping[str, RowKey] = field(default_factory=dict)  # by column: what it refers to

    @cached_property
    def ids(self) -> Column:
        """Return the ids of the rows; a row may have none."""
        n = len(self.table.lines)
        if self.place is None:
            return Column("", np.arange(n), object_array([str(row) for row in range(1, n + 1)]))
        ids = self.columns[self.place]
        if not ids.is_single:
            line = int(self.table.lines[ids.rows[1:][ids.rows[1:] == ids.rows[:-1]][0]])
            todo = "Write one id in each row."
            raise UnreadableError(self.table.path, line, ids.name, "several ids of an entity, in", todo)
        return ids

    @cached_property
    def entity(self) -> np.ndarray:
        """Return int64 [n], the number of each row's id among the distinct ones, -1 without an id."""
        found = np.full(len(self.table.lines), -1)
        found[self.ids.rows] = self.ids.coded.codes
        return found

    @cached_property
    def entities(self) -> np.ndarray:
        """Return the distinct ids, as the graph has them."""
        return _prefixed(self.ids.distinct[1], self.prefix)

    @property
    def is_unique(self) -> bool:
        """Return whether hardly any id is repeated."""
        return self.ids.coded.n_texts >= MIN_DISTINCT_ID * len(self.ids.rows)

    def row_keys(self) -> Iterator[RowKey]:
        """Yield the columns by whose values other tables may refer to rows: ids, then codes; not row numbers."""
        if self.place is not None:
            yield RowKey(self.name, self.id_name, self.ids.coded, self.ids.coded)
        for column in self.columns:
            if self.kinds.get(column.name) == ID and column.name != self.id_name and column.is_single:
                entity = self.entity[column.rows]
                there = entity >= 0
                ids = TextColumn(self.ids.coded.data, self.ids.coded.offsets, entity[there].astype(np.int32))
                yield RowKey(self.name, column.name, column.coded.take(there), ids)

    @property
    def id_name(self) -> str:
        return "" if self.place is None else self.columns[self.place].name

    def hint(self, column: Column) -> ColumnHint:
        return self.hints.get(column.name, ColumnHint())


def convert_tables(
    tables: Sequence[RowTable], hints: Hints, problems: Problems
) -> list[tuple[GraphData, tuple[ColumnRead, ...], tuple[str, ...]]]:
    """Return the graph data, the column summaries and the notes of each table.

    Each row is an entity, identified by its column of ids, else by its number from 1. Columns that refer to rows, of
    this table or another, and columns of IRIs lead to entities; others hold values. Ids that several tables share are
    prefixed with the names of the tables.
    """
    read = _with_table_names(_without_foreign_ids([_with_id_column(table, hints) for table in tables]))
    read = [_with_kinds(one) for one in _with_prefixes(read)]
    read = [_with_references(one, read) for one in read]
    prefixes = {one.name: one.prefix for one in read}
    several = len({one.name for one in read}) > 1
    return [(_part(one, prefixes, several=several), _summary(one), (*_notes(one, problems),)) for one in read]


def _with_id_column(table: RowTable, hints: Hints) -> _Read:
    columns = tuple(column for column in table.columns if hints.get(column.name, ColumnHint()).kind != IGNORE)
    if find_id_column([column.name for column in columns]) != 0:
        columns = tuple(column for column in columns if column.name)  # labels of rows that pandas has written
    hinted = [place for place, column in enumerate(columns) if hints.get(column.name, ColumnHint()).kind == ID]
    place = hinted[0] if hinted else find_id_column([column.name for column in columns])
    if place is not None and not hinted and hints.get(columns[place].name, ColumnHint()).kind:
        place = None  # the hint is another kind
    elif place is None:
        place = next((place for place, column in enumerate(columns) if _identifies(column, table, hints)), None)
    return _Read(table, hints, columns, place)


def _identifies(column: Column, table: RowTable, hints: Hints) -> bool:
    """Return whether a column is called by a word for codes, such as `sku`, and has a different one in each row."""
    n = len(table.lines)
    is_free = bool(column.name) and not hints.get(column.name, ColumnHint()).kind and is_id_word(column.name)
    return is_free and len(column.rows) == n == column.coded.n_texts


def _without_foreign_ids(read: list[_Read]) -> list[_Read]:
    """Number the rows of tables whose column of ids repeats those of another table, where each comes once."""
    unique = {one.id_name for one in read if one.place is not None and one.is_unique}
    return [
        replace(one, place=None)
        if one.id_name in unique and not one.is_unique and one.hint(one.ids).kind != ID
        else one
        for one in read
    ]


def _with_table_names(read: list[_Read]) -> list[_Read]:
    """Give each table a name of its own; parts of one table, and tables of one kind of ids, share it."""
    names: dict[tuple[str, ...], str] = {}
    found: list[_Read] = []
    for one in read:
        of_ids = () if len(words_of(one.id_name)) < 2 else (one.id_name,)
        same = of_ids or tuple(column.name for column in one.table.columns)
        same = same if one.place is not None else (str(len(found)),)  # numbers of rows are those of their own table
        name, taken = one.table.name, {*names.values()}
        if same not in names:
            names[same] = name if name not in taken else f"{name} {1 + sum(n.startswith(name) for n in taken)}"
        found.append(replace(one, name=names[same]))
    return found


def _with_prefixes(read: list[_Read]) -> list[_Read]:
    """Put the name of the table before ids of tables that have some in common with another."""
    several = len({one.name for one in read}) > 1
    owners: dict[str, str] = {}
    clashing: set[str] = set()
    for one in read if several else ():
        for id in one.ids.coded.texts():
            if owners.setdefault(id, one.name) != one.name:
                clashing |= {one.name, owners[id]}
    return [replace(one, prefix=f"{one.name}{TABLE_SEPARATOR}") if one.name in clashing else one for one in read]


def _with_kinds(one: _Read) -> _Read:
    found = column_kinds(one.columns, len(one.table.lines), one.place)
    columns = zip(one.columns, found, strict=True)
    return replace(one, kinds={column.name: one.hint(column).kind or kind for column, kind in columns})


def _with_references(one: _Read, every: Sequence[_Read]) -> _Read:
    """Find what columns refer to: rows by their ids, and rows of other tables by other codes of theirs too."""
    keys = [key for table in every for key in table.row_keys() if table is not one or key.column == one.id_name]
    keys = keys or [unknown_key(one.name)]
    references: dict[str, RowKey] = {}
    for place, column in enumerate(one.columns):
        hint = one.hint(column)
        if hint.kind == REFERENCE:
            references[column.name] = _hinted_key(hint, keys, one)
        elif not hint.kind and place != one.place and (
            key := key_referred_to(column, one.kinds[column.name], keys, one.ids)
        ):  # fmt: skip
            references[column.name] = key
    return replace(one, references=references, kinds={**one.kinds, **dict.fromkeys(references, REFERENCE)})


def _hinted_key(hint: ColumnHint, keys: Sequence[RowKey], one: _Read) -> RowKey:
    name = hint.refers_to or one.name
    found = next((key for key in keys if key.table == name), None)
    if found is None and hint.refers_to:
        there = ", ".join(dict.fromkeys(key.table for key in keys))
        raise DataError(f"columns: there is no table {shorten(name)} with ids. There are: {there}.")
    return found or unknown_key(name)


def _part(one: _Read, prefixes: Mapping[str, str], *, several: bool) -> GraphData:
    """Return the graph data of a table; of `several` tables, also which one each entity is a row of."""
    path, lines = one.table.path, one.table.lines
    others = [column for place, column in enumerate(one.columns) if place != one.place]
    references = {column.name: column for column in others if column.name in one.references and column.is_single}
    values, parts = [], list[GraphData]()
    if several:
        number = np.arange(len(one.entities))
        values.append((TYPE, number, TextColumn.coded([one.name], np.zeros(len(number), dtype=np.int32))))
    for column in others:
        leads, (about, word) = column.name in one.references, _subject_and_predicate(column.name, one, references)
        if one.hint(column).kind == LIST:
            column = items_of(column, one.hint(column).separator)
        elif one.kinds[column.name] == LIST and kind_of_name(column.name) is not None:
            column = items_of(column, separators=NAME_SEPARATORS)
        if about is None and not leads:
            entity, texts = one.entity[column.rows], column.coded
            known = entity >= 0
            values.append((word, entity, texts) if known.all() else (word, entity[known], texts.take(known).compact()))
            continue
        subjects = _subjects(one, about, prefixes)[column.rows]
        rows = subjects != ""
        objects = _resolve(column.texts[rows], one.references[column.name], prefixes) if leads else column.texts[rows]
        words = np.full(int(rows.sum()), column.name if leads else word, dtype=object)
        stated = Table(path, (subjects[rows], words, objects), lines[column.rows[rows]])
        parts.append((triple_data if leads else attribute_data)(stated))
    return replace(concat([value_data(one.entities, values), *parts]), kept_apart=(one.name,) if one.prefix else ())


def _subjects(one: _Read, about: Column | None, prefixes: Mapping[str, str]) -> np.ndarray:
    """Return per row the entity itself, or what the column `about` refers to; empty where there is none."""
    if about is not None:
        return _resolve(about.cells(len(one.table.lines)), one.references[about.name], prefixes)
    found = np.full(len(one.entity), "", dtype=object)
    found[one.entity >= 0] = one.entities[one.entity[one.entity >= 0]]
    return found


def _subject_and_predicate(name: str, one: _Read, references: Mapping[str, Column]) -> tuple[Column | None, str]:
    """Return the column of references that a column of values is about, None for the rows, and the predicate."""
    about = name.removesuffix(LABEL_SUFFIX)
    if about != name and (about in references or about == one.id_name):
        return references.get(about), PLAIN_LABEL_PREDICATES["label"]
    is_label = one.hints.get(name, ColumnHint()).kind in ("", NAME)
    return None, PLAIN_LABEL_PREDICATES.get(name.casefold(), name) if is_label else name


def _resolve(texts: np.ndarray, key: RowKey, prefixes: Mapping[str, str]) -> np.ndarray:
    """Return the entities that cells refer to; an unknown id stays as it is."""
    if key.values is not key.ids:
        texts = object_array([key.by_value.get(text, text) for text in texts.tolist()])
    return _prefixed(texts, prefixes.get(key.table, ""))


def _prefixed(ids: np.ndarray, prefix: str) -> np.ndarray:
    return object_array([f"{prefix}{id}" if id else "" for id in ids.tolist()]) if prefix else ids


def _summary(one: _Read) -> tuple[ColumnRead, ...]:
    looks = {column.name: ColumnStats(column, len(one.table.lines)) for column in one.columns}
    found = []
    there = {one.id_name, *(column.name for column in one.table.columns if column.name)}
    for name in (column.name for column in one.table.columns if column.name in there):
        table = one.references[name].table if name in one.references else ""
        shares = (looks[name].filled, looks[name].distinct) if name in looks else (0.0, 0.0)
        found.append(ColumnRead(name, one.kinds.get(name, IGNORE), table, *shares, name in one.hints))
    return tuple(found)


def _notes(one: _Read, problems: Problems) -> list[str]:
    """Return what a user should know of the ids of a table."""
    found = []
    if one.place is None:
        found.append("each row is an entity, whose id is the number of the row, as no column is called id")
    if without := int((one.entity < 0).sum()):
        found.append(
            f"{_rows(without)} no id in the column {one.id_name} and {'is' if without == 1 else 'are'} left out"
        )
    if again := len(one.ids.rows) - one.ids.coded.n_texts:
        counts = np.bincount(one.ids.coded.codes)
        most = int(counts.argmax())
        id = one.ids.coded.text(most)
        found.append(f"{_rows(again)} an id that an earlier one has, such as {shorten(id)}: each id is one entity")
        if problems.strict:
            line = int(one.table.lines[np.flatnonzero(one.entity == most)[1]])
            problems.add(one.table.path, line, id, f"an id that {counts[most]} rows have:", "Write each id once.")
    if one.prefix:
        found.append(f"another table has some of its ids: they are written {one.prefix}ID")
    return found


def _rows(n: int) -> str:
    return f"{n:,} row{'s' * (n != 1)} {'has' if n == 1 else 'have'}"
