"""Tables have no relation triples: structure is left out, nothing is trained, and all else goes as it does."""

from __future__ import annotations

import json

import pytest
import torch
from conftest import SMALL_BEST, write

from mixtea import Config, ConfigError, DataError, MixTEA, load_task, train
from mixtea.callbacks import History
from mixtea.config import PRESETS
from mixtea.council.adapt import has_structure, without_structure
from mixtea.evaluation.estimate import estimate
from mixtea.review.decision import Decision
from mixtea.review.learning import retrain

NAMES = ("Blue Lantern", "Copper Kettle", "Old Harbour", "Silver Fox", "Golden Lion", "Green Dragon")
SOURCE = "id,name,city\n" + "".join(f"s{row},{name},city {row}\n" for row, name in enumerate(NAMES))
TARGET = "id,title,town\n" + "".join(f"t{row},{name},city {row}\n" for row, name in enumerate(NAMES[:5]))
LINKS = "".join(f"s{row}\tt{row}\n" for row in range(3))
FILES = {"s.csv": SOURCE, "t.csv": TARGET, "l.tsv": LINKS, "v.tsv": "s3\tt3\n", "test.tsv": "s4\tt4\n"}


@pytest.fixture
def tables(tmp_path):
    """Two tables, the options of the command that reads them, and the task."""
    write(tmp_path, FILES)
    own = dict(source=tmp_path / "s.csv", target=tmp_path / "t.csv")
    return load_task(**own, links_from="names"), [f"--{side}={path}" for side, path in own.items()]


@pytest.fixture
def linked(tables, tmp_path):
    paths = dict(links=tmp_path / "l.tsv", valid_links=tmp_path / "v.tsv", test_links=tmp_path / "test.tsv")
    return load_task(source=tmp_path / "s.csv", target=tmp_path / "t.csv", **paths)


def test_voters_of_structure_are_left_out(tables, tiny):
    task, config = tables[0], Config.preset("best", decode_voters=("names", "forward"))
    assert not has_structure(task) and has_structure(tiny) and without_structure(tiny, config) == {}
    assert without_structure(task, config) == {
        "voters": ("names", "attributes", "descriptions"),
        "decode_voters": ("names",),
        "max_epochs": 0,
    }


@pytest.mark.parametrize("settings", [PRESETS["paper"], {"decode_voters": ("forward", "backward")}])
def test_structure_alone_is_refused(tables, settings):
    preset = {} if settings else {"preset": "paper"}
    with pytest.raises(ConfigError, match=r"the source and target graph has no relation triple, and forward, backward"):
        MixTEA(**preset, **settings).fit(tables[0])


def test_tables_with_nothing_to_compare_are_refused(linked, tmp_path):
    with pytest.raises(DataError, match=r"no relation triple, and nothing that .* \(voters without evidence: descr"):
        MixTEA(voters=("propagation", "descriptions")).fit(linked)


def test_nothing_is_trained_and_all_else_works(linked, tmp_path):
    aligner = MixTEA(**SMALL_BEST, pseudo_weight=0.0).fit(linked)
    assert (aligner.n_epochs_, len(aligner.history_), aligner.config.max_epochs) == (0, 0, 2)
    assert aligner.score()["hits@1"] == 1.0
    found = aligner.map(best_f1=True).pairs()
    assert ("s4", "t4") in set(zip(found["source"], found["target"], strict=True))
    aligner.save(tmp_path / "run")
    again = MixTEA.load(tmp_path / "run")
    assert (
        again.config_.voters == ("names", "attributes", "descriptions")
        and again.answers_.voter_names == again.config_.voters
    )
    assert again.predict(k=1, voters="names,forward").to_frame().equals(aligner.predict(k=1, voters="names").to_frame())
    with pytest.raises(ConfigError, match="needs voters that answer without training"):
        again.predict(voters="forward")
    assert torch.isfinite(again.vectors_).all()


def test_the_command_says_so_in_one_line(tables, tmp_path, mixtea, drawn):
    out = tmp_path / "run"
    small = [word for name, value in SMALL_BEST.items() for word in ("--set", f"{name}={value}")]
    command = ("fit", *tables[1], "--links-from", "names", *small, "--out", out, "--tensorboard", tmp_path / "board")
    code, _, said = mixtea(*command)
    assert code == 0 and said.count("no relation triple") == 1 and "epoch" not in said.replace("max_epochs", "")
    assert "structure has nothing to learn from; names and attributes decide\n" in said
    assert sum("warning" in line.lower() for line in said.splitlines()) <= 3
    assert json.loads((out / "history.json").read_text()) == [] and (out / "report.html").stat().st_size > 10_000
    assert mixtea("fit", "--resume", "--out", out)[0] == 0
    code, scores, _ = mixtea("score", out, "--links", write(tmp_path, {"all.tsv": LINKS}) / "all.tsv", "--json")
    assert code == 0 and json.loads(scores)["hits@1"] == 1.0
    code, _, said = mixtea(*command, "--voters", "forward,propagation", "--overwrite")
    assert code == 2 and "forward, propagation learn from nothing else" in said


def test_a_run_of_tables_learns_from_decisions(tables):
    first = MixTEA(**SMALL_BEST).fit(tables[0])
    new = retrain(first, [Decision("1", "ada", "reject", "s5", "t4"), Decision("2", "ada", "accept", "s4", "t4")])
    assert new.n_epochs_ == 0 and len(new.task_.rejected) == 1
    mapped = new.map().pairs()
    assert ("s4", "t4") in set(zip(mapped["source"], mapped["target"], strict=True))


def test_no_epoch_is_expected(tables):
    found = estimate(tables[0], Config.preset("best"), torch.device("cpu"), 1e9)
    assert found.epochs == 0 and found.seconds == found.seconds_beside


def test_callbacks_receive_what_is_waited_for(tables, tmp_path):
    history = History()
    train(lambda: tables[0], tmp_path / "run", callbacks=history, **SMALL_BEST)
    assert {"names: candidates", "attributes: comparing", "writing the report"} <= set(history.steps)
    assert history.steps[-1] == "writing the run folder"
