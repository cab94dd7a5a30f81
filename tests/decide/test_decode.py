"""From a trained aligner to mappings: decoders, voters, probabilities, few links, and what a run folder keeps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import SMALL_STRUCTURE

from mixtea import MixTEA
from mixtea import aligner as aligner_module
from mixtea.compute.scored_pairs import pairs_of_keys
from mixtea.config import STRUCTURE_VOTERS
from mixtea.decide import decode as decode_module
from mixtea.decide.answers import CANDIDATES_STORED
from mixtea.decide.decoders import rank_top
from mixtea.errors import ConfigError, RunError
from mixtea.evaluation.metrics import ranking_metrics, sparse_ranking_metrics

STUDENT = "forward,backward"
AGREEMENT, EVERYONE = f"{STUDENT},agreement", f"{STUDENT},propagation,agreement"
DECODERS = [(d, v) for d in ("nearest", "csls", "sinkhorn", "one_to_one") for v in (STUDENT, AGREEMENT, EVERYONE)]


@pytest.fixture
def best(fitted_structure):
    return fitted_structure


def test_best_is_the_default_and_better_than_its_student(best, example):
    assert MixTEA().preset == "best" and MixTEA().config.decoder == "sinkhorn"
    scores, student = best.score(), best.score(decoder="nearest", voters=STUDENT)
    assert scores["hits@1"] > student["hits@1"] > 0.2 and scores["hits@1"] > 0.6


@pytest.mark.parametrize(("decoder", "voters"), DECODERS)
def test_what_the_decoder_ranks_first_is_what_score_counts_and_predict_ranks_by_probability(
    best, example, decoder, voters
):
    """With all targets as candidates, Hit@1 is the share of links whose target the decoder ranks first.

    `predict` has the decoder's best, the likeliest first.
    """
    aligner = MixTEA(preset="best", **SMALL_STRUCTURE)
    aligner.__dict__.update(best.__dict__)
    aligner.config = best.config.replace(candidates="all")
    candidates = aligner.predict(k=4, decoder=decoder, voters=voters)
    decoded = aligner._predictor(aligner._decoding(decoder, voters))._by_decoder(CANDIDATES_STORED).target
    first = dict(zip(candidates.source_index.tolist(), decoded[:, 0].tolist(), strict=True))
    hit = np.mean([first[s] == t for s, t in example.test.tolist()])
    scores = aligner.score(decoder=decoder, voters=voters)
    assert scores["hits@1"] == pytest.approx(hit, abs=0.01)  # ties are expected values there, and drawn here
    assert all(len(set(row)) == 4 for row in candidates.target_index.tolist())
    assert (candidates.target_index[:, :, None] == decoded[:, None]).any(axis=2).all()
    assert (np.diff(candidates.probability, axis=1) <= 0).all()
    assert ((candidates.probability >= 0) & (candidates.probability <= 1)).all()
    assert 0 <= scores["calibration_error"] < 0.3


def test_a_decoder_never_gives_a_target_that_is_linked_already(best, example):
    candidates = best.predict(k=1)
    silent = example.source.isolated()[candidates.source_index]
    assert not np.isin(candidates.target_index[~silent, 0], example.train[:, 1]).any()


def test_one_to_one_gives_hardly_any_target_twice(best, example):
    alone = best.predict(k=1, decoder="nearest", voters=STUDENT).target_index[:, 0]
    one = best.predict(k=1, decoder="one_to_one").target_index[:, 0]
    assert len(np.unique(one)) > len(np.unique(alone)) and len(np.unique(one)) > 0.85 * len(one)


def test_probable_mappings_are_right_more_often(best, example):
    candidates = best.predict(k=1)
    truth = dict(example.test.tolist())
    rows = [i for i, s in enumerate(candidates.source_index.tolist()) if s in truth]
    right = np.array([truth[candidates.source_index[i]] == candidates.target_index[i, 0] for i in rows])
    probability = candidates.probability[rows, 0]
    order = np.argsort(probability)
    assert right[order[-100:]].mean() > right[order[:100]].mean() + 0.3


def test_a_loaded_run_decodes_the_same_and_keeps_its_trace(best, tmp_path):
    best.save(tmp_path / "run")
    loaded = MixTEA.load(tmp_path / "run")
    for decoder, voters in (("sinkhorn", EVERYONE), ("one_to_one", AGREEMENT)):
        frames = [a.predict(3, decoder=decoder, voters=voters).to_frame() for a in (best, loaded)]
        assert frames[0].equals(frames[1])
    assert loaded.score() == best.score()
    assert loaded.trace_.equals(best.trace_)
    assert loaded._last.weights == best._last.weights


def test_a_run_of_the_paper_can_be_decoded_by_agreement_too(fitted):
    plain = fitted.score()["hits@1"]
    assert fitted.score(decoder="sinkhorn", voters=AGREEMENT)["hits@1"] > plain + 0.05


@pytest.mark.parametrize("n", [20, 5, 1])
def test_few_links_and_no_validation_links_are_enough_to_begin(example, n):
    few = example.replace(train=example.train[:n], valid=example.valid[:0])
    aligner = MixTEA(preset="best", **SMALL_STRUCTURE | {"propagation_rounds": 6}).fit(few)
    scores = aligner.score()
    assert scores["hits@1"] > {20: 0.3, 5: 0.02, 1: 0.0}[n]
    assert 0 <= scores["calibration_error"] <= 1


def test_training_links_are_right_and_may_be_scored_among_others(best, example):
    assert (
        best.score(np.concatenate([example.train[:50], example.test[:50]]))["hits@1"]
        > best.score(example.test[:50])["hits@1"]
    )


def test_wrong_decoders_are_named(best):
    with pytest.raises(ConfigError, match="decoder must be one of nearest, csls, sinkhorn, one_to_one"):
        best.predict(decoder="hungarian")
    with pytest.raises(ConfigError, match=r"There is no voter 'nobody_here'\. There are forward, backward, prop"):
        best.score(voters="nobody_here")
    with pytest.raises(ConfigError, match="decode_voters names 'forward' twice"):
        best.score(voters="forward,forward")


def test_voters_that_did_not_vote_cannot_be_decoded(fitted):
    with pytest.raises(ConfigError, match="propagation did not vote in this training"):
        fitted.predict(voters=EVERYONE)


@pytest.mark.parametrize("voters", ["propagation", "forward,propagation", "forward"])
def test_some_of_the_voters_can_be_decoded(best, voters):
    found = best.predict(k=2, decoder="sinkhorn", voters=voters)
    assert found.voter_names == tuple(voters.split(",")) and found.voters.any()
    assert best.score(decoder="sinkhorn", voters=voters)["hits@1"] > 0.2


@pytest.mark.parametrize("preset", ["best", "paper"])
def test_graphs_of_five_entities_are_decoded_as_well(tiny, preset):
    aligner = MixTEA(preset=preset, max_epochs=6, device="cpu").fit(tiny)
    for decoder, voters in DECODERS:
        if preset == "paper" and voters == EVERYONE:
            continue  # propagation did not vote
        assert len(aligner.predict(k=10, decoder=decoder, voters=voters).to_frame()) == 3 * 5
        assert 0 <= aligner.score(decoder=decoder, voters=voters)["hits@1"] <= 1


def test_ranks_among_candidates_equal_dense_ranks_where_all_are_candidates():
    generator = torch.Generator().manual_seed(2)
    source, target = (torch.randn(n, 4, generator=generator, dtype=torch.float64) for n in (8, 6))
    target[3] = target[2]  # a tie
    truth = torch.tensor([2, 3, 0, 1, 5, 4, 2, 3])
    similarity = torch.nn.functional.normalize(source, dim=1) @ torch.nn.functional.normalize(target, dim=1).T
    pairs = pairs_of_keys(torch.arange(48), (8, 6))
    links = torch.stack([torch.arange(8), truth], dim=1)
    found = sparse_ranking_metrics(pairs, similarity.flatten(), links)
    assert found == pytest.approx(ranking_metrics(source, target, truth))


def test_what_is_no_candidate_ranks_last_and_equal():
    pairs = pairs_of_keys(torch.tensor([0, 1, 4]), (2, 4))  # row 0: targets 0 and 1; row 1: target 0
    links = torch.tensor([[0, 1], [0, 3], [1, 2]])
    found = sparse_ranking_metrics(pairs, torch.tensor([2.0, 1.0, 5.0]), links, ks=(1, 2, 3))
    assert found["hits@1"] == 0
    assert found["hits@2"] == pytest.approx((1 + 0 + 1 / 3) / 3)  # the last: one of three places after the candidate
    assert found["hits@3"] == pytest.approx((1 + 1 / 2 + 2 / 3) / 3)
    assert rank_top(pairs, torch.tensor([2.0, 1.0, 5.0]), 1).tolist() == [[0], [2]]


def test_links_without_a_candidate_among_themselves_are_scored_all_the_same(best, example):
    seen = set(zip(*(end.tolist() for end in best._last.pairs.ends), strict=True))
    lost = next(pair for pair in example.test if tuple(pair) not in seen)
    assert best.score(lost[None], decoder="sinkhorn")["hits@1"] == 1  # the one target there is
    assert best.score(example.train[:5])["hits@1"] == best.score(example.train[:5])["backward_mrr"] == 1


@pytest.mark.parametrize("preset", ["best", "paper"])
def test_a_side_without_anything_unlabelled_leaves_probabilities_of_nothing(tiny, preset):
    """Every target is linked, one source is left."""
    target = tiny.target
    smaller = replace(target, ids=target.ids[:4], triples=target.triples[(target.triples[:, [0, 2]] < 4).all(1)])
    links = np.stack([np.arange(4), np.arange(4)], axis=1)
    task = tiny.replace(target=smaller, train=links, valid=links[:0], test=np.array([[4, 0]]))
    aligner = MixTEA(preset=preset, max_epochs=2, device="cpu").fit(task)
    assert aligner.predict(k=2).to_frame()["source"].tolist() == [tiny.source.ids[4]] * 2
    assert 0 <= aligner.score()["hits@1"] <= 1


def test_the_candidates_of_a_row_share_one_probability(best):
    assert (best.predict(k=10).probability.sum(axis=1) <= 1 + 1e-9).all()


BROKEN = {
    "a voter without a name": lambda a, w: a.update({"score.na mes": a["score.agreement"]}),
    "another length": lambda a, w: a.update({"score.agreement": a["score.agreement"][:-1]}),
    "an entity that is not there": lambda a, w: a["source"].__setitem__(0, 10**6),
    "a pair twice": lambda a, w: (
        a["source"].__setitem__(1, a["source"][0]),
        a["target"].__setitem__(1, a["target"][0]),
    ),
    "no number": lambda a, w: a["score.agreement"].__setitem__(0, np.inf),
    "weights that are words": lambda a, w: w.update(vectors="much"),
    "without sources": lambda a, w: a.pop("source"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_opinions_that_cannot_be_are_refused(best, tmp_path, kind, monkeypatch):
    import mixtea.aligner.saving as module

    assert len(best.answers_.source_index)  # decided with opinions that can be
    arrays = {name: a.copy() for name, a in module.opinion_arrays(best._last).items()}
    weights = dict(best._last.weights)
    BROKEN[kind](arrays, weights)
    monkeypatch.setattr(module, "opinion_arrays", lambda last: arrays)
    last = best._last
    best._last = replace(last, weights=weights)
    try:
        best.save(tmp_path / "run")
    finally:
        best._last = last
    with pytest.raises(RunError, match=r"opinions\.safetensors: damaged|run\.json: damaged .*voter_weights"):
        MixTEA.load(tmp_path / "run")


def test_voters_are_bound_once_and_a_loaded_aligner_answers_the_same(rings, tmp_path, monkeypatch):
    """The training hands its voters on; other settings, and an aligner that was loaded, bind their own."""
    bound = []
    for module in (aligner_module, decode_module):
        real = module.bind_voters
        monkeypatch.setattr(module, "bind_voters", lambda *args, real=real: bound.append(args[2]) or real(*args))
    aligner = MixTEA(preset="best", **SMALL_STRUCTURE | {"max_epochs": 2}).fit(rings)
    aligner.save(tmp_path / "run")
    frame = aligner.map().to_frame()
    assert len(bound) == 1 and set(bound[0]) == set(STRUCTURE_VOTERS)
    loaded = MixTEA.load(tmp_path / "run")
    assert loaded.map().to_frame().equals(frame)
    aligner.predict(voters=STUDENT)
    assert bound[1:] and all(set(names) <= set(STRUCTURE_VOTERS) for names in bound[1:])
