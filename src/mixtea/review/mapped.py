"""The mapping under review: that of the current model with the decisions, and its most precise part."""

from __future__ import annotations

from collections.abc import Collection, Container
from collections.abc import Mapping as Table
from dataclasses import replace

import numpy as np
import pandas as pd

from mixtea.calibration.calibrator import accept_at_precision
from mixtea.decide.mapping import COLUMNS, GIVEN, Mapping
from mixtea.io.formats.sssom import Slots
from mixtea.review.decision import Decision

CURATED = "https://w3id.org/semapv/vocab/ManualMappingCuration"
Pair = tuple[str, str]  # ids of a source and a target


def apply_decisions(
    mapping: Mapping, accepted: Table[Pair, Decision], rejected: Collection[Pair], several: Container[str]
) -> Mapping:
    """Return the pairs of a mapping with the decisions: accepted ones are given links, and remove their rivals.

    Parameters
    ----------
    mapping
        The mapping of a model.
    accepted, rejected
        Pairs of ids that are the same, each with its decision, and those that are not.
    several
        The ids of the sources that may have several targets: they also keep undecided ones.
    """
    sources = {source for source, _ in accepted if source not in several}
    targets = {target for _, target in accepted}
    decided = {*rejected}
    frame = mapping.pairs()
    ends = zip(frame["source"], frame["target"], strict=True)
    kept = [one not in decided and one[0] not in sources and one[1] not in targets for one in ends]
    predicted = frame[np.array(kept, dtype=bool)]
    rows = pd.concat([_links(accepted), predicted], ignore_index=True) if accepted else predicted
    n_known = len({source for source, _ in accepted} & {*mapping.frame["source"]})  # which were expected to have one
    return replace(
        mapping, frame=rows.reset_index(drop=True), expected=max((mapping.expected or 0.0) - n_known, 0.0),
        slots=dict(mapping.slots) | {pair: _slots(one) for pair, one in accepted.items()},
    )  # fmt: skip


def most_precise(mapping: Mapping, precision: float | None) -> Mapping:
    """Return the largest part of the predicted pairs with that expected precision, given links apart; None: all.

    Examples
    --------
    >>> frame = pd.DataFrame({"source": ["a", "b", "c"], "probability": [0.6, 0.9, 1.0], "given": [False, False, True]})
    >>> most_precise(Mapping(None, None, frame), 0.9).frame["source"].tolist()
    ['b', 'c']
    """
    if precision is None:
        return mapping
    kept = mapping.frame["given"].to_numpy(dtype=bool, copy=True)
    kept[~kept] = accept_at_precision(mapping.frame["probability"].to_numpy(dtype=float)[~kept], precision)
    return replace(mapping, frame=mapping.frame[kept].reset_index(drop=True))


def precision_summary(mapping: Mapping, precision: float) -> str:
    """Return how much of a mapping has the precision that was asked for, and what is expected of it."""
    n_accepted = int(mapping.frame["given"].sum())
    n, wanted = len(mapping.frame) - n_accepted, f"{100 * precision:g} %"
    accepted = "1 accepted pair is" if n_accepted == 1 else f"{n_accepted:,} accepted pairs are"
    beside = f" {accepted} exported too." if n_accepted else ""
    if not n:
        return f"No part of the mapping has an expected precision of {wanted}.{beside}"
    pairs = "1 pair" if n == 1 else f"{n:,} pairs"
    return (
        f"The largest part of the mapping for a precision of {wanted}: {pairs}, {mapping.expected_quality()}.{beside}"
    )


def _links(accepted: Table[Pair, Decision]) -> pd.DataFrame:
    """Return accepted pairs as rows of a mapping."""
    others = {"probability": 1.0, "runner_up": None, "runner_up_probability": np.nan, "voters": "", "given": True}
    ends = pd.DataFrame(list(accepted), columns=["source", "target"], dtype=object)
    return ends.assign(**others, evidence="", decision=GIVEN)[list(COLUMNS)].astype({"runner_up": object})


def _slots(one: Decision) -> Slots:
    """Return the SSSOM slots of an accepted pair."""
    return {"mapping_justification": CURATED, "author_label": one.reviewer, "mapping_date": one.at[:10]}
