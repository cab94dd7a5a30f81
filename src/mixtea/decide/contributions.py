"""What each opinion adds to the score of a pair, in words. No torch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def evidence_texts(parts: Mapping[str, np.ndarray], n: int) -> np.ndarray:
    """[n] texts such as `names=+9.1 vectors=+7.9`, the largest first; who has no opinion, NaN, is not named.

    >>> evidence_texts({"vectors": np.array([7.94, -0.01]), "names": np.array([9.1, np.nan])}, 2).tolist()
    ['names=+9.1 vectors=+7.9', 'vectors=+0.0']
    """
    names = list(parts)
    values = np.column_stack([parts[name] for name in names]) if names else np.empty((n, 0))
    texts = np.empty(n, dtype=object)
    texts[:] = [" ".join(_sorted_texts(names, row)) for row in values.round(1).tolist()]
    return texts


def _sorted_texts(names: list[str], row: list[float]) -> list[str]:
    spoken = [(value, name) for name, value in zip(names, row, strict=True) if value == value]
    return [f"{name}={value + 0.0:+.1f}" for value, name in sorted(spoken, key=lambda one: (-one[0], one[1]))]
