"""Parse a Parquet file of vectors from standard input, and write ids, rows and vectors as Arrow's stream."""

from __future__ import annotations

from typing import Any

from .parquet_child import compact, work
from .restrict import WrongError
from .table_child import MAX_SHOWN, run_task

ROWS_AT_ONCE = 1 << 10  # of some thousand numbers each
MAX_COLUMNS_SHOWN = 5  # names of columns
NAMES = ("vector", "embedding", "vectors", "embeddings")


def write_vectors(wanted: dict[str, Any]) -> dict[str, Any]:
    """Write the vectors with their ids."""
    return work(wanted, write)


def write(file: Any, names: list[str], n: int, sink: Any, wanted: dict[str, Any], go_on: Any) -> None:
    """Write id, row number (from 1) and vector of each row that has one: a list, or one column per number."""
    import pyarrow as pa

    columns, is_list = vector_columns(file.schema_arrow, names[0])
    numbers = [pa.list_(pa.float32())] if is_list else [pa.float32()] * len(columns)
    kinds = [pa.dictionary(pa.int32(), pa.large_string()), pa.int64(), *numbers]
    schema, seen, size, dim = pa.schema([(str(i), kind) for i, kind in enumerate(kinds)]), 0, 0, 0
    with pa.ipc.new_stream(sink, schema) as stream:
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=[names[0], *columns], use_threads=False):
            rows, seen = pa.array(range(seen + 1, seen + batch.num_rows + 1), pa.int64()), seen + batch.num_rows
            if seen > n:
                raise WrongError("more rows than its footer states")
            parts = [batch.column(names[0]), rows, *(batch.column(name) for name in columns)]
            if is_list:
                parts = [part.filter(parts[2].is_valid()) for part in parts]
                dim = vector_length(parts[2], parts[1], dim, wanted["max_columns"])
            held = [part.cast(kind, safe=False) for part, kind in zip(parts[2:], numbers, strict=True)]
            go_on(now := sum(part.nbytes for part in held))
            size += now
            if size > wanted["max_bytes"]:
                raise WrongError(f"vectors of {size:,} bytes and more", limit=wanted["bytes_limit"])
            stream.write_batch(
                pa.record_batch([compact(parts[0], wanted["max_token"]), parts[1], *held], schema=schema)
            )


def vector_columns(schema: Any, id_name: str) -> tuple[list[str], bool]:
    """Return the column of lists of numbers, by name or the only one, and True; else all float columns and False."""
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
        which = ", ".join(name[:MAX_SHOWN] for name in named[:MAX_COLUMNS_SHOWN])
        todo = (
            "It needs ids, and one column of lists named vector, or a column of numbers with a point for each number."
        )
        raise WrongError(f"several columns of lists ({which})" if which else "no column of vectors", todo=todo)
    return named or floats, bool(named)


def vector_length(lists: Any, rows: Any, dim: int, longest: int) -> int:
    """Return the length of the vectors, `dim` if that is known; an error names the row that differs."""
    lists.validate(full=True)
    lengths = lists.value_lengths().to_pylist()
    dim = dim or next(iter(lengths), 0)
    if dim > longest:
        raise WrongError(f"vectors of {dim:,} numbers", limit="max_columns")
    for place, here in enumerate(lengths):
        if here != dim or not here:
            what = f"a vector of {here:,} numbers, while the first has {dim:,}"
            raise WrongError(what, line=rows[place].as_py(), todo="All vectors need the same length, 1 or more.")
    return int(dim)


def main() -> None:
    run_task(write_vectors)
