"""Links that do not fit their graphs: the cause is found and said once."""

from __future__ import annotations

from itertools import pairwise

import pytest
from conftest import write

from mixtea import DataError, load_task

S, T = "https://s.org/", "http://t.org/"
NAMES = ("Rome", "Île", "Bonn", "Oslo")
SOURCE = "".join(f'<{S}{a}> <{S}in> <{S}{b}> ; <http://www.w3.org/2000/01/rdf-schema#label> "{a} city" .\n'
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
    "labels": (each(lambda id: id.removeprefix(S) + " city")[:3], "labels in place of ids, 'Rome city' in the links"),
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


def test_a_line_above_the_links_is_left_out_as_a_header(tmp_path):
    rows = "".join("\t".join(pair) + "\n" for pair in PAIRS)
    write(tmp_path, {"s.ttl": SOURCE, "t.ttl": TARGET, "l.tsv": "mine\tyours\n" + rows})
    (warning,) = load_task(source=tmp_path / "s.ttl", target=tmp_path / "t.ttl", links=tmp_path / "l.tsv").warnings
    assert warning == (
        f"{tmp_path / 'l.tsv'}: 1 of 5 links is left out, with ends outside the graphs, such as 'mine' (source, line "
        "1), 'yours' (target, line 1). The first line may be a header. Remove it, or name the columns source and "
        "target."
    )
