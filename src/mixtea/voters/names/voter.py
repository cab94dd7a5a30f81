"""The voter `names`: entities with similar names, in any script and, learned from links, in two languages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mixtea.graph.text_column import TextColumn
from mixtea.text.names import comparison_form, entity_names
from mixtea.voters.base import Cost, Evidence
from mixtea.voters.similarity import SimilarityVoter

if TYPE_CHECKING:
    from mixtea.voters.names.opinions import NameOpinions

MAX_NAMES_SHOWN = 5  # names of an entity in an explanation
MAX_NAMES_COMPARED = 200  # of which the most alike are looked for


class Names(SimilarityVoter):
    """Log-odds that two entities are the same by their names; no opinion where one of them has no name."""

    name = "names"
    evidence = "lexical"

    def new_opinions(self) -> NameOpinions:
        from mixtea.voters.names.opinions import NameOpinions

        return NameOpinions(self.task)

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """Return the names of both side by side, the most similar first on either side, with their score."""
        weight = self.known.weight_of(self.name, source, target) if self.known is not None else None
        ours, theirs = _most_alike_first(self._names(0, source), self._names(1, target))
        if weight is None or not ours or not theirs:
            return ()
        shown = (", ".join(f"“{name}”" for name in names[:MAX_NAMES_SHOWN]) for names in (ours, theirs))
        return [Evidence(" ~ ".join(shown), weight)]

    def _names(self, side: int, entity: int) -> list[str]:
        owner, texts = self._texts[side]
        return [texts[int(row)] for row in (owner == entity).nonzero()[0]]

    @cached_property
    def _texts(self) -> list[tuple[np.ndarray, TextColumn]]:
        return [entity_names(graph) for graph in (self.task.source, self.task.target)]

    def cost(self) -> Cost:
        n = self.task.source.n_entities + self.task.target.n_entities
        return Cost(mib=n * 4000 / 2**20, products=0.1)


def _most_alike_first(ours: list[str], theirs: list[str]) -> tuple[list[str], list[str]]:
    """Sort names by the cosine with the most similar of the other side, MAX_NAMES_COMPARED per side at most."""
    from mixtea.compute.ngrams import ngram_counts, sparse_unit_rows

    forms = [{name: comparison_form(name) for name in names} for names in (ours, theirs)]
    same = set(forms[0].values()) & set(forms[1].values())
    sides = [
        [name for equal in (True, False) for name, form in of.items() if form and (form in same) is equal][
            :MAX_NAMES_COMPARED
        ]
        for of in forms
    ]
    if not all(sides):
        return [], []
    rows = ngram_counts(*([of[name] for name in side] for of, side in zip(forms, sides, strict=True)))
    alike = (sparse_unit_rows(rows[0]) @ sparse_unit_rows(rows[1]).T).toarray()
    orders = (np.argsort(-alike.max(axis=axis), kind="stable") for axis in (1, 0))
    first, second = ([side[place] for place in order] for side, order in zip(sides, orders, strict=True))
    return first, second
