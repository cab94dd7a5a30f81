"""The mapping: for each source entity one decision, with its probability, runner-up and voters."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Table
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mixtea.errors import ConfigError
from mixtea.graph.graph import Graph
from mixtea.io.formats.sssom import Slots
from mixtea.io.paths import PathOrStr, as_path
from mixtea.messages import html_table
from mixtea.voters.base import EvidenceKind

if TYPE_CHECKING:
    from mixtea.decide.clusters import Clusters

COLUMNS = (
    "source", "target", "probability", "runner_up", "runner_up_probability", "voters", "given", "evidence", "decision",
)  # fmt: skip
MAPPED, GIVEN = "mapped", "given"
NO_COUNTERPART, TARGET_TAKEN, NO_EVIDENCE = "no counterpart", "target taken", "no evidence"
FURTHER_TARGET = "further target"  # of a source that has one already
UNSURE = "unsure"  # no target is likely enough
MAPPED_ANYWAY = "mapped anyway"  # although unlikely, since every source was to be mapped
UNMAPPED_WORDS = {
    NO_COUNTERPART: "have no counterpart", TARGET_TAKEN: "lost their target to another", UNSURE: "are unsure",
    NO_EVIDENCE: "without evidence",
}  # fmt: skip
MAX_MAPPINGS_SHOWN = 10  # in a notebook
LINKS_NOT_RANDOM = (
    "the training links do not look like a random choice of the entities that have a counterpart, so sizes \
and evidence decide who has one"
)


@dataclass(frozen=True, eq=False)
class Mapping:
    """Decisions about source entities, one row each (several where a source has several targets).

    `frame` has the columns of COLUMNS: `source` and `target` are ids as in the graphs, `target` None where no
    counterpart is likelier than any; `probability` is that of the decision; `runner_up` the next candidate, or None;
    `voters` as in Candidates; `given` is true for links that were given; `evidence` is what each opinion adds to the
    score of the pair, the largest first: `names=+9.1 vectors=+7.9`; `decision` is "mapped", "no counterpart" where that
    is likelier, "target taken" where the target went to another source, "no evidence" where there is none about the
    source, "unsure" where no target is likely enough, "mapped anyway" where it is mapped all the same since every
    source was to be, "further target" where a source has several, or "given". `links_from` is that of the task.
    `expected` is how many of the sources that were asked about have a counterpart by the evidence; `links_are_random`
    whether the training links look like a random choice of such. `slots` are the SSSOM slots of given links, by their
    ids; `n_links` how many links the probabilities were learned from. `evidence_kinds` is the
    kind of evidence per opinion of a voter from outside.
    """

    source: Graph
    target: Graph
    frame: pd.DataFrame
    links_from: str = "given"
    expected: float | None = None
    links_are_random: bool = True
    slots: Table[tuple[str, str], Slots] = field(default_factory=dict)
    n_links: int = 0
    evidence_kinds: Table[str, EvidenceKind] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.frame)

    def __repr__(self) -> str:
        given = self._count(GIVEN)
        return f"Mapping({self.summary()}{f'; {given:,} given links' if given else ''})"

    def _repr_html_(self) -> str:
        """Render for notebooks: the decisions in short, and the first mappings by their labels."""
        shown = self.frame.sort_values("given", kind="stable").head(MAX_MAPPINGS_SHOWN)
        columns = ["source", "target", "probability", "decision", "evidence"]
        rows = [
            (_display(self.source, row[0]), _display(self.target, row[1]), *_in_words(*row[2:]))
            for row in shown[columns].itertuples(index=False)
        ]
        more = len(self) - len(rows)
        return html_table(repr(self), columns, [*rows, *([(f"{more:,} more", "", "", "", "")] if more else [])])

    def summary(self) -> str:
        """Count the decisions in one sentence: how many sources without a given link are mapped, and why not all.

        >>> frame = pd.DataFrame({"decision": [MAPPED, MAPPED, TARGET_TAKEN, NO_COUNTERPART, GIVEN, FURTHER_TARGET]})
        >>> Mapping(None, None, frame).summary()
        'mapped 2 of 4: 1 have no counterpart, 1 lost their target to another; 1 further target'
        """
        counts = {words: self._count(decision) for decision, words in UNMAPPED_WORDS.items()}
        others = ", ".join(f"{n:,} {words}" for words, n in counts.items() if n)
        n_anyway, more = self._count(MAPPED_ANYWAY), self._count(FURTHER_TARGET)
        n_mapped = self._count(MAPPED) + n_anyway
        return (
            f"mapped {n_mapped:,} of {n_mapped + sum(counts.values()):,}" + (f": {others}" if others else "")
            + (f"; {n_anyway:,} of them anyway, though they are not likely" if n_anyway else "")
            + (f"; {more:,} further target{'s' if more > 1 else ''}" if more else "")
        )  # fmt: skip

    def expected_quality(self) -> str:
        """State the expected precision and recall of the mapping, and what that rests on, in one sentence.

        The interval holds for 95 % if the probabilities are right. "" where nothing is mapped.
        """
        p = self.frame.loc[self.frame["target"].notna() & ~self.frame["given"], "probability"].to_numpy(dtype=float)
        if not len(p):
            return ""
        low, high = expected_interval(p)
        recall = min(1.0, float(p.sum()) / max(self.expected or 0.0, float(p.sum()), 1e-9))
        rests = f"learned from {self.n_links:,} links" if self.n_links else "a guess: no links were given"
        return (
            f"expected precision {p.mean():.3f} ({low:.3f}–{high:.3f}), recall {recall:.3f}; "
            f"the probabilities are {rests}"
        )

    def warnings(self) -> Iterator[str]:
        """Yield a sentence for each thing that may be wrong with how many are mapped."""
        if not self.links_are_random:
            yield LINKS_NOT_RANDOM

    def _count(self, decision: str) -> int:
        return int((self.frame["decision"] == decision).sum())

    def to_frame(self) -> pd.DataFrame:
        return self.frame.copy()

    def above(self, probability: float) -> Mapping:
        """Drop the mappings that are less probable, given ones apart."""
        if not isinstance(probability, int | float | np.number) or not 0 <= probability <= 1:
            raise ConfigError(f"A probability is a number from 0 to 1, not {probability!r:.100}.")
        kept = self.frame["given"] | self.frame["target"].isna() | (self.frame["probability"] >= probability)
        return replace(self, frame=self.frame[kept].reset_index(drop=True))

    def predicted(self) -> Mapping:
        """Drop the links that were given."""
        return replace(self, frame=self.frame[~self.frame["given"]].reset_index(drop=True))

    def pairs(self) -> pd.DataFrame:
        """Return the mappings alone, without the sources that have no counterpart."""
        return self.frame[self.frame["target"].notna()].reset_index(drop=True)

    def union(self, *others: Mapping) -> Mapping:
        """Join decisions of several mappings of the same two graphs, as of parts of one task.

        Parameters
        ----------
        others
            Mappings whose ids are of the same graphs.

        Returns
        -------
        Mapping
            Every pair once, with its most probable row, given links first. A source that no mapping maps has one row
            for that. Pairs that exclude each other all stay: `conflicts` lists them.

        Examples
        --------
        >>> columns = {"probability": [0.9, 0.8], "given": [False, False], "decision": [MAPPED, MAPPED]}
        >>> one, two = (Mapping(None, None, pd.DataFrame({"source": ["a", "b"], "target": ends} | columns))
        ...             for ends in (["x", "y"], ["x", "z"]))
        >>> one.union(two).frame[["source", "target"]].values.tolist()
        [['a', 'x'], ['b', 'y'], ['b', 'z']]
        """
        rows = pd.concat([of.frame for of in (self, *others)], ignore_index=True)
        rows = rows.sort_values(["given", "probability"], ascending=False, kind="stable")
        has_target = rows["target"].notna()
        mapped = rows[has_target].drop_duplicates(["source", "target"])
        none = rows[~has_target & ~rows["source"].isin(mapped["source"])].drop_duplicates("source")
        found = pd.concat([mapped, none]).sort_index()
        numbers = [of.expected for of in (self, *others)]
        expected = None if None in numbers else float(sum(n for n in numbers if n is not None))
        return replace(
            self, frame=found.reset_index(drop=True), expected=expected,
            links_are_random=all(of.links_are_random for of in (self, *others)),
            n_links=max(of.n_links for of in (self, *others)),
        )  # fmt: skip

    def clusters(self) -> Clusters:
        """Return the mapped pairs as clusters of the graphs source and target; ends that pairs share make them one."""
        from mixtea.decide.clusters import Clusters

        return Clusters.of_mappings({("source", "target"): self}, one_per_graph=False)

    def conflicts(self) -> pd.DataFrame:
        """Return the mapped pairs that share an end with another one, each group of rivals with the likeliest first.

        Further targets of a source, and links that were given, are no conflict with each other. The column `shared` is
        the end that has several: source or target.

        >>> frame = pd.DataFrame({"source": ["a", "b", "c"], "target": ["x", "x", "y"], "probability": [0.6, 0.9, 0.8],
        ...                       "given": [False] * 3, "decision": [MAPPED] * 3})
        >>> Mapping(None, None, frame).conflicts()[["source", "target", "shared"]].values.tolist()
        [['b', 'x', 'target'], ['a', 'x', 'target']]
        """
        pairs, found = self.pairs(), []
        for end in ("source", "target"):
            rivals = pairs[pairs.duplicated(end, keep=False)]
            if end == "source":
                rivals = rivals[rivals["decision"] != FURTHER_TARGET]
            is_fact = rivals["given"].groupby(rivals[end]).transform("all")
            rivals = rivals[~is_fact]
            rivals = rivals[rivals.duplicated(end, keep=False)]
            found.append(rivals.assign(shared=end).sort_values([end, "probability"], ascending=[True, False]))
        return pd.concat(found, ignore_index=True)

    def write(self, path: PathOrStr, *, overwrite: bool = False, **about: Any) -> int:
        """Write the mapping to a file, whole or not at all; the ending of its name chooses the format.

        Parameters
        ----------
        path
            The file: .tsv for links, .sssom.tsv, .nt or .ttl for RDF, .rdf for the OAEI's Alignment format, .parquet,
            .csv or .json.
        overwrite
            Replace a file that is there already.
        about
            Description of the file, fields of `mixtea.export.metadata.MappingMetadata`: `title`, `licence`, `set_id`,
            `date`, `predicate`, `with_unmapped`, `source_namespace` and others.

        Returns
        -------
        int
            The number of mappings in the file.

        Raises
        ------
        ConfigError
            No format has this ending, or a field of `about` is unknown or wrong.
        RunError
            The file is there already, cannot be written, or cannot hold one of the ids.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from mixtea import MixTEA, load_example
        >>> mapping = MixTEA(preset="paper", max_epochs=2, seed=1).fit(load_example()).map()
        >>> with TemporaryDirectory() as folder:
        ...     mapping.write(f"{folder}/m.sssom.tsv", title="The world") == len(mapping.pairs())
        True
        """
        from mixtea.export.formats import write_new_mapping  # a later room, imported on use alone

        return write_new_mapping(self, as_path(path, "path"), about, overwrite=overwrite)


def expected_interval(probability: np.ndarray) -> tuple[float, float]:
    """Return where the share of right pairs lies in 95 of 100 cases, if each is right with its probability.

    >>> expected_interval(np.full(100, 0.9))
    (0.8412, 0.9588)
    """
    spread = 1.96 * float(np.sqrt((probability * (1 - probability)).sum())) / len(probability)
    mean = float(probability.mean())
    return round(max(0.0, mean - spread), 4), round(min(1.0, mean + spread), 4)


def _display(graph: Graph, id: Any) -> str:
    """Return the display name of an entity; "" where there is none."""
    if id is None or pd.isna(id):
        return ""
    place = int(graph.find(np.array([id], dtype=object))[0])
    return graph.display(place) if place >= 0 else str(id)


def _in_words(probability: float, *others: str) -> tuple[str, ...]:
    return ("" if pd.isna(probability) else f"{probability:.3f}", *others)
