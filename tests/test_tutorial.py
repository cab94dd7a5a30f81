"""The tutorial, command by command, in a folder of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```", re.M | re.S)
SECONDS = 300


def test_every_block_of_the_tutorial_runs(tmp_path):
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, what in (("mixtea", "-m mixtea"), ("python", "")):
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {what} "$@"\n')
        (commands / name).chmod(0o755)
    (tmp_path / "scripts").symlink_to(ROOT / "scripts")
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100"}
    said = []
    for language, text in BLOCK.findall((ROOT / "docs/tutorial.md").read_text(encoding="utf-8")):
        command = ["bash", "-euo", "pipefail", "-c", text] if language == "bash" else [sys.executable, "-c", text]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        said.append(done.stdout + done.stderr)
    everything = "\n".join(said)
    assert "234 train, 59 valid" in everything and "683 links" in everything
    assert "F1 0." in everything and "earlier mappings changed" in everything
    mapping = (tmp_path / "runs/world.sssom.tsv").read_text(encoding="utf-8")
    assert (
        "#license: https://creativecommons.org/licenses/by/4.0/" in mapping and "geonames:territory/Germany" in mapping
    )
    for name in ("runs/world/report.html", "runs/curve.png", "runs/world.parquet", "runs/grown/changes.tsv"):
        assert (tmp_path / name).stat().st_size > 0
