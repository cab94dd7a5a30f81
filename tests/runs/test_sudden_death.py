"""Sudden death, the short version: what benchmarks/sudden_death.py does at every call, at some of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from processes import run

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "sudden_death.py"


@pytest.mark.parametrize(
    "words",
    [
        "--save --errors --sample 45",
        "--steps 3 --sample 4",
        pytest.param("--save --errors --sample 10", marks=pytest.mark.search),
        pytest.param("--kills 8 --steps 10", marks=pytest.mark.search),
    ],
)
def test_nothing_is_lost(words):
    done = run([sys.executable, SCRIPT, *words.split()], forked=True)
    assert done.returncode == 0, done.stdout + done.stderr
