"""A table, a view or a query of a SQLite database into columns of texts. Nothing is ever written to it."""

from __future__ import annotations

import re
from pathlib import Path

from mixtea.io.formats.table_process import Cells, Parser, Wanted, cells_of, parsed
from mixtea.io.named_parts import SQLITE_MAGIC, Named, named
from mixtea.io.safe.open import COMPRESSED, open_regular
from mixtea.io.safe.problems import UnreadableError
from mixtea.io.safe.sandboxed.table_child import ONE_SELECT

PARSER = Parser("SQLite", "sqlite_child", SQLITE_MAGIC)
BEGINS = re.compile(r"(?>(?:\s++|--[^\n]*+(?:\n|$)|/\*.*?\*/)*+)(\w*+)", re.DOTALL)
LONGEST_WORD = 40  # characters of a query that are told
MAKE_WHOLE = "Close the program that writes it; or copy it whole: sqlite3 FILE \".backup 'copy.db'\"."


def sqlite_cells(path: Path, wanted: Wanted) -> Cells:
    """The wanted columns of what the path names: a table or a view, else the only table; or a query."""
    about = named(path)
    _check_query(path, about.query)
    uri = "" if about.file.suffix.lower() in COMPRESSED else _uri(path, about)
    return parsed(PARSER, path, about.file, wanted, cells_of, uri=uri, table=about.part, query=about.query)[0]


def _check_query(path: Path, query: str) -> None:
    """Tell at once that a query is none, in words that name its beginning."""
    word = BEGINS.match(query)[1]  # type: ignore[index]
    if query and word.upper() not in ("SELECT", "WITH"):
        raise UnreadableError(path, None, query[:LONGEST_WORD].strip(), "no query that reads:", ONE_SELECT)


def _uri(path: Path, about: Named) -> str:
    """The address by which SQLite reads a file that nobody changes; a log beside it would have changes of its own."""
    for ending in ("-wal", "-journal"):
        log = about.file.with_name(about.file.name + ending)
        if log.is_file() and _begins(log):
            what = f"changes that are not in the file yet lie beside it, in {log.name}"
            raise UnreadableError(path, None, "", what, MAKE_WHOLE)
    return about.file.absolute().as_uri() + "?mode=ro&immutable=1"


def _begins(log: Path) -> bool:
    """Whether a log has a beginning; of one that is done with it may be overwritten."""
    with open_regular(log) as file:
        return bool(file.read(1).strip(b"\0"))
