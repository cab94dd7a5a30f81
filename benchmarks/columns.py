"""What columns of real tables are taken for, against what people say that they are.

    python benchmarks/columns.py DATA [--part build held_out]

DATA holds ABT_BUY, AMAZON_GOOGLE, DBLP_ACM, FEBRL4 and FODORS_ZAGATS, as far as they are there, unpacked. The labels
in column_labels.tsv were given by hand, before anything recognised columns; those of columns of packages are tests
(tests/io/columns). Each table is read as it comes, separators and all. Prints what is right, and what is not.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
from common import header, row

from mixtea import load_task

LABELS = Path(__file__).with_name("column_labels.tsv")
NO_GRAPH = [("a", "r", "b")]


def taken_for(path: Path) -> dict[str, str]:
    """Return what each column of a table is taken for."""
    source = load_task(source=path, target=NO_GRAPH).source
    return {column.name: column.kind for file in source.files for column in file.columns}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--part", nargs="*", default=["build", "held_out"])
    given = parser.parse_args()
    labels = pd.read_csv(LABELS, sep="\t", dtype=str, keep_default_na=False)
    header("part", "columns", "right", "share")
    wrong = []
    for part in given.part:
        n = right = 0
        for table, of_table in labels[labels["part"] == part].groupby("table"):
            if not (given.data / str(table)).exists():
                continue
            found = taken_for(given.data / str(table))
            for column, kind in of_table[["column", "kind"]].itertuples(index=False, name=None):
                n, right = n + 1, right + (found[column] in kind.split("|"))
                wrong += [(str(table), column, kind, found[column])] if found[column] not in kind.split("|") else []
        row([part, n, right, f"{right / max(n, 1):.3f}"])
    print()
    header("table", "column", "label", "taken for")
    for one in wrong:
        row(one)


if __name__ == "__main__":
    main()
