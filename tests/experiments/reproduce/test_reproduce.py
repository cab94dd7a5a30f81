"""`mixtea reproduce` on the bundled example: whole, resumed, interrupted, killed, with a process lost."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import processes
import pytest
from conftest import benchmark_files, write
from processes import MIXTEA, alive, children, command_of, wait_until

from mixtea import RunError
from mixtea.example import FOLDER as WORLD
from mixtea.experiments.reproduce import runner
from mixtea.experiments.reproduce.runner import ROWS, Rows

QUICK = ("--set", "max_epochs=5", "--set", "entity_dim=16", "--set", "propagation_rounds=1", "--device", "cpu")
PARTS = ("--only", "main", "--only", "layers", "--folds", "1")
TABLES = ("main.md", "main.csv", "layers.md", "layers.csv", "layers.png", "results.md")
LONG = ("--set", "max_epochs=100000", "--set", "patience=100000")


@pytest.fixture(scope="module")
def whole(tmp_path_factory, rings_folder) -> Path:
    """The tables of an undisturbed run."""
    out = tmp_path_factory.mktemp("whole") / "out"
    process = start(rings_folder, out)
    assert process.wait() == 0, said(out)
    return out


def start(data, out, *more):
    """The command as a process of its own; what it says is kept in said()."""
    command = [*MIXTEA, "reproduce", data, "--out", out, *PARTS, *QUICK, *more]
    with out.with_suffix(".log").open("w") as log:
        return processes.start(command, stdout=log, stderr=log)


def said(out):
    return out.with_suffix(".log").read_text()


def rows_in(out):
    return (out / ROWS).read_bytes().count(b"\n") if (out / ROWS).exists() else 0


def same_tables(one, other):
    for name in TABLES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_everything_on_a_small_task(mixtea, tmp_path):
    """All parts, with progress, a page, tables, figures and the record of every run."""
    data = write(tmp_path / "tiny", benchmark_files())
    code, _, err = mixtea("reproduce", data, "--out", tmp_path / "out", "--only", "data", "--only", "curves", *QUICK)
    assert code == 0 and "3 runs, 0 of them done before; 1 at a time on cpu" in err
    assert "1/3 tiny fold 1 paper" in err and "s left" in err and "results.md" in err
    page = (tmp_path / "out/results.md").read_text()
    assert "## Data" in page and "![Training curves](curves.png)" in page
    runs = pd.read_csv(tmp_path / "out/runs.csv")
    assert len(runs) == 3 and runs["seconds"].gt(0).all() and runs["peak_gib"].gt(0).all()
    assert runs["seed"].eq(1).all() and runs["mixtea"].notna().all()
    row = json.loads((tmp_path / "out" / ROWS).read_text().splitlines()[0])
    assert row["config"]["max_epochs"] == 5 and [epoch for epoch, _ in row["curve"]] == [1, 5]


def test_a_second_call_has_nothing_left_to_do(mixtea, whole, rings_folder):
    before = {name: (whole / name).read_bytes() for name in (*TABLES, ROWS)}
    code, _, err = mixtea("reproduce", rings_folder, "--out", whole, *PARTS, *QUICK)
    assert code == 0 and "5 runs, 5 of them done before" in err
    assert before == {name: (whole / name).read_bytes() for name in (*TABLES, ROWS)}


def test_killed_at_a_random_moment_it_goes_on_to_the_same_tables(whole, tmp_path, mixtea, rings_folder):
    """Not before its first run is done; it may even have come to its end by then."""
    out, seconds = tmp_path / "out", random.random() * 0.1
    print(f"after {seconds} seconds")
    process = start(rings_folder, out)
    wait_until(lambda: rows_in(out), process)
    time.sleep(seconds)
    process.kill()
    process.wait()
    with (out / ROWS).open("a") as file:
        file.write('{"key": "half a li')  # as a death in the middle of a write leaves it
    code, _, err = mixtea("reproduce", rings_folder, "--out", out, *PARTS, *QUICK)
    assert code == 0 and "5 runs, 0 of them" not in err and "done before" in err
    same_tables(whole, out)


def workers_of(process):
    """Those that have begun to train or will soon: Python starts a helper beside them."""
    return [pid for pid in children(process.pid) if "spawn_main" in command_of(pid)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_its_processes_end_with_it(tmp_path, number, rings_folder):
    out = tmp_path / "out"
    process = start(rings_folder, out, "--jobs", "2", *LONG)
    wait_until(lambda: len(workers_of(process)) == 2, process)
    workers = workers_of(process)
    process.send_signal(number)
    assert process.wait() == (-9 if number == signal.SIGKILL else 128 + number)
    wait_until(lambda: not any(map(alive, workers)))
    if number != signal.SIGKILL:  # else nobody is left to say anything
        assert "0 of 5 runs are kept in" in said(out) and "the same command goes on" in said(out)
        assert "Traceback" not in said(out)


class Pool:
    """Of processes, in place of real ones: a signal comes while the first of them begins."""

    _processes = None

    def __init__(self, *_):
        self.begun = []

    def submit(self, function, job, *_):
        self.begun.append(job)
        if len(self.begun) == 1:
            signal.raise_signal(signal.SIGTERM)
        return len(self.begun)

    def shutdown(self, **_):
        raise SystemExit(f"{len(self.begun)} have begun")


def test_a_signal_waits_until_the_processes_have_begun(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "ProcessPoolExecutor", Pool)
    before = signal.signal(signal.SIGTERM, stop)
    try:
        with pytest.raises(SystemExit, match="2 have begun"):
            runner._run_pool([SimpleNamespace(task="a")] * 2, {"a": ""}, ["cpu"], 2, None)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_process_that_dies_is_replaced(whole, tmp_path, rings_folder):
    out = tmp_path / "out"
    process = start(rings_folder, out, "--jobs", "2")
    wait_until(lambda: workers_of(process), process)
    os.kill(workers_of(process)[-1], signal.SIGKILL)
    assert process.wait() == 0, said(out)
    same_tables(whole, out)


def test_a_run_that_fails_is_named_and_the_others_go_on(mixtea, tmp_path):
    """A fold whose files are broken, beside one that is not."""
    files = benchmark_files()
    files |= {name.replace("fold/1/", "fold/2/"): text for name, text in files.items() if "fold/1/" in name}
    data = write(tmp_path / "tiny", files | {"721_5fold/2/train_links": "nobody\tA\n"})
    out = tmp_path / "out"
    code, _, err = mixtea("reproduce", data, "--out", out, "--only", "main", "--preset", "paper", *QUICK)
    assert code == 1 and "fold 2 paper" in err and "failed: " in err and "1 of the runs failed" in err
    assert "| mixtea `paper`, student |" in (out / "main.md").read_text()


@pytest.mark.parametrize(
    "wrong, message",
    [
        (("--only", "everything"), "no part 'everything'"),
        (("--tasks", "moon"), "no task moon"),
        (("--set", "device=cuda"), "by --device"),
        (("--device", "gpu"), "cannot be used here"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_runs(mixtea, tmp_path, wrong, message):
    code, _, err = mixtea("reproduce", WORLD, "--out", tmp_path / "out", *wrong)
    assert code == 2 and message in err and not (tmp_path / "out").exists()


def test_two_cannot_work_in_one_folder(tmp_path):
    first = Rows(tmp_path / "out")
    with pytest.raises(RunError, match="another mixtea is at work there"):
        Rows(tmp_path / "out")
    first.close()
    Rows(tmp_path / "out").close()


def test_rows_survive_a_cut_line_but_not_a_damaged_one(whole, tmp_path):
    one, two = (whole / ROWS).read_bytes().splitlines(keepends=True)[:2]
    (tmp_path / ROWS).write_bytes(one + '{"key": "ü'.encode()[:-1])
    rows = Rows(tmp_path)
    assert list(rows.rows) == [json.loads(one)["key"]]
    rows.add({name: value for name, value in json.loads(two).items() if name != "sha256"})
    rows.close()
    assert (tmp_path / ROWS).read_bytes() == one + two
    without = {name: value for name, value in json.loads(one).items() if name not in ("sha256", "scores")}
    curve = {name: value for name, value in json.loads(one).items() if name != "sha256"} | {"curve": [[0, 5]]}
    score = {name: value for name, value in json.loads(one).items() if name != "sha256"} | {"scores": {}}
    broken = [b"nonsense", b"{}", b"\xff", b"[" * 100_000, one.replace(b'"fold": 1', b'"fold": 2').strip()]
    broken += [json.dumps(row).encode() for row in (without, curve, score)]
    for line in broken:
        (tmp_path / ROWS).write_bytes(one + line + b"\n")
        with pytest.raises(RunError, match="line 2 is damaged"):
            Rows(tmp_path)


def test_a_link_in_the_place_of_rows_is_refused(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / ROWS).symlink_to(tmp_path / "precious")
    with pytest.raises(RunError, match="a link, where"):
        Rows(tmp_path)
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        Rows(tmp_path / "file/out")
