"""A file of links as several: to train, to validate, to test; each in the format of the file where that can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mixtea.data.formats.content import kind_of
from mixtea.data.formats.head import head_of
from mixtea.data.formats.headers import LINK_HEADERS
from mixtea.data.formats.layout import layout_of
from mixtea.data.formats.link_tables import LinkTable
from mixtea.data.formats.sssom import delimiter_of
from mixtea.data.formats.tables import csv_rows
from mixtea.data.formats.tsv import text_lines
from mixtea.data.links import read_link_table
from mixtea.data.paths import PathOrStr
from mixtea.data.safe.limits import Limits, applied, in_force
from mixtea.data.safe.open import COMPRESSED
from mixtea.data.splits import SHARES, check_shares, deal
from mixtea.errors import ConfigError, Problems
from mixtea.export.quoting import csv_text, tsv_text
from mixtea.runs.atomic import atomic_file, check_new_file

QUOTED = ("CSV", "JSON", "JSON lines")
ENDINGS = dict.fromkeys(QUOTED, ".csv") | {"SSSOM": ".sssom.tsv", "Parquet": ".parquet"}  # others: tab-separated text


class Part(NamedTuple):
    """A file that was written, and how many links it has."""

    path: Path
    n_links: int


def split_file(
    links: PathOrStr,
    out: PathOrStr,
    shares: Mapping[str, float] = SHARES,
    *,
    seed: int = 1,
    names: Sequence[str] = (),
    overwrite: bool = False,
    limits: Limits | None = None,
) -> tuple[dict[str, Part], tuple[str, ...]]:
    """Deal the links of a file out by `shares`, into files of the folder `out`; and what is to be said of the file.

    Every link is in one of the files, links that share an entity are in the same one, and the same seed gives the same
    files. They are called `train_links`, `valid_links` and `test_links`, with the ending of the format, or by `names`;
    a share of 0 has none. Pairs that the file rejects go with the links to train.
    """
    check_shares(shares)
    path, wanted = Path(links), [name for name, share in shares.items() if share]
    with applied(limits):
        problems = Problems(in_force().max_problems)
        table = read_link_table(path, problems)
        problems.raise_if_any()
        kind = kind_of(path)
        rows = _Rows(table, kind)
    rejected = np.zeros(len(table), dtype=bool) if table.rejected is None else table.rejected
    part = np.full(len(table), wanted[0], dtype=object)
    whole = rows.columns
    part[~rejected] = deal(whole[0][~rejected], whole[1][~rejected], {name: shares[name] for name in wanted}, seed)
    places = dict(zip(wanted, _places(Path(out), wanted, names, rows.ending), strict=True))
    for place in places.values():
        check_new_file(place, overwrite=overwrite)
    for name, place in places.items():
        rows.write(np.flatnonzero(part == name), place)
    counts = {name: int((part[~rejected] == name).sum()) for name in wanted}
    return {name: Part(place, counts[name]) for name, place in places.items()}, table.warnings


def _places(out: Path, wanted: Sequence[str], names: Sequence[str], ending: str) -> list[Path]:
    if names and len(names) != len(wanted):
        raise ConfigError(f"{len(names)} names for {len(wanted)} files: name one each for {', '.join(wanted)}.")
    for name in names:
        if Path(name).name != name or names.count(name) > 1:
            raise ConfigError(f"{name!r} is no name for one of the files. Give each a plain name of its own.")
    found = names or [f"{name}_links" for name in wanted]
    return [out / (name if name.lower().endswith(ending) else name + ending) for name in found]


class _Rows:
    """The rows of a file of links as they stand there; of formats that are no tables, the ids in two columns."""

    def __init__(self, table: LinkTable, kind: str) -> None:
        self.kind, self.head, self.header = kind, "", list[str]()
        self.columns = table.columns if table.in_full is None else table.in_full
        self.rows: list[Any] = list(zip(*self.columns, strict=True))
        self.delimiter, self.ending = "\t", ENDINGS.get(kind, _ending(table.path) if kind == "TSV" else ".tsv")
        if kind in QUOTED:
            self.delimiter, self.header = ",", ["source", "target"]
        if kind in ("CSV", "SSSOM"):
            self._as_written(table)

    def _as_written(self, table: LinkTable) -> None:
        """All columns of the rows, and what stands before them."""
        lines = text_lines(table.path, Problems())
        comments, rest = _comments(lines) if self.kind == "SSSOM" else ([], lines)
        if self.kind == "CSV":
            layout = layout_of(table.path, head_of(table.path), "CSV", LINK_HEADERS, links=True)
            self.delimiter, header_line = layout.separator, layout.header_line
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
        """A field as it is written; of formats without quotes, as it was read."""
        if self.kind in QUOTED:
            return csv_text(text, self.delimiter)
        return tsv_text(text) if self.kind == "SSSOM" else text

    def _write_parquet(self, which: np.ndarray, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = dict(zip(("source", "target"), self.columns, strict=True))
        with atomic_file(path) as temporary:
            pq.write_table(
                pa.table({name: pa.array(ids[which], pa.string()) for name, ids in columns.items()}), temporary
            )


def _comments(lines: Iterator[str]) -> tuple[list[str], Iterator[str]]:
    """The lines of metadata, and those after them."""
    found: list[str] = []
    for line in lines:
        if not line.startswith("#"):
            return found, chain([line], lines)
        found.append(line)
    return found, iter(())


def _ending(path: Path) -> str:
    bare = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return bare.suffix
