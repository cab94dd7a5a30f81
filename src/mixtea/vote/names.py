"""Names vote: entities that are called alike, in any script and, where links teach it, in two languages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mixtea.data.names import entity_names
from mixtea.vote.likeness import LikenessVoter
from mixtea.vote.voter import Cost, Evidence

if TYPE_CHECKING:
    from mixtea.vote.name_opinions import NameOpinions

SHOWN = 5  # names of an entity in an explanation


class Names(LikenessVoter):
    """Log-odds that two entities are the same by what they are called; no opinion where one of them has no name."""

    name = "names"

    def new_opinions(self) -> NameOpinions:
        from mixtea.vote.name_opinions import NameOpinions

        return NameOpinions(self.task)

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """The names of both side by side, and what they say for the pair."""
        ours, theirs = (self._shown(side, end) for side, end in ((0, source), (1, target)))
        if not ours or not theirs or self.known is None:
            return ()
        score = self.known.score_of(self.name, source, target)
        return [Evidence(f"{ours} ~ {theirs}", 0.0 if score is None else score)]

    def _shown(self, side: int, entity: int) -> str:
        """`“Paris”, “Paname”`."""
        if "_texts" not in self.__dict__:
            self.__dict__["_texts"] = [entity_names(graph) for graph in (self.task.source, self.task.target)]
        owner, texts = self.__dict__["_texts"][side]
        return ", ".join(f"“{texts[int(row)]}”" for row in (owner == entity).nonzero()[0][:SHOWN])

    def cost(self) -> Cost:
        n = self.task.source.n_entities + self.task.target.n_entities
        return Cost(mib=n * 4000 / 2**20, products=0.1)
