"""Death at any moment, and going on after any epoch: the parts --kills and --steps of sudden_death.py."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from common import row
from death_trials import Problems, differing, fit, training
from traced import Child, run

from mixtea.runs.checkpoints import Checkpoints

OTHERWISE = (
    ("PYTHONHASHSEED", "7"), ("LC_ALL", "C"), ("LC_ALL", "tr_TR.UTF-8"), ("TZ", "Asia/Tokyo"), ("OMP_NUM_THREADS", "2"),
)  # fmt: skip


def random_kills(place: Path, task: Path, kills: int, epochs: int, seed: int, problems: Problems) -> None:
    """Trainings killed at random moments, again and again, until each has ended."""
    rng = random.Random(seed)
    wanted, log = place / "whole", place / "log"
    for preset in ("paper", "best"):
        shutil.rmtree(wanted, ignore_errors=True)
        started = time.monotonic()
        ended = run(fit(*training(task, wanted, epochs, preset)), log)
        problems.check(ended.code == 0, f"undisturbed: {ended}")
        seconds = time.monotonic() - started
        killed = trainings = most = 0
        while killed < kills / 2:
            out = place / "killed"
            shutil.rmtree(out, ignore_errors=True)
            times = _kill_until_it_ends(training(task, out, epochs, preset), log, seconds, rng, problems)
            other = differing(out, wanted)
            problems.check(not other, f"{preset}, seed {seed}, after {times} kills: {other} differ")
            problems.check(sorted(place.glob("killed*")) == [out], f"{preset}: left {sorted(place.glob('killed*'))}")
            killed, trainings, most = killed + times, trainings + 1, max(most, times)
        row([f"{preset}, {epochs} epochs, {seconds:.1f} s", killed, trainings, most, len(problems.found)])


def _kill_until_it_ends(words: list[object], log: Path, seconds: float, rng: random.Random, problems: Problems) -> int:
    for times in range(1000):
        child = Child(fit(*words, *(["--resume"] if times else [])), log)
        child.go()
        time.sleep(rng.random() * seconds * (1 + times / 10))  # longer and longer, so that it comes to an end
        os.kill(child.pid, signal.SIGKILL)
        ended = child.wait()
        if ended.code == 0:
            return times
        problems.check(ended.code == -signal.SIGKILL, f"it ended by itself with {ended}")
    return 1000


def every_step(place: Path, task: Path, steps: int, sample: int, problems: Problems) -> None:
    """Stopped after each epoch, moved elsewhere, and gone on there."""
    log = place / "log"
    for preset in ("paper", "best"):
        kept, wanted = place / f"kept-{preset}", place / f"{preset}"
        ended = run(_copying(fit(*training(task, wanted, steps, preset)), kept), log)
        problems.check(ended.code == 0, f"undisturbed: {ended}")
        epochs = sorted(kept.iterdir())[::sample]
        same = 0
        for stopped in epochs:
            other = _gone_on(stopped, place / "moved", wanted, log)
            problems.check(not other, f"{preset}, from epoch {stopped.name}: {other}")
            same += not other
        row([f"{preset}, stopped after an epoch, moved", f"{same} of {len(epochs)} have the same bytes"])
        if preset == "best":
            _otherwise(sorted(kept.iterdir())[steps // 2], place, wanted, sample, problems)


def _copying(work: Callable[[], None], kept: Path) -> Callable[[], None]:
    """The work, with a copy of the unfinished folder after each checkpoint."""
    plain = Checkpoints.save

    def save(self: Checkpoints, epoch: int, state: dict[str, object]) -> None:
        plain(self, epoch, state)
        shutil.copytree(self.folder, kept / f"{epoch:06}")

    def copying() -> None:
        Checkpoints.save = save  # type: ignore[method-assign]
        work()

    return copying


def _gone_on(stopped: Path, place: Path, wanted: Path, log: Path) -> list[str]:
    """What differs when the training that was stopped goes on in another place."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(stopped, place / "elsewhere.unfinished")
    ended = run(fit("--resume", "--out", place / "elsewhere"), log)
    if ended.code:
        return [str(ended)]
    return differing(place / "elsewhere", wanted) + [p.name for p in place.iterdir() if p.name != "elsewhere"]


def _otherwise(stopped: Path, place: Path, wanted: Path, sample: int, problems: Problems) -> None:
    """Gone on in a new process of other circumstances, which may not matter."""
    for name, value in OTHERWISE[: len(OTHERWISE) // sample]:
        folder = place / "otherwise"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(stopped, folder / "run.unfinished")
        words = [sys.executable, "-m", "mixtea", "fit", "--resume", "--out", "run"]
        done = subprocess.run(words, cwd=folder, env=os.environ | {name: value}, capture_output=True, text=True)
        other = differing(folder / "run", wanted) if done.returncode == 0 else [done.stderr]
        problems.check(not other, f"{name}={value}: {other}")
        said = f"other bytes in {', '.join(other)}" if other else "the same bytes"
        row([f"best, {name}={value}, another working folder", said])
