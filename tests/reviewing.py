"""A run with many uncertain sources, models of a few candidates written out, and decisions, for tests of reviewing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import SMALL_BEST, said_graph
from voting import known_pairs

from mixtea import MixTEA, Task
from mixtea.config import STRUCTURE_VOTERS, Config
from mixtea.explain.side_by_side import SideBySide
from mixtea.review.decision import Decision
from mixtea.review.model import Model
from mixtea.review.session import Session, ShownPair
from mixtea.voters.attributes import Attributes

N, N_TRAIN, N_VALID = 72, 12, 24
Evidence = tuple[str, str, float]  # voter, what, weight


@pytest.fixture(scope="session")
def doubtful_task() -> Task:
    """A random graph of which each side has three triples of five; 12 training links, 24 to validate, 36 to test.

    Each entity has a note that nobody votes by.
    """
    random = np.random.default_rng(0)
    triples = np.stack([random.integers(top, size=3 * N) for top in (N, 3, N)], axis=1)
    kept = [triples[random.random(len(triples)) < 0.6].tolist() + [[0, r, 1] for r in range(3)] for _ in "st"]
    said = [[f"thing {n}{more}" for n in range(N)] for more in ("", " of theirs")]
    source, target = (
        said_graph([""] * N, [(n, "note", text) for n, text in enumerate(texts)], side, triples=own)
        for own, side, texts in zip(kept, "st", said, strict=True)
    )
    links = np.repeat(random.permutation(N), 2).reshape(-1, 2)
    train, valid, test = np.split(links, [N_TRAIN, N_TRAIN + N_VALID])
    return Task.of_two("doubtful", source, target, train, valid, test)


@pytest.fixture(scope="session")
def doubtful(doubtful_task: Task) -> MixTEA:
    """Trained on it; nothing but triples tells."""
    return MixTEA(**SMALL_BEST | {"voters": STRUCTURE_VOTERS, "max_epochs": 1}).fit(doubtful_task)


@pytest.fixture(scope="session")
def doubtful_run(doubtful: MixTEA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its folder: to read, and not to write beside."""
    folder = tmp_path_factory.mktemp("runs") / "doubtful"
    doubtful.save(folder)
    return folder


def decision(key: str, action: str, source: str, target: str | None = None, *others: str, **more: Any) -> Decision:
    """A decision of ann, unless somebody else is named; `others` are all candidates that were there."""
    return Decision(key, **{"reviewer": "ann"} | more, action=action, source=source, target=target, others=others)


def model_of(
    task: Task,
    candidates: Sequence[Mapping[int, float]],
    *,
    belief: Mapping[tuple[int, int], float] | None = None,
    mapped: Sequence[bool] | None = None,
    named: np.ndarray | None = None,
    voters: tuple[str, ...] = ("names",),
    parts: Mapping[str, Sequence[float]] | None = None,
    said: Sequence[Evidence] = (),
) -> Model:
    """A model of the sources without a training link: target and probability of the candidates of each, as many each.

    `belief` is by source and target, else that of a pair is its probability; `named` [p, k, v], else the first one is
    named by all; `said` is the evidence for any pair.
    """
    model = Model.__new__(Model)
    model.folder, model.name, model.task = Path("run"), "written out", task
    model.sources = np.setdiff1d(np.arange(task.source.n_entities), task.train[:, 0])
    model.voters = voters
    model.target = np.array([list(row) for row in candidates], dtype=np.int64)
    model.probability = np.array([list(row.values()) for row in candidates], dtype=np.float64)
    p, k = model.target.shape
    assert p == len(model.sources)
    first = np.zeros((p, k, len(voters)), dtype=bool)
    first[:, 0] = True
    model.named = first if named is None else named
    model.is_mapped = np.ones(p, dtype=bool) if mapped is None else np.array(mapped)
    model.parts = {name: np.array(values, dtype=np.float64) for name, values in (parts or {}).items()}
    model.row_of = np.full(task.source.n_entities, -1, dtype=np.int64)
    model.row_of[model.sources] = np.arange(p)
    model.valid = {}
    for source, target in task.valid.tolist():
        model.valid.setdefault(source, set()).add(target)
    ends = [(int(s), int(t)) for s, row in zip(model.sources, model.target, strict=True) for t in row]
    own = dict(zip(ends, model.probability.ravel().tolist(), strict=True)) | dict(belief or {})
    pairs = np.array(list(own), dtype=np.int64).reshape(-1, 2)
    model.known = known_pairs(pairs[:, 0], pairs[:, 1], np.array([*own.values()]), {})
    answers = SimpleNamespace(parts={}, scores={}, ranked=SimpleNamespace(target=model.target))
    frame = pd.DataFrame(list(said), columns=["voter", "what", "weight"])
    voter = Attributes().bind(task, Config.preset("best"))
    model.run = SimpleNamespace(
        config=voter.config, answers_=answers, explain=lambda source, target: frame,
        side_by_side=SideBySide(task, voter.opinions_by_links),
    )  # fmt: skip
    return model


class DirectSession(Session):
    """A session that decides at once, in this thread and without a page."""

    def keep(self, decisions: list[Decision]) -> list[Decision]:
        """OSError if they could not be kept, ReplacedError if the run is another one by now."""
        self.state.check_run()
        kept = self.state.store.add(decisions)
        self.state.apply_rows(kept)
        self.state.refresh()
        return kept

    def decide(self, reviewer: str, key: str, pair: ShownPair, action: str, place: int = 0) -> Decision:
        return self.keep([self.decision(reviewer, key, pair, action, place)])[0]

    def decide_alike(self, reviewer: str, pairs: Iterable[ShownPair], action: str, key: str) -> list[Decision]:
        return self.keep(self.decisions_alike(reviewer, pairs, action, key))

    def undo(self, reviewer: str, key: str) -> list[Decision]:
        self.state.check_run()
        return self.apply_undo(reviewer, self.state.store.undo(reviewer, key), self.state.store.undo_rows(key))

    def save_position(self, reviewer: str) -> None:
        self.state.store.keep_position(reviewer, self.positions.stored_position(reviewer))
