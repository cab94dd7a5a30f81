"""A run with the indices of the review page: a row per source with its candidates, rivals and neighbours."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np

from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.decide.choose import DECISIONS
from mixtea.decide.mapping import MAPPED, Mapping
from mixtea.relations.neighbours import Neighbourhood, neighbourhood
from mixtea.runs.folder import SEAL
from mixtea.runs.reader import StoredRun

MIN_RIVAL_PROBABILITY = 1e-3  # of a candidate, to count as a rival


class Model:
    """Contents of a run folder, with the indices that a page needs. Rows are sources that are asked about.

    `target` [p, k] are the candidates, the mapped one first; `probability` [p, k] their probabilities, `named`
    [p, k, v] the voters for each, `is_mapped` [p] whether the first is in the mapping. `name` is the checksum of the
    run's manifest, `parent` that of the run from which its training began, "" for none.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.run = folder, StoredRun(folder)
        self.name, self.parent = self.run.about[SEAL], self.run.about.get("parent", "")
        self.task, answers = self.run.task_, self.run.answers_
        self.sources, self.voters = answers.source_index, answers.voter_names
        k = answers.ranked.target.shape[1]
        mapped = answers.decisions == DECISIONS.index(MAPPED)
        self.is_mapped: np.ndarray = mapped.any(axis=1)
        order = np.argsort(~mapped, axis=1, kind="stable") if k else np.empty((len(self.sources), 0), dtype=np.int64)
        self.target: np.ndarray = np.take_along_axis(answers.ranked.target, order, axis=1)
        self.probability: np.ndarray = np.take_along_axis(answers.ranked.probability(k), order, axis=1)
        self.named: np.ndarray = np.take_along_axis(answers.ranked.supporters, order[:, :, None], axis=1)
        self.parts = {name: part[:, 0] for name, part in answers.parts.items()}
        self.row_of = np.full(self.task.source.n_entities, -1, dtype=np.int64)
        self.row_of[self.sources] = np.arange(len(self.sources))
        self.valid: dict[int, set[int]] = {}
        for source, target in self.task.valid.tolist():
            self.valid.setdefault(source, set()).add(target)

    @cached_property
    def mapping(self) -> Mapping:
        """Return the mapping of the run; takes a moment for large graphs."""
        return self.run.answers_.mapping()

    @cached_property
    def known(self) -> ScoredPairs:
        return self.run.answers_.known()

    @cached_property
    def neighbourhood(self) -> Neighbourhood:
        """Return which pairs support which through the triples; takes a moment for large graphs."""
        return neighbourhood(self.task, self.known, self.run.config.shared_relations)

    @cached_property
    def rows_by_target(self) -> tuple[np.ndarray, np.ndarray]:
        """Return for each target the rows that may have it, most probable first: flat places, and starts by target."""
        likely = np.flatnonzero(self.probability > MIN_RIVAL_PROBABILITY)
        flat = self.target.ravel()[likely]
        order = np.lexsort([-self.probability.ravel()[likely], flat])
        return likely[order], np.searchsorted(flat[order], np.arange(self.task.target.n_entities + 1))

    def rivals(self, target: int) -> list[tuple[int, int]]:
        """Return (row, place among its candidates) of the sources that might have a target, most probable first."""
        order, starts = self.rows_by_target
        found = order[starts[target] : starts[target + 1]]
        k = max(self.target.shape[1], 1)
        return list(zip((found // k).tolist(), (found % k).tolist(), strict=True))

    @cached_property
    def matched(self) -> np.ndarray:
        """[n]: return the target of each source by given links and by the mapping, -1 for none."""
        found = np.full(self.task.source.n_entities, -1, dtype=np.int64)
        found[self.sources[self.is_mapped]] = self.target[self.is_mapped, 0]
        for links in (self.task.valid, self.task.train):
            found[links[:, 0]] = links[:, 1]
        return found

    def prepare(self) -> None:
        """Make all indices now, so that no request waits for them later."""
        self.neighbourhood.prepare()
        _ = (self.rows_by_target, self.matched, self.task.source.degrees, self.source_index_of, self.target_index_of)

    def find_pair(self, source: str, target: str) -> tuple[int, int]:
        """Return the indices of two ids, -1 for one that is not in its graph."""
        return self.source_index_of.get(source, -1), self.target_index_of.get(target, -1)

    def row_of_id(self, source: str) -> int:
        """Return the row of a source by its id, -1 if it has none."""
        number = self.source_index_of.get(source, -1)
        return int(self.row_of[number]) if number >= 0 else -1

    def ends(self, row: int, place: int = 0) -> tuple[int, int]:
        """Return the indices of the source of a row and of its candidate at a place."""
        return int(self.sources[row]), int(self.target[row, place])

    def voters_for(self, row: int, place: int = 0) -> list[str]:
        """Return the voters for a candidate."""
        return [name for name, there in zip(self.voters, self.named[row, place], strict=True) if there]

    @cached_property
    def source_index_of(self) -> dict[str, int]:
        return {id: number for number, id in enumerate(self.task.source.ids.tolist())}

    @cached_property
    def target_index_of(self) -> dict[str, int]:
        return {id: number for number, id in enumerate(self.task.target.ids.tolist())}
