"""The review page in a real browser: from key press to the next card painted, start, and learning beside it.

    python benchmarks/review.py [--pairs 100000] [--decisions 200] [--before 0 20000] [--only keys crowd training]
    python benchmarks/review.py --data DATA --only training

keys      a made-up run of so many pairs: seconds until the page answers, then so many decisions by key; for each,
          milliseconds from the key's event to the frame after the next card is in the page. Again after as many
          decisions as --before says lie in the file
crowd     milliseconds that a decision takes while one reviewer imports 80,000 rows, another exports all decisions, and
          a third opens a card with 1,600 values a side, again and again
training  while decisions go on: seconds of a training of the bundled example, and of D_W_15K_V1 with --data; what the
          next card takes meanwhile; milliseconds in which neighbours change

The browser is Debian's chromium, driven by Playwright.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from common import header, row
from review_kills import Browser
from synthetic import synthetic_pair

from mixtea import Config, MixTEA, Task, load_example, load_task
from mixtea.council.trace import TRACE_COLUMNS
from mixtea.decide.answers import Answers, Ranked
from mixtea.experiments.reproduce.plan import structural_voters
from mixtea.graph.entity_table import Attributes
from mixtea.review.decision import Decision
from mixtea.review.decisions import DecisionStore, decisions_path
from mixtea.review.import_export import write_decisions
from mixtea.review.model import Model
from mixtea.review.session import Session
from mixtea.runs.folder import Run, write_run
from mixtea.runs.validate import weight_forms

PRESSED = """async (key) => {
    const began = performance.now();
    const done = new Promise((told) => document.addEventListener("mixtea:card", () => requestAnimationFrame(
        () => setTimeout(() => told(performance.now() - began))), { once: true }));
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    return await done;
}"""


def made_up_run(n: int, folder: Path, k: int = 20, change: Callable[[Task], Task] = lambda task: task) -> Path:
    """A run folder of n pairs to decide: true targets and others by chance, with likely probabilities, untrained."""
    task, rng = change(synthetic_pair(round(n / 0.8))), np.random.default_rng(0)
    config = Config.preset("best", voters=structural_voters("best"), entity_dim=4, relation_dim=2, max_epochs=0)
    free = np.setdiff1d(np.arange(task.source.n_entities), task.train[:, 0])
    p = len(free)
    truth = np.full(task.source.n_entities, -1)
    for links in (task.valid, task.test):
        truth[links[:, 0]] = links[:, 1]
    target = rng.integers(task.target.n_entities, size=(p, k))
    first = rng.random(p) < 0.8
    target[:, 0] = np.where(first & (truth[free] >= 0), truth[free], target[:, 0])
    likely = np.sort(rng.random((p, k)) ** 20, axis=1)[:, ::-1] * 0.5
    likely[:, 0] = np.where(first, 1 - rng.random(p) ** 3, rng.random(p))
    likely[:, 1:] *= (1 - likely[:, :1]) / likely[:, 1:].sum(axis=1, keepdims=True)
    names = config.deciding_voters
    named = (rng.random((p, k, len(names))) < 0.5) & (np.arange(k) == 0)[None, :, None]
    no = np.zeros((p, k), dtype=bool)

    def ranked(size: int) -> Ranked:
        belief = likely[:, :size].astype(np.float32)
        parts = (named[:, :size], ~no[:, :size], no[:, :size], likely[:, :size], np.ones(p))
        return Ranked(target[:, :size], belief.astype(np.float64), belief, *parts)

    scores = {name: likely.astype(np.float32) for name in ("propagation", "agreement")}
    values = {name: 10 * part[:, :2] for name, part in scores.items()}
    answers = Answers(task, names, free, ranked(k), scores, ranked(2), first, values)
    forms = {name: [int(size or 0) for size in shape] for name, (_, shape) in weight_forms(task, config).items()}
    weights = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in forms.items()}
    trace = {name: np.empty(0, dtype=np.int32) for name in TRACE_COLUMNS}
    trace["voters"] = np.empty((0, 1), dtype=np.uint8)
    about: dict[str, Any] = {
        "n_epochs": 0,
        "best_epoch": None,
        "stopped_because": "",
        "seconds": 0.0,
        "voter_weights": {},
    }
    run = Run(task, config, weights, [], trace, {}, answers, {}, about | {"voter_packages": {}, "preset": "best"})
    write_run(run, folder)
    return folder


@contextmanager
def served(run: Path, every: int = 0) -> Iterator[tuple[str, float]]:
    """The address of the page, and the seconds until it answered."""
    command = [sys.executable, "-m", "mixtea", "review", str(run), "--no-browser", "--retrain-every", str(every)]
    began = time.perf_counter()
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
    try:
        yield address, began
    finally:
        server.terminate()
        server.wait(timeout=30)


def decided(run: Path, n: int) -> None:
    """Put so many decisions into the file beside a run, as if somebody had made them."""
    store = DecisionStore(decisions_path(run))
    session = Session(run, store)
    ids, targets = session.state.original.task.source.ids, session.state.original.task.target.ids
    model, done = session.state.original, session.state.index.last_id
    rows = np.random.default_rng(1).permutation(len(model.sources))[done:n]
    store.add([
        Decision(f"b{row_}", "earlier", ("accept", "reject")[row_ % 10 == 0], str(ids[model.sources[row_]]),
                 str(targets[model.target[row_, 0]]), (str(targets[model.target[row_, 0]]),), probability=0.5)
        for row_ in rows.tolist()
    ])  # fmt: skip
    store.close()


def pressed(page: Any, n: int, keys: str = "axaa1aau") -> list[float]:
    return [float(page.evaluate(PRESSED, keys[i % len(keys)])) for i in range(n)]


def opened(browser: Any, address: str) -> Any:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)
    page.wait_for_selector("#decide")
    return page


def keys(args: Any, folder: Path, browser: Any) -> None:
    run = made_up_run(args.pairs, folder / "keys")
    header("pairs", "decided before", "start s", "median ms", "95 % ms", "slowest ms")
    for before in args.before:
        decided(run, before)
        with served(run) as (address, began):
            page = opened(browser, address)
            start = time.perf_counter() - began
            pressed(page, 5)
            found = np.array(pressed(page, args.decisions))
            page.close()
        figures = [np.median(found), np.quantile(found, 0.95), found.max()]
        row([f"{args.pairs:,}", f"{before:,}", f"{start:.1f}", *(f"{value:.0f}" for value in figures)])


def with_many_values(task: Task, n: int = 1600) -> Task:
    """The task with so many values at the first open entity of each side, a third of them equal."""
    source, target = (
        replace(graph, attributes=Attributes.from_columns([int(entity)] * n, *texts).as_set())
        for graph, entity, texts in (
            (task.source, task.test[0, 0], values(n, "s")), (task.target, task.test[0, 1], values(n, "t")))
    )  # fmt: skip
    return task.replace(source=source, target=target)


def values(n: int, side: str) -> tuple[list[str], list[str]]:
    """Predicates and values, some the same for both sides."""
    return [f"p{i % 40}" for i in range(n)], [f"value {i} {'' if i % 3 == 0 else side} of many words" for i in range(n)]


def import_files(run: Path, folder: Path, n: int, n_files: int) -> list[bytes]:
    """Files of n decisions each, by other people, as the page exports them."""
    model = Model(run)
    ids, targets = model.task.source.ids, model.task.target.ids
    rows = np.random.default_rng(2).permutation(len(model.sources))[:n].tolist()
    found = []
    for number in range(n_files):
        decisions = [
            Decision(f"{number}/{row_}", f"person {number}", "accept", str(ids[model.sources[row_]]),
                     str(targets[model.target[row_, number]]), at=f"2026-01-{number + 1:02d}", id=place + 1)
            for place, row_ in enumerate(rows)
        ]  # fmt: skip
        path = folder / "import.sssom.tsv"
        write_decisions(model.task, decisions, {}, path)
        found.append(path.read_bytes())
    return found


class Others:
    """Three reviewers who ask for what takes long, until told to stop; how often each was answered, and how long."""

    def __init__(self, browsers: list[Browser], files: list[bytes], row_: int) -> None:
        self.seconds: dict[str, list[float]] = {"import": [], "export": [], "card": []}
        self.is_over = threading.Event()
        importing, exporting, opening = browsers
        pending = iter(files)
        asks = {"import": lambda: importing.ask("/import", next(pending)),
                "export": lambda: exporting.ask("/decisions.sssom.tsv"),
                "card": lambda: opening.ask(f"/card/{row_}")}  # fmt: skip
        self.threads = [threading.Thread(target=self._again, args=one) for one in asks.items()]

    def _again(self, name: str, ask: Callable[[], str]) -> None:
        while not self.is_over.is_set():
            began = time.perf_counter()
            try:
                ask()
            except StopIteration:  # all files are taken over
                return
            self.seconds[name].append(time.perf_counter() - began)

    def __enter__(self) -> Others:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        for thread in self.threads:
            thread.join()


def crowd(args: Any, folder: Path) -> None:
    run = made_up_run(args.pairs, folder / "crowd", change=with_many_values)
    files = import_files(run, folder, min(80_000, args.pairs - 1000), 4)
    model = Model(run)
    rich = int(model.row_of[model.task.test[0, 0]])
    rows = np.random.default_rng(3).permutation(len(model.sources)).tolist()
    with served(run) as (address, _):
        host = Browser(address)
        invited = [host.invited(f"reviewer {number}") for number in range(4)]
        browsers = [Browser(one) for one in invited]
        for _ in range(5):
            host.decided(rows.pop())
        found: list[float] = []
        with Others(browsers[:3], files, rich) as others:
            while len(others.seconds["import"]) < len(files):
                found.append(browsers[3].decided(rows.pop()))
        took = {name: f"{np.median(seconds):.1f} s x {len(seconds)}" for name, seconds in others.seconds.items()}
    header("pairs", "import of 80,000", "export", "card of 1,600 values", "decisions meanwhile", "median ms", "95 % ms",
           "slowest ms")  # fmt: skip
    figures = [np.median(found), np.quantile(found, 0.95), max(found)]
    row([f"{args.pairs:,}", *took.values(), len(found), *(f"{1000 * value:.0f}" for value in figures)])


def training(args: Any, folder: Path, browser: Any) -> None:
    header("task", "training s", "decisions meanwhile", "median ms", "95 % ms", "mappings changed")
    tasks: dict[str, Task] = {"example": load_example()}
    if args.data:
        tasks["D_W_15K_V1"] = load_task(args.data / "D_W_15K_V1", fold=1)
    for name, task in tasks.items():
        run = folder / name
        MixTEA("best", device=args.device).fit(task).save(run)
        with served(run) as (address, _):
            page = opened(browser, address)
            pressed(page, 20, "a")
            began = time.perf_counter()
            page.click("text=Learn now")
            found: list[float] = []
            while "Learned in" not in page.inner_text("#status"):
                found += pressed(page, 1, "au")
                page.wait_for_timeout(300)
            seconds = time.perf_counter() - began
            said = re.search(r"(\d+) mappings", page.inner_text("#status"))
            page.close()
        figures = [np.median(found), np.quantile(found, 0.95)] if found else [0, 0]
        row([name, f"{seconds:.1f}", str(len(found)), *(f"{v:.0f}" for v in figures), said[1] if said else ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--decisions", type=int, default=200)
    parser.add_argument("--before", type=int, nargs="*", default=[0, 20_000])
    parser.add_argument("--only", nargs="*", default=["keys", "crowd", "training"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--device", default="auto")
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        if "keys" in args.only:
            keys(args, Path(folder), browser)
        if "crowd" in args.only:
            crowd(args, Path(folder))
        if "training" in args.only:
            training(args, Path(folder), browser)
        browser.close()


if __name__ == "__main__":
    main()
