"""A run's answers after a few entities have changed: those of untouched sources as they were, others matched anew.

Only sources that are new or changed, that lost their target, or that had none and may find a new target, are matched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mixtea.decide.answers import MIN_PROBABILITY, Answers, Left, Ranked
from mixtea.decide.decode import StoredOpinions
from mixtea.decide.text_matcher import Judged, TextMatcher
from mixtea.graph.difference import Difference
from mixtea.graph.graph import Graph
from mixtea.graph.task import Task
from mixtea.voters.learned_text import LearnedText
from mixtea.voters.similarity import rank_of

WORST = -1e9  # the score of what stands in the place of a candidate that is gone


class Rematched(NamedTuple):
    """The answers about a changed task, and the opinions behind them; how many sources were `asked` about, and of how

    many the answer was `renewed` since they, or their targets, are not what they were.
    """

    answers: Answers
    last: StoredOpinions
    asked: int
    renewed: int


@dataclass(frozen=True, eq=False)
class Kept:
    """What of an earlier run holds for a changed task; nothing is known of other sources yet.

    `lost` [p] are the sources whose target is gone or changed, `freed` [m] the targets of sources that are so.
    """

    last: StoredOpinions
    answers: Answers
    lost: np.ndarray
    freed: np.ndarray


def rematched(
    task: Task, old: Answers, last: StoredOpinions, changed: tuple[Difference, Difference], learned: LearnedText,
    temperature: float,
) -> Rematched:  # fmt: skip
    """Match what has to be matched anew in a changed task, by what the run has learned."""
    kept = kept_of(task, old, last, changed)
    answers, free = kept.answers, kept.answers.free
    has, given = _has_target(answers), np.isin(free, task.linked_sources)
    renewed = changed[0].touched[free] | kept.lost
    asked = np.flatnonzero((renewed | ~has) & ~given)
    matcher = TextMatcher(task, kept.last, answers, learned, temperature)
    judged = _allowed(matcher(_part(task.source, free[asked])), task, free[asked])
    may_have = renewed[asked][judged.source] | (changed[1].touched | kept.freed)[judged.target]
    gets = _gets(judged, may_have, answers, has)
    target = np.full(len(asked), -1)
    target[judged.source[gets]] = judged.target[gets]
    again = renewed[asked] | (target >= 0)
    opinions = _opinions(kept.last, judged, free[asked], again, temperature)
    _fill(answers, judged, asked, again, temperature)
    _decide(answers, asked[again], target[again], last.weights, temperature)
    return Rematched(answers, opinions, len(asked), int(renewed[asked].sum()))


def kept_of(task: Task, old: Answers, last: StoredOpinions, changed: tuple[Difference, Difference]) -> Kept:
    """Renumber what an earlier run has said of entities that nothing has touched."""
    source, target = (side.untouched for side in changed)
    ends = source[last.source], target[last.target]
    there = (ends[0] >= 0) & (ends[1] >= 0)
    order = np.flatnonzero(there)[np.lexsort((ends[1][there], ends[0][there]))]
    scores = {name: values[order] for name, values in last.scores.items()}
    opinions = StoredOpinions(ends[0][order].astype(np.int32), ends[1][order].astype(np.int32), scores, last.weights)
    free = np.setdiff1d(np.arange(task.source.n_entities), task.closed_entities(0))
    row_of = np.full(task.source.n_entities, -1)
    row_of[free] = np.arange(len(free))
    now = np.append(row_of, -1)[source[old.free]]
    rows = np.flatnonzero(now >= 0)
    answers = _renumbered(task, old, free, rows, now[rows], target)
    had = _has_target(old)
    lost = np.zeros(len(free), dtype=bool)
    lost[now[rows]] = had[rows] & ~_has_target(answers)[now[rows]]
    freed = target[old.decided.target[had & (now < 0), 0]]
    return Kept(opinions, answers, lost, np.isin(np.arange(task.target.n_entities), freed))


def _renumbered(
    task: Task, old: Answers, free: np.ndarray, rows: np.ndarray, now: np.ndarray, target: np.ndarray
) -> Answers:
    """The old answers `rows` in the places `now`, without targets that are gone; nothing is known of others yet."""
    n, m, held = len(free), task.target.n_entities, old.ranked
    ranked, decided = (_blank(n, of.target.shape[1], of) for of in (held, old.decided))
    ends = target[held.target[rows]]
    order = np.argsort(ends < 0, axis=1, kind="stable")
    _put(ranked, now, _without_gone(_rows(held, rows).ordered(order), np.take_along_axis(ends, order, axis=1), m))
    ends = target[old.decided.target[rows]]
    _put(decided, now, _without_gone(_rows(old.decided, rows), ends, m))
    is_free = np.zeros(n, dtype=bool)
    is_free[now] = old.is_free[rows]
    scores = {name: _moved(np.take_along_axis(part[rows], order, axis=1), now, n) for name, part in old.scores.items()}
    parts = {name: _moved(part[rows], now, n) for name, part in old.parts.items()}
    return Answers(
        task,
        old.voter_names,
        free,
        ranked,
        scores,
        decided,
        is_free,
        parts,
        _left(old, rows, now, n, target),
        old.evidence_kinds,
    )


def _left(old: Answers, rows: np.ndarray, now: np.ndarray, n: int, target: np.ndarray) -> Left:
    """What the sources get whose targets went to others, as far as it is there."""
    left = Left(np.full(n, -1), np.zeros(n))
    if old.left is not None:
        left.target[now] = np.append(target, -1)[old.left.target[rows]]
        left.likelihood[now] = np.where(left.target[now] >= 0, old.left.likelihood[rows], 0.0)
    return left


def _blank(n: int, k: int, like: Ranked) -> Ranked:
    """For n sources k targets of which nobody thinks anything."""
    target = np.tile(np.arange(k), (n, 1))
    score, belief = np.full((n, k), WORST, like.score.dtype), np.zeros((n, k), like.belief.dtype)
    none = np.zeros((n, k), dtype=bool)
    named = np.zeros((n, k, like.named.shape[-1]), dtype=bool)
    parts = (target, score, belief, named, none, ~none, np.zeros((n, k)), np.zeros(n))
    return Ranked(*parts, links_are_random=like.links_are_random)


FIELDS = ("target", "score", "belief", "named", "chosen", "silent", "likelihood", "counterpart")


def _rows(of: Ranked, rows: np.ndarray) -> Ranked:
    changed: dict[str, Any] = {name: getattr(of, name)[rows] for name in FIELDS}
    return replace(of, **changed)


def _put(into: Ranked, rows: np.ndarray, of: Ranked) -> None:
    for name in FIELDS:
        getattr(into, name)[rows] = getattr(of, name)


def _moved(values: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    found = np.full((n, *values.shape[1:]), np.nan, dtype=values.dtype)
    found[rows] = values
    return found


def _without_gone(of: Ranked, target: np.ndarray, m: int) -> Ranked:
    """With other numbers of the m targets, and any others in the place of those that are gone (-1)."""
    gone, target = target < 0, target.copy()
    for row in np.flatnonzero(gone.any(axis=1)).tolist():
        others = np.setdiff1d(np.arange(min(2 * target.shape[1], m)), target[row])
        target[row, gone[row]] = others[: gone[row].sum()]
    return replace(
        of, target=target, score=np.where(gone, WORST, of.score), belief=np.where(gone, 0, of.belief),
        named=of.named & ~gone[..., None], chosen=of.chosen & ~gone, silent=of.silent | gone,
        likelihood=np.where(gone, 0.0, of.likelihood),
    )  # fmt: skip


def _has_target(answers: Answers) -> np.ndarray:
    """bool [p]: the sources that are mapped."""
    best = answers.decided.probability(1)[:, 0]
    return answers.is_free & ~answers.decided.silent[:, 0] & (best >= MIN_PROBABILITY)


def _part(graph: Graph, rows: np.ndarray) -> Graph:
    """These entities with their values and labels, without triples; the numbers `rows` ascend."""
    stays = np.isin(np.arange(graph.n_entities), rows)
    attributes, labels = graph.attributes.subset(stays), graph.labels.subset(stays)
    return Graph(
        graph.ids[stays], graph.relations[:0], graph.triples[:0], attributes, labels, graph.prefixes,
        name_predicates=graph.name_predicates,
    )  # fmt: skip


def _allowed(judged: Judged, task: Task, sources: np.ndarray) -> Judged:
    """Without pairs that were rejected."""
    m = task.target.n_entities
    kept = ~np.isin(sources[judged.source] * m + judged.target, task.rejected @ [m, 1])
    views = {name: odds[kept] for name, odds in judged.views.items()}
    source, target, probability, if_free = (part[kept] for part in judged[:4])
    return Judged(source, target, probability, if_free, judged.known, views)


def _gets(judged: Judged, may_have: np.ndarray, answers: Answers, has: np.ndarray) -> np.ndarray:
    """Places of the pairs that are mapped: of those that may be, the likeliest of each target that nobody else has."""
    held = np.r_[answers.decided.target[has, 0], answers.task.train[:, 1], answers.task.valid[:, 1]]
    likely = np.flatnonzero((judged.probability >= MIN_PROBABILITY) & may_have & ~np.isin(judged.target, held))
    likely = likely[np.argsort(-judged.probability[likely], kind="stable")]
    likely = likely[np.unique(judged.source[likely], return_index=True)[1]]  # of two that are equally likely one
    likely = likely[np.argsort(-judged.probability[likely], kind="stable")]
    return likely[np.unique(judged.target[likely], return_index=True)[1]]


def _fill(answers: Answers, judged: Judged, asked: np.ndarray, again: np.ndarray, temperature: float) -> None:
    """Put the candidates of the sources `asked` that were matched `again` in the place of what they had."""
    ranked, k, rows = answers.ranked, answers.ranked.target.shape[1], asked[again]
    _put(ranked, rows, _blank(len(rows), k, ranked))
    ranked.target[rows] = -1
    for values in answers.scores.values():
        values[rows] = np.nan
    counterpart = np.minimum(np.bincount(judged.source, judged.probability, minlength=len(asked)), 1.0)
    ranked.counterpart[rows] = counterpart[again]
    rank = rank_of(judged.source, judged.probability)
    shown = np.flatnonzero((rank < k) & again[judged.source])
    row, place, p = asked[judged.source[shown]], rank[shown], judged.probability[shown]
    ranked.target[row, place], ranked.score[row, place], ranked.belief[row, place] = judged.target[shown], p, p
    ranked.likelihood[row, place] = np.minimum(p / np.maximum(counterpart[judged.source[shown]], 1e-12), 1.0)
    ranked.silent[row, place] = False
    for name, odds in judged.views.items():
        favours = odds[shown] > 0
        ranked.named[row[favours], place[favours], answers.voter_names.index(name)] = True
        answers.scores[name][row, place] = odds[shown] * temperature
    _put(ranked, rows, _without_gone(_rows(ranked, rows), ranked.target[rows], answers.task.target.n_entities))


def _decide(
    answers: Answers, rows: np.ndarray, target: np.ndarray, weights: Mapping[str, float], temperature: float
) -> None:
    """Assign targets [r], -1 for none, to the rows; who gets none has the two likeliest."""
    ranked, decided = answers.ranked, answers.decided
    k, n = ranked.target.shape[1], decided.target.shape[1]
    mapped = target >= 0
    place = np.where(mapped, np.argmax(ranked.target[rows] == target[:, None], axis=1), 0)
    order = np.argsort(np.arange(k) != place[:, None], axis=1, kind="stable")
    first = _rows(ranked, rows).ordered(order)
    for name in FIELDS[:-1]:
        getattr(decided, name)[rows] = getattr(first, name)[:, :n]
    decided.counterpart[rows] = ranked.counterpart[rows]
    answers.is_free[rows] = mapped | (ranked.probability(1)[rows, 0] < MIN_PROBABILITY)
    ranked.chosen[rows[mapped], place[mapped]] = decided.chosen[rows[mapped], 0] = True
    for name, part in answers.parts.items():
        part[rows] = np.nan
        if name in answers.scores:
            score, weight = answers.scores[name][rows], weights.get(name, 1.0) / temperature
            part[rows, 0] = np.take_along_axis(score, place[:, None], axis=1)[:, 0] * weight
            part[rows, 1] = score[:, 0] * weight


def _opinions(
    last: StoredOpinions, judged: Judged, sources: np.ndarray, again: np.ndarray, temperature: float
) -> StoredOpinions:
    """The kept opinions, and those about sources that were matched anew in place of what was said of these."""
    stays = ~np.isin(last.source, sources[again])
    new = again[judged.source]
    source = np.r_[last.source[stays], sources[judged.source[new]]].astype(np.int32)
    target = np.r_[last.target[stays], judged.target[new]].astype(np.int32)
    silent = np.full(int(new.sum()), np.nan)
    views: Mapping[str, np.ndarray] = {name: odds[new] * temperature for name, odds in judged.views.items()}
    scores = {name: np.r_[s[stays], views.get(name, silent).astype(s.dtype)] for name, s in last.scores.items()}
    order = np.lexsort((target, source))
    return StoredOpinions(source[order], target[order], {n: s[order] for n, s in scores.items()}, last.weights)
