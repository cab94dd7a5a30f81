"""Probabilities of all candidate pairs, made consistent: those of an entity add up to at most 1."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.special import logit

from mixtea.calibration.calibrator import Calibration, logistic, sigmoid
from mixtea.calibration.features import Examples, Judged, features, joined, rehearsed
from mixtea.calibration.match_prior import counterparts
from mixtea.calibration.neighbour_features import MatchedNeighbours
from mixtea.graph.task import Task
from mixtea.voters.candidate_pairs import are_links
from mixtea.voters.names.disambiguation import own_types
from mixtea.voters.student import VECTORS_GROUP

if TYPE_CHECKING:
    from mixtea.decide.decode import Decoded, StoredOpinions

LINKS_HALF_BELIEVED = 500  # links that count as much as what text and structure show without any, if nothing else tells
PSEUDO_LINKS = 10  # validation links that this weight counts for
LOST = 0.01  # a link is lost at this probability as it is at none
HAS_SEVERAL = 0.9  # how likely a source has more targets that has several links, or where all are said to have
RECALIBRATION = np.array([0.0, 0.7, 0.3]), np.array([0.7, 0.3, 0.3])  # expected weights and their spread
FEW_SEVERAL = 0.02  # of the linked sources: fewer that have several change nothing for the others


class PairProbabilities:
    """How likely each candidate of the decoder is right, and each of the sources `free` [s] has a counterpart.

    `probability` [p] is that of `source` [p] and `target` [p], entities by their own graphs' numbers. Where targets are
    given `once`, the probabilities of a target add up to at most 1, as those of a source do that has one target.
    `multiple_targets` is how likely a source has several; None: as often as sources of links have.
    """

    def __init__(
        self, task: Task, decoded: Decoded, last: StoredOpinions | None, free: np.ndarray, *, once: bool = True,
        multiple_targets: float | None = None,
    ) -> None:  # fmt: skip
        self.task, self.decoded, self.last, self.free = task, decoded, last, free
        self.once, self.multiple_targets = once, multiple_targets
        self.shape = (task.source.n_entities, task.target.n_entities)
        own, pairs = decoded.entities.own, decoded.opinions.pairs
        self.source, self.target = own[0][pairs.source].cpu().numpy(), own[1][pairs.target].cpu().numpy()
        self.row = np.full(self.shape[0], -1)
        self.row[free] = np.arange(len(free))
        self.links_are_random = True

    @cached_property
    def known(self) -> np.ndarray:
        """bool [s]: the sources of which something is known: they have candidates, or triples at least."""
        has = np.zeros(self.shape[0], dtype=bool)
        has[self.source] = True
        return (has | ~self.task.source.isolated())[self.free]

    @cached_property
    def both(self) -> tuple[np.ndarray, np.ndarray]:
        """([p], [s]): the probability of each pair, and of a counterpart of each source.

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
            probability = kept_below(self.target, probability, np.ones(self.shape[1]))
        best = np.zeros(self.shape[0])
        np.maximum.at(best, self.source, probability)
        return probability, np.maximum(counterpart, best[self.free])

    def _share_of_several(self) -> np.ndarray:
        """[sources]: how likely each has several targets: it has several links, or others have."""
        if self.multiple_targets is not None:
            return np.full(self.shape[0], self.multiple_targets)
        share = np.full(self.shape[0], self.task.multi_target_share)
        share[self.task.multi_target_sources] = HAS_SEVERAL
        return np.where(share > FEW_SEVERAL, share, 0.0)

    def _mixed(self, *, multiple_targets: bool) -> tuple[np.ndarray, np.ndarray]:
        """Mix what links teach with what text and structure show without any."""
        evidence = self.decoded.evidence
        text = None if evidence is None else evidence.probability(multiple_targets=multiple_targets)
        if self.decoded.alone:
            assert text is not None
            probability, counterpart = text, self._sums(text)
        else:
            probability, counterpart = self._by_links(multiple_targets)
            if text is not None:
                weight = self._weight_of_links(probability, text)
                probability = weight * probability + (1 - weight) * text
                counterpart = weight * counterpart + (1 - weight) * self._sums(text)
        counterpart = np.clip(counterpart, 0.0, 1.0)
        probability = self._consistent(probability)
        if not self.decoded.alone:
            probability = self._consistent(self._recalibrated(probability, counterpart, multiple_targets))
        return probability, counterpart

    def _consistent(self, probability: np.ndarray) -> np.ndarray:
        """Make those of a target add up to at most 1, where targets are given once."""
        return kept_below(self.target, probability, np.ones(self.shape[1])) if self.once else probability

    def _recalibrated(self, probability: np.ndarray, counterpart: np.ndarray, multiple_targets: bool) -> np.ndarray:
        """Calibrate by the validation links (Platt scaling), with what the decoder believes beside the probability.

        P(right | a counterpart) = sigmoid(a + b log-odds + c log-odds of the belief), with a near 0, b near .7 and c
        near .3 where there are few. The belief knows the student and all rivals at once, which no feature of a pair
        does; but it is shared out among the targets of a source, so it is left out with `multiple_targets`.
        """
        of_source = np.zeros(self.shape[0])
        of_source[self.free] = counterpart
        share = probability / np.maximum(of_source[self.source], 1e-12)
        belief = share if multiple_targets else self.decoded.opinions.belief.double().cpu().numpy()
        seen = np.stack([np.ones(len(share)), _bounded_logit(share), _bounded_logit(belief)], axis=1)
        order = np.lexsort((-seen @ RECALIBRATION[0], self.source))
        best = order[np.diff(self.source[order], prepend=-1) > 0]
        best = best[np.isin(self.source[best], self.task.valid[:, 0])]
        right = are_links(self.source[best], self.target[best], self.task.valid, self.shape[1])
        found = sigmoid(seen @ logistic(seen[best], right, *RECALIBRATION)) * of_source[self.source]
        return found if multiple_targets else kept_below(self.source, found, of_source)

    @property
    def probability(self) -> np.ndarray:
        return self.both[0]

    @property
    def counterpart(self) -> np.ndarray:
        return self.both[1]

    def _weight_of_links(self, by_links: np.ndarray, by_text: np.ndarray) -> float:
        """Weigh what links teach against what is known without any, by how likely each makes the validation links.

        Before these are seen it is links / (links + LINKS_HALF_BELIEVED), which counts for PSEUDO_LINKS of them.
        """
        n = len(self.task.train) + len(self.task.valid)
        before = n / (n + LINKS_HALF_BELIEVED)
        at = are_links(self.source, self.target, self.task.valid, self.shape[1])
        weight = np.linspace(0.01, 0.99, 99)[:, None]
        found = np.log(weight * by_links[at] + (1 - weight) * by_text[at] + LOST).sum(axis=1)
        prior = PSEUDO_LINKS * (before * np.log(weight) + (1 - before) * np.log1p(-weight))[:, 0]
        return float(weight[(found + prior).argmax(), 0])

    def _sums(self, probability: np.ndarray) -> np.ndarray:
        """[s]: of the pairs of each source."""
        return np.minimum(np.bincount(self.source, probability, minlength=self.shape[0])[self.free], 1.0)

    def _by_links(self, multiple_targets: bool) -> tuple[np.ndarray, np.ndarray]:
        """([p], [s]): how often such candidates of links are right, and how likely there is a counterpart."""
        task, free = self.task, self.free
        linked = np.isin(free, task.linked_sources)
        examples = self._all_examples
        calibration = Calibration(examples.seen, examples.right, examples.rehearsed)
        looks, triples = self._judged.looks(self._neighbours)[free], np.log1p(task.source.triple_counts()[free])
        is_open = self.known & ~linked
        found = counterparts(looks, triples, own_types(task.source)[free], is_open, examples, self._at_most(is_open))
        self.links_are_random = found.links_are_random
        counterpart = np.where(self.known, found.probability, 0.0)
        of_source = np.zeros(self.shape[0])
        of_source[free] = counterpart
        probability = calibration(self._seen(multiple_targets=multiple_targets)) * of_source[self.source]
        return probability if multiple_targets else kept_below(self.source, probability, of_source), counterpart

    def _at_most(self, is_open: np.ndarray) -> float:
        """The share of the open sources that can have a counterpart, if each target has one source."""
        given = np.concatenate([self.task.train, self.task.valid])
        if not self.once or len(np.unique(given[:, 1])) < len(given):
            return 1.0
        return (self.task.target.n_entities - len(given)) / max(int(is_open.sum()), 1)

    def _best_of_decoder(self) -> np.ndarray:
        """[s]: the place of the pair that the decoder ranks first for each source, -1 for none."""
        pairs = self.decoded.opinions.pairs
        first = pairs.best_of_rows(self.decoded.ranking).nonzero().flatten().cpu().numpy()
        found = np.full(self.shape[0], -1)
        found[self.source[first[::-1]]] = first[::-1]
        return found[self.free]

    def _seen(self, places: np.ndarray | slice = slice(None), *, multiple_targets: bool = False) -> np.ndarray:
        """[p, 8]: features of pairs, without the student unless nobody else decides.

        Where a source may have `multiple_targets` targets, only the other candidates of the target are rivals.
        """
        judged = self._judged
        row = (judged.column if multiple_targets else judged.row)[places]
        n, m = (graph.triple_counts() for graph in (self.task.source, self.task.target))
        counts = (n[self.source[places]], m[self.target[places]])
        return features(row, judged.column[places], judged.joined[places], judged.said[places], counts)

    @cached_property
    def _judged(self) -> Judged:
        """The candidates of the open entities."""
        said = self.decoded.untrained(self.decoded.opinions.scores)
        return Judged(self.source, self.target, *said, self.shape)

    @cached_property
    def _neighbours(self) -> MatchedNeighbours:
        """Neighbours of sources that have a given link, or a candidate well ahead of its rivals."""
        matched = self._judged.sure_targets()
        for links in (self.task.valid, self.task.train):
            matched[links[:, 0]] = links[:, 1]
        return MatchedNeighbours(self.task, matched)

    @cached_property
    def _all_examples(self) -> Examples:
        """The sources of the validation links, and those of the training links as they were rehearsed."""
        task, judged, best = self.task, self._judged, self._best_of_decoder()
        valid = np.isin(self.free, task.valid[:, 0]) & self.known & (best >= 0)
        sources, places = self.free[valid], best[valid]
        right = are_links(sources, self.target[places], task.valid, self.shape[1])
        looks, hidden = (of.looks(self._neighbours)[sources] for of in (judged, judged.without(task.valid)))
        none = np.zeros(len(sources), dtype=bool)
        triples = np.log1p(task.source.triple_counts()[sources])
        openly = Examples(self._seen(places), right, looks, hidden, triples, none)
        return joined(openly, self._rehearsed) if self._rehearsed is not None else openly

    @cached_property
    def _rehearsed(self) -> Examples | None:
        """Training links, judged by voters who did not know them; None where there are no such judgements."""
        task, last = self.task, self.last
        names = set(self.decoded.opinions.scores) - {VECTORS_GROUP}
        if last is None or not names or not names <= last.scores.keys():
            return None
        kept = np.isin(last.source, task.train[:, 0]) | np.isin(last.target, task.train[:, 1])
        if not kept.any():
            return None
        scores = {name: torch.from_numpy(last.scores[name][kept]) for name in sorted(names)}
        ends = (last.source[kept].astype(np.int64), last.target[kept].astype(np.int64))
        judged = Judged(*ends, *self.decoded.untrained(scores), self.shape)
        pairs = rehearsed(judged, self._judged, task.train)
        best = pairs.best
        source, target = pairs.source[best], pairs.target[best]
        counts = (task.source.triple_counts()[source], task.target.triple_counts()[target])
        seen = features(pairs.row[best], pairs.column[best], pairs.joined[best], pairs.said[best], counts)
        right = are_links(source, target, task.train, self.shape[1])
        looks, hidden = (of.looks(self._neighbours)[source] for of in (pairs, pairs.without(task.train)))
        return Examples(seen, right, looks, hidden, np.log1p(counts[0]), np.ones(len(best), dtype=bool))


def _bounded_logit(probability: np.ndarray) -> np.ndarray:
    return logit(np.clip(probability, 1e-6, 1 - 1e-6))


def kept_below(line: np.ndarray, probability: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Lower probabilities so that those of a line add up to at most its total; its greatest is lowered last.

    >>> kept_below(np.array([0, 0, 0, 1]), np.array([0.6, 0.4, 0.4, 0.9]), np.array([1.0, 0.5])).tolist()
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


def matched_greedily(
    source: np.ndarray, target: np.ndarray, probability: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """bool [p]: the pairs of a one-to-one mapping that takes the likeliest pair again and again; the first of equals.

    No pair that is left out is likelier than both the pairs that its ends are in.

    >>> source, target = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> matched_greedily(source, target, np.array([0.9, 0.3, 0.8, 0.2]), (2, 2)).tolist()
    [True, False, False, True]
    """
    rank = np.empty(len(source), dtype=np.int64)
    rank[np.argsort(-probability, kind="stable")] = np.arange(len(source))
    chosen = np.zeros(len(source), dtype=bool)
    left = np.flatnonzero(probability > 0)
    while len(left):  # in each round all pairs that are the likeliest of both their ends
        best = [np.full(n, len(source)) for n in shape]
        for at, line in zip(best, (source, target), strict=True):
            np.minimum.at(at, line[left], rank[left])
        taken = left[(best[0][source[left]] == rank[left]) & (best[1][target[left]] == rank[left])]
        chosen[taken] = True
        ends = [np.zeros(n, dtype=bool) for n in shape]
        ends[0][source[taken]] = ends[1][target[taken]] = True
        left = left[~(ends[0][source[left]] | ends[1][target[left]])]
    return chosen
