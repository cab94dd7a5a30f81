"""Files and folders that appear whole or not at all."""

import ctypes
import errno
import os
import re
from pathlib import Path

import pytest
from safetensors import SafetensorError

from mixtea.errors import RunError, WriteError
from mixtea.runs import atomic
from mixtea.runs.atomic import atomic_file, atomic_folder, atomic_text, check_free, clear_leftovers, lock_folder

ANY = re.compile(".*")


def held(folder):
    """Everything in a folder, hidden names included."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def write_run(folder, text="new"):
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(text)


def test_a_file_appears_whole_with_its_own_ending(tmp_path):
    path = tmp_path / "deep" / "er" / "mapping.tsv"
    with atomic_file(path) as temporary:
        assert temporary.name == "mapping.tsv"
        temporary.write_text("a\tb\n")
        assert not path.exists()
    assert path.read_text() == "a\tb\n" and held(path.parent) == ["mapping.tsv"]


def test_a_file_stays_as_it_was_when_writing_fails(tmp_path):
    path = tmp_path / "mapping.tsv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_file(path) as temporary:
        temporary.write_text("half")
        raise ZeroDivisionError
    assert path.read_text() == "old" and held(tmp_path) == ["mapping.tsv"]


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), WriteError, 1),
        (OSError(errno.EIO, "Input/output error"), WriteError, 1),
        (PermissionError(errno.EACCES, "Permission denied"), RunError, 2),
        (SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"), WriteError, 1),
        (SafetensorError("something else"), RunError, 2),
    ],
)
def test_what_keeps_a_file_from_being_written_is_named(tmp_path, error, kind, code):
    path = tmp_path / "mapping.tsv"
    path.write_text("old")
    with pytest.raises(kind, match="cannot be written") as caught, atomic_file(path):
        raise error
    assert type(caught.value) is kind and caught.value.exit_code == code and str(path) in str(caught.value)
    assert path.read_text() == "old" and held(tmp_path) == ["mapping.tsv"]


def test_a_link_is_followed_or_replaced(tmp_path):
    for follow, theirs in ((False, "theirs"), (True, "mine")):
        (tmp_path / "theirs").write_text("theirs")
        for name, to in (("link", "theirs"), ("nowhere", "gone"), ("folder", ".")):
            (tmp_path / name).unlink(missing_ok=True)
            (tmp_path / name).symlink_to(to)
        with atomic_file(tmp_path / "link", follow=follow) as path:
            path.write_text("mine")
        assert (tmp_path / "theirs").read_text() == theirs and (tmp_path / "link").read_text() == "mine"
        assert (tmp_path / "link").is_symlink() == follow
    for name in ("nowhere", "folder"):
        with atomic_file(tmp_path / name, follow=False) as path:
            path.write_text("mine")
        assert (tmp_path / name).read_text() == "mine" and not (tmp_path / name).is_symlink()


def test_what_is_no_file_is_not_replaced(tmp_path):
    write_run(tmp_path / "run")
    os.mkfifo(tmp_path / "pipe")
    for name, said in (("run", "a folder"), ("pipe", "a device or pipe"), ("run/config.json", "a part of a run")):
        with pytest.raises(RunError, match=said), atomic_file(tmp_path / name):
            raise AssertionError("not reached")


def test_a_folder_appears_whole(tmp_path):
    with atomic_folder(tmp_path / "run", overwrite=False) as temporary:
        write_run(temporary)
        assert not (tmp_path / "run").exists()
    assert held(tmp_path) == ["run", "run/run.json"]


def test_a_folder_stays_as_it_was_when_writing_fails(tmp_path):
    write_run(tmp_path / "run", "old")
    with pytest.raises(ZeroDivisionError), atomic_folder(tmp_path / "run", overwrite=True) as temporary:
        write_run(temporary)
        raise ZeroDivisionError
    assert (tmp_path / "run/run.json").read_text() == "old" and held(tmp_path) == ["run", "run/run.json"]


class NoExchange:
    """A system whose library refuses to swap two names."""

    def __init__(self, *args, **kwargs):
        pass

    @staticmethod
    def renameat2(*args):
        return -1


def fails_half_way(monkeypatch, error):
    """The second of the two renames that take the place of a swap fails."""
    kind = type(Path())
    rename = kind.rename

    def fails(path, target):
        if path.name == "new":
            raise error
        return rename(path, target)

    monkeypatch.setattr(kind, "rename", fails)


class Nothing:
    """Does nothing, whatever is asked of it."""

    def __call__(self, *args, **kwargs):
        pass

    rmtree = __call__


def test_where_a_swap_fails_half_way_the_older_run_is_there_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", NoExchange)
    write_run(tmp_path / "run", "old")
    fails_half_way(monkeypatch, OSError(errno.EIO, "Input/output error"))
    with pytest.raises(WriteError), atomic_folder(tmp_path / "run", overwrite=True) as temporary:
        write_run(temporary)
    assert (tmp_path / "run/run.json").read_text() == "old" and held(tmp_path) == ["run", "run/run.json"]


def test_leftovers_that_are_links_or_have_other_names_are_left_alone(tmp_path):
    home = tmp_path / "home"
    (home / "old").mkdir(parents=True)
    (tmp_path / ".run.tmp-1").symlink_to(home)
    (tmp_path / ".cache.tmp-mine").mkdir()
    (tmp_path / ".run.tmp-2").mkdir()
    (tmp_path / ".run.tmp-2" / "old").symlink_to(home)
    clear_leftovers(tmp_path, ANY)
    assert held(tmp_path) == [".cache.tmp-mine", ".run.tmp-1", "home", "home/old"]


def test_a_place_without_a_name_and_links_in_a_circle(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(RunError, match=r"Name another|cannot be written"):
        check_free(tmp_path / "a", overwrite=False)
    with pytest.raises(RunError, match="nothing can be written in its place"):
        check_free(Path("/"), overwrite=False)


def test_on_windows_nothing_is_flushed(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "WINDOWS", True)
    monkeypatch.setattr(os, "fsync", lambda descriptor: pytest.fail("cannot be done there"))
    with atomic_file(tmp_path / "a.tsv") as temporary:
        temporary.write_text("x")
    assert held(tmp_path) == ["a.tsv"]


def missing(*args, **kwargs):
    raise OSError("no such library")


@pytest.mark.parametrize("library", [ctypes.CDLL, NoExchange, missing])
def test_a_run_is_replaced_at_once_or_in_two_steps(tmp_path, monkeypatch, library):
    monkeypatch.setattr(ctypes, "CDLL", library)
    write_run(tmp_path / "run", "old")
    with atomic_folder(tmp_path / "run", overwrite=True) as temporary:
        write_run(temporary)
    assert (tmp_path / "run/run.json").read_text() == "new" and held(tmp_path) == ["run", "run/run.json"]


def test_a_death_between_the_two_steps_leaves_the_older_run_to_be_put_back(tmp_path, monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", NoExchange)
    write_run(tmp_path / "run", "old")
    fails_half_way(monkeypatch, SystemExit())
    with pytest.raises(SystemExit), atomic_folder(tmp_path / "run", overwrite=True) as temporary:
        write_run(temporary)
        for name in ("_put_back", "shutil"):  # the dead do not clean up
            monkeypatch.setattr(atomic, name, Nothing())
    monkeypatch.undo()
    assert not (tmp_path / "run").exists()
    clear_leftovers(tmp_path, ANY)
    assert (tmp_path / "run/run.json").read_text() == "old" and held(tmp_path) == ["run", "run/run.json"]


def test_leftovers_are_swept_unless_someone_is_at_work_in_them(tmp_path):
    mine, other, living = (tmp_path / f".{name}.tmp-1" for name in ("a.tsv", "b.tsv", "c.tsv"))
    for shop in (mine, other, living):
        shop.mkdir()
        (shop / "half").write_text("x")
    kept = [tmp_path / ".hidden", tmp_path / "d.tmp-1", tmp_path / ".e.tmp-1"]
    kept[0].mkdir()
    kept[1].mkdir()
    kept[2].write_text("a file, which is no workshop")
    with atomic_file(tmp_path / "a.tsv") as temporary:
        temporary.write_text("x")
    assert not mine.exists() and other.exists()  # those of the same name
    with lock_folder(living):
        clear_leftovers(tmp_path, ANY)
        assert living.exists() and not other.exists()
    clear_leftovers(tmp_path, ANY)
    assert not living.exists() and all(path.exists() for path in kept)


def test_an_older_run_in_a_leftover_does_not_replace_a_newer_one(tmp_path):
    write_run(tmp_path / "run", "new")
    (tmp_path / ".run.tmp-1").mkdir()
    write_run(tmp_path / ".run.tmp-1/old", "old")
    clear_leftovers(tmp_path, ANY)
    assert (tmp_path / "run/run.json").read_text() == "new" and held(tmp_path) == ["run", "run/run.json"]


def test_a_place_is_free_or_the_reason_is_said(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    write_run(tmp_path / "run")
    write_run(tmp_path / "mixed")
    (tmp_path / "mixed" / "notes.txt").write_text("x")
    check_free(tmp_path / "empty", overwrite=False)
    check_free(tmp_path / "new" / "run", overwrite=False)
    check_free(tmp_path / "run", overwrite=True)
    for name, overwrite, said in (
        ("file", True, "a file, where a folder"),
        ("full", True, "not empty"),
        ("run", False, "a run is already there"),
        ("mixed", True, "besides a run it holds notes.txt"),
    ):
        with pytest.raises(RunError, match=said):
            check_free(tmp_path / name, overwrite=overwrite)


def test_a_folder_below_a_file_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(RunError, match="cannot be written"):
        check_free(tmp_path / "file" / "run", overwrite=False)


def test_a_text_takes_the_place_of_a_link(tmp_path):
    """In a folder of the program's own, where a link is nobody's wish."""
    (tmp_path / "elsewhere").write_text("before")
    (tmp_path / "text").symlink_to(tmp_path / "elsewhere")
    atomic_text(tmp_path / "text", "a\nb\n")
    assert (tmp_path / "text").read_bytes() == b"a\nb\n" and not (tmp_path / "text").is_symlink()
    assert (tmp_path / "elsewhere").read_text() == "before"


def test_a_file_and_a_folder_are_flushed_before_they_take_their_place_and_the_folder_around_them_after(
    tmp_path, monkeypatch
):
    told, real_flush, real_replace = [], atomic.flush, Path.replace
    monkeypatch.setattr(atomic, "flush", lambda path: (told.append(("flush", Path(path).name)), real_flush(path)))
    monkeypatch.setattr(
        Path, "replace", lambda file, path: (told.append(("replace", path.name)), real_replace(file, path))
    )
    inside = tmp_path / "inside"
    inside.mkdir()
    atomic_text(inside / "a.txt", "a")
    after = told[told.index(("replace", "a.txt")) :]
    assert after == [("replace", "a.txt"), ("flush", "inside")] and len(told) > 2
    told.clear()
    with atomic_folder(inside / "run", overwrite=False) as folder:
        (folder / "b.txt").write_text("b")
    assert told == [("flush", "b.txt"), ("flush", "new"), ("flush", "inside")]
