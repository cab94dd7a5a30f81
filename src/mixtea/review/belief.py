"""What decisions change at once, without a training: the pair itself, its rivals, and its neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from mixtea.review.model import Model
from mixtea.vote.neighbours import FLOOR

FACTOR = 4.0  # log-odds for each unit of agreement, where the run does not say
FACTORS = (0.5, 20.0)
MOST = 8.0  # log-odds that neighbours may add or take
LIKELY = 0.01  # a candidate of less probability is not looked at when neighbours change
THRESHOLD = 0.5  # of probability: from there on a pair is rather right than wrong
MANY = 200  # neighbours of which no more is said than how many they are
MOVED = 0.005  # of probability: a smaller change is none


class Effect(NamedTuple):
    """What a decision moves: neighbours whose probability changes, and how many of them come to be likely, or cease."""

    moved: int
    across: int


class Belief:
    """The probabilities of a model's candidates, given what was decided.

    A decision is log-odds: plus or minus infinity is a fact. An accepted pair ends its rivals. Neighbours get what the
    agreement voter would say: factor * change of log(1 + sum of what speaks for them).
    """

    def __init__(self, model: Model) -> None:
        self.model, self.factor = model, _factor(model)
        self.said_of: dict[int, dict[int, float]] = {}  # log-odds by source and target
        self.scores: dict[tuple[int, int], float] = {}  # of agreement, before any decision
        self.shift: dict[tuple[int, int], float] = {}  # of (row, place): log-odds by neighbours
        self.owner: dict[int, int] = {}  # accepted target: its source

    @property
    def said(self) -> dict[tuple[int, int], float]:
        """All that is decided, by source and target."""
        return {(source, target): odds for source, own in self.said_of.items() for target, odds in own.items()}

    def decide(self, pair: tuple[int, int], log_odds: float | None) -> set[int]:
        """Note what is decided about a pair, None for nothing any more; returns the rows whose probabilities change."""
        if self._said(pair) == log_odds:
            return set()
        self._note(pair, log_odds)
        return self._around([pair])

    def decide_all(self, said: Mapping[tuple[int, int], float]) -> set[int]:
        """Note all decisions at once, in place of those before."""
        before = self.said
        changed = sorted(pair for pair in {*said, *before} if said.get(pair) != before.get(pair))
        for pair in changed:
            self._note(pair, said.get(pair))
        return self._around(changed)

    def _said(self, pair: tuple[int, int]) -> float | None:
        return self.said_of.get(pair[0], {}).get(pair[1])

    def _note(self, pair: tuple[int, int], log_odds: float | None) -> None:
        source, target = pair
        own = self.said_of.setdefault(source, {})
        own.pop(target, None)
        if log_odds is not None:
            own[target] = log_odds
        elif not own:
            del self.said_of[source]
        if log_odds == math.inf:
            self.owner[target] = source
        elif self.owner.get(target) == source:
            del self.owner[target]

    def probability(self, row: int, without: bool = False) -> np.ndarray:
        """[k] of a row's candidates; `without` what was decided about the row itself."""
        model = self.model
        source, targets = int(model.sources[row]), model.target[row].tolist()
        odds = model.probability[row].copy()
        none = max(1.0 - float(odds.sum()), 1e-3)
        for place, target in enumerate(targets):
            odds[place] *= math.exp(self.shift.get((row, place), 0.0))
            if self.owner.get(target, source) != source:
                odds[place] = 0.0
            if not without and (said := self._said((source, target))) is not None:
                if said == math.inf:
                    return np.eye(len(targets))[place]
                odds[place] *= math.exp(said) if said > -math.inf else 0.0
        return odds / (odds.sum() + none)

    def preview(self, pair: tuple[int, int]) -> Effect:
        """What accepting a pair would move among its neighbours; of very many, only how many there are."""
        before = self._said(pair)
        rows = self._neighbours([pair]) - {int(self.model.row_of[pair[0]])}
        if before == math.inf or len(rows) > MANY:
            return Effect(0 if before == math.inf else len(rows), 0)
        old = {row: self._best(row) for row in rows}
        shift, owner = dict(self.shift), self.owner.get(pair[1])
        self._note(pair, math.inf)
        self._shift(rows)
        new = {row: self._best(row) for row in rows}
        self._note(pair, before)
        self.shift = shift
        if owner is not None:
            self.owner[pair[1]] = owner
        moved = [row for row in rows if abs(new[row] - old[row]) >= MOVED]
        return Effect(len(moved), sum((new[row] >= THRESHOLD) != (old[row] >= THRESHOLD) for row in moved))

    def _best(self, row: int) -> float:
        return float(self.probability(row).max(initial=0.0))

    def _around(self, pairs: list[tuple[int, int]]) -> set[int]:
        """Let neighbours know; returns the rows of the pairs, of who wants their targets, and of neighbours."""
        if not pairs:
            return set()
        rows = self._neighbours(pairs)
        self._shift(rows)
        own = {int(self.model.row_of[source]) for source, _ in pairs} - {-1}
        return rows | own | {row for _, target in pairs for row, _ in self.model.rivals(target)}

    def _neighbours(self, pairs: list[tuple[int, int]]) -> set[int]:
        """The rows of sources beside those of the pairs, and beside those whose belief in the targets ends."""
        near, model = self.model.near, self.model
        sources = {source for source, _ in pairs}
        for _, target in pairs:
            wanting = (int(model.sources[row]) for row, _ in model.rivals(target))
            sources |= {source for source in wanting if near.believed(source).get(target, 0.0) > FLOOR}
        beside = np.unique(np.concatenate([near.beside(source) for source in sorted(sources)]))
        return {int(row) for row in model.row_of[beside].tolist() if row >= 0}

    def _shift(self, rows: set[int]) -> None:
        """Compute anew what neighbours say of the likely candidates of the rows."""
        model, near, changed = self.model, self.model.near, _Changed(self)
        for row in rows:
            source = int(model.sources[row])
            for place in np.flatnonzero(model.probability[row] > LIKELY).tolist():
                target = int(model.target[row, place])
                shift = self.factor * (near.score(source, target, changed) - self._score(source, target))
                self.shift.pop((row, place), None)
                if shift:
                    self.shift[row, place] = max(-MOST, min(MOST, shift))

    def _score(self, source: int, target: int) -> float:
        """What neighbours said before any decision."""
        if (source, target) not in self.scores:
            self.scores[source, target] = self.model.near.score(source, target)
        return self.scores[source, target]

    def believed(self, source: int) -> dict[int, float]:
        """Of a source the beliefs that decisions put in the place of the model's: in its targets and their rivals."""
        held, said = self.model.near.believed(source), self.said_of.get(source, {})
        if math.inf in said.values():
            return dict.fromkeys(held, 0.0) | {target: float(said.get(target) == math.inf) for target in said}
        found = {target: 0.0 for target in held if self.owner.get(target, source) != source}
        for target, log_odds in said.items():
            p = held.get(target, 0.0)
            found[target] = p / (p + (1 - p) * math.exp(min(-log_odds, 700))) if p else 0.0
        return found


class _Changed(Mapping[int, Mapping[int, float]]):
    """What decisions have changed, by source, found when it is asked for."""

    def __init__(self, belief: Belief) -> None:
        self.belief = belief

    def __getitem__(self, source: int) -> Mapping[int, float]:
        return self.belief.believed(source)

    def __iter__(self) -> Iterator[int]:
        return iter(self.belief.said_of)

    def __len__(self) -> int:
        return len(self.belief.said_of)


def _factor(model: Model) -> float:
    """Log-odds for a unit of agreement, by what it adds to the scores of the run's own candidates."""
    answers = model.run.answers_
    if "agreement" not in answers.parts or not answers.ranked.target.size:
        return FACTOR
    part, score = answers.parts["agreement"][:, 1], answers.scores["agreement"][:, 0]
    there = np.isfinite(part) & (score > 0.05)
    if not there.any():
        return FACTOR
    return float(np.clip(np.median(part[there] / score[there]), *FACTORS))
