"""Write the records of a training for TensorBoard."""

from __future__ import annotations

import logging
import os
import re
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixtea.callbacks import Callback
from mixtea.compute.device import is_first
from mixtea.errors import MissingExtraError
from mixtea.messages import visible
from mixtea.runs.atomic import clear_errors

if TYPE_CHECKING:
    from mixtea.config import Config
    from mixtea.graph.task import Task
    from mixtea.voters.base import Voter

logger = logging.getLogger(__name__)

GROUPS = (
    ("loss", "losses/total"),
    (r"loss_(.+)", r"losses/\1"),
    (r"(lambda|learning_rate|momentum|beta)", r"schedule/\1"),
    ("votes", "votes/all"),
    ("votes_agreed", "votes/agreed_both_ways"),
    (r"votes_of_(\d+)", r"votes_by_number_of_voters/\1"),
    (r"votes_(.+)", r"votes_by_voter/\1"),
    (r"valid_(.+)", r"validation/\1"),
    ("sure", "answers/sure_pairs"),
    ("changed", "answers/changed"),
    (r"concat_(.+)", r"concatenation/\1"),
    ("seconds", "time/seconds_an_epoch"),
)


def tag(name: str) -> str:
    """Return the group and name of a value of a record in TensorBoard, which does not take the sign @.

    >>> tag("loss_alignment"), tag("votes_of_2"), tag("valid_backward_hits@1")
    ('losses/alignment', 'votes_by_number_of_voters/2', 'validation/backward_hits_at_1')
    """
    for pattern, shown in GROUPS:
        if re.fullmatch(pattern, name):
            name = re.sub(f"^{pattern}$", shown, name)
            break
    return name.replace("@", "_at_")


class TensorBoard(Callback):
    """Write the record of each epoch into `folder` while the training runs; of several processes the first one."""

    def __init__(self, folder: PathLike[str] | str) -> None:
        self.folder = folder
        self._writer: Any = None

    def on_start(self, task: Task, config: Config, voters: Sequence[Voter]) -> None:
        try:
            from tensorboard.summary.writer.record_writer import RecordWriter
        except ImportError:
            raise MissingExtraError(
                "Writing for TensorBoard needs its library: pip install 'mixtea[tensorboard]'."
            ) from None
        if is_first():
            folder = Path(self.folder)
            with clear_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
                name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"
                self._writer = RecordWriter((folder / name).open("wb", buffering=0))
                self._write(file_version="brain.Event:2")

    def on_end(self) -> None:
        if self._writer is not None:
            with self._until_error():
                self._writer.close()
            self._writer = None

    def on_epoch(self, record: dict[str, Any]) -> None:
        if self._writer is not None:
            from tensorboard.compat.proto.summary_pb2 import Summary

            values = [Summary.Value(tag=tag(name), simple_value=value) for name, value in record.items()
                      if name != "epoch"]  # fmt: skip
            with self._until_error():
                self._write(step=record["epoch"], summary=Summary(value=values))

    def _write(self, **content: Any) -> None:
        """Append an event, so that it can be looked at while the training runs."""
        from tensorboard.compat.proto.event_pb2 import Event

        self._writer.write(Event(wall_time=time.time(), **content).SerializeToString())

    @contextmanager
    def _until_error(self) -> Iterator[None]:
        """Go on without the file if it cannot be written, with one warning: it is not worth the training."""
        try:
            yield
        except OSError as error:
            with suppress(OSError):
                self._writer.close()
            self._writer = None
            logger.warning("%s: TensorBoard's file cannot be written (%s)", visible(self.folder), error.strerror)
