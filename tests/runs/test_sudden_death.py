"""Sudden death, the short version: what benchmarks/sudden_death.py does at every call, at some of them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from processes import run

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "sudden_death.py"


@pytest.mark.parametrize(
    "words", ["--save --errors --sample 20", "--kills 8 --steps 5 --sample 3"], ids=["calls", "moments"]
)
def test_nothing_is_lost(words):
    done = run([sys.executable, SCRIPT, *words.split()], env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
