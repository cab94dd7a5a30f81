"""Read the SSSOM slots of links: justification, author, confidence and others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from mixtea.errors import Problems
from mixtea.graph.iris import NOTES, decode_id
from mixtea.graph.prefixes import expand, merge_prefixes
from mixtea.io.formats.sssom import curie_map, delimiter_of, id_notes
from mixtea.io.formats.tables import csv_rows
from mixtea.io.formats.tsv import text_lines
from mixtea.io.named_parts import split_name
from mixtea.io.safe.encoding import encoding_of
from mixtea.io.sniff import detect_format

REFERENCES = frozenset(  # slots that hold IRIs
    ("predicate_id", "mapping_justification", "author_id", "reviewer_id", "creator_id", "mapping_source")
)
SLOTS = (  # in SSSOM's order
    "predicate_id", "mapping_justification", "author_id", "author_label", "reviewer_id", "reviewer_label",
    "creator_id", "creator_label", "mapping_provider", "mapping_source", "mapping_cardinality", "mapping_tool",
    "mapping_tool_version", "mapping_date", "confidence", "similarity_score", "similarity_measure", "other", "comment",
)  # fmt: skip
SHARED = (
    "mapping_provider",
    "mapping_tool",
    "mapping_tool_version",
    "mapping_date",
)  # which the metadata may give for all
Slots = Mapping[str, str]
_ENTRY = re.compile(r"""#\s?(?P<key>\w++):\s++(?P<value>"[^"]*+"|'[^']*+'|.*\S)\s*$""")


def slots_of(paths: Iterable[Path]) -> dict[tuple[str, str], Slots]:
    """Return the non-empty slots of each row by (subject, object) in full; only SSSOM has any.

    The files were read as links before, so their problems are reported already.
    """
    files = [path for path in paths if split_name(path).file.is_file() and detect_format(path) == "SSSOM"]
    return {pair: slots for path in files for pair, slots in _rows(path)}


def _rows(path: Path) -> Iterator[tuple[tuple[str, str], Slots]]:
    lines, comments, first = text_lines(path, Problems(), encoding_of(path)), list[str](), ""
    for first in lines:
        if not first.startswith("#"):
            break
        comments.append(first.rstrip("\r\n"))
    prefixes, entries = merge_prefixes([curie_map(comments)]), map(_ENTRY.match, comments)
    shared = {found["key"]: found["value"].strip("\"'") for found in entries if found and found["key"] in SHARED}
    found, notes = chain([first], lines), id_notes(comments)
    namespaces = [notes.get(note, "") for note in NOTES]
    rows = csv_rows(path, found, Problems(), delimiter=delimiter_of(first), lines_before=len(comments))
    _, header = next(rows, (0, []))
    for _, row in rows:
        cells = dict(zip(header, row, strict=False))
        iris = (expand(cells.get(end, ""), prefixes) for end in ("subject_id", "object_id"))
        subject, object_ = (decode_id(iri, where) or iri for iri, where in zip(iris, namespaces, strict=True))
        own = {name: cells.get(name) or shared.get(name, "") for name in SLOTS}
        slots = {name: _in_full(name, text, prefixes) for name, text in own.items() if text}
        yield (subject, object_), slots


def _in_full(name: str, text: str, prefixes: Mapping[str, str]) -> str:
    """Expand the prefixes of a slot of IRIs, separated by bars."""
    return "|".join(expand(one, prefixes) for one in text.split("|")) if name in REFERENCES else text
