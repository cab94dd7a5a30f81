"""Update probabilities after decisions, without a training: of the pair itself, its rivals, and its neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from mixtea.relations.neighbours import MIN_BELIEF
from mixtea.review.model import Model

DEFAULT_FACTOR = 4.0  # log-odds per unit of agreement, if the run has none
FACTOR_RANGE = (0.5, 20.0)
MAX_SHIFT = 8.0  # log-odds that neighbours may add or take
MIN_CANDIDATE_PROBABILITY = 0.01  # a candidate of less probability is not looked at when neighbours change
MIN_SUPPORT = 1e-9  # below it is rounding
LIKELY_THRESHOLD = 0.5  # of probability: from there on a pair is rather right than wrong
MIN_CHANGE = 0.005  # of probability: a smaller change is none


class Effect(NamedTuple):
    """Effect of a decision: number of neighbours whose probability changes, and that cross the threshold."""

    moved: int
    across: int


class Posterior:
    """Probabilities of a model's candidates, given the decisions.

    A decision is log-odds: plus or minus infinity is a fact. An accepted pair excludes its rivals. Neighbours change as
    the agreement voter's score would: factor * change of log(1 + sum of their support).
    """

    def __init__(self, model: Model) -> None:
        self.model, self.factor = model, _factor(model)
        self.log_odds_of: dict[int, dict[int, float]] = {}  # log-odds by source and target
        self.accepted_for: dict[int, set[int]] = {}  # accepted target: its source, or sources
        self.support: dict[int, dict[int, float]] = {}  # additional support, by row and place
        self.support_before: dict[tuple[int, int], float] = {}  # what spoke for a pair before any decision

    def decide(self, pair: tuple[int, int], log_odds: float | None) -> None:
        """Set the decision about a pair, None to remove it, and update its neighbours."""
        if self.log_odds_of.get(pair[0], {}).get(pair[1]) == log_odds:
            return
        for (row, place), change in self._reached(self._noted(pair, log_odds)).items():
            own = self.support.setdefault(row, {})
            own[place] = own.get(place, 0.0) + change
            if abs(own[place]) < MIN_SUPPORT:
                del own[place]
            if not own:
                del self.support[row]

    def _noted(self, pair: tuple[int, int], log_odds: float | None) -> dict[tuple[int, int], float]:
        """Set a decision; return the change of belief by pair."""
        rivals = (int(self.model.sources[row]) for row, _ in self.model.rivals(pair[1]))
        believed = self.model.neighbourhood.believed
        sources = [pair[0], *(s for s in rivals if s != pair[0] and believed(s).get(pair[1], 0.0) > MIN_BELIEF)]
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
        own = self.log_odds_of.setdefault(source, {})
        own.pop(target, None)
        if log_odds is not None:
            own[target] = log_odds
        elif not own:
            del self.log_odds_of[source]
        owners = self.accepted_for.setdefault(target, set())
        owners.discard(source)
        if log_odds == math.inf:
            owners.add(source)
        elif not owners:
            del self.accepted_for[target]

    def rows_without_first(self) -> np.ndarray:
        """Return the rows whose first candidate was accepted for another source."""
        if not self.model.target.shape[1]:
            return np.empty(0, dtype=np.int64)
        accepted = np.flatnonzero(np.isin(self.model.target[:, 0], list(self.accepted_for))).tolist()
        taken = [row for row in accepted if self.is_taken(*self.model.ends(row)[::-1])]
        return np.array(taken, dtype=np.int64)

    def is_taken(self, target: int, source: int) -> bool:
        """Return whether a target was accepted for another source."""
        return bool(self.accepted_for.get(target, set()) - {source})

    def believed(self, source: int) -> dict[int, float]:
        """Return the beliefs in the targets of a source, given the decisions."""
        held, said = self.model.neighbourhood.believed(source), self.log_odds_of.get(source, {})
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

    def _reached(self, changes: Mapping[tuple[int, int], float]) -> dict[tuple[int, int], float]:
        """Return by row and place the change of support beside pairs whose beliefs change."""
        model, found = self.model, dict[tuple[int, int], float]()
        for (source, target), change in changes.items():
            for (beside, end), weight in model.neighbourhood.supported_pairs(source, target, self._likely).items():
                row = int(model.row_of[beside])
                place = model.target[row].tolist().index(end)
                found[row, place] = found.get((row, place), 0.0) + change * weight
        return found

    def _likely(self, source: int) -> Iterable[int]:
        """Return the candidates of a source that are not improbable."""
        row = int(self.model.row_of[source])
        if row < 0:
            return []
        likely: list[int] = self.model.target[row, self.model.probability[row] > MIN_CANDIDATE_PROBABILITY].tolist()
        return likely

    def shift(self, row: int, place: int, more: float) -> float:
        """Return the change of log-odds for additional support of a candidate."""
        pair = self.model.ends(row, place)
        if pair not in self.support_before:
            self.support_before[pair] = math.expm1(self.model.neighbourhood.score(*pair))
        before = self.support_before[pair]
        change = math.log1p(max(before + more, 0.0)) - math.log1p(before)
        return max(-MAX_SHIFT, min(MAX_SHIFT, self.factor * change))

    def probability(self, row: int, *, without: bool = False, more: Mapping[int, float] | None = None) -> np.ndarray:
        """[k]: return the probabilities of a row's candidates, `without` its own decision, with `more` support."""
        model = self.model
        source, odds = int(model.sources[row]), model.probability[row].copy()
        none = max(1.0 - float(odds.sum()), 1e-3)
        own, said = self.support.get(row, {}), {} if without else self.log_odds_of.get(source, {})
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
        """Return the effect of accepting a pair on its neighbours."""
        before = self.log_odds_of.get(pair[0], {}).get(pair[1])
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
            if was > 1 - MIN_CHANGE and self._only_likelier(row, int(old[row].argmax()), more, pair[1]):
                continue
            now = float(self.probability(row, more=more).max(initial=0.0))
            moved += abs(now - was) >= MIN_CHANGE
            across += (now >= LIKELY_THRESHOLD) != (was >= LIKELY_THRESHOLD)
        self._note(pair, before)
        return Effect(moved, across)

    def _only_likelier(self, row: int, first: int, more: Mapping[int, float], taken: int) -> bool:
        """Return whether the first candidate can only gain where a target is taken and support changes."""
        rises = all(change >= 0 if place == first else change <= 0 for place, change in more.items())
        return rises and int(self.model.target[row, first]) != taken


def _factor(model: Model) -> float:
    """Return the log-odds per unit of agreement, by its contribution to the scores of the run's own candidates."""
    answers = model.run.answers_
    if "agreement" not in answers.parts or not answers.ranked.target.size:
        return DEFAULT_FACTOR
    part, score = answers.parts["agreement"][:, 1], answers.scores["agreement"][:, 0]
    there = np.isfinite(part) & (score > 0.05)
    if not there.any():
        return DEFAULT_FACTOR
    return float(np.clip(np.median(part[there] / score[there]), *FACTOR_RANGE))
