"""Death or an error at every system call of a save, the parts --save and --errors of sudden_death.py."""

from __future__ import annotations

import shutil
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import row
from death_trials import Problems, differing, fit, leftovers, seed_of, tiny_run, training
from traced import Call, Ended, calls_of, injected, run

from mixtea.runs.checkpoints import Checkpoints
from mixtea.runs.folder import earlier_runs

WRITING = (
    "openat", "open", "creat", "write", "pwrite64", "writev", "fsync", "fdatasync", "rename", "renameat", "renameat2",
    "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "ftruncate", "fallocate", "chmod", "fchmod", "fchmodat",
    "link", "linkat", "symlink", "symlinkat", "copy_file_range", "sendfile",
)  # fmt: skip
ALSO_KILLED_AT = ("close", "flock", "mmap", "munmap", "getdents64")
ERRORS = ("ENOSPC", "EIO")


def killed_checkpoints(place: Path, sample: int, problems: Problems) -> None:
    """The third checkpoint of a folder that has two."""
    state: dict[str, Any] = {"a": np.arange(50_000, dtype=np.float32), "b": [{"c": np.arange(7)}, "text"], "epoch": 0}

    def saved(folder: Path, epoch: int) -> Callable[[], None]:
        return lambda: Checkpoints(folder).save(epoch, {**state, "epoch": epoch})

    template, folder = place / "template", place / "work"
    template.mkdir()
    for epoch in (1, 2):
        saved(template, epoch)()
    shutil.copytree(template, folder)
    calls = calls_of(saved(folder, 3), place / "log", folder, WRITING + ALSO_KILLED_AT)
    outcomes: Counter[str] = Counter()
    for call in calls[::sample]:
        shutil.rmtree(folder)
        shutil.copytree(template, folder)
        ended = injected(saved(folder, 3), place / "log", call, "signal=KILL")
        problems.check(ended.code == -signal.SIGKILL, f"checkpoint, {call}: ended with {ended.code}: {ended.said}")
        left = [p.name for p in folder.iterdir() if p.name not in names_of(folder)]
        problems.check(len(left) <= 1, f"checkpoint, {call}: left {left}")
        found = Checkpoints(folder).load()
        epoch = found[0] if found else 0
        whole = found is not None and found[1]["epoch"] == epoch and np.array_equal(found[1]["a"], state["a"])
        problems.check(epoch in (2, 3) and whole, f"checkpoint, {call}: loads epoch {epoch}")
        outcomes[f"epoch {epoch}, {len(left)} left over"] += 1
        saved(folder, 4)()
        held = sorted(p.name for p in folder.iterdir())
        wanted = [f"checkpoint-{e:06}.safetensors" for e in (epoch, 4)]
        problems.check(held == wanted, f"checkpoint, {call}: after the next save it holds {held}")
    summary("save of a checkpoint", calls, sample, outcomes)


def names_of(folder: Path) -> list[str]:
    return [path.name for path in Checkpoints(folder).files()]


def killed_runs(place: Path, task: Path, sample: int, problems: Problems) -> None:
    """A run that takes the place of an older one."""
    old, new = (tiny_run(task, seed) for seed in (1, 2))
    folder, older = place / "runs", place / "older-run"
    out = folder / "run"
    old.save(older)
    shutil.copytree(older, out)

    def save() -> None:
        new.save(out, overwrite=True, keep_earlier=2)

    calls = calls_of(save, place / "log", folder, WRITING)
    outcomes: Counter[str] = Counter()
    for call in calls[::sample]:
        shutil.rmtree(folder)
        shutil.copytree(older, out)
        ended = injected(save, place / "log", call, "signal=KILL")
        problems.check(ended.code == -signal.SIGKILL, f"run, {call}: ended with {ended.code}: {ended.said}")
        left = [p.name for p in folder.iterdir() if p != out]
        problems.check(len(left) <= 1, f"run, {call}: left {left}")
        seed = seed_of(out)
        problems.check(seed in (1, 2), f"run, {call}: {seed}")
        earlier = [seed_of(path) for path in earlier_runs(out)]
        problems.check(earlier == [1] * (seed == 2), f"run, {call}: the earlier runs are {earlier}")
        outcomes[f"{'old' if seed == 1 else 'new'} run, {len(left)} left over"] += 1
        save()
        held = [p.name for p in folder.iterdir()]
        problems.check(held == ["run"] and seed_of(out) == 2, f"run, {call}: after the next save there is {held}")
    summary("run over an older run", calls, sample, outcomes)


def killed_trainings(place: Path, task: Path, sample: int, problems: Problems) -> None:
    """A short training from its first file to its last, resumed wherever it died."""
    folder, wanted = place / "trainings", place / "undisturbed"
    words = training(task, folder / "run", 2, "paper")
    folder.mkdir()
    calls = calls_of(fit(*words), place / "log", folder, WRITING)
    (folder / "run").rename(wanted)
    outcomes: Counter[str] = Counter()
    for call in calls[::sample]:
        shutil.rmtree(folder)
        folder.mkdir()
        ended = injected(fit(*words), place / "log", call, "signal=KILL")
        problems.check(ended.code == -signal.SIGKILL, f"training, {call}: ended with {ended.code}: {ended.said}")
        was_there = (folder / "run").exists()
        again = run(fit(*words, "--resume"), place / "log")
        other = differing(folder / "run", wanted)
        problems.check(again.code == 0 and not other, f"training, {call}, then --resume: {again} differs in {other}")
        held = [p.name for p in folder.iterdir()]
        problems.check(held == ["run"], f"training, {call}, then --resume: there is {held}")
        outcomes["the run was there" if was_there else "resumed to the same bytes"] += 1
    summary("short training", calls, sample, outcomes)


def failing_disk(place: Path, task: Path, sample: int, problems: Problems) -> None:
    """A short training with checkpoints over an older run, in which one call fails."""
    folder = place / "disk"
    words = training(task, folder / "run", 2, "paper", "--overwrite", "--seed", 2)
    older = place / "older"
    run(fit(*training(task, older, 1, "paper")), place / "log")

    def prepare() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(older, folder / "run")

    prepare()
    calls = calls_of(fit(*words), place / "log", folder, WRITING)
    wanted = place / "wanted"
    shutil.copytree(folder / "run", wanted)
    for error in ERRORS:
        outcomes: Counter[str] = Counter()
        for number, call in enumerate(calls[::sample]):
            prepare()
            ended = injected(fit(*words), place / "log", call, f"error={error}")
            what = f"{error} at {call}"
            outcomes[_outcome(ended)] += 1
            problems.check(ended.code in (0, 1) and "Traceback" not in ended.said, f"{what}: {ended.code} {ended.said}")
            seed = seed_of(folder / "run")
            problems.check(seed == 2 if ended.code == 0 else seed in (1, 2), f"{what}: {ended.code}, then {seed}")
            if ended.code and (number % 5 == 0 or sample > 1):
                again = run(fit(*words, "--resume"), place / "log")
                other = differing(folder / "run", wanted)
                problems.check(again.code == 0 and not other, f"{what}, then --resume: {again} differs in {other}")
                problems.check(len([*folder.iterdir()]) == 1, f"{what}, then --resume: left {leftovers(folder)}")
        summary(f"{error} in a short training", calls, sample, outcomes)


def _outcome(ended: Ended) -> str:
    if ended.code == 0:
        return "success with a warning" if "WARNING: " in ended.said else "success"
    return f"exit {ended.code} with a message" if "error: " in ended.said else f"exit {ended.code}"


def summary(what: str, calls: list[Call], sample: int, outcomes: Counter[str]) -> None:
    by_name = Counter(call.name for call in calls[::sample])
    row([what, len(calls[::sample]), ", ".join(f"{n} {name}" for name, n in by_name.most_common()), _listed(outcomes)])


def _listed(outcomes: Counter[str]) -> str:
    return "; ".join(f"{n} x {what}" for what, n in sorted(outcomes.items()))
