"""Two tables that change a little from day to day: what an update costs beside a new run, and `match` of one row.

    python benchmarks/update.py                     # 20,000 rows a side, 6 % of each side new, changed or gone
    python benchmarks/update.py --rows 2000 --changed .05

Names of two to four of 3,000 made-up words, a town and a year; on the target side with typos, words dropped and other
spellings of the columns; a tenth of either side has no counterpart. Prints a Markdown table. CPU seconds are of the
process and its children, without the time that loading Python's modules takes: each step is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from common import header, row

from mixtea import MixTEA, load_task
from mixtea.callbacks import Log
from mixtea.pipeline import train
from mixtea.runs.reader import StoredRun
from mixtea.update_run import update

LETTERS = ("bdfgklmnprstvz", "aeiou")


def words(rng: random.Random, n: int) -> list[str]:
    """Made-up words of two to four syllables, each once."""
    found: dict[str, None] = {}
    while len(found) < n:
        found["".join(rng.choice(LETTERS[0]) + rng.choice(LETTERS[1]) for _ in range(rng.randint(2, 4)))] = None
    return list(found)


def records(rng: random.Random, n: int, known: list[str]) -> list[tuple[str, str, str]]:
    """(name, town, year) of n things."""
    names = [" ".join(rng.sample(known, rng.randint(2, 4))).title() for _ in range(n)]
    return [(name, rng.choice(known[:200]).title(), str(rng.randint(1900, 2020))) for name in names]


def misspelt(rng: random.Random, name: str) -> str:
    """The name with a letter left out, or a word where there are several; half of them as they are."""
    kind, parts = rng.random(), name.split()
    if kind < 0.5:
        return name
    if kind < 0.6 and len(parts) > 2:
        return " ".join(parts[:-1])
    place = rng.randrange(1, len(name) - 1)
    return name[:place] + name[place + 1 :]


def write_table(path: Path, columns: tuple[str, ...], rows: dict[str, tuple[str, str, str]]) -> None:
    lines = [",".join(columns), *(",".join((id, *fields)) for id, fields in rows.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_day(folder: Path, n: int, changed: float) -> None:
    """Two tables as they are today, old-a.csv and old-b.csv, and tomorrow, a.csv and b.csv."""
    rng = random.Random(1)
    known = words(rng, 3000)
    new = round(changed * n / 3)  # as many change, and as many go
    things = records(rng, round(1.1 * n) + new, known)
    spelt = [(misspelt(rng, name), town, year) for name, town, year in things]
    first, last = round(0.1 * n), round(1.1 * n)
    for letter, (begin, end), said in (("a", (0, n), things), ("b", (first, last), spelt)):
        columns = ("id", "name", "town", "founded") if letter == "a" else ("id", "label", "city", "year")
        before = {f"{letter}{i}": said[i] for i in range(begin, end)}
        write_table(folder / f"old-{letter}.csv", columns, before)
        gone = set(rng.sample(sorted(before), new))
        now = {id: fields for id, fields in before.items() if id not in gone}
        now |= {id: (misspelt(rng, now[id][0]), *now[id][1:]) for id in rng.sample(sorted(now), new)}
        now |= {f"{letter}{i}": said[i] for i in range(last, last + new)}
        write_table(folder / f"{letter}.csv", columns, now)


def step(name: str, folder: Path) -> dict[str, Any]:
    """What one step takes, in CPU seconds and by the clock."""
    before = "old-" if name == "old" else ""
    began, clock = _cpu(), time.perf_counter()
    if name in ("old", "new", "update"):
        task = load_task(source=folder / f"{before}a.csv", target=folder / f"{before}b.csv", links_from="names")
        if name == "update":
            update(task, folder / "old", callbacks=Log())
        else:
            train(task, folder / name, callbacks=Log())
    else:
        aligner = MixTEA.load(folder / "old")
        row = {"id": "one", "name": "Vofu Mane Lilake", "town": "Daba", "founded": "1961"}
        aligner.match(row)
        began, clock = _cpu(), time.perf_counter()
        for _ in range(10):
            aligner.match(row)
        return {"cpu": (_cpu() - began) / 10, "clock": (time.perf_counter() - clock) / 10}
    return {"cpu": _cpu() - began, "clock": time.perf_counter() - clock}


def _cpu() -> float:
    return sum(os.times()[:4])


def mapped(run: Path) -> dict[str, str]:
    frame = StoredRun(run).answers_.mapping().pairs()
    return dict(zip(frame["source"], frame["target"], strict=True))


def near(folder: Path, ids: list[str]) -> str:
    """The share of sources whose best candidate is as likely by an update as by a new run, but for .1."""
    best = [StoredRun(folder / name).answers_.candidates(1).best().set_index("source") for name in ("old", "new")]
    first, second = (frame["probability"].reindex(ids) for frame in best)
    return f"{((first - second).abs() <= 0.1).mean():.4f}"


def told(before: dict[str, str], after: dict[str, str], new: dict[str, str], folder: Path) -> list[tuple[str, str]]:
    """Shares: of untouched sources with the same mapping, and of all where an update and a new run agree."""
    tables = [dict(line.split(",", 1) for line in (folder / f"{name}.csv").read_text().splitlines()) for name in
              ("old-a", "a", "old-b", "b")]  # fmt: skip
    untouched = [id for id in tables[1] if tables[0].get(id) == tables[1][id]]
    fixed = [id for id in untouched if id not in before or tables[2][before[id]] == tables[3].get(before[id])]
    touched = [id for id in tables[1] if id != "id" and id not in set(untouched)]
    right = [sum(found.get(id, "")[1:] == id[1:] for id in touched) for found in (after, new)]
    return [
        ("untouched sources and targets with the same mapping", _share(fixed, before, after)),
        ("the same of a new run", _share(fixed, before, new)),
        ("all sources about which update and new run agree", _share([*tables[1]], after, new)),
        ("new and changed sources whose probability is within .1 of a new run's", near(folder, touched)),
        (f"new and changed sources found, of {len(touched):,}", f"{right[0]:,}; by a new run {right[1]:,}"),
    ]


def _share(ids: list[str], one: dict[str, str], other: dict[str, str]) -> str:
    return f"{sum(one.get(id) == other.get(id) for id in ids) / max(len(ids), 1):.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--changed", type=float, default=0.06, help="share of a side that is new, changed or gone")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.step:
        print(json.dumps(step(args.step[0], Path(args.step[1]))))
        return
    header("of two tables", f"{args.rows:,} rows a side, {args.changed:.0%} of them touched")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_day(folder, args.rows, args.changed)
        seconds = {}
        for name_of in ("old", "new", "match", "update"):
            before = mapped(folder / "old") if name_of == "update" else {}
            done = subprocess.run([sys.executable, __file__, "--step", name_of, name], capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            seconds[name_of] = json.loads(done.stdout.splitlines()[-1])
        row(("a new run, CPU s", f"{seconds['new']['cpu']:.1f}"))
        row(("an update, CPU s", f"{seconds['update']['cpu']:.1f}"))
        row(("update / new run", f"{seconds['update']['cpu'] / seconds['new']['cpu']:.2f}"))
        for cells in told(before, mapped(folder / "old"), mapped(folder / "new"), folder):
            row(cells)
        row(
            (
                "match of one row, CPU s (by the clock)",
                f"{seconds['match']['cpu']:.2f} ({seconds['match']['clock']:.2f})",
            )
        )


if __name__ == "__main__":
    main()
