"""Two processes against one, through PyTorch's launcher and the real command; one of them killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from mixtea import MixTEA
from mixtea.example import FOLDER

SECONDS = 120


def fit(out, n, *settings, preset="paper", **popen):
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", str(n), "--master-port", str(free_port())]
    assignments = [word for s in settings for word in ("--set", s)]
    command = [
        "-m",
        "mixtea",
        "fit",
        str(FOLDER),
        "--out",
        str(out),
        "--device",
        "cpu",
        "--preset",
        preset,
        *assignments,
    ]
    return subprocess.Popen(
        [sys.executable, *(launcher if n > 1 else []), *command],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, **popen,
    )  # fmt: skip


def free_port():
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def fitted(tmp_path, n, *settings, preset="paper"):
    process = fit(tmp_path / str(n), n, *settings, preset=preset)
    output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, output
    assert output.count("run folder") == 1  # one process speaks
    return MixTEA.load(tmp_path / str(n), device="cpu")


@pytest.mark.parametrize("preset", ["paper", "best"])
def test_two_processes_learn_the_same_in_float64(tmp_path, preset):
    settings = ("precision=float64", "max_epochs=5", "validate_every=2", "entity_dim=64", "votes_every=2")
    one, two = (fitted(tmp_path, n, *settings, preset=preset) for n in (1, 2))
    losses = ["loss", "loss_alignment", "loss_pseudo"]
    assert two.history_[losses].to_numpy() == pytest.approx(one.history_[losses].to_numpy(), rel=1e-9)
    assert two.predict(k=1).best()["target"].equals(one.predict(k=1).best()["target"])


def test_two_processes_are_as_accurate_in_float32(tmp_path):
    one, two = (fitted(tmp_path, n, "max_epochs=30") for n in (1, 2))
    assert two.score()["hits@1"] == pytest.approx(one.score()["hits@1"], abs=0.002)


def children(pid):
    tasks = f"/proc/{pid}/task/{pid}/children"
    with open(tasks) as file:  # noqa: PTH123
        return [int(child) for child in file.read().split()]


def wait_for_line(process, text):
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(f"{text!r} was never printed")


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_process_ends_the_other_and_leaves_a_readable_run(tmp_path, victim):
    settings = ("max_epochs=100000", "patience=100000", "validate_every=1", "entity_dim=128")
    process = fit(tmp_path / "run", 2, *settings, preset=("paper", "best")[victim])
    try:
        wait_for_line(process, "epoch 3/")
        os.kill(sorted(children(process.pid))[victim], signal.SIGKILL)
        killed = time.monotonic()
        output, _ = process.communicate(timeout=60)
        assert time.monotonic() - killed < 60
    finally:
        process.kill()
    assert process.returncode != 0
    assert "error: Another process of this run has ended" in output
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["stopped_because"].startswith("another process ended in epoch") and about["n_epochs"] >= 3
    assert MixTEA.load(tmp_path / "run", device="cpu").score()["hits@1"] > 0.2
