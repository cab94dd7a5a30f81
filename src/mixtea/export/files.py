"""Files and folders that appear whole or not at all: written beside, flushed, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mixtea.errors import RunError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`, which takes its place once the block has ended well."""
    if path.is_dir():
        raise RunError(f"{path}: a folder, where a file is to be written. Name a file.")
    temporary = _beside(path, "tmp")
    with _clear_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            _flush(temporary)
            temporary.replace(path)
            _flush(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yields a temporary folder beside `path`, which takes its place once the block has ended well."""
    check_free(path, overwrite=overwrite)
    temporary, old = _beside(path, "tmp"), _beside(path, "old")
    with _clear_errors(path):
        temporary.mkdir(parents=True)
        try:
            yield temporary
            for file in (*temporary.iterdir(), temporary):
                _flush(file)
            if path.exists():
                path.rename(old)
            temporary.rename(path)
            _flush(path.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse a path that holds something already, before any work is done for it."""
    if path.is_dir():
        if any(path.iterdir()) and not (overwrite and (path / "run.json").exists()):
            held = "a run is already there" if (path / "run.json").exists() else "the folder is not empty"
            way = "Name another, or say --overwrite." if (path / "run.json").exists() else "Name another."
            raise RunError(f"{path}: {held}. {way}")
    elif path.exists():
        raise RunError(f"{path}: a file, where a folder is to be written. Name another.")


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f".{path.name}.{what}-{os.getpid()}")


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _clear_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(f"{path}: cannot be written ({error.strerror or error}).") from error
