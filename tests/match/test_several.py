"""Sources with several targets: which further ones are given, by hand; and a task whose links are so."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import SMALL_BEST

from mixtea import MixTEA, load_task
from mixtea.match.answers import Ranked
from mixtea.match.examples import Judged
from mixtea.match.mapping import FURTHER
from mixtea.match.several import further_targets
from mixtea.runs.stored import StoredRun


def ranked(target, likelihood, counterpart):
    target, likelihood = np.array(target), np.array(likelihood)
    none = np.zeros(target.shape, dtype=bool)
    parts = (likelihood, likelihood, none[..., None], none, none, likelihood, np.array(counterpart))
    return Ranked(target, *parts)


def test_further_targets_by_hand():
    """1 is mapped; 5 goes to the likelier of two; 6 is too unlikely, but not for who has a link."""
    found = ranked([[1, 5, 6], [2, 5, 6]], [[0.9, 0.7, 0.4], [0.9, 0.9, 0.6]], [1.0, 0.7])
    row, place, probability = further_targets(found, np.array([1, 2]), np.array([False, True]))
    assert list(zip(row, place, strict=True)) == [(1, 1), (1, 2)] and probability == pytest.approx([0.9, 0.6])
    row, place, probability = further_targets(found, np.array([1, 2]), np.array([False, False]))
    assert list(zip(row, place, strict=True)) == [(0, 1)] and probability == pytest.approx([0.7])


def test_candidates_of_a_source_are_no_rivals():
    rows = (np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([5.0, 5.0, 1.0]), np.zeros(3), (2, 2))
    assert Judged(*rows).row[:2] == pytest.approx([0.0, 0.0])
    several = Judged(*rows, several=True)
    assert several.row is several.column and several.where(np.array([True, False, True])).several


WORDS = ["iron", "gold", "zinc", "lead", "tin", "argon", "neon", "xenon", "boron", "carbon", "sulfur", "cobalt"]


def task_of(folder, links):
    names = [f'<http://s/{i}> <http://www.w3.org/2000/01/rdf-schema#label> "{w}" .' for i, w in enumerate(WORDS)]
    names += [f"<http://s/{i}> <http://r/next> <http://s/{(i + 1) % 12}> ." for i in range(12)]
    others = [
        line for k in "tu" for i, w in enumerate(WORDS) for line in (
            f"<http://{k}/{i}> <http://www.w3.org/2000/01/rdf-schema#label> \"{w}\" .",
            f"<http://{k}/{i}> <http://r/next> <http://{k}/{(i + 1) % 12}> .",
        )
    ]  # fmt: skip
    (folder / "s.nt").write_text("\n".join(names) + "\n")
    (folder / "t.nt").write_text("\n".join(others) + "\n")
    rows = [(f"http://s/{i}", f"http://{k}/{i}") for i, k in links]
    return load_task(
        source=folder / "s.nt", target=folder / "t.nt", links=rows, valid_links=[("http://s/0", "http://t/0")]
    )


def test_where_links_are_so_sources_get_several_targets(tmp_path):
    """Linked sources are asked again: s5 has one link and a second target; unlinked ones get both."""
    task = task_of(tmp_path, [(i, k) for i in range(1, 5) for k in "tu"] + [(5, "t")])
    assert task.one_to_many and not len(task.settled(0)) and len(task.settled(1)) == 9
    aligner = MixTEA(**SMALL_BEST).fit(task)
    mapping = aligner.map().to_frame()
    assert mapping["target"].dropna().is_unique
    pairs = set(zip(mapping["source"], mapping["target"], strict=True))
    assert ("http://s/5", "http://u/5") in pairs and ("http://s/5", "http://t/5") not in pairs
    right = [(s, t) for s, t in pairs if t and s.rsplit("/", 1)[1] == t.rsplit("/", 1)[1]]
    assert len(right) >= 10 and (mapping["decision"] == FURTHER).any()
    assert "further target" in aligner.map().summary()
    aligner.save(tmp_path / "run")
    assert StoredRun(tmp_path / "run").map().to_frame().equals(mapping)
    one = aligner.map(several=False).to_frame()
    assert one["source"].is_unique and not (one["decision"] == FURTHER).any()
    assert set(aligner.map(decoder="sinkhorn").to_frame()["decision"]) >= {FURTHER}


def test_on_request_elsewhere(tmp_path):
    """Links that are one to one: linked sources are not asked again, and candidates are rivals."""
    task = task_of(tmp_path, [(i, "t") for i in range(1, 5)])
    aligner = MixTEA(**SMALL_BEST).fit(task)
    assert not task.one_to_many and not (aligner.map().to_frame()["decision"] == FURTHER).any()
    asked = aligner.map(several=True).to_frame()
    assert asked["target"].dropna().is_unique and (asked.loc[asked["decision"] == FURTHER, "probability"] > 0.5).all()
