"""Read links in the Alignment format of the OAEI."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mixtea.errors import Problems
from mixtea.io.formats.link_tables import LinkTable, expand_ids, is_equal, left_out_warning, link_columns
from mixtea.io.rdf.parse import ProcessLines
from mixtea.io.safe.limits import MIB, UnreadableError, current_limits
from mixtea.io.safe.open import open_input
from mixtea.io.safe.sandbox import Process
from mixtea.messages import visible

MAX_MESSAGE = 500


class AlignmentCell(NamedTuple):
    """One cell of an alignment, with the line of its second entity."""

    line: int
    entity1: str
    entity2: str
    relation: str
    measure: str


def read_alignment(path: Path, kind: str, problems: Problems) -> LinkTable:
    """Read the cells with the relation `=`; others are left out with a warning."""
    notes = dict[str, str]()
    cells = list(_cells(path, notes))
    same = [cell for cell in cells if is_equal(cell.relation)]
    others = Counter(_why_no_link(cell.relation) for cell in cells if not is_equal(cell.relation))
    if not same:
        what = f"no link among its {len(cells):,} cells" if cells else "an alignment without a cell"
        raise UnreadableError(path, None, "", what, "Links are cells with two entities and the relation =.")
    columns, lines = (
        link_columns([(cell.entity1, cell.entity2) for cell in same]),
        np.array([cell.line for cell in same]),
    )
    confidences = np.array([_number(cell.measure) for cell in same])
    warnings = left_out_warning(path, "cell", others)
    return LinkTable(path, columns, lines, expand_ids(columns, {}, notes), True, warnings, confidences=confidences)


def _cells(path: Path, notes: dict[str, str]) -> Iterator[AlignmentCell]:
    """Yield the cells from the parser process; `notes` collects the namespaces of plain ids."""
    limits = current_limits()
    xml = {name: getattr(limits, name) for name in ("max_nesting", "max_columns", "max_expansion")}
    wanted: dict[str, Any] = {"xml": xml | {"max_token": limits.max_token_mib * MIB}}
    with (
        open_input(path) as file,
        Process(path, "alignment_child", "Alignment", wanted, []).start(file, feed=True) as process,
    ):
        made, rest = ProcessLines(path, process), b""
        while block := made.block():
            *lines, rest = (rest + block).split(b"\n")
            yield from (AlignmentCell(*json.loads(line)) for line in lines)
        found = process.result()
    if "what" in found:
        what, todo = f"not XML: {visible(found['what'], MAX_MESSAGE)}", "Correct it, or write the alignment again."
        raise UnreadableError(path, found.get("line"), "", what, todo)
    notes |= found["notes"]


def _why_no_link(relation: str) -> str:
    return "of an expression in place of an entity" if relation == "expression" else f"of the relation {relation}"


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
