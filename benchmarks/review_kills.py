"""A review whose server dies again and again while two people decide: nothing that was acknowledged may be lost.

    python benchmarks/review_kills.py [--kills 100] [--seed N]

Both decide over HTTP as fast as they can, and take back now and then, until the server is killed (SIGKILL) at a random
moment. It is started again, each sends once more what was not acknowledged, with the same key, and goes on. After every
kill and in the end the file must hold each acknowledged decision once, as it was sent, and nothing that was not sent.
Prints a Markdown table and what went wrong; ends with 1 if anything did.
"""

from __future__ import annotations

import argparse
import html
import http.client
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

os.environ.setdefault("OMP_NUM_THREADS", "1")

from common import header, row
from death_trials import Problems
from synthetic import synthetic_pair

import mixtea.evaluation.scores
import mixtea.report.page
from mixtea import MixTEA
from mixtea.review.model import Model

NAMES = ("Ann", "Bob")
ACTIONS = ("accept", "reject", "none", "unsure")
LEAST, MOST = 0.01, 0.5  # seconds from the first decisions to the kill
GONE = (OSError, http.client.HTTPException)


class Server:
    """The review page as a process of its own; `address` lets the first browser in."""

    def __init__(self, run: Path, file: Path) -> None:
        words = [run, "--decisions", file, "--no-browser", "--retrain-every", 0]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mixtea", "review", *map(str, words)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        found = (re.search(r"http://\S+", line) for line in self.process.stdout)
        self.address = next((one[0] for one in found if one is not None), "")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


class Browser:
    """What a browser is to the server: a connection that stays, and a cookie."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.origin, self.cookie = f"http://{parts.netloc}", ""
        self.link = http.client.HTTPConnection(parts.netloc, timeout=300)
        self.cookie = str(self._asked("GET", f"{parts.path}?{parts.query}")[0].headers["set-cookie"]).partition(";")[0]

    def _asked(self, method: str, path: str, body: str | bytes | None = None) -> tuple[Any, str]:
        self.link.request(method, path, body, {"cookie": self.cookie, "origin": self.origin})
        answer = self.link.getresponse()
        return answer, answer.read().decode()

    def ask(self, path: str, form: dict[str, str] | bytes | None = None) -> str:
        """The page at a path, or the answer to a form or a file that is sent there; ValueError unless it is 200."""
        body = urlencode(form) if isinstance(form, dict) else form
        answer, text = self._asked("GET" if form is None else "POST", path, body)
        if answer.status != 200:
            raise ValueError(f"{path}: {answer.status} {text}")
        return text

    def card(self, row_: int) -> tuple[str, dict[str, str]]:
        """The card of a row, and what its form sends."""
        page = self.ask(f"/card/{row_}")
        found = re.search(r'name="key" value="(\w+)"><input type="hidden" name="pair" value="([^"]*)"', page)
        if found is None:
            raise ValueError(f"the card of row {row_} has no key")
        return page, {"key": found[1], "pair": html.unescape(found[2])}

    def decided(self, row_: int) -> float:
        """Accept the pair of a row; the seconds from sending that to the next card."""
        form = self.card(row_)[1] | {"action": "accept"}
        began = time.perf_counter()
        if "Saved." not in self.ask("/decide", form):
            raise ValueError(f"row {row_} was not saved")
        return time.perf_counter() - began

    def invited(self, name: str) -> str:
        """An address for one more reviewer."""
        found = re.search(r'value="([^"]+)"', self.ask("/invite", {"reviewer": name}))
        assert found is not None
        return found[1]


@dataclass
class Person:
    """A reviewer: what was acknowledged, in order, and what was sent and is not yet."""

    name: str
    n_rows: int
    rng: random.Random
    standing: list[str] = field(default_factory=list)  # keys
    sent: dict[str, dict[str, str]] = field(default_factory=dict)  # acknowledged decisions by key
    undone: dict[str, str] = field(default_factory=dict)  # acknowledged undos: of which decision
    pending: tuple[str, dict[str, str]] | None = None
    repeated: int = 0
    failed: str = ""

    def decide(self, address: str, ready: threading.Barrier) -> None:
        """Decide until the server is gone."""
        try:
            browser = Browser(address)
            if self.pending is not None:
                self.repeated += 1
                self._send(browser)
            ready.wait(60)
            while True:
                self.pending = self._next(browser)
                self._send(browser)
        except GONE:
            pass
        except (ValueError, threading.BrokenBarrierError) as error:
            self.failed = f"{self.name}: {error!r}"

    def n_acknowledged(self) -> int:
        return len(self.sent) + len(self.undone)

    def _next(self, browser: Browser) -> tuple[str, dict[str, str]]:
        if self.rng.random() < 0.1 and self.standing:
            return "/undo", {"key": uuid.uuid4().hex}
        number = self.rng.randrange(self.n_rows)
        return "/decide", browser.card(number)[1] | {"action": self.rng.choice(ACTIONS)}

    def _send(self, browser: Browser) -> None:
        assert self.pending is not None
        path, form = self.pending
        said = browser.ask(path, form)
        if path == "/decide":
            if "Saved." not in said:
                raise ValueError(f"not acknowledged: {form}")
            self.sent[form["key"]] = form
            self.standing.append(form["key"])
        else:
            if "Taken back: 1 decision." not in said:
                raise ValueError(f"not taken back: {form}")
            self.undone[form["key"]] = self.standing.pop()
        self.pending = None


@dataclass
class Review:
    """A run under review by two people, and its file."""

    run: Path
    file: Path
    people: list[Person]
    problems: Problems
    already: int = 0  # not acknowledged, and in the file nevertheless

    def killed_once(self, seconds: float) -> None:
        """Serve, let both decide for so long, and kill it."""
        server = Server(self.run, self.file)
        try:
            host = Browser(server.address)
            addresses = [host.invited(person.name) for person in self.people]
            ready = threading.Barrier(len(self.people) + 1)
            threads = [
                threading.Thread(target=person.decide, args=(address, ready))
                for person, address in zip(self.people, addresses, strict=True)
            ]
            for thread in threads:
                thread.start()
            ready.wait(60)
            before = [person.n_acknowledged() for person in self.people]
            while any(
                thread.is_alive() and person.n_acknowledged() == n
                for thread, person, n in zip(threads, self.people, before, strict=True)
            ):
                time.sleep(0.001)  # until each has decided once, however busy the machine is
            time.sleep(seconds)
        finally:
            server.kill()
        for thread in threads:
            thread.join()
        for person in self.people:
            self.problems.check(not person.failed, person.failed)

    def check(self) -> None:
        """Every acknowledged decision once and as it was sent; nothing else but what is still on its way."""
        with closing(sqlite3.connect(self.file)) as base:
            self.problems.check(base.execute("PRAGMA integrity_check").fetchone() == ("ok",), "the file is damaged")
            rows = base.execute("SELECT id, key, reviewer, action, source, target, undoes FROM decision ORDER BY id")
            found = {one[1]: one for one in rows}
        taken = {one[6] for one in found.values() if one[6] is not None}
        for person in self.people:
            for key, form in person.sent.items():
                source, first, *_ = json.loads(form["pair"])
                target = None if form["action"] == "none" else first
                wanted = (key, person.name, form["action"], source, target, None)
                self.problems.check(found.get(key, ())[1:] == wanted, f"{found.get(key)} is not {wanted}")
            for key, of in person.undone.items():
                own = [one for name, one in found.items() if name.startswith(f"{key}/")]
                there = [(one[2], one[3], one[6]) for one in own]
                self.problems.check(there == [(person.name, "undo", found[of][0])], f"undo {key}: {own}")
            waiting = person.pending[1]["key"] if person.pending else "-"
            beside = [one for name, one in found.items() if name == waiting or name.startswith(f"{waiting}/")]
            self.already += len(beside)
            own = [one for one in found.values() if one[2] == person.name and one not in beside]
            self.problems.check(len(own) == len(person.sent) + len(person.undone), f"{person.name}: more than was sent")
            stands = [one[1] for one in own if one[3] != "undo" and one[0] not in taken - {one[6] for one in beside}]
            self.problems.check(stands == person.standing, f"{person.name}: other decisions stand")


def quickly() -> None:
    """Leave out the pictures of runs, which nobody looks at here."""
    mixtea.report.page.make_report = lambda aligner: "a page"
    mixtea.evaluation.scores.draw_curves = _picture


def small_run(folder: Path) -> Path:
    quickly()
    task = synthetic_pair(200, 800, n_relations=8, train=0.3, valid=0.2)
    MixTEA("paper", entity_dim=8, relation_dim=4, max_epochs=1, device="cpu").fit(task, progress=False).save(folder)
    return folder


def _picture(history: list[dict[str, Any]], path: Path, title: str = "") -> None:
    path.write_bytes(b"a picture")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, metavar="N", help="kill the server so often")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the random moments")
    args = parser.parse_args()
    rng, problems, began = random.Random(args.seed), Problems(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run = small_run(Path(folder).resolve() / "run")
        model = Model(run)
        people = [Person(name, len(model.sources), random.Random(rng.random())) for name in NAMES]
        review = Review(run, run.with_name("decisions.sqlite"), people, problems)
        for _ in range(args.kills):
            review.killed_once(LEAST + (MOST - LEAST) * rng.random())
            review.check()
    header(
        f"seed {args.seed}", "kills", "decisions", "undos", "sent again", "of these in the file before", "lost or twice"
    )
    sent, undone, repeated = (
        sum(found) for found in zip(*((len(one.sent), len(one.undone), one.repeated) for one in people), strict=True)
    )
    row([f"{time.monotonic() - began:.0f} s", args.kills, sent, undone, repeated, review.already, len(problems.found)])
    sys.exit(1 if problems.found or not sent else 0)


if __name__ == "__main__":
    main()
