"""Earlier runs in a run folder: numbered, linked and not copied, of so many the last ones."""

from __future__ import annotations

import os
import shutil

import pytest

from mixtea.runs.atomic import atomic_folder
from mixtea.runs.folder import carry_over, earlier_runs


def written(folder, text):
    folder.mkdir(parents=True)
    for name in ("run.json", "config.json", "notes.txt"):
        (folder / name).write_text(text)
    return folder


def replaced(run, text, keep):
    with atomic_folder(run, overwrite=True) as temporary:
        for name in ("run.json", "config.json"):
            (temporary / name).write_text(text)
        carry_over(run, temporary, keep)


def texts(run):
    return [(path.name, (path / "run.json").read_text()) for path in earlier_runs(run)]


@pytest.fixture
def run(tmp_path):
    run = written(tmp_path / "run", "0")
    (run / "notes.txt").unlink()
    return run


def test_the_last_runs_stay_and_the_numbers_go_on(run):
    for number in range(1, 6):
        replaced(run, str(number), 3)
    assert (run / "run.json").read_text() == "5"
    assert texts(run) == [("0003", "2"), ("0004", "3"), ("0005", "4")]
    replaced(run, "6", None)  # as with --overwrite: what is replaced is not kept, what was kept stays
    assert texts(run) == [("0003", "2"), ("0004", "3"), ("0005", "4")]
    replaced(run, "7", 0)
    assert texts(run) == [] and not (run / "history").exists()


def test_files_are_the_same_files(run):
    before = (run / "run.json").stat().st_ino
    replaced(run, "1", 3)
    assert (run / "history" / "0001" / "run.json").stat().st_ino == before


def test_files_are_copied_where_they_cannot_be_linked(run, monkeypatch):
    def no_link(*_):
        raise OSError("not on this file system")

    monkeypatch.setattr(os, "link", no_link)
    replaced(run, "1", 3)
    assert texts(run) == [("0001", "0")]


def test_nothing_but_files_of_runs_in_numbered_folders_is_taken_along(run, tmp_path):
    elsewhere = written(tmp_path / "elsewhere", "secret")
    written(run / "history" / "0007", "7")
    (run / "history" / "0007" / "metrics.json").symlink_to(elsewhere / "run.json")
    written(run / "history" / "mine", "mine")
    (run / "history" / "0009").symlink_to(elsewhere)
    replaced(run, "1", 9)
    assert texts(run) == [("0007", "7"), ("0008", "0")]
    assert sorted(path.name for path in (run / "history" / "0007").iterdir()) == ["config.json", "run.json"]
    shutil.rmtree(run / "history")
    (run / "history").symlink_to(elsewhere)
    assert earlier_runs(run) == []


def test_a_write_that_fails_leaves_the_history_as_it_was(run):
    replaced(run, "1", 3)
    with pytest.raises(ZeroDivisionError), atomic_folder(run, overwrite=True) as temporary:
        carry_over(run, temporary, 3)
        raise ZeroDivisionError
    assert (run / "run.json").read_text() == "1" and texts(run) == [("0001", "0")]


def test_a_new_place_has_no_history(tmp_path):
    replaced(tmp_path / "new", "1", 3)
    assert texts(tmp_path / "new") == []
