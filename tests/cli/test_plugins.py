"""Packages with voters that fail, in a process of their own: one message, exit code 1, and nothing is written."""

from __future__ import annotations

import os

import pytest
from conftest import SMALL_BEST, write
from processes import MIXTEA
from processes import run as run_process

from mixtea.fields import assignments

VOTER = """
from mixtea.vote import Voter

class Broken(Voter):
    name = "broken"

    def score(self, pairs, state):
        raise RuntimeError("no more\\nwords")
"""
WRONG = {
    "when it is imported": (
        "import sys\nsys.exit(3)\n",
        "failed when it was loaded from broken_voter:Broken: SystemExit: 3.",
    ),
    "when it is asked": (VOTER, r"failed in score: RuntimeError: no more\nwords."),
}


@pytest.mark.parametrize("when", WRONG)
def test_a_package_that_fails_is_named_and_nothing_is_written(rings_folder, tmp_path, when):
    code, message = WRONG[when]
    packages = write(
        tmp_path / "packages",
        {
            "broken_voter.py": code,
            "broken_voter-0.7.dist-info/METADATA": "Metadata-Version: 2.1\nName: broken-voter\nVersion: 0.7\n",
            "broken_voter-0.7.dist-info/entry_points.txt": "[mixtea.voters]\nbroken = broken_voter:Broken\n",
        },
    )
    (work := tmp_path / "work").mkdir()
    path = os.pathsep.join(filter(None, (str(packages), os.environ.get("PYTHONPATH"))))
    settings = [word for text in assignments(SMALL_BEST) for word in ("--set", text)]
    words = ["fit", rings_folder, "--out", "run", "--voters", "forward,backward,broken", *settings]
    done = run_process([*MIXTEA, *words], cwd=work, env=os.environ | {"PYTHONPATH": path})
    errors = [line for line in done.stderr.splitlines() if "error" in line.lower()]
    advice = "Fix or update it, or remove it from the voters."
    assert errors == [f"error: The voter 'broken' of the package broken-voter 0.7 {message} {advice}"]
    assert done.returncode == 1 and done.stdout == "" and "Traceback" not in done.stderr
    assert not any(work.iterdir())
