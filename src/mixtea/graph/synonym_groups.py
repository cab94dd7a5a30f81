"""Join groups of names that mean the same where they share one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Groups = tuple[tuple[str, ...], ...]


def merge_groups(groups: Iterable[Sequence[str]]) -> Groups:
    """Join groups that share a name; return those of two names or more, each sorted, and sorted.

    >>> merge_groups([("b", "a"), ("x", "y"), ("c", "b"), ("z", "z")])
    (('a', 'b', 'c'), ('x', 'y'))
    """
    found: dict[str, list[str]] = {}
    for name, first in canonical_names(groups).items():
        found.setdefault(first, []).append(name)
    return tuple(sorted(tuple(sorted(group)) for group in found.values() if len(group) > 1))


def canonical_names(groups: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return per name the first of all names that it is connected with, directly or by a chain of groups.

    >>> canonical_names([("iron", "fe"), ("ferrum", "fe")])
    {'iron': 'iron', 'fe': 'iron', 'ferrum': 'iron'}
    """
    place: dict[str, int] = {}
    earlier: list[int] = []  # by place one before it that it is joined with, or its own

    def first(at: int) -> int:
        while earlier[at] != at:
            earlier[at] = earlier[earlier[at]]
            at = earlier[at]
        return at

    for group in groups:
        for name in group:
            if place.setdefault(name, len(earlier)) == len(earlier):
                earlier.append(len(earlier))
            low, high = sorted((first(place[group[0]]), first(place[name])))
            earlier[high] = low
    names = list(place)
    return {name: names[first(at)] for name, at in place.items()}
