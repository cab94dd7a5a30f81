"""Measure trainings, several at a time: accuracy on links that they never saw, seconds, memory, settings.

Each is stored at once, so that an interrupted call can continue.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import torch

from mixtea.aligner import MixTEA
from mixtea.aligner.saving import versions
from mixtea.callbacks import Callback
from mixtea.compute.device import choose_device, describe_device
from mixtea.errors import DAMAGED_FILE_ERRORS, DataError, FullMemoryError, MixTEAError, RunError, TrainingError
from mixtea.evaluation.metrics import both_directions
from mixtea.experiments.reproduce.pages import cost_frame
from mixtea.experiments.reproduce.plan import SHARES, Job
from mixtea.experiments.reproduce.published import METRICS
from mixtea.graph.task import Task
from mixtea.io.load import load_task
from mixtea.runs.atomic import clear_errors, lock_folder
from mixtea.runs.checkpoints import StopSignals
from mixtea.runs.folder import SEAL, seal

TRUST_SCORES = ("calibration_error", "accepted@95", "accepted@95_precision")
OBSERVE_EVERY = 5  # epochs


def with_share(task: Task, share: float | None) -> Task:
    """Return the task with training links for `share` of all links, and at most half as many validation links.

    Shares that exceed the fold's training links take the first test links too, up to a tenth of all links; these are
    not scored, whatever the share.
    """
    if share is None:
        return task
    n_all = len(task.train) + len(task.valid) + len(task.test)
    n, spare = round(share * n_all), round((SHARES[-1] - SHARES[-2]) * n_all)
    pool = np.concatenate([task.train, task.test[:spare]])
    if not 0 < n <= len(pool) or spare >= len(task.test):
        raise DataError(f"{task.name}: {share:.0%} of its {n_all:,} links cannot be taken for training.")
    return task.replace(train=pool[:n], valid=task.valid[: n // 2], test=task.test[spare:])


def measure(job: Job, folder: Path, device: str) -> dict[str, Any]:
    """Return a row: train without any test link, then score them by plain cosine and by the preset's decoders."""
    settings = {"device": device, **dict(job.settings)}
    row = measured(with_share(load_task(folder, fold=job.fold), job.share), job.preset, settings, observed=job.observed)
    about = {"key": job.key, "task": job.task, "fold": job.fold, "preset": job.preset, "share": job.share}
    return about | {"settings": dict(job.settings)} | row


def measured(task: Task, preset: str, settings: dict[str, Any], *, observed: bool = False) -> dict[str, Any]:
    """Train once and score the task's test links, which the training does not see."""
    aligner = MixTEA(preset=preset, **settings)
    place = choose_device(aligner.config.device)
    forget_peak(place)
    curve = Curve(task)
    aligner.fit(task.replace(test=task.test[:0]), callbacks=[curve] if observed else [])
    peak = peak_gib(place)
    everything = task.source.n_entities if aligner.config.candidates == "all" else None
    student = both_directions(aligner.vectors_, curve.links.to(place), everything, mib=aligner.config.block_mib)
    started = time.perf_counter()
    scores = {"student": student}
    if not observed and not aligner.config.only_vectors_vote:
        decoders = dict.fromkeys((aligner.config.decoder, "one_to_one"))
        scores |= {decoder: aligner.score(task.test, decoder=decoder) for decoder in decoders}
    decoded = scores.get(aligner.config.decoder, {})
    return {
        "scores": {name: {m: found[m] for m in METRICS} for name, found in scores.items()},
        **{name: decoded[name] for name in TRUST_SCORES if name in decoded},
        "curve": curve.points,
        "seconds": aligner.seconds_,
        "decoding_seconds": time.perf_counter() - started,
        "peak_gib": peak,
        "epochs": aligner.n_epochs_,
        "stopped_because": aligner.stopped_because_,
        "learning_rate_lowered": aligner.lowered_,
        "links": {"train": len(task.train), "valid": len(task.valid), "test": len(task.test)},
        "seed": aligner.config.seed,
        "device": describe_device(place),
        "config": aligner.config.to_dict(),
        "versions": versions(),
    }


class Curve(Callback):
    """Score the test links of a task every OBSERVE_EVERY epochs; `points` holds epochs and Hit@1."""

    def __init__(self, task: Task) -> None:
        self.links = torch.from_numpy(task.test + np.array([0, task.source.n_entities]))  # by joint index
        self.points: list[tuple[int, float]] = []

    def on_vectors(self, epoch: int, vectors: Callable[[], torch.Tensor]) -> None:
        self.points = [point for point in self.points if point[0] < epoch]  # a training that diverged has gone back
        if epoch == 1 or epoch % OBSERVE_EVERY == 0:
            found = vectors()
            self.points.append((epoch, both_directions(found, self.links.to(found.device))["hits@1"]))


def forget_peak(device: torch.device) -> None:
    """Reset the count of `peak_gib`."""
    if device.type == "cuda":
        torch.cuda.init()
        torch.cuda.reset_peak_memory_stats(device)
    else:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")


def peak_gib(device: torch.device) -> float | None:
    """Return the peak memory in GiB: of the GPU by this process, else of this process; None where unknown."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**30
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 2**20 for line in lines if line.startswith("VmHWM")), None)


ROWS = "rows.jsonl"
MAX_DEAF_SECONDS = 1.0  # of a wait: a signal that comes just before it is only handled after it
MAX_POOL_FAILURES = 3  # times that a process of the pool may die before it is given up
Row = dict[str, Any]
OnRow = Callable[[Job, Row | MixTEAError], None]
_device: list[str] = []  # of a process of the pool


class Rows:
    """Rows of earlier calls and of this one, one JSON object per line; held by one process at a time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / ROWS
        if self.path.is_symlink():
            raise RunError(f"{self.path}: a link, where a file of results is needed. Move it away.")
        with contextlib.ExitStack() as held:
            with clear_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
                held.enter_context(lock_folder(folder))
                self.file = held.enter_context(self.path.open("ab+"))
            self.rows = dict(self._read())
            self._held = held.pop_all()

    def _read(self) -> Iterator[tuple[str, Row]]:
        """Yield every complete line; drop a line that was cut off by a crash."""
        self.file.seek(0)
        text = self.file.read()
        whole = text[: text.rfind(b"\n") + 1]
        if whole != text:
            self.file.truncate(len(whole))
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                row = checked_row(json.loads(line))
                yield row["key"], row
            except DAMAGED_FILE_ERRORS:
                raise RunError(
                    f"{self.path}: line {number} is damaged. Delete that line to measure it again."
                ) from None

    def add(self, row: Row) -> None:
        row = row | {SEAL: seal(row)}
        self.file.write(json.dumps(row).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        self.rows[row["key"]] = row

    def close(self) -> None:
        self._held.close()

    def of_other_versions(self, version: str) -> set[str]:
        """Return the other versions of mixtea that made rows."""
        return {row["versions"]["mixtea"] for row in self.rows.values()} - {version}


def checked_row(row: Row) -> Row:
    """Return the row if it is unchanged and holds all that tables and figures need; else raise any error."""
    if SEAL in row and row[SEAL] != seal(row):
        raise ValueError("changed since it was written")
    cost_frame([row])
    for found in row["scores"].values():
        if not all(0 <= found[metric] <= 1 for metric in METRICS):
            raise ValueError("no scores")
    if not all(epoch > 0 and 0 <= hits <= 1 for epoch, hits in row["curve"]):
        raise ValueError("no curve")
    return row


def run_jobs(
    jobs: Sequence[Job], folders: Mapping[str, Path], rows: Rows, devices: Sequence[str], n_workers: int, on_row: OnRow
) -> list[tuple[Job, MixTEAError]]:
    """Do the jobs that are not in `rows` yet. `on_row` is called for each; return the failed ones, the rest goes on."""
    todo = [job for job in jobs if job.key not in rows.rows]
    failed: list[tuple[Job, MixTEAError]] = []

    def ended(job: Job, result: Row | MixTEAError) -> None:
        if isinstance(result, MixTEAError):
            failed.append((job, result))
        else:
            rows.add(result)
        on_row(job, result)

    if n_workers == 1:
        for job in todo:
            ended(job, _attempt(job, folders[job.task], devices[0]))
        return failed
    broken = 0
    while True:
        todo = [job for job in todo if job.key not in rows.rows and job not in {j for j, _ in failed}]
        with contextlib.suppress(BrokenProcessPool):
            _run_pool(todo, folders, devices, n_workers, ended)
            return failed
        broken += 1
        if broken > MAX_POOL_FAILURES:
            raise TrainingError(
                "A process that trains has died, again and again: is there enough memory? What was done is kept. "
                "The same command goes on; take fewer --jobs."
            )


def _run_pool(
    jobs: Sequence[Job], folders: Mapping[str, Path], devices: Sequence[str], n_workers: int,
    ended: Callable[[Job, Row | MixTEAError], None],
) -> None:  # fmt: skip
    context = get_context("spawn")
    places = context.SimpleQueue()
    for worker in range(n_workers):
        places.put(devices[worker % len(devices)])
    threads = max(1, (os.cpu_count() or 1) // n_workers)
    with _stoppable(ProcessPoolExecutor(n_workers, context, _begin, (places, threads))) as pool:
        with StopSignals() as stop:  # at once, the pool would lose a process that is only half started
            running: dict[Future[Row | MixTEAError], Job] = {
                pool.submit(_attempt, job, folders[job.task], None): job for job in jobs
            }
        if stop.asked:
            signal.raise_signal(stop.asked)
        while running:
            for future in wait(running, MAX_DEAF_SECONDS, FIRST_COMPLETED).done:
                ended(running.pop(future), future.result())


@contextlib.contextmanager
def _stoppable(pool: ProcessPoolExecutor) -> Iterator[ProcessPoolExecutor]:
    """Terminate the processes of the pool if the block raises."""
    try:
        yield pool
        pool.shutdown()
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)
        raise


def _begin(places: Any, threads: int) -> None:
    """Set up a process of the pool: leave Ctrl-C to the parent; use one device and some cores for all trainings.

    It ends with its parent, however that ends.
    """
    Thread(target=_end_with_parent, daemon=True).start()

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _device[:] = [places.get()]
    torch.set_num_threads(threads)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _attempt(job: Job, folder: Path, device: str | None) -> Row | MixTEAError:
    logger = logging.getLogger("mixtea")
    level = logger.level
    logger.setLevel(logging.ERROR)  # that validation links are few is meant here
    try:
        return measure(job, folder, device or _device[0])
    except FullMemoryError as error:
        return TrainingError(f"{error} Or take fewer --jobs.")
    except MixTEAError as error:
        return TrainingError(str(error))  # plain, so that it can travel between processes
    except (MemoryError, torch.OutOfMemoryError) as error:  # while scoring
        return TrainingError(f"out of memory ({str(error).partition('. ')[0]}). Take fewer --jobs.")
    finally:
        logger.setLevel(level)
