"""Conversion between tensors and plain arrays, for checkpoints of unknown origin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

State = dict[str, Any]  # nested values that JSON knows, and arrays


def as_array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().contiguous().numpy()


def as_arrays(tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    return {name: as_array(value) for name, value in tensors.items()}


def as_tensors(arrays: Mapping[str, np.ndarray], device: torch.device) -> dict[str, Tensor]:
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


def checked_rows(array: Any, n: int, like: Tensor, width: int | None = None) -> Tensor:
    """Return whole numbers below n, [p] or [p, width], on the device of `like`; ValueError for anything else."""
    if array.dtype != np.int64 or array.shape[1:] != (() if width is None else (width,)):
        raise ValueError(f"rows of shape {array.shape}, type {array.dtype}")
    if array.size and not (array.min() >= 0 and array.max() < n):
        raise ValueError(f"rows outside 0..{n - 1}")
    return torch.from_numpy(array).to(like.device)
