"""Validations while a training runs, when they end it, and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from mixtea.compute.arrays import State, as_arrays, as_tensors, check_numbers, check_same_form
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.config import Config
from mixtea.council.opinions import Opinions
from mixtea.council.trace import Trace
from mixtea.encode.encoder import Encoder
from mixtea.errors import ProcessLostError
from mixtea.graph.joint_index import OpenIndex
from mixtea.voters.learned import LearnedView

Record = dict[str, Any]
CHANCE_RATIO = 0.8  # of the changes in the vote before: so many happen by chance
MAX_CHANCE_CHANGE = 0.12  # share of changed pairs by chance
SMALL_CHANGE = 0.005  # share of changed pairs that counts as stable


@dataclass
class Trained:
    """Result of the training loop: the kept student, the history of all epochs, and why it stopped.

    `trace` are all votes; `opinions` are the council's last, about the open `entities`, and `holdout` those about
    held-out training links. `seconds` counts those of all sittings, where the training was stopped and resumed.
    `lowered` holds by how much the learning rate was lower than in the settings, and since when; it is empty if all
    went well. `misleading` is, by voter, the share of the links for which what it compares is uninformative,
    `misleading_links` how many links that was found by. `views` is what those voters have learned.
    """

    student: Encoder
    trace: Trace
    entities: OpenIndex
    opinions: Opinions | None = None
    holdout: ScoredPairs | None = None
    history: list[Record] = field(default_factory=list)
    stopped_because: str = ""
    best_epoch: int | None = None
    seconds: float = 0.0
    lowered: Record = field(default_factory=dict)
    lost: ProcessLostError | None = None
    misleading: dict[str, float] = field(default_factory=dict)
    misleading_links: dict[str, int] = field(default_factory=dict)
    views: dict[str, LearnedView] = field(default_factory=dict)


class EarlyStopping:
    """Results of the validations so far: the student to keep, and whether to go on."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.best, self.misses = -1.0, 0
        self.best_answers, self.last_changed = 0.0, 1.0  # validation links that were right, sure pairs that changed
        self.stable_because = ""  # why predictions are stable, once they are
        self.best_epoch: int | None = None
        self.kept: dict[str, Tensor] | None = None

    def record_validation(self, epoch: int, score: float, student: Encoder) -> None:
        better = score > self.best
        self.misses = 0 if better else self.misses + 1
        if better:
            self.best, self.best_epoch = score, epoch
        if better or self.config.keep == "last":
            self.kept = {name: value.detach().clone() for name, value in student.state_dict().items()}

    def record_vote(self, epoch: int, changed: float, right: float, n_valid: int) -> None:
        """Record a vote: the share of sure pairs that changed, and that of n validation links that are right.

        Some pairs change by chance in every vote. Predictions are stable when hardly fewer do than in the vote before,
        and no more links are right than by chance.
        """
        by_chance = changed < SMALL_CHANGE or CHANCE_RATIO * self.last_changed < changed < MAX_CHANCE_CHANGE
        error = (right * (1 - right) / max(n_valid, 1)) ** 0.5
        if self.config.stop_when_settled and by_chance and right <= self.best_answers + error:
            self.stable_because = (
                f"predictions are stable: {changed:.1%} of the sure pairs changed in the vote of epoch {epoch}"
            )
        self.best_answers, self.last_changed = max(self.best_answers, right), changed

    @property
    def ended(self) -> bool:
        return bool(self.stable_because) or self.misses >= self.config.patience

    def why_stopped(self) -> str:
        if self.stable_because:
            return self.stable_because
        if self.misses >= self.config.patience:
            return f"no better validation Hit@1 in {self.misses} validations since epoch {self.best_epoch}"
        if not self.config.max_epochs:
            return "only voters that need no training were asked"
        return f"max_epochs = {self.config.max_epochs} reached"

    def state_dict(self) -> State:
        kept = None if self.kept is None else as_arrays(self.kept)
        answers = {"best_answers": self.best_answers, "last_changed": self.last_changed, "stands": self.stable_because}
        return {"best": self.best, "misses": self.misses, "best_epoch": self.best_epoch, "kept": kept} | answers

    def load_state_dict(self, state: State, student: Encoder, n_epochs: int) -> None:
        """Restore a state after so many epochs of a training of this student."""
        check_numbers([state[name] for name in ("best", "misses", "best_answers", "last_changed")])
        if not isinstance(state["stands"], str):
            raise ValueError("the reason of stability")
        best_epoch = state["best_epoch"]
        if best_epoch is not None and not (type(best_epoch) is int and 0 < best_epoch <= n_epochs):
            raise ValueError("its best epoch is not among those there were")
        if state["kept"] is not None:
            check_same_form(state["kept"], as_arrays(student.state_dict()), "the best student")
            self.kept = as_tensors(state["kept"], student.entity.device)
        self.best, self.misses, self.best_epoch = float(state["best"]), int(state["misses"]), best_epoch
        self.best_answers, self.last_changed = float(state["best_answers"]), float(state["last_changed"])
        self.stable_because = state["stands"]


def count_votes(votes: ScoredPairs, names: Sequence[str]) -> dict[str, Any]:
    """Count the votes in all, of both directions together, of each voter, and of 1, 2, ... voters together."""
    if "voters" not in votes.columns:
        return {"votes": len(votes)}
    by_voter = dict(zip(names, votes.voters.sum(0).tolist(), strict=True))
    by_number = torch.bincount(votes.voters.sum(1), minlength=len(names) + 1).tolist()
    both = [names.index(name) for name in ("forward", "backward") if name in names]
    agreed = int(votes.voters[:, both].all(1).sum()) if len(both) == 2 else 0
    return (
        {"votes": len(votes), "votes_agreed": agreed}
        | {f"votes_{name}": n for name, n in by_voter.items()}
        | {f"votes_of_{k}": n for k, n in enumerate(by_number[1:], 1)}
    )
