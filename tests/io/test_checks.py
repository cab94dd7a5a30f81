"""What `inspect` tells of a task, and what it warns of."""

from __future__ import annotations

import json

from conftest import LINKS, SOURCE, TARGET, write
from small_files import E

from mixtea import load_task
from mixtea.io.checks import summary, task_warnings
from mixtea.runs.folder import graph_arrays, vocabulary
from mixtea.runs.validate import check_task

TTL = f"""@prefix : <{E}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:a :r :b ; rdfs:label "Alpha" . :b :r :c . :b :s [ :s :d ] . :lonely :size 3 .
"""


def task_of(tmp_path, source=TTL, target=TARGET, links=f"{E}a\tA\n{E}b\tB\n", **options):
    write(tmp_path, {"s.ttl": source, "t.tsv": target, "l.tsv": links})
    own = dict(source=tmp_path / "s.ttl", target=tmp_path / "t.tsv", links=tmp_path / "l.tsv")
    return load_task(**own, **options)


def test_the_summary_of_a_graph(tmp_path):
    found = summary(task_of(tmp_path))["source"]
    assert (found["entities"], found["triples"], found["attribute_triples"]) == (5, 3, 2)
    assert (found["kinds"], found["isolated_entities"], found["label_coverage"]) == ({}, 1, 1 / 5)
    assert (found["labels"], found["languages"]) == (1, {"": 1})
    assert found["top_relations"] == [{"relation": ":r", "triples": 2}, {"relation": ":s", "triples": 1}]
    assert found["files"] == [
        {"path": str(tmp_path / "s.ttl"), "format": "Turtle", "triples": 3, "attribute_triples": 2}
    ]


def test_a_graph_of_literals_only(tmp_path):
    """Names and values decide there: what hurts structure hurts nobody."""
    assert task_warnings(task_of(tmp_path, f"<{E}a> <{E}size> 3 . <{E}b> <{E}size> 4 .")) == []


def test_links_that_teach_little(tmp_path):
    found = task_warnings(task_of(tmp_path, links=f"{E}a\tA\n{E}lonely\tB\n{E}a\tC\n"))
    assert "1 of 3 links go to a source entity without a relation triple" in found


def test_labels_that_differ_by_spaces(tmp_path):
    found = task_warnings(task_of(tmp_path, target=TARGET + "A \tr\t B\n Z\tr \tB\n"))
    assert "2 target entities differ from others by spaces alone, such as 'A '" in found
    assert "1 target relations differ from others by spaces alone, such as 'r '" in found
    assert not any("spaces" in doubt for doubt in task_warnings(task_of(tmp_path, target=TARGET + " Z\tr\tB\n")))


def test_a_long_label_is_cut_in_a_warning(tmp_path):
    long = "x" * 10**5
    (found,) = (
        doubt for doubt in task_warnings(task_of(tmp_path, target=f"{TARGET}{long}\tr\t{long} \n")) if "spaces" in doubt
    )
    assert found.endswith("x...'") and len(found) < 200


def test_inspect_of_own_files(tmp_path, mixtea):
    more = f"<{E}c> <{E}r> <{E}d> ."
    write(tmp_path, {"s.ttl": TTL, "more.nt": more, "t.tsv": TARGET, "l.tsv": f"{E}a\tA\n{E}b\tB\n"})
    files = ("--source", tmp_path / "s.ttl", "--source", tmp_path / "more.nt", "--target", tmp_path / "t.tsv")
    options = ("--links", tmp_path / "l.tsv", "--drop-predicates", ":s", "--language", "de", "--device", "cpu")
    code, out, _ = mixtea("inspect", *files, *options, "--json")
    found = json.loads(out)
    assert code == 0 and [file["format"] for file in found["source"]["files"]] == ["Turtle", "N-Triples"]
    assert found["source"]["top_relations"] == [{"relation": ":r", "triples": 3}]
    code, out, _ = mixtea("inspect", *files, *options)
    words = " ".join(out.split())
    assert code == 0 and "N-Triples" in words and "Most frequent relations" in words and "entities:" not in words
    assert "entities with a label: 20%" in words and "links: 2 train, 0 valid, 0 test" in words


def test_inspect_of_a_folder_names_its_files(folder, mixtea):
    found = json.loads(mixtea("inspect", folder, "--json", "--device", "cpu")[1])
    assert found["target"]["files"][0]["path"] == str(folder / "rel_triples_2")


def test_prefixes_survive_in_a_run(tmp_path):
    task = task_of(tmp_path)
    kept = json.loads(json.dumps(vocabulary(task)))
    about = {"task": task.name, "fold": None}
    again = check_task(about, kept, graph_arrays(task))
    assert again.source.prefixes == task.source.prefixes and again.source.display(1) == ":b"
    for side in kept.values():
        del side["prefixes"]
    assert check_task(about, kept, graph_arrays(task)).source.display(1) == E + "b"


def test_a_task_without_doubts_about_its_graphs(tmp_path):
    write(tmp_path, {"s": SOURCE, "t": TARGET, "l": LINKS})
    task = load_task(source=tmp_path / "s", target=tmp_path / "t", links=tmp_path / "l")
    assert [doubt.split(":")[0] for doubt in task_warnings(task)] == [
        "only 4 train links",
        "only 1 valid links",
    ]
