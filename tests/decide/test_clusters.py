"""Clusters of entities of several graphs."""

import json

import pandas as pd
import pytest

from mixtea import ConfigError, DataError, RunError
from mixtea.decide.clusters import Clusters
from mixtea.decide.mapping import FURTHER_TARGET, MAPPED, Mapping

CHAIN = [("a", "1", "b", "x", 0.9), ("b", "x", "c", "p", 0.8), ("a", "2", "c", "p", 0.7), ("a", "2", "b", "y", 0.6)]


def groups(clusters):
    return [sorted(group["graph"] + group["id"]) for _, group in clusters.frame.groupby("cluster")]


def test_a_graph_has_one_entity_in_a_cluster_the_likeliest_first():
    found = Clusters.of_pairs(CHAIN)
    assert groups(found) == [["a1", "bx", "cp"], ["a2", "by"]] and len(found) == 2
    assert found.frame["probability"].tolist() == [0.9, 0.9, 0.8, 0.6, 0.6]
    assert found.conflicts().empty and found.sizes().tolist() == [3, 2]
    assert repr(found) == "Clusters(2 of 5 entities in 3 graphs)"


def test_the_order_of_the_pairs_and_of_their_ends_makes_no_difference():
    turned = [(b, y, a, x, p) for a, x, b, y, p in reversed(CHAIN)]
    pd.testing.assert_frame_equal(Clusters.of_pairs(turned).frame, Clusters.of_pairs(CHAIN).frame)


def test_closure_puts_rivals_into_one_cluster_and_names_them():
    found = Clusters.of_pairs(CHAIN, one_per_graph=False)
    assert groups(found) == [["a1", "a2", "bx", "by", "cp"]]
    assert found.conflicts()[["graph", "id"]].values.tolist() == [["a", "1"], ["a", "2"], ["b", "x"], ["b", "y"]]


def test_every_pair_of_a_cluster_is_listed_once_as_sure_as_the_less_sure_end():
    pairs = Clusters.of_pairs(CHAIN[:2]).pairs()
    assert pairs.drop(columns="cluster").values.tolist() == [
        ["a", "1", "b", "x", 0.9],
        ["a", "1", "c", "p", 0.8],
        ["b", "x", "c", "p", 0.8],
    ]


def test_clusters_of_parts_are_joined():
    parts = [Clusters.of_pairs([pair]) for pair in CHAIN]
    joined = parts[0].union(*parts[1:])
    pd.testing.assert_frame_equal(joined.frame, Clusters.of_pairs(CHAIN).frame)
    assert len(Clusters.of_pairs([]).union(Clusters.of_pairs([]))) == 0


def test_equal_ids_of_two_graphs_are_two_entities():
    assert groups(Clusters.of_pairs([("a", "1", "b", "1", 0.9)])) == [["a1", "b1"]]


def test_a_large_cluster_is_joined_without_its_square():
    n = 20_000
    star = [("g", "0", f"h{i}", str(i), 0.5) for i in range(1, n)]
    found = Clusters.of_pairs(star)
    assert found.sizes().tolist() == [n] and len(found.union(found).frame) == n


@pytest.mark.parametrize("shared", [False, True])
def test_a_mapping_has_clusters(shared):
    targets = ["x", "x" if shared else "y", "z", None]
    frame = pd.DataFrame({"source": ["a", "b", "c", "d"], "target": targets, "probability": [0.9, 0.8, 0.7, 0.9]})
    frame = frame.assign(given=False, decision=[MAPPED, MAPPED, FURTHER_TARGET, "no counterpart"])
    found = Mapping(None, None, frame).clusters()
    assert found.sizes().tolist() == ([3, 2] if shared else [2, 2, 2]) and "d" not in found.frame["id"].tolist()


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".json"])
def test_clusters_are_written_with_a_row_per_entity(tmp_path, ending):
    clusters, path = Clusters.of_pairs([*CHAIN, ("a", "NA", "b", "1e5", 0.5)]), tmp_path / f"c{ending}"
    assert clusters.write(path) == 7
    if ending == ".json":
        found = pd.DataFrame(json.loads(path.read_text())["clusters"])
    else:
        found = pd.read_csv(path, sep="\t" if ending == ".tsv" else ",", dtype={"id": str}, keep_default_na=False)
    pd.testing.assert_frame_equal(found, clusters.frame, check_dtype=False)
    with pytest.raises(RunError, match="already there"):
        clusters.write(path)
    assert clusters.write(path, overwrite=True) == 7


def test_what_no_file_can_hold_is_refused(tmp_path):
    clusters = Clusters.of_pairs([("a", "1\t2", "b", "x", 0.9)])
    with pytest.raises(RunError):
        clusters.write(tmp_path / "c.tsv")
    with pytest.raises(ConfigError):
        clusters.write(tmp_path / "c.nt")
    assert not list(tmp_path.iterdir())


def test_a_join_keeps_the_surest_pair_of_a_cluster_whatever_its_order():
    """A weak first member makes none of the others weaker."""
    sure = Clusters.of_pairs([("b", "1", "c", "1", 0.9), ("a", "1", "b", "1", 0.6)])
    pd.testing.assert_frame_equal(sure.union().frame, sure.frame)
    rival = Clusters.of_pairs([("b", "1", "c", "2", 0.7)])
    assert groups(sure.union(rival)) == groups(rival.union(sure)) == [["a1", "b1", "c1"]]


@pytest.mark.parametrize("p", [float("nan"), 1.5, -0.1])
def test_what_is_no_probability_is_refused(p):
    with pytest.raises(DataError, match="probability"):
        Clusters.of_pairs([("a", "1", "b", "x", p)])


def test_half_a_character_is_refused_by_files_alone(tmp_path):
    clusters = Clusters.of_pairs([("a", "\ud800", "b", "x", 0.9)])
    assert clusters.pairs()["id"].tolist() == ["\ud800"] and len(clusters.union()) == 1
    for ending in (".tsv", ".csv", ".json"):
        with pytest.raises(RunError):
            clusters.write(tmp_path / f"c{ending}")
    assert not list(tmp_path.iterdir())
