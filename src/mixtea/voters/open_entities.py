"""The entities to be mapped, in random order, and pairs of them for voters."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from mixtea.compute.pairs import Pairs, pairs_of_keys, positions
from mixtea.graph.task import Task


class OpenEntities:
    """The entities of both sides without a training link; their open indices are the rows of all `Pairs`.

    `rows` are their joint indices (targets after all sources). Link files list both sides in the same order, and ties
    go to the first: each side is shuffled on its own. Entities with triples come first, `n_with_triples` of each side;
    others are open only where a voter can judge them, and the student does not learn about them.
    """

    def __init__(self, rows: tuple[Tensor, Tensor], sizes: tuple[int, int], n_with_triples: tuple[int, int]) -> None:
        self.rows, self.sizes, self.n_with_triples = rows, sizes, n_with_triples
        n = sum(sizes)
        self.place_of = torch.maximum(positions(rows[0], n), positions(rows[1], n))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows[0]), len(self.rows[1])

    @property
    def own(self) -> tuple[Tensor, Tensor]:
        """Return the entity indices of each side."""
        return self.rows[0], self.rows[1] - self.sizes[0]

    @property
    def rows_with_triples(self) -> tuple[Tensor, Tensor]:
        return self.rows[0][: self.n_with_triples[0]], self.rows[1][: self.n_with_triples[1]]

    def pairs(self, source: Tensor, target: Tensor) -> Pairs:
        """Make pairs of entity indices, in any order; those that are not open are left out."""
        row, column = self.place_of[source], self.place_of[target + self.sizes[0]]
        open_ends = (row >= 0) & (column >= 0)
        return pairs_of_keys(row[open_ends] * self.shape[1] + column[open_ends], self.shape)

    def not_in(self, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the open indices of each side that are in none of the pairs [p, 2] of entity indices."""
        found = []
        for side, own in enumerate(self.own):
            there = torch.zeros(self.sizes[side], dtype=torch.bool, device=own.device)
            there[pairs[:, side]] = True
            found.append((~there[own]).nonzero().flatten())
        return found[0], found[1]

    def mask_without_triples(self, pairs: Pairs, scores: Tensor) -> Tensor:
        """Set the scores of pairs to NaN where an end has no triples, so that structure has no evidence."""
        if self.n_with_triples == self.shape:
            return scores
        unknown = (pairs.source >= self.n_with_triples[0]) | (pairs.target >= self.n_with_triples[1])
        return scores.masked_fill(unknown, float("nan"))


def find_open_entities(
    task: Task, generator: torch.Generator, device: torch.device, *, without_triples: bool = False
) -> OpenEntities:
    """Return the unlabelled entities of a task, shuffled; also those without triples if wanted."""
    sizes = (task.source.n_entities, task.target.n_entities)

    def shuffled(entities: np.ndarray) -> Tensor:
        order = torch.randperm(len(entities), generator=generator, device=generator.device)
        return torch.from_numpy(entities).to(order.device)[order].to(device)

    connected = [shuffled(entities) for entities in task.unlabelled()]
    rows = connected
    if without_triples:
        alone = [
            shuffled(np.setdiff1d(np.flatnonzero(graph.isolated()), task.closed_entities(side)))
            for side, graph in enumerate((task.source, task.target))
        ]
        rows = [torch.cat(parts) for parts in zip(connected, alone, strict=True)]
    return OpenEntities((rows[0], rows[1] + sizes[0]), sizes, (len(connected[0]), len(connected[1])))


class EntityPairs:
    """The pairs that voters judge: `source` and `target` are entity indices.

    `rows` are the same pairs by open indices.
    """

    def __init__(self, rows: Pairs, entities: OpenEntities) -> None:
        self.rows, self.entities = rows, entities

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def source(self) -> np.ndarray:
        return self.entities.own[0][self.rows.source].cpu().numpy()

    @cached_property
    def target(self) -> np.ndarray:
        return self.entities.own[1][self.rows.target].cpu().numpy()
