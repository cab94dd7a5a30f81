"""Can probabilities be trusted, and does leaving sources out help, when links are random, chosen, few, or by names?

    python benchmarks/doubt.py DATA --out results.jsonl [--sets ...] [--jobs 6] [--set FIELD=VALUE ...]
    python benchmarks/doubt.py --table results.jsonl [--picture docs/doubt.png]

DATA holds the sets, unpacked. DBP15K_ZH_EN both ways and GA16K from its larger side are aligned from structure alone;
EN_FR, EN_DE and D_W lose 5,000 targets that have no training link, with their triples; OAEI_PERSONS and the bundled
example are as they are. Every draw takes two thirds of the validation links; a set is trained once for the draws with
all its training links, which differ only in the links that judge. Few links are drawn from all that are given, and
each draw is a training.

random, best, worst  validation links at random; the best connected third of them; the worst connected third
equal names          those whose names are equal
59, 150, 500         links in all, a fifth of which validate (12, 30, 100)
names                no links at all

A row is a draw. Of all sources without a given link: `excess` is the calibration error less that of a perfect
forecaster with the same probabilities; F1 when every source gets its likeliest target (every), when each target is
given once (once), when pairs below a probability of .5 are left out (default), and when those are that lower the
expected F1 (best_f1); `kept` is the part of what is right with each target given once that best_f1 keeps.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from common import header, row

from mixtea import MixTEA, Task, load_example, load_task
from mixtea.calibration.calibrator import calibration_error
from mixtea.config import STRUCTURE_VOTERS, parse_setting
from mixtea.decide.answers import Ranked
from mixtea.decide.choose import DECISIONS, Choice, decision_codes
from mixtea.decide.mapping import MAPPED
from mixtea.decide.predict import Predictor
from mixtea.text.names import linked_by_name
from mixtea.voters import names as name_opinions
from mixtea.voters.name_index import NameIndex

TAKEN = 5000  # targets that are taken away
DRAWS = 5
FEW = {59: 12, 150: 30, 500: 100}  # links in all, and how many of them validate
LEAST = 12  # links that a cell must have


def turned(task: Task) -> Task:
    """The same task from target to source."""
    links = {name: getattr(task, name)[:, ::-1].copy() for name in ("train", "valid", "test")}
    return task.replace(name=f"{task.name}, turned", source=task.target, target=task.source, **links)


def with_fewer_targets(task: Task, seed: int = 0) -> Task:
    """Without TAKEN of the targets that have no training link, and without their triples and links."""
    graph, rng = task.target, np.random.default_rng(seed)
    taken = rng.permutation(np.setdiff1d(np.arange(graph.n_entities), task.train[:, 1]))[:TAKEN]
    return without_targets(task, taken)


def without_targets(task: Task, taken: np.ndarray) -> Task:
    graph = task.target
    kept = np.ones(graph.n_entities, dtype=bool)
    kept[taken] = False
    place = np.cumsum(kept) - 1
    triples = graph.triples[kept[graph.triples[:, 0]] & kept[graph.triples[:, 2]]].copy()
    triples[:, [0, 2]] = place[triples[:, [0, 2]]]
    labels = graph.labels.take(kept[graph.labels.entity]).moved(np.where(kept, place, 0)).as_set()
    target = replace(graph, ids=graph.ids[kept], triples=triples, labels=labels)

    def links(pairs: np.ndarray) -> np.ndarray:
        pairs = pairs[kept[pairs[:, 1]]]
        return np.stack([pairs[:, 0], place[pairs[:, 1]]], axis=1)

    return task.replace(name=f"{task.name}, {TAKEN:,} targets less", target=target, train=links(task.train),
        valid=links(task.valid), test=links(task.test),
    )  # fmt: skip


def persons(data: Path) -> Task:
    task = load_task(source=data / "OAEI_PERSONS/source.nt", target=data / "OAEI_PERSONS/target.nt", links_from="names")
    lines = (data / "OAEI_PERSONS/links.tsv").read_text(encoding="utf-8").splitlines()
    ids = np.array([line.split("\t") for line in lines], dtype=object)
    links = np.stack([task.source.find(ids[:, 0]), task.target.find(ids[:, 1])], axis=1)
    links = np.random.default_rng(0).permutation(links)
    return task.replace(train=links[:200], valid=links[200:300], test=links[300:], links_from="given")


SETS: dict[str, tuple[Callable[[Path], Task], bool]] = {  # and whether names vote
    "ZH-EN": (lambda data: load_task(data / "DBP15K_ZH_EN"), False),
    "EN-ZH": (lambda data: turned(load_task(data / "DBP15K_ZH_EN")), False),
    "GA16K": (lambda data: turned(load_task(data / "GA16K")), False),
    "EN-FR less": (lambda data: with_fewer_targets(load_task(data / "EN_FR_15K_V1", fold=1)), True),
    "EN-DE less": (lambda data: with_fewer_targets(load_task(data / "EN_DE_15K_V1", fold=1)), True),
    "D-W less": (lambda data: with_fewer_targets(load_task(data / "D_W_15K_V1", fold=1)), True),
    "persons": (persons, True),
    "example": (lambda data: load_example(), True),
}


def chosen(task: Task, draw: int) -> Iterator[tuple[str, np.ndarray]]:
    """(how, validation links) of a draw."""
    rng = np.random.default_rng(draw)
    drawn = task.valid[rng.permutation(len(task.valid))[: 2 * len(task.valid) // 3]]
    triples = task.source.degrees[drawn[:, 0]] + task.target.degrees[drawn[:, 1]]
    order = np.argsort(-triples, kind="stable")
    third = len(drawn) // 3
    yield from (("random", drawn), ("best", drawn[order[:third]]), ("worst", drawn[order[-third:]]))
    yield "equal names", drawn[linked_by_name(task.source, task.target, drawn)]


def few(task: Task, n: int, draw: int) -> Task:
    """n of the given links, a fifth of which validate; the others are tested."""
    given = np.concatenate([task.train, task.valid])
    given = given[np.random.default_rng(1000 * n + draw).permutation(len(given))]
    n_valid = FEW[n]
    return task.replace(train=given[n_valid:n], valid=given[:n_valid], test=np.concatenate([task.test, given[n:]]))


def measured(aligner: MixTEA, task: Task) -> dict[str, float]:
    """The numbers of a row, with the links of `task` as the ones that are given."""
    learned = (aligner.vectors_, task, aligner.config, aligner._last)
    best, shared = Predictor(*learned), Predictor(*learned, once=False)
    (once, is_assigned), (every, has_any) = best._decided(), shared._decided()
    asked = ~np.isin(best.source_index, task.valid[:, 0])
    truth = np.full(task.source.n_entities, -1)
    truth[task.test[:, 0]] = task.test[:, 1]
    has, probability = truth[best.source_index] >= 0, once.probability(2)[:, 0]

    def right(found: Ranked) -> np.ndarray:
        return asked & (found.target[:, 0] == truth[best.source_index])

    def f1(found: Ranked, mapped: np.ndarray) -> float:
        return float(2 * (right(found) & mapped).sum() / max((mapped & asked).sum() + (has & asked).sum(), 1))

    speaks = ~once.no_evidence[:, 0]
    default, kept = (
        decision_codes(task, best.source_index, once, is_assigned, choice) == DECISIONS.index(MAPPED)
        for choice in (Choice(), Choice(best_f1=True))
    )
    return {
        "sources": int(asked.sum()), "with counterpart": float(has[asked].mean()),
        "believed": float(once.counterpart[asked].mean()),
        "hits@1": float((right(once) & is_assigned)[asked & has].mean()),
        "error": calibration_error(probability[asked], right(once)[asked]),
        "excess": excess(probability[asked], right(once)[asked]),
        "every": f1(every, has_any & ~every.no_evidence[:, 0]), "once": f1(once, is_assigned & speaks),
        "default": f1(once, default), "best_f1": f1(once, kept),
        "kept": float((right(once) & kept).sum() / max((right(once) & is_assigned).sum(), 1)),
        **bins(probability[asked], right(once)[asked]),
    }  # fmt: skip


def excess(probability: np.ndarray, right: np.ndarray, n: int = 20) -> float:
    """The calibration error less that of a perfect forecaster with the same probabilities."""
    rng = np.random.default_rng(0)
    perfect = [calibration_error(probability, rng.random(len(probability)) < probability) for _ in range(n)]
    return calibration_error(probability, right) - float(np.mean(perfect))


def bins(probability: np.ndarray, right: np.ndarray) -> dict[str, float]:
    """Of ten ranges of probability how many there are, promised and found, for the picture."""
    place = np.minimum((probability * 10).astype(int), 9)
    counts = {"n": np.ones_like(probability), "promised": probability, "found": right}
    return {f"{name}{b}": float(values[place == b].sum()) for name, values in counts.items() for b in range(10)}


def work(data: Path, name: str, part: str, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a set: all draws with its training links, of so many links, or without links."""
    torch.set_num_threads(2)
    setattr(name_opinions, "NameIndex", lru_cache(1)(NameIndex))  # noqa: B010  the same names in every draw
    make, named = SETS[name]
    task = make(data)
    chosen_settings = settings | ({} if named else {"voters": STRUCTURE_VOTERS})
    rows = []

    def note(how: str, draw: int, aligner: MixTEA, used: Task) -> None:
        rows.append({"set": name, "links": how, "draw": draw, "valid": len(used.valid)} | measured(aligner, used))

    if part == "all":
        aligner = MixTEA("best", **chosen_settings).fit(task)
        for draw in range(DRAWS):
            for how, valid in chosen(task, draw):
                if len(valid) >= LEAST:
                    others = task.valid[~np.isin(task.valid[:, 0], valid[:, 0])]
                    note(how, draw, aligner, task.replace(valid=valid, test=np.concatenate([task.test, others])))
    elif part == "names":
        none, links = task.train[:0], np.concatenate([task.train, task.valid, task.test])
        used = task.replace(train=none, valid=none, test=links, links_from="names")
        if named and name != "D-W less":
            note("names", 0, MixTEA("best", **chosen_settings).fit(used), used)
    elif len(task.train) + len(task.valid) >= int(part):
        for draw in range(DRAWS):
            used = few(task, int(part), draw)
            note(part, draw, MixTEA("best", **chosen_settings).fit(used), used)
    return rows


def table(path: Path) -> None:
    """A row a set and kind of links: means over the draws, and the largest of what should be small."""
    frame = pd.DataFrame([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    columns = (
        "valid",
        "with counterpart",
        "believed",
        "hits@1",
        "error",
        "excess",
        "every",
        "once",
        "default",
        "best_f1",
        "kept",
    )
    header("set", "links", *columns)
    for (name, how), rows in frame.groupby(["set", "links"], sort=False):
        means = rows[list(columns)].mean()
        row([name, how, f"{means['valid']:.0f}", *(f"{means[c]:.3f}" for c in columns[1:])])


def picture(path: Path, out: Path) -> None:
    """Promised against found, for random and for chosen links."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    frame = pd.DataFrame([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    kinds = {"random": "random validation links", "best": "of the best connected third", "59": "59 links in all"}
    figure, panels = plt.subplots(1, len(kinds), figsize=(10, 4), sharey=True)
    colours = {name: f"C{place}" for place, name in enumerate(SETS)}
    for panel, (how, title) in zip(panels, kinds.items(), strict=True):
        panel.plot([0, 1], [0, 1], color="0.6", linewidth=1)
        for name, rows in frame[frame["links"] == how].groupby("set", sort=False):
            n, promised, found = (np.array([rows[f"{what}{b}"].sum() for b in range(10)]) for what in
                                  ("n", "promised", "found"))  # fmt: skip
            many = n >= 50
            line = (promised[many] / n[many], found[many] / n[many])
            panel.plot(*line, marker="o", markersize=3, label=name, color=colours[name])
        panel.set(title=title, xlabel="probability that was promised", xlim=(0, 1), ylim=(0, 1))
    panels[0].set_ylabel("share that was right")
    shown = {label: line for panel in panels for line, label in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.legend(shown.values(), shown.keys(), fontsize=8, ncols=len(shown), loc="lower center", frameon=False)
    figure.savefig(out, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, default=Path("doubt.jsonl"))
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--parts", nargs="*", default=["all", *map(str, FEW), "names"])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--set", nargs="*", default=[], metavar="FIELD=VALUE", dest="settings")
    parser.add_argument("--table", type=Path)
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    if args.data is not None:
        settings = dict(parse_setting(text) for text in args.settings)
        jobs = [(args.data, name, part, settings) for part in reversed(args.parts) for name in args.sets]
        context = multiprocessing.get_context("spawn")
        with (
            ProcessPoolExecutor(args.jobs, mp_context=context, max_tasks_per_child=1) as pool,
            args.out.open("a") as out,
        ):
            for done in as_completed([pool.submit(work, *job) for job in jobs]):
                out.writelines(json.dumps(found) + "\n" for found in done.result())
                out.flush()
    if args.table or args.data is not None:
        table(args.table or args.out)
    if args.picture:
        picture(args.table or args.out, args.picture)


if __name__ == "__main__":
    main()
