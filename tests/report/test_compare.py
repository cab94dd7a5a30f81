"""Two mappings side by side: written out, in files, at hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import make_graph, write

from mixtea.decide.mapping import Mapping
from mixtea.errors import DataError
from mixtea.graph.graph import Graph
from mixtea.report.compare import compare_frames, compare_mappings, count_changes, drop_unchanged

SOURCE, TARGET = "abcdefgh", "ABCDEFGH"


def pairs(*rows):
    """Such as `aA.9`: source, target, probability; without a target no counterpart."""
    table = [(row[0], row[1] if row[1].isalpha() else None, float(row.lstrip("abcdefghABCDEFGH"))) for row in rows]
    return pd.DataFrame(table, columns=["source", "target", "probability"])


def graph(names: str) -> Graph:
    return replace(make_graph([(i, 0, i + 1) for i in range(7)], 8), ids=np.array(list(names), dtype=object))


def mapping(*rows: str, given: str = "") -> Mapping:
    frame = pairs(*rows)
    return Mapping(graph(SOURCE), graph(TARGET), frame.assign(given=frame["source"].isin(list(given))))


def shown(found):
    return ["".join([row[0], " ", row[1], row[2] or "-", row[3] or "-"]) for row in found.values.tolist()]


def test_every_kind_of_change_with_its_probabilities():
    before, after = pairs("aA.9", "bB.8", "cC.7", "d.6"), pairs("aA.95", "bG.5", "c.4", "dD.6", "dE.55", "dD.6")
    found = compare_frames(before, after)
    assert shown(found) == ["new d-D", "new d-E", "gone cC-", "changed bBG", "unchanged aAA"]
    assert found["probability_before"].fillna(0).tolist() == [0, 0, 0.7, 0.8, 0.9]
    assert found["probability"].fillna(0).tolist() == [0.6, 0.55, 0, 0.5, 0.95]
    assert count_changes(found) == "2 new, 1 gone, 1 changed, 1 unchanged"
    assert shown(drop_unchanged(found)) == shown(found)[:-1]


def test_several_targets_of_a_source():
    before, after = pairs("aA.9", "aB.8", "aC.7", "bB.9", "bC.8"), pairs("aB.8", "aD.7", "bD.9", "bE.9", "bF.6")
    found = compare_frames(before, after)
    assert shown(found) == ["new b-F", "gone aC-", "changed aAD", "changed bBD", "changed bCE", "unchanged aBB"]


@pytest.mark.parametrize("rows, change", [(((), ("aA.9",)), "new"), ((("aA.9",), ()), "gone")])
def test_a_side_without_any(rows, change):
    before, after = (pairs(*side) for side in rows)
    assert compare_frames(before, after)["change"].tolist() == [change] and compare_frames(after[:0], before[:0]).empty
    assert compare_mappings(*(mapping(*side) for side in rows))["change"].tolist() == [change]


def test_files_of_any_format_beside_what_is_mapped_now(tmp_path):
    """They are read as the graphs have ids, and turned round if need be."""
    alignment = "<http://x/1> <http://www.w3.org/2002/07/owl#sameAs> <http://y/2> .\n"
    write(tmp_path, {"m.tsv": "A\ta\t0.9\nB\tb\t0.2\n", "m.csv": "source,target\na,A\nb,C\n", "m.nt": alignment})
    now = mapping("aA.8", "bB.7", "c.9")
    found = compare_mappings(tmp_path / "m.tsv", now)
    assert shown(found) == ["unchanged aAA", "unchanged bBB"] and found["probability_before"].tolist() == [0.9, 0.2]
    assert shown(compare_mappings(tmp_path / "m.tsv", now, min_probability=0.75)) == ["unchanged aAA"]
    assert shown(compare_mappings(tmp_path / "m.csv", now, min_probability=0.1)) == ["changed bCB", "unchanged aAA"]
    assert shown(compare_mappings(now, tmp_path / "m.csv")) == ["changed bBC", "unchanged aAA"]
    assert shown(compare_mappings(tmp_path / "m.csv", tmp_path / "m.tsv")) == ["changed bCB", "unchanged aAA"]
    with pytest.raises(DataError, match=r"m\.nt: it has no entity in common .* begins with 'http://x/1', the o"):
        compare_mappings(tmp_path / "m.nt", now)
    with pytest.raises(DataError, match=r"^mapping: it has no entity in common"):
        compare_mappings(mapping("hH.9"), mapping("aA.9"))
    with pytest.raises(DataError, match="no such file"):
        compare_mappings(now, tmp_path / "nowhere.tsv")


def test_given_links_count_where_the_file_has_some(tmp_path):
    write(tmp_path, {"without.tsv": "b\tB\t0.7\n", "with.tsv": "a\tA\t1\nb\tB\t0.7\n"})
    now = mapping("aA1.", "bB.7", given="a")
    assert shown(compare_mappings(tmp_path / "without.tsv", now)) == shown(
        compare_mappings(now, tmp_path / "without.tsv")
    )
    assert shown(compare_mappings(tmp_path / "without.tsv", now)) == ["unchanged bBB"]
    assert shown(compare_mappings(tmp_path / "without.tsv", mapping("aA.9", "bC1.", given="b"))) == [
        "new a-A",
        "changed bBC",
    ]
    assert shown(compare_mappings(tmp_path / "with.tsv", now)) == ["unchanged aAA", "unchanged bBB"]
    assert shown(compare_mappings(mapping("aA.6", "bB.7"), now)) == ["unchanged aAA", "unchanged bBB"]
