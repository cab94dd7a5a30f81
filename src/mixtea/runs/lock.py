"""Lock a folder for one process. The lock is the system's and ends with its process, however that ends."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mixtea.errors import RunError
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
