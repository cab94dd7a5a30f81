"""Review state: the run, the one retrained since, and the decisions about both. No torch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np

from mixtea.decide.mapping import Mapping
from mixtea.errors import RunError
from mixtea.messages import visible
from mixtea.review.card import Card, Cards
from mixtea.review.decision import ACCEPT, AUDIT, UNSURE, Decision, facts
from mixtea.review.decision_index import Ledger
from mixtea.review.decisions import Decisions
from mixtea.review.learning import truth_of
from mixtea.review.mapped import with_decisions
from mixtea.review.model import Model
from mixtea.review.posterior import Belief
from mixtea.review.queue import Item
from mixtea.review.reviewers import NOBODY, Reviewer, reviewers
from mixtea.runs.folder import MANIFEST, read_ids

CONTRADICTED = 0.2  # of probability, without the decision itself: below it an accepted pair is contradicted
TOUCHED = 500  # rows near the last decisions that a new queue looks at again; a training tells of all others
TOLD_AT_ONCE = 10  # sources, a few milliseconds
MAX_CHANGES_SHOWN = 500
AGAIN = "Start mixtea review again."
EARLIER_CARD = "This card is of an earlier run or model. Reload the page."


class ReplacedError(RunError):
    """Raised in place of writing for a run whose folder now holds another one."""


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
        self.changes: list[tuple[str, str, str]] = []  # the first of them
        self.n_changes = self.trained_id = 0
        self.notices: dict[str, str] = {}  # for people, by what they are about
        self.run_now, self.other_graphs = self.original.name, ""  # the manifest on the disk, and why it does not fit
        self._manifest_seen: tuple[int, ...] = ()
        self.ledger = Ledger(self.original.task.multi_target_ids, concerns_run=self._concerns_run)
        self.weights: dict[
            str, float
        ] = {}  # log-odds of a reviewer's decisions, infinite for facts; of those with audits
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

    # The run on the disk

    def check_run(self) -> None:
        """Raise ReplacedError if the folder holds a run of other graphs than before; one of the same is only noted.

        May be called from another thread. The folder is read only when its manifest has changed.
        """
        try:
            about = (self.run / MANIFEST).stat()
            now = (about.st_dev, about.st_ino, about.st_mtime_ns, about.st_size)
            if now != self._manifest_seen:
                self._compare_run()
                self._manifest_seen = now
        except (OSError, RunError) as error:
            why = visible(str(error), 200)
            raise ReplacedError(f"{visible(self.run)} cannot be read any more ({why}). {AGAIN}") from None
        if self.other_graphs:
            raise ReplacedError(self.other_graphs)

    def _compare_run(self) -> None:
        self.run_now, *ids = read_ids(self.run)
        task, name = self.original.task, visible(self.run)
        same = ids == [task.source.ids.tolist(), task.target.ids.tolist()]
        self.other_graphs = "" if same else f"{name} was replaced by a run of other graphs. {AGAIN}"
        if self.other_graphs:
            self.notices["run"] = f"{self.other_graphs} Nothing is saved until then."
        elif self.run_now != self.original.name:
            self.notices["run"] = f"{name} was replaced by another run of the same graphs. {AGAIN[:-1]} to see it."
        else:
            self.notices.pop("run", None)

    def load(self) -> tuple[Model, int] | None:
        """Make the indices of the original run, and read the one that an earlier review has trained, if there is one.

        May be called beside the page; `prepare` then takes it up.
        """
        self.original.prepare()
        return self.trained_before()

    def trained_before(self) -> tuple[Model, int] | None:
        """Read the run that was trained with decisions, and which was the last one; None if there is none of use."""
        if not (self.reviewed_run / MANIFEST).exists():
            return None
        try:
            self.check_run()
            model = Model(self.reviewed_run)
            store = self.store.again()  # this may be another thread
            last_id = store.trained(model.name)
            store.close()
        except (RunError, OSError) as error:
            self._leave_alone(visible(str(error), 200))
            return None
        if last_id is None:
            self._leave_alone("it was not trained with these decisions")
        if last_id is None or not self.is_child(model):
            return None
        model.prepare()
        return model, last_id

    def is_child(self, model: Model) -> bool:
        """Return whether a model was trained from the run that lies in the folder now, with the same entities."""
        fits = model.parent == self.run_now and model.has_ids_of(self.original)
        if not fits:
            self._leave_alone("it was trained from another run")
        return fits

    def _leave_alone(self, why: str) -> None:
        self.notices["trained"] = f'{visible(self.reviewed_run)} is left alone: {why}. "Learn now" trains a new one.'

    def prepare(self, trained: tuple[Model, int] | None) -> None:
        """From here on neighbours are told of decisions; `tell` has to follow."""
        self.is_prepared = True
        if trained is not None:
            self.adopt(*trained)
        self.untold |= self.ledger.of_source.keys()

    def adopt(self, model: Model, last_id: int) -> list[tuple[str, str, str]]:
        """Use a model that was trained with the decisions up to `last_id`; returns what it maps differently.

        It is not used if one of them was taken back since, or if it is of another run. `tell` has to follow.
        """
        if not self.is_child(model) or any(id <= last_id < undo for id, undo in self.ledger.undone.items()):
            return []
        self.notices.pop("trained", None)
        self.n_changes, self.changes = self._differences(self.current, model)
        self.current, self.trained_id = model, last_id
        self._begin()
        return self.changes

    def _differences(self, old: Model, new: Model) -> tuple[int, list[tuple[str, str, str]]]:
        """Count the sources that are mapped differently; the first as (source, old target, new target), in words."""
        source, target = self.original.task.source, self.original.task.target
        changed = np.flatnonzero(old.matched != new.matched)
        shown = changed[:MAX_CHANGES_SHOWN].tolist()
        words = [target.display(int(n)) if n >= 0 else "none" for model in (old, new) for n in model.matched[shown]]
        before, after = words[: len(shown)], words[len(shown) :]
        return len(changed), [(source.display(n), was, now) for n, was, now in zip(shown, before, after, strict=True)]

    # What was decided

    def refresh(self) -> None:
        """Take up what was decided since, by whomever: also another process may have this file open."""
        rows = self.store.read(self.ledger.read_to)
        self.ledger.read_to = rows.last_id
        self.take_up(rows.decisions)

    def take_up(self, rows: Iterable[Decision]) -> None:
        """Apply rows of the file, in any order; those that were applied before change nothing."""
        changed = self.ledger.apply(rows)
        if not changed:
            return
        gone = [one for one in changed if one.id not in self.ledger.standing and one.id <= self.trained_id]
        if gone and self.current is not self.original:  # what the model was taught does not hold any more
            self.current, self.trained_id = self.original, 0
            self._begin()
        self._weigh({one.reviewer for one in changed if one.reason in AUDIT})
        sources = {one.source for one in changed}
        self.untold |= sources
        if not self.lazily:
            self.tell()
        elif len(sources) <= TOLD_AT_ONCE:
            for source in sources:
                self._tell(source)

    def _weigh(self, names: Iterable[str]) -> None:
        """Measure reviewers anew who have decided on audits since."""
        for name in names:
            before, weight = self.weights.get(name, math.inf), self._measured(name).log_odds
            if weight != before:
                self.weights[name] = weight
                self.untold |= self.ledger.of_source.keys()

    def _concerns_run(self, one: Decision) -> bool:
        """Return whether the entities of a decision are in the run."""
        model = self.original
        return one.source in model.source_numbers and (one.target is None or one.target in model.target_numbers)

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
            return
        self.untold.discard(source)
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
            rows = self.original.row_of[model.sources[belief.rows_without_first()]]
            found[[row for row in rows.tolist() if row >= 0 and self._model_of(row)[0] is model]] = 0.0
        return found

    def card(self, row: int, place: int = 0, *, with_voices: bool = True) -> Card:
        """Make the card of a row, about a candidate of the model that is used for it now."""
        model, own = self._model_of(row)
        made = self.makers[id(model)](own, place, with_voices=with_voices and self.is_prepared)
        return replace(made, row=row)

    def maker_of(self, row: int) -> tuple[Cards, int]:
        """Return what makes the card of a row, and the row there."""
        model, own = self._model_of(row)
        return self.makers[id(model)], own

    def reference(self, row: int, target: int) -> str:
        """Name a pair that is shown, so that what is asked about it later is of the same pair."""
        return f"{self.original.name[:16]}-{row}-{target}"

    def referred(self, reference: str) -> tuple[int, int]:
        """Return the row of a reference, and the place of its target among the candidates of now."""
        name, *numbers = reference.split("-")
        if name != self.original.name[:16] or len(numbers) != 2 or not all(map(str.isdecimal, numbers)):
            raise ValueError(EARLIER_CARD)
        row, target = map(int, numbers)
        if row >= len(self.original.sources):
            raise ValueError(EARLIER_CARD)
        model, own = self._model_of(row)
        places = np.flatnonzero(model.target[own] == target).tolist()
        if not places:
            raise ValueError(EARLIER_CARD)
        return row, places[0]

    def picture(self, row: int, place: int = 0) -> dict[str, object]:
        model, own = self._model_of(row)
        return self.makers[id(model)].picture(own, place)

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
        """List decisions that the evidence is against by now, decided neighbours included, with the pair's probability.

        Judged by the run as it was before the decisions, and by all others of them.
        """
        if self._contradicted is None or self._contradicted[0] != self.ledger.last_id:
            self.keep_contradicted(self.judge_decisions())
        assert self._contradicted is not None
        return self._contradicted[1]

    def keep_contradicted(self, judged: Iterable[tuple[Decision, float] | None]) -> None:
        """Remember what `judge_decisions` has found, until something else is decided."""
        self._contradicted = (self.ledger.last_id, [one for one in judged if one is not None])

    _contradicted: tuple[int, list[tuple[Decision, float]]] | None = None

    def judge_decisions(self) -> Iterator[tuple[Decision, float] | None]:
        """Yield for each decided source its last decision and the pair's probability if they disagree, else None."""
        belief, model = self.beliefs[id(self.original)], self.original
        for id_ in [*self.ledger.of_source]:
            one = self.ledger.last_about(id_)
            if one is None or one.action == UNSURE:
                yield None
                continue
            target = model.pair_of(one.source, one.target or (one.others[0] if one.others else ""))[1]
            row = model.row_of_id(one.source)
            places = np.flatnonzero(model.target[row] == target).tolist() if row >= 0 else []
            p = float(belief.probability(row, without=True)[places[0]]) if places else 0.5
            wrong = p < CONTRADICTED if one.action == ACCEPT else p > 1 - CONTRADICTED
            yield (one, p) if wrong else None

    @property
    def n_to_decide(self) -> int:
        """Sources without a given link."""
        return len(self.original.sources) - len(self.truth)

    def all_reviewers(self) -> dict[str, Reviewer]:
        return reviewers(self.ledger.standing.values(), self.truth)

    def since_trained(self) -> int:
        """Decisions, and such as were taken back, that the current model does not know of."""
        return self.ledger.last_id - self.trained_id

    def mapping_now(self) -> Mapping:
        """Return what is mapped: by the model that is used now, and by decisions that are facts.

        May be called from another thread.
        """
        standing = {id: one for id, one in sorted([*self.ledger.standing.items()]) if id not in self.ledger.elsewhere}
        said = facts(standing.values(), self.ledger.several)
        sure = {pair: one for pair, one in said.items() if self.weights.get(one.reviewer, math.inf) == math.inf}
        accepted = {pair: standing[one.id] for pair, one in sure.items() if one.same}
        rejected = [pair for pair, one in sure.items() if not one.same]
        return with_decisions(self.current.mapping, accepted, rejected, self.ledger.several)

    def label(self, id: str | None, side: str) -> str:
        """An entity by id as people see it; the id itself if it is not there any more."""
        if id is None:
            return "none of them"
        model = self.original
        graph = getattr(model.task, side)
        number = getattr(model, f"{side}_numbers").get(id, -1)
        return visible(graph.display(number) if number >= 0 else id, 160)
