"""Train and print checksums of all that comes out, to compare two states of the program.

    .venv/bin/python scripts/fingerprint.py [--src FOLDER] [--task FOLDER] [--presets paper ...] [--set FIELD=VALUE ...]

FOLDER of --src holds the package `mixtea` (default: src beside this script), that of --task a benchmark (default: the
bundled example). Of each preset: checksums of the student's vectors, of the history without seconds, of the candidates
and of the mapping, ids and probabilities. Two states that compute the same print the same lines; only what both have
is compared, through the public interface. With --keep FOLDER the mapping is left there.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Any

TIMES = ("seconds", "second", "time")


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def setting(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, int(value)
    except ValueError:
        return name, value


def fingerprint(aligner: Any, keep: Path | None) -> dict[str, str]:
    history = aligner.history_
    history = history[[name for name in sorted(history.columns) if not any(word in name for word in TIMES)]]
    candidates, mapping = aligner.predict(k=10).to_frame(), aligner.map().frame
    mapping = mapping[["source", "target", "probability", "decision"]]
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        mapping.to_csv(keep / f"{aligner.preset}.csv", index=False)
    return {
        "vectors": checksum(aligner.vectors_.detach().cpu().contiguous().numpy().tobytes()),
        "history": checksum(history.to_csv(index=False).encode()),
        "candidates": checksum(candidates[["source", "target", "score", "probability"]].to_csv(index=False).encode()),
        "mapping": checksum(mapping.to_csv(index=False).encode()),
        "scores": " ".join(f"{name}={value:.4f}" for name, value in aligner.score(aligner.task_.test).items()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--src", type=Path, default=Path(__file__).resolve().parent.parent / "src")
    parser.add_argument("--task", type=Path)
    parser.add_argument("--presets", nargs="+", default=["paper", "text", "best"])
    parser.add_argument("--set", nargs="*", default=[], type=setting)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    sys.path.insert(0, str(given.src.resolve()))
    from mixtea import MixTEA, load_example, load_task

    task = load_example() if given.task is None else load_task(given.task)
    for preset in given.presets:
        aligner = MixTEA(preset=preset, seed=1, **dict(given.set)).fit(task)
        for name, value in fingerprint(aligner, given.keep).items():
            print(f"{preset:6} {name:11} {value}", flush=True)


if __name__ == "__main__":
    main()
