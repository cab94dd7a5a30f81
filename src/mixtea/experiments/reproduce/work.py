"""Measure one training: accuracy on links that it never saw, seconds, memory, settings."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mixtea.aligner import MixTEA
from mixtea.aligner.saving import versions
from mixtea.callbacks import Callback
from mixtea.compute.device import choose_device, describe_device
from mixtea.errors import DataError
from mixtea.evaluation.metrics import both_directions, ranking_metrics
from mixtea.experiments.reproduce.experiments import SHARES
from mixtea.experiments.reproduce.plan import Job
from mixtea.experiments.reproduce.published import METRICS
from mixtea.graph.task import Task
from mixtea.io.load import load_task

TRUST_SCORES = ("calibration_error", "accepted@95", "accepted@95_precision")
OBSERVE_EVERY = 5  # epochs


def with_share(task: Task, share: float | None) -> Task:
    """Return the task with training links for `share` of all links, and at most half as many validation links.

    Shares that exceed the fold's training links take the first test links too, up to a tenth of all links; these are
    not scored, whatever the share.
    """
    if share is None:
        return task
    n_all = len(task.train) + len(task.valid) + len(task.test)
    n, spare = round(share * n_all), round((SHARES[-1] - SHARES[-2]) * n_all)
    pool = np.concatenate([task.train, task.test[:spare]])
    if not 0 < n <= len(pool) or spare >= len(task.test):
        raise DataError(f"{task.name}: {share:.0%} of its {n_all:,} links cannot be taken for training.")
    return replace(task, train=pool[:n], valid=task.valid[: n // 2], test=task.test[spare:])


def measure(job: Job, folder: Path, device: str) -> dict[str, Any]:
    """Return a row: train without any test link, then score them by plain cosine and by the preset's decoders."""
    settings = {"device": device, **dict(job.settings)}
    row = measured(with_share(load_task(folder, fold=job.fold), job.share), job.preset, settings, observed=job.observed)
    about = {"key": job.key, "task": job.task, "fold": job.fold, "preset": job.preset, "share": job.share}
    return about | {"settings": dict(job.settings)} | row


def measured(task: Task, preset: str, settings: dict[str, Any], *, observed: bool = False) -> dict[str, Any]:
    """Train once and score the task's test links, which the training does not see."""
    aligner = MixTEA(preset=preset, **settings)
    place = choose_device(aligner.config.device)
    forget_peak(place)
    curve = Curve(task)
    aligner.fit(replace(task, test=task.test[:0]), callbacks=[curve] if observed else [])
    peak = peak_gib(place)
    joint = torch.from_numpy(task.test + np.array([0, task.source.n_entities])).to(place)
    everything = task.source.n_entities if aligner.config.candidates == "all" else None
    student = both_directions(aligner.vectors_, joint, everything, mib=aligner.config.block_mib)
    started = time.perf_counter()
    scores = {"student": student}
    if not observed and not aligner.config.only_vectors_vote:
        decoders = dict.fromkeys((aligner.config.decoder, "one_to_one"))
        scores |= {decoder: aligner.score(task.test, decoder=decoder) for decoder in decoders}
    decoded = scores.get(aligner.config.decoder, {})
    return {
        "scores": {name: {m: found[m] for m in METRICS} for name, found in scores.items()},
        **{name: decoded[name] for name in TRUST_SCORES if name in decoded},
        "curve": curve.points,
        "seconds": aligner.seconds_,
        "decoding_seconds": time.perf_counter() - started,
        "peak_gib": peak,
        "epochs": aligner.n_epochs_,
        "stopped_because": aligner.stopped_because_,
        "learning_rate_lowered": aligner.lowered_,
        "links": {"train": len(task.train), "valid": len(task.valid), "test": len(task.test)},
        "seed": aligner.config.seed,
        "device": describe_device(place),
        "config": aligner.config.to_dict(),
        "versions": versions(),
    }


class Curve(Callback):
    """Score the test links of a task every OBSERVE_EVERY epochs; `points` holds epochs and Hit@1."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.points: list[tuple[int, float]] = []

    def on_vectors(self, epoch: int, vectors: Callable[[], torch.Tensor]) -> None:
        self.points = [point for point in self.points if point[0] < epoch]  # a training that diverged has gone back
        if epoch == 1 or epoch % OBSERVE_EVERY == 0:
            self.points.append((epoch, forward_hits(vectors(), self.task)))


def forget_peak(device: torch.device) -> None:
    """Reset the count of `peak_gib`."""
    if device.type == "cuda":
        torch.cuda.init()
        torch.cuda.reset_peak_memory_stats(device)
    else:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")


def peak_gib(device: torch.device) -> float | None:
    """Return the peak memory in GiB: of the GPU by this process, else of this process; None where unknown."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**30
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 2**20 for line in lines if line.startswith("VmHWM")), None)


def forward_hits(vectors: torch.Tensor, task: Task) -> float:
    """Return Hit@1 of the test links from source to target, among their own targets."""
    source, target = torch.from_numpy(task.test).to(vectors.device).unbind(1)
    among, truth = torch.unique(target, return_inverse=True)
    return ranking_metrics(vectors[source], vectors[task.source.n_entities + among], truth, ks=(1,))["hits@1"]
