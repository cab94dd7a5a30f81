"""Base of voters that compare entities and learn the log-odds of similarities from the links. No torch."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np

from mixtea.compute.arrays import as_numpy, check_pairs
from mixtea.compute.scored_pairs import ScoredPairs, are_in, rank_within
from mixtea.errors import DataError
from mixtea.graph.task import Task
from mixtea.voters.base import Voter, VotingState
from mixtea.voters.candidate_pairs import CLEAR_SIMILARITY, CandidatePairs, Feature, estimate_matched
from mixtea.voters.learned import LearnedView
from mixtea.voters.log_odds import BoundedLogOdds, LearnedWeights, bounded_log_odds, learn_weights

CANDIDATES_PER_ENTITY = 20  # candidates of an entity, each way
RELEARN_GROWTH = 1.2  # pairs to learn from that grow by more are learned from again
MIN_SETTLED = 1000  # pairs that are equal and alone, from which on these are not looked for among others
MAX_WRONG_SETTLED, MIN_LINKS_SETTLED = 0.02, 20  # share of them that links may contradict, and how many links tell
NO_PAIRS = np.empty((0, 2), dtype=np.int64)
_APPLICABLE: WeakKeyDictionary[Task, dict[type, bool]] = WeakKeyDictionary()  # by kind of voter, before it has learned


def similar_pairs(
    source: np.ndarray, target: np.ndarray, value: np.ndarray, shape: tuple[int, int], **details: np.ndarray
) -> ScoredPairs:
    """Make pairs of entity indices with the similarity of each, in [0, 1]; 1 only where equal."""
    return ScoredPairs(source, target, shape, {"value": value, **details})


def best_of(found: ScoredPairs) -> ScoredPairs:
    """Keep each pair once, with its greatest value: per entity the CANDIDATES_PER_ENTITY best, and equal ones."""
    key = found.key
    order = np.lexsort((-found.value, key))
    once = found.where(order[np.diff(key[order], prepend=-1) > 0])
    best = [
        rank_within(line, once.value, n) < CANDIDATES_PER_ENTITY for line, n in zip(once.ends, once.shape, strict=True)
    ]
    return once.where(best[0] | best[1] | (once.value >= 1))


def best_values(source: np.ndarray, target: np.ndarray, cosine: np.ndarray, shape: tuple[int, int]) -> ScoredPairs:
    """Do `best_of` by cosines, which are 1 where they are by all but rounding."""
    value = np.clip(cosine, 0.0, 1.0)
    return best_of(similar_pairs(source, target, np.where(value > 1 - 1e-5, 1.0, value), shape))


def uncontradicted(pairs: np.ndarray, links: np.ndarray, rejected: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return those of the pairs [p, 2] of equal and unique entities that settle these.

    None where they are few, or where links do not show that equal ones are the same; an end of a rejected pair looks
    further.
    """
    for side, n in enumerate(shape):
        pairs = pairs[~are_in(rejected[:, side], n)[pairs[:, side]]]
    told = are_in(links[:, 0], shape[0])[pairs[:, 0]] | are_in(links[:, 1], shape[1])[pairs[:, 1]]
    wrong = ~ScoredPairs.of(pairs[told], shape).are_among(links)
    sure = len(wrong) >= MIN_LINKS_SETTLED and wrong.sum() <= MAX_WRONG_SETTLED * len(wrong)
    return pairs if sure and len(pairs) >= MIN_SETTLED else pairs[:0]


class SimilarityOpinions:
    """Log-odds of pairs by similarity, relative to a pair without evidence.

    Subclasses define the entities that can be compared (`has`, bool [n] per side) and the most similar pairs.
    """

    LEARNED: ClassVar[tuple[str, ...]] = ("found", "columns", "learned", "judged")  # follows from `learned_from`
    FEATURES: ClassVar[tuple[Feature, ...]] = (Feature("similarity", 20.0, 6.0), Feature("equal", 0.0, 2.0))
    CLEAR_SIMILARITY: ClassVar[float] = CLEAR_SIMILARITY
    device = "cpu"  # where similar ones are searched and matchings computed
    has: tuple[np.ndarray, np.ndarray]
    settled: tuple[np.ndarray, np.ndarray] | None = None  # bool [n] per side: those that looked for nothing else

    def __init__(self, task: Task) -> None:
        self.task, self.links = task, task.train
        self.shape = task.joint_index.shape
        self.n_open = max(1, self.shape[1] - len(self.links))  # targets that are asked about
        self.learned_from = np.empty((0, 2), dtype=np.int64)
        self.given: LearnedView | None = None  # of another task; then weights are not learned from links of this one

    @property
    def has_both_sides(self) -> bool:
        """Return whether both sides have something to compare."""
        return bool(self.has[0].any() and self.has[1].any())

    def initial_pairs(self) -> ScoredPairs:
        """Return the most similar pairs before learning."""
        raise NotImplementedError

    def relearned_pairs(self, pairs: np.ndarray) -> ScoredPairs | None:
        """Return the most similar pairs after learning from matches [p, 2]; None if that changes nothing.

        The similarity of one of these pairs must not come from the pair itself.
        """
        return None

    @cached_property
    def found(self) -> ScoredPairs:
        learned = self.relearned_pairs(self.learned_from) if len(self.learned_from) and self.has_both_sides else None
        return learned or (self.initial_pairs() if self.has_both_sides else self._nothing())

    def learn(self, sure: np.ndarray) -> None:
        """Learn from the links and the sure pairs [p, 2], where they are more than before."""
        pairs = np.concatenate([self.links, sure])
        if len(pairs) > RELEARN_GROWTH * len(self.learned_from):
            self._learn_from(pairs)

    def _learn_from(self, pairs: np.ndarray) -> None:
        """Forget what was derived from earlier pairs."""
        self.learned_from = pairs
        for name in self.LEARNED:
            self.__dict__.pop(name, None)

    @cached_property
    def columns(self) -> np.ndarray:
        """Return the features [p, f] of the pairs found, in the order of FEATURES."""
        value = self.found.value.astype(np.float64)
        return np.column_stack([value, value >= 1])

    @property
    def candidates(self) -> CandidatePairs:
        n_comparable = (int(self.has[0].sum()), int(self.has[1].sum()))
        columns = {"similarity": self.found.value, "features": self.columns}
        return CandidatePairs(
            *self.found.ends, self.shape, columns, n_comparable=n_comparable, settled=self.settled,
            clear_similarity=self.CLEAR_SIMILARITY, device=self.device,
        )  # fmt: skip

    def _nothing(self) -> ScoredPairs:
        none = np.empty(0, dtype=np.int64)
        return similar_pairs(none, none, np.empty(0, dtype=np.float32), self.shape)

    @property
    def comparable_links(self) -> np.ndarray:
        """Return the links whose ends can both be compared."""
        return self.links[self.has[0][self.links[:, 0]] & self.has[1][self.links[:, 1]]]

    @cached_property
    def learned(self) -> LearnedWeights:
        """Return the weight of each feature."""
        if self.given is None:
            return learn_weights(self.candidates, self.FEATURES, self.comparable_links)
        if len(self.given.weights) != len(self.FEATURES):
            raise DataError(f"{len(self.given.weights)} learned weights for {len(self.FEATURES)} features.")
        n_matched, constant, _ = estimate_matched(self.candidates, self.columns @ self.given.weights)
        return LearnedWeights(self.given.weights, constant, n_matched)

    @cached_property
    def judged(self) -> BoundedLogOdds:
        """Return the log-odds of a match of each pair found, among its rivals."""
        wrong = None if self.given is None else self.given.wrong
        return bounded_log_odds(self.candidates, self.learned.log_odds(self.columns), self.comparable_links, wrong)

    def log_odds(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return log P(match | similarity) / P(match) of each pair; NaN where one of both cannot be compared."""
        place, there = self.found.find(source, target)
        odds = self.judged.log_odds
        value = np.where(there, odds[place] if len(odds) else 0.0, self.judged.of_others(source, target))
        value += np.log(self.n_open)
        return np.where(self.has[0][source] & self.has[1][target], value, np.nan)

    def view(self) -> LearnedView:
        """Return the learned part, to score entities that are added later."""
        return LearnedView(self.learned.weights, self.learned.constant, self.judged.wrong)

    def state_dict(self) -> dict[str, Any]:
        """Return the pairs that it learned from, which determine everything else."""
        return {"learned_from": self.learned_from}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        check_pairs(state["learned_from"], self.shape)
        self._learn_from(state["learned_from"])


class SimilarityVoter(Voter):
    """A voter whose scores are log-odds by similarity, times the temperature."""

    is_calibrated = True
    leaves_links_out = True
    kind: ClassVar[type[SimilarityOpinions]]
    _opinions: SimilarityOpinions | None = None

    def opinions(self) -> Any:
        """Return its opinions, made on first use."""
        if self._opinions is None:
            self._opinions = self.new_opinions()
        return self._opinions

    def new_opinions(self) -> SimilarityOpinions:
        raise NotImplementedError

    def is_applicable(self) -> bool:
        """Return whether both sides have something to compare, computed once per task and kind of voter."""
        told = _APPLICABLE.setdefault(self.task, {})
        if self._opinions is None and type(self) in told:
            return told[type(self)]
        has_both_sides = bool(self.opinions().has_both_sides)
        told.setdefault(type(self), has_both_sides)
        return has_both_sides

    def compared(self) -> tuple[int, int]:
        n_source, n_target = (int(has.sum()) for has in self.opinions().has)
        return n_source, n_target

    def misleading(self) -> tuple[float, int] | None:
        judged = self.opinions().judged if self.is_applicable() else None
        return None if judged is None else (float(judged.misleading), int(judged.n_links))

    def view(self) -> LearnedView | None:
        """Return the learned part, to score entities that are added later; None where it has no opinion."""
        return self.opinions().view() if self.is_applicable() else None

    def propose(self, state: VotingState) -> np.ndarray | None:
        return np.stack(self.opinions().found.ends, axis=1) if self.is_applicable() else None

    def score(self, pairs: ScoredPairs, state: VotingState) -> np.ndarray:
        if not self.is_applicable():
            return np.full(len(pairs), np.nan)
        return self.config.sinkhorn_temperature * self.opinions().log_odds(*pairs.by_entity.ends)

    def learn(self, state: VotingState) -> None:
        if self.is_applicable():
            self.opinions().learn(as_numpy(state.sure))

    def state_dict(self) -> dict[str, Any]:
        return self.opinions().state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.opinions().load_state_dict(state)
