"""What was decided about each source, why not all are mapped, and what is said of it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from conftest import SMALL_BEST
from deciding import answers, ranked, seven_entities

from mixtea import MixTEA
from mixtea.calibration import probabilities
from mixtea.decide.choose import Choice
from mixtea.decide.mapping import LINKS_NOT_RANDOM, MAPPED_ANYWAY, expected_interval
from mixtea.report.page import make_report
from mixtea.runs.folder import seal
from mixtea.runs.reader import StoredRun


@pytest.fixture
def seven():
    return seven_entities()


def decided(task, counterpart, *, likelihood=0.95, silent=(), lost=()):
    """Each source has its own number as the first candidate, as likely as is said."""
    free = np.arange(1, 7)
    found = ranked(np.stack([free, np.roll(free, 1)], axis=1), [[likelihood, 0.0]] * 6, counterpart, silent)
    return answers(task, found, lost)


def test_each_reason_has_its_word(seven):
    found = decided(seven, [1, 0.04, 0.9, 0.9, 0, 0.52], silent=[4], lost=[1, 2])
    mapping = found.mapping(with_given=True)
    frame = mapping.to_frame()
    words = ["given", "given", "no counterpart", "target taken", "mapped", "no evidence", "unsure"]
    assert frame["decision"].tolist() == words
    assert frame["target"].notna().tolist() == [word in ("given", "mapped") for word in words]
    assert frame["probability"].drop(5).round(3).tolist() == [1, 1, 0.96, 0.145, 0.855, 0.506]
    assert np.isnan(frame["probability"][5])
    said = "mapped 1 of 5: 1 have no counterpart, 1 lost their target to another, 1 are unsure, 1 without evidence"
    assert mapping.summary() == said and repr(mapping) == f"Mapping({said}; 2 given links)"
    assert list(mapping.warnings()) == [] and mapping.expected == pytest.approx(2.36)
    assert mapping.predicted().summary() == said


def test_what_is_mapped_though_it_is_not_likely_is_marked(seven):
    found = decided(seven, [1, 0.04, 0.9, 0.9, 0, 0.52], silent=[4], lost=[1, 2])
    mapping = found.mapping(Choice(every=True))
    assert mapping.frame["decision"].tolist() == [
        "no counterpart",
        "target taken",
        "mapped",
        "no evidence",
        MAPPED_ANYWAY,
    ]
    assert mapping.frame["target"].dropna().tolist() == ["t4", "t6"]
    assert mapping.summary().endswith("1 without evidence; 1 of them anyway, though they are not likely")
    assert MAPPED_ANYWAY not in found.mapping(Choice(best_f1=True)).frame["decision"].tolist()


def test_what_a_mapping_promises(seven):
    promise = decided(seven, [1, 0.9, 0.9, 0.9, 0.9, 0.9], likelihood=1.0).mapping().expected_quality()
    low, high = expected_interval(np.full(5, 0.9))
    rests = "the probabilities are learned from 2 links"
    assert promise == f"expected precision 0.900 ({low:.3f}–{high:.3f}), recall 1.000; {rests}"
    half = decided(seven, [1, 0.9, 0.9, 0.9, 0.9, 0.9], likelihood=1.0, lost=[1, 2, 3, 4]).mapping()
    assert half.expected == pytest.approx(4.5) and "recall 0.200;" in half.expected_quality()
    without = decided(seven.replace(valid=seven.valid[:0]), [0.9] * 6, likelihood=1.0)
    assert "learned from 1 links" in without.mapping().expected_quality()
    assert "a guess: no links were given" in replace(without.mapping(), n_links=0).expected_quality()
    assert decided(seven, [1, *[0.1] * 5]).mapping().expected_quality() == ""  # nothing is mapped
    assert (
        half.expected_quality()
        == decided(seven, [1, 0.9, 0.9, 0.9, 0.9, 0.9], likelihood=1.0, lost=[1, 2, 3, 4])
        .mapping(with_given=True)
        .expected_quality()
    )  # given links are not counted


def test_that_links_were_chosen_is_said_wherever_a_mapping_goes(rings, tmp_path, mixtea, monkeypatch):
    counted = probabilities.estimate_match_prior
    monkeypatch.setattr(
        probabilities, "estimate_match_prior", lambda *args: counted(*args)._replace(links_are_random=False)
    )
    aligner = MixTEA(**SMALL_BEST).fit(rings)
    assert LINKS_NOT_RANDOM in list(aligner.map().warnings())
    page = make_report(aligner)
    assert LINKS_NOT_RANDOM in page and f"Sources without a given link: {aligner.map().summary()}." in page
    aligner.save(tmp_path / "run")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["links_are_random"] is False
    for stored in (StoredRun(tmp_path / "run"), MixTEA.load(tmp_path / "run")):
        assert (
            LINKS_NOT_RANDOM in list(stored.answers_.mapping().warnings())
            and stored.answers_.mapping().expected == aligner.map().expected
        )
    code, _, err = mixtea("export", tmp_path / "run", "--out", tmp_path / "m.parquet", "--with-unmapped")
    assert code == 0 and f"\n{aligner.map().summary()}\n" in err and f"warning: {LINKS_NOT_RANDOM}\n" in err
    written = pq.read_table(tmp_path / "m.parquet")["decision"].to_pylist()
    assert written == aligner.map().frame["decision"].tolist()


def test_a_training_says_what_it_decided(rings_folder, tmp_path, mixtea):
    settings = [word for name, value in SMALL_BEST.items() for word in ("--set", f"{name}={value}")]
    code, _, err = mixtea("fit", rings_folder, "--out", tmp_path / "run", *settings)
    assert code == 0 and f"\n{StoredRun(tmp_path / 'run').answers_.mapping().summary()}\n" in err


def test_a_run_from_before_is_read_as_one_of_random_links(rings, tmp_path):
    MixTEA(**SMALL_BEST).fit(rings).save(tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    about = json.loads(path.read_text())
    del about["links_are_random"]
    path.write_text(json.dumps(about | {"sha256": seal(about)}))
    assert StoredRun(tmp_path / "run").answers_.mapping().links_are_random
