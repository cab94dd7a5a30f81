"""Checkpoints: the state of a training after an epoch, one file each, the last two kept; signals that end it."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from mixtea.callbacks import active_callbacks
from mixtea.compute.device import is_first
from mixtea.config import Config
from mixtea.errors import RunError, StoppedError
from mixtea.graph.fingerprint import checksum
from mixtea.graph.task import Task
from mixtea.io.paths import PathOrStr
from mixtea.messages import visible
from mixtea.runs.atomic import clear_errors, clear_leftovers, lock_folder
from mixtea.runs.state_file import read_state_file, write_state_file
from mixtea.voters.learned import Learned

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class StopSignals:
    """Signal handlers of a training: within the context, a first signal calls `on_first` and is kept in `asked`.

    A second one calls `on_second` and does what it would have done without; so does the first outside of the main
    thread of the program. A signal that was ignored stays so.
    """

    def __init__(
        self, on_first: Callable[[], object] = lambda: None, on_second: Callable[[], object] = lambda: None
    ) -> None:
        self.asked, self.on_first, self.on_second = 0, on_first, on_second
        self._before: dict[int, object] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            handled = [number for number in SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
            self._before = {number: signal.signal(number, self._on_signal) for number in handled}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]
        self._before = {}

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if not self.asked:
            self.asked = number
            self.on_first()
        else:
            self.on_second()
            self.__exit__(None, None, None)
            signal.raise_signal(number)


logger = logging.getLogger(__name__)
CHECKPOINT_KIND = "mixtea checkpoint 4"
CHECKPOINT_NAME = re.compile(r"checkpoint-(\d{6,9})\.safetensors")
CHECKPOINTS_KEPT = 2
MAX_TIME_SHARE = 20  # saving may take one part in so many of the time
State = dict[str, Any]


class Checkpoints:
    """The checkpoints of one training, in a folder.

    One is due `every` so many seconds (0: after every epoch), later where saving would take too much of the time, by a
    clock that never jumps; and at once when the signals `stopping` have asked for the end. `key` identifies the data
    and settings; fitting sets it.
    """

    def __init__(
        self, folder: PathLike[str] | str, every: float = 60.0, stopping: StopSignals | None = None
    ) -> None:  # fmt: skip
        self.folder, self.every, self.stopping = Path(folder), every, stopping or StopSignals()
        self.key = ""
        self.saved_at, self.cost = time.monotonic(), 0.0

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder; one that cannot be written is refused before any work is done."""
        with clear_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            if not os.access(self.folder, os.W_OK):
                raise RunError(f"{self.folder}: cannot be written. Check its permissions, or name another folder.")
        with lock_folder(self.folder):
            yield

    def due(self) -> bool:
        wait = max(self.every, MAX_TIME_SHARE * self.cost) if self.every > 0 else 0.0
        return time.monotonic() - self.saved_at >= wait

    def keep(self, epoch: int, state: Callable[[], State]) -> None:
        """Save if it is due. A disk that is full or broken is only logged: the training and the older state go on.

        Asked to stop, it saves and raises StoppedError.
        """
        number = self.stopping.asked
        if not (number or self.due()):
            return
        try:
            self.save(epoch, state())
        except RunError as error:  # nothing that keeps it from being saved is worth the training
            logger.warning("the state after epoch %d is not saved: %s", epoch, visible(error))
        else:
            for callback in active_callbacks():
                callback.on_checkpoint(epoch)
        if number:
            raise StoppedError(f"Stopped after epoch {epoch}.", number)

    def save(self, epoch: int, state: State) -> None:
        """Write the state after an epoch; then only the last two are left."""
        started = time.monotonic()
        try:
            path = self.folder / f"checkpoint-{epoch:06}.safetensors"
            write_state_file(path, CHECKPOINT_KIND, {"key": self.key, "epoch": epoch, "state": state})
            with clear_errors(self.folder):
                later = [old for old in self.files() if epoch_of(old) > epoch]  # damaged, or gone back from
                for old in (*later, *self.files()[len(later) + CHECKPOINTS_KEPT :]):
                    old.unlink(missing_ok=True)
                clear_leftovers(self.folder, CHECKPOINT_NAME)
        finally:
            self.saved_at = time.monotonic()
            self.cost = self.saved_at - started

    def load(self) -> tuple[int, State] | None:
        """Return the epoch and state of the newest whole checkpoint, None if there is none; warn of damaged ones."""
        files, damage = self.files(), ""
        for path in files:
            try:
                found = read_state_file(path, CHECKPOINT_KIND)
            except RunError as error:
                damage = str(error)
                logger.warning("%s Looking for the one before it.", visible(damage))
                continue
            epoch, state = self._checked(path, found)
            for callback in active_callbacks():
                callback.on_resume(epoch)
            return epoch, state
        if files:
            raise RunError(f"{self.folder}: none of its {len(files)} checkpoints can be read. {damage}")
        return None

    def files(self) -> list[Path]:
        """List the checkpoints, newest first."""
        if not self.folder.is_dir():
            return []
        named = [path for path in self.folder.iterdir() if CHECKPOINT_NAME.fullmatch(path.name)]
        return sorted(named, key=epoch_of, reverse=True)

    def _checked(self, path: Path, found: Any) -> tuple[int, State]:
        if not isinstance(found, dict) or found.get("epoch") != epoch_of(path) or type(found.get("state")) is not dict:
            raise RunError(f"{path}: not the checkpoint that its name says.")
        if found.get("key") != self.key:
            raise RunError(f"{path}: of other data or other settings. Call it as before, or name another folder.")
        return found["epoch"], found["state"]


@contextmanager
def open_checkpoints(
    checkpoints: Checkpoints | PathOrStr | None, task: Task, config: Config,
    start: tuple[Task, Mapping[str, np.ndarray]] | None, learned: Learned | None = None,
) -> Iterator[Checkpoints | None]:  # fmt: skip
    """Yield the checkpoints of a training, which fit no other. A folder that is named is locked while the block runs.

    `start` are the task and the parameters that the training begins with, if it is warm, and `learned` is what another
    training has learned, if that is applied. `Checkpoints` made by the
    caller are locked there, and their key has what the training began with.
    """
    if checkpoints is None:
        yield None
        return
    kept = checkpoints if isinstance(checkpoints, Checkpoints) else Checkpoints(checkpoints)
    kept.key = f"{checksum(task)} {json.dumps(config.training_settings())}"
    if learned is not None:
        kept.key += f" with {hashlib.sha256(json.dumps(learned.to_json()).encode()).hexdigest()}"
    if kept is checkpoints:
        yield kept
        return
    if start is not None:
        kept.key += f" after {start_checksum(*start)}"
    with kept.locked() if is_first() else nullcontext():
        yield kept


def start_checksum(task: Task, parameters: Mapping[str, np.ndarray]) -> str:
    """Return the checksum of a warm start: its task and its parameters."""
    digest = hashlib.sha256(checksum(task).encode())
    for name, value in parameters.items():
        digest.update(name.encode() + value.tobytes())
    return digest.hexdigest()


def epoch_of(path: Path) -> int:
    found = CHECKPOINT_NAME.fullmatch(path.name)
    return int(found[1]) if found else -1
