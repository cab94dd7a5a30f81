"""Paths that are given as arguments."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mixtea import DataError
from mixtea.io.paths import as_path, as_paths


def test_one_or_several_paths_are_taken_and_none():
    assert as_paths(None, "links") == [] and as_paths("a.tsv", "links") == [Path("a.tsv")]
    assert as_paths(["a.tsv", Path("b.tsv")], "links") == [Path("a.tsv"), Path("b.tsv")]


@pytest.mark.parametrize("given", [3, {"a": "b"}, pd.DataFrame({"a": ["b"]}), [None]])
def test_what_is_no_path_is_refused_by_its_type(given):
    with pytest.raises(DataError, match="links is a path, not an object of type"):
        as_paths(given, "links")


def test_an_empty_text_is_no_path():
    with pytest.raises(DataError, match="folder is a path, not an empty text"):
        as_path("", "folder")
