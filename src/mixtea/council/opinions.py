"""Opinions about candidates: scores of each voter, their total, the belief, and which voters support which pair.

Scores become comparable between rows, and a belief, by CSLS or Sinkhorn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mixtea.compute.arrays import State, as_arrays, as_tensors, check_numbers, check_scores, checked_rows
from mixtea.compute.memory import FEWER_PAIRS, enough_memory
from mixtea.compute.scored_pairs import NO_SCORE, ScoredPairs, pairs_of_keys, rank_within, scored
from mixtea.config import Config
from mixtea.graph.joint_index import OpenIndex
from mixtea.voters.base import Voter, VotingState
from mixtea.voters.votes import all_scores

CSLS_NEIGHBOURS = 10
MIN_SUM = 1e-30  # that is divided by
MIN_VIEW_WEIGHT = 0.05  # of a view that may replace the best one
Scores = dict[str, Tensor]  # by the name of the opinion; NaN where it has none


@dataclass(frozen=True, eq=False)
class Opinions:
    """Candidates among the open entities, the scores of each opinion, and the belief.

    `total` are the scores added up by the voters' weights.
    """

    pairs: ScoredPairs
    scores: Scores
    belief: Tensor
    total: Tensor
    weights: dict[str, float]

    @property
    def scored_pairs(self) -> ScoredPairs:
        """Return the candidates with the scores of each opinion as columns."""
        return self.pairs.with_columns(**scored(self.scores))

    def state_dict(self) -> State:
        tensors = as_arrays({"key": self.pairs.key, "belief": self.belief, "total": self.total})
        return tensors | {"scores": as_arrays(self.scores), "weights": self.weights}


def restore_opinions(state: State, entities: OpenIndex, precision: str) -> Opinions:
    """Read opinions from a `state_dict`; raise ValueError if they are not numbers about pairs of these entities."""
    shape, like = entities.shape, entities.rows[0]
    check_numbers(state["weights"].values())
    for name in ("belief", "total"):
        check_scores(name, state[name], precision)
    for name, scores in state["scores"].items():
        check_scores(name, scores, precision, or_nan=True)
    pairs = entities.open_pairs(pairs_of_keys(checked_rows(state["key"], shape[0] * shape[1], like), shape))
    scores = as_tensors(state["scores"], like.device)
    belief, total = as_tensors({"belief": state["belief"], "total": state["total"]}, like.device).values()
    if any(part.shape != (len(pairs),) for part in (belief, total, *scores.values())):
        raise ValueError("opinions of different lengths")
    return Opinions(pairs, scores, belief, total, dict(state["weights"]))


def form_opinions(
    pairs: ScoredPairs, scores: Scores, weights: dict[str, float], voters: Sequence[Voter], state: VotingState,
    rounds: int,
) -> Opinions:  # fmt: skip
    """Add the scores, normalise them to a belief, and let voters that use the belief score by it, `rounds` times.

    At first they use the belief of `state`; without one, that of the other voters.
    """
    scores, config = dict(scores), state.config
    scale, sure_of_worth = score_factors(voters, weights), calibrated_opinions(voters)
    total = total_score(scores, scale, sure_of_worth)
    belief = compute_belief(pairs, total, config)
    belief_voters = [voter for voter in voters if voter.uses_belief]
    text_score = independent_log_odds(scores, voters, weights)
    if state.belief is None:
        state.belief = belief_of(pairs, belief, text_score)
    for _ in range(rounds if belief_voters else 0):
        scores |= all_scores(belief_voters, pairs, state)
        total = total_score(scores, scale, sure_of_worth)
        belief = compute_belief(pairs, total, config)
        state.belief = belief_of(pairs, belief, text_score)
    return Opinions(pairs, scores, belief, total, weights)


def belief_of(pairs: ScoredPairs, p: Tensor, text_score: Tensor | None) -> ScoredPairs:
    """Make the belief that voters score by, see `VotingState`."""
    return pairs.with_columns(p=p, **({} if text_score is None else {"text_score": text_score}))


def score_factors(voters: Sequence[Voter], weights: Mapping[str, float]) -> dict[str, float]:
    """Return the factor of each opinion: the voter's weight by the validation links, times its own."""
    return {voter.opinion: weights.get(voter.opinion, 1.0) * voter.factor for voter in voters}


def calibrated_opinions(voters: Sequence[Voter]) -> frozenset[str]:
    """Return the opinions that are calibrated: their scores are log-odds."""
    return frozenset(voter.opinion for voter in voters if voter.is_calibrated)


def independent_log_odds(
    scores: Mapping[str, Tensor], voters: Sequence[Voter], weights: Mapping[str, float] | None = None
) -> Tensor | None:
    """Add the log-odds of voters that do not depend on the belief: NaN where none has an opinion, None for nothing."""
    names = sorted({voter.opinion for voter in voters if voter.is_independent} & scores.keys())
    scored = [name for name in names if not bool(scores[name].isnan().all())]
    return sum_views({name: scores[name] for name in scored}, weights or {}) if scored else None


def sum_views(scores: Mapping[str, Tensor], weights: Mapping[str, float]) -> Tensor:
    """Add the opinions of views, which are log-odds, by their weights; NaN where none has an opinion."""
    stacked = torch.stack(list(weighted_views(scores, weights, sorted(scores), frozenset(scores)).values()))
    return stacked.nan_to_num(0.0).sum(0).masked_fill(stacked.isnan().all(0), float("nan"))


def total_score(
    scores: Mapping[str, Tensor], scale: Mapping[str, float], log_odds: frozenset[str] = frozenset()
) -> Tensor:
    """Compute sum_k w_k s_k over the voters with an opinion on a pair, times mean(W) / W.

    A weighted mean, so that a missing opinion counts neither for nor against. W is the weight of the voters with an
    opinion on the pair; where all have one, it is the plain sum. Voters without any opinion are left out. `log_odds`
    are added by their own weights, where there are any.
    """
    scored = _nonempty(scores)
    others = [name for name in scored if name not in log_odds]
    parts = [_weighted_mean(scores, scale, others)] if others else []
    parts += [part.nan_to_num(0.0) for part in weighted_views(scores, scale, scored, log_odds).values()]
    return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]


def score_parts(
    scores: Mapping[str, Tensor], scale: Mapping[str, float], log_odds: frozenset[str] = frozenset()
) -> dict[str, Tensor]:
    """Return what each opinion adds to `total_score` per pair, NaN where it has none; empty opinions are left out."""
    scored = _nonempty(scores)
    others = [name for name in scored if name not in log_odds]
    factor = _missing_factor(scores, scale, others)
    parts = {name: scale.get(name, 1.0) * scores[name] for name in others}
    if factor is not None:
        parts = {name: part * factor for name, part in parts.items()}
    return parts | weighted_views(scores, scale, scored, log_odds)


def weighted_views(
    scores: Mapping[str, Tensor], scale: Mapping[str, float], views: Sequence[str], log_odds: frozenset[str]
) -> dict[str, Tensor]:
    """Weigh the opinions that are log-odds, NaN where they have none.

    Weights hold beside the best view. Where that has no opinion about a pair, the best of the others takes its place:
    their weights are divided by the greatest of them.
    """
    names = [name for name in views if name in log_odds]
    if len(names) < 2 or len({scale.get(name, 1.0) for name in names}) == 1:
        return {name: scale.get(name, 1.0) * scores[name] for name in names}
    greatest = max(scale.get(name, 1.0) for name in names)
    there = torch.stack([scale.get(name, 1.0) * (~scores[name].isnan()).to(scores[name].dtype) for name in names])
    best = there.amax(0)
    factor = torch.where(best > MIN_VIEW_WEIGHT, greatest / best.clamp(min=MIN_VIEW_WEIGHT), 1.0)
    return {name: scale.get(name, 1.0) * factor * scores[name] for name in names}


def _nonempty(scores: Mapping[str, Tensor]) -> list[str]:
    return [name for name in sorted(scores) if not bool(scores[name].isnan().all())] or sorted(scores)[:1]


def _weighted_mean(scores: Mapping[str, Tensor], scale: Mapping[str, float], names: Sequence[str]) -> Tensor:
    parts = [scale.get(name, 1.0) * scores[name] for name in names]  # in one order, so that sums round alike
    factor = _missing_factor(scores, scale, names)
    if factor is None:
        return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]
    return torch.stack([part.nan_to_num(0.0) for part in parts]).sum(0) * factor


def _missing_factor(scores: Mapping[str, Tensor], scale: Mapping[str, float], names: Sequence[str]) -> Tensor | None:
    """Compute mean(W) / W of each pair, 1 where no voter has an opinion; None where all have one on all pairs."""
    has_opinion = {name: ~scores[name].isnan() for name in names}
    if all(bool(has.all()) for has in has_opinion.values()):
        return None
    weights = [scale.get(name, 1.0) * has.to(scores[name].dtype) for name, has in has_opinion.items()]
    total = torch.stack(weights).sum(0)
    return torch.where(total > 0, total[total > 0].mean() / total.clamp(min=1e-12), 1.0)


def compute_belief(pairs: ScoredPairs, scores: Tensor, config: Config) -> Tensor:
    """Compute the belief p in [0, 1] per pair from scores."""
    if config.vote_normaliser == "sinkhorn":
        return sinkhorn(pairs, scores, config.sinkhorn_temperature, config.sinkhorn_rounds)
    scaled = (csls(pairs, scores) if config.vote_normaliser == "csls" else scores) / config.sinkhorn_temperature
    exponent = (scaled - pairs.row_max(scaled)[pairs.source]).exp()
    return exponent / pairs.row_sum(exponent)[pairs.source]


@enough_memory(FEWER_PAIRS)
@torch.no_grad()
def csls(pairs: ScoredPairs, scores: Tensor, neighbours: int = CSLS_NEIGHBOURS) -> Tensor:
    """Compute 2 s_ij - r_i - r_j, r the mean of the greatest `neighbours` scores of the pair's row and column."""
    rows = _mean_of_best(scores, pairs.source, pairs.shape[0], neighbours)
    columns = _mean_of_best(scores, pairs.target, pairs.shape[1], neighbours)
    return 2 * scores - rows[pairs.source] - columns[pairs.target]


def _mean_of_best(scores: Tensor, line: Tensor, n: int, neighbours: int) -> Tensor:
    kept = rank_within(line, scores, n) < neighbours
    total = scores.new_zeros(n).index_add_(0, line[kept], scores[kept])
    return total / torch.bincount(line, minlength=n).clamp(1, neighbours)


@enough_memory(FEWER_PAIRS)
@torch.no_grad()
def sinkhorn(pairs: ScoredPairs, scores: Tensor, temperature: float, rounds: int) -> Tensor:
    """Compute exp(s / temperature), its rows and then its columns divided by their sums, `rounds` times.

    The result is a belief: between 0 and 1, columns add up to 1 and rows nearly do. Pairs that are not among the
    candidates count as impossible.
    """
    scaled = scores / temperature
    kernel = (scaled - pairs.row_max(scaled)[pairs.source]).exp()
    column = kernel.new_ones(pairs.shape[1])
    row = kernel.new_ones(pairs.shape[0])
    source, target, (n, m) = pairs.source, pairs.target, pairs.shape
    for _ in range(rounds):
        row = kernel.new_zeros(n).index_add_(0, source, kernel * column[target]).clamp_(min=MIN_SUM).reciprocal_()
        column = kernel.new_zeros(m).index_add_(0, target, kernel * row[source]).clamp_(min=MIN_SUM).reciprocal_()
    return kernel * row[source] * column[target]


@torch.no_grad()
def normalise_with_null(pairs: ScoredPairs, log_odds: Tensor) -> Tensor:
    """Compute e / (1 + the sum of e in the pair's row or column, whichever is greater), e = exp(log-odds of a match).

    This is how likely a pair is when each entity has one counterpart or none, which rivals every candidate.
    """

    def share(line: Tensor, greatest: Tensor, n: int) -> Tensor:
        top = greatest.clamp(min=0)  # that of no counterpart
        total = log_odds.new_zeros(n).index_add_(0, line, (log_odds - top[line]).exp()) + (-top).exp()
        return (log_odds - top[line]).exp() / total[line]

    n, m = pairs.shape
    rows, columns = pairs.row_max(log_odds), pairs.column_max(log_odds)
    return torch.minimum(share(pairs.source, rows, n), share(pairs.target, columns, m))


def find_supporters(pairs: ScoredPairs, scores: Mapping[str, Tensor], voters: Sequence[Voter]) -> Tensor:
    """Return bool [candidates, voters]: the pairs that a voter supports.

    These are its best target of a source, its best source of a target, or both, as the voter declares; and only with a
    score above 0.
    """
    named = torch.zeros(len(pairs), len(voters), dtype=torch.bool, device=pairs.source.device)
    for column, voter in enumerate(voters):
        if voter.opinion not in scores or not voter.has_inputs:
            continue
        values = scores[voter.opinion].nan_to_num(nan=NO_SCORE)
        best = {"target": pairs.best_of_rows, "source": pairs.best_of_columns}
        for end in voter.votes_for:
            named[:, column] |= best[end](values)
        named[:, column] &= values > 0
    return named
