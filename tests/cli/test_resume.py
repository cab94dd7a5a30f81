"""Trainings that are stopped, killed and resumed, as a person does it: real processes, real signals."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import pytest
import torch
from processes import start, wait_until_halted

from mixtea.runs.in_progress import UnfinishedRun

SETTINGS = ("--preset", "paper", "--set", "max_epochs=8", "--set", "patience=1000", "--device", "cpu")
SHORT = ("--set", "max_epochs=3", "--set", "propagation_rounds=1", "--device", "cpu")
HALTS = """
import os, signal
from mixtea.cli import main
from mixtea.progress import TerminalBar
real = TerminalBar.on_epoch
def halt(self, record):
    real(self, record)
    if record["epoch"] == 2:
        os.kill(os.getpid(), signal.SIGSTOP)
TerminalBar.on_epoch = halt
main()
"""


def halted(out, *args):
    """A process that has halted in its second epoch."""
    command, environment = [sys.executable, "-c", HALTS, *args, "--out", out], os.environ | {"COLUMNS": "200"}
    streams = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process = start(command, forked=True, env=environment, **streams)
    wait_until_halted(process)
    return process


def after(process, *numbers):
    """How it ends when it goes on with these signals."""
    for number in (*numbers, signal.SIGCONT):
        process.send_signal(number)
    _, err = process.communicate()
    return process.returncode, err


def files(run):
    return {path.name: path.read_bytes() for path in run.iterdir() if path.name not in ("run.json", "report.html")}


@pytest.fixture
def threads():
    """Sets the number of torch's threads, one at first; afterwards it is as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_a_signal_saves_and_says_how_to_go_on(folder, tmp_path, mixtea, threads):
    out, call = tmp_path / "run", ("fit", folder, *SETTINGS)
    assert mixtea(*call, "--out", tmp_path / "whole")[0] == 0
    threads(2)  # another number than the processes have that are interrupted
    code, err = after(halted(out, *call), signal.SIGINT)
    assert code == 130 and "stopping after this epoch" in err and "Traceback" not in err and not out.exists()
    assert "Stopped after epoch 2" in err and f"Go on with: mixtea fit --resume --out {out}" in err
    code, _, err = mixtea(*call, "--out", out)
    assert code == 2 and "a training was interrupted there after epoch 2" in err and "--overwrite" in err
    assert after(halted(out, *call, "--overwrite"), signal.SIGTERM)[0] == 143
    code, stdout, err = mixtea("fit", "--resume", "--out", out)
    assert code == 0 and "going on after epoch 2" in err and "Test links" in stdout
    assert files(out) == files(tmp_path / "whole") and not (tmp_path / "run.unfinished").exists()
    code, _, err = mixtea("fit", "--resume", "--out", out)
    assert code == 0 and "finished already" in err
    code, _, err = mixtea(*call, "--seed", "7", "--resume", "--out", out)
    assert code == 2 and "seed is 1, not 7" in err  # it is another run that is finished
    assert mixtea(*call, "--resume", "--out", out)[0] == 0


def test_a_second_signal_stops_at_once_and_loses_little(folder, tmp_path, mixtea):
    out, call = tmp_path / "run", ("fit", folder, *SETTINGS, "--checkpoint-every", "0")
    process = halted(out, *call)
    code, _, err = mixtea(*call, "--out", out)
    assert code == 2 and "another mixtea is at work there" in err and process.poll() is None
    assert after(process, signal.SIGINT, signal.SIGTERM)[0] in (130, -signal.SIGTERM)
    assert UnfinishedRun(out).epoch() == 1
    assert mixtea(*call, "--resume", "--out", out)[0] == 0  # the same command, and --resume


def stopped(mixtea, monkeypatch, *args):
    """A call whose training is asked to stop after its second epoch."""
    from mixtea.progress import TerminalBar

    real = TerminalBar.on_epoch

    def second(self, record):
        real(self, record)
        if record["epoch"] == 2:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(TerminalBar, "on_epoch", second)
        code, _, err = mixtea(*args)
    assert code == 130 and "the state after epoch 2" in err


def test_what_the_call_says_must_be_what_it_began_with(folder, tmp_path, mixtea, monkeypatch):
    call = ("fit", folder, "--out", tmp_path / "run")
    stopped(mixtea, monkeypatch, *call, *SHORT)
    code, _, err = mixtea(*call, *SHORT, "--seed", "2", "--resume")
    assert code == 2 and "the training there is another: seed is 1, not 2" in err
    code, _, err = mixtea("fit", "--resume", "--out", tmp_path / "run", "--set", "margin=1.0")
    assert code == 2 and "goes on with its own settings" in err
    code, _, err = mixtea("fit", "--resume", "--out", tmp_path / "run", "--preset", "paper")
    assert code == 2 and "--preset: a training goes on with what it began with" in err
    with (folder / "rel_triples_1").open("a") as file:
        file.write("e\tr\ta\n")
    code, _, err = mixtea(*call, *SHORT, "--resume")
    assert code == 2 and "the graphs or links are others" in err
    assert mixtea("fit", "--resume", "--out", tmp_path / "run", "--device", "cpu")[0] == 0
    assert (tmp_path / "run" / "run.json").exists() and not (tmp_path / "run.unfinished").exists()


def test_without_anything_to_resume_it_begins_or_says_so(folder, tmp_path, mixtea):
    code, _, err = mixtea("fit", "--resume", "--out", tmp_path / "run")
    assert code == 2 and "no interrupted training is there" in err and not (tmp_path / "run.unfinished").exists()
    assert mixtea("fit", folder, "--out", tmp_path / "run", *SHORT, "--resume")[0] == 0
    assert (tmp_path / "run" / "run.json").exists()


def test_an_interrupted_one_is_begun_anew_only_on_request(folder, tmp_path, mixtea, monkeypatch):
    call = ("fit", folder, "--out", tmp_path / "run", *SHORT)
    stopped(mixtea, monkeypatch, *call)
    assert mixtea(*call)[0] == 2
    assert mixtea(*call, "--overwrite")[0] == 0 and not (tmp_path / "run.unfinished").exists()


@pytest.mark.parametrize("death", ["before", "amid"])
def test_a_death_after_the_run_is_written_loses_nothing(folder, tmp_path, mixtea, monkeypatch, death):
    """The run is there, and so is, in whole or in part, what the training kept."""
    call = ("fit", folder, *SHORT, "--checkpoint-every", "0", "--out", tmp_path / "run")
    real = UnfinishedRun.remove

    def dies(self):
        if (tmp_path / "run" / "run.json").exists():
            if death == "amid":
                self.path.unlink()
            raise KeyboardInterrupt
        real(self)

    with monkeypatch.context() as patch:
        patch.setattr(UnfinishedRun, "remove", dies)
        assert mixtea(*call)[0] == 130
    before = files(tmp_path / "run")
    assert list((tmp_path / "run.unfinished").iterdir())
    code, _, err = mixtea("fit", "--resume", "--out", tmp_path / "run")
    assert code == 0 and "finished already" in err and files(tmp_path / "run") == before
    assert not (tmp_path / "run.unfinished").exists()


def test_a_run_is_replaced_by_a_resumed_training_only_on_request(folder, tmp_path, mixtea, monkeypatch):
    call = ("fit", folder, *SHORT, "--out", tmp_path / "run")
    assert mixtea(*call)[0] == 0
    older = (tmp_path / "run" / "run.json").read_bytes()
    stopped(mixtea, monkeypatch, *call, "--overwrite")
    code, _, err = mixtea("fit", "--resume", "--out", tmp_path / "run")
    assert code == 2 and "a run is already there" in err
    assert (tmp_path / "run" / "run.json").read_bytes() == older
    assert mixtea("fit", "--resume", "--out", tmp_path / "run", "--overwrite")[0] == 0
    assert (tmp_path / "run" / "run.json").read_bytes() != older and not (tmp_path / "run.unfinished").exists()


def test_a_warm_start_goes_on_from_another_folder_to_the_same_bytes(folder, tmp_path, mixtea, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mixtea("fit", folder, *SHORT, "--out", "old")[0] == 0
    call = ("fit", folder, *SHORT, "--warm-start", "old")
    assert mixtea(*call, "--out", "whole")[0] == 0
    stopped(mixtea, monkeypatch, *call, "--out", "run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert mixtea("fit", "--resume", "--out", "../run")[0] == 0
    assert files(tmp_path / "run") == files(tmp_path / "whole") and "changes.tsv" in files(tmp_path / "run")


def test_bad_input_leaves_no_folder_behind(folder, tmp_path, mixtea):
    (folder / "rel_triples_1").write_text("broken\n")
    assert mixtea("fit", folder, "--out", tmp_path / "run", *SHORT)[0] == 2
    assert not list(tmp_path.glob("run*"))


def test_a_damaged_checkpoint_gives_way_to_the_one_before(folder, tmp_path, mixtea, monkeypatch):
    call = ("fit", folder, *SHORT, "--checkpoint-every", "0")
    assert mixtea(*call, "--out", tmp_path / "whole")[0] == 0
    stopped(mixtea, monkeypatch, *call, "--out", tmp_path / "run")
    (tmp_path / "run.unfinished" / "checkpoint-000002.safetensors").write_bytes(b"cut off")
    assert mixtea("fit", "--resume", "--out", tmp_path / "run")[0] == 0
    assert files(tmp_path / "run") == files(tmp_path / "whole")


def test_memory_that_is_full_is_said_with_the_way_out(folder, tmp_path, mixtea, monkeypatch):
    from mixtea.training import trainer as loop

    real, calls = loop.alignment_loss, []

    def full(*args):
        calls.append(args)
        if len(calls) == 3:
            raise MemoryError
        return real(*args)

    monkeypatch.setattr(loop, "alignment_loss", full)
    code, _, err = mixtea("fit", folder, "--out", tmp_path / "run", *SHORT, "--checkpoint-every", "0")
    assert code == 1 and "In epoch 3: Memory is full" in err and "the state after epoch 2" in err
    assert mixtea("fit", "--resume", "--out", tmp_path / "run")[0] == 0


def test_a_full_disk_at_the_end_keeps_what_was_learned(folder, tmp_path, mixtea, monkeypatch):
    import errno

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("mixtea.runs.folder.save_file", full)
        code, _, err = mixtea("fit", folder, "--out", tmp_path / "run", *SHORT, "--checkpoint-every", "0")
    assert code == 1 and "No space left on device" in err and "Go on with: mixtea fit --resume" in err
    assert mixtea("fit", "--resume", "--out", tmp_path / "run")[0] == 0


def test_a_score_that_needs_too_much_memory_does_not_cost_the_run(folder, tmp_path, mixtea, monkeypatch):
    def full(*args, **kwargs):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("mixtea.aligner.MixTEA.score", full)
        code, _, err = mixtea("fit", folder, "--out", tmp_path / "run", *SHORT)
    assert code == 0 and "the test links could not be scored: memory is full" in err
    assert mixtea("score", tmp_path / "run")[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr("mixtea.aligner.MixTEA.save", full)
        call = ("fit", folder, "--out", tmp_path / "other", *SHORT, "--checkpoint-every", "0")
        code, _, err = mixtea(*call)
    assert code == 1 and "memory is full" in err and "Go on with: mixtea fit --resume" in err


def test_a_run_of_another_training_is_not_taken_for_its_end(folder, tmp_path, mixtea, monkeypatch):
    out = tmp_path / "run"
    assert mixtea("fit", folder, *SHORT, "--out", tmp_path / "whole")[0] == 0
    assert mixtea("fit", folder, *SHORT, "--seed", "2", "--out", tmp_path / "other")[0] == 0
    stopped(mixtea, monkeypatch, "fit", folder, *SHORT, "--out", out)
    shutil.copytree(tmp_path / "other", out)
    code, _, err = mixtea("fit", "--resume", "--out", out)
    assert code == 2 and "a run is already there" in err and UnfinishedRun(out).epoch() == 2
    assert mixtea("fit", "--resume", "--out", out, "--overwrite")[0] == 0
    assert files(out) == files(tmp_path / "whole")


def test_a_warm_start_from_a_run_that_is_another_now(folder, tmp_path, mixtea, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mixtea("fit", folder, *SHORT, "--out", "old")[0] == 0
    stopped(mixtea, monkeypatch, "fit", folder, *SHORT, "--warm-start", "old", "--out", "run")
    assert mixtea("fit", folder, *SHORT, "--seed", "2", "--out", "old", "--overwrite")[0] == 0
    shutil.copytree("run.unfinished", "again.unfinished")
    code, _, err = mixtea("fit", "--resume", "--out", "run")
    assert code == 0 and "not compared with the earlier run" in err and "not the run any more" in err
    assert "changes.tsv" not in files(tmp_path / "run")
    for path in (tmp_path / "again.unfinished").glob("checkpoint-*"):
        path.unlink()
    code, _, err = mixtea("fit", "--resume", "--out", "again")
    assert code == 2 and "not the run any more that the training began with" in err


def test_its_own_settings_may_be_said_again_whatever_the_preset(folder, tmp_path, mixtea, monkeypatch):
    out, own = tmp_path / "run", ("--set", "teaching=mutual")
    stopped(mixtea, monkeypatch, "fit", folder, *SETTINGS, "--set", "max_epochs=3", *own, "--out", out)
    code, _, err = mixtea("fit", "--resume", "--out", out, "--set", "teaching=one_to_one")
    assert code == 2 and "goes on with its own settings" in err
    assert mixtea("fit", "--resume", "--out", out, *own)[0] == 0
