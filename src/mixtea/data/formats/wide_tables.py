"""Tables with an entity a row and a column for each thing that is said of it, as spreadsheets and queries have them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mixtea.data.formats.head import Head
from mixtea.data.formats.headers import TRIPLE_HEADERS, header_places, squeezed
from mixtea.data.formats.layout import Layout, cells, check_names, first_lines, separators_of
from mixtea.data.formats.tables import read_laid_out
from mixtea.data.formats.tsv import Table
from mixtea.data.labels import PLAIN
from mixtea.data.literals import form
from mixtea.data.part import Part, attribute_part, entity_part, joined, triple_part
from mixtea.errors import Problems, shorten

IDS = ("item", "entity", "subject", "node", "concept", "term", "code", "identifier", "key", "resource", "url")
AN_ID = re.compile(
    r":?(?:[\w -]*[a-z_ -])?(?:ID|URI|IRI|Id|Uri|Iri)|(?:[\w -]*[_ -])?(?:id|uri|iri)|geonameid"
)  # not Madrid
RELATIONS = ("relation", "predicate", "property", "relationship", "edge", "type", "rel", "p", "r")
LABEL = "Label"  # `countryLabel` is what the entity in the column `country` is called
ENOUGH = 0.5  # the share of a column's cells that must name entities
SHOWN = 5


def wide_header(head: Head, kind: str) -> tuple[Layout, list[str]] | None:
    """The layout and the names of the columns, if the header begins with an id and no relation follows it."""
    for separator in separators_of(kind):
        for number, line in first_lines(head):
            names = [name.strip() for name in cells(line.removeprefix("#"), separator)]
            if _is_wide(names) and not header_places(names, TRIPLE_HEADERS):
                return Layout(separator, tuple(range(len(names))), len(names), number), names
    return None


def _is_wide(names: list[str]) -> bool:
    first, *others = names
    of_triples = len(others) == 2 and squeezed(others[0]) in RELATIONS
    is_id = squeezed(first) in IDS or AN_ID.fullmatch(first) is not None
    return is_id and len(others) > 0 and all(others) and not of_triples


def wide_part(path: Path, kind: str, layout: Layout, names: list[str], problems: Problems) -> Part:
    """Each row is an entity, by its first column. Columns of ids lead to entities, others hold values, unless empty."""
    check_names(path, layout.header_line, names, layout.places, layout.separator)
    table = read_laid_out(path, kind, layout, problems)
    columns = dict(zip(names, table.columns, strict=True))
    first, *others = names
    known = set(columns[first])
    leading = [name for name in others if _leads(columns[name], known)]
    parts = [entity_part(columns[first][columns[first] != ""])]
    for name in others:
        about, word = _said_of(name, [first, *leading])
        rows = (columns[about] != "") & (columns[name] != "")
        words = np.full(len(table), name if name in leading else word, dtype=object)
        said = (columns[about][rows], words[rows], columns[name][rows])
        stated = Table(path, said, table.lines[rows])
        parts.append((triple_part if name in leading else attribute_part)(stated))
    return replace(joined(parts), notes=(_note(leading, [name for name in others if name not in leading]),))


def _leads(column: np.ndarray, known: set[str]) -> bool:
    """Whether the cells name entities: IRIs or ids of other rows; numbers must all be such."""
    texts = [text for text in column if text]
    n = sum(text in known or "://" in text for text in texts)
    numbers = any(form(text) == "number" for text in texts)
    return n > 0 and n >= len(texts) * (1 if numbers else ENOUGH)


def _said_of(name: str, entities: Sequence[str]) -> tuple[str, str]:
    """The column with the entities that a column of values is about, and the predicate."""
    about = name.removesuffix(LABEL)
    if about != name and about in entities:
        return about, PLAIN["label"]
    return entities[0], PLAIN.get(name.casefold(), name)


def _note(leading: list[str], values: list[str]) -> str:
    """What was made of the columns."""
    made = (("{} lead{} to entities", leading), ("{} hold{} values", values))
    said = [what.format(_shown(names), "s" if len(names) == 1 else "") for what, names in made if names]
    return f"read as a table with an entity in each row: {', '.join(said)}"


def _shown(names: list[str]) -> str:
    return ", ".join(map(shorten, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
