"""Positions of reviewers in their queues, and the next question. No torch."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mixtea.review.card import entity
from mixtea.review.decision import KNOWN, UNSURE
from mixtea.review.import_export import most_precise, precision_summary
from mixtea.review.queue import ORDERS, Filter, Item, make_queue, order_rows
from mixtea.review.state import ReviewState

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
            kept &= model.degrees[0][model.sources] >= wanted.least_degree
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
