"""Learning from decisions while people go on deciding: another process trains, and the page takes up what it found."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from contextlib import suppress
from typing import Any

from mixtea.errors import MixTEAError
from mixtea.review.model import Model
from mixtea.review.session import Session
from mixtea.text import visible

NICE = 10  # the page goes first
ENDS_WITHIN = 10.0  # seconds that a training has to end when it is told to
TOLD_AT_ONCE = 10  # sources, a few milliseconds


class Training:
    """At most one training at a time; `every` so many decisions one begins by itself, 0 for never."""

    def __init__(self, session: Session, every: int = 50) -> None:
        self.session, self.every = session, every
        self.task: asyncio.Task[None] | None = None
        self.process: asyncio.subprocess.Process | None = None
        self.doing, self.error, self.began, self.seconds = "", "", 0.0, 0.0
        self.last: dict[str, Any] | None = None  # what the last one came to

    @property
    def is_running(self) -> bool:
        return self.task is not None and not self.task.done()

    def maybe(self) -> None:
        """Begin if enough was decided since the model last learned."""
        if self.every and self.session.since_trained() >= self.every:
            self.begin()

    def begin(self) -> None:
        if not self.is_running:
            self.doing, self.error, self.began = "starting", "", time.monotonic()
            self.task = asyncio.get_running_loop().create_task(self._run())

    def status(self) -> dict[str, Any]:
        seconds = time.monotonic() - self.began if self.is_running else self.seconds
        return {"running": self.is_running, "doing": self.doing, "error": self.error, "seconds": seconds,
                "last": self.last}  # fmt: skip

    async def _run(self) -> None:
        try:
            await self._learn()
        except (MixTEAError, OSError) as error:
            self.error = visible(str(error), 300)
        self.doing, self.seconds, self.process = "", time.monotonic() - self.began, None

    async def _learn(self) -> None:
        session = self.session
        paths = (session.run, session.store.path, session.reviewed_run)
        command = [sys.executable, "-m", "mixtea.cli.learn", *map(str, paths)]
        quiet = (lambda: os.nice(NICE)) if hasattr(os, "nice") else None
        self.process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, preexec_fn=quiet,
        )  # fmt: skip
        assert self.process.stdout is not None and self.process.stderr is not None
        errors = asyncio.create_task(self.process.stderr.read())
        last_id = None
        async for line in self.process.stdout:
            with suppress(ValueError):
                told = json.loads(line)
                last_id = told.get("last_id", last_id)
                self.doing = _in_words(told) or self.doing
        said = (await errors).decode("utf-8", "replace").strip().splitlines()
        if await self.process.wait() or last_id is None:
            self.error = visible(said[-1].removeprefix("error: ") if said else "the training ended without a word", 300)
        else:
            model = await asyncio.to_thread(_ready, session)
            session.store.keep_trained(model.name, last_id)
            changes = session.adopt(model, last_id)
            await self._tell()
            self.last = {"changes": len(changes), "decisions": len(session.ledger.of_source)}

    async def warm_up(self) -> None:
        """Make all that takes long beside the page, and take up what an earlier review has trained."""
        self.session.prepare(await asyncio.to_thread(self.session.load))
        while True:  # also what comes to be told later, as when a reviewer proves to err
            await self._tell()
            await asyncio.sleep(1)

    async def _tell(self) -> None:
        """Let beliefs know what was decided, a few at a time, so that nobody waits."""
        while self.session.tell(TOLD_AT_ONCE):
            await asyncio.sleep(0)

    async def stop(self) -> None:
        """End a training that runs; nothing of it is kept."""
        process = self.process
        if process is not None:
            with suppress(ProcessLookupError):
                process.terminate()
        if self.task is not None:
            self.task.cancel()
            with suppress(asyncio.CancelledError):
                await self.task
        if process is not None:
            try:
                await asyncio.wait_for(process.wait(), ENDS_WITHIN)
            except TimeoutError:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def _ready(session: Session) -> Model:
    """The trained run with all its indices, made beside the page."""
    model = Model(session.reviewed_run)
    model.prepare()
    return model


def _in_words(told: dict[str, Any]) -> str:
    if "epoch" in told:
        return f"epoch {told['epoch']} of at most {told['of']}"
    if "round" in told:
        return f"propagation, {told['sure']:,} sure pairs"
    return str(told.get("doing", ""))
