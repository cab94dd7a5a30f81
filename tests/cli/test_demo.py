"""The bundled example on the command line."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from conftest import SMALL_BEST

from mixtea.pipeline import train


def test_the_demo_shows_who_finds_what(tmp_path, mixtea, monkeypatch):
    """As it is called, but for how long it trains."""
    monkeypatch.setattr(import_module("mixtea.cli.fit"), "train", partial(train, **SMALL_BEST))
    code, out, err = mixtea("demo", "--out", tmp_path / "run")
    shown = " ".join(out.split())
    assert code == 0, err
    assert "the student, propagation, agreement, names)" in shown, "attributes and descriptions had nothing to say"
    assert [words in shown for words in ("all voters", "structure alone", "names alone")] == [True] * 3
    assert "attributes" not in shown and "descriptions" not in shown and "Ten mappings of test entities" in shown
    assert "without evidence: attributes, descriptions" in err
    scored = " ".join(mixtea("score", tmp_path / "run")[1].split())
    assert "the student, propagation, agreement, names)" in scored and "names alone" in scored
