"""Decide about sources: which pairs of an assignment are mapped, and further targets. No torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from mixtea.calibration.calibrator import accept_at_precision
from mixtea.council.trace import voter_texts
from mixtea.decide.candidates import evidence_texts
from mixtea.decide.mapping import (
    COLUMNS,
    FURTHER_TARGET,
    GIVEN,
    MAPPED,
    MAPPED_ANYWAY,
    NO_COUNTERPART,
    NO_EVIDENCE,
    TARGET_TAKEN,
    UNSURE,
    Mapping,
)
from mixtea.errors import ConfigError
from mixtea.graph.task import Task

if TYPE_CHECKING:
    from mixtea.decide.answers import FallbackTargets, Ranked

MIN_PROBABILITY = 0.5  # of a mapped pair, unless asked otherwise
DECISIONS = (
    "", MAPPED, NO_COUNTERPART, GIVEN, TARGET_TAKEN, NO_EVIDENCE, UNSURE, MAPPED_ANYWAY,
)  # fmt: skip # stored in run folders by index
MIN_FURTHER_PROBABILITY = 0.5  # of each further target


@dataclass(frozen=True)
class Choice:
    """Choice of pairs that are mapped: those of at least MIN_PROBABILITY, unless something else is asked for.

    `best_f1` also takes less likely ones that raise the expected F1, `every` all that there are, and `precision` as
    many of the likeliest as have that precision in expectation.
    """

    best_f1: bool = False
    every: bool = False
    precision: float | None = None

    def __post_init__(self) -> None:
        q = self.precision
        if q is not None and (not isinstance(q, int | float | np.number) or not 0 < q <= 1):
            raise ConfigError(f"A precision is a number above 0 and at most 1, not {q!r:.100}.")
        if self.best_f1 + self.every + (q is not None) > 1:
            raise ConfigError("Ask for one of best F1, every source, and a precision: they exclude each other.")

    def accepted(self, probability: np.ndarray, n_matched: float) -> np.ndarray:
        """Return bool [p]: which pairs of an assignment are mapped, if `n_matched` sources have a counterpart."""
        if self.every:
            return np.ones(len(probability), dtype=bool)
        if self.precision is not None:
            return accept_at_precision(probability, float(self.precision))
        least = half_of_best_f1(probability, n_matched) if self.best_f1 else MIN_PROBABILITY
        return probability >= min(least, MIN_PROBABILITY)


DEFAULT_CHOICE = Choice()


def decision_codes(
    task: Task, source_index: np.ndarray, found: Ranked, is_assigned: np.ndarray, choice: Choice = DEFAULT_CHOICE
) -> np.ndarray:
    """Return uint8 [p], indices in DECISIONS: the decision about each source; the first reason that holds."""
    best, given = found.probability(found.target.shape[1])[:, 0], np.isin(source_index, task.linked_sources)
    no_evidence = found.no_evidence[:, 0]
    asked = is_assigned & ~no_evidence & ~given
    mapped = asked.copy()
    mapped[asked] = choice.accepted(best[asked], float(found.counterpart[~given].sum()))
    unlikely = mapped & (best < MIN_PROBABILITY) & choice.every
    alone = 1 - found.counterpart > np.where(is_assigned, best, found.likelihood.max(axis=1, initial=0.0))
    reasons = {
        GIVEN: given, NO_EVIDENCE: no_evidence, MAPPED_ANYWAY: unlikely, MAPPED: mapped, NO_COUNTERPART: alone,
        TARGET_TAKEN: ~is_assigned,
    }  # fmt: skip
    places = [np.uint8(DECISIONS.index(reason)) for reason in reasons]
    return np.select(list(reasons.values()), places, np.uint8(DECISIONS.index(UNSURE)))


def half_of_best_f1(probability: np.ndarray, n_matched: float) -> float:
    """Compute max over k of sum of the k greatest / (k + matched): half of the best F1 that can be expected.

    A mapping that is less probable than that lowers the expected F1 = 2 right / (mapped + matched).

    >>> half_of_best_f1(np.array([0.9, 0.9, 0.1]), 2.0)
    0.45
    """
    total = np.cumsum(np.sort(probability)[::-1])
    return float((total / (np.arange(1, len(total) + 1) + n_matched)).max(initial=0.0))


def make_mapping(
    task: Task, names: tuple[str, ...], source_index: np.ndarray, found: Ranked, is_assigned: np.ndarray,
    parts: dict[str, np.ndarray], choice: Choice, *, with_given: bool, fallback: FallbackTargets | None = None,
) -> Mapping:  # fmt: skip
    """Make a mapping of decisions; if every source is mapped, those without a target get one of `fallback`."""
    if fallback is not None and choice.every:
        is_left = fallback.target >= 0
        found, is_assigned = fallback.put_first(found), is_assigned | is_left
        parts = {name: np.where(is_left, np.nan, part) for name, part in parts.items()}
    decision = np.array(DECISIONS, dtype=object)[decision_codes(task, source_index, found, is_assigned, choice)]
    probability, has_second = found.probability(found.target.shape[1]), found.target.shape[1] > 1
    none, best = ~np.isin(decision, [MAPPED, MAPPED_ANYWAY, GIVEN]), probability[:, 0]
    first = task.target.ids[found.target[:, 0]].astype(object)
    voters, evidence = voter_texts(found.supporters[:, 0], names), evidence_texts(parts, len(source_index))
    first[none], voters[none], evidence[none] = None, "", ""
    frame = pd.DataFrame(
        {
            "source": task.source.ids[source_index],
            "target": pd.Series(first, dtype=object),
            "probability": np.select(
                [decision == NO_EVIDENCE, decision == NO_COUNTERPART, np.isin(decision, [TARGET_TAKEN, UNSURE])],
                [np.nan, 1 - found.counterpart, 1 - best],
                best,
            ),
            "runner_up": task.target.ids[found.target[:, 1]] if has_second else None,
            "runner_up_probability": probability[:, 1] if has_second else 0.0,
            "voters": voters,
            "given": False,
            "evidence": evidence,
            "decision": decision,
        },
        columns=list(COLUMNS),
    )
    asked = decision != GIVEN
    frame, expected = frame[asked], float(found.counterpart[asked].sum())
    if with_given:
        frame = pd.concat([given_links(task), frame])
    whole = frame.reset_index(drop=True)
    n_links, are_random = len(task.train) + len(task.valid), found.links_are_random
    return Mapping(task.source, task.target, whole, task.links_from, expected, are_random, task.slots, n_links)


class FurtherTargets(NamedTuple):
    """Places of sources and of their candidates in `Ranked`, and how likely each is."""

    row: np.ndarray
    place: np.ndarray
    probability: np.ndarray


def further_targets(
    found: Ranked, taken: np.ndarray, has_one: np.ndarray, least: float = MIN_FURTHER_PROBABILITY
) -> FurtherTargets:
    """Choose the candidates beside those that are mapped, each above `least` and given to the likeliest of its sources.

    `taken` are the targets that are mapped or linked already. A source has a further target if it has one already: it
    is mapped, or it has a link (`has_one`, bool per source).
    """
    probability = found.probability(found.target.shape[1])
    able = (probability > least) & ~found.no_evidence & ~np.isin(found.target, taken) & has_one[:, None]
    row, place = np.nonzero(able)
    sure = probability[row, place]
    order = np.lexsort((row, -sure))
    kept = np.sort(order[np.unique(found.target[row[order], place[order]], return_index=True)[1]])
    return FurtherTargets(row[kept], place[kept], sure[kept])


def add_further_targets(
    mapping: Mapping,
    task: Task,
    names: tuple[str, ...],
    source_index: np.ndarray,
    found: Ranked,
    choice: Choice = DEFAULT_CHOICE,
) -> Mapping:
    """Add further targets of the mapping's sources, and of those that are asked about again, after all others.

    These have a training link, or several links. One validation link is no reason to ask: its source is in
    `source_index` to be scored, and what is likely beside the link is a mistake. Where a precision is asked for, each
    has at least that.
    """
    frame = mapping.frame
    mapped = task.target.find(frame.loc[frame["target"].notna(), "target"].to_numpy())
    taken = np.concatenate([mapped, task.train[:, 1], task.valid[:, 1]])
    has_one = np.isin(source_index, np.r_[task.train[:, 0], task.multi_target_sources, _mapped_sources(mapping, task)])
    row, place, probability = further_targets(
        found, taken, has_one, max(MIN_FURTHER_PROBABILITY, choice.precision or 0.0)
    )
    if not len(row):
        return mapping
    ends = {
        "source": task.source.ids[source_index[row]],
        "target": task.target.ids[found.target[row, place]],
        "probability": probability,
    }
    others = {
        "runner_up": None,
        "runner_up_probability": np.nan,
        "given": False,
        "evidence": "",
        "decision": FURTHER_TARGET,
    }
    further = pd.DataFrame(ends | {"voters": voter_texts(found.supporters[row, place], names)}).assign(**others)
    rows = further[list(COLUMNS)].astype({"runner_up": object})
    return replace(mapping, frame=pd.concat([frame, rows], ignore_index=True))


def _mapped_sources(mapping: Mapping, task: Task) -> np.ndarray:
    frame = mapping.frame
    return task.source.find(frame.loc[frame["target"].notna() & ~frame["given"], "source"].to_numpy())


def scorable_links(task: Task, links: np.ndarray) -> pd.DataFrame:
    """Return links [p, 2] as ids, without those whose source has a given link, which a mapping leaves out.

    Of sources that are asked about again, since they may have several targets, only the given links are fallback out.
    """
    given, m = np.concatenate([task.train, task.valid]), max(task.target.n_entities, 1)
    is_given = np.isin(links @ [m, 1], given @ [m, 1])
    asked_again = np.isin(links[:, 0], np.setdiff1d(task.train[:, 0], task.closed_entities(0)))
    links = links[~np.where(asked_again, is_given, np.isin(links[:, 0], given[:, 0]))]
    return pd.DataFrame({"source": task.source.ids[links[:, 0]], "target": task.target.ids[links[:, 1]]})


def given_links(task: Task) -> pd.DataFrame:
    """Return the training and validation links as rows of a mapping."""
    links = np.concatenate([task.train, task.valid])
    names = {"source": task.source.ids[links[:, 0]], "target": task.target.ids[links[:, 1]]}
    others = {"probability": 1.0, "runner_up": None, "runner_up_probability": np.nan, "voters": "", "given": True}
    return pd.DataFrame(names).assign(**others, evidence="", decision=GIVEN).astype({"runner_up": object})
