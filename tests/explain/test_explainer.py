"""Why a pair, from what a run has stored."""

from __future__ import annotations

import sys

import pytest
from conftest import SMALL_BEST
from processes import run

from mixtea import MixTEA
from mixtea.config import STRUCTURE_VOTERS
from mixtea.runs.reader import StoredRun

LIKENESS = ("names", "attributes", "descriptions")


def test_weights_add_up_to_what_was_voted_and_need_no_torch(told, tmp_path):
    MixTEA(voters=(*STRUCTURE_VOTERS, *LIKENESS), **SMALL_BEST).fit(told).save(tmp_path / "run")
    stored = StoredRun(tmp_path / "run")
    known = stored.answers_.known()
    for source, target in zip(known.source[::9].tolist(), known.target[::9].tolist(), strict=True):
        said = stored.explain(source, target).groupby("voter")["weight"].sum()
        scores = {voter: known.score_of(voter, source, target) for voter in LIKENESS}
        spoken = {voter: score for voter, score in scores.items() if score is not None}
        assert said[said.index.isin(LIKENESS)].to_dict() == pytest.approx(spoken)
    given = stored.explain(*told.train[0].tolist()).set_index("voter")["weight"]  # a link is no candidate
    assert given.loc[list(LIKENESS)].isna().all()
    asked = f"from mixtea.runs.reader import StoredRun; StoredRun({str(tmp_path / 'run')!r}).explain(0, 0)"
    assert run([sys.executable, "-c", f"{asked}; import sys; assert 'torch' not in sys.modules"]).returncode == 0
