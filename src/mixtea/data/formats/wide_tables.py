"""Tables with an entity a row and a column for each thing that is said of it, as spreadsheets and queries have them.

Whatever holds a table, what its columns are called decides whether a row is an entity or a triple.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from mixtea.data.formats.cell_values import Column, column_of_texts
from mixtea.data.formats.head import Head
from mixtea.data.formats.headers import EDGE_HEADERS, LINK_HEADERS, TRIPLE_HEADERS, header_places, squeezed, too_few
from mixtea.data.formats.layout import Layout, cells, check_names, first_lines, no_relation
from mixtea.data.formats.separators import first_rows, separators_of
from mixtea.data.formats.tables import read_named
from mixtea.data.formats.tsv import Table, as_array, without_empty_labels
from mixtea.data.labels import PLAIN
from mixtea.data.literals import form
from mixtea.data.part import Part, attribute_part, joined, triple_part, values_part
from mixtea.data.safe.problems import HALF_A_CHARACTER, MEND, UnreadableError
from mixtea.data.text_column import TextColumn
from mixtea.errors import Problems, shorten
from mixtea.text import is_whole

IDS = ("item", "entity", "subject", "node", "concept", "term", "code", "identifier", "key", "resource", "url")
AN_ID = re.compile(
    r":?(?:[\w -]*[a-z_ -])?(?:ID|URI|IRI|Id|Uri|Iri)|(?:[\w -]*[_ -])?(?:id|uri|iri)|geonameid"
)  # not Madrid
IDS_ANYWHERE = ("id", "uri", "iri", "identifier")  # in a column that is not the first one
OF_PANDAS = re.compile(r"__index_level_\d+__")  # a column of Parquet with the numbers of the rows
RELATIONS = ("relation", "predicate", "property", "relationship", "edge", "type", "rel", "p", "r")
LABEL = "Label"  # `countryLabel` is what the entity in the column `country` is called
ENOUGH = 0.5  # the share of a column's cells that must name entities
SHOWN = 5
ROWS_OF_ENTITIES, ROWS_OF_THREE = 2, 3  # the least below a first line that is a header by what is not below it


def is_id_name(name: str) -> bool:
    """Whether a column so called has ids, if it is the first."""
    return squeezed(name) in IDS or AN_ID.fullmatch(name) is not None


def id_place(names: Sequence[str], *, certain: bool = True) -> int | None:
    """The place of the column of ids; None if no column is one, or the columns are those of triples.

    Where it is not certain that these are names, a first line of three words may be a triple.
    """
    if _of_triples(names) or len(names) < 2 or not all(names[1:]):
        return None
    if is_id_name(names[0]):
        return 0
    if header_places(names, EDGE_HEADERS) or not (certain or len(names) > 3):
        return None
    return next((place for place, name in enumerate(names) if squeezed(name) in IDS_ANYWHERE), None)


def has_entities(path: Path, names: Sequence[str]) -> bool:
    """Whether columns that have names hold an entity in each row; if not, each row is a triple."""
    if _of_triples(names):
        return False
    if id_place(names) is None:
        if len(names) > 2 and header_places(names, EDGE_HEADERS):
            raise no_relation(path, None, ", ".join(names))
        if (len(names) < 2 and (not names or is_id_name(names[0]))) or (
            len(names) == 2 and header_places(names, LINK_HEADERS)
        ):  # fmt: skip
            raise too_few(path, names, TRIPLE_HEADERS)
    check_names(path, None, names, range(len(names)), ", ")
    if half := next((name for name in names if not is_whole(name)), ""):
        raise UnreadableError(path, None, half, f"{HALF_A_CHARACTER} the name of a column,", MEND)
    return True


def _of_triples(names: Sequence[str]) -> bool:
    return header_places(names, TRIPLE_HEADERS) is not None or (len(names) == 3 and squeezed(names[1]) in RELATIONS)


def wide_header(head: Head, kind: str) -> tuple[Layout, list[str]] | None:
    """The layout and the names of the columns, if the first line names them and each row is an entity."""
    for separator in separators_of(kind, head):
        for number, line in first_lines(head):
            names = [name.strip() for name in cells(line.removeprefix("#"), separator)]
            if id_place(names, certain=False) is not None:
                return Layout(separator, tuple(range(len(names))), len(names), number), names
    return _without_ids(head, kind)


def _without_ids(head: Head, kind: str) -> tuple[Layout, list[str]] | None:
    """The same of a table without a column of ids, whose first line is a header by its words and those below it."""
    for separator in separators_of(kind, head):
        lines = [cells(line.removeprefix("#"), separator) for _, line in first_lines(head)]
        if any(header_places(names, (*TRIPLE_HEADERS, *EDGE_HEADERS)) for names in lines):
            return None
    first = next((number for number, line in head.numbered if not line.startswith("#")), 0)
    for separator in separators_of(kind, head):
        is_plain = kind == "TSV" and separator == "\t"
        rows = [line.split(separator) for line in head.lines] if is_plain else first_rows(head, separator)
        if rows and _is_header(names := [name.strip() for name in rows[0]], rows[1:]):
            return Layout(separator, tuple(range(len(names))), len(names), first), names
    return None


def _is_header(names: list[str], rows: list[list[str]]) -> bool:
    """Whether the names of more columns than a triple has stand above the rows; of three, none may be a relation."""
    n = len(names)
    alike = [row for row in rows if len(row) == n]
    if n < 3 or len(set(names)) < n or not all(names) or len(alike) <= len(rows) / 2:
        return False
    if any(form(name) in ("number", "id") for name in names) or not set(names).isdisjoint(chain(*alike)):
        return False
    if n > 3:
        return len(alike) >= ROWS_OF_ENTITIES
    heads, words, tails = ([cell for cell in column if cell] for column in zip(*alike, strict=True))
    none_twice = len(set(words)) == len(words) and set(heads).isdisjoint(tails)
    return len(rows) >= ROWS_OF_THREE and len(alike) == len(rows) and none_twice


def wide_part(path: Path, kind: str, layout: Layout, names: list[str], problems: Problems) -> Part:
    """Read a table of text with an entity in each row."""
    check_names(path, layout.header_line, names, layout.places, layout.separator)
    columns, lines, notes = read_named(path, kind, layout, names, problems)
    part = entity_rows(path, columns, lines)
    return replace(part, notes=(*notes, *part.notes))


def named_part(path: Path, columns: Sequence[Column], lines: np.ndarray, problems: Problems) -> Part:
    """What columns say that have names: triples or entities; `lines` [n] are where the rows stand."""
    columns = [column for column in columns if not OF_PANDAS.fullmatch(column.name)]
    if not len(lines):
        what = "empty" if path in problems.by_row else "the file is empty"
        problems.add(path, None, "", what, "It needs rows: triples, or an entity in each.")
    names = [column.name for column in columns]
    if has_entities(path, names):
        return entity_rows(path, columns, lines)
    places = header_places(names, TRIPLE_HEADERS) or range(3)
    check_names(path, None, names, places, ", ")
    for place in places:
        if not columns[place].is_single:
            rows = columns[place].rows
            line = int(lines[rows[1:][rows[1:] == rows[:-1]][0]])
            todo = "Write a triple for each."
            problems.add(path, line, names[place], "several values in a triple, in", todo)
    table = Table(path, tuple(columns[place].cells(len(lines)) for place in places), lines)
    return triple_part(without_empty_labels(table, problems))


def entity_rows(path: Path, columns: Sequence[Column], lines: np.ndarray) -> Part:
    """Each row is an entity, by its column of ids, else by its number from 1; `lines` [n] are where the rows stand.

    Columns of IRIs or of ids of other rows lead to entities, others hold values, unless empty.
    """
    n, place = len(lines), id_place([column.name for column in columns])
    if place is None:
        first, ids = "", column_of_texts("", as_array([str(row) for row in range(1, n + 1)]))
    else:
        first, ids = columns[place].name, columns[place]
        if not ids.is_single:
            line = int(lines[ids.rows[1:][ids.rows[1:] == ids.rows[:-1]][0]])
            raise UnreadableError(path, line, ids.name, "several ids of an entity, in", "Write one id in each row.")
    known = ids.coded if place is not None else TextColumn.from_texts(())
    others = [column for at, column in enumerate(columns) if at != place]
    leading = {column.name for column in others if _leads(column.coded, known)}
    whose = {first: ids} | {column.name: column for column in others if column.name in leading and column.is_single}
    entities = np.full(n, -1)
    entities[ids.rows], own_ids = ids.distinct
    values, parts = [], []
    for column in others:
        about, word = _said_of(column.name, first, whose)
        if about == first and column.name not in leading:
            values.append((word, *_of_known(entities[column.rows], column.coded)))
            continue
        subjects = whose[about].cells(n)[column.rows]
        rows = subjects != ""
        words = np.full(int(rows.sum()), column.name if column.name in leading else word, dtype=object)
        stated = Table(path, (subjects[rows], words, column.texts[rows]), lines[column.rows[rows]])
        parts.append((triple_part if column.name in leading else attribute_part)(stated))
    part = joined([values_part(own_ids, values), *parts])
    return replace(part, notes=(_note([column.name for column in others], leading, numbered=place is None),))


def _of_known(entities: np.ndarray, texts: TextColumn) -> tuple[np.ndarray, TextColumn]:
    """The rows whose entity has an id."""
    known = entities >= 0
    return (entities, texts) if known.all() else (entities[known], texts.take(known).compact())


def _leads(texts: TextColumn, known: TextColumn) -> bool:
    """Whether the cells name entities: IRIs or ids of other rows; numbers must all be such."""
    counts, named = np.bincount(texts.codes, minlength=texts.n_texts), texts.is_among(known) | texts.contain("://")
    n = counts[named].sum()
    if n in (0, len(texts)) or n < ENOUGH * len(texts):
        return bool(n == len(texts) > 0)
    return not any(form(text) == "number" for text in texts.texts())


def _said_of(name: str, first: str, entities: Mapping[str, Column]) -> tuple[str, str]:
    """The column with the entities that a column of values is about, and the predicate."""
    about = name.removesuffix(LABEL)
    if about != name and about in entities:
        return about, PLAIN["label"]
    return first, PLAIN.get(name.casefold(), name)


def _note(names: Sequence[str], leading: set[str], *, numbered: bool) -> str:
    """What was made of the columns, but for that of the ids."""
    kinds = ([name for name in names if name in leading], [name for name in names if name not in leading])
    made = zip(("{} lead{} to entities", "{} hold{} values"), kinds, strict=True)
    said = [what.format(_shown(found), "s" if len(found) == 1 else "") for what, found in made if found]
    ids = ", whose id is the number of the row, as no column is called id" if numbered else ""
    return f"read as a table with an entity in each row{ids}: {', '.join(said)}"


def _shown(names: list[str]) -> str:
    return ", ".join(map(shorten, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
