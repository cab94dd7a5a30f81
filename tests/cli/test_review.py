"""Decisions on the command line: out, in, copied, simulated, and learned from."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from conftest import SMALL_BEST, write
from reviewing import decision

from mixtea import MixTEA
from mixtea.config import STRUCTURE_VOTERS
from mixtea.experiments import simulated_reviewer
from mixtea.experiments.simulated_reviewer import simulate
from mixtea.review.decisions import DecisionStore, decisions_path
from mixtea.runs.reader import StoredRun

BEST = SMALL_BEST | {"voters": STRUCTURE_VOTERS, "max_epochs": 1}
CHOSEN = BEST | {"voters": ",".join(STRUCTURE_VOTERS)}
SHORT = [word for name, value in CHOSEN.items() for word in ("--set", f"{name}={value}")]
HEAD = "subject_id\tpredicate_id\tobject_id\tpredicate_modifier\tconfidence\n"


@pytest.fixture(scope="module")
def trained(rings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "rings"
    MixTEA(**BEST).fit(rings).save(folder)
    return folder


@pytest.fixture
def run(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


def ids_of(task, links):
    return [(str(task.source.ids[s]), str(task.target.ids[t])) for s, t in links.tolist()]


@pytest.fixture
def decided(run, rings):
    """Two decisions about the run: the pairs of them."""
    first, second = ids_of(rings, rings.test[:2])
    with closing(DecisionStore(decisions_path(run))) as store:
        store.add([decision("a", "accept", *first), decision("b", "reject", *second)])
    return first, second


def reviewed(folder):
    return "--reviewed", folder / "d.sssom.tsv"


def sssom(rows):
    return HEAD + "".join(f"{s}\tskos:exactMatch\t{t}\t{no}\t{sure}\n" for s, t, no, sure in rows)


def test_decisions_go_out_and_come_back_in(run, decided, mixtea, tmp_path):
    path = tmp_path / "d.sssom.tsv"
    code, out, _ = mixtea("review", run, "--export", path)
    assert (code, out) == (0, f"{path}: 2 pairs from 2 decisions\n")
    other = tmp_path / "other.sqlite"
    for new in (2, 0):
        code, out, _ = mixtea("review", run, "--import", path, "--decisions", other, "--reviewer", "bob")
        assert (code, out) == (0, f"{path}: {new} new decisions of 2\n")
    with closing(DecisionStore(other)) as store:
        assert [(one.source, one.target, one.action, one.reviewer) for one in store.active()] == [
            (*decided[0], "accept", "ann"), (*decided[1], "reject", "ann"),
        ]  # fmt: skip


def test_links_that_come_in_are_of_who_brings_them(run, rings, mixtea, tmp_path):
    write(tmp_path, {"l.tsv": "\t".join(ids_of(rings, rings.test[:1])[0]) + "\n"})
    assert mixtea("review", run, "--import", tmp_path / "l.tsv", "--reviewer", "bob")[0] == 0
    with closing(DecisionStore(decisions_path(run))) as store:
        assert [one.reviewer for one in store.active()] == ["bob"]


def test_a_copy(run, decided, mixtea, tmp_path):
    code, out, _ = mixtea("review", run, "--copy", tmp_path / "copy.sqlite")
    assert (code, out) == (0, f"{tmp_path / 'copy.sqlite'}: 2 decisions that stand\n")
    with closing(sqlite3.connect(tmp_path / "copy.sqlite")) as base:
        assert base.execute("SELECT count(*) FROM decision").fetchone()[0] == 2


@pytest.mark.parametrize("what", ["--export", "--copy"])
def test_no_file_is_replaced_unless_that_is_asked_for(run, decided, mixtea, tmp_path, what):
    write(tmp_path, {"mine": "of hours"})
    code, out, err = mixtea("review", run, what, tmp_path / "mine")
    assert (code, out) == (2, "") and "mine: a file is already there. Name another, or say --overwrite." in err
    assert (tmp_path / "mine").read_text() == "of hours"
    assert mixtea("review", run, what, tmp_path / "mine", "--overwrite")[0] == 0
    assert (tmp_path / "mine").read_bytes() != b"of hours"


def test_one_thing_at_a_time(run, mixtea, tmp_path):
    code, out, err = mixtea("review", run, "--export", tmp_path / "a", "--copy", tmp_path / "b")
    assert code == 2 and out == "" and "Name one of --export, --import, --copy and --simulate." in err
    assert not decisions_path(run).exists()


@pytest.mark.parametrize("what", ["--export", "--import", "--copy"])
def test_a_run_that_is_not_there_is_named_and_nothing_is_left_beside_it(mixtea, tmp_path, what):
    write(tmp_path, {"l.tsv": "a\tA\n"})
    code, _, err = mixtea("review", tmp_path / "nothing", what, tmp_path / "l.tsv")
    assert code == 2 and "nothing" in err and "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["l.tsv"] and (tmp_path / "l.tsv").read_text() == "a\tA\n"


def test_a_file_that_holds_no_decisions_is_named(run, mixtea, tmp_path):
    write(tmp_path, {"d.sqlite": "text, and not a little of it\n" * 50, "l.tsv": "one column\n"})
    code, _, err = mixtea("review", run, "--export", tmp_path / "out.tsv", "--decisions", tmp_path / "d.sqlite")
    assert code == 2 and "d.sqlite: cannot be used for decisions" in err and not (tmp_path / "out.tsv").exists()
    code, _, err = mixtea("review", run, "--import", tmp_path / "l.tsv")
    assert code == 2 and "l.tsv" in err and "1 column" in err


def test_a_simulated_reviewer(run, rings, mixtea, tmp_path, monkeypatch):
    few = {"orders": ("random",), "steps": (3,)}
    monkeypatch.setattr(simulated_reviewer, "simulate", lambda *files, **how: simulate(*files, **how | few))
    write(tmp_path, {"gold.tsv": "".join(f"{s}\t{t}\n" for s, t in ids_of(rings, rings.test))})
    code, out, err = mixtea("review", run, "--simulate", tmp_path / "gold.tsv", "--error", "0.2")
    assert code == 0 and "errs in 20%" in out and "random: 3 decisions, Hit@1" in err
    assert not decisions_path(run).exists()


# Learning from a file of decisions


def test_fit_learns_from_decisions(rings_folder, rings, mixtea, tmp_path):
    accepted, rejected = ids_of(rings, rings.test[:2])
    write(tmp_path, {"d.sssom.tsv": sssom([(*accepted, "", ""), (*rejected, "Not", "")])})
    code, _, err = mixtea("fit", rings_folder, *reviewed(tmp_path), "--out", tmp_path / "run", *SHORT)
    assert code == 0, err
    found = StoredRun(tmp_path / "run")
    assert found.task_.train.tolist() == [*rings.train.tolist(), rings.test[0].tolist()]
    assert found.task_.rejected.tolist() == [rings.test[1].tolist()]
    row = found.answers_.ranked.target[found.answers_.source_index == rings.test[1, 0]]
    assert len(row) == 1 and rings.test[1, 1] not in row and found.config.voters == STRUCTURE_VOTERS


def test_fit_lets_unreliable_reviewers_vote(rings_folder, rings, mixtea, tmp_path):
    first, second = ids_of(rings, rings.test[:2])
    write(tmp_path, {"d.sssom.tsv": sssom([(*first, "", "0.9"), (*second, "Not", "0.7")])})
    code, out, err = mixtea("fit", rings_folder, *reviewed(tmp_path), "--out", tmp_path / "run", *SHORT)
    assert code == 0, err
    found = StoredRun(tmp_path / "run")
    assert found.config.voters == (*STRUCTURE_VOTERS, "reviewer") and "reviewer" in out + err
    assert found.task_.reviewed.pairs.tolist() == rings.test[:2].tolist()
    assert np.sign(found.task_.reviewed.log_odds).tolist() == [1, -1]
    assert found.task_.train.tolist() == rings.train.tolist()


def test_what_a_review_exports_a_fit_learns_from(run, decided, rings_folder, rings, mixtea, tmp_path):
    assert mixtea("review", run, "--export", tmp_path / "d.sssom.tsv")[0] == 0
    assert mixtea("fit", rings_folder, *reviewed(tmp_path), "--out", tmp_path / "new", *SHORT)[0] == 0
    found = StoredRun(tmp_path / "new").task_
    assert ids_of(found, found.train)[-1] == decided[0] and ids_of(found, found.rejected) == [decided[1]]


@pytest.mark.parametrize(
    ("content", "said"), [(None, "no such file"), ("x\ty\n", "its only link does not fit the graphs")]
)
def test_a_wrong_file_of_decisions_is_named_and_nothing_is_trained(rings_folder, mixtea, tmp_path, content, said):
    if content is not None:
        write(tmp_path, {"d.tsv": content})
    code, _, err = mixtea("fit", rings_folder, "--reviewed", tmp_path / "d.tsv", "--out", tmp_path / "run", *SHORT)
    assert code == 2 and "d.tsv" in err and said in err and not (tmp_path / "run").exists()


def test_decisions_that_leave_no_link_are_refused(rings_folder, rings, mixtea, tmp_path):
    rows = [(*pair, "Not", "") for pair in ids_of(rings, rings.train)]
    write(tmp_path, {"d.sssom.tsv": sssom(rows)})
    code, _, err = mixtea("fit", rings_folder, *reviewed(tmp_path), "--out", tmp_path / "run", *SHORT)
    assert code == 2 and "reject all training links" in err and not (tmp_path / "run").exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_a_page_is_served_under_one_address(run, mixtea, host):
    """Requests must name the host, and nobody can name all of them."""
    code, _, said = mixtea("review", run, "--host", host, "--no-browser")
    assert code == 2 and "the one address" in said
