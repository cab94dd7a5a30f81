"""A whole `mixtea fit` of two tables without links: CPU seconds, peak memory, and how good the mapping is.

    python benchmarks/table_sizes.py [--sizes 2500 22000] [--pairs 2000] [--seed 1] [--keep FOLDER]

Ten columns hold words, numbers, dates, codes and cities, made from a seed. The targets of true pairs are copies with
typos, other forms of a number or a date, and missing cells; all other rows are of their own. The columns of the two
tables have other names. Measured is the process of the command, from its start to the run folder. `--keep` leaves the
tables, reference.tsv and the run there.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from common import header, row

CONSONANTS = "bcdfghklmnprstvz"
SOURCE = ("title", "maker", "description", "price", "weight", "released", "sku", "city", "category", "stock")
TARGET = ("name", "brand", "text", "cost", "mass", "date", "code", "place", "kind", "units")
SPARSE = 6  # the column of which half of the cells are missing in the target


class Words:
    """Words of a seed: frequent ones come again and again, as in any text."""

    def __init__(self, rng: random.Random, n: int = 6000) -> None:
        self.rng = rng
        self.words = ["".join(map(self._syllable, range(rng.randint(2, 5)))) for _ in range(n)]
        self.makers = [self.words[place].title() for place in rng.sample(range(n), 300)]
        self.cities = [self.words[place].title() for place in rng.sample(range(n), 400)]
        self.kinds = [" ".join(rng.choices(self.words[:200], k=2)) for _ in range(40)]

    def _syllable(self, _: int) -> str:
        return self.rng.choice(CONSONANTS) + self.rng.choice("aeiou")

    def some(self, low: int, high: int) -> str:
        n = len(self.words)
        return " ".join(self.words[int(n * self.rng.random() ** 2)] for _ in range(self.rng.randint(low, high)))

    def row(self) -> list[str]:
        rng = self.rng
        date = f"{rng.randint(1980, 2024)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        code = f"{rng.choice('ABCDEFGH')}{rng.choice('KLMNOP')}-{rng.randint(1000, 99999)}"
        return [
            self.some(2, 5), rng.choice(self.makers), self.some(6, 20), f"{rng.uniform(1, 900):.2f}",
            f"{rng.uniform(0.1, 60):.1f} kg", date, code, rng.choice(self.cities), rng.choice(self.kinds),
            str(rng.randint(0, 500)),
        ]  # fmt: skip

    def copied(self, cells: Sequence[str]) -> list[str]:
        """The same thing in the other table."""
        rng, found = self.rng, list(cells)
        found[0], found[2] = self._typed(found[0]), " ".join(found[2].split()[: rng.randint(3, 20)])
        found[3] = f"{float(found[3]) * rng.choice((1, 1, 1, 1.05)):.2f}"
        found[5] = "/".join(reversed(found[5].split("-"))) if rng.random() < 0.5 else found[5]
        found[9] = str(rng.randint(0, 500))
        for column in range(1, len(found)):
            if rng.random() < (0.5 if column == SPARSE else 0.15):
                found[column] = ""
        return found

    def _typed(self, text: str) -> str:
        place, words = self.rng.randrange(len(text)), text.split()
        kind = self.rng.randrange(4)
        if kind == 0:
            return text[:place] + text[place + 1 :]
        if kind == 1:
            self.rng.shuffle(words)
        elif kind == 2 and len(words) > 2:
            words.pop()
        return " ".join(words)


def write_tables(folder: Path, sizes: Sequence[int], n_pairs: int, seed: int) -> None:
    """source.csv, target.csv and reference.tsv, in random order."""
    words = Words(random.Random(seed))
    source = [words.row() for _ in range(sizes[0])]
    target = [words.copied(cells) for cells in source[:n_pairs]] + [words.row() for _ in range(sizes[1] - n_pairs)]
    order = [words.rng.sample(range(n), n) for n in sizes]
    for name, columns, rows, places in (("source", SOURCE, source, order[0]), ("target", TARGET, target, order[1])):
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("id", *columns))
            writer.writerows((f"{name[0]}{place}", *rows[place]) for place in places)
    pairs = "".join(f"s{place}\tt{place}\n" for place in range(n_pairs))
    (folder / "reference.tsv").write_text(pairs, encoding="utf-8")


def measured(folder: Path) -> tuple[float, float, float]:
    """(CPU seconds, seconds, peak MiB) of the command."""
    graphs = [f"--{side}={folder / side}.csv" for side in ("source", "target")]
    command = [sys.executable, "-m", "mixtea", "fit", *graphs, "--links-from=names", f"--out={folder / 'run'}"]
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "--overwrite"], check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - began
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, seconds, after.ru_maxrss / 1024


def scored(folder: Path) -> tuple[float, float]:
    """(Precision, recall) of the mapping."""
    from mixtea import MixTEA

    pairs = MixTEA.load(folder / "run", device="cpu").map().pairs()
    truth = {tuple(line.split("\t")) for line in (folder / "reference.tsv").read_text("utf-8").splitlines()}
    right = len(truth & set(zip(pairs["source"], pairs["target"], strict=True)))
    return right / max(len(pairs), 1), right / len(truth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs=2, default=(2500, 22000), help="rows of the source and the target")
    parser.add_argument("--pairs", type=int, default=2000, help="rows of the source that the target has too")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    if asked.keep is not None:
        asked.keep.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() if asked.keep is None else nullcontext(asked.keep) as place:
        folder = Path(place)
        write_tables(folder, asked.sizes, asked.pairs, asked.seed)
        cpu, seconds, mib = measured(folder)
        precision, recall = scored(folder)
    header("rows", "true pairs", "CPU s", "s", "peak MiB", "precision", "recall")
    sizes = " x ".join(f"{n:,}" for n in asked.sizes)
    row([sizes, f"{asked.pairs:,}", f"{cpu:.1f}", f"{seconds:.1f}", f"{mib:,.0f}", f"{precision:.3f}", f"{recall:.3f}"])


if __name__ == "__main__":
    main()
