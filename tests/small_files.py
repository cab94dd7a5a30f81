"""Small files of graphs and links, written out and read."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
from conftest import write

from mixtea.data.graph_files import read_graph
from mixtea.errors import Problems

E = "http://e.org/"


def parquet(columns, **types):
    """The bytes of a Parquet file with these columns."""
    table = pa.table({name: pa.array(values, type=types.get(name)) for name, values in columns.items()})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def graph_of(folder, files, *, strict=False, **options):
    """The graph of these files; an error if there is a problem."""
    write(folder, files)
    problems = Problems(strict=strict)
    graph = read_graph([folder / name for name in files], problems, **options)
    problems.raise_if_any()
    return graph


def shown(graph):
    """The label that is shown of each entity that has one, by id."""
    labels = {str(name): graph.label(i) for i, name in enumerate(graph.ids)}
    return {name: label for name, label in labels.items() if label is not None}


def triples_of(graph):
    return [(graph.ids[h], graph.relations[r], graph.ids[t]) for h, r, t in graph.triples]
