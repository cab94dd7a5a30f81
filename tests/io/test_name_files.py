"""More names of a task: tables of names, translations, a dictionary; and tasks without values or links."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from conftest import LINKS, SOURCE, TARGET, benchmark_files, write

from mixtea import DataError, load_task
from mixtea.graph.labels import TRANSLATION_RANK
from mixtea.io.filter import GraphFilter
from mixtea.io.safe.limits import Limits
from mixtea.text.names import entity_names


@pytest.fixture
def own(tmp_path):
    """Load two small graphs and links, with files of this content as the options name them."""

    def load(files=(), **options):
        content = {"source": SOURCE, "target": TARGET, "links": LINKS, **dict(files)}
        write(tmp_path, {f"{name}.tsv": text for name, text in content.items()})
        return load_task(**{name: tmp_path / f"{name}.tsv" for name in content} | options)

    return load


def labels(graph):
    return {str(graph.ids[i]): [text for text, _ in graph.labels_of(i)] for i in np.unique(graph.labels.entity)}


def ranks(graph):
    return [(graph.labels.text[i], int(rank)) for i, rank in enumerate(graph.labels.rank)]


def test_names_of_both_sides(own):
    task = own({"names_source": "a\tAlpha\nb\tBeta\na\tAleph\n", "names_target": "A\tArt\n"})
    assert labels(task.source) == {"a": ["Aleph", "Alpha"], "b": ["Beta"]} and labels(task.target) == {"A": ["Art"]}
    assert set(task.source.labels.rank.tolist()) == {0} and task.warnings == ()


def test_names_in_a_benchmark_folder_join_its_own(tmp_path):
    folder = write(tmp_path / "f", benchmark_files() | {"ent_names_1": "a\tOwn\n"})
    write(tmp_path, {"n.tsv": "a\tMore\nb\tBeta\n", "t": "a\tForeign\n", "d": "beta\tB\n"})
    paths = {name: tmp_path / file for name, file in (("names_source", "n.tsv"), ("translations", "t"))}
    task = load_task(folder, **paths, dictionary=tmp_path / "d")
    assert labels(task.source) == {"a": ["More", "Own", "Foreign"], "b": ["Beta", "B"]}


def test_several_files_in_all_formats(own, tmp_path):
    write(tmp_path, {"n.csv": 'id,note,name\na,x,"Al, pha"\n', "n.tsv.gz": gzip.compress(b"b\tBeta\n")})
    pd.DataFrame({"entity": ["c"], "label": ["Gamma"]}).to_parquet(tmp_path / "n.parquet")
    task = own(names_source=[tmp_path / name for name in ("n.csv", "n.tsv.gz", "n.parquet")])
    assert labels(task.source) == {"a": ["Al, pha"], "b": ["Beta"], "c": ["Gamma"]}


def test_translations_are_shown_last_and_are_no_names_of_ones_own(own):
    task = own({"names_source": "a\tZeta\n", "translations": "a\tAlpha\na\tZeta\nb\tBeta\n"})
    assert ranks(task.source) == [("Zeta", 0), ("Alpha", TRANSLATION_RANK), ("Beta", TRANSLATION_RANK)]
    assert task.source.label(0) == "Zeta" and task.source.label(1) == "Beta"
    entity, texts = entity_names(task.source)
    assert list(zip(entity.tolist(), texts.tolist(), strict=True))[:4] == [
        (0, "Zeta"), (0, "Alpha"), (1, "Beta"), (1, "b")
    ]  # fmt: skip
    assert not len(task.target.labels)


def test_a_dictionary_translates_labels_and_else_ids(own):
    files = {"names_source": "a\t東京站\na\tUnknown\nb\t\n", "translations": "c\tStation\n"}
    task = own(files | {"dictionary": "東京\tTokyo\n站\tStation\nb\tBee\nc\tSea\nstation\tnever\n"})
    assert labels(task.source) == {
        "a": ["Unknown", "東京站", "Tokyo Station"], "b": ["Bee"], "c": ["Sea", "Station"]
    }  # fmt: skip
    assert dict(ranks(task.source)) == {
        "Unknown": 0, "東京站": 0, "Tokyo Station": TRANSLATION_RANK, "Bee": TRANSLATION_RANK, "Sea": TRANSLATION_RANK,
        "Station": TRANSLATION_RANK,
    }  # fmt: skip


def test_what_a_dictionary_cannot_do_is_said(own, tmp_path):
    task = own({"dictionary": "zz\tZ\n...\tx\n"})
    path = tmp_path / "dictionary.tsv"
    assert task.warnings == (
        f"{path}: 1 entry is left out, without a word or with more than 200 characters or 32 words",
        f"{path}: no name of the source has a word that is in the dictionary",
    )
    assert "2 entries are left out" in own({"dictionary": "a\tZ\n...\tx\n...\ty\n"}).warnings[0]


def test_ids_that_are_not_in_the_graph_are_one_warning(own, tmp_path):
    path = tmp_path / "names_source.tsv"
    task = own({"names_source": "a\tAlpha\nx\tX\ny\x1b\tY\n"})
    said = "2 names are left out, of entities that the source graph does not have, such as 'x'"
    assert task.warnings == (f"{path}: {said}",) and labels(task.source) == {"a": ["Alpha"]}
    (said,) = own({"names_source": "a\tAlpha\n\x1b[31m\u202e\tX\n"}).warnings
    assert "1 name is left out, of an entity that" in said and said.endswith(r"such as '\x1b[31m\u202e'")


@pytest.mark.parametrize(
    "option, text, message",
    [
        ("names_source", "x\tX\ny\tY\n", "line 1: the source graph has none of the 2 ids, such as 'x'. Write ids as"),
        ("names_target", "a\tX\n", "line 1: the target graph has no 'a'. Write ids as the graph has them"),
        ("translations", "A\tX\n", "line 1: the source graph has no 'A'"),
        ("translations", "a\tX\ty\n", "line 1: 3 columns"),
        ("translations", "\tX\n", "line 1: column 1 is empty"),
        ("dictionary", "a\n", "line 1: 1 column 'a'"),
        ("dictionary", "", "the file is empty"),
        ("names_source", b"a\t\xff\n", "line 1: byte ff is not UTF-8"),
        ("names_source", b"a\t\xed\xa0\x80\n", "line 1: byte ed is not UTF-8"),
    ],
)
def test_what_is_wrong_with_a_file(own, option, text, message):
    with pytest.raises(DataError) as caught:
        own({option: text})
    assert f"{option}.tsv: 1 problem" in str(caught.value) and message in str(caught.value)


def test_problems_of_names_come_with_those_of_graphs(own, tmp_path):
    with pytest.raises(DataError) as caught:
        own({"names_source": "x\tX\n", "dictionary": "a\tb\n", "source": "a\tr\n"})
    assert "source.tsv: 1 problem" in str(caught.value) and "names_source" not in str(caught.value)
    (tmp_path / "n.ttl").write_text("<a:a> <a:b> <a:c> .")
    with pytest.raises(DataError, match=r"n\.ttl: 1 problem\n  Turtle holds no table of names\. Write a table of two"):
        own(names_source=tmp_path / "n.ttl")
    with pytest.raises(DataError, match="no such file"):
        own(dictionary=tmp_path / "nothing")


def test_long_and_blank_texts(own):
    long = "x" * 10**6
    task = own({"names_source": f"a\t{long}\nb\t\nc\t \n", "dictionary": f"x\t{long}\n{long}\ty\nd\tDee\n"})
    assert labels(task.source) == {"a": [long], "d": ["Dee"]}
    with pytest.raises(DataError, match="beyond the limit max_token_mib"):
        own({"names_source": f"a\t{long}x{long}\n"}, limits=Limits(max_token_mib=1))


def test_names_of_entities_that_are_left_out_are_no_problem(own):
    less, links = GraphFilter(drop_predicates=["r"]), {"links": "c\tC\nd\tD\n"}
    assert labels(own({"names_source": "a\tAlpha\n"} | links, graph_filter=less).source) == {"a": ["Alpha"]}
    task = own({"names_source": "b\tBeta\n"} | links, graph_filter=less)
    assert labels(task.source) == {} and task.warnings == ()


def test_the_language_of_labels_is_asked_for(own, tmp_path):
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    write(tmp_path, {"s.nt": f'<x:a> <x:r> <x:b> .\n<x:a> {label} "dog"@en .\n<x:a> {label} "Hund"@de .\n'})
    options, links = dict(source=tmp_path / "s.nt", graph_filter=GraphFilter(languages=("de",))), "x:a\tA\n"
    assert labels(own({"names_source": "x:a\tzzz\n", "links": links}, **options).source) == {
        "x:a": ["Hund", "zzz", "dog"]
    }


def test_without_attributes_labels_stay(own, tmp_path):
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    write(tmp_path, {"s.nt": f'<x:a> <x:r> <x:b> .\n<x:a> {label} "dog" .\n<x:c> <x:size> "3" .\n'})
    given = dict(files={"links": "x:a\tA\n"}, source=tmp_path / "s.nt")
    assert own(**given).source.n_attribute_triples == 2
    task = own(**given, attributes=False)
    assert task.source.n_attribute_triples == 0 and task.source.attributes_of(0) == []
    assert labels(task.source) == {"x:a": ["dog"]} and task.source.ids.tolist() == ["x:a", "x:b", "x:c"]
    folder = write(tmp_path / "f", benchmark_files() | {"attr_triples_2": "A\tsize\t3\n"})
    assert load_task(folder).target.n_attribute_triples == 1
    assert load_task(folder, attributes=False).target.n_attribute_triples == 0


def test_a_folder_without_links_to_learn_from(tmp_path):
    """What train_links and valid_links hold is not even looked at."""
    files = benchmark_files() | {"721_5fold/1/train_links": "broken", "721_5fold/1/valid_links": b"\xff"}
    task = load_task(write(tmp_path / "f", files), links_from="names")
    assert task.train.shape == task.valid.shape == (0, 2) and task.train.dtype == task.valid.dtype == np.int64
    assert len(task.test) == 2 and task.links_from == "names" and task.fold == 1
    assert repr(task).endswith("; links from names: 0 train, 0 valid, 2 test)")


def test_own_graphs_without_links(own, tmp_path):
    task = own(links=None, links_from="names")
    assert [len(getattr(task, split)) for split in ("train", "valid", "test", "rejected")] == [0, 0, 0, 0]
    task = own(links=None, links_from="names", test_links=tmp_path / "links.tsv")
    assert [len(getattr(task, split)) for split in ("train", "valid", "test")] == [0, 0, 5]
    assert task.links_from == "names" and own().links_from == "given" and own(links=None).links_from == "names"


@pytest.mark.parametrize(
    "call, message",
    [
        (dict(links="l", links_from="names"), "Links are given, or found by names"),
        (dict(valid_links="l", links_from="names"), "Links are given, or found by names"),
        (dict(links_from="nowhere"), "links_from is 'nowhere'. Choose one of given, names, ids."),
        (dict(valid_links="l"), r"Missing: links\.$"),
        (dict(source=None, links_from="names"), r"Missing: source\.$"),
    ],
)
def test_wrong_calls(call, message):
    with pytest.raises(DataError, match=message):
        load_task(**dict(source="s", target="t") | call)


def test_rejected_pairs_alone_teach_nothing(own, tmp_path):
    rows = "subject_id\tpredicate_id\tobject_id\tpredicate_modifier\na\towl:sameAs\tA\tNot\n"
    write(tmp_path, {"r.sssom.tsv": rows})
    with pytest.raises(DataError, match="add some, or find them by names"):
        own(links=tmp_path / "r.sssom.tsv")
