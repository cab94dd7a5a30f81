"""A task: two graphs and the links between them, split into training, validation and test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mixtea.graph.graph import Graph
from mixtea.graph.joint_index import JointIndex
from mixtea.graph.synonym_groups import Groups, merge_groups
from mixtea.messages import html_table, visible, whole_text

if TYPE_CHECKING:
    from mixtea.io.columns.hints import ComparedColumns
    from mixtea.io.formats.sssom import Slots

SPLITS = ("train", "valid", "test")
MULTI_TARGET_SHARE = 0.1  # of the linked sources have several targets: then any of them may have more than are given
MAX_TASK_NAME_LENGTH = 200  # characters that are shown


class Reviewed(NamedTuple):
    """Uncertain decisions of people about pairs [p, 2]: log-odds [p] of a match, by the reviewers' reliability."""

    pairs: np.ndarray
    log_odds: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """Two graphs and int64 [p, 2] arrays of links (source index, target index).

    `rejected` are pairs that somebody decided are not the same; none of them is a link. `name` has escapes for half
    characters, as of a file whose name is not UTF-8. `links_from` is the origin of the links to learn from: "given";
    "names", where train and valid are empty; or the entities with the same "ids". `slots` is the metadata of SSSOM
    files about the links to learn from, by their ids. `reviewed` are decisions of people who are known to err.
    `synonyms` are groups of plain names with one meaning on either side, sorted within and among each other. `compared`
    are columns that the user has connected, weighed or called keys.
    """

    name: str
    source: Graph
    target: Graph
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    fold: int | None = None
    warnings: tuple[str, ...] = ()
    rejected: np.ndarray = field(default_factory=lambda: no_links())
    links_from: str = "given"
    slots: Mapping[tuple[str, str], Slots] = field(default_factory=dict)
    reviewed: Reviewed = field(default_factory=lambda: Reviewed(no_links(), np.empty(0)))
    synonyms: Groups = ()
    compared: tuple[ComparedColumns, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", whole_text(self.name))
        object.__setattr__(
            self, "synonyms", merge_groups(self.synonyms)
        )  # in one order, so that equal tasks are equal files

    @property
    def joint_index(self) -> JointIndex:
        """Return the joint numbering of the entities of all graphs."""
        return JointIndex((self.source.n_entities, self.target.n_entities))

    @cached_property
    def multi_target_sources(self) -> np.ndarray:
        """Return the sources with several targets among the links to learn from."""
        links = np.unique(np.concatenate([self.train, self.valid]), axis=0)
        source, n_targets = np.unique(links[:, 0], return_counts=True)
        return source[n_targets > 1]

    @property
    def multi_target_share(self) -> float:
        """Return the share of the linked sources that have several targets."""
        n_linked = len(self.linked_sources)
        return len(self.multi_target_sources) / n_linked if n_linked else 0.0

    def may_have_multiple_targets(self, source: np.ndarray) -> np.ndarray:
        """Return bool [p]: whether each of the sources [p] may have several targets.

        A source may that has several already; any may where many linked sources have several. An index below 0 may not.

        Examples
        --------
        >>> from mixtea import load_task
        >>> chain = [("a", "r", "b"), ("b", "r", "c")]
        >>> links = [("a", "a"), ("a", "b"), ("b", "c")]
        >>> task = load_task(source=chain, target=chain, links=links, valid_links=[("c", "c")])
        >>> task.may_have_multiple_targets(np.array([0, 1, 2, -1])).tolist()  # one of three has: that is many
        [True, True, True, False]
        """
        source = np.asarray(source, dtype=np.int64)
        if self.multi_target_share >= MULTI_TARGET_SHARE:
            return source >= 0
        return np.isin(source, self.multi_target_sources)

    @cached_property
    def multi_target_ids(self) -> frozenset[str]:
        """Return the ids of the sources that may have several targets."""
        may: np.ndarray = self.may_have_multiple_targets(np.arange(self.source.n_entities))
        return frozenset(self.source.ids[may].tolist())

    @property
    def linked_sources(self) -> np.ndarray:
        """Return the sources with a link to learn from, each once."""
        return np.union1d(self.train[:, 0], self.valid[:, 0])

    def closed_entities(self, side: int) -> np.ndarray:
        """Return the entities of a side (0 the source) that are not mapped since they have a training link.

        A source that may have several targets may have more than are given.
        """
        if side == 1:
            return self.train[:, 1]
        linked = np.unique(self.train[:, 0])
        return linked[~self.may_have_multiple_targets(linked)]

    def unlabelled(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the source and the target entities with a relation triple and without a training link.

        Structure has no evidence on isolated ones.
        """
        source, target = (
            np.setdiff1d(np.flatnonzero(~graph.isolated()), self.closed_entities(side))
            for side, graph in enumerate((self.source, self.target))
        )
        return source, target

    def __repr__(self) -> str:
        sides = " <-> ".join(
            f"{g.n_entities:,} entities{_kind_text(g)}, {g.n_relations:,} relations, {g.n_triples:,} triples"
            for g in (self.source, self.target)
        )
        links = ", ".join(f"{len(getattr(self, s)):,} {s}" for s in SPLITS)
        fold = f", fold {self.fold}" if self.fold is not None else ""
        rejected = f"; {len(self.rejected):,} rejected" if len(self.rejected) else ""
        said = "links" if self.links_from == "given" else f"links from {self.links_from}"
        return f"Task({visible(self.name, MAX_TASK_NAME_LENGTH)}{fold}: {sides}; {said}: {links}{rejected})"

    def _repr_html_(self) -> str:
        """Show the sizes of both graphs, and the links, in notebooks."""
        counts = ("n_entities", "n_relations", "n_triples", "n_attribute_triples")
        header = ("", "entities", "relations", "triples", "attribute triples", "labels")
        rows = [
            (side, *(f"{getattr(graph, name):,}" for name in counts), f"{len(graph.labels):,}")
            for side, graph in (("source", self.source), ("target", self.target))
        ]
        return html_table(repr(self), header, rows)


def no_links() -> np.ndarray:
    return np.empty((0, 2), dtype=np.int64)


def _kind_text(graph: Graph) -> str:
    found = graph.kind_counts()
    return f" ({', '.join(f'{n:,} {kind}' for kind, n in found.items())})" if found else ""
