"""Several processes on one run: each computes a share of the rows, and all get the whole result.

Started by PyTorch's own launcher (`torchrun --nproc-per-node 2 -m mixtea fit ...`). Every process holds the same
parameters and draws the same random numbers; what is quadratic in the entities is shared. In a single process each
function returns its input.
"""

from __future__ import annotations

import atexit
import itertools
import json
import logging
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

import torch
import torch.distributed as dist
from torch import Tensor

from mixtea.compute.device import is_first as is_first
from mixtea.compute.device import local_device as local_device
from mixtea.compute.device import n_processes as n_processes
from mixtea.compute.device import process_rank as process_rank
from mixtea.errors import ConfigError, ProcessLostError

if TYPE_CHECKING:  # not every build of torch has them
    from torch.distributed.distributed_c10d import Store

logger = logging.getLogger(__name__)
TIMEOUT = timedelta(minutes=30)  # for a process that is alive but slow
MAX_ARRIVAL = timedelta(minutes=10)  # for a process that nobody has heard of yet
MAX_FAREWELL = timedelta(seconds=10)  # until all have read why they part
POLL_SECONDS = 0.05
MAX_PROCESSES_NAMED = 3
_fits = itertools.count(1)


def _is_group() -> bool:
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


@cache
def _store() -> Store:
    """Connect to the launcher's key-value store, which is told when this process ends."""
    from torch.distributed.rendezvous import rendezvous

    with _meeting_errors():
        store = _part(next(rendezvous("env://", timeout=TIMEOUT))[0], "mixtea")
        store.set(f"here {process_rank()}", "")
    atexit.register(_write_end, store)
    return store


def _part(store: Store, name: str) -> Store:
    from torch.distributed.distributed_c10d import PrefixStore

    return PrefixStore(name, store)


@contextmanager
def _meeting_errors() -> Iterator[None]:
    try:
        yield
    except (ValueError, RuntimeError) as error:
        if isinstance(error, ProcessLostError):
            raise
        raise ConfigError(f"The processes could not meet: {error}. Start them with torchrun.") from error


def _write_end(store: Store) -> None:
    with suppress(RuntimeError):  # whoever holds the table has ended before
        store.compare_set("ended", "", str(process_rank()))


@contextmanager
def connected() -> Iterator[None]:
    """Raise an error when the launcher asks this process to end; tell the others when it ends by itself."""
    before = signal.signal(signal.SIGTERM, lambda *_: _raise_lost("the launcher asked this process to end"))
    try:
        _store()
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
            signal.signal(signal.SIGTERM, before)


@contextmanager
def process_group(device: torch.device, about: Callable[[], dict[str, Any]]) -> Iterator[None]:
    """Meet the other processes of the launcher, if there are any, and part at the end.

    `about` gives what must be the same in all of them, by its name; ConfigError in each if it is not.
    """
    if n_processes() < 2:
        yield
        return
    # A key of its own per meeting: the addresses of an earlier one are still in the table, and lead nowhere.
    store = _part(_store(), f"fit {next(_fits)}")
    _check_same(store, about())
    if dist.is_initialized():
        yield
        return
    where: dict[str, Any] = dict(store=store, rank=process_rank(), world_size=n_processes())
    with _meeting_errors():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=TIMEOUT, **where)
    try:
        yield
    finally:
        dist.destroy_process_group()


def _check_same(store: Store, about: dict[str, Any]) -> None:
    """Compare the plans of all processes; each ends only after all have seen the differences."""
    found = [json.loads(text) for text in _exchange(store, "about", json.dumps(about))]
    if not (different := _differences(found)):
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # sent as soon as the first process ends, which all do now
    with suppress(ProcessLostError):
        _exchange(store, "read", "", MAX_FAREWELL)
    advice = "Start all processes with the same files and settings."
    raise ConfigError(f"The processes of this run differ: {'; '.join(different)}. {advice}")


def _differences(found: list[dict[str, Any]]) -> list[str]:
    """Name what is not the same in all processes, with the value of the first and of some others."""
    lines = []
    for name in dict.fromkeys(name for one in found for name in one):
        values = [one.get(name) for one in found]
        others = [number for number, value in enumerate(values) if value != values[0]]
        shown = [f"{values[number]!r} in process {number}" for number in (0, *others[:MAX_PROCESSES_NAMED])]
        if others:
            lines.append(f"{name} is {', '.join(shown)}{', ...' if len(others) > MAX_PROCESSES_NAMED else ''}")
    return lines


def _exchange(store: Store, name: str, mine: str, patience: timedelta = TIMEOUT) -> list[str]:
    """Exchange a text between all processes; ProcessLostError if one of them does not come."""
    keys = [f"{name} {number}" for number in range(n_processes())]
    began = time.monotonic()
    with _lost_contact_errors():
        store.set(keys[process_rank()], mine)
        while True:
            ended = _store().check(["ended"])  # looked at first: what a process wrote before it ended counts
            if store.check(keys):
                return [store.get(key).decode() for key in keys]
            if ended:
                _raise_lost(f"process {_store().get('ended').decode()} ended before all had come to train")
            waited = timedelta(seconds=time.monotonic() - began)
            if waited > min(patience, MAX_ARRIVAL):
                missing = [number for number, key in enumerate(keys) if not store.check([key])]
                if waited > patience or not _store().check([f"here {number}" for number in missing]):
                    _raise_missing(missing, waited)
            time.sleep(POLL_SECONDS)


def _raise_missing(missing: list[int], waited: timedelta) -> NoReturn:
    names, minutes = ", ".join(map(str, missing)), waited.seconds // 60
    raise ProcessLostError(
        f"Process {names} did not come to train for {minutes} minutes. Look for its message, then start again; "
        "each process must call fit as often as the others."
    )


def _raise_lost(why: str) -> NoReturn:
    """End this process's part; the launcher's signal to end must not disturb what is still to be saved."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise ProcessLostError(
        f"Another process of this run has ended, so this one ends too ({why}). Look for its message, then start again."
    )


@contextmanager
def _lost_contact_errors() -> Iterator[None]:
    """Turn the error of an exchange with a lost process into ProcessLostError."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, ProcessLostError):
            raise
        logger.warning("exchange between processes failed: %s", str(error).splitlines()[0])
        _raise_lost("contact to it was lost")


def own_rows(n: int) -> slice:
    """Return this process's slice of n rows."""
    if not _is_group():
        return slice(0, n)
    world, mine = dist.get_world_size(), dist.get_rank()
    return slice(mine * n // world, (mine + 1) * n // world)


def gather(rows: Tensor, n: int) -> Tensor:
    """Concatenate the shares of all processes: [n, ...]."""
    if not _is_group():
        return rows
    world = dist.get_world_size()
    sizes = [(r + 1) * n // world - r * n // world for r in range(world)]
    padded = rows.new_zeros(max(sizes), *rows.shape[1:])
    padded[: len(rows)] = rows
    parts = [torch.empty_like(padded) for _ in sizes]
    with _lost_contact_errors():
        dist.all_gather(parts, padded)
    return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])


def gather_max(score: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """Return the greatest score of all processes per position and its index; the first process wins a tie."""
    if not _is_group():
        return score, index
    n = len(score)
    world = dist.get_world_size()
    scores, indices = (gather(part[None], world).view(world, n) for part in (score, index))
    top, winner = scores.max(dim=0)
    return top, indices.gather(0, winner[None])[0]


def broadcast_from_first(*parts: Tensor) -> None:
    """Replace each tensor by the first process's, so that rounding never leads them apart."""
    if _is_group():
        with _lost_contact_errors():
            for part in parts:
                dist.broadcast(part.detach(), src=0)


def broadcast(part: Tensor) -> Tensor:
    """Return the first process's tensor, of whatever length, so that all go on with the same."""
    if not _is_group():
        return part
    length = torch.tensor([len(part)], device=part.device)
    broadcast_from_first(length)
    same = part if len(part) == int(length) else part.new_empty(int(length), *part.shape[1:])
    broadcast_from_first(same)
    return same


def broadcast_numbers(values: list[float], device: torch.device) -> list[float]:
    """Return the first process's numbers, so that all decide alike."""
    found = torch.tensor(values, dtype=torch.float64, device=device)
    broadcast_from_first(found)
    return found.tolist()


def add_up(*parts: Tensor) -> None:
    """Replace each tensor by its sum over all processes."""
    if _is_group():
        with _lost_contact_errors():
            for part in parts:
                dist.all_reduce(part)
