"""How long `import mixtea` and `mixtea --help` take, and which modules take it.

    python benchmarks/imports.py [--runs 5]

Each call is a process of its own; the best of the runs counts, and the start of Python itself is in it. Then the ten
slowest modules of `mixtea --help`, with what each of them imports left out, as -X importtime has them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

HEAVY = ("torch", "matplotlib", "pyarrow", "pyoxigraph", "zstandard", "scipy", "pandas")
CALLS = {
    "python -c pass": ["-c", "pass"],
    "import mixtea": ["-c", "import mixtea"],
    "mixtea --help": ["-m", "mixtea", "--help"],
    "mixtea fit --help": ["-m", "mixtea", "fit", "--help"],
}


def best_of(runs: int, words: list[str]) -> float:
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - started)
    return min(times)


def import_times(words: list[str]) -> dict[str, float]:
    """Milliseconds of each module by itself."""
    done = subprocess.run([sys.executable, "-X", "importtime", *words], check=True, capture_output=True, text=True)
    lines = [line.split("|") for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {name.strip(): int(own.removeprefix("import time:")) / 1e3 for own, _, name in lines[1:]}


def loaded(words: list[str]) -> list[str]:
    modules = import_times(words)
    return [name for name in HEAVY if name in modules]


def main() -> None:
    from common import header, row

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    header("call", "best, s", "heavy libraries it loads")
    for name, words in CALLS.items():
        row([f"`{name}`", f"{best_of(args.runs, words):.2f}", ", ".join(loaded(words)) or "none"])
    print()
    header("module", "ms by itself")
    slowest = sorted(import_times(CALLS["mixtea --help"]).items(), key=lambda item: -item[1])[:10]
    for name, milliseconds in slowest:
        row([f"`{name}`", f"{milliseconds:.1f}"])


if __name__ == "__main__":
    main()
