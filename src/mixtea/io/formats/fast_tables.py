"""Read plain text tables by Arrow; tables with anything unusual are left to the careful readers of tables.py.

Both give the same cells. Arrow parses in this process, unlike Parquet: text has no sizes or offsets that could be
wrong. It gets blocks of whole lines within the limits, after checks of encoding, line ends and quotes; the number of
rows is checked afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mixtea.graph.text_column import TextColumn
from mixtea.io.safe.encoding import ASCII
from mixtea.io.safe.limits import current_limits
from mixtea.io.safe.lines import line_blocks
from mixtea.io.safe.open import BYTE_ORDER_MARK
from mixtea.io.table_layout import Layout

MIN_BYTES = 1 << 16  # of a file: smaller ones are read soon enough
ARROW_BLOCK_BYTES = 1 << 20  # bytes that Arrow parses at once: few enough to stay in the cache of the processor
QUOTE, LINE_END = b'"'[0], b"\n"[0]
LINE_ENDS = b"\r\n"
ODD_FIRST = np.isin(np.arange(256), [*b"#\r\n"])  # bytes at the beginning of a line


class OddError(Exception):
    """A block that needs the careful reader."""


class FastTable(NamedTuple):
    """The requested columns and their line numbers (from 1)."""

    columns: tuple[TextColumn, ...]
    lines: np.ndarray


def read_fast(path: Path, layout: Layout, *, quoted: bool, encoding: str) -> FastTable | None:
    """Return the cells of a table, or None if there is anything that the careful reader should see."""
    is_small = path.stat().st_size < MIN_BYTES
    if is_small or layout.width > current_limits().max_columns or ord(layout.separator) >= ASCII:
        return None
    try:
        found = [_parsed(*block, layout, quoted=quoted) for block in _blocks(path, layout, encoding)]
    except OddError:
        return None
    if not found:
        return None
    columns = (_joined([table[place] for table, _ in found]) for place in range(len(layout.places)))
    return FastTable(tuple(columns), np.concatenate([lines for _, lines in found]))


def _blocks(path: Path, layout: Layout, encoding: str) -> Iterator[tuple[int, bytes]]:
    """Yield the blocks without the header and the lines above it."""
    for start, block in line_blocks(path, encoding):
        for _ in range(start, layout.header_line + 1):
            above, _, block = block.partition(b"\n")
            start += 1
            if above.count(b'"') % 2 or b"\r" in above[:-1]:  # it goes on in the next line, or is more than one
                raise OddError
        if block:
            yield start, block


def _parsed(start: int, block: bytes, layout: Layout, *, quoted: bool) -> tuple[list[Any], np.ndarray]:
    """Return the columns of a block as bytes, and its line numbers; an OddError if it is not plain."""
    import pyarrow as pa
    from pyarrow import csv

    n = _plain_lines(block, layout.separator, quoted=quoted)
    names = [str(place) for place in range(layout.width)]
    wanted = [str(place) for place in layout.places]
    try:
        table = csv.read_csv(
            pa.BufferReader(block),
            read_options=csv.ReadOptions(use_threads=False, block_size=ARROW_BLOCK_BYTES, column_names=names),
            parse_options=csv.ParseOptions(delimiter=layout.separator, quote_char='"' if quoted else False),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_binary()), include_columns=wanted, strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:  # a row of another width
        raise OddError from None
    if table.num_rows != n:
        raise OddError
    return table.columns, np.arange(start, start + n)


def _plain_lines(block: bytes, separator: str, *, quoted: bool) -> int:
    """Count the lines of a plain block; an OddError for others.

    A plain block is UTF-8 without NUL, comments, blank lines and unusual line ends, and quotes only whole fields.
    """
    is_other_text = b"\0" in block or block.startswith(BYTE_ORDER_MARK) or not _is_utf_8(block)
    if is_other_text or (b"\r" in block and block.count(b"\r") != block.count(b"\r\n")):
        raise OddError
    raw = np.frombuffer(b"\n" + block, dtype=np.uint8)
    lines = np.flatnonzero(raw == LINE_END)
    lines = lines[: len(lines) - block.endswith(b"\n")]
    if ODD_FIRST[raw[lines + 1]].any() or (quoted and b'"' in block and not _quotes_are_plain(block, separator)):
        raise OddError
    return len(lines)


def _is_utf_8(block: bytes) -> bool:
    try:
        return block.isascii() or block.decode() is not None
    except UnicodeDecodeError:
        return False


def _quotes_are_plain(block: bytes, separator: str) -> bool:
    """Return whether quotes enclose whole fields, and no line ends between them.

    A doubled quote closes a field and opens it again. Where no field begins with a quote, all quotes are text.
    """
    raw = np.frombuffer(b"\n" + block + b"\n", dtype=np.uint8)
    ends = np.isin(np.arange(256), [ord(separator), *LINE_ENDS])
    quotes = np.flatnonzero(raw == QUOTE)
    if not ends[raw[quotes - 1]].any():
        return True
    opening, closing = quotes[::2], quotes[1::2]
    if len(quotes) % 2 or (np.searchsorted(quotes, np.flatnonzero(raw == LINE_END)) % 2).any():
        return False
    again = opening[1:] - 1 == closing[:-1]
    before, after = ends[raw[opening - 1]], ends[raw[closing + 1]]
    return bool(before[0] and after[-1] and (before[1:] | again).all() and (after[:-1] | again).all())


def _joined(chunks: list[Any]) -> TextColumn:
    import pyarrow as pa

    return TextColumn.of_arrow(pa.chunked_array([part for chunk in chunks for part in chunk.chunks]).combine_chunks())
