"""Ranked candidates in a file, each with what was decided about it."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from conftest import make_graph

from mixtea.decide.candidates import Candidates
from mixtea.decide.mapping import COLUMNS, Mapping
from mixtea.export.formats import write_candidates

# of each source the two best targets, and what is decided: (target, decision)
BEST = [(0, 1), (1, 0), (2, 3), (3, 2), (4, 0), (0, 5)]
DECIDED = [
    ("s0", "t0", "mapped"), ("s1", "t5", "mapped anyway"), ("s2", None, "unsure"), ("s3", None, "target taken"),
    ("s4", "t4", "mapped"), ("s4", "t0", "further target"),
]  # fmt: skip


@pytest.fixture
def graphs():
    return [make_graph([(0, 0, 1)], 6, side) for side in "st"]


@pytest.fixture
def candidates(graphs):
    score = np.tile([2.0, 1.0], (6, 1))
    named = np.ones((6, 2, 1), dtype=bool)
    return Candidates(*graphs, np.arange(6), np.array(BEST), score, score / 4, named, np.ones(6), ("names",))


@pytest.fixture
def mapping(graphs):
    ends = pd.DataFrame(DECIDED, columns=["source", "target", "decision"]).astype({"target": object})
    others = {"probability": 0.4, "runner_up": None, "runner_up_probability": np.nan, "voters": "names", "given": False}
    return Mapping(*graphs, ends.assign(**others, evidence="names=+1.0")[list(COLUMNS)])


WANTED = {
    ("s0", "t0", 1): "mapped", ("s0", "t1", 2): "", ("s1", "t1", 1): "", ("s1", "t0", 2): "",
    ("s1", "t5", 3): "mapped anyway", ("s2", "t2", 1): "unsure", ("s2", "t3", 2): "", ("s3", "t3", 1): "target taken",
    ("s3", "t2", 2): "", ("s4", "t4", 1): "mapped", ("s4", "t0", 2): "further target", ("s5", "t0", 1): "given",
    ("s5", "t5", 2): "",
}  # fmt: skip


def test_every_candidate_has_its_decision_in_words(candidates, mapping, tmp_path):
    for name, separator in (("c.tsv", "\t"), ("c.csv", ",")):
        assert write_candidates(candidates, mapping, tmp_path / name) == len(WANTED)
        table = pd.read_csv(tmp_path / name, sep=separator, keep_default_na=False)
        ends = zip(table["source"], table["target"], table["rank"], strict=True)
        assert dict(zip(ends, table["decision"], strict=True)) == WANTED
        is_mapped = table["decision"].isin(["mapped", "mapped anyway", "further target"])
        assert table["evidence"].tolist() == np.where(is_mapped, "names=+1.0", "").tolist()
    write_candidates(candidates, mapping, tmp_path / "c.json")
    rows = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["candidates"]
    assert [row["decision"] for row in rows] == [*WANTED.values()]
