"""What dies in sudden_death.py: a small task, trainings of it as a person calls them, and what they must end with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from mixtea import MixTEA, Task, cli, load_task
from mixtea.errors import MixTEAError
from mixtea.runs.folder import read_run

NOT_COMPARED = ("run.json", "report.html", "curves.png")  # when it was, how long it took, and pictures of the rest
SETTINGS = (
    "entity_dim=8", "relation_dim=4", "propagation_rounds=1", "validate_every=3", "propagation_every=4",
    "votes_every=2", "valid_needed=5", "patience=1000", "ramp_up_epochs=3", "vote_candidates=5",
)  # fmt: skip


class Problems:
    """What went wrong, in words."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def check(self, good: bool, what: str) -> None:
        if not good:
            self.found.append(what)
            print(f"FAILED: {what}", file=sys.stderr, flush=True)


def write_task(task: Task, folder: Path) -> Path:
    """The folder of a benchmark, as `mixtea fit` reads it."""
    folder.mkdir()
    for number, graph in ((1, task.source), (2, task.target)):
        lines = (f"{graph.ids[h]}\t{graph.relations[r]}\t{graph.ids[t]}\n" for h, r, t in graph.triples)
        (folder / f"rel_triples_{number}").write_text("".join(dict.fromkeys(lines)))
    fold, known, everything = folder / "721_5fold" / "1", set(_mentioned(task)), ""
    fold.mkdir(parents=True)
    for name, links in (("train", task.train), ("valid", task.valid), ("test", task.test)):
        pairs = ((task.source.ids[s], task.target.ids[t]) for s, t in links)
        text = "".join(f"{s}\t{t}\n" for s, t in pairs if s in known and t in known)
        (fold / f"{name}_links").write_text(text)
        everything += text
    (folder / "ent_links").write_text(everything)
    return folder


def _mentioned(task: Task) -> Iterator[str]:
    """Entities that have a triple: the others are in no file."""
    for graph in (task.source, task.target):
        yield from graph.ids[np.unique(graph.triples[:, [0, 2]])]


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
    """The files of two runs that are not the same, bytes of every file but three."""
    names = {p.name for folder in (one, other) if folder.exists() for p in folder.iterdir()}
    return [
        name
        for name in sorted(names)
        if not ((one / name).exists() and (other / name).exists())
        or (name not in NOT_COMPARED and (one / name).read_bytes() != (other / name).read_bytes())
    ]


def leftovers(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.name.startswith("."))


def tiny_run(task: Path, seed: int) -> MixTEA:
    settings = dict(text.split("=") for text in SETTINGS)
    numbers = {name: int(value) for name, value in settings.items()}
    return MixTEA(preset="best", seed=seed, max_epochs=2, device="cpu", **numbers).fit(load_task(task))


def seed_of(out: Path) -> int | str:
    try:
        return read_run(out).config.seed
    except (MixTEAError, OSError) as error:
        return str(error)
