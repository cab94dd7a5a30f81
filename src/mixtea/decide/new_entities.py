"""Candidates and decisions of entities that are matched with a finished run. No torch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mixtea.decide.answers import Answers
from mixtea.decide.choose import MIN_PROBABILITY
from mixtea.decide.mapping import GIVEN, MAPPED, NO_COUNTERPART, NO_EVIDENCE, TARGET_TAKEN, UNSURE
from mixtea.graph.graph import Graph

COLUMNS = ("source", "target", "rank", "probability", "if_free", "decision", "taken_by", "stored")


@dataclass(frozen=True, eq=False)
class Matches:
    """Candidates of entities that were matched with a finished run, and the decisions about them.

    `frame` has a row per candidate, with the columns of COLUMNS: `probability` is how likely the pair is a match,
    `if_free` how likely it would be if no other entity had the target, `taken_by` the source that has the target, ""
    for none. `decision` is given at the first candidate, or at the one that is mapped: as in `Mapping.frame`. `stored`
    is true where the entity is in the run as it is, so that the run's answer was returned. An entity without a
    candidate has a row without a target. `warnings` are about what was read.
    """

    target: Graph
    frame: pd.DataFrame
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return int((self.frame["decision"] != "").sum())

    def __repr__(self) -> str:
        return f"Matches({self.summary()})"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per candidate; what is mapped first, then by how likely each is if its target were free."""
        return self.frame.copy()

    def decisions(self) -> pd.DataFrame:
        """Return a row per entity: source, target (None where there is none), probability, decision, taken_by, stored.

        The probability and `taken_by` are those of the best candidate, whether it is mapped or not.
        """
        found = self.frame[self.frame["decision"] != ""].drop(columns=["rank", "if_free"]).reset_index(drop=True)
        has = found["decision"].isin([MAPPED, GIVEN])
        targets = [target if here else None for target, here in zip(found["target"], has, strict=True)]
        return found.assign(target=pd.Series(targets, dtype=object))

    def summary(self) -> str:
        """Count the mapped ones, in words."""
        counts = self.frame["decision"].value_counts()
        n_mapped = int(counts.get(MAPPED, 0) + counts.get(GIVEN, 0))
        others = [
            f"{counts[name]:,} {name}"
            for name in (NO_COUNTERPART, TARGET_TAKEN, UNSURE, NO_EVIDENCE)
            if counts.get(name, 0)
        ]
        return f"mapped {n_mapped:,} of {len(self):,}" + (f": {', '.join(others)}" if others else "")

    def label(self, target: str | None) -> str | None:
        """Return the label of a target that is a candidate, by its id; None if it has none."""
        return self._labels.get(target)

    @cached_property
    def _labels(self) -> dict[str | None, str | None]:
        ids = self.frame["target"].dropna().unique()
        return {id: self.target.label(place) for id, place in zip(ids, self.target.find(ids).tolist(), strict=True)}

    def to_objects(self) -> list[dict[str, Any]]:
        """Return an object per entity, as JSON has it, with its candidates and their labels."""
        found = []
        for (_, row), (_, of) in zip(
            self.decisions().iterrows(), self.frame.groupby("source", sort=False), strict=True
        ):
            there = of[of["target"].notna()]
            columns = there[["target", "probability", "if_free", "taken_by"]].to_dict("records")
            candidates = [{**one, "label": self.label(one["target"])} for one in columns]
            probability = None if np.isnan(row["probability"]) else row["probability"]
            found.append({**row.to_dict(), "probability": probability, "candidates": candidates})
        return found


class TargetOwners(NamedTuple):
    """The source of each target in a run, by given links or decisions: `by` [m] the id of the source, "" for none."""

    by: np.ndarray
    probability: np.ndarray

    @classmethod
    def of(cls, answers: Answers) -> TargetOwners:
        frame = answers.mapping(with_given=True).frame
        mapped = frame[frame["target"].notna()]
        place = answers.task.target.find(mapped["target"].to_numpy(dtype=object))
        by = np.full(answers.task.target.n_entities, "", dtype=object)
        probability = np.zeros(len(by))
        by[place], probability[place] = mapped["source"].to_numpy(), mapped["probability"].to_numpy(float)
        return cls(by, probability)

    def without(self, sources: np.ndarray) -> TargetOwners:
        """Free the targets of these sources, by id."""
        gone = np.isin(self.by, sources)
        return TargetOwners(np.where(gone, "", self.by), np.where(gone, 0.0, self.probability))


def decide_new(
    ids: np.ndarray, known: np.ndarray, target: np.ndarray, probability: np.ndarray, if_free: np.ndarray,
    taken: TargetOwners, *, once: bool,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Decide about n entities by their candidates [n, k], the best first, -1 for none: (decisions [n], owners).

    `known` [n] is true where there is evidence. Where targets are given `once`, the likeliest of those that want one
    gets it, unless its owner is at least as likely; owners [n, k] are the sources that have each target then.
    """
    first = probability[:, 0]
    wants = first >= MIN_PROBABILITY
    by = np.where(target >= 0, taken.by[np.maximum(target, 0)], "")
    gets = wants.copy()
    if once:
        gets &= first > taken.probability[np.maximum(target[:, 0], 0)]
        order = np.flatnonzero(gets)[np.argsort(-first[gets], kind="stable")]
        wanted_targets, winner = np.unique(target[order, 0], return_index=True)
        gets[:] = False
        gets[order[winner]] = True
        owner = dict(zip(wanted_targets.tolist(), ids[order[winner]].tolist(), strict=True))
        lost = np.flatnonzero(wants & ~gets)
        for row in lost.tolist():
            by[row, 0] = owner.get(int(target[row, 0]), by[row, 0])
    loses = (wants & ~gets) | ((if_free[:, 0] >= MIN_PROBABILITY) & (by[:, 0] != "") & once)
    alone = 1 - probability.sum(axis=1) > first
    reasons = {MAPPED: gets, NO_EVIDENCE: ~known, TARGET_TAKEN: loses, NO_COUNTERPART: alone}
    return np.select(list(reasons.values()), list(reasons), UNSURE), by
