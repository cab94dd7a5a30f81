"""Calibration features of candidates, from links with their target and with it hidden. No torch.

What is learned from them holds however the links were chosen: each link shows its source with a counterpart and, its
target hidden, the same source without one.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from mixtea.compute.scored_pairs import ScoredPairs, are_in, group_max
from mixtea.graph.graph import Graph
from mixtea.graph.task import Task

MAX_MARGIN_ODDS = 12.0  # beyond these nothing is learned
NO_CANDIDATE_MARGIN = -2 * MAX_MARGIN_ODDS  # of a source without a candidate
MIN_SURE_MARGIN = 2.0  # log-odds ahead of rivals, from which on neighbours may count on a pair


class CandidateScores(ScoredPairs):
    """Candidates by entity index, with the columns `structure_score` and `text_score`.

    Both are in units of the temperature, so that their sum is the logarithm of a weight. The column
    `outside_log_weight`, if there is one, is that of other sources in the target of each pair, beside the pairs here.
    """

    @cached_property
    def total(self) -> np.ndarray:
        return self.structure_score + self.text_score

    @cached_property
    def row_margin(self) -> np.ndarray:
        """Return [p]: how far each is ahead of the other candidates of its source, as log-odds."""
        return np.clip(
            self.total - log_sum_of_others(self.source, self.total, self.shape[0]),
            -MAX_MARGIN_ODDS,
            MAX_MARGIN_ODDS,
        )

    @cached_property
    def column_margin(self) -> np.ndarray:
        """Return [p]: how far each is ahead of the other candidates of its target."""
        others = self.columns.get("outside_log_weight")
        if others is None:
            others = log_sum_of_others(self.target, self.total, self.shape[1])
        return np.clip(self.total - others, -MAX_MARGIN_ODDS, MAX_MARGIN_ODDS)

    @cached_property
    def margin(self) -> np.ndarray:
        return self.row_margin + self.column_margin

    @cached_property
    def best(self) -> np.ndarray:
        """Return the places of the candidates with the greatest margin per source; the last of equals."""
        greatest = self.row_max(self.margin)
        place = np.full(self.shape[0], -1)
        there = np.flatnonzero(self.margin == greatest[self.source])
        place[self.source[there]] = there
        return place[place >= 0]

    @cached_property
    def best_by_source(self) -> tuple[np.ndarray, np.ndarray]:
        """Return ([n], [n]): the best candidate of each source, -1 for none, and its margin."""
        target, margin = np.full(self.shape[0], -1), np.full(self.shape[0], NO_CANDIDATE_MARGIN)
        best = self.best
        target[self.source[best]], margin[self.source[best]] = self.target[best], self.margin[best]
        return target, margin

    def match_features(self, neighbours: MatchedNeighbours) -> np.ndarray:
        """Return [n, 2] of each source: the margin of its best candidate, and how far its matched neighbours agree."""
        target, margin = self.best_by_source
        return np.stack([margin, neighbours.agreement(np.arange(len(target)), target)], axis=1)

    def with_hidden(self, links: np.ndarray) -> CandidateScores:
        """Hide the targets of the links."""
        return self.where(~are_in(links[:, 1], self.shape[1])[self.target])

    def sure_targets(self) -> np.ndarray:
        """Return [n]: the best candidate of each source where it is well ahead of its rivals on both sides, else -1."""
        best, found = self.best, np.full(self.shape[0], -1)
        best = best[np.minimum(self.row_margin, self.column_margin)[best] > MIN_SURE_MARGIN]
        found[self.source[best]] = self.target[best]
        return found


def group_log_sums(line: np.ndarray, value: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return [n] the greatest value of each line, and the sum of exp(value - greatest) there."""
    greatest = group_max(line, value, n)
    return greatest, np.bincount(line, np.exp(value - greatest[line]), minlength=n)


def log_sum_of_others(line: np.ndarray, value: np.ndarray, n: int) -> np.ndarray:
    """Return [p]: log of the sum of exp(value) over the others in the line of each."""
    greatest, total = group_log_sums(line, value, n)
    own = np.exp(value - greatest[line])
    return greatest[line] + np.log(np.maximum(total[line] - own, 1e-12))


def holdout_candidates(pairs: CandidateScores, open_candidates: CandidateScores, links: np.ndarray) -> CandidateScores:
    """Return the candidates of the sources of held-out links.

    `pairs` share an end with the links at least; `open_candidates`, those of all open entities, have the rivals for a
    target without a link.
    """
    held = [are_in(links[:, end], n) for end, n in enumerate(pairs.shape)]
    greatest, total = group_log_sums(open_candidates.target, open_candidates.total, pairs.shape[1])
    with np.errstate(divide="ignore"):
        others = (greatest + np.log(total))[pairs.target]
    among = log_sum_of_others(pairs.target, pairs.total, pairs.shape[1])
    outside = np.where(held[1][pairs.target], among, np.maximum(others, -1e9))
    return pairs.with_columns(outside_log_weight=outside).where(held[0][pairs.source])


class Examples(NamedTuple):
    """Sources of links: `features` [e, 8] of the chosen candidate, whether it is `right`, and evidence of a match.

    `match_features` [e, 2] are this evidence, `hidden_features` the same with the counterpart hidden; `triples` are
    logarithms of how many each has. Examples that are `held_out` were judged without the student.
    """

    features: np.ndarray
    right: np.ndarray
    match_features: np.ndarray
    hidden_features: np.ndarray
    triples: np.ndarray
    held_out: np.ndarray

    @property
    def linked_triples(self) -> np.ndarray:
        """Return logarithms of how many triples sources of training links have; of all links, without those."""
        return self.triples[self.held_out] if self.held_out.any() else self.triples


def join_examples(first: Examples, second: Examples) -> Examples:
    return Examples(*(np.concatenate(parts) for parts in zip(first, second, strict=True)))


def pair_features(
    row_margin: np.ndarray,
    column_margin: np.ndarray,
    structure_score: np.ndarray,
    text_score: np.ndarray,
    triples: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Compute features [..., 8] of candidates.

    A constant, the margin over rivals on both sides and on the side where it is less, the scores by structure and by
    text, and logarithms of how many triples the two have.
    """
    margins = (row_margin / 6, column_margin / 6, np.minimum(row_margin, column_margin) / 6)
    scores = (
        np.minimum(structure_score / 20, 3.0),
        np.clip(text_score, -MAX_MARGIN_ODDS, MAX_MARGIN_ODDS) / 6,
    )
    return np.stack([np.ones_like(row_margin), *margins, *scores, *map(np.log1p, triples)], axis=-1)


class MatchedNeighbours:
    """Neighbours of sources by the neighbours of their matches; `matched` [n] is the target of each source, or -1."""

    def __init__(self, task: Task, matched: np.ndarray) -> None:
        self.shape = task.joint_index.shape
        ends = _edges(task.source)
        ends = ends[matched[ends[:, 1]] >= 0]
        self.match = matched[ends[:, 1]]
        self.n = np.bincount(ends[:, 0], minlength=self.shape[0])
        self.first = np.cumsum(self.n) - self.n
        beside = _edges(task.target)
        self.beside = beside[:, 0] * self.shape[1] + beside[:, 1]

    def agreement(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Compute [p] log (beside + 1/2) / (elsewhere + 1/2), from counts of the matched neighbours of each source.

        Beside are those matched to a neighbour of its target, elsewhere the others; a target of -1 has none.
        """
        n = self.n[source]
        pair = np.repeat(np.arange(len(source)), n)
        place = np.arange(len(pair)) - np.repeat(np.cumsum(n) - n, n) + self.first[source][pair]
        key = target[pair] * self.shape[1] + self.match[place]
        there = np.zeros(len(key), dtype=bool)
        if len(self.beside):
            there = self.beside[np.searchsorted(self.beside, key).clip(max=len(self.beside) - 1)] == key
        found = np.bincount(pair[there & (target[pair] >= 0)], minlength=len(source))
        return np.log((found + 0.5) / (n - found + 0.5))


def _edges(graph: Graph) -> np.ndarray:
    """Return the edges [k, 2], sorted, in both directions, each once and without loops."""
    ends = np.concatenate([graph.triples[:, [0, 2]], graph.triples[:, [2, 0]]])
    key = np.unique(ends[:, 0] * max(graph.n_entities, 1) + ends[:, 1])
    ends = np.stack([key // max(graph.n_entities, 1), key % max(graph.n_entities, 1)], axis=1)
    return ends[ends[:, 0] != ends[:, 1]]
