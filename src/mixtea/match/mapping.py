"""The mapping: for each source entity one decision, with its probability, its rival, and who spoke for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

from mixtea.data.graph import Graph

COLUMNS = ("source", "target", "probability", "runner_up", "runner_up_probability", "voters", "given", "evidence")


@dataclass(frozen=True, eq=False)
class Mapping:
    """Decisions about source entities, a row each (several where one-to-many was asked for).

    `frame` has the columns of COLUMNS: `source` and `target` are ids as in the graphs, `target` None where no
    counterpart is likelier than any; `probability` is that of the decision; `runner_up` the next candidate, or None;
    `voters` as in Candidates; `given` is true for links that were given; `evidence` is what each opinion adds to the
    score of the pair, the largest first: `names=+9.1 vectors=+7.9`. `links_from` is that of the task.
    """

    source: Graph
    target: Graph
    frame: pd.DataFrame
    links_from: str = "given"

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        n = int(self.frame["target"].notna().sum())
        return f"Mapping({n:,} mappings, {len(self) - n:,} source entities without a counterpart)"

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
