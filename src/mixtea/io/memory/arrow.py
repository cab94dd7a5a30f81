"""Tables of other libraries by Arrow's interface for streams of them: Polars, pyarrow, DuckDB and others."""

from __future__ import annotations

from typing import Any

import pandas as pd

from mixtea.errors import DataError

ARROW = "__arrow_c_stream__"


def frame_of_arrow(thing: Any, called: str) -> pd.DataFrame:
    """Make a data frame of objects: in pandas' own types 1 beside a missing value becomes 1.0."""
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(f"{called} is read by pyarrow, which is not installed: pip install pyarrow.") from None
    try:
        table = pa.table(thing)
        table.validate(full=True)
        columns = [_values(column) for column in table.columns]
    except (pa.ArrowException, ValueError, TypeError) as error:
        reason = (str(error).splitlines() or ["no reason is given"])[0].rstrip(".")
        raise DataError(f"{called} is no table that Arrow can hand over ({reason}). Give a data frame.") from None
    frame = pd.concat([pd.Series(values, dtype=object) for values in columns], axis=1) if columns else pd.DataFrame()
    frame.columns = pd.Index(table.column_names, dtype=object)
    return frame


def _values(column: Any) -> list[Any]:
    """The values of a column; numbers of 32 bits as they are written, 0.1 and not 0.10000000149."""
    import pyarrow as pa

    if column.type == pa.float32():
        column = column.cast(pa.string()).cast(pa.float64())
    return column.to_pylist()
