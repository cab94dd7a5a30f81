"""Columns that a user wants compared, their weights, and keys that decide alone."""

from __future__ import annotations

from typing import NamedTuple

from mixtea.errors import DataError, shorten
from mixtea.graph.graph import Graph
from mixtea.graph.labels import PLAIN_LABEL_PREDICATES
from mixtea.io.columns.hints import ColumnHints


class ComparedColumns(NamedTuple):
    """A source column and a target column to compare, as predicates; "" stands for any column.

    Their score is multiplied by `weight`; equal values of a `key` are the same entity, different ones are not.
    """

    source: str
    target: str
    weight: float
    key: bool


def compared_columns(hints: ColumnHints, source: Graph, target: Graph) -> tuple[ComparedColumns, ...]:
    """Return the columns that hints connect, weigh or call keys; the first of several hints about the same counts.

    Raises
    ------
    DataError
        A key has no column on the other side.
    """
    there = {side: {*graph.attributes.predicate.texts()} for side, graph in (("source", source), ("target", target))}
    found: dict[tuple[str, str], ComparedColumns] = {}
    for side, other in (("source", "target"), ("target", "source")):
        for name, hint in hints.of_side(side).items():
            own = _predicate(name, there[side])
            if own is None or (hint.weight == 1 and not hint.key and not hint.same_as):
                continue
            theirs = _predicate(hint.same_as or name, there[other])
            if hint.key and theirs is None:
                raise DataError(
                    f"columns: {shorten(name)} is a key of the {side}, and the {other} has no such column. Say which "
                    'is the same: {key = true, same_as = "..."}.'
                )
            ends = (own, theirs or "") if side == "source" else (theirs or "", own)
            found.setdefault(ends, ComparedColumns(*ends, hint.weight, hint.key))
    return tuple(found.values())


def _predicate(name: str, there: set[str]) -> str | None:
    meant = (name, PLAIN_LABEL_PREDICATES.get(name.casefold(), ""))
    return next((one for one in meant if one in there), None)
