"""Real files without links: what all voters find together, each alone, and who only joins equal labels.

    python benchmarks/real_files.py DATA

DATA holds OAEI_PERSONS, MI_MATONTO and CMT_CONFERENCE, unpacked. Every row is a run in a process of its own. F1 is that
of the whole mapping against the reference, in which a source may have several targets; of OAEI_PERSONS that of the
persons. `equal labels` joins all entities with an equal label, or an equal name in their ids where they have none.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from common import header, row

from mixtea import MixTEA, Task, load_task
from mixtea.config import STRUCTURE
from mixtea.data.names import entity_names, is_no_thing, plain

SETS = ("OAEI_PERSONS", "MI_MATONTO", "CMT_CONFERENCE")
_CELL = re.compile(r"<entity1 rdf:resource=[\"']([^\"']+)[\"'].*?<entity2 rdf:resource=[\"']([^\"']+)[\"']", re.DOTALL)
Links = set[tuple[str, str]]


def reference(folder: Path) -> Links:
    """The right pairs of ids, of OAEI_PERSONS those of persons."""
    if (folder / "links.tsv").exists():
        lines = (folder / "links.tsv").read_text(encoding="utf-8").splitlines()
        return {(line.split("\t")[0], line.split("\t")[1]) for line in lines if "Address" not in line}
    return set(_CELL.findall((folder / "reference.rdf").read_text(encoding="utf-8")))


def equal_labels(task: Task) -> Links:
    owners: list[dict[str, list[str]]] = []
    for graph in (task.source, task.target):
        entity, column = entity_names(graph)
        texts = [plain(text) for text in column.texts()]
        found: dict[str, list[str]] = {}
        for owner, code in zip(graph.ids[entity], column.codes.tolist(), strict=True):
            if not is_no_thing(str(owner)):
                found.setdefault(texts[code], []).append(str(owner))
        owners.append(found)
    return {(s, t) for text, ours in owners[0].items() for s in ours for t in owners[1].get(text, ())}


def f1(found: Links, truth: Links) -> str:
    return f"{2 * len(found & truth) / max(len(found) + len(truth), 1):.3f}"


def measure(data: Path, name: str, n_links: int) -> list[str]:
    folder = data / name
    source, target = (next(folder.glob(f"{side}.*")) for side in ("source", "target"))
    task = load_task(source=source, target=target, links_from="names")
    truth = reference(folder)
    if n_links:
        given = np.random.default_rng(1).permutation(np.array(sorted(truth)))[:n_links]
        ends = np.stack([task.source.find(given[:, 0]), task.target.find(given[:, 1])], axis=1)
        fewer = n_links // 5
        task = Task(task.name, task.source, task.target, train=ends[fewer:], valid=ends[:fewer], test=ends[:0])
        truth -= {(str(source), str(target)) for source, target in given}
    persons = name == SETS[0]

    def judged(found: Links) -> str:
        kept = {pair for pair in found if not persons or "Address" not in pair[0]}
        return f1(kept, truth)

    began = time.perf_counter()
    aligner = MixTEA("best").fit(task)

    def mapped(*voters: str) -> str:
        pairs = aligner.map(voters=voters or None).pairs()
        return judged(set(zip(pairs["source"], pairs["target"], strict=True)))

    everybody = mapped()
    seconds = time.perf_counter() - began
    alone = [mapped(voter) for voter in ("names", "attributes")] + [mapped(*STRUCTURE)]
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    shown = judged(equal_labels(task))
    return [name, str(n_links), everybody, *alone, shown, f"{seconds:.0f}", str(mib)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="*", default=SETS)
    args = parser.parse_args()
    header("set", "links", "F1", "names alone", "attributes alone", "structure alone", "equal labels", "s", "MiB")
    jobs = [(name, n) for name in args.only for n in ((0, 50) if name == SETS[0] else (0,))]
    for name, n_links in jobs:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            row(pool.submit(measure, args.data, name, n_links).result())


if __name__ == "__main__":
    main()
