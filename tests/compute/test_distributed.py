"""Two processes against one, through PyTorch's launcher and the real command; one of them killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from conftest import SMALL_BEST
from processes import children, start, wait_for_line

from mixtea import MixTEA

SETTINGS = SMALL_BEST | dict(validate_every=2, votes_every=2, max_epochs=5, precision="float64")
FITS = {  # what two processes learn, one after the other
    "paper": dict(preset="paper", **SETTINGS),
    "best": dict(preset="best", **SETTINGS),
    "paper in float32": dict(preset="paper", **SETTINGS | dict(precision="float32", max_epochs=30)),
}
PROGRAM = """
import json, os, sys
import torch.distributed
from mixtea.cli import main
torch.distributed.init_process_group("gloo")
for words in json.loads(sys.argv[1]):
    sys.argv = ["mixtea", *words]
    try:
        main()
    except SystemExit as end:
        assert not end.code
torch.distributed.barrier()
sys.stdout.flush()
os._exit(0)  # to part at once with the other process makes PyTorch crash now and then
"""


def two(*command, **options):
    """Begin the command in two processes, with a free port to meet at."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2]
    options |= dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return start([*launcher, *command], env=os.environ | {"OMP_NUM_THREADS": "1"}, **options)


def fit(folder, out, *, preset, **settings):
    """The words of `mixtea fit`."""
    chosen = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return ["fit", str(folder), "--out", str(out), "--preset", preset, *chosen]


@pytest.fixture(scope="module")
def learned_by_two(rings_folder, tmp_path_factory):
    """The command, several times in one pair of processes, which take long to begin."""
    out = tmp_path_factory.mktemp("two")
    (out / "program.py").write_text(PROGRAM)
    process = two(out / "program.py", json.dumps([fit(rings_folder, out / n, **FITS[n]) for n in FITS]))
    output, _ = process.communicate()
    assert process.returncode == 0, output
    assert output.count("run folder") == len(FITS)  # one process speaks
    return out


@pytest.mark.parametrize("name", FITS)
def test_two_processes_learn_the_same(name, rings, learned_by_two):
    one, two = MixTEA(**FITS[name]).fit(rings), MixTEA.load(learned_by_two / name, device="cpu")
    exact = FITS[name]["precision"] == "float64"
    losses = ["loss", "loss_alignment", "loss_pseudo"]
    wanted = one.history_[losses].to_numpy()
    assert two.history_[losses].to_numpy() == pytest.approx(wanted, rel=1e-9 if exact else 1e-3)
    if exact:
        assert two.predict(k=1).best()["target"].equals(one.predict(k=1).best()["target"])
    else:
        assert two.score()["hits@1"] == pytest.approx(one.score()["hits@1"], abs=0.1)  # one of ten links


@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_process_ends_the_other_and_leaves_a_readable_run(tmp_path, rings_folder, victim):
    settings = SMALL_BEST | dict(max_epochs=100000, patience=100000, validate_every=1)
    words = fit(rings_folder, tmp_path / "run", preset=("paper", "best")[victim], **settings)
    process = two("-m", "mixtea", *words)
    wait_for_line(process.stdout, "epoch 3/")
    os.kill(children(process.pid)[victim], signal.SIGKILL)
    output, _ = process.communicate()
    assert process.returncode != 0
    assert "error: Another process of this run has ended" in output
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["stopped_because"].startswith("another process ended in epoch") and about["n_epochs"] >= 3
    assert 0 <= MixTEA.load(tmp_path / "run", device="cpu").score()["hits@1"] <= 1
