"""The estimator: learning, determinism, and that test links never reach it."""

from __future__ import annotations

import copy
import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from mixtea import ConfigError, DataError, MixTEA, RunError
from mixtea.aligner.saving import shared_inputs
from mixtea.callbacks import Callback
from mixtea.config import PRESETS, STRUCTURE_VOTERS, Config
from mixtea.errors import NotFittedError
from mixtea.export.formats import write_candidates
from mixtea.training.trainer import Trainer

SHORT = dict(preset="paper", max_epochs=3, validate_every=2, device="cpu")


def predictions(task, path, **settings):
    aligner = MixTEA(**{**SHORT, **settings}).fit(task)
    write_candidates(aligner.predict(k=5), aligner.map(), path)
    return aligner.vectors_, path.read_bytes()


@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_seed_gives_the_same_file_and_another_seed_another(rings, tmp_path, preset):
    vectors, text = predictions(rings, tmp_path / "1", preset=preset)
    again, same = predictions(rings, tmp_path / "2", preset=preset)
    other, different = predictions(rings, tmp_path / "3", preset=preset, seed=2)
    assert torch.equal(vectors, again) and text == same
    assert not torch.equal(vectors, other) and text != different


@pytest.mark.parametrize("preset", PRESETS)
def test_test_links_never_reach_the_learning(rings, tmp_path, preset):
    """Other pairs of the same entities, and nonsense, in place of the test links: the same bits."""
    vectors, text = predictions(rings, tmp_path / "true", preset=preset)
    shuffled = rings.test.copy()
    np.random.default_rng(0).shuffle(shuffled[:, 1])
    nonsense = np.zeros((7, 2), dtype=np.int64)
    for name, links in (("shuffled", shuffled), ("nonsense", nonsense), ("none", nonsense[:0])):
        found, same = predictions(rings.replace(test=links), tmp_path / name, preset=preset)
        assert torch.equal(vectors, found) and text == same


def test_it_learns(fitted, example):
    """After twelve epochs the example is mapped far better than chance, which is below 0.002."""
    scores = fitted.score(example.test)
    assert scores["hits@1"] > 0.2 and scores["backward_hits@1"] > 0.2
    assert scores["hits@1"] <= scores["hits@5"] <= scores["hits@10"] <= 1
    losses = fitted.history_["loss_alignment"]
    assert losses.iloc[-1] < losses.iloc[0]


def test_predictions_cover_exactly_the_sources_without_training_links(fitted, example):
    alignment = fitted.predict(k=3)
    assert set(alignment.source_index) == set(range(example.source.n_entities)) - set(example.train[:, 0])
    frame = alignment.to_frame()
    assert len(frame) == 3 * len(alignment) and frame["rank"].tolist()[:3] == [1, 2, 3]
    assert (alignment.probability[:, :-1] >= alignment.probability[:, 1:]).all()
    nearest = frame[frame["voters"].str.contains("forward")]
    assert nearest["source"].is_unique  # the nearest of a source is one of its candidates, the likeliest mostly
    assert (nearest["rank"] == 1).mean() > 0.8 and len(nearest) > 0.6 * len(alignment)
    mutual = frame[frame["voters"] == "forward+backward"]
    assert mutual["target"].is_unique and len(mutual) > 0


def test_score_ranks_among_the_given_targets_or_all(example):
    among_all = MixTEA(**SHORT, candidates="all").fit(example).score()
    among_given = MixTEA(**SHORT).fit(example).score()
    assert among_all["hits@1"] < among_given["hits@1"]


@pytest.mark.parametrize("ablation", ["use_relations", "rectify", "voters", "pseudo_weight", "both"])
def test_the_ablations_of_the_paper_are_plain_fields(tiny, ablation):
    off = {"use_relations": False, "rectify": False, "voters": ("forward",), "pseudo_weight": 0.0}
    settings = {"voters": ("forward",), "rectify": False} if ablation == "both" else {ablation: off[ablation]}
    aligner = MixTEA(**SHORT, **settings).fit(tiny)
    assert aligner.n_epochs_ == 3
    assert ("loss_pseudo" in aligner.history_) == (ablation != "pseudo_weight")


def test_every_value_of_every_choice_trains(tiny):
    for name, field in Config.__dataclass_fields__.items():
        for value in field.metadata["choices"]:
            assert MixTEA(**SHORT, **{name: value}).fit(tiny).n_epochs_ == 3


def test_patience_stops_and_says_so(tiny):
    aligner = MixTEA(preset="paper", max_epochs=50, validate_every=1, patience=2, device="cpu").fit(tiny)
    assert aligner.n_epochs_ < 50
    assert aligner.stopped_because_.startswith("no better validation Hit@1 in 2 validations since epoch")
    assert aligner.n_epochs_ == aligner.best_epoch_ + 2
    assert MixTEA(**SHORT).fit(tiny).stopped_because_ == "max_epochs = 3 reached"


@pytest.mark.parametrize("keep, epoch", [("last", 3), ("best", 2)])
def test_the_kept_student_is_of_the_last_or_the_best_validation(tiny, monkeypatch, keep, epoch):
    seen = []

    def validate(self):
        seen.append(self.student.entity.detach().clone())
        return {"valid_hits@1": [0.5, 0.9, 0.1][len(seen) - 1]}

    monkeypatch.setattr(Trainer, "validate", validate)
    trained = Trainer(tiny, Config(max_epochs=4, validate_every=1, keep=keep, patience=1), torch.device("cpu")).train()
    assert torch.equal(trained.student.entity, seen[epoch - 1])
    assert trained.best_epoch == 2 and len(trained.history) == 3


def test_a_task_without_validation_links_trains_to_the_end(tiny):
    aligner = MixTEA(**SHORT).fit(tiny.replace(valid=tiny.valid[:0]))
    assert aligner.history_["beta"][0] == 0.5 and aligner.n_epochs_ == 3


def test_without_anything_unlabelled_the_links_alone_are_learned_from(tiny):
    everything = np.stack([np.arange(5), tiny.target.find(np.array(list("ABCDE"), dtype=object))], axis=1)
    aligner = MixTEA(**SHORT).fit(tiny.replace(train=everything))
    assert "loss_pseudo" not in aligner.history_ and len(aligner.predict()) == 0
    assert aligner.score(everything)["hits@10"] == 1


def test_the_history_has_a_record_an_epoch(fitted):
    history = fitted.history_
    assert history["epoch"].tolist() == list(range(1, 13))
    assert {"loss", "loss_alignment", "loss_pseudo", "lambda", "votes", "votes_agreed", "seconds"} <= set(history)
    assert history["beta"][0] == 1.0 and 0 < history["beta"][10] < 1
    assert history["valid_hits@1"].notna().tolist() == [epoch == 10 or epoch == 12 for epoch in range(1, 13)]


def test_save_and_load_give_the_same_predictions(fitted, tmp_path):
    fitted.save(tmp_path / "run")
    loaded = MixTEA.load(tmp_path / "run")
    assert torch.equal(loaded.vectors_, fitted.vectors_)
    assert loaded.predict().to_frame().equals(fitted.predict().to_frame())
    assert loaded.score() == fitted.score()
    assert loaded.history_.equals(fitted.history_) and loaded.stopped_because_ == fitted.stopped_because_
    assert repr(loaded.task_) == repr(fitted.task_)


def test_an_existing_run_is_not_replaced_by_accident(tiny, tmp_path):
    aligner = MixTEA(**SHORT).fit(tiny)
    aligner.save(tmp_path / "run")
    before = {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()}
    with pytest.raises(RunError, match="already there"):
        aligner.save(tmp_path / "run")
    assert before == {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()}
    aligner.save(tmp_path / "run", overwrite=True)
    assert MixTEA.load(tmp_path / "run").n_epochs_ == 3
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_links_can_be_scored_by_label(tiny):
    aligner = MixTEA(**SHORT).fit(tiny)
    assert aligner.score([("d", "D"), ("e", "E")]) == aligner.score(tiny.test)


def test_wrong_calls_are_named(tiny):
    with pytest.raises(NotFittedError, match="fit"):
        MixTEA().predict()
    with pytest.raises(DataError, match="no training link"):
        MixTEA().fit(tiny.replace(train=tiny.train[:0]))
    with pytest.raises(ConfigError, match="cannot be used here"):
        MixTEA(**{**SHORT, "device": "cuda:99"}).fit(tiny)
    aligner = MixTEA(**SHORT).fit(tiny)
    with pytest.raises(DataError, match="no entity of number 99"):
        aligner.score(np.array([[0, 99]]))
    with pytest.raises(DataError, match=r"\[p, 2\]"):
        aligner.score(np.array([0, 1]))
    with pytest.raises(DataError, match="target graph has no entity 'Z'"):
        aligner.score([("a", "Z")])
    with pytest.raises(DataError, match="fit needs a task, not str"):
        MixTEA().fit("folder")
    for k in (0, 2.5):
        with pytest.raises(ConfigError, match="at least 1"):
            aligner.predict(k=k)
    with pytest.raises(ConfigError, match="not supported"):
        MixTEA(**{**SHORT, "device": "meta"}).fit(tiny)


def test_a_loaded_aligner_shows_what_differs_from_its_preset(tiny, tmp_path):
    MixTEA(**SHORT | {"preset": "text"}).fit(tiny).save(tmp_path / "run")
    shown = repr(MixTEA.load(tmp_path / "run"))
    assert shown.startswith("MixTEA(preset='text', max_epochs=3, validate_every=2, device='cpu') fitted on Task(tiny")


def test_entities_without_triples_have_no_voter(tmp_path):
    from conftest import LINKS, benchmark_files, write

    from mixtea import load_task

    task = load_task(write(tmp_path, benchmark_files() | {"ent_links": LINKS + "y\tY\n"}))
    frame = MixTEA(**SHORT).fit(task).predict(k=6).to_frame()
    about_y = frame[(frame["source"] == "y") | (frame["target"] == "Y")]
    assert len(about_y) > 0 and (about_y["voters"] == "").all()
    assert (frame["voters"] != "").any()


def test_an_observer_sees_every_epoch_and_changes_nothing(tiny):
    seen = {}

    class Observer(Callback):
        def on_vectors(self, epoch, vectors):
            seen[epoch] = vectors()
            vectors().zero_()

    alone, watched = MixTEA(**SHORT).fit(tiny), MixTEA(**SHORT).fit(tiny, callbacks=[Observer()])
    assert torch.equal(alone.vectors_, watched.vectors_) and list(seen) == [1, 2, 3]
    assert torch.equal(seen[3], watched.vectors_) and not torch.equal(seen[1], seen[3])


def test_votes_are_counted_by_voter_and_by_how_many_agree(example):
    settings = dict(max_epochs=2, propagation_rounds=1, device="cpu", voters=STRUCTURE_VOTERS)
    history = MixTEA(preset="best", **settings).fit(example).history_
    voters = ["votes_forward", "votes_backward", "votes_propagation", "votes_agreement"]
    agreeing = history[[f"votes_of_{k}" for k in (1, 2, 3, 4)]]
    assert (agreeing.sum(axis=1) <= history["votes"]).all()  # some of the belief's votes are nobody's favourite
    assert (history[voters].sum(axis=1) == agreeing.to_numpy() @ [1, 2, 3, 4]).all()
    blocks = history[["concat_layer_1", "concat_layer_2", "concat_relations_out", "concat_relations_in"]]
    assert blocks.sum(axis=1).to_numpy() == pytest.approx(1) and (blocks.iloc[0] == 0.25).all()


def assert_same(one, other):
    """Both have the same settings, and have learned and decide the same."""
    assert repr(one) == repr(other) and one.get_params() == other.get_params() and one.score() == other.score()
    assert one.vectors_.equal(other.vectors_) and one.trace_.equals(other.trace_)
    assert one.history_.drop(columns="seconds").equals(other.history_.drop(columns="seconds"))
    assert one.predict(3).to_frame().equals(other.predict(3).to_frame())
    assert one.map().to_frame().equals(other.map().to_frame())
    assert one.explain("s1", "t1").equals(other.explain("s1", "t1"))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_has_learned_the_same(rings, tmp_path, preset, copied):
    aligner = MixTEA(**{**SHORT, "preset": preset})
    unfitted = copied(aligner)
    assert unfitted.get_params() == aligner.get_params() and repr(unfitted) == repr(aligner)
    with pytest.raises(NotFittedError):
        unfitted.predict()
    aligner.fit(rings)
    assert_same(copied(aligner), aligner)  # what was not computed yet
    assert_same(copied(aligner), aligner)  # and what was
    copied(aligner).save(tmp_path / "run")
    assert_same(copied(MixTEA.load(tmp_path / "run")), aligner)
    assert_same(unfitted.fit(rings), aligner)


def test_a_deep_copy_goes_its_own_way(tiny):
    aligner = MixTEA(**SHORT).fit(tiny)
    vectors, twin = aligner.vectors_.clone(), copy.deepcopy(aligner)
    twin.task_.train[:] = 0
    twin.vectors_.zero_()
    twin.set_params(seed=2, max_epochs=1).fit(tiny)
    assert aligner.vectors_.equal(vectors) and aligner.n_epochs_ == 3 and aligner.config.seed == 1
    assert aligner.task_ is tiny and tiny.train.any()


def test_candidates_that_a_line_cannot_hold(fitted, tmp_path):
    """The advice is one that can be followed."""
    alignment = fitted.predict(k=1)
    labels = alignment.target.ids.copy()
    labels[alignment.target_index[0, 0]] = "a\rb"
    broken = replace(alignment, target=replace(alignment.target, ids=labels))
    with pytest.raises(RunError, match=r"'a\\rb' holds .* \.csv and \.json can take it, or mend"):
        write_candidates(broken, fitted.map(), tmp_path / "c.tsv")
    assert not (tmp_path / "c.tsv").exists()
    n = write_candidates(broken, fitted.map(), tmp_path / "c.csv")
    assert write_candidates(broken, fitted.map(), tmp_path / "c.json") == n
    with (tmp_path / "c.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["candidates"]
    assert rows[0]["target"] == found[0]["target"] == "a\rb" and len(rows) == len(found) == n
    assert [int(row["rank"]) for row in rows] == [row["rank"] for row in found]


def test_what_processes_must_have_in_common_is_all_that_a_training_depends_on(rings, tmp_path):
    config, cpu, weights = Config.preset("best"), torch.device("cpu"), {"entity": np.zeros(3)}
    usual = shared_inputs(rings, config, cpu, None, tmp_path)
    assert shared_inputs(rings, config.replace(device="cpu", block_mib=7), cpu, None, None) == usual
    gpus = [shared_inputs(rings, config, torch.device("cuda", number), None, None) for number in (0, 1)]
    assert gpus[0] == gpus[1] and changed(usual, gpus[0]) == {"the kind of device"}
    assert changed(usual, shared_inputs(rings, config.replace(seed=2), cpu, None, None)) == {"seed"}
    fewer = rings.replace(train=rings.train[1:])
    assert changed(usual, shared_inputs(fewer, config, cpu, None, None)) == {"the checksum of the training links"}
    warm = [shared_inputs(rings, config, cpu, (rings, {"entity": weights["entity"] + n}), None) for n in (0, 1)]
    assert changed(usual, warm[0]) == changed(*warm) == {"the checksum of the warm start"}
    (tmp_path / "checkpoint-000004.safetensors").touch()
    assert changed(usual, shared_inputs(rings, config, cpu, None, tmp_path)) == {"the epoch of the last checkpoint"}
    assert json.loads(json.dumps(usual)).keys() == usual.keys()


def changed(one, other):
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
