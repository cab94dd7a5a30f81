"""Trainings that die suddenly: at every system call, at random moments, on a full or broken disk; nothing may be lost.

    python benchmarks/sudden_death.py --save              # SIGKILL at every call that a save makes
    python benchmarks/sudden_death.py --errors            # every call that writes fails once, "disk full" and "broken"
    python benchmarks/sudden_death.py --kills 100         # SIGKILL at random moments, also while it goes on
    python benchmarks/sudden_death.py --steps 50          # stopped after each epoch, elsewhere and in other ways

`--sample N` takes every N-th call alone. Needs strace. Trainings are forks of this process, which has loaded torch, so
that each costs little; strace attaches to them. Prints a Markdown table for each part, and what went wrong; ends with 1
if anything did.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch; a fork must have no threads

import numpy as np
from common import header, row
from synthetic import synthetic_pair
from traced import Call, Child, Ended, calls_of, injected, run

import mixtea.report
from mixtea import MixTEA, Task, cli
from mixtea.errors import MixTEAError
from mixtea.export.checkpoints import Checkpoints
from mixtea.export.run_folder import read_run

WRITING = (
    "openat", "open", "creat", "write", "pwrite64", "writev", "fsync", "fdatasync", "rename", "renameat", "renameat2",
    "unlink", "unlinkat", "mkdir", "mkdirat", "rmdir", "ftruncate", "fallocate", "chmod", "fchmod", "fchmodat",
    "link", "linkat", "symlink", "symlinkat", "copy_file_range", "sendfile",
)  # fmt: skip
ALSO_KILLED_AT = ("close", "flock", "mmap", "munmap", "getdents64")
ERRORS = ("ENOSPC", "EIO")
NOT_COMPARED = ("run.json", "report.html")  # they say when it was and how long it took
SETTINGS = (
    "entity_dim=8", "relation_dim=4", "propagation_rounds=1", "validate_every=3", "propagation_every=4",
    "votes_every=2", "valid_needed=5", "patience=1000", "ramp_up_epochs=3", "vote_candidates=5",
)  # fmt: skip
OTHERWISE = (
    ("PYTHONHASHSEED", "7"), ("LC_ALL", "C"), ("LC_ALL", "tr_TR.UTF-8"), ("TZ", "Asia/Tokyo"), ("OMP_NUM_THREADS", "2"),
)  # fmt: skip


class Problems:
    """What went wrong, in words."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def check(self, good: bool, what: str) -> None:
        if not good:
            self.found.append(what)
            print(f"FAILED: {what}", file=sys.stderr, flush=True)


# ------------------------------------------------------------------------------------------------ what is trained


def write_task(task: Task, folder: Path) -> Path:
    """The folder of a benchmark, as `mixtea fit` reads it."""
    folder.mkdir()
    for number, graph in ((1, task.source), (2, task.target)):
        lines = (f"{graph.entities[h]}\t{graph.relations[r]}\t{graph.entities[t]}\n" for h, r, t in graph.triples)
        (folder / f"rel_triples_{number}").write_text("".join(dict.fromkeys(lines)))
    fold, known, everything = folder / "721_5fold" / "1", set(_mentioned(task)), ""
    fold.mkdir(parents=True)
    for name, links in (("train", task.train), ("valid", task.valid), ("test", task.test)):
        pairs = ((task.source.entities[s], task.target.entities[t]) for s, t in links)
        text = "".join(f"{s}\t{t}\n" for s, t in pairs if s in known and t in known)
        (fold / f"{name}_links").write_text(text)
        everything += text
    (folder / "ent_links").write_text(everything)
    return folder


def _mentioned(task: Task) -> Iterator[str]:
    """Entities that have a triple: the others are in no file."""
    for graph in (task.source, task.target):
        yield from graph.entities[np.unique(graph.triples[:, [0, 2]])]


def fit(*words: object) -> Callable[[], None]:
    """`mixtea fit WORDS` in this process."""

    def work() -> None:
        sys.argv = ["mixtea", "fit", *map(str, words)]
        cli.main()

    return work


def training(task: Path, out: Path, epochs: int, preset: str, *more: object) -> list[object]:
    chosen = [word for text in (*SETTINGS, f"max_epochs={epochs}") for word in ("--set", text)]
    return [task, "--out", out, "--checkpoint-every", 0, "--preset", preset, "--device", "cpu", *chosen, *more]


def differing(one: Path, other: Path) -> list[str]:
    """The files of two runs that are not the same, bytes of every file but two."""
    names = {p.name for folder in (one, other) if folder.exists() for p in folder.iterdir()}
    return [
        name
        for name in sorted(names)
        if not ((one / name).exists() and (other / name).exists())
        or (name not in NOT_COMPARED and (one / name).read_bytes() != (other / name).read_bytes())
    ]


def leftovers(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.name.startswith("."))


# ------------------------------------------------------------------------------------------------ --save


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
    old, new = (_tiny_run(task, seed) for seed in (1, 2))
    folder, older = place / "runs", place / "older-run"
    out = folder / "run"
    old.save(older)
    shutil.copytree(older, out)

    def save() -> None:
        new.save(out, overwrite=True)

    calls = calls_of(save, place / "log", folder, WRITING)
    outcomes: Counter[str] = Counter()
    for call in calls[::sample]:
        shutil.rmtree(folder)
        shutil.copytree(older, out)
        ended = injected(save, place / "log", call, "signal=KILL")
        problems.check(ended.code == -signal.SIGKILL, f"run, {call}: ended with {ended.code}: {ended.said}")
        left = [p.name for p in folder.iterdir() if p != out]
        problems.check(len(left) <= 1, f"run, {call}: left {left}")
        seed = _seed_of(out)
        problems.check(seed in (1, 2), f"run, {call}: {seed}")
        outcomes[f"{'old' if seed == 1 else 'new'} run, {len(left)} left over"] += 1
        save()
        held = [p.name for p in folder.iterdir()]
        problems.check(held == ["run"] and _seed_of(out) == 2, f"run, {call}: after the next save there is {held}")
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


def _tiny_run(task: Path, seed: int) -> MixTEA:
    from mixtea import load_task

    settings = dict(text.split("=") for text in SETTINGS)
    numbers = {name: int(value) for name, value in settings.items()}
    return MixTEA(preset="best", seed=seed, max_epochs=2, device="cpu", **numbers).fit(load_task(task))


def _seed_of(out: Path) -> int | str:
    try:
        return read_run(out).config.seed
    except (MixTEAError, OSError) as error:
        return str(error)


def summary(what: str, calls: list[Call], sample: int, outcomes: Counter[str]) -> None:
    by_name = Counter(call.name for call in calls[::sample])
    row([what, len(calls[::sample]), ", ".join(f"{n} {name}" for name, n in by_name.most_common()), _listed(outcomes)])


def _listed(outcomes: Counter[str]) -> str:
    return "; ".join(f"{n} x {what}" for what, n in sorted(outcomes.items()))


# ------------------------------------------------------------------------------------------------ --errors


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
            seed = _seed_of(folder / "run")
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


# ------------------------------------------------------------------------------------------------ --kills


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


# ------------------------------------------------------------------------------------------------ --steps


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
    """Gone on in a new process of other circumstances. Threads may change the rounding; nothing else may matter."""
    for name, value in OTHERWISE[: len(OTHERWISE) // sample]:
        folder = place / "otherwise"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(stopped, folder / "run.unfinished")
        words = [sys.executable, "-m", "mixtea", "fit", "--resume", "--out", "run"]
        done = subprocess.run(words, cwd=folder, env=os.environ | {name: value}, capture_output=True, text=True)
        other = differing(folder / "run", wanted) if done.returncode == 0 else [done.stderr]
        if name != "OMP_NUM_THREADS":
            problems.check(not other, f"{name}={value}: {other}")
        said = f"other bytes in {', '.join(other)}" if other else "the same bytes"
        row([f"best, {name}={value}, another working folder", said])


# ------------------------------------------------------------------------------------------------ all


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="kill at every system call of a save")
    parser.add_argument("--errors", action="store_true", help="let every call that writes fail")
    parser.add_argument("--kills", type=int, default=0, metavar="N", help="kill at so many random moments")
    parser.add_argument("--steps", type=int, default=0, metavar="N", help="stop after each of so many epochs")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every N-th call, or epoch, alone")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the random moments")
    args = parser.parse_args()
    if (args.save or args.errors) and shutil.which("strace") is None:
        sys.exit("strace is missing, which this needs. On Debian: apt-get install strace")
    problems = Problems()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        task = write_task(synthetic_pair(100, 400, n_relations=8, train=0.4, valid=0.2), place / "task")
        _tiny_run(task, 1).save(place / "warm")  # loads what a run needs, once for all forks
        mixtea.report.make_report = lambda aligner: "a page"  # nobody looks at it, and drawing takes most of the time
        if args.save:
            header("killed in", "times", "at", "what was there then")
            killed_checkpoints(place, args.sample, problems)
            killed_runs(place, task, args.sample, problems)
            killed_trainings(place, task, args.sample, problems)
        if args.errors:
            header("failing call in", "times", "at", "how it ended")
            failing_disk(place, task, args.sample, problems)
        if args.kills:
            header(f"training (seed {args.seed})", "kills", "trainings", "most kills in one", "problems")
            random_kills(place, task, args.kills, 12, args.seed, problems)
        if args.steps:
            header("gone on", "with")
            every_step(place, task, args.steps, args.sample, problems)
    print(f"{len(problems.found)} problems", flush=True)
    sys.exit(1 if problems.found else 0)


if __name__ == "__main__":
    main()
