"""docs/again.md as it stands, run: its commands, the line for cron, and the DAG with a stand-in for Airflow."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import write
from processes import run as run_process

from mixtea import load_task, train
from mixtea.runs.folder import earlier_runs

PAGE = (Path(__file__).parent.parent / "docs" / "again.md").read_text(encoding="utf-8")
HOME = "/srv/match"  # where the page has its files
SIDES, KINDS = ("North", "South", "Old", "Upper", "Lower", "East", "West", "New"), ("Harbour", "Mill", "Bridge")
NAMES = [f"{side} {kind}" for side in SIDES for kind in KINDS]


def table(names, letter, column):
    return f"id,{column},people\n" + "".join(f"{letter}{i},{name},{1000 + 37 * i}\n" for i, name in names)


def block(language, mark):
    """The first block in a language that has a mark in it, which stands on the page."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return next(one for one in blocks if mark in one)


@pytest.fixture
def home(tmp_path):
    """The run of a day, and the tables of the next: one row less and one more."""
    known = [*enumerate(NAMES)]
    write(tmp_path, {"ours.csv": table(known[:-1], "s", "name"), "theirs.csv": table(known, "t", "label")})
    task = load_task(source=tmp_path / "ours.csv", target=tmp_path / "theirs.csv", links_from="names")
    train(task, tmp_path / "runs" / "nightly", max_epochs=0)
    write(tmp_path, {"ours.csv": table(known[1:], "s", "name"), "new.csv": table(known[-1:], "s", "name")})
    return tmp_path


def test_the_line_for_cron(home):
    """The shell runs it: the log says what became of the run, the exit code whether there is a new one."""
    command = re.search(r"^30 2 \* \* \* (.*)$", PAGE, re.MULTILINE)[1].replace(HOME, shlex.quote(str(home)))
    program = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m mixtea "$@"\n'
    (write(home, {"mixtea": program, "nightly.sh": block("bash", "fit --update")}) / "mixtea").chmod(0o755)
    paths = [str(Path(__file__).parent.parent / "src"), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"PATH": f"{home}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(paths)}
    assert run_process(["sh", "-c", command], env=env).returncode == 0
    assert "stay as they were" in (home / "nightly.log").read_text()
    run = home / "runs" / "nightly"
    assert len(earlier_runs(run)) == 1
    write(home, {"theirs.csv": 'id,label\n"t1'})
    assert run_process(["sh", "-c", command], env=env).returncode == 2
    assert len(earlier_runs(run)) == 1 and "error: theirs.csv: 1 problem" in (home / "nightly.log").read_text()


def test_the_dag_of_airflow(home, monkeypatch, mixtea):
    """Its function and its command both update the run."""
    tasks = {}

    class DAG:
        def __init__(self, name, **how):
            assert how["schedule"] == "30 2 * * *" and not how["catchup"]

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    def operator(task_id, **given):
        (tasks[task_id],) = given.values()

    modules = {"airflow": {"DAG": DAG}, "airflow.operators": {}, "airflow.operators.bash": {"BashOperator": operator},
               "airflow.operators.python": {"PythonOperator": operator}}  # fmt: skip
    for name, has in modules.items():
        module = ModuleType(name)
        vars(module).update(has)
        monkeypatch.setitem(sys.modules, name, module)
    exec(block("py", "airflow").replace(HOME, str(home)), {})
    assert tasks["function"]() == len(NAMES) - 1
    known = [*enumerate(NAMES)]
    write(home, {"ours.csv": table(known, "s", "name")})
    code, _, said = mixtea(*shlex.split(tasks["command"])[1:])
    assert code == 0 and "stay as they were" in said and len(earlier_runs(home / "runs" / "nightly")) == 2


def test_the_command_for_new_rows(home, monkeypatch, mixtea):
    monkeypatch.chdir(home)
    code, out, _ = mixtea(*shlex.split(block("bash", "mixtea match"))[1:])
    (found,) = json.loads(out)
    assert code == 0 and (found["source"], found["target"]) == ("s23", "t23")
