"""mixtea match: new entities against the targets of a run."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from conftest import write

from mixtea import MixTEA, load_task

NAMES = ["North Mill", "South Bridge", "Old Castle", "Upper Market", "Lower Harbour", "East Tower"]
A = "id,name,built\n" + "".join(f"s{i},{name},{1400 + 31 * i}\n" for i, name in enumerate(NAMES[:5]))
B = "id,name,built\n" + "".join(f"t{i},{name},{1400 + 31 * i}\n" for i, name in enumerate(NAMES))
NEW = "id,name,colour\nnew,East Tower,red\ns0,North Mill,blue\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("match")
    write(folder, {"a.csv": A, "b.csv": B, "new.csv": NEW})
    task = load_task(source=folder / "a.csv", target=folder / "b.csv", links_from="names")
    MixTEA(max_epochs=0, propagation_rounds=1).fit(task).save(folder / "run")
    return folder / "run"


def test_candidates_are_shown_and_written(run, tmp_path, mixtea):
    new = run.parent / "new.csv"
    code, out, err = mixtea("match", run, "--source", new, "-k", "2", "--out", tmp_path / "m.csv")
    assert code == 0 and "East Tower" in out and "the run's answer" in out
    assert "warning: not in the run's source, so left out: 'colour'\n" in err and err.endswith("mapped 2 of 2\n")
    frame = pd.read_csv(tmp_path / "m.csv")
    assert frame.loc[frame["rank"] == 1, "target"].tolist() == ["t5", "t0"] and len(frame) == 4
    assert mixtea("match", run, "--source", new)[0] == 0
    code, out, _ = mixtea("match", run, "--source", new, "--json", "--out", tmp_path / "m.json")
    found = json.loads(out)
    assert code == 0 and [(one["source"], one["target"], one["stored"]) for one in found] == [
        ("new", "t5", False), ("s0", "t0", True)
    ]  # fmt: skip
    assert len(json.loads((tmp_path / "m.json").read_text())["candidates"]) == sum(len(o["candidates"]) for o in found)


def test_wrong_calls(run, tmp_path, mixtea):
    new = ("--source", run.parent / "new.csv")
    code, _, err = mixtea("match", run, *new, "--out", tmp_path / "m.tsv")
    assert code == 2 and "ends in .csv or .json" in err
    write(tmp_path, {"m.csv": "mine"})
    assert mixtea("match", run, *new, "--out", tmp_path / "m.csv")[0] == 2
    code, _, err = mixtea("match", run, "--source", tmp_path / "gone.csv")
    assert code == 2 and "gone.csv" in err and "no such file" in err
