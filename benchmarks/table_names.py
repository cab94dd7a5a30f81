"""Record tables without links: what is found with their titles as values, and as the names that they are taken for.

    python benchmarks/table_names.py DATA

DATA holds ABT_BUY, AMAZON_GOOGLE and DBLP_ACM, unpacked. F1 is that of the whole mapping against the reference. The
column of ABT_BUY is called `name`, a label wherever it stands, so it has one row.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from common import header, row

from mixtea import MixTEA, Task, load_task
from mixtea.callbacks import History
from mixtea.graph.labels import Labels

SETS = ("ABT_BUY", "AMAZON_GOOGLE", "DBLP_ACM")


def as_values(task: Task) -> Task:
    """Return the task with what was taken as names as values again."""
    source, target = (replace(graph, labels=Labels.empty(), name_predicates=()) for graph in (task.source, task.target))
    return task.replace(source=source, target=target)


def measured(task: Task, truth: set[tuple[str, str]]) -> list[str]:
    history = History()
    aligner = MixTEA("best", seed=1).fit(task, callbacks=history)
    mapped, scores = [], []
    for every in (False, True):
        pairs = aligner.map(every=every).pairs()
        found = set(zip(pairs["source"], pairs["target"], strict=True))
        mapped.append(len(found))
        scores.append(2 * len(found & truth) / (len(found) + len(truth)))
    return [f"{history.rounds[-1][1]:,}", f"{mapped[0]:,}", f"{scores[0]:.3f}", f"{mapped[1]:,}", f"{scores[1]:.3f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    header("set", "titles as", "sure pairs", "mapped", "F1", "mapped with every=True", "F1")
    for name in SETS:
        source, target, reference = (
            data / name / file for file in ("source_std.csv", "target_std.csv", "reference.tsv")
        )
        lines = reference.read_text(encoding="utf-8").splitlines()
        truth = {(line.split("\t")[0], line.split("\t")[1]) for line in lines}
        task = load_task(source=source, target=target, links_from="names")
        if task.source.name_predicates:
            row([name, "values", *measured(as_values(task), truth)])
        row([name, "names", *measured(task, truth)])


if __name__ == "__main__":
    main()
