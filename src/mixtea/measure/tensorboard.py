"""A training's records as TensorBoard shows them."""

from __future__ import annotations

import re
from pathlib import Path
from types import TracebackType
from typing import Any

from mixtea.errors import MissingExtraError

GROUPS = (
    ("loss", "losses/total"),
    (r"loss_(.+)", r"losses/\1"),
    (r"(lambda|learning_rate|momentum|beta)", r"schedule/\1"),
    ("votes", "votes/all"),
    ("votes_agreed", "votes/agreed_both_ways"),
    (r"votes_of_(\d+)", r"votes_by_number_of_voters/\1"),
    (r"votes_(.+)", r"votes_by_voter/\1"),
    (r"valid_(.+)", r"validation/\1"),
    (r"concat_(.+)", r"concatenation/\1"),
    ("seconds", "time/seconds_an_epoch"),
)


def tag(name: str) -> str:
    """The group and name under which TensorBoard shows a value of a record; it does not take the sign @.

    >>> tag("loss_alignment"), tag("votes_of_2"), tag("valid_backward_hits@1")
    ('losses/alignment', 'votes_by_number_of_voters/2', 'validation/backward_hits_at_1')
    """
    for pattern, shown in GROUPS:
        if re.fullmatch(pattern, name):
            name = re.sub(f"^{pattern}$", shown, name)
            break
    return name.replace("@", "_at_")


class TensorBoard:
    """Writes each epoch's record into `folder`, if there is one. Use as a context, and as `on_epoch`.

    Of several processes only the first writes.
    """

    def __init__(self, folder: str | Path | None) -> None:
        self.folder = folder
        self._writer: Any = None

    def __enter__(self) -> TensorBoard:
        from mixtea.processes import is_first

        if self.folder is None:
            return self
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise MissingExtraError(
                "Writing for TensorBoard needs its library: pip install 'mixtea[tensorboard]'."
            ) from None
        if is_first():
            self._writer = SummaryWriter(str(self.folder))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def __call__(self, record: dict[str, Any]) -> None:
        if self._writer is not None:
            for name, value in record.items():
                if name != "epoch":
                    self._writer.add_scalar(tag(name), value, record["epoch"])
