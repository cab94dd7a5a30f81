"""Links in RDF: statements that two IRIs are the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from mixtea.data.files import UnreadableError
from mixtea.data.link_tables import IDENTITY, IDENTITY_NAMES, LinkTable, columns_of, in_full, left_out_warning
from mixtea.data.prefixes import joined, shorten
from mixtea.data.rdf import Statements
from mixtea.errors import Problems


def read_rdf_links(path: Path, kind: str, problems: Problems) -> LinkTable:
    """The statements with a predicate of identity; all others are left out with a warning."""
    from pyoxigraph import NamedNode

    statements = Statements(path, kind, by_line=True)
    rows, lines, others = [], [], Counter[str]()
    for subject, predicate, value, _ in statements:
        if predicate.value not in IDENTITY:
            others[predicate.value] += 1
        elif isinstance(subject, NamedNode) and isinstance(value, NamedNode):
            rows.append((subject.value, value.value))
            lines.append(statements.line)
        else:
            end = value if isinstance(subject, NamedNode) else subject
            problems.add(path, statements.line, str(end), "a link to something without an IRI:", "Name both by IRIs.")
    if not rows:
        todo = f"Links are statements with one of {', '.join(IDENTITY_NAMES)}."
        raise UnreadableError(path, None, "", f"no links among its {others.total():,} other statements", todo)
    prefixes = joined([statements.prefixes])
    short = Counter({shorten(name, prefixes): n for name, n in others.items()})
    columns, warnings = columns_of(rows), left_out_warning(path, "statement", short)
    return LinkTable(path, columns, np.array(lines), in_full(columns, {}), True, warnings, statements.prefixes)
