"""The same two tables in whatever holds them: do ids, names and mapping stay the same, and what is found without links?

    python benchmarks/table_formats.py DATA [--sets ABT_BUY AMAZON_GOOGLE DBLP_ACM] [--keep FOLDER]

DATA holds the sets, unpacked: `source.csv`, `target.csv` and `gt.csv` as they come, with a separator of their own. Row
by row of the table:

commands    `mixtea fit`, `export` and `evaluate` on these three files, without any option but files
Python      the five lines of `five_lines` on data frames of the same files, with pandas' own types
others      both tables written as that container, all cells as text or with the types that they hold, and read by
            load_task; of SQLite a query

Equal means equal to what the commands read and found: all ids in their order, the name of each entity, all mapped
pairs. The last but one column is the largest difference between two probabilities of a pair. F1 is of the whole
mapping.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, nullcontext
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pandas as pd
import pyarrow as pa
from common import header, row

from mixtea import MixTEA, Task, evaluate, load_task
from mixtea.runs.reader import StoredRun

SEPARATORS = {"ABT_BUY": "|", "AMAZON_GOOGLE": "#", "DBLP_ACM": "%"}
SIDES = ("source", "target")
Found = dict[tuple[str, str], float]  # mapped pairs, and their probabilities
Seen = tuple[list[list[str]], list[list[str | None]], Found, float]  # ids and names per side, mapping, F1


def frame(path: Path, typed: bool) -> pd.DataFrame:
    """Read a table as it comes; a cell is missing only where it is empty."""
    kind: Any = {} if typed else {"dtype": str}
    return pd.read_csv(path, sep=SEPARATORS[path.parent.name], keep_default_na=False, na_values=[""], **kind)


def five_lines(folder: Path) -> tuple[Task, MixTEA, float]:
    """Map two data frames, and score the mapping by a third."""
    source, target, truth = (pd.read_csv(folder / f"{name}.csv", sep=SEPARATORS[folder.name]) for name in
                             (*SIDES, "gt"))  # fmt: skip
    task = load_task(source=source, target=target)
    aligner = MixTEA().fit(task)
    scores = evaluate(aligner.map(), truth).scores
    return task, aligner, float(scores["f1"])


def write_jsonl(path: Path, table: pd.DataFrame) -> None:
    rows = json.loads(table.to_json(orient="records"))
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")


def write_excel(path: Path, table: pd.DataFrame) -> None:
    table.to_excel(path, index=False)


def write_database(path: Path, table: pd.DataFrame) -> None:
    with closing(sqlite3.connect(path)) as base:
        table.to_sql("things", base, index=False)
        table.head(0).to_sql("others", base, index=False)  # so that a query is needed


FILES: dict[str, Callable[[Path, pd.DataFrame], None]] = {
    ".csv": lambda path, table: table.to_csv(path, index=False, quoting=csv.QUOTE_MINIMAL),
    ".tsv": lambda path, table: table.to_csv(path, index=False, sep="\t"),
    ".parquet": lambda path, table: table.to_parquet(path, index=False),
    ".jsonl": write_jsonl,
    ".xlsx": write_excel,
    ".db": write_database,
}
OBJECTS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda table: table,
    "pyarrow": pa.Table.from_pandas,
    "list of dictionaries": lambda table: [
        {name: cell for name, cell in one.items() if not pd.isna(cell)} for one in table.to_dict(orient="records")
    ],
}
if find_spec("polars"):  # which the tests do without
    OBJECTS["Polars"] = lambda table: import_module("polars").from_pandas(table)
TYPES = {"text": False, "typed": True}


def given(folder: Path, place: Path, held: str, typed: bool) -> dict[str, Any]:
    """The options of load_task for both tables in that container."""
    options: dict[str, Any] = {}
    for side in SIDES:
        table = frame(folder / f"{side}.csv", typed)
        if held in OBJECTS:
            options[side] = OBJECTS[held](table)
            continue
        options[side] = place / f"{side}-{'typed' if typed else 'text'}{held}"
        FILES[held](options[side], table)
        if held == ".db":
            options[side], options[f"{side}_query"] = f"sqlite:{options[side]}", "SELECT * FROM things"
    return options


def seen(task: Task, found: Found, truth: set[tuple[str, str]] | float) -> Seen:
    """What was read and found."""
    graphs = [task.source, task.target]
    names = [[graph.label(index) for index in range(len(graph.ids))] for graph in graphs]
    f1 = truth if isinstance(truth, float) else 2 * len(truth & found.keys()) / (len(truth) + len(found))
    return [graph.ids.tolist() for graph in graphs], names, found, f1


def pairs(one: MixTEA | StoredRun) -> Found:
    mapped = one.answers_.mapping().pairs()[["source", "target", "probability"]]
    return {(source, target): sure for source, target, sure in mapped.to_numpy().tolist()}


def by_commands(folder: Path, place: Path) -> Seen:
    """Run the three commands."""
    files = [f"--{side}={folder / side}.csv" for side in SIDES]
    run, out = place / "run", place / "out.csv"
    _mixtea("fit", *files, f"--out={run}", "--overwrite")
    _mixtea("export", str(run), f"--out={out}", "--overwrite")
    printed = _mixtea("evaluate", str(out), f"--reference={folder / 'gt.csv'}")
    line = re.search(r"^all .*", printed, re.MULTILINE)
    assert line
    f1 = float(line[0].split()[-1])
    stored, mapped = pairs(StoredRun(run)), pd.read_csv(out, dtype=str)
    assert list(zip(mapped["source"], mapped["target"], strict=True)) == list(stored)  # the file says the same
    return seen(load_task(source=folder / "source.csv", target=folder / "target.csv"), stored, f1)


def _mixtea(*words: str) -> str:
    done = subprocess.run([sys.executable, "-m", "mixtea", *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def told(name: str, held: str, cells: str, found: Seen, first: Seen) -> None:
    """One row, beside what the commands found."""
    (ids, names, mapping, f1), entities = found, " + ".join(f"{len(side):,}" for side in found[0])
    equal = [ids == first[0], names == first[1], mapping.keys() == first[2].keys()]
    apart = max((abs(sure - first[2][pair]) for pair, sure in mapping.items() if pair in first[2]), default=0)
    words = ["yes" if one else "no" for one in equal]
    words[2] += "" if equal[2] else f" ({len(mapping.keys() ^ first[2].keys())} pairs differ)"
    row([name, held, cells, entities, *words, f"{apart:.4f}", f"{f1:.3f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SEPARATORS, default=list(SEPARATORS))
    parser.add_argument("--keep", type=Path, help="a folder for the files and runs")
    asked = parser.parse_args()
    header("set", "tables", "cells", "entities", "ids", "names", "mapping equal", "probabilities", "F1")
    for name in asked.sets:
        folder = asked.data / name
        with TemporaryDirectory() if asked.keep is None else nullcontext(asked.keep / name) as holder:
            place = Path(holder)
            place.mkdir(parents=True, exist_ok=True)
            first = by_commands(folder, place)
            told(name, f"commands: .csv with {SEPARATORS[name]!r}".replace("|", "bars"), "text", first, first)
            task, aligner, f1 = five_lines(folder)
            told(name, "Python: frames of pandas", "typed", seen(task, pairs(aligner), f1), first)
            truth = set(frame(folder / "gt.csv", typed=False).itertuples(index=False, name=None))
            for held in (*FILES, *OBJECTS):
                for cells, typed in TYPES.items():
                    task = load_task(**given(folder, place, held, typed))
                    told(name, held, cells, seen(task, pairs(MixTEA().fit(task)), truth), first)


if __name__ == "__main__":
    main()
