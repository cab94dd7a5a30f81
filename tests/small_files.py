"""Small files of graphs and links, written out and read."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
from conftest import write

from mixtea.errors import Problems
from mixtea.io.load_graph import read_graph

E = "http://e.org/"


def parquet(columns, **types):
    """The bytes of a Parquet file with these columns."""
    table = pa.table({name: pa.array(values, type=types.get(name)) for name, values in columns.items()})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def excel(sheets):
    """The bytes of a workbook: rows of cells by the names of its sheets."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def sqlite(tables, *more):
    """The bytes of a database: by the names of its tables their columns and rows; and what else is done there."""
    with closing(sqlite3.connect(":memory:")) as base:
        for name, (columns, rows) in tables.items():
            base.execute(f"CREATE TABLE {name} ({columns})")
            signs = ", ".join("?" * (columns.count(",") + 1))
            base.executemany(f"INSERT INTO {name} VALUES ({signs})", rows)
        for statement in more:
            base.execute(statement)
        base.commit()
        return base.serialize()


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
