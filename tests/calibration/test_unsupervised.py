"""Without given links: what is said and how entities are joined, added by hand; and whole trainings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import SMALL_BEST, said_graph, said_task

from mixtea import DataError, MixTEA, Task
from mixtea.calibration.unsupervised import PairEvidence, has_no_links
from mixtea.graph.labels import Labels
from mixtea.runs.reader import StoredRun

NONE = np.empty((0, 2), dtype=np.int64)


def unlinked(task, **more) -> Task:
    return task.replace(train=NONE, valid=NONE, links_from="names", **more)


def evidence(text, structure, views=None, possible=None):
    """Of all pairs of n sources and n targets, by matrices [n, n]."""
    text, n = np.asarray(text, dtype=float), len(text)
    views = [text] if views is None else views
    possible = np.ones((n, n), dtype=bool) if possible is None else possible
    columns = {
        "text": text.ravel(),
        "structure": np.asarray(structure, dtype=float).reshape(-1, 1),
        "views": np.array([np.asarray(v, dtype=float).ravel() for v in views]).reshape(-1, n * n).T,
        "possible": np.asarray(possible).ravel(),
    }
    return PairEvidence(*np.indices((n, n)).reshape(2, -1), (n, n), columns)


def test_with_nothing_sure_text_decides_alone():
    structure = np.random.default_rng(1).random((3, 3))
    flat = evidence(np.zeros((3, 3)), structure).probability()
    assert flat == pytest.approx(flat[0]) and 0 < flat[0] <= 1 / 3
    none = {"structure": np.empty((0, 1)), "views": np.empty((0, 0)), "possible": np.empty(0, dtype=bool)}
    nothing = PairEvidence(*np.empty((2, 0), dtype=int), (3, 3), {"text": np.empty(0), **none})
    assert nothing.probability().shape == (0,)


def test_structure_counts_the_more_the_more_pairs_are_sure():
    n = 40
    text = np.where(np.eye(n, dtype=bool), 9.0, -9.0)
    text[-1] = text[:, -1] = -3.0  # all are sure but the last, of whom nothing is known
    by_structure = evidence(text, np.where(np.eye(n, dtype=bool), 0.9, 0.2)).probability().reshape(n, n)
    without = evidence(text, np.full((n, n), 0.5)).probability().reshape(n, n)
    assert by_structure[-1, -1] > without[-1, -1] and (by_structure[-1, :-1] < by_structure[-1, -1]).all()
    assert (by_structure.diagonal()[:-1] > 0.9).all() and by_structure[0, 1] < 0.01
    assert (by_structure.sum(axis=0) <= 1 + 1e-6).all() and (by_structure.sum(axis=1) <= 1 + 1e-6).all()


def test_how_many_have_a_counterpart_by_the_view_that_is_sure_of_the_most():
    sure = np.where(np.eye(4, dtype=bool), 20.0, -20.0)
    nothing = np.full((4, 4), np.nan)
    assert evidence(sure, sure, [nothing, sure])._n_matched() == pytest.approx(4)
    half = np.where(np.arange(4)[:, None] < 2, sure, np.nan)  # of the first two sources alone
    assert evidence(sure, sure, [half])._n_matched() == pytest.approx(2)
    assert evidence(sure, sure, [half, sure])._n_matched() == pytest.approx(4)
    assert evidence(sure, sure, [sure], np.arange(16).reshape(4, 4) > 0)._n_matched() == pytest.approx(3)
    assert evidence(sure, sure, [nothing])._n_matched() == evidence(sure, sure, [])._n_matched() == 1


@pytest.fixture(scope="module")
def told_alone(told):
    return MixTEA(**SMALL_BEST).fit(unlinked(told))


def test_everything_is_mapped_right_without_a_link(told, told_alone):
    assert has_no_links(told_alone.task_) and not has_no_links(told)
    mapping = told_alone.map().to_frame()
    assert (mapping["source"].str[1:] == mapping["target"].str[1:]).all() and len(mapping) == 30
    for column in ("probability", "runner_up_probability"):
        assert mapping[column].between(0, 1).all()
    candidates = told_alone.predict(5).to_frame()
    assert candidates["probability"].between(0, 1).all()
    assert (candidates.groupby("source")["probability"].sum() <= 1 + 1e-6).all()
    assert told_alone.score()["hits@1"] == 1


def test_saved_and_loaded_the_mapping_is_the_same(told_alone, tmp_path):
    told_alone.save(tmp_path / "run")
    mapping = told_alone.map().to_frame()
    loaded = MixTEA.load(tmp_path / "run")
    assert loaded.task_.links_from == "names" and loaded.map().to_frame().equals(mapping)
    assert StoredRun(tmp_path / "run").answers_.mapping().to_frame().equals(mapping)
    loaded._answers = None  # decided anew, from what was stored
    again = loaded.map().to_frame()
    assert again["target"].equals(mapping["target"])
    assert again["probability"].to_numpy() == pytest.approx(mapping["probability"].to_numpy())


def test_exchanged_test_links_change_no_bit(told, told_alone):
    exchanged = unlinked(told, test=np.stack([told.test[:, 0], told.test[::-1, 1]], axis=1))
    other = MixTEA(**SMALL_BEST).fit(exchanged)
    assert other.vectors_.equal(told_alone.vectors_) and other.map().to_frame().equals(told_alone.map().to_frame())


def test_names_alone_decide_where_nobody_has_triples():
    names = ["Oslo", "Wien", "Roma", "Praha"]
    task = said_task(said_graph([*names, "Kyiv"], prefix="s"), said_graph(names[::-1], prefix="t"), links_from="names")
    mapping = MixTEA(**SMALL_BEST).fit(task).map().to_frame()
    assert mapping["target"].tolist() == ["t3", "t2", "t1", "t0", None]


def test_blank_nodes_and_words_of_owl_are_never_mapped(told):
    """Whoever they are like: by structure s0, s1 and s2 are t0, t1 and t2 as before."""

    def renamed(graph, ids):
        place = {f"{graph.ids[0][0]}{i}": name for i, name in enumerate(ids)}
        return replace(graph, ids=np.array([place.get(str(id), str(id)) for id in graph.ids], dtype=object))

    owl = "http://www.w3.org/2002/07/owl#Thing"
    task = unlinked(told, source=renamed(told.source, ["_:a", owl, "owl:Class"]), test=NONE)
    mapping = MixTEA(**SMALL_BEST).fit(task).map().to_frame().set_index("source")["target"]
    assert mapping[["_:a", owl, "owl:Class"]].isna().all() and mapping.drop(["_:a", owl, "owl:Class"]).notna().all()
    task = unlinked(told, target=renamed(told.target, ["_:a", owl, "owl:Class"]), test=NONE)
    mapping = MixTEA(**SMALL_BEST).fit(task).map().to_frame().set_index("source")["target"]
    assert mapping[["s0", "s1", "s2"]].isna().all() and mapping.notna().sum() == 27


def test_where_nobody_could_begin_it_says_so(rings, told):
    with pytest.raises(
        DataError, match=r"nothing that both graphs say of their entities is comparable .*names, attributes, desc"
    ):
        MixTEA(**SMALL_BEST).fit(unlinked(rings))
    with pytest.raises(DataError, match="Give at least a few, or let names vote"):
        MixTEA("paper", max_epochs=1, device="cpu").fit(unlinked(told))
    bare = replace(told.source, labels=Labels.empty(), vectors=np.empty((0, 0), dtype=np.float32))
    MixTEA(**SMALL_BEST).fit(unlinked(told, source=bare))  # by values alone
    with pytest.raises(DataError, match=r"comparable \(voters without evidence: names\)"):
        MixTEA(voters=("forward", "backward", "names"), **SMALL_BEST).fit(unlinked(told, source=bare))


def test_names_that_have_nothing_in_common_find_nobody(rings):
    source, target = (
        replace(graph, labels=Labels.of_entities(np.arange(30), [a + b + a for a in half for b in half][:30]).as_set())
        for graph, half in ((rings.source, "abcdef"), (rings.target, "uvwxyz"))
    )
    aligner = MixTEA(**SMALL_BEST).fit(unlinked(rings, source=source, target=target))
    assert aligner.map().to_frame()["target"].isna().mean() > 0.8 and aligner.vectors_.isfinite().all()
