"""Add vectors to graphs: from a file per side, or from a language model on the entities' texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.errors import DataError, Problems
from mixtea.graph.builder import FileRead
from mixtea.graph.graph import Graph
from mixtea.io.safe.limits import current_limits
from mixtea.io.safe.problems import (
    HALF_A_CHARACTER,
    MEND,
    UnreadableError,
    collect_unreadable,
    limit_exceeded,
    truncate_rows,
)
from mixtea.io.vectors.files import VectorTable, read_vector_file
from mixtea.io.vectors.text_model import text_vectors
from mixtea.messages import is_whole

Graphs = tuple[Graph, Graph]


def with_vectors(graphs: Graphs, files: Sequence[Path | None], text_model: Path | None) -> tuple[Graphs, list[str]]:
    """Return both graphs with the given vectors, and warnings."""
    if any(files) and text_model is not None:
        raise DataError("Give either files of vectors or a text model; not both.")
    if text_model is not None:
        source, target = text_vectors(graphs, text_model)
        return (replace(graphs[0], vectors=source), replace(graphs[1], vectors=target)), []
    given = [path for path in files if path is not None]
    if len(given) == 1:
        raise DataError("Vectors are compared across the graphs: give both vectors_source and vectors_target.")
    return _from_files(graphs, given) if given else (graphs, [])


def _from_files(graphs: Graphs, files: Sequence[Path]) -> tuple[Graphs, list[str]]:
    problems, tables = Problems(current_limits().max_problems), list[VectorTable]()
    for path in files:
        with collect_unreadable(problems):
            tables.append(_checked(read_vector_file(path), problems))
    dims = [table.vectors.shape[1] for table in tables]
    if len(set(dims)) > 1:
        what = f"vectors of {dims[1]:,} numbers, while those of the source have {dims[0]:,}"
        problems.add(files[1], None, "", what, "Make both by the same model.")
    problems.raise_if_any()
    sides = list(zip(("source", "target"), graphs, tables, strict=True))
    found, warnings = [], list[str]()
    for side, graph, table in sides:
        with collect_unreadable(problems):
            found.append(_add_vectors(graph, table, side, warnings))
    problems.raise_if_any()
    return (found[0], found[1]), warnings


def _checked(table: VectorTable, problems: Problems) -> VectorTable:
    """Report rows without an id, with a repeated one, or with numbers that are not finite."""
    empty = np.array([not one for one in table.ids], dtype=bool)
    wrong = (
        (empty, "no id", "Name the entity, or leave the row out."),
        (np.array([not is_whole(one) for one in table.ids], dtype=bool), f"{HALF_A_CHARACTER} the id", MEND),
        (
            pd.Series(table.ids, dtype=object).duplicated().to_numpy() & ~empty,
            "an id a second time:",
            "Keep one vector an entity.",
        ),
        (~np.isfinite(table.vectors).all(axis=1), "NaN, infinity or too large a number in the vector of", "Mend it."),
    )
    for rows, what, todo in wrong:
        for row in truncate_rows(problems, table.path, np.flatnonzero(rows)):
            problems.add(table.path, int(table.rows[row]), str(table.ids[row]), what, todo)
    return table


def _add_vectors(graph: Graph, table: VectorTable, side: str, warnings: list[str]) -> Graph:
    """Add the vectors to the entities; unknown ids are counted."""
    place = graph.find(table.ids)
    is_nonzero = table.vectors.any(axis=1)
    n_unknown = int((place < 0).sum()) - int(pd.Series(table.ids[place < 0]).isin(graph.left_out).sum())
    kept = is_nonzero & (place >= 0)
    if not kept.any():
        what = f"none of its {len(place):,} ids is an entity of the {side} graph, with a vector that is not 0:"
        raise UnreadableError(table.path, None, str(table.ids[0]), what, "Use the ids of the graph, as they are.")
    if n_unknown:
        warnings.append(f"{table.path}: {n_unknown:,} of {len(place):,} vectors are of no entity of the {side} graph")
    if n_zero := int((~is_nonzero & (place >= 0)).sum()):
        warnings.append(f"{table.path}: {n_zero:,} vectors are 0 throughout and count as none")
    _check_room(graph, table)
    vectors = np.full((graph.n_entities, table.vectors.shape[1]), np.nan, dtype=np.float32)
    vectors[place[kept]] = table.vectors[kept]
    return replace(graph, vectors=vectors, files=(*graph.files, FileRead(table.path, table.kind, 0, 0)))


def _check_room(graph: Graph, table: VectorTable) -> None:
    """Refuse one long vector that would make a graph of millions of entities take all memory."""
    needed, n = 4 * graph.n_entities * table.vectors.shape[1], table.vectors.nbytes
    if needed > current_limits().bytes_for(n):
        what = f"vectors of {n:,} bytes that take {needed:,} for {graph.n_entities:,} entities"
        raise limit_exceeded(table.path, None, what, "max_expansion")
