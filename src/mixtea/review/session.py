"""A review in progress: cards are shown, decided on, taken back, and asked again. No torch."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mixtea.review.card import Card
from mixtea.review.decision import ACCEPT, ACTIONS, KNOWN, NONE, REJECT, REPEAT, Decision
from mixtea.review.decisions import Decisions
from mixtea.review.model import Model
from mixtea.review.queue import Item
from mixtea.review.queue_positions import Places
from mixtea.review.state import EARLIER_CARD

REPEAT_EVERY, REPEAT_AFTER = 15, 10  # decisions: one in so many is asked again, when so many others lie between
ALIKE_SHOWN, ALIKE_LOOKED_AT = 50, 2000
MOST_CARDS = 5000  # that may be decided on, the last ones


class Shown(NamedTuple):
    """What a card shows, by ids: the source, and its candidates in their order."""

    source: str
    targets: tuple[str, ...]


@dataclass
class Asked:
    """A card that somebody was shown: what it was about, and whether the model's verdict has been seen."""

    reviewer: str
    pair: Shown
    reason: str = ""
    probability: float | None = None
    votes: str = ""
    shown: bool = False


def new_key() -> str:
    """A key with which something is decided once, however often it is sent."""
    return uuid.uuid4().hex


class Session(Places):
    """One run under review, by any number of reviewers."""

    def __init__(self, run: Path, store: Decisions, model: Model | None = None, *, lazily: bool = False) -> None:
        self.cards_asked: dict[str, Asked] = {}
        super().__init__(run, store, model, lazily=lazily)

    # Cards and decisions

    def shown_on(self, card: Card) -> Shown:
        """Return the ids of what a card shows."""
        ids = self.original.task.target.ids
        return Shown(card.source.id, tuple(str(ids[option.number]) for option in card.alternatives))

    def ask(self, reviewer: str, item: Item, card: Card, *, shown: bool) -> str:
        """Note that a card is shown, and return the key with which it is decided on once."""
        key = new_key()
        if len(self.cards_asked) > MOST_CARDS:
            for old in list(self.cards_asked)[: MOST_CARDS // 2]:
                del self.cards_asked[old]
        pair, votes = self.shown_on(card), self._votes(item.row)
        self.cards_asked[key] = Asked(reviewer, pair, item.reason, card.probability, votes, shown)
        return key

    def decide(self, reviewer: str, key: str, pair: Shown, action: str, place: int = 0) -> Decision:
        """Keep one decision about a card: OSError if it could not be kept, ValueError if it makes no sense."""
        return self.keep([self.decision(reviewer, key, pair, action, place)])[0]

    def keep(self, decisions: list[Decision]) -> list[Decision]:
        """Keep decisions, all or none: OSError if they could not be kept, ReplacedError if the run is another one."""
        self.check_run()
        kept = self.store.add(decisions)
        self.take_up(kept)
        self.refresh()
        return kept

    def decision(self, reviewer: str, key: str, pair: Shown, action: str, place: int = 0, batch: str = "") -> Decision:
        """Make the decision about what a card shows: the ids on the card are those that are kept."""
        if action not in ACTIONS or not 0 <= place < len(pair.targets):
            raise ValueError("There is no such decision.")
        asked = self.cards_asked.get(key)
        if asked is None or asked.reviewer != reviewer:
            asked = self._asked_before(reviewer, pair)
        elif asked.pair != pair:
            raise ValueError(EARLIER_CARD)
        target = None if action == NONE else pair.targets[place]
        return Decision(
            key, reviewer, action, pair.source, target, pair.targets, None, batch, asked.reason, asked.shown,
            asked.probability, asked.votes, self.current.name,
        )  # fmt: skip

    def _asked_before(self, reviewer: str, pair: Shown) -> Asked:
        """Judge a card that was made before this server began, or lies long back: its entities must be in the run."""
        row = self.original.row_of_id(pair.source)
        if row < 0 or not all(target in self.original.target_numbers for target in pair.targets):
            raise ValueError(EARLIER_CARD)
        asked = Asked(reviewer, pair, KNOWN if int(self.original.sources[row]) in self.original.valid else "")
        model, own = self._model_of(row)
        if int(model.target[own, 0]) == self.original.target_numbers[pair.targets[0]]:
            asked.probability, asked.votes = self.probability(row), self._votes(row)
        return asked

    def _votes(self, row: int) -> str:
        """Who favours the first candidate of a row."""
        model, own = self._model_of(row)
        return " ".join(model.favoured_by(own))

    def undo(self, reviewer: str, key: str) -> list[Decision]:
        """Take back the reviewer's last decision, and what was decided with it; the reviewer is at that card again."""
        self.check_run()
        return self.taken_back(reviewer, self.store.undo(reviewer, key), self.store.undo_rows(key))

    def taken_back(self, reviewer: str, taken: list[Decision], rows: list[Decision]) -> list[Decision]:
        """Take up that decisions were taken back, by the rows that do so, and return to the card."""
        self.take_up(rows)
        if taken:
            row = self.original.row_of_id(taken[0].source)
            if row >= 0 and self.ask_about(reviewer, row) and taken[0].reason == REPEAT:
                self.place(reviewer).item = Item(row, REPEAT)
        return taken

    def advance(self, reviewer: str) -> Item | None:
        """After a decision: now and then an earlier one again, else the next in the queue."""
        repeat = self._repeat(reviewer)
        if repeat is not None:
            self.place(reviewer).item = repeat
            return repeat
        return self.go(reviewer, 1)

    def _repeat(self, reviewer: str) -> Item | None:
        """Of the reviewer's own decisions one to ask again, blind, if it is time."""
        plain = self.ledger.plain.get(reviewer, {})
        audits = self.ledger.audits.get(reviewer, {}).values()
        done = {one.source for one in audits if one.reason == REPEAT}
        if not plain or len(plain) % REPEAT_EVERY or len(done) >= len(plain) // REPEAT_EVERY:
            return None
        for one in [*plain.values()][: max(len(plain) - REPEAT_AFTER, 0)][:: REPEAT_EVERY // 3]:
            row = self.original.row_of_id(one.source)
            if one.source not in done and row >= 0:
                return Item(row, REPEAT)
        return None

    # Several alike

    def alike(self, row: int) -> list[int]:
        """Open rows like this one, itself first: the same voters, the same strongest evidence, the same side of .5."""
        model, wanted = self.original, self._signature(row)
        best = model.probability[:, 0]
        same = (model.named[:, 0] == model.named[row, 0]).all(axis=1) & ((best >= 0.5) == (best[row] >= 0.5))
        rows = np.flatnonzero(same)
        found = [row]
        for other in rows[np.argsort(-best[rows], kind="stable")][:ALIKE_LOOKED_AT].tolist():
            is_open = (
                int(model.sources[other]) not in model.valid and self.source_id(other) not in self.ledger.of_source
            )
            if other != row and is_open and self._signature(other) == wanted:
                found.append(other)
            if len(found) >= ALIKE_SHOWN:
                break
        return found

    def _signature(self, row: int) -> tuple[str, tuple[str, ...]]:
        """The opinion that adds most to the pair, and the relations of its matched neighbours."""
        model = self.original
        parts = {name: part[row] for name, part in model.parts.items() if not np.isnan(part[row])}
        strongest = max(parts, key=lambda name: parts[name]) if parts else ""
        said = model.near.support(int(model.sources[row]), int(model.target[row, 0]))
        kinds = sorted({int(kind) for kind in said.kind[np.argsort(-said.weight)][:1].tolist()})
        return strongest, tuple(map(str, kinds))

    def alike_shown(self, rows: Iterable[int]) -> list[tuple[Shown, str, str]]:
        """Return what is shown of rows: the ids of the pair, and both in words."""
        found = []
        for other in rows:
            model, own = self._model_of(other)
            target = str(model.task.target.ids[model.target[own, 0]])
            left, right, _ = self.card_names(other)
            found.append((Shown(self.source_id(other), (target,)), left, right))
        return found

    def decide_alike(self, reviewer: str, pairs: Iterable[Shown], action: str, key: str) -> list[Decision]:
        """Decide several pairs in the same way, logged one by one, undone together."""
        return self.keep(self.decisions_alike(reviewer, pairs, action, key))

    def decisions_alike(self, reviewer: str, pairs: Iterable[Shown], action: str, key: str) -> list[Decision]:
        """Make the decisions about several pairs that were shown together."""
        if action not in (ACCEPT, REJECT):
            raise ValueError("several are accepted or rejected")
        return [
            self.decision(reviewer, f"{key}.{number}", pair, action, batch=key)
            for number, pair in enumerate(dict.fromkeys(pairs))
        ]
