"""How sure a table is of its links: a column of shares beside source and target, if there is one."""

from __future__ import annotations

import numpy as np

from mixtea.errors import Problems
from mixtea.io.formats.headers import LINK_HEADERS
from mixtea.io.formats.link_tables import LinkTable, as_measures
from mixtea.io.formats.table_process import NUMBERS
from mixtea.io.formats.tables import read_columns
from mixtea.io.formats.typed_tables import TYPED
from mixtea.io.safe.limits import in_force
from mixtea.io.safe.problems import collected

HEADERS = [(*ends, name) for name in NUMBERS for ends in LINK_HEADERS]


def confidence_of(table: LinkTable, kind: str) -> np.ndarray | None:
    """[p] shares, NaN where none is said; None if the file never says any. A table is read again for it."""
    if table.measures is not None or kind not in ("TSV", "CSV", *TYPED):
        return table.measures
    unsaid = Problems(in_force().max_problems)  # whatever is wrong with the file has been told
    with collected(unsaid):
        found = read_columns(table.path, kind, HEADERS, unsaid, links=True, last_may_be_empty=True)
        by_line = dict(zip(found.lines.tolist(), found.columns[2].tolist(), strict=True))
        return as_measures([by_line.get(line, "") for line in table.lines.tolist()])
    return None
