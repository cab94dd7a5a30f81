"""What the command says is text, whatever its input holds; and how it ends when something is in its way."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import shlex
import sys

import pytest
import torch
from conftest import LINKS, SOURCE, TARGET, benchmark_files, write
from processes import MIXTEA, run

from mixtea import DataError, cli, load_task
from mixtea.cli import ending
from mixtea.cli.console import MAX_LINE_CHARS
from mixtea.errors import Problem, Problems
from mixtea.messages import json_text, visible

UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
TITLE, LINK, COLOUR = "\x1b]0;owned\x07", "\x1b]8;;http://e.org\x1b\\x", "\x9b31m"
NASTY = f"[red]{TITLE}{LINK}{COLOUR}\u202e[link=http://e.org]y[/link]"


def nasty_folder(tmp_path):
    """A benchmark folder with an evil name, evil relations and evil entities."""
    files = {
        name: content.replace("r\t", f"r{NASTY}\t").replace("a\t", f"a{NASTY}\t").replace("A\n", f"A{NASTY}\n")
        if not name.endswith("_2")
        else content.replace("A\t", f"A{NASTY}\t")
        for name, content in benchmark_files().items()
    }
    return write(tmp_path / f"evil{NASTY.replace('/', '')}\nsecond line", files)


def is_text(said):
    return UNSEEN.search(said) is None


def test_tables_show_labels_and_names_as_they_are(tmp_path, mixtea, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    code, out, err = mixtea("inspect", nasty_folder(tmp_path))
    assert code == 0 and is_text(err)
    tables = "\n".join(line for line in out.split("\n") if not line.startswith("warning"))
    assert is_text(tables) and visible(f"r{NASTY}") in out and "evil[red]" in out and "\nsecond line" not in out


def test_errors_quote_file_names_in_one_line(tmp_path, mixtea):
    folder = nasty_folder(tmp_path)
    for args in (("inspect", folder / "none"), ("score", folder), ("score", f"{folder}/{TITLE}"), ("fit", "--out")):
        code, out, err = mixtea(*args)
        assert code == 2 and out == "" and is_text(err)
    code, _, err = mixtea("score", folder)
    assert err.count("\n") == 1 and visible(folder / "run.json") in err
    code, _, err = mixtea(f"fly{TITLE}")
    assert code == 2 and is_text(err) and "fly" in err


def test_problems_keep_their_lines(tmp_path, mixtea):
    write(folder := nasty_folder(tmp_path), {"rel_triples_1": "a\n\nb\tc\n", "ent_links": f"{TITLE}\n"})
    code, _, err = mixtea("inspect", folder)
    lines = err.rstrip("\n").split("\n")
    assert code == 2 and is_text(err)
    ours = "error: |  line |  (?:none|its only) .*fits? the graphs|.*: [0-9]+ problem"
    assert [line for line in lines if re.match(ours, line)] == lines and len(lines) > 4


FORGED = "\n  line 9: forged"


def own_files(tmp_path, links="l.tsv"):
    """Two graphs and links of a user, and the options that name them."""
    write(tmp_path, {"a.tsv": SOURCE, "b.tsv": TARGET, links: LINKS})
    return ("--source", tmp_path / "a.tsv", "--target", tmp_path / "b.tsv", "--links", tmp_path / links)


def test_names_forge_no_lines(tmp_path, mixtea):
    fold = write(tmp_path / "oe", benchmark_files() | {f"721_5fold/a{FORGED}/train_links": ""})
    called = own_files(tmp_path, f"l{FORGED}.tsv")
    write(tmp_path, {"t.tsv": LINKS})
    header = f": 1 problem{FORGED}"
    for args, n_lines in (
        (("inspect", fold, "--fold", 7), 1),
        (("inspect", f"x{FORGED}"), 1),
        (("predict", f"x{FORGED}", "--out", tmp_path / "p.tsv"), 1),
        (("inspect", *called[:4], "--links", f"x{header}"), 2),
        (("inspect", *called, "--test-links", tmp_path / "t.tsv"), 2),
    ):
        code, out, err = mixtea(*args)
        assert (code, out) == (2, "") and err.count("\n") == n_lines, err
        assert FORGED not in err and r"\n  line 9: forged" in err


def test_an_error_knows_its_lines(tmp_path):
    with pytest.raises(DataError) as refused:
        load_task(source=tmp_path / "a", target=tmp_path / f"b{FORGED}", links=tmp_path / "c\nd")
    lines = refused.value.lines()
    assert str(refused.value) == "\n".join(lines) and len(lines) == 6 and not any("\n" in line for line in lines)
    assert DataError(f"a{FORGED}").lines() == [f"a{FORGED}"]


def test_messages_are_cut_in_the_middle(tmp_path):
    long = "x" * 3_000_000
    problem = Problem(tmp_path, 1, long, f"linked to {long} here and to {long} in a file, line 3:", long)
    assert len(problem.value + problem.what + problem.todo) < 2000
    assert str(problem).startswith("  line 1: linked to xxx") and " in a file, line 3: 'xxx" in str(problem)
    problems = Problems()
    problems.add(tmp_path, 1, "\x1b" * 400, "\U0001d173" * 3000, "Mend it.")
    with pytest.raises(DataError) as refused:
        problems.raise_if_any()
    assert len(str(refused.value)) < 2000 and str(refused.value).endswith(". Mend it.")


def test_labels_too_long_to_read_are_not_printed(tmp_path, mixtea):
    long = "a relation " * 20_000
    called = own_files(tmp_path)
    write(tmp_path, {"a.tsv": SOURCE.replace("\tr\t", f"\t{long}\t"), "l.tsv": LINKS + f"a\t{long}\n{long}\tA\n"})
    code, _, err = mixtea("inspect", *called, "--strict")
    assert code == 2 and len(err) < 3000
    assert len(load_task(**dict(zip(("source", "target", "links"), called[1::2], strict=True))).warnings[0]) < 1500
    write(tmp_path, {"l.tsv": LINKS})
    code, out, _ = mixtea("inspect", *called, "--device", "cpu")
    assert code == 0 and len(out) < 10_000 and "…" in out
    code, _, err = mixtea("inspect", *called, "--limit", long)
    assert code == 2 and len(err) < 2 * MAX_LINE_CHARS


def test_what_is_logged_can_be_shown(tmp_path, caplog):
    evil = (
        write(tmp_path, {f"l{COLOUR}\n.tsv": LINKS + "a\tA\n", "a.tsv": SOURCE, "b.tsv": TARGET}) / f"l{COLOUR}\n.tsv"
    )
    task = load_task(source=tmp_path / "a.tsv", target=tmp_path / "b.tsv", links=evil)
    assert [record.getMessage() for record in caplog.records] == list(task.warnings) and is_text(task.warnings[0])
    assert task.warnings == (f"{visible(evil)}: 1 repeated link, used once",)


def test_letters_without_a_shape_are_shown():
    hidden = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180f\u3164\uffa0\u2800\ufff0\ufff8\U00013430\U0001345f\U0001bca0"
    for letter in hidden + "\U0001d173\U0001d17a\U000e0000\U000e0100\U000e01ef\U000e0fff":
        assert visible(letter) == letter.encode("ascii", "backslashreplace").decode()
    assert visible("\ufe0e\ufe0f\u200c\u200d한ក") == "\ufe0e\ufe0f\u200c\u200d한ក"


def test_log_lines_stay_lines():
    record = logging.makeLogRecord({"levelname": "WARNING", "msg": "%s: left out", "args": (f"{TITLE}\nb",)})
    assert ending._Visible("%(levelname)s: %(message)s").format(record) == r"WARNING: \x1b]0;owned\x07\nb: left out"


def test_json_says_the_same_and_can_be_looked_at():
    value = {NASTY + "\x7f\U000e0041": ["é\n", "中", 1.5]}
    assert json.loads(json_text(value)) == value and is_text(json_text(value)) and "中" in json_text(value)


ENDS = {
    "interrupted": (KeyboardInterrupt(), 130, "interrupted\n"),
    "memory": (MemoryError(), 1, "error: memory is full (MemoryError). Use smaller graphs, with fewer labels"),
    "GPU memory": (torch.OutOfMemoryError("CUDA out of memory. Tried"), 1, "error: memory is full (CUDA out of"),
    "torch's memory": (RuntimeError("DefaultCPUAllocator: can't allocate memory: you"), 1, "error: memory is full ("),
    "a full disk": (OSError(errno.ENOSPC, "No space left", "x\x1b"), 1, "error: x\\x1b: cannot be written (No space"),
    "a broken disk": (OSError(errno.EIO, "Input/output error"), 1, "error: a file could not be read or written (Input"),
    "permissions": (PermissionError(errno.EACCES, "Permission denied", "x\n"), 2, "error: x\\n: Permission denied."),
}


@pytest.mark.parametrize("kind", ENDS)
def test_each_end_has_its_code_and_one_message(kind, tmp_path, mixtea, monkeypatch):
    error, expected, message = ENDS[kind]

    def fails(*_, **__):
        raise error

    monkeypatch.setattr(sys.modules["mixtea.cli.predict"], "StoredRun", fails)
    code, out, err = mixtea("score", tmp_path)
    assert (code, out) == (expected, "") and err.startswith(message) and err.count("\n") == 1


@pytest.mark.parametrize("error", [RecursionError("too deep"), ValueError("a bug"), OSError(errno.EBADF, "bad")])
def test_bugs_stay_bugs(error, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(sys.modules["mixtea.cli.predict"], "StoredRun", fails)
    monkeypatch.setattr(sys, "argv", ["mixtea", "score", str(tmp_path)])
    with pytest.raises(type(error)):
        cli.main()


def called(*args, **streams):
    """In a process of its own: (exit code, standard error)."""
    done = run([*MIXTEA, *args], **streams)
    return done.returncode, done.stderr


@pytest.fixture
def broken_pipe():
    """Where nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def test_who_reads_the_output_may_leave(broken_pipe):
    assert called("--help", stdout=broken_pipe) == (0, "")
    assert called("--version", stdout=broken_pipe) == (0, "")


def test_a_full_standard_output_is_one_message():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        code, err = called("--version", stdout=full)
    assert (
        code == 1 and err == "error: standard output: cannot be written (No space left on device). Make room for it.\n"
    )


def test_a_standard_output_that_fills_up_on_the_way_is_named(tmp_path):
    with open("/dev/full", "w") as full:  # noqa: PTH123
        code, err = called("inspect", *own_files(tmp_path), "--device", "cpu", stdout=full)
    assert code == 1 and err.endswith("error: standard output: cannot be written (No space left on device). Make room "
                                      "for it.\n")  # fmt: skip


def test_nobody_listening_on_standard_error_stops_no_work(broken_pipe, tmp_path):
    assert called("inspect", tmp_path / "none", stderr=broken_pipe)[0] == 2
    with os.fdopen(os.dup(broken_pipe), "w") as stream:
        aside = ending._ErrorStream(stream)
        for _ in range(3):
            assert aside.write("epoch 1\n") == 8
            aside.flush()


CLOSED = {">&-": "--version", "2>&-": "--version", ">&- 2>&-": "--version", "<&- >&- 2>&-": "inspect"}


@pytest.mark.parametrize("closed", CLOSED)
def test_streams_that_are_closed_are_no_reason_to_stop(folder, closed):
    words = [*MIXTEA, CLOSED[closed], *([folder] if CLOSED[closed] == "inspect" else [])]
    assert run(["bash", "-c", f"exec {shlex.join(map(str, words))} {closed}"]).returncode == 0
