"""What the attribute triples and labels of a graph take in memory, a row.

    python benchmarks/graph_memory.py [--triples 1000000] [FOLDER ...]

For synthetic triples and for the source graph of each benchmark folder, in bytes a row: the columns of the graph; the
text itself in UTF-8, each row's own; and the same rows as a list of tuples, in which ids, predicates, languages and
datatypes are shared and each value is an object, as reading makes them. The tuples are measured by tracemalloc.
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import header, row

from mixtea import load_task
from mixtea.graph.entity_table import Attributes, EntityTable
from mixtea.graph.graph import Graph
from mixtea.graph.labels import LABEL_RANKS, Labels
from mixtea.graph.text_column import TextColumn

LABEL = next(iter(LABEL_RANKS))
LANGUAGES = ("en", "de", "fr", "")


def synthetic(n: int) -> Graph:
    """Of four triples one is a label, one a long text, one a short code of few and one a number."""
    rng = np.random.default_rng(0)
    entity = np.sort(rng.integers(0, max(n // 5, 1), n))
    kind, number = rng.integers(0, 4, n), rng.integers(0, 10**9, n)
    texts = [
        (f"Label of {i}", f"A longer text that says what entity {i} is about", f"code {i % 100}", str(i))[k]
        for k, i in zip(kind.tolist(), number.tolist(), strict=True)
    ]
    predicates = [
        LABEL if k == 0 else f"http://example.org/property/{k}.{i % 10}" for k, i in zip(kind, number, strict=True)
    ]
    languages = [LANGUAGES[i % 4] if k == 0 else "" for k, i in zip(kind.tolist(), number.tolist(), strict=True)]
    datatypes = ["http://www.w3.org/2001/XMLSchema#integer" if k == 3 else "" for k in kind]
    attributes = Attributes.from_columns(entity, predicates, texts, languages, datatypes).as_set()
    ids = np.array([f"http://example.org/resource/{i}" for i in range(int(entity[-1]) + 1)], dtype=object)
    none, empty = np.empty((0, 3), dtype=np.int64), np.empty(0, dtype=object)
    return Graph(ids, empty, none, attributes, Labels.of_attributes(attributes).as_set())


def tuples(graph: Graph, table: EntityTable, text: TextColumn) -> Callable[[], list[tuple[str, ...]]]:
    """What makes the list of tuples; what they share is there before."""
    columns = [getattr(table, name) for name, kind in table.COLUMN_TYPES.items() if kind is TextColumn]
    others = [column.tolist() for column in columns if column is not text]
    ids = [graph.ids[i] for i in table.entity.tolist()]
    return lambda: [(ids[i], text[i], *(values[i] for values in others)) for i in range(len(table))]


def measured(make: Callable[[], object]) -> int:
    """The bytes that stay allocated by what is made."""
    tracemalloc.start()
    kept = make()
    found = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del kept
    return found


def show(name: str, graph: Graph) -> None:
    for what, table, text in (
        ("attribute triples", graph.attributes, graph.attributes.value),
        ("labels", graph.labels, graph.labels.text),
    ):
        if n := len(table):
            bare = int(np.diff(text.offsets)[text.codes].sum())
            naive = measured(tuples(graph, table, text))
            sizes = [f"{size / n:.1f}" for size in (bare, table.nbytes, naive)]
            row([name, what, f"{n:,}", f"{text.n_texts:,}", *sizes, f"{naive / table.nbytes:.1f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--triples", type=int, default=1_000_000)
    args = parser.parse_args()
    header("graph", "rows", "number", "different texts", "bare text, B", "columns, B", "tuples, B", "ratio")
    show("synthetic", synthetic(args.triples))
    for folder in args.folders:
        show(folder.name, load_task(folder).source)


if __name__ == "__main__":
    main()
