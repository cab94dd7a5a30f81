"""What TensorBoard reads back is what the training recorded."""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
import pandas as pd
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from mixtea import MixTEA, cli
from mixtea.config import STRUCTURE_VOTERS
from mixtea.errors import MissingExtraError, RunError
from mixtea.runs.tensorboard import TensorBoard, tag

SHORT = dict(max_epochs=4, validate_every=2, entity_dim=16, relation_dim=8, propagation_rounds=1, device="cpu")


def scalars(folder):
    """{tag: {epoch: value}} of all event files."""
    events = EventAccumulator(str(folder)).Reload()
    return {name: {e.step: e.value for e in events.Scalars(name)} for name in events.Tags()["scalars"]}


def begun(folder):
    board = TensorBoard(folder)
    board.on_start(None, None, ())
    return board


@pytest.fixture(scope="module")
def written(rings, tmp_path_factory):
    """What was written, and the aligner it is about."""
    folder = tmp_path_factory.mktemp("board")
    settings = SHORT | {"voters": STRUCTURE_VOTERS}
    aligner = MixTEA(preset="best", **settings).fit(rings, callbacks=TensorBoard(folder))
    return scalars(folder), aligner


def test_tags_and_values_are_those_of_the_history(written):
    found, history = written[0], written[1].history_.set_index("epoch")
    assert found.keys() == {tag(name) for name in history} and len(found) == len(history.columns)
    for name, values in history.items():
        series = pd.Series(found[tag(name)])
        assert series.index.tolist() == values.dropna().index.tolist()
        assert np.array_equal(series.to_numpy(np.float32), values.dropna().to_numpy(np.float32))


def test_values_are_grouped(written):
    groups = {}
    for name in written[0]:
        group, _, one = name.partition("/")
        groups.setdefault(group, set()).add(one)
    assert groups == {
        "losses": {"alignment", "pseudo", "total"},
        "schedule": {"lambda", "learning_rate", "momentum", "beta"},
        "votes": {"all", "agreed_both_ways"},
        "votes_by_voter": {"forward", "backward", "propagation", "agreement"},
        "votes_by_number_of_voters": {"1", "2", "3", "4"},
        "validation": {"hits_at_1", "mrr", "backward_hits_at_1", "backward_mrr", "answers"},
        "answers": {"sure_pairs", "changed"},
        "concatenation": {"layer_1", "layer_2", "relations_out", "relations_in"},
        "time": {"seconds_an_epoch"},
    }


def test_a_disk_that_is_full_is_said_once_and_no_reason_to_stop(tmp_path, caplog, capsys):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    board = begun(tmp_path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))  # as full as a disk can be for one process
    try:
        for epoch in range(1, 50):
            board.on_epoch({"epoch": epoch, "loss": 1.0})
            time.sleep(0.002)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    board.on_end()
    assert caplog.text.count("TensorBoard's file cannot be written (File too large)") == 1
    assert "Traceback" not in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="file/board: cannot be written"):
        begun(tmp_path / "file/board")


def test_only_the_first_process_writes(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    board = begun(tmp_path / "none")
    board.on_epoch({"epoch": 1, "loss": 2.0})
    board.on_end()
    assert not (tmp_path / "none").exists()


def test_without_the_library_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.summary.writer.record_writer", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'mixtea\[tensorboard\]'"):
        begun(tmp_path)


def test_on_the_command_line(tiny, tmp_path, monkeypatch, capsys):
    def fit(*args):
        words = ("fit", tmp_path / "tiny", "--out", tmp_path / "run", "--preset", "paper", "--set", "max_epochs=3")
        monkeypatch.setattr(sys, "argv", ["mixtea", *map(str, (*words, *args))])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return stopped.value.code or 0, capsys.readouterr().err

    code, err = fit("--tensorboard", tmp_path / "run" / "board")
    assert code == 2 and f"{tmp_path / 'run' / 'board'}: inside the run folder" in err
    (tmp_path / "file").write_text("")
    code, err = fit("--tensorboard", tmp_path / "file")
    assert code == 2 and f"{tmp_path / 'file'}: " in err and "Traceback" not in err
    assert fit("--tensorboard", tmp_path / "board")[0] == 0
    history = MixTEA.load(tmp_path / "run").history_
    found = scalars(tmp_path / "board")["losses/total"]
    assert [*found] == [1, 2, 3] and [*found.values()] == pytest.approx(history["loss"].tolist(), rel=1e-6)
