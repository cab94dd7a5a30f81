"""A warm start: a student of changed graphs begins with what an earlier one has learned."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from mixtea.data.joint import relation_numbers
from mixtea.data.task import Task
from mixtea.encode.encoder import Encoder
from mixtea.errors import ConfigError

ROUNDS = 3  # in which vectors reach entities that are new among new ones


@torch.no_grad()
def take_over(student: Encoder, old: Mapping[str, Tensor], old_task: Task, task: Task) -> int:
    """Put the old vectors of entities and relations that are still there, by label, into the student.

    A new entity gets the mean of its neighbours' vectors; one without any keeps its random one. Returns how many
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
    there = torch.from_numpy(known >= 0).to(device)
    current["entity"][there] = old["entity"].to(device, dtype)[torch.from_numpy(known[known >= 0]).to(device)]
    _from_neighbours(current["entity"], there, student)
    if "relation" in current:
        if _n_relations(old_task, student) != len(old["relation"]):
            raise ConfigError("A warm start needs the setting shared_relations of the earlier run.")
        number = _relations(old_task, task, student.config.shared_relations)
        kept = torch.from_numpy(number >= 0).to(device)
        current["relation"][kept] = old["relation"].to(device, dtype)[torch.from_numpy(number[number >= 0]).to(device)]
    for name, norm in fresh.items():  # as long as random ones: the longer a vector, the slower it turns
        current[name].mul_(norm / current[name].norm())
    return int((known >= 0).sum())


def _n_relations(task: Task, student: Encoder) -> int:
    return relation_numbers(task.source, task.target, student.config.shared_relations)[1]


def _entities(old: Task, new: Task) -> np.ndarray:
    """[n]: the old joint number of each entity of the new graphs, -1 for new ones."""
    source, target = old.source.find(new.source.ids), old.target.find(new.target.ids)
    return np.concatenate([source, np.where(target >= 0, target + old.source.n_entities, -1)])


def _relations(old: Task, new: Task, shared: bool) -> np.ndarray:
    """[r]: the old joint number of each relation, by name, -1 for new ones."""
    before, _ = relation_numbers(old.source, old.target, shared)
    after, n = relation_numbers(new.source, new.target, shared)
    found = np.full(n, -1, dtype=np.int64)
    for side, (then, now) in enumerate(((old.source, new.source), (old.target, new.target))):
        number = dict(zip(then.relations.tolist(), before[side].tolist(), strict=True))
        for name, place in zip(now.relations.tolist(), after[side].tolist(), strict=True):
            found[place] = number.get(name, found[place])
    return found


def _from_neighbours(vectors: Tensor, known: Tensor, student: Encoder) -> None:
    """New rows become the mean of their known neighbours, those of these neighbours next, and so on."""
    edges = student.structure.neighbours
    for _ in range(ROUNDS):
        useful = known[edges.column] & ~known[edges.row]
        row, column = edges.row[useful], edges.column[useful]
        if not len(row):
            return
        count = torch.bincount(row, minlength=len(vectors))
        total = torch.zeros_like(vectors).index_add_(0, row, vectors[column])
        reached = count > 0
        vectors[reached] = total[reached] / count[reached, None]
        known = known | reached
