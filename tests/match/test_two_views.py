"""Without given links: what is said and how entities are joined, added by hand; and whole trainings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import SMALL_BEST, said_graph, said_task
from hypothesis import given
from hypothesis import strategies as st

from mixtea import DataError, MixTEA, Task
from mixtea.data.labels import Labels
from mixtea.match.two_views import Evidence, matched, structure_log_odds, without_links
from mixtea.runs.stored import StoredRun

NONE = np.empty((0, 2), dtype=np.int64)
N = 40
EVERY = np.indices((N, N)).reshape(2, -1)
SAME = EVERY[0] == EVERY[1]


def unlinked(task, **more) -> Task:
    return replace(task, train=NONE, valid=NONE, links_from="names", **more)


def evidence(text, structure, views=None):
    """All pairs of N sources and targets; text is the only view unless others are given."""
    return Evidence(*EVERY, text, structure, [text] if views is None else views, (N, N))


def test_with_nothing_sure_structure_counts_for_nothing():
    text, structure = np.full(N * N, -8.0), np.random.default_rng(1).random(N * N)
    p = matched(evidence(text, structure))
    assert p == pytest.approx(p[0], abs=1e-4) and p.sum() == pytest.approx(1, rel=0.05)
    none = np.empty(0, dtype=np.int64)
    assert matched(Evidence(none, none, none * 0.0, none * 0.0, [], (3, 3))).shape == (0,)


def test_structure_counts_the_more_the_more_pairs_are_sure():
    def weight(n_sure):
        sure = SAME & (EVERY[0] < n_sure)
        found = structure_log_odds(evidence(np.zeros(N * N), SAME * 1.0).candidates(), sure, np.where(SAME, 0.9, 0.2))
        return (found[SAME] - found[~SAME][0])[0]

    assert weight(0) == 0 < weight(5) < weight(20) < weight(39)


def test_structure_finds_what_text_leaves_open():
    """Text is sure of all but the last, of whom it knows nothing; structure is right about all, or the same for all."""
    text = np.where(SAME & (EVERY[0] < N - 1), 6.0, -9.0)
    right, none = (matched(evidence(text, joined)).reshape(N, N) for joined in (SAME * 0.7 + 0.2, np.full(N * N, 0.5)))
    assert (np.diag(right)[:-1] > 0.95).all() and right[-1, -1] > none[-1, -1]
    assert right[-1, -1] == right[-1].max() and right.sum() == pytest.approx(N - 1, abs=0.5)
    assert (right.sum(axis=0) <= 1 + 1e-9).all() and (right.sum(axis=1) <= 1 + 1e-9).all()


def test_what_structure_is_worth_follows_from_the_pairs_that_text_is_sure_of():
    """It decides between two targets of the same name where it is right about the sure pairs, not where it is not."""
    text = np.where(SAME, 6.0, -9.0)
    text[[(N - 2) * N + N - 1, (N - 1) * N + N - 2]] = 6.0  # the last two are called the same
    draw = np.random.default_rng(2)
    telling, noise = np.where(SAME, 0.9, 0.1) + 0.05 * draw.random(N * N), draw.random(N * N)
    told, untold = (matched(evidence(text, structure)).reshape(N, N) for structure in (telling, noise))
    assert told[-1, -1] > 0.6 > 0.4 > told[-1, -2] and abs(untold[-1, -1] - untold[-1, -2]) < 0.15


def test_as_many_are_matched_as_the_surest_view_alone_has_counterparts():
    half = SAME & (EVERY[0] < N // 2)
    sure, unsure = np.where(half, 6.0, -9.0), np.where(SAME, -1.0, -9.0)
    some = np.where(EVERY[0] < N // 2, sure, np.nan)  # has no opinion about the others
    zero = np.zeros(N * N)
    assert evidence(zero, zero, [unsure, sure]).n_matched() == pytest.approx(N // 2, abs=0.5)
    assert evidence(zero, zero, [some]).n_matched() == pytest.approx(N // 2, abs=0.5)
    assert evidence(zero, zero, [zero - 30]).n_matched() == evidence(zero, zero, []).n_matched() == 1
    assert matched(evidence(sure + unsure, zero, [unsure, sure])).sum() == pytest.approx(N // 2, abs=0.5)


@given(st.integers(0, 2**32 - 1))
def test_probabilities_of_an_entity_add_up_to_one_at_most(seed):
    draw = np.random.default_rng(seed)
    kept = draw.random(25) < 0.6
    source, target = (ends[kept] for ends in np.indices((5, 5)).reshape(2, -1))
    text, structure, view = draw.normal(0, 4, (3, kept.sum()))
    p = matched(Evidence(source, target, text, structure, [text, np.where(view > 0, view, np.nan)], (5, 5)))
    assert ((p >= 0) & (p <= 1)).all()
    assert all((np.bincount(ends, p, minlength=5) <= 1 + 1e-9).all() for ends in (source, target))


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
