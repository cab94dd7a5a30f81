"""The voters of what users have stated: `keys`, columns that tell entities apart, and `reviewer`, decisions of people.

No torch.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mixtea.compute.scored_pairs import ScoredPairs, pairs_of_keys
from mixtea.graph.graph import Graph
from mixtea.text.names import normalized_name
from mixtea.voters.base import Evidence, Voter, VotingState

EQUAL, DIFFERENT = 8.0, -20.0  # log-odds of a match of entities that alone have a value, and of different values
MAX_PAIRS = 100  # of a value that several entities of a side have


class Key(NamedTuple):
    """A pair of columns with the entities of each side by normalized value."""

    columns: tuple[str, str]
    entities: tuple[dict[str, set[int]], dict[str, set[int]]]
    values: tuple[dict[int, set[str]], dict[int, set[str]]]


class Keys(Voter):
    """Log-odds of a match by equal and different values of keys; no opinion where one of both has none."""

    name = "keys"
    evidence = "lexical"
    is_calibrated = True

    def is_applicable(self) -> bool:
        return any(one.key for one in self.task.compared)

    @cached_property
    def keys(self) -> list[Key]:
        graphs = (self.task.source, self.task.target)
        return [_key(graphs, (one.source, one.target)) for one in self.task.compared if one.key]

    def propose(self, state: VotingState) -> np.ndarray:
        """Return all pairs with a value in common, unless too many have it."""
        pairs = {
            (source, target)
            for key in self.keys
            for value in key.entities[0].keys() & key.entities[1].keys()
            if len(key.entities[0][value]) * len(key.entities[1][value]) <= MAX_PAIRS
            for source in key.entities[0][value]
            for target in key.entities[1][value]
        }
        return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)

    def score(self, pairs: ScoredPairs, state: VotingState) -> np.ndarray:
        log_m = np.log(max(self.task.target.n_entities, 1))
        found, (sources, targets) = np.full(len(pairs), np.nan), pairs.by_entity.ends
        for place, (source, target) in enumerate(zip(sources.tolist(), targets.tolist(), strict=True)):
            odds = [self._log_odds(key, source, target) for key in self.keys]
            if said := [value for value in odds if value is not None]:
                found[place] = max(said) if max(said) > 0 else min(said)
        return self.config.sinkhorn_temperature * (found + log_m)

    def explain(self, source: int, target: int) -> list[Evidence]:
        found = []
        for key in self.keys:
            if (odds := self._log_odds(key, source, target)) is not None:
                ours, theirs = (min(values[end]) for values, end in zip(key.values, (source, target), strict=True))
                said = " ".join(("key", key.columns[0] + ":", ours, "=" if odds > 0 else "≠", theirs))
                found.append(Evidence(said, odds))
        return found

    def _log_odds(self, key: Key, source: int, target: int) -> float | None:
        """Return log-odds that the two are the same; None if one of both has no value."""
        ours, theirs = key.values[0].get(source), key.values[1].get(target)
        if not ours or not theirs:
            return None
        shared = ours & theirs
        if not shared:
            return DIFFERENT
        return EQUAL - min(float(np.log(max(map(len, (of[value] for of in key.entities))))) for value in shared)


def _key(graphs: tuple[Graph, Graph], columns: tuple[str, str]) -> Key:
    entities: tuple[dict[str, set[int]], dict[str, set[int]]] = (defaultdict(set), defaultdict(set))
    values: tuple[dict[int, set[str]], dict[int, set[str]]] = (defaultdict(set), defaultdict(set))
    for side, (graph, column) in enumerate(zip(graphs, columns, strict=True)):
        of = graph.attributes
        texts, predicates = of.value.texts(), of.predicate.texts()
        rows = np.flatnonzero(of.predicate.codes == predicates.index(column)) if column in predicates else ()
        for entity, code in zip(of.entity[rows].tolist(), of.value.codes[rows].tolist(), strict=True):
            if value := normalized_name(texts[code]).replace(" ", ""):
                entities[side][value].add(entity)
                values[side][entity].add(value)
    return Key(columns, tuple(map(dict, entities)), tuple(map(dict, values)))  # type: ignore[arg-type]


class Reviewer(Voter):
    """Log-odds of the decisions of `task.reviewed`; no opinion on all other pairs."""

    name = "reviewer"
    evidence = "human"
    is_calibrated = True

    def is_applicable(self) -> bool:
        return bool(len(self.task.reviewed.pairs))

    def propose(self, state: VotingState) -> np.ndarray:
        """Return the accepted pairs."""
        said = self.task.reviewed
        return said.pairs[said.log_odds > 0]

    def score(self, pairs: ScoredPairs, state: VotingState) -> np.ndarray:
        known = self._decided
        return self.config.sinkhorn_temperature * known.look_up(*pairs.by_entity.ends, "log_odds", np.nan)

    def explain(self, source: int, target: int) -> list[Evidence]:
        value = float(self._decided.look_up(np.array([source]), np.array([target]), "log_odds", np.nan)[0])
        if np.isnan(value):
            return []
        return [Evidence("a reviewer accepted it" if value > 0 else "a reviewer rejected it", value)]

    @cached_property
    def _decided(self) -> ScoredPairs:
        """Return the pairs that were decided about, with the sum of the log-odds of each."""
        told, shape = self.task.reviewed, self.task.joint_index.shape
        key, place = np.unique(told.pairs @ [max(shape[1], 1), 1], return_inverse=True)
        total = np.bincount(place.reshape(-1), told.log_odds, minlength=len(key))
        return pairs_of_keys(key, shape, ascending=True).with_columns(log_odds=total)
