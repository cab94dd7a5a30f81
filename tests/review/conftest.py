"""A run of seventy-two sources of which much is uncertain, trained once, to be reviewed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlencode

import pytest
from reviewing import DirectSession
from reviewing import doubtful as doubtful
from reviewing import doubtful_run as doubtful_run
from reviewing import doubtful_task as doubtful_task
from served import PORT, asked, form_of

from mixtea.review.app import Page
from mixtea.review.decisions import DecisionStore, decisions_path
from mixtea.review.security import Guard
from mixtea.review.training import BackgroundTraining


@pytest.fixture
def copied(doubtful_run: Path, tmp_path: Path) -> Path:
    """A copy to write beside."""
    return shutil.copytree(doubtful_run, tmp_path / "run")


@pytest.fixture
def opened(copied: Path) -> Iterator[Callable[[], DirectSession]]:
    """Begin a review of the run, as a server does when it starts."""
    with ExitStack() as stack:
        yield lambda: DirectSession(copied, stack.enter_context(closing(DecisionStore(decisions_path(copied)))))


class Reviewing:
    """A page in this process, and a browser that was let in."""

    def __init__(self, session):
        self.session = session
        self.training = BackgroundTraining(session.state, 0)
        self.page = Page(session, self.training, "ann")
        self.guard = self.page.guard = Guard(self.page.app(), "127.0.0.1", PORT)
        self.cookie = ""

    async def get(self, path, query=""):
        return await self._asked("GET", path, b"", query)

    async def post(self, path, **form):
        return await self._asked("POST", path, urlencode(form).encode())

    async def sent(self, path, body):
        return await self._asked("POST", path, body)

    async def _asked(self, method, path, body, query=""):
        host = ("host", f"127.0.0.1:{PORT}")
        if not self.cookie:
            entered = await asked(self.guard, "GET", "/enter", [host], query=f"token={self.guard.invite()}")
            self.cookie = entered.headers["set-cookie"][0].partition(";")[0]
        headers = [host, ("origin", f"http://127.0.0.1:{PORT}"), ("cookie", self.cookie)]
        return await asked(self.guard, method, path, headers, body, query)

    async def decide(self, row, action="accept"):
        return await self.post("/decide", **form_of((await self.get(f"/card/{row}")).text), action=action)


@pytest.fixture
def reviewing(copied):
    with closing(DecisionStore(decisions_path(copied))) as store:
        yield Reviewing(DirectSession(copied, store))
