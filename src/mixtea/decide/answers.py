"""Stored answers of a run: candidates of every source and one decision about it, as plain arrays. No torch.

They are computed once at the end of a training and kept in its run folder; all later questions are answered from them.
"""

from __future__ import annotations

from collections.abc import Mapping as Table
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mixtea.compute.scored_pairs import SCORE, ScoredPairs
from mixtea.config import VECTOR_VOTERS
from mixtea.decide.candidates import Candidates, evidence_texts
from mixtea.decide.choose import (
    DECISIONS,
    DEFAULT_CHOICE,
    Choice,
    add_further_targets,
    decision_codes,
    make_mapping,
    scorable_links,
)
from mixtea.decide.mapping import (
    MAPPED,
    Mapping,
)
from mixtea.evaluation.scores import judged_rows, mapping_scores, threshold_curve
from mixtea.graph.task import Task
from mixtea.relations.alignment import MIN_SCORE, Relations, relations_of
from mixtea.voters.base import EvidenceKind
from mixtea.voters.structure import VECTORS_GROUP

CANDIDATES_STORED = 20  # per source


@dataclass(frozen=True, eq=False)
class Ranked:
    """For p sources their k best targets, each array [p, k]: targets, what ranks them, the belief.

    `likelihood` is how often such a candidate is right if there is a counterpart, `counterpart` [p] how likely there is
    one. `supporters` [p, k, v] are the voters that support it, `is_best_source` is true where no other source has a
    greater belief in the target, `no_evidence` where no voter has an opinion. `links_are_random`: whether training
    links look like a random choice.
    """

    target: np.ndarray
    score: np.ndarray
    belief: np.ndarray
    supporters: np.ndarray
    is_best_source: np.ndarray
    no_evidence: np.ndarray
    likelihood: np.ndarray
    counterpart: np.ndarray
    links_are_random: bool = True

    def probability(self, k: int) -> np.ndarray:
        """Compute [p, k], of the first k: how likely each is a match."""
        return self.likelihood[:, :k] * self.counterpart[:, None]

    def first(self, k: int, task: Task, source_index: np.ndarray, names: tuple[str, ...]) -> Candidates:
        """Return the first k of each of the sources, as candidates with ids."""
        parts = (self.target[:, :k], self.score[:, :k], self.probability(k), self.supporters[:, :k], self.counterpart)
        return Candidates(task.source, task.target, source_index, *parts, names)

    def of_sources(self, rows: np.ndarray) -> Ranked:
        """Return the candidates of some of the sources, bool [p] or by place."""
        arrays = {one.name: getattr(self, one.name)[rows] for one in fields(self) if one.name != "links_are_random"}
        return Ranked(**arrays, links_are_random=self.links_are_random)

    def ordered(self, order: np.ndarray) -> Ranked:
        """Return the candidates of each source in another order [p, k]."""

        def sorted_(values: np.ndarray) -> np.ndarray:
            places = order if values.ndim == 2 else order[..., None]
            return np.take_along_axis(values, places, axis=1)

        by_candidate = ("target", "score", "belief", "supporters", "is_best_source", "no_evidence", "likelihood")
        changed: dict[str, Any] = {name: sorted_(getattr(self, name)) for name in by_candidate}
        return replace(self, **changed)


class FallbackTargets(NamedTuple):
    """[p] for sources that lost their targets: one that is left over, else -1; and how often such is right."""

    target: np.ndarray
    likelihood: np.ndarray

    def put_first(self, found: Ranked) -> Ranked:
        """Put these in front of the candidates, without any belief in them; what was first is the runner-up."""
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
        score, belief, supporters, is_best_source, no_evidence = map(
            changed, (found.score, found.belief, found.supporters, found.is_best_source, found.no_evidence)
        )
        ranked = Ranked(target, score, belief, supporters, is_best_source, no_evidence, likelihood, found.counterpart)
        return replace(ranked, links_are_random=found.links_are_random)


@dataclass(frozen=True, eq=False)
class Answers:
    """The k best targets of each source in `source_index` (those without a training link), and the decision about it.

    `ranked` are the candidates, likeliest first. `decided` holds the target that each is assigned where each target is
    given once, and its likeliest other one; `is_assigned` [p] whether it is assigned any. `scores` are each opinion's
    of the ranked candidates, NaN where it has none; `parts` [p, 2] what it adds, in units of the temperature, to the
    score of the target that is decided on, and of the first candidate. `fallback` are the fallback targets of the
    others where every source is to be mapped; None for a run that did not keep them.
    `evidence_kinds` are as in Mapping.
    """

    task: Task
    voter_names: tuple[str, ...]
    source_index: np.ndarray
    ranked: Ranked
    scores: dict[str, np.ndarray]
    decided: Ranked
    is_assigned: np.ndarray
    parts: dict[str, np.ndarray] = field(default_factory=dict)
    fallback: FallbackTargets | None = None
    evidence_kinds: Table[str, EvidenceKind] = field(default_factory=dict)

    @property
    def active_voters(self) -> tuple[str, ...]:
        """Return the deciding voters that had an opinion on any pair."""
        groups = {name: VECTORS_GROUP if name in VECTOR_VOTERS else name for name in self.voter_names}
        return tuple(name for name, group in groups.items() if group in self.parts)

    def of_sources(self, rows: np.ndarray) -> Answers:
        """Return the answers about some of the sources, bool [p] or by place."""
        return replace(
            self, source_index=self.source_index[rows], is_assigned=self.is_assigned[rows],
            ranked=self.ranked.of_sources(rows), decided=self.decided.of_sources(rows),
            scores={name: values[rows] for name, values in self.scores.items()},
            parts={name: values[rows] for name, values in self.parts.items()},
            fallback=self.fallback and FallbackTargets(*(values[rows] for values in self.fallback)),
        )  # fmt: skip

    def candidates(self, k: int) -> Candidates:
        """Return the k best of each source; all that are stored if there are fewer."""
        return self.ranked.first(k, self.task, self.source_index, self.voter_names)

    def mapping(self, choice: Choice = DEFAULT_CHOICE, *, with_given: bool = False) -> Mapping:
        """Return one decision for each source without a given link, and further targets where a source has several."""
        parts = {name: part[:, 0] for name, part in self.parts.items()}
        mapping = make_mapping(
            self.task, self.voter_names, self.source_index, self.decided, self.is_assigned, parts, choice,
            with_given=with_given, fallback=self.fallback,
        )  # fmt: skip
        mapping = replace(mapping, evidence_kinds=self.evidence_kinds)
        return add_further_targets(mapping, self.task, self.voter_names, self.source_index, self.ranked, choice)

    def relations(self, min_score: float = MIN_SCORE) -> Relations:
        """Align relations, attribute predicates and classes by the mapping and the given links."""
        return relations_of(self.mapping(with_given=True), min_score)

    def evidence(self) -> np.ndarray:
        """Return texts [p]: what each opinion adds to the score of the first candidate."""
        return evidence_texts({name: part[:, 1] for name, part in self.parts.items()}, len(self.source_index))

    @cached_property
    def decisions(self) -> np.ndarray:
        """Return uint8 [p, k], indices in DECISIONS: at the target that the source gets, else at the first one."""
        verdict = decision_codes(self.task, self.source_index, self.decided, self.is_assigned)
        found: np.ndarray = np.zeros(self.ranked.target.shape, dtype=np.uint8)
        mapped = verdict == DECISIONS.index(MAPPED)
        found[(self.ranked.target == self.decided.target[:, :1]) & mapped[:, None]] = DECISIONS.index(MAPPED)
        if found.shape[1]:
            found[~mapped, 0] = verdict[~mapped]
        return found

    def mapping_scores(
        self, links: np.ndarray, *, complete: bool = False, choice: Choice = DEFAULT_CHOICE
    ) -> dict[str, float]:
        """Compute precision, recall and F1 of the mapping on links [p, 2]; with `complete` these are all matches."""
        pairs, truth = self.mapping(choice).pairs(), scorable_links(self.task, links)
        return mapping_scores(pairs, truth, complete=complete)

    def sample_sizes(self, scores: Table[str, float], links: np.ndarray, *, complete: bool = False) -> dict[str, int]:
        """Count the links or mappings behind those of the scores of links [p, 2] that are shares."""
        truth, asked = scorable_links(self.task, links), int(np.isin(self.source_index, links[:, 0]).sum())
        judged = judged_rows(self.mapping().pairs(), truth, complete=complete)
        found = dict.fromkeys(("hits@1", "backward_hits@1"), len(links))
        found |= {"precision": len(judged), "recall": len(truth)}
        found |= {"accepted@95_precision": round(scores.get("accepted@95", 0.0) * asked)}
        return {name: n for name, n in found.items() if name in scores}

    def threshold_curve(self, links: np.ndarray, *, complete: bool = False) -> pd.DataFrame:
        """Score the mapping by the least probability that is asked for, instead of the decisions."""
        pairs, truth = self.mapping(Choice(every=True)).pairs(), scorable_links(self.task, links)
        return threshold_curve(pairs, truth, complete=complete)

    def known(self) -> ScoredPairs:
        """Return the scored pairs that explanations are made of, made once."""
        return self._known

    @cached_property
    def _known(self) -> ScoredPairs:
        k = self.ranked.target.shape[1]
        columns = {"belief": self.ranked.belief.ravel(), "probability": self.ranked.probability(k).ravel()}
        columns |= {SCORE + name: values.ravel() for name, values in self.scores.items()}
        shape = self.task.joint_index.shape
        return ScoredPairs(self.source_index.repeat(k), self.ranked.target.ravel(), shape, columns)
