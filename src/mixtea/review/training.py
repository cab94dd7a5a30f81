"""Retrain in another process while people go on deciding, and adopt the result; threads beside the event loop."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from mixtea.errors import MixTEAError
from mixtea.messages import visible
from mixtea.review.model import Model
from mixtea.review.state import SOURCES_PER_STEP, ReplacedError, ReviewState
from mixtea.runs.folder import MANIFEST

NICE = 10  # the page goes first
END_SECONDS = 1.5  # for a training to end after a signal, before it is killed
ROWS_PER_READ = 200  # of decisions from elsewhere, a few milliseconds
PAUSE_SECONDS = 0.004  # seconds between two parts of what can wait, for what people wait for
SLICE_SECONDS = 0.002  # for which a loop may be held before others get their turn
T = TypeVar("T")


class Threads:
    """A few daemon threads that share a job queue; a process ends without waiting for them."""

    def __init__(self, size: int = 1) -> None:
        self.jobs: SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Future[Any], Callable[[], Any]]] = SimpleQueue()
        self.size, self.n_started, self.n_waiting = size, 0, 0

    async def __call__(self, function: Callable[..., T], *args: Any) -> T:
        """Wait for the result of a function, while the event loop goes on."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self.n_waiting += 1
        if self.n_started < min(self.size, self.n_waiting):
            self.n_started += 1
            threading.Thread(target=self._work, daemon=True).start()
        self.jobs.put((loop, done, lambda: function(*args)))
        try:
            return await done
        finally:
            self.n_waiting -= 1

    def _work(self) -> None:
        while True:
            loop, done, function = self.jobs.get()
            if done.cancelled():
                continue
            result, error = None, None
            try:
                result = function()
            except Exception as raised:
                error = raised
            except BaseException as raised:  # such as SystemExit from a plugin: it must not end other jobs
                error = RuntimeError(f"{type(raised).__name__}: {raised}")
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(_settle, done, result, error)


def _settle(done: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if done.done():
        return
    if error is not None:
        done.set_exception(error)
    else:
        done.set_result(result)


async def in_slices(items: Iterable[T]) -> list[T]:
    """Collect items that are computed one by one in the event loop, giving way to others again and again."""
    found, until = [], time.monotonic() + SLICE_SECONDS
    for item in items:
        found.append(item)
        if time.monotonic() > until:
            await asyncio.sleep(0)
            until = time.monotonic() + SLICE_SECONDS
    return found


class BackgroundTraining:
    """At most one training at a time; one begins after `every` decisions, 0 for never.

    Also keeps the state up to date with other processes: decisions, and runs that they train. `notify` gets notices for
    the terminal.
    """

    def __init__(self, state: ReviewState, every: int = 50, notify: Callable[[str], None] = lambda text: None) -> None:
        self.state, self.every, self.notify = state, every, notify
        self.database, self.reading, self.beside = Threads(), Threads(), Threads()
        self.command = [sys.executable, "-m", "mixtea.cli.review_worker"]
        self.task: asyncio.Task[None] | None = None
        self.process: asyncio.subprocess.Process | None = None
        self.doing, self.error, self.began, self.seconds = "", "", 0.0, 0.0
        self.last: dict[str, Any] | None = None  # what the last one came to
        self._catching_up = asyncio.Lock()
        self._shown_notices: set[str] = set()
        self._trained_seen: object = None

    @property
    def is_running(self) -> bool:
        return self.task is not None and not self.task.done()

    def begin_if_due(self, reviewer: str = "") -> None:
        """Begin if enough was decided since the model was last trained."""
        if self.every and self.state.since_trained() >= self.every:
            self.begin(reviewer)

    def begin(self, reviewer: str = "") -> None:
        """Begin a training on behalf of a reviewer, unless one is running."""
        if not self.is_running:
            self.doing, self.error, self.began = "starting", "", time.monotonic()
            self.task = asyncio.get_running_loop().create_task(self._run(reviewer))

    def status(self) -> dict[str, Any]:
        seconds = time.monotonic() - self.began if self.is_running else self.seconds
        return {"running": self.is_running, "doing": self.doing, "error": self.error, "seconds": seconds,
                "last": self.last}  # fmt: skip

    async def _run(self, reviewer: str) -> None:
        try:
            await self.database(self.state.check_run)
            await self._learn(reviewer)
        except Exception as error:  # any error is shown, and the model stays unchanged
            kind = "" if isinstance(error, MixTEAError | OSError) else f"{type(error).__name__}: "
            self.error = visible(f"{kind}{error}", 300)
        finally:
            await self._end_process()
            self.doing, self.seconds = "", time.monotonic() - self.began

    async def _learn(self, reviewer: str) -> None:
        state = self.state
        paths = map(str, (state.run, state.store.path, state.reviewed_run))
        quiet = (lambda: os.nice(NICE)) if hasattr(os, "nice") else None
        self.process = await asyncio.create_subprocess_exec(
            *self.command, *paths, reviewer, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, preexec_fn=quiet,
        )  # fmt: skip
        assert self.process.stdout is not None and self.process.stderr is not None
        errors = asyncio.create_task(self.process.stderr.read())
        last_id = None
        async for line in self.process.stdout:
            with suppress(ValueError, AttributeError):  # a plugin may print anything
                told = json.loads(line)
                last_id = told.get("last_id", last_id)
                self.doing = _in_words(told) or self.doing
        said = (await errors).decode("utf-8", "replace").strip().splitlines()
        if await self.process.wait() or last_id is None:
            self.error = visible(
                said[-1].removeprefix("error: ") if said else "the training ended without a message", 300
            )
            return
        self.doing = "reading what was learned"
        model = await self.beside(self._read_trained)
        await self.database(state.store.keep_trained, model.name, last_id)
        if state.is_child(model):
            self._trained_seen = self._trained_on_disk()
            state.adopt(model, last_id)
            self.last = {"changes": state.n_changes, "decisions": len(state.index.by_source)}
        else:
            self.error = "the run was replaced meanwhile"

    def _read_trained(self) -> Model:
        """Read the trained run and make all its indices; called in a thread."""
        self.state.check_run()
        model = Model(self.state.reviewed_run)
        model.prepare()
        return model

    def _trained_on_disk(self) -> object:
        with suppress(OSError):
            about = (self.state.reviewed_run / MANIFEST).stat()
            return about.st_ino, about.st_mtime_ns
        return None

    # What others do

    async def warm_up(self) -> None:
        """Make all slow parts beside the page; then keep up with decisions and runs of other processes."""
        self._trained_seen = self._trained_on_disk()
        trained = None
        try:
            trained = await self.beside(self.state.load)
        except Exception as error:  # the page goes on with what it has
            self.state.notices["trained"] = visible(f"Not everything could be read: {error}", 300)
        self.state.prepare(trained)
        while True:
            with suppress(OSError, ReplacedError):  # the next writer gets the error
                await self.catch_up()
                await self.database(self.state.check_run)
                await self._take_up_trained()
            await self.update_posteriors()
            for notice in {*self.state.notices.values()} - self._shown_notices:
                self._shown_notices.add(notice)
                self.notify(notice)
            await asyncio.sleep(1)

    async def catch_up(self) -> None:
        """Apply new decisions of other processes, a few at a time, so that no request waits."""
        state = self.state
        if self._catching_up.locked():
            return
        async with self._catching_up:
            while True:
                rows = await self.reading(lambda: state.store.reader.read(state.index.read_to, ROWS_PER_READ))
                if rows.last_id == state.index.read_to:
                    break
                state.index.read_to = rows.last_id
                state.apply_rows(rows.decisions)
                await asyncio.sleep(PAUSE_SECONDS)
        if wrong := state.store.unreadable:
            first, column = next(iter(wrong.items()))
            state.notices["unreadable"] = (
                f"{visible(state.store.path)}: {len(wrong):,} rows are left out, since mixtea did not write them "
                f"(row {first}, column {column}). They stay in the file; the other decisions hold."
            )

    async def _take_up_trained(self) -> None:
        """Use a run that another server has trained with the same decisions."""
        now = self._trained_on_disk()
        if now != self._trained_seen and not self.is_running:
            self._trained_seen = now
            trained = await self.beside(self.state.load_trained)
            if trained is not None:
                self.state.adopt(*trained)

    async def update_posteriors(self) -> None:
        """Update outdated posteriors, a few at a time, so that no request waits."""
        while self.state.update_posteriors(SOURCES_PER_STEP):
            await asyncio.sleep(PAUSE_SECONDS)

    async def stop(self) -> None:
        """End a running training; nothing of it is kept."""
        if self.task is not None:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task

    async def _end_process(self) -> None:
        process, self.process = self.process, None
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), END_SECONDS)
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _in_words(told: dict[str, Any]) -> str:
    if "epoch" in told:
        return f"epoch {told['epoch']} of at most {told['of']}"
    if "round" in told:
        return f"propagation, {told['sure']:,} sure pairs"
    return str(told.get("doing", ""))
