"""Files and folders that appear whole or not at all: written beside, flushed, then renamed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from mixtea.errors import RunError

RUN_FILES = {
    "run.json": "what, when, with which versions; sizes and checksums of the other files; written last",
    "config.json": "the settings",
    "weights.safetensors": "the student",
    "graphs.safetensors": "triples and links as numbers",
    "vocabulary.json": "the labels behind the numbers",
    "votes.safetensors": "who voted for what, from which epoch to which",
    "opinions.safetensors": "candidates, and what each voter beside the student thinks of them",
    "history.json": "one record an epoch",
    "metrics.json": "scores, where there were links to score",
    "curves.png": "losses and validation scores",
    "report.html": "a page about the run, where one was asked for",
    "changes.tsv": "after a warm start, which earlier mappings changed and why",
}


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`, which takes its place once the block has ended well."""
    with _clear_errors(path):
        path = path.resolve()
        if path.is_dir():
            raise RunError(f"{path}: a folder, where a file is to be written. Name a file.")
        if path.exists() and not path.is_file():
            raise RunError(f"{path}: a device or pipe, where a file is to be written. Name a file.")
        if path.name in RUN_FILES and (path.parent / "run.json").exists():
            raise RunError(f"{path}: a part of a run. Name another file.")
        temporary = _beside(path, "tmp")
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
    with _clear_errors(path):
        path = path.resolve()
        temporary, old = _beside(path, "tmp"), _beside(path, "old")
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
    """Refuse a place that holds something or cannot be written, before any work is done for it."""
    with _clear_errors(path):
        resolved = path.resolve()
        if resolved.is_dir():
            _check_replaceable(path, sorted(p.name for p in resolved.iterdir()), overwrite)
        elif resolved.exists():
            raise RunError(f"{path}: a file, where a folder is to be written. Name another.")
        resolved.parent.mkdir(parents=True, exist_ok=True)
        probe = _beside(resolved, "probe")
        probe.mkdir()
        probe.rmdir()


def _check_replaceable(path: Path, held: list[str], overwrite: bool) -> None:
    """A run may be replaced on request, if nothing else has been laid beside its files."""
    if not held:
        return
    if "run.json" not in held:
        raise RunError(f"{path}: the folder is not empty. Name another.")
    if not overwrite:
        raise RunError(f"{path}: a run is already there. Name another, or say --overwrite.")
    others = [name for name in held if name not in RUN_FILES]
    if others:
        raise RunError(f"{path}: besides a run it holds {', '.join(others[:5])}. Move that away, or name another.")


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
    except (OSError, SafetensorError) as error:
        why = getattr(error, "strerror", None) or error
        raise RunError(f"{path}: cannot be written ({why}).") from error
