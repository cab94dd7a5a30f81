"""Typical mistakes of somebody who writes Python: each has an error of our own that knows the way out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from mixtea import Candidates, GraphFilter, Limits, Mapping, MixTEA, MixTEAError, NotFittedError, load_task, train

QUICK = dict(preset="paper", max_epochs=1, device="cpu")
ROWS = [("a", "r", "b"), ("b", "r", "c"), ("c", "s", "d"), ("a", "s", "d"), ("d", "r", "e")]
OTHERS = [(head.upper(), relation, tail.upper()) for head, relation, tail in ROWS]
OWN = dict(source=ROWS, target=OTHERS, links=[("a", "A"), ("b", "B"), ("c", "C")], test_links=[("d", "D"), ("e", "E")])


@pytest.fixture(scope="module")
def task():
    return load_task(**OWN)


@pytest.fixture(scope="module")
def aligner(task):
    return MixTEA(**QUICK).fit(task)


def wrong(call, message, *args):
    with pytest.raises(MixTEAError, match=message) as raised:
        call(*args)
    assert len(raised.value.lines()) <= 3


LOADING = {
    "a frame as folder": (
        dict(folder=pd.DataFrame(ROWS)),
        r"type DataFrame\. .* load_task\(source=",
    ),
    "no path": (dict(folder=""), "folder is a path, not an empty text"),
    "a number as folder": (dict(folder=5), "folder is a path, not an object of type int"),
    "names that are no file": (OWN | dict(names_source={"a": "x"}), "names_source is a path.* Write it to a file"),
    "a frame of names": (
        OWN | dict(names_target=pd.DataFrame(ROWS)),
        "names_target is a path, not .* DataFrame",
    ),
    "vectors in memory": (OWN | dict(vectors_source=np.zeros((5, 2))), "vectors_source is a path, not .* ndarray"),
    "a filter as a dictionary": (
        OWN | dict(graph_filter={"keep_types": ["x"]}),
        "graph_filter is an object of type dict",
    ),
    "limits as a dictionary": (
        OWN | dict(limits={"max_rows": 1}),
        r"from mixtea import Limits; limits=Limits",
    ),
    "a seed of letters": (OWN | dict(seed="one"), "seed is 'one'. Choose a whole number, 0 or more"),
    "a seed below 0": (OWN | dict(seed=-1), "seed is -1"),
    "links from nowhere": (OWN | dict(links_from=None), "links_from is None. Choose one of given, names"),
}


@pytest.mark.parametrize("mistake", LOADING)
def test_loading(mistake):
    given, message = LOADING[mistake]
    wrong(lambda: load_task(**given), message)


FITTING = {
    "a path as task": (lambda m, t: m.fit("data"), r"fit needs a task, not str: load_task\(\.\.\.\) makes one"),
    "rows as task": (lambda m, t: m.fit(ROWS), "fit needs a task, not list"),
    "no callback": (lambda m, t: m.fit(t, callbacks=5), "callbacks are objects of mixtea.Callback, not of type int"),
    "a function for a callback": (lambda m, t: m.fit(t, callbacks=[print]), "not of type builtin_function_or_method"),
    "a folder to start with": (lambda m, t: m.fit(t, warm_start="run"), r"MixTEA\.load\(folder\) gives that of a run"),
    "nothing learned": (lambda m, t: m.fit(t, warm_start=MixTEA()), r"call fit\(task\) first"),
    "no folder": (lambda m, t: m.fit(t, checkpoints=5), "checkpoints is a path, not an object of type int"),
    "no such device": (lambda m, t: m.set_params(device="cuda:99").fit(t), "cannot be used here.* Choose cpu or auto"),
    "no such kind": (
        lambda m, t: m.set_params(device="gpu").fit(t),
        "'gpu' cannot be used here: there is no such",
    ),
    "out to nowhere": (lambda m, t: train(t, 5), "out is a path"),
    "no seconds": (lambda m, t: train(t, "x", checkpoint_every="1 min"), "checkpoint_every is a number of seconds"),
    "a word for a callback": (lambda m, t: train(t, "x", callbacks=["log"]), "objects of mixtea.Callback, not .* str"),
    "an aligner, not its run": (lambda m, t: train(t, "x", warm_start=m), "warm_start is a path"),
    "no board": (lambda m, t: train(t, "x", tensorboard=5), "tensorboard is a path"),
}


@pytest.mark.parametrize("mistake", FITTING)
def test_fitting(task, mistake):
    call, message = FITTING[mistake]
    wrong(call, message, MixTEA(**QUICK), task)


UNFITTED = (
    "predict", "map", "score", "score_mapping", "threshold_curve", "score_by_evidence", "relations", "explainer",
)  # fmt: skip


@pytest.mark.parametrize("name", UNFITTED)
def test_asking_before_learning(name):
    with pytest.raises(NotFittedError, match=r"has not learned yet: call fit\(task\) first"):
        getattr(MixTEA(), name)()


@pytest.mark.parametrize("name", ["history_", "trace_", "vectors_", "answers_"])
def test_looking_before_learning(name):
    with pytest.raises(NotFittedError, match=r"call fit\(task\) first"):
        getattr(MixTEA(), name)


ASKING = {
    "k of 0": (lambda a: a.predict(0), "k must be a whole number of at least 1, not 0"),
    "k of text": (lambda a: a.predict("10"), "not '10'"),
    "k of truth": (lambda a: a.predict(True), "not True"),
    "a decoder": (lambda a: a.predict(decoder="best"), "decoder must be one of nearest, csls"),
    "a voter": (lambda a: a.map(voters="me"), "There is no voter 'me'"),
    "links in a file": (lambda a: a.score("links.tsv"), "not the text 'links.tsv'. Give pairs"),
    "no counterpart": (lambda a: a.score([("a", None)]), "The targets are ids or labels, which are text, not NoneType"),
    "numbers with a point": (lambda a: a.score_mapping(np.array([[0.5, 1]])), "which are text, not float64 0.5"),
    "a score of 2": (lambda a: a.relations(min_score=2), "min_score is a number from 0 to 1, not 2"),
    "a pair of lists": (lambda a: a.explain(["a"], "A"), "which are text, not list"),
    "candidates of 0": (lambda a: a.predict().to_frame(k=0), "k must be a whole number of at least 1, not 0"),
    "a probability of 2": (lambda a: a.map().above(2), "A probability is a number from 0 to 1, not 2"),
    "a precision of 2": (lambda a: a.map(precision=2), "A precision is a number above 0 and at most 1, not 2"),
    "every source and a precision": (lambda a: a.map(every=True, precision=0.9), "they exclude each other"),
    "scores of both": (lambda a: a.score_mapping(best_f1=True, every=True), "they exclude each other"),
    "saving nowhere": (lambda a: a.save(None), "folder is a path, not an object of type NoneType"),
    "loading a number": (lambda a: MixTEA.load(5), "folder is a path, not an object of type int"),
    "writing a number": (lambda a: a.map().write(5), "path is a path, not an object of type int"),
}


@pytest.mark.parametrize("mistake", ASKING)
def test_asking(aligner, mistake):
    call, message = ASKING[mistake]
    wrong(call, message, aligner)


def test_a_device_to_load_to_is_a_word(aligner, tmp_path):
    aligner.save(tmp_path / "run")
    wrong(lambda: MixTEA.load(tmp_path / "run", device=0), r"A device is a word \(auto, cpu, cuda, cuda:1\), not 0")
    wrong(lambda: aligner.save(tmp_path / "run"), r"already there\. .*overwrite=True")


@pytest.mark.parametrize("name", ["predict", "map", "score"])
def test_full_memory_while_answering(task, name, monkeypatch):
    def full(*args):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    fresh = MixTEA(**QUICK).fit(task)
    monkeypatch.setattr("mixtea.decide.predict.Predictor._ranked", full)
    wrong(getattr(fresh, name), "Memory is full. Use a smaller entity_dim")


def test_the_public_names_are_what_they_say():
    import mixtea

    for name in mixtea.__all__:
        assert getattr(mixtea, name).__doc__ and name in dir(mixtea)
    assert (mixtea.Mapping, mixtea.Candidates) == (Mapping, Candidates)
    assert (
        load_task(**OWN, graph_filter=GraphFilter(languages="de"), limits=Limits(max_rows=100)).name == "source-target"
    )
