"""What stands: the run, the one that has learned since, and what all decisions make of both. No torch."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from mixtea.errors import RunError
from mixtea.review.belief import Belief
from mixtea.review.card import Card, Cards
from mixtea.review.decisions import ACCEPT, UNSURE, Decision, Decisions
from mixtea.review.learning import truth_of
from mixtea.review.ledger import Ledger
from mixtea.review.model import Model
from mixtea.review.queue import Item
from mixtea.review.reviewers import NOBODY, Reviewer, reviewers
from mixtea.text import visible

CONTRADICTED = 0.2  # of probability, without the decision itself: below it an accepted pair is contradicted
TOUCHED = 500  # rows near the last decisions that a new queue looks at again; a training tells of all others


class Standing:
    """A run with decisions about it. Rows are those of the run; a model that has learned may ask about fewer."""

    def __init__(self, run: Path, store: Decisions, model: Model | None = None, *, lazily: bool = False) -> None:
        """`model` is that of the run, if it was read already.

        With `lazily`, indices and what was decided before wait for `prepare`, so that the page is there at once.
        """
        self.run, self.store = run, store
        self.original = self.current = model or Model(run)
        if not self.original.target.size:
            raise RunError(f"{run}: no source is left to decide about; all have a given link.")
        self.beliefs: dict[int, Belief] = {}
        self.queues: dict[tuple[object, ...], list[Item]] = {}  # as long as the models stay
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
        before, models = self.beliefs, (self.original, self.current)
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
            target = model.pair_of(one.source, one.target or (one.others[0] if one.others else ""))[1]
            row = model.row_of_id(one.source)
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
