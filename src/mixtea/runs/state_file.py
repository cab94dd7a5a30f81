"""State files: nested values with arrays, as one safetensors file with a checksum over every byte of them.

Values are JSON and arrays. The JSON is stored as an array of bytes, with references in the place of arrays. Reading
runs no code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from mixtea.errors import RunError
from mixtea.messages import visible
from mixtea.runs.atomic import atomic_file
from mixtea.runs.safe_read import RESTORE_ADVICE, check_plain, clear_read_errors

JSON = "json"  # the name of the bytes of JSON; arrays have a number, after a dot
ARRAY, PLAIN = "array", "plain"  # {"array": name} stands for one, {"plain": {...}} for an object that looks like these
SAFETENSORS_TYPES = {  # by NumPy's names
    "bool": "BOOL", "uint8": "U8", "uint32": "U32", "int32": "I32", "int64": "I64", "float32": "F32", "float64": "F64",
}  # fmt: skip


def write_state_file(path: Path, kind: str, value: Any) -> None:
    """Write the value, which appears whole or not at all; `kind` names its type, with the number of its format."""
    arrays: dict[str, np.ndarray] = {}
    try:
        text = json.dumps(_without_arrays(value, arrays), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise RunError(f"{path}: the state cannot be saved ({visible(error, 200)}).") from error
    arrays[JSON] = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    with atomic_file(path, follow=False) as temporary:
        save_file(arrays, temporary, {"unit": f"{kind} {_checksum(arrays, kind)}"})  # two would come in any order


def read_state_file(path: Path, kind: str) -> Any:
    """Read the value, if it is of this kind and every byte of it is as it was written."""
    with clear_read_errors(path):
        check_plain(path)  # a sparse file would take memory that was never sent
        np.empty(path.stat().st_size, dtype=np.uint8)  # is there room for it? This takes none
        with safe_open(path, "numpy") as file:
            found, _, checksum = (file.metadata() or {}).get("unit", "").rpartition(" ")
            if found != kind:
                raise RunError(f"{path}: holds {found or 'something else'!r}, while this version reads {kind!r}.")
            names = list(file.keys())
            strange = {file.get_slice(name).get_dtype() for name in names} - {*SAFETENSORS_TYPES.values()}
            if strange:
                raise ValueError(f"it holds {', '.join(sorted(strange))}")
            arrays = {name: file.get_tensor(name) for name in names}
        if checksum != _checksum(arrays, kind):
            raise RunError(f"{path}: changed since it was written (checksum). {RESTORE_ADVICE}")
        text = arrays.pop(JSON).tobytes().decode("utf-8", "surrogatepass")
        return _with_arrays(json.loads(text), arrays)


def _without_arrays(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Convert the value to JSON's types; the state of a voter may hold numbers and arrays of any type."""
    if isinstance(value, np.ndarray):
        if str(value.dtype.newbyteorder("=")) not in SAFETENSORS_TYPES:
            raise TypeError(f"an array of {value.dtype}")
        whole = value.astype(value.dtype.newbyteorder("="), copy=False)
        name = f".{len(arrays)}"
        arrays[name] = whole if whole.flags.c_contiguous else whole.copy()  # order C; a single number stays one
        return {ARRAY: name}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        held = {str(name): _without_arrays(part, arrays) for name, part in value.items()}
        return {PLAIN: held} if held.keys() in ({ARRAY}, {PLAIN}) else held
    return [_without_arrays(part, arrays) for part in value] if isinstance(value, list | tuple) else value


def _with_arrays(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {ARRAY}:
            return arrays[value[ARRAY]]
        held = value[PLAIN] if value.keys() == {PLAIN} else value
        return {name: _with_arrays(part, arrays) for name, part in held.items()}
    return [_with_arrays(part, arrays) for part in value] if isinstance(value, list) else value


def _checksum(arrays: Mapping[str, np.ndarray], kind: str) -> str:
    """Hash the kind, and the names, types, shapes and bytes of the arrays."""
    digest = hashlib.sha256(kind.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(array.tobytes() if array.ndim == 0 else array.data if array.size else b"")
    return digest.hexdigest()
