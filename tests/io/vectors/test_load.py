"""Vectors of one's own from Parquet and safetensors: what is read, what is told, and files that mean harm."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from conftest import LINKS, SOURCE, TARGET, write
from safetensors.numpy import save
from small_files import parquet

from mixtea import DataError, load_task
from mixtea.io.checks import summary
from mixtea.io.filter import GraphFilter
from mixtea.io.safe.limits import Limits, use_limits
from mixtea.io.vectors import load as module
from mixtea.io.vectors.load import VectorTable, read_vector_file

SMALL, LARGE = list("abcde"), list("ABCDE")
ROWS = [[1.0, 0.5], [0.0, -2.0], [3.0, 4.0], [0.25, 0.0], [8.0, 8.0]]
FLOATS = pa.list_(pa.float32())
NAMES = ("s.safetensors", "t.safetensors")


def tensors(ids=LARGE, rows=ROWS, kind=np.float32, **more):
    """A safetensors file with its ids in the metadata."""
    return save({"vectors": np.array(rows, dtype=kind), **more}, {"ids": json.dumps(ids)})


def with_id_tensors(ids=LARGE, rows=ROWS, **changed):
    """A safetensors file with its ids as bytes and offsets."""
    words = [one.encode() for one in ids]
    arrays = {
        "vectors": np.array(rows, dtype=np.float32),
        "ids.data": np.frombuffer(b"".join(words), dtype=np.uint8),
        "ids.offsets": np.cumsum([0, *map(len, words)]),
    }
    return save(arrays | changed)


def lists(ids=SMALL, rows=ROWS, kind=FLOATS, names=("id", "vector")):
    return parquet(dict(zip(names, (ids, rows), strict=True)), **{names[1]: kind})


SOURCES, TARGETS = tensors(SMALL), tensors()


def load(tmp_path, source=SOURCES, target=TARGETS, names=NAMES, **options):
    graphs = {"a.tsv": SOURCE, "b.tsv": TARGET, "l.tsv": LINKS}
    write(tmp_path, graphs | {names[0]: source, names[1]: target})
    paths = [tmp_path / name for name in (*graphs, *names)]
    own = zip(("source", "target", "links", "vectors_source", "vectors_target"), paths, strict=True)
    return load_task(**dict(own), **options)


def refused(tmp_path, *args, **options):
    with pytest.raises(DataError) as error:
        load(tmp_path, *args, **options)
    return str(error.value)


def read(tmp_path, content, name="v.parquet"):
    (tmp_path / name).write_bytes(content)
    return read_vector_file(tmp_path / name)


GOOD = {
    "lists": lists(),
    "lists of 64 bits": lists(kind=pa.large_list(pa.float64()), names=("Entity", "Embedding")),
    "a column a number": parquet({"0": [r[0] for r in ROWS], "id": SMALL, "1": [r[1] for r in ROWS], "note": SMALL}),
}


@pytest.mark.parametrize("kind", GOOD)
def test_parquet(kind, tmp_path):
    table = read(tmp_path, GOOD[kind])
    assert table.ids.tolist() == SMALL and table.rows.tolist() == [1, 2, 3, 4, 5]
    assert table.vectors.dtype == np.float32 and table.vectors.tolist() == ROWS


def test_both_formats_together(tmp_path):
    task = load(tmp_path, lists(), names=("s.parquet", "t.safetensors"))
    assert task.source.has_vector().all() and task.warnings == ()
    assert task.source.vectors[task.source.find(np.array(SMALL, dtype=object))].tolist() == ROWS
    assert task.target.vectors[task.target.find(np.array(LARGE, dtype=object))].tolist() == ROWS
    assert [(file.path.name, file.format) for file in task.source.files] == [("a.tsv", "TSV"), ("s.parquet", "Parquet")]
    assert summary(task)["source"]["vectors"] == 5


def test_whole_numbers_and_rows_without_a_vector(tmp_path):
    table = read(tmp_path, parquet({"id": [7, 8, 1], "vector": [[1, 2], None, [3, 4]]}))
    assert table.ids.tolist() == ["7", "1"] and table.vectors.tolist() == [[1, 2], [3, 4]]
    assert table.rows.tolist() == [1, 3]


def test_what_is_not_there_in_a_list_or_column_is_no_number(tmp_path):
    assert np.isnan(read(tmp_path, lists(rows=[[None, 1], *ROWS[1:]])).vectors[0, 0])
    assert np.isnan(read(tmp_path, parquet({"id": ["a", "b"], "x": [1.0, None]})).vectors).tolist() == [[False], [True]]


def test_many_rows_come_in_parts(tmp_path):
    rows = np.arange(6000, dtype=np.float32).reshape(3000, 2)
    table = read(tmp_path, lists([str(i) for i in range(3000)], list(rows)))
    assert np.array_equal(table.vectors, rows) and table.rows.tolist() == list(range(1, 3001))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_safetensors(kind, tmp_path):
    task = load(tmp_path, with_id_tensors(SMALL), tensors(kind=kind, more=np.zeros(3)))
    for graph, ids in ((task.source, SMALL), (task.target, LARGE)):
        assert graph.vectors.dtype == np.float32
        assert graph.vectors[graph.find(np.array(ids, dtype=object))].tolist() == ROWS


def test_a_benchmark_folder_too(folder, tmp_path):
    write(tmp_path, dict(zip(NAMES, (SOURCES, TARGETS), strict=True)))
    task = load_task(folder, vectors_source=tmp_path / NAMES[0], vectors_target=tmp_path / NAMES[1])
    assert task.source.has_vector().all() and task.target.vectors.shape == (5, 2)


def test_an_entity_may_have_none_and_what_is_strange_is_counted(tmp_path):
    task = load(tmp_path, tensors(["a", "b", "x", "y"], [[1.0, 1], [0, 0], [2, 2], [3, 3]]))
    assert task.source.has_vector().tolist() == [name == "a" for name in task.source.ids]
    assert np.isnan(task.source.vectors[1]).all()
    assert [warning.partition("s.safetensors: ")[2] for warning in task.warnings] == [
        "2 of 4 vectors are of no entity of the source graph",
        "1 vectors are 0 throughout and count as none",
    ]


def test_entities_that_were_left_out_are_not_unknown(tmp_path):
    task = load(tmp_path, graph_filter=GraphFilter(namespaces=list("bcdeBCDE")))
    assert not any("vectors" in warning for warning in task.warnings)
    assert task.source.n_entities == 4 and task.source.has_vector().all()


TOO_LARGE = "NaN, infinity or too large a number in the vector of"
BAD_ROWS = {
    "NaN": (tensors(SMALL, [*ROWS[:2], [1, np.nan], *ROWS[3:]]), f"line 3: {TOO_LARGE} 'c'. Mend it."),
    "infinity": (tensors(SMALL, [[np.inf, 1], *ROWS[1:]]), f"line 1: {TOO_LARGE} 'a'"),
    "too large": (tensors(SMALL, [[1e300, 1], *ROWS[1:]], np.float64), f"line 1: {TOO_LARGE} 'a'"),
    "half an id": (tensors(["a", "b\ud800", "c", "d", "e"]), r"line 2: half a character in the id 'b\ud800'. No file"),
    "an id twice": (tensors(["a", "b", "a", "d", "e"]), "line 3: an id a second time: 'a'. Keep one vector"),
    "no id": (tensors(["a", "", "c", "", "e"]), "2 problems\n  line 2: no id. Name the entity"),
    "no row": (tensors([], np.empty((0, 2))), "no vector: the file is empty"),
    "nobody known": (tensors(list("vwxyz")), "none of its 5 ids is an entity of the source graph, with a vector that"),
    "zeros": (tensors(SMALL, [[0.0, 0.0]] * 5), "with a vector that is not 0: 'a'. Use the ids of the graph"),
    "other lengths": (
        tensors(SMALL, [[1.0, 2, 3]] * 5),
        "t.safetensors: 1 problem\n  vectors of 2 numbers, while those",
    ),
}


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_what_is_wrong_with_vectors_is_told_by_row(kind, tmp_path):
    content, message = BAD_ROWS[kind]
    assert message in refused(tmp_path, content)


BAD_PARQUET = {
    "another length": (lists(rows=[*ROWS[:4], [1.0]]), "line 5: a vector of 1 numbers, while the first has 2"),
    "only rows without": (lists(["a"], [None]), "no vector: the file is empty"),
    "ids that are numbers with a point": (lists(ids=[0.5] * 5), "a column of type double: 'id'. Labels are text"),
    "no Parquet": (b"PAR1 or not", "not Parquet (it does not begin and end as Parquet does)"),
}


@pytest.mark.parametrize("kind", BAD_PARQUET)
def test_parquet_that_holds_no_vectors(kind, tmp_path):
    content, message = BAD_PARQUET[kind]
    with pytest.raises(DataError) as error:
        read(tmp_path, content)
    assert message in str(error.value)


def raw(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def one(shape, kind="F32", end=40, **meta):
    return {"__metadata__": meta, "vectors": {"dtype": kind, "shape": shape, "data_offsets": [0, end]}}


IDS = np.cumsum([0, 1, 1, 1, 1, 1])
BAD_TENSORS = {
    "nothing": b"",
    "a header longer than the file": raw({}, length=2**40),
    "no JSON": raw(b"{" * 50),
    "no vectors": save({"other": np.zeros((5, 2), np.float32)}, {"ids": json.dumps(LARGE)}),
    "vectors beyond the file": raw(one([5, 2], end=4000)),
    "vectors of another size": raw(one([50, 2]), bytes(40)),
    "vectors that turn back": raw(one([2**63, 2**62]), bytes(40)),
    "vectors in a row": tensors(rows=[1.0] * 5),
    "whole numbers": tensors(kind=np.int32),
    "numbers of 16 bits that NumPy has not": raw(one([5, 2], "BF16", 20, ids=json.dumps(LARGE)), bytes(20)),
    "vectors of no number": tensors(rows=[[]] * 5),
    "no ids": save({"vectors": np.array(ROWS, dtype=np.float32)}),
    "too few ids": tensors(ids=LARGE[:4]),
    "ids that are numbers": tensors(ids=[1, 2, 3, 4, 5]),
    "ids that are a word": tensors(ids="ABCDE"),
    "ids without a bottom": save({"vectors": np.array(ROWS, np.float32)}, {"ids": "[" * 100_000}),
    "ids that are no JSON": save({"vectors": np.array(ROWS, np.float32)}, {"ids": "A, B"}),
    "no bytes of ids": save({"vectors": np.array(ROWS, np.float32), "ids.offsets": IDS}),
    "offsets of 32 bits": with_id_tensors(**{"ids.offsets": IDS.astype(np.int32)}),
    "too few offsets": with_id_tensors(**{"ids.offsets": IDS[:-1]}),
    "offsets that go back": with_id_tensors(**{"ids.offsets": np.array([0, 3, 2, 3, 4, 5])}),
    "offsets from elsewhere": with_id_tensors(**{"ids.offsets": IDS - 1}),
    "offsets beyond": with_id_tensors(**{"ids.offsets": IDS * 2}),
    "ids that are not UTF-8": with_id_tensors(**{"ids.data": np.full(5, 0xFF, np.uint8)}),
    "ids in a table": with_id_tensors(**{"ids.data": np.zeros((5, 1), np.uint8)}),
}


@pytest.mark.parametrize("kind", BAD_TENSORS)
def test_tensors_that_are_no_vectors_with_ids(kind, tmp_path):
    with pytest.raises(DataError) as error:
        read(tmp_path, BAD_TENSORS[kind], "v.safetensors")
    said = str(error.value)
    assert said.startswith(f"{tmp_path / 'v.safetensors'}: not safetensors with vectors and ids (")
    assert len(said) < 1000 and "Write the file again" in said


def test_problems_of_both_files_come_together(tmp_path):
    said = refused(tmp_path, tensors(["a", "a", "c", "d", ""]), tensors(rows=[[np.nan, 1], *ROWS[1:]]))
    assert "s.safetensors: 2 problems" in said and "t.safetensors: 1 problem" in said and "line 1: NaN" in said
    both = refused(tmp_path, tensors(list("vwxyz")), tensors(list("VWXYZ")))
    assert "s.safetensors: 1 problem" in both and "t.safetensors: 1 problem" in both
    many = refused(tmp_path, tensors(SMALL * 20, ROWS * 20), limits=Limits(max_problems=20))
    assert "s.safetensors: 95 problems" in many and "... and 94 more like it" in many


@pytest.mark.parametrize("name", ["t.npy", "t.pt", "t.csv", "t", "t.safetensors.gz"])
def test_other_formats_are_not_opened(name, tmp_path):
    with pytest.raises(DataError, match=r"that is read, by its ending\. Write \.parquet or \.safetensors"):
        read(tmp_path, TARGETS, name)


def test_compressed_parquet_is_read(tmp_path):
    assert read(tmp_path, gzip.compress(lists()), "v.parquet.gz").vectors.tolist() == ROWS


LIMITED = {
    "rows in tensors": (TARGETS, "max_rows", 4, "5 vectors: beyond the limit max_rows"),
    "numbers in tensors": (tensors(rows=[[1.0] * 4] * 5), "max_columns", 3, "4 numbers a vector: beyond the limit"),
    "a header": (tensors(["A" * (1 << 20)]), "max_token_mib", 1, "bytes: beyond the limit max_token_mib"),
    "numbers in lists": (lists(rows=[[1.0] * 4] * 5), "max_columns", 3, "vectors of 4 numbers: beyond the limit"),
    "bytes of lists": (
        lists(rows=[[1.0] * 900_000] * 5),
        "max_columns",
        10**6,
        "vectors of 18.* the limit max_expansion",
    ),
}


@pytest.mark.parametrize("kind", LIMITED)
def test_limits(kind, tmp_path):
    content, limit, value, message = LIMITED[kind]
    with use_limits(Limits(**{limit: value})), pytest.raises(DataError, match=message):
        read(tmp_path, content, "v.parquet" if content.startswith(b"PAR1") else "v.safetensors")


def test_a_file_of_holes_is_not_read(tmp_path):
    write(tmp_path, {"t.safetensors": TARGETS})
    with (tmp_path / "t.safetensors").open("r+b") as file:
        file.truncate(1 << 30)
    with pytest.raises(DataError, match="a sparse file, nearly all of which was never written"):
        read_vector_file(tmp_path / "t.safetensors")


def test_one_long_vector_does_not_fill_the_memory(tmp_path, tiny):
    """A row for one entity of a graph of very many."""
    ids = np.array([f"e{i}" for i in range(3_000)], dtype=object)
    graph = replace(tiny.source, ids=ids)
    table = VectorTable(tmp_path / "v", "Parquet", ids[:1], np.ones(1), np.ones((1, 2_000), np.float32))
    with pytest.raises(DataError, match="vectors of 8,000 bytes that take 24,000,000 for 3,000 entities: beyond"):
        module._add_vectors(graph, table, "source", [])


def test_one_side_is_not_enough(tmp_path, folder):
    with pytest.raises(DataError, match="give both vectors_source and vectors_target"):
        load_task(folder, vectors_source=tmp_path / "s.parquet")
    with pytest.raises(DataError, match="either files of vectors or a text model; not both"):
        load_task(folder, vectors_target=tmp_path / "s.parquet", text_model=tmp_path)


def test_missing_files_are_named(tmp_path, folder):
    with pytest.raises(DataError) as error:
        load_task(folder, vectors_source=tmp_path / "no.parquet", vectors_target=tmp_path / "no.safetensors")
    assert str(error.value).count("no such file") == 2
