"""The folder of a training that has not ended."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from mixtea import Config, MixTEA, load_task
from mixtea.errors import RunError
from mixtea.runs import in_progress as module
from mixtea.runs.checkpoints import Checkpoints
from mixtea.runs.in_progress import TrainingInputs, UnfinishedRun, begin_training, resume_training, run_checksum
from mixtea.runs.state_file import read_state_file, write_state_file


@pytest.fixture
def start(tiny):
    return TrainingInputs(tiny, "paper", {"max_epochs": 3}, "/some/run")


@pytest.fixture
def work(tmp_path, start):
    found = UnfinishedRun(tmp_path / "run")
    with found.locked():
        found.store_inputs(start)
    return found


def test_what_a_training_began_with_is_remembered_in_full(work, start):
    found = work.read_inputs()
    assert not found.differences(start) and found.settings == start.settings
    assert found.warm_start == "/some/run" and found.replaces is None
    assert repr(found.task) == repr(start.task) and found.task.warnings == start.task.warnings
    assert found.task.source.ids.tolist() == start.task.source.ids.tolist()
    assert found.config == Config(max_epochs=3)


def test_a_task_without_links_is_remembered_as_such(folder, tmp_path):
    task = load_task(folder, links_from="names")
    work, start = UnfinishedRun(tmp_path / "run"), TrainingInputs(task, "paper", {})
    with work.locked():
        work.store_inputs(start)
    found = work.read_inputs()
    assert repr(found.task) == repr(task) and found.task.links_from == "names" and not found.differences(start)
    given = module.replace(start, task=task.replace(links_from="given"))
    assert found.differences(given) == ["the graphs or links are others"]


def test_a_link_in_its_place_is_refused(work, tmp_path):
    work.folder.rename(tmp_path / "elsewhere")
    work.folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError, match="a link, where a folder"), work.locked():
        raise AssertionError("not reached")


def test_nothing_is_left_of_a_training_that_did_not_begin(tmp_path):
    work = UnfinishedRun(tmp_path / "run")
    with pytest.raises(ZeroDivisionError), work.locked():
        assert work.folder.is_dir() and work.read_inputs() is None and work.epoch() is None
        raise ZeroDivisionError
    assert list(tmp_path.glob("run*")) == []


def test_two_trainings_for_one_run_are_one_too_many(tmp_path):
    with UnfinishedRun(tmp_path / "run").locked():
        with pytest.raises(RunError, match="another mixtea is at work there"), UnfinishedRun(tmp_path / "run").locked():
            raise AssertionError("not reached")
        with UnfinishedRun(tmp_path / "other").locked():
            pass


def test_an_interrupted_training_is_not_replaced_by_chance(work, start):
    work.check_free(overwrite=False)  # nothing was saved yet
    Checkpoints(work.folder).save(7, {})
    assert work.epoch() == 7
    with pytest.raises(RunError, match=r"interrupted there after epoch 7\. Go on with --resume, or begin anew"):
        work.check_free(overwrite=False)
    work.check_free(overwrite=True)
    with work.locked():
        work.store_inputs(start)
        assert work.epoch() is None and work.read_inputs() is not None
        work.remove()
    assert not work.folder.exists()


def test_how_to_go_on_is_a_command(work, tmp_path):
    assert UnfinishedRun(tmp_path / "other").resume_advice() == ""
    command = f"mixtea fit --resume --out {tmp_path / 'run'}"
    assert work.resume_advice() == f"No epoch was saved. Begin again with: {command}"
    Checkpoints(work.folder).save(7, {})
    assert work.resume_advice() == f"Saved: the state after epoch 7. Go on with: {command}"
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    assert work.resume_advice().endswith(f"{command} --overwrite")


def test_what_someone_laid_into_the_folder_stays(work):
    (work.folder / "notes.txt").write_text("x")
    (work.folder / ".next.safetensors.tmp-1").mkdir()
    with work.locked():
        work.remove()
    assert [path.name for path in work.folder.iterdir()] == ["notes.txt"]


def test_differences_are_named(start, tiny):
    other = TrainingInputs(tiny, "paper", {"max_epochs": 4, "device": "cpu"})
    assert start.differences(other) == ["max_epochs is 3, not 4", "it began with /some/run, not with none"]
    fewer = module.replace(start, task=tiny.replace(train=tiny.train[:1]))
    assert start.differences(fewer) == ["the graphs or links are others"]
    taught = replace(start, learned="/some/run")
    assert taught.differences(start) == ["it applies what /some/run learned, not no run"]


def test_what_is_older_is_forgotten_only_when_the_new_is_written(work, start, monkeypatch):
    Checkpoints(work.folder).save(7, {})
    before = {path.name: path.read_bytes() for path in work.folder.iterdir()}
    with monkeypatch.context() as patch, work.locked():
        patch.setattr(module, "write_state_file", lambda *_: (_ for _ in ()).throw(RunError("the disk is full")))
        with pytest.raises(RunError, match="the disk is full"):
            work.store_inputs(start)
    assert {path.name: path.read_bytes() for path in work.folder.iterdir()} == before
    with monkeypatch.context() as patch, work.locked():
        patch.setattr(module, "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))  # as a sudden death
        with pytest.raises(KeyboardInterrupt):
            work.store_inputs(start)
    assert [path.name for path in work.folder.iterdir()] == ["next.safetensors"] and work.read_inputs() is None
    with work.locked():
        assert list(work.folder.iterdir()) == []


def test_a_folder_that_somebody_removes_is_no_error(work):
    with work.locked():
        shutil.rmtree(work.folder)
    assert not work.folder.exists()


def test_the_run_of_a_warm_start_is_known_again(tiny, tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old/run.json").write_text("of the earlier run")
    work = UnfinishedRun(tmp_path / "run")
    with work.locked():
        work.store_inputs(TrainingInputs(tiny, "paper", {}, str(tmp_path / "old")))
    assert work.read_inputs().warm_checksum == run_checksum(tmp_path / "old") is not None


def out_of_range(parts):
    parts["arrays"]["source_triples"] = parts["arrays"]["source_triples"] + 1000


def of_another_type(parts):
    parts["arrays"]["train"] = parts["arrays"]["train"].astype(np.int32)


def of_another_width(parts):
    parts["arrays"]["train"] = parts["arrays"]["train"][:, :1].copy()


def without_words(parts):
    parts["vocabulary"] = json.dumps({"source": {}})


def nested(parts):
    parts["vocabulary"] = "[" * 100_000


def of_an_unknown_preset(parts):
    parts["preset"] = "worst"


def with_unknown_settings(parts):
    parts["settings"] = {"no_such": 1}


def on_a_strange_device(parts):
    parts["settings"] = {"device": "meta"}


def without_settings(parts):
    del parts["settings"]


def of_a_list(parts):
    parts["arrays"]["train"] = [[0, 0]]


def of_a_strange_name(parts):
    parts["about"]["task"] = 5


def of_a_strange_fold(parts):
    parts["about"]["fold"] = {"x": 1}


def of_strange_links(parts):
    parts["about"]["links_from"] = "elsewhere"


def after_a_strange_run(parts):
    parts["warm_start"] = 5


@pytest.mark.parametrize(
    "change",
    [
        out_of_range,
        of_another_type,
        of_another_width,
        without_words,
        nested,
        of_an_unknown_preset,
        with_unknown_settings,
        on_a_strange_device,
        without_settings,
        of_a_list,
        of_a_strange_name,
        of_a_strange_fold,
        of_strange_links,
        after_a_strange_run,
    ],
)
def test_a_hostile_start_is_refused(work, change):
    parts = read_state_file(work.path, module.START_KIND)
    change(parts)
    write_state_file(work.path, module.START_KIND, parts)
    with pytest.raises(RunError, match=r"start\.safetensors"):
        work.read_inputs()


def test_a_start_that_is_a_link_is_refused(work, tmp_path):
    work.path.rename(tmp_path / "elsewhere")
    work.path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError, match="a link, which a run folder must not hold"):
        work.read_inputs()
    work.path.unlink()
    work.path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(RunError, match="a link, which a run folder must not hold"):
        work.read_inputs()


def test_of_several_processes_only_the_first_writes(start, tmp_path, monkeypatch):
    """The others read: they begin, go on, and load what is finished."""
    work, start = UnfinishedRun(tmp_path / "run"), replace(start, warm_start=None)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    with work.locked():
        assert begin_training(work, lambda: start, False) is start
    assert not list(tmp_path.glob("run*"))
    monkeypatch.setenv("RANK", "0")
    with work.locked():
        begin_training(work, lambda: start, False)
    before = sorted(path.name for path in work.folder.iterdir())
    monkeypatch.setenv("RANK", "1")
    assert not resume_training(work, None, {}, False).differences(start)
    monkeypatch.delenv("WORLD_SIZE")
    MixTEA("paper", max_epochs=3).fit(start.task).save(work.out)
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert resume_training(work, lambda: start, {}, False) is None
    assert sorted(path.name for path in work.folder.iterdir()) == before
    monkeypatch.setenv("RANK", "0")
    assert resume_training(work, None, {}, False) is None and list(work.folder.iterdir()) == []


def test_damaged_inputs_are_no_end(work):
    work.path.write_bytes(b"x")
    with pytest.raises(RunError, match=r"start\.safetensors: damaged .* Or begin anew: with --overwrite"):
        resume_training(work, None, {}, False)
