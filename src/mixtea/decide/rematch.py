"""Update a run's answers after a few entities have changed: keep those of untouched sources, match others anew.

Only sources that are new or changed, that lost their target, or that had none and may find a new target, are matched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mixtea.compute.scored_pairs import ScoredPairs, are_in, concat, rank_within, scored
from mixtea.decide.answers import Answers, FallbackTargets, Ranked
from mixtea.decide.choose import MIN_PROBABILITY
from mixtea.decide.decode import StoredOpinions
from mixtea.decide.text_matcher import MatchedPairs, TextMatcher
from mixtea.graph.difference import Difference
from mixtea.graph.graph import Graph
from mixtea.graph.task import Task
from mixtea.voters.learned import Learned

MISSING_SCORE = -1e9  # in the place of a candidate that is gone


class Rematched(NamedTuple):
    """Answers about a changed task, and the opinions behind them.

    `asked` sources were matched; the answers of `renewed` ones since they, or their targets, have changed.
    """

    answers: Answers
    last: StoredOpinions
    asked: int
    renewed: int


@dataclass(frozen=True, eq=False)
class CarriedOver:
    """Answers of an earlier run that hold for a changed task; other sources have no evidence yet.

    `lost` [p] are the sources whose target is gone or changed, `freed` [m] the targets of sources that are so.
    """

    last: StoredOpinions
    answers: Answers
    lost: np.ndarray
    freed: np.ndarray


def rematch(
    task: Task, old: Answers, last: StoredOpinions, changed: tuple[Difference, Difference], learned: Learned,
    temperature: float,
) -> Rematched:  # fmt: skip
    """Match what has to be matched anew in a changed task, by what the run has learned."""
    kept = renumber_run(task, old, last, changed)
    answers, free = kept.answers, kept.answers.source_index
    has, given = _has_target(answers), np.isin(free, task.linked_sources)
    renewed = changed[0].touched[free] | kept.lost
    asked = np.flatnonzero((renewed | ~has) & ~given)
    matcher = TextMatcher(task, kept.last, answers, learned, temperature)
    judged = _allowed(matcher(_subset(task.source, free[asked])), task, free[asked])
    pairs = judged.pairs
    may_have = renewed[asked][pairs.source] | (changed[1].touched | kept.freed)[pairs.target]
    gets = _assign(pairs, may_have, answers, has)
    target = np.full(len(asked), -1)
    target[pairs.source[gets]] = pairs.target[gets]
    again = renewed[asked] | (target >= 0)
    opinions = _opinions(kept.last, pairs, free[asked], again, temperature)
    _fill(answers, pairs, asked, again, temperature)
    _decide(answers, asked[again], target[again], last.weights, temperature)
    return Rematched(answers, opinions, len(asked), int(renewed[asked].sum()))


def renumber_run(task: Task, old: Answers, last: StoredOpinions, changed: tuple[Difference, Difference]) -> CarriedOver:
    """Renumber an earlier run's answers and opinions about untouched entities."""
    source, target = (side.untouched for side in changed)
    ends = source[last.pairs.source], target[last.pairs.target]
    pairs = replace(last.pairs, source=ends[0], target=ends[1], shape=task.joint_index.shape)
    opinions = replace(last, pairs=pairs.where((ends[0] >= 0) & (ends[1] >= 0)).sorted())
    free = task.open_sources()
    row_of = np.full(task.source.n_entities, -1)
    row_of[free] = np.arange(len(free))
    now = np.append(row_of, -1)[source[old.source_index]]
    rows = np.flatnonzero(now >= 0)
    answers = _renumbered(task, old, free, rows, now[rows], target)
    had = _has_target(old)
    lost = np.zeros(len(free), dtype=bool)
    lost[now[rows]] = had[rows] & ~_has_target(answers)[now[rows]]
    freed = target[old.decided.target[had & (now < 0), 0]]
    return CarriedOver(opinions, answers, lost, np.isin(np.arange(task.target.n_entities), freed))


def _renumbered(
    task: Task, old: Answers, free: np.ndarray, rows: np.ndarray, now: np.ndarray, target: np.ndarray
) -> Answers:
    """Put the old answers `rows` in the places `now`, without targets that are gone; others have no evidence yet."""
    n, m, held = len(free), task.target.n_entities, old.ranked
    ranked, decided = (_blank(n, of.target.shape[1], of) for of in (held, old.decided))
    ends = target[held.target[rows]]
    order = np.argsort(ends < 0, axis=1, kind="stable")
    _put(ranked, now, _without_gone(_rows(held, rows).ordered(order), np.take_along_axis(ends, order, axis=1), m))
    ends = target[old.decided.target[rows]]
    _put(decided, now, _without_gone(_rows(old.decided, rows), ends, m))
    is_assigned = np.zeros(n, dtype=bool)
    is_assigned[now] = old.is_assigned[rows]
    scores = {name: _moved(np.take_along_axis(part[rows], order, axis=1), now, n) for name, part in old.scores.items()}
    parts = {name: _moved(part[rows], now, n) for name, part in old.parts.items()}
    return Answers(
        task, old.voter_names, free, ranked, scores, decided, is_assigned, parts,
        _fallback(old, rows, now, n, target), old.evidence_kinds,
    )  # fmt: skip


def _fallback(old: Answers, rows: np.ndarray, now: np.ndarray, n: int, target: np.ndarray) -> FallbackTargets:
    """Renumber the fallback targets, as far as they are there."""
    left = FallbackTargets(np.full(n, -1), np.zeros(n))
    if old.fallback is not None:
        left.target[now] = np.append(target, -1)[old.fallback.target[rows]]
        left.likelihood[now] = np.where(left.target[now] >= 0, old.fallback.likelihood[rows], 0.0)
    return left


def _blank(n: int, k: int, like: Ranked) -> Ranked:
    """Return k targets for n sources without any evidence."""
    target = np.tile(np.arange(k), (n, 1))
    score, belief = np.full((n, k), MISSING_SCORE, like.score.dtype), np.zeros((n, k), like.belief.dtype)
    none = np.zeros((n, k), dtype=bool)
    named = np.zeros((n, k, like.supporters.shape[-1]), dtype=bool)
    parts = (target, score, belief, named, none, ~none, np.zeros((n, k)), np.zeros(n))
    return Ranked(*parts, links_are_random=like.links_are_random)


RANKED_FIELDS = (
    "target",
    "score",
    "belief",
    "supporters",
    "is_best_source",
    "no_evidence",
    "likelihood",
    "counterpart",
)


def _rows(of: Ranked, rows: np.ndarray) -> Ranked:
    changed: dict[str, Any] = {name: getattr(of, name)[rows] for name in RANKED_FIELDS}
    return replace(of, **changed)


def _put(into: Ranked, rows: np.ndarray, of: Ranked) -> None:
    for name in RANKED_FIELDS:
        getattr(into, name)[rows] = getattr(of, name)


def _moved(values: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    found = np.full((n, *values.shape[1:]), np.nan, dtype=values.dtype)
    found[rows] = values
    return found


def _without_gone(of: Ranked, target: np.ndarray, m: int) -> Ranked:
    """Renumber the m targets, with arbitrary others in the place of those that are gone (-1)."""
    gone, target = target < 0, target.copy()
    for row in np.flatnonzero(gone.any(axis=1)).tolist():
        others = np.setdiff1d(np.arange(min(2 * target.shape[1], m)), target[row])
        target[row, gone[row]] = others[: gone[row].sum()]
    return replace(
        of, target=target, score=np.where(gone, MISSING_SCORE, of.score), belief=np.where(gone, 0, of.belief),
        supporters=of.supporters & ~gone[..., None], is_best_source=of.is_best_source & ~gone,
        no_evidence=of.no_evidence | gone, likelihood=np.where(gone, 0.0, of.likelihood),
    )  # fmt: skip


def _has_target(answers: Answers) -> np.ndarray:
    """Return bool [p]: the sources that are mapped."""
    best = answers.decided.probability(1)[:, 0]
    return answers.is_assigned & ~answers.decided.no_evidence[:, 0] & (best >= MIN_PROBABILITY)


def _subset(graph: Graph, rows: np.ndarray) -> Graph:
    """Return these entities with their values and labels, without triples; the indices `rows` ascend."""
    stays = np.isin(np.arange(graph.n_entities), rows)
    attributes, labels = graph.attributes.subset(stays), graph.labels.subset(stays)
    return Graph(
        graph.ids[stays], graph.relations[:0], graph.triples[:0], attributes, labels, graph.prefixes,
        name_predicates=graph.name_predicates,
    )  # fmt: skip


def _allowed(judged: MatchedPairs, task: Task, sources: np.ndarray) -> MatchedPairs:
    """Drop pairs that were rejected."""
    by_entity = replace(judged.pairs, source=sources[judged.pairs.source])
    return judged._replace(pairs=judged.pairs.where(~by_entity.are_among(task.rejected)))


def _assign(judged: ScoredPairs, may_have: np.ndarray, answers: Answers, has: np.ndarray) -> np.ndarray:
    """Return places of the pairs that are mapped: the likeliest allowed one of each target that is not taken."""
    held = np.r_[answers.decided.target[has, 0], answers.task.train[:, 1], answers.task.valid[:, 1]]
    likely = np.flatnonzero((judged.probability >= MIN_PROBABILITY) & may_have & ~np.isin(judged.target, held))
    likely = likely[np.argsort(-judged.probability[likely], kind="stable")]
    likely = likely[np.unique(judged.source[likely], return_index=True)[1]]  # of two that are equally likely one
    likely = likely[np.argsort(-judged.probability[likely], kind="stable")]
    return likely[np.unique(judged.target[likely], return_index=True)[1]]


def _fill(answers: Answers, judged: ScoredPairs, asked: np.ndarray, again: np.ndarray, temperature: float) -> None:
    """Put the candidates of the sources `asked` that were matched `again` in the place of what they had."""
    ranked, k, rows = answers.ranked, answers.ranked.target.shape[1], asked[again]
    _put(ranked, rows, _blank(len(rows), k, ranked))
    ranked.target[rows] = -1
    for values in answers.scores.values():
        values[rows] = np.nan
    counterpart = np.minimum(np.bincount(judged.source, judged.probability, minlength=len(asked)), 1.0)
    ranked.counterpart[rows] = counterpart[again]
    rank = rank_within(judged.source, judged.probability)
    shown = np.flatnonzero((rank < k) & again[judged.source])
    row, place, p = asked[judged.source[shown]], rank[shown], judged.probability[shown]
    ranked.target[row, place], ranked.score[row, place], ranked.belief[row, place] = judged.target[shown], p, p
    ranked.likelihood[row, place] = np.minimum(p / np.maximum(counterpart[judged.source[shown]], 1e-12), 1.0)
    ranked.no_evidence[row, place] = False
    for name, odds in judged.scores.items():
        supports = odds[shown] > 0
        ranked.supporters[row[supports], place[supports], answers.voter_names.index(name)] = True
        answers.scores[name][row, place] = odds[shown] * temperature
    _put(ranked, rows, _without_gone(_rows(ranked, rows), ranked.target[rows], answers.task.target.n_entities))


def _decide(
    answers: Answers, rows: np.ndarray, target: np.ndarray, weights: Mapping[str, float], temperature: float
) -> None:
    """Assign targets [r], -1 for none, to the rows; those that get none have the two likeliest."""
    ranked, decided = answers.ranked, answers.decided
    k, n = ranked.target.shape[1], decided.target.shape[1]
    mapped = target >= 0
    place = np.where(mapped, np.argmax(ranked.target[rows] == target[:, None], axis=1), 0)
    order = np.argsort(np.arange(k) != place[:, None], axis=1, kind="stable")
    first = _rows(ranked, rows).ordered(order)
    for name in RANKED_FIELDS[:-1]:
        getattr(decided, name)[rows] = getattr(first, name)[:, :n]
    decided.counterpart[rows] = ranked.counterpart[rows]
    answers.is_assigned[rows] = mapped | (ranked.probability(1)[rows, 0] < MIN_PROBABILITY)
    ranked.is_best_source[rows[mapped], place[mapped]] = decided.is_best_source[rows[mapped], 0] = True
    for name, part in answers.parts.items():
        part[rows] = np.nan
        if name in answers.scores:
            score, weight = answers.scores[name][rows], weights.get(name, 1.0) / temperature
            part[rows, 0] = np.take_along_axis(score, place[:, None], axis=1)[:, 0] * weight
            part[rows, 1] = score[:, 0] * weight


def _opinions(
    last: StoredOpinions, judged: ScoredPairs, sources: np.ndarray, again: np.ndarray, temperature: float
) -> StoredOpinions:
    """Return the kept opinions, with those about rematched sources replaced."""
    stay = last.pairs.where(~are_in(sources[again], last.pairs.shape[0])[last.pairs.source])
    new = judged.where(again[judged.source])
    scores = {name: odds * temperature for name, odds in new.scores.items() if name in last.scores}
    new = replace(new, source=sources[new.source], columns=scored(scores))
    return StoredOpinions(concat([stay, new]).sorted(), last.weights)
