"""Read JSON: graphs as an object per line, whose members are the columns of a table, and links as a list of objects.

Links are objects with source and target, in a list alone or under `mappings` as `mixtea export` writes it, or one per
line.
"""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from mixtea.errors import Problems, shorten
from mixtea.graph.builder import GraphData
from mixtea.graph.prefixes import BUILT_IN, expand
from mixtea.io.columns.rows import RowTable
from mixtea.io.formats.cell_values import Column, value_column
from mixtea.io.formats.link_tables import IDENTITY, LinkTable, left_out_warning, link_columns, parse_confidences
from mixtea.io.formats.tsv import text_blocks
from mixtea.io.formats.typed_tables import CONFIDENCE_NAMES
from mixtea.io.formats.wide_tables import columns_to_graph
from mixtea.io.safe.limits import HALF_A_CHARACTER, MEND, MIB, UnreadableError, current_limits, limit_exceeded
from mixtea.io.safe.sandboxed.table_child import find_header
from mixtea.io.table_layout import LINK_HEADERS
from mixtea.messages import is_whole

LIST_BEGINS = re.compile(r'\s*+(?:\[|\{.*?"mappings"\s*+:\s*+\[)', re.DOTALL)
ANYTHING = re.compile("")
SPACES_AND_COMMAS = re.compile(r"[\s,]*+")
WRITE_LINKS = 'It needs a list of objects with "source" and "target", alone or under "mappings".'


def read_json_links(path: Path, kind: str, problems: Problems) -> LinkTable:
    """Read each object as a link, with its confidence if it has one; objects without a target are left out."""
    rows, lines, sure, others = [], [], [], Counter[str]()
    for line, found in _listed(path, problems, LIST_BEGINS if kind == "JSON" else ANYTHING):
        ends = _ends(found)
        if ends is None:
            problems.add(path, line, json.dumps(found)[:80], "no source and target:", WRITE_LINKS)
        elif not all(map(is_whole, ends)):
            problems.add(path, line, " ".join(ends), f"{HALF_A_CHARACTER} source or target:", MEND)
        elif "" in ends:
            others["without an end"] += 1
        elif expand(str(found.get("predicate_id") or "owl:sameAs"), BUILT_IN) not in IDENTITY:
            others[str(found["predicate_id"])] += 1
        else:
            rows.append(ends)
            lines.append(line)
            sure.append(next((str(found[name]) for name in CONFIDENCE_NAMES if found.get(name) is not None), ""))
    if not rows and not problems.found:
        raise UnreadableError(path, None, "", "no links in it", WRITE_LINKS)
    warnings = left_out_warning(path, "row", others)
    return LinkTable(
        path,
        link_columns(rows),
        np.array(lines, dtype=np.int64),
        warnings=warnings,
        confidences=parse_confidences(sure),
    )


def _ends(found: dict[str, Any]) -> tuple[str, str] | None:
    names = list(found)
    places = find_header(names, LINK_HEADERS)
    values = [found[names[place]] for place in places or ()]
    if not places or not all(value is None or isinstance(value, str) for value in values):
        return None
    return values[0] or "", values[1] or ""


def _listed(path: Path, problems: Problems, begins: re.Pattern[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, object) of each; no more of the file is held than `max_token_mib`."""
    ending = ["]"] if begins is ANYTHING else []  # as if it were a list
    blocks = chain((text for _, text, _ in text_blocks(path, problems)), ending)
    text, line, decoder, longest = next(blocks, ""), 1, json.JSONDecoder(), current_limits().max_token_mib * MIB
    if not (start := begins.match(text)):
        raise UnreadableError(path, None, "", "not JSON with a list of links", WRITE_LINKS)
    place = start.end()
    line += text.count("\n", 0, place)
    while True:
        following = SPACES_AND_COMMAS.match(text, place).end()  # type: ignore[union-attr]
        line, place = line + text.count("\n", place, following), following
        if text[place : place + 1] == "]":
            return
        try:
            found, end = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            if len(text) - place > longest:
                raise limit_exceeded(path, line, "an object that is too long", "max_token_mib") from None
            if (more := next(blocks, None)) is None:
                raise UnreadableError(path, line, "", f"not JSON ({error.msg})", "Write the file again.") from None
            text, place = text[place:] + more, 0
            continue
        except (ValueError, RecursionError):
            raise UnreadableError(path, line, "", "not JSON (a number or nesting out of range)", WRITE_LINKS) from None
        if not isinstance(found, dict):
            raise UnreadableError(path, line, str(found)[:80], "no object:", WRITE_LINKS)
        yield line, found
        line, place = line + text.count("\n", place, end), end


WRITE_OBJECTS = 'Write one object in each line: {"id": "Q1", "name": "Rome"}.'
MAX_LINE_SHOWN = 80  # characters


class RepeatedMemberError(ValueError):
    """An object with two members of the same name."""


def read_json_rows(path: Path, kind: str, problems: Problems) -> GraphData | RowTable:
    """Read triples or entities, depending on the names of the members, as in every table."""
    lines: array[int] = array("q")
    rows: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
    cells, texts = defaultdict[str, list[Any]](list), dict[str, str]()
    limit, before = current_limits().max_columns, len(problems.found)
    for line, found in _objects(path, problems):
        if name := next((name for name in found if name.startswith("@")), ""):
            todo = "Write it as one list, [{...}, {...}], in a file that ends in .jsonld."
            raise UnreadableError(path, line, name, "JSON-LD with an object in each line:", todo)
        for name, value in found.items():
            rows[name].append(len(lines))
            cells[name].append(texts.setdefault(value, value) if type(value) is str else value)
        if len(rows) > limit:
            raise limit_exceeded(path, line, f"{len(rows):,} names of members", "max_columns")
        lines.append(line)
    numbers, columns = np.array(lines, dtype=np.int64), []
    for name, values in cells.items():
        places = np.array(rows[name], dtype=np.int64)
        column = value_column(name, values, path, numbers[places], problems)
        columns.append(Column(name, places[column.rows], column.texts))
    if not columns and len(problems.found) > before:
        return GraphData(np.empty(0, dtype=object), np.empty(0, dtype=object), np.empty((0, 3), dtype=np.int64))
    return columns_to_graph(path, columns, numbers, problems)


def _objects(path: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, object) of each line that is not blank; anything but an object is a problem."""
    for start, block, _ in text_blocks(path, problems):
        for number, line in enumerate(block.split("\n"), start):
            if not line.strip():
                continue
            try:
                found = json.loads(line, object_pairs_hook=_unique_members)
            except RepeatedMemberError as error:
                problems.add(path, number, "", f"two members named {error}", "Name each member once.")
            except RecursionError:
                problems.add(path, number, line[:MAX_LINE_SHOWN], "nested too deeply:", WRITE_OBJECTS)
            except ValueError as error:
                what = f"not JSON ({getattr(error, 'msg', error)}):"
                problems.add(path, number, line[:MAX_LINE_SHOWN], what, WRITE_OBJECTS)
            else:
                if isinstance(found, dict):
                    yield number, found
                else:
                    problems.add(path, number, line[:MAX_LINE_SHOWN], "no object:", WRITE_OBJECTS)


def _unique_members(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        counts = Counter(name for name, _ in members)
        raise RepeatedMemberError(shorten(next(name for name, n in counts.items() if n > 1)))
    return found
