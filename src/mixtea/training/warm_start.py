"""Warm start: a training on changed graphs begins with what an earlier one has found and learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mixtea.compute.arrays import as_numpy, to_tensor
from mixtea.compute.scored_pairs import SCORE, ScoredPairs
from mixtea.council.council import Council
from mixtea.council.opinions import Opinions, calibrated_opinions, compute_belief, score_factors, total_score
from mixtea.decide.decode import StoredOpinions
from mixtea.encode.encoder import Encoder
from mixtea.errors import ConfigError
from mixtea.graph.graph import Graph
from mixtea.graph.joint_index import relation_numbers
from mixtea.graph.task import Task

SPREAD_ROUNDS = 3  # in which vectors reach new entities among new ones
MIN_COMMON_LINKS = 0.9  # share of training links that an earlier hold-out had: then it holds for these too


class WarmStart(NamedTuple):
    """An earlier task, the parameters of its student, and the last opinions of its voters."""

    task: Task
    student: Mapping[str, Tensor]
    last: StoredOpinions | None = None


@torch.no_grad()
def restore_candidates(council: Council, start: WarmStart) -> ScoredPairs | None:
    """Give a council the earlier candidates of entities that are still there, and its sure pairs where nothing changed.

    Return the earlier opinions on held-out training links, if these are mostly the same.
    """
    if start.last is None:
        return None
    task, last, config = council.task, start.last, council.config
    place = [_indices(old, new) for old, new in _sides(start.task, task)]
    shape = task.joint_index.shape
    ends = [place[side][last.pairs.ends[side]] for side in (0, 1)]
    scores = {SCORE + name: s.astype(config.precision) for name, s in last.pairs.scores.items()}
    found = ScoredPairs(ends[0], ends[1], shape, scores)
    found = found.where((found.source >= 0) & (found.target >= 0))
    known = {voter.opinion for voter in council.voters}
    if not known >= found.scores.keys() or not scores:
        return None
    pairs = found.reindex(council.entities).without(council.rejected)
    held, pairs = pairs.scores, replace(pairs, columns={})
    total = total_score(held, score_factors(council.voters, last.weights), calibrated_opinions(council.voters))
    council.opinions = Opinions(pairs, held, compute_belief(pairs, total, config), total, last.weights)
    changed = [_changed(old, new, own) for (old, new), own in zip(_sides(start.task, task), place, strict=True)]
    sure = council.sure_pairs()
    ours, theirs = as_numpy(sure).T
    council.start_from(sure[(~(changed[0][ours] | changed[1][theirs])).nonzero()[0]])
    linked = np.isin(found.source, task.train[:, 0]) | np.isin(found.target, task.train[:, 1])
    if not linked.any() or _links_in_common(start.task, task, place) < MIN_COMMON_LINKS:
        return None
    return found.where(linked)


def _links_in_common(old: Task, new: Task, place: list[np.ndarray]) -> float:
    """Return the share of the new training links that trained before too."""
    now = ScoredPairs.of(new.train, new.joint_index.shape)
    before = np.stack([place[side][old.train[:, side]] for side in (0, 1)], axis=1)
    return float(now.are_among(before).mean()) if len(now) else 0.0


def _sides(old: Task, new: Task) -> list[tuple[Graph, Graph]]:
    return [(old.source, new.source), (old.target, new.target)]


def _indices(old: Graph, new: Graph) -> np.ndarray:
    """Return [n]: the index that each entity of the old graph has in the new one, -1 for none."""
    return new.find(old.ids)


def _changed(old: Graph, new: Graph, place: np.ndarray) -> np.ndarray:
    """Return bool [n] of the new graph: entities at whose triples something has changed."""
    relations = {name: number for number, name in enumerate(new.relations.tolist())}
    relation = np.array([relations.get(name, -1) for name in old.relations.tolist()], dtype=np.int64)
    before = np.stack([place[old.triples[:, 0]], relation[old.triples[:, 1]], place[old.triples[:, 2]]], axis=1)
    changed = np.ones(new.n_entities, dtype=bool)
    changed[place[place >= 0]] = False
    gone = (before < 0).any(axis=1)
    ends = before[gone][:, [0, 2]]
    changed[ends[ends >= 0]] = True
    n, r = max(new.n_entities, 1), max(new.n_relations, 1)
    keys = [(t[:, 0] * r + t[:, 1]) * n + t[:, 2] for t in (before[~gone], new.triples)]
    for triples, own, other in ((before[~gone], keys[0], keys[1]), (new.triples, keys[1], keys[0])):
        changed[triples[~np.isin(own, other)][:, [0, 2]]] = True
    return changed


@torch.no_grad()
def copy_vectors(student: Encoder, old: Mapping[str, Tensor], old_task: Task, task: Task) -> int:
    """Put the old vectors of entities and relations that are still there, by label, into the student.

    A new entity gets the mean of its neighbours' vectors; one without any keeps its random one. Return how many
    entities were known.
    """
    current = student.state_dict()
    shapes = [
        {name: value.shape[1:] if name in ("entity", "relation") else value.shape for name, value in of.items()}
        for of in (old, current)
    ]
    if shapes[0] != shapes[1]:
        raise ConfigError(
            "A warm start needs the encoder of the earlier run. Use its preset, entity_dim, relation_dim and n_layers."
        )
    fresh = {name: current[name].norm() for name in ("entity", "relation") if name in current}
    for name in current.keys() - fresh.keys():
        current[name].copy_(old[name])
    known = _entities(old_task, task)
    device, dtype = current["entity"].device, current["entity"].dtype
    there = to_tensor(known >= 0, device)
    current["entity"][there] = old["entity"].to(device, dtype)[to_tensor(known[known >= 0], device)]
    _from_neighbours(current["entity"], there, student)
    if "relation" in current:
        if _n_relations(old_task, student) != len(old["relation"]):
            raise ConfigError("A warm start needs the setting shared_relations of the earlier run.")
        number = _relations(old_task, task, student.config.shared_relations)
        kept = to_tensor(number >= 0, device)
        current["relation"][kept] = old["relation"].to(device, dtype)[to_tensor(number[number >= 0], device)]
    for name, norm in fresh.items():  # as long as random ones: the longer a vector, the slower it turns
        current[name].mul_(norm / current[name].norm())
    return int((known >= 0).sum())


def _n_relations(task: Task, student: Encoder) -> int:
    return relation_numbers((task.source, task.target), student.config.shared_relations)[1]


def _entities(old: Task, new: Task) -> np.ndarray:
    """Return [n]: the old joint index of each entity of the new graphs, -1 for new ones."""
    found = [before.find(now.ids) for before, now in _sides(old, new)]
    return np.concatenate([np.where(f >= 0, old.joint_index.of_entities(side, f), -1) for side, f in enumerate(found)])


def _relations(old: Task, new: Task, shared: bool) -> np.ndarray:
    """Return [r]: the old joint index of each relation, by name, -1 for new ones."""
    before, _ = relation_numbers((old.source, old.target), shared)
    after, n = relation_numbers((new.source, new.target), shared)
    found = np.full(n, -1, dtype=np.int64)
    for side, (then, now) in enumerate(((old.source, new.source), (old.target, new.target))):
        number = dict(zip(then.relations.tolist(), before[side].tolist(), strict=True))
        for name, place in zip(now.relations.tolist(), after[side].tolist(), strict=True):
            found[place] = number.get(name, found[place])
    return found


def _from_neighbours(vectors: Tensor, known: Tensor, student: Encoder) -> None:
    """Set new rows to the mean of their known neighbours, those of these neighbours next, and so on."""
    edges = student.structure.neighbours
    for _ in range(SPREAD_ROUNDS):
        useful = known[edges.column] & ~known[edges.row]
        row, column = edges.row[useful], edges.column[useful]
        if not len(row):
            return
        count = torch.bincount(row, minlength=len(vectors))
        total = torch.zeros_like(vectors).index_add_(0, row, vectors[column])
        reached = count > 0
        vectors[reached] = total[reached] / count[reached, None]
        known = known | reached
