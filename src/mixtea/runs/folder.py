"""The run folder: all results of a training in open formats, with a manifest of checksums.

`RUN_FILES` in atomic.py describes each file. The same task, settings and seed give the same bytes in every file but
two: run.json and report.html have dates and durations. A run folder may come from anywhere, so reading trusts nothing:
see safe_read.py and validate.py.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from mixtea.compute.arrays import check_finite, is_numbers
from mixtea.config import Config
from mixtea.council.trace import check_trace
from mixtea.decide.answers import Answers
from mixtea.errors import RunError, shorten
from mixtea.evaluation.scores import split_table
from mixtea.graph.graph import SIDES
from mixtea.graph.task import Task
from mixtea.io.safe.limits import MIB
from mixtea.messages import visible
from mixtea.runs import validate as checks
from mixtea.runs.answers import (
    candidate_arrays,
    candidate_forms,
    check_answer_arrays,
    check_answers,
    mapping_arrays,
    mapping_forms,
)
from mixtea.runs.atomic import HISTORY, RUN_FILES, atomic_folder, flush, resolve_place
from mixtea.runs.safe_read import (
    RESTORE_ADVICE,
    array_forms,
    check_file,
    check_file_size,
    clear_read_errors,
    file_fingerprint,
    read_arrays,
    read_json,
)
from mixtea.runs.validate_text import check_learned, learned_json, text_arrays
from mixtea.voters.learned import Learned

FORMAT = 8
MANIFEST = "run.json"
SEAL = "sha256"
PAGES = ("report.html", "changes.tsv")  # for people; a run is whole without
MAX_BYTES = {  # of files that do not grow with the graphs: far more than honest ones have
    MANIFEST: 32 * MIB,  # it holds the seconds of a million epochs
    "config.json": MIB,
    "metrics.json": MIB,
    "learned.json": MIB,
    "curves.png": 16 * MIB,
    "report.html": 64 * MIB,
}
MAX_RECORD_BYTES = 4096  # of the history, per epoch


@dataclass(frozen=True, eq=False)
class Run:
    """Contents of a run folder."""

    task: Task
    config: Config
    weights: Mapping[str, np.ndarray]
    history: list[dict[str, Any]]
    trace: Mapping[str, np.ndarray]
    opinions: Mapping[str, np.ndarray]
    answers: Answers
    metrics: dict[str, float] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    learned: Learned = field(default_factory=Learned)
    pages: Mapping[str, str] = field(default_factory=dict)


def write_run(run: Run, folder: Path, *, overwrite: bool = False, keep: int | None = None) -> str:
    """Write all files of a run into a new folder, which appears whole or not at all.

    Earlier runs of a folder that is replaced stay in its history; with `keep` the one that is replaced becomes one of
    them, and the last `keep` stay. Return the checksum of its manifest.
    """
    for name in sorted(run.pages.keys() - PAGES):
        raise RunError(f"{folder / name}: no page of a run, which has {' and '.join(PAGES)}.")
    with atomic_folder(folder, overwrite=overwrite) as temporary:
        _write_json(temporary / "config.json", run.config.to_dict())
        _write_json(temporary / "vocabulary.json", vocabulary(run.task), indent=None)
        _write_json(temporary / "history.json", [_without_seconds(record) for record in run.history])
        _write_json(temporary / "metrics.json", {k: v for k, v in run.metrics.items() if math.isfinite(v)})
        _write_json(temporary / "learned.json", learned_json(run.learned))
        save_file(dict(run.weights), temporary / "weights.safetensors")
        save_file(graph_arrays(run.task), temporary / "graphs.safetensors")
        save_file(dict(run.trace), temporary / "votes.safetensors")
        save_file(dict(run.opinions), temporary / "opinions.safetensors")
        save_file(candidate_arrays(run.answers), temporary / "candidates.safetensors")
        save_file(mapping_arrays(run.answers), temporary / "mapping.safetensors")
        for path in temporary.glob("*.safetensors"):  # which are made for their owner alone
            path.chmod((temporary / "config.json").stat().st_mode)
        _draw(run, temporary / "curves.png")
        for name, text in run.pages.items():
            (temporary / name).write_text(text, encoding="utf-8", newline="")
        files = {p.name: file_fingerprint(p) for p in sorted(temporary.iterdir())}
        about = {"format": FORMAT, **about_task(run.task), **run.about}
        about |= {"epoch_seconds": [record.get("seconds", 0.0) for record in run.history], "files": files}
        _write_json(temporary / MANIFEST, about | {SEAL: (sealed := seal(about))})
        carry_over(resolve_place(folder), temporary, keep)
    return sealed


def read_run(folder: Path) -> Run:
    """Read a run folder; an error names a missing, damaged or invalid file. Pages may be missing."""
    about = _manifest(folder)
    for name in about["files"]:
        if name not in PAGES or (folder / name).is_symlink() or (folder / name).exists():
            _check_file(folder, about, name)
    found = _results(folder, about)
    task, config = found.task, found.config
    with clear_read_errors(folder / "weights.safetensors"):
        weights = read_arrays(folder / "weights.safetensors", checks.weight_forms(task, config))
        for name, values in weights.items():
            check_finite(name, values)
    with clear_read_errors(folder / "votes.safetensors"):
        trace = read_arrays(folder / "votes.safetensors", checks.trace_forms(len(config.voters)))
        check_trace(trace, task.joint_index.shape, len(config.voters), about["n_epochs"])
    with clear_read_errors(folder / "opinions.safetensors"):
        path = folder / "opinions.safetensors"
        opinions = read_arrays(path, checks.opinion_forms(list(array_forms(path)), config))
        checks.check_opinions(opinions, task)
    with clear_read_errors(folder / "history.json"):
        history = checks.timed_history(read_json(folder / "history.json"), about["n_epochs"], about["epoch_seconds"])
    with clear_read_errors(folder / "learned.json"):
        learned = check_learned(read_json(folder / "learned.json", MAX_BYTES["learned.json"]))
        if {f"score.{name}" for name in learned.matched_by} - opinions.keys():
            raise ValueError("views without an opinion")
    return Run(task, config, weights, history, trace, opinions, found.answers, found.metrics, about, learned)


@dataclass(frozen=True, eq=False)
class RunResults:
    """Results of a run without the training's state: enough to predict, map, score and explain as it was decided."""

    task: Task
    config: Config
    answers: Answers
    metrics: dict[str, float]
    about: dict[str, Any]


RESULT_FILES = (
    "config.json", "vocabulary.json", "graphs.safetensors", "candidates.safetensors", "mapping.safetensors",
    "metrics.json",
)  # fmt: skip


def read_results(folder: Path) -> RunResults:
    """Read what a run has concluded; an error names a damaged or invalid file.

    Of the files that are not needed for it, only the lengths are checked.
    """
    about = _manifest(folder)
    for name in sorted(about["files"].keys() - {*PAGES, *RESULT_FILES}):
        check_file_size(folder / name, about["files"][name])
    for name in RESULT_FILES:
        _check_file(folder, about, name)
    return _results(folder, about)


def read_learned(folder: Path) -> Learned:
    """Read what a run learned beside vectors; an error names a damaged or invalid file."""
    path = folder / "learned.json"
    _check_file(folder, _manifest(folder), path.name)
    with clear_read_errors(path):
        return check_learned(read_json(path, MAX_BYTES[path.name]))


def read_ids(folder: Path) -> tuple[str, list[str], list[str]]:
    """Read the checksum of a run's manifest, and the ids of both graphs in their order."""
    about = _manifest(folder)
    path = folder / "vocabulary.json"
    _check_file(folder, about, path.name)
    with clear_read_errors(path):
        words = checks.check_vocabulary(read_json(path))
    return about[SEAL], words["source"]["ids"], words["target"]["ids"]


def _check_file(folder: Path, about: dict[str, Any], name: str) -> None:
    largest = MAX_BYTES | {"history.json": MIB + MAX_RECORD_BYTES * about["n_epochs"]}
    check_file(folder / name, about["files"][name], largest.get(name))


def _results(folder: Path, about: dict[str, Any]) -> RunResults:
    with clear_read_errors(folder / "config.json"):
        config = checks.check_config(read_json(folder / "config.json"))
    with clear_read_errors(folder / "vocabulary.json"):
        words = checks.check_vocabulary(read_json(folder / "vocabulary.json"))
    with clear_read_errors(folder / "graphs.safetensors"):
        path = folder / "graphs.safetensors"
        task = checks.check_task(about, words, read_arrays(path, checks.graph_forms(array_forms(path))))
    n_voters, real = len(config.deciding_voters), checks.vector_type(config)
    path = folder / "mapping.safetensors"
    with clear_read_errors(path):
        mapping = read_arrays(path, mapping_forms(list(array_forms(path)), real, n_voters, task))
        check_answer_arrays(mapping, task)
    path = folder / "candidates.safetensors"
    with clear_read_errors(path):
        candidates = read_arrays(path, candidate_forms(list(array_forms(path)), config, real))
        check_answer_arrays(candidates, task)
        are_random, kinds = about.get("links_are_random", True), about.get("voter_evidence", {})
        answers = check_answers(candidates, mapping, task, config, links_are_random=are_random, evidence_kinds=kinds)
    with clear_read_errors(folder / "metrics.json"):
        metrics = read_json(folder / "metrics.json")
        if not is_numbers(metrics):
            raise ValueError("a metric is not a number")
        split_table(metrics)
    return RunResults(task, config, answers, metrics, about)


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not folder.is_dir():
        if _is_unfinished(folder):
            raise RunError(f"{folder}: its training has not ended. Go on with: mixtea fit --resume --out {folder}")
        what = "a file, where a run folder is needed" if folder.exists() else "no such run folder"
        raise RunError(f"{folder}: {what}. `mixtea fit TASK --out {folder}` makes one.")
    with clear_read_errors(path):
        if not path.is_symlink() and not path.exists():
            raise RunError(f"{path}: missing. {folder} is not a run folder, or its writing was interrupted.")
        about = read_json(path, MAX_BYTES[MANIFEST])
        _check_format(path, about)
        checks.check_about(about)
        if SEAL not in about:
            raise KeyError(f"without {SEAL}")
        if about[SEAL] != seal(about):
            raise RunError(f"{path}: changed since it was written (checksum). {RESTORE_ADVICE}")
        if not about["files"].keys() >= _REQUIRED_FILES or MANIFEST in about["files"]:
            raise ValueError("its list of files")
        for name in sorted(about["files"].keys() - RUN_FILES.keys()):
            raise RunError(f"{folder / name}: no file of a run, though {MANIFEST} lists it. {RESTORE_ADVICE}")
    return about


def _is_unfinished(folder: Path) -> bool:
    """Check whether a training that could go on lies beside the place of the run."""
    with suppress(OSError, ValueError):  # of a path that cannot be
        place = resolve_place(folder)
        return (place.with_name(f"{place.name}.unfinished") / "start.safetensors").is_file()
    return False


_REQUIRED_FILES = RUN_FILES.keys() - {MANIFEST, *PAGES}


def _check_format(path: Path, about: Any) -> None:
    """Name the version that can read a later run, and refuse what never was a format."""
    found = about["format"]
    if type(found) is not int or found < 1:
        raise ValueError(f"format {found!r}")
    if found < FORMAT:
        raise RunError(f"{path}: of an earlier mixtea (run format {found}; this one reads {FORMAT}). Train it again.")
    if found > FORMAT:
        versions = about.get("versions")
        by = versions.get("mixtea") if isinstance(versions, dict) else None
        raise RunError(
            f"{path}: written by mixtea {visible(by or 'of a later version', 40)} (run format {found}), newer than "
            f"this one, which reads up to {FORMAT}. Update mixtea: pip install --upgrade mixtea."
        )


def seal(about: Mapping[str, Any]) -> str:
    """Compute the checksum of a manifest without the checksum itself, over canonical JSON."""
    rest = {name: value for name, value in about.items() if name != SEAL}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _without_seconds(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record of the history without what differs each time."""
    return {name: value for name, value in record.items() if name != "seconds"}


def about_task(task: Task) -> dict[str, Any]:
    """Return the name of a task, and where its links come from."""
    return {"task": task.name, "fold": task.fold, "links_from": task.links_from}


def vocabulary(task: Task) -> dict[str, Any]:
    """Return the words of a task: of both graphs; slots of links, synonyms and compared columns where it has some."""
    slots = [[*pair, dict(found)] for pair, found in task.slots.items()]
    synonyms, compared = [[*group] for group in task.synonyms], [[*pair] for pair in task.compared]
    parts = (("slots", slots), ("synonyms", synonyms), ("compared", compared))
    more = {name: rows for name, rows in parts if rows}
    return more | {
        side: {"ids": graph.ids.tolist(), "relations": graph.relations.tolist(), "prefixes": graph.prefixes}
        | ({"iri": graph.iri} if graph.iri else {})
        | {name: [*words] for name in checks.WORD_LISTS if (words := getattr(graph, name))}
        for side, graph in (("source", task.source), ("target", task.target))
    }


def graph_arrays(task: Task) -> dict[str, np.ndarray]:
    """Return triples, links and rejected pairs as int64, and the arrays of the texts.

    The user's vectors, reviews and which entities are asked about are there where a task has such.
    """
    numbers = {"source_triples": task.source.triples, "target_triples": task.target.triples}
    numbers |= {name: getattr(task, name) for name in checks.PAIR_ARRAYS}
    texts = {**text_arrays(task.source, "source"), **text_arrays(task.target, "target")}
    vectors = {f"{side}_vectors": getattr(task, side).vectors for side in SIDES}
    given = {name: np.ascontiguousarray(array, np.float32) for name, array in vectors.items() if array.size}
    reviews = dict(zip(checks.REVIEW_ARRAYS, map(np.ascontiguousarray, task.reviewed), strict=True))
    given |= reviews if len(task.reviewed.pairs) else {}
    given |= {} if task.asked is None else {"asked": task.asked.astype(np.uint8)}
    return {name: np.ascontiguousarray(array, np.int64) for name, array in numbers.items()} | texts | given


def _write_json(path: Path, value: Any, indent: int | None = 1) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
    try:
        path.write_text(text, encoding="utf-8")
    except UnicodeEncodeError as error:
        around = shorten(text[max(error.start - 20, 0) : error.end + 20])
        raise RunError(f"{path.name}: half a character in {around}, which no file can hold. Mend the text.") from None


def _draw(run: Run, path: Path) -> None:
    """Draw the curves; a title in letters that the font lacks is allowed, and `$` in it does not begin a formula."""
    from mixtea.evaluation.scores import draw_curves

    title = visible(f"{run.task.name}, seed {run.config.seed}", 100).replace("$", r"\$")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        draw_curves(run.history, path, title=title)


RUN_NUMBER = re.compile(r"\d{4,9}")


def earlier_runs(run: Path) -> list[Path]:
    """List the folders of the earlier runs of a run, the oldest first."""
    folder = run / HISTORY
    if folder.is_symlink() or not folder.is_dir():
        return []
    found = [path for path in folder.iterdir() if RUN_NUMBER.fullmatch(path.name) and path.is_dir()]
    return sorted((path for path in found if not path.is_symlink()), key=lambda path: int(path.name))


def carry_over(old: Path, new: Path, keep: int | None) -> None:
    """Put the earlier runs of `old` into `new`, and with `keep` the old run itself, the last `keep` of them all."""
    runs = earlier_runs(old)
    kept = [(int(path.name), path) for path in runs]
    if keep is not None and (old / "run.json").is_file():
        kept.append((1 + max((number for number, _ in kept), default=0), old))
    kept = kept if keep is None else kept[len(kept) - min(keep, len(kept)) :]
    for number, run in kept:
        _link(run, new / HISTORY / f"{number:04}")
    if kept:
        flush(new / HISTORY)


def _link(run: Path, place: Path) -> None:
    """Link the files of a run into another folder."""
    place.mkdir(parents=True)
    for path in run.iterdir():
        if path.name in RUN_FILES and path.is_file() and not path.is_symlink():
            try:
                os.link(path, place / path.name)
            except OSError:  # where the file system has no links
                shutil.copyfile(path, place / path.name)
    flush(place)
