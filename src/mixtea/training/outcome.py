"""What a training has come to: its validations while it runs, and what it leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from mixtea.compute.array_checks import check_numbers, check_same_form
from mixtea.compute.arrays import State, as_arrays, as_tensors
from mixtea.config import Config
from mixtea.council.holdout import Rehearsed
from mixtea.council.opinions import Opinions
from mixtea.council.trace import Trace
from mixtea.encode.encoder import Encoder
from mixtea.errors import ProcessLostError
from mixtea.voters.learned_text import LearnedView
from mixtea.voters.open_entities import OpenEntities

Record = dict[str, Any]
CHANCE = 0.8  # of the sure pairs that changed in the vote before: so many change by chance
MANY = 0.12  # a share of changed pairs that is no chance
FEW = 0.005  # a share of changed pairs that is small, whatever it was before


@dataclass
class Trained:
    """What the loop learned: the kept student, the history of all epochs, and why it stopped.

    `trace` says who voted for what; `opinions` is what the council thought last, about the open `entities`, and
    `rehearsed` what it would think of the training links if it did not know them. `seconds` counts those of all
    sittings, where the training was stopped and resumed. `lowered` says how much lower the learning rate was than the
    settings say, and since when; it is empty if all went well. `misleading` is, by voter, the share of the links for
    which what it compares tells nothing, `misleading_links` how many links that was found by. `views` is what those
    voters have learned.
    """

    student: Encoder
    trace: Trace
    entities: OpenEntities
    opinions: Opinions | None = None
    rehearsed: Rehearsed | None = None
    history: list[Record] = field(default_factory=list)
    stopped_because: str = ""
    best_epoch: int | None = None
    seconds: float = 0.0
    lowered: Record = field(default_factory=dict)
    lost: ProcessLostError | None = None
    misleading: dict[str, float] = field(default_factory=dict)
    misleading_links: dict[str, int] = field(default_factory=dict)
    views: dict[str, LearnedView] = field(default_factory=dict)


class Progress:
    """What the validations said so far: the student to keep, and whether to go on."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.best, self.misses = -1.0, 0
        self.best_answers, self.last_changed = 0.0, 1.0  # validation links that were right, sure pairs that changed
        self.stands = ""  # why the answers stand, once they do
        self.best_epoch: int | None = None
        self.kept: dict[str, Tensor] | None = None

    def validated(self, epoch: int, score: float, student: Encoder) -> None:
        better = score > self.best
        self.misses = 0 if better else self.misses + 1
        if better:
            self.best, self.best_epoch = score, epoch
        if better or self.config.keep == "last":
            self.kept = {name: value.detach().clone() for name, value in student.state_dict().items()}

    def answered(self, epoch: int, changed: float, right: float, n_valid: int) -> None:
        """What came of a vote: the share of sure pairs that changed, and that of n validation links that are right.

        Some pairs change by chance in every vote. The answers stand when hardly fewer do than in the vote before, and
        no more links are right than by chance.
        """
        by_chance = changed < FEW or CHANCE * self.last_changed < changed < MANY
        error = (right * (1 - right) / max(n_valid, 1)) ** 0.5
        if self.config.stop_when_settled and by_chance and right <= self.best_answers + error:
            self.stands = f"the answers stand: {changed:.1%} of the sure pairs changed in the vote of epoch {epoch}"
        self.best_answers, self.last_changed = max(self.best_answers, right), changed

    @property
    def ended(self) -> bool:
        return bool(self.stands) or self.misses >= self.config.patience

    def why_stopped(self) -> str:
        if self.stands:
            return self.stands
        if self.misses >= self.config.patience:
            return f"no better validation Hit@1 in {self.misses} validations since epoch {self.best_epoch}"
        if not self.config.max_epochs:
            return "only voters that need no training were asked"
        return f"max_epochs = {self.config.max_epochs} reached"

    def state_dict(self) -> State:
        kept = None if self.kept is None else as_arrays(self.kept)
        answers = {"best_answers": self.best_answers, "last_changed": self.last_changed, "stands": self.stands}
        return {"best": self.best, "misses": self.misses, "best_epoch": self.best_epoch, "kept": kept} | answers

    def load_state_dict(self, state: State, student: Encoder, n_epochs: int) -> None:
        """Go on from a state after so many epochs of a training of this student."""
        check_numbers([state[name] for name in ("best", "misses", "best_answers", "last_changed")])
        if not isinstance(state["stands"], str):
            raise ValueError("why its answers stand")
        best_epoch = state["best_epoch"]
        if best_epoch is not None and not (type(best_epoch) is int and 0 < best_epoch <= n_epochs):
            raise ValueError("its best epoch is not among those there were")
        if state["kept"] is not None:
            check_same_form(state["kept"], as_arrays(student.state_dict()), "the best student")
            self.kept = as_tensors(state["kept"], student.entity.device)
        self.best, self.misses, self.best_epoch = float(state["best"]), int(state["misses"]), best_epoch
        self.best_answers, self.last_changed = float(state["best_answers"]), float(state["last_changed"])
        self.stands = state["stands"]
