"""Large synthetic pairs for benchmarks of size: power-law degrees, many relations, what real pairs do to each other.

    from synthetic import synthetic_pair
    task = synthetic_pair(1_000_000, n_triples=3_000_000)

One universe of entities and triples is seen twice. Each side sees a random part of the entities, so some have no
counterpart, and of the triples; relations and entities have other names and numbers on each side.
"""

from __future__ import annotations

import numpy as np

from mixtea import Task
from mixtea.graph.graph import Graph


def synthetic_pair(
    n: int,
    n_triples: int | None = None,
    *,
    n_relations: int = 200,
    kept: float = 0.8,
    without_counterpart: float = 0.05,
    train: float = 0.2,
    valid: float = 0.1,
    seed: int = 0,
) -> Task:
    """A task of n entities and about n_triples (3 n) triples a side.

    `kept` of the universe's triples are seen by each side, `without_counterpart` of a side's entities are not on the
    other; `train` and `valid` are shares of the links.
    """
    rng = np.random.default_rng(seed)
    universe = round(n / (1 - without_counterpart))
    wanted = round((n_triples or 3 * n) / kept / (n / universe) ** 2)
    base = np.stack(
        [
            (universe * rng.random(wanted) ** 2).astype(np.int64),  # density x^-1/2: degrees with a power law
            (n_relations * rng.random(wanted) ** 3).astype(np.int64),
            (universe * rng.random(wanted) ** 2).astype(np.int64),
        ],
        axis=1,
    )
    number = [_seen_as(universe, n, rng) for _ in range(2)]
    source, target = (
        _side(base[rng.random(wanted) < kept], numbers, n, n_relations, name, rng)
        for name, numbers in zip("st", number, strict=True)
    )
    links = np.stack(number, axis=1)
    links = rng.permutation(links[(links >= 0).all(axis=1)])
    first, second = (np.cumsum([train, valid]) * len(links)).astype(int)
    return Task.of_two(f"synthetic-{n}", source, target, links[:first], links[first:second], links[second:])


def _seen_as(universe: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """For each entity of the universe its number on a side, -1 where the side does not have it."""
    numbers = np.full(universe, -1, dtype=np.int64)
    numbers[rng.permutation(universe)[:n]] = rng.permutation(n)
    return numbers


def _side(
    triples: np.ndarray, numbers: np.ndarray, n: int, n_relations: int, name: str, rng: np.random.Generator
) -> Graph:
    renamed = np.stack(
        [numbers[triples[:, 0]], rng.permutation(n_relations)[triples[:, 1]], numbers[triples[:, 2]]], axis=1
    )
    renamed = renamed[(renamed[:, [0, 2]] >= 0).all(axis=1)]
    entities, relations = (
        np.array([f"{name}{kind}{i}" for i in range(k)], dtype=object) for kind, k in (("e", n), ("r", n_relations))
    )
    return Graph(entities, relations, renamed)
