"""Literal values vote: entities of which the same is said, whatever the predicates are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mixtea.vote.likeness import LikenessVoter
from mixtea.vote.voter import Cost, Evidence

if TYPE_CHECKING:
    from mixtea.vote.attribute_opinions import AttributeOpinions

SHOWN = 5  # values in an explanation
LONGEST = 60  # characters of a value that are shown


class Attributes(LikenessVoter):
    """Log-odds that two entities are the same by their literals; no opinion where nothing can be compared."""

    name = "attributes"
    needs = ("attributes",)

    def has_needed(self) -> bool:
        graphs = (self.task.source, self.task.target)
        return any(graph.n_attribute_triples for graph in graphs) and super().has_needed()

    def new_opinions(self) -> AttributeOpinions:
        from mixtea.vote.attribute_opinions import AttributeOpinions

        return AttributeOpinions(self.task)

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """Values of both side by side, the same first, and what all of them say for the pair."""
        from mixtea.vote.values import form_of

        if self.known is None:
            return ()
        score = self.known.score_of(self.name, source, target)
        rows = []
        theirs = [(p, v, form_of(v, kind)) for p, v, _, kind in self.task.target.attributes_of(target)]
        for predicate, value, _, kind in self.task.source.attributes_of(source):
            form = form_of(value, kind)
            for other, text, found in theirs:
                shared = len(set(form.words.split()) & set(found.words.split()))
                if form.whole and shared:
                    alike = 1.0 if form.whole == found.whole else 0.5
                    rows.append((alike, f"{predicate}: {value[:LONGEST]} ~ {other}: {text[:LONGEST]}"))
        shown = sorted(rows, key=lambda row: -row[0])[:SHOWN]
        weight = (0.0 if score is None else score) / max(sum(alike for alike, _ in shown), 1)
        return [Evidence(what, weight * alike) for alike, what in shown]

    def cost(self) -> Cost:
        n = self.task.source.n_attribute_triples + self.task.target.n_attribute_triples
        return Cost(mib=n * 2000 / 2**20, products=0.1)
