"""A training that goes on from its last checkpoint, and gets a second chance if it diverges."""

from __future__ import annotations

import logging

import torch

from mixtea import processes
from mixtea.config import Config
from mixtea.data.task import Task
from mixtea.errors import DivergedError, RunError, TrainingError
from mixtea.export.checkpoints import Checkpoints
from mixtea.teach.council import OnRound
from mixtea.teach.loop import Observer, OnEpoch, Start, Trainer
from mixtea.teach.progress import Trained
from mixtea.teach.resume import restore

logger = logging.getLogger(__name__)
SLOWER = 0.1  # times the learning rate, after it diverged


def trained_with(
    task: Task, config: Config, device: torch.device, start: Start | None, checkpoints: Checkpoints | None,
    on_epoch: OnEpoch | None, on_round: OnRound | None, observer: Observer | None,
) -> Trained:  # fmt: skip
    """Train from the last checkpoint if there is one, else from the beginning, and save checkpoints on the way.

    If it diverges it goes back there, once, with a tenth of the learning rate.
    """
    keep = checkpoints.keep if checkpoints is not None and processes.is_first() else None
    diverged: DivergedError | None = None
    while True:
        trainer = _begun(task, config, device, start, checkpoints)
        if diverged is not None:
            to_epoch = len(trainer.history)
            trainer.lowered = {"diverged_at": diverged.epoch, "to_epoch": to_epoch, "factor": SLOWER}
            logger.warning("%s Going back to epoch %d with a tenth of the learning rate.", diverged, to_epoch)
        try:
            return trainer.train(on_epoch, on_round, observer, keep)
        except DivergedError as error:
            if trainer.lowered:
                back = f"Going back to epoch {trainer.lowered['to_epoch']} with a tenth of it did not help."
                raise TrainingError(f"{error} {back}") from error
            if processes.launched() > 1:  # they would go back to different places
                raise
            diverged = error.with_traceback(None)  # which would hold what the trainer held
            del trainer


def _begun(
    task: Task, config: Config, device: torch.device, start: Start | None, checkpoints: Checkpoints | None
) -> Trainer:
    found = checkpoints.load() if checkpoints is not None else None
    trainer = Trainer(task, config, device, start if found is None else None)
    if found is not None:
        restore(trainer, found[1])
        if len(trainer.history) != found[0]:
            raise RunError("The last checkpoint is not of the epoch that it says.")
    return trainer
