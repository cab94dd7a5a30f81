"""The state of a training as plain arrays and numbers, and back: what a checkpoint holds."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mixtea.vote.votes import Votes

State = dict[str, Any]
logger = logging.getLogger(__name__)


def as_array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().contiguous().numpy()


def as_arrays(tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    return {name: as_array(value) for name, value in tensors.items()}


def as_tensors(arrays: Mapping[str, np.ndarray], device: torch.device) -> dict[str, Tensor]:
    return {name: torch.from_numpy(array).to(device) for name, array in arrays.items()}


def checked_rows(array: Any, n: int, like: Tensor, width: int | None = None) -> Tensor:
    """Whole numbers below n, [p] or [p, width], on the device of `like`; ValueError if they are not."""
    if array.dtype != np.int64 or array.shape[1:] != (() if width is None else (width,)):
        raise ValueError(f"rows of shape {array.shape}, type {array.dtype}")
    if array.size and not (array.min() >= 0 and array.max() < n):
        raise ValueError(f"rows outside 0..{n - 1}")
    return torch.from_numpy(array).to(like.device)


def votes_state(votes: Votes | None) -> State | None:
    if votes is None:
        return None
    voters = None if votes.voters is None else as_array(votes.voters)
    parts = {"source": votes.source, "target": votes.target, "confidence": votes.confidence}
    return as_arrays(parts) | {"shape": list(votes.shape), "voters": voters}


def restored_votes(state: State | None, like: Tensor) -> Votes | None:
    if state is None:
        return None
    n, m = state["shape"]
    source, target = checked_rows(state["source"], n, like), checked_rows(state["target"], m, like)
    confidence = torch.from_numpy(state["confidence"]).to(like.device)
    voters = None if state["voters"] is None else checked_rows(state["voters"], 1 << 62, like)
    if any(len(part) != len(source) for part in (target, confidence, voters) if part is not None):
        raise ValueError("votes of different lengths")
    return Votes(source, target, confidence, (n, m), voters)


def optimiser_state(optimiser: torch.optim.Optimizer) -> State:
    """Adam's moments and steps; rates and the like come from the settings."""
    return {str(number): as_arrays(held) for number, held in optimiser.state_dict()["state"].items()}


def restore_optimiser(optimiser: torch.optim.Optimizer, state: State) -> None:
    held = {int(number): as_tensors(parts, torch.device("cpu")) for number, parts in state.items()}
    for group in optimiser.param_groups:
        for number, parameter in enumerate(group["params"]):
            moments = [part for name, part in held.get(number, {}).items() if name != "step"]
            if any(part.shape != parameter.shape for part in moments):
                raise ValueError(f"the optimiser's state of parameter {number} has another shape")
    optimiser.load_state_dict({"state": held, "param_groups": optimiser.state_dict()["param_groups"]})


def random_states() -> State:
    """Of everyone's generators: training has its own, but what a caller does after an epoch may draw from these."""
    kind, numbers, gauss = random.getstate()
    shared = np.random.get_state(legacy=False)
    return {
        "python": [kind, np.array(numbers, dtype=np.int64), gauss],
        "numpy": {**shared, "state": dict(shared["state"])},
        "torch": as_array(torch.get_rng_state()),
        "cuda": [as_array(one) for one in torch.cuda.get_rng_state_all()] if torch.cuda.is_initialized() else [],
    }


def restore_random_states(state: State) -> None:
    kind, numbers, gauss = state["python"]
    random.setstate((kind, tuple(numbers.tolist()), gauss))
    np.random.set_state(state["numpy"])
    torch.set_rng_state(torch.from_numpy(state["torch"]))
    if torch.cuda.is_initialized() and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all([torch.from_numpy(one) for one in state["cuda"]])


def restore_threads(n: int) -> None:
    """As many as before, for their number decides how products and sums round."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n == torch.get_num_threads():
        return
    if n > cores:
        few = "core" if cores == 1 else "cores"
        logger.warning("It began with %d threads and there are %d %s: the last bits may differ.", n, cores, few)
        return
    torch.set_num_threads(n)
