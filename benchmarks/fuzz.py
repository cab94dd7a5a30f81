"""Damaged files of every format: each is read or explained, whatever is in it.

    python benchmarks/fuzz.py [--n 100000] [--seed 1] [--jobs 2] [--w3c FOLDER] [--keep FOLDER]
    python benchmarks/fuzz.py --seed 1 --replay 4711

Good files (fuzz_seeds.py, and W3C's test files if their folder is named as for w3c.py) are mutated and read. Names,
values and vectors of what can be read are compared, as voters do (fuzz_compare.py). A case fails if anything but
mixtea's own error comes out of it, if that does not name the file and the place (where it is not the file as a whole
that is wrong), if the process dies, computes for more than 10 seconds, hangs or takes more than 2 GB. Failing files are
kept, with the command that replays them. Prints a table.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_mutations import mutated
from fuzz_seeds import Format, formats
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from mixtea.errors import MixTEAError

SECONDS, MIB = 10.0, 2000.0
HANGS = 300.0  # seconds by the clock, with which a machine that has other work is patient
LINE_EVERY = 5000  # cases, where there is no terminal for a bar
OK, REFUSED = "read", "explained"
# what says where it is wrong, also the name of a setting or of a column; and what is wrong with the whole
PLACE = re.compile(
    r"\b(?:line|row) [\d,]+|\bposition \d|end of document|[Ss]ettings?\b|must be |names .|holds '|a column of type "
)
WHOLE = re.compile(
    r"empty|no links among|not Parquet|gzip|zstd|UTF-(16|32) text|crashed|beyond the limit|more than [\d,]+ bytes|"
    r"blank nodes|@context lies|relative IRI without|"
    r"not safetensors|no column of vectors|vectors of [\d,]+ numbers?|none of its [\d,]+ ids|fits? the graphs|"
    r"columns, as (a graph has|links have)|and no header|a web page|which is not read|an alignment without|"
    r"holds no table|no row after its header|"
    r"no link among|two columns named|where a graph is needed|a zip archive|Git LFS|"
    r"not Excel|an empty sheet|a workbook without|XML with a document type|"
    r"not SQLite|tables, and none|SQLite says|not in the file yet"
)


@dataclass(frozen=True)
class Case:
    """A number is all that a case depends on, besides the seed."""

    seed: int
    number: int

    def made(self, known: dict[str, Format]) -> tuple[Format, bytes]:
        chance = random.Random(f"{self.seed} {self.number}")
        kind = known[chance.choices([*known], [one.weight for one in known.values()])[0]]
        good = kind.good[chance.randrange(len(kind.good))]
        other = kind.good[chance.randrange(len(kind.good))]
        return kind, mutated(good, other, kind, chance)


def verdict(case: Case, known: dict[str, Format], folder: Path) -> tuple[str, str]:
    """(the format, what came of it): read, explained, or why it failed."""
    kind, data = case.made(known)
    path = kind.lay(folder, data)
    before, children = computed(), children_mib()
    peak_mib(reset=True)
    try:
        kind.read(path)
        found = OK
    except MixTEAError as error:
        found = judged(str(error), str(kind.named(path)))
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        found = f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {str(error)[:200]}"
    peak = max(peak_mib(), mib if (mib := children_mib()) > children else 0)
    if found in (OK, REFUSED) and computed() - before > SECONDS:
        found = f"took {computed() - before:.0f} seconds"
    if found in (OK, REFUSED) and peak > MIB:
        found = f"took {peak:.0f} MiB"
    return kind.name, found


def judged(message: str, file: str) -> str:
    """Whether it says what is wrong with which file, and where."""
    if file not in message:
        return f"does not name the file: {message}"
    return REFUSED if PLACE.search(message) or WHOLE.search(message) else f"does not name the place: {message}"


def computed() -> float:
    """Seconds that this process and its children have computed."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def peak_mib(*, reset: bool = False) -> float:
    """The most memory that this process has held since the last reset."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024


def children_mib() -> float:
    """The most memory that any child has held, ever: what a case adds shows in its growth alone."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def worker(numbers: Connection, results: Connection, seed: int, w3c: Path | None) -> None:
    """Take numbers, give verdicts; one word before each case tells who is to blame if the process dies in it."""
    known = formats(w3c)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 2)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        while (number := numbers.recv()) is not None:
            results.send((number, *verdict(Case(seed, number), known, Path(folder))))


class Job:
    """A worker, what it works on, and since when."""

    def __init__(self, seed: int, w3c: Path | None) -> None:
        context = get_context("spawn")
        theirs, self.numbers = context.Pipe(duplex=False)
        self.results, answers = context.Pipe(duplex=False)
        self.process = context.Process(target=worker, args=(theirs, answers, seed, w3c), daemon=False)
        self.process.start()
        theirs.close()
        answers.close()
        self.number, self.since = -1, 0.0

    def give(self, number: int) -> None:
        self.number, self.since = number, time.monotonic()
        self.numbers.send(number)

    def take(self) -> tuple[int, str, str] | None:
        """The verdict, if there is one; of a worker that is dead or hangs, that."""
        try:
            if self.results.poll():
                return self.results.recv()
        except EOFError:
            self.process.join()
            return self.number, "", f"the process died ({self.process.exitcode})"
        if time.monotonic() - self.since > HANGS:
            self.stop()
            return self.number, "", f"took more than {HANGS:.0f} seconds"
        return None

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


class Fuzz:
    """Hands out cases to workers, replaces those that die, and counts."""

    def __init__(self, seed: int, w3c: Path | None, keep: Path) -> None:
        self.seed, self.w3c, self.keep, self.known = seed, w3c, keep, formats(w3c)
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in self.known}
        self.failures: list[str] = []

    def run(self, n: int, n_jobs: int, progress: Progress) -> None:
        bar, numbers = progress.add_task("fuzz", total=n), iter(range(n))
        jobs = [Job(self.seed, self.w3c) for _ in range(n_jobs)]
        running = {job: number for job in jobs if (number := next(numbers, None)) is not None}
        for job, number in running.items():
            job.give(number)
        while running:
            wait([job.results for job in running], timeout=1)
            for job in [*running]:
                found = job.take()
                if found is None:
                    continue
                self.count(*found)
                progress.update(bar, advance=1, description=f"{len(self.failures)} failed")
                if progress.disable and (done := progress.tasks[bar].completed) % LINE_EVERY == 0:
                    progress.console.print(f"{done:,.0f} of {n:,}, {len(self.failures)} failed", highlight=False)
                running.pop(job)
                if not job.process.is_alive():
                    job = Job(self.seed, self.w3c)
                    jobs.append(job)
                if (number := next(numbers, None)) is not None:
                    running[job] = number
                    job.give(number)
        for job in jobs:
            job.stop()

    def count(self, number: int, name: str, found: str) -> None:
        if found in (OK, REFUSED):
            self.counts[name][found] += 1
        else:
            kind, data = Case(self.seed, number).made(self.known)
            self.counts[kind.name]["failed"] += 1
            folder = self.keep / f"{self.seed}-{number}"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            kind.lay(folder, data)
            self.failures.append(
                f"{kind.name}: {found}\n  kept in {folder}; python {sys.argv[0]} --seed {self.seed} --replay {number}"
            )

    def table(self) -> Table:
        table = Table("format", "cases", OK, REFUSED, "failed", title=f"seed {self.seed}", title_justify="left")
        total = Counter[str]()
        for name, counts in self.counts.items():
            total += counts
            table.add_row(name, *(f"{n:,}" for n in (counts.total(), counts[OK], counts[REFUSED], counts["failed"])))
        table.add_row("all", *(f"{n:,}" for n in (total.total(), total[OK], total[REFUSED], total["failed"])))
        return table


def fuzzed(n: int, seed: int, n_jobs: int, w3c: Path | None, keep: Path, console: Console) -> Fuzz:
    fuzz = Fuzz(seed, w3c, keep)
    columns: list[Any] = [TextColumn("{task.description}"), MofNCompleteColumn(), BarColumn(bar_width=30)]
    columns += [TimeElapsedColumn(), TextColumn("about"), TimeRemainingColumn(), TextColumn("left")]
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        fuzz.run(n, n_jobs, progress)
    return fuzz


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=100_000, help="cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--w3c", type=Path, help="the folder with ntriples, nquads, turtle, trig and rdf-xml")
    parser.add_argument("--keep", type=Path, default=Path("fuzz_failures"), help="for files that fail")
    parser.add_argument("--replay", type=int, metavar="NUMBER", help="one case, here and with its traceback")
    args = parser.parse_args()
    if args.replay is not None:
        kind, data = Case(args.seed, args.replay).made(formats(args.w3c))
        with tempfile.TemporaryDirectory() as folder:
            kind.read(kind.lay(Path(folder), data))
        return
    started = time.monotonic()
    fuzz = fuzzed(args.n, args.seed, args.jobs, args.w3c, args.keep, Console())
    Console().print(fuzz.table())
    print(f"{args.n:,} cases in {time.monotonic() - started:.0f} seconds")
    print("\n".join(fuzz.failures))
    sys.exit(bool(fuzz.failures))


if __name__ == "__main__":
    main()
