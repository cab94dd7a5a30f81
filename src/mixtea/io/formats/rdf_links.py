"""Read links in RDF: statements that two IRIs are the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from mixtea.errors import MAX_VALUE_KEPT, Problems
from mixtea.graph.iris import MARK, NOTES
from mixtea.graph.prefixes import merge_prefixes, shorten
from mixtea.io.formats.link_tables import (
    CLOSE,
    IDENTITY,
    IDENTITY_NAMES,
    LinkTable,
    close_warning,
    expand_ids,
    left_out_warning,
    link_columns,
)
from mixtea.io.rdf.parse import Statements, read_mending
from mixtea.io.safe.problems import UnreadableError


def read_rdf_links(path: Path, kind: str, problems: Problems) -> LinkTable:
    """Read statements of identity between IRIs; all others are left out with a warning."""
    table, mending = read_mending(path, kind, problems, partial(_links, problems), by_line=True)
    return replace(table, warnings=(f"{path}: {mending.note()}", *table.warnings)) if mending else table


def _links(problems: Problems, statements: Statements) -> LinkTable:
    from pyoxigraph import BlankNode, Literal, NamedNode

    path, no_links = statements.path, list[tuple[int, str]]()
    rows, lines, others, n_close, notes = [], [], Counter[str](), 0, dict[str, str]()
    for subject, predicate, value, _ in statements:
        note = predicate.value.partition(MARK)[2]
        if note in NOTES and isinstance(value, Literal):
            notes[note] = value.value
        elif predicate.value not in IDENTITY:
            others[predicate.value] += 1
        elif isinstance(subject, NamedNode) and isinstance(value, NamedNode):
            rows.append((subject.value, value.value))
            lines.append(statements.line)
            n_close += predicate.value == CLOSE
        elif isinstance(subject, BlankNode) or isinstance(value, BlankNode):
            others["of blank nodes"] += 1
        else:
            end = value if isinstance(subject, NamedNode) else subject
            no_links.append((statements.line, str(end)[:MAX_VALUE_KEPT]))
    for line, end in no_links:  # not before: a file may be read twice
        problems.add(path, line, end, "a link to something without an IRI:", "Name both by IRIs.")
    if not rows:
        todo = f"Links are statements with one of {', '.join(IDENTITY_NAMES)}; is it a graph?"
        raise UnreadableError(path, None, "", f"no links among its {others.total():,} other statements", todo)
    prefixes = merge_prefixes([statements.prefixes])
    warnings = left_out_warning(path, "statement", others, lambda name: shorten(name, prefixes))
    warnings += close_warning(path, n_close)
    columns = link_columns(rows)
    return LinkTable(
        path, columns, np.array(lines), expand_ids(columns, {}, notes), True, warnings, statements.prefixes
    )
