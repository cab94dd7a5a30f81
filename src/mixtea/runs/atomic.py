"""Write files and folders whole or not at all, and lock folders for one process.

A file is written beside its place, flushed, renamed, and flushed again. What is being written lies in a temporary
folder, hidden beside its place, which its process holds locked. One that no process holds is what a sudden death left:
the next to write to the same place sweeps it away. A lock is the system's, and ends with its process however that ends.
"""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from mixtea.errors import RunError, WriteError
from mixtea.messages import visible

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)


class HeldError(RunError):
    """Raised where another process holds a folder."""


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the folder while the block runs; refused at once if another process holds it."""
    if fcntl is None:
        yield
        return
    descriptor = _held(folder)
    if descriptor is None:
        raise HeldError(f"{folder}: another mixtea is at work there. Wait for it, or name another folder.")
    try:
        yield
    finally:
        os.close(descriptor)


def is_free(folder: Path) -> bool:
    """Check whether the folder is there and no process holds it; a guess where the system has no locks."""
    if fcntl is None:
        return folder.exists()
    try:
        descriptor = _held(folder)
    except OSError:  # gone meanwhile, or another user's
        return False
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def _held(folder: Path) -> int | None:
    """Return a descriptor that holds the folder until it is closed; None if another process holds it."""
    while True:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            if not _locked(descriptor, folder):
                os.close(descriptor)
                return None
            if folder.exists() and os.path.samestat(os.fstat(descriptor), folder.stat()):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder has removed the folder meanwhile: look again


def _locked(descriptor: int, folder: Path) -> bool:
    """Lock an open folder; where the file system cannot, warn and go on without."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        logger.warning("%s: cannot be locked (%s); start no second run there", visible(folder), error.strerror)
    return True


RUN_FILES = {
    "run.json": "what, when, with which versions; sizes and checksums of the other files; written last",
    "config.json": "the settings",
    "weights.safetensors": "the student",
    "graphs.safetensors": "triples, links and vectors of one's own as numbers, attribute triples and labels as bytes",
    "vocabulary.json": "the ids behind the numbers",
    "votes.safetensors": "who voted for what, from which epoch to which",
    "opinions.safetensors": "all that was considered, and what each voter beside the student thinks of it",
    "candidates.safetensors": "the 20 best candidates of each source, with scores, probability and decision",
    "mapping.safetensors": "the decision about each source, every target given once",
    "history.json": "one record an epoch",
    "learned.json": "what names and values are worth, to match entities that come later",
    "metrics.json": "scores, where there were links to score",
    "curves.png": "losses and validation scores",
    "report.html": "a page about the run, where one was asked for",
    "changes.tsv": "after a warm start, which mappings are new, gone or changed, and why",
}
HISTORY = "history"  # the folder of earlier runs, in a run folder
HARDWARE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.ESTALE, errno.ENODEV)  # not the caller's fault
TEMPORARY = re.compile(r"\.(.+)\.tmp-\d+", re.DOTALL)  # .NAME.tmp-PID
WINDOWS = os.name == "nt"
EXCHANGE = 2  # flag of renameat2: swap both
HERE = -100  # AT_FDCWD of renameat2: relative paths are relative to the working folder


@contextmanager
def atomic_file(path: Path, *, follow: bool = True) -> Iterator[Path]:
    """Yield a path to write to, which takes the place of `path` once the block has ended well.

    A link at `path` is a person's, who wants the file to be where it leads; without `follow` it is replaced, as in a
    folder that may come from anywhere.
    """
    with clear_errors(path):
        path = resolve_place(path) if follow else resolve_place(path.parent) / path.name
        _check_place(path)
        with _temporary_folder(path) as temporary:
            yield temporary / path.name
            flush(temporary / path.name)
            rename(temporary / path.name, path)


def atomic_text(path: Path, text: str) -> None:
    """Write a text file; a link in its place is replaced."""
    with atomic_file(path, follow=False) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def _check_place(path: Path) -> None:
    """Refuse a place that a file may not take."""
    linked = path.is_symlink()
    if path.is_dir() and not linked:
        raise RunError(f"{path}: a folder, where a file is to be written. Name a file.")
    if path.exists() and not path.is_file() and not linked:
        raise RunError(f"{path}: a device or pipe, where a file is to be written. Name a file.")
    if path.name in RUN_FILES and (path.parent / "run.json").exists():
        raise RunError(f"{path}: a part of a run. Name another file.")


def rename(file: Path, path: Path) -> None:
    """Move the file to `path`, durably."""
    file.replace(path)
    flush(path.parent)


@contextmanager
def atomic_folder(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a folder to write into, which takes the place of `path` once the block has ended well."""
    check_free(path, overwrite=overwrite)
    with clear_errors(path):
        path = resolve_place(path)
        with _temporary_folder(path) as temporary:
            new = temporary / "new"
            new.mkdir()
            yield new
            for file in (*new.iterdir(), new):
                flush(file)
            if path.exists():
                _swap(new, path)
            else:
                new.rename(path)
            flush(path.parent)


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse a place that holds something or cannot be written, before any work is done for it."""
    with clear_errors(path):
        place = resolve_place(path)
        if place.is_dir():
            _check_replaceable(path, sorted(p.name for p in place.iterdir()), overwrite)
        elif place.exists():
            raise RunError(f"{path}: a file, where a folder is to be written. Name another.")
        with _temporary_folder(place):
            pass


def check_new_file(path: Path, *, overwrite: bool) -> None:
    """Refuse a place where something is already, before any work is done for it, unless it may be replaced."""
    with clear_errors(path):
        _check_place(place := resolve_place(path))
        if not overwrite and place.exists():
            raise RunError(f"{path}: a file is already there. Name another, or say --overwrite.")


def resolve_place(path: Path) -> Path:
    """Return the path without links; it must have a name, so that a folder can be made beside it."""
    try:
        found = path.resolve()
    except RuntimeError:  # as older versions of Python raise it
        raise RunError(f"{path}: links that lead round in a circle. Name another.") from None
    if not found.name:
        raise RunError(f"{path}: nothing can be written in its place. Name another.")
    return found


def _check_replaceable(path: Path, held: list[str], overwrite: bool) -> None:
    """Refuse to replace anything but a run, on request, without other files beside its own."""
    if not held:
        return
    if "run.json" not in held:
        raise RunError(f"{path}: the folder is not empty. Name another.")
    if not overwrite:
        raise RunError(f"{path}: a run is already there. Name another, or say --overwrite (overwrite=True).")
    others = [name for name in held if name not in RUN_FILES and name != HISTORY]
    if others:
        raise RunError(f"{path}: besides a run it holds {', '.join(others[:5])}. Move that away, or name another.")


@contextmanager
def _temporary_folder(path: Path) -> Iterator[Path]:
    """Yield a locked folder beside `path`, which is gone after the block, whatever happens in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    clear_leftovers(path.parent, re.compile(re.escape(path.name)))
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    temporary.mkdir()
    try:
        with lock_folder(temporary):
            yield temporary
    finally:
        _put_back(temporary, path)
        shutil.rmtree(temporary, ignore_errors=True)


def clear_leftovers(folder: Path, names: re.Pattern[str]) -> None:
    """Remove the temporary folders there, of what has one of these names, that no living process holds."""
    for temporary in folder.iterdir():
        of = TEMPORARY.fullmatch(temporary.name)
        if of and names.fullmatch(of[1]) and temporary.is_dir() and not temporary.is_symlink() and is_free(temporary):
            _put_back(temporary, folder / of[1])
            shutil.rmtree(temporary, ignore_errors=True)


def _swap(new: Path, path: Path) -> None:
    """Swap the two folders at once, so that there always is one; where the system cannot, in two steps."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
        swapped = renameat2(HERE, os.fsencode(new), HERE, os.fsencode(path), EXCHANGE) == 0
    except (AttributeError, OSError, TypeError):
        swapped = False
    if not swapped:
        path.rename(new.with_name("old"))
        new.rename(path)


def _put_back(temporary: Path, path: Path) -> None:
    """Restore the older folder if something came between the two steps."""
    old = temporary / "old"
    if old.is_dir() and not old.is_symlink() and not path.exists():
        old.rename(path)


def flush(path: Path) -> None:
    """Flush a file or a folder to the disk."""
    if WINDOWS:  # which cannot flush a folder, nor a file that is open for reading
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn errors of writing into one message that names the file."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        why = getattr(error, "strerror", None) or error
        kind = WriteError if _by_hardware(error) else RunError
        raise kind(f"{path}: cannot be written ({why}).") from error


def _by_hardware(error: Exception) -> bool:
    """Check whether the disk is at fault; safetensors has the system's error as text."""
    if isinstance(error, OSError):
        return error.errno in HARDWARE
    return any(os.strerror(number) in str(error) for number in HARDWARE)
