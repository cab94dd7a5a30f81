"""Assign links to train, validate and test, by share and seed."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mixtea.errors import ConfigError, DataError

SHARES = {"train": 0.2, "valid": 0.1, "test": 0.7}  # as the benchmarks have it


def assign_splits(source: np.ndarray, target: np.ndarray, shares: Mapping[str, float], seed: int = 1) -> np.ndarray:
    """Return [p] the split of each link; links that share an entity stay together.

    >>> assign_splits(np.array(list("aabcd")), np.array(list("ABCDE")), {"train": 0.4, "test": 0.6}).tolist()
    ['train', 'train', 'test', 'test', 'test']
    """
    check_shares(shares)
    if not len(source):
        return np.empty(0, dtype=object)
    group = _groups(source, target)
    size = np.bincount(group)
    order = np.random.default_rng(seed).permutation(len(size))
    middle = np.empty(len(size))
    middle[order] = np.cumsum(size[order]) - size[order] / 2
    ends = np.cumsum(list(shares.values())) * len(source)
    ends[-1] = math.inf
    part = np.array(list(shares), dtype=object)[np.searchsorted(ends, middle, side="right")][group]
    for name in (name for name, share in shares.items() if share and not (part == name).any()):
        raise DataError(f"{len(source):,} links are too few for {name} links. Give it a share of 0, or add links.")
    return part


def check_shares(shares: Mapping[str, float]) -> None:
    """Raise a ConfigError unless each share is from 0 to 1 and their sum is 1."""
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ConfigError(f"{name} must be a share from 0 to 1, not {share:g}.")
    if not math.isclose(sum(shares.values()), 1, abs_tol=1e-6):
        total = " + ".join(f"{share:g}" for share in shares.values())
        raise ConfigError(f"The shares {' '.join(shares)} must come to 1: {total} is {sum(shares.values()):g}.")


def _groups(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return [p] group numbers, the same for links that are connected by entities."""
    first, left = pd.factorize(source)
    second, right = pd.factorize(target)
    n = len(left) + len(right)
    links = coo_array((np.ones(len(first), dtype=np.int8), (first, second + len(left))), shape=(n, n))
    _, found = connected_components(links, directed=False)
    return np.unique(found[first], return_inverse=True)[1]
