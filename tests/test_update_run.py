"""A run again for tables that have changed a little: untouched rows stay, others are matched, the old run is kept."""

from __future__ import annotations

import json
import shutil
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from conftest import SMALL_BEST, write

from mixtea import ConfigError, MixTEA, RunError, load_task, train
from mixtea.callbacks import History
from mixtea.graph.task import Reviewed
from mixtea.review.decision import Decision
from mixtea.review.decisions import DecisionStore, decisions_path
from mixtea.runs.folder import earlier_runs
from mixtea.runs.reader import StoredRun
from mixtea.update_run import update

SIDES = ("North", "South", "Old", "Upper", "Lower", "East", "West", "New")
KINDS = ("Harbour", "Mill", "Bridge", "Castle", "Market")
NAMES = [f"{side} {kind}" for side in SIDES for kind in KINDS]
SOURCES = {f"s{i}": {"name": name, "people": str(1000 + 37 * i)} for i, name in enumerate(NAMES)}
TARGETS = {f"t{i}": {"label": name, "residents": str(1000 + 37 * i)} for i, name in enumerate(NAMES)}
OLD = ({id: SOURCES[id] for id in SOURCES if id not in ("s7", "s30")}, TARGETS)
QUICK = dict(max_epochs=0, propagation_rounds=1, device="cpu")


def task_of(source, target, **more):
    rows = [[{"id": id, **fields} for id, fields in side.items()] for side in (source, target)]
    return load_task(source=rows[0], target=rows[1], **({"links_from": "names"} | more))


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    run = tmp_path_factory.mktemp("update") / "run"
    train(task_of(*OLD), run, callbacks=History(), **QUICK)
    return run


@pytest.fixture
def run(first, tmp_path):
    return shutil.copytree(first, tmp_path / "run")


def decided(run):
    return StoredRun(run).answers_.mapping().frame.set_index("source")[["target", "probability", "decision"]]


def less(rows, *ids, **changed):
    return {id: rows[id] | changed.get(id, {}) for id in rows if id not in ids}


def test_untouched_rows_stay_and_new_changed_and_gone_ones_are_matched(run, first):
    source = less(OLD[0], "s2", s4={"people": "1148.0"}) | {"s30": SOURCES["s30"]}
    target = less(TARGETS, "t12") | {"t99": {"label": "Wide Ferry", "residents": "99"}}
    history, before = History(), decided(first)
    new = update(task_of(source, target), run, callbacks=history)
    after = decided(run)
    assert after.loc["s30", "target"] == "t30" and after.loc["s4", "target"] == "t4"
    assert after.loc["s12", "decision"] == "no counterpart" and "s2" not in after.index
    others = after.drop(["s30", "s4", "s12"])
    assert others.equals(before.loc[others.index])
    said = " ".join(history.notices)
    assert "sources: 2 new or changed, 1 gone; targets: 1 new or changed, 1 gone; matched anew: 3;" in said
    changed = pd.read_csv(run / "changes.tsv", sep="\t", dtype=str, keep_default_na=False)
    assert changed[["change", "source", "target_before", "target", "why"]].to_numpy().tolist() == [
        ["new", "s30", "", "t30", "new source"], ["gone", "s12", "t12", "", "target gone"],
        ["gone", "s2", "t2", "", "source gone"],
    ]  # fmt: skip
    assert [decided(old).equals(before) for old in earlier_runs(run)] == [True]
    about = json.loads((run / "run.json").read_text())
    assert about["matched_since_training"] == 2 and about["parent"] == json.loads(
        (first / "run.json").read_text()
    )["sha256"]  # fmt: skip
    assert new.map().frame["target"].tolist() == MixTEA.load(run).map().frame["target"].tolist()
    assert MixTEA.load(run).explain("s30", "t30")["voter"].tolist() == ["names", "attributes"]
    assert new.predict(25).target_index.shape[1] == 25  # computed anew from the opinions


def test_an_unmapped_source_gets_a_new_target_and_one_that_was_freed(tmp_path):
    run, history = tmp_path / "run", History()
    twins = OLD[0] | {"twin": SOURCES["s5"] | {"people": "1185.00"}}
    train(task_of(twins, less(TARGETS, "t9")), run, callbacks=history, **QUICK)
    before = decided(run)
    assert before.loc["s9", "decision"] == "no counterpart" and before.loc[["s5", "twin"], "target"].isna().any()
    lost = "twin" if before.loc["twin", "target"] != "t5" else "s5"
    winner = "s5" if lost == "twin" else "twin"
    update(task_of(less(twins, winner), TARGETS), run, callbacks=history)
    after = decided(run)
    assert after.loc["s9", "target"] == "t9" and after.loc["s9", "probability"] > 0.9
    assert after.loc[lost, "target"] in ("t5", None)
    kept = after.index.difference(["s9", lost])
    assert after.loc[kept].equals(before.loc[kept])


def test_again_and_again_and_then_nothing(run):
    for number in range(3):
        update(task_of(less(OLD[0], f"s{number}"), TARGETS), run, keep_earlier=2, callbacks=History())
    assert [path.name for path in earlier_runs(run)] == ["0002", "0003"]
    assert [len(StoredRun(path).answers_.mapping().frame) for path in (*earlier_runs(run), run)] == [37, 37, 37]
    before, history = (run / "run.json").read_bytes(), History()
    update(lambda: task_of(less(OLD[0], "s2"), TARGETS), run, callbacks=history)
    assert (run / "run.json").read_bytes() == before and "nothing has changed" in history.notices[-1]


WHY = {
    "too many": (dict(source=less(OLD[0], *list(OLD[0])[:5])), {}, "13% of the sources are new, changed or gone"),
    "relations": (dict(source=less(OLD[0], s0={"in": "s1"})), {}, "relations connect the entities"),
    "links": (dict(links=[("s0", "t0"), ("s1", "t1"), ("s3", "t3")], links_from="given"), {}, "the links, or"),
    "settings": ({}, {"seed": 2}, "other settings are asked for: trained again"),
}  # fmt: skip


@pytest.mark.parametrize("reason", WHY)
def test_else_it_is_trained_again_and_says_why(reason, run):
    changed, settings, said = WHY[reason]
    history = History()
    source, target = changed.pop("source", OLD[0]), changed.pop("target", TARGETS)
    new = update(task_of(source, target, **changed), run, callbacks=history, **settings)
    assert said in history.notices[0] and ("beginning with" in history.notices[0]) == (reason != "settings")
    assert new.config.seed == settings.get("seed", 1) and new._matched_since == 0
    assert len(earlier_runs(run)) == 1 and len(StoredRun(run).answers_.mapping(with_given=True).frame) == len(source)


def test_a_run_that_has_changed_much_since_it_was_trained_is_trained_again(run):
    about = json.loads((run / "run.json").read_text())
    aligner = MixTEA.load(run)
    aligner._matched_since = 12
    aligner.save(run, overwrite=True)
    history = History()
    update(task_of(less(OLD[0], s3={"people": "1"}), TARGETS), run, callbacks=history)
    assert history.notices[0].startswith("34% of the sources came after the last training: trained again")
    assert "matched_since_training" not in json.loads((run / "run.json").read_text()) and about["n_epochs"] == 0


def test_decisions_of_reviewers_hold(run, first):
    """A rejected pair is no longer mapped, by a training; then an update keeps to it."""
    with closing(DecisionStore(decisions_path(run))) as store:
        store.add([Decision("1", "ana", "reject", "s5", "t5")])
    history = History()
    update(task_of(*OLD), run, callbacks=history)
    assert "decisions about pairs, are others" in history.notices[0] and decided(run).loc["s5", "target"] != "t5"
    changed = less(OLD[0], s5={"people": "1185.0"})
    update(task_of(changed, TARGETS), run, callbacks=history)
    assert decided(run).loc["s5", "target"] != "t5" and decisions_path(run).exists()
    decisions_path(run).unlink()  # the run itself knows it
    update(task_of(less(changed, "s6"), TARGETS), run, callbacks=history)
    assert decided(run).loc["s5", "target"] != "t5" and len(earlier_runs(run)) == 3
    assert MixTEA.load(run).task_.rejected.tolist() == [[5, 5]]


def test_opinions_of_people_are_carried_along(run):
    old = MixTEA.load(run)
    said = Reviewed(np.array([[3, 3]]), np.array([2.0]))
    train(old.task_.replace(reviewed=said), run, overwrite=True, callbacks=History(), **QUICK)
    update(task_of(less(OLD[0], "s0"), TARGETS), run, callbacks=History())
    found = MixTEA.load(run).task_.reviewed
    assert found.pairs.tolist() == [[2, 3]] and found.log_odds.tolist() == [2.0]


def test_given_links_and_a_training_that_came_between(tmp_path, monkeypatch):
    run, links = tmp_path / "run", [(f"s{i}", f"t{i}") for i in range(6)]
    train(task_of(*OLD, links_from="given", links=links), run, callbacks=History(), **QUICK)
    update(task_of(less(OLD[0], "s9"), TARGETS, links_from="given", links=links), run, callbacks=(history := History()))
    assert any("matched anew" in line for line in history.notices)
    frame = StoredRun(run).answers_.mapping(with_given=True).frame
    assert frame["given"].sum() == 6 and (frame["target"].str[1:] == frame["source"].str[1:]).all()

    def other_task():
        (run / "run.json").write_bytes((run / "history" / "0001" / "run.json").read_bytes())
        return task_of(less(OLD[0], "s9", "s10"), TARGETS, links_from="given", links=links)

    with pytest.raises(RunError, match="replaced by another process meanwhile"):
        update(other_task, run, callbacks=History())


def test_several_processes_train_it_again(run, monkeypatch):
    asked = {}
    monkeypatch.setattr("mixtea.update_run.n_processes", lambda: 2)
    monkeypatch.setattr("mixtea.update_run.train", lambda task, out, **how: asked.update(how, out=out))
    update(task_of(less(OLD[0], "s0"), TARGETS), run, callbacks=(history := History()))
    assert history.notices == ["several processes are at work: trained again, beginning with what the run has found"]
    assert asked["out"] == asked["warm_start"] == run and asked["overwrite"] and asked["keep_earlier"] == 3


def test_wrong_calls(run, tmp_path):
    with pytest.raises(RunError, match="no such run folder"):
        update(task_of(*OLD), tmp_path / "nowhere")
    for keep in (-1, "3", True):
        with pytest.raises(ConfigError, match="keep_earlier is a whole number"):
            update(task_of(*OLD), run, keep_earlier=keep)


def test_on_the_command_line(tmp_path, mixtea):
    def table(rows, *columns):
        lines = [",".join(("id", *columns)), *(",".join((id, *fields.values())) for id, fields in rows.items())]
        return "\n".join(lines) + "\n"

    write(tmp_path, {"a.csv": table(OLD[0], "name", "people"), "b.csv": table(TARGETS, "label", "residents")})
    own = ("--source", tmp_path / "a.csv", "--target", tmp_path / "b.csv", "--links-from", "names")
    short = [f"--set={name}={value}" for name, value in (SMALL_BEST | QUICK).items()]
    run = tmp_path / "run"
    assert mixtea("fit", *own, "--out", run, *short)[0] == 0
    write(tmp_path, {"a.csv": table(less(OLD[0], "s3"), "name", "people")})
    code, _, err = mixtea("fit", "--update", run, *own, "--keep", "1")
    assert code == 0 and "stay as they were" in err and len(earlier_runs(run)) == 1
    code, _, err = mixtea("fit", "--update", run, *own, "--preset", "long", "--quick")
    assert code == 0 and "other settings are asked for: trained again\n" in err and len(earlier_runs(run)) == 2
    for words, message in (
        (("--update", run, "--out", run, *own), "--out: --update writes its run"),
        (("--update", run), "--update: name the files as they are now"),
        (own, "Name the run folder to write: --out RUN, or --update RUN"),
        (("--out", run, "--keep", "2", *own), "--keep: earlier runs are kept by --update"),
    ):
        code, _, err = mixtea("fit", *words)
        assert code == 2 and message in err
