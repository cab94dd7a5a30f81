"""Options of `load_task` that do not depend on the format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

from mixtea.errors import DataError, Problems
from mixtea.graph.graph import Graph
from mixtea.graph.labels import DEFAULT_LANGUAGES
from mixtea.graph.terms import type_rows
from mixtea.io.columns.hints import ColumnHints
from mixtea.io.filter import GraphFilter
from mixtea.io.naming import NameColumns, NameFiles
from mixtea.io.safe.limits import Limits

TextOrTexts = str | Sequence[str] | None
LINKS_FROM = ("given", "names", "ids")


@dataclass(frozen=True)
class LoadOptions:
    """Options of `load_task`: strictness, seed, names, attributes, origin of links, columns."""

    strict: bool
    seed: int
    names: NameFiles
    attributes: bool
    links_from: str
    name_columns: NameColumns
    columns: ColumnHints = field(default_factory=ColumnHints)

    def __post_init__(self) -> None:
        if self.links_from not in LINKS_FROM:
            raise DataError(f"links_from is {self.links_from!r}. Choose one of {', '.join(LINKS_FROM)}.")
        if not isinstance(self.seed, Integral) or self.seed < 0:
            raise DataError(f"seed is {self.seed!r:.100}. Choose a whole number, 0 or more.")

    @property
    def reads_links(self) -> bool:
        return self.links_from == "given"

    def complete(
        self, source: Graph, target: Graph, problems: Problems, languages: tuple[str, ...] = DEFAULT_LANGUAGES,
        *, finds_names: bool = False,
    ) -> tuple[Graph, Graph, list[str]]:  # fmt: skip
        """Return both graphs with more names, and without values if they are not wanted; and warnings.

        With `finds_names`, names are detected among the values of a side without a file of names.
        """
        if not problems.found:  # else a graph may be empty, and its file's problems matter
            self.columns.check_known(_columns(source), _columns(target))
            find = [finds_names and not files for files in (self.names.source, self.names.target)]
            wanted = self.name_columns.with_hints(self.columns, source, target)
            source, target = wanted.apply(source, target, find, languages)
        if not self.attributes:
            source, target = (replace(graph, attributes=type_rows(graph.attributes)) for graph in (source, target))
        return self.names.add_labels(source, target, problems, languages)


def _columns(graph: Graph) -> list[str]:
    """Return the columns of the tables that a graph was read from, and the predicates of its values."""
    columns = [column.name for file in graph.files for column in file.columns]
    return [*columns, *graph.attributes.predicate.texts()]


def check_option_types(graph_filter: object, limits: object) -> None:
    """Raise a DataError that says how to make a filter or limits, where another object is given."""
    for name, value, kind in (("graph_filter", graph_filter, GraphFilter), ("limits", limits, Limits)):
        if value is not None and not isinstance(value, kind):
            made = f"from mixtea import {kind.__name__}; {name}={kind.__name__}(...)"
            raise DataError(f"{name} is an object of type {type(value).__name__}. Make one: {made}.")


def as_texts(value: TextOrTexts, name: str) -> tuple[str, ...]:
    """Return the names of columns, or the queries, that were given as the argument `name`."""
    words: list[Any] = [value] if isinstance(value, str) or not isinstance(value, Iterable) else [*value]
    if value is not None and not all(isinstance(word, str) for word in words):
        what = "one SELECT" if name.endswith("query") else "the name of a column"
        raise DataError(f"{name} is {value!r:.100}. Give {what}, or a list of such.")
    return () if value is None else tuple(words)
