"""Graphs and links that are objects: recognised without a library, read like files, mixed with them."""

from __future__ import annotations

import sys
from uuid import UUID

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import rdflib
from conftest import LINKS, SOURCE, TARGET
from processes import run as run_process

from mixtea import DataError, MixTEA, load_task

ROWS = [("a", "r", "b"), ("NA", "r", "1e5"), ("007", "s", "null")]
ENDS = ["a", "NA", "007", "b", "1e5", "null"]
OTHERS = [("A", "r", "B"), ("B", "r", "C")]
PAIRS = [("a", "A"), ("b", "B")]
HALF = "x\ud800"  # a lone surrogate


class Text(str):
    """Text of another library."""


def frame(*names):
    return pd.DataFrame(ROWS, columns=list(names))


TABLES = {
    "tuples": ROWS,
    "lists": [list(row) for row in ROWS],
    "iterator": iter(ROWS),
    "array": np.array(ROWS),
    "records of numpy": np.array(ROWS, dtype=[("head", "U9"), ("relation", "U9"), ("tail", "U9")]),
    "dictionaries": [{"tail": t, "head": h, "relation": r} for h, r, t in ROWS],
    "frame": frame("head", "relation", "tail"),
    "other names": frame("subject", "predicate", "object"),
    "strange names": frame(0, 1, 2),
    "other order": frame("head", "relation", "tail")[["tail", "relation", "head"]].assign(note="x"),
    "categories": frame("head", "relation", "tail").astype("category"),
    "in parts": [frame("s", "p", "o")[:2], ROWS[2:]],
    "any index": frame("h", "r", "t").set_index(pd.Index([7, 7, 9])),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_is_a_graph_and_ids_stay_as_they_are(kind):
    task = load_task(source=TABLES[kind], target=OTHERS, links=PAIRS)
    assert sorted(task.source.ids) == sorted(ENDS) and all(type(id) is str for id in task.source.ids)
    triples = [(task.source.ids[h], task.source.relations[r], task.source.ids[t]) for h, r, t in task.source.triples]
    assert triples == ROWS and len(task.train) == 2


def test_a_set_is_read_in_the_same_order_every_time():
    assert load_task(source=set(ROWS), target=OTHERS, links=set(PAIRS)).source.ids.tolist() == [
        "007", "NA", "a", "null", "1e5", "b",
    ]  # fmt: skip


LINKED = {
    "tuples": PAIRS,
    "a dictionary": dict(PAIRS),
    "array": np.array(PAIRS),
    "frame": pd.DataFrame({"target": ["A", "B"], "note": ["x", "y"], "source": ["a", "b"]}),
    "first columns": pd.DataFrame(PAIRS, columns=["mine", "yours"]),
    "in parts": [PAIRS[:1], pd.DataFrame(PAIRS[1:], columns=["left", "right"])],
}


@pytest.mark.parametrize("kind", LINKED)
def test_links_are_tables_too(kind):
    task = load_task(source=ROWS, target=OTHERS, links=LINKED[kind], valid_links=[("007", "C")])
    assert [(task.source.ids[s], task.target.ids[t]) for s, t in task.train] == PAIRS and len(task.valid) == 1


@pytest.mark.parametrize(
    "links",
    [
        [("a", "A", 0.9), ("b", "B", 1)],
        pd.DataFrame({"score": [0.9, np.nan], "source": ["a", "b"], "target": ["A", "B"]}),
    ],
)
def test_links_may_have_confidences_which_a_warning_counts(links):
    task = load_task(source=ROWS, target=OTHERS, links=links)
    assert len(task.train) + len(task.valid) == 2
    assert any("1 of 2 links has a confidence below 1, the least 0.9" in warning for warning in task.warnings)


def test_numbers_are_ids_as_they_are_read():
    numbers = pd.DataFrame({"head": [1, 2], "relation": ["r", "r"], "tail": [2.0, 3.0]})
    one = UUID(int=1)
    task = load_task(source=numbers, target=[(one, 5, np.int64(7)), (7, 5, 8)], links=[(1, one), (2.0, "7")])
    assert task.source.ids.tolist() == ["1", "2", "3"] and task.target.relations.tolist() == ["5"]
    assert task.target.ids.tolist() == [str(one), "7", "8"]


def test_objects_and_files_make_one_graph(tmp_path):
    path = tmp_path / "more.nt"
    path.write_text('<http://a/x> <http://www.w3.org/2000/01/rdf-schema#label> "X" .\n')
    task = load_task(source=[frame("h", "r", "t"), path, str(path)], target=OTHERS, links=PAIRS)
    assert task.name == "source 1+2-target" and task.source.label(6) == "X"
    assert str(task.source.files[0].path) == "source 1 (data frame)" and task.source.files[0].format == "data frame"


def test_a_task_of_objects_is_that_of_its_files(tmp_path, rings_folder):
    """The same settings lead to the same vectors, and a run folder keeps it."""
    for name, text in (("a.tsv", SOURCE), ("b.tsv", TARGET), ("l.tsv", LINKS)):
        (tmp_path / name).write_text(text)
    files = load_task(source=tmp_path / "a.tsv", target=tmp_path / "b.tsv", links=tmp_path / "l.tsv")
    tables = [[tuple(line.split("\t")) for line in text.splitlines()] for text in (SOURCE, TARGET, LINKS)]
    objects = load_task(source=pd.DataFrame(tables[0]), target=tables[1], links=np.array(tables[2]))
    quick = dict(preset="paper", max_epochs=1, device="cpu")
    one, other = MixTEA(**quick).fit(files), MixTEA(**quick).fit(objects)
    assert one.vectors_.equal(other.vectors_)
    other.save(tmp_path / "run")
    assert repr(MixTEA.load(tmp_path / "run").task_) == repr(objects)


WRONG = {
    "an empty frame": (
        dict(source=frame("h", "r", "t")[:0]),
        r"source \(data frame\).*\n  empty\. It needs rows of head",
    ),
    "NaN": (
        dict(source=frame("h", "r", "t").replace("null", np.nan).set_index(pd.Index([5, 6, 7]))),
        r"row 3: no t \(nan, index 7\)\. Write an id there, or leave the row out: frame\.dropna\(\)",
    ),
    "None": (dict(source=[*ROWS, ("x", None, "y")]), r"source \(rows\).*\n  row 4: no relation \(None\)\. Write an id"),
    "NA": (dict(links=pd.DataFrame({"source": pd.array(["a", pd.NA]), "target": ["A", "B"]})), "row 2: no source"),
    "no text": (dict(source=[("a", "r", "")]), "row 1: column 3 is empty"),
    "a number with a point": (
        dict(source=[("a", "r", 1.5)]),
        "row 1: tail is not an id but float '1.5'. Ids are text or",
    ),
    "a number too large": (dict(source=[("a", "r", 1e300)]), "row 1: tail is not an id but float"),
    "a date": (dict(source=[("a", "r", pd.Timestamp("2020-01-01"))]), "tail is not an id but Timestamp '2020-01-01"),
    "a truth": (dict(source=[("a", "r", True)]), "tail is not an id but bool 'True'"),
    "bytes": (dict(source=[(b"a", "r", "b")]), "head is not an id but bytes"),
    "two columns": (
        dict(source=frame("source", "r", "target")[["source", "target"]]),
        "2 columns 'source, target'. It needs 3: head, relation, tail",
    ),
    "one column": (dict(links=pd.DataFrame({"x": ["a"]})), "1 column 'x'. It needs 2: source, target"),
    "a row too wide": (dict(links=[("a", "A", "?")]), r"row 1: 3 fields:.*A row is \(source, target\)"),
    "a path among rows": (dict(source=[ROWS[0], "b.tsv"]), r"row 2: str: 'b\.tsv'\. A row is \(head, relation, tail\)"),
    "five columns without names": (
        dict(source=pd.DataFrame([["a", "r", "b", 1, 2]])),
        "5 columns without names. Name them: head, relation, tail or",
    ),
    "edges without a relation": (
        dict(source=pd.DataFrame([["a", "b", 1]], columns=["source", "target", "weight"])),
        "no column gives the relation: 'source, target, weight'. Name that column relation",
    ),
    "ids alone": (dict(source=[{"id": "a"}]), "1 column 'id'. It needs 3"),
    "a column twice": (dict(source=pd.DataFrame([["a", 1, 2]], columns=["id", "x", "X"])), "two columns named x:"),
    "half a name": (dict(source=[{"id": "a", HALF: "b"}]), r"half a character in the name of a column, 'x\\ud800'"),
    "half a value": (dict(source=[{"id": "a", "b": HALF}]), r"row 1: half a character in column 'b', 'x\\ud800'\. No"),
    "an object inside an object": (dict(source=[{"id": "a", "b": {"c": 1}}]), "row 1: an object inside .* in 'b'"),
    "a list inside a list": (dict(source=[{"id": "a", "b": [["c"]]}]), "row 1: a list inside a list, in 'b'"),
    "a value of another type": (dict(source=[{"id": "a", "b": b"c"}]), "row 1: 'b' is not a value but bytes"),
    "several ids": (dict(source=[{"id": ["a", "b"], "c": 1}]), "several ids of an entity, in 'id'. Write one id"),
    "rows without any": (dict(source=pd.DataFrame({"id": [], "name": []})), r"\n  empty\. It needs rows"),
    "a column of Arrow": (
        dict(source=pa.chunked_array([["a"]])),
        r"source: an object of type pyarrow\.ChunkedArray is not a table that Arrow can export \(",
    ),
    "a flat array": (
        dict(links=np.array(["a", "A"])),
        r"an array of shape \[2\]. It needs \[rows, 2\]: source, target",
    ),
    "a cube": (dict(source=np.zeros((2, 3, 4))), r"an array of shape \[2, 3, 4\]"),
    "a number": (dict(source=5), "source: an object of type int is not read. Give a path, a data frame"),
    "numbers": (dict(source=range(3)), "source: an object of type int among several"),
    "a column": (dict(source=frame("h", "r", "t")["h"]), "an object of type pandas.Series is not read"),
    "bytes alone": (dict(source=b"a.tsv"), "an object of type bytes is not read"),
    "a dictionary": (dict(source={"a": "b"}), "an object of type dict is not read"),
    "edges as links": (dict(links=nx.DiGraph([("a", "A")])), r"Give list\(graph\.edges\(\)\)"),
    "nothing": (dict(source=[]), "Missing: source"),
    "half a head": (
        dict(source=[*ROWS, (HALF, "r", "b")]),
        r"source .*row 4: half a character in column head, 'x\\ud800'",
    ),
    "half a relation": (dict(target=[("A", HALF, "B")]), "target .*row 1: half a character in column relation,"),
    "half a tail": (
        dict(source=pd.DataFrame([*ROWS, ("a", "r", HALF)], columns=["head", "relation", "tail"], dtype=object)),
        r"row 4: half a character in column tail, 'x\\ud800', index 3\. No file can hold it: mend the text",
    ),
    "half in an array": (dict(source=np.array([*ROWS, (HALF, "r", "b")])), "row 4: half a character in column 0,"),
    "half in dictionaries": (
        dict(source=[dict(head="a", relation="r", tail="b"), dict(head="b", relation="r", tail=HALF)]),
        "row 2: half a character in column tail,",
    ),
    "half a link": (dict(links=[*PAIRS, ("a", HALF)]), "links .*row 3: half a character in column target,"),
    "half a link in a dictionary": (dict(links={HALF: "A"}), "row 1: half a character in column source,"),
    "half a test link": (dict(test_links=[(HALF, "A")]), "test_links .*row 1: half a character in column source,"),
    "half a text of a class of its own": (dict(links=[(Text(HALF), "A")]), "row 1: half a character in column source,"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_are_named_with_their_rows(mistake):
    wrong, message = WRONG[mistake]
    with pytest.raises(DataError, match=f"(?s){message}") as raised:
        load_task(**{**dict(source=ROWS, target=OTHERS, links=PAIRS), **wrong})
    assert len(raised.value.lines()) <= 3


def test_a_column_of_no_use_may_be_called_anything():
    rows = [{"head": h, "relation": r, "tail": t, HALF: HALF} for h, r, t in ROWS]
    assert load_task(source=rows, target=OTHERS, links=PAIRS).source.n_triples == 3


def test_other_frames_know_the_way():
    class Polars:
        def to_pandas(self): ...

    with pytest.raises(DataError, match=r"links: an object of type \S*Polars is not read\. Give links\.to_pandas\(\)"):
        load_task(source=ROWS, target=OTHERS, links=Polars())


def test_of_many_problems_the_rest_is_counted():
    with pytest.raises(DataError, match=r"links \(rows\): 50 problems(?s:.*)\n  \.\.\. and 49 more like it: row 2"):
        load_task(source=ROWS, target=OTHERS, links=[(None, "A")] * 50)


def test_nothing_is_imported_to_find_out():
    program = (
        "import sys; from mixtea import load_task\n"
        "load_task(source=[('a', 'r', 'b')], target=[('A', 'r', 'B')], links=[('a', 'A')])\n"
        "assert not {'rdflib', 'networkx', 'torch', 'IPython'} & set(sys.modules)\n"
    )
    assert run_process([sys.executable, "-c", program]).returncode == 0


def test_links_may_name_entities_by_a_label_that_no_other_has():
    text = """@prefix : <http://a/> . @prefix s: <http://www.w3.org/2004/02/skos/core#> .
        :1 :in :2 ; s:prefLabel "Rome"@en, "Roma"@it . :2 s:prefLabel "Italy" . :3 s:prefLabel "Italy" ."""
    source = rdflib.Graph().parse(format="turtle", data=text)
    target = nx.DiGraph([("R", "I")])
    target.add_node("R", name="Rome")
    for link in (("Rome", "Rome"), ("Roma", "R"), ("http://a/1", "Rome")):
        assert load_task(source=source, target=target, links=[link]).train.tolist() == [[0, 0]]
    message = "row 1: 2 entities of the source graph are called 'Italy': 'http://a/2', 'http://a/3'. Name it by its id."
    with pytest.raises(DataError, match=message):
        load_task(source=source, target=target, links=[("Italy", "I"), ("Rome", "R")])


def test_ids_of_an_index_are_a_column():
    rows = pd.DataFrame({"name": ["Rome", "Oslo"]}, index=pd.Index(["r", "o"], name="id"))
    graph = load_task(source=rows, target=OTHERS, links=[("r", "A"), ("o", "B")]).source
    assert graph.ids.tolist() == ["r", "o"] and graph.label(1) == "Oslo"


class Stream:
    """A table of a library that hands over Arrow's streams and nothing else."""

    def __init__(self, columns):
        self.table = pa.table(columns)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def test_tables_of_arrow_are_data_frames(monkeypatch):
    source = Stream({"head": ["a", "b"], "relation": ["r", "r"], "tail": ["b", "7"]})
    links = pa.RecordBatchReader.from_batches(pa.schema([("source", "string"), ("target", "string")]), iter(
        pa.table({"source": ["a", "b"], "target": ["A", "B"]}).to_batches()
    ))  # fmt: skip
    task = load_task(source=source, target=[Stream({"id": ["A", "B", "C"], "in": ["B", None, "A"]})], links=links)
    assert task.source.ids.tolist() == ["a", "b", "7"] and len(task.train) == 2
    assert task.target.relations.tolist() == ["in"] and task.target.files[0].format == "data frame"
    with pytest.raises(DataError, match=r"0 columns ''|0 columns"):
        load_task(source=Stream({}), target=OTHERS, links=PAIRS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"source: an object of type \S*Stream is read by pyarrow, which is not inst"):
        load_task(source=source, target=OTHERS, links=PAIRS)


def test_a_damaged_table_of_arrow_is_refused():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise ValueError("nothing left")

    with pytest.raises(DataError, match=r"links: .*Broken is not a table that Arrow can export \(nothing left\)"):
        load_task(source=ROWS, target=OTHERS, links=Broken())


def test_numbers_of_32_bits_are_as_they_are_written():
    columns = {"id": ["a", "b", "c"], "x": np.array([0.1, 2, np.nan], dtype=np.float32)}
    for source in (pd.DataFrame(columns), pa.table(columns)):
        graph = load_task(source=source, target=OTHERS, links=PAIRS).source
        assert [graph.attributes_of(i)[0][1] for i in range(2)] == ["0.1", "2.0"] and not graph.attributes_of(2)
