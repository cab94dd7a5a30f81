"""Resume a training from its last checkpoint, and give it a second chance if it diverges."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from mixtea.compute import distributed
from mixtea.compute.arrays import State
from mixtea.config import Config
from mixtea.council.council import bind_voters
from mixtea.errors import DivergedError, RunError, TrainingError
from mixtea.graph.task import Task
from mixtea.training.early_stopping import Trained
from mixtea.training.resume import restore_training
from mixtea.training.trainer import Trainer
from mixtea.training.warm_start import WarmStart
from mixtea.voters.base import Voter
from mixtea.voters.learned import Learned

logger = logging.getLogger(__name__)
RATE_FACTOR = 0.1  # for the learning rate, after it diverged


class CheckpointStore(Protocol):
    """Storage of states, as runs/checkpoints.py implements it."""

    def keep(self, epoch: int, state: Callable[[], State]) -> None:
        """Save the state after an epoch, if it is due."""
        ...

    def load(self) -> tuple[int, State] | None:
        """Return the epoch and state of the newest one, None if there is none."""
        ...


def train_with_recovery(
    task: Task, config: Config, device: torch.device, start: WarmStart | None, checkpoints: CheckpointStore | None,
    voters: Sequence[Voter], given: Learned | None = None,
) -> Trained:  # fmt: skip
    """Train from the last checkpoint if there is one, else from the beginning, and save checkpoints on the way.

    `voters` are those of the settings, bound to the task. If it diverges it goes back there, once, with a tenth of the
    learning rate.
    """
    keep = checkpoints.keep if checkpoints is not None and distributed.is_first() else None
    diverged: DivergedError | None = None
    while True:
        trainer = _make_trainer(task, config, device, start, checkpoints, voters, given)
        if diverged is not None:
            to_epoch = len(trainer.history)
            trainer.lowered = {"diverged_at": diverged.epoch, "to_epoch": to_epoch, "factor": RATE_FACTOR}
            logger.warning("%s Going back to epoch %d with a tenth of the learning rate.", diverged, to_epoch)
        try:
            return trainer.train(keep)
        except DivergedError as error:
            if trainer.lowered:
                back = f"Going back to epoch {trainer.lowered['to_epoch']} with a tenth of it did not help."
                raise TrainingError(f"{error} {back}") from error
            if distributed.n_processes() > 1:  # they would go back to different places
                raise
            diverged = error.with_traceback(None)  # which would hold what the trainer held
            del trainer
            voters = bind_voters(task, config, config.voters)  # without what the others have learned


def _make_trainer(
    task: Task, config: Config, device: torch.device, start: WarmStart | None, checkpoints: CheckpointStore | None,
    voters: Sequence[Voter], given: Learned | None,
) -> Trainer:  # fmt: skip
    found = checkpoints.load() if checkpoints is not None else None
    trainer = Trainer(task, config, device, start if found is None else None, voters, given)
    if found is not None:
        restore_training(trainer, found[1])
        if len(trainer.history) != found[0]:
            raise RunError("The last checkpoint is not of the epoch that it says.")
    return trainer
