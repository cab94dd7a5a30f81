"""Benchmark folders and a user's own files, under the data rules."""

from __future__ import annotations

import json

import numpy as np
import pytest
from conftest import LINKS, SOURCE, TARGET, benchmark_files, make_graph, write

from mixtea import DataError, Task, load_graph, load_task
from mixtea.graph.task import MULTI_TARGET_SHARE
from mixtea.io import head
from mixtea.io.checks import summary
from mixtea.io.filter import GraphFilter
from mixtea.io.safe.limits import Limits


def own(tmp_path, **files):
    names = {"source": SOURCE, "target": TARGET, "links": LINKS} | files
    write(tmp_path, names)
    return load_task(**{name: tmp_path / name for name in names})


def labels(task, links):
    return [(task.source.ids[s], task.target.ids[t]) for s, t in links]


def test_a_benchmark_folder(tiny):
    assert repr(tiny) == (
        "Task(tiny, fold 1: 5 entities, 2 relations, 5 triples <-> 5 entities, 2 relations, 5 triples; "
        "links: 2 train, 1 valid, 2 test)"
    )
    assert labels(tiny, tiny.train) == [("a", "A"), ("b", "B")]
    assert labels(tiny, tiny.valid) == [("c", "C")]
    assert labels(tiny, tiny.test) == [("d", "D"), ("e", "E")]
    assert tiny.source.ids[tiny.source.triples[0, 2]] == "b"


def test_entities_of_attributes_and_links_belong_too(tmp_path):
    files = benchmark_files() | {"attr_triples_1": "x\tname\tvalue\twith tab\n", "ent_links": LINKS + "y\tY\n"}
    task = load_task(write(tmp_path, files))
    assert task.source.ids.tolist() == ["a", "b", "c", "d", "e", "x", "y"]
    assert task.source.isolated().tolist() == [False] * 5 + [True] * 2
    assert summary(task)["source"]["isolated_entities"] == 2


FULL = "http://www.w3.org/2004/02/skos/core#prefLabel"


@pytest.mark.parametrize("attributes", [True, False])
def test_labels_among_attributes_are_names_as_in_rdf(tmp_path, attributes):
    said = f"a\trdfs:label\tAlpha\na\tschema:alternateName\tFirst\nb\t{FULL}\tBeta\nb\tsize\t3\nc\tlabel\tCe\n"
    files = benchmark_files() | {"attr_triples_1": said, "ent_names_1": "b\tBee\n"}
    graph = load_task(write(tmp_path, files), attributes=attributes).source
    assert [graph.labels_of(i) for i in range(3)] == [[("Alpha", ""), ("First", "")], [("Bee", ""), ("Beta", "")], []]
    assert graph.n_attribute_triples == 5 * attributes


def test_unlabelled_are_those_without_a_training_link_that_have_a_triple(tmp_path):
    task = load_task(write(tmp_path, benchmark_files() | {"ent_links": LINKS + "y\tY\n"}))
    source, target = task.unlabelled()
    assert task.source.ids[source].tolist() == ["c", "d", "e"]
    assert task.target.ids[target].tolist() == ["C", "D", "E"]


def test_without_validation_links_a_third_of_the_training_links_validate(tmp_path):
    files = {k: v for k, v in benchmark_files().items() if not k.startswith("721")}
    links = LINKS.splitlines(keepends=True)
    files |= {"split_60_40/train_links": "".join(links[:3]), "split_60_40/test_links": "".join(links[3:])}
    task = load_task(write(tmp_path, files))
    assert (len(task.train), len(task.valid), len(task.test)) == (2, 1, 2)
    assert {*labels(task, task.train), *labels(task, task.valid)} == {("a", "A"), ("b", "B"), ("c", "C")}
    again = load_task(tmp_path)
    assert np.array_equal(again.valid, task.valid)


def test_own_links_are_split_80_to_20(tmp_path):
    task = own(tmp_path)
    assert (len(task.train), len(task.valid), len(task.test)) == (4, 1, 0)


def test_own_validation_and_test_links(tmp_path):
    lines = LINKS.splitlines(keepends=True)
    task = own(tmp_path, links="".join(lines[:2]), valid_links=lines[2], test_links="".join(lines[3:]))
    assert (len(task.train), len(task.valid), len(task.test)) == (2, 1, 2)


def test_several_files_of_links(tmp_path):
    lines = LINKS.splitlines(keepends=True)
    write(tmp_path, {"source": SOURCE, "target": TARGET} | {f"l{i}": line for i, line in enumerate(lines)})
    paths = [tmp_path / f"l{i}" for i in range(5)]
    graphs = {"source": tmp_path / "source", "target": tmp_path / "target"}
    task = load_task(**graphs, links=paths[:2], valid_links=[str(paths[2])], test_links=tuple(paths[3:]))
    assert labels(task, task.train) == [("a", "A"), ("b", "B")] and labels(task, task.valid) == [("c", "C")]
    assert labels(task, task.test) == [("d", "D"), ("e", "E")] and task.rejected.shape == (0, 2)
    again = load_task(**graphs, links=[*paths[:3], paths[0]])
    assert len(again.train) + len(again.valid) == 3
    assert again.warnings == (f"{paths[0]}: 1 repeated link, used once",)
    with pytest.raises(DataError, match="line 1: the link is also in l0, line 1"):
        load_task(**graphs, links=paths[:2], test_links=[paths[4], paths[0]])


def test_the_command_takes_several_files_of_links(tmp_path, mixtea):
    lines = LINKS.splitlines(keepends=True)
    write(
        tmp_path,
        {"s": SOURCE, "t": TARGET, "l1": lines[0], "l2": lines[1], "v": lines[2], "x": lines[3], "y": lines[4]},
    )
    options = "--source s --target t --links l1 --links l2 --valid-links v --test-links x --test-links y"
    words = [tmp_path / word if not word.startswith("--") else word for word in options.split()]
    code, out, _ = mixtea("inspect", *words, "--device", "cpu", "--json")
    assert code == 0 and json.loads(out)["links"] == {"train": 2, "valid": 1, "test": 2}


def test_a_repeated_link_is_a_warning(tmp_path):
    task = own(tmp_path, links=LINKS + "a\tA\n")
    assert len(task.train) + len(task.valid) == 5
    assert task.warnings == (f"{tmp_path / 'links'}: 1 repeated link, used once",)


def test_several_links_of_an_entity_are_kept_and_told(tmp_path):
    task = own(tmp_path, links=LINKS + "a\tB\n")
    assert len(task.train) + len(task.valid) == 6 and task.source.ids[task.multi_target_sources].tolist() == ["a"]
    assert task.warnings == (
        "1 source entity is linked to several targets, such as 'a': all these links are kept",
        "1 target entity is linked to several sources, such as 'B': all these links are kept",
    )
    assert not len(own(tmp_path, links=LINKS).multi_target_sources)
    shared = own(tmp_path, links=LINKS.replace("b\tB", "b\tA"), test_links="a\tC\n")
    assert not len(shared.multi_target_sources) and len(shared.warnings) == 2


@pytest.fixture
def twelve():
    """Twelve a side; 0 to 9 train, 10 and 11 validate."""
    graphs = [make_graph([(i, 0, i + 1) for i in range(11)], 12, side) for side in "st"]
    links = np.repeat(np.arange(12), 2).reshape(-1, 2)
    return Task.of_two("twelve", *graphs, links[:10], links[10:], links[:0])


def test_a_source_that_has_several_targets_may_have_more_and_others_may_not(twelve):
    task = twelve.replace(train=np.concatenate([twelve.train, [[3, 4]]]))
    assert task.multi_target_sources.tolist() == [3] and 0 < task.multi_target_share < MULTI_TARGET_SHARE
    assert task.may_have_multiple_targets(np.array([2, 3, 11, -1])).tolist() == [False, True, False, False]
    assert task.multi_target_ids == {"s3"}
    assert task.closed_entities(0).tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9] and len(task.closed_entities(1)) == 11


def test_the_second_target_may_be_of_a_validation_link(twelve):
    task = twelve.replace(valid=np.concatenate([twelve.valid, [[3, 10]]]))
    assert task.multi_target_ids == {"s3"} and 3 not in task.closed_entities(0)


def test_where_many_sources_have_several_targets_any_may(twelve):
    task = twelve.replace(train=np.concatenate([twelve.train, [[3, 4], [5, 6]]]))
    assert task.multi_target_share >= MULTI_TARGET_SHARE and not len(task.closed_entities(0))
    assert task.may_have_multiple_targets(np.array([2, 3, 11, -1])).tolist() == [True, True, True, False]
    assert task.multi_target_ids == {f"s{i}" for i in range(12)}


def test_without_links_no_source_may_have_several_targets(twelve):
    task = twelve.replace(train=twelve.train[:0], valid=twelve.valid[:0], links_from="names")
    assert task.multi_target_share == 0 and task.multi_target_ids == frozenset() and not len(task.closed_entities(0))


def test_several_links_in_a_benchmark_folder(tmp_path):
    more = LINKS.replace("d\tD", "d\tE")
    task = load_task(write(tmp_path, benchmark_files() | {"ent_links": more}))
    assert "1 target entity is linked to several sources, such as 'E': all these links are kept" in task.warnings


def test_links_outside_the_graphs_are_left_out_with_examples(tmp_path):
    task = own(tmp_path, links=LINKS + "zz\tA\nzz\tZ\n")
    assert len(task.train) + len(task.valid) == 5
    assert task.warnings == (
        f"{tmp_path / 'links'}: 2 of 7 links are left out, with ends outside the graphs, such as 'zz' (source, line "
        "6), 'zz' (source, line 7), 'Z' (target, line 7). Correct the ids; the others count.",
    )
    with pytest.raises(DataError) as caught:
        load_task(**{name: tmp_path / name for name in ("source", "target", "links")}, strict=True)
    assert "links: 3 problems\n  line 6: the source graph has no entity 'zz'" in str(caught.value)


def test_problems_of_several_files_come_together(tmp_path):
    files = benchmark_files() | {"rel_triples_1": SOURCE + "a\n", "721_5fold/1/test_links": "d\tD\nzz\tE\n"}
    with pytest.raises(DataError) as caught:
        load_task(write(tmp_path, files), strict=True)
    message = str(caught.value)
    assert "rel_triples_1: 1 problem\n  line 6: 1 column 'a'" in message
    assert "test_links: 1 problem\n  line 2: the source graph has no entity 'zz'" in message


def test_the_order_of_entities_does_not_follow_the_links(tmp_path):
    """Entities that only links name are numbered the same whichever way they are linked."""
    files = benchmark_files()
    first = load_task(write(tmp_path / "1", files | {"ent_links": LINKS + "x\tX\ny\tY\n"}))
    second = load_task(write(tmp_path / "2", files | {"ent_links": "y\tX\nx\tY\n" + LINKS}))
    assert first.source.ids.tolist() == second.source.ids.tolist()
    assert first.target.ids.tolist() == second.target.ids.tolist()


@pytest.mark.parametrize(
    "call, message",
    [
        (dict(folder="x", source="y"), "not both"),
        (dict(source="y"), "Missing: target"),
        (dict(source="y", target="z", links="l", fold=2), "Folds belong"),
        (dict(source=[], target="z", links="l"), "Missing: source"),
        (dict(source="a.n3", target="z", links="l"), "Notation3 is not read"),
        (dict(folder="x", graph_filter=GraphFilter(keep_types=["dbo:Person"])), "read as a whole"),
    ],
)
def test_wrong_calls(call, message):
    with pytest.raises(DataError, match=message):
        load_task(**call)


def test_labels_are_for_display(tmp_path):
    task = load_task(write(tmp_path, benchmark_files() | {"ent_names_1": "a\tAlpha\n"}))
    assert task.source.display(0) == "Alpha" and task.source.display(1) == "b"


def test_attribute_values_of_a_folder_are_kept_as_they_are(tmp_path):
    values = ["NA", "null", "1e5", "007", '"quoted"', " spaces ", "a\ttab", "", "Größe \U0001f600"]
    rows = "".join(f"a\tp\t{value}\n" for value in values) + "x\tq\tNA\na\tp\tNA\n"
    graph = load_task(write(tmp_path, benchmark_files() | {"attr_triples_1": rows})).source
    assert graph.attributes_of(0) == [("p", value, "", "") for value in values]
    assert graph.attributes_of(5) == [("q", "NA", "", "")] and graph.attributes_of(1) == []
    assert graph.n_attribute_triples == 10 and graph.files[1].n_attribute_triples == 11  # a graph is a set
    assert len(graph.labels) == 0


def test_all_labels_of_a_folder_are_kept(tmp_path):
    rows = "b\tBeta\na\tNA\na\tAlpha\na\tNA\nnobody\tN\nc\t \n"
    graph = load_task(write(tmp_path, benchmark_files() | {"ent_names_1": rows})).source
    assert graph.labels_of(0) == [("Alpha", ""), ("NA", "")] and graph.labels_of(1) == [("Beta", "")]
    assert graph.labels_of(2) == [] and graph.label(2) is None and graph.display(2) == "c"
    assert len(graph.labels) == 3 and graph.ids.tolist() == list("abcde")


def test_a_table_of_labels_that_cannot_be_read_is_told_with_the_rest(tmp_path):
    files = benchmark_files() | {"ent_names_1": "a\n", "rel_triples_2": "A\n"}
    with pytest.raises(DataError) as caught:
        load_task(write(tmp_path, files))
    assert "ent_names_1: 1 problem" in str(caught.value) and "rel_triples_2: 1 problem" in str(caught.value)


def test_empty_attributes_and_labels_are_no_problem(tmp_path):
    task = load_task(write(tmp_path, benchmark_files() | {"attr_triples_1": "", "ent_names_2": ""}))
    assert task.source.n_attribute_triples == 0


def test_warnings_are_logged(tmp_path, caplog):
    load_task(write(tmp_path, benchmark_files() | {"ent_links": LINKS + "a\tA\n"}))
    assert "ent_links: 1 repeated link, used once" in caplog.text


def test_labels_are_found_as_they_are():
    """Not by way of another kind of text, which could not hold this one and would hold all of them twice."""
    graph = make_graph([(0, 0, 1)], 2)
    graph.ids[0] = "half \udc80"
    assert graph.find(np.array(["e1", "half \udc80", "none"], dtype=object)).tolist() == [1, 0, -1]


def test_long_labels_and_many_strangers_make_a_short_message(tmp_path):
    """Of links outside the graphs only as many are told as are kept, and the others are counted."""
    long = "x" * 10**5
    files = {
        "s": "".join(f"{i}\tr\tt\n" for i in range(50)), "t": f"{long}1\tr\tt\n{long}2\tr\tt\n",
        "l": "".join(f"{i}\t{long}3\n{i}\t{long}4\n" for i in range(50)),
    }  # fmt: skip
    write(tmp_path, files)
    graphs = dict(source=tmp_path / "s", target=tmp_path / "t", links=tmp_path / "l")
    with pytest.raises(DataError) as caught:
        load_task(**graphs, strict=True, limits=Limits(max_problems=20))
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'l'}: 100 problems\n") and len(message) < 2000
    with pytest.raises(DataError, match="none of its 100 links fits the graphs") as caught:
        load_task(**graphs)
    assert len(str(caught.value)) < 2000


def test_a_link_in_two_splits_is_cut_too(folder):
    long = "x" * 10**5
    for name, text in (("rel_triples_1", f"{long}\tr\ta\n"), ("rel_triples_2", f"{long}\tr\tA\n")):
        (folder / name).write_text((folder / name).read_text() + text)
    (folder / "ent_links").write_text((folder / "ent_links").read_text() + f"{long}\t{long}\n")
    for split in ("train", "test"):
        path = folder / "721_5fold" / "1" / f"{split}_links"
        path.write_text(path.read_text() + f"{long}\t{long}\n")
    with pytest.raises(DataError, match="the link is also in train_links, line 3: 'xxx") as caught:
        load_task(folder)
    assert len(str(caught.value)) < 1000


def test_the_triples_of_an_entity():
    """As head and as tail; one with itself is both."""
    graph = make_graph([(0, 0, 1), (2, 1, 0), (0, 1, 0)], 4)
    found = [[part.tolist() for part in graph.triples_of(entity)] for entity in range(4)]
    assert found[0] == [[[0, 0, 1], [0, 1, 0]], [[2, 1, 0], [0, 1, 0]]]
    assert found[1:] == [[[], [[0, 0, 1]]], [[[2, 1, 0]], []], [[], []]]


def test_a_graph_that_was_loaded_is_the_same_as_its_file(tmp_path):
    write(tmp_path, {"a.csv": "id,title,in\n1,Rome,Italy\n2,Paris,France\n", "b.csv": "id,name\nx,Rome\ny,Paris\n"})
    graph = load_graph(tmp_path / "a.csv", name_column="title")
    task = load_task(source=graph, target=load_graph(tmp_path / "b.csv"))
    own = load_task(source=tmp_path / "a.csv", target=tmp_path / "b.csv", name_column="title")
    for mine, theirs in ((task.source, own.source), (task.target, own.target)):
        assert [mine.labels_of(i) for i in range(2)] == [theirs.labels_of(i) for i in range(2)]
        assert [mine.attributes_of(i) for i in range(2)] == [theirs.attributes_of(i) for i in range(2)]
        assert mine.ids.tolist() == theirs.ids.tolist()


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda graph: load_graph(None), "load_graph needs a graph"),
        (lambda graph: load_graph([graph, "more.tsv"]), "read already"),
        (
            lambda graph: load_task(source=graph, target=graph, graph_filter=GraphFilter(literals=("in",))),
            "read already",
        ),
        (lambda graph: load_task(source=graph, target=graph, columns={"in": "ignore"}), "read already"),
        (lambda graph: load_task(source=graph, target=graph, links=graph), "links are pairs of ids, not a graph"),
        (lambda graph: load_graph("no/such.tsv"), "no such file"),
        (lambda graph: load_graph("a.tsv", graph_filter="in"), "graph_filter is an object of type str"),
        (lambda graph: load_graph("a.tsv", limits=5), "limits is an object of type int"),
    ],
)
def test_what_cannot_be_done_with_a_graph_that_was_loaded(call, message):
    with pytest.raises(DataError, match=message):
        call(load_graph([("Rome", "in", "Italy"), ("Paris", "in", "France")]))


def test_the_beginning_of_each_file_is_read_once_per_task(tmp_path, monkeypatch):
    """However many ask for its format, encoding, separator and columns; and anew for the next task."""
    read, real = [], head._read_head
    monkeypatch.setattr(head, "_read_head", lambda path: read.append(path.name) or real(path))
    own(tmp_path)
    assert sorted(read) == ["links", "source", "target"]
    write(tmp_path, {"source": SOURCE.replace("\t", "|")})
    assert load_task(**{name: tmp_path / name for name in ("source", "target", "links")}).source.n_triples
    assert sorted(read[3:]) == ["links", "source", "target"]
