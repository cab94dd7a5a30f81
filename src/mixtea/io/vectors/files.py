"""Read files of vectors, Parquet and safetensors, as ids and a matrix."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mixtea.graph.text_column import TextColumn
from mixtea.io.formats.tsv import object_array
from mixtea.io.formats.typed_tables import run_parquet_parser
from mixtea.io.safe.limits import MIB, current_limits
from mixtea.io.safe.open import COMPRESSED, open_regular
from mixtea.io.safe.problems import UnreadableError, limit_exceeded
from mixtea.io.safe.sandbox import Process
from mixtea.io.safe.sparse_files import is_sparse
from mixtea.messages import visible

ID_HEADERS = tuple((name,) for name in ("id", "ids", "entity", "iri", "uri", "source", "target", "subject", "name"))
FLOAT_TYPES = ("F32", "F16", "F64")  # of numbers, as safetensors calls them
MAX_REASON = 300  # characters
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
    found = _parquet(path) if kind == "Parquet" else _safetensors(path)
    if not len(found[0]):
        raise UnreadableError(path, None, "", "no vector: the file is empty", "It needs an id and a vector a row.")
    return VectorTable(path, kind, *found)


def _parquet(path: Path) -> RawVectors:
    return run_parquet_parser(path, "vectors_child", ID_HEADERS, _read_stream)


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
