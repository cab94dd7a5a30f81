"""The trace of votes: which voters supported which pair, as intervals of epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

TRACE_COLUMNS = ("source", "target", "voters", "first_epoch", "last_epoch")
Arrays = Mapping[str, np.ndarray]


class Trace:
    """Votes as intervals of epochs: (source, target, voters, first epoch, last epoch).

    `n_voters` may be any number; voters are kept as packed bits, eight per byte.
    """

    def __init__(self, n_voters: int) -> None:
        self.n_voters = n_voters
        self._closed: list[dict[str, np.ndarray]] = []
        self._open = _no_rows(n_voters)

    def add(self, epoch: int, source: np.ndarray, target: np.ndarray, voters: np.ndarray) -> None:
        """Add the votes of an epoch: entity indices, each pair once, and bool [votes, n_voters]."""
        now: dict[str, np.ndarray] = {
            "source": source.astype(np.int32), "target": target.astype(np.int32),
            "voters": np.packbits(voters, axis=1), "first_epoch": np.full(len(source), epoch, dtype=np.int32),
            "last_epoch": np.full(len(source), epoch, dtype=np.int32),
        }  # fmt: skip
        now = _of_rows(now, np.argsort(_pair(now)))
        _, before, after = np.intersect1d(_pair(self._open), _pair(now), assume_unique=True, return_indices=True)
        same = (self._open["voters"][before] == now["voters"][after]).all(axis=1)
        stays = np.isin(np.arange(len(self._open["source"])), before[same])
        self._closed.append(_of_rows(self._open, ~stays))
        now["first_epoch"][after[same]] = self._open["first_epoch"][before[same]]
        self._open = now

    def state_dict(self) -> dict[str, dict[str, np.ndarray]]:
        return {"closed": _joined([_no_rows(self.n_voters), *self._closed]), "open": self._open}

    def load_state_dict(self, state: Mapping[str, Arrays]) -> None:
        self._closed, self._open = [dict(state["closed"])], dict(state["open"])

    def to_arrays(self, n_epochs: int | None = None) -> dict[str, np.ndarray]:
        """Return an array per column, by first epoch, then source, then target; `voters` is uint8 [rows, bytes].

        Only the first `n_epochs` count, if given: votes are cast early in an epoch, which may have ended in an error.
        """
        table = _joined([*self._closed, self._open])
        if n_epochs is not None:
            table = _of_rows(table, np.flatnonzero(table["first_epoch"] <= n_epochs))
            table["last_epoch"] = np.minimum(table["last_epoch"], n_epochs).astype(np.int32)
        return _of_rows(table, np.lexsort((table["target"], table["source"], table["first_epoch"])))


def check_trace(trace: Arrays, sizes: tuple[int, int], n_voters: int, n_epochs: int) -> None:
    """Raise ValueError unless these are intervals of epochs in which known voters supported entities that exist."""
    kinds = {name: (np.dtype(np.uint8), 2) if name == "voters" else (np.dtype(np.int32), 1) for name in TRACE_COLUMNS}
    if trace.keys() != kinds.keys() or any((trace[n].dtype, trace[n].ndim) != kinds[n] for n in kinds):
        raise ValueError("a trace of another form")
    n = len(trace["source"])
    if any(len(column) != n for column in trace.values()) or trace["voters"].shape[1] != -(-n_voters // 8):
        raise ValueError("a trace of another form")
    ends = {"source": (0, sizes[0]), "target": (0, sizes[1])}
    ends |= dict.fromkeys(("first_epoch", "last_epoch"), (1, n_epochs + 1))
    inside = all(((trace[name] >= low) & (trace[name] < high)).all() for name, (low, high) in ends.items())
    spare = np.unpackbits(trace["voters"], axis=1)[:, n_voters:]
    if not inside or spare.any() or (trace["first_epoch"] > trace["last_epoch"]).any():
        raise ValueError("a trace of entities, voters or epochs that there are not")


def trace_table(trace: Arrays, names: Sequence[str]) -> pd.DataFrame:
    """Make a table with a row per vote: entity indices, the voters' names joined by +, its first and last epoch."""
    who = voter_texts(np.unpackbits(trace["voters"], axis=1, count=len(names)).astype(bool), names)
    return pd.DataFrame({name: who if name == "voters" else trace[name] for name in TRACE_COLUMNS})


def voter_texts(voters: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Return for bool [..., n_voters] the names of the voters, joined by +, as an array [...] of text."""
    packed = np.packbits(voters.reshape(-1, voters.shape[-1]), axis=1)
    sets, place = np.unique(packed, axis=0, return_inverse=True)
    who = np.unpackbits(sets, axis=1, count=len(names)).astype(bool)
    texts = np.empty(len(sets), dtype=object)
    texts[:] = ["+".join(name for name, there in zip(names, row, strict=True) if there) for row in who.tolist()]
    return texts[place.reshape(voters.shape[:-1])]


def _pair(table: Arrays) -> np.ndarray:
    """Return int64 per row: source and target in one number."""
    return (table["source"].astype(np.int64) << 32) | table["target"].astype(np.int64)


def _no_rows(n_voters: int) -> dict[str, np.ndarray]:
    empty = {name: np.empty(0, dtype=np.int32) for name in TRACE_COLUMNS}
    return empty | {"voters": np.empty((0, -(-n_voters // 8)), dtype=np.uint8)}


def _of_rows(table: Arrays, rows: np.ndarray) -> dict[str, np.ndarray]:
    return {name: np.ascontiguousarray(column[rows]) for name, column in table.items()}


def _joined(tables: Sequence[Arrays]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([table[name] for table in tables]) for name in TRACE_COLUMNS}
