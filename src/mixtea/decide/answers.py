"""What a run concludes: candidates of every source and one decision about it, as plain arrays. No torch.

Computed once at the end of a training and stored in its run folder; everything that is asked later is read from here.
"""

from __future__ import annotations

from collections.abc import Mapping as Table
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mixtea.calibration.calibrator import acceptable
from mixtea.config import VECTOR_VOTERS
from mixtea.council.trace import voter_texts
from mixtea.decide.candidates import Candidates
from mixtea.decide.contributions import evidence_texts
from mixtea.decide.mapping import ALONE, ANYWAY, COLUMNS, FURTHER, GIVEN, MAPPED, TAKEN, UNKNOWN, UNSURE, Mapping
from mixtea.decide.multi_target import LEAST, further_targets
from mixtea.errors import ConfigError
from mixtea.evaluation.mapping_scores import judged_of, mapping_scores, threshold_curve
from mixtea.graph.task import Task
from mixtea.relations.scored_pairs import ScoredPairs
from mixtea.voters.base import EvidenceKind
from mixtea.voters.student import VECTORS_GROUP

STORED = 20  # candidates of a source
MIN_PROBABILITY = 0.5  # of a pair that is mapped, unless less or more is asked for
DECISIONS = ("", MAPPED, ALONE, GIVEN, TAKEN, UNKNOWN, UNSURE, ANYWAY)  # a run folder has their places


@dataclass(frozen=True)
class Choice:
    """Which pairs of the assignment are mapped: those of at least MIN_PROBABILITY, unless something else is asked for.

    `best_f1` also takes less likely ones that raise the expected F1, `every` all that there are, and `precision` as
    many of the likeliest as have that precision in expectation.
    """

    best_f1: bool = False
    every: bool = False
    precision: float | None = None

    def __post_init__(self) -> None:
        q = self.precision
        if q is not None and (not isinstance(q, int | float | np.number) or not 0 < q <= 1):
            raise ConfigError(f"A precision is a number above 0 and at most 1, not {q!r:.100}.")
        if self.best_f1 + self.every + (q is not None) > 1:
            raise ConfigError("Ask for one of best F1, every source, and a precision: they exclude each other.")

    def accepted(self, probability: np.ndarray, n_matched: float) -> np.ndarray:
        """bool [p]: which pairs of an assignment are mapped, if `n_matched` sources have a counterpart."""
        if self.every:
            return np.ones(len(probability), dtype=bool)
        if self.precision is not None:
            return acceptable(probability, float(self.precision))
        least = half_of_best_f1(probability, n_matched) if self.best_f1 else MIN_PROBABILITY
        return probability >= min(least, MIN_PROBABILITY)


DEFAULT = Choice()


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
        """[p, k], of the first k: how likely each is a match."""
        return self.likelihood[:, :k] * self.counterpart[:, None]

    def ordered(self, order: np.ndarray) -> Ranked:
        """The candidates of each source in another order [p, k]."""

        def sorted_(values: np.ndarray) -> np.ndarray:
            places = order if values.ndim == 2 else order[..., None]
            return np.take_along_axis(values, places, axis=1)

        by_candidate = ("target", "score", "belief", "named", "chosen", "silent", "likelihood")
        changed: dict[str, Any] = {name: sorted_(getattr(self, name)) for name in by_candidate}
        return replace(self, **changed)


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

    `ranked` are the candidates, likeliest first. `decided` holds the target that each is assigned where each target is
    given once, and its likeliest other one; `is_free` [p] whether it is assigned any. `scores` are each
    opinion's of the ranked candidates, NaN where it has none; `parts` [p, 2] what it adds, in units of the temperature,
    to the score of the target that is decided on, and of the first candidate. `left` is what the others get where every
    source is to be mapped; None of a run that did not keep it. `evidence_kinds` are as in Mapping.
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
    evidence_kinds: Table[str, EvidenceKind] = field(default_factory=dict)

    @property
    def spoke(self) -> tuple[str, ...]:
        """Of the voters that decided those who had an opinion on any pair."""
        return tuple(
            name for name in self.voter_names if (VECTORS_GROUP if name in VECTOR_VOTERS else name) in self.parts
        )

    def candidates(self, k: int) -> Candidates:
        """The k best of each source; all that are stored if there are fewer."""
        found, k = self.ranked, min(k, self.ranked.target.shape[1])
        parts = (found.target[:, :k], found.score[:, :k], found.probability(k), found.named[:, :k], found.counterpart)
        return Candidates(self.task.source, self.task.target, self.free, *parts, self.voter_names)

    def mapping(self, choice: Choice = DEFAULT, *, with_given: bool = False) -> Mapping:
        """One decision for each source without a given link, and further targets where a source has several."""
        parts = {name: part[:, 0] for name, part in self.parts.items()}
        mapping = decided_mapping(
            self.task, self.voter_names, self.free, self.decided, self.is_free, parts, choice, with_given=with_given,
            left=self.left,
        )  # fmt: skip
        mapping = replace(mapping, evidence_kinds=self.evidence_kinds)
        return with_further(mapping, self.task, self.voter_names, self.free, self.ranked, choice)

    def evidence(self) -> np.ndarray:
        """[p] texts: what each opinion adds to the score of the first candidate."""
        return evidence_texts({name: part[:, 1] for name, part in self.parts.items()}, len(self.free))

    @cached_property
    def decisions(self) -> np.ndarray:
        """uint8 [p, k], places in DECISIONS: at the target that the source is given, else at the first candidate."""
        verdict = verdicts(self.task, self.free, self.decided, self.is_free)
        found: np.ndarray = np.zeros(self.ranked.target.shape, dtype=np.uint8)
        mapped = verdict == DECISIONS.index(MAPPED)
        found[(self.ranked.target == self.decided.target[:, :1]) & mapped[:, None]] = DECISIONS.index(MAPPED)
        if found.shape[1]:
            found[~mapped, 0] = verdict[~mapped]
        return found

    def mapping_scores(
        self, links: np.ndarray, *, complete: bool = False, choice: Choice = DEFAULT
    ) -> dict[str, float]:
        """Precision, recall and F1 of the mapping on links [p, 2]; with `complete` nothing else has a counterpart."""
        pairs, truth = self.mapping(choice).pairs(), linked_ids(self.task, links)
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
        pairs, truth = self.mapping(Choice(every=True)).pairs(), linked_ids(self.task, links)
        return threshold_curve(pairs, truth, complete=complete)

    def known(self) -> ScoredPairs:
        """What explanations are made of, one for all who ask."""
        return self._known

    @cached_property
    def _known(self) -> ScoredPairs:
        k = self.ranked.target.shape[1]
        scores = {name: values.ravel() for name, values in self.scores.items()}
        return ScoredPairs(self.free.repeat(k), self.ranked.target.ravel(), self.ranked.belief.ravel(), scores)


def verdicts(task: Task, free: np.ndarray, found: Ranked, is_free: np.ndarray, choice: Choice = DEFAULT) -> np.ndarray:
    """uint8 [p], places in DECISIONS: what becomes of each source; the first reason that holds."""
    best, given = found.probability(found.target.shape[1])[:, 0], np.isin(free, task.linked_sources)
    silent = found.silent[:, 0]
    asked = is_free & ~silent & ~given
    mapped = asked.copy()
    mapped[asked] = choice.accepted(best[asked], float(found.counterpart[~given].sum()))
    unlikely = mapped & (best < MIN_PROBABILITY) & choice.every
    alone = 1 - found.counterpart > np.where(is_free, best, found.likelihood.max(axis=1, initial=0.0))
    reasons = {
        GIVEN: given, UNKNOWN: silent, ANYWAY: unlikely, MAPPED: mapped, ALONE: alone, TAKEN: ~is_free,
    }  # fmt: skip
    places = [np.uint8(DECISIONS.index(reason)) for reason in reasons]
    return np.select(list(reasons.values()), places, np.uint8(DECISIONS.index(UNSURE)))


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
    parts: dict[str, np.ndarray], choice: Choice, *, with_given: bool, left: Left | None = None,
) -> Mapping:  # fmt: skip
    """Decisions as a mapping. If every source is mapped, those whose targets went to others get what is `left`."""
    if left is not None and choice.every:
        is_left = left.target >= 0
        found, is_free = left.put_first(found), is_free | is_left
        parts = {name: np.where(is_left, np.nan, part) for name, part in parts.items()}
    decision = np.array(DECISIONS, dtype=object)[verdicts(task, free, found, is_free, choice)]
    probability, has_second = found.probability(found.target.shape[1]), found.target.shape[1] > 1
    none, best = ~np.isin(decision, [MAPPED, ANYWAY, GIVEN]), probability[:, 0]
    first = task.target.ids[found.target[:, 0]].astype(object)
    voters, evidence = voter_texts(found.named[:, 0], names), evidence_texts(parts, len(free))
    first[none], voters[none], evidence[none] = None, "", ""
    frame = pd.DataFrame(
        {
            "source": task.source.ids[free],
            "target": pd.Series(first, dtype=object),
            "probability": np.select(
                [decision == UNKNOWN, decision == ALONE, np.isin(decision, [TAKEN, UNSURE])],
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
    frame, expected = frame[asked], float(found.counterpart[asked].sum())
    if with_given:
        frame = pd.concat([given_links(task), frame])
    whole = frame.reset_index(drop=True)
    n_links, are_random = len(task.train) + len(task.valid), found.links_are_random
    return Mapping(task.source, task.target, whole, task.links_from, expected, are_random, task.slots, n_links)


def with_further(
    mapping: Mapping, task: Task, names: tuple[str, ...], free: np.ndarray, found: Ranked, choice: Choice = DEFAULT
) -> Mapping:
    """The mapping with further targets of its sources, and of those that are asked about again, after all others.

    These have a training link, or several links. One validation link is no reason to ask: its source is in `free` to be
    scored, and what is likely beside the link is a mistake. Where a precision is asked for, each has at least that.
    """
    frame = mapping.frame
    mapped = task.target.find(frame.loc[frame["target"].notna(), "target"].to_numpy())
    taken = np.concatenate([mapped, task.train[:, 1], task.valid[:, 1]])
    has_one = np.isin(free, np.r_[task.train[:, 0], task.multi_target_sources, _mapped_sources(mapping, task)])
    row, place, probability = further_targets(found, taken, has_one, max(LEAST, choice.precision or 0.0))
    if not len(row):
        return mapping
    ends = {
        "source": task.source.ids[free[row]],
        "target": task.target.ids[found.target[row, place]],
        "probability": probability,
    }
    others = {"runner_up": None, "runner_up_probability": np.nan, "given": False, "evidence": "", "decision": FURTHER}
    further = pd.DataFrame(ends | {"voters": voter_texts(found.named[row, place], names)}).assign(**others)
    rows = further[list(COLUMNS)].astype({"runner_up": object})
    return replace(mapping, frame=pd.concat([frame, rows], ignore_index=True))


def _mapped_sources(mapping: Mapping, task: Task) -> np.ndarray:
    frame = mapping.frame
    return task.source.find(frame.loc[frame["target"].notna() & ~frame["given"], "source"].to_numpy())


def linked_ids(task: Task, links: np.ndarray) -> pd.DataFrame:
    """Links [p, 2] as ids, without those whose source has a given link: a mapping says nothing of it,

    unless it was asked about again, since it may have several targets; then it says nothing of the given links alone.
    """
    given, m = np.concatenate([task.train, task.valid]), max(task.target.n_entities, 1)
    is_given = np.isin(links @ [m, 1], given @ [m, 1])
    asked_again = np.isin(links[:, 0], np.setdiff1d(task.train[:, 0], task.closed_entities(0)))
    links = links[~np.where(asked_again, is_given, np.isin(links[:, 0], given[:, 0]))]
    return pd.DataFrame({"source": task.source.ids[links[:, 0]], "target": task.target.ids[links[:, 1]]})


def given_links(task: Task) -> pd.DataFrame:
    """The training and validation links as rows of a mapping."""
    links = np.concatenate([task.train, task.valid])
    names = {"source": task.source.ids[links[:, 0]], "target": task.target.ids[links[:, 1]]}
    others = {"probability": 1.0, "runner_up": None, "runner_up_probability": np.nan, "voters": "", "given": True}
    return pd.DataFrame(names).assign(**others, evidence="", decision=GIVEN).astype({"runner_up": object})
