"""Links that stand in the file of a graph."""

from __future__ import annotations

import pytest
from conftest import write
from small_files import triples_of

from mixtea import DataError, load_task
from mixtea.io.checks import task_warnings

OWL = "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
PREFIXES = OWL + "@prefix s: <http://s.org/> . @prefix t: <http://t.org/> . @prefix d: <http://d.org/> .\n"
SOURCE = PREFIXES + "s:a s:r s:b . s:b s:r s:c . s:c s:name 'C' .\n"
TARGET = PREFIXES + "t:A t:r t:B . t:B t:r t:C .\n"
HELD = """s:a owl:equivalentClass t:A . s:b owl:sameAs t:B . s:a owl:sameAs d:a . s:a owl:sameAs s:b .
s:c owl:equivalentClass [ a owl:Restriction ] ; skos:closeMatch t:Z .
"""


def task_of(tmp_path, source, target, links, **more):
    write(tmp_path, {"s.ttl": source, "t.ttl": target})
    files = [tmp_path / name for name in links.split()]
    return load_task(source=tmp_path / "s.ttl", target=tmp_path / "t.ttl", links=files, **more)


def links_of(task):
    links = [*task.train.tolist(), *task.valid.tolist()]
    return sorted((task.source.shorten(task.source.ids[s]), task.target.shorten(task.target.ids[t])) for s, t in links)


def shown(graph):
    found = [tuple(map(graph.shorten, triple)) for triple in triples_of(graph)]
    return [triple for triple in found if not any(end.startswith("_:") for end in triple)]


@pytest.mark.parametrize("back", ["", "t:A owl:equivalentClass s:a . t:C skos:exactMatch s:c .\n"])
def test_links_of_a_graph_are_no_triples_of_it(back, tmp_path):
    task = task_of(tmp_path, SOURCE + HELD, TARGET + back, "s.ttl t.ttl" if back else "s.ttl")
    assert links_of(task) == [("s:a", "t:A"), ("s:b", "t:B"), *([("s:c", "t:C")] if back else [])]
    same, close = "owl:sameAs", "skos:closeMatch"
    left = [("s:a", same, "d:a"), ("s:a", same, "s:b"), ("s:c", close, "t:Z")]
    assert shown(task.source) == [("s:a", "s:r", "s:b"), ("s:b", "s:r", "s:c"), *left]
    assert shown(task.target) == [("t:A", "t:r", "t:B"), ("t:B", "t:r", "t:C")]
    assert not {"http://t.org/A", "http://t.org/B"} & {*task.source.ids}
    assert len(task.source.kinds) in (0, task.source.n_entities)
    assert "http://t.org/Z" in task.source.ids and task.source.label(2) == "C"
    assert (
        task.warnings[0] == f"{tmp_path / 's.ttl'}: 2 links between the graphs are taken out of the graph that it holds"
    )
    assert not any("graph too" in doubt for doubt in task_warnings(task))


def test_links_of_a_graph_that_lead_elsewhere_are_an_error(tmp_path):
    with pytest.raises(
        DataError, match=r"its only link does not fit the graphs: both ends are entities of the source graph"
    ):
        task_of(tmp_path, SOURCE + "s:a owl:sameAs d:a .", TARGET, "s.ttl")
    with pytest.raises(DataError, match=r"no links among its 3 other statements\. Links are .* is it a graph\?"):
        task_of(tmp_path, SOURCE, TARGET, "s.ttl")
    assert task_of(tmp_path, SOURCE, TARGET, "").links_from == "names"


def test_links_that_are_triples_are_doubted(tmp_path):
    write(tmp_path, {"l.tsv": "http://s.org/a\thttp://t.org/A\nhttp://s.org/b\thttp://t.org/B\n"})
    task = task_of(tmp_path, SOURCE + HELD, TARGET, "l.tsv")
    (held,) = (doubt for doubt in task_warnings(task) if "graph too" in doubt)
    assert held == (
        "2 links are triples of the source graph too, such as of owl:equivalentClass: what is to be found is "
        "there, and scores will be too high; name the graph's file as links, or leave such triples out "
        "(--drop-predicates owl:equivalentClass)"
    )
    (equal,) = (doubt for doubt in task_warnings(task) if "the same IRI" in doubt)
    assert equal.startswith("2 entities have the same IRI in both graphs, such as 'http://t.org/A': that alone does")


def test_files_given_twice_are_doubted(tmp_path):
    write(tmp_path, {"s.ttl": SOURCE, "t.ttl": TARGET + "s:a t:r t:A .", "l.tsv": "http://s.org/a\thttp://s.org/a\n"})
    twice = [tmp_path / "s.ttl", tmp_path / ".." / tmp_path.name / "s.ttl"]
    found = task_warnings(load_task(source=twice, target=tmp_path / "s.ttl", links=tmp_path / "l.tsv"))
    assert "s.ttl is given twice for one graph: it adds nothing the second time" in found
    assert "s.ttl is given as source and as target: every entity of it is its own counterpart" in found
    (equal,) = (
        doubt
        for doubt in task_warnings(
            load_task(source=tmp_path / "s.ttl", target=tmp_path / "t.ttl", links=tmp_path / "l.tsv")
        )
        if "the same IRI" in doubt
    )
    assert equal == (
        "1 entity has the same IRI in both graphs, such as 'http://s.org/a': that alone does not make them the same; "
        "if it should, give such pairs as links"
    )
