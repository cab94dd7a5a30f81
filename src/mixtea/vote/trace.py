"""The trace: who voted for what at which epoch. A vote that stays the same is one line, however long it stays."""

from __future__ import annotations

import numpy as np

from mixtea.vote.votes import Votes

COLUMNS = ("source", "target", "voters", "first_epoch", "last_epoch")


class Trace:
    """Votes as intervals of epochs: (source entity, target entity, bits of the voters, first epoch, last epoch)."""

    def __init__(self) -> None:
        self._closed: list[np.ndarray] = []
        self._open = np.empty((0, len(COLUMNS)), dtype=np.int32)

    def add(self, epoch: int, votes: Votes, sources: np.ndarray, targets: np.ndarray) -> None:
        """The votes of an epoch, between rows that stand for these entities (their own graph's numbers)."""
        bits = np.zeros(len(votes), dtype=np.int64) if votes.voters is None else votes.voters.cpu().numpy()
        now = np.stack([sources[votes.source.cpu().numpy()], targets[votes.target.cpu().numpy()], bits], axis=1)
        now = now[np.lexsort(now.T[::-1])].astype(np.int32)
        before, after = (_key(table) for table in (self._open, now))
        stays, known = np.isin(before, after, assume_unique=True), np.isin(after, before, assume_unique=True)
        self._closed.append(self._open[~stays])
        kept = self._open[stays]
        kept[:, 4] = epoch
        fresh = np.concatenate([now[~known], np.full(((~known).sum(), 2), epoch, dtype=np.int32)], axis=1)
        self._open = np.concatenate([kept, fresh])

    def state(self) -> dict[str, np.ndarray]:
        return {"closed": np.concatenate([self._open[:0], *self._closed]), "open": self._open}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self._closed, self._open = [state["closed"]], state["open"]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """One int32 array a column, by first epoch, then source, then target."""
        table = np.concatenate([*self._closed, self._open])
        table = table[np.lexsort((table[:, 1], table[:, 0], table[:, 3]))]
        return {name: np.ascontiguousarray(table[:, i]) for i, name in enumerate(COLUMNS)}


def _key(table: np.ndarray) -> np.ndarray:
    """int64 a row: source, target and voters in one number."""
    source, target, bits = table[:, :3].astype(np.int64).T
    return (source << 36) | (target << 4) | bits
