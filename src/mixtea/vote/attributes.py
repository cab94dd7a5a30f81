"""Literal values vote: entities of which the same is said, whatever the predicates are called."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mixtea.data.graph import Graph
from mixtea.data.labels import RANKS
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
        if self.known is None:
            return ()
        score = self.known.score_of(self.name, source, target)
        rows = []
        theirs = list(_compared(self.task.target, target))
        for what, whole, words in _compared(self.task.source, source):
            for other, other_whole, other_words in theirs:
                if not words.isdisjoint(other_words):
                    rows.append((1.0 if whole == other_whole else 0.5, f"{what} ~ {other}"))
        shown = sorted(rows, key=lambda row: -row[0])[:SHOWN]
        weight = (0.0 if score is None else score) / max(sum(alike for alike, _ in shown), 1)
        return [Evidence(what, weight * alike) for alike, what in shown]

    def cost(self) -> Cost:
        n = self.task.source.n_attribute_triples + self.task.target.n_attribute_triples
        return Cost(mib=n * 2000 / 2**20, products=0.1)


def _compared(graph: Graph, entity: int) -> Iterator[tuple[str, str, set[str]]]:
    """Each value of an entity but for labels, which are names: in words, as a whole, and what it shares with others."""
    from mixtea.vote.values import form_of

    for predicate, value, _, kind in graph.attributes_of(entity):
        form = form_of(value, kind)
        if form.whole and predicate not in RANKS:
            yield f"{predicate}: {value[:LONGEST]}", form.whole, set(form.words.split())
