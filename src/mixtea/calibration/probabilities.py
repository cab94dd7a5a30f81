"""Consistent probabilities of all candidate pairs: those of an entity add up to at most 1."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logit
from torch import Tensor

from mixtea.calibration.calibrator import (
    calibrated,
    estimate_match_prior,
    fit_calibrator,
    fit_evidence,
    logistic,
    sigmoid,
)
from mixtea.calibration.features import (
    CandidateScores,
    Examples,
    MatchedNeighbours,
    holdout_candidates,
    join_examples,
    pair_features,
)
from mixtea.compute.arrays import as_numpy, to_tensor
from mixtea.compute.scored_pairs import ScoredPairs, are_in
from mixtea.graph.task import Task
from mixtea.voters.disambiguation import own_types
from mixtea.voters.learned import LearnedProbabilities
from mixtea.voters.structure import VECTORS_GROUP

if TYPE_CHECKING:
    from mixtea.decide.decode import Decoded, StoredOpinions

HALF_WEIGHT_LINKS = 500  # links that count as much as the unsupervised probabilities, before validation
PSEUDO_VALID_LINKS = 10  # validation links that the prior of this weight counts for
MIN_LINK_LIKELIHOOD = 0.01  # added to the probability of a validation link: lower ones cost no more
SEVERAL_PROBABILITY = 0.9  # that a source with several links has further targets
BELIEF_RECALIBRATION = np.array([0.0, 0.7, 0.3]), np.array([0.7, 0.3, 0.3])  # expected weights and their spread
MIN_SEVERAL_SHARE = 0.02  # of the linked sources: fewer with several change nothing for the others


class PairProbabilities:
    """Probabilities of each candidate of the decoder, and of a counterpart of each of the sources `source_index` [s].

    `probability` [p] is that of `source` [p] and `target` [p], by entity index. Where targets are given `once`, the
    probabilities of a target add up to at most 1, as those of a source do that has one target. `multiple_targets` is
    how likely a source has several; None: as often as sources of links have. `given` is what links of another task
    have shown: then nothing is fitted to those of this one.
    """

    def __init__(
        self, task: Task, decoded: Decoded, last: StoredOpinions | None, source_index: np.ndarray, *, once: bool = True,
        multiple_targets: float | None = None, given: LearnedProbabilities | None = None,
    ) -> None:  # fmt: skip
        self.given = given
        self.recalibration, self.link_share = np.tile(BELIEF_RECALIBRATION[0], (2, 1)), np.full(2, np.nan)
        self.task, self.decoded, self.last, self.source_index = task, decoded, last, source_index
        self.once, self.multiple_targets = once, multiple_targets
        self.shape = task.joint_index.shape
        self.candidates = decoded.opinions.pairs.by_entity
        self.source, self.target = self.candidates.ends
        self.row = np.full(self.shape[0], -1)
        self.row[source_index] = np.arange(len(source_index))
        self.links_are_random = True

    @cached_property
    def has_evidence(self) -> np.ndarray:
        """Return bool [s]: the sources with evidence: they have candidates, or triples at least."""
        has = are_in(self.source, self.shape[0])
        return (has | ~self.task.source.isolated())[self.source_index]

    @cached_property
    def both(self) -> tuple[np.ndarray, np.ndarray]:
        """Compute ([p], [s]): the probability of each pair, and of a counterpart of each source.

        A source has several targets with a probability, `multiple_targets`; then its targets are not rivals. One with a
        given link has further targets only if it has several.
        """
        single, counterpart = self._mixed(multiple_targets=False)
        share, given = self._share_of_several(), np.zeros(self.shape[0], dtype=bool)
        given[self.task.train[:, 0]] = True
        alone = np.where(given, 0.0, 1 - share)[self.source]
        if not share.any():
            return alone * single, counterpart
        further, _ = self._mixed(multiple_targets=True)
        probability = alone * single + share[self.source] * further
        if self.once:
            probability = cap_sums(self.target, probability, np.ones(self.shape[1]))
        best = np.zeros(self.shape[0])
        np.maximum.at(best, self.source, probability)
        return probability, np.maximum(counterpart, best[self.source_index])

    def _share_of_several(self) -> np.ndarray:
        """Return [sources]: how likely each has several targets: it has several links, or others have."""
        if self.multiple_targets is not None:
            return np.full(self.shape[0], self.multiple_targets)
        share = np.full(self.shape[0], self.task.multi_target_share)
        share[self.task.multi_target_sources] = SEVERAL_PROBABILITY
        return np.where(share > MIN_SEVERAL_SHARE, share, 0.0)

    def _mixed(self, *, multiple_targets: bool) -> tuple[np.ndarray, np.ndarray]:
        """Mix the probabilities learned from links with the unsupervised ones of text and structure."""
        evidence = self.decoded.evidence
        gain = self.decoded.gain_of_several if multiple_targets else None
        text = None if evidence is None else evidence.probability(gain)
        if self.is_unsupervised:
            assert text is not None
            probability, counterpart = text, self._sum_by_source(text)
        else:
            probability, counterpart = self._by_links(multiple_targets)
            if text is not None:
                weight = self._weight_of_links(probability, text, multiple_targets)
                probability = weight * probability + (1 - weight) * text
                counterpart = weight * counterpart + (1 - weight) * self._sum_by_source(text)
        counterpart = np.clip(counterpart, 0.0, 1.0)
        probability = self._consistent(probability)
        if not self.is_unsupervised:
            probability = self._consistent(self._recalibrated(probability, counterpart, multiple_targets))
        return probability, counterpart

    @property
    def is_unsupervised(self) -> bool:
        """Return whether text and structure alone show how likely pairs are: there are no links, of no task."""
        return self.decoded.unsupervised and self.given is None

    def _consistent(self, probability: np.ndarray) -> np.ndarray:
        """Make those of a target add up to at most 1, where targets are given once."""
        return cap_sums(self.target, probability, np.ones(self.shape[1])) if self.once else probability

    def _recalibrated(self, probability: np.ndarray, counterpart: np.ndarray, multiple_targets: bool) -> np.ndarray:
        """Calibrate by the validation links (Platt scaling), with the belief of the decoder beside the probability.

        P(right | a counterpart) = sigmoid(a + b log-odds + c log-odds of the belief), with a near 0, b near .7 and c
        near .3 where there are few. The belief covers the student and all rivals at once, which no feature of a pair
        does; but it is shared out among the targets of a source, so it is left out with `multiple_targets`.
        """
        of_source = np.zeros(self.shape[0])
        of_source[self.source_index] = counterpart
        share = probability / np.maximum(of_source[self.source], 1e-12)
        belief = share if multiple_targets else as_numpy(self.decoded.opinions.belief.double())
        seen = np.stack([np.ones(len(share)), _bounded_logit(share), _bounded_logit(belief)], axis=1)
        order = np.lexsort((-seen @ BELIEF_RECALIBRATION[0], self.source))
        best = order[np.diff(self.source[order], prepend=-1) > 0]
        best = best[np.isin(self.source[best], self.task.valid[:, 0])]
        right = self.candidates.where(best).are_among(self.task.valid)
        weights = self.recalibration[int(multiple_targets)]
        weights[:] = (
            logistic(seen[best], right, *BELIEF_RECALIBRATION)
            if self.given is None
            else self.given.recalibration[int(multiple_targets)]
        )
        found = sigmoid(seen @ weights) * of_source[self.source]
        return found if multiple_targets else cap_sums(self.source, found, of_source)

    @property
    def probability(self) -> np.ndarray:
        return self.both[0]

    @property
    def counterpart(self) -> np.ndarray:
        return self.both[1]

    def _weight_of_links(self, by_links: np.ndarray, by_text: np.ndarray, multiple_targets: bool) -> float:
        """Weigh the probabilities by links against the unsupervised ones, by how likely each makes the validation
        links.

        Before these are seen it is links / (links + HALF_WEIGHT_LINKS), which counts for PSEUDO_VALID_LINKS of them.
        """
        if self.given is not None:
            self.link_share[:] = self.given.link_share
            return float(self.link_share[int(multiple_targets)])
        n = len(self.task.train) + len(self.task.valid)
        before = n / (n + HALF_WEIGHT_LINKS)
        at = self.candidates.are_among(self.task.valid)
        weight = np.linspace(0.01, 0.99, 99)[:, None]
        found = np.log(weight * by_links[at] + (1 - weight) * by_text[at] + MIN_LINK_LIKELIHOOD).sum(axis=1)
        prior = PSEUDO_VALID_LINKS * (before * np.log(weight) + (1 - before) * np.log1p(-weight))[:, 0]
        share = float(weight[(found + prior).argmax(), 0])
        self.link_share[int(multiple_targets)] = share
        return share

    def _sum_by_source(self, probability: np.ndarray) -> np.ndarray:
        """Sum over the pairs of each source: [s]."""
        return np.minimum(np.bincount(self.source, probability, minlength=self.shape[0])[self.source_index], 1.0)

    def _by_links(self, multiple_targets: bool) -> tuple[np.ndarray, np.ndarray]:
        """Compute ([p], [s]): how often such candidates of links are right, and how likely a counterpart is."""
        task, free, (calibration, evidence_weights) = self.task, self.source_index, self._weights
        linked = np.isin(free, task.linked_sources)
        evidence = self._judged.match_features(self._neighbours)[free]
        triples = np.log1p(task.source.degrees[free])
        is_open = self.has_evidence & ~linked
        types, at_most = own_types(task.source)[free], self._at_most(is_open)
        found = estimate_match_prior(evidence, triples, types, is_open, evidence_weights, self._linked_triples, at_most)
        self.links_are_random = found.links_are_random
        counterpart = np.where(self.has_evidence, found.probability, 0.0)
        of_source = np.zeros(self.shape[0])
        of_source[free] = counterpart
        features = self._features(multiple_targets=multiple_targets)
        probability = calibrated(features, calibration) * of_source[self.source]
        return probability if multiple_targets else cap_sums(self.source, probability, of_source), counterpart

    def _at_most(self, is_open: np.ndarray) -> float:
        """Return the share of the open sources that can have a counterpart, if each target has one source."""
        given = np.concatenate([self.task.train, self.task.valid])
        if not self.once or len(np.unique(given[:, 1])) < len(given):
            return 1.0
        return (self.task.target.n_entities - len(given)) / max(int(is_open.sum()), 1)

    def _first_of_decoder(self) -> np.ndarray:
        """Return [s]: the place of the pair that the decoder ranks first for each source, -1 for none."""
        pairs = self.decoded.opinions.pairs
        first = as_numpy(pairs.best_of_rows(self.decoded.ranking).nonzero().flatten())
        found = np.full(self.shape[0], -1)
        found[self.source[first[::-1]]] = first[::-1]
        return found[self.source_index]

    def _features(self, places: np.ndarray | slice = slice(None), *, multiple_targets: bool = False) -> np.ndarray:
        """Compute features [p, 8] of pairs, without the student unless it decides alone.

        Where a source may have `multiple_targets` targets, only the other candidates of the target are rivals.
        """
        judged = self._judged
        if multiple_targets:
            judged = judged.with_columns(text_score=judged.text_score + self.decoded.gain_of_several)
        row = (judged.column_margin if multiple_targets else judged.row_margin)[places]
        counts = self._degrees(self.source[places], self.target[places])
        return pair_features(
            row, judged.column_margin[places], judged.structure_score[places], judged.text_score[places], counts
        )

    @cached_property
    def _judged(self) -> CandidateScores:
        """Return the candidates of the open entities."""
        return self._candidate_scores(self.candidates, self.decoded.opinions.scores)

    def _candidate_scores(self, pairs: ScoredPairs, scores: Mapping[str, Tensor]) -> CandidateScores:
        structure, text = self.decoded.structure_and_text(scores)
        return CandidateScores(*pairs.ends, self.shape, {"structure_score": structure, "text_score": text})

    def _degrees(self, source: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how many triples the ends of pairs have."""
        return self.task.source.degrees[source], self.task.target.degrees[target]

    @cached_property
    def _neighbours(self) -> MatchedNeighbours:
        """Return the neighbours of sources that have a given link, or a candidate well ahead of its rivals."""
        matched = self._judged.sure_targets()
        for links in (self.task.valid, self.task.train):
            matched[links[:, 0]] = links[:, 1]
        return MatchedNeighbours(self.task, matched)

    @cached_property
    def _examples(self) -> Examples:
        """Collect the sources of the validation links, and those of the training links as scored in the hold-out."""
        task, judged, best = self.task, self._judged, self._first_of_decoder()
        valid = np.isin(self.source_index, task.valid[:, 0]) & self.has_evidence & (best >= 0)
        sources, places = self.source_index[valid], best[valid]
        right = self.candidates.where(places).are_among(task.valid)
        evidence, hidden = (
            of.match_features(self._neighbours)[sources] for of in (judged, judged.with_hidden(task.valid))
        )
        none = np.zeros(len(sources), dtype=bool)
        triples = np.log1p(task.source.degrees[sources])
        scored = Examples(self._features(places), right, evidence, hidden, triples, none)
        return join_examples(scored, self._holdout_examples) if self._holdout_examples is not None else scored

    @cached_property
    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weights of the features of candidates, and of the evidence: as given, else fitted to links."""
        if self.given is not None:
            return self.given.calibration, self.given.evidence
        examples = self._examples
        return fit_calibrator(examples.features, examples.right, examples.held_out), fit_evidence(examples)

    @property
    def learned(self) -> LearnedProbabilities | None:
        """Return what links have shown of scores; None where there are none."""
        if self.is_unsupervised:
            return None
        if not self.probability.size:
            return self.given
        known = ~np.isnan(self.link_share)  # of sources with several targets, only where some have
        share = np.where(known, self.link_share, self.link_share[known].max(initial=0.0))
        return LearnedProbabilities(*self._weights, self.recalibration, share)

    @property
    def _linked_triples(self) -> np.ndarray:
        """Return the logarithms of how many triples linked sources have."""
        if self.given is None:
            return self._examples.linked_triples
        return np.log1p(self.task.source.degrees[self.task.linked_sources])

    @cached_property
    def _holdout_examples(self) -> Examples | None:
        """Collect training links scored in the hold-out; None where there are none."""
        task, last = self.task, self.last
        names = set(self.decoded.opinions.scores) - {VECTORS_GROUP}
        if last is None or not names or not names <= last.scores.keys():
            return None
        linked = [are_in(task.train[:, end], n) for end, n in enumerate(self.shape)]
        kept = linked[0][last.pairs.source] | linked[1][last.pairs.target]
        if not kept.any():
            return None
        held = last.pairs.where(kept)
        scores = {name: to_tensor(held.scores[name]) for name in sorted(names)}
        pairs = holdout_candidates(self._candidate_scores(held, scores), self._judged, task.train)
        best = pairs.best
        source, counts = pairs.source[best], self._degrees(pairs.source[best], pairs.target[best])
        row, column = pairs.row_margin[best], pairs.column_margin[best]
        found = pair_features(row, column, pairs.structure_score[best], pairs.text_score[best], counts)
        right = pairs.where(best).are_among(task.train)
        evidence, hidden = (
            of.match_features(self._neighbours)[source] for of in (pairs, pairs.with_hidden(task.train))
        )
        return Examples(found, right, evidence, hidden, np.log1p(counts[0]), np.ones(len(best), dtype=bool))


def _bounded_logit(probability: np.ndarray) -> np.ndarray:
    return logit(np.clip(probability, 1e-6, 1 - 1e-6))


def cap_sums(line: np.ndarray, probability: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Lower probabilities so that those of a line add up to at most its total; its greatest is lowered last.

    >>> cap_sums(np.array([0, 0, 0, 1]), np.array([0.6, 0.4, 0.4, 0.9]), np.array([1.0, 0.5])).tolist()
    [0.6, 0.2, 0.2, 0.5]
    """
    n = len(total)
    greatest = np.zeros(n)
    np.maximum.at(greatest, line, probability)
    order = np.lexsort((-probability, line))
    is_first = np.zeros(len(line), dtype=bool)
    is_first[order[np.diff(line[order], prepend=-1) > 0]] = True
    others = np.bincount(line, np.where(is_first, 0.0, probability), minlength=n)
    room = np.maximum(total - np.minimum(greatest, total), 0.0)
    factor = np.minimum(1.0, room / np.maximum(others, 1e-300))
    return np.where(is_first, np.minimum(probability, total[line]), probability * factor[line])
