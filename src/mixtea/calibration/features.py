"""Examples of how entities whose counterpart is known are judged: with it among the candidates, and without. No torch.

What is learned from them holds however the links were chosen: each link tells what its source looks like with a
counterpart and, its target hidden, what the same source would look like without one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mixtea.calibration.neighbour_features import MatchedNeighbours

LIMIT = 12.0  # of log-odds: more says no more
NOWHERE = -2 * LIMIT  # how a source stands that has no candidate
SURE = 2.0  # log-odds ahead of rivals, from which on neighbours may count on a pair


@dataclass(frozen=True, eq=False)
class Judged:
    """Candidates, by the numbers of their own graphs: what structure and what names and the like say for each.

    `joined` and `said` are in units of the temperature, so that their sum is the logarithm of a weight. `known` is the
    logarithm of the weight, beside that of the pairs here, that other sources have in the target of each pair.
    """

    source: np.ndarray
    target: np.ndarray
    joined: np.ndarray
    said: np.ndarray
    shape: tuple[int, int]
    known: np.ndarray | None = None

    @cached_property
    def total(self) -> np.ndarray:
        return self.joined + self.said

    @cached_property
    def row(self) -> np.ndarray:
        """[p]: how far each is ahead of the other candidates of its source, as log-odds."""
        return np.clip(self.total - log_of_others(self.source, self.total, self.shape[0]), -LIMIT, LIMIT)

    @cached_property
    def column(self) -> np.ndarray:
        """[p]: how far each is ahead of the other candidates of its target."""
        others = log_of_others(self.target, self.total, self.shape[1])
        return np.clip(self.total - (others if self.known is None else self.known), -LIMIT, LIMIT)

    @cached_property
    def standing(self) -> np.ndarray:
        return self.row + self.column

    def where(self, kept: np.ndarray) -> Judged:
        known = None if self.known is None else self.known[kept]
        source, target, joined, said = (part[kept] for part in (self.source, self.target, self.joined, self.said))
        return Judged(source, target, joined, said, self.shape, known)

    @cached_property
    def best(self) -> np.ndarray:
        """Places of the candidates that stand best, one for each source that has some; the last of equal ones."""
        greatest = np.full(self.shape[0], -np.inf)
        np.maximum.at(greatest, self.source, self.standing)
        place = np.full(self.shape[0], -1)
        there = np.flatnonzero(self.standing == greatest[self.source])
        place[self.source[there]] = there
        return place[place >= 0]

    @cached_property
    def best_of_all(self) -> tuple[np.ndarray, np.ndarray]:
        """([n], [n]): the best candidate of each source, -1 for none, and how well it stands."""
        target, standing = np.full(self.shape[0], -1), np.full(self.shape[0], NOWHERE)
        best = self.best
        target[self.source[best]], standing[self.source[best]] = self.target[best], self.standing[best]
        return target, standing

    def looks(self, neighbours: MatchedNeighbours) -> np.ndarray:
        """[n, 2] of each source: how well its best candidate stands, and how far its matched neighbours agree."""
        target, standing = self.best_of_all
        return np.stack([standing, neighbours.agreed(np.arange(len(target)), target)], axis=1)

    def without(self, links: np.ndarray) -> Judged:
        """As if the targets of the links were not there."""
        hidden = np.zeros(self.shape[1], dtype=bool)
        hidden[links[:, 1]] = True
        return self.where(~hidden[self.target])

    def sure_targets(self) -> np.ndarray:
        """[n]: the best candidate of each source where it is well ahead of its rivals on both sides, else -1."""
        best, found = self.best, np.full(self.shape[0], -1)
        best = best[np.minimum(self.row, self.column)[best] > SURE]
        found[self.source[best]] = self.target[best]
        return found


def log_of_all(line: np.ndarray, value: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """[n] the greatest value of each line, and the sum of exp(value - greatest) there."""
    greatest = np.full(n, -np.inf)
    np.maximum.at(greatest, line, value)
    return greatest, np.bincount(line, np.exp(value - greatest[line]), minlength=n)


def log_of_others(line: np.ndarray, value: np.ndarray, n: int) -> np.ndarray:
    """[p]: log of the sum of exp(value) over the others in the line of each."""
    greatest, total = log_of_all(line, value, n)
    own = np.exp(value - greatest[line])
    return greatest[line] + np.log(np.maximum(total[line] - own, 1e-12))


def rehearsed(pairs: Judged, openly: Judged, links: np.ndarray) -> Judged:
    """Candidates of the sources of links, judged by those who did not know them.

    `pairs` have an end in common with the links at least; the rivals for a target without a link are those of
    `openly`, the candidates of all open entities.
    """
    held = [np.zeros(n, dtype=bool) for n in pairs.shape]
    held[0][links[:, 0]] = held[1][links[:, 1]] = True
    greatest, total = log_of_all(openly.target, openly.total, pairs.shape[1])
    with np.errstate(divide="ignore"):
        others = (greatest + np.log(total))[pairs.target]
    among = log_of_others(pairs.target, pairs.total, pairs.shape[1])
    known = np.where(held[1][pairs.target], among, np.maximum(others, -1e9))
    return replace(pairs, known=known).where(held[0][pairs.source])


class Examples(NamedTuple):
    """Sources of links: what is seen [e, 8] of the candidate that each gets, whether it is right; `looks` [e, 2], and

    `hidden` what these would be if its counterpart were not there; `triples` are logarithms of how many each has.
    `rehearsed` ones were judged without the student.
    """

    seen: np.ndarray
    right: np.ndarray
    looks: np.ndarray
    hidden: np.ndarray
    triples: np.ndarray
    rehearsed: np.ndarray


def joined(first: Examples, second: Examples) -> Examples:
    return Examples(*(np.concatenate(parts) for parts in zip(first, second, strict=True)))


def features(
    row: np.ndarray, column: np.ndarray, joined: np.ndarray, said: np.ndarray, triples: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """[..., 8] of candidates: a constant, how far each is ahead of its rivals on both sides and on the side where it is

    less so, what structure and what names and the like say, and logarithms of how many triples the two have.
    """
    ahead = (row / 6, column / 6, np.minimum(row, column) / 6)
    says = (np.minimum(joined / 20, 3.0), np.clip(said, -LIMIT, LIMIT) / 6)
    return np.stack([np.ones_like(row), *ahead, *says, *map(np.log1p, triples)], axis=-1)
