"""Read links in the Alignment format of the OAEI."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mixtea.errors import Problems
from mixtea.io.formats.link_tables import (
    LinkTable,
    expand_ids,
    is_equal,
    left_out_warning,
    link_columns,
    parse_confidences,
)
from mixtea.io.rdf.parse import MAX_MESSAGE, ProcessLines, xml_limits
from mixtea.io.safe.limits import UnreadableError
from mixtea.io.safe.open import open_input
from mixtea.io.safe.sandbox import Process
from mixtea.messages import visible


def read_alignment(path: Path, kind: str, problems: Problems) -> LinkTable:
    """Read the cells with the relation `=`; others are left out with a warning."""
    notes = dict[str, str]()
    rows, lines, measures, others = [], [], [], Counter[str]()
    for line, *ends, relation, measure in _cells(path, notes):
        if is_equal(relation):
            rows.append((ends[0], ends[1]))
            lines.append(line)
            measures.append(measure)
        else:
            is_complex = relation == "expression"
            others["of an expression in place of an entity" if is_complex else f"of the relation {relation}"] += 1
    if not rows:
        what = f"no link among its {others.total():,} cells" if others else "an alignment without a cell"
        raise UnreadableError(path, None, "", what, "Links are cells with two entities and the relation =.")
    columns, warnings = link_columns(rows), left_out_warning(path, "cell", others)
    full, confidences = expand_ids(columns, {}, notes), parse_confidences(measures)
    return LinkTable(path, columns, np.array(lines), full, True, warnings, confidences=confidences)


def _cells(path: Path, notes: dict[str, str]) -> Iterator[list[Any]]:
    """Yield the line, entities, relation and measure of each cell from the parser process.

    `notes` collects the namespaces of plain ids.
    """
    parser = Process(path, "alignment_child", "Alignment", {"xml": xml_limits()}, [])
    with open_input(path) as file, parser.start(file, feed=True) as process:
        made, rest = ProcessLines(path, process), b""
        while block := made.block():
            *lines, rest = (rest + block).split(b"\n")
            yield from (json.loads(line) for line in lines)
        found = process.result()
    if "what" in found:
        what, todo = f"not XML: {visible(found['what'], MAX_MESSAGE)}", "Correct it, or write the alignment again."
        raise UnreadableError(path, found.get("line"), "", what, todo)
    notes |= found["notes"]
