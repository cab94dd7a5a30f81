"""What a training has come to: its validations while it runs, and what it leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from mixtea.config import Config
from mixtea.encode.encoder import Encoder
from mixtea.errors import ProcessLostError
from mixtea.teach.state import State, as_arrays, as_tensors
from mixtea.vote.council import Opinions
from mixtea.vote.trace import Trace

Record = dict[str, Any]


@dataclass
class Trained:
    """What the loop learned: the kept student, the history of all epochs, and why it stopped.

    `trace` says who voted for what; `opinions` is what the council thought last, about the entities `rows`. `seconds`
    counts those of all sittings, where the training was stopped and resumed. `lowered` says how much lower the
    learning rate was than the settings say, and since when; it is empty if all went well.
    """

    student: Encoder
    trace: Trace
    rows: tuple[Tensor, Tensor]
    opinions: Opinions | None = None
    history: list[Record] = field(default_factory=list)
    stopped_because: str = ""
    best_epoch: int | None = None
    seconds: float = 0.0
    lowered: Record = field(default_factory=dict)
    lost: ProcessLostError | None = None


class Progress:
    """What the validations said so far: the student to keep, and whether to go on."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.best, self.misses = -1.0, 0
        self.best_epoch: int | None = None
        self.kept: dict[str, Tensor] | None = None

    def validated(self, epoch: int, score: float, student: Encoder) -> None:
        better = score > self.best
        self.misses = 0 if better else self.misses + 1
        if better:
            self.best, self.best_epoch = score, epoch
        if better or self.config.keep == "last":
            self.kept = {name: value.detach().clone() for name, value in student.state_dict().items()}

    def why_stopped(self) -> str:
        if self.misses >= self.config.patience:
            return f"no better validation Hit@1 in {self.misses} validations since epoch {self.best_epoch}"
        return f"max_epochs = {self.config.max_epochs} reached"

    def state(self) -> State:
        kept = None if self.kept is None else as_arrays(self.kept)
        return {"best": self.best, "misses": self.misses, "best_epoch": self.best_epoch, "kept": kept}

    def restore(self, state: State, student: Encoder) -> None:
        self.best, self.misses, self.best_epoch = float(state["best"]), int(state["misses"]), state["best_epoch"]
        self.kept = None if state["kept"] is None else as_tensors(state["kept"], student.entity.device)
