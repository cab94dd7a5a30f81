"""Damaged, hostile and vanishing files of decisions: one message that names the file, and what can be read is kept."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from processes import MIXTEA, run
from reviewing import decision
from served import serving, small_run

from mixtea.errors import RunError
from mixtea.review.decision import COLUMNS
from mixtea.review.decisions import APPLICATION_ID, SCHEMA, DecisionStore

ROWS = 400
OURS = "PRAGMA application_id=1835629684; PRAGMA user_version=1;"
OTHER_SCHEMAS = {
    "a view without end": """
        DROP TABLE decision; CREATE VIEW decision AS WITH RECURSIVE x(id) AS (SELECT 1 UNION ALL SELECT id FROM x)
        SELECT id, '' key, '' at, '' reviewer, 'accept' action, '' source, '' target, '[]' others, NULL undoes,
        '' batch, '' reason, 0 shown, 0.5 probability, '' votes, '' model FROM x""",
    "a column less": "ALTER TABLE decision DROP COLUMN votes",
    "a column more": "ALTER TABLE decision ADD COLUMN more",
    "a table less": "DROP TABLE place",
    "no training": "DROP TABLE training",
    "a trigger": "CREATE TRIGGER x AFTER INSERT ON decision BEGIN DELETE FROM place; END",
    "no trigger": "DROP TRIGGER decision_stays",
    "an index of its own": "CREATE INDEX x ON decision (length(source))",
    "a table of its own": "CREATE TABLE x (y)",
    "a view as place": "DROP TABLE place; CREATE VIEW place AS SELECT 'ann' reviewer, '{}' value",
    "a generated column": "ALTER TABLE training ADD COLUMN z AS (last_id * 2)",
    "full text search": "CREATE VIRTUAL TABLE x USING fts5(y)",
}
BAD_VALUES = {
    "others": ["", "[", "{}", "[1]", "null", "[" * 5000, b"\xff"],
    "source": [b"\x00\xff", b"s"],
    "target": [b"\xfe"],
    "reviewer": [b"\xff"],
    "probability": ["likely", float("inf"), b"x"],
    "shown": ["yes", 0.5],
    "undoes": ["first", 1.5],
    "at": [b"\xff\xff"],
    "model": [b"m"],
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.decisions.sqlite"


@pytest.fixture
def filled(path):
    with closing(DecisionStore(path)) as store:
        store.add([decision(f"k{n}", "accept", f"s{n}", f"t{n}", f"t{n}") for n in range(ROWS)])
    return path


def script(path: Path, text: str) -> None:
    with closing(sqlite3.connect(path)) as base:
        base.executescript(text)


@pytest.mark.parametrize("what", OTHER_SCHEMAS)
def test_tables_that_are_not_ours_are_not_read(filled, what):
    script(filled, OTHER_SCHEMAS[what])
    with pytest.raises(RunError, match=r"not a file of decisions as mixtea writes it .* --decisions FILE") as raised:
        DecisionStore(filled)
    assert str(filled) in str(raised.value)


def test_a_mark_alone_does_not_make_a_file_ours(path):
    script(path, f"CREATE TABLE decision (id); PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version=1")
    with pytest.raises(RunError, match="not a file of decisions"):
        DecisionStore(path)


@pytest.mark.parametrize(
    ("column", "value"), [(name, value) for name, values in BAD_VALUES.items() for value in values]
)
def test_a_row_that_is_not_ours_is_left_out_and_the_others_hold(filled, column, value):
    ours = {
        "key": "x",
        "at": "2026",
        "reviewer": "eve",
        "action": "accept",
        "source": "s",
        "target": "t",
        "others": "[]",
    }
    row = ours | dict.fromkeys(("batch", "reason", "votes", "model"), "") | {"shown": 0} | {column: value}
    with closing(sqlite3.connect(filled)) as base:
        marks = ", ".join("?" * len(row))
        base.execute(f"INSERT INTO decision ({', '.join(row)}) VALUES ({marks})", [*row.values()])
        base.commit()
    with closing(DecisionStore(filled)) as store:
        assert len(store.rows()) == len(store.active()) == ROWS and store.unreadable == {ROWS + 1: column}
        assert store.read().last_id == ROWS + 1
        kept = store.add([decision("new", "reject", "s1", "t2", "t1")])
        assert kept == store.rows(after=ROWS) and len(store.undo("ann", "u")) == 1


def test_an_accepted_pair_without_a_target_is_left_out(filled):
    script(filled, "INSERT INTO decision (key, at, reviewer, action, source) VALUES ('x', '', 'eve', 'accept', 's')")
    with closing(DecisionStore(filled)) as store:
        assert len(store.rows()) == ROWS and store.unreadable == {ROWS + 1: "target"}


@pytest.mark.parametrize("value", ["", "[]", "null", "7", '"x"', "{", "[" * 5000, b"\xff"])
def test_a_place_that_cannot_be_read_is_none(filled, value):
    with closing(sqlite3.connect(filled)) as base:
        base.execute("INSERT INTO place VALUES ('ann', ?)", [value])
        base.commit()
    with closing(DecisionStore(filled)) as store:
        assert store.position("ann") == {}


@pytest.mark.parametrize("value", ["many", 1.5, b"\xff", ""])
def test_a_training_that_cannot_be_read_is_none(filled, value):
    with closing(sqlite3.connect(filled)) as base:
        base.execute("INSERT INTO training VALUES ('m', ?, '')", [value])
        base.commit()
    with closing(DecisionStore(filled)) as store:
        assert store.trained("m") is None


def test_a_value_without_end_is_not_read(filled):
    with closing(sqlite3.connect(filled)) as base:
        base.execute(
            "INSERT INTO decision (key, at, reviewer, action, source, target) VALUES ('x', '', '', 'accept', ?, 't')",
            ["s" * (17 << 20)],
        )
        base.commit()
    with pytest.raises(RunError, match=r"damaged .* too big"):
        DecisionStore(filled)
    with closing(DecisionStore(filled.with_name("run.decisions.recovered.sqlite"))) as store:
        assert len(store.rows()) == ROWS


@pytest.mark.parametrize("page", range(2, 18))
def test_what_can_be_read_of_a_damaged_file_is_saved_beside_it(filled, page):
    content = bytearray(filled.read_bytes())
    assert len(content) == 19 * 4096
    content[page * 4096 : page * 4096 + 4096] = b"\x07" * 4096
    filled.write_bytes(content)
    try:
        DecisionStore(filled).close()
    except RunError as error:
        found = filled.with_name("run.decisions.recovered.sqlite")
        assert f"{filled}: " in str(error) and filled.read_bytes() == bytes(content)
        if "damaged" in str(error):
            assert f"--decisions {found}" in str(error)
            with closing(DecisionStore(found)) as store:
                kept = store.rows()
                assert {one.key for one in kept} <= {f"k{n}" for n in range(ROWS)}
                assert f"The {len(kept):,} decisions that can be read" in str(error)
                assert all(one.target == f"t{one.key[1:]}" and one.id == int(one.key[1:]) + 1 for one in kept)
                assert len(kept) > ROWS / 2
    else:
        pytest.fail("the damage was not noticed")


@pytest.mark.parametrize("size", [0, 1, 50, 99, 100, 512, 4095])
def test_a_file_that_was_cut_off_is_empty_or_refused_by_name(filled, size):
    filled.write_bytes(filled.read_bytes()[:size])
    if size == 0:
        with closing(DecisionStore(filled)) as store:
            assert store.rows() == []
        return
    with pytest.raises(RunError, match=r"run\.decisions\.sqlite"):
        DecisionStore(filled)


@pytest.mark.parametrize("act", ["delete", "replace", "delete the log"])
def test_what_is_written_to_a_file_that_is_gone_is_not_called_saved(filled, act):
    with closing(DecisionStore(filled)) as store:
        store.add([decision("before", "accept", "s", "t")])
        if act == "delete":
            filled.unlink()
        elif act == "replace":
            with closing(DecisionStore(filled.with_name("other.sqlite"))):
                pass
            filled.with_name("other.sqlite").replace(filled)
        else:
            filled.with_name(f"{filled.name}-wal").unlink()
        for write in (
            lambda: store.add([decision("lost", "accept", "s", "t")]), lambda: store.undo("ann", "u"),
            lambda: store.take_over([decision("lost", "accept", "s", "t")]), lambda: store.keep_position("ann", {}),
            lambda: store.keep_trained("m", 1), store.again,
        ):  # fmt: skip
            with pytest.raises(OSError, match="deleted or replaced since it was opened"):
                write()


def test_rows_are_taken_over_all_or_none_and_counted(filled):
    with closing(DecisionStore(filled)) as store:
        new = [decision(f"n{n}", "reject", f"s{n}", "t0", "t0") for n in range(50)]
        assert store.take_over([*new, new[0], decision("k1", "reject", "x", "y")]) == 50
        assert store.take_over(new) == 0 and len(store.rows()) == ROWS + 50
        broken = decision("z", "perhaps", "s", "t")
        with pytest.raises(OSError, match="not saved"):
            store.take_over([decision("y", "accept", "s", "t"), broken])
        assert len(store.rows()) == ROWS + 50 and store.take_over([decision("y", "accept", "s", "t")]) == 1
        assert store.base.execute("SELECT count(*) FROM sqlite_temp_master").fetchone() == (0,)
    assert set(COLUMNS) <= set(SCHEMA.replace(",", " ").split())


# The page


@pytest.fixture(scope="module")
def folder(rings, tmp_path_factory):
    return small_run(rings, tmp_path_factory.mktemp("hostile") / "run", preset="paper", max_epochs=1, device="cpu")


def test_a_server_refuses_such_a_file_with_one_message(folder, filled):
    script(filled, OTHER_SCHEMAS["a view without end"])
    done = run([*MIXTEA, "review", folder, "--no-browser", "--decisions", filled])
    assert done.returncode == 2 and str(filled) in done.stderr and "Traceback" not in done.stderr


def test_the_page_goes_on_without_rows_that_cannot_be_read(folder, filled):
    script(filled, "INSERT INTO training VALUES ('m', 'x', ''); INSERT INTO place VALUES ('ann', '[[');")
    script(filled, "INSERT INTO decision (key, at, reviewer, action, source, target, others) VALUES "
                   "('x', '', 'eve', 'accept', 's1', 't1', '{');")  # fmt: skip
    shutil.copytree(folder, folder.with_name("run.reviewed"), dirs_exist_ok=True)
    try:
        with serving(folder, "--decisions", filled) as server:
            cookie = server.enter()
            page = server.ask("GET", "/", None, cookie)[2]
            assert "1 rows are left out" in page and "column others" in page
            form = server.card("/card/3", cookie)
            assert server.ask("POST", "/decide", form | {"action": "accept"}, cookie)[0] == 200
            for path in ("/team", "/log", "/status", "/decisions.sssom.tsv"):
                assert server.ask("GET", path, None, cookie)[0] == 200
            of = server.ask("GET", "/card/3", None, cookie)[2].partition("/alike/")[2].partition('"')[0]
            assert "favour" in server.ask("GET", f"/evidence/{of}", None, cookie)[2]
    finally:
        shutil.rmtree(folder.with_name("run.reviewed"))


def test_a_file_that_vanishes_under_the_page_is_said(folder, filled):
    with serving(folder, "--decisions", filled) as server:
        cookie = server.enter()
        form = server.card("/card/3", cookie) | {"action": "accept"}
        away = filled.rename(filled.with_name("away.sqlite"))
        status, _, text = server.ask("POST", "/decide", form, cookie)
        assert status == 503 and text.startswith("Not saved") and "deleted or replaced" in text
        away.rename(filled)
        assert server.ask("POST", "/decide", form, cookie)[0] == 200  # with the same key, once it is back
    with closing(DecisionStore(filled)) as store:
        assert [one.key for one in store.rows(after=ROWS)] == [form["key"]]
