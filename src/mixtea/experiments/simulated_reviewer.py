"""Simulate a reviewer who decides by known links, with errors: accuracy by number of decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mixtea.decide.answers import Answers
from mixtea.decide.mapping import MAPPED
from mixtea.errors import DataError, Problems
from mixtea.graph.task import Task
from mixtea.io.links.read import check_links, read_links
from mixtea.io.safe.limits import current_limits
from mixtea.review.card import MAX_ALTERNATIVES
from mixtea.review.decision import ACCEPT, KNOWN, NONE, Decision
from mixtea.review.learning import retrain
from mixtea.review.queue import is_known_item, order_rows
from mixtea.review.reviewers import known_targets, measure_reviewers

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA

REVIEWER = "simulated"
ORDERS = ("worth", "spreading", "disagreed", "random")
HEADER = ("order", "decisions", "Hit@1, never shown", "F1 of the mapping", "reviewer right")


class Point(NamedTuple):
    """After so many decisions: Hit@1 of links never shown, F1 of the whole mapping, how often the reviewer is right."""

    decisions: int
    hits: float
    f1: float
    right: float


class View:
    """Answers of an aligner that was trained with decisions, as the order of the queue needs them."""

    def __init__(self, answers: Answers) -> None:
        self.task, self.sources = answers.task, answers.source_index
        k = answers.ranked.target.shape[1]
        self.target, self.probability = answers.ranked.target, answers.ranked.probability(k)
        self.named = answers.ranked.supporters


@dataclass
class Simulation:
    """Decisions about one half of the gold links; the other half is never shown, and measures accuracy."""

    first: MixTEA
    gold: np.ndarray  # [p, 2] of sources without a given link
    error: float = 0.0
    seed: int = 0
    decisions: list[Decision] = field(default_factory=list)
    audits: list[Decision] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        order = np.random.default_rng(0).permutation(len(self.gold))
        self.shown, self.hidden = np.array_split(self.gold[order], 2)
        self.truth = dict(self.shown.tolist())
        self.known = dict(self.first.task_.valid.tolist())
        self.checks = list(np.random.default_rng(1).permutation(list(self.known)).tolist()) if self.known else []

    def run(self, order: str, steps: Sequence[int]) -> Iterator[Point]:
        """Retrain after each number of decisions, and yield the accuracy."""
        aligner = self.first
        yield self.point(aligner)
        for n in steps:
            self._decide(aligner, order, n - len(self.decisions))
            aligner = retrain(self.first, [*self.decisions, *self.audits])
            yield self.point(aligner)

    def _decide(self, aligner: MixTEA, order: str, n: int) -> None:
        """Decide the first n open sources of the queue, by the current model, with known items in between."""
        view = View(aligner.answers_)
        done = {one.source for one in self.decisions}
        ids = self.first.task_.source.ids
        rows = [
            row for row in order_rows(view, view.probability[:, 0], order, self.seed).tolist()
            if int(view.sources[row]) in self.truth and str(ids[view.sources[row]]) not in done
        ]  # fmt: skip
        for row in rows[:n]:
            if is_known_item(len(self.decisions)) and self.checks:
                self._check()
            source = int(view.sources[row])
            self.decisions.append(self._answer(source, view.target[row, :MAX_ALTERNATIVES], self.truth[source], ""))

    def _check(self) -> None:
        """Decide an item whose link is known, as the first run shows it."""
        source = self.checks.pop()
        answers = self.first.answers_
        row = int(np.searchsorted(answers.source_index, source))
        if row < len(answers.source_index) and answers.source_index[row] == source:
            seen = answers.ranked.target[row, :MAX_ALTERNATIVES]
            self.audits.append(self._answer(source, seen, self.known[source], KNOWN))

    def _answer(self, source: int, targets: np.ndarray, truth: int, reason: str) -> Decision:
        """Answer with the right target if it is among the candidates, else with none; or make an error."""
        task, number = self.first.task_, len(self.decisions) + len(self.audits) + 1
        seen = [int(target) for target in targets]
        right = seen.index(truth) if truth in seen else None
        if self.rng.random() < self.error:
            wrong = [place for place in range(len(seen)) if place != right]
            choice = int(self.rng.choice(wrong)) if wrong else None
            right = choice if right is None or self.rng.random() < 0.5 else None
        ids = tuple(str(task.target.ids[target]) for target in seen)
        action, target = (NONE, None) if right is None else (ACCEPT, ids[right])
        name = str(task.source.ids[source])
        return Decision(f"{number}", REVIEWER, action, name, target, ids, reason=reason, id=number)

    def point(self, aligner: MixTEA) -> Point:
        hits = aligner.score(self.hidden)["hits@1"]
        measured = measure_reviewers([*self.decisions, *self.audits], known_targets(self.first.task_)).get(REVIEWER)
        return Point(len(self.decisions), hits, self._f1(aligner), measured.right.share if measured else float("nan"))

    def _f1(self, aligner: MixTEA) -> float:
        """Return F1 over all gold links of the mapping with the accepted pairs."""
        task = self.first.task_
        frame = aligner.map().frame
        mapped = frame[frame["decision"] == MAPPED]
        found = dict(zip(mapped["source"], mapped["target"], strict=True))
        given = {str(task.source.ids[s]) for s in task.linked_sources}
        for source, target in aligner.task_.train.tolist():
            name = str(task.source.ids[source])
            if name not in given:
                found[name] = str(task.target.ids[target])
        right = sum(found.get(str(task.source.ids[s])) == task.target.ids[t] for s, t in self.gold.tolist())
        n = sum(source not in given for source in found)
        return 2 * right / max(n + len(self.gold), 1)


def simulate(
    run: Path, gold: Path, *, error: float = 0.0, orders: Sequence[str] = ORDERS,
    steps: Sequence[int] = (50, 100, 200, 400), notify: Callable[[str], None] = lambda _: None,
) -> list[tuple[str, ...]]:  # fmt: skip
    """Return table rows: for each order the accuracy after so many decisions."""
    from mixtea.aligner import MixTEA

    first = MixTEA.load(run)
    links = gold_links(first.task_, gold)
    rows: list[tuple[str, ...]] = []
    for order in orders:
        found = Simulation(first, links, error)
        for point in found.run(order, [n for n in steps if n <= len(links) // 2]):
            notify(f"{order}: {point.decisions} decisions, Hit@1 {point.hits:.3f}, F1 {point.f1:.3f}")
            right = "" if np.isnan(point.right) else f"{point.right:.2f}"
            rows.append((order, str(point.decisions), f"{point.hits:.3f}", f"{point.f1:.3f}", right))
    return rows


def gold_links(task: Task, path: Path) -> np.ndarray:
    """Read the links of a file whose sources have no given link, each source once."""
    problems = Problems(current_limits().max_problems)
    found = read_links(path, "test", task.source, task.target, problems)
    splits, _ = check_links([found], task.source, task.target, problems)
    problems.raise_if_any()
    links = splits["test"][~np.isin(splits["test"][:, 0], task.linked_sources)]
    links = links[np.unique(links[:, 0], return_index=True)[1]]
    if len(links) < 2:
        raise DataError(f"{path}: fewer than two links of sources without a given link. Name links to simulate with.")
    return links
