"""Marginal probabilities of a random matching, by belief propagation. No torch.

A matching M takes each entity at most once. Its weight is the product of exp(l_ij) over its pairs, l_ij the log-odds of
(i, j) against both being unmatched (a monomer-dimer model). Messages between entities that share a candidate pair:

    m_i->j = 1 / (1 + sum over j' != j of exp(l_ij') m_j'->i), and the same from targets to sources
    P((i, j) in M) = exp(l_ij) m_j->i / (1 + sum over j' of exp(l_ij') m_j'->i)

which is exact where the candidate pairs form a tree (Bethe approximation). Probabilities of an entity add up to at most
1. A source that may have several targets has no such limit: its messages are 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from mixtea.compute.scored_pairs import ScoredPairs

MESSAGE_ROUNDS = 60
MIN_MOVED = 1e-4  # of a message, as a share of it: below, the messages are final
MAX_LOG_ODDS = 100.0  # beyond, sums of weights would overflow
WARM_ROUNDS = 12  # in which messages follow a small change of all log-odds
MIN_SLOPE = 1e-3  # of the logarithm of a sum of probabilities, by the number that is added to their log-odds
MIN_SHIFT_STEP = 1e-3  # of numbers that are tried without rivals
TINY = 1e-12


class Messages(NamedTuple):
    """Messages per pair, each in [0, 1]: from its source to its target, and from its target to its source."""

    to_target: np.ndarray
    to_source: np.ndarray


class Matching(NamedTuple):
    """Probability per candidate pair that it is in the matching, and the messages behind it."""

    probability: np.ndarray
    messages: Messages


def matching(
    pairs: ScoredPairs, log_odds: np.ndarray, *, several: np.ndarray | None = None, start: Messages | None = None,
    rounds: int = MESSAGE_ROUNDS,
) -> Matching:  # fmt: skip
    """Compute how likely each candidate pair is in the matching.

    Parameters
    ----------
    pairs
        Candidate pairs [p], each once, with NumPy arrays.
    log_odds
        [p]: of each pair against both of its ends being unmatched.
    several
        bool [sources]: those that may have any number of targets; none if it is left out.
    start, rounds
        Messages to begin with, as of slightly different log-odds, and how often they are sent at most.

    Returns
    -------
    Matching
        Probabilities [p], whose sums per target, and per source with a single target, are at most 1.

    Examples
    --------
    >>> pairs = ScoredPairs(np.array([0, 0, 1]), np.array([0, 1, 1]), (2, 2))
    >>> matching(pairs, np.array([3.0, 3.0, 3.0])).probability.round(3)
    array([0.911, 0.043, 0.911])
    """
    (source, target), shape = pairs.ends, pairs.shape
    weight = np.exp(np.clip(log_odds, -MAX_LOG_ODDS, MAX_LOG_ODDS))
    free = None if several is None else several[source]
    to_target, to_source = start or Messages(np.ones(len(source)), np.ones(len(source)))
    for _ in range(rounds):
        before = Messages(to_target, to_source)
        to_target = _damped(to_target, _alone(source, weight * to_source, shape[0]))
        if free is not None:
            to_target[free] = 1.0
        to_source = _damped(to_source, _alone(target, weight * to_target, shape[1]))
        # Both directions: where each source has one pair, messages to targets are final at once, those back are not.
        # As a share: a small message counts as much as a large one where its pair has a large weight.
        if _change(to_target, before.to_target) < MIN_MOVED and _change(to_source, before.to_source) < MIN_MOVED:
            break
    reached = weight * to_source
    total = np.bincount(source, reached, minlength=shape[0])[source]
    total = 1 + (total if free is None else np.where(free, reached, total))
    probability = reached / total
    over = np.maximum(np.bincount(target, probability, minlength=shape[1]), 1.0)
    return Matching(probability / over[target], Messages(to_target, to_source))


# The steps below write into arrays of their own: a fresh one for every step would take longer than the arithmetic.


def _change(now: np.ndarray, before: np.ndarray) -> float:
    change = now / before
    change -= 1
    return float(np.abs(change, out=change).max(initial=0.0))


def _damped(before: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Return the geometric mean of the messages before and now, in the place of the latter."""
    now *= before
    return np.sqrt(now, out=now)


def _alone(line: np.ndarray, reached: np.ndarray, n: int) -> np.ndarray:
    """Return per pair 1 / (1 + the sum over the other pairs of its line)."""
    others = np.bincount(line, reached, minlength=n)[line] - reached
    np.maximum(others, 0.0, out=others)
    others += 1
    return np.divide(1, others, out=others)


def shift_for_total(
    pairs: ScoredPairs, log_odds: np.ndarray, total: float, *, counts: np.ndarray | None = None,
    bounds: tuple[float, float] = (-60.0, 8.0), tolerance: float = 0.002, start: Messages | None = None,
) -> tuple[float, Matching]:  # fmt: skip
    """Find the number to add to all log-odds with which the probabilities add up to `total`, at least.

    `counts` [p] is how much each pair counts, all of them 1 if it is not given. The number is at most `tolerance` too
    large, and one of `bounds` where no number between them does. Returns it with the matching behind it. `start` are
    messages to begin with, as of similar log-odds.

    Without rivals a pair would be matched with the probability sigmoid(l + c), so the number is at least that c with
    which these add up to the total. From there the secant of log(sum / total) leads up, and then between both sides.
    """
    low, high = bounds
    counts = np.ones(len(pairs)) if counts is None else counts
    low = _shift_without_rivals(log_odds, counts, total, bounds)
    messages, above = start, high
    known: list[tuple[float, float]] = []  # (number, log(sum / total)) of the last two
    at = low
    while low + tolerance < above or not known:
        rounds = MESSAGE_ROUNDS if messages is None else WARM_ROUNDS
        found = matching(pairs, log_odds + at, start=messages, rounds=rounds)
        messages = found.messages
        reached = float(found.probability @ counts)
        if reached < total:
            low = at
        else:
            above = at
        known = [*known[-1:], (at, np.log(max(reached, TINY) / max(total, TINY)))]
        at = _next_shift(known, low, above, tolerance)
    return float(above), matching(pairs, log_odds + above, start=messages)


def _shift_without_rivals(
    log_odds: np.ndarray, counts: np.ndarray, total: float, bounds: tuple[float, float]
) -> float:  # fmt: skip
    """Find the number within `bounds` with which sigmoid(log_odds + number) adds up to `total`, or slightly less."""
    low, high = bounds
    while high - low > MIN_SHIFT_STEP:
        middle = (low + high) / 2
        low, high = (middle, high) if float(expit(log_odds + middle) @ counts) < total else (low, middle)
    return low


def _next_shift(known: Sequence[tuple[float, float]], low: float, high: float, tolerance: float) -> float:
    """Return where the secant of the last two points reaches 0, moved so that it leaves little on one side of it."""
    at, value = known[-1]
    slope = 1.0  # of a sum of small probabilities; it is less where there are rivals
    if len(known) == 2 and known[0][0] != at:
        slope = float(np.clip((value - known[0][1]) / (at - known[0][0]), MIN_SLOPE, 1.0))
    wanted = at - value / slope
    wanted += tolerance / 2 if at <= low else -tolerance / 2  # so that the other side comes as near
    middle = (low + high) / 2
    if not low + tolerance / 4 < wanted < high - tolerance / 4:
        wanted = min(max(wanted, low + tolerance / 2), high - tolerance / 2) if high - low > 1 else middle
    return wanted


def match_greedily(pairs: ScoredPairs, probability: np.ndarray) -> np.ndarray:
    """Return bool [p]: the pairs of a one-to-one mapping that takes the likeliest pair again and again; the first of
    equals.

    No pair that is left out is likelier than both the pairs that its ends are in.

    >>> pairs = ScoredPairs(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), (2, 2))
    >>> match_greedily(pairs, np.array([0.9, 0.3, 0.8, 0.2])).tolist()
    [True, False, False, True]
    """
    (source, target), shape = pairs.ends, pairs.shape
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
