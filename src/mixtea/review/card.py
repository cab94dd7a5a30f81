"""Everything about a pair for one screen: texts side by side with differences marked, voters, neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from mixtea.config import VECTOR_VOTERS
from mixtea.explain.side_by_side import DIFFERS, LEFT, PENDING, RIGHT, SAME, SideBySide
from mixtea.explain.value_lines import Line, Marked, mark_differences, value_lines
from mixtea.graph.graph import Graph, display_name
from mixtea.graph.terms import TYPE
from mixtea.messages import visible
from mixtea.review.decision import Share
from mixtea.review.model import Model
from mixtea.review.posterior import Effect, Posterior
from mixtea.voters.structure import VECTORS_GROUP

MAX_VALUES_SHOWN, MAX_NEIGHBOURS_SHOWN, MAX_REASONS_SHOWN = 24, 30, 4
MAX_ALTERNATIVES = 9  # as many as there are keys
MAX_RIVALS_COMPARED, MAX_RIVALS_SHOWN = 10, 5
MAX_VALUE_CHARS = 300  # characters of a value
TYPES = TYPE | {"P31", "http://www.wikidata.org/prop/direct/P31", "http://www.wikidata.org/entity/P31", "type", "a"}
NEIGHBOUR_WORDS = {SAME: "in both", DIFFERS: "differs", LEFT: "only left", RIGHT: "only right"}
MAX_ENTITIES_CACHED, MAX_CARDS_CACHED = 4096, 64
MAX_NODES_DRAWN, MAX_NODE_CHARS, MAX_EDGE_CHARS = 40, 60, 40  # of the picture of a neighbourhood
T = TypeVar("T")


class Cache(Generic[T]):
    """Cache of the last results of a function by its arguments; usable from several threads."""

    def __init__(self, function: Callable[..., T], size: int) -> None:
        self.function, self.size = function, size
        self.found: dict[Hashable, T] = {}

    def __call__(self, *key: Hashable) -> T:
        if key in self.found:
            return self.found[key]
        result = self.function(*key)
        if len(self.found) >= self.size:
            self.found = dict([*self.found.items()][self.size // 2 :])
        self.found[key] = result
        return result

    def peek(self, *key: Hashable) -> T | None:
        """Return a remembered result, None if there is none."""
        return self.found.get(key)


class Entity(NamedTuple):
    """An entity with its display texts; `address` is empty unless it is on the web."""

    label: str
    id: str
    address: str
    types: tuple[str, ...]
    triples: int
    others: tuple[str, ...] = ()  # further labels


class NeighbourLine(NamedTuple):
    """A neighbour on one side or on both, by index, -1 for none, and the relations that lead to it."""

    state: str
    left_by: str
    left: int
    right_by: str
    right: int


class Texts(NamedTuple):
    """Texts of a pair, independent of decisions: values, as far as they are compared at once, and all triples."""

    values: tuple[list[Line], int]  # the first of them, and how many there are
    ours: list[tuple[str, int]]
    theirs: list[tuple[str, int]]


class VoterEvidence(NamedTuple):
    """A voter: whether it votes for the pair, its score contribution (None for no opinion), and its evidence."""

    name: str
    favours: bool
    adds: float | None
    reasons: list[tuple[str, float]]


class Alternative(NamedTuple):
    """Another target of the source, or another source of the target: its index there, and its probability."""

    number: int
    entity: Entity
    probability: float


@dataclass(frozen=True)
class Card:
    """One screen about a row: the pair of the source and its first candidate, with the evidence for and against it."""

    row: int
    source: Entity
    target: Entity
    names: tuple[Marked, Marked]
    values: list[Line]
    neighbours: list[Line]
    voter_evidence: list[VoterEvidence] | None
    alternatives: list[Alternative]
    rivals: list[Alternative]
    probability: float
    pattern: Share
    effect: Effect | None
    more_values: int = 0
    more_neighbours: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def compares_values(self) -> bool:
        """Return whether both sides have a value in one of the rows."""
        return any(line.state not in (LEFT, RIGHT) for line in self.values)

    @property
    def waits(self) -> bool:
        """Return whether values or evidence are still pending."""
        return self.voter_evidence is None and any(line.state == PENDING for line in self.values)

    @property
    def verdict(self) -> str:
        return "the same" if self.probability >= 0.5 else "not the same"


class Cards:
    """Makes cards of a model's rows.

    Slow parts that do not depend on decisions (`entity`, `texts`, `voter_evidence`) are cached, and may be made in
    another thread before they are needed; the rest reads the posterior and belongs to one thread.
    """

    def __init__(self, model: Model, posterior: Posterior) -> None:
        self.model, self.posterior = model, posterior
        self.entity = Cache(lambda side, number: entity(getattr(model.task, side), number), MAX_ENTITIES_CACHED)
        self.compared_at_once = SideBySide(model.task)
        self.name = Cache(self._name, MAX_ENTITIES_CACHED)
        self.texts = Cache(self._texts, MAX_CARDS_CACHED)
        self.values = Cache(self._values, MAX_CARDS_CACHED)
        self.voter_evidence = Cache(self._voter_evidence, MAX_CARDS_CACHED)

    def prepare(self, row: int, place: int = 0) -> None:
        """Make the texts of a card and all entities on it; may be called from another thread."""
        model = self.model
        source, target = model.ends(row, place)
        self.texts(source, target)
        self.entity("source", source)
        for other in model.target[row].tolist():
            self.entity("target", other)
        for rival, _ in model.rivals(target)[:MAX_RIVALS_COMPARED]:
            self.entity("source", int(model.sources[rival]))

    def __call__(self, row: int, place: int = 0, *, with_evidence: bool = True) -> Card:
        """Make the card of a row, about its candidate at a place; without evidence only what is cached of it."""
        source, target = self.model.ends(row, place)
        probability = self.posterior.probability(row)
        left, right, texts = self.entity("source", source), self.entity("target", target), self.texts(source, target)
        neighbours = self._neighbours(texts)
        counts = dict.fromkeys(NEIGHBOUR_WORDS, 0) | Counter(beside.state for beside in neighbours)
        lines = [self._line(beside) for beside in neighbours[:MAX_NEIGHBOURS_SHOWN]]
        order = [place, *(other for other in np.argsort(-probability, kind="stable").tolist() if other != place)]
        targets = self.model.target[row].tolist()
        options = [
            Alternative(targets[other], self.entity("target", targets[other]), float(probability[other]))
            for other in order[:MAX_ALTERNATIVES]
        ]
        voices = self.voter_evidence(row, place) if with_evidence else self.voter_evidence.peek(row, place)
        effect = self.posterior.preview((source, target)) if voices is not None else None
        values, n_values = self.values.peek(source, target) or texts.values
        return Card(
            row, left, right, mark_differences(left.label, right.label), values, lines, voices, options,
            self._rivals(row, target), float(probability[place]), self.pattern_of(row, place), effect,
            max(n_values - MAX_VALUES_SHOWN, 0), max(len(neighbours) - MAX_NEIGHBOURS_SHOWN, 0), counts,
        )  # fmt: skip

    def _rivals(self, row: int, target: int) -> list[Alternative]:
        """Return other sources that might have the target, most probable first."""
        found = []
        others = (one for one in self.model.rivals(target)[:MAX_RIVALS_COMPARED] if one[0] != row)
        for other, place in islice(others, MAX_RIVALS_SHOWN):
            number = int(self.model.sources[other])
            own = float(self.posterior.probability(other)[place])
            found.append(Alternative(number, self.entity("source", number), own))
        return sorted(found, key=lambda one: -one.probability)

    def _voter_evidence(self, row: int, place: int) -> list[VoterEvidence]:
        """Return the voters with an opinion on the pair, largest contribution first; both directions share one.

        Its values are compared too, since they wait for the same index.
        """
        model = self.model
        source, target = model.ends(row, place)
        self.values(source, target)
        said = model.run.explain(source, target)
        reasons: dict[str, list[tuple[str, float]]] = {}
        for voter, what, weight in said.itertuples(index=False):
            reasons.setdefault(voter, []).append((visible(what, MAX_VALUE_CHARS), float(weight)))
        found = []
        for number, name in enumerate(model.voters):
            part = model.parts.get(VECTORS_GROUP if name in VECTOR_VOTERS else name)
            is_scored = place == 0 and model.is_mapped[row] and part is not None and not np.isnan(part[row])
            adds = float(part[row]) if is_scored and part is not None else None
            own = reasons.get(name, [])[:MAX_REASONS_SHOWN]
            if own or adds is not None or model.named[row, place, number]:
                found.append(VoterEvidence(name, bool(model.named[row, place, number]), adds, own))
        return sorted(found, key=lambda one: (not one.favours, -(one.adds or 0.0)))

    def pattern_of(self, row: int, place: int = 0) -> Share:
        """Return how often candidates with the same voters are right, by the validation links."""
        return self._patterns.get(self.model.named[row, place].tobytes(), Share(0, 0))

    @cached_property
    def _patterns(self) -> dict[bytes, Share]:
        found: dict[bytes, Share] = {}
        for source, targets in self.model.valid.items():
            row = int(self.model.row_of[source])
            if row >= 0 and self.model.target.shape[1]:
                key, right = self.model.named[row, 0].tobytes(), int(self.model.target[row, 0]) in targets
                before = found.get(key, Share(0, 0))
                found[key] = Share(before.met + right, before.of + 1)
        return found

    def _texts(self, source: int, target: int) -> Texts:
        values, task = value_lines(self.compared_at_once, source, target, MAX_VALUES_SHOWN), self.model.task
        return Texts(values, relation_steps(task.source, source), relation_steps(task.target, target))

    def _values(self, source: int, target: int) -> tuple[list[Line], int]:
        """Compare values as the attribute voter does, which may take long for the first pair."""
        return value_lines(self.model.run.side_by_side, source, target, MAX_VALUES_SHOWN)

    def _neighbours(self, texts: Texts) -> list[NeighbourLine]:
        """Return the triples of both entities, those with matched other ends first."""
        ours, theirs = texts.ours, texts.theirs
        there: dict[int, list[str]] = {}
        for relation, other in theirs:
            there.setdefault(other, []).append(relation)
        both, only, used = [], [], set()
        for relation, other in ours:
            match = self.match(other)
            if match in there:
                used.add(match)
                by = relation if relation in there[match] else there[match][0]
                both.append(NeighbourLine(SAME, relation, other, by, match))
            elif match >= 0:
                only.append(NeighbourLine(DIFFERS, relation, other, "is elsewhere:", match))
            else:
                only.append(NeighbourLine(LEFT, relation, other, "", -1))
        alone = [NeighbourLine(RIGHT, "", -1, relation, end) for relation, end in theirs if end not in used]
        return both + only + alone

    def _line(self, beside: NeighbourLine) -> Line:
        left, right = (
            [(self.name(side, number), False)] if number >= 0 else []
            for side, number in (("source", beside.left), ("target", beside.right))
        )
        return Line(beside.state, beside.left_by, left, beside.right_by, right)

    def _name(self, side: str, number: int) -> str:
        return visible(getattr(self.model.task, side).display(number), MAX_VALUE_CHARS)

    def match(self, source: int) -> int:
        """Return the target of a source, by decisions, given links and the mapping; -1 for none."""
        for target, log_odds in self.posterior.log_odds_of.get(source, {}).items():
            if log_odds == np.inf:
                return target
        found = int(self.model.matched[source])
        said = self.posterior.log_odds_of.get(source, {}).get(found)
        rejected = said is not None and said < 0
        return -1 if rejected or self.posterior.is_taken(found, source) else found

    def picture(self, row: int, place: int = 0) -> dict[str, Any]:
        """Return the neighbourhood of a pair as nodes and edges; matched neighbours are one node."""
        source, target = self.model.ends(row, place)
        found = self._neighbours(self.texts(source, target))[:MAX_NODES_DRAWN]
        task = self.model.task
        ends = (("s", task.source.display(source), "source"), ("t", task.target.display(target), "target"))
        nodes = [{"id": id, "label": visible(label, MAX_NODE_CHARS), "kind": kind} for id, label, kind in ends]
        edges = []
        for number, line in enumerate(map(self._line, found)):
            one, other = ("".join(text for text, _ in part) for part in (line.left, line.right))
            label = one if line.state == LEFT else other if line.state == RIGHT else one or other
            if line.state == SAME and other != one:
                label = f"{one} = {other}"
            nodes.append({"id": f"n{number}", "label": visible(label, MAX_NODE_CHARS), "kind": line.state})
            if line.state in (SAME, LEFT, DIFFERS):
                edges.append({"source": "s", "target": f"n{number}", "label": visible(line.left_by, MAX_EDGE_CHARS)})
            if line.state in (SAME, RIGHT):
                edges.append({"source": "t", "target": f"n{number}", "label": visible(line.right_by, MAX_EDGE_CHARS)})
        return {"nodes": nodes, "edges": edges}


def entity(graph: Graph, number: int) -> Entity:
    """Return an entity with its display texts, each one line."""
    found = display_name(graph, number)
    onwards, back = graph.triples_of(number)
    kinds = [graph.display(tail) for _, name, tail in onwards.tolist() if graph.relations[name] in TYPES]
    kinds += [value for predicate, value, *_ in graph.attributes_of(number) if predicate in TYPES]
    labels = [visible(text, MAX_VALUE_CHARS) for text, _ in graph.labels_of(number)[1:6]]
    shown = tuple(visible(graph.shorten(kind), 80) for kind in dict.fromkeys(kinds))[:5]
    n = len(onwards) + len(back)
    return Entity(visible(found.text, MAX_VALUE_CHARS), str(graph.ids[number]), found.address, shown, n, tuple(labels))


def relation_steps(graph: Graph, number: int) -> list[tuple[str, int]]:
    """Return (relation, other end) of the triples of an entity, outgoing ones first."""
    onwards, back = graph.triples_of(number)
    words = {name: graph.shorten(str(graph.relations[name])) for name in np.concatenate([onwards, back])[:, 1].tolist()}
    found = [(words[name], tail) for _, name, tail in onwards.tolist()]
    return found + [(f"inverse of {words[name]}", head) for head, name, _ in back.tolist()]
