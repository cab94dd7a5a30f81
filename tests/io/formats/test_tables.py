"""Arrow and the careful reader give the same cells; what is odd is left to the careful one."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from conftest import write
from hypothesis import given
from hypothesis import strategies as st
from small_files import graph_of

from mixtea.errors import Problems
from mixtea.io.formats import tables
from mixtea.io.formats.registry import read_graph_data
from mixtea.io.formats.tables import csv_rows, read_fast, read_layout
from mixtea.io.safe.limits import Limits, use_limits
from mixtea.io.table_layout import Layout

ODD_CELLS = 'NA,null,1e5,\n007, x ,nan,True\n"a,b","say ""hi""","",\né,#,-0,2020-01-31\n""""""," ","#",\'\n'
PLAIN = {
    "odd cells": ODD_CELLS,
    "Windows line ends": ODD_CELLS.replace("\n", "\r\n"),
    "no last line end": ODD_CELLS[:-1],
    "empty cells": ",,,\n,,,x\n",
    "literal quotes": 'a,5" disk,7",x\nb,"\n'.replace('b,"', 'b,c,d"e"f,g'),
    "a wide space": "\u3000,\xa0,\u2028,\x85\n",
    "long lines": ("a" * (tables.ARROW_BLOCK_BYTES + 1) + ",b,c,d\n") * 2,
    "a mark inside": "a,b,c,\ufeff\n",
}
ODD = {
    "a line end in quotes": 'a,b,"c\nd",e\n',
    "blank lines": "a,b,c,d\n\na,b,c,e\n",
    "a blank line first": "\na,b,c,e\n",
    "a comment": "a,b,c,d\n# e\n",
    "a row that begins like a comment": "#a,b,c,d\n",
    "old line ends": "a,b,c,d\re,f,g,h\r",
    "a NUL": "a,b,c,d\0\n",
    "a mark at the beginning": "\ufeff\ufeffa,b,c,d\n",
    "quotes after a quoted field": 'a,"b" c,d,e\n',
    "quotes before one": 'a,b "c",d,"e"\n',
    "an open quote": 'a,b,c,"d\n',
    "a narrow row": "a,b,c,d\na,b,c\n",
    "a wide row": "a,b,c,d,e\n",
    "spaces": "a,b,c,d\n \n",
    "not UTF-8": b"a,b,c,d\xe9\n\xc3\xa9,b,c,d\n",
    "nothing": "",
}
LAYOUT = Layout(",", (0, 1, 2, 3), 4)


@pytest.fixture(autouse=True)
def _small_files_too(monkeypatch):
    monkeypatch.setattr(tables, "MIN_BYTES", 0)


def cells(columns):
    return [column.tolist() for column in columns]


def both(path, layout, kind):
    """What the fast reader reads, None if it leaves the file to the careful one; and what that reads."""
    fast = read_fast(path, layout, quoted=kind == "CSV", encoding="utf-8")
    found = fast and (cells(column.array() for column in fast.columns), fast.lines.tolist())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "MIN_BYTES", 1 << 60)
        table = read_layout(path, kind, layout, Problems())
    return found, (cells(table.columns), table.lines.tolist())


@pytest.mark.parametrize("kind", PLAIN)
def test_every_cell_is_the_same(kind, tmp_path):
    fast, careful = both(write(tmp_path, {"t.csv": PLAIN[kind]}) / "t.csv", LAYOUT, "CSV")
    assert fast == careful and len(careful[1]) == PLAIN[kind].rstrip("\r\n").count("\n") + 1


@pytest.mark.parametrize("kind", ODD)
def test_what_is_odd_is_left_to_the_careful_reader(kind, tmp_path):
    assert both(write(tmp_path, {"t.csv": ODD[kind]}) / "t.csv", LAYOUT, "CSV")[0] is None


@given(
    st.text(st.sampled_from('a"#\n\r,, é'), max_size=30), st.sampled_from([("CSV", ","), ("TSV", "\t")]), st.booleans()
)
def test_any_text_is_read_alike_or_left_alone(tmp_path_factory, text, how, header):
    kind, separator = how
    path = write(tmp_path_factory.mktemp("t"), {"t": text.replace(",", separator)}) / "t"
    fast, careful = both(path, Layout(separator, (0, 1), 2, int(header)), kind)
    assert fast in (None, careful)


@pytest.mark.parametrize("text", ['id,"na\nme",x\n1,2\n', "a\rid,name\n1,2\n"])
def test_a_header_of_several_lines_is_odd(text, tmp_path):
    path = write(tmp_path, {"t.csv": text}) / "t.csv"
    assert both(path, Layout(",", (0, 1), 2, 1), "CSV")[0] is None


def test_a_row_too_few_is_never_overlooked(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_plain_lines", lambda *block, quoted: 2)
    assert both(write(tmp_path, {"t.csv": "a,b,c,d\n"}) / "t.csv", LAYOUT, "CSV")[0] is None


def test_columns_that_are_meant_in_their_order_from_below_the_header(tmp_path):
    path = write(tmp_path, {"t.tsv": '# made by hand\ntail\tnote\thead\nb\t"x\ta\nd\ty\tc\n'}) / "t.tsv"
    fast, careful = both(path, Layout("\t", (2, 0), 3, 2), "TSV")
    assert fast == careful == ([["a", "c"], ["b", "d"]], [3, 4])


def test_blocks_are_put_together(tmp_path, monkeypatch):
    monkeypatch.setattr("mixtea.io.safe.lines.CHUNK_BYTES", 1)
    monkeypatch.setattr("mixtea.io.safe.lines.BLOCK", 8)
    path = write(tmp_path, {"t.csv": "a,b,c,d\n" * 9 + "e,f,g,h"}) / "t.csv"
    fast, careful = both(path, LAYOUT, "CSV")
    assert fast == careful and fast[1] == list(range(1, 11)) and fast[0][0] == ["a"] * 9 + ["e"]


def test_limits_and_signs_that_arrow_does_not_take(tmp_path):
    path = write(tmp_path, {"t.csv": "a,b,c,d\n"}) / "t.csv"
    with use_limits(Limits(max_columns=3)):
        assert read_fast(path, LAYOUT, quoted=True, encoding="utf-8") is None
    assert read_fast(path, Layout("§", (0,), 1), quoted=True, encoding="utf-8") is None


WIDE = """id,name,parent,place,price
3,Pear,1,http://p.org/,1.50
1,Fruit,,http://f.org/,
2,Apple,1,http://a.org/,1.50
2,Apple,1,http://a.org/,0.5
,Nobody,1,http://n.org/,7
4,Fruit,3,http://f.org/,007
"""


def graph_said(graph):
    of, labels = graph.attributes, graph.labels
    tables = [column.tolist() for column in (of.entity, of.predicate, of.value, labels.entity, labels.text)]
    texts = [column.texts() for column in (of.predicate, of.value, labels.text)]
    return graph.ids.tolist(), graph.relations.tolist(), graph.triples.tolist(), tables, texts


@pytest.mark.parametrize("text", [WIDE, WIDE.replace(",", "#"), WIDE.replace("id,", "ids,").replace("3,Pear", "3,Fig")])
def test_a_graph_is_the_same_by_both_readers(tmp_path, monkeypatch, text):
    fast = graph_of(tmp_path, {"g.csv": text})
    monkeypatch.setattr(tables, "MIN_BYTES", 1 << 60)
    assert graph_said(fast) == graph_said(graph_of(tmp_path, {"g.csv": text}))
    assert fast.n_triples > 3 and "http://f.org/" in fast.ids and "007" in fast.attributes.value.texts()


def test_triples_are_read_so_too(tmp_path):
    path = write(tmp_path, {"g.csv": "head,relation,tail\na,r,b\nb,r,a\n"}) / "g.csv"
    part = read_graph_data(path, "CSV", Problems())
    assert part.ids.tolist() == ["a", "b"] and part.triples.tolist() == [[0, 0, 1], [1, 0, 0]]


def by_csv(text, delimiter):
    """What the module csv makes of a text: rows that are not blank with their lines, and the lines of errors."""
    lines, found = iter(io.StringIO(text, newline="")), []
    reader, n = csv.reader(lines, delimiter=delimiter, strict=True), 0
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return found
        except csv.Error:
            row = None
        if row != []:
            found.append((n + 1, row))
        n = reader.line_num


@given(st.text(alphabet=list(',"\n\r;a \x0b\u2028'), max_size=40), st.sampled_from(",;"))
def test_rows_are_those_of_the_module_csv(text, delimiter):
    problems = Problems()
    rows = list(csv_rows(Path("t.csv"), iter(io.StringIO(text, newline="")), problems, delimiter=delimiter))
    found = sorted([*rows, *((problem.line, None) for problem in problems.found)], key=lambda one: one[0])
    assert found == by_csv(text, delimiter)


def test_a_long_field_needs_no_limit_of_the_process(tmp_path):
    before = csv.field_size_limit()
    graph = graph_of(tmp_path, {"g.csv": f'id,name\na,"{"x" * (before + 1)}\n"\n'})
    assert len(graph.label(0)) == before + 2 and csv.field_size_limit() == before
