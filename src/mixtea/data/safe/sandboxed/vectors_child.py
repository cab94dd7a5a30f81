"""A Parquet file of vectors as standard input; ids, rows and vectors as Arrow's stream on standard output."""

from __future__ import annotations

from typing import Any

from .parquet_child import LONGEST, compact, work
from .restrict import WrongError, leave, run

ROWS_AT_ONCE = 1 << 10  # of some thousand numbers each
SHOWN = 5  # names of columns
NAMES = ("vector", "embedding", "vectors", "embeddings")


def vectors(wanted: dict[str, Any]) -> dict[str, Any]:
    """The vectors and whose they are."""
    import numpy as np  # noqa: F401 - before memory is limited, for its threads take some

    return work(wanted, write)


def write(file: Any, names: list[str], n: int, sink: Any, wanted: dict[str, Any], go_on: Any) -> None:
    import pyarrow as pa

    texts, numbers = pa.dictionary(pa.int32(), pa.large_string()), pa.list_(pa.float32())
    schema = pa.schema([("id", texts), ("row", pa.int64()), ("vector", numbers)])
    columns, seen, size, dim = vector_columns(file.schema_arrow, names[0]), 0, 0, 0
    with pa.ipc.new_stream(sink, schema) as stream:
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=[names[0], *columns], use_threads=False):
            place, found = matrix(batch, columns, seen, dim)
            seen, size, dim = seen + batch.num_rows, size + found.nbytes, found.shape[1] if len(found) else dim
            if seen > n:
                raise WrongError("more rows than its footer says")
            if dim > wanted["max_columns"]:
                raise WrongError(f"vectors of {dim:,} numbers", limit="max_columns")
            if size > wanted["max_bytes"]:
                raise WrongError(f"vectors of {size:,} bytes and more", limit=wanted["bytes_limit"])
            go_on(found.nbytes)
            ids = compact(batch.column(names[0]).take(pa.array(place)), wanted["max_token"])
            ends = pa.array(range(0, found.size + 1, max(dim, 1))[: len(found) + 1], pa.int32())
            held = pa.ListArray.from_arrays(ends, pa.array(found.ravel()))
            rows = pa.array(place + (seen - batch.num_rows + 1))
            stream.write_batch(pa.record_batch([ids, rows, held], schema=schema))


def vector_columns(schema: Any, id_name: str) -> list[str]:
    """The column of lists of numbers, by name or the only one; else all columns of numbers with a point."""
    import pyarrow.types as types

    lists, floats = [], []
    for field in schema:
        kind = field.type
        if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            if types.is_floating(kind.value_type) or types.is_integer(kind.value_type):
                lists.append(field.name)
        elif types.is_floating(kind) and field.name != id_name:
            floats.append(field.name)
    named = [name for name in lists if name.strip().lower() in NAMES] or lists
    if len(named) > 1 or not (named or floats):
        which = ", ".join(name[:LONGEST] for name in named[:SHOWN])
        todo = (
            "It needs ids, and one column of lists named vector, or a column of numbers with a point for each number."
        )
        raise WrongError(f"several columns of lists ({which})" if which else "no column of vectors", todo=todo)
    return named or floats


def matrix(batch: Any, columns: list[str], seen: int, dim: int) -> tuple[Any, Any]:
    """The places of rows with a vector, and the vectors [n, d] of 32 bits, NaN for a number that is not there."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.types as types

    first = batch.column(columns[0])
    if types.is_floating(first.type):
        found = [batch.column(name).cast(pa.float32()).to_numpy(zero_copy_only=False) for name in columns]
        return np.arange(batch.num_rows), np.stack(found, axis=1)
    first.validate(full=True)
    place = np.flatnonzero(first.is_valid().to_numpy(zero_copy_only=False))
    lists = first.drop_null()
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    dim = dim or int(next(iter(lengths), 0))
    wrong = np.flatnonzero((lengths != dim) | (lengths == 0))
    if len(wrong):
        what = f"a vector of {lengths[wrong[0]]:,} numbers, while the first has {dim:,}"
        raise WrongError(
            what, line=int(place[wrong[0]]) + seen + 1, todo="All vectors need the same length, 1 or more."
        )
    numbers = lists.flatten().cast(pa.float32(), safe=False).to_numpy(zero_copy_only=False)
    return place, numbers.reshape(len(lists), dim)


def main() -> None:
    leave(run(vectors))
