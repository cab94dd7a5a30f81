"""A training that was stopped and goes on ends as one that was not; one that diverges gets a second chance."""

import copy
import random
import shutil
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from conftest import make_graph, with_said

from mixtea import MixTEA, Task
from mixtea.callbacks import Callback
from mixtea.errors import DivergedError, RunError, StoppedError, TrainingError
from mixtea.runs.atomic import lock_folder
from mixtea.runs.checkpoints import Checkpoints
from mixtea.training import trainer as loop
from mixtea.training.resume import LOWERED_FIELDS, restore_threads, restore_training, training_state
from mixtea.training.trainer import Trainer

N_EPOCHS = 7
SMALL = dict(
    max_epochs=N_EPOCHS, entity_dim=8, relation_dim=4, validate_every=2, device="cpu", valid_needed=1,
    stop_when_settled=False,
    propagation_label_dim=64, propagation_relation_dim=16,
)  # fmt: skip
KINDS = {
    "best": ("best", dict(propagation_every=2, votes_every=2, propagation_rounds=2)),
    "with names and values": ("best", dict(propagation_every=2, votes_every=1, propagation_rounds=2, sure_above=0.3)),
    "without links": ("best", dict(propagation_every=1, votes_every=1, propagation_rounds=1)),
    "best without propagation": ("best", dict(voters=("forward", "backward", "agreement"))),
    "paper": ("paper", {}),
    "paper in double precision": ("paper", dict(precision="float64", loss_rows=0.5, keep="last")),
    "text": ("text", {}),
    "one-to-one": ("paper", dict(teaching="one_to_one", teaching_every=2, teaching_threshold=0.0)),
    "mutual": ("paper", dict(teaching="mutual", teaching_every=2)),
}


@pytest.fixture(scope="module")
def task():
    """Two rings with chords, twelve entities a side, numbered alike."""
    triples = [(i, 0, (i + 1) % 12) for i in range(12)] + [(i, 1, (5 * i + 2) % 12) for i in range(12)]
    links = np.stack([np.arange(12)] * 2, axis=1)
    source, target = make_graph(triples, 12, "s"), make_graph(triples[:-3], 12, "t")
    return Task.of_two("rings", source, target, links[:4], links[4:6], links[6:])


TELLING = {
    "with names and values": lambda task: with_said(task, 12),
    "without links": lambda task: with_said(task, 12).replace(
        train=task.train[:0], valid=task.valid[:0], links_from="names"
    ),
}


def fitted(task, kind, checkpoints=None, **more):
    preset, settings = KINDS[kind]
    task = TELLING[kind](task) if kind in TELLING else task
    return MixTEA(preset, **SMALL | settings).fit(task, checkpoints=checkpoints, **more)


def every_epoch(folder):
    """Checkpoints after every epoch, each of them copied away."""
    kept = Checkpoints(folder / "state", every=0)
    save = kept.save

    def save_and_copy(epoch, state):
        save(epoch, state)
        shutil.copytree(folder / "state", folder / str(epoch))

    kept.save = save_and_copy
    return kept


def learned(aligner):
    """The bytes of everything that was learned."""
    last = [] if aligner._last is None else [*aligner._last.pairs.ends, *aligner._last.scores.values()]
    arrays = [*(value.numpy() for value in aligner._student.state_dict().values()), *aligner._trace.values(), *last]
    return [array.tobytes() for array in arrays], aligner.history_.drop(columns="seconds").to_csv()


def saved(aligner, folder):
    aligner.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "run.json"}


@pytest.mark.parametrize("kind", KINDS)
def test_from_every_epoch_it_goes_on_to_the_same_bytes(task, kind, tmp_path):
    aligner = fitted(task, kind)
    whole, files = learned(aligner), saved(aligner, tmp_path / "whole")
    assert learned(fitted(task, kind, every_epoch(tmp_path))) == whole
    epochs = sorted(int(path.name) for path in tmp_path.iterdir() if path.name.isdigit())
    assert epochs == list(range(1 - (KINDS[kind][0] == "best"), N_EPOCHS + 1))
    for epoch in epochs[:: 3 if kind in TELLING else 1]:  # texts are slow, and their voters have no state of their own
        resumed = fitted(task, kind, tmp_path / str(epoch))
        assert learned(resumed) == whole, epoch
        assert resumed.n_epochs_ == N_EPOCHS and len(resumed.history_["seconds"]) == N_EPOCHS
    assert saved(resumed, tmp_path / "run") == files


def test_random_numbers_of_the_caller_are_left_alone(task, tmp_path):
    """Neither a training nor one that goes on draws from the generators that all share, or sets them."""

    def draws():
        return random.random(), random.gauss(0, 1), np.random.normal(), torch.rand(1).item()

    def seed():
        random.seed(1), np.random.seed(1), torch.manual_seed(1)

    seed()
    expected = draws(), draws()
    seed()
    MixTEA("paper", **SMALL).fit(task, checkpoints=every_epoch(tmp_path))
    first = draws()
    MixTEA("paper", **SMALL).fit(task, checkpoints=tmp_path / "3")
    assert (first, draws()) == expected


@pytest.fixture
def threads():
    """Sets the number of torch's threads; afterwards it is as before."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_it_goes_on_with_as_many_threads_as_it_began_with(task, tmp_path, threads, caplog):
    wide = dict(entity_dim=256, relation_dim=128)  # products of such sizes depend on the number of threads
    threads(1)
    whole = learned(MixTEA("paper", **SMALL | wide).fit(task, checkpoints=every_epoch(tmp_path)))
    threads(2)
    assert learned(MixTEA("paper", **SMALL | wide).fit(task, checkpoints=tmp_path / "3")) == whole
    assert torch.get_num_threads() == 2 and not caplog.text


def test_more_threads_than_cores_are_not_taken(threads, caplog, monkeypatch):
    threads(1)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    restore_threads(64)
    assert torch.get_num_threads() == 1 and "began with 64 threads and there are 2 cores" in caplog.text


def test_seconds_are_those_of_all_sittings(task, tmp_path):
    kept = Checkpoints(tmp_path, every=1e9)
    kept.stopping.asked = 15
    with pytest.raises(StoppedError):
        fitted(task, "paper", kept)
    epoch, state = Checkpoints.load(kept)
    state["seconds"] = 1000.0
    kept.save(epoch, state)
    assert fitted(task, "paper", tmp_path).seconds_ > 1000


@pytest.fixture(scope="module")
def trainer(task):
    found = Trainer(task, MixTEA("best", **SMALL).config, torch.device("cpu"))
    found.train()
    return found


def fresh(trainer, task):
    return Trainer(task, trainer.config, torch.device("cpu"))


WRONG = {
    "another device": (("device",), lambda _: "cuda", "This training ran on cuda; go on there"),
    "no student": (("student",), lambda _: {}, "student has other parameters"),
    "a student of another size": (("student", "entity"), lambda a: a[:3], "entity is float32"),
    "moments of another size": (("optimiser", "0", "exp_avg"), lambda a: a[:3], "another shape"),
    "votes for nobody": (("votes", "target"), lambda a: a + 100, "rows outside"),
    "votes of different lengths": (("votes", "source"), lambda a: a[1:], "different lengths"),
    "negatives of nobody": (("negatives", "held"), lambda a: a + 100, "rows outside"),
    "negatives that are no rows": (("negatives", "held"), lambda a: a.astype(np.float32), "type float32"),
    "a trace of another form": (("trace", "open", "source"), lambda a: a[:1], "a trace of another form"),
    "opinions about nobody": (("council", "opinions", "key"), lambda a: a + 10**9, "rows outside"),
    "opinions of different lengths": (("council", "opinions", "belief"), lambda a: a[1:], "different lengths"),
    "sure of nobody": (
        ("council", "voters", "propagation", "sure"),
        lambda a: np.full((1, 2), 99),
        "pairs of entities outside",
    ),
    "no random state": (("generator",), lambda a: a[:4], "does not fit"),
    "no weights": (("council", "direction_weights"), lambda _: None, "does not fit"),
    "one weight": (("council", "direction_weights"), lambda a: a[:1], "1 numbers instead of 2"),
    "no thread": (("threads",), lambda _: 0, "a number of threads"),
    "endless seconds": (("seconds",), lambda _: 10**400, "is not a number"),
    "misses that are none": (("progress", "misses"), lambda _: float("inf"), "is not a number"),
    "a best epoch to come": (("progress", "best_epoch"), lambda _: 99, "its best epoch"),
    "a best epoch in words": (("progress", "best_epoch"), lambda _: "one", "its best epoch"),
    "a best student of another size": (("progress", "kept", "entity"), lambda a: a[:2], "the best student: entity"),
    "a history of numbers": (("history",), lambda _: [1, 2], "does not fit"),
    "a history of nothing": (("history",), lambda _: [{}], "does not fit"),
    "a history of one epoch": (("history",), lambda h: [h[0]] * 3, "record 2 is not of this epoch"),
    "a loss in words": (("history", 0, "loss_alignment"), lambda _: "small", "not a number"),
    "counts in words": (("counts",), lambda _: {"votes": "many"}, "is not a number"),
    "a rate lowered somehow": (("lowered",), lambda _: {"factor": 0.1}, "the learning rate"),
    "a rate lowered by words": (("lowered",), lambda _: dict.fromkeys(LOWERED_FIELDS, "x"), "is not a number"),
    "a student that is no number": (("student", "entity"), lambda a: a * np.nan, "not a number"),
    "steps backward": (("optimiser", "0", "step"), lambda a: a * 0 - 1, "of another form"),
    "several steps": (("optimiser", "0", "step"), lambda a: a.reshape(1), "of another form"),
    "moments missing": (("optimiser", "0"), lambda a: {"step": a["step"]}, "of another form"),
    "votes in double precision": (
        ("votes", "confidence"),
        lambda a: a.astype(np.float64),
        "scores of another type or shape",
    ),
    "votes about a larger world": (("votes", "shape"), lambda _: [10**15, 10**15], "about other entities"),
    "votes of unknown voters": (("votes", "voters"), lambda a: a[:, :1], "votes of unknown voters"),
    "flat negatives": (("negatives", "held"), lambda a: a.reshape(-1, 2), "negatives of another form"),
    "a trace out of this world": (("trace", "open", "target"), lambda a: a + 1000, "that there are not"),
    "weights of strangers": (("council", "weights"), lambda _: {"strangers": 1.0}, "opinions of unknown voters"),
    "weights in words": (("council", "weights"), lambda _: {"vectors": "much"}, "is not a number"),
    "scores of strangers": (("council", "opinions", "scores"), lambda a: {"x": a["vectors"]}, "of unknown voters"),
    "a belief in whole numbers": (
        ("council", "opinions", "belief"),
        lambda a: a.astype(int),
        "scores of another type or shape",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_state_that_does_not_fit_is_refused(trainer, task, wrong):
    path, change, said = WRONG[wrong]
    state = copy.deepcopy(training_state(trainer))
    held = state
    for name in path[:-1]:
        held = held[name]
    held[path[-1]] = change(held[path[-1]])
    with pytest.raises(RunError, match=said):
        restore_training(fresh(trainer, task), state)


def test_checkpoints_of_other_settings_or_data_are_refused(task, tmp_path):
    fitted(task, "paper", Checkpoints(tmp_path, every=0))
    with pytest.raises(RunError, match="of other data or other settings"):
        MixTEA("paper", **SMALL | {"margin": 1.0}).fit(task, checkpoints=tmp_path)


def test_a_folder_of_checkpoints_is_for_one_training_at_a_time(task, tmp_path):
    with lock_folder(tmp_path), pytest.raises(RunError, match="another mixtea is at work there"):
        fitted(task, "paper", tmp_path)


def test_checkpoints_after_another_warm_start_are_refused(task, tmp_path, monkeypatch):
    monkeypatch.setattr(Checkpoints, "due", lambda _: True)
    older = [fitted(task, "paper", None), MixTEA("paper", **SMALL | {"seed": 2}).fit(task)]
    fitted(task, "paper", tmp_path, warm_start=older[0])
    for other in (None, older[1]):
        with pytest.raises(RunError, match="of other data or other settings"):
            fitted(task, "paper", tmp_path, warm_start=other)
    fitted(task, "paper", tmp_path, warm_start=older[0])


class Breaks:
    """The alignment loss, no number or too large at some calls."""

    def __init__(self, monkeypatch, calls, factor=float("nan")):
        self.real, self.calls, self.factor, self.n = loop.alignment_loss, calls, factor, 0
        monkeypatch.setattr(loop, "alignment_loss", self)

    def __call__(self, *args):
        self.n += 1
        return self.real(*args) * (self.factor if self.n in self.calls else 1.0)


@pytest.mark.parametrize("factor", [float("nan"), float("inf"), 1e9])
def test_a_training_that_diverges_goes_back_once_with_a_lower_rate(task, tmp_path, monkeypatch, caplog, factor):
    Breaks(monkeypatch, {5}, factor)
    aligner = fitted(task, "paper", Checkpoints(tmp_path, every=0))
    assert "diverged at epoch 5" in caplog.text and "Going back to epoch 4 with a tenth of the learning" in caplog.text
    assert aligner.lowered_ == {"diverged_at": 5, "to_epoch": 4, "factor": 0.1}
    rates = aligner.history_["learning_rate"].to_numpy()
    assert len(rates) == N_EPOCHS and np.allclose(rates[4:] / rates[:3], 0.1)
    assert aligner.vectors_.isfinite().all()
    aligner.save(tmp_path / "run")
    assert MixTEA.load(tmp_path / "run").lowered_ == aligner.lowered_


def test_without_checkpoints_it_goes_back_to_the_beginning(task, monkeypatch):
    Breaks(monkeypatch, {3})
    assert fitted(task, "paper").lowered_ == {"diverged_at": 3, "to_epoch": 0, "factor": 0.1}


def test_a_second_time_it_stops_and_says_where(task, tmp_path, monkeypatch):
    Breaks(monkeypatch, {5, 7})
    with pytest.raises(TrainingError, match=r"diverged at epoch 6.*Going back to epoch 4 with a tenth") as caught:
        fitted(task, "paper", Checkpoints(tmp_path, every=0))
    assert caught.value.exit_code == 1
    found = Checkpoints(tmp_path)
    assert [path.name for path in found.files()] == ["checkpoint-000005.safetensors", "checkpoint-000004.safetensors"]


def test_resumed_after_going_back_it_remembers(task, tmp_path, monkeypatch):
    Breaks(monkeypatch, {3})
    stopped = Checkpoints(tmp_path, every=0)

    class StopAfterFour(Callback):
        def on_epoch(self, record):
            stopped.stopping.asked = 2 * (stopped.files()[:1] == [tmp_path / "checkpoint-000004.safetensors"])

    with pytest.raises(StoppedError):
        fitted(task, "paper", stopped, callbacks=StopAfterFour())
    assert fitted(task, "paper", tmp_path).lowered_["factor"] == 0.1


def test_parameters_that_are_no_numbers_are_noticed_at_once(task):
    trainer = Trainer(task, MixTEA("paper", **SMALL).config, torch.device("cpu"))
    trainer.epoch(1)
    trainer.optimiser.step = lambda: trainer.student.entity.data.fill_(float("nan"))
    with pytest.raises(DivergedError, match="epoch 2"):
        trainer.epoch(2)


def test_of_several_processes_none_goes_back_alone(task, monkeypatch):
    Breaks(monkeypatch, {2})
    monkeypatch.setattr("mixtea.compute.distributed.n_processes", lambda: 2)
    monkeypatch.setattr("mixtea.compute.distributed.process_group", lambda *_: nullcontext())  # nobody to meet here
    with pytest.raises(DivergedError, match="epoch 2"):
        fitted(task, "paper")
