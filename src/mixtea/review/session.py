"""A review in progress: the run, what was decided, what is asked next, and what that changes. No torch."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from mixtea.errors import RunError
from mixtea.review.belief import Belief
from mixtea.review.card import Card, Cards
from mixtea.review.decisions import (
    ACCEPT,
    ACTIONS,
    KNOWN,
    NONE,
    REJECT,
    REPEAT,
    UNSURE,
    Decision,
    Decisions,
)  # fmt: skip
from mixtea.review.learning import truth_of
from mixtea.review.ledger import Ledger
from mixtea.review.model import Model
from mixtea.review.queue import ORDERS, Filter, Item, ordered, queue
from mixtea.review.reviewers import NOBODY, Reviewer, reviewers
from mixtea.text import visible

HELD = 120.0  # seconds for which a card is one reviewer's, so that two are not asked the same
REPEAT_EVERY, REPEAT_AFTER = 15, 10  # decisions: one in so many is asked again, when so many others lie between
CONTRADICTED = 0.2  # of probability, without the decision itself: below it an accepted pair is contradicted
ALIKE_SHOWN, ALIKE_LOOKED_AT = 50, 2000
TOUCHED = 500  # rows near the last decisions that a new queue looks at again; a training tells of all others
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


@dataclass
class Place:
    """Where a reviewer is: the queue and the item in it. `shows` says whether verdicts are shown before deciding."""

    order: str = "worth"
    filter: Filter = field(default_factory=Filter)
    at: int = -1  # the place in the queue
    item: Item | None = None
    shows: bool = False


def new_key() -> str:
    """A key with which something is decided once, however often it is sent."""
    return uuid.uuid4().hex


class Session:
    """One run under review, by any number of reviewers."""

    def __init__(self, run: Path, store: Decisions, model: Model | None = None, *, lazily: bool = False) -> None:
        """`model` is that of the run, if it was read already.

        With `lazily`, indices and what was decided before wait for `prepare`, so that the page is there at once.
        """
        self.run, self.store = run, store
        self.original = self.current = model or Model(run)
        if not self.original.target.size:
            raise RunError(f"{run}: no source is left to decide about; all have a given link.")
        self.places: dict[str, Place] = {}
        self.cards_asked: dict[str, Asked] = {}
        self.leases: dict[int, tuple[str, float]] = {}
        self.queues: dict[tuple[object, ...], list[Item]] = {}
        self.changes: list[tuple[str, str, str]] = []
        self.trained_id = 0
        self.ledger = Ledger(one_target=not self.original.task.one_to_many)
        self.weights: dict[str, float] = {}  # log-odds of reviewers' decisions; those of others are facts
        self.untold: set[str] = set()  # sources of which beliefs do not know yet what stands
        self.is_prepared, self.lazily = False, lazily
        self._begin()
        self.refresh()
        if not lazily:
            self.prepare(self.load())
            self.tell()

    @property
    def reviewed_run(self) -> Path:
        """The run that was trained with decisions."""
        return self.run.with_name(f"{self.run.name}.reviewed")

    def _begin(self) -> None:
        """Beliefs of the models that are used, which are yet to be told what stands."""
        before = getattr(self, "beliefs", {})
        models = (self.original, self.current)
        self.beliefs = {id(model): before.get(id(model)) or Belief(model) for model in models}
        self.makers = {key: Cards(belief.model, belief) for key, belief in self.beliefs.items()}
        self.queues.clear()
        self.untold |= self.ledger.of_source.keys()

    def load(self) -> tuple[Model, int] | None:
        """Make the indices of the original run, and read the one that an earlier review has trained, if there is one.

        May be called beside the page; `prepare` then takes it up.
        """
        self.original.prepare()
        return self._trained_before()

    def _trained_before(self) -> tuple[Model, int] | None:
        if not (self.reviewed_run / "run.json").exists():
            return None
        try:
            model = Model(self.reviewed_run)
        except RunError:
            return None
        store = Decisions(self.store.path)  # this may be another thread
        last_id = store.trained(model.name)
        store.close()
        if last_id is None:
            return None
        model.prepare()
        return model, last_id

    def prepare(self, trained: tuple[Model, int] | None) -> None:
        """From here on neighbours are told of decisions; `tell` has to follow."""
        self.is_prepared = True
        if trained is not None:
            self.adopt(*trained)
        self.untold |= self.ledger.of_source.keys()

    def adopt(self, model: Model, last_id: int) -> list[tuple[str, str, str]]:
        """Use a model that was trained with the decisions up to `last_id`; returns what it maps differently.

        It is not used if one of them was taken back since. `tell` has to follow.
        """
        if any(one.undoes is not None and one.undoes <= last_id for one in self.store.rows(last_id)):
            return []
        self.changes = self._differences(self.current, model)
        self.current, self.trained_id = model, last_id
        self._begin()
        return self.changes

    def _differences(self, old: Model, new: Model) -> list[tuple[str, str, str]]:
        """(source, old target, new target), in words, where the mapping differs."""
        if old.task.source.n_entities != new.task.source.n_entities:
            return []
        source, target = self.original.task.source, self.original.task.target
        changed = np.flatnonzero(old.matched != new.matched).tolist()
        words = [target.display(int(n)) if n >= 0 else "none" for model in (old, new) for n in model.matched[changed]]
        before, after = words[: len(changed)], words[len(changed) :]
        return [(source.display(n), was, now) for n, was, now in zip(changed, before, after, strict=True)]

    # What was decided

    def refresh(self) -> None:
        """Take up what was decided since, by whomever: also another process may have this file open."""
        changed = self.ledger.apply(self.store.rows(self.ledger.last_id))
        if not changed:
            return
        gone = [one for one in changed if one.id not in self.ledger.standing and one.id <= self.trained_id]
        if gone and self.current is not self.original:  # what the model was taught does not hold any more
            self.current, self.trained_id = self.original, 0
            self._begin()
        weights = self.weights
        found = {name: self._measured(name).log_odds for name in self.ledger.audits}
        self.weights = {name: weight for name, weight in found.items() if weight < math.inf}
        for source in {one.source for one in changed}:
            self._tell(source)
        if weights != self.weights:
            self.untold |= self.ledger.of_source.keys()
        if not self.lazily:
            self.tell()

    def _measured(self, reviewer: str) -> Reviewer:
        """A reviewer by the known items alone, which is what the weight of a decision comes from."""
        return reviewers([*self.ledger.audits.get(reviewer, {}).values()], self.truth).get(reviewer) or NOBODY

    def tell(self, most: int | None = None) -> bool:
        """Let the beliefs know what stands about sources, at most so many of them; whether some are left."""
        if not self.is_prepared:
            return False
        for _ in range(len(self.untold) if most is None else min(most, len(self.untold))):
            self._tell(self.untold.pop())
        return bool(self.untold)

    def _tell(self, source: str) -> None:
        if not self.is_prepared:
            self.untold.add(source)
            return
        for belief in self.beliefs.values():
            number = belief.model.source_numbers.get(source, -1)
            now = self._numbered(belief.model, source)
            for target in {*belief.said_of.get(number, {})} - {target for _, target in now}:
                belief.decide((number, target), None)
            for pair, weight in now.items():
                belief.decide(pair, weight)

    def _numbered(self, model: Model, source: str) -> dict[tuple[int, int], float]:
        """What stands about a source, by numbers in a model, with its weight."""
        found = {}
        for pair, said in self.ledger.facts_about(source).items():
            ends = model.pair_of(*pair)
            if min(ends) >= 0:
                weight = self.weights.get(said.reviewer, math.inf)
                found[ends] = weight if said.same else -weight
        return found

    @cached_property
    def truth(self) -> dict[str, set[str]]:
        return truth_of(self.original.task)

    # Rows: those of the original run; the current one may ask about fewer

    def source_id(self, row: int) -> str:
        return str(self.original.task.source.ids[self.original.sources[row]])

    def _model_of(self, row: int) -> tuple[Model, int]:
        """The current model and the row there; the original one where the current one does not ask any more."""
        place = int(self.current.row_of[self.original.sources[row]])
        return (self.current, place) if place >= 0 else (self.original, row)

    def best(self) -> np.ndarray:
        """[p]: how likely the first candidate of each row is, near the last decisions as of now."""
        found = self.original.probability[:, 0].copy()
        if self.current is not self.original:
            place = self.current.row_of[self.original.sources]
            there = place >= 0
            found[there] = self.current.probability[place[there], 0]
        for model in {id(m): m for m in (self.original, self.current)}.values():
            belief = self.beliefs[id(model)]
            said = [int(model.row_of[source]) for source in [*belief.said_of][-TOUCHED:]]
            touched = dict.fromkeys([*[*belief.more][-TOUCHED:], *said])
            for own in touched:
                row = int(self.original.row_of[model.sources[own]]) if own >= 0 else -1
                if row >= 0 and self._model_of(row)[0] is model:
                    found[row] = float(belief.probability(own)[0])
        return found

    def card(self, row: int) -> Card:
        model, own = self._model_of(row)
        return replace(self.makers[id(model)](own, with_voices=self.is_prepared), row=row)

    def picture(self, row: int) -> dict[str, object]:
        model, own = self._model_of(row)
        return self.makers[id(model)].picture(own)

    def card_names(self, row: int) -> tuple[str, str, float]:
        """Source and first candidate in words, and how likely they are the same."""
        model, own = self._model_of(row)
        ends = ((model.task.source, model.sources[own]), (model.task.target, model.target[own, 0]))
        left, right = (visible(graph.display(int(number)), 160) for graph, number in ends)
        return left, right, self.probability(row)

    def probability(self, row: int) -> float:
        model, own = self._model_of(row)
        return float(self.beliefs[id(model)].probability(own)[0])

    # Places

    def place(self, reviewer: str) -> Place:
        """Where the reviewer is, or was when the server last ran."""
        if reviewer not in self.places:
            self.places[reviewer] = self._remembered(reviewer)
        return self.places[reviewer]

    def _remembered(self, reviewer: str) -> Place:
        kept = self.store.place(reviewer)
        order = str(kept.get("order", "worth"))
        place = Place(order if order in ORDERS else "worth", shows=bool(kept.get("shows", False)))
        row = self.original.row_of[number] if (
            number := self.original.source_numbers.get(str(kept.get("source", "")), -1)
        ) >= 0 else -1  # fmt: skip
        if row >= 0:
            items = self.items(place)
            place.at = next((at for at, item in enumerate(items) if item.row == row), 0) - 1
        return place

    def remember(self, reviewer: str) -> None:
        place = self.place(reviewer)
        source = self.source_id(place.item.row) if place.item else ""
        self.store.keep_place(reviewer, {"order": place.order, "source": source, "shows": place.shows})

    def items(self, place: Place) -> list[Item]:
        """The queue of a place: fixed as long as the order, the filter and the model stay."""
        key: tuple[object, ...] = (place.order, place.filter, self.current.name)
        if place.filter.state in ("decided", "unsure", "contradicted"):
            key = (*key, self.ledger.last_id)
        if key not in self.queues:
            if len(self.queues) > 20:
                self.queues.clear()
            best = self.best()
            order = ordered(self.original, best, place.order)
            rows = order if place.filter.is_plain else order[self._matches(place.filter, best)[order]]
            self.queues[key] = queue(self.original, rows, audited=place.filter.is_plain)
        return self.queues[key]

    def _matches(self, wanted: Filter, best: np.ndarray) -> np.ndarray:
        """bool [p]: the rows that a filter keeps."""
        model, kept = self.original, (best >= wanted.least) & (best <= wanted.most)
        if wanted.text:
            words = wanted.text.casefold()
            source, target = (np.array([words in text for text in side], dtype=bool) for side in self._texts)
            kept &= source[model.sources] | target[model.target[:, 0]]
        for name in wanted.voters:
            if name in model.voters:
                kept &= model.named[:, 0, model.voters.index(name)]
        if wanted.least_degree:
            kept &= model.degrees[0][model.sources] >= wanted.least_degree
        if wanted.kind:
            kept &= np.array([wanted.kind in self._kinds(row) for row in range(len(kept))], dtype=bool)
        return kept & self._in_state(wanted)

    def _in_state(self, wanted: Filter) -> np.ndarray:
        n = len(self.original.sources)
        if wanted.state in ("open", "all"):
            return np.ones(n, dtype=bool)
        last = [one for source in self.ledger.of_source if (one := self.ledger.last_about(source)) is not None]
        by = [one for one in last if not wanted.reviewer or one.reviewer == wanted.reviewer]
        ids = {one.source for one in by if wanted.state != "unsure" or one.action == UNSURE}
        if wanted.state == "contradicted":
            ids &= {one.source for one, _ in self.contradicted()}
        numbers = [self.original.source_numbers[id] for id in ids if id in self.original.source_numbers]
        kept = np.zeros(n, dtype=bool)
        rows = self.original.row_of[numbers] if numbers else np.empty(0, dtype=np.int64)
        kept[rows[rows >= 0]] = True
        return kept

    @cached_property
    def _texts(self) -> tuple[list[str], list[str]]:
        """What entities of both graphs are searched by: id and label, without case."""
        source, target = (
            [f"{id} {graph.label(n) or ''}".casefold() for n, id in enumerate(graph.ids.tolist())]
            for graph in (self.original.task.source, self.original.task.target)
        )
        return source, target

    def _kinds(self, row: int) -> tuple[str, ...]:
        from mixtea.review.card import entity

        return entity(self.original.task.source, int(self.original.sources[row])).types

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
            own = self.ledger.audits.get(reviewer, {}).values()
            return self.source_id(item.row) not in {one.source for one in own}
        return place.filter.state != "open" or self.source_id(item.row) not in self.ledger.of_source

    def ask_about(self, reviewer: str, row: int) -> Item | None:
        """Go to a row, wherever it stands in the queue."""
        place, items = self.place(reviewer), self.items(self.place(reviewer))
        if not 0 <= row < len(self.original.sources):
            return None
        place.at = next((at for at, item in enumerate(items) if item.row == row), place.at)
        reason = items[place.at].reason if 0 <= place.at < len(items) and items[place.at].row == row else ""
        place.item = Item(row, reason)
        return place.item

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
        return " ".join(name for name, there in zip(model.voters, model.named[own, 0], strict=True) if there)

    def undo(self, reviewer: str, key: str) -> list[Decision]:
        """Take back the reviewer's last decision, and what was decided with it; the reviewer is at that card again."""
        taken = self.store.undo(reviewer, key)
        self.refresh()
        if taken:
            number = self.original.source_numbers.get(taken[0].source, -1)
            row = int(self.original.row_of[number]) if number >= 0 else -1
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
            number = self.original.source_numbers.get(one.source, -1)
            row = int(self.original.row_of[number]) if number >= 0 else -1
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

    # What has been reached

    def contradicted(self) -> list[tuple[Decision, float]]:
        """Decisions that the evidence now speaks against, decided neighbours included, and how likely the pair is.

        Judged by the run as it was before the decisions, and by all others of them.
        """
        belief, model, found = self.beliefs[id(self.original)], self.original, []
        for id_ in self.ledger.of_source:
            one = self.ledger.last_about(id_)
            if one is None or one.action == UNSURE:
                continue
            source, target = model.pair_of(one.source, one.target or (one.others[0] if one.others else ""))
            row = int(model.row_of[source]) if source >= 0 else -1
            places = np.flatnonzero(model.target[row] == target).tolist() if row >= 0 else []
            if not places:
                continue
            p = float(belief.probability(row, without=True)[places[0]])
            if (one.action == ACCEPT and p < CONTRADICTED) or (one.action != ACCEPT and p > 1 - CONTRADICTED):
                found.append((one, p))
        return found

    @property
    def n_to_decide(self) -> int:
        """Sources without a given link."""
        return len(self.original.sources) - len(self.truth)

    def all_reviewers(self) -> dict[str, Reviewer]:
        return reviewers(self.ledger.standing.values(), self.truth)

    def since_trained(self) -> int:
        """Decisions, and such as were taken back, that the current model does not know of."""
        return self.ledger.last_id - self.trained_id

    def label(self, id: str | None, side: str) -> str:
        """An entity by id as people see it; the id itself if it is not there any more."""
        if id is None:
            return "none of them"
        model = self.original
        graph = getattr(model.task, side)
        number = getattr(model, f"{side}_numbers").get(id, -1)
        return visible(graph.display(number) if number >= 0 else id, 160)
