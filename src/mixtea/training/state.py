"""Convert the optimiser and the number of threads into plain arrays and numbers, and back."""

from __future__ import annotations

import logging
import os

import torch

from mixtea.compute.arrays import State, as_arrays, as_tensors

logger = logging.getLogger(__name__)
MOMENTS = {"step", "exp_avg", "exp_avg_sq"}
MOST_THREADS = 1 << 16


def optimiser_state(optimiser: torch.optim.Optimizer) -> State:
    """Adam's moments and steps; rates and the like come from the settings."""
    return {str(number): as_arrays(held) for number, held in optimiser.state_dict()["state"].items()}


def restore_optimiser(optimiser: torch.optim.Optimizer, state: State) -> None:
    for parts in state.values():
        if parts.keys() != MOMENTS or parts["step"].shape != () or not parts["step"] >= 0:
            raise ValueError("the optimiser's state is of another form")
    held = {int(number): as_tensors(parts, torch.device("cpu")) for number, parts in state.items()}
    for group in optimiser.param_groups:
        for number, parameter in enumerate(group["params"]):
            moments = [part for name, part in held.get(number, {}).items() if name != "step"]
            if any(part.shape != parameter.shape for part in moments):
                raise ValueError(f"the optimiser's state of parameter {number} has another shape")
    optimiser.load_state_dict({"state": held, "param_groups": optimiser.state_dict()["param_groups"]})


def restore_threads(n: int) -> None:
    """As many as before, for their number decides how products and sums round."""
    if type(n) is not int or not 0 < n <= MOST_THREADS:
        raise ValueError("a number of threads that cannot be")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n == torch.get_num_threads():
        return
    if n > cores:
        few = "core" if cores == 1 else "cores"
        logger.warning("It began with %d threads and there are %d %s: the last bits may differ.", n, cores, few)
        return
    torch.set_num_threads(n)
