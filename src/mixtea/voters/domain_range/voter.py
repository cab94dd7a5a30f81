"""The voter `domain_range`: two properties are likely the same if their classes are, and unlikely if not."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mixtea.errors import MissingVoterError
from mixtea.voters.base import Cost, Evidence, Voter, VotingState, is_independent
from mixtea.voters.domain_range.opinions import FITS, RELATED, DomainRangeOpinions, believed_pairs
from mixtea.voters.domain_range.property_ends import VALUE_KINDS
from mixtea.voters.registry import voter_class

if TYPE_CHECKING:
    from mixtea.compute.scored_pairs import ScoredPairs
    from mixtea.voters.domain_range.opinions import Believed, End

MAX_CLASSES_SHOWN = 5  # of one end of a property, in an explanation


class DomainRange(Voter):
    """Log-odds that two properties are the same by their domains and ranges; no opinion on other pairs."""

    name = "domain_range"
    needs = ("triples",)
    evidence = "structure"
    uses_belief = True
    is_calibrated = True

    @cached_property
    def opinions(self) -> DomainRangeOpinions:
        return DomainRangeOpinions(self.task)

    def is_applicable(self) -> bool:
        return super().is_applicable() and self.opinions.has_some

    def score(self, pairs: ScoredPairs, state: VotingState) -> np.ndarray:
        if state.belief is None or not self.is_applicable():
            return np.full(len(pairs), np.nan)
        held = state.belief.by_entity
        said = held.text_score / self.config.sinkhorn_temperature if "text_score" in held.columns else None
        believed = believed_pairs(self.task, held, held.p, said)
        odds = self.opinions.log_odds(believed, *pairs.by_entity.ends)
        return self.config.sinkhorn_temperature * _added(odds)

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """Return the domains and the ranges of both side by side, and what each adds; the strongest first.

        They are computed from the stored candidates; the difference to the stored score is shared among the rows.
        """
        score = self.known.weight_of(self.name, source, target) if self.known is not None else None
        if self.known is None or score is None or not self.is_applicable():
            return ()
        believed, pair = self._stored_belief(self.known), (np.array([source]), np.array([target]))
        weights = self.config.sinkhorn_temperature * self.opinions.log_odds(believed, *pair)[:, 0]
        shown = np.flatnonzero(~np.isnan(weights)).tolist()
        weights += (score - np.nansum(weights)) / max(len(shown), 1)
        levels = self.opinions.levels(believed, *pair)[:, 0]
        rows = [Evidence(self._words(place, source, target, levels[place]), float(weights[place])) for place in shown]
        return sorted(rows, key=lambda row: -abs(row.weight))

    def _stored_belief(self, known: ScoredPairs) -> Believed:
        known = known.where(known.target >= 0)
        opinions = (known.scores[name] for name in self._judging_alone() if name in known.scores)
        parts = [scores for scores in opinions if not np.isnan(scores).all()]
        said = _added(np.stack(parts)) / self.config.sinkhorn_temperature if parts else None
        return believed_pairs(self.task, known, known.belief, said)

    def _judging_alone(self) -> set[str]:
        """Return the opinions of the run's independent voters."""
        found = set()
        for name in self.config.voters:
            with suppress(MissingVoterError):  # a run is explained without the packages of its voters, too
                kind = voter_class(name)
                found |= {kind.score_group or name} if is_independent(kind) else set()
        return found

    def _words(self, place: int, source: int, target: int, levels: np.ndarray) -> str:
        """Describe an end: `domain: Author ~ Person (one is above the other)`, or ≠ where the classes rather differ."""
        end = self.opinions.ends[place]
        known = levels[FITS] + levels[RELATED]
        sign = "≠" if levels.sum() - known > known else "~" if known >= 1 - levels.sum() else "?"
        above = " (one is above the other)" if sign == "~" and levels[RELATED] > levels[FITS] else ""
        return f"{end.name}: {self._named(end, 0, source)} {sign} {self._named(end, 1, target)}{above}"

    def _named(self, end: End, side: int, entity: int) -> str:
        members = end.members[side]
        found = members.indices[members.indptr[entity] : members.indptr[entity + 1]].tolist()
        graph = (self.task.source, self.task.target)[side]
        names = [VALUE_KINDS[one] if end.is_of_values else graph.display(one) for one in found[:MAX_CLASSES_SHOWN]]
        return " or ".join([*names, "others"] if len(found) > MAX_CLASSES_SHOWN else names)

    def cost(self) -> Cost:
        n = self.task.source.n_triples + self.task.target.n_triples
        return Cost(mib=n * 100 / 2**20 if self.is_applicable() else 0.0)


def _added(parts: np.ndarray) -> np.ndarray:
    """Add up [k, p] over k; NaN where all are."""
    return np.where(np.isnan(parts).all(axis=0), np.nan, np.nansum(parts, axis=0))
