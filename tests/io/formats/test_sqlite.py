"""Databases of SQLite: tables, views and queries, and that nothing is written or run."""

from __future__ import annotations

import gzip
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import write
from small_files import sqlite, triples_of

from mixtea import DataError, Limits, load_task
from mixtea.io.formats.typed_tables import ColumnRequest, read_sqlite
from mixtea.io.paths import split_name
from mixtea.io.safe.limits import UnreadableError, use_limits
from mixtea.io.safe.sandboxed import sqlite_child, table_child
from mixtea.io.safe.sandboxed.restrict import WrongError

TOWNS = ("id TEXT, name TEXT, size REAL, founded INTEGER, part TEXT",
         [("a", "Rome", 2.5, -753, "b"), ("b", "Italy", None, 1861, None)])  # fmt: skip
VIEW = "CREATE VIEW same AS SELECT 'a' AS source, 'x' AS target UNION SELECT 'b', 'y'"
BASE = sqlite({"towns": TOWNS, "other": ("id, name", [("x", "Roma"), ("y", "Italia")])}, VIEW)
ALL = ColumnRequest([("head", "relation", "tail")], or_all=True)


@pytest.fixture
def base(tmp_path):
    return write(tmp_path, {"b.db": BASE}) / "b.db"


def test_tables_views_and_queries(base):
    query = "SELECT id, name, 'http://b.org/' || id AS home FROM other WHERE name > 'A\u2215\u2216' -- 50% //"
    task = load_task(source=f"sqlite:{base}#Towns", target=f"sqlite:{base}", target_query=query, links=f"{base}#same")
    assert triples_of(task.source) == [("a", "part", "b")] and task.source.label(0) == "Rome" and task.name == "b-b"
    assert [value[:2] for value in task.source.attributes_of(0)][1:] == [("size", "2.5"), ("founded", "-753")]
    assert ("y", "home", "http://b.org/y") in triples_of(task.target) and len(task.train) + len(task.valid) == 2
    assert not any("read as SQLite" in warning for warning in task.warnings)
    again = dict(source=base, source_query=["SELECT * FROM towns"], target=f"{base}#other")
    assert triples_of(load_task(**again, links=base, links_query="SELECT * FROM same").source) == triples_of(
        task.source
    )


def test_queries_and_databases_must_be_as_many(base):
    given = dict(target=f"{base}#other", links=[("a", "x")])
    for source, query, message in (
        ([("a", "r", "b")], "SELECT 1", "source_query: 1 for 0 of its files that are databases. Give one for each"),
        (base, ["SELECT 1"] * 2, "source_query: 2 for 1 of its files that are databases"),
        (f"{base}#towns", "SELECT 1", "b.db#towns names a table already. Leave that out, or the query"),
        (base, 5, r"source_query is 5\. Give one SELECT, or a list of such"),
    ):
        with pytest.raises(DataError, match=message):
            load_task(source=source, source_query=query, **given)
    both = load_task(source=[base, f"sqlite:{base}"], source_query=[f"SELECT * FROM {of}" for of in ("towns", "other")],
                     **given)  # fmt: skip
    assert both.source.ids.tolist() == ["a", "b", "x", "y"]


WRONG = {
    "": "3 tables, and none is named. Name one behind the file, after #, or give a query (--source-query",
    "#nope": "no table named 'nope'. It has other, towns, same.",
    "SELECT nme FROM towns": "SQLite says: no such column: nme. Correct the query.",
    "SELECT FROM towns": 'SQLite says: near "FROM": syntax error. Correct the query.',
    "SELECT 1; SELECT 2": "no single statement (You can only execute one statement at a time). Give one statement that",
    "DELETE FROM towns": "no query that reads: 'DELETE FROM towns'. Give one statement that begins with SELECT, or",
    "/* x */ -- y\n PRAGMA journal_mode": "no query that reads: '/* x */ -- y\\n PRAGMA journal_mode'",
    "WITH x AS (SELECT 1) DELETE FROM towns": "a query that does more than read. Give one statement",
    "SELECT load_extension('x')": "a query that does more than read",
    "SELECT id, name AS id FROM towns": "two columns named id. Name each column once.",
    "SELECT id, x'00ff' AS photo FROM towns": "row 1: bytes (a BLOB) in the column 'photo'. Leave the column out of",
    "SELECT id, CAST(x'ff' AS TEXT) AS t FROM towns": "SQLite says: Could not decode to UTF-8 column 't'",
    "SELECT id, hex(zeroblob(9000000)) AS t FROM towns": "string or blob too big: beyond the limit max_token",
    "WITH RECURSIVE n(id, b) AS (SELECT 1, 2 UNION ALL SELECT id, b FROM n) SELECT max(id) AS id, b FROM n":
        "parsing it as SQLite got nowhere for 0.5 seconds",
    "WITH RECURSIVE n(id, b) AS (SELECT 1, 'xxxxxxxxxx' UNION ALL SELECT id + 1, b FROM n) SELECT * FROM n":
        "more than 20,000 rows: beyond the limit max_rows",
}  # fmt: skip


@pytest.mark.parametrize("query", WRONG)
def test_what_is_not_read_is_told_in_one_message(query, base):
    given = dict(target=f"{base}#other", links=[("a", "x")], limits=Limits(max_stall_seconds=0.5, max_rows=20_000))
    given["source"] = f"sqlite:{base}{query if query.startswith('#') else ''}"
    if query and query not in given["source"]:
        given["source_query"] = query
    with pytest.raises(DataError) as caught:
        load_task(**given)
    assert WRONG[query] in str(caught.value) and str(caught.value).count("\n") == 1
    assert base.read_bytes() == BASE and [path.name for path in base.parent.iterdir()] == ["b.db"]


def test_a_missing_file_is_not_made(tmp_path):
    with pytest.raises(DataError, match=r"no\.db: 1 problem\n  no such file\. Check the path"):
        load_task(source=f"sqlite:{tmp_path}/no.db", target=[("x", "r", "y")], links=[("a", "x")])
    assert not list(tmp_path.iterdir())


def test_changes_beside_the_file_are_not_passed_over(base):
    with closing(sqlite3.connect(base)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO other VALUES ('z', 'Zara')")
        writer.commit()
        with pytest.raises(UnreadableError, match=r"not in the file yet lie beside it, in b\.db-wal\. Close"):
            read_sqlite(Path(f"{base}#other"), ALL)
    assert read_sqlite(Path(f"{base}#other"), ALL).columns[0].tolist() == ["x", "y", "z"]
    write(base.parent, {"b.db-journal": bytes(512)})  # one that is done with
    packed = gzip.compress(base.read_bytes())
    assert read_sqlite(Path(f"{base}#other"), ALL).columns[1].tolist() == ["Roma", "Italia", "Zara"]
    write(base.parent, {"c.db.gz": packed})
    assert read_sqlite(base.parent / "c.db.gz#other", ALL).columns[0].tolist() == ["x", "y", "z"]


def test_names_of_files_and_tables_with_odd_signs(tmp_path):
    content = sqlite({'"a#b ""c"""': ("id, n", [("a", 1)])})
    write(tmp_path, {"50% #1?.db": content, "x#y.xlsx": b"", "plain": content})
    cells = read_sqlite(Path(f'sqlite:{tmp_path}/50% #1?.db#a#b "c"'), ALL)
    assert list(zip(*cells.columns, strict=True)) == [("a", "1")]
    assert split_name(tmp_path / "x#y.xlsx").file == tmp_path / "x#y.xlsx" and split_name(Path("c#.csv")).part == ""
    assert split_name(Path(f"sqlite:{tmp_path}/plain#t")) == (tmp_path / "plain", "t", "")
    assert split_name(Path("sqlite:" + "x" * 300 + "#t")).part == "t"


WANTED = {
    "n": 1, "headers": [("source",)], "max_token": 10**6, "max_bytes": 10**6, "max_columns": 5, "links": False,
    "max_rows": 100, "bytes_limit": "max_expansion", "mib": 500, "seconds": 5.0, "without_numpy": False, "or_all": True,
    "query": "", "table": "",
}  # fmt: skip


@pytest.fixture
def found(tmp_path, monkeypatch):
    """What the child makes of a database, in this process: rows, or what is wrong."""
    monkeypatch.setattr(sqlite_child, "restrict", lambda *_: lambda n: None)

    def work(content, *, packed=False, **wanted):
        path = write(tmp_path, {"in.db": content}) / "in.db"
        uri = "" if packed else path.as_uri() + "?mode=ro&immutable=1"
        with path.open() as source, (tmp_path / "out").open("w") as out:
            monkeypatch.setattr(sys, "stdin", source)
            monkeypatch.setattr(sys, "stdout", out)
            try:
                assert sqlite_child.work(WANTED | {"uri": uri} | wanted) == {}
            except WrongError as error:
                return error.about
        table = pa.ipc.open_stream((tmp_path / "out").read_bytes()).read_all()
        return [tuple(row.values()) for row in table.to_pylist()]

    return work


def test_databases_in_the_child(found):
    assert found(BASE, table="towns") == [
        ("ta", "tRome", "f2.5", "n-753", "tb", 1),
        ("tb", "tItaly", "", "n1861", "", 2),
    ]
    assert found(BASE, packed=True, query="SELECT id FROM other", or_all=False) == [("tx", 1), ("ty", 2)]
    assert found(sqlite({"one": ("id", [(1,)])})) == [("n1", 1)]
    assert found(sqlite({}, "CREATE TABLE a (x)", "DROP TABLE a"))["todo"].endswith("It has none.")
    assert found(BASE, table="nope") == {"what": "no table named 'nope'", "todo": "It has other, towns, same."}
    assert found(BASE, query="SELECT id AS source, name AS Source FROM other")["what"] == "two columns named source"
    assert found(BASE, table="other", max_bytes=50)["limit"] == "max_expansion"
    many = {f"t{i:02}": ("id", []) for i in range(30)}
    assert found(sqlite(many))["todo"].endswith("t18, t19 and others.") and found(sqlite(many), table="t29") == []
    assert found(BASE, table="towns", max_columns=4)["limit"] == "max_columns"
    assert found(BASE, query="SELECT 1; SELECT 2")["todo"] == table_child.ONE_SELECT
    assert found(BASE, query="DROP TABLE towns")["what"] == "a query that does more than read"
    assert found(BASE, query="SELECT zeroblob(9000000)")["limit"] == "max_token_mib"
    assert found(BASE, query="SELECT x FROM towns")["todo"] == "Correct the query."
    assert found(BASE, query="SELECT x'00' AS b")["line"] == 1
    assert found(BASE[:8192])["what"] == "it ends in the middle"
    damaged = bytearray(sqlite({"t": ("id, n", [(f"a{i}", "b" * 100) for i in range(90)])}))
    damaged[4096:4200] = b"\xff" * 104
    assert found(bytes(damaged)) == {"what": "database disk image is malformed"}
    assert found(bytes(damaged[:16] + bytes(2) + damaged[18:])) == {"what": "file is not a database"}


def test_only_the_limits_of_the_call_hold(base):
    with (
        use_limits(Limits(max_rows=1)),
        pytest.raises(UnreadableError, match="more than 1 rows: beyond the limit max_rows"),
    ):
        read_sqlite(Path(f"{base}#other"), ALL)
