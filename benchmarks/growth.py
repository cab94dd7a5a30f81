"""Measure how CPU seconds and peak memory grow where a graph has very many of one thing: n, 2n and 4n.

    python benchmarks/growth.py [--only NAME ...] [--scale 1]

Two small graphs, the same but for the prefix of their ids, have n spacings of a name, n values of one entity, and so
on. They are read from files, answered without an epoch (as `mixtea fit --quick` does), and written as a run with its
report. Each size runs in a process of its own, after two runs of the same case with SMALL of the thing: the first loads
libraries, the second measures what does not depend on n, which is subtracted before sizes are compared. CPU seconds are
those of all threads and child processes; memory is the growth of the resident size to its peak. Prints a Markdown table
and exits with 1 if a case grows faster than n log n.

A case is a function of n and a folder that does not exist yet. It writes its files there and returns the function to
measure. To add one, add a row to CASES.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import growth_review
from common import header, row

from mixtea import Task, load_task
from mixtea.pipeline import train

SMALL = 8  # n of the runs that load libraries and measure what does not depend on n
ENTITIES = 40  # per graph, where n is not the number of entities
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
WORD = "electroencephalographically"
QUICK: dict[str, Any] = {
    "max_epochs": 0, "entity_dim": 16, "relation_dim": 8, "propagation_rounds": 1, "propagation_label_dim": 64,
    "propagation_relation_dim": 16, "device": "cpu", "seed": 1,
}  # fmt: skip
TOLERANCE = 1.4  # factor on the growth that is allowed: measurements on a busy machine vary
MIN_S, MIN_MIB = 1.0, 32.0  # smaller costs are noise and count as these

Work = Callable[[], object]


class Case(NamedTuple):
    """How to prepare n of the thing in a folder that does not exist yet, and the smallest n."""

    prepare: Callable[[int, Path], Work]
    n: int


class Cost(NamedTuple):
    s: float
    mib: float


def spacings_of_a_name(n: int, folder: Path) -> Work:
    """Give n spacings of one word as labels to all entities in turn."""
    texts = (_spaced(WORD, i * 2654435761 % 2 ** (len(WORD) - 1)) for i in range(n))
    return _fit(folder, _ring(), [(i % ENTITIES, LABEL, text) for i, text in enumerate(texts)])


def _spaced(word: str, number: int) -> str:
    """Put a space behind each letter of a word whose bit is set in the number."""
    return "".join(letter + " " * (number >> place & 1) for place, letter in enumerate(word))


def values_of_an_entity(n: int, folder: Path) -> Work:
    """Give one entity n different values of one predicate; each entity has a code too."""
    tags = [(0, "tag", f"value {i * 7919 % 1000003} of {i % 97}") for i in range(n)]
    return _fit(folder, _ring(), [*tags, *((i, "code", f"c{i * i}") for i in range(ENTITIES))])


def parallel_relations(n: int, folder: Path) -> Work:
    """Join two entities by n relations."""
    return _fit(folder, [*_ring(), *((0, f"relation{i}", 1) for i in range(n))])


def relations_of_an_entity(n: int, folder: Path) -> Work:
    """Join one entity with n others, with each by a relation of its own."""
    others = max(n, ENTITIES)
    return _fit(folder, [*_ring(others), *((0, f"relation{i}", i) for i in range(n))])


def equal_names(n: int, folder: Path) -> Work:
    """Give n entities of a table the same name, and a few more a name of their own."""
    folder.mkdir()
    links = [(f"s{n + i}", f"t{n + i}") for i in range(12)]
    names = ["the same name"] * n + [f"{WORD[i % 20 :]} {i}" for i in range(ENTITIES)]
    for side in ("source", "target"):
        rows = (f"{side[0]}{i},{name}\n" for i, name in enumerate(names))
        (folder / f"{side}.csv").write_text("id,name\n" + "".join(rows))
    _write_rows(folder / "links.tsv", links)
    source, target, given = (folder / name for name in ("source.csv", "target.csv", "links.tsv"))
    return _trained(folder, lambda: load_task(source=source, target=target, links=given))


def labels_of_an_entity(n: int, folder: Path) -> Work:
    """Give one entity n different labels, and the others one each."""
    labels = [(0, LABEL, f"{'abcdefgh'[i % 8]}{i * 7919 % 1000003} {WORD[i % 20 :]} {i}") for i in range(n)]
    return _fit(folder, _ring(), [*labels, *((i, LABEL, f"thing {i}") for i in range(1, ENTITIES))])


def values_on_a_card(n: int, folder: Path) -> Work:
    """Give an entity n values and open its card on the review page."""
    tags = [(growth_review.OPEN, "tag", f"value {i * 7919 % 1000003} of {i % 97}") for i in range(n)]
    _fit(folder, _ring(), tags)()
    return lambda: growth_review.card(folder / "run")


def decisions_about_a_source(n: int, folder: Path) -> Work:
    """Decide n times about one source on the review page."""
    _fit(folder, _ring())()
    return lambda: growth_review.decided_one_by_one(folder / "run", n)


def rows_of_an_import(n: int, folder: Path) -> Work:
    """Import n decisions on the review page."""
    _fit(folder, _ring())()
    file = growth_review.import_file(folder / "run", n)
    return lambda: growth_review.imported(folder / "run", file)


CASES = {
    "spacings of a name": Case(spacings_of_a_name, 3_000),
    "values of an entity (fit)": Case(values_of_an_entity, 20_000),
    "parallel relations": Case(parallel_relations, 4_000),
    "relations of an entity": Case(relations_of_an_entity, 2_000),
    "equal names": Case(equal_names, 25_000),
    "labels of an entity": Case(labels_of_an_entity, 4_000),
    "values of an entity (card)": Case(values_on_a_card, 5_000),
    "decisions about one source": Case(decisions_about_a_source, 5_000),
    "rows of an import": Case(rows_of_an_import, 20_000),
}


def _ring(n: int = ENTITIES) -> list[tuple[int, str, int]]:
    """Join each of n entities with the next and with another one."""
    return [(i, "next", (i + 1) % n) for i in range(n)] + [(i, "chord", (i * i + 2) % n) for i in range(n)]


def _fit(
    folder: Path, triples: Iterable[tuple[int, str, int]], attributes: Iterable[tuple[int, str, str]] = ()
) -> Work:
    """Write a benchmark folder with the same triples and attribute triples in both graphs, to be fitted."""
    triples, attributes = list(triples), list(attributes)
    links = [(f"s{i}", f"t{i}") for i in range(ENTITIES)]
    parts = {"train": links[:8], "valid": links[8:12], "test": links[12:]}
    (folder / "721_5fold" / "1").mkdir(parents=True)
    for number, side in enumerate("st", 1):
        _write_rows(folder / f"rel_triples_{number}", [(f"{side}{h}", r, f"{side}{t}") for h, r, t in triples])
        _write_rows(folder / f"attr_triples_{number}", [(f"{side}{e}", p, value) for e, p, value in attributes])
    _write_rows(folder / "ent_links", links)
    for name, rows in parts.items():
        _write_rows(folder / "721_5fold" / "1" / f"{name}_links", rows)
    return _trained(folder, lambda: load_task(folder))


def _write_rows(path: Path, rows: Iterable[Sequence[str]]) -> None:
    path.write_text("".join("\t".join(cells) + "\n" for cells in rows))


def _trained(folder: Path, task: Callable[[], Task]) -> Work:
    return lambda: train(task, folder / "run", preset="best", **QUICK)


def measured(case: Case, n: int) -> dict[str, Cost]:
    """Measure a case with n of the thing and with few."""
    with tempfile.TemporaryDirectory() as folder:
        case.prepare(SMALL, Path(folder) / "first")()
        return {name: _cost(case.prepare(size, Path(folder) / name)) for name, size in (("few", SMALL), ("many", n))}


def _cost(work: Work) -> Cost:
    Path("/proc/self/clear_refs").write_text("5")  # the greatest resident size is counted anew
    mib, s = _peak_mib(), _cpu_seconds()
    work()
    return Cost(_cpu_seconds() - s, _peak_mib() - mib)


def _peak_mib() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def in_own_process(name: str, n: int) -> dict[str, Cost]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": str(1 << 18)}
    command = [sys.executable, __file__, "--child", name, str(n)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        sys.exit(f"{name}, {n:,}: {done.stderr[-2000:]}")
    return {size: Cost(*cost) for size, cost in json.loads(done.stdout.splitlines()[-1]).items()}


def shown(name: str, sizes: Sequence[int]) -> bool:
    """Measure a case and print a row per size; whether it grows at most by n log n from the first to the last."""
    costs: list[Cost] = []
    for n in sizes:
        found = in_own_process(name, n)
        cost, few = found["many"], found["few"]
        costs.append(Cost(max(cost.s - few.s, MIN_S), max(cost.mib - few.mib, MIN_MIB)))
        times = [f"{now / then:.1f}" for before in costs[-2:-1] for then, now in zip(before, costs[-1], strict=True)]
        row([name, f"{n:,}", f"{cost.s:.1f}", f"{cost.mib:,.0f}", *(times or ("-", "-"))])
    allowed = TOLERANCE * sizes[-1] * math.log(sizes[-1]) / (sizes[0] * math.log(sizes[0]))
    return all(last <= allowed * first for first, last in zip(costs[0], costs[-1], strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), metavar="NAME")
    parser.add_argument("--scale", type=float, default=1.0, help="times the n of each case")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measured(CASES[args.child[0]], int(args.child[1]))))
        return
    header("very many", "n", "CPU s", "MiB", "times the CPU s", "times the MiB")
    sizes = {name: [int(args.scale * CASES[name].n * times) for times in (1, 2, 4)] for name in args.only}
    faster = [name for name in args.only if not shown(name, sizes[name])]
    sys.exit(f"faster than n log n: {', '.join(faster)}" if faster else 0)


if __name__ == "__main__":
    main()
