"""Pairs that a person has rejected, and entities that only some voter knows, from training to mapping."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import SMALL_BEST

from mixtea import Config, MixTEA
from mixtea.training.alignment_loss import alignment_loss
from mixtea.training.trainer import Trainer
from mixtea.vote import Voter, register

CPU = torch.device("cpu")
SMALL = SMALL_BEST | {"max_epochs": 6, "seed": 2}
PAPER = dict(entity_dim=16, relation_dim=8, max_epochs=6, seed=2, device="cpu")
PRESETS = [("best", SMALL), ("paper", PAPER), ("paper", PAPER | {"decoder": "one_to_one"})]


@pytest.mark.parametrize(("preset", "settings"), PRESETS)
def test_a_rejected_pair_is_never_voted_for_nor_decoded(rings, preset, settings):
    before = MixTEA(preset, **settings).fit(rings)
    found = before.map(every=True).pairs()
    pair = np.array([before._links(found[["source", "target"]].to_numpy()[:1].astype(object))[0]])
    voted = before.trace_[["source", "target"]].to_numpy()
    assert (voted == pair).all(1).any() or preset == "paper"  # it was voted for, and decided
    after = MixTEA(preset, **settings).fit(rings.replace(rejected=pair))
    assert not (after.trace_[["source", "target"]].to_numpy() == pair).all(1).any()
    ranked = after.answers_.ranked.target[after.answers_.source_index == pair[0, 0]]
    assert pair[0, 1] not in ranked
    everything = after.predict(30)  # all there are, so it comes last, with nothing that speaks for it
    row = everything.source_index == pair[0, 0]
    assert everything.target_index[row, -1] == pair[0, 1] and everything.probability[row, -1] == 0
    for shared in (False, True):
        mapping = after.map(every=True, shared_targets=shared).pairs()
        ends = after._links(mapping[["source", "target"]].to_numpy(dtype=object))
        assert not (ends == pair).all(1).any()
    for decoder in ("nearest", "csls", "sinkhorn", "one_to_one"):
        first = after.predict(2, decoder=decoder)
        assert pair[0, 1] not in first.target_index[first.source_index == pair[0, 0]]


def test_rejected_pairs_are_negatives_of_the_links_that_share_an_end(rings):
    link, stranger = rings.train[0], rings.test[0]
    rejected = np.array(
        [[link[0], stranger[1]], [stranger[0], link[1]], stranger[::1]]
    )  # two share an end, one does not
    trainer = Trainer(rings.replace(rejected=rejected), Config(**PAPER), CPU)
    vectors = trainer.student()
    shift = np.array([0, rings.source.n_entities])
    links = torch.from_numpy(np.stack([link, link]) + shift)
    negatives = torch.from_numpy(rejected[:2] + shift)[:, None]
    torch.testing.assert_close(
        trainer.negatives.of_rejected(vectors), alignment_loss(vectors, links, negatives, trainer.config.margin)
    )
    assert Trainer(rings, Config(**PAPER), CPU).negatives.of_rejected(vectors) == 0.0


@register
class SameId(Voter):
    """The id behind its first letter, which tells the graph."""

    name = "same_id"

    def propose(self, state):
        places = {e[1:]: i for i, e in enumerate(self.task.target.ids)}
        return [(i, places[e[1:]]) for i, e in enumerate(self.task.source.ids) if e[1:] in places]

    def score(self, pairs, state):
        ids = zip(self.task.source.ids[pairs.source], self.task.target.ids[pairs.target], strict=True)
        return [float(a[1:] == b[1:]) for a, b in ids]


def with_one_more(task):
    """Each graph with an entity without triples: the same one."""
    graphs = [replace(g, ids=np.append(g.ids, f"{side}99")) for g, side in ((task.source, "s"), (task.target, "t"))]
    return task.replace(source=graphs[0], target=graphs[1])


def test_an_entity_without_triples_is_mapped_by_a_voter_that_knows_it(rings, tmp_path):
    voters = ("forward", "backward", "propagation", "agreement", "same_id")
    task = with_one_more(rings)
    aligner = MixTEA(voters=voters, **SMALL).fit(task)
    row = aligner.map(every=True).to_frame().set_index("source").loc["s99"]
    assert (row["target"], row["voters"]) == ("t99", "same_id") and row["probability"] > 0
    scores = {name: values[-1, 0] for name, values in aligner.answers_.scores.items()}
    assert np.isnan([scores.pop(name) for name in ("vectors", "propagation", "agreement")]).all()
    assert scores == {"same_id": 1.0}
    aligner.save(tmp_path / "run")
    assert MixTEA.load(tmp_path / "run").map(every=True).to_frame().set_index("source").loc["s99", "target"] == "t99"


@pytest.mark.parametrize(("preset", "settings"), PRESETS[:2])
def test_without_such_a_voter_it_has_none(rings, preset, settings):
    row = MixTEA(preset, **settings).fit(with_one_more(rings)).map(every=True).to_frame().set_index("source").loc["s99"]
    assert row["target"] is None and np.isnan(row["probability"]) and row["voters"] == ""
