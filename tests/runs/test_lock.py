"""The lock of a folder: one process at a time, and gone with its process."""

import errno
import importlib.util
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from processes import start

from mixtea.errors import RunError
from mixtea.runs import atomic as lock

HOLD = """
import sys, time
from pathlib import Path
from mixtea.runs.atomic import lock_folder
with lock_folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(9999)
"""


def open_descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_the_second_process_is_refused_at_once_and_the_lock_dies_with_the_first(tmp_path):
    holder = start([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    assert not lock.is_free(tmp_path)
    with pytest.raises(RunError, match=f"{tmp_path}: another mixtea is at work there"), lock.lock_folder(tmp_path):
        raise AssertionError("not reached")
    holder.kill()
    assert holder.wait() == -signal.SIGKILL
    assert lock.is_free(tmp_path)
    with lock.lock_folder(tmp_path):
        assert not lock.is_free(tmp_path)  # a second opening of the same folder is someone else


def test_the_lock_ends_with_its_block_even_when_that_fails(tmp_path):
    before = open_descriptors()
    with pytest.raises(ZeroDivisionError), lock.lock_folder(tmp_path):
        raise ZeroDivisionError
    assert lock.is_free(tmp_path) and open_descriptors() == before


def test_a_folder_that_is_not_there_is_not_free(tmp_path):
    assert not lock.is_free(tmp_path / "none")
    with pytest.raises(FileNotFoundError), lock.lock_folder(tmp_path / "none"):
        raise AssertionError("not reached")


def test_a_folder_that_its_holder_has_replaced_is_locked_anew(tmp_path, monkeypatch):
    folder, tried = tmp_path / "run", []
    folder.mkdir()
    locked = lock._locked

    def replaced(descriptor, path):
        tried.append(path)
        if len(tried) == 1:  # between opening and locking, the holder ends: it removes the folder, another comes
            folder.rmdir()
            (tmp_path / "other").mkdir()  # takes the freed number, so that the new folder has another
            folder.mkdir()
        return locked(descriptor, path)

    monkeypatch.setattr(lock, "_locked", replaced)
    with lock.lock_folder(folder):
        assert len(tried) == 2 and not lock.is_free(folder)


def test_a_folder_that_is_gone_when_locked_is_not_held(tmp_path, monkeypatch):
    folder, before = tmp_path / "run", open_descriptors()
    folder.mkdir()
    monkeypatch.setattr(lock, "_locked", lambda descriptor, path: not folder.rmdir())
    assert not lock.is_free(folder) and open_descriptors() == before


def test_where_the_system_has_no_locks_work_goes_on(tmp_path, monkeypatch, caplog):
    def refused(descriptor, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock.fcntl, "flock", refused)
    with lock.lock_folder(tmp_path):
        assert "cannot be locked (No locks available); start no second run there" in caplog.text
    monkeypatch.setitem(sys.modules, "fcntl", None)  # as on a system that does not have it
    spec = importlib.util.spec_from_file_location("lock_elsewhere", lock.__file__)
    elsewhere = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(elsewhere)
    with elsewhere.lock_folder(tmp_path):
        assert elsewhere.is_free(tmp_path) and not elsewhere.is_free(tmp_path / "none")


def test_an_unforeseen_error_leaves_nothing_open(tmp_path, monkeypatch):
    def broken(descriptor, how):
        raise ZeroDivisionError

    before = open_descriptors()
    monkeypatch.setattr(lock.fcntl, "flock", broken)
    with pytest.raises(ZeroDivisionError), lock.lock_folder(tmp_path):
        raise AssertionError("not reached")
    assert open_descriptors() == before
