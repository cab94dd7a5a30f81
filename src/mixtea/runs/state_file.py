"""A state file: nested values, arrays among them, as one safetensors file with a checksum over every byte of them.

Values are what JSON knows, and arrays. The JSON lies in the file as an array of bytes, with a reference where an array
stood. Nothing that is read can name code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from mixtea.errors import RunError
from mixtea.runs.atomic import atomic_file
from mixtea.runs.untrusted import AGAIN, check_plain

JSON = "json"  # the name of the bytes of JSON; arrays have the path to their place, which begins with a dot
ARRAY = "array"  # {"array": name} stands for one
KINDS = {"BOOL", "U8", "U32", "I32", "I64", "F32", "F64"}  # of numbers, as safetensors calls them


def write_state_file(path: Path, kind: str, value: Any) -> None:
    """Write the value, which appears whole or not at all; `kind` says what it is, with the number of its format."""
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(_without_arrays(value, "", arrays), ensure_ascii=False, allow_nan=False)
    arrays[JSON] = np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)
    with atomic_file(path, follow=False) as temporary:
        save_file(arrays, temporary, {"unit": f"{kind} {_checksum(arrays, kind)}"})  # two would come in any order


def read_state_file(path: Path, kind: str) -> Any:
    """The value, if it is of this kind and every byte of it is as it was written."""
    if path.is_symlink() or not path.is_file():
        what = "a link or device, where a file is needed" if path.is_symlink() or path.exists() else "missing"
        raise RunError(f"{path}: {what}. {AGAIN}")
    check_plain(path)  # a file of holes would take memory that nobody sent
    try:
        np.empty(path.stat().st_size, dtype=np.uint8)  # is there room for it? This takes none
        with safe_open(path, "numpy") as file:
            found, _, checksum = (file.metadata() or {}).get("unit", "").rpartition(" ")
            if found != kind:
                raise RunError(f"{path}: holds {found or 'something else'!r}, while this version reads {kind!r}.")
            names = list(file.keys())
            strange = {file.get_slice(name).get_dtype() for name in names} - KINDS
            if strange:
                raise ValueError(f"it holds {', '.join(sorted(strange))}")
            arrays = {name: file.get_tensor(name) for name in names}
        if checksum != _checksum(arrays, kind):
            raise RunError(f"{path}: changed since it was written (checksum). {AGAIN}")
        text = arrays.pop(JSON).tobytes().decode("utf-8", "surrogatepass")
        return _with_arrays(json.loads(text), arrays)
    except MemoryError:
        raise RunError(f"{path}: needs more memory than there is. Use a machine with more.") from None
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else error
        raise RunError(f"{path}: damaged ({why}). {AGAIN}") from None


def _without_arrays(value: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        arrays[path] = value if value.flags.c_contiguous else value.copy()  # order C; a single number stays one
        return {ARRAY: path}
    if isinstance(value, Mapping):
        return {str(name): _without_arrays(part, f"{path}.{name}", arrays) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_arrays(part, f"{path}.{i}", arrays) for i, part in enumerate(value)]
    return value


def _with_arrays(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {ARRAY}:
            return arrays[value[ARRAY]]
        return {name: _with_arrays(part, arrays) for name, part in value.items()}
    return [_with_arrays(part, arrays) for part in value] if isinstance(value, list) else value


def _checksum(arrays: Mapping[str, np.ndarray], kind: str) -> str:
    """Of the kind, and of the names, types, shapes and bytes of the arrays."""
    digest = hashlib.sha256(kind.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(array.tobytes() if array.ndim == 0 else array.data if array.size else b"")
    return digest.hexdigest()
