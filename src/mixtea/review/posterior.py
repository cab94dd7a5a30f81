"""What decisions change at once, without a training: the pair itself, its rivals, and its neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from mixtea.relations.neighbours import MIN_BELIEF
from mixtea.review.model import Model

FACTOR = 4.0  # log-odds for each unit of agreement, where the run does not say
FACTORS = (0.5, 20.0)
MOST = 8.0  # log-odds that neighbours may add or take
LIKELY = 0.01  # a candidate of less probability is not looked at when neighbours change
NOTHING = 1e-9  # of what speaks for a pair: rounding
THRESHOLD = 0.5  # of probability: from there on a pair is rather right than wrong
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
        self.owner: dict[int, set[int]] = {}  # accepted target: its source, or sources
        self.more: dict[int, dict[int, float]] = {}  # by row and place: what speaks for it more than before
        self.before: dict[tuple[int, int], float] = {}  # what spoke for a pair before any decision

    def decide(self, pair: tuple[int, int], log_odds: float | None) -> None:
        """Note what is decided about a pair, None for nothing any more, and let neighbours know."""
        if self.said_of.get(pair[0], {}).get(pair[1]) != log_odds:
            self._spread(self._noted(pair, log_odds))

    def _noted(self, pair: tuple[int, int], log_odds: float | None) -> dict[tuple[int, int], float]:
        """Note a decision; returns by how much beliefs change, by pair."""
        sources = self._concerned(pair)
        old = {source: self.believed(source) for source in sources}
        self._note(pair, log_odds)
        changes = {}
        for source in sources:
            new = self.believed(source)
            for target in {*old[source], *new}:
                change = new.get(target, 0.0) - old[source].get(target, 0.0)
                if change:
                    changes[source, target] = change
        return changes

    def _note(self, pair: tuple[int, int], log_odds: float | None) -> None:
        source, target = pair
        own = self.said_of.setdefault(source, {})
        own.pop(target, None)
        if log_odds is not None:
            own[target] = log_odds
        elif not own:
            del self.said_of[source]
        owners = self.owner.setdefault(target, set())
        owners.discard(source)
        if log_odds == math.inf:
            owners.add(source)
        elif not owners:
            del self.owner[target]

    def rows_without_first(self) -> np.ndarray:
        """Return the rows whose first candidate was accepted for another source."""
        model = self.model
        owners = {target: sources for target, sources in self.owner.items() if sources}
        taken = np.flatnonzero(np.isin(model.target[:, 0], list(owners))) if model.target.shape[1] else np.empty(0, int)
        return np.array(
            [row for row in taken.tolist() if owners[int(model.target[row, 0])] - {int(model.sources[row])}],
            dtype=np.int64,
        )

    def is_taken(self, target: int, source: int) -> bool:
        """Whether a target was accepted for another source."""
        return bool(self.owner.get(target, set()) - {source})

    def _concerned(self, pair: tuple[int, int]) -> list[int]:
        """The source, and those who are believed to have the target."""
        near, model = self.model.near, self.model
        rivals = (int(model.sources[row]) for row, _ in model.rivals(pair[1]))
        return [
            pair[0],
            *(one for one in rivals if one != pair[0] and near.believed(one).get(pair[1], 0.0) > MIN_BELIEF),
        ]

    def believed(self, source: int) -> dict[int, float]:
        """The beliefs in the targets of a source that speak for neighbours, given what was decided."""
        held, said = self.model.near.believed(source), self.said_of.get(source, {})
        accepted = [target for target, log_odds in said.items() if log_odds == math.inf]
        if accepted:
            return dict.fromkeys(accepted, 1.0)
        found = {}
        for target, p in held.items():
            log_odds = said.get(target, 0.0)
            if log_odds == -math.inf or self.is_taken(target, source):
                continue
            p = p if not log_odds else p / (p + (1 - p) * math.exp(-log_odds))
            if p > MIN_BELIEF:
                found[target] = p
        return found

    def _spread(self, changes: Mapping[tuple[int, int], float]) -> None:
        """Let neighbours know of changed beliefs."""
        for (row, place), change in self._reached(changes).items():
            own = self.more.setdefault(row, {})
            own[place] = own.get(place, 0.0) + change
            if abs(own[place]) < NOTHING:
                del own[place]
            if not own:
                del self.more[row]

    def _reached(self, changes: Mapping[tuple[int, int], float]) -> dict[tuple[int, int], float]:
        """By row and place, how much more speaks for candidates beside pairs whose beliefs change."""
        model, found = self.model, dict[tuple[int, int], float]()
        for (source, target), change in changes.items():
            for (beside, end), weight in model.near.supported_pairs(source, target, self._likely).items():
                row = int(model.row_of[beside])
                place = model.target[row].tolist().index(end)
                found[row, place] = found.get((row, place), 0.0) + change * weight
        return found

    def _likely(self, source: int) -> Iterable[int]:
        """The candidates of a source that are worth looking at."""
        row = int(self.model.row_of[source])
        return self.model.target[row, self.model.probability[row] > LIKELY].tolist() if row >= 0 else ()

    def shift(self, row: int, place: int, more: float) -> float:
        """Log-odds by so much more that speaks for a candidate."""
        pair = (int(self.model.sources[row]), int(self.model.target[row, place]))
        if pair not in self.before:
            self.before[pair] = math.expm1(self.model.near.score(*pair))
        before = self.before[pair]
        change = math.log1p(max(before + more, 0.0)) - math.log1p(before)
        return max(-MOST, min(MOST, self.factor * change))

    def probability(self, row: int, *, without: bool = False, more: Mapping[int, float] | None = None) -> np.ndarray:
        """[k] of a row's candidates; `without` what was decided about itself, with `more` that speaks for it."""
        model = self.model
        source, odds = int(model.sources[row]), model.probability[row].copy()
        none = max(1.0 - float(odds.sum()), 1e-3)
        own, said = self.more.get(row, {}), {} if without else self.said_of.get(source, {})
        accepted = [target for target, log_odds in said.items() if log_odds == math.inf]
        if accepted:
            return np.isin(model.target[row], accepted).astype(np.float64)
        for place, target in enumerate(model.target[row].tolist()):
            speaks = own.get(place, 0.0) + (more or {}).get(place, 0.0)
            if speaks:
                odds[place] *= math.exp(self.shift(row, place, speaks))
            odds[place] *= 0.0 if self.is_taken(target, source) else math.exp(said.get(target, 0.0))
        return odds / (odds.sum() + none)

    def preview(self, pair: tuple[int, int]) -> Effect:
        """What accepting a pair would move among its neighbours."""
        before = self.said_of.get(pair[0], {}).get(pair[1])
        if before == math.inf:
            return Effect(0, 0)
        rows: dict[int, dict[int, float]] = {}
        changes = self._noted(pair, math.inf)
        self._note(pair, before)
        for (row, place), change in self._reached(changes).items():
            rows.setdefault(row, {})[place] = change
        rows.pop(int(self.model.row_of[pair[0]]), None)
        old = {row: self.probability(row) for row in rows}
        self._note(pair, math.inf)
        moved, across = 0, 0
        for row, more in rows.items():
            was = float(old[row].max(initial=0.0))
            if was > 1 - MOVED and self._only_likelier(row, int(old[row].argmax()), more, pair[1]):
                continue
            now = float(self.probability(row, more=more).max(initial=0.0))
            moved += abs(now - was) >= MOVED
            across += (now >= THRESHOLD) != (was >= THRESHOLD)
        self._note(pair, before)
        return Effect(moved, across)

    def _only_likelier(self, row: int, first: int, more: Mapping[int, float], taken: int) -> bool:
        """Whether the first candidate can but gain where a target is taken and so much more speaks for candidates."""
        rises = all(change >= 0 if place == first else change <= 0 for place, change in more.items())
        return rises and int(self.model.target[row, first]) != taken


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
