"""Split links into training, validation and test files, in the format of the file where possible."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mixtea.errors import ConfigError, DataError, Problems
from mixtea.export.quoting import quoted
from mixtea.graph.graph import SIDES
from mixtea.io.formats.link_tables import LinkTable, can_have_header, drop_header_link, is_header
from mixtea.io.formats.registry import detect_format
from mixtea.io.formats.sssom import delimiter_of, split_comments
from mixtea.io.formats.tables import csv_rows
from mixtea.io.formats.tsv import text_lines
from mixtea.io.head import head_of
from mixtea.io.links.read import SHARES, assign_splits, check_shares, read_given_links
from mixtea.io.memory.objects import Input, parse_inputs
from mixtea.io.paths import PathOrStr, as_path, bare_path
from mixtea.io.safe.limits import Limits, current_limits, use_limits
from mixtea.io.safe.lines import encoding_of
from mixtea.io.table_layout import LINK_HEADERS, find_layout, use_separator
from mixtea.messages import visible
from mixtea.runs.atomic import atomic_file, check_new_file

logger = logging.getLogger(__name__)
IN_MEMORY = "in memory"  # in place of a format
QUOTED_FORMATS = ("CSV", "Excel", "SQLite", "JSON", "JSON lines", IN_MEMORY)
OUTPUT_ENDINGS = dict.fromkeys(QUOTED_FORMATS, ".csv") | {  # else tab-separated text
    "SSSOM": ".sssom.tsv",
    "Parquet": ".parquet",
}


class SplitFile(NamedTuple):
    """A written file and its number of links."""

    path: Path
    n_links: int


def split_links(
    links: Any,
    shares: Mapping[str, float] = SHARES,
    *,
    seed: int = 1,
    out: PathOrStr | None = None,
    names: Sequence[str] = (),
    overwrite: bool = False,
    limits: Limits | None = None,
    separator: str | None = None,
) -> dict[str, pd.DataFrame]:
    """Split links at random into training, validation and test parts, as `mixtea split` does.

    Every link is in one part, links that share an entity are in the same one, and the same seed gives the same parts.

    Parameters
    ----------
    links
        A file in any link format; or a data frame with the columns source and target, rows, an array or a dictionary.
    shares
        The share of each part; they sum to 1. The first part also gets the remainder of rounding. A share of 0 has no
        part.
    seed
        Random seed.
    out, names, overwrite
        A folder for files of the parts: `train_links` and so on, with the ending of the format, or called by `names`.
        Objects become CSV of source and target. Existing files are replaced if `overwrite`.
    limits
        Limits for input files, `Limits`.
    separator
        Column separator of a table of text, as in `load_task`.

    Returns
    -------
    dict
        Links by name of the part: a data frame with source and target, and with all columns of a data frame that was
        given. Pairs that a file rejects are not links: they are in the files alone, with the training links.

    Raises
    ------
    DataError
        The links cannot be read, or are too few.
    ConfigError
        The shares do not sum to 1, or the names do not fit.
    RunError
        A file exists already, or cannot be written.

    Examples
    --------
    >>> from mixtea import split_links
    >>> parts = split_links([(f"a{i}", f"b{i}") for i in range(10)], {"train": 0.3, "test": 0.7})
    >>> {name: len(part) for name, part in parts.items()}
    {'train': 3, 'test': 7}
    """
    found = parse_inputs(links, "links")
    if len(found) != 1:
        raise DataError(f"Links are one file or object with pairs of source and target, not {len(found):,}.")
    dealt = deal(found[0], shares, seed=seed, limits=limits, separator=separator)
    for warning in dealt.rows.warnings:
        logger.warning("%s", visible(warning))
    if out is not None:
        dealt.write(as_path(out, "out"), names, overwrite=overwrite)
    return {name: dealt.rows.frame(dealt.places(name)) for name in dealt.wanted}


class Split(NamedTuple):
    """Rows of links, the part [p] of each, and the names of the parts."""

    rows: _Rows
    part: np.ndarray
    wanted: list[str]

    def places(self, name: str) -> np.ndarray:
        """Return which rows are links of a part."""
        return np.flatnonzero((self.part == name) & ~self.rows.rejected)

    def write(self, out: Path, names: Sequence[str], *, overwrite: bool) -> dict[str, SplitFile]:
        """Write a file for each part, called by its name, with the ending of the format, or by `names`.

        Rejected pairs go with the first part.
        """
        paths = dict(zip(self.wanted, _places(out, self.wanted, names, self.rows.ending), strict=True))
        for path in paths.values():
            check_new_file(path, overwrite=overwrite)
        for name, path in paths.items():
            self.rows.write(np.flatnonzero(self.part == name), path)
        return {name: SplitFile(path, len(self.places(name))) for name, path in paths.items()}


def deal(
    one: Input,
    shares: Mapping[str, float],
    *,
    seed: int = 1,
    limits: Limits | None = None,
    separator: str | None = None,
) -> Split:
    """Split the links of a file or an object by `shares`: links that share an entity are in the same part."""
    check_shares(shares)
    wanted = [name for name, share in shares.items() if share]
    with use_limits(limits), use_separator(separator):
        problems = Problems(current_limits().max_problems)
        table = read_given_links(one, problems)
        problems.raise_if_any()
        rows = _Rows(table, detect_format(one)) if isinstance(one, Path) else _Rows(table, IN_MEMORY, one.thing)
    part = np.full(len(rows.rejected), wanted[0], dtype=object)
    source, target = (ids[~rows.rejected] for ids in rows.columns)
    part[~rows.rejected] = assign_splits(source, target, {name: shares[name] for name in wanted}, seed)
    return Split(rows, part, wanted)


def _places(out: Path, wanted: Sequence[str], names: Sequence[str], ending: str) -> list[Path]:
    if names and len(names) != len(wanted):
        raise ConfigError(f"{len(names)} names for {len(wanted)} files: name one each for {', '.join(wanted)}.")
    for name in names:
        if Path(name).name != name or names.count(name) > 1:
            raise ConfigError(f"{name!r} is not a plain file name of its own. Give each file one.")
    found = names or [f"{name}_links" for name in wanted]
    return [out / (name if name.lower().endswith(ending) else name + ending) for name in found]


class _Rows:
    """Rows of a link file, with all columns where the format is a table, else the two ids."""

    def __init__(self, table: LinkTable, kind: str, thing: Any = None) -> None:
        self.kind, self.head, self.header, self.header_line = kind, "", list[str](), 0
        if can_have_header(table, kind) and is_header(table.columns):
            self.header_line, table = int(table.lines[0]), drop_header_link(table)
        self.columns = table.columns if table.full_ids is None else table.full_ids
        self.rejected = np.zeros(len(table), dtype=bool) if table.rejected is None else table.rejected
        self.warnings, self.lines = table.warnings, table.lines
        self.given = thing if isinstance(thing, pd.DataFrame) else None
        self.rows: list[Any] = list(zip(*self.columns, strict=True))
        self.delimiter, self.ending = (
            "\t",
            OUTPUT_ENDINGS.get(kind, bare_path(table.path).suffix if kind == "TSV" else ".tsv"),
        )
        if kind in QUOTED_FORMATS:
            self.delimiter, self.header = ",", [*SIDES]
        if kind in ("CSV", "SSSOM"):
            self._as_written(table)
        elif kind == "TSV":
            self._as_lines(table)

    def frame(self, which: np.ndarray) -> pd.DataFrame:
        """Return some of the rows as a data frame, with all columns of one that was given."""
        if self.given is not None:
            return self.given.iloc[self.lines[which] - 1]
        return pd.DataFrame(
            {name: pd.Series(ids[which], dtype=object) for name, ids in zip(SIDES, self.columns, strict=True)}
        )

    def _as_lines(self, table: LinkTable) -> None:
        """Keep the lines of text without quotes, and the header."""
        text = "".join(text_lines(table.path, Problems(), encoding_of(table.path)))
        lines = [line.rstrip("\r") for line in text.split("\n")]
        layout = find_layout(table.path, head_of(table.path), "TSV", LINK_HEADERS, links=True)
        header_line = layout.header_line or self.header_line
        self.header = [lines[header_line - 1]] if header_line else []
        self.rows = [[lines[line - 1]] for line in table.lines.tolist()]

    def _as_written(self, table: LinkTable) -> None:
        """Keep all columns of the rows, and the text before them."""
        lines = text_lines(table.path, Problems(), encoding_of(table.path))
        comments, rest = split_comments(lines) if self.kind == "SSSOM" else ([], lines)
        if self.kind == "CSV":
            layout = find_layout(table.path, head_of(table.path), "CSV", LINK_HEADERS, links=True)
            self.delimiter, header_line = layout.separator, layout.header_line or self.header_line
        else:
            header_line = len(comments) + 1
            first = next(rest, "")
            self.delimiter, rest = delimiter_of(first), chain([first], rest)
        by_line = dict(csv_rows(table.path, rest, Problems(), delimiter=self.delimiter, lines_before=len(comments)))
        self.head, self.header = "".join(comments), by_line[header_line] if header_line else []
        self.rows = [by_line[line] for line in table.lines.tolist()]

    def write(self, which: np.ndarray, path: Path) -> None:
        if self.kind == "Parquet":
            return self._write_parquet(which, path)
        with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            file.write(self.head)
            rows = chain([self.header] if self.header else [], (self.rows[i] for i in which.tolist()))
            file.writelines(self.delimiter.join(map(self._quoted, row)) + "\n" for row in rows)

    def _quoted(self, text: str) -> str:
        """Quote a field; formats without quotes keep it as read."""
        return quoted(text, self.delimiter) if self.kind in (*QUOTED_FORMATS, "SSSOM") else text

    def _write_parquet(self, which: np.ndarray, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = dict(zip(SIDES, self.columns, strict=True))
        with atomic_file(path) as temporary:
            pq.write_table(
                pa.table({name: pa.array(ids[which], pa.string()) for name, ids in columns.items()}), temporary
            )
