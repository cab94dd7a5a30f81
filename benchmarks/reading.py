"""How fast triples are read: a million tab-separated lines into arrays.

    python benchmarks/reading.py [--triples 1000000]

Writes a temporary file of synthetic triples with IRIs of a usual length and reads it, three times. The ratio is to a
plain read and split of the same file.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from common import header, row
from synthetic import synthetic_pair

from mixtea.data.graph import read_graph
from mixtea.errors import Problems


def write(path: Path, n: int) -> None:
    graph = synthetic_pair(n // 3, n).source
    lines = (
        f"http://example.org/resource/E{h}\thttp://example.org/ontology/r{r}\thttp://example.org/resource/E{t}\n"
        for h, r, t in graph.triples.tolist()
    )
    path.write_text("".join(lines), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, default=1_000_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "triples.tsv"
        write(path, args.triples)
        started = time.perf_counter()
        [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")]
        plain = time.perf_counter() - started
        times = []
        for _ in range(3):
            started = time.perf_counter()
            graph = read_graph(path, Problems())
            times.append(time.perf_counter() - started)
        header("triples", "entities", "MB", "s", "ratio to a plain split")
        size = path.stat().st_size / 1e6
        row(
            [
                f"{graph.n_triples:,}",
                f"{graph.n_entities:,}",
                f"{size:.0f}",
                f"{min(times):.2f}",
                f"{min(times) / plain:.1f}",
            ]
        )


if __name__ == "__main__":
    main()
