"""Names, values and links by names on the command line."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from conftest import SMALL_BEST, SOURCE, TARGET, benchmark_files, rings_files, write
from pyarrow.parquet import read_schema

from mixtea import MixTEA
from mixtea.runs.folder import read_run


@pytest.fixture
def files(tmp_path):
    return write(
        tmp_path,
        {
            "s.tsv": SOURCE, "t.tsv": TARGET, "ns.tsv": "a\tAlpha\nb\tBeta\n", "nt.tsv": "A\tALPHA!\nB\tZwei\n",
            "tr.tsv": "b\tZwei\n", "d.tsv": "c\tCe\n",
        },
    )  # fmt: skip


def test_inspect_tells_of_names(files, mixtea):
    graphs = ("--source", files / "s.tsv", "--target", files / "t.tsv", "--links-from", "names", "--device", "cpu")
    names = ("--names-source", files / "ns.tsv", "--names-target", files / "nt.tsv")
    more = ("--translations", files / "tr.tsv", "--dictionary", files / "d.tsv")
    code, out, _ = mixtea("inspect", *graphs, *names, *more, "--json")
    found = json.loads(out)
    assert code == 0 and found["links_from"] == "names" and found["links"] == {"train": 0, "valid": 0, "test": 0}
    assert found["texts"]["source"]["translations"] == 2 and found["texts"]["unique_pairs"] == 5
    code, out, _ = mixtea("inspect", *graphs, *names, *more)
    assert code == 0 and "names in the source graph: 7, of 5 of 5 entities, 2 of them translations" in out
    assert "equal names: 5; pairs of entities that they single out: 5" in out
    assert "warning: no links are read: 5 pairs of equal names are what learning can begin with" in out


def test_inspect_without_values(tmp_path, mixtea):
    folder = write(tmp_path / "f", benchmark_files() | {"attr_triples_1": "a\tsize\t3\n"})
    for options, n in (((), 1), (("--no-attributes",), 0)):
        found = json.loads(mixtea("inspect", folder, *options, "--json", "--device", "cpu")[1])
        assert found["source"]["attribute_triples"] == found["texts"]["source"]["values"] == n


FILMS = "id,title,code\n1,Solaris,A1\n2,Stalker,B2\n3,Ulysses,C3\n"


def test_inspect_and_fit_say_what_is_taken_as_names(tmp_path, mixtea):
    write(tmp_path, {"s.csv": FILMS, "t.csv": FILMS.replace("title", "Titel")})
    task = ("--source", tmp_path / "s.csv", "--target", tmp_path / "t.csv", "--links-from", "names", "--device", "cpu")
    code, out, _ = mixtea("inspect", *task)
    assert "│ best " in out and "│ paper" not in out, "which needs structure"
    assert code == 0 and "names of the source: 'title' (100% filled, 100% distinct)\n" in out
    found = json.loads(mixtea("inspect", *task, "--json", "--target-name-column", "code")[1])
    assert [found[side]["names"][0]["predicate"] for side in ("source", "target")] == ["title", "code"]
    code, out, err = mixtea("fit", *task, "--quick", "--out", tmp_path / "run")
    line = "source  'title'  name      'Titel'        100%    100%\n"
    assert code == 0 and (out + err).count(line) == 1
    assert read_run(tmp_path / "run").task.source.name_predicates == ("title",)
    code, _, err = mixtea("inspect", *task, "--name-column", "titles")
    assert (
        code == 2 and "--name-column: neither graph has values of 'titles'. There are: 'title', 'code', 'Titel'" in err
    )


def test_inspect_and_fit_say_how_many_synonyms_are_found(files, mixtea):
    write(files, {"syn.tsv": "alpha\tE\n", "more.tsv": "# of the target\nzwei\tC\nx\ty\n"})
    task = ("--source", files / "s.tsv", "--target", files / "t.tsv", "--links-from", "names", "--device", "cpu")
    task += ("--names-source", files / "ns.tsv", "--names-target", files / "nt.tsv")
    given = ("--synonyms", files / "syn.tsv", "--synonyms", files / "more.tsv")
    line = "synonyms: 3 groups; in 3 of 5 names of the source and 4 of 5 of the target\n"
    code, out, _ = mixtea("inspect", *task, *given)
    assert code == 0 and line in out and "synonyms" not in mixtea("inspect", *task)[1]
    found = json.loads(mixtea("inspect", *task, *given, "--json")[1])["synonyms"]
    assert found == {"groups": 3, "source": {"with": 3, "names": 5}, "target": {"with": 4, "names": 5}}
    assert json.loads(mixtea("inspect", *task, "--json")[1])["synonyms"] == {"groups": 0}
    code, out, err = mixtea("fit", *task, *given, "--quick", "--out", files / "run")
    assert code == 0 and (out + err).count(line) == 1
    assert read_run(files / "run").task.synonyms == (("alpha", "e"), ("c", "zwei"), ("x", "y"))


def test_a_wrong_file_of_synonyms_is_one_message(files, mixtea):
    write(files, {"syn.tsv": "alpha\nbeta\n"})
    task = ("--source", files / "s.tsv", "--target", files / "t.tsv", "--links-from", "names")
    code, out, err = mixtea("inspect", *task, "--synonyms", files / "syn.tsv")
    assert (code, out) == (2, "") and "syn.tsv: 2 problems\n  line 1: only one name that can be read in 'alpha'" in err
    code, _, err = mixtea("fit", *task, "--synonyms", files, "--out", files / "run")
    assert code == 2 and "a folder, where a file is needed" in err and not (files / "run").exists()


def test_fit_keeps_names_and_the_voters_that_are_named(tmp_path, mixtea):
    folder = write(tmp_path / "f", rings_files() | {"attr_triples_1": "s1\tsize\t3\n"})
    write(tmp_path, {"n.tsv": "s0\tZero\n", "tr.tsv": "s1\tOne\n"})
    options = ("--names-source", tmp_path / "n.tsv", "--translations", tmp_path / "tr.tsv", "--no-attributes")
    settings = [word for name, value in SMALL_BEST.items() for word in ("--set", f"{name}={value}")]
    out = tmp_path / "run"
    code, _, err = mixtea("fit", folder, *options, "--voters", "forward,backward,agreement", *settings, "--out", out)
    assert code == 0, err
    run = read_run(out)
    assert run.config.voters == ("forward", "backward", "agreement")
    assert run.task.source.labels.text.tolist() == ["Zero", "One"] and not run.task.source.n_attribute_triples


@pytest.mark.parametrize(
    "options, message",
    [
        (("--voters", "forward", "--set", "voters=backward"), "Voters are named twice, by --voters and by --set"),
        (("--voters", ""), "voters"),
        (("--links-from", "elsewhere"), "links_from is 'elsewhere'. Choose one of given, names, ids."),
        (("--names-source", "no such"), "no such: 1 problem"),
    ],
)
def test_wrong_options(folder, tmp_path, mixtea, options, message):
    code, _, err = mixtea("fit", folder, *options, "--out", tmp_path / "run")
    assert code == 2 and message in err and not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", [("--names-source", "n"), ("--links-from", "names"), ("--no-attributes",)])
def test_a_training_that_goes_on_has_its_names(tmp_path, mixtea, option):
    code, _, err = mixtea("fit", "--resume", "--out", tmp_path / "run", *option)
    assert code == 2 and f"{option[0]}: a training goes on with what it began with" in err


def test_links_and_names_exclude_each_other(files, mixtea):
    given = ("--source", files / "s.tsv", "--target", files / "t.tsv")
    code, _, err = mixtea("inspect", *given, "--links", files / "ns.tsv", "--links-from", "names")
    assert code == 2 and "Links are given, or found by names" in err
    code, out, _ = mixtea("inspect", *given, "--json")
    assert code == 0 and json.loads(out)["links_from"] == "names"


def test_a_run_without_links_says_so_wherever_it_goes(files, tmp_path, mixtea):
    write(files, {"test.tsv": "a\tA\nb\tB\n"})
    graphs = ("--source", files / "s.tsv", "--target", files / "t.tsv", "--test-links", files / "test.tsv")
    settings = [word for name, value in SMALL_BEST.items() for word in ("--set", f"{name}={value}")]
    run = tmp_path / "run"
    code, out, err = mixtea("fit", *graphs, "--links-from", "names", *settings, "--out", run)
    assert code == 0, err
    assert "voters: forward, backward, propagation, agreement, names (of 5 source and 5 target entities)" in err
    assert "No links were given: learning began from names" in " ".join(out.split()) and "names alone" in out
    scored = mixtea("score", run)
    assert "No links were given: learning began from names" in " ".join(scored[1].split()), scored[2]
    assert json.loads(mixtea("score", run, "--json")[1])["links_from"] == "names"
    assert "links from names" in repr(MixTEA.load(run))
    for option, name in (("--out", "m.sssom.tsv"), ("--out", "m.rdf"), ("--relations", "r.ttl")):
        assert mixtea("export", run, option, tmp_path / name, "--every", "--min-score", "0")[0] == 0
        assert "No links were given: learning began from names." in (tmp_path / name).read_text()
    for name in ("m.parquet", "r.parquet"):
        option = "--out" if name == "m.parquet" else "--relations"
        assert mixtea("export", run, option, tmp_path / name, "--every", "--min-score", "0")[0] == 0
        told = read_schema(tmp_path / name).metadata[b"mapping_set_description"]
        assert told == b"No links were given: learning began from names."
    assert mixtea("score", run, "--curve", tmp_path / "c.png")[0] == 0
    assert b"No links were given: learning began from names" in (tmp_path / "c.png").read_bytes()
    tables = {
        "p.tsv": ("predict", run, "--out", tmp_path / "p.tsv"),
        "r.tsv": ("export", run, "--relations", tmp_path / "r.tsv", "--every", "--min-score", "0"),
        "c.csv": ("score", run, "--curve", tmp_path / "c.csv"),
    }
    for name, words in tables.items():
        assert mixtea(*words)[0] == 0
        frame = pd.read_csv(tmp_path / name, sep="," if name == "c.csv" else "\t")
        assert len(frame) and frame.columns[-1] == "links_from" and set(frame["links_from"]) == {"names"}, name


def test_a_run_by_ids_says_so_wherever_it_goes(tmp_path, mixtea):
    shared = [f"x:{i}\tr\tx:{i + 1}\n" for i in range(8)]
    write(tmp_path, {"s.tsv": "".join([*shared, "x:3\tr\told\n"]), "t.tsv": "".join([*shared, "x:3\tr\tnew\n"])})
    graphs = ("--source", tmp_path / "s.tsv", "--target", tmp_path / "t.tsv", "--links-from", "ids")
    code, out, err = mixtea("inspect", *graphs, "--json", "--device", "cpu")
    assert code == 0 and json.loads(out)["links_from"] == "ids", err
    assert json.loads(out)["links"] == {"train": 7, "valid": 2, "test": 0}
    settings = [word for name, value in SMALL_BEST.items() for word in ("--set", f"{name}={value}")]
    run = tmp_path / "run"
    code, out, err = mixtea("fit", *graphs, *settings, "--out", run)
    assert code == 0 and "No links were given" not in out, err
    task = MixTEA.load(run).task_
    assert (task.links_from, len(task.train), len(task.valid)) == ("ids", 7, 2)
    assert mixtea("export", run, "--out", tmp_path / "m.sssom.tsv", "--every")[0] == 0
    text = (tmp_path / "m.sssom.tsv").read_text()
    assert "Links were taken from ids that both graphs have." in text


def test_names_that_mislead_are_told_of(tmp_path, mixtea):
    """Every entity of the source has another one's name."""
    n = 30
    words = [f"{a}{b}n{c}" for a in ("Kar", "Lum", "Vet") for b in "aeiou" for c in ("ab", "eg")]
    write(tmp_path, {
        "ns.tsv": "".join(f"s{i}\t{words[i]}\n" for i in range(n)),
        "nt.tsv": "".join(f"t{(i + 7) % n}\t{words[i]}\n" for i in range(n)),
    })  # fmt: skip
    folder = write(tmp_path / "f", rings_files())
    options = ("--names-source", tmp_path / "ns.tsv", "--names-target", tmp_path / "nt.tsv")
    settings = [word for name, value in SMALL_BEST.items() for word in ("--set", f"{name}={value}")]
    code, _, err = mixtea("fit", folder, *options, *settings, "--out", tmp_path / "run")
    assert code == 0 and "names are uninformative for about " in err
    assert MixTEA.load(tmp_path / "run").misleading_["names"] > 0.05
