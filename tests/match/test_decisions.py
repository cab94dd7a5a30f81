"""What was decided about each source, why not all are mapped, and what is said of it."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import SMALL_BEST

from mixtea import MixTEA, Task
from mixtea.data.graph import Graph
from mixtea.match.answers import Answers, Ranked
from mixtea.match.mapping import CHOSEN_LINKS
from mixtea.report.page import make_report
from mixtea.runs.folder import seal
from mixtea.runs.stored import StoredRun


def answers(task, *, counterpart, silent=(), lost=(), likelihood=0.9):
    """Answers about the sources of a task without a training link, decided by hand."""
    free = np.setdiff1d(np.arange(task.source.n_entities), task.train[:, 0])
    shape = (len(free), 2)
    target = np.stack([free, np.roll(free, 1)], axis=1)
    no, zero = np.zeros(shape, dtype=bool), np.zeros(shape)
    quiet = no.copy()
    quiet[list(silent)] = True
    sure = np.tile([likelihood, 0.0], (len(free), 1))
    found = Ranked(target, zero, zero, np.zeros((*shape, 1), dtype=bool), no, quiet, sure, np.array(counterpart))
    is_free = ~np.isin(np.arange(len(free)), list(lost))
    return Answers(task, ("names",), free, found, {}, found, is_free)


@pytest.fixture
def seven():
    """Seven sources and targets, one training and one validation link; five sources are asked about."""
    triples = np.array([[i, 0, (i + 1) % 7] for i in range(7)])
    source, target = (
        Graph(np.array([f"{side}{i}" for i in range(7)], dtype=object), np.array(["r"], dtype=object), triples)
        for side in "st"
    )
    links = [np.array([[i, i]]) for i in range(2)]
    return Task("seven", source, target, links[0], links[1], links[0][:0])


def test_each_reason_has_its_word(seven):
    found = answers(seven, counterpart=[1, 0.1, 0.9, 0.9, 0, 0.9], silent=[4], lost=[1, 2])
    mapping = found.mapping(with_given=True)
    frame = mapping.to_frame()
    words = ["given", "given", "no counterpart", "target taken", "mapped", "no evidence", "mapped"]
    assert frame["decision"].tolist() == words
    assert frame["target"].notna().tolist() == [word in ("given", "mapped") for word in words]
    assert frame["probability"][2:5].round(2).tolist() == [0.9, 0.19, 0.81] and np.isnan(frame["probability"][5])
    said = "mapped 2 of 5: 1 have no counterpart, 1 lost their target to another, 1 without evidence"
    assert mapping.summary() == said and repr(mapping) == f"Mapping({said}; 2 given links)"
    assert list(mapping.doubts()) == [] and mapping.expected == pytest.approx(2.8)
    assert mapping.predicted().summary() == said


def test_far_fewer_or_more_than_the_evidence_says_is_a_doubt(seven):
    fewer = answers(seven, counterpart=[1, *[0.96] * 5], lost=[1, 2])
    assert list(fewer.mapping().doubts()) == ["3 are mapped, though by the evidence about 5 have a counterpart"]
    more = answers(seven, counterpart=[1, 0.55, 0.55, 0.55, 0.55, 0.55], likelihood=1.0)
    assert list(more.mapping().doubts()) == ["5 are mapped, though by the evidence about 3 have a counterpart"]
    assert list(more.mapping(abstain=False).doubts()) == []  # as it was asked for
    usual = answers(seven, counterpart=[1, 0.9, 0.9, 0.9, 0.9, 0.9])
    assert usual.mapping().summary() == "mapped 5 of 5" and list(usual.mapping().doubts()) == []


def test_that_links_were_chosen_is_said_wherever_a_mapping_goes(rings, tmp_path, mixtea, monkeypatch):
    import mixtea.match.predict as predict

    counted = predict.counterparts
    monkeypatch.setattr(predict, "counterparts", lambda *args: counted(*args)._replace(links_are_random=False))
    aligner = MixTEA(**SMALL_BEST).fit(rings)
    assert CHOSEN_LINKS in list(aligner.map().doubts())
    page = make_report(aligner)
    assert CHOSEN_LINKS in page and f"Sources without a given link: {aligner.map().summary()}." in page
    aligner.save(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["links_are_random"] is False
    for stored in (StoredRun(tmp_path / "run"), MixTEA.load(tmp_path / "run")):
        assert CHOSEN_LINKS in list(stored.map().doubts()) and stored.map().expected == aligner.map().expected
    code, _, err = mixtea("export", tmp_path / "run", "--out", tmp_path / "m.parquet", "--with-unmapped")
    assert code == 0 and f"\n{aligner.map().summary()}\n" in err and f"warning: {CHOSEN_LINKS}\n" in err
    written = pq.read_table(tmp_path / "m.parquet")["decision"].to_pylist()
    assert written == aligner.map().frame["decision"].tolist()


def test_a_training_says_what_it_decided(rings_folder, tmp_path, mixtea):
    settings = [word for name, value in SMALL_BEST.items() for word in ("--set", f"{name}={value}")]
    code, _, err = mixtea("fit", rings_folder, "--out", tmp_path / "run", *settings)
    assert code == 0 and f"\n{StoredRun(tmp_path / 'run').map().summary()}\n" in err


def test_a_run_from_before_is_read_as_one_of_random_links(rings, tmp_path):
    MixTEA(**SMALL_BEST).fit(rings).save(tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    about = json.loads(path.read_text())
    del about["links_are_random"]
    path.write_text(json.dumps(about | {"sha256": seal(about)}))
    assert StoredRun(tmp_path / "run").map().links_are_random
