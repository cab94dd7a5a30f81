"""The run folder: the same bytes every time, a manifest that knows itself, older and newer formats."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import labelled, write

from mixtea import MixTEA, RunError, load_task, train
from mixtea.graph.fingerprint import checksum
from mixtea.graph.labels import TRANSLATION_RANK
from mixtea.runs.folder import FORMAT, about_task, graph_arrays, read_run, seal, vocabulary
from mixtea.runs.in_progress import TrainingInputs, UnfinishedRun
from mixtea.runs.validate import check_task, weight_forms

SHORT = dict(max_epochs=3, propagation_rounds=1, entity_dim=8, relation_dim=4, device="cpu")
TIMED = {"run.json", "report.html"}


@pytest.fixture
def fitted_tiny(tiny):
    aligner = MixTEA(**SHORT).fit(tiny)
    aligner.metrics_, aligner.by_evidence_ = aligner.score(), aligner.score_by_evidence()
    return aligner


@pytest.fixture
def run(fitted_tiny, tmp_path):
    fitted_tiny.save(tmp_path / "run")
    return tmp_path / "run"


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name not in TIMED}


def test_the_same_task_settings_and_seed_give_the_same_bytes(tiny, run, tmp_path):
    train(tiny, tmp_path / "again", **SHORT)
    assert contents(tmp_path / "again") == contents(run) and len(contents(run)) == 12
    MixTEA.load(run).save(tmp_path / "copied")
    assert contents(tmp_path / "copied") == contents(run)


def test_seconds_are_in_the_manifest_and_come_back_into_the_history(run, fitted_tiny):
    assert "seconds" not in json.loads((run / "history.json").read_text())[0]
    assert MixTEA.load(run).history_.equals(fitted_tiny.history_)
    assert json.loads((run / "run.json").read_text())["epoch_seconds"] == fitted_tiny.history_["seconds"].tolist()


def test_what_a_program_hands_over_can_be_read_again(tiny, tmp_path):
    """Triples of 32 bits, a score that is none, a device with a number."""
    source = replace(tiny.source, triples=tiny.source.triples.astype(np.int32))
    aligner = MixTEA(**SHORT | {"device": "cpu:0"}).fit(tiny.replace(source=source))
    aligner.metrics_ = {"hits@1": 0.5, "mrr": float("nan")}
    aligner.save(tmp_path / "run")
    assert MixTEA.load(tmp_path / "run").metrics_ == {"hits@1": 0.5}


def test_a_name_that_is_no_whole_text_costs_no_training(tiny, tmp_path, drawn):
    task = replace(tiny, name="caf\udce9\ud800")
    assert task.name == r"caf\udce9\ud800"
    train(task, tmp_path / "run", **SHORT)
    assert (tmp_path / "run" / "report.html").exists()
    assert MixTEA.load(tmp_path / "run").task_.name == task.name


def test_an_id_that_is_no_whole_text_is_named(tiny, tmp_path):
    source = replace(tiny.source, ids=np.array(["a\ud800", *tiny.source.ids[1:]], dtype=object))
    with pytest.raises(RunError, match=r"vocabulary\.json: half a character in .*a\\ud800.* Mend the text"):
        MixTEA(**SHORT).fit(tiny.replace(source=source)).save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.fixture
def full(tmp_path):
    """A task with everything that a run keeps: labels, attribute triples, rejected pairs, synonyms."""
    rdfs, e = "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .", "@prefix : <http://e.org/> ."
    files = {
        "s.ttl": f'{rdfs} {e} :a :r :b ; rdfs:label "A"@en, "Ä"@de ; :size 3, "NA", "\\t" . :b :r :c . :c :r :a .',
        "t.tsv": "A\tr\tB\nB\tr\tC\nC\tr\tA\n",
        "l.sssom.tsv": "#curie_map:\n#  e: http://e.org/\nsubject_id\tpredicate_id\tobject_id\tpredicate_modifier\n"
        + "".join(f"e:{x}\tskos:exactMatch\t{x.upper()}\t\n" for x in "abc")
        + "e:a\tskos:exactMatch\tB\tNot\n",
        "syn.tsv": "Fe\tiron\tжелезо\nb\ta\n",
    }
    write(tmp_path, files)
    graphs = dict(source=tmp_path / "s.ttl", target=tmp_path / "t.tsv", synonyms=tmp_path / "syn.tsv")
    return load_task(**graphs, links=tmp_path / "l.sssom.tsv")


def test_a_run_read_back_has_the_same_task(full, tmp_path):
    aligner = MixTEA(**SHORT).fit(full)
    aligner.save(tmp_path / "run")
    task = MixTEA.load(tmp_path / "run").task_
    assert checksum(task) == checksum(full) and task.rejected.tolist() == [[0, 1]]
    assert task.source.labels_of(0) == full.source.labels_of(0) == [("A", "en"), ("Ä", "de")]
    assert task.source.attributes_of(0) == full.source.attributes_of(0)
    assert len(task.source.attributes) == 5 and len(task.target.labels) == 0
    assert task.synonyms == full.synonyms == (("a", "b"), ("fe", "iron", "железо"))
    assert json.loads((tmp_path / "run" / "vocabulary.json").read_text())["target"].keys() == {
        "ids", "relations", "prefixes",
    }  # fmt: skip


def test_an_unfinished_training_keeps_the_same_task(full, tmp_path):
    work = UnfinishedRun(tmp_path / "run")
    with work.locked():
        work.store_inputs(TrainingInputs(full, "paper", {}))
    task = work.read_inputs().task
    assert checksum(task) == checksum(full) and task.source.labels_of(0) == full.source.labels_of(0)
    assert task.synonyms == full.synonyms
    assert TrainingInputs(full, "paper", {}).differences(TrainingInputs(full.replace(synonyms=()), "paper", {}))


def test_a_label_of_half_a_character_is_named(tiny, tmp_path):
    source = replace(tiny.source, labels=labelled(tiny.source, {"a": "x", "b": "y\ud800"}))
    with pytest.raises(RunError, match=r"graphs\.safetensors: half a character in 'y\\ud800'.* Mend the text"):
        MixTEA(**SHORT).fit(tiny.replace(source=source)).save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_only_a_training_that_can_go_on_is_called_unfinished(tmp_path):
    (tmp_path / "real" / "run.unfinished").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "link-to-run").symlink_to(tmp_path / "real" / "run")
    for folder in (tmp_path / "real" / "run", tmp_path / "link" / "run", tmp_path / "link-to-run"):
        with pytest.raises(RunError, match="run: no such run folder"):
            read_run(folder)
        (tmp_path / "real" / "run.unfinished" / "start.safetensors").touch()
        with pytest.raises(RunError, match="its training has not ended"):
            read_run(folder)
        (tmp_path / "real" / "run.unfinished" / "start.safetensors").unlink()
    for folder in (tmp_path / ("x" * 250), Path("a\0b")):
        with pytest.raises(RunError, match="no such run folder"):
            read_run(folder)


def test_an_older_run_gets_one_sentence(run, mixtea):
    about = json.loads((run / "run.json").read_text()) | {"format": FORMAT - 1}
    (run / "run.json").write_text(json.dumps(about | {"sha256": seal(about)}))
    code, _, err = mixtea("export", run, "--out", run.parent / "m.tsv")
    assert code == 2 and err.count("\n") == 1
    said = f"run.json: of an earlier mixtea (run format {FORMAT - 1}; this one reads {FORMAT}). Train it again."
    assert said in err


def test_a_newer_run_says_who_wrote_it_and_what_to_do(run, mixtea):
    about = json.loads((run / "run.json").read_text())
    about |= {"format": FORMAT + 1, "versions": {"mixtea": "9.8"}, "files": "in another place"}
    (run / "run.json").write_text(json.dumps(about | {"sha256": seal(about)}))
    code, _, err = mixtea("score", run)
    assert code == 2 and f"run.json: written by mixtea 9.8 (run format {FORMAT + 1}), newer than this one" in err
    assert "Update mixtea" in err and "Traceback" not in err


def test_a_flipped_bit_in_the_manifest_is_noticed(run):
    good, before = (run / "run.json").read_bytes(), read_run(run).about
    dice = random.Random(3)
    for place in range(len(good)):
        flipped = bytes([good[place] ^ 1 << dice.randrange(8)])
        (run / "run.json").write_bytes(good[:place] + flipped + good[place + 1 :])
        try:
            assert read_run(run).about == before  # 1E-05 for 1e-05
        except RunError as error:
            assert "run.json: " in str(error)


@pytest.mark.parametrize("name", ["a $ b $\\frac$", "中国", "\x1b[31m\n\u202e", "w" * 500])
def test_a_task_of_any_name_has_its_picture(name, tiny, tmp_path, drawn):
    MixTEA(**SHORT).fit(replace(tiny, name=name)).save(tmp_path / "run")
    assert MixTEA.load(tmp_path / "run").task_.name == name
    assert (tmp_path / "run" / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "settings",
    [
        {"layer_transform": "matrix", "n_layers": 3},
        {"use_relations": False, "precision": "float64"},
        {"shared_relations": False, "concat_weights": "trained"},
    ],
)
def test_the_forms_of_weights_are_those_of_the_encoder(settings, tiny):
    aligner = MixTEA(preset="paper", **SHORT | {"max_epochs": 1}, **settings).fit(tiny)
    kinds = {"torch.float32": "F32", "torch.float64": "F64"}
    found = {name: (kinds[str(v.dtype)], tuple(v.shape)) for name, v in aligner._student.state_dict().items()}
    assert weight_forms(tiny, aligner.config) == found


def test_a_run_knows_where_its_links_came_from(fitted_tiny, tmp_path):
    fitted_tiny.task_ = fitted_tiny.task_.replace(links_from="names")
    fitted_tiny.save(tmp_path / "run")
    assert json.loads((tmp_path / "run/run.json").read_text())["links_from"] == "names"
    assert read_run(tmp_path / "run").task.links_from == "names"


def test_a_task_without_links_comes_back_with_its_names(folder, tmp_path):
    write(tmp_path, {"names": "a\tAlpha\n", "translations": "a\tFirst\nb\tSecond\n"})
    files = {"names_source": tmp_path / "names", "translations": tmp_path / "translations"}
    write(folder, {"attr_triples_1": "a\tsize\t3\n"})
    task = load_task(folder, **files, attributes=False, links_from="names")
    again = check_task(about_task(task), vocabulary(task), graph_arrays(task))
    assert "synonyms" not in vocabulary(task) and again.synonyms == ()
    assert repr(again) == repr(task) and again.links_from == "names" and again.train.shape == (0, 2)
    assert again.source.labels.rank.tolist() == [0, TRANSLATION_RANK, TRANSLATION_RANK]
    assert again.source.labels_of(0) == [("Alpha", ""), ("First", "")] and not again.source.n_attribute_triples
    with pytest.raises(ValueError, match="there is no training link"):
        check_task(about_task(task) | {"links_from": "given"}, vocabulary(task), graph_arrays(task))
    older = {name: value for name, value in about_task(task).items() if name != "links_from"}
    given = load_task(folder)
    assert check_task(older, vocabulary(given), graph_arrays(given)).links_from == "given"
