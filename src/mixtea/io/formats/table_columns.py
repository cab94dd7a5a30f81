"""Links between rows of several tables: the columns `source_table` and `target_table` say whose ids they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from mixtea.errors import Problems
from mixtea.io.formats.headers import squeezed
from mixtea.io.formats.link_tables import LinkTable
from mixtea.io.formats.tables import read_laid_out
from mixtea.io.head import head_of
from mixtea.io.separators import separators_of
from mixtea.io.table_layout import cells, first_lines, layout_of

BETWEEN = "/"  # the name of a table and an id that another table has too
TABLES = ("source_table", "target_table")


def with_tables(table: LinkTable, path: Path, kind: str, problems: Problems) -> LinkTable:
    """Return links of a table of text with the names of tables before their ids, where columns say so."""
    head = head_of(path)
    names = {
        squeezed(name) for separator in separators_of(kind, head) for _, line in first_lines(head)
        for name in cells(line.removeprefix("#"), separator)
    }  # fmt: skip
    columns = list(table.columns)
    for side, name in enumerate(TABLES):
        if squeezed(name) in names:
            layout = layout_of(path, head, kind, ((squeezed(name),),))
            found = read_laid_out(path, kind, replace(layout, places=layout.places * 2), problems)  # two at least
            of_line = dict(zip(found.lines.tolist(), found.columns[0].tolist(), strict=True))
            prefixes = [of_line.get(line, "") for line in table.lines.tolist()]
            pairs = zip(prefixes, columns[side].tolist(), strict=True)
            columns[side] = np.array([f"{prefix}{BETWEEN}{id}" if prefix else id for prefix, id in pairs], dtype=object)
    return replace(table, columns=tuple(columns))
