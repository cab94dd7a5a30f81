"""Run folders, broken at random: each is refused with a RunError, or works.

    python benchmarks/run_fuzz.py --n 10000 --seed 1

Bytes, values of JSON and arrays are changed; then mostly all checksums are made anew, as somebody who means harm would.
Loading and predicting happen in this process, so that a crash of compiled code or a hang ends it: the last line printed
then says with which seed. `seeds`, `mutate` and `check` are for other harnesses.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from mixtea import MixTEA, RunError, Task
from mixtea.config import STRUCTURE_VOTERS
from mixtea.graph.entity_table import Attributes
from mixtea.graph.graph import Graph
from mixtea.graph.labels import Labels
from mixtea.runs.folder import MANIFEST, SEAL, seal
from mixtea.runs.safe_read import file_fingerprint

VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**63, -(2**63), 10**400, 1e-9, 0.5, -1.5, 1e300, float("nan"),
    float("inf"), "", "a", "cpu", "float64", "..", "/etc/passwd", "\x00", "\ud800", "\u202e", [], [1], ["a"], {},
    {"a": 1}, {"ids": []}, [[[]]],
]  # fmt: skip
NUMBERS = [0, 1, -1, 2, 5, 16, 127, -128, 2**31 - 1, -(2**31), 2**62, -(2**63), 1e-40, 1e9, 1e38, np.nan, np.inf]
TYPES = ["int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64", "bool"]


def seeds(folder: Path) -> list[Path]:
    """Small whole runs to begin with: with and without a council, vectors of any length, 64 bits."""
    voters = (
        *STRUCTURE_VOTERS,
        "names",
        "attributes",
        "descriptions",
    )  # seven: one bit of the stored votes means nobody
    settings: list[dict[str, Any]] = [
        {"preset": "best", "propagation_rounds": 1, "voters": voters},
        {"preset": "paper", "layer_transform": "matrix", "normalize_blocks": False, "metric": "euclidean"},
        {"preset": "text", "precision": "float64"},
    ]
    found = []
    for number, chosen in enumerate(settings):
        aligner = MixTEA(max_epochs=2, entity_dim=8, relation_dim=4, device="cpu", **chosen).fit(_task())
        aligner.metrics_, aligner.by_evidence_ = aligner.score(), aligner.score_by_evidence()
        found.append(folder / f"seed-{number}")
        aligner.save(found[-1])
    return found


def _task() -> Task:
    triples = np.array([(i, i % 2, (i * 3 + 1) % 8) for i in range(8)], dtype=np.int64)
    source, target = (
        Graph(
            np.array([f"{name}{i}" for i in range(9)], dtype=object),
            np.array(["r", f"only {name}"], dtype=object),
            triples,
            Attributes.from_columns([1, 2], ["size", "size"], ["é1", "2"]).as_set(),
            Labels.from_columns([1, 1, 2], ["One", "Eins", "Zwei"], ["en", "de", "de"]).as_set(),
            prefixes={"ex": "http://example.org/"},
            vectors=np.array([[i, 1, -i] for i in range(8)] + [[np.nan] * 3], dtype=np.float32),
        )
        for name in ("s", "t")
    )
    links = np.stack([np.arange(9), np.arange(9)], axis=1)
    rejected = np.array([[0, 1], [2, 3]], dtype=np.int64)
    splits, groups = (links[:3], links[3:5], links[5:]), (("a", "b"), ("fe", "iron"))
    return Task.of_two("fuzz", source, target, *splits, rejected=rejected, synonyms=groups)


def mutate(rng: random.Random, folder: Path) -> str:
    """Change something in the run folder; says what."""
    names = sorted(path.name for path in folder.iterdir())
    said = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        path = folder / rng.choice(names)
        means: list[Callable[[random.Random, Path], str]] = [_bytes]
        if path.suffix == ".json":
            means += [_json] * 4
        if path.suffix == ".safetensors":
            means += [_array] * 4
        said.append(f"{path.name}: {rng.choice(means)(rng, path)}")
    if rng.random() < 0.85:
        reseal(folder)
        said.append("resealed")
    return "; ".join(said)


def _bytes(rng: random.Random, path: Path) -> str:
    content = bytearray(path.read_bytes())
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(content) + 1)
        start = rng.choice((place, min(place, 200)))  # headers stand in front
        match rng.randrange(4):
            case 0:
                content[start : start + 1] = bytes([rng.randrange(256)])
            case 1:
                content[start : start + rng.randint(1, 40)] = b""
            case 2:
                content[start:start] = rng.choice((b"\x00", b"9", b"[", b'"', b"\xff", b"1e9", b"-", b"[" * 100_000))
            case _:
                content[start : start + 1] = bytes([b ^ (1 << rng.randrange(8)) for b in content[start : start + 1]])
    path.write_bytes(content)
    return "bytes"


def _json(rng: random.Random, path: Path) -> str:
    """Another value at a random place, or a place less, or one more."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return _bytes(rng, path)
    inside: Any = [value]
    key: Any = 0
    while isinstance(inside[key], dict | list) and inside[key] and rng.random() < 0.85:
        inside = inside[key]
        key = rng.choice(list(inside)) if isinstance(inside, dict) else rng.randrange(len(inside))
    if inside and inside[key] is value:
        value = rng.choice(VALUES)
    elif rng.random() < 0.15:
        del inside[key]
    elif isinstance(inside, list) and rng.random() < 0.3:
        inside.append(inside[key])
    else:
        inside[key] = rng.choice(VALUES)
    path.write_text(json.dumps(value))  # in ASCII: half characters become escapes
    return f"value at {repr(key)[:60]}"


def _array(rng: random.Random, path: Path) -> str:
    """Other numbers, another type or shape, another name, an array less or more."""
    try:
        arrays = load_file(path)
        name = rng.choice(sorted(arrays) or ["new"])
        old = arrays.get(name, np.zeros((2, 2)))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arrays[name] = _changed(rng, old)
        if rng.random() < 0.1:
            arrays[rng.choice(("score.forward", "score.propagation", "entity", "new"))] = arrays.pop(name)
        if rng.random() < 0.05:
            del arrays[rng.choice(sorted(arrays))]
        save_file({key: np.ascontiguousarray(value) for key, value in arrays.items()}, path)
    except Exception as error:  # broken before, or of a type that cannot be written
        return f"{type(error).__name__}, {_bytes(rng, path)}"
    return f"array {name}"


def _changed(rng: random.Random, array: np.ndarray) -> np.ndarray:
    match rng.randrange(5):
        case 0:
            return array.astype(rng.choice(TYPES))
        case 1:
            return array[: rng.randrange(len(array) + 1)] if array.ndim else array
        case 2:
            return array.reshape(-1) if rng.random() < 0.5 else array[..., None]
        case _:
            changed = array.copy().reshape(-1)
            for _ in range(min(len(changed), rng.choice((1, 1, 3, 1000)))):
                number = rng.choice(NUMBERS)
                changed[rng.randrange(len(changed))] = np.float64(number).astype(array.dtype)
            return changed.reshape(array.shape)


def reseal(folder: Path) -> None:
    """All sizes and checksums made anew, as far as the manifest still is one, of files that can be read in a moment."""
    path = folder / MANIFEST
    if not _can_be_read(path):
        return
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        for name, entry in about["files"].items():
            if _can_be_read(folder / name):
                entry |= file_fingerprint(folder / name)
        if SEAL in about:
            about[SEAL] = seal(about)
        path.write_text(json.dumps(about, indent=1), encoding="utf-8")
    except (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError):
        return


def _can_be_read(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 30


def check(folder: Path) -> str:
    """Load the run and predict: "refused" with a RunError that names it, or "worked". All else is a bug and raises."""
    try:
        aligner = MixTEA.load(folder, device="cpu")
    except RunError as error:
        if str(folder) not in str(error):
            raise AssertionError(f"the message does not name the folder: {error}") from error
        return "refused"
    found = aligner.predict(k=1)
    if not (np.isfinite(found.probability).all() and len(aligner.map()) <= aligner.task_.source.n_entities):
        raise AssertionError("a prediction without a probability")
    return "worked"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000, help="how many broken run folders")
    parser.add_argument("--seed", type=int, default=1, help="of the first; each has a seed of its own")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        whole = seeds(Path(place))
        for number in range(arguments.seed, arguments.seed + arguments.n):
            rng, folder = random.Random(number), Path(place) / "broken"
            shutil.copytree(rng.choice(whole), folder)
            what = mutate(rng, folder)
            print(f"seed {number}: {what}", flush=True)
            counts[check(folder)] += 1
            shutil.rmtree(folder)
    print(f"{arguments.n} run folders: {counts['refused']} refused, {counts['worked']} worked", flush=True)


if __name__ == "__main__":
    main()
