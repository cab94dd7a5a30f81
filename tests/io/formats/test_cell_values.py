"""Cells with types, as the text of a CSV file."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import numpy as np
import pandas as pd
import pytest

from mixtea.errors import Problems
from mixtea.graph.text_column import TextColumn
from mixtea.io.formats.cell_values import CodedColumn, text_column, typed_texts, value_column, value_texts

DAY = datetime(2020, 1, 31)


class Text(str):
    """Text of another library."""


VALUES = {
    "whole numbers": ([5.0, np.float32(7), 10**20, np.int8(3), True, -0.0],
                      ["5", "7", str(10**20), "3", "True", "0"]),
    "numbers with a point": ([5.0, 2.5, 3, np.float32(0.1), float("inf")], ["5.0", "2.5", "3", "0.1", "inf"]),
    "numbers too large to be counted": ([1e300, 5.0], ["1e+300", "5.0"]),
    "truth": ([True, np.bool_(False)], ["True", "False"]),
    "days": ([DAY, pd.Timestamp("2020-02-01"), np.datetime64("2020-02-02")],
             ["2020-01-31", "2020-02-01", "2020-02-02"]),
    "moments": ([DAY, pd.Timestamp("2020-02-01 10:00:00.500"), datetime(2020, 1, 31, tzinfo=UTC)],
                ["2020-01-31 00:00:00", "2020-02-01 10:00:00.5", "2020-01-31 00:00:00+00:00"]),
    "others": ([date(2020, 1, 31), time(1, 2), timedelta(1), Decimal("1.50"), UUID(int=1), Text("x")],
               ["2020-01-31", "01:02:00", "1 day, 0:00:00", "1.50", str(UUID(int=1)), "x"]),
    "none": ([b"x", {}, object, "\ud800", Text("\ud800")], [None] * 5),
}  # fmt: skip


@pytest.mark.parametrize("kind", VALUES)
def test_values_are_what_a_csv_file_would_hold(kind):
    values, texts = VALUES[kind]
    assert value_texts(values) == texts


@pytest.mark.parametrize(
    "kind, cells, texts",
    [
        ("float", ["5", "", "nan", "7"], ["5", "", "", "7"]),
        ("float", ["5", "1e-7", "1e+20"], ["5.0", "1e-07", "1e+20"]),
        ("moment", ["2020-01-31 00:00:00.000000", ""], ["2020-01-31", ""]),
        ("moment", ["2020-01-31 04:00:00.120+0100"], ["2020-01-31 04:00:00.12+01:00"]),
        ("truth", ["true", "", "false"], ["True", "", "False"]),
    ],
)
def test_what_arrow_writes_becomes_the_same(kind, cells, texts):
    assert typed_texts(kind, cells) == texts


def test_a_frame_of_pandas_gives_what_it_writes(tmp_path):
    """As its to_csv() does, but for whole numbers beside a missing one."""
    frame = pd.DataFrame({"a": [1.5, 5.0, np.nan], "b": [True, None, False], "c": [DAY, pd.NaT, DAY]})
    frame.to_csv(tmp_path / "f.csv", index=False)
    written = pd.read_csv(tmp_path / "f.csv", dtype=str, keep_default_na=False)
    for name in frame:
        column = value_column(name, frame[name].tolist(), Path("f"), np.arange(3), Problems())
        assert column.cells(3).tolist() == written[name].tolist()


def test_a_list_is_several_values():
    cells = [["x", None, "y"], "z", None, [], np.array([1, 2])]
    column = value_column("c", cells, Path("f"), np.arange(5), Problems())
    assert column.rows.tolist() == [0, 0, 1, 4, 4] and column.texts.tolist() == ["x", "y", "z", "1", "2"]
    assert not column.is_single and column.cells(5).tolist() == ["y", "z", "", "", "2"]


def test_cells_of_any_kind_of_column_are_the_same():
    """Texts of a column that was read fast become objects only when somebody asks for them."""
    coded, plain = (make("c", np.array(["a", "", "b", "a"], dtype=object)) for make in (_coded, text_column))
    for column in (coded, plain):
        assert (column.rows.tolist(), column.texts.tolist()) == ([0, 2, 3], ["a", "b", "a"]) and column.is_single
        assert column.distinct[0].tolist() == [0, 1, 0] and column.distinct[1].tolist() == ["a", "b"]
        assert column.cells(5).tolist() == ["a", "", "b", "a", ""]


def _coded(name, cells):
    return CodedColumn(name, TextColumn.from_texts(cells))
