"""The tutorial, command by command, in a folder of its own."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from conftest import SMALL_BEST
from processes import run

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```", re.M | re.S)
QUICK = [word for name, value in SMALL_BEST.items() for word in ("--set", f"{name}={value}")]


def lines():
    """(language, command): each line of a shell, each block of Python."""
    for language, text in BLOCK.findall((ROOT / "docs/tutorial.md").read_text(encoding="utf-8")):
        for command in text.replace("\\\n", " ").splitlines() if language == "bash" else [text]:
            yield language, command


@pytest.fixture
def shell(tmp_path, mixtea, monkeypatch):
    """Do a command and give back what it says; `mixtea` works in this process, and learns for a moment only."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "scripts").symlink_to(ROOT / "scripts")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    def call(language, command):
        words = shlex.split(command) if language == "bash" else []
        if words[:1] == ["mixtea"]:
            code, out, err = mixtea(*words[1:], *(QUICK if words[1] == "fit" else []))
        else:
            program = ["bash", "-euo", "pipefail", "-c", command]
            if words[:1] == ["python"]:
                program = [sys.executable, *words[1:]]
            elif language == "python":
                program = [sys.executable, "-c", command]
            done = run(program, forked=program[0] == sys.executable, env=environment)
            code, out, err = done.returncode, done.stdout, done.stderr
        assert code == 0, f"{command}\n{out}\n{err}"
        return out + err

    return call


def test_every_line_of_the_tutorial_works(shell, tmp_path):
    everything = "\n".join(shell(*line) for line in lines())
    assert "234 train, 59 valid" in everything and "683 links" in everything
    assert "F1 0." in everything and "unchanged, compared with the earlier run" in everything
    mapping = (tmp_path / "runs/world.sssom.tsv").read_text(encoding="utf-8")
    assert (
        "#license: https://creativecommons.org/licenses/by/4.0/" in mapping and "geonames:territory/Germany" in mapping
    )
    for name in ("runs/world/report.html", "runs/curve.png", "runs/world.parquet", "runs/grown/changes.tsv"):
        assert (tmp_path / name).stat().st_size > 0
