"""Checkpoints: the last two, whole, of one training."""

import errno
import shutil
import time

import numpy as np
import pytest

from mixtea import Config, MixTEA
from mixtea.errors import RunError, StoppedError, WriteError
from mixtea.runs import checkpoints as module
from mixtea.runs.checkpoints import Checkpoints, open_checkpoints
from mixtea.voters.learned import Learned


def state(n):
    return {"student": np.full(3, n), "epoch": n}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def kept(tmp_path):
    found = Checkpoints(tmp_path, every=0)
    found.key = "task and settings"
    return found


def test_the_last_two_are_kept_and_the_newest_is_loaded(kept, tmp_path):
    assert kept.load() is None and Checkpoints(tmp_path / "none").load() is None
    for epoch in (1, 2, 10):
        kept.save(epoch, state(epoch))
    assert names(tmp_path) == ["checkpoint-000002.safetensors", "checkpoint-000010.safetensors"]
    epoch, found = kept.load()
    assert epoch == 10 and found["epoch"] == 10 and found["student"].tolist() == [10, 10, 10]


def test_a_damaged_one_gives_way_to_the_one_before(kept, tmp_path, caplog):
    kept.save(1, state(1))
    kept.save(2, state(2))
    (tmp_path / "checkpoint-000002.safetensors").write_bytes(b"cut")
    assert kept.load()[0] == 1 and "checkpoint-000002.safetensors: damaged" in caplog.text
    (tmp_path / "checkpoint-000001.safetensors").write_bytes(b"")
    with pytest.raises(RunError, match="none of its 2 checkpoints can be read"):
        kept.load()


def test_what_was_gone_back_from_does_not_stay(kept, tmp_path):
    for epoch in (4, 5, 4, 5):
        kept.save(epoch, state(epoch))
    (tmp_path / "checkpoint-000005.safetensors").write_bytes(b"cut")
    kept.save(3, state(3))
    assert names(tmp_path) == ["checkpoint-000003.safetensors"]


def test_of_another_training_or_under_another_name_it_is_refused(kept, tmp_path):
    kept.save(1, state(1))
    other = Checkpoints(tmp_path)
    other.key = "another"
    with pytest.raises(RunError, match="of other data or other settings"):
        other.load()
    shutil.copy(tmp_path / "checkpoint-000001.safetensors", tmp_path / "checkpoint-000009.safetensors")
    with pytest.raises(RunError, match="not the checkpoint that its name says"):
        kept.load()


@pytest.mark.parametrize("held", [[1], {"epoch": 1}, {"epoch": 1, "state": []}, {"epoch": "1", "state": {}}])
def test_what_is_no_state_is_refused(kept, tmp_path, held):
    module.write_state_file(tmp_path / "checkpoint-000001.safetensors", module.CHECKPOINT_KIND, held)
    with pytest.raises(RunError, match="not the checkpoint that its name says"):
        kept.load()


def test_a_link_in_the_place_of_one_is_not_followed(kept, tmp_path):
    (tmp_path / "precious").write_text("precious")
    (kept.folder / "checkpoint-000009.safetensors").symlink_to(tmp_path / "precious")
    kept.save(9, {})
    assert (tmp_path / "precious").read_text() == "precious" and kept.load()[0] == 9


def test_a_folder_is_held_by_one(tmp_path):
    with Checkpoints(tmp_path / "new" / "state").locked():
        assert (tmp_path / "new" / "state").is_dir()
        with pytest.raises(RunError, match="another mixtea is at work"), Checkpoints(tmp_path / "new/state").locked():
            raise AssertionError("not reached")


def test_a_folder_that_cannot_be_written_is_refused_at_once(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"), Checkpoints(tmp_path / "file").locked():
        raise AssertionError("not reached")
    monkeypatch.setattr("os.access", lambda *_: False)  # the superuser may write anywhere
    with pytest.raises(RunError, match=r"cannot be written\. Check its permissions"), Checkpoints(tmp_path).locked():
        raise AssertionError("not reached")


def test_leftovers_of_a_sudden_death_are_swept(kept, tmp_path):
    (tmp_path / ".checkpoint-000001.safetensors.tmp-1").mkdir()
    (tmp_path / "notes.txt").write_text("not a checkpoint")
    kept.save(2, state(2))
    assert names(tmp_path) == ["checkpoint-000002.safetensors", "notes.txt"]


def test_one_is_due_by_a_clock_that_never_jumps_and_saving_takes_a_small_share(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "time", lambda: pytest.fail("this clock may jump"))
    kept, slow = Checkpoints(tmp_path, every=60), module.write_state_file

    def takes_ten_seconds(*args):
        now[0] += 10
        slow(*args)

    monkeypatch.setattr(module, "write_state_file", takes_ten_seconds)
    for now[0], due in ((59, False), (60, True)):
        assert kept.due() is due
    kept.keep(5, lambda: state(5))
    for now[0], due in ((70 + 199, False), (70 + 200, True)):  # ten seconds of saving are one part in twenty
        assert kept.due() is due
    assert Checkpoints(tmp_path, every=0).due()


def test_nothing_is_gathered_before_it_is_due(tmp_path):
    Checkpoints(tmp_path, every=1e9).keep(1, lambda: pytest.fail("gathered"))
    assert names(tmp_path) == []


def test_a_full_disk_is_said_and_the_training_goes_on(kept, tmp_path, monkeypatch, caplog):
    kept.keep(1, lambda: state(1))

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("mixtea.runs.state_file.save_file", full)
    kept.keep(2, lambda: state(2))
    assert "the state after epoch 2 is not saved" in caplog.text and "No space left on device" in caplog.text
    assert names(tmp_path) == ["checkpoint-000001.safetensors"] and kept.load()[0] == 1
    with pytest.raises(WriteError):
        kept.save(3, state(3))


def test_whatever_keeps_it_from_being_saved_the_training_goes_on(kept, monkeypatch, caplog):
    def read_only(*args):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("mixtea.runs.state_file.save_file", read_only)
    kept.keep(1, lambda: state(1))
    assert "the state after epoch 1 is not saved" in caplog.text and "Read-only file system" in caplog.text


def test_asked_to_stop_it_saves_and_stops(tmp_path):
    kept = Checkpoints(tmp_path, every=1e9)
    kept.keep(1, lambda: state(1))
    kept.stopping.asked = 15
    with pytest.raises(StoppedError, match="Stopped after epoch 2") as caught:
        kept.keep(2, lambda: state(2))
    assert caught.value.exit_code == 143 and names(tmp_path) == ["checkpoint-000002.safetensors"]


def test_a_folder_that_is_named_fits_one_training_and_one_beginning(rings, tmp_path):
    """Of the same task, settings and warm start; the training goes on from it, and is held while it runs."""
    settings = dict(preset="paper", entity_dim=8, relation_dim=4, device="cpu")
    first = MixTEA(max_epochs=2, **settings).fit(rings, checkpoints=tmp_path / "cold")
    other = MixTEA(max_epochs=3, **settings).fit(rings)
    warm = MixTEA(max_epochs=4, **settings)
    never = MixTEA(max_epochs=4, **settings).fit(rings, warm_start=first)
    once = warm.fit(rings, warm_start=first, checkpoints=Checkpoints(tmp_path / "ready", every=0))
    assert once.vectors_.equal(never.vectors_) and len(Checkpoints(tmp_path / "ready").files()) == 2
    named = MixTEA(max_epochs=4, **settings).fit(rings, warm_start=first, checkpoints=tmp_path / "named")
    assert named.vectors_.equal(never.vectors_)
    kept = Checkpoints(tmp_path / "named")
    with open_checkpoints(tmp_path / "named", rings, warm.config, (rings, {"x": np.ones(1)})) as found:
        assert " after " in found.key
        found.save(1, {"of": "one beginning"})
    with pytest.raises(RunError, match="of other data or other settings"):
        MixTEA(max_epochs=4, **settings).fit(rings, warm_start=other, checkpoints=kept.folder)


def test_what_another_training_has_learned_is_part_of_the_key(rings, tmp_path):
    keys = []
    for learned in (None, Learned(), Learned(voter_weights={"names": 2.0})):
        with open_checkpoints(Checkpoints(tmp_path / "state", every=0), rings, Config(), None, learned) as kept:
            keys.append(kept.key)
    assert len(set(keys)) == 3
