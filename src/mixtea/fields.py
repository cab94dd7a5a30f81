"""Settings as fields of a frozen dataclass, each with its reason and range, checked and written in one way.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True, kw_only=True)
... class Oven:
...     degrees: int = setting(180, "how hot it gets", low=50, high=300)
...     dishes: Names = setting((), "what goes in, first things first")
...     def __post_init__(self):
...         OVEN.check(self)
>>> OVEN = Fields(Oven, "setting", "field=value")
>>> Oven(**dict([OVEN.parse("dishes=bread,apple-pie")]))
Oven(degrees=180, dishes=('bread', 'apple-pie'))
>>> Oven(degrees=400)
Traceback (most recent call last):
mixtea.errors.ConfigError: degrees must be at least 50 and at most 300, not 400: how hot it gets.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_type_hints

from mixtea.errors import ConfigError, shorten
from mixtea.messages import shortened

Names = tuple[str, ...]
_TYPE_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", Names: "a list of names"}
_PLAIN, _DIGITS = re.compile(r"\w[\w.:-]*"), re.compile("[+-]?[0-9]+")
MAX_VALUE_LENGTH, MAX_NUMBER_LENGTH = 100, 40  # characters of a wrong value that are shown; of a number that is read
MAX_FIELDS_LISTED = 12  # fields that a message can list


def setting(default: Any, why: str, *, low: float | None = None, high: float | None = None,
            below: float | None = None, choices: tuple[str, ...] = (), allowed: str = "",
            problem: Callable[[Any], str] | None = None, **more: Any) -> Any:  # fmt: skip
    """Make a field with its reason. Numbers go from `low` to `high`, or are `below`; a word is one of `choices`.

    `allowed` describes that in words where the default description does not fit. `problem` returns the problem of a
    value, "" if there is none; without it, names must be plain and distinct. `more` is metadata.
    """
    metadata: dict[str, Any] = dict(why=why, low=low, high=high, below=below, choices=choices)
    return dataclasses.field(default=default, metadata=metadata | dict(allowed=allowed, problem=problem) | more)


def names_problem(names: Names) -> str:
    """Return the problem of names that must be plain and distinct; "" if there is none.

    >>> names_problem(("forward", "my-voter.2")), names_problem(("a", "b", "a")), names_problem(("two words",))
    ('', "names 'a' twice", "holds 'two words', which is not a plain name")
    """
    for place, name in enumerate(names):
        if not _PLAIN.fullmatch(name):
            return f"holds {shown(name)}, which is not a plain name"
        if name in names[:place]:
            return f"names {shown(name)} twice"
    return ""


class Fields:
    """The fields of a dataclass, each made by `setting`. One is called `noun`, and written as `form` by people."""

    def __init__(self, of: type, noun: str, form: str) -> None:
        self.noun, self.form = noun, form
        self.by_name: dict[str, dataclasses.Field[Any]] = {field.name: field for field in dataclasses.fields(of)}
        self.types: dict[str, Any] = get_type_hints(of)

    def check(self, settings: Any) -> None:
        """Convert every value to its field's type, or raise ConfigError; for `__post_init__`."""
        for name in self.by_name:
            object.__setattr__(settings, name, self.checked(name, getattr(settings, name)))

    def check_all(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Convert some settings by name, each to its field's type."""
        self.check_names(settings)
        return {name: self.checked(name, value) for name, value in settings.items()}

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse names that no field has."""
        if unknown := [name for name in names if name not in self.by_name]:
            raise ConfigError(" ".join(map(self._unknown, unknown)))

    def checked(self, name: str, value: Any) -> Any:
        """Return the value in its field's type: 3 and 3.0 are the same number, a list and a tuple the same names."""
        kind, meta = self.types[name], self.by_name[name].metadata
        value = _as(kind, value)
        if not _is(kind, value):
            raise self._refused(name, _TYPE_NAMES[kind], value)
        if meta["choices"] and value not in meta["choices"]:
            raise self._refused(name, f"one of {', '.join(meta['choices'])}", value)
        if kind in (int, float) and not _inside(value, meta):
            raise self._refused(name, self.allowed(name), value)
        judge = meta["problem"] or (names_problem if kind == Names else None)
        if judge is not None and (problem := judge(value)):
            raise ConfigError(f"{name} {problem}: {meta['why']}.")
        return value

    def allowed(self, name: str) -> str:
        """Return the range or the choices of a field, in words."""
        meta = self.by_name[name].metadata
        bounds = (("at least", "low"), ("at most", "high"), ("below", "below"))
        parts = [f"{words} {meta[bound]}" for words, bound in bounds if meta[bound] is not None]
        return meta["allowed"] or " | ".join(meta["choices"]) or " and ".join(parts) or _TYPE_NAMES[self.types[name]]

    def parse(self, assignment: str) -> tuple[str, Any]:
        """Parse the name and the value of an assignment of the command line; names of a list are separated by
        commas."""
        name, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals:
            raise ConfigError(f"{shorten(assignment)} is not of the form {self.form}.")
        self.check_names([name])
        kind = self.types[name]
        if kind is str:
            return name, text
        if kind == Names:
            return name, tuple(part.strip() for part in text.split(",")) if text else ()
        value = _number(text)
        if value is None:
            raise ConfigError(f"{name} must be {_TYPE_NAMES[kind]}, not {shorten(text)}.")
        return name, value

    def _refused(self, name: str, allowed: str, value: Any) -> ConfigError:
        return ConfigError(f"{name} must be {allowed}, not {shown(value)}: {self.by_name[name].metadata['why']}.")

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name, self.by_name, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        if not near and len(self.by_name) <= MAX_FIELDS_LISTED:
            hint = f" There are {', '.join(self.by_name)}."
        return f"There is no {self.noun} {shorten(name)}.{hint}"


def shown(value: Any) -> str:
    """Shorten a wrong value for a message."""
    return shortened(repr(value), MAX_VALUE_LENGTH)


def written(value: Any) -> str:
    """Write a value as in an assignment on the command line.

    >>> written(("forward", "backward")), written(True), written(0.5), written("auto")
    ('forward,backward', 'True', '0.5', 'auto')
    """
    return ",".join(value) if isinstance(value, tuple) else str(value)


def assignments(settings: Mapping[str, Any]) -> list[str]:
    """Write each as `name=value`, as on the command line."""
    return [f"{name}={written(value)}" for name, value in settings.items()]


def _as(kind: Any, value: Any) -> Any:
    """Convert the value to another type where this is lossless and unambiguous."""
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**1000:
        return float(value)
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    return tuple(value) if kind == Names and isinstance(value, list) else value


def _is(kind: Any, value: Any) -> bool:
    if kind == Names:
        return type(value) is tuple and all(type(name) is str for name in value)
    return type(value) is kind and (kind is not float or math.isfinite(value))


def _inside(value: float, meta: Mapping[str, Any]) -> bool:
    low, high, below = meta["low"], meta["high"], meta["below"]
    return (low is None or value >= low) and (high is None or value <= high) and (below is None or value < below)


def _number(text: str) -> Any:
    """Parse a number, true or false from the command line; None for anything else."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return None if len(text) > MAX_NUMBER_LENGTH else int(text) if _DIGITS.fullmatch(text) else float(text)
    except ValueError:
        return None
