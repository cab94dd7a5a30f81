"""What several processes must have in common to train one run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mixtea.aligner.saving import versions
from mixtea.config import Config
from mixtea.graph.fingerprint import checksums
from mixtea.graph.task import Task
from mixtea.runs.checkpoints import Checkpoints, epoch_of, start_checksum
from mixtea.voters.registry import package_of


def common(
    task: Task, config: Config, device: torch.device, start: tuple[Task, Mapping[str, np.ndarray]] | None,
    checkpoints: Checkpoints | Path | None,
) -> dict[str, Any]:  # fmt: skip
    """Return all that a training depends on, by names for people: files, settings, where it begins, programs.

    `start` are the task and the parameters of a warm start. Which device of its kind a process has is its own affair.
    """
    kept = Checkpoints(checkpoints) if isinstance(checkpoints, Path) else checkpoints
    epoch = None if kept is None else next(map(epoch_of, kept.files()), None)
    return {
        **{f"the checksum of the {part}": value for part, value in checksums(task).items()},
        "the origin of the links": task.links_from,
        **config.training_settings(),
        "the kind of device": device.type,
        "the checksum of the warm start": None if start is None else start_checksum(*start),
        "the epoch of the last checkpoint": epoch,
        **{f"the version of {name}": value for name, value in versions().items()},
        **{f"the package of voter {name}": package_of(name) for name in config.voters},
    }
