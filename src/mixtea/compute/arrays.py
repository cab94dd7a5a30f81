"""Arrays beside tensors: conversion, read-only views, and checks of numbers from files of unknown origin.

Indices become addresses in compiled code, and sizes become memory, so none from a file is trusted. Every check raises
ValueError; the caller adds the name of the file. Torch is imported only where tensors are made.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch
    from torch import Tensor

State = dict[str, Any]  # nested values that JSON knows, and arrays
Arrays = Mapping[str, np.ndarray]


def as_numpy(values: Any) -> np.ndarray:
    """Return an array as it is, a tensor on any device as an array."""
    return values if isinstance(values, np.ndarray) else values.detach().cpu().contiguous().numpy()


def as_arrays(tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    return {name: as_numpy(value) for name, value in tensors.items()}


def to_tensor(values: Any, device: torch.device | None = None) -> Tensor:
    """Return an array or a tensor as a tensor on a device, in the same memory if it is there."""
    import torch

    return torch.as_tensor(values, device=device)


def as_tensors(arrays: Mapping[str, np.ndarray], device: torch.device) -> dict[str, Tensor]:
    return {name: to_tensor(array, device) for name, array in arrays.items()}


def checked_rows(array: Any, n: int, like: Tensor, width: int | None = None) -> Tensor:
    """Return whole numbers below n, [p] or [p, width], on the device of `like`; ValueError for anything else."""
    if array.dtype != np.int64 or array.shape[1:] != (() if width is None else (width,)):
        raise ValueError(f"rows of shape {array.shape}, type {array.dtype}")
    if array.size and not (array.min() >= 0 and array.max() < n):
        raise ValueError(f"rows outside 0..{n - 1}")
    return to_tensor(array, like.device)


def read_only(value: Any) -> Any:
    """Return the same value, in the same memory, with all arrays and mappings in it read-only.

    Dataclasses, tuples and mappings are searched; a tensor becomes an array; all else is unchanged.

    >>> array = np.zeros(2)
    >>> read_only({"a": array})["a"].flags.writeable, array.flags.writeable
    (False, True)
    """
    if isinstance(value, np.ndarray) or hasattr(value, "detach"):
        view = as_numpy(value).view()
        view.flags.writeable = False
        return view
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: read_only(getattr(value, field.name)) for field in fields(value)})
    if isinstance(value, tuple):
        parts = map(read_only, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, Mapping):
        return MappingProxyType({name: read_only(part) for name, part in value.items()})
    return value


def is_number(value: Any, most: float = math.inf) -> bool:
    """Return whether a value is a finite number of JSON, at most `most` in size."""
    return type(value) in (int, float) and abs(value) <= min(most, sys.float_info.max)


def is_numbers(value: Any) -> bool:
    """Return whether a value maps names to numbers."""
    return isinstance(value, dict) and all(map(is_number, value.values()))


def check_numbers(values: Iterable[Any], n: int | None = None) -> None:
    """Check for finite numbers, n of them if given."""
    found = list(values)
    if not all(map(is_number, found)):
        raise ValueError("a value is not a number")
    if n is not None and len(found) != n:
        raise ValueError(f"{len(found)} numbers instead of {n}")


def check_history(history: Any, n_epochs: int | None = None) -> None:
    """Check for a record of numbers per epoch, from the first on, n_epochs of them if given."""
    if not isinstance(history, list) or len(history) != (len(history) if n_epochs is None else n_epochs):
        raise ValueError(f"it does not have a record for each of {n_epochs} epochs")
    for epoch, record in enumerate(history, 1):
        if not is_numbers(record):
            raise ValueError("a record holds a value that is not a number")
        if record.get("epoch") != epoch:
            raise ValueError(f"record {epoch} is not of this epoch")


def check_within(numbers: np.ndarray, end: int, what: str, begin: int = 0) -> None:
    """Check that all numbers are from `begin` to below `end`."""
    if numbers.size and not begin <= numbers.min() <= numbers.max() < end:
        raise ValueError(f"{what} is not among {begin} to {end - 1}")


def check_pairs(pairs: np.ndarray, sizes: tuple[int, int]) -> None:
    """Check for int64 [p, 2], entities of two graphs of these sizes."""
    if pairs.dtype != np.int64 or pairs.shape[1:] != (2,) or not ((pairs >= 0) & (pairs < sizes)).all():
        raise ValueError("pairs of entities outside the graphs")


def check_lengths(arrays: Arrays) -> None:
    """Check that all arrays are equally long."""
    if len({len(values) for values in arrays.values()}) > 1:
        raise ValueError("its arrays differ in length")


def check_finite(name: str, values: np.ndarray, most: float = math.inf, *, or_nan: bool = False) -> None:
    """Check that numbers are at most `most` in size; NaN is allowed with `or_nan`."""
    good = np.isfinite(values) & (np.abs(values) <= most)
    if or_nan:
        good |= np.isnan(values)
    if not good.all():
        raise ValueError(f"{name} holds a value that is not a number, or too large")


def check_scores(name: str, values: Any, precision: str, *, or_nan: bool = False) -> None:
    """Check for a one-dimensional array of this precision."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype != precision:
        raise ValueError(f"{name}: scores of another type or shape")
    check_finite(name, values, or_nan=or_nan)


def check_same_form(arrays: Arrays, like: Arrays, what: str) -> None:
    """Check that arrays have the names, dtypes and shapes of others, and are finite."""
    if arrays.keys() != like.keys():
        raise ValueError(f"{what} has other parameters")
    for name, array in arrays.items():
        if array.dtype != like[name].dtype or array.shape != like[name].shape:
            raise ValueError(f"{what}: {name} is {array.dtype} {array.shape}")
        check_finite(f"{what}: {name}", array)
