"""A mapping writes itself, and shows itself in a notebook."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest
from conftest import said_graph

from mixtea import ConfigError, Mapping, MixTEA, RunError
from mixtea.decide.mapping import COLUMNS, GIVEN, MAPPED, NO_COUNTERPART

ROW = dict.fromkeys(COLUMNS, "") | {
    "probability": 0.75,
    "runner_up": None,
    "runner_up_probability": 0.1,
    "given": False,
}


@pytest.fixture
def mapping():
    source = said_graph(["<b>Rome</b>", "", "\u202eItaly"], prefix="http://a/e")
    target = said_graph(["Roma", "Italia"], prefix="http://b/e")
    rows = [
        ROW | {"source": "http://a/e0", "target": "http://b/e0", "decision": MAPPED, "evidence": "names=+2.0"},
        ROW | {"source": "http://a/e1", "target": None, "decision": NO_COUNTERPART, "probability": np.nan},
        ROW | {"source": "http://a/e2", "target": "http://b/e1", "decision": GIVEN, "given": True, "probability": 1.0},
    ]
    return Mapping(source, target, pd.DataFrame(rows))


@pytest.mark.parametrize("ending", ["tsv", "sssom.tsv", "nt", "ttl", "rdf", "parquet"])
def test_any_format_by_its_ending(mapping, tmp_path, ending):
    path = tmp_path / f"m.{ending}"
    assert mapping.write(path) == 2 and path.stat().st_size
    before = path.read_bytes()
    with pytest.raises(RunError, match=r"already there\. Name another file, or replace it: overwrite=True"):
        mapping.predicted().write(path)
    assert path.read_bytes() == before and mapping.predicted().write(str(path), overwrite=True) == 1


def test_what_the_file_says_about_itself(mapping, tmp_path):
    mapping.write(tmp_path / "m.sssom.tsv", title="Towns", date=datetime.date(2026, 1, 31), with_unmapped=True)
    text = (tmp_path / "m.sssom.tsv").read_text()
    assert "Towns" in text and "2026-01-31" in text


WRONG = {
    "ending": (("m.doc", {}), r"no format goes with the ending '\.doc'"),
    "field": (("m.tsv", {"tittle": "x"}), "tittle: unknown. The metadata of a mapping file are .*title"),
    "licence": (("m.sssom.tsv", {"licence": "mine"}), "licence: 'mine' is not an IRI"),
    "date": (("m.sssom.tsv", {"date": "2026-01-31"}), "date: '2026-01-31' is not a datetime.date"),
    "title": (("m.sssom.tsv", {"title": 5}), "title: 5 is not text"),
    "unmapped": (("m.sssom.tsv", {"with_unmapped": "yes"}), "with_unmapped: 'yes' is not True or False"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_are_named_and_nothing_is_written(mapping, tmp_path, mistake):
    (name, about), message = WRONG[mistake]
    with pytest.raises(ConfigError, match=message):
        mapping.write(tmp_path / name, **about)
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_shows_labels_as_text(mapping):
    page = mapping._repr_html_()
    assert "&lt;b&gt;Rome&lt;/b&gt;" in page and "\\u202eItaly" in page and "<b>" not in page
    assert page.index("Roma") < page.index("Italia") and "0.750" in page and "no counterpart" in page
    assert "mapped 1 of 2" in page and "more" not in page


def test_of_many_mappings_a_notebook_shows_some(mapping):
    many = Mapping(mapping.source, mapping.target, pd.concat([mapping.frame[:1]] * 12))
    assert many._repr_html_().count("Roma") == 10 and "2 more" in many._repr_html_()


def test_tasks_and_aligners_are_shown_too(tiny):
    page = tiny._repr_html_()
    assert "<td>source</td><td>5</td><td>2</td><td>5</td>" in page and "Task(tiny" in page
    aligner = MixTEA(preset="paper", max_epochs=1, device="cpu")
    assert "MixTEA, preset paper, not fitted yet" in aligner._repr_html_() and "max_epochs" in aligner._repr_html_()
    aligner.fit(tiny)
    aligner.metrics_ = aligner.score()
    page = aligner._repr_html_()
    assert "fitted on" in page and "max_epochs = 1 reached" in page and "hits@1" in page
