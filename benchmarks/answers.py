"""What a run is asked after training: `python benchmarks/answers.py RUN`.

Seconds and memory of `export`, `predict` and `score` from the stored answers, and of the same computed anew from the
student, the slow way, in the same run of this script.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VERBS = {"export": ("--out", "mapping.sssom.tsv"), "predict": ("--out", "candidates.tsv"), "score": ("--json",)}
ANEW = """
import sys
from mixtea.aligner import MixTEA
from mixtea.export.formats import write_candidates, write_mapping
from pathlib import Path
verb, run, out = sys.argv[1:]
aligner = MixTEA.load(run)
aligner._answers = None  # as if nothing had been stored
if verb == "export":
    write_mapping(aligner.map(), Path(out))
elif verb == "predict":
    write_candidates(aligner.predict(10), aligner.map(), Path(out))
else:
    aligner.score(), aligner.score_mapping()
"""


def measured(command: list[str]) -> tuple[float, float]:
    """(seconds, MiB at most) of a process."""
    program = "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL); "
    program += "print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=True)
    code, kib = map(int, done.stdout.split())
    if code:
        sys.exit(done.stderr)
    return time.perf_counter() - started, kib / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run folder")
    run = str(parser.parse_args().run)
    print("| verb | stored, s | MiB | computed anew, s | MiB | times faster |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for verb, (option, *out) in VERBS.items():
            words = [option, *(str(Path(folder) / name) for name in out)]
            stored = measured([sys.executable, "-m", "mixtea", verb, run, *words])
            slow = measured([sys.executable, "-c", ANEW, verb, run, str(Path(folder) / f"slow-{'-'.join(out)}")])
            numbers = f"{stored[0]:.1f} | {stored[1]:.0f} | {slow[0]:.1f} | {slow[1]:.0f} | {slow[0] / stored[0]:.0f}"
            print(f"| {verb} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
