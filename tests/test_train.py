"""What `mixtea fit` does, from Python: the same bytes, through interruptions, and nothing replaced by chance."""

from __future__ import annotations

import logging
import signal
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import SMALL_BEST, said_graph

import mixtea as package
from mixtea import ConfigError, DataError, MixTEA, RunError, load_task
from mixtea.callbacks import Callback, History
from mixtea.config import PROPAGATION_SIZES
from mixtea.decide.mapping import LINKS_NOT_RANDOM, MAPPED, Mapping
from mixtea.errors import StoppedError
from mixtea.pipeline import MAX_WARNINGS, NO_LINKS_WARNING, train, warnings_at_end
from mixtea.review.learning import merge_decisions
from mixtea.runs.in_progress import UnfinishedRun

SHORT = dict(preset="paper", max_epochs=4, validate_every=2, entity_dim=8, relation_dim=4, device="cpu")
FLAGS = [word for name, value in SHORT.items() if name != "preset" for word in ("--set", f"{name}={value}")]


def files(run):
    return {path.name: path.read_bytes() for path in run.iterdir() if path.name not in ("run.json", "report.html")}


def epochs(history):
    return [record["epoch"] for record in history.epochs]


def learned(aligner):
    """What came of a training, and the settings that it was chosen and done with."""
    mapping = aligner.map().frame[["source", "target", "probability", "decision"]].to_csv()
    return aligner.chosen_settings(), aligner.config_, aligner.vectors_.tolist(), mapping


@pytest.mark.parametrize("given", ["nothing", "decisions", "large graphs", "tables"])
def test_it_is_fit_with_a_folder(given, rings, tmp_path, monkeypatch):
    """Whatever a task asks for, `fit` knows it: decisions of reviewers, large graphs on a CPU, no relation triples."""
    task, settings = rings, SMALL_BEST | {"voters": ("forward", "backward", "propagation", "names")}
    if given == "decisions":
        task = merge_decisions(rings, np.array([[23, 23], [24, 23]]), np.array([True, False]), np.array([0.9, 0.6]))
    elif given == "large graphs":
        monkeypatch.setattr("mixtea.council.adapt.MIN_LARGE", 2)
        settings = {name: value for name, value in settings.items() if name not in PROPAGATION_SIZES}
    elif given == "tables":
        rows = [{"id": f"t{i}", "name": name} for i, name in enumerate(("Blue Fox", "Old Mill", "Red Lion", "Sea Inn"))]
        task = load_task(source=rows, target=rows[:3], links_from="names")
    fitted, trained = MixTEA(**settings).fit(task), train(task, tmp_path / "run", callbacks=History(), **settings)
    loaded = MixTEA.load(tmp_path / "run")
    assert learned(fitted) == learned(trained) == learned(loaded)
    changed = {name for name, value in fitted.config_.to_dict().items() if value != fitted.config.to_dict()[name]}
    expected = {"decisions": {"voters"}, "large graphs": {*PROPAGATION_SIZES}, "tables": {"voters", "max_epochs"}}
    assert changed - {"loss_rows"} == expected.get(given, set())


class StopAfter(Callback):
    """Asks the training to stop after an epoch, as Ctrl-C does."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_epoch(self, record):
        if record["epoch"] == self.epoch:
            signal.raise_signal(signal.SIGINT)


def test_the_same_bytes_as_the_command(folder, tiny, tmp_path, mixtea):
    assert mixtea("fit", folder, "--preset", "paper", *FLAGS, "--out", tmp_path / "command")[0] == 0
    history = History()
    aligner = train(tiny, tmp_path / "run", callbacks=history, **SHORT)
    assert files(tmp_path / "run") == files(tmp_path / "command") and not (tmp_path / "run.unfinished").exists()
    assert (tmp_path / "run" / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert aligner.metrics_ == aligner.score() == MixTEA.load(tmp_path / "run").metrics_ and epochs(history) == [
        1,
        2,
        3,
        4,
    ]
    assert history.notices[0] == repr(tiny) and history.notices[-1] == (
        f"run folder: {tmp_path / 'run'} (open {tmp_path / 'run' / 'report.html'})"
    )


@pytest.mark.parametrize("says_the_task", [True, False])
def test_what_was_interrupted_goes_on_to_the_same_bytes(tiny, tmp_path, says_the_task):
    out, whole, before = tmp_path / "run", train(tiny, tmp_path / "whole", **SHORT), signal.getsignal(signal.SIGINT)
    with pytest.raises(
        StoppedError, match=r"Stopped after epoch 2\. Saved: the state after epoch 2\. Go on with"
    ) as end:
        train(tiny, out, callbacks=StopAfter(2), **SHORT)
    assert end.value.number == signal.SIGINT and signal.getsignal(signal.SIGINT) is before
    assert not out.exists() and UnfinishedRun(out).epoch() == 2
    with pytest.raises(RunError, match="a training was interrupted there after epoch 2"):
        train(tiny, out, **SHORT)
    history = History()
    again = train(tiny, out, resume=True, callbacks=history, **SHORT) if says_the_task else train(
        None, out, resume=True, callbacks=history, entity_dim=8
    )  # fmt: skip
    assert history.resumed == [2] and epochs(history) == [3, 4] and again.metrics_ == whole.metrics_
    assert files(out) == files(tmp_path / "whole") and not (tmp_path / "run.unfinished").exists()


def test_resuming_what_has_ended_loads_it_and_what_never_began_begins(tiny, tmp_path):
    first = train(tiny, tmp_path / "run", resume=True, **SHORT)
    before, history = (tmp_path / "run" / "run.json").read_bytes(), History()
    assert train(None, tmp_path / "run", resume=True, callbacks=history).metrics_ == first.metrics_
    assert history.notices == [f"{tmp_path / 'run'}: finished already"]
    assert (tmp_path / "run" / "run.json").read_bytes() == before
    with pytest.raises(RunError, match="no interrupted training is there"):
        train(None, tmp_path / "other", resume=True)
    assert not list(tmp_path.glob("other*"))


def test_a_run_is_replaced_on_request_only(tiny, tmp_path):
    train(tiny, tmp_path / "run", **SHORT)
    before = (tmp_path / "run" / "run.json").read_bytes()
    read = []
    with pytest.raises(RunError, match="a run is already there"):
        train(lambda: read.append(1), tmp_path / "run", **SHORT)
    assert (tmp_path / "run" / "run.json").read_bytes() == before and not read
    other = train(lambda: tiny, tmp_path / "run", overwrite=True, **SHORT | {"max_epochs": 2})
    assert MixTEA.load(tmp_path / "run").n_epochs_ == other.n_epochs_ == 2


def test_a_warm_start_takes_a_third_of_the_epochs_and_says_what_changed(tiny, tmp_path):
    train(tiny, tmp_path / "old", **SHORT)
    history, others = History(), {name: value for name, value in SHORT.items() if name != "max_epochs"}
    new = train(tiny, tmp_path / "new", warm_start=tmp_path / "old", callbacks=history, **others)
    assert (new.config.max_epochs, new.config.ramp_up_epochs) == (100, 0)
    assert "changes.tsv" in files(tmp_path / "new") and any(
        "compared with the earlier run" in said for said in history.notices
    )


def test_wrong_calls_are_refused_before_anything_is_written(tiny, tmp_path):
    out = tmp_path / "run"
    for error, message, call in (
        (DataError, "train needs a task, unless it resumes", dict(task=None)),
        (DataError, "train needs a task, not str", dict(task=lambda: "x")),
        (ConfigError, "no setting 'epochs'", dict(task=tiny, epochs=3)),
        (ConfigError, "preset 'worst' is unknown", dict(task=tiny, preset="worst")),
        (ConfigError, "preset: a training goes on with what it began", dict(task=None, resume=True, preset="best")),
        (ConfigError, "warm_start: a training goes on", dict(task=None, resume=True, warm_start="runs/old")),
        (ConfigError, "inside the run folder", dict(task=tiny, tensorboard=out / "logs")),
    ):
        with pytest.raises(error, match=message):
            train(out=out, **call)
        assert not list(tmp_path.glob("run*"))


def test_without_test_links_nothing_is_scored(tiny, tmp_path):
    aligner = train(tiny.replace(test=tiny.test[:0]), tmp_path / "run", **SHORT)
    assert aligner.metrics_ == {} and MixTEA.load(tmp_path / "run").metrics_ == {}


def test_it_is_logged_unless_somebody_watches(tiny, tmp_path, caplog):
    with caplog.at_level(logging.INFO, "mixtea.callbacks"):
        train(tiny, tmp_path / "run", **SHORT)
    said = [record.getMessage() for record in caplog.records if record.name == "mixtea.callbacks"]
    assert said[0] == repr(tiny) and any(line.startswith("epoch 2: valid Hit@1") for line in said)
    assert any(line.startswith("test links: Hit@1 ") for line in said) and said[-1].startswith("run folder: ")


def test_the_package_shows_its_public_names():
    assert dir(package) == sorted([*package.__all__, "__version__"]) and "train" in dir(package)
    assert all(getattr(package, name) is not None for name in dir(package))


def test_what_matters_most_is_said_at_the_end_and_the_rest_is_in_the_report(tiny):
    chosen = Mapping(None, None, pd.DataFrame({"decision": [MAPPED]}), links_are_random=False, n_links=9)
    unlinked = replace(chosen, n_links=0)
    names = {"names": 0.5}
    told = SimpleNamespace(task_=tiny, misleading_=names, misleading_links_={})
    said = "names are uninformative for about 50 % of the links"
    assert warnings_at_end(told, chosen) == [LINKS_NOT_RANDOM, said]
    assert warnings_at_end(told, unlinked) == [NO_LINKS_WARNING, LINKS_NOT_RANDOM, said]
    assert warnings_at_end(told, replace(chosen, links_are_random=True)) == [said]
    rows = [(entity, "brand", "Acme") for entity in range(5)]
    named = replace(said_graph([""] * 5, rows), name_predicates=("brand",))
    told.task_ = tiny.replace(target=named)
    doubt = "names: target by 'brand' (100% filled, 20% distinct): if another column has the names, give it"
    assert warnings_at_end(told, unlinked)[:2] == [NO_LINKS_WARNING, f"{doubt} (--name-column)"]
    told.task_ = tiny
    told.misleading_ = names | {"attributes": 0.4, "descriptions": 0.3}
    found = warnings_at_end(told, unlinked)
    assert (
        found == [NO_LINKS_WARNING, LINKS_NOT_RANDOM, said, "and 2 more in report.html"]
        and len(found) == MAX_WARNINGS + 1
    )
