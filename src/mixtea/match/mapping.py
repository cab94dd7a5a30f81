"""The mapping: for each source entity one decision, with its probability, its rival, and who spoke for it."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Table
from dataclasses import dataclass, field, replace

import pandas as pd

from mixtea.data.formats.sssom_slots import Slots
from mixtea.data.graph import Graph

COLUMNS = (
    "source", "target", "probability", "runner_up", "runner_up_probability", "voters", "given", "evidence", "decision",
)  # fmt: skip
MAPPED, ALONE, TAKEN, UNKNOWN, GIVEN = "mapped", "no counterpart", "target taken", "no evidence", "given"
WORDS = {ALONE: "have no counterpart", TAKEN: "lost their target to another", UNKNOWN: "without evidence"}
FEWER, MORE = 2 / 3, 3 / 2  # as many mappings as should be, times this: beyond, something is said
CHOSEN_LINKS = "the training links do not look like a random choice of the entities that have a counterpart, so sizes \
and evidence decide who has one"


@dataclass(frozen=True, eq=False)
class Mapping:
    """Decisions about source entities, a row each (several where one-to-many was asked for).

    `frame` has the columns of COLUMNS: `source` and `target` are ids as in the graphs, `target` None where no
    counterpart is likelier than any; `probability` is that of the decision; `runner_up` the next candidate, or None;
    `voters` as in Candidates; `given` is true for links that were given; `evidence` is what each opinion adds to the
    score of the pair, the largest first: `names=+9.1 vectors=+7.9`; `decision` is "mapped", "no counterpart" where that
    is likelier, "target taken" where the target went to another source, "no evidence" where nothing is known of the
    source, or "given". `links_from` is that of the task. `expected` is how many of the sources that were asked about
    have a counterpart by the evidence, None where all were to be mapped; `links_are_random` whether the training links
    look like a random choice of such. `slots` is what SSSOM files said of given links, by their ids.
    """

    source: Graph
    target: Graph
    frame: pd.DataFrame
    links_from: str = "given"
    expected: float | None = None
    links_are_random: bool = True
    slots: Table[tuple[str, str], Slots] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        given = self._count(GIVEN)
        return f"Mapping({self.summary()}{f'; {given:,} given links' if given else ''})"

    def summary(self) -> str:
        """What was decided, in one sentence: how many of the sources without a given link are mapped, and why not all.

        >>> frame = pd.DataFrame({"decision": [MAPPED, MAPPED, TAKEN, ALONE, GIVEN]})
        >>> Mapping(None, None, frame).summary()
        'mapped 2 of 4: 1 have no counterpart, 1 lost their target to another'
        """
        counts = {words: self._count(decision) for decision, words in WORDS.items()}
        others = ", ".join(f"{n:,} {words}" for words, n in counts.items() if n)
        n_mapped = self._count(MAPPED)
        return f"mapped {n_mapped:,} of {n_mapped + sum(counts.values()):,}" + (f": {others}" if others else "")

    def doubts(self) -> Iterator[str]:
        """What may be wrong with how many are mapped, a sentence each."""
        n = self._count(MAPPED)
        if self.expected is not None and not FEWER * self.expected <= n <= MORE * self.expected:
            yield f"{n:,} are mapped, though by the evidence about {self.expected:,.0f} have a counterpart"
        if not self.links_are_random:
            yield CHOSEN_LINKS

    def _count(self, decision: str) -> int:
        return int((self.frame["decision"] == decision).sum())

    def to_frame(self) -> pd.DataFrame:
        return self.frame.copy()

    def above(self, probability: float) -> Mapping:
        """Without the mappings that are less probable, given ones apart."""
        kept = self.frame["given"] | self.frame["target"].isna() | (self.frame["probability"] >= probability)
        return replace(self, frame=self.frame[kept].reset_index(drop=True))

    def predicted(self) -> Mapping:
        """Without the links that were given."""
        return replace(self, frame=self.frame[~self.frame["given"]].reset_index(drop=True))

    def pairs(self) -> pd.DataFrame:
        """The mappings alone, without the sources that have no counterpart."""
        return self.frame[self.frame["target"].notna()].reset_index(drop=True)
