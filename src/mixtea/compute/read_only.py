"""Read-only views of tensors, tables and tasks. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from mixtea.compute.scored_pairs import as_numpy


def read_only(value: Any) -> Any:
    """Return the same value, in the same memory, with all arrays and mappings in it read-only.

    Dataclasses, named tuples and mappings are searched; a tensor becomes an array; all else is unchanged.

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
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(read_only, value))
    if isinstance(value, Mapping):
        return MappingProxyType({name: read_only(part) for name, part in value.items()})
    return value
