"""What is to be run, for which tables, on which files."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from mixtea import ConfigError, DataError
from mixtea.config import STRUCTURE_VOTERS
from mixtea.example import FOLDER as WORLD
from mixtea.experiments.reproduce import published
from mixtea.experiments.reproduce.plan import EXPERIMENTS, find_folds, find_tasks, fingerprint, make_plan
from mixtea.experiments.reproduce.runner import with_share


def plan(data=WORLD, tasks=(), folds=(1,), only=(), presets=(), settings=None):
    return make_plan(data, tasks, folds, only, presets, settings or {})


def test_a_training_that_several_tables_need_is_planned_once():
    """main: paper and best; ablation, layers and momentum share the complete paper run with it."""
    assert len(plan(only=("main",)).jobs()) == 2
    assert len(plan(only=("main", "ablation", "layers", "momentum")).jobs()) == 2 + 5 + 3 + 3
    assert len(plan(only=("main", "strategies", "ablation")).jobs()) == 2 + 3 + 5
    assert len(plan(only=("main",), folds=()).jobs()) == 2 * 5
    assert plan(only=("data",)).jobs() == []


def test_settings_change_every_run_and_its_key():
    usual, changed = (plan(only=("main",), settings=s).jobs() for s in ({}, {"max_epochs": 3}))
    assert all(dict(job.settings)["max_epochs"] == 3 for job in changed)
    assert not {job.key for job in usual} & {job.key for job in changed}
    assert [job.key for job in usual] == [job.key for job in plan(only=("main",)).jobs()]
    same = plan(only=("main",), presets=("paper",), settings={"n_layers": 2}).jobs()  # what the preset has anyway
    assert same[0].key == usual[0].key


def test_other_files_are_other_runs(tmp_path):
    shutil.copytree(WORLD, tmp_path / "world")
    assert fingerprint(tmp_path / "world") == fingerprint(WORLD)
    with (tmp_path / "world/rel_triples_1").open("a") as file:
        file.write("a\tb\tc\n")
    assert fingerprint(tmp_path / "world") != fingerprint(WORLD)


def test_results_in_the_task_folder_are_not_taken_for_its_files(tmp_path):
    shutil.copytree(WORLD, tmp_path / "world")
    before = fingerprint(tmp_path / "world")
    (tmp_path / "world/results").mkdir()
    (tmp_path / "world/results/rows.jsonl").write_text("{}")
    (tmp_path / "world/README").write_text("more words")
    assert fingerprint(tmp_path / "world") == before


def test_a_task_with_an_empty_folder_of_folds_is_named(tmp_path):
    shutil.copytree(WORLD, tmp_path / "world", ignore=shutil.ignore_patterns("721_5fold"))
    (tmp_path / "world/721_5fold").mkdir()
    with pytest.raises(DataError, match="no fold in it"):
        plan(tmp_path, folds=())


def test_rows_that_a_preset_cannot_do_are_left_out():
    labels = [row.label for row in plan(only=("strategies",), presets=("best",)).rows["strategies"]]
    assert labels == ["links alone", "mixture teaching"]


def test_without_backward_a_preset_keeps_its_other_voters():
    for preset, voters in (("paper", ("forward",)), ("best", ("forward", "propagation", "agreement"))):
        rows = plan(only=("ablation",), presets=(preset,)).rows["ablation"]
        assert [row.settings["voters"] for row in rows if "BDV" in row.label] == [voters, voters]


def test_only_voters_of_structure_are_compared():
    """Names and values of the files would decide what the tables are about."""
    best = plan(only=("main", "seeds"), presets=("best",))
    assert {dict(job.settings)["voters"] for job in best.jobs()} == {STRUCTURE_VOTERS}
    assert all("voters" not in dict(job.settings) for job in plan(only=("main",), presets=("paper",)).jobs())
    named = plan(only=("main",), presets=("best",), settings={"voters": ("forward", "names")}).rows["main"][0]
    assert named.settings["voters"] == ("forward", "names") and "voters" not in named.own


@pytest.mark.parametrize(
    "wrong, message",
    [
        (dict(only=("tables",)), "no part 'tables'. Choose among data, main, ablation"),
        (dict(tasks=("EN_FR_15K_V1",)), "no task EN_FR_15K_V1. It holds world"),
        (dict(folds=(9,)), "no fold 9. Choose among 1, 2, 3, 4, 5"),
        (dict(presets=("bset",)), "preset 'bset' is unknown"),
        (dict(settings={"device": "cpu"}), "Name the device by --device"),
        (dict(settings={"epochs": 3}), "no setting 'epochs'"),
        (dict(only=("layers",), settings={"n_layers": 3}), "varies n_layers itself"),
    ],
)
def test_a_wrong_wish_is_named(wrong, message):
    with pytest.raises((ConfigError, DataError), match=message):
        plan(**wrong)


def test_tasks_are_found_the_papers_first(tmp_path):
    for name in ("aaa", "D_W_15K_V1", "EN_FR_15K_V1"):
        shutil.copytree(WORLD, tmp_path / name)
    (tmp_path / "notes").mkdir()
    assert list(find_tasks(tmp_path, ())) == ["EN_FR_15K_V1", "D_W_15K_V1", "aaa"]
    assert list(find_tasks(tmp_path, ("aaa",))) == ["aaa"] and list(find_tasks(WORLD, ())) == ["world"]
    with pytest.raises(DataError, match="holds no benchmark folder"):
        find_tasks(tmp_path / "notes", ())
    with pytest.raises(DataError, match="no such folder"):
        find_tasks(tmp_path / "none", ())
    shutil.rmtree(tmp_path / "aaa/721_5fold")
    assert find_folds(tmp_path / "aaa", (1,)) == [None]


@pytest.mark.parametrize("share", EXPERIMENTS["seeds"].shares)
def test_every_share_of_seeds_is_scored_on_the_same_links(example, share):
    n = len(example.train) + len(example.valid) + len(example.test)
    few = with_share(example, share)
    assert len(few.train) == round(share * n) and len(few.valid) <= len(few.train) / 2
    assert np.array_equal(few.test, example.test[round(0.1 * n) :])
    parts = [set(map(tuple, links.tolist())) for links in (few.train, few.valid, few.test)]
    assert sum(map(len, parts)) == len(set.union(*parts))


def test_a_share_that_is_not_there_is_refused(example):
    assert with_share(example, None) is example
    with pytest.raises(DataError, match="90% of its 976 links"):
        with_share(example, 0.9)


def test_published_figures_are_the_papers():
    """Spot checks, and what the paper says of its table: MixTEA has the best Hit@1 everywhere."""
    assert published.MAIN["MixTEA"]["D_W_15K_V1"] == (0.647, 0.832, 0.731)
    assert published.MAIN["IMEA"]["D_Y_15K_V1"] == (0.639, 0.804, 0.712)
    assert set(published.MAIN["RANM"]) == {"EN_FR_15K_V1", "EN_DE_15K_V1"}
    assert published.ABLATION["without L_u"]["D_Y_15K_V1"] == (0.541, 0.684, 0.605)
    for task in published.TASKS:
        best = published.MAIN["MixTEA"][task]
        rows = (*published.MAIN.values(), *published.ABLATION.values())
        assert all(by_task[task][0] <= best[0] for by_task in rows if task in by_task)
        assert all(hit1 <= mrr <= hit5 for by_task in rows if task in by_task for hit1, hit5, mrr in [by_task[task]])
    methods = {word.split(" on ")[0] for of in published.SOURCES.values() for word in of}
    assert methods | {"MixTEA"} == set(published.MAIN)
