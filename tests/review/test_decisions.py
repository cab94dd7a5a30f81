"""The file of decisions: kept once, taken back by a further row, never changed, clear about what it cannot do."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

import pytest
from reviewing import decision

from mixtea.errors import RunError
from mixtea.review.decision import pair_decisions
from mixtea.review.decisions import APPLICATION_ID, VERSION, DecisionStore, decisions_path


@pytest.fixture
def path(tmp_path):
    return decisions_path(tmp_path / "run")


@pytest.fixture
def store(path):
    with closing(DecisionStore(path)) as found:
        yield found


def ids(rows):
    return [one.id for one in rows]


def said(store, several=()):
    return {pair: found.same for pair, found in pair_decisions(store.active(), several).items()}


def raw(path, statement):
    """What another program finds in the file."""
    with closing(sqlite3.connect(path)) as base:
        return base.execute(statement).fetchone()[0]


def test_a_decision_is_kept_as_it_was(store, path):
    one = decision(
        "k", "accept", "s", "t", "t", "u", batch="b", reason="random", shown=True, probability=0.25, votes="names",
        model="m", at="2024-05-06T07:08:09.000+00:00",
    )  # fmt: skip
    assert store.add([one]) == [one._replace(id=1)] == store.rows() == store.active()
    with closing(DecisionStore(path)) as again:
        assert again.rows() == store.rows() and again.last_id() == 1
    assert path.name == "run.decisions.sqlite"


def test_the_time_is_noted_where_none_is_said(store):
    (kept,) = store.add([decision("k", "unsure", "s", "t")])
    assert kept.at.endswith("+00:00") and kept.at[4] == kept.at[7] == "-"


def test_what_is_sent_twice_is_kept_once_and_as_it_was(store):
    first = store.add([decision("k", "accept", "s", "t")])
    again = store.add([decision("k", "reject", "s", "u"), decision("l", "none", "s", None, "t", "u")])
    assert again[0] == first[0] and ids(again) == ids(store.rows()) and len(store.rows()) == 2
    assert [(one.action, one.others) for one in store.rows()] == [("accept", ()), ("none", ("t", "u"))]


def test_all_are_kept_or_none(store):
    with pytest.raises(OSError, match="not saved"):
        store.add([decision("k", "accept", "s", "t"), decision("l", "perhaps", "s", "t")])
    assert store.rows() == [] and store.last_id() == 0
    store.add([decision("k", "accept", "s", "t")])
    assert len(store.rows()) == 1


def test_undo_takes_back_the_last_that_stands_by_a_further_row(store):
    store.add([decision("a", "accept", "s", "t"), decision("b", "reject", "s2", "u"), decision("c", "unsure", "s3")])
    assert [one.key for one in store.undo("ann", "x")] == ["c"]
    assert [one.key for one in store.undo("ann", "y")] == ["b"]
    assert [one.key for one in store.active()] == ["a"]
    rows = store.rows()
    assert [(one.action, one.undoes, one.source) for one in rows[3:]] == [("undo", 3, "s3"), ("undo", 2, "s2")]
    assert [one.key for one in rows[:3]] == ["a", "b", "c"] and store.last_id() == 5
    assert ids(store.rows(after=3)) == [4, 5]


def test_an_undo_sent_twice_is_done_once(store):
    store.add([decision("a", "accept", "s", "t"), decision("b", "accept", "s2", "u")])
    taken = store.undo("ann", "x")
    assert store.undo("ann", "x") == taken and [one.key for one in store.active()] == ["a"]
    assert [one.key for one in store.undo("ann", "x_")] == ["a"]  # a sign that means any sign to LIKE
    assert store.undo("ann", "xy") == [] and store.last_id() == 4


def test_each_takes_back_ones_own(store):
    store.add([decision("a", "accept", "s", "t"), decision("b", "accept", "s2", "u", reviewer="bob")])
    assert [one.key for one in store.undo("ann", "x")] == ["a"] and store.undo("ann", "y") == []
    assert [one.key for one in store.undo("bob", "z")] == ["b"] and store.active() == []


def test_what_was_decided_together_is_taken_back_together(store):
    store.add([decision("a", "accept", "s1", "t", batch="old")])
    store.add([decision(key, "accept", f"s{key}", "t", batch="new") for key in "bcd"])
    store.add([decision("e", "accept", "s5", "t", batch="new", reviewer="bob")])
    assert [one.key for one in store.undo("ann", "x")] == ["b", "c", "d"]
    assert [one.key for one in store.active()] == ["a", "e"]
    assert [one.key for one in store.undo("ann", "x")] == ["b", "c", "d"] and store.last_id() == 8


@pytest.mark.parametrize(
    "statement", ["UPDATE decision SET action = 'reject'", "DELETE FROM decision", "DELETE FROM decision WHERE id = 1"]
)
def test_nobody_changes_or_deletes_a_row(store, path, statement):
    store.add([decision("a", "accept", "s", "t")])
    with closing(sqlite3.connect(path)) as other, pytest.raises(sqlite3.IntegrityError, match="never"):
        other.execute(statement)
    assert [one.action for one in store.rows()] == ["accept"]


def test_one_row_is_taken_back_once(store):
    store.add([decision("a", "accept", "s", "t"), decision("b", "undo", "s", "t", undoes=1)])
    with pytest.raises(OSError, match="not saved"):
        store.add([decision("c", "undo", "s", "t", undoes=1)])
    assert store.active() == [] and len(store.rows()) == 2


# What stands about pairs


def test_the_last_word_counts(store):
    store.add([decision("a", "accept", "s", "t"), decision("b", "reject", "s", "t", reviewer="bob")])
    assert said(store) == {("s", "t"): False}
    found = pair_decisions(store.active())["s", "t"]
    assert (found.reviewer, found.id) == ("bob", 2)
    store.undo("bob", "x")
    assert said(store) == {("s", "t"): True}


def test_another_target_takes_the_place_of_one_accepted_before(store):
    store.add([decision("a", "accept", "s", "t"), decision("b", "accept", "s", "u"), decision("c", "accept", "z", "t")])
    assert said(store) == {("s", "u"): True, ("z", "t"): True}
    assert said(store, {"s"}) == {("s", "t"): True, ("s", "u"): True, ("z", "t"): True}
    store.add([decision("d", "accept", "z", "u")])
    assert said(store, {"s"}) == {("s", "t"): True, ("s", "u"): True, ("z", "u"): True}  # of z there is one
    for key in "xyz":
        store.undo("ann", key)
    assert said(store) == {("s", "t"): True}


def test_none_rejects_all_that_were_there(store):
    store.add([decision("a", "accept", "s", "t"), decision("b", "none", "s", None, "t", "u")])
    assert said(store) == {("s", "t"): False, ("s", "u"): False}
    store.add([decision("c", "accept", "s", "u", "t", "u")])
    assert said(store) == {("s", "t"): False, ("s", "u"): True}


def test_a_rejected_target_is_not_in_the_place_of_another(store):
    store.add([decision("a", "accept", "s", "t"), decision("b", "reject", "s", "t"), decision("c", "accept", "s", "u")])
    assert said(store) == {("s", "t"): False, ("s", "u"): True}


def test_unsure_and_audits_say_nothing(store):
    audits = [decision(reason, "accept", reason, "t", reason=reason) for reason in ("known", "repeat")]
    others = [decision(reason, "reject", reason, "t", reason=reason) for reason in ("random", "imported")]
    store.add([*audits, *others, decision("a", "unsure", "s", "t")])
    assert said(store) == {("random", "t"): False, ("imported", "t"): False} and len(store.active()) == 5


# Beside the decisions


def test_places_and_trainings_are_remembered(store, path):
    assert store.position("ann") == {} and store.trained("m") is None
    store.keep_position("ann", {"order": "worth", "shows": True})
    store.keep_position("ann", {"order": "random"})
    store.keep_trained("m", 7)
    with closing(DecisionStore(path)) as again:
        assert again.position("ann") == {"order": "random"} and again.position("bob") == {} and again.trained("m") == 7


def test_it_is_on_the_disk_when_it_is_said_to_be(store, path):
    """Others may read while one writes, and what was written survives a power cut."""
    assert store.base.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert store.base.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert (raw(path, "PRAGMA application_id"), raw(path, "PRAGMA user_version")) == (APPLICATION_ID, VERSION)


# What is no file of decisions


def test_a_database_of_something_else_is_refused_and_stays_as_it_is(path):
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(RunError, match=r"decisions\.sqlite: a database of something else\. Move it away"):
        DecisionStore(path)
    assert path.read_bytes() == before and [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_text_is_refused_and_stays_as_it_is(path):
    path.write_text("source\ttarget\n" * 100)
    with pytest.raises(RunError, match=r"cannot be used for decisions \(file is not a database\)"):
        DecisionStore(path)
    assert path.read_text().startswith("source\ttarget\n")


def test_a_later_version_is_refused(path):
    DecisionStore(path).close()
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version={VERSION + 1}")
    with pytest.raises(RunError, match=r"written by a later mixtea\. Update mixtea"):
        DecisionStore(path)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(RunError, match="cannot be used for decisions"):
        DecisionStore(tmp_path / "nowhere" / "d.sqlite")


# What goes wrong


def test_a_full_disk_is_said_and_when_there_is_room_again_it_goes_on(store):
    store.add([decision("a", "accept", "s", "t")])
    pages = store.base.execute("PRAGMA page_count").fetchone()[0]
    store.base.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(OSError, match=r"run\.decisions\.sqlite: not saved \(database or disk is full\)"):
        store.add([decision(f"k{i}", "accept", "s" * 1000, "t") for i in range(100)])
    assert [one.key for one in store.rows()] == ["a"]
    store.base.execute(f"PRAGMA max_page_count={pages + 1000}")
    store.add([decision("b", "accept", "s", "t")])
    assert [one.key for one in store.rows()] == ["a", "b"]


class FailsOnce:
    """A connection on which a statement fails the first time."""

    def __init__(self, base, statement):
        self.base, self.statement = base, statement

    def execute(self, text, *values):
        if text == self.statement:
            self.statement = None
            raise sqlite3.OperationalError("disk I/O error")
        return self.base.execute(text, *values)

    def __getattr__(self, name):
        return getattr(self.base, name)


def test_what_fails_at_the_last_moment_is_not_there_and_the_next_one_is(store, path):
    store.base = FailsOnce(store.base, "COMMIT")
    with pytest.raises(OSError, match=r"not saved \(disk I/O error\)"):
        store.add([decision("a", "accept", "s", "t")])
    store.add([decision("b", "accept", "s", "t")])
    assert [one.key for one in store.rows()] == ["b"] and raw(path, "SELECT count(*) FROM decision") == 1


def test_a_file_that_cannot_be_written_is_said(store):
    store.add([decision("a", "accept", "s", "t")])
    store.base.execute("PRAGMA query_only=ON")
    for change in (
        lambda: store.add([decision("b", "accept", "s", "t")]), lambda: store.undo("ann", "x"),
        lambda: store.keep_position("ann", {}), lambda: store.keep_trained("m", 1),
    ):  # fmt: skip
        with pytest.raises(OSError, match=r"not saved .*readonly"):
            change()
    store.base.execute("PRAGMA query_only=OFF")
    assert [one.key for one in store.active()] == ["a"]


def test_a_file_that_another_holds_is_said(store, path):
    store.base.execute("PRAGMA busy_timeout=20")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OSError, match=r"not saved .*locked"):
            store.add([decision("a", "accept", "s", "t")])
        other.execute("ROLLBACK")
    assert ids(store.add([decision("a", "accept", "s", "t")])) == [1]


# Several at once


def test_two_who_have_it_open_see_each_others_rows(store, path):
    with closing(DecisionStore(path)) as other:
        store.add([decision("a", "accept", "s", "t")])
        other.add([decision("b", "reject", "s", "t", reviewer="bob"), decision("a", "none", "z")])
        assert store.rows() == other.rows() and [one.key for one in store.rows()] == ["a", "b"]
        other.undo("bob", "x")
        assert [one.key for one in store.active()] == ["a"]


def test_many_at_once_lose_nothing(path):
    DecisionStore(path).close()

    def decide(name):
        with closing(DecisionStore(path)) as own:
            for i in range(20):
                own.add([decision(f"{name}{i}", "accept", f"{name}{i}", "t", reviewer=name)])
                own.add([decision(f"shared{i}", "accept", f"shared{i}", "t", reviewer=name)])

    threads = [threading.Thread(target=decide, args=[name]) for name in ("ann", "bob", "cleo")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    with closing(DecisionStore(path)) as store:
        keys = [one.key for one in store.rows()]
        assert len(keys) == len({*keys}) == 80 and ids(store.rows()) == sorted(ids(store.rows()))


def test_a_copy_is_whole_while_another_writes(store, path, tmp_path):
    store.add([decision(f"k{i}", "accept", f"s{i}", "t") for i in range(50)])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO place VALUES ('bob', '{}')")
        store.copy_to(tmp_path / "copy.sqlite")
        other.execute("COMMIT")
    with closing(DecisionStore(tmp_path / "copy.sqlite")) as copy:
        assert copy.rows() == store.rows() and copy.base.execute("SELECT count(*) FROM place").fetchone()[0] == 0
        assert copy.base.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    store.add([decision("new", "accept", "s", "t")])
    store.copy_to(tmp_path / "copy.sqlite")  # takes the place of the one before
    assert raw(tmp_path / "copy.sqlite", "SELECT count(*) FROM decision") == 51


class FullDisk:
    def backup(self, copy):
        raise sqlite3.OperationalError("disk is full")


def test_a_copy_where_none_can_be_made_is_said(store, tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    with pytest.raises(RunError, match="folder"):
        store.copy_to(tmp_path / "folder")
    with monkeypatch.context() as patched:
        patched.setattr(store, "base", FullDisk())
        with pytest.raises(RunError, match=r"copy\.sqlite: the copy could not be written \(disk is full\)"):
            store.copy_to(tmp_path / "copy.sqlite")
    assert not (tmp_path / "copy.sqlite").exists()
