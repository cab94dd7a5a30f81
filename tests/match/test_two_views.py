"""Without given links: what is said and how entities are joined, added by hand; and whole trainings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import SMALL_BEST, said_graph, said_task

from mixtea import DataError, MixTEA, Task
from mixtea.data.labels import Labels
from mixtea.match.two_views import SEEN, UNSURE, Views, left, without_links
from mixtea.runs.stored import StoredRun
from mixtea.vote import evidence

NONE = np.empty((0, 2), dtype=np.int64)
EVERY = np.indices((3, 3)).reshape(2, -1)


def unlinked(task, **more) -> Task:
    return replace(task, train=NONE, valid=NONE, links_from="names", **more)


def test_with_nothing_sure_what_is_said_decides_alone():
    said, joined = np.zeros(9), np.random.default_rng(1).random(9)
    assert Views(*EVERY, said, joined, (3, 3)).log_odds(0.0) == pytest.approx(-np.log(3))
    assert Views(*(EVERY[:, :0]), said[:0], joined[:0], (3, 3)).log_odds(0.0).shape == (0,)


def test_structure_counts_the_more_the_more_pairs_are_sure():
    n = 40
    source, target = np.indices((n, n)).reshape(2, -1)
    same = source == target
    said = np.where(same & (source < n - 1), 9.0, -3.0)  # all are sure but the last, of whom nothing is known
    joined = np.where(same, 0.9, 0.2)
    found = Views(source, target, said, joined, (n, n)).log_odds(n - 0.5).reshape(n, n)
    links = np.stack([np.arange(n - 1)] * 2, axis=1)
    level = evidence.levels(source, target, np.clip(joined / 0.9, 0, 0.999), links, (n, n))
    odds = evidence.learned(level, source, target, links, (n, n)).odds[level].reshape(n, n)
    trusted = (n - 1) ** 2 / ((n - 1) ** 2 + SEEN**2)
    alone = -3.0 - np.log(n)
    both = -3.0 + odds[-1, -1] + left(n - 1, n - 0.5, (n, n))
    assert found[-1, -1] == pytest.approx(alone + trusted * (both - alone))
    assert found[-1, -1] > found[-1, :-1].max() and found[0, 0] > 3 > -3 > found[0, 1]
    agreeing = Views(source, target, said, np.full(n * n, 0.5), (n, n)).log_odds(n - 0.5).reshape(n, n)
    assert agreeing[-1, -1] < found[-1, -1]  # structure that is the same for all tells nothing


def test_the_fewer_have_a_counterpart_the_fewer_are_left():
    assert left(80, 100, (100, 100)) == pytest.approx(np.log(1 / 0.2))  # each of the others has one
    assert left(10, 40, (100, 100)) == pytest.approx(np.log(30 / 90 / 0.75))
    assert left(10, 20, (100, 100)) < left(10, 40, (100, 100)) < left(10, 90, (100, 100))
    assert left(90, 90.1, (100, 100)) == pytest.approx(np.log(0.1 / 10 / UNSURE))
    assert left(0, 0, (100, 100)) == pytest.approx(np.log(1e-3))
    assert np.isfinite([left(3, 3, (3, 3)), left(0, 0, (0, 0)), left(5, 9, (5, 100))]).all()


@pytest.fixture(scope="module")
def told_alone(told):
    return MixTEA(**SMALL_BEST).fit(unlinked(told))


def test_everything_is_mapped_right_without_a_link(told, told_alone):
    assert without_links(told_alone.task_) and not without_links(told)
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
    assert StoredRun(tmp_path / "run").map().to_frame().equals(mapping)
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
    bare = replace(told.source, labels=Labels.none(), vectors=np.empty((0, 0), dtype=np.float32))
    MixTEA(**SMALL_BEST).fit(unlinked(told, source=bare))  # by values alone
    with pytest.raises(DataError, match=r"comparable \(voters without a word: names\)"):
        MixTEA(voters=("forward", "backward", "names"), **SMALL_BEST).fit(unlinked(told, source=bare))


def test_names_that_have_nothing_in_common_find_nobody(rings):
    source, target = (
        replace(graph, labels=Labels.of_entities(np.arange(30), [a + b + a for a in half for b in half][:30]).as_set())
        for graph, half in ((rings.source, "abcdef"), (rings.target, "uvwxyz"))
    )
    aligner = MixTEA(**SMALL_BEST).fit(unlinked(rings, source=source, target=target))
    assert aligner.map().to_frame()["target"].isna().mean() > 0.8 and aligner.vectors_.isfinite().all()
