"""Seconds of a fit with names and values, by part; Hit@1, calibration error, and candidates of names beside them.

    python benchmarks/name_speed.py DATA EN_FR_15K_V1 "DBP15K_ZH_EN, translated" [--device auto] [--set FIELD=VALUE]

DATA holds the sets, unpacked, and what `make_taxonomy` lays out. Each set is loaded and fitted in this process, one
after the other, after a small fit that starts the device; `--structure` fits without names and values for comparison. A
part has the time spent in it without the parts inside it; a GPU is waited for at the end of each. Candidates are those
that names and values bring together after the fit, and the share of the test links among them.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

import torch
from common import header, row, synchronise
from names import load

from mixtea import MixTEA, Task, load_example
from mixtea.compute.device import choose_device
from mixtea.config import STRUCTURE_VOTERS, parse_setting
from mixtea.council.council import Council
from mixtea.training.trainer import Trainer
from mixtea.voters import attribute_values, attributes, name_index, names, similarity, translator
from mixtea.voters.similarity import SimilarityVoter

PARTS: tuple[tuple[Any, str, str], ...] = (  # where it is, what it is called, and the part that it belongs to
    (name_index, "side_names", "names read"),
    (name_index.NameIndex, "__init__", "names read"),
    (name_index.NameIndex, "rows", "n-grams"),
    (name_index.NameIndex, "kinds", "kinds"),
    (name_index.NameIndex, "settled_pairs", "settled"),
    (name_index.NameIndex, "compare_words", "words compared"),
    (name_index, "similar_rows", "names searched"),
    (names, "similar_rows", "translations searched"),
    (translator.LearnedTranslator, "inverse", "translator learned"),
    (translator.LearnedTranslator, "translations", "translations"),
    (translator, "Translator", "translator's n-grams"),
    (name_index.NameIndex, "of_texts", "pairs of entities"),
    (names.NameOpinions, "columns", "columns"),
    (attribute_values, "value_triples", "values read"),
    (attribute_values.TaskValues, "forms", "values read"),
    (attribute_values.TaskValues, "rows", "rows of values"),
    (attributes.AttributeOpinions, "aligned", "predicates aligned"),
    (attributes.AttributeOpinions, "settled_pairs", "settled"),
    (attributes, "similar_rows", "values searched"),
    (similarity, "learn_weights", "weights learned"),
    (similarity, "bounded_log_odds", "log-odds"),
    (similarity.SimilarityOpinions, "log_odds", "pairs looked up"),
    (Council, "_judge", "judging"),
    (Council, "_learn", "structure learned"),
    (Trainer, "epoch", "epochs"),
    (MixTEA, "fit", "rest"),
)


class Clock:
    """Seconds by part, of each without those inside it."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.seconds, self.inside = device, dict[str, float](), list[float]()
        self.council: Council | None = None  # the last one that judged

    def around(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        @wraps(function, updated=())
        def timed(*args: Any, **options: Any) -> Any:
            self.council = args[0] if args and isinstance(args[0], Council) else self.council
            self.inside.append(0.0)
            started = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                synchronise(self.device)
                took = time.perf_counter() - started
                self.seconds[part] = self.seconds.get(part, 0.0) + took - self.inside.pop()
                if self.inside:
                    self.inside[-1] += took

        return timed

    def watch(self) -> None:
        for place, name, part in PARTS:
            found = vars(place)[name]
            if isinstance(found, cached_property):
                found.func = self.around(found.func, part)
            else:
                setattr(place, name, self.around(found, part))


def measure(name: str, task: Task, clock: Clock, settings: dict[str, Any]) -> None:
    clock.seconds.clear()
    used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    if clock.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    started = time.perf_counter()
    aligner = MixTEA("best", **settings).fit(task)
    synchronise(clock.device)
    seconds, parts = time.perf_counter() - started, dict(clock.seconds)
    cpu = resource.getrusage(resource.RUSAGE_SELF).ru_utime - used
    score = aligner.score(task.test)
    gpu = torch.cuda.max_memory_allocated() / 2**30 if clock.device.type == "cuda" else 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    header("task", "s", "CPU s", "Hit@1", "MRR", "calibration error", "GiB", "GPU GiB")
    scores = (f"{score[key]:.4f}" for key in ("hits@1", "mrr", "calibration_error"))
    row([name, f"{seconds:.1f}", f"{cpu:.1f}", *scores, f"{peak:.1f}", f"{gpu:.1f}"])
    for voter in clock.council.voters if clock.council is not None else ():
        if isinstance(voter, SimilarityVoter) and voter.is_applicable():
            found = voter.opinions().found
            share = found.find(task.test[:, 0], task.test[:, 1])[1].mean()
            print(f"{voter.name}: {len(found):,} pairs, {share:.4f} of the test links among them")
    shown = sorted(parts.items(), key=lambda item: -item[1])
    print(", ".join(f"{part} {s:.2f}" for part, s in shown if s >= 0.005), end="\n\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("tasks", nargs="+")
    parser.add_argument("--fold", type=int, default=1)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--structure", action="store_true")
    parser.add_argument("--set", nargs="*", default=[], metavar="FIELD=VALUE", dest="settings")
    args = parser.parse_args()
    settings: dict[str, Any] = dict(parse_setting(text) for text in args.settings) | {"device": args.device}
    if args.structure:
        settings["voters"] = STRUCTURE_VOTERS
    device = choose_device(args.device)
    MixTEA("best", device=args.device, max_epochs=2).fit(load_example())
    clock = Clock(device)
    clock.watch()
    for name in args.tasks:
        began = time.perf_counter()
        task = load(args.data, name, args.fold)
        print(f"{name}: read in {time.perf_counter() - began:.1f} s, on {device}")
        measure(name, task, clock, settings)


if __name__ == "__main__":
    main()
