"""One-to-one mapping of the greatest total: an auction, then shortest paths for the rows that it leaves open.

A table has a line of places per row: first one of its own, where it stays alone, then its candidates, best first. A
place is worth gain - price to a row. The total is the greatest if every row holds what is worth the most to it, and if
what no row holds costs nothing; where a row holds EPSILON less, the total is EPSILON less (Bertsekas, 1988).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra
from torch import Tensor

from mixtea.compute.arrays import as_numpy, to_tensor
from mixtea.compute.scored_pairs import ScoredPairs, rank_within

MAX_CANDIDATES, MIN_LOG = 20, -7.0  # per row in an assignment, and their least logarithm
EPSILON = 1e-4  # by which a bid is more than the place is worth to the bidder
MAX_AUCTION_REST = 20  # rows without a place, which are better served one by one
MAX_BIDS = 30  # per row in the auction
ROUND_COST = 200  # bids that take as long as a round does by itself
MAX_PASSED = 100  # places in a first search
MIN_STEP = 1e-9  # length, so that of equal paths the one with fewer steps is the shortest


def assign(pairs: ScoredPairs, logs: Tensor) -> Tensor:
    """Solve max sum_ij x_ij logs_ij, sum_j x_ij <= 1, sum_i x_ij <= 1; return x, bool per pair.

    Only a row's 20 best candidates above MIN_LOG, and its very best, take part. A row whose candidates are all taken by
    better ones stays without; that counts as one less than the least logarithm of those it is connected with. The total
    is the greatest within EPSILON per row. Equal ones are decided by position: callers shuffle the sides.
    """
    n, m = pairs.shape
    rank = rank_within(pairs.source, logs, n)
    kept = (rank < MAX_CANDIDATES) & ((logs > MIN_LOG) | (rank == 0))
    row, column, gain, nth = (as_numpy(a[kept]) for a in (pairs.source, pairs.target, logs.double(), rank))
    chosen = np.full(n, -1, dtype=np.int64)
    if len(row):
        rows, own = np.unique(row, return_inverse=True)
        found = _table(own, column, gain, nth, m).solve()
        chosen[rows] = np.where(found < m, found, -1)
    return to_tensor(chosen, pairs.target.device)[pairs.source] == pairs.target


def _table(row: np.ndarray, column: np.ndarray, gain: np.ndarray, rank: np.ndarray, m: int) -> _Table:
    """Make a table: place[i, 0] = m + i, place[i, 1 + rank] = column; where a row has fewer candidates, a gain of -inf.

    To stay alone gains min gain - 1 over the connected part of a row: less than any candidate that it could take away.
    """
    n = int(row.max()) + 1
    shape = n, int(rank.max()) + 2
    place, gains = np.repeat(m + np.arange(n), shape[1]).reshape(shape), np.full(shape, -np.inf)
    place[row, 1 + rank], gains[row, 1 + rank] = column, gain
    graph = coo_matrix((np.ones(len(row), dtype=np.int8), (row, n + column)), shape=(n + m, n + m))
    part = connected_components(graph, directed=False)[1]
    least = np.full(n + m, np.inf)
    np.minimum.at(least, part[row], gain)
    gains[:, 0] = least[part[:n]] - 1.0
    return _Table(place, gains, part[:n], np.zeros(m + n), np.full(m + n, -1), np.full(n, -1))


@dataclass
class _Table:
    """Places that n rows may take, their prices, and the row that holds each."""

    place: np.ndarray  # [n, k]
    gain: np.ndarray  # [n, k]
    part: np.ndarray  # [n]: the connected part of a row
    price: np.ndarray  # [places], 0 until it is held
    holder: np.ndarray  # [places]: a row, -1 for none
    held: np.ndarray  # [n]: which of its k places a row holds, -1 for none

    def solve(self) -> np.ndarray:
        """Return [n]: the place of each row.

        Most have theirs after some rounds of the auction. It would take many more where rows outbid each other by
        EPSILON, so the others are led: prices are levelled until each sees a path to a free place that costs it
        nothing, and it follows that as long as those before it have left it open. If all are lost, they look farther,
        in the end everywhere, so that all have a place. The time is about linear in the candidates; only where a good
        part of the rows likes scarce columns all the same does it grow like the square, with a level for each such row.
        """
        self.auction()
        most, left = MAX_PASSED, np.flatnonzero(self.held < 0)
        while len(left):
            self.level()
            self.search_all(left, most)
            before, left = len(left), np.flatnonzero(self.held < 0)
            most *= 1 if len(left) < before else 4
        return self.place[np.arange(len(self.held)), self.held]

    def auction(self) -> None:
        """Bid in rounds until few rows are without a place, or until there were MAX_BIDS per row."""
        left, bidders = MAX_BIDS * len(self.held), np.arange(len(self.held))
        while len(bidders) > MAX_AUCTION_REST and left > 0:
            left -= ROUND_COST + len(bidders)
            bidders = self.bid(bidders)

    def bid(self, bidders: np.ndarray) -> np.ndarray:
        """Bid p_j = p_j + best - second best + EPSILON, of gain - p; the highest wins. Return rows without a place."""
        every = np.arange(len(bidders))
        worth = self.gain[bidders] - self.price[self.place[bidders]]
        top = worth.argmax(axis=1)
        best = worth[every, top]
        worth[every, top] = -np.inf
        best_place = self.place[bidders, top]
        bid = self.price[best_place] + best - worth.max(axis=1) + EPSILON
        order = np.lexsort((-bid, best_place))  # by place, the highest bid first, the first of equal ones
        won = order[np.diff(best_place[order], prepend=-1) > 0]
        before = self.holder[best_place[won]]
        before = before[before >= 0]
        self.held[before] = -1
        self.holder[best_place[won]], self.held[bidders[won]] = bidders[won], top[won]
        self.price[best_place[won]] = bid[won]
        return np.sort(np.concatenate([np.delete(bidders, won), before]))

    def profit(self, rows: np.ndarray) -> np.ndarray:
        """Compute gain - p of what each row holds, of the best that it could have where it holds none."""
        worth = self.gain[rows] - self.price[self.place[rows]]
        held = self.held[rows]
        return np.where(held < 0, worth.max(axis=1), worth[np.arange(len(rows)), held])

    def level(self) -> None:
        """Add h_i to the price of what i holds: h_i = min_j max(0, profit_i - (gain_ij - p_j)) + (h of its holder).

        h, 0 of a free place, is how much a row would lose if it left its place and others moved on, up to a place that
        is free: a shortest path. Afterwards it loses nothing by that. Only parts with a row that has no place are
        looked at.
        """
        n = len(self.held)
        rows = np.flatnonzero(np.isin(self.part, self.part[self.held < 0]))
        at, option = np.nonzero(np.isfinite(self.gain[rows]))
        row, place = rows[at], self.place[rows[at], option]
        step = np.maximum(self.profit(rows)[at] - self.gain[row, option] + self.price[place], 0.0) + MIN_STEP
        free, out = self.holder[place] < 0, np.full(n, np.inf)
        np.minimum.at(out, row[free], step[free])
        ends = np.flatnonzero(np.isfinite(out))
        steps = np.concatenate([step[~free], out[ends]])
        back = np.concatenate([self.holder[place[~free]], np.full(len(ends), n)])
        graph = csr_matrix((steps, (back, np.concatenate([row[~free], ends]))), shape=(n + 1, n + 1))
        rows = rows[self.held[rows] > 0]  # without those that stay alone, whose place is theirs
        self.price[self.place[rows, self.held[rows]]] += dijkstra(graph, indices=n)[rows]

    def search_all(self, rows: np.ndarray, most: int) -> None:
        """Find a place for each row that reaches one before it passes so many, until they have passed many together."""
        left = len(self.held) // 8
        for row in rows.tolist():
            left -= self.search(row, most)
            if left < 0:
                return

    def search(self, start: int, most: int) -> int:
        """Find the shortest path to a free place: d_j = min_i d_i + max(0, profit_i - (gain_ij - p_j)) (Dijkstra).

        From a place that is held the path leads on to its holder, who would take another one. Return how many it
        passed.
        """
        way, row, far = _Path(), start, 0.0
        for passed in range(most):
            self.look(way, row, far)
            place = way.next_held()
            if place < 0:
                self.move(way, start)
                return passed
            row, far = int(self.holder[place]), way.distance[place]
        return most

    def look(self, way: _Path, row: int, far: float) -> None:
        """Update d_j of the places of a row, where that is less than by other rows and than to a free place."""
        worth = self.gain[row] - self.price[self.place[row]]
        profit = worth.max() if self.held[row] < 0 else worth[self.held[row]]
        steps = far + np.maximum(profit - worth, 0.0)
        for option, (step, place) in enumerate(zip(steps.tolist(), self.place[row].tolist(), strict=True)):
            if step < way.free_at and step < way.distance.get(place, np.inf):
                way.distance[place], way.came[place] = step, (row, option)
                if self.holder[place] < 0:
                    way.free_at, way.free = step, place
                else:
                    heappush(way.held, (step, place))

    def move(self, way: _Path, start: int) -> None:
        """Set p_j = p_j + max(0, D - d_j), D to the free place: the rows on the path move on, and like it as much."""
        for place in way.passed:
            self.price[place] += way.free_at - way.distance[place]
        place, row = way.free, -1
        while row != start:
            row, option = way.came[place]
            left = self.place[row, self.held[row]]
            self.holder[place], self.held[row] = row, option
            place = left


@dataclass
class _Path:
    """Distances of places from a row that has none, as far as it has searched."""

    distance: dict[int, float] = field(default_factory=dict)
    came: dict[int, tuple[int, int]] = field(default_factory=dict)  # by which row, and which of its places that is
    held: list[tuple[float, int]] = field(default_factory=list)  # a heap
    passed: list[int] = field(default_factory=list)
    free: int = -1
    free_at: float = np.inf

    def next_held(self) -> int:
        """Return the nearest place that is held and was not passed yet, -1 if the free one is nearer."""
        while self.held and self.held[0][0] < self.free_at:
            far, place = heappop(self.held)
            if far == self.distance[place]:
                self.passed.append(place)
                return place
        return -1
