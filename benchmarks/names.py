"""Names, attributes and structure together and alone: accuracy, doubt, robustness, seconds and memory.

    python benchmarks/names.py DATA --folds 1 2 3 4 5 --only main nolinks shuffled ...

DATA holds the sets of the tables, unpacked. Parts:

main      EN_FR, EN_DE, D_Y (every fold asked for) and DBP15K_ZH_EN with translations and without: all voters decoded by
          Sinkhorn, structure alone and names alone of the same run, the links whose names are equal and those whose
          names differ, the calibration error
structure the same sets without voters but those of structure
nolinks   the same sets without any link: Hit@1 of the test links, and F1 of the whole mapping against all links
shuffled  the names of a part of the targets dealt out among themselves: 10, 50 and 100 %
decoys    a tenth of the targets copied, with the same name and other neighbours
onesided  D_W, whose targets have no names, with names and without
few       1 % of the links
parts     one thing switched off at a time, on EN_FR, EN_DE and DBP15K_ZH_EN, WN30_WN31 if among the tasks
wordnet   WN30_WN31 with its literals
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import header, row

from mixtea import MixTEA, Task, load_task
from mixtea.compute import ngrams
from mixtea.config import STRUCTURE_VOTERS, Config, parse_setting
from mixtea.decide.predict import Predictor
from mixtea.graph.graph import Graph
from mixtea.graph.labels import Labels
from mixtea.text.names import entity_names
from mixtea.voters import name_index
from mixtea.voters import names as name_opinions

NAMED = ("EN_FR_15K_V1", "EN_DE_15K_V1", "D_Y_15K_V1")
ZH, TRANSLATED = "DBP15K_ZH_EN", "DBP15K_ZH_EN, translated"
COLUMNS = (
    "part", "task", "fold", "Hit@1", "MRR", "structure", "names", "attributes", "equal names", "names differ",
    "calibration error", "F1 of all", "precision", "recall", "s", "GPU MiB",
)  # fmt: skip


def load(data: Path, name: str, fold: int, **options: Any) -> Task:
    if name == TRANSLATED:
        return load_task(data / ZH, translations=data / ZH / "trans_en_1", **options)
    return load_task(data / name, fold=None if name == ZH else fold, **options)


def same_names(task: Task, links: np.ndarray) -> np.ndarray:
    """bool [p]: the links whose entities share a name."""
    plain = {side: _plain_names(graph) for side, graph in (("source", task.source), ("target", task.target))}
    return np.array([bool(plain["source"].get(s, set()) & plain["target"].get(t, set())) for s, t in links.tolist()])


def _plain_names(graph: Graph) -> dict[int, set[str]]:
    from mixtea.text.names import normalized_name

    entity, column = entity_names(graph)
    texts = [normalized_name(text) for text in column.texts()]
    found: dict[int, set[str]] = {}
    for owner, code in zip(entity.tolist(), column.codes.tolist(), strict=True):
        found.setdefault(owner, set()).add(texts[code])
    return found


def measure(part: str, task: Task, fold: int, settings: dict[str, Any], links: np.ndarray | None = None) -> None:
    """Train, and print a row; `links` are all there are, where the whole mapping is scored."""
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    aligner = MixTEA("best", **settings).fit(task)
    score = aligner.score(task.test)
    seconds = time.perf_counter() - began
    config, last = aligner.config, aligner._last

    def alone(*voters: str) -> Any:
        silent = last is None or (len(voters) == 1 and np.isnan(last.scores.get(voters[0], np.nan)).all())
        if silent or not set(voters) <= set(config.voters):
            return ""
        return Predictor(aligner.vectors_, task, config.replace(decode_voters=voters), last).scores(task.test)["hits@1"]

    same = same_names(task, task.test)
    hits: list[Any] = ["", ""]
    if set(config.voters) - set(STRUCTURE_VOTERS) and same.any():
        best = Predictor(aligner.vectors_, task, config, last)
        stand = _found(best, task.test)
        hits = [float(stand[same].mean()), float(stand[~same].mean()) if (~same).any() else ""]
    whole = aligner.score_mapping(links, complete=True) if links is not None else {}
    gpu = torch.cuda.max_memory_allocated() >> 20 if torch.cuda.is_available() else 0
    values = [score["hits@1"], score["mrr"], alone(*STRUCTURE_VOTERS), alone("names"), alone("attributes"), *hits]
    values += [score["calibration_error"], *(whole.get(key, "") for key in ("f1", "precision", "recall"))]
    shown = (f"{v:.4f}" if isinstance(v, float) else v for v in values)
    row([part, task.name, fold, *shown, f"{seconds:.1f}", gpu])


def _found(best: Predictor, links: np.ndarray) -> np.ndarray:
    """[p]: whether each link is ranked first among the links' own targets."""
    decoded, n_source = best.decoded, best.task.source.n_entities
    joint = torch.from_numpy(links + np.array([0, n_source])).to(best.vectors.device)
    stand = decoded.entities.place_of[joint]
    inside = (stand >= 0).all(1)
    kept = [torch.unique(stand[inside, side]) for side in (0, 1)]
    pairs, ranking = decoded.rank_among(*kept)
    new = [torch.searchsorted(kept[side], stand[:, side].clamp(min=0)) for side in (0, 1)]
    place, there = pairs.find(*new)
    first = pairs.best_of_rows(ranking)
    return (first[place] & there & inside).cpu().numpy() if len(pairs) else np.zeros(len(links), dtype=bool)


def all_links(data: Path, task: Task) -> np.ndarray:
    """Every link of a benchmark folder, by numbers."""
    lines = (data / task.name / "ent_links").read_text(encoding="utf-8").splitlines()
    pairs = np.array([line.split("\t") for line in lines], dtype=object)
    return np.stack([task.source.find(pairs[:, 0]), task.target.find(pairs[:, 1])], axis=1)


def shuffled(task: Task, share: float, seed: int = 0) -> Task:
    """The names of a part of the targets dealt out among these."""
    graph, rng = task.target, np.random.default_rng(seed)
    chosen = rng.permutation(graph.n_entities)[: round(share * graph.n_entities)]
    place = np.arange(graph.n_entities)
    place[chosen] = chosen[rng.permutation(len(chosen))]
    return task.replace(target=replace(graph, labels=graph.labels.moved(place).as_set()))


def with_decoys(task: Task, share: float = 0.1, seed: int = 0) -> Task:
    """A part of the targets once more, called the same, with as many triples as they have but to other entities."""
    graph, rng = task.target, np.random.default_rng(seed)
    n = graph.n_entities
    chosen = np.sort(rng.permutation(n)[: round(share * n)])
    copy = np.full(n, -1)
    copy[chosen] = n + np.arange(len(chosen))
    triples = [graph.triples]
    for end, other in ((0, 2), (2, 0)):
        mine = graph.triples[copy[graph.triples[:, end]] >= 0].copy()
        mine[:, end] = copy[mine[:, end]]
        mine[:, other] = rng.integers(n, size=len(mine))
        triples.append(mine)
    ids = np.concatenate([graph.ids, np.array([f"decoy of {id}" for id in graph.ids[chosen]], dtype=object)])
    mine = graph.labels.take(copy[graph.labels.entity] >= 0).moved(np.where(copy >= 0, copy, 0))
    labels = Labels.concat([graph.labels, mine]).as_set()
    target = replace(graph, ids=ids, triples=np.concatenate(triples), labels=labels)
    return task.replace(target=target)


def few(task: Task, n: int) -> Task:
    """The first n of the training links, a third of which validate."""
    return task.replace(train=task.train[: n - n // 3], valid=task.train[n - n // 3 : n])


@contextmanager
def switched_off(module: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


OFF: dict[str, Callable[[], Any]] = {  # what each part adds, beside the rows of main
    "no translator": lambda: switched_off(name_opinions, "MIN_NAME_PAIRS", 10**9),
    "no transliteration": lambda: switched_off(name_index, "transliterated", lambda text: text),
    "no kinds": lambda: switched_off(name_opinions, "DISAMBIGUATION", {}),
    "no words": lambda: switched_off(ngrams, "_words", lambda letters, row: (row[:0], letters[:0])),
    "words alone": lambda: switched_off(name_index, "ngram_counts", partial(ngrams.ngram_counts, lengths=())),
}
SILENT = ("names", "attributes", "propagation", "agreement")  # and without each of these voters


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="*", default=["main", "structure", "nolinks", "shuffled", "decoys", "onesided",
                                                      "few", "parts", "wordnet"])  # fmt: skip
    parser.add_argument("--tasks", nargs="*", default=[*NAMED, TRANSLATED, ZH])
    parser.add_argument("--folds", nargs="*", type=int, default=[1])
    parser.add_argument("--set", nargs="*", default=[], metavar="FIELD=VALUE", dest="settings")
    args = parser.parse_args()
    settings: dict[str, Any] = dict(parse_setting(text) for text in args.settings)
    structure = settings | {"voters": STRUCTURE_VOTERS}
    data = args.data
    print(json.dumps({"settings": args.settings, "torch": torch.__version__}))
    header(*COLUMNS)
    for name in args.tasks:
        for fold in args.folds if name in NAMED else args.folds[:1]:
            if "main" in args.only:
                measure("main", load(data, name, fold), fold, settings)
            if "structure" in args.only and name != TRANSLATED:
                measure("structure", load(data, name, fold), fold, structure)
        fold = args.folds[0]
        if "nolinks" in args.only:
            task = load(data, name, fold, links_from="names")
            measure("no links", task, fold, settings, all_links(data, task))
        if name in NAMED[:2]:
            task = load(data, name, fold)
            for share in (0.1, 0.5, 1.0) if "shuffled" in args.only else ():
                measure(f"{share:.0%} shuffled", shuffled(task, share), fold, settings)
            if "decoys" in args.only:
                measure("decoys", with_decoys(task), fold, settings)
        if "few" in args.only and name in (*NAMED, TRANSLATED):
            measure("150 links", few(load(data, name, fold), 150), fold, settings)
        if "parts" in args.only and name in (*NAMED[:2], ZH):
            for part, off in OFF.items():
                with off():
                    measure(part, load(data, name, fold), fold, settings)
        if "parts" in args.only and name in (*NAMED[:2], ZH, "WN30_WN31"):
            for voter in SILENT:
                others = tuple(other for other in Config.preset("best").voters if other != voter)
                measure(f"no {voter}", load(data, name, fold), fold, settings | {"voters": others})
    if "onesided" in args.only:
        for part, chosen in (("one-sided names", settings), ("structure", structure)):
            measure(part, load(data, "D_W_15K_V1", args.folds[0]), args.folds[0], chosen)
    if "wordnet" in args.only:
        measure("wordnet", load(data, "WN30_WN31", args.folds[0]), args.folds[0], settings)


if __name__ == "__main__":
    main()
