"""From a trained student to answers: ranked candidates with probabilities, a mapping, scores of links."""

from __future__ import annotations

from collections.abc import Mapping as Table
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from torch import Tensor

from mixtea.calibration.calibrator import calibration_measures
from mixtea.calibration.probabilities import PairProbabilities
from mixtea.callbacks import report_step
from mixtea.compute.arrays import as_numpy, to_tensor
from mixtea.compute.matching import match_greedily
from mixtea.compute.nearest import nearest
from mixtea.compute.scored_pairs import ScoredPairs, union
from mixtea.config import Config
from mixtea.decide.answers import CANDIDATES_STORED, Answers, FallbackTargets, Ranked
from mixtea.decide.decode import Decoded, RankedLinks, StoredOpinions, decode
from mixtea.decide.decoders import fallback_targets, rank_top
from mixtea.evaluation.metrics import both_directions
from mixtea.graph.task import Task
from mixtea.voters.base import Voter
from mixtea.voters.learned import LearnedProbabilities
from mixtea.voters.registry import outside_evidence

ONE_TO_ONE = "one_to_one"  # the decoder that gives each target once


class DecodedTargets(NamedTuple):
    """For p sources some of their targets [p, k], what ranks them, the belief, and supporting voters [p, k, v]."""

    target: np.ndarray
    score: np.ndarray
    belief: np.ndarray
    supporters: np.ndarray


class Predictor:
    """Answers about one task by one student's vectors [n, d], the settings `decoder` and `decode_voters`.

    Where targets are given `once`, sources are rivals for them. `multiple_targets` is how likely a source has several;
    None: as often as sources of links have. `given` is what links of another task have shown of scores.
    """

    def __init__(
        self, vectors: Tensor, task: Task, config: Config, last: StoredOpinions | None,
        packages: Table[str, str] | None = None, decoded: Decoded | None = None, *, once: bool = True,
        multiple_targets: float | None = None, given: LearnedProbabilities | None = None, bound: Sequence[Voter] = (),
    ) -> None:  # fmt: skip
        self.given, self.bound = given, bound
        self.vectors, self.task, self.config, self.last, self.packages = vectors, task, config, last, packages
        self.once, self.multiple_targets = once, multiple_targets
        self.source_index = task.open_sources()
        if decoded is not None:
            self.decoded = decoded

    @cached_property
    def decoded(self) -> Decoded:
        return decode(self.vectors, self.task, self.config, self.last, self.packages, self.bound)

    @cached_property
    def pairs(self) -> PairProbabilities:
        """Return how likely each candidate is right."""
        return PairProbabilities(
            self.task, self.decoded, self.last, self.source_index, once=self.once,
            multiple_targets=self.multiple_targets, given=self.given,
        )  # fmt: skip

    @cached_property
    def belief(self) -> np.ndarray:
        """Return [p]: the belief in each candidate of the decoder."""
        return as_numpy(self.decoded.opinions.belief)

    @cached_property
    def supporters(self) -> np.ndarray:
        """Return bool [p, v]: the voters that support each candidate of the decoder."""
        return as_numpy(self.decoded.supporters)

    def answers(self, k: int = CANDIDATES_STORED) -> Answers:
        """Return what a run keeps: the `k` best candidates, likeliest first, and the assignment of mappings.

        Entities that are context compete for targets, but only those that are asked about have an answer.
        """
        report_step("calibration of probabilities, and the mapping")
        found = self._ranked(max(k, CANDIDATES_STORED))
        decided, is_assigned = self._decided()
        held = {name: as_numpy(values) for name, values in self.decoded.opinions.scores.items()}
        both = np.concatenate([decided.target[:, :1], found.target[:, :1]], axis=1)
        answers = Answers(
            self.task, self.config.deciding_voters, self.source_index, found,
            {name: self._looked_up(found.target, values, np.nan) for name, values in held.items()},
            decided, is_assigned,
            {name: self._looked_up(both, as_numpy(part), np.nan) for name, part in self.decoded.parts.items()},
            self._fallback(decided, is_assigned), outside_evidence(self.decoded.voters),
        )  # fmt: skip
        return answers if self.task.asked is None else answers.of_sources(self.task.is_asked(0)[self.source_index])

    def scores(self, links: np.ndarray, answers: Answers | None = None) -> dict[str, float]:
        """Compute Hit@k and MRR of links [p, 2] both ways, and calibration measures of their mappings.

        `answers` are those of these settings, where they are known already.
        """
        joint = self._joint(links)
        if self.config.only_student_decodes:
            everything = self.task.source.n_entities if self.config.candidates == "all" else None
            found = both_directions(self.vectors, joint, everything, mib=self.config.block_mib)
        else:
            found = RankedLinks(self.decoded, self.task, joint).scores()
        candidates = (answers or self.answers()).candidates(1)
        asked = np.isin(candidates.source_index, links[:, 0])
        if not asked.any():
            return found
        best = ScoredPairs(
            candidates.source_index[asked], candidates.target_index[asked, 0], self.task.joint_index.shape
        )
        return found | dict(calibration_measures(candidates.probability[asked, 0], best.are_among(links)))

    def first_hits(self, links: np.ndarray) -> np.ndarray:
        """Return [p]: how likely each of the links [p, 2] is the first of its source, ties in expectation."""
        return RankedLinks(self.decoded, self.task, self._joint(links)).first_hits()

    def _joint(self, links: np.ndarray) -> Tensor:
        return to_tensor(self.task.joint_index.of_pairs(links), self.vectors.device)

    def _decided(self) -> tuple[Ranked, np.ndarray]:
        """Return the target that each source is assigned and its likeliest other one; and whether it is assigned any.

        The likeliest pair is taken again and again, without the ends of validation links, whose sources have theirs. A
        source that gets none has its two likeliest targets here.
        """
        task, pairs = self.task, self.pairs
        k = min(2, task.target.n_entities)
        found = self._ranked(max(CANDIDATES_STORED, k))
        p, target = found.probability(found.target.shape[1]), found.target[:, :k].copy()
        row = pairs.row[pairs.source]
        taken = np.isin(pairs.target, task.valid[:, 1]) if self.once else np.zeros(len(row), dtype=bool)
        is_open = ~taken & ~np.isin(pairs.source, task.linked_sources)
        kept = np.flatnonzero(is_open & (row >= 0))
        if self.once:
            asked = ScoredPairs(row[kept], pairs.target[kept], task.joint_index.shape)
            kept = kept[match_greedily(asked, pairs.probability[kept])]
            assigned = np.full(len(self.source_index), -1)
            assigned[row[kept]] = pairs.target[kept]
        else:
            has = np.isin(np.arange(len(self.source_index)), row[kept]) & (p[:, 0] > 0 if k else False)
            assigned = np.where(has, target[:, 0] if k else -1, -1)
        other = np.flatnonzero((assigned >= 0) & (assigned != target[:, 0])) if k else np.empty(0, dtype=np.int64)
        target[other, 1:] = target[other, :1]
        target[other, 0] = assigned[other]
        return self._complete(self._with_belief(target)), assigned >= 0

    def _with_belief(self, target: np.ndarray) -> DecodedTargets:
        """Return candidates [p, k] with the belief in them, which is their score, and the voters that support them."""
        belief = self._looked_up(target, self.belief)
        return DecodedTargets(
            target, belief.astype(np.float64), belief, self._looked_up(target, self.supporters, False)
        )

    def _fallback(self, found: Ranked, is_assigned: np.ndarray) -> FallbackTargets:
        """Return the fallback targets of the sources that lost theirs, where every one is to be mapped.

        Entities without triples get and are none: they have no trained vectors.
        """
        task, n = self.task, self.task.source.n_entities
        asked = ~np.isin(self.source_index, task.linked_sources) & ~found.no_evidence[:, 0]
        lost = np.flatnonzero(asked & ~is_assigned & ~task.source.isolated()[self.source_index])
        given = np.concatenate([task.train[:, 1], task.valid[:, 1], found.target[asked & is_assigned, 0]])
        others = np.setdiff1d(np.flatnonzero(~task.target.isolated()), given)
        vectors, rejected = (self.vectors[:n], self.vectors[n:]), set(map(tuple, task.rejected.tolist()))
        target = np.full(len(self.source_index), -1, dtype=np.int64)
        target[lost] = fallback_targets(vectors, self.source_index[lost], others, rejected, self.config)
        first = np.where(target >= 0, target, found.target[:, 0])[:, None]
        return FallbackTargets(target, self._complete(self._with_belief(first)).likelihood[:, 0])

    def _ranked(self, k: int) -> Ranked:
        """Return the k best by the decoder, the likeliest first; equally likely ones in the order of the decoder."""
        found = self._complete(self._by_decoder(min(k, self.task.target.n_entities)))
        return found.ordered(np.argsort(-found.likelihood, axis=1, kind="stable"))

    def _by_decoder(self, k: int) -> DecodedTargets:
        """Return the k best by the decoder."""
        if not self.config.only_student_decodes:
            return self._of_decoder(k)
        score, target = self._nearest(self.source_index, k)
        return DecodedTargets(target, score, self._looked_up(target, self.belief), self._student_supporters(target))

    def _nearest(self, sources: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (nearness, targets) [p, k] of some sources: the student's nearest (Eq. 1), without rejected ones."""
        ours, theirs = (self.vectors[self.task.joint_index.rows(side)] for side in (0, 1))
        most = _greatest_count(self.task.rejected[:, 0])
        score, found = self._search(ours[sources], theirs, min(k + most, len(theirs)))
        last = np.argsort(self._are_rejected(sources[:, None], found), axis=1, kind="stable")[:, :k]
        return np.take_along_axis(score, last, axis=1), np.take_along_axis(found, last, axis=1)

    def _search(self, queries: Tensor, items: Tensor, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (nearness, rows) of the k nearest items of each query."""
        config = self.config
        engine = "auto" if config.search == "exact" else config.search
        score, found = nearest(queries, items, k, config.metric, engine=engine, mib=config.block_mib)
        return as_numpy(score), as_numpy(found)

    def _student_supporters(self, found: np.ndarray) -> np.ndarray:
        """Return bool [p, k, v]: which of the nearest [p, k] the student's two directions support."""
        names = self.config.deciding_voters
        named = np.zeros((*found.shape, len(names)), dtype=bool)
        if "backward" in names:
            named[..., names.index("backward")] = self._favourites(found)
        if "forward" in names:
            named[:, :1, names.index("forward")] = True
        return named

    def _are_rejected(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return bool: whether pairs were rejected; `source` is broadcast to the shape of `target`."""
        ends = [part.ravel() for part in np.broadcast_arrays(source, target)]
        return ScoredPairs.of(ends, self.task.joint_index.shape).are_among(self.task.rejected).reshape(target.shape)

    def _favourites(self, found: np.ndarray) -> np.ndarray:
        """Return bool [n, k]: where source row i is the nearest of all sources to its candidate found[i, j]."""
        if not len(self.source_index):
            return np.zeros(found.shape, dtype=bool)
        chosen, place = np.unique(found, return_inverse=True)
        ours, theirs = (self.vectors[self.task.joint_index.rows(side)] for side in (0, 1))
        most = _greatest_count(self.task.rejected[:, 1])
        _, near = self._search(theirs[chosen], ours[self.source_index], min(1 + most, len(self.source_index)))
        rejected = self._are_rejected(self.source_index[near], np.broadcast_to(chosen[:, None], near.shape))
        first = np.argsort(rejected, axis=1, kind="stable")[:, :1]  # the nearest that was not rejected
        near = np.take_along_axis(near, first, axis=1)[:, 0]
        return near[place.reshape(found.shape)] == np.arange(len(self.source_index))[:, None]

    def _looked_up(self, target: np.ndarray, values: np.ndarray, otherwise: float = 0) -> np.ndarray:
        """Return [p, k, ...]: the values of candidates that the decoder has considered, `otherwise` for others."""
        place, there = self._find(target)
        if not len(values):
            return np.full((*target.shape, *values.shape[1:]), otherwise, dtype=values.dtype)
        there = there.reshape(*there.shape, *[1] * (values.ndim - 1))
        return np.where(there, values[place], np.asarray(otherwise, dtype=values.dtype))

    def _find(self, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the place of each candidate [p, k] among the decoder's, and whether it is there."""
        source = np.broadcast_to(self.source_index[:, None], target.shape)
        place, there = self.pairs.candidates.find(source.ravel(), target.ravel())
        return place.reshape(target.shape), there.reshape(target.shape)

    def _of_decoder(self, k: int) -> DecodedTargets:
        """Return the decoder's candidates, then the nearest of what is left."""
        candidates, (n, m) = self.pairs.candidates, (len(self.source_index), self.task.target.n_entities)
        own = ScoredPairs(self.pairs.row[candidates.source], candidates.target, (n, m))
        short = np.flatnonzero(np.bincount(own.source, minlength=n) < min(k, m))
        found = self._nearest(self.source_index[short], k)[1]
        filler = ScoredPairs(np.repeat(short, found.shape[1]), found.ravel(), (n, m))
        both = union([own, filler])
        ranking, belief = (np.full(len(both), value, dtype=self.belief.dtype) for value in (-1e9, 0.0))
        where, after = both.find(*own.ends)[0], np.tile(np.arange(found.shape[1]), len(found))
        ranking[both.find(*filler.ends)[0]] -= (after * 1e3).astype(ranking.dtype)
        ranking[where], belief[where] = as_numpy(self.decoded.ranking), self.belief
        shown = belief if self.decoded.config.decoder in ("sinkhorn", ONE_TO_ONE) else np.maximum(ranking, -10.0)
        named = np.zeros((len(both), self.supporters.shape[1]), dtype=bool)
        named[where] = self.supporters
        best = rank_top(both, ranking, min(k, m))
        return DecodedTargets(both.target[best], shown[best].astype(np.float64), belief[best], named[best])

    def _complete(self, found: DecodedTargets) -> Ranked:
        """Add what else is known of the candidates, and how likely they are."""
        chosen = self._looked_up(found.target, self.pairs.candidates.best_of_columns(self.belief), False)
        unknown = self._has_no_evidence(found.target)
        supporters = found.supporters & ~unknown[..., None]
        probability = np.where(unknown, 0.0, self._looked_up(found.target, self.pairs.probability))
        counterpart = self.pairs.counterpart
        likelihood = np.minimum(probability / np.maximum(counterpart, 1e-12)[:, None], 1.0)
        parts = (found.target, found.score, found.belief, supporters, chosen, unknown, likelihood, counterpart)
        return Ranked(*parts, links_are_random=self.pairs.links_are_random)

    def _has_no_evidence(self, target: np.ndarray) -> np.ndarray:
        """Return bool [p, k]: pairs without evidence: rejected, or with an end without triples that no voter covers."""
        ours, theirs = self.task.source.isolated()[self.source_index], self.task.target.isolated()
        unknown = (ours[:, None] | theirs[target]) & ~self._find(target)[1]
        return unknown | self._are_rejected(self.source_index[:, None], target)


def _greatest_count(entities: np.ndarray) -> int:
    """Return how often the most frequent of the entities is there."""
    return int(np.bincount(entities).max(initial=0)) if len(entities) else 0
