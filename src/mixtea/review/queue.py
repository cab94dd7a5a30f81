"""Order of the questions: a fixed list of rows, by the value of a decision, with a random sample and known items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from mixtea.graph.task import Task
from mixtea.review.decision import KNOWN, RANDOM
from mixtea.review.model import Model

ORDERS = {
    "worth": "worth most: in turn for the pair itself and for its neighbours",
    "spreading": "uncertain, with uncertain neighbours",
    "uncertain": "most uncertain first",
    "influential": "most neighbours that are uncertain first",
    "disagreed": "least agreed first",
    "random": "in random order",
}
RANDOM_EVERY = 10  # one in so many is of the random slice
KNOWN_EVERY_AT_FIRST, KNOWN_EVERY = 5, 15  # one in so many is known: more of the first ones, which measure
N_FIRST = 100
SLICE_SEED = 0  # seed of the random slice, which is the same however the queue is ordered


class QueueView(Protocol):
    """Fields of a Model that an order uses."""

    task: Task
    sources: np.ndarray
    named: np.ndarray

    @property
    def degrees(self) -> tuple[np.ndarray, np.ndarray]: ...


class Item(NamedTuple):
    """A row of the model, and the reason for asking it."""

    row: int
    reason: str


@dataclass(frozen=True)
class Filter:
    """Filter of rows; empty fields do not filter. `state` is one of STATES, `text` is searched.

    `precision` keeps mapped rows: the largest part with that expected precision.
    """

    text: str = ""
    voters: tuple[str, ...] = ()
    kind: str = ""
    least: float = 0.0
    most: float = 1.0
    least_degree: int = 0
    state: str = "open"
    reviewer: str = ""
    precision: float | None = None

    @property
    def is_plain(self) -> bool:
        return self == Filter()


STATES = {
    "open": "not decided yet",
    "decided": "decided",
    "unsure": "unsure",
    "contradicted": "the model now contradicts",
    "all": "all",
}


def uncertainty(best: np.ndarray) -> np.ndarray:
    """Return the entropy in bits of a probability.

    >>> uncertainty(np.array([0.0, 0.5, 1.0])).round(3).tolist()
    [0.0, 1.0, 0.0]
    """
    p = np.clip(best, 1e-9, 1 - 1e-9)
    return -(p * np.log2(p) + (1 - p) * np.log2(1 - p))


def order_rows(model: QueueView, best: np.ndarray, order: str, seed: int = 0) -> np.ndarray:
    """Return the rows in an order of ORDERS, by the current probability of each first candidate: `best` [p]."""
    luck = np.random.default_rng(seed).permutation(len(best))
    if order == "random":
        return np.argsort(luck, kind="stable")
    if order == "worth":
        return _in_turn(*(order_rows(model, best, name, seed) for name in ("disagreed", "spreading")))
    own = uncertainty(best)
    if order == "uncertain":
        value = own
    elif order == "disagreed":
        agreed = model.named[:, 0].mean(axis=1) if model.named.shape[1] else np.zeros(len(best))
        value = own - 2 * np.abs(agreed - 0.5)
    else:
        around = influence(model, own)
        value = around * (own > 0.05) if order == "influential" else own * np.log1p(around)
    return np.lexsort([luck, -value])


def _in_turn(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Alternate between two orders, each row once.

    >>> _in_turn(np.array([0, 1, 2]), np.array([2, 0, 1])).tolist()
    [0, 2, 1]
    """
    both = np.stack([first, second], axis=1).ravel()
    return both[np.sort(np.unique(both, return_index=True)[1])]


def influence(model: QueueView, own: np.ndarray) -> np.ndarray:
    """[p]: sum over the neighbours j of a source of u_j / sqrt(triples of j), u [p] being the bits of `own`.

    This is the uncertainty beside each source; a neighbour counts the less the more neighbours it has itself.
    """
    graph = model.task.source
    doubt = np.zeros(graph.n_entities)
    doubt[model.sources] = own
    doubt /= np.sqrt(np.maximum(model.degrees[0], 1))
    head, tail = graph.triples[:, 0], graph.triples[:, 2]
    around = np.bincount(head, doubt[tail], minlength=graph.n_entities)
    around += np.bincount(tail, doubt[head], minlength=graph.n_entities)
    return around[model.sources]


def make_queue(model: Model, order: Sequence[int] | np.ndarray, *, audited: bool = True, seed: int = 0) -> list[Item]:
    """Return the rows in this order as items, each once; `audited` adds a random sample of the mapping and known items.

    Sources with a given link are asked about only as known items.
    """
    known = np.isin(model.sources, list(model.valid)) if model.valid else np.zeros(len(model.sources), dtype=bool)
    rows = [int(row) for row in order if not known[row]]
    if not audited:
        return [Item(row, "") for row in rows]
    slice_ = _shuffled(np.flatnonzero(model.is_mapped & ~known), SLICE_SEED)[: len(rows) // RANDOM_EVERY]
    checks = _shuffled(np.flatnonzero(known), seed + 1)
    sampled, audits = iter(slice_), iter(checks)
    waiting = iter(np.array(rows)[~np.isin(rows, slice_)].tolist())  # else the slice would lack what is asked first
    found: list[Item] = []
    n_asked = 0
    while n_asked < len(rows):
        if is_known_item(len(found)) and (row := next(audits, None)) is not None:
            found.append(Item(row, KNOWN))
            continue
        is_random = n_asked % RANDOM_EVERY == RANDOM_EVERY - 1
        row = next(sampled if is_random else waiting, None)
        if row is None:
            is_random = not is_random
            row = next(sampled if is_random else waiting)
        found.append(Item(row, RANDOM if is_random else ""))
        n_asked += 1
    return found


def is_known_item(place: int) -> bool:
    """Return whether the item at a place of the queue is a known one.

    >>> [place for place in range(140) if is_known_item(place)][-4:]
    [99, 104, 119, 134]
    """
    every = KNOWN_EVERY_AT_FIRST if place < N_FIRST else KNOWN_EVERY
    return place % every == every - 1


def _shuffled(rows: np.ndarray, seed: int) -> list[int]:
    return [int(row) for row in np.random.default_rng(seed).permutation(rows)]
