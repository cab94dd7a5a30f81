"""A changed task is answered from what an earlier run has kept, however much of it is there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mixtea import MixTEA, load_task
from mixtea.aligner.updating import why_train
from mixtea.decide.rematch import rematch
from mixtea.graph.difference import difference

NAMES = [
    f"{side} {kind}"
    for side in ("North", "South", "Old", "Upper", "Lower")
    for kind in ("Mill", "Bridge", "Tower", "Gate")
]
ROWS = [{"id": f"s{i}", "name": name, "built": str(1100 + 37 * i)} for i, name in enumerate(NAMES)]


def task_of(source, target):
    return load_task(source=source, target=target, links_from="names")


@pytest.fixture(scope="module")
def old():
    return MixTEA(max_epochs=0, propagation_rounds=1).fit(task_of(ROWS, ROWS))


def changed_to(old, task):
    return difference(old.task_.source, task.source), difference(old.task_.target, task.target)


def test_what_a_run_has_not_kept_is_not_needed(old):
    """A run without what is left over, and with parts of an opinion whose scores it does not have."""
    task = task_of([*ROWS[1:], ROWS[0] | {"id": "new"}], ROWS)
    answers = old.answers_
    held = replace(
        answers, fallback=None, parts=answers.parts | {"odd": np.ones((len(answers.source_index), 2), dtype=np.float32)}
    )
    found = rematch(task, held, old._last, changed_to(old, task), old.learned_, 0.1).answers
    frame = found.mapping().frame.set_index("source")
    assert frame.loc["new", "target"] == "s0" and len(frame) == 20
    kept = frame.drop("new")
    assert kept.equals(answers.mapping().frame.set_index("source").loc[kept.index].assign(evidence=kept["evidence"]))
    assert np.isnan(found.parts["odd"][found.source_index == 19]).all() and found.parts["odd"][0].tolist() == [1, 1]
    assert found.fallback is not None and (found.fallback.target == -1).all()


def test_targets_that_are_gone_leave_candidates_of_which_nobody_thinks_anything(old):
    task = task_of(ROWS, [*ROWS[:19], {"id": "other", "name": "Zyx", "built": "7"}])
    found = rematch(task, old.answers_, old._last, changed_to(old, task), old.learned_, 0.1)
    ranked = found.answers.ranked
    assert all(len(set(row)) == 20 for row in ranked.target.tolist())
    assert (ranked.likelihood[:, -1] == 0).all() and ranked.no_evidence[:, -1].all()
    assert found.answers.mapping().frame["target"].notna().sum() == 19 and found.renewed == 1


def test_who_does_not_decide_is_not_asked(old):
    student = MixTEA(max_epochs=1, entity_dim=8, relation_dim=8, decode_voters=("names",)).fit(old.task_)
    assert (
        why_train(student, old.task_, changed_to(old, old.task_), same_links=True) == "names and values do not decide"
    )
    assert why_train(old, old.task_, changed_to(old, old.task_), same_links=True) == ""
