"""Marginal probabilities of a random matching, by belief propagation. Torch for a GPU alone.

A matching M takes each entity at most once. Its weight is the product of exp(l_ij) over its pairs, l_ij the log-odds of
(i, j) against both being unmatched (a monomer-dimer model). Messages between entities that share a candidate pair:

    m_i->j = 1 / (1 + sum over j' != j of exp(l_ij') m_j'->i), and the same from targets to sources
    P((i, j) in M) = exp(l_ij) m_j->i / (1 + sum over j' of exp(l_ij') m_j'->i)

which is exact where the candidate pairs form a tree (Bethe approximation). Probabilities of an entity add up to at most
1. A source that may have several targets has no such limit: its messages are 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

from mixtea.compute.arrays import as_numpy, to_tensor
from mixtea.compute.device import choose_device
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.compute.similar_rows import is_gpu

if TYPE_CHECKING:
    from torch import Tensor

MESSAGE_ROUNDS = 60
MIN_MOVED = 1e-4  # of a message, as a share of it: below, the messages are final
MAX_LOG_ODDS = 100.0  # beyond, sums of weights would overflow
MIN_WEIGHT = 1e-9  # of a pair that counts in sums: others change none by more than their number times that
MAX_COUNTED_SHARE = 0.8  # of the pairs: beyond, sums over all of them are as quick
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
    rounds: int = MESSAGE_ROUNDS, device: str = "cpu",
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
    device
        Where messages are sent: a GPU does it there.

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
    weight = np.exp(np.clip(log_odds, -MAX_LOG_ODDS, MAX_LOG_ODDS))
    counted = np.flatnonzero(weight >= MIN_WEIGHT)
    whole = len(counted) > MAX_COUNTED_SHARE * len(weight)
    messages = start or Messages(np.ones(len(weight)), np.ones(len(weight)))
    converged = partial(_converged_on_gpu, device=device) if is_gpu(device) and len(weight) else _converged
    if whole:
        messages = converged(pairs, weight, messages, several, rounds)
    else:
        part = ScoredPairs.of([end[counted] for end in pairs.ends], pairs.shape)
        began = Messages(*(message[counted] for message in messages))
        messages = _spread(pairs, weight, counted, converged(part, weight[counted], began, several, rounds), several)
    (source, target), shape = pairs.ends, pairs.shape
    reached = weight * messages.to_source
    total = 1 + np.bincount(source, reached, minlength=shape[0])[source]
    if several is not None:
        total = np.where(several[source], 1 + reached, total)
    probability = reached / total
    over = np.maximum(np.bincount(target, probability, minlength=shape[1]), 1.0)
    return Matching(probability / over[target], messages)


def _spread(
    pairs: ScoredPairs, weight: np.ndarray, counted: np.ndarray, found: Messages, several: np.ndarray | None
) -> Messages:
    """Return the messages of all pairs from the final ones of those that count in the sums."""
    to_target, to_source = np.zeros(len(weight)), np.zeros(len(weight))
    to_target[counted], to_source[counted] = found
    new = Messages(
        _alone(pairs.source, weight * to_source, pairs.shape[0]),
        _alone(pairs.target, weight * to_target, pairs.shape[1]),
    )
    if several is not None:
        new.to_target[several[pairs.source]] = 1.0
    for whole, part in zip(new, found, strict=True):
        whole[counted] = part
    return new


def _converged(
    pairs: ScoredPairs, weight: np.ndarray, start: Messages, several: np.ndarray | None, rounds: int
) -> Messages:  # fmt: skip
    """Send messages until they are final, from both ends of each pair in turn."""
    (source, target), shape = pairs.ends, pairs.shape
    free = None if several is None else several[source]
    to_target, to_source = start
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
    return Messages(to_target, to_source)


def _converged_on_gpu(
    pairs: ScoredPairs, weight: np.ndarray, start: Messages, several: np.ndarray | None, rounds: int, device: str
) -> Messages:  # fmt: skip
    """Do the same as `_converged` on a GPU."""
    place = choose_device(device)
    source, target, factor, to_target, to_source = (to_tensor(a, place) for a in (*pairs.ends, weight, *start))
    free = None if several is None else to_tensor(several, place)[source]

    def alone(line: Tensor, reached: Tensor, n: int) -> Tensor:
        others = reached.new_zeros(n).index_add_(0, line, reached)[line] - reached
        return others.clamp_(min=0).add_(1).reciprocal_()

    for _ in range(rounds):
        before = to_target, to_source
        to_target = (to_target * alone(source, factor * to_source, pairs.shape[0])).sqrt_()
        if free is not None:
            to_target[free] = 1.0
        to_source = (to_source * alone(target, factor * to_target, pairs.shape[1])).sqrt_()
        moved = (to_target / before[0] - 1).abs().max(), (to_source / before[1] - 1).abs().max()
        if float(max(moved)) < MIN_MOVED:
            break
    return Messages(as_numpy(to_target), as_numpy(to_source))


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
    device: str = "cpu",
) -> tuple[float, Matching]:  # fmt: skip
    """Find the number to add to all log-odds with which the probabilities add up to `total`, at least.

    `counts` [p] is how much each pair counts, all of them 1 if it is not given. The number is at most `tolerance` too
    large, and one of `bounds` where no number between them does. Returns it with the matching behind it. `start` are
    messages to begin with, as of similar log-odds, and `device` is where messages are sent.

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
        found = matching(pairs, log_odds + at, start=messages, rounds=rounds, device=device)
        messages = found.messages
        reached = float(found.probability @ counts)
        if reached < total:
            low = at
        else:
            above = at
        known = [*known[-1:], (at, np.log(max(reached, TINY) / max(total, TINY)))]
        at = _next_shift(known, low, above, tolerance)
    return float(above), matching(pairs, log_odds + above, start=messages, device=device)


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
