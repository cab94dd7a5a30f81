"""Read links in SSSOM, the Simple Standard for Sharing Ontological Mappings: metadata after #, then a table.

Its slots say of a pair who has found it, how, and how sure that is.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from mixtea.errors import Problems
from mixtea.graph.iris import NOTES
from mixtea.graph.prefixes import expand, merge_prefixes
from mixtea.io.formats.link_tables import (
    CLOSE,
    IDENTITY,
    IDENTITY_NAMES,
    LinkTable,
    close_warning,
    expand_ids,
    full_id,
    left_out_warning,
    link_columns,
    parse_confidences,
)
from mixtea.io.formats.tables import csv_rows
from mixtea.io.formats.tsv import text_lines
from mixtea.io.head import text_encoding
from mixtea.io.safe.limits import UnreadableError
from mixtea.io.safe.lines import encoding_notes

REQUIRED = ("subject_id", "predicate_id", "object_id")
ENDS = ("subject_id", "object_id")
NO_TERM = "sssom:NoTermFound"
ENTRY = re.compile(
    r"""\s++(?P<key>"[^"]*+"|'[^']*+'|[^\s:#]*+)\s*+:\s++(?P<value>"[^"]*+"|'[^']*+'|\S++)\s*+(?:#.*)?$"""
)  # ++ and *+ take what they can and never give back, so that no line takes long
INLINE_ENTRY = re.compile(
    r"""\s*+(?P<key>"[^"]*+"|'[^']*+'|[^\s:,{]*+)\s*+:\s++(?P<value>"[^"]*+"|'[^']*+'|[^\s,}]++)\s*+,?"""
)
NOTE = re.compile(rf"""#\s?ext_(?P<name>{"|".join(NOTES)}):\s+(?P<value>"[^"]*+"|\S++)\s*$""")
MAP = re.compile(r"""["']?curie_map["']?\s*+:""")

SHARED_SLOT = re.compile(r"""#\s?(?P<key>\w++):\s++(?P<value>"[^"]*+"|'[^']*+'|.*\S)\s*$""")
REFERENCES = frozenset(  # slots that hold IRIs
    ("predicate_id", "mapping_justification", "author_id", "reviewer_id", "creator_id", "mapping_source")
)
SLOTS = (  # in SSSOM's order
    "predicate_id", "mapping_justification", "author_id", "author_label", "reviewer_id", "reviewer_label",
    "creator_id", "creator_label", "mapping_provider", "mapping_source", "mapping_cardinality", "mapping_tool",
    "mapping_tool_version", "mapping_date", "confidence", "similarity_score", "similarity_measure", "other", "comment",
)  # fmt: skip
SHARED = ("mapping_provider", "mapping_tool", "mapping_tool_version", "mapping_date")  # may be given for all rows
Slots = Mapping[str, str]


class CurieMapError(ValueError):
    """A `curie_map` that is not a plain map of prefixes to namespaces."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line, self.text = line, text


def read_sssom(path: Path, kind: str, problems: Problems) -> LinkTable:
    """Read identity mappings, rejected ones by `predicate_modifier` Not; others are left out with a warning."""
    encoding = text_encoding(path)
    comments, table = split_comments(text_lines(path, problems, encoding))
    try:
        own = curie_map(comments)
    except CurieMapError as error:
        todo = "Write `#curie_map:` and below it a line `#  prefix: http://...` for each prefix."
        raise UnreadableError(
            path, error.line, error.text, "the curie_map is not a plain map of prefixes:", todo
        ) from None
    prefixes = merge_prefixes([own])
    header = next(table, "")
    delimiter = delimiter_of(header)
    rows = csv_rows(path, chain([header], table), problems, delimiter=delimiter, lines_before=len(comments))
    first = next(rows, None) or (len(comments) + 1, [])
    places, shared, notes = _column_places(path, first), _shared_slots(comments), id_notes(comments)
    slots = dict[tuple[str, str], Slots]()
    links, lines, rejected, sure, reasons, n_close = [], [], [], [], Counter[str](), 0
    for line, row in rows:
        if len(row) != places["columns"]:
            wanted = f"Write {places['columns']} columns separated by tabs."
            problems.add(path, line, "\t".join(row), f"{len(row)} columns", wanted)
            continue
        cells = dict(zip(first[1], row, strict=True))
        own_slots = {name: cells.get(name) or shared.get(name, "") for name in SLOTS}
        ends = [full_id(cells[end], prefixes, notes.get(note, "")) for end, note in zip(ENDS, NOTES, strict=True)]
        slots[ends[0], ends[1]] = {name: _in_full(name, text, prefixes) for name, text in own_slots.items() if text}
        reason = _why_no_link(row, places, prefixes)
        if reason:
            reasons[reason] += 1
        else:
            links.append((row[places["subject_id"]], row[places["object_id"]]))
            lines.append(line)
            n_close += expand(row[places["predicate_id"]], prefixes) == CLOSE
            rejected.append(_is_negated(row, places))
            sure.append(row[places["confidence"]] if "confidence" in places else "")
    if not links:
        todo = f"Links are rows with both ids and one of {', '.join(IDENTITY_NAMES)}."
        what = f"no links among its {reasons.total():,} other rows" if reasons else "no row after its header"
        raise UnreadableError(path, None, "", what, todo)
    columns, warnings = link_columns(links), tuple(f"{path}: {note}" for note in encoding_notes(encoding))
    warnings += (*left_out_warning(path, "row", reasons), *close_warning(path, n_close))
    full = expand_ids(columns, prefixes, notes)
    negated, confidences = np.array(rejected, dtype=bool), parse_confidences(sure)
    return LinkTable(path, columns, np.array(lines), full, True, warnings, own, negated, confidences, slots)


def delimiter_of(header: str) -> str:
    """Return a tab, or a comma where the header has only commas."""
    return "," if "\t" not in header and "," in header else "\t"


def curie_map(comments: Sequence[str]) -> dict[str, str]:
    """Return the prefixes in the metadata; of YAML only a plain map is read.

    >>> curie_map(["#curie_map:", "#  wd: http://www.wikidata.org/entity/", "#license: x"])
    {'wd': 'http://www.wikidata.org/entity/'}
    """
    lines = textwrap.dedent("\n".join(line.removeprefix("#").rstrip("\r\n") for line in comments)).split("\n")
    start = next((i for i, line in enumerate(lines) if MAP.match(line)), len(lines))
    found, place = {}, 0
    for number, line in enumerate(lines[start + 1 :], start + 2):
        if line.strip() and not line[0].isspace():
            break
        if entry := ENTRY.match(line):
            found[_unquoted(entry["key"])] = _unquoted(entry["value"])
        elif line.strip() and not line.strip().startswith("#"):
            raise CurieMapError(number, line)
    inline = MAP.sub("", "".join(lines[start : start + 1])).partition(" #")[0].strip()
    while inline_entry := INLINE_ENTRY.match(inline, max(place, 1)):
        found[_unquoted(inline_entry["key"])] = _unquoted(inline_entry["value"])
        place = inline_entry.end()
    if inline and (inline[0] != "{" or inline[max(place, 1) :].strip() != "}"):
        raise CurieMapError(start + 1, inline)
    return found


def id_notes(comments: Iterable[str]) -> dict[str, str]:
    """Return the namespaces of plain ids in the metadata, by side.

    >>> id_notes(["#license: x", "#ext_source_ids: https://example.org/items/"])
    {'source_ids': 'https://example.org/items/'}
    """
    return {found["name"]: _unquoted(found["value"]) for found in map(NOTE.match, comments) if found}


def _unquoted(text: str) -> str:
    return text[1:-1] if text[:1] in "\"'" and text[:1] else text


def split_comments(lines: Iterator[str]) -> tuple[list[str], Iterator[str]]:
    """Return the comment lines at the beginning, and the lines after them, with their ends."""
    comments: list[str] = []
    for line in lines:
        if not line.startswith("#"):
            return comments, chain([line], lines)
        comments.append(line)
    return comments, iter(())


def _column_places(path: Path, header: tuple[int, list[str]]) -> dict[str, int]:
    """Return the positions of the known columns, and under `columns` how many there are."""
    line, names = header
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        todo = "An SSSOM table begins with a line of column names."
        raise UnreadableError(path, line, "\t".join(names), f"no column {', '.join(missing)}:", todo)
    return {name: names.index(name) for name in (*REQUIRED, "predicate_modifier", "confidence") if name in names} | {
        "columns": len(names)
    }


def _why_no_link(row: list[str], places: dict[str, int], prefixes: dict[str, str]) -> str:
    """Return why the row is neither a link nor a rejected pair; "" if it is."""
    subject, predicate, value = (row[places[name]] for name in REQUIRED)
    if expand(predicate, prefixes) not in IDENTITY:
        return f"{'Not ' * _is_negated(row, places)}{predicate or 'no predicate'}"
    if not subject or not value or NO_TERM in (subject, value):
        return "no id"
    return ""


def _is_negated(row: list[str], places: dict[str, int]) -> bool:
    return "predicate_modifier" in places and row[places["predicate_modifier"]].strip().lower() == "not"


def _shared_slots(comments: Iterable[str]) -> dict[str, str]:
    """Return the slots that the metadata give for all rows."""
    found = filter(None, map(SHARED_SLOT.match, comments))
    return {one["key"]: one["value"].strip("\"'") for one in found if one["key"] in SHARED}


def _in_full(name: str, text: str, prefixes: Mapping[str, str]) -> str:
    """Expand the prefixes of a slot of IRIs, separated by bars."""
    return "|".join(expand(one, prefixes) for one in text.split("|")) if name in REFERENCES else text
