"""Read a SQLite database, and write columns of a table or a query as Arrow's stream."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from typing import Any

from .restrict import BYTES_PER_GRANT, WrongError, restrict
from .table_child import MAX_SHOWN, ONE_SELECT, ArrowWriter, choose_columns

PAGE, COUNT, VALID_FOR, CHANGED = slice(16, 18), slice(28, 32), slice(92, 96), slice(24, 28)  # bytes of the header
HEADER = 100  # bytes
JOURNALS = slice(18, 20)  # bytes: whether a log is beside the file; none in memory has one
MAX_TABLES_SHOWN = 20  # shown
PRAGMAS = ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "mmap_size = 0", "temp_store = MEMORY")
READ_ACTIONS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
NOT_ALLOWED = "not authorized"
FORBIDDEN_FUNCTIONS = ("load_extension", "fts3_tokenizer")
DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR", "SQLITE_CANTOPEN")
TABLES = (
    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*' ORDER BY type, name"
)


def work(wanted: dict[str, Any]) -> dict[str, Any]:
    """Write the wanted columns."""
    import pyarrow as pa  # noqa: F401 - before memory is limited

    file = sys.stdin.buffer
    size = os.fstat(file.fileno()).st_size
    go_on = restrict(wanted["mib"], wanted["seconds"] * (1 + size / BYTES_PER_GRANT))
    file.seek(0)
    check_whole(file.read(HEADER), size)
    try:
        with closing(open_database(wanted)) as base:
            write(base, wanted["query"] or select_all(base, wanted["table"]), wanted, go_on)
    except (sqlite3.Error, sqlite3.Warning, UnicodeError) as error:
        raise explain_error(error) from None
    return {}


def check_whole(header: bytes, size: int) -> None:
    """Refuse a truncated file: SQLite may take the beginning of a page for one without rows."""
    page, n = (int.from_bytes(header[place]) for place in (PAGE, COUNT))
    if header[VALID_FOR] == header[CHANGED] and (65536 if page == 1 else page) * n > size:
        raise WrongError("it ends in the middle")


def open_database(wanted: dict[str, Any]) -> sqlite3.Connection:
    """Open the database so that nothing can be written, and nothing called that its file brings."""
    if wanted["uri"]:
        base = sqlite3.connect(wanted["uri"], uri=True, isolation_level=None)
    else:
        base = in_memory(sys.stdin.buffer)
    limits = {
        sqlite3.SQLITE_LIMIT_LENGTH: wanted["max_token"],
        sqlite3.SQLITE_LIMIT_ATTACHED: 0,
        sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
    }
    for what, most in limits.items():
        base.setlimit(what, most)
    for pragma in PRAGMAS:
        base.execute(f"PRAGMA {pragma}")
    base.set_authorizer(authorise)
    return base


def in_memory(file: Any) -> sqlite3.Connection:
    """Read a database that was compressed, whose unpacked file has no name."""
    file.seek(0)
    data = bytearray(file.read())
    data[JOURNALS] = b"\1\1"
    base = sqlite3.connect(":memory:", isolation_level=None)
    base.deserialize(data)
    return base


def authorise(action: int, _: str | None, name: str | None, *about: str | None) -> int:
    """Say whether a statement may do this: it may read, and call functions that do no more."""
    calls = action == sqlite3.SQLITE_FUNCTION and name not in FORBIDDEN_FUNCTIONS
    return sqlite3.SQLITE_OK if calls or action in READ_ACTIONS else sqlite3.SQLITE_DENY


def select_all(base: sqlite3.Connection, name: str) -> str:
    """Return a query for all of a table or a view, without a name for the only one."""
    tables = [str(found) for (found,) in base.execute(TABLES)]
    shown = ", ".join(one[:MAX_SHOWN] for one in tables[:MAX_TABLES_SHOWN]) + " and others" * (
        len(tables) > MAX_TABLES_SHOWN
    )
    if name and name.lower() not in [one.lower() for one in tables]:  # as SQLite compares them
        raise WrongError(f"no table named {name[:MAX_SHOWN]!r}", todo=f"It has {shown or 'none'}.")
    if not name and len(tables) != 1:
        todo = f"Name one behind the file, after #, or give a query (--source-query ...). It has {shown or 'none'}."
        raise WrongError(f"{len(tables):,} tables, and none is named", todo=todo)
    quoted = (name or tables[0]).replace('"', '""')
    return f'SELECT * FROM "{quoted}"'


def write(base: sqlite3.Connection, query: str, wanted: dict[str, Any], go_on: Any) -> None:
    cursor = base.execute(query)
    names = [str(column[0]) for column in cursor.description]
    if len(names) > wanted["max_columns"]:
        raise WrongError(f"{len(names):,} columns", limit="max_columns")
    places, _ = choose_columns(names, wanted)
    with ArrowWriter([names[place] for place in places], sys.stdout.buffer, wanted, go_on) as out:
        for number, row in enumerate(cursor, 1):
            values = [row[place] for place in places]
            if any(type(value) is bytes for value in values):
                name = next(names[place] for place in places if type(row[place]) is bytes)
                todo = "Leave the column out of the query, or make text of it: hex(column)."
                raise WrongError(f"bytes (a BLOB) in the column {name[:MAX_SHOWN]!r}", line=number, todo=todo)
            out.add(number, values)


def explain_error(error: Exception) -> WrongError:
    """Say what is wrong with the query, in SQLite's own words, or with the file."""
    message, name = str(error)[:MAX_SHOWN].rstrip("."), getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_AUTH" or message.startswith(NOT_ALLOWED):
        return WrongError("a query that does more than read", todo=ONE_SELECT)
    if name == "SQLITE_TOOBIG":
        return WrongError(message, limit="max_token_mib")
    if name.startswith(DAMAGED):
        return WrongError(message)
    if isinstance(error, sqlite3.Warning | sqlite3.ProgrammingError):
        return WrongError(f"no single statement ({message})", todo=ONE_SELECT)
    return WrongError(f"SQLite says: {message}", todo="Correct the query.")
