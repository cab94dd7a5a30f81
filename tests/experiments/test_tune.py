"""The search for settings, called as a user does: it ends with a command that works, and goes on whatever happens."""

from __future__ import annotations

import csv
import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import LINKS, SMALL_BEST, SOURCE, TARGET, rings_files, write
from processes import start, wait_until_halted
from safetensors.numpy import save_file

from mixtea import Config, ConfigError, DataError
from mixtea.experiments.tune import PAPER_RANGES, Range, Study, Trial, parse_ranges
from mixtea.graph.fingerprint import checksum
from mixtea.runs.folder import read_run

SHORT = ("--preset", "paper", "--device", "cpu", "--set", "max_epochs=6", "--set", "validate_every=2")
WIDTHS = ("--range", "entity_dim=8,16")
RATES = ("--range", "entity_dim=8..32", "--range", "learning_rate=0.001..0.05")


@pytest.fixture
def tune(mixtea, tmp_path, rings_folder):
    """Search on the rings, in the folder `name`: (exit code, standard output, standard error)."""

    def call(name, n_trials, *args, task=rings_folder):
        return mixtea("tune", task, "--out", tmp_path / name, "--trials", n_trials, *SHORT, *args)

    return call


def rows(folder):
    with (folder / "trials.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def timeless(folder):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in rows(folder)]


def best_value(run):
    history = json.loads((run / "history.json").read_text())
    return max(record["valid_hits@1"] for record in history if "valid_hits@1" in record)


def test_the_last_line_trains_the_best_trial(tune, mixtea, tmp_path, rings_folder):
    code, out, err = tune("my search", 4, *RATES, "--fold", "2", "--seed", "3")
    assert code == 0 and "trial 4 of 4: entity_dim=" in err and "s left" in err and "Traceback" not in err
    folder, command = tmp_path / "my search", shlex.split(out.splitlines()[-1])
    wanted = ["--fold", "2", "--preset", "paper", "--config", f"{folder}/best.toml", "--out", f"{folder}/best"]
    assert command == ["mixtea", "fit", str(rings_folder), *wanted, "--device", "cpu"]
    assert mixtea(*command[1:])[0] == 0
    values = [float(row["value"]) for row in rows(folder)]
    assert best_value(folder / "best") == max(values) > 0
    config = json.loads((folder / "best" / "config.json").read_text())
    best = rows(folder)[values.index(max(values))]
    assert config["max_epochs"] == 6 and config["seed"] == 3 == int(best["seed"]) and best["state"] == "complete"
    assert all(str(config[name]) == best[name] for name in ("entity_dim", "learning_rate"))
    code, out, err = tune("my search", 4, *RATES, "--fold", "2", "--seed", "3")
    assert code == 0 and "trial 1" not in err and "The best of 4 trials" in out
    assert mixtea(*shlex.split(out.splitlines()[-1])[1:])[0] == 0  # now with --overwrite


def test_own_graphs_are_searched_and_trained_on_with_the_same_split(tmp_path, mixtea):
    write(tmp_path, {"a b.tsv": SOURCE, "b.tsv": TARGET, "l.tsv": LINKS})
    own = ("--source", tmp_path / "a b.tsv", "--target", tmp_path / "b.tsv", "--links", tmp_path / "l.tsv")
    code, out, _ = mixtea("tune", *own, "--out", tmp_path / "t", "--trials", "2", *SHORT, *WIDTHS, "--seed", "7")
    command = shlex.split(out.splitlines()[-1])
    assert code == 0 and command[:4] == ["mixtea", "fit", "--source", str(tmp_path / "a b.tsv")]
    assert mixtea(*command[1:])[0] == 0
    assert best_value(tmp_path / "t" / "best") == max(float(row["value"]) for row in rows(tmp_path / "t"))


def test_the_task_that_is_tuned_is_the_one_that_is_trained(tune, mixtea, tmp_path):
    """Names, translations, words, vectors and voters are options of both."""
    folder = write(tmp_path / "f", rings_files() | {"attr_triples_1": "s1\tsize\t3\n"})
    write(tmp_path, {"n.tsv": "s0\tZero\n", "m.tsv": "t0\tzero\n", "tr.tsv": "s1\tOne\n", "d.tsv": "zero\tnull\n"})
    ids = json.dumps([f"x{i}" for i in range(3)])
    for side, name in (("source", "s"), ("target", "t")):
        save_file(
            {"vectors": np.eye(3, dtype=np.float32)}, tmp_path / f"{side}.safetensors", {"ids": ids.replace("x", name)}
        )
    data = ["--names-source", tmp_path / "n.tsv", "--names-target", tmp_path / "m.tsv", "--no-attributes"]
    data += ["--translations", tmp_path / "tr.tsv", "--dictionary", tmp_path / "d.tsv"]
    data += [w for side in ("source", "target") for w in (f"--vectors-{side}", tmp_path / f"{side}.safetensors")]
    small = [word for name, value in SMALL_BEST.items() for word in ("--set", f"{name}={value}") if name != "device"]
    voters = ("--voters", "forward,backward,names", "--preset", "best", "--set", "validate_every=1")
    out = tmp_path / "t"
    words = (folder, "--out", out, "--trials", "1", *data, *small, *voters, "--range", "margin=1,2", "--device", "cpu")
    code, said, err = mixtea("tune", *words)
    assert code == 0, err
    assert mixtea(*shlex.split(said.splitlines()[-1])[1:])[0] == 0
    run = read_run(out / "best")
    assert run.config.voters == ("forward", "backward", "names") and not run.task.source.n_attribute_triples
    assert run.task.source.labels.text.tolist() == ["Zero", "null", "One"] and run.task.target.vectors.shape == (30, 3)
    assert json.loads((out / "tune.json").read_text())["checksum"] == checksum(run.task)
    code, _, err = mixtea("tune", *words, "--links-from", "names")
    assert code == 2 and "no validation links, by which settings are compared" in err


def test_more_trials_add_only_what_is_missing_and_the_same_as_at_once(tune, tmp_path):
    assert tune("parts", 2, *RATES)[0] == 0
    before = rows(tmp_path / "parts")
    code, _, err = tune("parts", 5, *RATES)
    assert code == 0 and "2 trials are there, 5 wanted" in err and "trial 2 of" not in err and "trial 3 of 5" in err
    assert rows(tmp_path / "parts")[:2] == before and len(rows(tmp_path / "parts")) == 5
    assert tune("whole", 5, *RATES)[0] == 0
    assert timeless(tmp_path / "parts") == timeless(tmp_path / "whole")
    assert len({row["learning_rate"] for row in rows(tmp_path / "whole")}) == 5


STOPS = """
import os, signal
from mixtea.cli import main
from mixtea.cli.experiments import TuneProgress
def stop(self, record):
    if len(self.study.trials) == 1 and record["epoch"] == 3:
        os.kill(os.getpid(), signal.SIGSTOP)
TuneProgress.on_epoch = stop
main()
"""


def test_a_killed_search_goes_on(tmp_path, tune, mixtea, rings_folder):
    """A real process halts in its second trial; a second search beside it is refused; then it is killed."""
    words = ["tune", rings_folder, "--out", tmp_path / "t", "--trials", "3", *SHORT, *RATES]
    process = start([sys.executable, "-c", STOPS, *words], forked=True, stderr=subprocess.DEVNULL)
    wait_until_halted(process)
    code, _, err = mixtea(*words)
    assert code == 2 and "another mixtea is at work there" in err
    process.kill()
    assert process.wait() == -signal.SIGKILL and len(rows(tmp_path / "t")) == 1
    (tmp_path / "t" / ".tune.json.tmp-1").write_text('{"format": 1, "tas')  # as if killed while writing
    code, out, err = mixtea(*words)
    assert code == 0 and "1 trials are there" in err and "trial 2 of 3" in err and "The best of 3 trials" in out
    assert tune("whole", 3, *RATES)[0] == 0
    assert timeless(tmp_path / "t") == timeless(tmp_path / "whole")


def test_test_links_change_nothing(tune, tmp_path):
    other = write(tmp_path / "other" / "rings", rings_files())
    links = (other / "721_5fold/1/test_links").read_text(encoding="utf-8").splitlines()
    left, right = zip(*(line.split("\t") for line in links), strict=True)
    turned = "".join(f"{s}\t{t}\n" for s, t in zip(left, right[1:] + right[:1], strict=True))
    (other / "721_5fold/1/test_links").write_text(turned, encoding="utf-8")
    for name, words in (("true", {}), ("turned", {"task": other})):
        assert tune(name, 3, *RATES, **words)[0] == 0
    assert timeless(tmp_path / "true") == timeless(tmp_path / "turned")
    assert (tmp_path / "true" / "best.toml").read_text() == (tmp_path / "turned" / "best.toml").read_text()


def test_a_trial_behind_the_others_is_pruned(tune, tmp_path):
    code, out, err = tune("t", 12, *RATES)
    pruned = [row for row in rows(tmp_path / "t") if row["state"] == "pruned"]
    complete = [row for row in rows(tmp_path / "t") if row["state"] == "complete"]
    assert code == 0 and pruned and ", pruned after 2 epochs" in err and f"{len(pruned)} pruned, 0 failed" in out
    assert all(row["epochs"] in ("2", "4") for row in pruned) and {row["epochs"] for row in complete} == {"6"}
    assert [row["state"] for row in rows(tmp_path / "t")[:5]] == ["complete"] * 5
    assert max(float(row["value"]) for row in pruned) < max(float(row["value"]) for row in complete)


def test_settings_tried_before_are_not_trained_again(tune, tmp_path):
    code, _, err = tune("t", 4, *WIDTHS)
    known = [row for row in rows(tmp_path / "t") if row["note"]]
    assert code == 0 and len(known) == 2 and all(row["seconds"] == "0.0" for row in known)
    assert ": the same as trial " in err
    values = {(row["entity_dim"], row["value"]) for row in rows(tmp_path / "t")}
    assert len(values) == len({row["entity_dim"] for row in rows(tmp_path / "t")}) == 2


def test_a_trial_that_fails_is_shown_and_counted(tune, tmp_path, monkeypatch):
    from mixtea.training import trainer as loop

    real = loop.alignment_loss

    def breaks(vectors, *args):
        return real(vectors, *args) * (float("nan") if vectors.shape[1] < 2 * 16 + 2 * 4 else 1)

    monkeypatch.setattr(loop, "alignment_loss", breaks)
    code, out, err = tune("t", 4, *WIDTHS, "--set", "relation_dim=4")
    states = {row["entity_dim"]: row["state"] for row in rows(tmp_path / "t")}
    assert code == 0 and states == {"8": "failed", "16": "complete"}
    assert "failed: The training diverged at epoch 1" in err
    assert "entity_dim = 16" in (tmp_path / "t" / "best.toml").read_text() and "mixtea fit" in out.splitlines()[-1]
    code, out, err = tune("none", 2, "--range", "entity_dim=8", "--set", "relation_dim=4")
    assert code == 1 and "no trial came to its end" in err and out == ""


def test_an_interruption_says_how_to_go_on(tune, tmp_path, monkeypatch):
    from mixtea import MixTEA

    assert tune("t", 1, *RATES)[0] == 0
    with monkeypatch.context() as patch:
        patch.setattr(MixTEA, "fit", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        code, _, err = tune("t", 3, *RATES)
    assert code == 130 and "interrupted after 1 of 3 trials; the same command goes on" in err
    assert tune("t", 3, *RATES)[0] == 0 and len(rows(tmp_path / "t")) == 3


@pytest.mark.parametrize(
    "words, message",
    [
        (("--range", "layers=1,2"), "There is no setting 'layers'"),
        (("--range", "n_layers"), "'n_layers' is not of the form FIELD=a,b,c or FIELD=low..high"),
        (("--range", "n_layers=1,99"), "n_layers must be at least 1 and at most 8, not 99"),
        (("--range", "n_layers=1,x"), "n_layers must be a whole number, not 'x'"),
        (("--range", "n_layers=1.5..3"), "n_layers must be a whole number, not 1.5"),
        (("--range", "n_layers=3..1"), "n_layers=3..1: the first number of a range must be below the second"),
        (("--range", "momentum=0.5..1"), "momentum must be at least 0 and below 1, not 1.0"),
        (("--range", "negatives=random..hard"), "negatives has no numbers to range over"),
        (("--range", "voters=forward,backward"), "voters cannot be tuned: a list of names is not a single value"),
        (("--range", "rectify=false..true"), "rectify has no numbers to range over"),
        (("--range", "seed=1,2"), "seed cannot be tuned"),
        (("--range", "decoder=nearest,csls"), "decoder cannot be tuned: it is used after training only"),
        (("--range", "n_layers=1,2", "--range", "n_layers=3"), "n_layers has 2 ranges"),
        (("--range", "max_epochs=3,6"), "max_epochs has a range, and is fixed to 6 too"),
        (("--trials", "0"), "--trials"),
        (("--preset", "none"), "preset 'none' is unknown"),
        (("--device", "abacus"), "device 'abacus' cannot be used here"),
    ],
)
def test_wrong_calls_exit_with_2_before_anything_runs(words, message, tune, tmp_path):
    code, out, err = tune("t", 2, *words)
    assert code == 2 and message in err and "Traceback" not in err and out == "" and "trial 1" not in err
    assert not (tmp_path / "t").exists()


def test_a_folder_with_something_else_is_refused(tune, tmp_path, folder):
    assert tune("t", 1, *WIDTHS)[0] == 0
    others = {
        ("--range", "entity_dim=8,32"): "ranges ['entity_dim=8,16'], not ['entity_dim=8,32']",
        (*WIDTHS, "--preset", "text"): "preset 'paper', not 'text'",
        (*WIDTHS, "--set", "patience=2"): "settings {'max_epochs': 6, 'validate_every': 2}, not {",
        (*WIDTHS, "--seed", "2"): "seed 1, not 2",
        (*WIDTHS, "--fold", "2"): "fold 1, not 2",
    }
    for words, message in others.items():
        code, _, err = tune("t", 1, *words)
        assert code == 2 and f"{tmp_path / 't'}: a search is there with" in err and message in err
    code, _, err = tune("t", 1, *WIDTHS, task=folder)
    assert code == 2 and "task 'rings', not 'tiny'" in err and "checksum" in err
    file = tmp_path / "t" / "tune.json"
    file.write_bytes(file.read_bytes()[:-40])
    code, _, err = tune("t", 1, *WIDTHS)
    assert code == 2 and f"{file}: damaged" in err
    code, _, err = tune("tiny", 1, *WIDTHS)
    assert code == 2 and "the folder is not empty, and holds no search" in err
    write(tmp_path, {"file": "x"})
    assert tune("file", 1, *WIDTHS)[0] == 2


DAMAGE = {
    "a value in words": ("value", "high"),
    "no value": ("value", None),
    "an unknown end": ("state", "complets"),
    "an unknown field": ("settings", {"entity_dix": 8}),
    "a value that is not searched": ("settings", {"entity_dim": 99}),
    "validations of one number": ("validations", [[1]]),
    "validations in words": ("validations", [["one", 0.5]]),
    "a note that is none": ("note", 5),
}


def test_a_damaged_search_is_named(tune, tmp_path):
    assert tune("t", 1, *WIDTHS)[0] == 0
    file = tmp_path / "t" / "tune.json"
    whole = file.read_text()
    for what, (name, value) in DAMAGE.items():
        content = json.loads(whole)
        content["trials"][0][name] = value
        file.write_text(json.dumps(content))
        code, _, err = tune("t", 2, *WIDTHS)
        assert code == 2 and f"{file}: damaged" in err and "Traceback" not in err, what


def test_links_in_its_folder_are_not_followed(tune, tmp_path):
    assert tune("t", 1, *WIDTHS)[0] == 0
    for name in ("best.toml", "trials.csv", "tune.json"):
        (tmp_path / f"their-{name}").write_bytes((tmp_path / "t" / name).read_bytes())
        (tmp_path / "t" / name).unlink()
        (tmp_path / "t" / name).symlink_to(tmp_path / f"their-{name}")
    before = (tmp_path / "their-tune.json").read_bytes()
    assert tune("t", 2, *WIDTHS)[0] == 0
    assert (tmp_path / "their-tune.json").read_bytes() == before and not (tmp_path / "t" / "best.toml").is_symlink()


def test_a_task_without_validation_links_is_refused(tiny):
    with pytest.raises(DataError, match="tiny: no validation links, by which settings are compared"):
        Study(tiny.replace(valid=tiny.valid[:0]), Path("never"), [Range("n_layers", (1, 2))])


def test_without_optuna_the_extra_is_named(tune, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "optuna", None)
    code, _, err = tune("t", 1, *WIDTHS)
    assert code == 2 and "pip install 'mixtea[tune]'" in err and not (tmp_path / "t").exists()


def test_ranges_are_read_as_they_are_written():
    found = parse_ranges(["rectify=true,false", "margin=1..20", "entity_dim=8..64", "negatives=hard"], "paper", {})
    assert [str(one) for one in found] == [
        "entity_dim=8..64",
        "margin=1.0..20.0",
        "negatives=hard",
        "rectify=true,false",
    ]
    assert [one.log for one in found] == [False, True, False, False]
    drawn = found[0].distribution(), found[1].distribution()
    assert (drawn[0].low, drawn[0].high, drawn[1].log) == (8, 64, True)
    assert type(drawn[0].low) is int and found[3].choices == (True, False)


def test_the_usual_ranges_are_the_papers_less_what_is_fixed():
    usual = [str(one) for one in parse_ranges([], "best", {"n_layers": 2})]
    assert [text.partition("=")[0] for text in usual] == ["entity_dim", "margin", "n_negatives", "momentum"]
    assert usual[1] == "margin=1.0,2.0,3.0"
    with pytest.raises(ConfigError, match="Every field of the usual ranges is fixed"):
        parse_ranges([], "best", {text.partition("=")[0]: 1 for text in PAPER_RANGES})
    assert {one.field for one in parse_ranges([], "paper", {})} <= Config().to_dict().keys()


def test_importance_names_the_field_that_decides(tiny, tmp_path):
    ranges = parse_ranges(["n_layers=1,2", "entity_dim=8", "margin=1..20"], "paper", {})
    study = Study(tiny, tmp_path / "t", ranges, "paper")
    assert study.importance() == {}
    for n in range(24):
        settings = {"n_layers": 1 + n % 2, "entity_dim": 8, "margin": 1.0 + n % 12}
        study.trials.append(Trial(n + 1, settings, 1, "", "complete", 0.1 + 0.5 * (n % 2) + 0.001 * n))
    importance = study.importance()
    assert max(importance, key=importance.get) == "n_layers" and sum(importance.values()) == pytest.approx(1)
