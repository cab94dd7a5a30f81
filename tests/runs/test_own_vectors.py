"""A user's own vectors in the run folder and in a training that was interrupted; runs without have no such arrays."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from conftest import SMALL_BEST
from safetensors.numpy import load_file

from mixtea import MixTEA, train
from mixtea.callbacks import Callback
from mixtea.decide.choose import Choice
from mixtea.graph.fingerprint import checksum
from mixtea.runs.in_progress import TrainingInputs, UnfinishedRun
from mixtea.runs.reader import StoredRun

SETTINGS = SMALL_BEST | dict(voters=("forward", "backward", "propagation", "descriptions"), max_epochs=4)


@pytest.fixture(scope="module")
def task(rings):
    """Vectors for two thirds of the entities, alike on both sides."""
    graphs = []
    for graph in (rings.source, rings.target):
        vectors = np.random.default_rng(1).normal(size=(30, 6)).astype(np.float32)[[int(i[1:]) for i in graph.ids]]
        vectors[[int(i[1:]) % 3 == 0 for i in graph.ids]] = np.nan
        graphs.append(replace(graph, vectors=vectors))
    return rings.replace(source=graphs[0], target=graphs[1])


@pytest.fixture(scope="module")
def run(task, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    MixTEA(**SETTINGS).fit(task).save(folder)
    return folder


def test_a_run_keeps_them(task, run):
    read = MixTEA.load(run).task_
    assert checksum(read) == checksum(task) and read.source.has_vector().sum() == 20
    assert np.array_equal(read.target.vectors, task.target.vectors, equal_nan=True)


def test_a_stored_run_explains_by_them(task, run):
    stored, place = (
        StoredRun(run),
        [{name: i for i, name in enumerate(graph.ids)} for graph in (task.source, task.target)],
    )
    pairs, said = stored.answers_.mapping(Choice(every=True)).pairs(), []
    for source, target in zip(pairs["source"], pairs["target"], strict=True):
        reasons = stored.explain(place[0][source], place[1][target])
        spoken = reasons[reasons["voter"] == "descriptions"]["what"].tolist()
        assert len(spoken) == (int(source[1:]) % 3 != 0 and int(target[1:]) % 3 != 0)
        said += spoken
    assert said and all(what.startswith("the given vectors' cosine is ") for what in said)


def test_a_run_without_has_no_such_array(rings, tmp_path):
    MixTEA(**SMALL_BEST).fit(rings).save(tmp_path / "run")
    assert not [name for name in load_file(tmp_path / "run" / "graphs.safetensors") if "vectors" in name]
    assert MixTEA.load(tmp_path / "run").task_.source.vectors.shape == (0, 0)


def test_one_side_alone_can_be_kept(task, rings, tmp_path):
    MixTEA(**SETTINGS).fit(rings.replace(source=task.source)).save(tmp_path / "run")
    read = MixTEA.load(tmp_path / "run").task_
    assert read.source.vectors.shape == (30, 6) and read.target.vectors.shape == (0, 0)


class Interrupted(Callback):
    def on_epoch(self, record):
        if record["epoch"] == 2:
            raise KeyboardInterrupt


def test_an_interrupted_training_goes_on_to_the_same_bytes(task, tmp_path):
    for name in ("whole", "run"):
        callbacks = [Interrupted()] if name == "run" else []
        with pytest.raises(KeyboardInterrupt) if callbacks else nullcontext():
            train(task, tmp_path / name, checkpoint_every=0, callbacks=callbacks, **SETTINGS)
    assert checksum(UnfinishedRun(tmp_path / "run").read_inputs().task) == checksum(task)
    train(None, tmp_path / "run", resume=True)
    names = sorted(path.name for path in (tmp_path / "run").glob("*.safetensors"))
    assert len(names) == 6
    for name in names:
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name


def test_other_vectors_are_another_training(task, tmp_path):
    other = task.replace(target=replace(task.target, vectors=-task.target.vectors))
    assert TrainingInputs(task, "best", {}).differences(TrainingInputs(other, "best", {})) == [
        "the graphs or links are others"
    ]
