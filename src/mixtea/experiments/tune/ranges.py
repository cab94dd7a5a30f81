"""Search space of settings: choices of a field, or a range of its numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mixtea.config import FIELDS, TYPES, Config, parse_setting
from mixtea.errors import ConfigError

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

PAPER_RANGES = (
    "n_layers=1,2,3,4",
    "entity_dim=128,256",
    "margin=1,2,3",
    "n_negatives=10,20,30",
    "momentum=0.9,0.99,0.999",
)
_AFTER = "it is used after training only, so every value has the same validation Hit@1"
NOT_TUNED = dict.fromkeys(("metric", "decoder", "decode_voters", "candidates", "keep"), _AFTER) | {
    "voters": "a list of names is not a single value. Fix it with --set voters=..., and search once for each",
    "seed": "the best of several seeds is luck. Give one with --seed",
    "device": "it changes the speed only. Give one with --device",
}


@dataclass(frozen=True)
class Range:
    """`choices` of a field or, without any, its numbers from `low` to `high`."""

    field: str
    choices: tuple[Any, ...] = ()
    low: float = 0
    high: float = 0

    @property
    def log(self) -> bool:
        """Return whether it is searched on a log scale, where 1 to 10 counts as much as 10 to 100."""
        return self.low > 0 and self.high >= 10 * self.low

    def __str__(self) -> str:
        if not self.choices:
            return f"{self.field}={self.low}..{self.high}"
        return f"{self.field}=" + ",".join(v if isinstance(v, str) else json.dumps(v) for v in self.choices)

    def holds(self, value: Any) -> bool:
        """Return whether it is one of the choices, of the same type, or a number of the range."""
        if self.choices:
            return any(value == choice and type(value) is type(choice) for choice in self.choices)
        return type(value) in (int, TYPES[self.field]) and self.low <= value <= self.high

    def distribution(self) -> BaseDistribution:
        """Return the range as an Optuna distribution."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if self.choices:
            return CategoricalDistribution(self.choices)
        if TYPES[self.field] is int:
            return IntDistribution(int(self.low), int(self.high), log=self.log)
        return FloatDistribution(self.low, self.high, log=self.log)


def parse_ranges(texts: Iterable[str], preset: str, settings: Mapping[str, Any]) -> list[Range]:
    """Parse `field=a,b,c` and `field=low..high` of the command line; check every value with the other settings.

    Without texts: the ranges that the paper searched, without the fields that `settings` fixes.
    """
    usual = [text for text in PAPER_RANGES if text.partition("=")[0] not in settings]
    found = [_parse(text, preset, settings) for text in tuple(texts) or usual]
    names = [one.field for one in found]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{name} has {names.count(name)} ranges. Give it one.")
        if name in settings:
            raise ConfigError(f"{name} has a range, and is fixed to {settings[name]!r} too. Choose one of the two.")
    if not found:
        raise ConfigError("Every field of the usual ranges is fixed. Say what to try: --range FIELD=a,b,c.")
    return sorted(found, key=lambda one: list(FIELDS).index(one.field))


def _parse(text: str, preset: str, settings: Mapping[str, Any]) -> Range:
    name, equals, values = (part.strip() for part in text.partition("="))
    if not equals:
        raise ConfigError(f"{text!r} is not of the form FIELD=a,b,c or FIELD=low..high.")
    low, dots, high = values.partition("..")
    parts = [low, high] if dots else values.split(",")
    checked = tuple(_checked(name, part, preset, settings) for part in parts)
    if name in NOT_TUNED:
        raise ConfigError(f"{name} cannot be tuned: {NOT_TUNED[name]}.")
    if not dots:
        return Range(name, tuple(dict.fromkeys(checked)))
    if TYPES[name] not in (int, float):
        raise ConfigError(f"{name} has no numbers to range over: list what to try, as in {name}=a,b.")
    if not checked[0] < checked[1]:
        raise ConfigError(f"{name}={values}: the first number of a range must be below the second.")
    return Range(name, (), *checked)


def _checked(name: str, text: str, preset: str, settings: Mapping[str, Any]) -> Any:
    """Return the value in its field's type; ConfigError if the settings refuse it."""
    name, value = parse_setting(f"{name}={text}")
    return getattr(Config.preset(preset, **{**settings, name: value}), name)
