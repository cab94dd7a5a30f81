"""The voter `attributes`: entities with equal or similar literal values, whatever the predicates are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mixtea.voters.base import Cost, Evidence
from mixtea.voters.similarity import SimilarityVoter

if TYPE_CHECKING:
    from mixtea.voters.attributes.opinions import AttributeOpinions, ComparedValues

MAX_VALUES_SHOWN = 5  # values in an explanation
MAX_SHOWN_LENGTH = 60  # characters of a value that are shown


class Attributes(SimilarityVoter):
    """Log-odds that two entities are the same by their literals; no opinion where nothing can be compared."""

    name = "attributes"
    needs = ("attributes",)
    evidence = "lexical"

    def is_applicable(self) -> bool:
        graphs = (self.task.source, self.task.target)
        return any(graph.n_attribute_triples for graph in graphs) and super().is_applicable()

    def new_opinions(self) -> AttributeOpinions:
        from mixtea.voters.attributes.opinions import AttributeOpinions

        return AttributeOpinions(self.task)

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """Return compared values side by side, each with its share of the score; ≠ where they have nothing in common.

        Similar values share a positive score, different ones a negative one. The predicates are those that the links
        alone align.
        """
        score = self.known.weight_of(self.name, source, target) if self.known is not None else None
        if score is None:
            return ()
        rows = self.opinions_by_links().compared(source, target)
        if not rows:
            return () if np.isnan(score) else [Evidence("values that training has shown to be the same", score)]
        parts = np.array([row.counts * (1 - row.alike if score < 0 else row.alike) for row in rows])
        weights = score * (parts / parts.sum() if parts.sum() > 0 else np.full(len(rows), 1 / len(rows)))
        order = np.argsort(-parts, kind="stable")
        shown = [Evidence(_side_by_side(rows[place]), float(weights[place])) for place in order[:MAX_VALUES_SHOWN]]
        rest = order[MAX_VALUES_SHOWN:]
        return [*shown, *([Evidence(f"{len(rest):,} more values", float(weights[rest].sum()))] if len(rest) else [])]

    def opinions_by_links(self) -> AttributeOpinions:
        """Return its opinions by the links alone, as for a run that was read from its folder."""
        opinions: AttributeOpinions = self.opinions()
        opinions.learn(np.empty((0, 2), dtype=np.int64))
        return opinions

    def cost(self) -> Cost:
        n = self.task.source.n_attribute_triples + self.task.target.n_attribute_triples
        return Cost(mib=n * 2000 / 2**20, products=0.1)


def _side_by_side(row: ComparedValues) -> str:
    """Write two values as `born: 1990-05-03 ~ geboren: 3.5.1990`."""
    ours, theirs = (f"{predicate}: {value[:MAX_SHOWN_LENGTH]}" for predicate, value in (row.source, row.target))
    return f"{ours} {'~' if row.is_alike else '≠'} {theirs}"
