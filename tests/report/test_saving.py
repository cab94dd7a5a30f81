"""The report in the run folder: asked for, optional, and never worth a run."""

from __future__ import annotations

import json
import sys

import pytest

from mixtea import MixTEA, RunError, cli
from mixtea.report import page

SHORT = dict(preset="paper", max_epochs=2, device="cpu")


@pytest.fixture
def run(tiny, tmp_path):
    save(MixTEA(**SHORT).fit(tiny), tmp_path / "run")
    return tmp_path / "run"


def save(aligner, out, **more):
    aligner.save(out, pages={"report.html": page.make_report(aligner)}, **more)


def test_the_report_is_written_when_asked_for(drawn, run, tiny, tmp_path):
    assert (run / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "report.html" in json.loads((run / "run.json").read_text())["files"]
    MixTEA.load(run).save(tmp_path / "plain")
    assert not (tmp_path / "plain" / "report.html").exists() and MixTEA.load(tmp_path / "plain").n_epochs_ == 2


def test_a_run_is_read_without_its_report_but_not_with_another(run):
    (run / "report.html").write_text("something else")
    with pytest.raises(RunError, match=r"report\.html: 14 bytes"):
        MixTEA.load(run)
    (run / "report.html").unlink()
    save(MixTEA.load(run), run, overwrite=True)
    assert MixTEA.load(run).n_epochs_ == 2 and (run / "report.html").exists()


def test_only_pages_of_a_run_are_written(run, tmp_path):
    with pytest.raises(RunError, match=r"notes\.html: no page of a run, which has report\.html and changes\.tsv"):
        MixTEA.load(run).save(tmp_path / "other", pages={"notes.html": "x", "report.html": "y"})
    assert not (tmp_path / "other").exists()


def test_a_report_that_fails_does_not_lose_the_run(folder, tmp_path, monkeypatch, capsys):
    def fails(aligner):
        raise ValueError("no ink")

    monkeypatch.setattr("mixtea.report.page.make_report", fails)
    command = ["mixtea", "fit", str(folder), "--out", str(tmp_path / "run"), "--preset", "paper", "--device", "cpu"]
    monkeypatch.setattr(sys, "argv", [*command, "--set", "max_epochs=2"])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    said = capsys.readouterr().err
    assert not stopped.value.code and "warning: the report could not be made: ValueError('no ink')" in said
    assert said.rstrip().endswith(f"run folder: {tmp_path / 'run'}")
    assert MixTEA.load(tmp_path / "run").n_epochs_ == 2 and not (tmp_path / "run" / "report.html").exists()
