"""Convert an aligner to the contents of a run folder, and back."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from collections.abc import Mapping as Table
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from mixtea import __version__
from mixtea.compute.arrays import as_numpy, as_tensors
from mixtea.compute.device import choose_device, describe_device
from mixtea.compute.scored_pairs import SCORE, ScoredPairs
from mixtea.config import Config
from mixtea.decide.decode import StoredOpinions
from mixtea.encode.encoder import Encoder
from mixtea.encode.structure import build_structure
from mixtea.errors import RunError
from mixtea.evaluation.scores import as_numbers, split_table
from mixtea.graph.fingerprint import checksums
from mixtea.graph.task import Task
from mixtea.runs.checkpoints import Checkpoints, epoch_of, start_checksum
from mixtea.runs.folder import SEAL, Run
from mixtea.voters.registry import package_of

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA

DECODING = ("decoder", "decode_voters", "candidates")  # settings that may change after training


def run_contents(aligner: MixTEA, pages: Table[str, str]) -> Run:
    """Return the contents of a run folder for a fitted aligner."""
    weights = {name: as_numpy(value) for name, value in aligner._student.state_dict().items()}
    return Run(
        aligner.task_, aligner._trained_config(), weights, aligner._records, aligner._trace,
        opinion_arrays(aligner._last), aligner.answers_, aligner.metrics_ | as_numbers(aligner.by_evidence_),
        _about(aligner), aligner.learned_, pages,
    )  # fmt: skip


def _about(aligner: MixTEA) -> dict[str, Any]:
    preset, chosen = aligner._fitted_as
    return {
        "preset": preset,
        "chosen": chosen | {name: getattr(aligner.config, name) for name in DECODING},
        "seed": aligner.config_.seed,
        "device": describe_device(aligner.vectors_.device),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(aligner.seconds_, 3),
        "n_epochs": aligner.n_epochs_,
        "best_epoch": aligner.best_epoch_,
        "stopped_because": aligner.stopped_because_,
        "approximations": aligner.config_.approximations(),
        "learning_rate_lowered": aligner.lowered_,
        "misleading": aligner.misleading_,
        "misleading_links": aligner.misleading_links_,
        "links_are_random": aligner.answers_.decided.links_are_random,
        "voter_weights": aligner._last.weights if aligner._last is not None else {},
        "voter_wrong_shares": dict(aligner._last.wrong) if aligner._last is not None else {},
        "voter_packages": aligner._packages,
        "versions": versions(),
    } | {name: value for name, value in _origin(aligner).items() if value}


def _origin(aligner: MixTEA) -> dict[str, Any]:
    """Return the fields only runs with an earlier run one, or that have voters from outside."""
    kinds = dict(aligner.answers_.evidence_kinds)
    return {
        "parent": aligner._parent, "matched_since_training": aligner._matched_since, "voter_evidence": kinds,
        "applies_learned": aligner._given is not None,
    }  # fmt: skip


def restore_aligner(aligner: MixTEA, run: Run, folder: Path, device: str | None) -> None:
    """Restore a bare aligner to its state when the run was saved."""
    aligner.preset = run.about["preset"]
    aligner.settings = run.about["chosen"]
    aligner.config = Config.preset(aligner.preset, **aligner.settings)
    aligner._fitted_as = aligner.preset, aligner.settings
    aligner.metrics_, aligner.by_evidence_ = split_table(run.metrics)
    saved = "auto" if run.config.device.startswith("cuda") else run.config.device
    place = choose_device(saved if device is None else device)
    dtype = getattr(torch, run.config.precision)
    structure = build_structure(run.task.source, run.task.target, run.config).to(place, dtype)
    student = Encoder(structure, run.config, torch.Generator(place))
    student.load_state_dict(as_tensors(run.weights, torch.device("cpu")))
    aligner.task_, aligner._student, aligner._vectors = run.task, student, None
    if not torch.isfinite(aligner.vectors_).all():
        raise RunError(f"{folder / 'weights.safetensors'}: damaged (it leads to vectors without end).")
    about = run.about
    aligner._last = _opinions(run.task, run.opinions, about["voter_weights"], about.get("voter_wrong_shares", {}))
    aligner._trace, aligner._answers, aligner._answers_by = dict(run.trace), run.answers, run.config
    aligner.config_ = run.config
    aligner._matched_since = run.about.get("matched_since_training", 0)
    aligner._manifest, aligner._parent = run.about[SEAL], run.about.get("parent", "")
    aligner._learned, aligner._matcher = run.learned, None
    aligner._learned_probabilities = run.learned.probabilities
    aligner._given = run.learned.probabilities if about.get("applies_learned", False) else None
    aligner._packages = run.about["voter_packages"]
    aligner._records, aligner.n_epochs_ = run.history, run.about["n_epochs"]
    aligner.best_epoch_, aligner.stopped_because_ = run.about["best_epoch"], run.about["stopped_because"]
    aligner.seconds_, aligner.lowered_ = run.about["seconds"], run.about.get("learning_rate_lowered", {})
    aligner.misleading_ = run.about.get("misleading", {})
    aligner.misleading_links_ = run.about.get("misleading_links", {})


def opinion_arrays(last: StoredOpinions | None) -> dict[str, np.ndarray]:
    """Convert opinions to arrays of a run folder."""
    if last is None:
        return {}
    ends = {"source": last.pairs.source.astype(np.int32), "target": last.pairs.target.astype(np.int32)}
    return ends | dict(last.pairs.columns)


def _opinions(
    task: Task, arrays: Table[str, np.ndarray], weights: Table[str, float], wrong: Table[str, float]
) -> StoredOpinions | None:  # fmt: skip
    """Convert checked arrays of a run folder to opinions."""
    if not arrays:
        return None
    scores = {name: values for name, values in arrays.items() if name.startswith(SCORE)}
    ends = [arrays[name].astype(np.int64) for name in ("source", "target")]
    return StoredOpinions(ScoredPairs.of(ends, task.joint_index.shape, **scores), dict(weights), dict(wrong))


def versions() -> dict[str, str]:
    names = ("numpy", "scipy", "pandas", "safetensors")
    found = {name: version(name) for name in names} | {"torch": str(torch.__version__)}
    return {"mixtea": __version__, "python": platform.python_version()} | found


def shared_inputs(
    task: Task, config: Config, device: torch.device, start: tuple[Task, Mapping[str, np.ndarray]] | None,
    checkpoints: Checkpoints | Path | None,
) -> dict[str, Any]:  # fmt: skip
    """Return all that a training depends on, by names for people: files, settings, where it begins, programs.

    `start` are the task and the parameters of a warm start. Processes may have different devices of one kind.
    """
    kept = Checkpoints(checkpoints) if isinstance(checkpoints, Path) else checkpoints
    epoch = None if kept is None else next(map(epoch_of, kept.files()), None)
    return {
        **{f"the checksum of the {part}": value for part, value in checksums(task).items()},
        "the origin of the links": task.links_from,
        **config.training_settings(),
        "the kind of device": device.type,
        "the checksum of the warm start": None if start is None else start_checksum(*start),
        "the epoch of the last checkpoint": epoch,
        **{f"the version of {name}": value for name, value in versions().items()},
        **{f"the package of voter {name}": package_of(name) for name in config.voters},
    }
