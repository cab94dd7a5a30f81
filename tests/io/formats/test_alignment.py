"""Alignments as matchers write them: XML that is not always RDF."""

from __future__ import annotations

import io
import json
import os
import sys

import numpy as np
import pytest
from conftest import write

from mixtea import DataError, load_task
from mixtea.errors import Problems
from mixtea.io.formats.alignment import read_alignment
from mixtea.io.safe.limits import Limits, use_limits
from mixtea.io.safe.sandboxed import alignment_child, restrict
from mixtea.io.safe.sandboxed.restrict import WrongError

START = (
    "<?xml version='1.0' encoding='utf-8'?>\n<rdf:RDF xmlns='http://knowledgeweb.semanticweb.org/heterogeneity/alignment'\n"
    " xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' alignmentSource='AgreementMakerLight'>\n<Alignment>\n"
    "<xml>yes</xml><level>0</level><type>??</type>\n"
)
END = "</Alignment>\n</rdf:RDF>\n"
XML = dict(max_nesting=20, max_columns=10, max_token=10_000, max_expansion=100)


def cell(source, target, relation="=", measure="1.0"):
    return (
        f"<map><Cell cid='1'>\n<entity1 rdf:resource='{source}'/>\n<entity2 rdf:resource='{target}'/>\n"
        f"<measure rdf:datatype='xsd:float'>{measure}</measure><relation>{relation}</relation></Cell></map>\n"
    )


def task_of(tmp_path, content, name="reference.rdf", **more):
    write(tmp_path, {"s": "s#a\tr\ts#b\ns#b\tr\ts#c\n", "t": "t#A\tr\tt#B\nt#B\tr\tt#C\n", name: content})
    return load_task(source=tmp_path / "s", target=tmp_path / "t", links=tmp_path / name, **more)


def test_an_expression_is_no_entity(tmp_path):
    """EDOAL: what a part of an expression is the same as is not what the whole is the same as."""
    start, end = (
        "<map><Cell><entity1><edoal:Class{}</edoal:Class></entity1>",
        "<entity2 rdf:resource='t#A'/></Cell></map>",
    )
    one = start.format(" rdf:about='s#a'>") + end
    both = start.format("><edoal:and><edoal:Class rdf:about='s#b'/></edoal:and>") + end
    some = start.format(" rdf:about='s#c'><edoal:AttributeDomainRestriction/>") + end
    task = task_of(tmp_path, START.replace("xmlns:rdf", "xmlns:edoal='http://ns.inria.org/edoal/1.0/#' xmlns:rdf") + one
                   + both + some + END)  # fmt: skip
    assert links_of(task) == [("s#a", "t#A")]
    assert task.warnings[0].endswith("(2 of an expression in place of an entity)")


def links_of(task):
    links = [*task.train.tolist(), *task.valid.tolist()]
    return sorted((task.source.ids[s], task.target.ids[t]) for s, t in links)


@pytest.mark.parametrize("name", ["reference.rdf", "reference.xml", "a.owl", "alignment", "a.txt"])
def test_cells_that_are_no_rdf_are_links(name, tmp_path):
    content = START + cell("s#a", "t#A") + cell("t#B", "s#b", "=", "0.25") + cell("s#c", "t#C", "&lt;") + END
    task = task_of(tmp_path, content, name)
    assert links_of(task) == [("s#a", "t#A"), ("s#b", "t#B")]
    *known, cells, measures, turned = (warning.partition(": ")[2] for warning in task.warnings)
    assert known == (
        [] if "." in name and name != "a.txt" else ["read as Alignment, by its content; the ending .rdf would name it"]
    )
    assert cells == "1 cell is left out, not stating that two are the same (1 of the relation <)"
    assert measures.startswith("1 of 2 links has a confidence below 1, the least 0.25: all have the same weight")
    assert turned == "1 link turned round, to go from source to target"


def test_lines_measures_and_what_is_inside_of_entities(tmp_path):
    edoal = "<align:Cell>\n<align:entity1><e:Class rdf:about='s#b'><x rdf:about='no'/></e:Class></align:entity1>\n"
    edoal += "<align:entity2 rdf:resource='t#B'/><relation>fr.inrialpes.exmo.EquivRelation</relation></align:Cell>"
    half = "<map><Cell><entity1 rdf:resource='s#c'/><measure>?</measure></Cell></map>"
    write(tmp_path, {"a.rdf": START + cell("s#a", "t#A") + half + edoal + END})
    table = read_alignment(tmp_path / "a.rdf", "Alignment", Problems())
    assert [column.tolist() for column in table.columns] == [["s#a", "s#b"], ["t#A", "t#B"]]
    assert table.lines.tolist() == [8, 12] and np.array_equal(table.confidences, [1.0, np.nan], equal_nan=True)
    with pytest.raises(DataError, match="line 8: the target graph has no entity 't#Z'"):
        task_of(tmp_path, START + cell("s#a", "t#Z") + END, strict=True)


BAD = {
    "no cell": (START + END, "an alignment without a cell. Links are cells"),
    "only others": (START + cell("s#a", "t#A", ">") + END, "no link among its 1 cells. Links are"),
    "cut": (START + cell("s#a", "t#A"), "line 10: not XML: not well-formed XML (the file ends in the middle, 2 deep)"),
    "broken": (START + "<map></Cell>", "line 6: not XML: not well-formed XML (mismatched tag). Correct it"),
}


@pytest.mark.parametrize("kind", BAD)
def test_alignments_that_cannot_be_used(kind, tmp_path):
    content, message = BAD[kind]
    with pytest.raises(DataError) as caught:
        task_of(tmp_path, content)
    assert f"{tmp_path / 'reference.rdf'}: 1 problem" in str(caught.value) and message in str(caught.value)


def test_an_alignment_is_no_graph(tmp_path):
    write(tmp_path, {"s.rdf": START + cell("a", "b") + END, "t": "A\tr\tB\n", "l": "a\tA\n"})
    with pytest.raises(DataError, match=r"links \(Alignment\), where a graph is needed\. Name a file of triples"):
        load_task(source=tmp_path / "s.rdf", target=tmp_path / "t", links=tmp_path / "l")


def child(content, notes=(), **xml):
    """The cells that the process finds, here in this one, in a file with these notes."""
    out = io.BytesIO()
    found = alignment_child.parse({"xml": XML | xml}, io.BytesIO(content.encode()), out, lambda n: None)
    assert found == {"notes": dict(notes)}
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_the_process_finds_cells():
    entities = "<!DOCTYPE r [<!ENTITY o 'http://o.org/'>]>\n"
    assert child(entities + START[39:] + cell("&o;a", "t", " = ") + END) == [[8, "http://o.org/a", "t", "=", "1.0"]]
    ((*_, relation, _),) = child(START + cell("a", "b", "<x>" + "y" * 3000 + "</x>&lt;<x/>&lt;") + END)
    assert 1000 <= len(relation) <= 3001
    half = "<Cell><entity1 rdf:ID='x' rdf:resource='a'/></Cell>"
    assert child(START + half + END) == []
    note = f"<source_ids> http://a.org/ </source_ids>{cell('a', 'b')}"
    assert len(child(START + note + END, notes=[("source_ids", "http://a.org/")])) == 1
    said = cell("a", "b").replace("'a'/>", "'a'><and/></entity1>")
    assert child(START + said + END) == [[8, "a", "b", "expression", "1.0"]]


def test_the_process_refuses_what_hurts():
    bomb = "<!DOCTYPE r [<!ENTITY a '" + "x" * 900 + "'>" + "".join(
        f"<!ENTITY {b} '{f'&{a};' * 10}'>" for a, b in zip("abc", "bcd", strict=True)) + "]>"  # fmt: skip
    outside = "<!DOCTYPE r [<!ENTITY a SYSTEM 'file:///etc/hostname'>]>"
    for start, message in ((bomb, "written out"), (outside, "an entity that lies in another file")):
        with pytest.raises(WrongError, match=message):
            child(start + START[39:] + cell("a", "b", "&a;") + END)
    with pytest.raises(WrongError, match="nested"):
        child(START + "<a>" * 30)
    with pytest.raises(WrongError, match="mismatched tag"):
        child(START + "</x>")


def test_bombs_are_refused_with_the_limit(tmp_path):
    (tmp_path / "a.rdf").write_text(START + "<a>" * 2000)
    with use_limits(Limits(max_nesting=100)), pytest.raises(DataError, match="beyond the limit max_nesting"):
        read_alignment(tmp_path / "a.rdf", "Alignment", Problems())


def test_the_process_works_within_its_limits(tmp_path, monkeypatch):
    ended = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(alignment_child, "restrict", lambda *_: lambda n: None)
    (tmp_path / "in").write_text(START + cell("a", "b") + END)
    monkeypatch.setattr(sys, "argv", ["x", json.dumps({"xml": XML, "mib": 100, "seconds": 1.0})])
    with (tmp_path / "in").open() as source, (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdin", source)
        monkeypatch.setattr(sys, "stdout", out)
        restrict.main(alignment_child.work)
    assert ended == [0] and json.loads((tmp_path / "out").read_text()) == [8, "a", "b", "=", "1.0"]
