"""Column hints of a user, from `columns=` or a TOML file; they take precedence over what is detected.

They also say which columns are compared with which, with what weight, and which are keys that decide alone.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from mixtea.errors import DataError, listed, shorten
from mixtea.graph.graph import SIDES, Graph
from mixtea.graph.labels import PLAIN_LABEL_PREDICATES
from mixtea.io.columns.kinds import COLUMN_KINDS, REFERENCE
from mixtea.io.paths import PathOrStr
from mixtea.io.safe.limits import UnreadableError
from mixtea.io.safe.open import open_input

IGNORE = "ignore"
MAX_BYTES = 1 << 20
MAX_WEIGHT = 100.0
EXAMPLE = 'Write for instance {"price": "ignore", "phone": {"key": True}, "source": {"title": "name"}}.'


@dataclass(frozen=True)
class ColumnHint:
    """A user's description of one column; empty fields are detected.

    `kind` is one of COLUMN_KINDS or "ignore"; a `key` decides alone; `weight` multiplies the column's score; `same_as`
    is its column on the other side, `refers_to` the table whose ids it holds, and `separator` separates the items of a
    list.
    """

    kind: str = ""
    key: bool = False
    weight: float = 1.0
    same_as: str = ""
    refers_to: str = ""
    separator: str = ""

    def __post_init__(self) -> None:
        for option in fields(self):
            value, wanted = getattr(self, option.name), type(option.default)
            if isinstance(value, int) and not isinstance(value, bool) and wanted is float:
                object.__setattr__(self, option.name, float(value))
            elif type(value) is not wanted:
                raise DataError(f"{option.name} is {value!r:.100}. It is a {TYPE_NAMES[wanted]}.")
        if self.kind not in ("", *COLUMN_KINDS, IGNORE):
            raise DataError(f"kind is {self.kind!r:.100}. Choose one of {', '.join((*COLUMN_KINDS, IGNORE))}.")
        if not 0 <= self.weight <= MAX_WEIGHT:
            raise DataError(f"weight is {self.weight!r:.100}. Choose a number from 0 to {MAX_WEIGHT:g}.")
        if self.kind and self.refers_to and self.kind != REFERENCE:
            raise DataError(f"it is a {self.kind} and refers to {shorten(self.refers_to)}. Leave one of both out.")
        if self.refers_to:
            object.__setattr__(self, "kind", REFERENCE)


TYPE_NAMES = {str: "text", bool: "truth value", float: "number"}
Hints = Mapping[str, ColumnHint]


@dataclass(frozen=True)
class ColumnHints:
    """Hints by column name: for both sides, and for one side, which take precedence."""

    both: Hints = field(default_factory=dict)
    source: Hints = field(default_factory=dict)
    target: Hints = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.both or self.source or self.target)

    def of_side(self, side: str) -> Hints:
        return {**self.both, **getattr(self, side)}

    def check_known(self, source: Iterable[str], target: Iterable[str]) -> None:
        """Raise a DataError for a hint whose column is not among those of `source` and `target`."""
        there = {"source": [*source], "target": [*target]}
        for side, hints in (("", self.both), *((side, getattr(self, side)) for side in SIDES)):
            known = there[side] if side else there["source"] + there["target"]
            for name in hints:
                if name not in known:
                    which = f"the {side} has no column" if side else "neither side has a column"
                    shown = listed([*dict.fromkeys(known)]) or "none at all"
                    raise DataError(f"columns: {which} {shorten(name)}. There are: {shown}.")
        for side, other in (SIDES, SIDES[::-1]):
            for name, hint in self.of_side(side).items():
                if hint.same_as and name in there[side] and hint.same_as not in there[other]:
                    raise DataError(
                        f"columns: {shorten(name)} is declared the same as {shorten(hint.same_as)}, which the "
                        f"{other} does not have. There are: {listed(there[other])}."
                    )


def column_hints(given: Mapping[str, Any] | PathOrStr | None) -> ColumnHints:
    """Read the hints from a dictionary or a TOML file.

    Examples
    --------
    >>> column_hints({"price": "ignore", "source": {"title": "name"}}).of_side("source")["title"].kind
    'name'
    """
    if given is None:
        return ColumnHints()
    if isinstance(given, Mapping):
        return _parse_hints(given, "columns")
    path = Path(given)
    return _parse_hints(_read_toml(path), str(path))


def _read_toml(path: Path) -> Mapping[str, Any]:
    try:
        with open_input(path) as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise DataError(f"{path}: more than {MAX_BYTES:,} bytes, which no hints need. Name another file.")
        return tomllib.loads(data.decode("utf-8"))
    except UnreadableError as error:
        raise DataError(f"{path}: {error.problem.what}. {error.problem.todo}") from None
    except (ValueError, RecursionError) as error:
        todo = 'Write a line for each column, such as price = "ignore" or phone = {key = true}.'
        raise DataError(f"{path}: not valid TOML: {str(error)[:200]}. {todo}") from None


def _parse_hints(given: Mapping[str, Any], where: str) -> ColumnHints:
    """Return the hints; a member called source or target that holds hints is about that side alone."""
    of_sides = {side: given[side] for side in SIDES if _holds_hints(given.get(side))}
    rest = {name: value for name, value in given.items() if name not in of_sides}
    found = {
        side: {str(name): _parse_hint(value, f"{where}: {prefix}{name}") for name, value in members.items()}
        for side, prefix, members in (
            ("both", "", rest), *((side, f"{side}.", members) for side, members in of_sides.items())
        )
    }  # fmt: skip
    return ColumnHints(**found)


def _holds_hints(value: Any) -> bool:
    options = {option.name for option in fields(ColumnHint)}
    return isinstance(value, Mapping) and not (value and options.issuperset(value))


def _parse_hint(value: Any, where: str) -> ColumnHint:
    if isinstance(value, ColumnHint):
        return value
    if isinstance(value, str):
        value = {"kind": value}
    if not isinstance(value, Mapping):
        raise DataError(f"{where} is {value!r:.100}. {EXAMPLE}")
    options = [option.name for option in fields(ColumnHint)]
    if unknown := next((str(name) for name in value if name not in options), ""):
        raise DataError(f"{where}: there is no {shorten(unknown)}. Choose some of {', '.join(options)}.")
    try:
        return replace(ColumnHint(), **value)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


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
