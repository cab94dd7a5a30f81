"""Runs that are replaced under their review: is what the page shows what the file of decisions gets?

    python benchmarks/review_replaced.py [--decisions 40] [--seed 1]

A run is reviewed by a real server, with and without "Learn now". Then its folder is replaced by a run of shrunk, grown,
reordered or renamed graphs, or of the same ones: while nothing serves it, or under the running server. Every decision
that is answered with "Saved" must be in the file for the two entities that the page showed, and nothing else may be
there. Under a server of other graphs every decision must be refused; of the same ones, none. In the end every card must
open.
Prints a Markdown table; ends with 1 if anything went wrong.
"""

from __future__ import annotations

import argparse
import html
import re
import shutil
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from common import header, row
from review_kills import Browser, Server, quickly
from synthetic import synthetic_pair

from mixtea import MixTEA, Task
from mixtea.graph.graph import Graph
from mixtea.review.decisions import DecisionStore
from mixtea.review.model import Model

N = 120
ENTITY = re.compile(r'<div class="entity (source|target)">\s*<h2><span class="side">\w+</span> <bdi>(.*?)</bdi>', re.S)
ACTIONS = ("accept", "reject", "unsure", "accept")


def kept(task: Task, source: np.ndarray, target: np.ndarray) -> Task:
    """The task with these entities alone, by number and in this order."""
    new = []
    for graph, numbers in ((task.source, source), (task.target, target)):
        place = np.full(graph.n_entities, -1)
        place[numbers] = np.arange(len(numbers))
        triples = np.stack([place[graph.triples[:, 0]], graph.triples[:, 1], place[graph.triples[:, 2]]], axis=1)
        new.append((Graph(graph.ids[numbers], graph.relations, triples[(triples >= 0).all(axis=1)]), place))
    train, valid, test = (
        np.stack([new[side][1][getattr(task, name)[:, side]] for side in (0, 1)], axis=1)
        for name in ("train", "valid", "test")
    )
    there = [pairs[(pairs >= 0).all(axis=1)] for pairs in (train, valid, test)]
    return Task.of_two(task.name, new[0][0], new[1][0], there[0], there[1], there[2])


def replaced_tasks(whole: Task, rng: np.random.Generator) -> dict[str, Task]:
    """The graphs as they were, and what they may be replaced by."""
    sides = [np.arange(N) for _ in range(2)]
    base = kept(whole, *(side[: N - 30] for side in sides))
    renamed = replace(base.source, ids=np.array([f"new-{id}" for id in base.source.ids], dtype=object))
    return {
        "as it was": base,
        "shrunk": kept(base, *(np.sort(rng.permutation(N - 30)[:60]) for _ in sides)),
        "grown": whole,
        "reordered": kept(base, *(rng.permutation(N - 30) for _ in sides)),
        "renamed": base.replace(source=renamed),
        "the same": base,
    }


def trained_runs(folder: Path, seed: int) -> dict[str, Path]:
    quickly()
    rng = np.random.default_rng(seed)
    tasks = replaced_tasks(synthetic_pair(N, 5 * N, n_relations=6, train=0.2, valid=0.1), rng)
    found = {}
    for number, (name, task) in enumerate(tasks.items()):
        found[name] = folder / name.replace(" ", "_")
        aligner = MixTEA("paper", entity_dim=8, relation_dim=4, max_epochs=1, device="cpu", seed=number + 1)
        aligner.fit(task, progress=False).save(found[name])
    return found


@dataclass
class Review:
    """A run folder under review, and what was answered with "Saved": (key, source, target) as the page showed them."""

    run: Path
    rng: np.random.Generator
    saved: list[tuple[str, str, str]]
    refused: int = 0
    wrong: int = 0

    def decide(self, browser: Browser, n: int, n_rows: int) -> None:
        for number in range(n):
            page, form = browser.card(int(self.rng.integers(n_rows)))
            shown = {side: re.sub(r"<[^>]*>", "", html.unescape(text)) for side, text in ENTITY.findall(page)}
            try:
                said = browser.ask("/decide", form | {"action": ACTIONS[number % len(ACTIONS)]})
            except ValueError as error:  # another status than 200
                self.refused += 1
                self.wrong += " 409 Not saved" not in str(error)
                continue
            self.wrong += "Saved." not in said
            self.saved.append((form["key"], shown["source"], shown["target"]))

    def learn(self, browser: Browser) -> None:
        browser.ask("/train", {})
        while "Learning from" in browser.ask("/status"):
            time.sleep(0.2)
        self.wrong += "mappings changed" not in browser.ask("/status")

    def check(self) -> None:
        with closing(DecisionStore(self.run.with_name("run.decisions.sqlite"))) as store:
            found = [(one.key, one.source, one.target) for one in store.rows()]
        self.wrong += sum(a != b for a, b in zip(found, self.saved, strict=False)) + abs(len(found) - len(self.saved))


def replace_folder(run: Path, other: Path) -> None:
    """Put another run in place of one, as `fit --overwrite` does."""
    shutil.copytree(other, run.with_name("new"))
    run.rename(run.with_name("old"))
    run.with_name("new").rename(run)
    shutil.rmtree(run.with_name("old"))


def one_case(
    folder: Path, runs: dict[str, Path], other: str, n: int, rng: np.random.Generator, *, serving: bool, learned: bool
) -> Review:
    review = Review(Path(shutil.copytree(runs["as it was"], folder / "run")), rng, [])
    file, n_rows = review.run.with_name("run.decisions.sqlite"), len(Model(review.run).sources)
    server = Server(review.run, file)
    try:
        browser = Browser(server.address)
        review.decide(browser, n, n_rows)
        if learned:
            review.learn(browser)
        if serving:
            replace_folder(review.run, runs[other])
            review.decide(browser, n, n_rows)
            review.wrong += review.refused != (0 if other == "the same" else n)
    finally:
        server.kill()
    if not serving:
        replace_folder(review.run, runs[other])
    server = Server(review.run, file)
    try:
        browser, n_rows = Browser(server.address), len(Model(review.run).sources)
        review.decide(browser, n, n_rows)
        for number in range(n_rows):
            browser.ask(f"/card/{number}")
        review.wrong += "Traceback" in browser.ask("/team") + browser.ask("/log")
    finally:
        server.kill()
    review.check()
    return review


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng, total, wrong = np.random.default_rng(args.seed), 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        runs = trained_runs(Path(temporary), args.seed)
        header("replaced by", "when", "learned", "saved", "refused", "wrong")
        for other in [name for name in runs if name != "as it was"]:
            for serving in (False, True):
                for learned in (False, True):
                    folder = Path(tempfile.mkdtemp(dir=temporary))
                    found = one_case(folder, runs, other, args.decisions, rng, serving=serving, learned=learned)
                    when = "while serving" if serving else "before the start"
                    row([other, when, "yes" if learned else "no", len(found.saved), found.refused, found.wrong])
                    total, wrong = total + len(found.saved), wrong + found.wrong
    row(["all", "", "", total, "", wrong])
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
