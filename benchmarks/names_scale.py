"""The names voter alone against the number of names: seconds, peak memory, Hit@1, and the dense twin beside it.

    python benchmarks/names_scale.py DATA/EN_FR_15K_V1 [--sizes 10000 100000 300000 1000000] [--dense 10000 30000]

The names of a set, recombined word by word into n different ones, are the sources; the targets are called the same with
edits: typos, dropped, doubled or swapped words, accents. A hundredth of the links are known. Measured are the index of
names, who is alike, and the log-odds of all these pairs, each size in a process of its own, on the CPU. Memory is what
the resident size grows from before the voter is made to its peak. The dense twin multiplies all names with all, in
blocks, and takes the best of each; its time is compared in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import header, row
from memory import Peak
from scipy.sparse import csr_matrix

from mixtea import Task, load_task
from mixtea.compute.scored_pairs import rank_within
from mixtea.compute.similar_rows import SimilarRows, row_products
from mixtea.graph.graph import Graph
from mixtea.graph.labels import Labels
from mixtea.text.names import entity_names
from mixtea.voters import name_index
from mixtea.voters.names import NameOpinions

ACCENTS = str.maketrans("aeioucn", "àéîöüçñ")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
BLOCK = 256  # names that the dense twin multiplies with all others at a time


def recombined(names: list[str], n: int, rng: random.Random) -> list[str]:
    """n different names: those of a set, then the words of several of them in turn."""
    found = dict.fromkeys(names[:n])
    while len(found) < n:
        words = rng.choice(names).split()
        words[rng.randrange(len(words))] = rng.choice(rng.choice(names).split())
        if rng.random() < 0.5:
            words.append(rng.choice(rng.choice(names).split()))
        found[" ".join(words)] = None
    return rng.sample(list(found), n)


def edited(name: str, rng: random.Random) -> str:
    """The same with an edit or two; a name in four stays as it is."""
    for _ in range(rng.choice((0, 1, 1, 2))):
        name = rng.choice((_typo, _typo, _words_moved, _accents))(name, rng)
    return name


def _typo(name: str, rng: random.Random) -> str:
    if len(name) < 3:
        return name
    place, letter = rng.randrange(len(name)), rng.choice(LETTERS)
    return rng.choice((name[:place] + letter, name[:place], name[: place + 1] + letter)) + name[place + 1 :]


def _words_moved(name: str, rng: random.Random) -> str:
    words = name.split()
    if len(words) < 2:
        return f"{name} {name}"
    place = rng.randrange(len(words))
    if rng.random() < 0.5:
        return " ".join(words[:place] + words[place + 1 :])
    return " ".join(words[place:] + words[:place])


def _accents(name: str, rng: random.Random) -> str:
    return name.translate(ACCENTS)


def named_pair(folder: Path, n: int, seed: int = 0) -> Task:
    """Two graphs of n entities that have nothing but names; the targets stand in another order."""
    rng = random.Random(seed)
    names = [name for name in entity_names(load_task(folder).source)[1].texts() if name.split()]
    ours = recombined(names, n, rng)
    order = rng.sample(range(n), n)
    theirs = [""] * n
    for name, place in zip(ours, order, strict=True):
        theirs[place] = edited(name, rng)
    links = np.stack([np.arange(n), np.array(order)], axis=1)
    known = max(n // 100, 1)
    return Task.of_two(f"names-{n}", _named(ours), _named(theirs), links[:known], links[:0], links[known:])


def _named(names: list[str]) -> Graph:
    ids, none = np.array([str(i) for i in range(len(names))], dtype=object), np.empty(0, dtype=object)
    labels = Labels.of_entities(np.arange(len(names)), names).as_set()
    return Graph(ids, none, np.empty((0, 3), dtype=np.int64), labels=labels)


def dense_alike(first: csr_matrix, second: csr_matrix, k: int, **options: Any) -> SimilarRows:
    """As similar_rows of all rows, by the product of all with all."""
    m = second.shape[0]
    ahead, back = _dense_top(first, second, k), _dense_top(second, first, k)
    key = np.unique(np.concatenate([ahead[0] * m + ahead[1], back[1] * m + back[0]]))
    return SimilarRows(key // m, key % m, row_products(first, second, key // m, key % m))


def _dense_top(first: csr_matrix, second: csr_matrix, k: int) -> tuple[np.ndarray, np.ndarray]:
    turned, k = csr_matrix(second.T), min(k, second.shape[0])
    best = [
        np.argpartition((first[begin : begin + BLOCK] @ turned).toarray(), -k, axis=1)[:, -k:]
        for begin in range(0, first.shape[0], BLOCK)
    ]
    return np.repeat(np.arange(first.shape[0]), k), np.concatenate(best).ravel()


def measure(folder: Path, n: int, dense: bool) -> dict[str, Any]:
    """Seconds and MiB of the voter, and the share of the links that it finds first."""
    task = named_pair(folder, n)
    if dense:
        name_index.similar_rows = dense_alike  # type: ignore[attr-defined]
    watch = Peak()
    watch.start()
    started = time.perf_counter()
    opinions = NameOpinions(task)
    source, target = opinions.found.ends
    said = opinions.log_odds(source, target)
    seconds = time.perf_counter() - started
    watch.done.set()
    watch.join()
    return {"s": seconds, "mib": watch.peak_mib - watch.start_mib, "hits@1": hits(task, source, target, said)}


def hits(task: Task, source: np.ndarray, target: np.ndarray, said: np.ndarray) -> float:
    """Of the open links, the share whose target is the likeliest of the open ones."""
    counterpart = np.full(task.source.n_entities, -1)
    counterpart[task.test[:, 0]] = task.test[:, 1]
    is_open = np.isin(target, task.test[:, 1])
    source, target, said = source[is_open], target[is_open], said[is_open]
    return float((rank_within(source, said) == 0)[counterpart[source] == target].sum() / len(task.test))


def in_own_process(folder: Path, n: int, dense: bool) -> dict[str, Any]:
    command = [sys.executable, __file__, str(folder), "--child", str(n), *(["--twin"] if dense else [])]
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 18)}
    found: dict[str, Any] = json.loads(
        subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment).stdout
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 30_000, 100_000, 300_000, 1_000_000])
    parser.add_argument("--dense", nargs="*", type=int, default=[10_000, 30_000], help="sizes with the dense twin")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--twin", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(args.folder, args.child, args.twin)))
        return
    header("names a side", "s", "MiB", "KiB a name", "Hit@1", "dense s", "dense Hit@1", "dense / sparse, s")
    for n in sorted({*args.sizes, *args.dense}):
        found = in_own_process(args.folder, n, False)
        cells = [f"{n:,}", f"{found['s']:.1f}", f"{found['mib']:,.0f}", f"{found['mib'] * 512 / n:.1f}"]
        cells.append(f"{found['hits@1']:.4f}")
        if n in args.dense:
            twin = in_own_process(args.folder, n, True)
            cells += [f"{twin['s']:.1f}", f"{twin['hits@1']:.4f}", f"{twin['s'] / found['s']:.1f}"]
        row([*cells, *["-"] * (8 - len(cells))])


if __name__ == "__main__":
    main()
