"""The run folder: everything a training leaves, in open formats, with a manifest that knows every byte.

`RUN_FILES` in export/files.py says what each file holds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from mixtea.config import Config
from mixtea.data.graph import Graph
from mixtea.data.task import SPLITS, Task
from mixtea.errors import MixTEAError, RunError
from mixtea.export.files import RUN_FILES, whole_folder

FORMAT = 2
MANIFEST = "run.json"
PAGES = ("report.html", "changes.tsv")  # for people to read; a run is whole without


@dataclass(frozen=True, eq=False)
class Run:
    """What a run folder holds."""

    task: Task
    config: Config
    weights: Mapping[str, np.ndarray]
    history: list[dict[str, Any]]
    trace: Mapping[str, np.ndarray]
    opinions: Mapping[str, np.ndarray]
    metrics: dict[str, float] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    pages: Mapping[str, str] = field(default_factory=dict)


def write_run(run: Run, folder: Path, *, overwrite: bool = False) -> None:
    """Write all files of a run into a new folder, which appears whole or not at all."""
    with whole_folder(folder, overwrite=overwrite) as temporary:
        _write_json(temporary / "config.json", run.config.to_dict())
        _write_json(temporary / "vocabulary.json", _vocabulary(run.task), indent=None)
        _write_json(temporary / "history.json", run.history)
        _write_json(temporary / "metrics.json", run.metrics)
        save_file(dict(run.weights), temporary / "weights.safetensors")
        save_file(_arrays(run.task), temporary / "graphs.safetensors")
        save_file(dict(run.trace), temporary / "votes.safetensors")
        save_file(dict(run.opinions), temporary / "opinions.safetensors")
        for path in temporary.glob("*.safetensors"):  # which are made for their owner alone
            path.chmod((temporary / "config.json").stat().st_mode)
        _draw(run, temporary / "curves.png")
        for name, text in run.pages.items():
            (temporary / name).write_text(text, encoding="utf-8")
        files = {p.name: _fingerprint(p) for p in sorted(temporary.iterdir())}
        about = {"format": FORMAT, "task": run.task.name, "fold": run.task.fold, **run.about, "files": files}
        _write_json(temporary / MANIFEST, about)


def read_run(folder: Path) -> Run:
    """Read a run folder; a missing or damaged file is named. Pages for people may be missing."""
    about = _manifest(folder)
    for name, expected in about["files"].items():
        if name not in PAGES or (folder / name).exists():
            _check_file(folder / name, expected)
    try:
        task = _task(about, _json(folder / "vocabulary.json"), load_file(folder / "graphs.safetensors"))
        config = Config.from_dict(_json(folder / "config.json"))
        names = ("weights", "votes", "opinions")
        weights, trace, opinions = (load_file(folder / f"{name}.safetensors") for name in names)
        history, metrics = _json(folder / "history.json"), _json(folder / "metrics.json")
    except (KeyError, TypeError, ValueError, SafetensorError, OSError, MixTEAError) as error:
        raise RunError(f"{folder}: not a run that this version can read ({error}).") from error
    return Run(task, config, weights, history, trace, opinions, metrics, about)


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not folder.is_dir():
        what = "a file, where a run folder is needed" if folder.exists() else "no such run folder"
        raise RunError(f"{folder}: {what}. `mixtea fit TASK --out {folder}` makes one.")
    if not path.is_file():
        raise RunError(f"{path}: missing. {folder} is not a run folder, or its writing was interrupted.")
    try:
        about = _json(path)
        found = about["format"]
        if found == FORMAT and not about.keys() >= set(_ABOUT):
            raise KeyError(f"without {', '.join(set(_ABOUT) - about.keys())}")
        files = {str(name): (int(e["bytes"]), str(e["sha256"])) for name, e in about["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path}: damaged ({error}). Restore it from a copy, or train again.") from None
    if found != FORMAT:
        raise RunError(f"{path}: run format {found}, while this version reads {FORMAT}. Use the mixtea that wrote it.")
    if any(Path(name).name != name for name in files) or not files.keys() >= _NEEDED:
        raise RunError(f"{path}: damaged (its list of files). Restore it from a copy, or train again.")
    return about | {"files": files}


_NEEDED = RUN_FILES.keys() - {MANIFEST, *PAGES}
_ABOUT = ("task", "fold", "n_epochs", "best_epoch", "stopped_because", "seconds", "voter_weights")


def _check_file(path: Path, expected: tuple[int, str]) -> None:
    if not path.is_file():
        raise RunError(f"{path}: missing. Restore it from a copy, or train again.")
    found = _fingerprint(path)
    if found["bytes"] != expected[0]:
        raise RunError(f"{path}: {found['bytes']:,} bytes instead of {expected[0]:,}. Restore it, or train again.")
    if found["sha256"] != expected[1]:
        raise RunError(f"{path}: changed since it was written (checksum). Restore it, or train again.")


def _fingerprint(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _vocabulary(task: Task) -> dict[str, Any]:
    return {
        side: {
            "entities": graph.entities.tolist(),
            "relations": graph.relations.tolist(),
            "names": graph.names,
            "prefixes": graph.prefixes,
            "n_attribute_triples": graph.n_attribute_triples,
        }
        for side, graph in (("source", task.source), ("target", task.target))
    }


def _arrays(task: Task) -> dict[str, np.ndarray]:
    arrays = {"source_triples": task.source.triples, "target_triples": task.target.triples}
    return {k: np.ascontiguousarray(v) for k, v in (arrays | {s: getattr(task, s) for s in SPLITS}).items()}


def _task(about: dict[str, Any], vocabulary: dict[str, Any], arrays: dict[str, np.ndarray]) -> Task:
    source, target = (
        Graph(
            np.array(words["entities"], dtype=object),
            np.array(words["relations"], dtype=object),
            arrays[f"{side}_triples"],
            words["n_attribute_triples"],
            words["names"],
            words.get("prefixes", {}),
        )
        for side, words in ((side, vocabulary[side]) for side in ("source", "target"))
    )
    return Task(about["task"], source, target, arrays["train"], arrays["valid"], arrays["test"], about["fold"])


def _write_json(path: Path, value: Any, indent: int | None = 1) -> None:
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _draw(run: Run, path: Path) -> None:
    from mixtea.measure.curves import draw_curves

    draw_curves(run.history, path, title=f"{run.task.name}, seed {run.config.seed}")
