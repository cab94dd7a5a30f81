"""Which relations are the same, found from entities alone: `python benchmarks/relations.py DATA`.

Trains shortly on each set (--sets) of the folder DATA with relations kept apart (shared_relations=false), where the
same id on both sides is the same relation, and prints precision and recall of the pairs called equal. `--run` takes a
run folder instead of training. `--perfect` counts by all links of the set, as if a run had found them. `--list SET`
prints the best pairs of a set.

Recall is among the relations that can be found: ids of both graphs with a statement that both make of the same linked
entities. It is given of the pairs called equal, and of those called anything but inverse. An id that one graph alone
has may well mean the same as another; so precision is given twice, of all pairs called equal and of those whose two ids
are both in both graphs.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import header, row

from mixtea import MixTEA, Task, load_task
from mixtea.config import STRUCTURE_VOTERS
from mixtea.decide.choose import given_links
from mixtea.decide.mapping import Mapping
from mixtea.relations.alignment import Relations, relations_of
from mixtea.runs.reader import StoredRun

SHORT: dict[str, Any] = dict(
    max_epochs=1, ramp_up_epochs=0, propagation_rounds=3, entity_dim=64, propagation_relation_dim=64, device="cpu",
    seed=1, shared_relations=False, voters=STRUCTURE_VOTERS,
)  # fmt: skip


def aligned(folder: Path, fold: int, run: Path | None) -> StoredRun | MixTEA:
    return StoredRun(run) if run is not None else MixTEA(preset="best", **SHORT).fit(load_task(folder, fold))


def by_all_links(task: Task) -> Relations:
    """What a run without any mistake would say."""
    whole = task.replace(train=np.concatenate([task.train, task.valid, task.test]), valid=task.valid[:0])
    return relations_of(Mapping(task.source, task.target, given_links(whole)), 0)


def findable(task: Task) -> set[str]:
    """The ids of relations that both graphs have, with a statement that both make of linked entities."""
    links = np.concatenate([task.train, task.valid, task.test])
    counterpart = np.full(task.source.n_entities, -1)
    counterpart[links[:, 0]] = links[:, 1]
    ours, theirs = (
        {(h, name, t) for h, name, t in zip(heads, graph.relations[graph.triples[:, 1]], tails, strict=True)}
        for graph, heads, tails in (
            (task.source, *counterpart[task.source.triples[:, [0, 2]]].T.tolist()),
            (task.target, *task.target.triples[:, [0, 2]].T.tolist()),
        )
    )
    return {name for _, name, _ in ours & theirs}


def scores(found: Relations, wanted: set[str], threshold: float) -> list[Any]:
    """How many are called equal, how many of them are, the same where both ids are in both graphs, and both recalls."""
    frame = found.above(threshold).frame
    frame = frame[(frame["kind"] == "relation") & ~frame["inverse"]]
    right, equal = frame["source"] == frame["target"], frame["relation"] == "equal"
    both = set(found.source.relations) & set(found.target.relations)
    judged = equal & frame["source"].isin(both) & frame["target"].isin(both)
    recall = [len(set(frame.loc[rows, "source"]) & wanted) / len(wanted) for rows in (right & equal, right)]
    precision = [f"{right[rows].mean():.2f}" for rows in (equal, judged)]
    return [int(equal.sum()), precision[0], int(judged.sum()), precision[1], *(f"{share:.2f}" for share in recall)]


def compare(args: argparse.Namespace) -> None:
    header("set", "F1 of the mapping", "can be found", "score at least", "called equal", "precision",
           "of which both ids in both graphs", "precision there", "recall", "by any word")  # fmt: skip
    for name in args.sets:
        if args.perfect:
            task = load_task(args.data / name, args.fold)
            found, f1 = by_all_links(task), 1.0
        else:
            aligner = aligned(args.data / name, args.fold, args.run)
            task, found = aligner.task_, aligner.answers_.relations(0)
            f1 = aligner.answers_.mapping_scores(task.test)["f1"]
        wanted = findable(task)
        for threshold in args.thresholds:
            row([name, f"{f1:.3f}", len(wanted), threshold, *scores(found, wanted, threshold)])


def show(aligner: StoredRun | MixTEA, top: int) -> None:
    header("source", "", "target", "score", "met", "of source", "of target")
    graphs = (aligner.task_.source, aligner.task_.target)
    best: pd.DataFrame = aligner.answers_.relations().frame.nlargest(top, "score")
    for pair in best.itertuples(index=False):
        names = [graph.shorten(id) for graph, id in zip(graphs, (pair.source, pair.target), strict=True)]
        word = pair.relation + (" of the inverse" if pair.inverse and pair.relation != "inverse" else "")
        counts = (f"{number:.0f}" for number in (pair.count, pair.source_count, pair.target_count))
        row([names[0], word, names[1], f"{pair.score:.2f}", *counts])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of the sets")
    parser.add_argument("--sets", nargs="+", default=["EN_FR_15K_V1", "EN_DE_15K_V1"])
    parser.add_argument("--thresholds", nargs="+", type=float, default=[0.3, 0.5, 0.7])
    parser.add_argument("--fold", type=int, default=1)
    parser.add_argument("--run", type=Path, help="a run folder of the one set, instead of training")
    parser.add_argument("--perfect", action="store_true", help="count by all links of the set")
    parser.add_argument("--list", metavar="SET", help="print the best pairs of this set")
    parser.add_argument("--top", type=int, default=50)
    args = parser.parse_args()
    if args.list:
        show(aligned(args.data / args.list, args.fold, args.run), args.top)
    else:
        compare(args)


if __name__ == "__main__":
    main()
