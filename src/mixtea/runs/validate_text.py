"""Texts of a run's graphs as arrays, and checks of these.

Offsets and codes become addresses, so each is checked before a text is read.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mixtea.errors import RunError, shorten
from mixtea.graph.entity_table import Attributes, EntityTable
from mixtea.graph.graph import Graph
from mixtea.graph.labels import Labels
from mixtea.graph.text_column import TextColumn, is_distinct
from mixtea.runs.safe_read import Form
from mixtea.runs.state_file import SAFETENSORS_TYPES

TABLES: dict[str, type[EntityTable]] = {"attributes": Attributes, "labels": Labels}


def text_forms(side: str) -> dict[str, Form]:
    """Return the expected arrays of the attribute triples and labels of a side."""
    return {
        f"{side}_{name}.{part}": (SAFETENSORS_TYPES[str(array.dtype)], (None,))
        for name, table in TABLES.items()
        for part, array in table.empty().arrays().items()
    }


def text_arrays(graph: Graph, side: str) -> dict[str, np.ndarray]:
    """Return the arrays of a graph's attribute triples and labels; an error shows a text that is not valid."""
    found: dict[str, np.ndarray] = {}
    for name in TABLES:
        table: EntityTable = getattr(graph, name)
        for column in (getattr(table, part) for part, kind in table.COLUMN_TYPES.items() if kind is TextColumn):
            _check_whole(column)
        found |= {f"{side}_{name}.{part}": array for part, array in table.arrays().items()}
    return found


def _check_whole(column: TextColumn) -> None:
    try:
        column.data.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        half = next(text for text in column.texts() if text != text.encode("utf-8", "replace").decode("utf-8"))
        raise RunError(
            f"graphs.safetensors: half a character in {shorten(half)}, which no file can hold. Mend the text."
        ) from None


def check_texts(arrays: Mapping[str, np.ndarray], side: str, n_entities: int) -> tuple[Attributes, Labels]:
    """Check the tables of a side: columns of equal length, existing entities, valid texts."""
    found = []
    for name, table in TABLES.items():
        start = f"{side}_{name}."
        parts = {part.removeprefix(start): array for part, array in arrays.items() if part.startswith(start)}
        rows = table.from_arrays(parts)
        _check_table(rows, n_entities, f"the {name} of the {side}")
        found.append(rows)
    return found[0], found[1]  # type: ignore[return-value] # in the order of TABLES


def _check_table(table: EntityTable, n_entities: int, what: str) -> None:
    for name, kind in table.COLUMN_TYPES.items():
        column = getattr(table, name)
        if len(column) != len(table):
            raise ValueError(f"{what} differ in length")
        if kind is TextColumn:
            _check_column(column, f"the {name} in {what}")
    entity = table.entity
    if len(entity) and not (entity[0] >= 0 and entity[-1] < n_entities and (entity[:-1] <= entity[1:]).all()):
        raise ValueError(f"{what} are not in order, or of entities that are not there")


def _check_column(column: TextColumn, what: str) -> None:
    offsets, size = column.offsets, len(column.data)
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != size or (offsets[:-1] > offsets[1:]).any():
        raise ValueError(f"{what} has texts that begin or end where there are none")
    column.data.tobytes().decode("utf-8")
    starts = column.data[offsets[offsets < size]]
    if (starts & 0xC0 == 0x80).any():  # in UTF-8 such a byte goes on with a character
        raise ValueError(f"{what} has half a character")
    if len(column) and not 0 <= column.codes.min() <= column.codes.max() < column.n_texts:
        raise ValueError(f"{what} has rows without a text")
    if not is_distinct(column.data, offsets):
        raise ValueError(f"{what} has a text twice")
