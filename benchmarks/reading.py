"""How fast and in how much memory triples and tables are read into arrays.

    python benchmarks/reading.py [--triples 1000000] [--only wide.csv]

Writes temporary files of the same synthetic triples with IRIs of a usual length, one a format, and of tables with an
entity in each row, as many of them; reads each three times in a process of its own. The ratio is to the plain work on
the same file in the same process: reading and splitting the lines of .tsv and .csv, pyarrow.csv.read_csv of tables,
going through pyoxigraph's statements of RDF and doing nothing with them, lists of text from Parquet by pyarrow. The two
are timed in turns, in CPU seconds of all threads, and the best times compared. Memory is the peak of the process,
and how much of it reading has added to what it had after its imports.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyoxigraph as ox
from pyarrow import csv

from mixtea.errors import Problems
from mixtea.io.load_graph import read_graph

RDF = {".nt": ox.RdfFormat.N_TRIPLES, ".ttl": ox.RdfFormat.TURTLE}
LITERALS = "literals.nt"  # long ones full of escapes, which a parser may read again and again
WIDE, QUOTED = "wide.csv", "quoted.csv"  # tables: an id, a name, one of 500 towns, a price and a date; ids in disorder
FILES = (
    LITERALS, "triples.tsv", "triples.csv", "triples.parquet", "triples.nt", "triples.nt.gz", "triples.ttl",
    WIDE, QUOTED,
)  # fmt: skip
LONG = 10_000_000  # characters of such a literal
ENTITY, RELATION = "http://example.org/resource/E", "http://example.org/ontology/r"


def write_tables(folder: Path, n: int, seed: int = 1) -> None:
    """Tables of a million rows are 60 MB each; in the second names are quoted, and ids shuffled."""
    random = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words, towns = (
        ["".join(random.choice(letters, size)) for size in random.integers(4, 10, k)] for k in (50_000, 500)
    )
    days = (np.datetime64("1970-01-01") + random.integers(0, 20_000, n)).astype(str).tolist()
    prices, of_town = (random.integers(100, 10**6, n) / 100).tolist(), random.integers(0, len(towns), n).tolist()
    names = [
        " ".join(words[word] for word in picked[:size])
        for picked, size in zip(
            random.integers(0, len(words), (n, 4)).tolist(), random.integers(2, 5, n).tolist(), strict=True
        )
    ]
    for name, quote, order in ((WIDE, "", np.arange(n)), (QUOTED, '"', random.permutation(n))):
        with (folder / name).open("w", encoding="utf-8") as file:
            file.write("id,name,city,price,date\n")
            for row, id in enumerate(order.tolist()):
                file.write(
                    f"P{id:07},{quote}{names[row]}{quote},{towns[of_town[row]].title()},{prices[row]:.2f},{days[row]}\n"
                )


def write_all(folder: Path, n: int) -> None:
    from synthetic import synthetic_pair

    triples = synthetic_pair(n // 3, n).source.triples.tolist()
    full = [(f"{ENTITY}{h}", f"{RELATION}{r}", f"{ENTITY}{t}") for h, r, t in triples]
    (folder / "triples.tsv").write_text("".join(f"{h}\t{r}\t{t}\n" for h, r, t in full), encoding="utf-8")
    (folder / "triples.csv").write_text("".join(f"{h},{r},{t}\n" for h, r, t in full), encoding="utf-8")
    (folder / "triples.nt").write_text("".join(f"<{h}> <{r}> <{t}> .\n" for h, r, t in full), encoding="utf-8")
    (folder / "triples.nt.gz").write_bytes(gzip.compress((folder / "triples.nt").read_bytes(), 5))
    head = f"@prefix e: <{ENTITY[:-1]}> .\n@prefix o: <{RELATION[:-1]}> .\n"
    turtle = "".join(f"e:E{h} o:r{r} e:E{t} .\n" for h, r, t in triples)
    (folder / "triples.ttl").write_text(head + turtle, encoding="utf-8")
    escaped = 'x\\n\\"\\u00e9' * (LONG // 11)
    long = "".join(f'<{ENTITY}{i}> <{RELATION}> "{escaped}" .\n' for i in range(6))
    (folder / LITERALS).write_text(long, encoding="utf-8")
    names = ("head", "relation", "tail")
    pq.write_table(pa.table(dict(zip(names, zip(*full, strict=True), strict=True))), folder / "triples.parquet")


def plain_work(path: Path) -> Callable[[], Any]:
    """The least that any reader of this format has to do."""
    if path.name in (WIDE, QUOTED):
        return lambda: csv.read_csv(path)
    if path.suffix == ".parquet":
        return lambda: [column.to_pylist() for column in pq.read_table(path).columns]
    if path.suffix in (".tsv", ".csv"):
        sign = "\t" if path.suffix == ".tsv" else ","
        return lambda: [line.split(sign) for line in path.read_text(encoding="utf-8").split("\n")]

    def statements() -> None:
        file: Any
        ending = "." + path.name.removesuffix(".gz").rpartition(".")[2]
        if path.name == LITERALS:
            deque(ox.parse(path.read_bytes(), format=RDF[ending]), maxlen=0)
            return
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            deque(ox.parse(file, format=RDF[ending]), maxlen=0)

    return statements


def peak_mib() -> float:
    """Of this process alone: the peak that getrusage tells includes that of the process which has started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def seconds(work: Callable[[], Any]) -> float:
    before = _cpu_seconds()
    work()
    return _cpu_seconds() - before


def _cpu_seconds() -> float:
    """Of all threads, and of the processes that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def measure(path: Path) -> dict[str, float]:
    """In this process; our memory first, before the plain work can raise the peak."""
    before, problems = peak_mib(), Problems()
    ours = [seconds(lambda: read_graph(path, problems))]
    peak = peak_mib()
    plain = []
    for _ in range(2):
        plain.append(seconds(plain_work(path)))
        ours.append(seconds(lambda: read_graph(path, problems)))
    graph = read_graph(path, problems)
    problems.raise_if_any()
    n = graph.n_triples + graph.n_attribute_triples
    return dict(triples=n, ours=min(ours), plain=min(plain), peak=peak, added=peak - before)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, default=1_000_000)
    parser.add_argument("--only", choices=FILES, nargs="*", default=FILES, metavar="FILE")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure)))
        return
    from common import header, row

    with tempfile.TemporaryDirectory() as folder:
        if not {WIDE, QUOTED}.issuperset(args.only):
            write_all(Path(folder), args.triples)
        write_tables(Path(folder), args.triples)
        header("file", "triples", "MB", "plain work, s", "mixtea, s", "ratio", "peak MiB", "of it for reading")
        for name in args.only:
            path = Path(folder) / name
            done = subprocess.run([sys.executable, __file__, "--measure", path], capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            found = json.loads(done.stdout)
            times = [f"{found['plain']:.2f}", f"{found['ours']:.2f}", f"{found['ours'] / found['plain']:.1f}"]
            sizes = [f"{found['triples']:,}", f"{path.stat().st_size / 1e6:.0f}"]
            row([path.name, *sizes, *times, f"{found['peak']:.0f}", f"{found['added']:.0f}"])


if __name__ == "__main__":
    main()
