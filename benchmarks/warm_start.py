"""Graphs that grow: a tenth of a task's entities and triples is withheld, then added. A warm start against a full run.

    python benchmarks/warm_start.py DATA/D_W_15K_V1 --fold 1 [--share 0.1]

Three trainings: on the smaller graphs; on the whole ones from scratch; on the whole ones from what the first one found
and learned, in as many epochs as `mixtea fit --warm-start` takes. With `--triples-alone` no entity is withheld.
Hit@1 of the test links by plain cosine and by the preset's decoder, of all links and of those whose source or target is
new. Training links stay in the smaller graphs as far as their entities do.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from common import header, row

from mixtea import MixTEA, Task, load_task
from mixtea.experiments.reproduce.plan import structural_voters
from mixtea.graph.graph import Graph


def smaller(task: Task, share: float, seed: int, of_entities: float) -> Task:
    """The task without a random share of the entities of each side, and without that `share` of the triples left."""
    random = np.random.default_rng(seed)
    graphs, places = [], []
    for graph in (task.source, task.target):
        gone = random.random(graph.n_entities) < of_entities
        kept = graph.triples[~gone[graph.triples[:, [0, 2]]].any(axis=1)]
        kept = kept[random.random(len(kept)) >= share]
        place = np.where(gone, -1, np.cumsum(~gone) - 1)
        triples = np.stack([place[kept[:, 0]], kept[:, 1], place[kept[:, 2]]], axis=1)
        graphs.append(Graph(graph.ids[~gone], graph.relations, triples))
        places.append(place)

    def there(links: np.ndarray) -> np.ndarray:
        moved = np.stack([places[side][links[:, side]] for side in (0, 1)], axis=1)
        return moved[(moved >= 0).all(axis=1)]

    return task.replace(
        source=graphs[0],
        target=graphs[1],
        train=there(task.train),
        valid=there(task.valid),
        test=there(task.test),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", type=Path)
    parser.add_argument("--fold", type=int)
    parser.add_argument("--preset", default="best")
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument(
        "--epochs", type=int, nargs="*", default=[], help="of the warm run; else as `mixtea fit --warm-start` has it"
    )
    parser.add_argument("--triples-alone", action="store_true", help="all entities are there from the beginning")
    args = parser.parse_args()
    task = load_task(args.task, fold=args.fold)
    voters = structural_voters(args.preset)
    before = smaller(task, args.share, 1, 0.0 if args.triples_alone else args.share)
    old = MixTEA(preset=args.preset, voters=voters).fit(before)
    full = MixTEA(preset=args.preset, voters=voters).fit(task)
    header(task.name, "epochs", "s", "student Hit@1", "decoded Hit@1", "student, new entities")
    new = (before.source.find(task.source.ids[task.test[:, 0]]) < 0) | (
        before.target.find(task.target.ids[task.test[:, 1]]) < 0
    )

    def show(label: str, aligner: MixTEA, with_new: bool = True) -> None:
        plain = dict(decoder="nearest", voters="forward,backward")
        cells = [aligner.score(**plain)["hits@1"], aligner.score()["hits@1"]]
        cells += [aligner.score(task.test[new], **plain)["hits@1"]] if with_new and new.any() else []
        row([label, aligner.n_epochs_, f"{aligner.seconds_:.1f}", *(f"{cell:.3f}" for cell in cells)])

    show("the smaller graphs", old, with_new=False)
    show("all, from scratch", full)
    fewer = full.config.votes_every if full.config.stop_when_settled else full.n_epochs_ // 3
    for epochs in args.epochs or [fewer]:
        short = MixTEA(
            preset=args.preset, voters=voters, max_epochs=epochs, ramp_up_epochs=0
        )  # as `mixtea fit --warm-start` has it
        show("all, warm", short.fit(task, warm_start=old))
        show("all, from scratch, as short", MixTEA(preset=args.preset, voters=voters, max_epochs=epochs).fit(task))


if __name__ == "__main__":
    main()
