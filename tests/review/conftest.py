"""A run of seventy-two sources of which much is uncertain, trained once, to be reviewed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from conftest import SMALL_BEST, said_graph
from served import PORT, asked, form_of

from mixtea import MixTEA, Task
from mixtea.config import STRUCTURE_VOTERS
from mixtea.review.app import Page
from mixtea.review.decisions import Decisions, beside
from mixtea.review.security import Guard
from mixtea.review.session import Session
from mixtea.review.training import Training

N, N_TRAIN, N_VALID = 72, 12, 24


@pytest.fixture(scope="session")
def doubtful_task() -> Task:
    """A random graph of which each side has three triples of five; 12 training links, 24 to validate, 36 to test.

    Each entity has a note that nobody votes by.
    """
    random = np.random.default_rng(0)
    triples = np.stack([random.integers(top, size=3 * N) for top in (N, 3, N)], axis=1)
    kept = [triples[random.random(len(triples)) < 0.6].tolist() + [[0, r, 1] for r in range(3)] for _ in "st"]
    said = [[f"thing {n}{more}" for n in range(N)] for more in ("", " of theirs")]
    source, target = (
        said_graph([""] * N, [(n, "note", text) for n, text in enumerate(texts)], side, triples=own)
        for own, side, texts in zip(kept, "st", said, strict=True)
    )
    links = np.repeat(random.permutation(N), 2).reshape(-1, 2)
    train, valid, test = np.split(links, [N_TRAIN, N_TRAIN + N_VALID])
    return Task("doubtful", source, target, train, valid, test)


@pytest.fixture(scope="session")
def doubtful(doubtful_task: Task) -> MixTEA:
    """Trained on it; nothing but triples tells."""
    return MixTEA(**SMALL_BEST | {"voters": STRUCTURE_VOTERS, "max_epochs": 1}).fit(doubtful_task)


@pytest.fixture(scope="session")
def doubtful_run(doubtful: MixTEA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its folder: to read, and not to write beside."""
    folder = tmp_path_factory.mktemp("runs") / "doubtful"
    doubtful.save(folder)
    return folder


@pytest.fixture
def copied(doubtful_run: Path, tmp_path: Path) -> Path:
    """A copy to write beside."""
    return shutil.copytree(doubtful_run, tmp_path / "run")


@pytest.fixture
def opened(copied: Path) -> Iterator[Callable[[], Session]]:
    """Begin a review of the run, as a server does when it starts."""
    with ExitStack() as stack:
        yield lambda: Session(copied, stack.enter_context(closing(Decisions(beside(copied)))))


class Reviewing:
    """A page in this process, and a browser that was let in."""

    def __init__(self, session):
        self.session = session
        self.training = Training(session, 0)
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
    with closing(Decisions(beside(copied))) as store:
        yield Reviewing(Session(copied, store))
