"""Links in RDF: statements that two IRIs are the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from mixtea.data.formats.link_tables import (
    IDENTITY,
    IDENTITY_NAMES,
    LinkTable,
    as_measures,
    columns_of,
    in_full,
    left_out_warning,
)
from mixtea.data.formats.rdf import Statements
from mixtea.data.prefixes import joined, shorten
from mixtea.data.safe.problems import UnreadableError
from mixtea.errors import Problems

ALIGNMENT = "http://knowledgeweb.semanticweb.org/heterogeneity/alignment"  # of the OAEI's cells, with or without a #
ENDS = frozenset({"entity1", "entity2"})


def read_rdf_links(path: Path, kind: str, problems: Problems) -> LinkTable:
    """Statements with a predicate of identity, and cells of an alignment; all others are left out with a warning."""
    from pyoxigraph import NamedNode

    statements = Statements(path, kind, by_line=True)
    rows, lines, others = [], [], Counter[str]()
    cells: dict[str, dict[str, str]] = {}
    places: dict[str, int] = {}  # of their ends
    for subject, predicate, value, _ in statements:
        if predicate.value.startswith(ALIGNMENT):
            what = predicate.value.removeprefix(ALIGNMENT).removeprefix("#")
            cells.setdefault(str(subject), {})[what] = getattr(value, "value", "")
            if what in ENDS:
                places[str(subject)] = statements.line
        elif predicate.value not in IDENTITY:
            others[predicate.value] += 1
        elif isinstance(subject, NamedNode) and isinstance(value, NamedNode):
            rows.append((subject.value, value.value))
            lines.append(statements.line)
        else:
            end = value if isinstance(subject, NamedNode) else subject
            problems.add(path, statements.line, str(end), "a link to something without an IRI:", "Name both by IRIs.")
    whole = {name: cell for name, cell in cells.items() if cell.keys() >= ENDS}
    same = {name: cell for name, cell in whole.items() if cell.get("relation", "=") == "="}
    others["cells of another relation"] += len(whole) - len(same)
    rows += [(cell["entity1"], cell["entity2"]) for cell in same.values()]
    lines += [places[name] for name in same]
    others = +others
    if not rows:
        todo = f"Links are statements with one of {', '.join(IDENTITY_NAMES)}."
        raise UnreadableError(path, None, "", f"no links among its {others.total():,} other statements", todo)
    prefixes = joined([statements.prefixes])
    warnings = left_out_warning(path, "statement", others, lambda name: shorten(name, prefixes))
    columns, full = columns_of(rows), in_full(columns_of(rows), {})
    said = [""] * (len(rows) - len(same)) + [cell.get("measure", "") for cell in same.values()]
    measures = as_measures(said)
    return LinkTable(path, columns, np.array(lines), full, True, warnings, statements.prefixes, measures=measures)
