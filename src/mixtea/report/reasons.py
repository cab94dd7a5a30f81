"""Why a mapping: what each opinion adds to its score, and what each voter has to say for it."""

from __future__ import annotations

import math
from typing import Any

from mixtea.aligner import MixTEA
from mixtea.config import VECTOR_VOTERS

MOST = 4  # reasons of a voter that are shown


class Why:
    """Of the first candidate of a row of an aligner's answers."""

    def __init__(self, aligner: MixTEA) -> None:
        self.answers, self.explain = aligner.answers_, aligner.explainer()
        self.evidence = self.answers.evidence()

    def __call__(self, row: int) -> dict[str, Any]:
        """`evidence`: what each opinion adds; `reasons`: by what speaks for the pair, the voters that say so."""
        said = self.explain(int(self.answers.free[row]), int(self.answers.ranked.target[row, 0]))
        reasons: dict[str, list[str]] = {}
        for _, rows in said[~said["voter"].isin(VECTOR_VOTERS)].groupby(
            "voter", sort=False
        ):  # the cosine is in the score
            for voter, what, weight in rows.head(MOST).itertuples(index=False):
                if not math.isnan(weight):
                    reasons.setdefault(what, []).append(voter)
        return {"evidence": [part.replace("=", " ") for part in self.evidence[row].split()], "reasons": reasons}
