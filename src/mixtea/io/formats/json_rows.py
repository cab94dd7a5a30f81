"""Read graphs in JSON lines: one object per line, whose members are the columns of a table."""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mixtea.errors import Problems, shorten
from mixtea.graph.builder import GraphData
from mixtea.io.columns.rows import RowTable
from mixtea.io.formats.cell_values import Column, value_column
from mixtea.io.formats.tsv import text_blocks
from mixtea.io.formats.wide_tables import columns_to_graph
from mixtea.io.safe.limits import current_limits
from mixtea.io.safe.problems import UnreadableError, limit_exceeded

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
