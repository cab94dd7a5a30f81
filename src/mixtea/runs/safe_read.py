"""Defensive readers of a run folder's bytes, JSON and arrays: no symlinks, size limits, no code execution.

They do not wait for pipes either. What takes memory must at least have been sent: a file of holes is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file

from mixtea.errors import MixTEAError, RunError
from mixtea.io.vectors.load import MIN_SPARSE_BYTES, is_sparse
from mixtea.messages import visible

RESTORE_ADVICE = "Restore it from a copy, or train again."
PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")  # of a file; it cannot lead out of the folder
MAX_REASON, MAX_JSON_PARTS = 300, 100_000
Form = tuple[str, tuple[int | None, ...]]  # of an array: its kind, and its shape with None for any length
_REFUSED_FILES = (
    (stat.S_ISLNK, "a link, which a run folder must not hold"),
    (stat.S_ISDIR, "a folder, where a file is needed"),
    (lambda mode: not stat.S_ISREG(mode), "a device or pipe, where a file is needed"),
)


@contextmanager
def clear_read_errors(path: Path) -> Iterator[None]:
    """Turn any error of a file into one message that names it."""
    try:
        yield
    except RunError:
        raise
    except RecursionError:
        raise RunError(f"{path}: damaged (nested too deeply). {RESTORE_ADVICE}") from None
    except MemoryError:
        raise RunError(f"{path}: needs more memory than there is. Use a machine with more.") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, SafetensorError, MixTEAError) as error:
        raise RunError(f"{path}: damaged ({visible(error, MAX_REASON)}). {RESTORE_ADVICE}") from None
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror}). Check its permissions.") from None


def check_plain(path: Path, largest: int | None = None) -> None:
    """Refuse a missing file, anything but a regular file, more bytes than `largest`, or a sparse file."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        raise RunError(f"{path}: missing. {RESTORE_ADVICE}") from None
    for is_kind, what in _REFUSED_FILES:
        if is_kind(found.st_mode):
            raise RunError(f"{path}: {what}. {RESTORE_ADVICE}")
    if largest is not None and found.st_size > largest:
        raise RunError(
            f"{path}: {found.st_size:,} bytes, while no run needs more than {largest:,} there. {RESTORE_ADVICE}"
        )
    if found.st_size >= MIN_SPARSE_BYTES:
        with _opened(path) as file:
            if is_sparse(file):
                what = f"{found.st_size:,} bytes, nearly all of them holes that nobody wrote"
                raise RunError(f"{path}: {what}. {RESTORE_ADVICE}")


def _opened(path: Path) -> BufferedReader:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags), "rb")


def file_fingerprint(path: Path) -> dict[str, Any]:
    """Return size and checksum of a regular file."""
    with _opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        return {"bytes": size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def check_file_size(path: Path, expected: Mapping[str, Any], largest: int | None = None) -> None:
    """Refuse a file that is missing, or of another length than was written."""
    with clear_read_errors(path):
        check_plain(path, largest)
        size = path.lstat().st_size
        if size != expected["bytes"]:
            raise RunError(f"{path}: {size:,} bytes instead of {expected['bytes']:,}. {RESTORE_ADVICE}")


def check_file(path: Path, expected: Mapping[str, Any], largest: int | None = None) -> None:
    """Refuse a file that is not the one that was written, or too large to be."""
    with clear_read_errors(path):
        check_file_size(path, expected, largest)
        if file_fingerprint(path)["sha256"] != expected["sha256"]:
            raise RunError(f"{path}: changed since it was written (checksum). {RESTORE_ADVICE}")


def read_json(path: Path, largest: int | None = None) -> Any:
    """Read what the standard calls JSON and nothing else: no NaN, no infinity, no half characters.

    With `largest`, not more bytes than that, nor lists and objects without number: each takes twenty times its text.
    """
    check_plain(path, largest)
    text = path.read_bytes().decode("utf-8")
    if largest is not None and text.count("[") + text.count("{") > MAX_JSON_PARTS:
        raise ValueError("more lists and objects than any run has")
    value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    if "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # an error if an escape stood for half a character
    return value


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a number")


def _finite(word: str) -> float:
    value = float(word)
    if not abs(value) < float("inf"):
        raise ValueError(f"{visible(word, 20)} is too large")
    return value


def read_arrays(path: Path, forms: Mapping[str, Form]) -> dict[str, np.ndarray]:
    """Read arrays of exactly these names and forms, checked before memory is taken for them."""
    check_forms(array_forms(path), forms)
    return load_file(path)


def check_forms(found: Mapping[str, tuple[str, tuple[int, ...]]], forms: Mapping[str, Form]) -> None:
    """Refuse arrays of other names or forms."""
    if found.keys() != forms.keys():
        strange = sorted(found.keys() ^ forms.keys())
        raise ValueError(f"it has the arrays {', '.join(sorted(found)) or 'none'}; in question: {', '.join(strange)}")
    for name, (kind, shape) in forms.items():
        fits = len(shape) == len(found[name][1]) and all(
            n in (m, None) for n, m in zip(shape, found[name][1], strict=True)
        )
        if kind != found[name][0] or not fits:
            wanted = "x".join("n" if n is None else str(n) for n in shape)
            raise ValueError(f"{name} is {found[name][0]} {list(found[name][1])}, not {kind} {wanted}")


def array_forms(path: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the types and shapes that a safetensors file announces, which its library has checked against its size."""
    check_plain(path)
    with safe_open(path, "np") as file:
        parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        return {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in parts.items()}
