"""Decisions given back to the model: links, rejected pairs, opinions, and a training that knows them."""

from __future__ import annotations

import json
import math
import shutil
import sys
from contextlib import closing
from copy import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from conftest import make_graph
from processes import run as run_process
from reviewing import decision

from mixtea import Config, MixTEA, Task
from mixtea.decide.mapping import MAPPED
from mixtea.review.decisions import DecisionStore, decisions_path
from mixtea.review.learning import retrain, reviewed_task
from mixtea.review.model import Model
from mixtea.review.reviewers import known_targets
from mixtea.runs.reader import StoredRun


@pytest.fixture
def eight():
    """Eight a side; 0 and 1 train, 2 validates, 3 to 7 test."""
    graphs = [make_graph([(i, 0, i + 1) for i in range(7)], 8, side) for side in ("s", "t")]
    links = np.repeat(np.arange(8), 2).reshape(-1, 2)
    return Task.of_two("eight", *graphs, links[:2], links[2:3], links[3:])


def numbered(*decisions):
    return [one._replace(id=number) for number, one in enumerate(decisions, 1)]


def test_accepted_pairs_train_and_rejected_ones_are_never_proposed(eight):
    rows = numbered(
        decision("a", "accept", "s3", "t4"), decision("b", "reject", "s5", "t5"),
        decision("c", "none", "s6", None, "t6", "t7"), decision("d", "unsure", "s7", "t7"),
    )  # fmt: skip
    task = reviewed_task(eight, rows)
    assert task.train.tolist() == [[0, 0], [1, 1], [3, 4]] and task.valid.tolist() == [[2, 2]]
    assert task.test.tolist() == [[5, 5], [6, 6], [7, 7]]  # neither 3 nor 4 is asked about
    assert task.rejected.tolist() == [[5, 5], [6, 6], [6, 7]] and len(task.reviewed.pairs) == 0


def test_entities_that_are_gone_are_left_out(eight):
    rows = numbered(decision("a", "accept", "gone", "t4"), decision("b", "reject", "s5", "gone"))
    task = reviewed_task(eight, rows)
    assert task.train.tolist() == eight.train.tolist() and len(task.rejected) == 0
    again = reviewed_task(eight, [*rows, decision("c", "accept", "s5", "t5", id=3)])
    assert again.train.tolist()[-1] == [5, 5]


def test_sources_with_a_given_link_stay_as_they_are(eight):
    rows = numbered(
        decision("a", "accept", "s0", "t5"), decision("b", "reject", "s1", "t1"), decision("c", "reject", "s2", "t2")
    )
    task = reviewed_task(eight, rows)
    assert task.train.tolist() == eight.train.tolist() and task.valid.tolist() == eight.valid.tolist()
    assert len(task.rejected) == 0


def test_the_last_word_counts_and_audits_do_not(eight):
    rows = numbered(
        decision("a", "accept", "s3", "t4"), decision("b", "accept", "s3", "t3"),
        decision("c", "reject", "s3", "t3", reason="repeat"), decision("d", "accept", "s4", "t5", reason="known"),
    )  # fmt: skip
    assert reviewed_task(eight, rows).train.tolist() == [[0, 0], [1, 1], [3, 3]]


def test_where_a_source_has_several_targets_all_that_are_accepted_count(eight):
    several = eight.replace(train=np.array([[0, 0], [0, 1]]), valid=eight.valid[:0])
    rows = numbered(decision("a", "accept", "s3", "t4"), decision("b", "accept", "s3", "t3"))
    assert reviewed_task(several, rows).train.tolist()[2:] == [[3, 4], [3, 3]]
    assert reviewed_task(eight, rows).train.tolist()[2:] == [[3, 3]]


def test_a_source_with_several_given_links_gets_further_ones_and_keeps_those():
    """Of thirteen linked sources one has two targets: what is accepted for it is learned, its links stay."""
    graphs = [make_graph([(i, 0, i + 1) for i in range(15)], 16, side) for side in ("s", "t")]
    links = np.array([*((i, i) for i in range(13)), (0, 13)])
    task = Task.of_two("few", *graphs, links, links[:0], links[:0])
    rows = numbered(
        decision("a", "accept", "s0", "t14"), decision("b", "accept", "s0", "t15"),
        decision("c", "accept", "s1", "t15"), decision("d", "reject", "s0", "t0"),
        decision("e", "reject", "s0", "t7"), decision("f", "reject", "s1", "t7"),
        decision("g", "accept", "s13", "t14"), decision("h", "accept", "s13", "t15"),
    )  # fmt: skip
    found = reviewed_task(task, rows)
    assert found.train.tolist() == [*links.tolist(), [0, 14], [0, 15], [13, 15]]
    assert found.rejected.tolist() == [[0, 7]]


def test_who_is_not_reliable_has_opinions(eight):
    links = np.concatenate([eight.valid, eight.test[3:]])
    task = eight.replace(valid=links, test=eight.test[:3])  # 2, 6 and 7 are known
    known = [
        decision(f"k{i}", "accept", "s2", "t2" if i % 4 else "t3", reason="known", reviewer="bob") for i in range(40)
    ]
    rows = numbered(*known, decision("a", "accept", "s3", "t3", reviewer="bob"), decision("b", "accept", "s4", "t4"))
    found = reviewed_task(task, rows)
    assert found.train.tolist()[2:] == [[4, 4]]  # ann's word
    assert found.reviewed.pairs.tolist() == [[3, 3]] and found.reviewed.log_odds == pytest.approx([math.log(3)])
    assert 3 in found.test[:, 0]


def test_what_is_known(eight):
    assert known_targets(eight) == {"s2": {"t2"}}
    assert known_targets(eight.replace(valid=np.array([[2, 2], [2, 3]]))) == {"s2": {"t2", "t3"}}


# A training


@pytest.fixture(scope="module")
def trained(fitted_best):
    return copy(fitted_best)


@pytest.fixture(scope="module")
def decided(trained):
    """Of the example: two whose first candidate is wrong are set right, what one is mapped to is rejected."""
    answers, task = trained.answers_, trained.task_
    truth = dict(task.test.tolist())
    first = dict(zip(answers.source_index.tolist(), answers.ranked.target[:, 0].tolist(), strict=True))
    wrong = [(s, t) for s, t in truth.items() if first.get(s, t) != t][:2]
    refused = next(s for s, t in truth.items() if first.get(s) == t)
    ids = [task.source.ids, task.target.ids]
    rows = [decision(f"a{s}", "accept", ids[0][s], ids[1][t], id=s + 1) for s, t in wrong]
    rows += [decision("r", "reject", ids[0][refused], ids[1][first[refused]], id=5000)]
    return rows, wrong, (refused, first[refused])


@pytest.fixture(scope="module")
def again(trained, decided):
    said = []
    return retrain(trained, decided[0], said.append), said


def test_it_is_trained_again_with_what_was_decided(trained, decided, again):
    aligner, said = again
    _, accepted, (source, target) = decided
    links = {tuple(pair) for pair in aligner.task_.train.tolist()}
    assert len(accepted) == 2 and links == {tuple(pair) for pair in trained.task_.train.tolist()} | {*accepted}
    assert not {s for s, _ in accepted} & {*aligner.answers_.source_index.tolist()}
    assert not {s for s, _ in accepted} & {*aligner.task_.test[:, 0].tolist()}
    assert aligner.task_.rejected.tolist() == [[source, target]]
    row = aligner.answers_.ranked.target[aligner.answers_.source_index == source]
    assert len(row) == 1 and target not in row
    assert 0 < aligner.n_epochs_ == said[-1]["epoch"] <= aligner.config.max_epochs == said[-1]["of"]
    assert any("round" in one for one in said)


def test_it_is_as_good_as_before(trained, again):
    assert again[0].score()["hits@1"] >= trained.score()["hits@1"] - 0.02


def test_who_is_not_reliable_votes(doubtful):
    task = doubtful.task_
    known = [str(task.source.ids[source]) for source in task.valid[:, 0]]
    wrong = [decision(f"k{i}", "accept", id_, "nothing", reason="known") for i, id_ in enumerate(known)]
    source, target = task.test[0].tolist()
    found = retrain(doubtful, numbered(*wrong, decision("a", "accept", f"s{source}", f"t{target}")))
    assert found.config == doubtful.config.replace(**doubtful.config.warm())
    assert found.config_.voters == (*doubtful.config_.voters, "reviewer")
    assert found.task_.reviewed.pairs.tolist() == [[source, target]] and found.task_.reviewed.log_odds.tolist() == [0]


@pytest.mark.parametrize(
    ("settings", "epochs"),
    [
        (dict(max_epochs=30, votes_every=6), 6),
        (dict(max_epochs=4, votes_every=6), 4),
        (dict(max_epochs=31, stop_when_settled=False), 11),
        (dict(max_epochs=0), 0),
    ],
)
def test_it_takes_fewer_epochs_than_the_first_time(eight, settings, epochs, monkeypatch):
    monkeypatch.setattr(MixTEA, "fit", lambda self, task, **about: self)
    config = Config.preset("best", device="cuda", **settings)  # of another machine
    old = SimpleNamespace(
        task_=eight, config=config, preset="long", vectors_=torch.zeros(1), applies_learned=False
    )  # fmt: skip
    new = retrain(old, [])
    assert (new.config.max_epochs, new.config.ramp_up_epochs) == (epochs, 0) and new.config.voters == config.voters
    assert (new.config.device, new.preset) == ("cpu", "long")


@pytest.mark.parametrize("applies", [False, True])
def test_it_applies_what_another_task_has_taught_if_the_run_does(eight, applies, monkeypatch):
    given = {}
    monkeypatch.setattr(MixTEA, "fit", lambda self, task, **about: given.update(about) or self)
    config = Config.preset("best", device="cpu")
    how = dict(task_=eight, config=config, preset="best", vectors_=torch.zeros(1), applies_learned=applies)
    retrain(old := SimpleNamespace(**how), [])
    assert given["warm_start"] is old and given["learned"] is (old if applies else None)


def test_synonyms_are_kept(eight):
    found = reviewed_task(eight.replace(synonyms=(("fe", "iron"),)), numbered(decision("a", "reject", "s4", "t2")))
    assert found.synonyms == (("fe", "iron"),) and len(found.rejected) == 1


def test_as_a_process_it_writes_the_run_and_says_how_it_goes(copied, doubtful_task, tmp_path):
    source, target = doubtful_task.test[0].tolist()
    with closing(DecisionStore(decisions_path(copied))) as store:
        store.add([decision("a", "accept", f"s{source}", f"t{target}"), decision("b", "reject", "s1", "t1")])
        store.undo("ann", "x")
    out = shutil.copytree(copied, tmp_path / "out")  # of which it takes the place
    done = run_process(
        [sys.executable, "-m", "mixtea.cli.review_worker", copied, decisions_path(copied), out], forked=True
    )
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["doing"] for one in told if "doing" in one] == ["reading the run", "training", "writing"]
    assert [one["epoch"] for one in told if "epoch" in one] == [1] and told[-1] == {"done": True, "last_id": 3}
    found = StoredRun(out)
    assert found.task_.train.tolist()[-1] == [source, target] and len(found.task_.rejected) == 0
    assert source not in Model(out).sources and MAPPED in set(found.answers_.mapping().frame["decision"])
    assert StoredRun(copied).task_.train.tolist() == doubtful_task.train.tolist()


def test_as_a_process_it_says_in_one_line_what_is_wrong(tmp_path):
    done = run_process(
        [sys.executable, "-m", "mixtea.cli.review_worker", tmp_path / "no", tmp_path / "d.sqlite", tmp_path / "o"],
        forked=True,
    )
    assert done.returncode == 2 and "no such run folder" in done.stderr and "Traceback" not in done.stderr
