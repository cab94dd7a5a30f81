"""What a run concludes: candidates of every source and one decision about it, as plain arrays. No torch.

Computed once at the end of a training and stored in its run folder; everything that is asked later is read from here.
"""

from __future__ import annotations

from collections.abc import Mapping as Table
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from mixtea.config import VECTORS
from mixtea.data.task import Task
from mixtea.match.candidates import Candidates
from mixtea.match.contributions import evidence_texts
from mixtea.match.mapping import ALONE, COLUMNS, FURTHER, GIVEN, MAPPED, TAKEN, UNKNOWN, Mapping
from mixtea.match.several import further_targets
from mixtea.measure.mapping_scores import judged_of, mapping_scores, threshold_curve
from mixtea.vote.known import KnownPairs
from mixtea.vote.trace import voter_texts
from mixtea.vote.vectors import OPINION

STORED = 20  # candidates of a source
ASSIGNED_IT = 2  # how a source's first target stands: an assignment gives it, or it may have it without
DECISIONS = ("", MAPPED, ALONE, GIVEN, TAKEN, UNKNOWN)  # a run folder has their places


@dataclass(frozen=True, eq=False)
class Ranked:
    """For p sources their k best targets, each array [p, k]: targets, what ranks them, the belief.

    `likelihood` is how often such a candidate is right if there is a counterpart, `counterpart` [p] how likely there is
    one. `named` [p, k, v] says which voters favour it, `chosen` where no other source has a greater belief in the
    target, `silent` where nobody has an opinion. `links_are_random`: whether training links look like a random choice.
    """

    target: np.ndarray
    score: np.ndarray
    belief: np.ndarray
    named: np.ndarray
    chosen: np.ndarray
    silent: np.ndarray
    likelihood: np.ndarray
    counterpart: np.ndarray
    links_are_random: bool = True

    def probability(self, k: int) -> np.ndarray:
        """[p, k], of the first k: right if there is a counterpart; further ones share what the first one leaves."""
        found = self.likelihood[:, :k] * self.counterpart[:, None]
        left, others = self.counterpart[:, None] - found[:, :1], found[:, 1:]
        others *= np.minimum(1.0, left / np.maximum(others.sum(axis=1, keepdims=True), 1e-12))
        return found


class Left(NamedTuple):
    """[p] for sources whose targets went to others: one that nobody has, else -1; and how often such is right."""

    target: np.ndarray
    likelihood: np.ndarray

    def put_first(self, found: Ranked) -> Ranked:
        """The candidates with these in front, of which nobody thinks anything; what was first is the runner-up."""
        rows = np.flatnonzero(self.target >= 0)
        follows = np.where(found.target[rows, 0] == self.target[rows], found.target.shape[1] - 1, 0)

        def changed(values: np.ndarray, first: np.ndarray | float = 0) -> np.ndarray:
            new = values.copy()
            new[rows, -1], new[rows, 0] = values[rows, follows], first
            return new

        target, likelihood = (
            changed(values, new[rows])
            for values, new in ((found.target, self.target), (found.likelihood, self.likelihood))
        )
        score, belief, named, chosen, silent = map(
            changed, (found.score, found.belief, found.named, found.chosen, found.silent)
        )
        ranked = Ranked(target, score, belief, named, chosen, silent, likelihood, found.counterpart)
        return replace(ranked, links_are_random=found.links_are_random)


@dataclass(frozen=True, eq=False)
class Answers:
    """The k best targets of each source in `free` (those without a training link), and the decision about it.

    `ranked` are the candidates by the run's decoder. `decided` holds the two best of each where validation links are
    given and each target is given once, `is_free` [p] whether the first of them is not another one's. `scores` are each
    opinion's of the ranked candidates, NaN where it has none; `parts` [p, 2] what it adds, in units of the temperature,
    to the score of the target that is decided on, and of the first candidate. `left` is what the others get where every
    source is to be mapped; None of a run that did not keep it.
    """

    task: Task
    voter_names: tuple[str, ...]
    free: np.ndarray
    ranked: Ranked
    scores: dict[str, np.ndarray]
    decided: Ranked
    is_free: np.ndarray
    parts: dict[str, np.ndarray] = field(default_factory=dict)
    left: Left | None = None

    @property
    def spoke(self) -> tuple[str, ...]:
        """Of the voters that decided those who had an opinion on any pair."""
        return tuple(name for name in self.voter_names if (OPINION if name in VECTORS else name) in self.parts)

    def candidates(self, k: int) -> Candidates:
        """The k best of each source; all that are stored if there are fewer."""
        found, k = self.ranked, min(k, self.ranked.target.shape[1])
        parts = (found.target[:, :k], found.score[:, :k], found.probability(k), found.named[:, :k], found.counterpart)
        return Candidates(self.task.source, self.task.target, self.free, *parts, self.voter_names)

    def mapping(self, *, abstain: bool = True, with_given: bool = False, several: bool | None = None) -> Mapping:
        """One decision for each source without a given link, every target given once.

        With `several`, and by itself where the links to learn from are so, sources get further targets.
        """
        parts = {name: part[:, 0] for name, part in self.parts.items()}
        mapping = decided_mapping(
            self.task, self.voter_names, self.free, self.decided, self.is_free, parts, abstain=abstain,
            with_given=with_given, left=self.left,
        )  # fmt: skip
        if not (self.task.one_to_many if several is None else several):
            return mapping
        return with_further(mapping, self.task, self.voter_names, self.free, self.ranked)

    def evidence(self) -> np.ndarray:
        """[p] texts: what each opinion adds to the score of the first candidate."""
        return evidence_texts({name: part[:, 1] for name, part in self.parts.items()}, len(self.free))

    @cached_property
    def decisions(self) -> np.ndarray:
        """uint8 [p, k], places in DECISIONS: at the target that the source is given, else at the first candidate."""
        verdict = _verdicts(self.task, self.free, self.decided, self.is_free, abstain=True)
        found: np.ndarray = np.zeros(self.ranked.target.shape, dtype=np.uint8)
        mapped = verdict == DECISIONS.index(MAPPED)
        found[(self.ranked.target == self.decided.target[:, :1]) & mapped[:, None]] = DECISIONS.index(MAPPED)
        if found.shape[1]:
            found[~mapped, 0] = verdict[~mapped]
        return found

    def mapping_scores(self, links: np.ndarray, *, complete: bool = False, abstain: bool = True) -> dict[str, float]:
        """Precision, recall and F1 of the mapping on links [p, 2]; with `complete` nothing else has a counterpart."""
        pairs, truth = self.mapping(abstain=abstain).pairs(), linked_ids(self.task, links)
        return mapping_scores(pairs, truth, complete=complete)

    def behind(self, scores: Table[str, float], links: np.ndarray, *, complete: bool = False) -> dict[str, int]:
        """How many links or mappings stand behind those of the scores of links [p, 2] that are shares."""
        truth, asked = linked_ids(self.task, links), int(np.isin(self.free, links[:, 0]).sum())
        judged = judged_of(self.mapping().pairs(), truth, complete=complete)
        found = dict.fromkeys(("hits@1", "backward_hits@1"), len(links))
        found |= {"precision": len(judged), "recall": len(truth)}
        found |= {"accepted@95_precision": round(scores.get("accepted@95", 0.0) * asked)}
        return {name: n for name, n in found.items() if name in scores}

    def threshold_curve(self, links: np.ndarray, *, complete: bool = False) -> pd.DataFrame:
        """The scores of the mapping by the least probability that is asked for, instead of what was decided."""
        pairs, truth = self.mapping(abstain=False).pairs(), linked_ids(self.task, links)
        return threshold_curve(pairs, truth, complete=complete)

    def known(self) -> KnownPairs:
        """What explanations are made of, one for all who ask."""
        return self._known

    @cached_property
    def _known(self) -> KnownPairs:
        k = self.ranked.target.shape[1]
        scores = {name: values.ravel() for name, values in self.scores.items()}
        return KnownPairs(self.free.repeat(k), self.ranked.target.ravel(), self.ranked.belief.ravel(), scores)


def _verdicts(task: Task, free: np.ndarray, found: Ranked, is_free: np.ndarray, *, abstain: bool) -> np.ndarray:
    """uint8 [p], places in DECISIONS: what becomes of each source; the first reason that holds."""
    best, given = found.probability(found.target.shape[1])[:, 0], np.isin(free, task.linked_sources)
    silent = found.silent[:, 0]
    least = half_of_best_f1(best[is_free & ~silent & ~given], float(found.counterpart[~given].sum()))
    doubted = (1 - found.counterpart > best) & (best < least) & abstain
    reasons = {GIVEN: given, UNKNOWN: silent, ALONE: doubted, TAKEN: ~is_free}
    places = [np.uint8(DECISIONS.index(reason)) for reason in reasons]
    return np.select(list(reasons.values()), places, np.uint8(DECISIONS.index(MAPPED)))


def given_once(target: np.ndarray, probability: np.ndarray, standing: np.ndarray) -> np.ndarray:
    """bool [p]: the sources that get their first target; each target goes to the likeliest of those who stand for it.

    Of equal ones an assignment decides. It gives as many targets as it can, also to who is unlikely to have any.

    >>> given_once(np.array([5, 5, 7, 5]), np.array([0.2, 0.9, 0.1, 0.95]), np.array([2, 1, 1, 0]))
    array([False,  True,  True, False])
    """
    asked = np.flatnonzero(standing > 0)
    order = asked[np.lexsort((-standing[asked], -probability[asked]))]
    found = np.zeros(len(target), dtype=bool)
    found[order[np.unique(target[order], return_index=True)[1]]] = True
    return found


def half_of_best_f1(probability: np.ndarray, n_matched: float) -> float:
    """max over k of sum of the k greatest / (k + matched): half of the best F1 that can be expected.

    A mapping that is less probable than that lowers the expected F1 = 2 right / (mapped + matched).

    >>> half_of_best_f1(np.array([0.9, 0.9, 0.1]), 2.0)
    0.45
    """
    total = np.cumsum(np.sort(probability)[::-1])
    return float((total / (np.arange(1, len(total) + 1) + n_matched)).max(initial=0.0))


def decided_mapping(
    task: Task, names: tuple[str, ...], free: np.ndarray, found: Ranked, is_free: np.ndarray,
    parts: dict[str, np.ndarray], *, abstain: bool, with_given: bool, left: Left | None = None,
) -> Mapping:  # fmt: skip
    """Decisions as a mapping: if `abstain`, a source has no counterpart where that is likelier and F1 would not gain.

    If not, those whose targets went to others get what is `left`.
    """
    if left is not None and not abstain:
        is_left = left.target >= 0
        found, is_free = left.put_first(found), is_free | is_left
        parts = {name: np.where(is_left, np.nan, part) for name, part in parts.items()}
    decision = np.array(DECISIONS, dtype=object)[_verdicts(task, free, found, is_free, abstain=abstain)]
    probability, has_second = found.probability(found.target.shape[1]), found.target.shape[1] > 1
    none, best = ~np.isin(decision, [MAPPED, GIVEN]), probability[:, 0]
    first = task.target.ids[found.target[:, 0]].astype(object)
    voters, evidence = voter_texts(found.named[:, 0], names), evidence_texts(parts, len(free))
    first[none], voters[none], evidence[none] = None, "", ""
    frame = pd.DataFrame(
        {
            "source": task.source.ids[free],
            "target": pd.Series(first, dtype=object),
            "probability": np.select(
                [decision == UNKNOWN, decision == ALONE, decision == TAKEN],
                [np.nan, 1 - found.counterpart, 1 - best],
                best,
            ),
            "runner_up": task.target.ids[found.target[:, 1]] if has_second else None,
            "runner_up_probability": probability[:, 1] if has_second else 0.0,
            "voters": voters,
            "given": False,
            "evidence": evidence,
            "decision": decision,
        },
        columns=list(COLUMNS),
    )
    asked = decision != GIVEN
    frame, expected = frame[asked], float(found.counterpart[asked].sum()) if abstain else None
    if with_given:
        frame = pd.concat([given_links(task), frame])
    whole = frame.reset_index(drop=True)
    are_random = found.links_are_random
    return Mapping(task.source, task.target, whole, task.links_from, expected, are_random, task.slots)


def with_further(mapping: Mapping, task: Task, names: tuple[str, ...], free: np.ndarray, found: Ranked) -> Mapping:
    """The mapping with further targets of its sources, and of those that have a given link, after all others."""
    frame = mapping.frame
    mapped = task.target.find(frame.loc[frame["target"].notna(), "target"].to_numpy())
    taken = np.concatenate([mapped, task.train[:, 1], task.valid[:, 1]])
    row, place, probability = further_targets(found, taken, np.isin(free, task.linked_sources))
    ends = {
        "source": task.source.ids[free[row]],
        "target": task.target.ids[found.target[row, place]],
        "probability": probability,
    }
    others = {"runner_up": None, "runner_up_probability": np.nan, "given": False, "evidence": "", "decision": FURTHER}
    further = pd.DataFrame(ends | {"voters": voter_texts(found.named[row, place], names)}).assign(**others)
    rows = further[list(COLUMNS)].astype({"runner_up": object})
    return replace(mapping, frame=pd.concat([frame, rows], ignore_index=True))


def linked_ids(task: Task, links: np.ndarray) -> pd.DataFrame:
    """Links [p, 2] as ids, without those whose source has a given link: a mapping says nothing of it,

    unless sources may have several targets; then it says nothing of the given links alone.
    """
    given, m = np.concatenate([task.train, task.valid]), max(task.target.n_entities, 1)
    said = np.isin(links @ [m, 1], given @ [m, 1]) if task.one_to_many else np.isin(links[:, 0], given[:, 0])
    links = links[~said]
    return pd.DataFrame({"source": task.source.ids[links[:, 0]], "target": task.target.ids[links[:, 1]]})


def given_links(task: Task) -> pd.DataFrame:
    """The training and validation links as rows of a mapping."""
    links = np.concatenate([task.train, task.valid])
    names = {"source": task.source.ids[links[:, 0]], "target": task.target.ids[links[:, 1]]}
    others = {"probability": 1.0, "runner_up": None, "runner_up_probability": np.nan, "voters": "", "given": True}
    return pd.DataFrame(names).assign(**others, evidence="", decision=GIVEN).astype({"runner_up": object})
