"""Clusters: the entities of any number of graphs that are the same thing, joined from decided pairs."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as Table
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mixtea.decide.mapping import Mapping
from mixtea.errors import DataError
from mixtea.io.paths import PathOrStr, as_path

COLUMNS = ("cluster", "graph", "id", "probability")
PAIR_COLUMNS = ("graph", "id", "other_graph", "other_id", "probability")


@dataclass(frozen=True, eq=False)
class Clusters:
    """Entities that are the same, cluster by cluster.

    `frame` has the columns of COLUMNS, sorted by cluster, graph and id: the number of the cluster, the name of the
    graph, the id of the entity there, and the probability of the surest pair that joins the entity to its cluster.

    Examples
    --------
    >>> pairs = [("a", "1", "b", "x", 0.9), ("b", "x", "c", "p", 0.8), ("a", "2", "c", "p", 0.6)]
    >>> Clusters.of_pairs(pairs).frame.values.tolist()  # p is with 1 already, so 2 stays alone
    [[0, 'a', '1', 0.9], [0, 'b', 'x', 0.9], [0, 'c', 'p', 0.8]]
    >>> Clusters.of_pairs(pairs, one_per_graph=False).conflicts()["id"].tolist()
    ['1', '2']
    """

    frame: pd.DataFrame

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[str, str, str, str, float]], *, one_per_graph: bool = True) -> Clusters:
        """Join pairs of entities, the likeliest first.

        Parameters
        ----------
        pairs
            Of each pair a graph and an id in it, another graph and an id in that, and the probability of the pair.
        one_per_graph
            Leave a pair out that would put two entities of a graph into one cluster.

        Returns
        -------
        Clusters
            Those of at least two entities, numbered in the order of the first of their entities.

        Raises
        ------
        DataError
            A probability is not a number from 0 to 1.
        """
        cluster_of: dict[tuple[str, str], int] = {}
        members: dict[int, dict[tuple[str, str], float]] = {}
        ends_of = (((one, id), (other, other_id), p) for one, id, other, other_id, p in pairs)
        ordered = [(-p, min(first, second), max(first, second)) for first, second, p in ends_of]
        if any(not -1 <= negative <= 0 for negative, _, _ in ordered):
            raise DataError("A probability of a pair is a number from 0 to 1.")
        for negative, first, second in sorted(ordered):
            for end in (ends := (first, second)):
                if end not in cluster_of:
                    cluster_of[end] = len(cluster_of)
                    members[cluster_of[end]] = {end: 0.0}
            kept, joined = sorted((cluster_of[end] for end in ends), key=lambda number: -len(members[number]))
            if kept == joined or (one_per_graph and _graphs(members[kept]) & _graphs(members[joined])):
                continue
            for end in members[joined]:
                cluster_of[end] = kept
            members[kept] |= members.pop(joined)
            members[kept] |= {end: max(members[kept][end], -negative) for end in ends}
        return cls._of_members(members.values())

    @classmethod
    def of_mappings(cls, mappings: Table[tuple[str, str], Mapping], *, one_per_graph: bool = True) -> Clusters:
        """Join the mappings between several graphs, each by the names of its source and target graph.

        >>> columns = {"probability": [0.9], "given": [False], "decision": ["mapped"]}
        >>> ab, bc = (Mapping(None, None, pd.DataFrame({"source": [s], "target": [t]} | columns))
        ...           for s, t in (("1", "x"), ("x", "p")))
        >>> Clusters.of_mappings({("a", "b"): ab, ("b", "c"): bc}).frame["id"].tolist()
        ['1', 'x', 'p']
        """
        ends = ["source", "target", "probability"]
        return cls.of_pairs(
            (
                (source_graph, source, target_graph, target, probability)
                for (source_graph, target_graph), mapping in mappings.items()
                for source, target, probability in mapping.pairs()[ends].itertuples(index=False)
            ),
            one_per_graph=one_per_graph,
        )

    @classmethod
    def _of_members(cls, members: Iterable[dict[tuple[str, str], float]]) -> Clusters:
        found = sorted(sorted((*end, p) for end, p in group.items()) for group in members if len(group) > 1)
        rows = [(number, *row) for number, group in enumerate(found) for row in group]
        columns = zip(*rows, strict=True) if rows else [()] * len(COLUMNS)
        kinds = (np.int64, object, object, np.float64)  # texts as they are: Arrow's could not hold half characters
        return cls(
            pd.DataFrame({n: pd.Series(list(c), dtype=k) for n, c, k in zip(COLUMNS, columns, kinds, strict=True)})
        )

    def __len__(self) -> int:
        return int(self.frame["cluster"].nunique())

    def __repr__(self) -> str:
        graphs = self.frame["graph"].nunique()
        return f"Clusters({len(self):,} of {len(self.frame):,} entities in {graphs:,} graphs)"

    def pairs(self) -> pd.DataFrame:
        """Return every pair of entities of a cluster, with the columns of PAIR_COLUMNS and the cluster.

        The probability of a pair is that of the less sure of its two entities.
        """
        rows = self.frame.reset_index(names="place")
        both = rows.merge(rows, on="cluster", suffixes=("", "_other"))
        both = both[both["place"] < both["place_other"]].reset_index(drop=True)
        both["probability"] = both[["probability", "probability_other"]].min(axis=1)
        both = both.rename(columns={"graph_other": "other_graph", "id_other": "other_id"})
        return both[["cluster", *PAIR_COLUMNS]]

    def union(self, *others: Clusters, one_per_graph: bool = True) -> Clusters:
        """Join the clusters with those of others, as of parts of one task."""
        stars = [one._star() for one in (self, *others)]
        pairs = (row for star in stars for row in star[list(PAIR_COLUMNS)].itertuples(index=False, name=None))
        return Clusters.of_pairs(pairs, one_per_graph=one_per_graph)

    def _star(self) -> pd.DataFrame:
        """Return the pairs of the surest entity of each cluster with its others, which keep their probabilities."""
        order = self.frame.sort_values("probability", ascending=False, kind="stable")
        hubs = order.drop_duplicates("cluster").set_index("cluster")
        others = order[order.duplicated("cluster")]
        hub = hubs.loc[others["cluster"], ["graph", "id"]].reset_index(drop=True)
        ends = others[["graph", "id", "probability"]].reset_index(drop=True)
        return pd.concat([hub, ends.rename(columns={"graph": "other_graph", "id": "other_id"})], axis=1)

    def conflicts(self) -> pd.DataFrame:
        """Return the entities that share their cluster with another one of the same graph."""
        return self.frame[self.frame.duplicated(["cluster", "graph"], keep=False)].reset_index(drop=True)

    def write(self, path: PathOrStr, *, overwrite: bool = False) -> int:
        """Write a row per entity to a .tsv, .csv or .json file, whole or not at all; return how many.

        Raises ConfigError for another ending, RunError if the file exists, cannot be written or cannot hold an id.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Clusters.of_pairs([("a", "1", "b", "x", 0.9)]).write(f"{folder}/clusters.tsv")
        2
        """
        from mixtea.export.formats import write_clusters  # a later room, imported on use alone

        return write_clusters(self, as_path(path, "path"), overwrite=overwrite)

    def sizes(self) -> np.ndarray:
        """Return [n]: the number of entities of each cluster."""
        return self.frame.groupby("cluster").size().to_numpy()


def _graphs(members: Table[tuple[str, str], float]) -> set[str]:
    return {graph for graph, _ in members}
