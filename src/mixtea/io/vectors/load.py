"""Add vectors to graphs: from a file per side, Parquet or safetensors, or from a language model on texts."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd

from mixtea.errors import DataError, Problems
from mixtea.graph.builder import FileRead
from mixtea.graph.graph import Graph
from mixtea.graph.text_column import TextColumn
from mixtea.io.formats.tsv import object_array
from mixtea.io.formats.typed_tables import read_parquet_vectors
from mixtea.io.safe.limits import (
    HALF_A_CHARACTER,
    MEND,
    MIB,
    UnreadableError,
    collect_unreadable,
    current_limits,
    limit_exceeded,
    truncate_rows,
)
from mixtea.io.safe.open import COMPRESSED, open_regular
from mixtea.io.safe.sandbox import Process
from mixtea.io.vectors.text_model import MAX_REASON, text_vectors
from mixtea.messages import is_whole, visible

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


ID_HEADERS = tuple((name,) for name in ("id", "ids", "entity", "iri", "uri", "source", "target", "subject", "name"))
FLOAT_TYPES = ("F32", "F16", "F64")  # of numbers, as safetensors calls them
RawVectors = tuple[np.ndarray, np.ndarray, np.ndarray]  # ids, rows, vectors
VECTOR_ENDINGS = {".parquet": "Parquet", ".pq": "Parquet", ".safetensors": "safetensors"}


class VectorTable(NamedTuple):
    """`ids` (str [n]) and `vectors` (float32 [n, d]) of a file; `rows` [n] are counted from 1."""

    path: Path
    kind: str
    ids: np.ndarray
    rows: np.ndarray
    vectors: np.ndarray


def read_vector_file(path: Path) -> VectorTable:
    """Read a file in the format of its ending; only its form is checked."""
    bare = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    kind = VECTOR_ENDINGS.get(bare.suffix.lower(), "")
    if not kind or (kind == "safetensors" and bare != path):
        todo = "Write .parquet or .safetensors" + (", not compressed." if kind else ".")
        raise UnreadableError(path, None, "", "not a file of vectors that is read, by its ending", todo)
    found = read_parquet_vectors(path, ID_HEADERS, _read_stream) if kind == "Parquet" else _safetensors(path)
    if not len(found[0]):
        raise UnreadableError(path, None, "", "no vector: the file is empty", "It needs an id and a vector a row.")
    return VectorTable(path, kind, *found)


def _read_stream(process: Process) -> RawVectors:
    """Read the stream of the process, which leaves out rows without a vector."""
    import pyarrow as pa

    parts: list[RawVectors] = []
    for batch in pa.ipc.open_stream(process.out):
        batch.validate(full=True)
        ids, rows, *columns = batch.columns
        if len(rows):
            texts = object_array(ids.dictionary.to_pylist())[ids.indices.to_numpy()]
            is_list = pa.types.is_list(columns[0].type)
            numbers = [(column.flatten() if is_list else column).to_numpy(zero_copy_only=False) for column in columns]
            parts.append((texts, rows.to_numpy(), np.stack(numbers, axis=1).reshape(len(rows), -1)))
    if not parts:
        return np.empty(0, dtype=object), np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.float32)
    ids, rows, vectors = (np.concatenate(column) for column in zip(*parts, strict=True))
    return ids, rows, vectors


def _safetensors(path: Path) -> RawVectors:
    """Read `vectors` [n, d], and ids as bytes and offsets, or as a JSON list in the file's metadata."""
    from safetensors import SafetensorError, safe_open

    _check_safetensors(path)
    try:
        with safe_open(path, "np") as file:
            n = _check_form(path, file)
            ids = _ids(file, n)
            with np.errstate(over="ignore"):  # infinite values are reported by row
                vectors = file.get_tensor("vectors").astype(np.float32)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, UnreadableError):
            raise
        what = f"not safetensors with vectors and ids ({visible(error, MAX_REASON)})"
        raise UnreadableError(path, None, "", what, "Write the file again; docs/formats.md says how.") from None
    return object_array(ids), np.arange(1, n + 1), vectors


def _check_safetensors(path: Path) -> None:
    """Check before the library opens it: a regular, non-sparse file whose header is not too long."""
    with open_regular(path) as file:
        if is_sparse(file):
            todo = "Copy or download the file again."
            raise UnreadableError(path, None, "", "a sparse file, nearly all of which was never written", todo)
        length = int.from_bytes(file.read(8), "little")
        size = os.fstat(file.fileno()).st_size
    if current_limits().max_token_mib * MIB < length <= size:
        raise limit_exceeded(path, None, f"a header of {length:,} bytes", "max_token_mib")


def _check_form(path: Path, file: Any) -> int:
    """Return the number of vectors, if they are numbers [n, d] and not too many."""
    part = file.get_slice("vectors")
    kind, shape, limits = part.get_dtype(), part.get_shape(), current_limits()
    if kind not in FLOAT_TYPES or len(shape) != 2:
        raise ValueError(f"vectors is {kind} {shape}, not one of {', '.join(FLOAT_TYPES)} [n, d]")
    for n, what, limit in ((shape[0], "vectors", "max_rows"), (shape[1], "numbers a vector", "max_columns")):
        if n > getattr(limits, limit):
            raise limit_exceeded(path, None, f"{n:,} {what}", limit)
    if not shape[1]:
        raise ValueError("vectors of no number")
    return int(shape[0])


def _ids(file: Any, n: int) -> list[str]:
    """Return n texts: ids.data[ids.offsets[k] : ids.offsets[k + 1]] in UTF-8, or the list `ids` of the metadata."""
    if "ids.offsets" not in file.keys():  # noqa: SIM118 - it is no dict
        ids = json.loads((file.metadata() or {})["ids"])
        if not isinstance(ids, list) or len(ids) != n or not all(type(one) is str for one in ids):
            raise ValueError(f"its metadata has no list of {n:,} ids that are text")
        return ids
    data, offsets = file.get_tensor("ids.data"), file.get_tensor("ids.offsets")
    if data.dtype != np.uint8 or offsets.dtype != np.int64 or data.ndim != 1 or offsets.shape != (n + 1,):
        raise ValueError(f"ids.data and ids.offsets are not U8 [bytes] and I64 [{n + 1}]")
    if offsets[0] != 0 or offsets[-1] != len(data) or (offsets[:-1] > offsets[1:]).any():
        raise ValueError("ids.offsets do not lead from the first byte of ids.data to its last")
    return TextColumn(data, offsets, np.arange(n)).texts()


MIN_SPARSE_BYTES = 4 << 20  # bytes; smaller files may have any
MAX_HOLES = 16  # at least one byte in so many was written


def is_sparse(file: IO[bytes]) -> bool:
    """Return whether an open file consists mostly of holes."""
    found = os.fstat(file.fileno())
    return (
        found.st_size >= MIN_SPARSE_BYTES
        and _on_disk(found) < found.st_size // MAX_HOLES
        and not _is_filled(file, found)
    )


def _on_disk(found: os.stat_result) -> int:
    """Return the bytes that a file takes on disk; its size where the system does not report them."""
    blocks: int | None = getattr(found, "st_blocks", None)
    return found.st_size if blocks is None else 512 * blocks


def _is_filled(file: IO[bytes], found: os.stat_result) -> bool:
    """Return whether enough of a file was written; also True where the system cannot report it.

    A file that takes little may be packed by the file system, or not be on the disk yet, and have no hole at all.
    """
    end = written = 0
    while hasattr(os, "SEEK_DATA") and written < found.st_size // MAX_HOLES:
        try:
            begin = os.lseek(file.fileno(), end, os.SEEK_DATA)
            end = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
        except OSError as error:
            return error.errno != errno.ENXIO  # nothing follows
        written += end - begin
    return True
