"""A review in progress: cards are shown, decided on, taken back, and asked again. No torch."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mixtea.review.card import Card
from mixtea.review.decisions import ACCEPT, ACTIONS, KNOWN, NONE, REJECT, REPEAT, Decision, Decisions
from mixtea.review.model import Model
from mixtea.review.places import Places
from mixtea.review.queue import Item

REPEAT_EVERY, REPEAT_AFTER = 15, 10  # decisions: one in so many is asked again, when so many others lie between
ALIKE_SHOWN, ALIKE_LOOKED_AT = 50, 2000
MOST_CARDS = 5000  # that may be decided on, the last ones


@dataclass
class Asked:
    """A card that somebody was shown: what it was about, and whether the model's verdict has been seen."""

    reviewer: str
    row: int
    reason: str
    targets: tuple[int, ...]
    probability: float
    votes: str
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

    def ask(self, reviewer: str, item: Item, card: Card, *, shown: bool) -> str:
        """Note that a card is shown, and return the key with which it is decided on once."""
        key = new_key()
        if len(self.cards_asked) > MOST_CARDS:
            for old in list(self.cards_asked)[: MOST_CARDS // 2]:
                del self.cards_asked[old]
        targets, votes = tuple(option.number for option in card.alternatives), self._votes(item.row)
        self.cards_asked[key] = Asked(reviewer, item.row, item.reason, targets, card.probability, votes, shown)
        return key

    def decide(
        self, reviewer: str, key: str, row: int, action: str, place: int = 0, seen: tuple[int, ...] = ()
    ) -> Decision:
        """Keep one decision about a card: OSError if it could not be kept, ValueError if it makes no sense.

        `seen` are the candidates of the card, for one that was made before this server began.
        """
        return self.keep([self._decision(reviewer, key, row, action, place, "", seen)])[0]

    def keep(self, decisions: list[Decision]) -> list[Decision]:
        """Keep decisions, all or none: OSError if they could not be kept."""
        kept = self.store.add(decisions)
        self.refresh()
        return kept

    def _decision(
        self, reviewer: str, key: str, row: int, action: str, place: int, batch: str, seen: tuple[int, ...] = ()
    ) -> Decision:
        if action not in ACTIONS or not 0 <= row < len(self.original.sources):
            raise ValueError("there is no such decision")
        asked = self.cards_asked.get(key)
        if asked is None or asked.reviewer != reviewer or asked.row != row:
            card, n = self.card(row), self.original.task.target.n_entities
            targets = tuple(option.number for option in card.alternatives)
            reason = KNOWN if int(self.original.sources[row]) in self.original.valid else ""
            seen = seen if seen and min(seen) >= 0 and max(seen) < n else targets
            asked = Asked(reviewer, row, reason, seen, card.probability, self._votes(row))
        if not 0 <= place < len(asked.targets):
            raise ValueError("there is no such candidate")
        ids = tuple(str(self.original.task.target.ids[number]) for number in asked.targets)
        target = None if action == NONE else ids[place]
        return Decision(
            key, reviewer, action, self.source_id(row), target, ids, None, batch, asked.reason, asked.shown,
            asked.probability, asked.votes, self.current.name,
        )  # fmt: skip

    def _votes(self, row: int) -> str:
        """Who favours the first candidate of a row."""
        model, own = self._model_of(row)
        return " ".join(model.favoured_by(own))

    def undo(self, reviewer: str, key: str) -> list[Decision]:
        """Take back the reviewer's last decision, and what was decided with it; the reviewer is at that card again."""
        taken = self.store.undo(reviewer, key)
        self.refresh()
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
        said = model.near.speaking(int(model.sources[row]), int(model.target[row, 0]))
        kinds = sorted({int(kind) for kind in said.kind[np.argsort(-said.weight)][:1].tolist()})
        return strongest, tuple(map(str, kinds))

    def decide_alike(self, reviewer: str, rows: Iterable[int], action: str, key: str) -> list[Decision]:
        """Decide several rows in the same way, logged one by one, undone together."""
        if action not in (ACCEPT, REJECT):
            raise ValueError("several are accepted or rejected")
        decisions = [self._decision(reviewer, f"{key}.{row}", row, action, 0, key) for row in dict.fromkeys(rows)]
        return self.keep(decisions)
