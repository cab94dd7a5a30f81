"""All voters, structure alone, names alone: the same run decoded by some of its voters."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from conftest import SMALL_BEST, labelled

from mixtea import MixTEA
from mixtea.text.names import linked_by_name

STRUCTURE = "forward,backward,propagation,agreement"


@pytest.fixture
def best(fitted_best):
    return copy(fitted_best)


@pytest.mark.parametrize("decoder", ["sinkhorn", "nearest"])
def test_rows_are_what_score_says_of_these_voters(best, example, decoder):
    best.config = best.config.replace(decoder=decoder)
    table = best.score_by_evidence()
    assert table.index.tolist() == ["all", "structure", "names"]
    for row, voters in (("all", None), ("structure", STRUCTURE), ("names", "names")):
        assert table.loc[row, "hits@1"] == pytest.approx(best.score(voters=voters)["hits@1"])
    equal = linked_by_name(example.source, example.target, example.test)
    assert table["equal_names/links"].tolist() == [equal.sum()] * 3 and table.loc["all", "links"] == len(equal)
    parts = table["hits@1"] * len(equal) - table["equal_names/hits@1"] * equal.sum()
    assert np.allclose(parts, table["other_names/hits@1"] * (~equal).sum())


def test_links_by_id_and_links_that_were_trained_on(best, example):
    links = np.concatenate([example.train[:3], example.test[:5]])
    ids = np.stack([example.source.ids[links[:, 0]], example.target.ids[links[:, 1]]], axis=1)
    table = best.score_by_evidence(ids)
    assert table.loc["all", "links"] == 8 and table.loc["names", "hits@1"] >= 3 / 8
    assert (best.score_by_evidence(example.train[:3])["hits@1"] == 1).all()


def test_without_anyone_beside_structure_there_is_no_row(rings):
    assert MixTEA(preset="best", **SMALL_BEST).fit(rings).score_by_evidence().empty
    assert MixTEA(preset="paper", max_epochs=2, device="cpu").fit(rings).score_by_evidence().empty


def test_names_alone_know_nothing_of_entities_without_one(rings):
    """Half of the rings have names: the others come after all candidates, and are mapped to nothing."""
    some = [i for i in range(30) if i % 4 < 2]
    source, target = (
        replace(graph, labels=labelled(graph, {f"{side}{i}": f"name {chr(97 + i % 26) * 4}{i // 26}" for i in some}))
        for side, graph in (("s", rings.source), ("t", rings.target))
    )
    aligner = MixTEA(preset="best", **SMALL_BEST).fit(rings.replace(source=source, target=target))
    table, candidates = aligner.score_by_evidence(), aligner.predict(2, voters="names")
    named = np.isin(rings.test[:, 0], some)
    assert table.loc["names", "equal_names/hits@1"] == 1 and table.loc["names", "equal_names/links"] == named.sum()
    assert 0 <= table.loc["names", "other_names/hits@1"] < 1
    frame = aligner.map(voters="names", every=True).to_frame().set_index("source")
    spoken = frame["evidence"] != ""
    assert spoken[[f"s{i}" for i in rings.test[named, 0]]].all()
    assert not spoken[[f"s{i}" for i in rings.test[~named, 0]]].any() and len(candidates) == 15
