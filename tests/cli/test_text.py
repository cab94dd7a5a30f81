"""What the command says is text, whatever its input holds; and how it ends when something is in its way."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import shlex
import subprocess
import sys

import pytest
import torch
from conftest import benchmark_files, write

from mixtea import cli
from mixtea.words import json_text, visible

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
    assert [line for line in lines if re.match("error: |  line |.*: [0-9]+ problem", line)] == lines and len(lines) > 4


def test_log_lines_stay_lines():
    record = logging.makeLogRecord({"levelname": "WARNING", "msg": "%s: left out", "args": (f"{TITLE}\nb",)})
    assert cli._Visible("%(levelname)s: %(message)s").format(record) == r"WARNING: \x1b]0;owned\x07\nb: left out"


def test_json_says_the_same_and_can_be_looked_at():
    value = {NASTY + "\x7f\U000e0041": ["é\n", "中", 1.5]}
    assert json.loads(json_text(value)) == value and is_text(json_text(value)) and "中" in json_text(value)


ENDS = {
    "interrupted": (KeyboardInterrupt(), 130, "interrupted\n"),
    "memory": (MemoryError(), 1, "error: memory is full (MemoryError). Use a smaller entity_dim"),
    "GPU memory": (torch.OutOfMemoryError("CUDA out of memory. Tried"), 1, "error: memory is full (CUDA out of"),
    "torch's memory": (RuntimeError("DefaultCPUAllocator: can't allocate memory: you"), 1, "error: memory is full ("),
    "a full disk": (OSError(errno.ENOSPC, "No space left", "x\x1b"), 1, "error: x\\x1b: cannot be written (No space"),
    "a broken disk": (OSError(errno.EIO, "Input/output error"), 1, "error: standard output: cannot be written (Input"),
    "permissions": (PermissionError(errno.EACCES, "Permission denied", "x\n"), 2, "error: x\\n: Permission denied."),
}


@pytest.mark.parametrize("kind", ENDS)
def test_each_end_has_its_code_and_one_message(kind, tmp_path, mixtea, monkeypatch):
    error, expected, message = ENDS[kind]

    def fails(*_, **__):
        raise error

    monkeypatch.setattr("mixtea.aligner.MixTEA.load", fails)
    code, out, err = mixtea("score", tmp_path)
    assert (code, out) == (expected, "") and err.startswith(message) and err.count("\n") == 1


@pytest.mark.parametrize("error", [RecursionError("too deep"), ValueError("a bug"), OSError(errno.EBADF, "bad")])
def test_bugs_stay_bugs(error, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr("mixtea.aligner.MixTEA.load", fails)
    monkeypatch.setattr(sys, "argv", ["mixtea", "score", str(tmp_path)])
    with pytest.raises(type(error)):
        cli.main()


def called(*args, **streams):
    """In a process of its own: (exit code, standard error)."""
    streams = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE} | streams
    done = subprocess.run([sys.executable, "-m", "mixtea", *map(str, args)], text=True, timeout=120, **streams)
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


def test_nobody_listening_on_standard_error_stops_no_work(broken_pipe, tmp_path):
    assert called("inspect", tmp_path / "none", stderr=broken_pipe)[0] == 2
    with os.fdopen(os.dup(broken_pipe), "w") as stream:
        aside = cli._Aside(stream)
        for _ in range(3):
            assert aside.write("epoch 1\n") == 8
            aside.flush()


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_no_reason_to_stop(folder, closed):
    command = f"exec {shlex.quote(sys.executable)} -m mixtea inspect {shlex.quote(str(folder))} --device cpu {closed}"
    assert subprocess.run(["bash", "-c", command], stderr=subprocess.DEVNULL).returncode == 0
