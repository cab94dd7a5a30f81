"""Runs that are replaced under their review, before it starts or while it goes on: what is shown is what is saved."""

from __future__ import annotations

import shutil
from contextlib import closing

import numpy as np
import pytest
from conftest import SMALL_BEST
from reviewing import DirectSession
from served import serving

from mixtea import MixTEA
from mixtea.config import STRUCTURE_VOTERS
from mixtea.graph.graph import Graph
from mixtea.review.decisions import DecisionStore, decisions_path
from mixtea.review.learning import retrain
from mixtea.review.session import new_key
from mixtea.review.state import ReplacedError

HOW = ("shrunk", "grown", "reordered", "renamed", "the same")


def with_entities(task, source, target, prefix=""):
    """The task with these entities, by number and in this order; numbers beyond the last are new ones."""
    graphs, places = [], []
    for graph, numbers in ((task.source, source), (task.target, target)):
        place = np.full(max(graph.n_entities, max(numbers) + 1), -1)
        place[numbers] = np.arange(len(numbers))
        triples = np.stack([place[graph.triples[:, 0]], graph.triples[:, 1], place[graph.triples[:, 2]]], axis=1)
        ids = [prefix + (graph.ids[n] if n < graph.n_entities else f"new{n}") for n in numbers]
        graphs.append(Graph(np.array(ids, dtype=object), graph.relations, triples[(triples >= 0).all(axis=1)]))
        places.append(place)
    links = [np.stack([places[0][pairs[:, 0]], places[1][pairs[:, 1]]], axis=1)
             for pairs in (task.train, task.valid, task.test)]  # fmt: skip
    train, valid, test = (pairs[(pairs >= 0).all(axis=1)] for pairs in links)
    return task.replace(source=graphs[0], target=graphs[1], train=train, valid=valid, test=test)


@pytest.fixture(scope="module")
def runs(doubtful_task, doubtful_run, tmp_path_factory):
    """Run folders that may take the place of the first one, by what happened to their graphs."""
    task, n = doubtful_task, doubtful_task.source.n_entities
    turned = np.random.default_rng(1).permutation(n).tolist()
    tasks = {
        "shrunk": with_entities(task, range(20, n), range(10, n)),
        "grown": with_entities(task, range(n + 5), [n + 1, *range(n), n]),
        "reordered": with_entities(task, turned, turned[::-1]),
        "renamed": with_entities(task, range(n), range(n), prefix="new-"),
        "the same": task,
    }
    folder, settings = tmp_path_factory.mktemp("replaced"), SMALL_BEST | {"voters": STRUCTURE_VOTERS, "max_epochs": 1}
    fitted = {how: MixTEA(**settings, seed=7).fit(one, progress=False) for how, one in tasks.items()}
    for how, one in fitted.items():
        one.save(folder / how)
    return {how: folder / how for how in fitted}


@pytest.fixture(scope="module")
def learned(doubtful_run, tmp_path_factory):
    """The first run as it was reviewed and has learned: folder, file of decisions, and the run that was trained."""
    run = shutil.copytree(doubtful_run, tmp_path_factory.mktemp("learned") / "run")
    with closing(DecisionStore(decisions_path(run))) as store:
        session = DirectSession(run, store)
        decide(session, range(0, 60, 7))
        new = retrain(MixTEA.load(run), store.active())
        new.save(session.state.reviewed_run)
        store.keep_trained(new._manifest, store.last_id())
    return run


def decide(session, rows):
    """Decide on cards as the page does; returns what they showed."""
    shown = []
    for row in rows:
        card = session.state.card(row)
        pair = session.pair_on(card)
        session.decide("ann", new_key(), pair, ("accept", "reject")[row % 2])
        shown.append((pair.source, card.source.id, pair.targets[0], card.target.id))
    return shown


def replace_folder(run, other):
    shutil.rmtree(run)
    shutil.copytree(other, run)


def copied(run, tmp_path):
    """A copy of a run with what lies beside it."""
    for path in run.parent.glob("run*"):
        (shutil.copytree if path.is_dir() else shutil.copy)(path, tmp_path / path.name)
    return tmp_path / "run"


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("has_learned", [False, True])
def test_what_is_shown_is_saved_when_the_run_was_replaced_before_the_start(runs, learned, tmp_path, how, has_learned):
    run = copied(learned, tmp_path)
    if not has_learned:
        shutil.rmtree(run.with_name("run.reviewed"))
    replace_folder(run, runs[how])
    with closing(DecisionStore(decisions_path(run))) as store:
        session, before = DirectSession(run, store), store.last_id()
        assert session.state.current is session.state.original  # the one that had learned is of another run
        assert bool(session.state.notices) == has_learned
        if has_learned:
            assert "it was trained from another run" in session.state.notices["trained"]
        rows = range(len(session.state.original.sources))
        shown = decide(session, rows)
        assert [(one.source, one.source, one.target, one.target) for one in store.rows(before)] == shown
        task = session.state.original.task
        there = [one.source in task.source.ids and one.target in task.target.ids for one in store.rows()[:before]]
        assert (
            len(session.state.index.outside_run) == there.count(False)
            and len(session.state.index.active) == store.last_id()
        )
        assert {"renamed": not any(there), "shrunk": any(there) and not all(there)}.get(how, all(there))


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("has_learned", [False, True])
def test_nothing_is_saved_for_a_run_that_was_replaced_by_one_of_other_graphs(runs, learned, tmp_path, how, has_learned):
    run = copied(learned, tmp_path)
    if not has_learned:
        shutil.rmtree(run.with_name("run.reviewed"))
    with closing(DecisionStore(decisions_path(run))) as store:
        session = DirectSession(run, store)
        assert (session.state.current is not session.state.original) == has_learned and not session.state.notices
        decide(session, [1, 2])
        before = store.last_id()
        replace_folder(run, runs[how])
        if how == "the same":
            assert len(decide(session, [3, 4])) == 2 and store.last_id() == before + 2
            assert "replaced by another run of the same graphs" in session.state.notices["run"]
            return
        for act in (lambda: decide(session, [3]), lambda: session.undo("ann", new_key())):
            with pytest.raises(ReplacedError, match="replaced by a run of other graphs"):
                act()
        assert store.last_id() == before and "Nothing is saved" in session.state.notices["run"]
        assert session.state.load_trained() is None
        replace_folder(run, learned)  # put back: it goes on
        assert len(decide(session, [3])) == 1 and "run" not in session.state.notices


def test_a_run_that_is_gone_or_cannot_be_read_is_not_decided_about(learned, tmp_path):
    run = copied(learned, tmp_path)
    with closing(DecisionStore(decisions_path(run))) as store:
        session = DirectSession(run, store)
        run.rename(tmp_path / "away")
        with pytest.raises(ReplacedError, match="cannot be read any more"):
            decide(session, [1])
        (tmp_path / "away").rename(run)
        (run / "run.json").write_text("{}")
        with pytest.raises(ReplacedError, match="cannot be read any more"):
            decide(session, [1])


def test_a_trained_run_is_used_only_with_the_run_and_the_decisions_it_comes_from(learned, tmp_path):
    run = copied(learned, tmp_path)
    with closing(DecisionStore(decisions_path(run))) as store:
        session = DirectSession(run, store)
        assert (
            session.state.current.parent == session.state.original.name
            and session.state.current.name != session.state.original.name
        )
        model, last_id = session.state.load_trained()
        model.parent = "0" * 64
        assert session.state.adopt(model, last_id) == [] and session.state.current is not model
        assert '"Learn now" trains a new one' in session.state.notices["trained"]
    with closing(DecisionStore(tmp_path / "others.sqlite")) as store:
        session = DirectSession(run, store)
        assert (
            session.state.current is session.state.original
            and "not trained with these decisions" in session.state.notices["trained"]
        )
    (run.with_name("run.reviewed") / "graphs.safetensors").write_bytes(b"")
    with closing(DecisionStore(decisions_path(run))) as store:
        session = DirectSession(run, store)
        assert session.state.current is session.state.original and "is left alone" in session.state.notices["trained"]


def test_the_page_says_that_its_run_was_replaced(runs, learned, tmp_path):
    run = copied(learned, tmp_path)
    with serving(run) as server:
        cookie = server.enter()
        form = server.card("/card/5", cookie) | {"action": "accept"}
        replace_folder(run, runs["shrunk"])
        status, _, text = server.ask("POST", "/decide", form, cookie)
        assert status == 409 and "Not saved" in text and "replaced by a run of other graphs" in text
        assert "Nothing is saved until then" in server.ask("GET", "/status", None, cookie)[2]
        assert server.ask("POST", "/import", {}, cookie)[0] in (409, 422)
    with closing(DecisionStore(decisions_path(run))) as store:
        assert form["key"] not in {one.key for one in store.rows()}
    with serving(run) as server:
        cookie = server.enter()
        page = server.ask("GET", "/", None, cookie)[2]
        assert "about entities that are not in this run" in page
        assert "(not in this run)" in server.ask("GET", "/log", None, cookie)[2]
        assert server.ask("POST", "/decide", form, cookie)[0] in (200, 422)  # as shown, or not at all
        fresh = server.card("/card/1", cookie)
        assert server.ask("POST", "/decide", fresh | {"action": "reject"}, cookie)[0] == 200
