"""A review in progress: cards are shown, decided, taken back, and asked again. No torch."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mixtea.review.card import Card
from mixtea.review.decision import ACCEPT, ACTIONS, KNOWN, NONE, REJECT, REPEAT, Decision
from mixtea.review.decisions import DecisionStore
from mixtea.review.model import Model
from mixtea.review.queue import Item, QueuePositions
from mixtea.review.state import STALE_CARD, ReviewState

REPEAT_EVERY, REPEAT_AFTER = 15, 10  # decisions: one in so many is asked again, when so many others lie between
MAX_ALIKE_SHOWN, MAX_ALIKE_COMPARED = 50, 2000
MAX_CARDS_KEPT = 5000  # that may be decided on, the last ones


class ShownPair(NamedTuple):
    """The ids on a card: the source, and its candidates in their order."""

    source: str
    targets: tuple[str, ...]


@dataclass
class ShownCard:
    """A card that was shown: its contents, and whether the model's verdict was visible."""

    reviewer: str
    pair: ShownPair
    reason: str = ""
    probability: float | None = None
    votes: str = ""
    shown: bool = False


def new_key() -> str:
    """Return a key with which something is decided once, however often it is sent."""
    return uuid.uuid4().hex


class Session:
    """One run under review by any number of reviewers: `state`, `positions` in queues, and shown cards."""

    def __init__(self, run: Path, store: DecisionStore, model: Model | None = None, *, lazily: bool = False) -> None:
        self.state = ReviewState(run, store, model, lazily=lazily)
        self.positions = QueuePositions(self.state)
        self.shown_cards: dict[str, ShownCard] = {}

    # Cards and decisions

    def pair_on(self, card: Card) -> ShownPair:
        """Return the ids of what a card shows."""
        ids = self.state.original.task.target.ids
        return ShownPair(card.source.id, tuple(str(ids[option.number]) for option in card.alternatives))

    def note_shown(self, reviewer: str, item: Item, card: Card, *, shown: bool) -> str:
        """Note that a card is shown, and return the key with which it is decided on once."""
        key = new_key()
        if len(self.shown_cards) > MAX_CARDS_KEPT:
            for old in list(self.shown_cards)[: MAX_CARDS_KEPT // 2]:
                del self.shown_cards[old]
        pair, votes = self.pair_on(card), self._votes(item.row)
        self.shown_cards[key] = ShownCard(reviewer, pair, item.reason, card.probability, votes, shown)
        return key

    def decision(
        self, reviewer: str, key: str, pair: ShownPair, action: str, place: int = 0, batch: str = ""
    ) -> Decision:
        """Make the decision about a card: the ids on the card are those that are kept."""
        if action not in ACTIONS or not 0 <= place < len(pair.targets):
            raise ValueError("There is no such decision.")
        asked = self.shown_cards.get(key)
        if asked is None or asked.reviewer != reviewer:
            asked = self._asked_before(reviewer, pair)
        elif asked.pair != pair:
            raise ValueError(STALE_CARD)
        target = None if action == NONE else pair.targets[place]
        return Decision(
            key, reviewer, action, pair.source, target, pair.targets, None, batch, asked.reason, asked.shown,
            asked.probability, asked.votes, self.state.current.name,
        )  # fmt: skip

    def _asked_before(self, reviewer: str, pair: ShownPair) -> ShownCard:
        """Judge a card that was made before this server began, or lies long back: its entities must be in the run."""
        original = self.state.original
        row = original.row_of_id(pair.source)
        if row < 0 or not all(target in original.target_index_of for target in pair.targets):
            raise ValueError(STALE_CARD)
        asked = ShownCard(reviewer, pair, KNOWN if int(original.sources[row]) in original.valid else "")
        model, own = self.state.model_of(row)
        if int(model.target[own, 0]) == original.target_index_of[pair.targets[0]]:
            asked.probability, asked.votes = self.state.probability(row), self._votes(row)
        return asked

    def _votes(self, row: int) -> str:
        """Return the voters for the first candidate of a row."""
        model, own = self.state.model_of(row)
        return " ".join(model.voters_for(own))

    def apply_undo(self, reviewer: str, taken: list[Decision], rows: list[Decision]) -> list[Decision]:
        """Apply the rows of an undo, and return to the card."""
        self.state.apply_rows(rows)
        if taken:
            row = self.state.original.row_of_id(taken[0].source)
            if row >= 0 and self.positions.ask_about(reviewer, row) and taken[0].reason == REPEAT:
                self.positions.position(reviewer).item = Item(row, REPEAT)
        return taken

    def advance(self, reviewer: str) -> Item | None:
        """Move on after a decision: now and then to an earlier item again, else to the next in the queue."""
        repeat = self._repeat(reviewer)
        if repeat is not None:
            self.positions.position(reviewer).item = repeat
            return repeat
        return self.positions.go(reviewer, 1)

    def _repeat(self, reviewer: str) -> Item | None:
        """Choose one of the reviewer's own decisions to ask again, blind, if it is time."""
        plain = self.state.index.plain.get(reviewer, {})
        audits = self.state.index.audits.get(reviewer, {}).values()
        done = {one.source for one in audits if one.reason == REPEAT}
        if not plain or len(plain) % REPEAT_EVERY or len(done) >= len(plain) // REPEAT_EVERY:
            return None
        for one in [*plain.values()][: max(len(plain) - REPEAT_AFTER, 0)][:: REPEAT_EVERY // 3]:
            row = self.state.original.row_of_id(one.source)
            if one.source not in done and row >= 0:
                return Item(row, REPEAT)
        return None

    # Several alike

    def alike(self, row: int) -> list[int]:
        """Return open rows like this one, itself first: the same voters, strongest evidence, and side of .5."""
        model, wanted = self.state.original, self._signature(row)
        best = model.probability[:, 0]
        same = (model.named[:, 0] == model.named[row, 0]).all(axis=1) & ((best >= 0.5) == (best[row] >= 0.5))
        rows = np.flatnonzero(same)
        found = [row]
        for other in rows[np.argsort(-best[rows], kind="stable")][:MAX_ALIKE_COMPARED].tolist():
            decided = self.state.source_id(other) in self.state.index.by_source
            is_open = not decided and int(model.sources[other]) not in model.valid
            if other != row and is_open and self._signature(other) == wanted:
                found.append(other)
            if len(found) >= MAX_ALIKE_SHOWN:
                break
        return found

    def _signature(self, row: int) -> tuple[str, tuple[str, ...]]:
        """Return the opinion with the largest contribution, and the relations of the matched neighbours."""
        model = self.state.original
        parts = {name: part[row] for name, part in model.parts.items() if not np.isnan(part[row])}
        strongest = max(parts, key=lambda name: parts[name]) if parts else ""
        said = model.neighbourhood.support(*model.ends(row))
        kinds = sorted({int(kind) for kind in said.kind[np.argsort(-said.weight)][:1].tolist()})
        return strongest, tuple(map(str, kinds))

    def alike_pairs(self, rows: Iterable[int]) -> list[tuple[ShownPair, str, str]]:
        """Return for each row the ids of its pair, and both display names."""
        found = []
        for other in rows:
            model, own = self.state.model_of(other)
            source, target = self.state.source_id(other), str(model.task.target.ids[model.target[own, 0]])
            names = self.state.label(source, "source"), self.state.label(target, "target")
            found.append((ShownPair(source, (target,)), *names))
        return found

    def decisions_alike(self, reviewer: str, pairs: Iterable[ShownPair], action: str, key: str) -> list[Decision]:
        """Make the decisions about several pairs that were shown together."""
        if action not in (ACCEPT, REJECT):
            raise ValueError("several are accepted or rejected")
        return [
            self.decision(reviewer, f"{key}.{number}", pair, action, batch=key)
            for number, pair in enumerate(dict.fromkeys(pairs))
        ]
