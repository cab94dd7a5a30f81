"""Run functions beside the event loop, in daemon threads."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
SLICE_SECONDS = 0.002  # for which a loop may be held before others get their turn


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
