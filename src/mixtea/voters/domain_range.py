"""The voter `domain_range`: two properties are likely the same if their classes are, and unlikely if not. No torch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, identity

from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.compute.similar_rows import row_products
from mixtea.errors import MissingVoterError
from mixtea.graph.graph import Graph
from mixtea.graph.prefixes import BUILT_IN, expand, iris
from mixtea.graph.task import Task
from mixtea.voters.base import Cost, Evidence, Voter, VotingState
from mixtea.voters.registry import voter_class

DOMAIN = iris("rdfs:domain", "schema:domainIncludes", "sdo:domainIncludes")
RANGE = iris("rdfs:range", "schema:rangeIncludes", "sdo:rangeIncludes")
SUBCLASS = iris("rdfs:subClassOf")
MAX_STEPS_UP = 20  # of a hierarchy: it may be a chain of any length, or a circle
TEXT, NUMBER, DATE, TRUTH = range(4)
VALUE_KINDS = ("text", "number", "date", "true or false")
_KIND_OF_WORD = {
    TEXT: "string normalizedString token language Name NCName anyURI langString PlainLiteral",
    NUMBER: "decimal integer long int short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger "
    "unsignedLong unsignedInt unsignedShort unsignedByte float double rational real",
    DATE: "date dateTime dateTimeStamp time gYear gYearMonth gMonth gMonthDay gDay duration dayTimeDuration "
    "yearMonthDuration",
    TRUTH: "boolean",
}
KIND_OF_DATATYPE = {  # rdfs:Literal is missing: it may be anything
    BUILT_IN[prefix] + word: kind
    for kind, words in _KIND_OF_WORD.items()
    for word in words.split()
    for prefix in ("xsd", "rdf", "owl")
}
FITS, RELATED, CLASHES = range(3)  # levels of an end: the same classes, one above the other, the same as others
PSEUDO_EXAMPLES = 10.0  # pairs that the typical shares count for, among matches and among others
MIN_CLASS_BELIEF = 0.01  # in two classes that are counted at all
MAX_CLASS_LOG_ODDS = 50.0  # of two classes: more changes nothing and would overflow
MAX_CLASSES_SHOWN = 5  # of one end of a property, in an explanation


class PropertyEnds(NamedTuple):
    """The ends of the properties of a graph with n entities; the rows of all that are not properties are empty.

    Several classes of one end are taken for their union, as people mean it.

    Attributes
    ----------
    domain, range : csr_matrix [n, n]
        1 where the property has the class as its domain, or as its range.
    values : csr_matrix [n, 4]
        1 where the property has values of this kind (`VALUE_KINDS`).
    above : csr_matrix [n, n]
        1 where the second is the first, or a superclass of it.
    """

    domain: csr_matrix
    range: csr_matrix
    values: csr_matrix
    above: csr_matrix


def property_ends(graph: Graph) -> PropertyEnds:
    """Collect what a graph states with rdfs:domain, rdfs:range and rdfs:subClassOf, or schema.org's words for it."""
    domain, range_, subclass = (_classes(graph, words) for words in (DOMAIN, RANGE, SUBCLASS))
    needed = domain.nnz or range_.nnz  # else nobody asks what is above a class
    return PropertyEnds(domain, range_, _kinds_of_values(graph), closed(subclass) if needed else subclass)


def closed(steps: csr_matrix) -> csr_matrix:
    """Return 1 from each row to itself and to all rows that at most `MAX_STEPS_UP` steps lead to."""
    found = csr_matrix(identity(steps.shape[0], dtype=np.float32))
    newest = found
    for _ in range(MAX_STEPS_UP):
        reached = as_ones(newest @ steps)
        newest = reached - reached.multiply(found)
        newest.eliminate_zeros()
        if not newest.nnz:
            break
        found = csr_matrix(found + newest)
    return found


def above_kinds() -> csr_matrix:
    """Return 1 from each kind of values to itself and to text, which can hold values of every kind."""
    kinds = np.arange(len(VALUE_KINDS))
    return _ones(np.r_[kinds, kinds], np.r_[kinds, np.full(len(kinds), TEXT)], (len(kinds), len(kinds)))


def as_ones(matrix: csr_matrix) -> csr_matrix:
    """Replace every number that is not 0 by 1."""
    found = csr_matrix(matrix, dtype=np.float32)
    found.eliminate_zeros()
    found.data[:] = 1
    return found


def _kinds_of_values(graph: Graph) -> csr_matrix:
    """Look up the datatypes of ranges: they are not entities, so that they are stated as values."""
    of = graph.attributes
    rows = of.take(_among(of.predicate.texts(), RANGE)[of.predicate.codes])
    kinds = [KIND_OF_DATATYPE.get(expand(datatype, BUILT_IN), -1) for datatype in rows.value.tolist()]
    known = np.array(kinds, dtype=np.int64) >= 0
    shape = (graph.n_entities, len(VALUE_KINDS))
    return _ones(rows.entity[known], np.array(kinds, dtype=np.int64)[known], shape)


def _classes(graph: Graph, words: Collection[str]) -> csr_matrix:
    """Return 1 from head to tail of the triples with one of these predicates."""
    rows = graph.triples[_among(graph.relations, words)[graph.triples[:, 1]]]
    return _ones(rows[:, 0], rows[:, 2], (graph.n_entities, graph.n_entities))


def _among(texts: Collection[str], words: Collection[str]) -> np.ndarray:
    """Return bool: the texts that are one of the words, written as IRIs or with a prefix."""
    return np.array([expand(str(text), BUILT_IN) in words for text in texts], dtype=bool)


def _ones(row: np.ndarray, column: np.ndarray, shape: tuple[int, int]) -> csr_matrix:
    return as_ones(csr_matrix((np.ones(len(row), dtype=np.float32), (row, column)), shape=shape))


class LevelShares(NamedTuple):
    """Shares of the levels among pairs that are the same property, and among others with similar names."""

    matched: tuple[float, float, float]
    others: tuple[float, float, float]


CLASS_SHARES = LevelShares((0.62, 0.36, 0.02), (0.1, 0.15, 0.75))
VALUE_SHARES = LevelShares((0.8, 0.15, 0.05), (0.6, 0.25, 0.15))


class End(NamedTuple):
    """One end of properties: of each side, csr [n, c] the classes that it has and csr [c, c] the classes above each."""

    name: str
    members: tuple[csr_matrix, csr_matrix]
    above: tuple[csr_matrix, csr_matrix]
    typical: LevelShares

    @property
    def is_of_values(self) -> bool:
        return self.typical is VALUE_SHARES

    @property
    def sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return [n] of each side: the number of classes of each property at this end."""
        ours, theirs = (np.diff(members.indptr) for members in self.members)
        return ours, theirs

    def levels(self, same: csr_matrix, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return [p, 3]: how likely the ends of each pair fit, are related and clash; the rest to 1 is unknown.

        NaN where one has nothing at this end. `same` [c, c'] is how likely two classes are the same. With A and B the
        classes of both, P(a, B) the sum of P(a is the same as b) over B, and B* all classes above and below those of B:

            fits     = P(A, B) / max(|A|, |B|)
            related  = max(P(A, B*) / |A|, P(B, A*) / |B|) - fits
            clashes  = max(P(A, others) / |A|, P(B, others) / |B|), what is left at the most
        """
        sizes, found = self.sizes, np.full((len(source), 3), np.nan)
        both = (sizes[0][source] > 0) & (sizes[1][target] > 0)
        if not both.any():
            return found
        ends = (source[both], target[both])
        n = [size[own].astype(np.float64) for size, own in zip(sizes, ends, strict=True)]
        counterparts = (csr_matrix(self.members[0] @ same), csr_matrix(self.members[1] @ same.T))
        fits = row_products(counterparts[0], self.members[1], *ends) / np.maximum(*n)
        near, elsewhere = (
            np.maximum(*parts)
            for parts in zip(*(self._near(side, counterparts[side], ends, n[side]) for side in (0, 1)), strict=True)
        )
        near = np.clip(near, fits, 1.0)
        found[both] = np.stack([fits, near - fits, np.minimum(elsewhere, 1 - near)], axis=1)
        return found

    def _near(
        self, side: int, counterparts: csr_matrix, ends: tuple[np.ndarray, np.ndarray], n: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the shares of one side's classes whose counterparts are in line with the other's, and elsewhere."""
        members, above = self.members[1 - side], self.above[1 - side]
        reached = np.unique(counterparts.indices)  # a root has all other classes below it: only these are looked at
        line = as_ones(members @ above[reached].T + csr_matrix(members @ above)[:, reached])
        inside = row_products(counterparts[:, reached], line, ends[side], ends[1 - side]) / n
        everywhere = np.asarray(counterparts.sum(axis=1)).ravel()[ends[side]] / n
        return inside, np.maximum(everywhere - inside, 0.0)


class DomainRangeOpinions:
    """Log-odds of pairs of properties by their ends: domain, range of classes, and range of values.

    A range of values against one of classes is not compared here: types do that (`ObjectProperty`, `DatatypeProperty`).
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.stated = (property_ends(task.source), property_ends(task.target))

    @cached_property
    def ends(self) -> tuple[End, ...]:
        ours, theirs = self.stated
        above, kinds = (ours.above, theirs.above), above_kinds()
        return (
            End("domain", (ours.domain, theirs.domain), above, CLASS_SHARES),
            End("range", (ours.range, theirs.range), above, CLASS_SHARES),
            End("range", (ours.values, theirs.values), (kinds, kinds), VALUE_SHARES),
        )

    @property
    def has_some(self) -> bool:
        """Return whether both graphs have properties with one of these ends."""
        return any(all(members.nnz for members in end.members) for end in self.ends)

    def log_odds(self, believed: Believed, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return [3, p]: log P(level of an end | match) / P(level | no match) of each pair; NaN for no opinion.

        Where the level is not certain, the likelihoods of all levels count as far as each is likely:

            log(sum over levels l of P(l) matched(l) / others(l) + P(not known))
        """
        found = np.full((len(self.ends), len(source)), np.nan)
        for row, end in zip(found, self.ends, strict=True):
            levels = self._levels(end, believed, source, target)
            row[:] = np.log(levels @ self._ratios(end, believed) + 1 - levels.sum(axis=1))
        return found

    def levels(self, believed: Believed, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return [3, p, 3]: per end, how likely the pair fits, is related and clashes there."""
        return np.stack([self._levels(end, believed, source, target) for end in self.ends])

    def _levels(self, end: End, believed: Believed, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        kinds = csr_matrix(identity(len(VALUE_KINDS), dtype=np.float32))
        return end.levels(kinds if end.is_of_values else believed.same, source, target)

    def _ratios(self, end: End, believed: Believed) -> np.ndarray:
        """Return [3]: the ratio of each level's frequency among matches to that among others with similar names.

        Matches are the links; others are the candidates, weighted by the belief that they are not matches: names of
        properties often hold those of their classes, so that ends fit more often where names are alike than anywhere. A
        level that fits less well is never better evidence.
        """
        matched, others = (np.array(shares) * PSEUDO_EXAMPLES for shares in end.typical)
        matched += np.nansum(self._levels(end, believed, *self.task.train.T), axis=0)
        alike = believed.pairs.where(believed.pairs.alike)
        others += np.nansum(self._levels(end, believed, *alike.ends) * (1 - alike.p)[:, None], axis=0)
        return np.minimum.accumulate((matched / matched.sum()) / (others / others.sum()))


class Believed(NamedTuple):
    """Candidates by entity index, with their probability `p` and whether they are `alike`: have similar names.

    `same` [n, m] has these probabilities and the links.
    """

    pairs: ScoredPairs
    same: csr_matrix


def believed_pairs(task: Task, pairs: ScoredPairs, belief: np.ndarray, said: np.ndarray | None) -> Believed:
    """Estimate how likely two entities are the same, from the links and the belief in candidates.

    Parameters
    ----------
    pairs
        Candidates by entity index, with NumPy arrays.
    belief
        How likely each is thought to be. It is shared among the candidates, however bad all of them are, and with few
        links structure decides it without knowing: so it counts only where texts tell nothing.
    said
        Log-odds of each by texts alone, against a pair of which nothing is known; NaN where there are none. To have no
        counterpart is a rival.
    """
    source, target = pairs.ends
    p, alike = np.clip(belief, 0.0, 1.0), np.ones(len(belief), dtype=bool)
    if said is not None:
        odds = np.exp(np.minimum(said - np.log(max(1, task.target.n_entities - len(task.train))), MAX_CLASS_LOG_ODDS))
        rivals = (np.bincount(line, np.nan_to_num(odds))[line] for line in (source, target))
        p, alike = np.where(np.isnan(said), p, odds / (1 + np.maximum(*rivals))), ~(said <= 0)
    kept = p > MIN_CLASS_BELIEF
    rows, columns = (np.r_[ends[kept], links] for ends, links in zip((source, target), task.train.T, strict=True))
    values = np.r_[p[kept], np.ones(len(task.train))].astype(np.float32)
    same = csr_matrix((values, (rows, columns)), shape=task.joint_index.shape)
    return Believed(pairs.with_columns(p=p, alike=alike), same)


class DomainRange(Voter):
    """Log-odds that two properties are the same by their domains and ranges; no opinion on other pairs."""

    name = "domain_range"
    needs = ("triples",)
    evidence = "structure"
    uses_belief = True
    is_calibrated = True

    @cached_property
    def opinions(self) -> DomainRangeOpinions:
        return DomainRangeOpinions(self.task)

    @cached_property
    def has_inputs(self) -> bool:
        return super().has_inputs and self.opinions.has_some

    def score(self, pairs: ScoredPairs, state: VotingState) -> np.ndarray:
        if state.belief is None or not self.is_applicable():
            return np.full(len(pairs), np.nan)
        held = state.belief.by_entity
        said = held.text_score / self.config.sinkhorn_temperature if "text_score" in held.columns else None
        believed = believed_pairs(self.task, held, held.p, said)
        odds = self.opinions.log_odds(believed, *pairs.by_entity.ends)
        return self.config.sinkhorn_temperature * _added(odds)

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """Return the domains and the ranges of both side by side, and what each adds; the strongest first.

        They are computed from the stored candidates; the difference to the stored score is shared among the rows.
        """
        score = self.known.weight_of(self.name, source, target) if self.known is not None else None
        if self.known is None or score is None or not self.is_applicable():
            return ()
        believed, pair = self._stored_belief(self.known), (np.array([source]), np.array([target]))
        weights = self.config.sinkhorn_temperature * self.opinions.log_odds(believed, *pair)[:, 0]
        shown = np.flatnonzero(~np.isnan(weights)).tolist()
        weights += (score - np.nansum(weights)) / max(len(shown), 1)
        levels = self.opinions.levels(believed, *pair)[:, 0]
        rows = [Evidence(self._words(place, source, target, levels[place]), float(weights[place])) for place in shown]
        return sorted(rows, key=lambda row: -abs(row.weight))

    def _stored_belief(self, known: ScoredPairs) -> Believed:
        known = known.where(known.target >= 0)
        opinions = (known.scores[name] for name in self._judging_alone() if name in known.scores)
        parts = [scores for scores in opinions if not np.isnan(scores).all()]
        said = _added(np.stack(parts)) / self.config.sinkhorn_temperature if parts else None
        return believed_pairs(self.task, known, known.belief, said)

    def _judging_alone(self) -> set[str]:
        """Return the opinions of the run's independent voters."""
        found = set()
        for name in self.config.voters:
            with suppress(MissingVoterError):  # a run is explained without the packages of its voters, too
                kind = voter_class(name)
                found |= {kind.score_group or name} if kind.is_independent else set()
        return found

    def _words(self, place: int, source: int, target: int, levels: np.ndarray) -> str:
        """Describe an end: `domain: Author ~ Person (one is above the other)`, or ≠ where the classes rather differ."""
        end = self.opinions.ends[place]
        known = levels[FITS] + levels[RELATED]
        sign = "≠" if levels.sum() - known > known else "~" if known >= 1 - levels.sum() else "?"
        above = " (one is above the other)" if sign == "~" and levels[RELATED] > levels[FITS] else ""
        return f"{end.name}: {self._named(end, 0, source)} {sign} {self._named(end, 1, target)}{above}"

    def _named(self, end: End, side: int, entity: int) -> str:
        members = end.members[side]
        found = members.indices[members.indptr[entity] : members.indptr[entity + 1]].tolist()
        graph = (self.task.source, self.task.target)[side]
        names = [VALUE_KINDS[one] if end.is_of_values else graph.display(one) for one in found[:MAX_CLASSES_SHOWN]]
        return " or ".join([*names, "others"] if len(found) > MAX_CLASSES_SHOWN else names)

    def cost(self) -> Cost:
        n = self.task.source.n_triples + self.task.target.n_triples
        return Cost(mib=n * 100 / 2**20 if self.is_applicable() else 0.0)


def _added(parts: np.ndarray) -> np.ndarray:
    """Add up [k, p] over k; NaN where all are."""
    return np.where(np.isnan(parts).all(axis=0), np.nan, np.nansum(parts, axis=0))
