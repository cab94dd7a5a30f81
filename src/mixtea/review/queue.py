"""The queue: an order of questions by the value of a decision, and the positions of reviewers in it. No torch.

Random rows of the mapping and items whose answer is known are mixed in.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from mixtea.graph.task import Task
from mixtea.review.card import entity
from mixtea.review.decision import KNOWN, RANDOM, UNSURE
from mixtea.review.import_export import most_precise, precision_summary
from mixtea.review.model import Model
from mixtea.review.state import ReviewState

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
    doubt /= np.sqrt(np.maximum(graph.degrees, 1))
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


MAX_QUEUES = 20
HOLD_SECONDS = 120.0  # seconds for which a card is one reviewer's, so that two are not asked the same


@dataclass
class Position:
    """A reviewer's queue and the item in it. `shows`: verdicts are shown before deciding."""

    order: str = "worth"
    filter: Filter = field(default_factory=Filter)
    at: int = -1  # the place in the queue
    item: Item | None = None
    shows: bool = False
    part: str = ""  # what is expected of the part of the mapping that was asked for, in words


class QueuePositions:
    """Positions of all reviewers in their queues."""

    def __init__(self, state: ReviewState) -> None:
        self.state = state
        self.by_reviewer: dict[str, Position] = {}
        self.leases: dict[int, tuple[str, float]] = {}
        self.queues: dict[tuple[object, ...], list[Item]] = {}
        self._generation = state.generation  # of the models that the queues are of

    def position(self, reviewer: str) -> Position:
        """Return the position of a reviewer, stored ones included."""
        return self.by_reviewer.get(reviewer) or self.restore_position(reviewer, self.state.store.position(reviewer))

    def restore_position(self, reviewer: str, kept: dict[str, object]) -> Position:
        """Begin at a position that `stored_position` has returned."""
        order = str(kept.get("order", "worth"))
        position = Position(order if order in ORDERS else "worth", shows=bool(kept.get("shows", False)))
        row = self.state.original.row_of_id(str(kept.get("source", "")))
        if row >= 0:
            items = self.items(position)
            position.at = next((at for at, item in enumerate(items) if item.row == row), 0) - 1
        self.by_reviewer[reviewer] = position
        return position

    def stored_position(self, reviewer: str) -> dict[str, object]:
        """Return the position of a reviewer, for storage."""
        position = self.position(reviewer)
        source = self.state.source_id(position.item.row) if position.item else ""
        return {"order": position.order, "source": source, "shows": position.shows}

    def items(self, position: Position) -> list[Item]:
        """Return the queue of a position: fixed as long as the order, the filter and the model stay."""
        key = self.queue_key(position)
        if key not in self.queues:
            self.keep_queue(key, self.compute_queue(position.order, position.filter, self.state.best()))
        return self.queues[key]

    def queue_key(self, position: Position) -> tuple[object, ...]:
        """Return all that the queue of a position depends on."""
        key: tuple[object, ...] = (position.order, position.filter, self.state.generation)
        follows_decisions = position.filter.state in ("decided", "unsure", "contradicted")
        return (*key, self.state.index.last_id) if follows_decisions else key

    def compute_queue(self, order: str, wanted: Filter, best: np.ndarray) -> list[Item]:
        """Make a queue, by the probability [p] of each row; may be called in another thread."""
        rows = order_rows(self.state.original, best, order)
        if not wanted.is_plain:
            rows = rows[self._matches(wanted, best)[rows]]
        return make_queue(self.state.original, rows, audited=wanted.is_plain)

    def keep_queue(self, key: tuple[object, ...], items: list[Item]) -> None:
        if len(self.queues) > MAX_QUEUES or self._generation != self.state.generation:
            self.queues.clear()
            self._generation = self.state.generation
        self.queues[key] = items

    def _matches(self, wanted: Filter, best: np.ndarray) -> np.ndarray:
        """bool [p]: return the rows that a filter keeps."""
        model, kept = self.state.original, (best >= wanted.least) & (best <= wanted.most)
        if wanted.text:
            words = wanted.text.casefold()
            source, target = (np.array([words in text for text in side], dtype=bool) for side in self._texts)
            kept &= source[model.sources] | target[model.target[:, 0]]
        for name in wanted.voters:
            if name in model.voters:
                kept &= model.named[:, 0, model.voters.index(name)]
        if wanted.least_degree:
            kept &= model.task.source.degrees[model.sources] >= wanted.least_degree
        if wanted.precision is not None:
            ids = most_precise(self.state.current_mapping(), wanted.precision).frame["source"].unique().tolist()
            kept &= self._rows_of(ids)
        if wanted.kind:
            kinds = (entity(model.task.source, int(source)).types for source in model.sources)
            kept &= np.array([wanted.kind in types for types in kinds], dtype=bool)
        return kept & self._in_state(wanted)

    def precision_line(self, precision: float | None) -> str:
        """Describe the part of the mapping with an expected precision; "" for None."""
        if precision is None:
            return ""
        return precision_summary(most_precise(self.state.current_mapping(), precision), precision)

    def _in_state(self, wanted: Filter) -> np.ndarray:
        if wanted.state in ("open", "all"):
            return np.ones(len(self.state.original.sources), dtype=bool)
        last = (self.state.index.last_about(source) for source in [*self.state.index.by_source])
        by = [one for one in last if one is not None and wanted.reviewer in ("", one.reviewer)]
        ids = {one.source for one in by if wanted.state != "unsure" or one.action == UNSURE}
        if wanted.state == "contradicted":
            ids &= {one.source for one, _ in self.state.contradicted()}
        return self._rows_of(ids)

    def _rows_of(self, ids: Iterable[str]) -> np.ndarray:
        """bool [p]: return the rows of these sources."""
        kept = np.zeros(len(self.state.original.sources), dtype=bool)
        kept[[row for id in ids if (row := self.state.original.row_of_id(id)) >= 0]] = True
        return kept

    @cached_property
    def _texts(self) -> tuple[list[str], list[str]]:
        """Return the search texts of the entities of both graphs: id and label, case-folded."""
        source, target = (
            [f"{id} {graph.label(n) or ''}".casefold() for n, id in enumerate(graph.ids.tolist())]
            for graph in (self.state.original.task.source, self.state.original.task.target)
        )
        return source, target

    def current_item(self, reviewer: str) -> Item | None:
        """Return the current question of a reviewer; None at the end of the queue."""
        position = self.position(reviewer)
        if position.item is None:
            self.go(reviewer, 1)
        return position.item

    def go(self, reviewer: str, step: int, *, also_decided: bool = False) -> Item | None:
        """Move in the queue to the next item to ask (or the one before), and hold it for the reviewer."""
        position = self.position(reviewer)
        found = self._found(reviewer, step, also_decided=also_decided)
        if found is not None:
            position.at, position.item = found
            self.leases[position.item.row] = (reviewer, time.monotonic() + HOLD_SECONDS)
        elif step > 0:
            position.at, position.item = len(self.items(position)), None
        return position.item

    def next_item(self, reviewer: str) -> Item | None:
        """Return the question after the current one."""
        found = self._found(reviewer, 1)
        return None if found is None else found[1]

    def _found(self, reviewer: str, step: int, *, also_decided: bool = False) -> tuple[int, Item] | None:
        """Find the next item to ask, or the previous one, with its place in the queue."""
        position = self.position(reviewer)
        items, now = self.items(position), time.monotonic()
        at = position.at + step
        while 0 <= at < len(items):
            item = items[at]
            holder, until = self.leases.get(item.row, ("", 0.0))
            if also_decided or (self._to_ask(item, reviewer, position) and (holder in ("", reviewer) or until < now)):
                return at, item
            at += step
        return None

    def _to_ask(self, item: Item, reviewer: str, position: Position) -> bool:
        if item.reason == KNOWN:
            own = self.state.index.audits.get(reviewer, {}).values()
            return self.state.source_id(item.row) not in {one.source for one in own}
        return position.filter.state != "open" or self.state.source_id(item.row) not in self.state.index.by_source

    def ask_about(self, reviewer: str, row: int) -> Item | None:
        """Go to a row, wherever it is in the queue."""
        position, items = self.position(reviewer), self.items(self.position(reviewer))
        if not 0 <= row < len(self.state.original.sources):
            return None
        position.at = next((at for at, item in enumerate(items) if item.row == row), position.at)
        reason = items[position.at].reason if 0 <= position.at < len(items) and items[position.at].row == row else ""
        position.item = Item(row, reason)
        return position.item
