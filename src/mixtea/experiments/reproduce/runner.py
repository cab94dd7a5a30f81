"""Run many trainings, several at a time; store each at once, so that an interrupted call can continue."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any

from mixtea.errors import DAMAGED_FILE_ERRORS, FullMemoryError, MixTEAError, RunError, TrainingError
from mixtea.experiments.reproduce.plan import Job
from mixtea.experiments.reproduce.published import METRICS
from mixtea.experiments.reproduce.tables import cost_frame
from mixtea.runs.atomic import clear_errors
from mixtea.runs.folder import SEAL, seal
from mixtea.runs.lock import lock_folder
from mixtea.runs.signals import SIGNALS

ROWS = "rows.jsonl"
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
        with _deferred_signals():
            running: dict[Future[Row | MixTEAError], Job] = {
                pool.submit(_attempt, job, folders[job.task], None): job for job in jobs
            }
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
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


@contextlib.contextmanager
def _deferred_signals() -> Iterator[None]:
    """Defer signals to the end of the block: the pool would lose a process that is only half started."""
    heard: list[int] = []
    handled = [number for number in SIGNALS if callable(signal.getsignal(number))]
    if current_thread() is not main_thread():
        handled = []  # only the main thread handles signals
    before = {number: signal.signal(number, lambda number, frame: heard.append(number)) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number in heard:
        signal.raise_signal(number)


def _begin(places: Any, threads: int) -> None:
    """Set up a process of the pool: leave Ctrl-C to the parent; use one device and some cores for all trainings.

    It ends with its parent, however that ends.
    """
    import torch

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
    import torch

    from mixtea.experiments.reproduce.work import measure

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
