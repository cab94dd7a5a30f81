"""Vectors in Parquet as the process reads them that parses it, here in this one."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest
from small_files import parquet

from mixtea.io.safe.sandboxed import parquet_child
from mixtea.io.safe.sandboxed.restrict import WrongError

WANTED = {
    "n": 1, "headers": [("id",), ("entity",)], "max_token": 10**6, "max_bytes": 10**8, "max_columns": 5,
    "max_rows": 3000, "bytes_limit": "max_expansion", "mib": 500, "seconds": 5.0, "without_numpy": False,
}  # fmt: skip
IDS, ROWS = ["a", "b", "c"], [[1.0, 0.5], None, [3.0, 4.0]]


@pytest.fixture
def found(tmp_path, monkeypatch):
    """What the child makes of a file: ids, rows and numbers, or what is wrong."""
    monkeypatch.setattr(parquet_child, "restrict", lambda *_: lambda n: None)

    def work(columns, wanted=None, **types):
        (tmp_path / "in").write_bytes(parquet(columns, **types))
        with (tmp_path / "in").open() as source, (tmp_path / "out").open("w") as out:
            monkeypatch.setattr(sys, "stdin", source)
            monkeypatch.setattr(sys, "stdout", out)
            try:
                assert parquet_child.work(WANTED | {"vectors": True} | (wanted or {})) == {}
            except WrongError as error:
                return error.about
        return [
            tuple(row.values()) for row in pa.ipc.open_stream((tmp_path / "out").read_bytes()).read_all().to_pylist()
        ]

    return work


def test_lists_and_columns(found):
    expected = [("a", 1, [1.0, 0.5]), ("c", 3, [3.0, 4.0])]
    assert found({"id": IDS, "vector": ROWS}) == expected
    for kind in (pa.large_list(pa.float64()), pa.list_(pa.float32(), 2), pa.list_(pa.int8())):
        rows = [row and [int(x) for x in row] for row in ROWS] if kind == pa.list_(pa.int8()) else ROWS
        assert [row[1] for row in found({"Entity ": IDS, "x": rows}, x=kind)] == [1, 3]
    assert found({"x": [1.0, None, 2.0], "id": IDS, "y": [0.5, 0.0, 4.0], "n": [1, 2, 3]}) == [
        ("a", 1, 1.0, 0.5), ("b", 2, None, 0.0), ("c", 3, 2.0, 4.0),
    ]  # fmt: skip
    many = found({"id": [str(i) for i in range(2500)], "vector": [[float(i)] for i in range(2500)]})
    assert many == [(str(i), i + 1, [float(i)]) for i in range(2500)]


def test_which_column_is_meant(found):
    assert found({"id": IDS, "x": ROWS, "Embedding": [[9.0]] * 3})[0] == ("a", 1, [9.0])
    assert found({"id": IDS, "x": ROWS, "y": ROWS})["what"] == "several columns of lists (x, y)"
    for strange in (["x"], [True]):
        assert found({"id": IDS, "vector": [strange] * 3})["what"] == "no column of vectors"
    assert "one column of lists named vector" in found({"id": IDS})["todo"]
    assert found({"id": [0.5] * 3, "vector": ROWS})["what"] == "type"
    assert found({"id": IDS, " ID": IDS, "vector": ROWS})["what"] == "two columns named id"


def test_lengths(found):
    about = found({"id": IDS, "vector": [[1.0], [2.0], [3.0, 4.0]]})
    assert about["what"] == "a vector of 2 numbers, while the first has 1" and about["line"] == 3
    assert found({"id": ["a"], "vector": [[]]}, vector=pa.list_(pa.float32()))["line"] == 1
    later = found({"id": [str(i) for i in range(1030)], "vector": [[1.0]] * 1029 + [[1.0, 2.0]]})
    assert later["line"] == 1030
    assert found({"id": IDS, "vector": [None] * 3}, vector=pa.list_(pa.float32())) == []


def test_limits(found):
    long = {"id": ["a"], "vector": [[1.0] * 6]}
    assert (found(long)["what"], found(long)["limit"]) == ("vectors of 6 numbers", "max_columns")
    about = found({"id": [str(i) for i in range(2500)], "vector": [[1.0] * 5] * 2500}, {"max_bytes": 40_000})
    assert about["what"].startswith("vectors of 4") and about["limit"] == "max_expansion"
    assert found({"id": IDS, "vector": ROWS}, {"max_rows": 2})["limit"] == "max_rows"


def test_more_rows_than_the_footer_says(tmp_path):
    import pyarrow.parquet as pq

    (tmp_path / "in").write_bytes(parquet({"id": IDS, "vector": [[1.0]] * 3}))
    with (tmp_path / "out").open("wb") as sink, pytest.raises(WrongError, match="more rows than its footer states"):
        parquet_child.write_vectors(pq.ParquetFile(tmp_path / "in"), ["id"], 2, sink, WANTED, lambda n: None)
