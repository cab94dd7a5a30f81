"""A task: graphs and the links between them, split into training, validation and test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mixtea.errors import DataError
from mixtea.graph.graph import SIDES, Graph
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


class Links(NamedTuple):
    """Pairs [p, 2] of entities by joint index, the entity of the earlier graph first: links, and rejected pairs."""

    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    rejected: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """Any number of graphs, the links between them, and which entities are asked about.

    `links` are those to learn from, to validate and to test with, and `rejected` pairs that somebody decided are not
    the same; none of these is a link. `asked` is true for the entities that are to be mapped, by joint index; the
    others are context: they are learned from, and compete for targets. None: all are asked about.

    A task of two graphs, which `Task.of_two` makes, also has them as `source` and `target`, and its pairs by the entity
    indices of these, as `train`, `valid`, `test`, `rejected` and `reviewed`; `replace` changes them by these names.

    `name` has escapes for half characters, as of a file whose name is not UTF-8. `links_from` is the origin of the
    links to learn from: "given"; "names", where train and valid are empty; or the entities with the same "ids". `slots`
    is the metadata of SSSOM files about the links to learn from, by their ids. `opinions` are decisions of people who
    are known to err, by joint index. `synonyms` are groups of plain names with one meaning in any graph, sorted within
    and among each other. `compared` are columns that the user has connected, weighed or called keys.

    Examples
    --------
    >>> from mixtea import load_graph
    >>> chains = [load_graph([(f"{x}1", "r", f"{x}2"), (f"{x}2", "r", f"{x}3")]) for x in "abc"]
    >>> links = Links(np.array([[0, 3], [3, 6], [1, 7]]), no_links(), no_links(), no_links())
    >>> task = Task("three chains", tuple(chains), links)
    >>> task.between(0, 2).train.tolist(), task.between(1, 2).train.tolist()
    ([[1, 1]], [[0, 0]])
    """

    name: str
    graphs: tuple[Graph, ...]
    links: Links
    fold: int | None = None
    warnings: tuple[str, ...] = ()
    links_from: str = "given"
    slots: Mapping[tuple[str, str], Slots] = field(default_factory=dict)
    opinions: Reviewed = field(default_factory=lambda: Reviewed(no_links(), np.empty(0)))
    synonyms: Groups = ()
    compared: tuple[ComparedColumns, ...] = ()
    asked: np.ndarray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", whole_text(self.name))
        object.__setattr__(
            self, "synonyms", merge_groups(self.synonyms)
        )  # in one order, so that equal tasks are equal files
        if self.asked is not None:
            asked = np.asarray(self.asked, dtype=bool)
            if asked.shape != (self.joint_index.n,):
                raise DataError(f"asked has {asked.size:,} values for {self.joint_index.n:,} entities.")
            object.__setattr__(self, "asked", asked)

    @classmethod
    def of_two(
        cls, name: str, source: Graph, target: Graph, train: np.ndarray, valid: np.ndarray, test: np.ndarray,
        **others: Any,
    ) -> Task:  # fmt: skip
        """Make a task of two graphs from links int64 [p, 2] (source index, target index).

        `others` are further fields, or `rejected` and `reviewed` pairs of such indices.

        >>> from mixtea import load_graph
        >>> chain, none = load_graph([("a", "r", "b")]), no_links()
        >>> task = Task.of_two("two", chain, chain, np.array([[0, 1]]), none, none)
        >>> task.train.tolist(), task.links.train.tolist(), task.replace(train=none).train.tolist()
        ([[0, 1]], [[0, 3]], [])
        """
        empty = cls(name, (source, target), Links(*[no_links()] * 4))
        return empty.replace(train=train, valid=valid, test=test, **others)

    def replace(self, **changes: Any) -> Task:
        """Return a copy with other fields; of two graphs also `source`, `target`, splits, `rejected` and `reviewed`."""
        sides = [changes.pop(side, getattr(self, side)) for side in SIDES if len(self.graphs) == len(SIDES)]
        pairs = {name: changes.pop(name) for name in (*Links._fields, "reviewed") if name in changes}
        if tuple(sides) != self.graphs and sides:
            pairs = {name: getattr(self, name) for name in (*Links._fields, "reviewed")} | pairs
            changes["graphs"] = tuple(sides)
        if pairs:
            joint = JointIndex(tuple(graph.n_entities for graph in changes.get("graphs", self.graphs)))
            if (reviewed := pairs.pop("reviewed", None)) is not None:
                changes["opinions"] = Reviewed(joint.of_pairs(reviewed.pairs), reviewed.log_odds)
            changes["links"] = self.links._replace(**{name: joint.of_pairs(found) for name, found in pairs.items()})
        return replace(self, **changes)

    @property
    def sides(self) -> tuple[str, ...]:
        """Return the name of each graph: source and target where there are two."""
        return SIDES if len(self.graphs) == len(SIDES) else tuple(f"graph {i + 1}" for i in range(len(self.graphs)))

    @property
    def source(self) -> Graph:
        """Return the first of two graphs."""
        return self._two()[0]

    @property
    def target(self) -> Graph:
        """Return the second of two graphs."""
        return self._two()[1]

    @cached_property
    def train(self) -> np.ndarray:
        """Return the training links of two graphs, by entity index."""
        return self._pairs(self.links.train)

    @cached_property
    def valid(self) -> np.ndarray:
        """Return the validation links of two graphs, by entity index."""
        return self._pairs(self.links.valid)

    @cached_property
    def test(self) -> np.ndarray:
        """Return the test links of two graphs, by entity index."""
        return self._pairs(self.links.test)

    @cached_property
    def rejected(self) -> np.ndarray:
        """Return the rejected pairs of two graphs, by entity index."""
        return self._pairs(self.links.rejected)

    @cached_property
    def reviewed(self) -> Reviewed:
        """Return the uncertain decisions of people about pairs of two graphs, by entity index."""
        return Reviewed(self._pairs(self.opinions.pairs), self.opinions.log_odds)

    def _two(self) -> tuple[Graph, ...]:
        if len(self.graphs) != len(SIDES):
            raise DataError(f"{self.name}: a task of {len(self.graphs)} graphs; task.between(i, j) is that of two.")
        return self.graphs

    def _pairs(self, joint: np.ndarray) -> np.ndarray:
        self._two()
        found = self.joint_index.to_pairs(joint)
        found.flags.writeable = joint.flags.writeable  # not in what voters from outside are given
        return found

    @cached_property
    def joint_index(self) -> JointIndex:
        """Return the joint numbering of the entities of all graphs."""
        return JointIndex(tuple(graph.n_entities for graph in self.graphs))

    def is_asked(self, side: int) -> np.ndarray:
        """Return bool [n]: the entities of a graph that are asked about."""
        rows = self.joint_index.rows(side)
        return np.ones(self.graphs[side].n_entities, dtype=bool) if self.asked is None else self.asked[rows]

    def between(self, first: int, second: int) -> Task:
        """Return the task of two of the graphs, with the links between these; DataError if there are no such two."""
        if first == second or not {first, second} <= set(range(len(self.graphs))):
            raise DataError(f"between({first}, {second}): name two of the {len(self.graphs)} graphs by number, from 0.")
        kept = np.isin(self.joint_index.side_of(np.arange(self.joint_index.n)), [first, second])
        inside = self.subtask(kept)
        graphs = tuple(inside.graphs[side] for side in sorted((first, second)))
        found = replace(inside, graphs=graphs)
        if len(self.graphs) > len(SIDES):
            learned_from = np.concatenate([found.train, found.valid])
            ids = zip(*(graph.ids[learned_from[:, side]].tolist() for side, graph in enumerate(graphs)), strict=True)
            found = replace(found, slots={pair: self.slots[pair] for pair in ids if pair in self.slots})
        if first < second:
            return found
        slots = {(target, source): held for (source, target), held in found.slots.items()}
        compared = tuple(one._replace(source=one.target, target=one.source) for one in found.compared)
        turned = {name: getattr(found, name)[:, ::-1] for name in Links._fields}
        reviewed = Reviewed(found.reviewed.pairs[:, ::-1], found.reviewed.log_odds)
        sides = found.joint_index.rows(1), found.joint_index.rows(0)
        asked = None if found.asked is None else np.concatenate([found.asked[rows] for rows in sides])
        return found.replace(
            source=graphs[1], target=graphs[0], **turned, reviewed=reviewed, asked=asked, slots=slots, compared=compared
        )

    def subtask(self, kept: np.ndarray, asked: np.ndarray | None = None) -> Task:
        """Return the task of some entities, as of a block with what surrounds it.

        Parameters
        ----------
        kept
            bool [n] by joint index. Triples and pairs stay where both ends do; all graphs stay, be they empty.
        asked
            bool [n] by joint index: the entities that are asked about, where these are not those of before.

        Returns
        -------
        Task
            A task whose entities have the order that they had.

        Examples
        --------
        >>> from mixtea import load_graph
        >>> graph, none = load_graph([("a", "r", "b"), ("b", "r", "c")]), no_links()
        >>> task = Task.of_two("two", graph, graph, np.array([[0, 0], [2, 2]]), none, none)
        >>> part = task.subtask(np.array([True, True, False] * 2), asked=np.array([True, False, False] * 2))
        >>> part.train.tolist(), part.source.ids.tolist(), part.asked.tolist()
        ([[0, 0]], ['a', 'b'], [True, False, True, False])
        """
        place = np.cumsum(kept) - 1
        joint, asked = self.joint_index, self.asked if asked is None else asked
        graphs = tuple(graph.subgraph(kept[joint.rows(side)]) for side, graph in enumerate(self.graphs))
        judged = kept[self.opinions.pairs].all(axis=1)
        return replace(
            self, graphs=graphs, links=Links(*(place[pairs[kept[pairs].all(axis=1)]] for pairs in self.links)),
            opinions=Reviewed(place[self.opinions.pairs[judged]], self.opinions.log_odds[judged]),
            asked=None if asked is None else asked[kept],
        )  # fmt: skip

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

    def open_sources(self) -> np.ndarray:
        """Return the sources that can be mapped: those that no training link closes."""
        return np.setdiff1d(np.arange(self.source.n_entities), self.closed_entities(0))

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
            for g in self.graphs
        )
        links = ", ".join(f"{len(getattr(self.links, s)):,} {s}" for s in SPLITS)
        fold = f", fold {self.fold}" if self.fold is not None else ""
        rejected = f"; {len(self.links.rejected):,} rejected" if len(self.links.rejected) else ""
        rejected += f"; {self.asked.sum():,} entities are asked about" if self.asked is not None else ""
        said = "links" if self.links_from == "given" else f"links from {self.links_from}"
        return f"Task({visible(self.name, MAX_TASK_NAME_LENGTH)}{fold}: {sides}; {said}: {links}{rejected})"

    def _repr_html_(self) -> str:
        """Show the sizes of the graphs, and the links, in notebooks."""
        counts = ("n_entities", "n_relations", "n_triples", "n_attribute_triples")
        header = ("", "entities", "relations", "triples", "attribute triples", "labels")
        rows = [
            (side, *(f"{getattr(graph, name):,}" for name in counts), f"{len(graph.labels):,}")
            for side, graph in zip(self.sides, self.graphs, strict=True)
        ]
        return html_table(repr(self), header, rows)


def no_links() -> np.ndarray:
    return np.empty((0, 2), dtype=np.int64)


def _kind_text(graph: Graph) -> str:
    found = graph.kind_counts()
    return f" ({', '.join(f'{n:,} {kind}' for kind, n in found.items())})" if found else ""
