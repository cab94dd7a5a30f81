"""Links that do not fit their graphs: the cause is found and said once."""

from __future__ import annotations

from itertools import pairwise

import pytest
from conftest import write

from mixtea import DataError, load_task

S, T = "https://s.org/", "http://t.org/"
NAMES = ("Rome", "Île", "Bonn", "Oslo")
SOURCE = "".join(f'<{S}{a}> <{S}in> <{S}{b}> ; <http://www.w3.org/2000/01/rdf-schema#label> "{a} city", "town" .\n'
                 for a, b in pairwise(NAMES))  # fmt: skip
TARGET = "".join(f"<{T}{a}> <{T}in> <{T}{b}> .\n" for a, b in pairwise(NAMES))
PAIRS = [(S + name, T + name) for name in NAMES]
BOTH = ", {!r} in the links and {!r} in the source graph"


def said(tmp_path, pairs, name="l.tsv", start=""):
    """What is printed about links none of which fits."""
    write(tmp_path, {"s.ttl": SOURCE, "t.ttl": TARGET, name: start + "".join("\t".join(row) + "\n" for row in pairs)})
    with pytest.raises(DataError) as caught:
        load_task(source=tmp_path / "s.ttl", target=tmp_path / "t.ttl", links=tmp_path / name)
    first, *lines = str(caught.value).splitlines()
    assert first == f"{tmp_path / name}: 1 problem" and len(lines) == 1
    return lines[0]


def each(change, column=0):
    return [tuple(change(end) if i == column else end for i, end in enumerate(pair)) for pair in PAIRS]


CAUSES = {
    "swapped": ([pair[::-1] for pair in PAIRS], "source and target are swapped, as in line 1. Exchange the columns"),
    "one graph": ([(s, S + "Oslo") for s, _ in PAIRS], "both ends are entities of the source graph, as in line 1."),
    "http": (each(lambda id: id.replace("https", "http")), "http against https, 'http://s.org/Rome' in the links"),
    "slash": (each(lambda id: id + "/"), "a slash or # at the end" + BOTH.format(S + "Rome/", S + "Rome")),
    "space": (each(lambda id: id + " ", 1), "spaces around the ids, 'http://t.org/Rome ' in the links and 'http"),
    "brackets": (each(lambda id: f"<{id}>"), "angle brackets or quotes around the ids, '<https://s.org/Rome>'"),
    "percent": ([(S + "%C3%8Ele", T + "Île")], "percent-encoding" + BOTH.format(S + "%C3%8Ele", S + "Île")),
    "case": (each(str.upper), "capital and small letters" + BOTH.format(S.upper() + "ROME", S + "Rome")),
    "decomposed": ([(S + "I\u0302le", T + "Île")], "composed and decomposed letters (Unicode NFC, NFD)"),
    "relations": ([(S + "in", T + "in")], "ids such as 'https://s.org/in' are relations of the source graph"),
    "a prefix": (each(lambda id: id.replace(S, "x:")), "the prefix 'x:' is declared nowhere, as in 'x:Rome'. "
                 "Declare it (in SSSOM by curie_map), or write the ids in full, as 'https://s.org/Rome'."),
    "a strange prefix": ([("x:1", T + "Rome")], "the prefix 'x:' is declared nowhere, as in 'x:1'. Declare it "
                         "(in SSSOM by curie_map), or write the ids in full, as the source graph has them."),
    "labels of several": ([("town", T + "Rome")], "labels that several entities have in place of ids, 'town' in the"),
    "names": (each(lambda id: id.removeprefix(S)), "another namespace" + BOTH.format("Rome", S + "Rome")),
    "another pair": ([("http://else.org/1", T + "Rome")], "ids such as 'http://else.org/1', while the source graph"),
    "nothing": ([(S + "nobody", T + "Rome")], "line 1). Correct the ids, or name the links between"),
}  # fmt: skip


@pytest.mark.parametrize("kind", CAUSES)
def test_the_cause_is_said(kind, tmp_path):
    pairs, message = CAUSES[kind]
    assert message in said(tmp_path, pairs)


def test_the_prefixes_of_a_graph_count_for_links_to_it(tmp_path):
    write(tmp_path, {"s.ttl": f"@prefix x: <{S}> .\n" + SOURCE, "t.ttl": TARGET, "l.tsv": f"x:Rome\t{T}Rome\n"})
    task = load_task(source=tmp_path / "s.ttl", target=tmp_path / "t.ttl", links=tmp_path / "l.tsv")
    assert task.source.ids[task.train[0, 0]] == S + "Rome" and task.warnings == ()


def loaded(tmp_path, source, links):
    write(tmp_path, {"s.ttl": source, "t.ttl": TARGET, "l.tsv": links})
    return load_task(source=tmp_path / "s.ttl", target=tmp_path / "t.ttl", links=tmp_path / "l.tsv")


@pytest.mark.parametrize("namespace", ["http://purl.obolibrary.org/obo/", "http://human.owl#"])
def test_a_curie_is_the_one_entity_whose_id_ends_so(tmp_path, namespace):
    source = "".join(
        f"<{namespace}{a}> <{S}in> <{namespace}{b}> .\n" for a, b in (("MA_1", "MA_2"), ("MA_2", "NCI_C1"))
    )
    task = loaded(tmp_path, source, f"MA:1\t{T}Rome\nMA:2\t{T}Bonn\nNCI:C1\t{T}Oslo\nMA:9\t{T}Rome\n")
    assert sorted(task.source.ids[[*task.train[:, 0], *task.valid[:, 0]]]) == [
        namespace + one for one in ("MA_1", "MA_2", "NCI_C1")
    ]
    assert "1 of 4 links is left out" in task.warnings[0] and "'MA:9' (source, line 4)" in task.warnings[0]
    with pytest.raises(DataError, match="the prefix 'MA:' is declared nowhere"):  # of two nobody knows which is meant
        loaded(tmp_path, source + f"<http://other.org/MA_1> <{S}in> <{namespace}MA_2> .\n", f"MA:1\t{T}Rome\n")


def test_labels_in_a_file_are_the_entities_that_alone_have_them(tmp_path):
    links = [*each(lambda id: id.removeprefix(S) + " city")[:2], (S + "Bonn", T + "Bonn"), ("town", T + "Oslo")]
    task = loaded(tmp_path, SOURCE, "".join("\t".join(pair) + "\n" for pair in links))
    assert len(task.train) + len(task.valid) == 3
    labels, outside = (warning.removeprefix(f"{tmp_path / 'l.tsv'}: ") for warning in task.warnings)
    assert labels == (
        "2 ends are labels in place of an id, such as 'Rome city' for 'https://s.org/Rome': taken as the only "
        "entity with this label"
    )
    assert outside.startswith("1 of 4 links is left out") and "Labels that several entities have" in outside


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("l.tsv", f"{S}Rome\t{T}Rome\t0.25\n{S}Bonn\t{T}Bonn\t1\n"),
        ("l.txt", f"{S}Rome|{T}Rome|=|0.25|CLS\n{S}Bonn|{T}Bonn|=|1.0|CLS\n"),
        ("l.csv", f"source;target;Confidence\n{S}Rome;{T}Rome;0,25\n{S}Bonn;{T}Bonn;1\n"),
        ("l.jsonl", f'{{"source": "{S}Rome", "target": "{T}Rome", "score": 0.25}}\n{{"source": "{S}Bonn", "target": '
                    f'"{T}Bonn"}}\n'),
        ("l.sssom.tsv", f"subject_id\tpredicate_id\tobject_id\tconfidence\n{S}Rome\tskos:exactMatch\t{T}Rome\t0.25\n"
                        f"{S}Bonn\tskos:exactMatch\t{T}Bonn\t1\n"),
    ],
)  # fmt: skip
def test_links_that_are_less_than_sure_are_told(name, text, tmp_path):
    write(tmp_path, {"s.ttl": SOURCE, "t.ttl": TARGET, name: text})
    *_, warning = load_task(source=tmp_path / "s.ttl", target=tmp_path / "t.ttl", links=tmp_path / name).warnings
    assert warning == (
        f"{tmp_path / name}: 1 of 2 links has a confidence below 1, the least 0.25: all have the same weight. Remove "
        "those whose confidence is too low."
    )


def test_other_numbers_beside_links_are_no_confidences(tmp_path):
    write(tmp_path, {"s.ttl": SOURCE, "t.ttl": TARGET, "l.csv": f"source,target,share\n{S}Rome,{T}Rome,0.25\n"})
    assert load_task(source=tmp_path / "s.ttl", target=tmp_path / "t.ttl", links=tmp_path / "l.csv").warnings == ()


def test_a_line_above_the_links_is_left_out_as_a_header(tmp_path):
    rows = "".join("\t".join(pair) + "\n" for pair in PAIRS)
    write(tmp_path, {"s.ttl": SOURCE, "t.ttl": TARGET, "l.tsv": "mine\tyours\n" + rows})
    (warning,) = load_task(source=tmp_path / "s.ttl", target=tmp_path / "t.ttl", links=tmp_path / "l.tsv").warnings
    assert warning == (
        f"{tmp_path / 'l.tsv'}: 1 of 5 links is left out, with ends outside the graphs, such as 'mine' (source, line "
        "1), 'yours' (target, line 1). The first line may be a header. Remove it, or name the columns source and "
        "target."
    )
