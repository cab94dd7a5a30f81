"""Whether scored links are like all sources: by triples, names and classes."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from conftest import labelled

from mixtea import MixTEA, Task
from mixtea.evaluation.representativeness import compare_sample, sample_line
from mixtea.graph.graph import Graph

RANDOM = "these links look like a random sample of the sources"
N = 100


@pytest.fixture
def hundred():
    """A hundred entities a side; the first fifty have three triples more than the others, the first two are linked."""
    ring = [[i, 0, (i + 1) % N] for i in range(N)]
    more = [[i, 1, (i + step) % 50] for i in range(50) for step in (2, 3, 5)]
    ids = (np.array([f"{side}{i}" for i in range(N)], dtype=object) for side in "st")
    relations = np.array(["next", "near"], dtype=object)
    source, target = (Graph(names, relations, np.array(ring + more)) for names in ids)
    links = np.arange(N)[:, None].repeat(2, axis=1)
    return Task.of_two("hundred", source, target, links[:1], links[1:2], links[2:])


def test_all_or_every_second_are_a_random_sample(hundred):
    for links in (hundred.test, hundred.test[::2]):
        found = compare_sample(hundred, links)
        assert found["differs"] == [] and sample_line(found) == RANDOM
        assert found["of"] == N - 2 and found["sources"] == len(links)
    assert compare_sample(hundred, hundred.test)["more_triples"] == pytest.approx(0.5)


def test_better_and_less_well_connected(hundred):
    found = compare_sample(hundred, hundred.test[:40])
    assert found["differs"] == ["triples"] and found["triples"] == [8, 2] and found["more_triples"] > 0.6
    assert sample_line(found) == (
        "these links are not a random sample of the sources: their entities are better connected, 8 triples in the "
        "median, 2 of all; shares over them need not hold for the rest"
    )
    assert "less well connected, 2 triples" in sample_line(compare_sample(hundred, hundred.test[-40:]))


def test_names_that_are_equal_on_the_other_side(hundred):
    texts = {f"s{i}": f"Name {chr(97 + i % 26)}{i}" for i in range(0, N, 2)}
    source = replace(hundred.source, labels=labelled(hundred.source, texts))
    target = replace(hundred.target, labels=labelled(hundred.target, {f"t{k[1:]}": v for k, v in texts.items()}))
    task = hundred.replace(source=source, target=target)
    found = compare_sample(task, task.test[::2])
    assert found["differs"] == ["equal_name"] and found["equal_name"] == [1.0, 0.5]
    assert "100% have an equal name on the other side, 50% of all" in sample_line(found)


def test_classes(hundred):
    source = hundred.source
    ids = np.concatenate([source.ids, np.array(["City", "River"], dtype=object)])
    kinds = np.array([[i, 2, N + i % 2] for i in range(N)])
    relations = np.append(source.relations, "rdf:type")
    typed = Graph(ids, relations, np.concatenate([source.triples, kinds]))
    task = hundred.replace(source=typed)
    found = compare_sample(task, task.test[1::2])
    assert found["differs"] == ["class"] and sorted(found["class_share"])[0] in (0.0, pytest.approx(0.49))
    assert found["class"] in ("City", "River") and f"are of class {found['class']}" in sample_line(found)
    assert compare_sample(task, task.test)["differs"] == []


def test_nothing_is_said_of_few_links_or_of_none_that_is_open(hundred):
    assert sample_line(compare_sample(hundred, hundred.test[:5])) == ""
    assert compare_sample(hundred, hundred.test[:5])["differs"] == []
    given = compare_sample(hundred, hundred.train)
    assert given == {"sources": 0, "of": N - 2, "differs": []} and sample_line(given) == ""


def test_score_says_it(hundred, tmp_path, mixtea):
    task = hundred.replace(test=hundred.test[:40])
    aligner = MixTEA(preset="paper", max_epochs=1, entity_dim=8, relation_dim=4, device="cpu").fit(task)
    aligner.metrics_ = aligner.score()
    aligner.save(tmp_path / "run")
    code, out, _ = mixtea("score", tmp_path / "run")
    assert code == 0 and out.splitlines()[-1].startswith("these links are not a random sample of the sources: ")
    found = json.loads(mixtea("score", tmp_path / "run", "--json")[1])
    assert found["sample"] == compare_sample(task, task.test) and found["links"] == 40
