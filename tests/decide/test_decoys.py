"""Targets that are called the same and stand elsewhere: names cannot tell them apart, and structure does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import SMALL_BEST, WORDS, rings_files, write

from mixtea import MixTEA, load_task
from mixtea.config import STRUCTURE_VOTERS
from mixtea.graph.labels import Labels
from mixtea.voters.names import NameOpinions

DOUBLED = (5, 11, 17, 23)  # test links whose target has a decoy


@pytest.fixture
def task(tmp_path):
    """The rings with a name for each number; the decoy d5 is called as t5 is, and leads to d23 and to t18.

    Decoys come first, so that who cannot tell them apart would take them.
    """
    files = rings_files()
    doubles = [f"d{i}\tnext\td{DOUBLED[k - 1]}\nd{i}\tchord\tt{(i + 13) % 30}\n" for k, i in enumerate(DOUBLED)]
    files["rel_triples_2"] = "".join(doubles) + files["rel_triples_2"]
    found = load_task(write(tmp_path / "decoys", files))
    words = WORDS.split()
    sides = [
        replace(graph, labels=Labels.of_entities(np.arange(graph.n_entities), [name_of(id, words) for id in graph.ids]))
        for graph in (found.source, found.target)
    ]
    return found.replace(source=sides[0], target=sides[1])


def name_of(id, words):
    i = int(id[1:])
    return f"{words[i % 20]} {words[(7 * i + i // 20) % 20]}"


def test_structure_tells_the_right_one_from_its_namesake(task):
    doubled = task.source.find(np.array([f"s{i}" for i in DOUBLED], dtype=object))
    right, decoys = (task.target.find(np.array([f"{p}{i}" for i in DOUBLED], dtype=object)) for p in "td")
    assert set(doubled) <= set(task.test[:, 0])
    names = NameOpinions(task)
    names.learn(np.empty((0, 2), dtype=np.int64))
    assert names.log_odds(doubled, right) == pytest.approx(names.log_odds(doubled, decoys))
    assert (names.log_odds(doubled, right) > names.log_odds(doubled, np.roll(right, 1))).all()
    mapped = MixTEA(voters=(*STRUCTURE_VOTERS, "names"), **SMALL_BEST).fit(task).map(every=True).pairs()
    found = dict(zip(mapped["source"], mapped["target"], strict=True))
    assert {i: found.get(f"s{i}") for i in DOUBLED} == {i: f"t{i}" for i in DOUBLED}
