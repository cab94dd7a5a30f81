"""Where reviewers are: the queue of each, what it keeps of all rows, and what is asked next. No torch."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mixtea.review.card import entity
from mixtea.review.decision import KNOWN, UNSURE
from mixtea.review.mapped import in_words, most_precise
from mixtea.review.queue import ORDERS, Filter, Item, ordered, queue
from mixtea.review.state import ReviewState

MAX_QUEUES = 20
HELD = 120.0  # seconds for which a card is one reviewer's, so that two are not asked the same


@dataclass
class Place:
    """Where a reviewer is: the queue and the item in it. `shows` says whether verdicts are shown before deciding."""

    order: str = "worth"
    filter: Filter = field(default_factory=Filter)
    at: int = -1  # the place in the queue
    item: Item | None = None
    shows: bool = False
    part: str = ""  # what is expected of the part of the mapping that was asked for, in words


class QueuePositions:
    """The places of all reviewers in their queues."""

    def __init__(self, state: ReviewState) -> None:
        self.state = state
        self.places: dict[str, Place] = {}
        self.leases: dict[int, tuple[str, float]] = {}
        self.queues: dict[tuple[object, ...], list[Item]] = {}
        self._generation = state.generation  # of the models that the queues are of

    def place(self, reviewer: str) -> Place:
        """Where the reviewer is, or was when the server last ran."""
        return self.places.get(reviewer) or self.remembered(reviewer, self.state.store.place(reviewer))

    def remembered(self, reviewer: str, kept: dict[str, object]) -> Place:
        """Begin where a reviewer was, by what `to_remember` has returned then."""
        order = str(kept.get("order", "worth"))
        place = Place(order if order in ORDERS else "worth", shows=bool(kept.get("shows", False)))
        row = self.state.original.row_of_id(str(kept.get("source", "")))
        if row >= 0:
            items = self.items(place)
            place.at = next((at for at, item in enumerate(items) if item.row == row), 0) - 1
        self.places[reviewer] = place
        return place

    def to_remember(self, reviewer: str) -> dict[str, object]:
        """Return where a reviewer is, for the next time."""
        place = self.place(reviewer)
        source = self.state.source_id(place.item.row) if place.item else ""
        return {"order": place.order, "source": source, "shows": place.shows}

    def remember(self, reviewer: str) -> None:
        self.state.store.keep_place(reviewer, self.to_remember(reviewer))

    def items(self, place: Place) -> list[Item]:
        """The queue of a place: fixed as long as the order, the filter and the model stay."""
        key = self.queue_key(place)
        if key not in self.queues:
            self.keep_queue(key, self.made_queue(place.order, place.filter, self.state.best()))
        return self.queues[key]

    def queue_key(self, place: Place) -> tuple[object, ...]:
        """Return what the queue of a place depends on."""
        key: tuple[object, ...] = (place.order, place.filter, self.state.generation)
        return (*key, self.state.ledger.last_id) if place.filter.state in ("decided", "unsure", "contradicted") else key

    def made_queue(self, order: str, wanted: Filter, best: np.ndarray) -> list[Item]:
        """Make a queue, by the probability [p] of each row; may be called in another thread."""
        rows = ordered(self.state.original, best, order)
        if not wanted.is_plain:
            rows = rows[self._matches(wanted, best)[rows]]
        return queue(self.state.original, rows, audited=wanted.is_plain)

    def keep_queue(self, key: tuple[object, ...], items: list[Item]) -> None:
        if len(self.queues) > MAX_QUEUES or self._generation != self.state.generation:
            self.queues.clear()
            self._generation = self.state.generation
        self.queues[key] = items

    def _matches(self, wanted: Filter, best: np.ndarray) -> np.ndarray:
        """bool [p]: the rows that a filter keeps."""
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
            ids = most_precise(self.state.mapping_now(), wanted.precision).frame["source"].unique().tolist()
            kept &= self._rows_of(ids)
        if wanted.kind:
            kept &= np.array([wanted.kind in self._kinds(row) for row in range(len(kept))], dtype=bool)
        return kept & self._in_state(wanted)

    def part_in_words(self, precision: float | None) -> str:
        """Return what is expected of the part of the mapping with a precision; "" where none is asked for."""
        return "" if precision is None else in_words(most_precise(self.state.mapping_now(), precision), precision)

    def _in_state(self, wanted: Filter) -> np.ndarray:
        if wanted.state in ("open", "all"):
            return np.ones(len(self.state.original.sources), dtype=bool)
        last = [
            one
            for source in [*self.state.ledger.of_source]
            if (one := self.state.ledger.last_about(source)) is not None
        ]
        by = [one for one in last if not wanted.reviewer or one.reviewer == wanted.reviewer]
        ids = {one.source for one in by if wanted.state != "unsure" or one.action == UNSURE}
        if wanted.state == "contradicted":
            ids &= {one.source for one, _ in self.state.contradicted()}
        return self._rows_of(ids)

    def _rows_of(self, ids: Iterable[str]) -> np.ndarray:
        """bool [p]: the rows of these sources."""
        kept = np.zeros(len(self.state.original.sources), dtype=bool)
        kept[[row for id in ids if (row := self.state.original.row_of_id(id)) >= 0]] = True
        return kept

    @cached_property
    def _texts(self) -> tuple[list[str], list[str]]:
        """What entities of both graphs are searched by: id and label, without case."""
        source, target = (
            [f"{id} {graph.label(n) or ''}".casefold() for n, id in enumerate(graph.ids.tolist())]
            for graph in (self.state.original.task.source, self.state.original.task.target)
        )
        return source, target

    def _kinds(self, row: int) -> tuple[str, ...]:
        return entity(self.state.original.task.source, int(self.state.original.sources[row])).types

    def current_item(self, reviewer: str) -> Item | None:
        """What the reviewer is asked now; None at the end of the queue."""
        place = self.place(reviewer)
        if place.item is None:
            self.go(reviewer, 1)
        return place.item

    def go(self, reviewer: str, step: int, *, also_decided: bool = False) -> Item | None:
        """Move in the queue to the next item to ask (or the one before), and hold it for the reviewer."""
        place = self.place(reviewer)
        found = self._found(reviewer, step, also_decided=also_decided)
        if found is not None:
            place.at, place.item = found
            self.leases[place.item.row] = (reviewer, time.monotonic() + HELD)
        elif step > 0:
            place.at, place.item = len(self.items(place)), None
        return place.item

    def coming(self, reviewer: str) -> Item | None:
        """What would be asked after the item that is asked now."""
        found = self._found(reviewer, 1)
        return None if found is None else found[1]

    def _found(self, reviewer: str, step: int, *, also_decided: bool = False) -> tuple[int, Item] | None:
        """The place of the next item to ask, or of the one before, and the item."""
        place = self.place(reviewer)
        items, now = self.items(place), time.monotonic()
        at = place.at + step
        while 0 <= at < len(items):
            item = items[at]
            holder, until = self.leases.get(item.row, ("", 0.0))
            if also_decided or (self._to_ask(item, reviewer, place) and (holder in ("", reviewer) or until < now)):
                return at, item
            at += step
        return None

    def _to_ask(self, item: Item, reviewer: str, place: Place) -> bool:
        if item.reason == KNOWN:
            own = self.state.ledger.audits.get(reviewer, {}).values()
            return self.state.source_id(item.row) not in {one.source for one in own}
        return place.filter.state != "open" or self.state.source_id(item.row) not in self.state.ledger.of_source

    def ask_about(self, reviewer: str, row: int) -> Item | None:
        """Go to a row, wherever it stands in the queue."""
        place, items = self.place(reviewer), self.items(self.place(reviewer))
        if not 0 <= row < len(self.state.original.sources):
            return None
        place.at = next((at for at, item in enumerate(items) if item.row == row), place.at)
        reason = items[place.at].reason if 0 <= place.at < len(items) and items[place.at].row == row else ""
        place.item = Item(row, reason)
        return place.item
