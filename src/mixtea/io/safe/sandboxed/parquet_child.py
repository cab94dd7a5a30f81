"""Parse a Parquet file from standard input, and write columns of labels or of vectors as Arrow's stream."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Sequence
from typing import Any

from .restrict import BYTES_PER_GRANT, WrongError, restrict
from .table_child import MAX_SHOWN, choose_columns

ROWS_AT_ONCE = 1 << 16
MAGIC = b"PAR1"
VECTORS_AT_ONCE = 1 << 10  # of some thousand numbers each
MAX_COLUMNS_SHOWN = 5  # names of columns
VECTOR_NAMES = ("vector", "embedding", "vectors", "embeddings")
BYTES_PER_LABEL = 8  # the least that a row takes in memory for each of its labels


def work(wanted: dict[str, Any]) -> dict[str, Any]:
    """Check the file before any of its contents are used, then write the requested columns: labels, or vectors."""
    import pyarrow as pa
    import pyarrow.compute
    import pyarrow.parquet as pq

    try:
        data = mmap.mmap(sys.stdin.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:
        raise WrongError("it is empty") from None
    seconds = wanted["seconds"] * (1 + len(data) / BYTES_PER_GRANT)  # a column may be read as a whole
    go_on = restrict(wanted["mib"], seconds)
    check_footer(data[:4], data[-8:], len(data), wanted)
    sink = sys.stdout.buffer
    damage = (pa.ArrowException, ArithmeticError, OSError, ValueError, KeyError, TypeError)  # whatever it is, and where
    try:
        file = pq.ParquetFile(pa.py_buffer(data))
        places = check_size(file.metadata, file.schema_arrow, len(data), wanted)
        names = [file.schema_arrow.names[place] for place in places]
        write = write_vectors if wanted.get("vectors") else write_labels
        write(file, names, file.metadata.num_rows, sink, wanted, go_on)
    except damage as error:
        if isinstance(error, BrokenPipeError | MemoryError):
            raise
        raise WrongError((str(error).splitlines() or ["damaged"])[0][:MAX_SHOWN].rstrip(".")) from None
    return {}


def check_footer(start: bytes, end: bytes, size: int, wanted: dict[str, Any]) -> None:
    """Check the footer's size before it is parsed."""
    if size < 12 or start != MAGIC or end[4:] != MAGIC:
        raise WrongError("it does not begin and end as Parquet does")
    length = int.from_bytes(end[:4], "little")
    if length > size - 12:
        raise WrongError("its footer would be longer than the file")
    if length > wanted["max_token"]:
        raise WrongError(f"a footer of {length:,} bytes", limit="max_token_mib")


def check_size(about: Any, schema: Any, size: int, wanted: dict[str, Any]) -> list[int]:
    """Return the positions of the requested columns, if the footer's sizes are possible and within the limits."""
    names = schema.names
    if about.num_columns > wanted["max_columns"]:
        raise WrongError(f"{about.num_columns:,} columns", limit="max_columns")
    places, or_all = choose_columns(names, wanted)
    for place in places:
        check_type(names[place], schema.field(place).type, wanted.get("numbers", ()), values=or_all)
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    rows = max(about.num_rows, sum(group.num_rows for group in groups))
    if rows > wanted["max_rows"]:
        raise WrongError(f"{rows:,} rows", limit="max_rows")
    if min([about.num_rows, *(group.num_rows for group in groups)]) < 0:
        raise WrongError("a negative number of rows")
    leaves = {about.schema.column(i).path: i for i in range(about.num_columns)}
    columns = [group.column(leaves[names[place]]) for group in groups for place in places]
    unpacked = max(sum(column.total_uncompressed_size for column in columns), rows * len(places) * BYTES_PER_LABEL)
    if unpacked > wanted["max_bytes"]:
        raise WrongError(f"{size:,} bytes that unpack to {unpacked:,} in {rows:,} rows", limit=wanted["bytes_limit"])
    return places


def check_type(name: str, kind: Any, numbers: Sequence[str], *, values: bool = False) -> None:
    """Refuse types other than text and integers; `values` may also be other numbers, booleans, dates and times."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    known = ("boolean", "floating", "decimal", "date", "time", "timestamp", "null")
    if values and any(getattr(pa.types, f"is_{name}")(kind) for name in known):
        return
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    is_number = pa.types.is_floating(kind) and name.strip().lower() in numbers
    if not (is_text or is_number or pa.types.is_integer(kind)):
        raise WrongError("type", name=name[:MAX_SHOWN], type=str(kind)[:MAX_SHOWN])


def write_labels(file: Any, names: list[str], n: int, sink: Any, wanted: dict[str, Any], go_on: Any) -> None:
    import pyarrow as pa

    kind = pa.dictionary(pa.int32(), pa.large_string())
    fields = [pa.field(f"c{i}", kind) for i in range(len(names))]
    if wanted.get("or_all", False):
        types = [file.schema_arrow.field(name).type for name in names]
        fields = [
            pa.field(name, kind, metadata={"kind": value_kind(of)}) for name, of in zip(names, types, strict=True)
        ]
    schema = pa.schema(fields)
    seen = 0
    with pa.ipc.new_stream(sink, schema) as stream:
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=list(dict.fromkeys(names)), use_threads=False):
            seen += batch.num_rows
            if seen > n:
                raise WrongError("more rows than its footer states")
            columns = [compact(batch.column(name), wanted["max_token"]) for name in names]
            go_on(sum(column.nbytes for column in columns))
            stream.write_batch(pa.record_batch(columns, schema=schema))


def value_kind(of: Any) -> str:
    """Return the kind of values that Arrow writes differently from a CSV file."""
    import pyarrow as pa

    of = of.value_type if pa.types.is_dictionary(of) else of
    looks = {"float": pa.types.is_floating, "moment": pa.types.is_timestamp, "truth": pa.types.is_boolean}
    return next((kind for kind, look in looks.items() if look(of)), "other")


def compact(column: Any, longest: int) -> Any:
    """Return the column with a dictionary of its texts, each once; empty where a cell is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column.validate(full=True)
    places = column.indices.cast(pa.int64()).fill_null(-1).dictionary_encode()  # they may be of a type without a -1
    texts = column.dictionary.cast(pa.large_string()).take(pc.replace_with_mask(
        places.dictionary, pc.equal(places.dictionary, -1), pa.scalar(None, places.dictionary.type)
    )).fill_null("")  # fmt: skip
    if (pc.max(pc.binary_length(texts)).as_py() or 0) > longest:
        raise WrongError("a label longer than a token may be", limit="max_token_mib")
    return pa.DictionaryArray.from_arrays(places.indices.cast(pa.int32()), texts)


def write_vectors(file: Any, names: list[str], n: int, sink: Any, wanted: dict[str, Any], go_on: Any) -> None:
    """Write id, row number (from 1) and vector of each row that has one: a list, or one column per number."""
    import pyarrow as pa

    columns, is_list = vector_columns(file.schema_arrow, names[0])
    numbers = [pa.list_(pa.float32())] if is_list else [pa.float32()] * len(columns)
    kinds = [pa.dictionary(pa.int32(), pa.large_string()), pa.int64(), *numbers]
    schema, seen, size, dim = pa.schema([(str(i), kind) for i, kind in enumerate(kinds)]), 0, 0, 0
    with pa.ipc.new_stream(sink, schema) as stream:
        for batch in file.iter_batches(VECTORS_AT_ONCE, columns=[names[0], *columns], use_threads=False):
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
    named = [name for name in lists if name.strip().lower() in VECTOR_NAMES] or lists
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
