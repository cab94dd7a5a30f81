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
from mixtea.graph.graph import SIDES
from mixtea.messages import MAX_LABEL_LENGTH, visible
from mixtea.review.card import Card, Cards
from mixtea.review.decision import ACCEPT, AUDIT, UNSURE, Decision, DecisionIndex, pair_decisions
from mixtea.review.decisions import DecisionStore
from mixtea.review.import_export import apply_decisions
from mixtea.review.model import Model
from mixtea.review.posterior import Posterior
from mixtea.review.reviewers import UNMEASURED, known_targets, measure_reviewers
from mixtea.runs.folder import MANIFEST, read_ids

CONTRADICTED_BELOW = 0.2  # of probability, without the decision itself: below it an accepted pair is contradicted
MAX_RECENT_ROWS = 500  # near the last decisions, updated in a new queue; others wait for a training
SOURCES_PER_STEP = 10  # sources, a few milliseconds
MAX_CHANGES_SHOWN = 500
RESTART_ADVICE = "Start mixtea review again."
STALE_CARD = "This card is of an earlier run or model. Reload the page."


class ReplacedError(RunError):
    """Raised in place of writing for a run whose folder now holds another one."""


class ReviewState:
    """A run with decisions about it. Rows are those of the run; a retrained model may have fewer."""

    _contradicted: tuple[int, list[tuple[Decision, float]]] | None = None

    def __init__(self, run: Path, store: DecisionStore, model: Model | None = None, *, lazily: bool = False) -> None:
        """Begin with a run and its decisions; `model` is that of the run, if it was read already.

        With `lazily`, indices and earlier decisions wait for `prepare`, so that the page is available at once.
        """
        self.run, self.store = run, store
        self.original = self.current = model or Model(run)
        if not self.original.target.size:
            raise RunError(f"{run}: no source is left to decide about; all have a given link.")
        self.posteriors: dict[int, Posterior] = {}
        self.generation = 0  # how often the models in use have changed
        self.changes: list[tuple[str, str, str]] = []  # the first of them
        self.n_changes = self.trained_id = 0
        self.notices: dict[str, str] = {}  # for people, by what they are about
        self.run_now, self.other_graphs = self.original.name, ""  # the manifest on the disk, and why it does not fit
        self._manifest_seen: tuple[int, ...] = ()
        self.index = DecisionIndex(self.original.task.multi_target_ids, concerns_run=self._concerns_run)
        self.weights: dict[str, float] = {}  # of reviewers with audits: log-odds of decisions, infinite for facts
        self.outdated: set[str] = set()  # sources with decisions that the posteriors do not have yet
        self.is_prepared, self.lazily = False, lazily
        self._use_models()
        self.refresh()
        if not lazily:
            self.prepare(self.load())
            self.update_posteriors()

    @property
    def reviewed_run(self) -> Path:
        """Return the path of the run that was trained with decisions."""
        return self.run.with_name(f"{self.run.name}.reviewed")

    def _use_models(self) -> None:
        """Make posteriors of the models in use, to be updated with the decisions."""
        before, models = self.posteriors, (self.original, self.current)
        self.posteriors = {id(model): before.get(id(model)) or Posterior(model) for model in models}
        self.card_makers = {key: Cards(posterior.model, posterior) for key, posterior in self.posteriors.items()}
        self.generation += 1
        self.outdated |= self.index.by_source.keys()

    # The run on the disk

    def check_run(self) -> None:
        """Raise ReplacedError if the folder holds a run of other graphs than before; note one of the same graphs.

        May be called from another thread. The folder is read only when its manifest has changed.
        """
        try:
            about = (self.run / MANIFEST).stat()
            now = (about.st_dev, about.st_ino, about.st_mtime_ns, about.st_size)
            if now != self._manifest_seen:
                self._compare_run()
                self._manifest_seen = now
        except (OSError, RunError) as error:
            why = visible(error, 200)
            raise ReplacedError(f"{visible(self.run)} cannot be read any more ({why}). {RESTART_ADVICE}") from None
        if self.other_graphs:
            raise ReplacedError(self.other_graphs)

    def _compare_run(self) -> None:
        self.run_now, *ids = read_ids(self.run)
        task, name = self.original.task, visible(self.run)
        same = ids == [task.source.ids.tolist(), task.target.ids.tolist()]
        self.other_graphs = "" if same else f"{name} was replaced by a run of other graphs. {RESTART_ADVICE}"
        if self.other_graphs:
            self.notices["run"] = f"{self.other_graphs} Nothing is saved until then."
        elif self.run_now != self.original.name:
            why = f"{name} was replaced by another run of the same graphs."
            self.notices["run"] = f"{why} {RESTART_ADVICE[:-1]} to see it."
        else:
            self.notices.pop("run", None)

    def load(self) -> tuple[Model, int] | None:
        """Make the indices of the original run, and read the one that an earlier review has trained, if there is one.

        May be called beside the page; `prepare` then adopts it.
        """
        self.original.prepare()
        return self.load_trained()

    def load_trained(self) -> tuple[Model, int] | None:
        """Read the run that was trained with decisions, and the number of the last one; None if it cannot be used."""
        if not (self.reviewed_run / MANIFEST).exists():
            return None
        try:
            self.check_run()
            model = Model(self.reviewed_run)
            store = self.store.again()  # this may be another thread
            last_id = store.trained(model.name)
            store.close()
        except (RunError, OSError) as error:
            self._leave_alone(visible(error, 200))
            return None
        if last_id is None:
            self._leave_alone("it was not trained with these decisions")
            return None
        if not self.is_child(model):
            return None
        model.prepare()
        return model, last_id

    def is_child(self, model: Model) -> bool:
        """Return whether a model was trained from the run that is in the folder now, with the same entities."""
        sides = [(getattr(model.task, side).ids, getattr(self.original.task, side).ids) for side in SIDES]
        fits = model.parent == self.run_now and all(np.array_equal(*ids) for ids in sides)
        if not fits:
            self._leave_alone("it was trained from another run")
        return fits

    def _leave_alone(self, why: str) -> None:
        self.notices["trained"] = f'{visible(self.reviewed_run)} is left alone: {why}. "Learn now" trains a new one.'

    def prepare(self, trained: tuple[Model, int] | None) -> None:
        """Enable updates of neighbours; call `update_posteriors` next."""
        self.is_prepared = True
        if trained is not None:
            self.adopt(*trained)
        self.outdated |= self.index.by_source.keys()

    def adopt(self, model: Model, last_id: int) -> list[tuple[str, str, str]]:
        """Use a model that was trained with the decisions up to `last_id`; return what it maps differently.

        It is not used if one of them was taken back since, or if it is of another run. Call `update_posteriors` next.
        """
        if not self.is_child(model) or any(id <= last_id < undo for id, undo in self.index.undone.items()):
            return []
        self.notices.pop("trained", None)
        self.n_changes, self.changes = self._differences(self.current, model)
        self.current, self.trained_id = model, last_id
        self._use_models()
        return self.changes

    def _differences(self, old: Model, new: Model) -> tuple[int, list[tuple[str, str, str]]]:
        """Count the sources that are mapped differently; list the first as (source, old target, new target)."""
        source, target = self.original.task.source, self.original.task.target
        changed = np.flatnonzero(old.matched != new.matched)
        shown = changed[:MAX_CHANGES_SHOWN].tolist()
        words = [target.display(int(n)) if n >= 0 else "none" for model in (old, new) for n in model.matched[shown]]
        before, after = words[: len(shown)], words[len(shown) :]
        return len(changed), [(source.display(n), was, now) for n, was, now in zip(shown, before, after, strict=True)]

    # What was decided

    def refresh(self) -> None:
        """Apply all new rows of the file, also those of other processes."""
        rows = self.store.read(self.index.read_to)
        self.index.read_to = rows.last_id
        self.apply_rows(rows.decisions)

    def apply_rows(self, rows: Iterable[Decision]) -> None:
        """Apply rows of the file, in any order; those that were applied before change nothing."""
        changed = self.index.apply(rows)
        if not changed:
            return
        gone = [one for one in changed if one.id not in self.index.active and one.id <= self.trained_id]
        if gone and self.current is not self.original:  # what the model was taught does not hold any more
            self.current, self.trained_id = self.original, 0
            self._use_models()
        for name in {one.reviewer for one in changed if one.reason in AUDIT}:
            self._weigh(name)
        sources = {one.source for one in changed}
        self.outdated |= sources
        if not self.lazily:
            self.update_posteriors()
        elif len(sources) <= SOURCES_PER_STEP:
            for source in sources:
                self._update_posteriors_of(source)

    def _weigh(self, reviewer: str) -> None:
        """Measure the reliability of a reviewer by the audits, which alone determine the weight of decisions."""
        measured = measure_reviewers(self.index.audits.get(reviewer, {}).values(), self.truth)
        weight = measured.get(reviewer, UNMEASURED).log_odds
        if weight != self.weights.get(reviewer, math.inf):
            self.weights[reviewer] = weight
            self.outdated |= self.index.by_source.keys()

    def _concerns_run(self, one: Decision) -> bool:
        """Return whether the entities of a decision are in the run."""
        model = self.original
        return one.source in model.source_index_of and (one.target is None or one.target in model.target_index_of)

    def update_posteriors(self, most: int | None = None) -> bool:
        """Update the posteriors for outdated sources, at most so many of them; return whether some are left."""
        if not self.is_prepared:
            return False
        for _ in range(len(self.outdated) if most is None else min(most, len(self.outdated))):
            self._update_posteriors_of(self.outdated.pop())
        return bool(self.outdated)

    def _update_posteriors_of(self, source: str) -> None:
        if not self.is_prepared:
            return
        self.outdated.discard(source)
        for posterior in self.posteriors.values():
            now = dict[tuple[int, int], float]()
            for pair, said in self.index.pair_decisions_of(source).items():
                ends = posterior.model.find_pair(*pair)
                if min(ends) >= 0:
                    weight = self.weights.get(said.reviewer, math.inf)
                    now[ends] = weight if said.same else -weight
            number = posterior.model.source_index_of.get(source, -1)
            for target in {*posterior.log_odds_of.get(number, {})} - {target for _, target in now}:
                posterior.decide((number, target), None)
            for ends, weight in now.items():
                posterior.decide(ends, weight)

    @cached_property
    def truth(self) -> dict[str, set[str]]:
        return known_targets(self.original.task)

    # Rows: those of the original run; the current one may ask about fewer

    def source_id(self, row: int) -> str:
        return str(self.original.task.source.ids[self.original.sources[row]])

    def model_of(self, row: int) -> tuple[Model, int]:
        """Return the current model and the row there; the original one if the current one has no such row."""
        place = int(self.current.row_of[self.original.sources[row]])
        return (self.current, place) if place >= 0 else (self.original, row)

    def best(self) -> np.ndarray:
        """[p]: return the probability of the first candidate of each row, up to date near the last decisions."""
        found = self.original.probability[:, 0].copy()
        if self.current is not self.original:
            place = self.current.row_of[self.original.sources]
            there = place >= 0
            found[there] = self.current.probability[place[there], 0]
        for model in {id(m): m for m in (self.original, self.current)}.values():
            posterior = self.posteriors[id(model)]
            said = [int(model.row_of[source]) for source in [*posterior.log_odds_of][-MAX_RECENT_ROWS:]]
            touched = dict.fromkeys([*[*posterior.support][-MAX_RECENT_ROWS:], *said])
            for own in touched:
                row = int(self.original.row_of[model.sources[own]]) if own >= 0 else -1
                if row >= 0 and self.model_of(row)[0] is model:
                    found[row] = float(posterior.probability(own)[0])
            rows = self.original.row_of[model.sources[posterior.rows_without_first()]]
            found[[row for row in rows.tolist() if row >= 0 and self.model_of(row)[0] is model]] = 0.0
        return found

    def card(self, row: int, place: int = 0, *, with_evidence: bool = True) -> Card:
        """Make the card of a row, about a candidate of the model in use."""
        maker, own = self.card_maker(row)
        return replace(maker(own, place, with_evidence=with_evidence and self.is_prepared), row=row)

    def card_maker(self, row: int) -> tuple[Cards, int]:
        """Return the maker of a row's card, and the row there."""
        model, own = self.model_of(row)
        return self.card_makers[id(model)], own

    def reference(self, row: int, target: int) -> str:
        """Return a reference to a pair that is shown, so that later requests are about the same pair."""
        return f"{self.original.name[:16]}-{row}-{target}"

    def resolve_reference(self, reference: str) -> tuple[int, int]:
        """Return the row of a reference, and the current place of its target among the candidates."""
        name, *numbers = reference.split("-")
        if name != self.original.name[:16] or len(numbers) != 2 or not all(map(str.isdecimal, numbers)):
            raise ValueError(STALE_CARD)
        row, target = map(int, numbers)
        if row >= len(self.original.sources):
            raise ValueError(STALE_CARD)
        model, own = self.model_of(row)
        places = np.flatnonzero(model.target[own] == target).tolist()
        if not places:
            raise ValueError(STALE_CARD)
        return row, places[0]

    def probability(self, row: int) -> float:
        model, own = self.model_of(row)
        return float(self.posteriors[id(model)].probability(own)[0])

    # What has been reached

    def contradicted(self) -> list[tuple[Decision, float]]:
        """List decisions that the evidence contradicts, decided neighbours included, with the pair's probability.

        Judged by the run as it was before the decisions, and by all others of them.
        """
        if self._contradicted is None or self._contradicted[0] != self.index.last_id:
            self.keep_contradicted(self.judge_decisions())
        assert self._contradicted is not None
        return self._contradicted[1]

    def keep_contradicted(self, judged: Iterable[tuple[Decision, float] | None]) -> None:
        """Cache the results of `judge_decisions` until the next decision."""
        self._contradicted = (self.index.last_id, [one for one in judged if one is not None])

    def judge_decisions(self) -> Iterator[tuple[Decision, float] | None]:
        """Yield for each decided source its last decision and the pair's probability if they disagree, else None."""
        posterior, model = self.posteriors[id(self.original)], self.original
        for id_ in [*self.index.by_source]:
            one = self.index.last_about(id_)
            if one is None or one.action == UNSURE:
                yield None
                continue
            target = model.find_pair(one.source, one.target or (one.others[0] if one.others else ""))[1]
            row = model.row_of_id(one.source)
            places = np.flatnonzero(model.target[row] == target).tolist() if row >= 0 else []
            p = float(posterior.probability(row, without=True)[places[0]]) if places else 0.5
            wrong = p < CONTRADICTED_BELOW if one.action == ACCEPT else p > 1 - CONTRADICTED_BELOW
            yield (one, p) if wrong else None

    @property
    def n_sources_to_decide(self) -> int:
        """Count the sources without a given link."""
        return len(self.original.sources) - len(self.truth)

    def since_trained(self) -> int:
        """Count the decisions and undos since the current model was trained."""
        return self.index.last_id - self.trained_id

    def current_mapping(self) -> Mapping:
        """Return the mapping of the model in use, with the decisions that are facts.

        May be called from another thread.
        """
        active = {id: one for id, one in sorted([*self.index.active.items()]) if id not in self.index.outside_run}
        said = pair_decisions(active.values(), self.index.several)
        sure = {pair: one for pair, one in said.items() if self.weights.get(one.reviewer, math.inf) == math.inf}
        accepted = {pair: active[one.id] for pair, one in sure.items() if one.same}
        rejected = {pair for pair, one in sure.items() if not one.same}
        return apply_decisions(self.current.mapping, accepted, rejected, self.index.several)

    def label(self, id: str | None, side: str) -> str:
        """Return the display name of an id; the id itself if it is no longer in the graph."""
        if id is None:
            return "none of them"
        number = getattr(self.original, f"{side}_index_of").get(id)
        name = id if number is None else getattr(self.original.task, side).display(number)
        return visible(name, MAX_LABEL_LENGTH)
