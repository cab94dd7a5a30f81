"""The command, called as a user does: files in, files out, exit codes, no traceback."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest
from conftest import LINKS, SOURCE, TARGET, benchmark_files, write
from processes import run as run_process
from rich.console import Console
from typer.main import get_command

from mixtea import MixTEA, load_task
from mixtea.cli import app
from mixtea.config import Config
from mixtea.export.formats import endings
from mixtea.progress import TerminalBar
from mixtea.report import page
from mixtea.runs.reader import StoredRun

SHORT = ("--set", "max_epochs=2", "--set", "propagation_rounds=1", "--device", "cpu")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """What `mixtea fit` with these settings leaves, made once."""
    place = tmp_path_factory.mktemp("trained")
    aligner = MixTEA(max_epochs=2, propagation_rounds=1, device="cpu").fit(load_task(write(place, benchmark_files())))
    aligner.metrics_, aligner.by_evidence_ = aligner.score(), aligner.score_by_evidence()
    aligner.save(place / "run", pages={"report.html": page.make_report(aligner)})
    return place / "run"


@pytest.fixture
def run(trained, tmp_path):
    """A copy to break."""
    return shutil.copytree(trained, tmp_path / "run")


def test_ctrl_c_while_the_program_is_loaded(tmp_path):
    """Loading pandas takes a while; here it waits for the signal."""
    write(tmp_path, {"pandas.py": "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9999)\n"})
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    script = shutil.which("mixtea", path=Path(sys.executable).parent)
    for command in ([sys.executable, "-m", "mixtea"], [sys.executable, script]):
        done = run_process([*command, "info", "x"], forked=False, env=environment)
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_the_progress_fits_into_a_terminal():
    record = {"epoch": 9, "seconds": 1.0, "loss_alignment": 54321.0, "loss_pseudo": 12345.0, "valid_hits@1": 0.7123}
    for width, losses in ((80, ""), (110, "L_a 54321  L_u 12345  ")):
        console = Console(width=width, force_terminal=True, color_system=None, file=io.StringIO())
        bar = TerminalBar(console)
        bar.on_start(None, Config(max_epochs=150), ())
        bar.on_epoch(record)
        bar.progress.refresh()
        bar.on_end()
        last = re.sub(r"\x1b\S*?[a-zA-Z]", "", console.file.getvalue()).strip().splitlines()[-1]
        assert re.fullmatch(rf"epoch +9/150 \S+ +{losses}valid Hit@1 0.712 \S+ at most \S+ left", last.strip()), last


def mend(path, content):
    """Put good content in place of whatever stands there."""
    if path.is_dir():
        shutil.rmtree(path)
    write(path.parent, {path.name: content})


TRAIN, VALID, TEST = (f"721_5fold/1/{s}_links" for s in ("train", "valid", "test"))
MISSING, FOLDER = object(), object()
BROKEN_FILES = {
    "missing triples": ("rel_triples_1", MISSING, "no such file"),
    "a folder instead of triples": ("rel_triples_2", FOLDER, "a folder, where a file is needed"),
    "empty triples": ("rel_triples_1", "", "the file is empty"),
    "two columns": ("rel_triples_1", SOURCE + "a\tb\n", "line 6: 2 columns"),
    "four columns": ("rel_triples_2", TARGET + "A\tr\tB\tx\n", "line 6: 4 columns"),
    "spaces instead of tabs": ("rel_triples_2", "A r B\n", "line 1: 1 column 'A r B'"),
    "blank line": ("rel_triples_1", "\n" + SOURCE, "line 1: a blank line"),
    "empty label": ("rel_triples_1", SOURCE + "\tr\tb\n", "line 6: column 1 is empty"),
    "not UTF-8": ("rel_triples_1", SOURCE.encode() + b"caf\xe9\tr\t\xc3\xa9\n", "line 6: byte e9 is not UTF-8"),
    "UTF-16": ("ent_links", LINKS.encode("utf-16")[:-1], "not UTF-16 throughout (truncated data)"),
    "gzip": ("rel_triples_2", gzip.compress(TARGET.encode()), "compressed with gzip"),
    "missing ent_links": ("ent_links", MISSING, "no such file"),
    "three columns of links": ("ent_links", LINKS + "a\tA\t1.0\n", "line 6: 3 columns"),
    "missing training links": (TRAIN, MISSING, "no such file"),
    "empty training links": (TRAIN, "", "the file is empty"),
    "missing test links": (TEST, MISSING, "no such file"),
    "unknown target entity": (VALID, "c\tZ\n", "its only link does not fit the graphs, such as 'Z' (target, line 1)"),
    "swapped columns": (TRAIN, "A\ta\nB\tb\n", "source and target are swapped, as in line 1. Exchange the columns"),
    "a link in two splits": (TEST, "d\tD\nb\tB\n", "line 2: the link is also in train_links, line 2"),
}


@pytest.mark.parametrize("kind", BROKEN_FILES)
def test_broken_files_are_explained_and_read_when_mended(kind, folder, tmp_path, mixtea):
    name, content, message = BROKEN_FILES[kind]
    path = folder / name
    path.unlink()
    if content is FOLDER:
        path.mkdir()
    elif content is not MISSING:
        write(folder, {name: content})
    for verb in (["inspect", folder], ["fit", folder, "--out", tmp_path / "run", *SHORT]):
        code, out, err = mixtea(*verb)
        assert code == 2 and out == ""
        assert str(path) in err and message in err and "Traceback" not in err
    assert not (tmp_path / "run").exists()
    mend(path, benchmark_files()[name])
    assert len(load_task(folder).train) == 2


BROKEN_RUNS = {
    "missing weights": ("weights.safetensors", lambda b: None, "missing"),
    "truncated weights": ("weights.safetensors", lambda b: b[: len(b) // 2], "bytes instead of"),
    "empty vocabulary": ("vocabulary.json", lambda b: b"", "0 bytes instead of"),
    "a flipped bit": ("graphs.safetensors", lambda b: b[:-1] + bytes([b[-1] ^ 1]), "changed since it was written"),
    "missing manifest": ("run.json", lambda b: None, "missing"),
    "truncated manifest": ("run.json", lambda b: b[:40], "damaged"),
    "manifest of another kind": ("run.json", lambda b: b'{"format": "4"}', "damaged"),
    "an older format": ("run.json", lambda b: b.replace(b'"format": 8', b'"format": 7'), "of an earlier mixtea (run"),
    "manifest without a field": ("run.json", lambda b: b.replace(b'"n_epochs"', b'"m_epochs"'), "without n_epochs"),
    "a newer format": ("run.json", lambda b: b.replace(b'"format": 8', b'"format": 99'), "run format 99"),
    "a path that leaves": ("run.json", lambda b: b.replace(b'"curves.png"', b'"../curves.png"'), "damaged"),
}


@pytest.mark.parametrize("kind", BROKEN_RUNS)
def test_broken_runs_are_explained_and_run_through_when_mended(kind, run, tmp_path, mixtea):
    name, breaks, message = BROKEN_RUNS[kind]
    good = (run / name).read_bytes()
    broken = breaks(good)
    (run / name).unlink()
    if broken is not None:
        (run / name).write_bytes(broken)
    verbs = (
        ["score", run],
        ["predict", run, "--out", tmp_path / "p.tsv"],
        ["export", run, "--out", tmp_path / "e.tsv"],
        ["export", run, "--relations", tmp_path / "r.tsv"],
    )
    for verb in verbs:
        code, out, err = mixtea(*verb)
        assert code == 2 and out == ""
        assert str(run / name) in err and message in err and "Traceback" not in err
    assert not (tmp_path / "p.tsv").exists()
    (run / name).write_bytes(good)
    assert [mixtea(*verb)[0] for verb in verbs] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "args, message",
    [
        (("fit", "TINY/rel_triples_1", "--out", "RUN"), "TINY/rel_triples_1: a file, where a folder is needed"),
        (("fit", "TINY/none", "--out", "RUN"), "TINY/none: no such folder"),
        (("fit", "TINY", "--fold", "7", "--out", "RUN"), "TINY/721_5fold: there is no fold 7. Choose one of 1"),
        (("fit", "TINY", "--out", "TINY"), "TINY: the folder is not empty"),
        (("fit", "TINY", "--out", "TINY/ent_links"), "TINY/ent_links: a file, where a folder is to be written"),
        (("fit", "TINY", "--out", "TINY/ent_links/run"), "TINY/ent_links/run: cannot be written"),
        (("fit", "TINY", "--out", "TINY/" + 300 * "x"), "File name too long"),
        (("fit", "TINY", "--out", "RUN", "--preset", "none"), "preset 'none' is unknown"),
        (("fit", "TINY", "--out", "RUN", "--set", "epochs=3"), "There is no setting 'epochs'"),
        (("fit", "TINY", "--out", "RUN", "--device", "abacus"), "device 'abacus' cannot be used here"),
        (("fit", "TINY", "--out", "RUN", "--config", "TINY/none.toml"), "TINY/none.toml: cannot be read"),
        (("fit", "--source", "TINY/rel_triples_1", "--out", "RUN"), "Missing: target"),
        (("fit", "TINY"), "--out"),
        (("inspect",), "Give a folder"),
        (("score", "TINY/none"), "TINY/none: no such run folder"),
        (("score", "TINY/ent_links"), "TINY/ent_links: a file, where a run folder is needed"),
        (("export", "TINY", "--out", "m.xlsx"), "no format goes with the ending '.xlsx'"),
        (("export", "TINY", "--relations", "r.rdf"), "no format goes with the ending '.rdf'"),
        (("export", "TINY"), "Give a file"),
        (("export", "TINY", "--changes", "x.tsv"), "--changes needs"),
        (("export", "TINY", "--compare-with", "x", "--changes", "x.nt"), "no format goes with the ending '.nt'"),
        (
            ("export", "TINY", "--out", "x.nt", "--source-namespace", "shop"),
            "source_namespace: 'shop' is not a namespace",
        ),
        (("export", "TINY", "--out", "x.tsv", "--relations", "x.tsv"), "the same file"),
        (("predict", "TINY", "--out", "x", "--k", "0"), "k"),
        (("predict", "TINY", "--out", "x.parquet"), "Name a file that ends in .tsv, .csv or .json"),
        (("fly",), "No such command"),
    ],
)
def test_wrong_calls_exit_with_2(args, message, folder, tmp_path, mixtea):
    place = {"TINY": str(folder), "RUN": str(tmp_path / "run")}
    for short, path in place.items():
        args, message = [a.replace(short, path) for a in args], message.replace(short, path)
    code, out, err = mixtea(*args)
    assert code == 2 and out == "" and message in err and "Traceback" not in err
    assert not (tmp_path / "run").exists()


def test_inspect_shows_the_counts(folder, mixtea):
    code, out, _ = mixtea("inspect", folder, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["source"]["entities"] == 5 and found["target"]["triples"] == 5 and found["shared_relations"] == 1
    assert found["links"] == {"train": 2, "valid": 1, "test": 2}
    assert "only 2 train links" in found["warnings"][0]
    assert found["estimates"]["paper"]["mib"] >= 0 and found["estimates"]["text"]["seconds"] > 0
    code, out, _ = mixtea("inspect", folder)
    assert code == 0 and "tiny, fold 1" in out and "2 train, 1 valid, 2 test" in out


def test_from_own_files_to_a_mapping(tmp_path, mixtea, drawn):
    write(tmp_path, {"a.tsv": SOURCE, "b.tsv": TARGET, "l.tsv": "a\tA\nb\tB\nc\tC\n", "t.tsv": "d\tD\ne\tE\n"})
    own = ("--source", tmp_path / "a.tsv", "--target", tmp_path / "b.tsv", "--links", tmp_path / "l.tsv")
    run = tmp_path / "runs" / "own"
    code, out, err = mixtea("fit", *own, "--test-links", tmp_path / "t.tsv", "--out", run, *SHORT)
    assert code == 0 and "Hit@1" in out and f"run folder: {run} (open {run / 'report.html'})" in err
    assert {p.name for p in run.iterdir()} == {
        "run.json", "config.json", "weights.safetensors", "graphs.safetensors", "vocabulary.json", "history.json",
        "metrics.json", "curves.png", "votes.safetensors", "opinions.safetensors", "candidates.safetensors",
        "mapping.safetensors", "report.html", "learned.json",
    }  # fmt: skip
    assert mixtea("export", run, "--out", tmp_path / "m.tsv")[0] == 0
    mapping = pd.read_csv(tmp_path / "m.tsv", sep="\t", header=None)
    about = json.loads((run / "run.json").read_text())
    assert mapping[2].between(0, 1).all()
    assert len(mapping) == 5 - 3 and about["versions"]["torch"] and about["seed"] == 1
    assert mixtea("export", run, "--with-given", "--out", tmp_path / "all.tsv")[0] == 0
    everything = pd.read_csv(tmp_path / "all.tsv", sep="\t", header=None)
    assert sorted(everything[0]) == list("abcde") and {("a", "A"), ("b", "B")} <= set(
        everything[[0, 1]].itertuples(index=False)
    )
    assert (
        mixtea("fit", *own[:4], "--links", tmp_path / "m.tsv", "--strict", "--out", tmp_path / "again", *SHORT)[0] == 0
    )


def relations_in(path):
    frame = pd.read_csv(path, sep="\t")
    return {(row.kind, row.source, row.target) for row in frame.itertuples()}


def test_relations_go_into_a_file_of_their_own_or_beside_the_mapping(run, tmp_path, mixtea):
    code, out, err = mixtea("export", run, "--relations", tmp_path / "r.tsv", "--every", "--min-score", "0")
    assert code == 0 and out == "" and "pairs of relations, attribute predicates and classes" in err
    found = relations_in(tmp_path / "r.tsv")
    assert ("relation", "r", "r") in found and "mappings" not in err
    assert StoredRun(run).answers_.relations(1).frame.empty
    assert mixtea("export", run, "--out", tmp_path / "alone.tsv")[0] == 0
    files = ("--out", tmp_path / "m.tsv", "--relations", tmp_path / "r.nt", "--set-id", "https://example.org/set")
    code, _, err = mixtea("export", run, *files, "--min-score", "0")
    assert code == 0 and "mappings" in err and "pairs of relations" in err
    assert (tmp_path / "m.tsv").read_bytes() == (tmp_path / "alone.tsv").read_bytes()  # without the given links
    assert "https://example.org/set/relations#mixtea/source/r>" in (tmp_path / "r.nt").read_text()
    both = ("--out", tmp_path / "m.nt", "--relations", tmp_path / "r.ttl", "--min-score", "1", "--with-given")
    assert mixtea("export", run, *both)[0] == 0 and (tmp_path / "r.ttl").read_text() == ""
    anew = ("--voters", "forward,backward", "--shared-targets", "--device", "cpu", "--every", "--min-score", "0")
    code, _, err = mixtea("export", run, "--relations", tmp_path / "again.tsv", *anew)
    assert code == 0 and "computed anew" in err and ("relation", "r", "r") in relations_in(tmp_path / "again.tsv")


ALREADY = [
    *(("--out", f"m{ending}") for ending in endings("mapping")),
    *(("--relations", f"m{ending}") for ending in endings("relations")),
    *(("--compare-with", "RUN", "--changes", f"m{ending}") for ending in endings("changes")),
]


@pytest.mark.parametrize("args", ALREADY, ids=" ".join)
def test_no_file_is_replaced_unless_that_is_asked_for(args, run, tmp_path, mixtea):
    path = tmp_path / args[-1]
    path.write_text("as before")
    call = ("export", run, *(run if one == "RUN" else one for one in args[:-1]), path, "--every")
    code, out, err = mixtea(*call)
    assert (code, out) == (2, "") and path.read_text() == "as before"
    assert err == f"error: {path}: a file is already there. Name another, or say --overwrite.\n"
    assert mixtea(*call, "--overwrite")[0] == 0 and b"as before" not in path.read_bytes()


def test_a_run_beside_another_and_beside_a_file(run, tmp_path, mixtea):
    code, out, err = mixtea("export", run, "--compare-with", run)
    assert code == 0 and out == "" and re.search(r"^0 new, 0 gone, 0 changed, \d unchanged, compared with ", err)
    write(tmp_path, {"theirs.csv": "source,target,probability\na,B,.9\nd,D,.9\n"})
    call = ("export", run, "--compare-with", tmp_path / "theirs.csv", "--changes", tmp_path / "c.csv", "--every")
    code, _, err = mixtea(*call)
    assert code == 0 and f"1 changed, 1 unchanged, compared with {tmp_path / 'theirs.csv'}\n" in err
    found = pd.read_csv(tmp_path / "c.csv").set_index("source")
    assert found.loc["a"].tolist()[:3] == ["changed", "B", "A"] and "d" not in found.index
    assert found.loc["a", "probability_before"] == 0.9 and found["change"].value_counts()["new"] == len(found) - 1
    assert mixtea(*call, "--with-unchanged", "--overwrite")[0] == 0
    assert pd.read_csv(tmp_path / "c.csv").set_index("source").loc["d", "change"] == "unchanged"


def test_the_namespace_of_plain_ids_is_told_once_or_given(run, tmp_path, mixtea):
    code, _, err = mixtea("export", run, "--out", tmp_path / "m.sssom.tsv", "--every")
    assert code == 0 and err.count("is made up for this file: give yours with --source-namespace URL and --target") == 1
    given = ("--source-namespace", "here=https://a.org/", "--target-namespace", "https://b.org/")
    code, _, err = mixtea("export", run, "--out", tmp_path / "n.sssom.tsv", "--every", *given)
    assert code == 0 and "made up" not in err
    assert re.search(r"^here:d\t.*\ttarget:D\t", (tmp_path / "n.sssom.tsv").read_text(), re.MULTILINE)
    for name in ("m.csv", "all.csv"):
        code, _, err = mixtea("export", run, "--out", tmp_path / name, *(["--all-columns"] * (name == "all.csv")))
        assert code == 0 and "made up" not in err
    assert [len(pd.read_csv(tmp_path / name).columns) for name in ("m.csv", "all.csv")] == [4, 11]


@pytest.mark.parametrize("verb", ["export", "predict"])
def test_ways_to_choose_what_is_mapped(run, tmp_path, mixtea, verb):
    n_mapped = {}
    for name, how in {"default": (), "f1": ("--best-f1",), "sure": ("--precision", ".9"), "all": ("--every",)}.items():
        code, _, err = mixtea(verb, run, "--out", tmp_path / f"{name}.tsv", *how)
        assert code == 0 and "computed anew" not in err
        n_mapped[name] = int(re.search(r"mapped (\d+) of", err)[1])
    assert n_mapped["default"] <= n_mapped["f1"] <= n_mapped["all"]


@pytest.mark.parametrize("verb", ["export", "predict"])
@pytest.mark.parametrize(
    ("how", "said"),
    [
        (("--precision", "2"), "Invalid value for '--precision'"),
        (("--precision", "0"), "A precision is a number above 0 and at most 1, not 0.0"),
        (("--precision", "much"), "Invalid value for '--precision'"),
        (("--precision", ".9", "--every"), "Ask for one of best F1, every source, and a precision"),
        (("--best-f1", "--every"), "Ask for one of best F1, every source, and a precision"),
        (("--one-to-many",), "No such option: --one-to-many"),
    ],
)
def test_ways_to_choose_that_cannot_be(run, tmp_path, mixtea, verb, how, said):
    code, out, err = mixtea(verb, run, "--out", tmp_path / "m.tsv", *how)
    assert code == 2 and said in " ".join(err.replace("│", " ").split()) and out == ""
    assert "Traceback" not in err and not (tmp_path / "m.tsv").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_names_that_are_not_utf_8_cost_no_training(folder, tmp_path, mixtea, drawn):
    odd = os.fsdecode(b"caf\xe9")
    folder.rename(tmp_path / odd)
    write(tmp_path, {f"{odd}.tsv": SOURCE, "b.tsv": TARGET, f"l{odd}.tsv": LINKS + "a\tA\n"})
    own = ("--source", tmp_path / f"{odd}.tsv", "--target", tmp_path / "b.tsv", "--links", tmp_path / f"l{odd}.tsv")
    for args, name in (((tmp_path / odd,), r"caf\udce9"), (own, r"caf\udce9-b")):
        run = tmp_path / f"{odd}-run-{len(args)}"
        code, _, err = mixtea("fit", *args, "--out", run, *SHORT)
        assert code == 0 and r"caf\udce9-run" in err and (run / "report.html").exists()
        assert json.loads((run / "run.json").read_text(encoding="utf-8"))["task"] == name
        assert mixtea("export", run, "--out", tmp_path / f"{odd}.{len(args)}.sssom.tsv")[0] == 0
    assert mixtea("inspect", *own, "--json")[0] == 0


@pytest.mark.parametrize("name", [VALID, "attr_triples_1", "ent_names_2"])
def test_a_link_to_nowhere_is_not_taken_for_nothing(name, folder, mixtea):
    (folder / name).unlink(missing_ok=True)
    for there, said in (("nowhere", "no such file"), ((folder / name).name, "Too many levels of symbolic links")):
        (folder / name).symlink_to(there)
        code, _, err = mixtea("inspect", folder)
        assert code == 2 and f"{folder / name}: " in err and said in err
        (folder / name).unlink()


def test_score_of_other_links_and_as_json(run, tmp_path, mixtea):
    code, out, _ = mixtea("score", run, "--json")
    scores = json.loads(out)
    assert code == 0 and scores["links"] == 2 and 0 <= scores["hits@1"] <= scores["mrr"] <= 1
    write(tmp_path, {"more.tsv": "e\tE\n", "bad.tsv": "e\tE\ne\n"})
    assert json.loads(mixtea("score", run, "--links", tmp_path / "more.tsv", "--json")[1])["links"] == 1
    code, out, err = mixtea("score", run, "--links", tmp_path / "bad.tsv", "--json")
    assert code == 2 and "bad.tsv: 1 problem" in err and out == ""


def test_score_tells_who_finds_which_links(run, tmp_path, mixtea):
    code, out, err = mixtea("score", run)
    shown = " ".join(out.split())
    assert code == 0 and "computed anew" not in err
    for words in (
        "all links (2)",
        "equal names (2)",
        "other names (0)",
        "structure alone",
        "names alone",
        "in one run",
    ):
        assert words in shown
    stored, anew = (
        json.loads(mixtea("score", run, "--json", *more)[1])["by_evidence"] for more in ((), ("--decoder", "sinkhorn"))
    )
    assert stored == anew and set(stored) == {"all", "structure", "names"}
    assert stored["names"]["links"] == 2 and stored["names"]["other_names/hits@1"] is None
    assert "by_evidence/all/hits@1" not in json.loads(mixtea("score", run, "--json")[1])
    code, out, _ = mixtea("score", run, "--voters", "forward,backward")
    assert code == 0 and "alone" not in out.replace("the student alone", "") and "by evidence" not in out


def test_predictions_have_a_header_and_k_rows_a_source(run, tmp_path, mixtea):
    assert mixtea("predict", run, "--out", tmp_path / "deep" / "p.tsv", "--k", "3")[0] == 0
    frame = pd.read_csv(tmp_path / "deep" / "p.tsv", sep="\t")
    assert frame.columns.tolist() == [
        "source",
        "target",
        "rank",
        "score",
        "probability",
        "voters",
        "decision",
        "evidence",
    ]
    assert (frame["evidence"].notna() == (frame["decision"] == "mapped")).all()
    assert frame.groupby("source").size().tolist() == [3, 3, 3]


def test_decoders_are_chosen_on_the_command_line(run, tmp_path, mixtea):
    scores = [json.loads(mixtea("score", run, "--json", *words)[1]) for words in ((), ("--decoder", "nearest"))]
    assert all("calibration_error" in found for found in scores)
    code, out, _ = mixtea("score", run, "--decoder", "one_to_one", "--voters", "forward,backward")
    assert code == 0 and "one-to-one, the student alone" in " ".join(out.split())
    words = ("--out", tmp_path / "p.tsv", "--decoder", "csls", "--voters", "forward,backward,agreement")
    assert mixtea("predict", run, *words)[0] == 0
    code, _, err = mixtea("predict", run, "--out", tmp_path / "q.tsv", "--decoder", "best")
    assert code == 2 and "decoder must be one of" in err


def test_settings_from_toml_and_flags(folder, tmp_path, mixtea):
    write(tmp_path, {"c.toml": "entity_dim = 8\nseed = 5\n"})
    code, _, _ = mixtea(
        "fit", folder, "--out", tmp_path / "r", "--config", tmp_path / "c.toml", "--set", "entity_dim=16", *SHORT
    )
    config = json.loads((tmp_path / "r" / "config.json").read_text())
    assert code == 0 and config["entity_dim"] == 16 and config["seed"] == 5


def test_every_verb_has_help_with_an_example(mixtea):
    for verb in get_command(app).commands:
        code, out, _ = mixtea(verb, "--help")
        assert code == 0 and "Example" in out


def test_info_as_json(mixtea):
    code, out, _ = mixtea("info", "--json")
    assert code == 0 and json.loads(out)["versions"]["mixtea"]


def test_an_approximate_run_is_labelled(folder, tmp_path, mixtea):
    code, out, err = mixtea(
        "fit", folder, "--out", tmp_path / "r", "--preset", "paper", "--set", "normaliser=moments", *SHORT
    )
    assert code == 0 and "approximate: normaliser=moments" in err and "approximate (normaliser=moments)" in out
    assert json.loads((tmp_path / "r" / "run.json").read_text())["approximations"] == {"normaliser": "moments"}


def test_overwriting_a_run_takes_nothing_else_along(run, folder, mixtea):
    (run / "notes.txt").write_text("keep me")
    code, _, err = mixtea("fit", folder, "--out", run, "--overwrite", *SHORT)
    assert code == 2 and f"{run}: besides a run it holds notes.txt" in err and (run / "notes.txt").exists()
    (run / "notes.txt").unlink()
    assert mixtea("fit", folder, "--out", run, "--overwrite", *SHORT)[0] == 0


def test_an_empty_folder_can_become_the_run(folder, tmp_path, mixtea, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert mixtea("fit", folder, "--out", ".", *SHORT)[0] == 0
    assert (tmp_path / "empty" / "run.json").exists()


def test_a_training_that_cannot_go_on_exits_with_1(folder, tmp_path, mixtea, monkeypatch):
    monkeypatch.setattr("mixtea.training.trainer.alignment_loss", lambda vectors, *_: vectors.sum() * float("nan"))
    code, _, err = mixtea("fit", folder, "--out", tmp_path / "run", *SHORT)
    assert code == 1 and "error: The training diverged at epoch 1: a loss of nan" in err
    assert not (tmp_path / "run").exists()


def test_outputs_never_replace_what_is_no_file_or_part_of_a_run(run, tmp_path, mixtea):
    os.mkfifo(tmp_path / "pipe.tsv")
    before = (run / "weights.safetensors").read_bytes()
    for out, message in ((tmp_path / "pipe.tsv", "a device or pipe"), (run / "weights.safetensors", "part of a run")):
        for words in ((), ("--overwrite",)):
            code, _, err = mixtea("predict", run, "--out", out, *words)
            assert code == 2 and message in err
    assert (tmp_path / "pipe.tsv").is_fifo() and (run / "weights.safetensors").read_bytes() == before


def test_score_says_what_it_ranks_among_and_what_was_learned(run, tmp_path, mixtea):
    write(tmp_path, {"seen.tsv": "a\tA\nd\tD\n"})
    code, out, err = mixtea("score", run, "--links", tmp_path / "seen.tsv")
    assert code == 0 and "ranked among their own ends" in out and "1 of these 2 links were trained on" in err
    assert json.loads(mixtea("score", run, "--links", tmp_path / "seen.tsv", "--json")[1])["trained_on"] == 1
    said = [
        mixtea("score", run, "--candidates", "all", *words)[1]
        for words in ((), ("--decoder", "nearest", "--voters", "forward,backward"))
    ]
    assert [
        "ranked among all unlinked entities" in " ".join(said[0].split()),
        "all entities" in " ".join(said[1].split()),
    ] == [True, True]
    assert mixtea("score", run, "--candidates", "some")[0] == 2


def test_fit_passes_doubts_on(folder, tmp_path, mixtea):
    _, _, err = mixtea("fit", folder, "--out", tmp_path / "run", *SHORT)
    assert "warning: only 2 train links" in err


def test_a_quick_fit_keeps_the_first_answer(rings_folder, tmp_path, mixtea):
    code, _, err = mixtea("fit", rings_folder, "--out", tmp_path / "run", "--quick", "--set", "propagation_rounds=2")
    assert code == 0 and "first answer after" in err and "only voters that need no training were asked" in err
    assert mixtea("export", tmp_path / "run", "--out", tmp_path / "m.tsv")[0] == 0
    code, _, err = mixtea("fit", rings_folder, "--out", tmp_path / "r", "--quick", "--set", "max_epochs=5")
    assert code == 2 and "--quick trains no epoch" in err and not (tmp_path / "r").exists()


def test_a_run_can_be_repeated_from_its_own_settings(run, folder, tmp_path, mixtea):
    assert mixtea("fit", folder, "--config", run / "config.json", "--out", tmp_path / "again")[0] == 0
    weights = [(r / "weights.safetensors").read_bytes() for r in (run, tmp_path / "again")]
    assert weights[0] == weights[1]


def test_version(mixtea):
    code, out, _ = mixtea("--version")
    assert code == 0 and out.startswith("mixtea ")


def test_a_warm_start_says_what_changed(run, folder, mixtea, tmp_path):
    out = tmp_path / "grown"
    code, _, err = mixtea("fit", folder, "--warm-start", run, "--out", out, *SHORT)
    assert code == 0 and re.search(r"\d+ new, \d+ gone, \d+ changed, \d+ unchanged, compared with the earlier run", err)
    assert (
        (out / "changes.tsv")
        .read_text()
        .startswith("change\tsource\ttarget_before\ttarget\tprobability_before\tprobability\twhy\n")
    )
    assert mixtea("score", out)[0] == 0
    config = json.loads((out / "config.json").read_text())
    assert config["max_epochs"] == 2 and config["ramp_up_epochs"] == 0


@pytest.mark.parametrize(
    "wrong, message",
    [(("--set", "entity_dim=7"), "warm start needs the encoder"), ((), "no such run folder")],
)
def test_a_warm_start_that_cannot_be_is_refused(run, folder, mixtea, tmp_path, wrong, message):
    start = run if wrong else tmp_path / "nothing"
    code, _, err = mixtea("fit", folder, "--warm-start", start, "--out", tmp_path / "grown", *SHORT, *wrong)
    assert code == 2 and message in err and not (tmp_path / "grown").exists()


def test_scores_of_few_links_have_their_intervals(trained, mixtea, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = mixtea("score", trained, "--json", "--complete")
    found, behind = json.loads(out), StoredRun(trained).answers_.sample_sizes
    task = StoredRun(trained).task_
    assert code == 0 and found["interval"].keys() <= found.keys()
    assert found["interval"].keys() >= {"hits@1", "backward_hits@1", "precision", "recall"}
    assert all(low <= found[name] <= high for name, (low, high) in found["interval"].items())
    n_open = task.source.n_entities - len(task.train) - len(task.valid)
    counts = behind(found, task.test, complete=True)
    assert counts["hits@1"] == counts["recall"] == len(task.test) and counts["precision"] <= n_open
    assert behind({"recall": 1.0}, task.test).keys() == {"recall"}
    code, out, _ = mixtea("score", trained)
    low, high = found["interval"]["hits@1"]
    assert f"{found['hits@1']:.3f} ({low:.3f}–{high:.3f})" in out and "95 % confidence" in " ".join(out.split())


def test_a_working_folder_that_is_gone(tmp_path):
    (tmp_path / "gone").mkdir()
    script = "import os, sys; os.rmdir(os.getcwd()); sys.argv = ['mixtea', 'info']; from mixtea.cli import main; main()"
    done = run_process([sys.executable, "-c", script], forked=True, cwd=tmp_path / "gone")
    why = "the working folder cannot be used (No such file or directory). Change to one that exists."
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {why}\n")
