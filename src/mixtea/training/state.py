"""The optimiser, everyone's random numbers and the threads as plain arrays and numbers, and back."""

from __future__ import annotations

import logging
import os
import random

import numpy as np
import torch

from mixtea.compute.arrays import State, as_array, as_arrays, as_tensors

logger = logging.getLogger(__name__)
MOMENTS = {"step", "exp_avg", "exp_avg_sq"}
MOST_THREADS = 1 << 16
POSITIONS = 624  # of NumPy's shared generator, whose code would read past them


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
    shared = state["numpy"]["state"]
    if shared["key"].shape != (POSITIONS,) or not 0 <= shared["pos"] <= POSITIONS:
        raise ValueError("a random state of another form")
    kind, numbers, gauss = state["python"]
    random.setstate((kind, tuple(numbers.tolist()), gauss))
    np.random.set_state(state["numpy"])
    torch.set_rng_state(torch.from_numpy(state["torch"]))
    if torch.cuda.is_initialized() and len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all([torch.from_numpy(one) for one in state["cuda"]])


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
