"""OBO flat files give the graph that the OWL of the same ontology gives."""

from __future__ import annotations

import pytest
from conftest import write
from small_files import graph_of, shown, triples_of

from mixtea import DataError, load_task
from mixtea.graph.prefixes import BUILT_IN

OBO, OBO_IN_OWL = BUILT_IN["obo"], BUILT_IN["oboInOwl"]
HEART = r"""format-version: 1.4
ontology: ma
idspace: EX http://example.org/ "examples"
import: http://other.org/a.obo
! a comment

[Term]
id: MA:0000072 ! the heart
name: heart
def: "A \"pump\"\nof blood." [ISBN:1]
synonym: "cor" EXACT LATIN [X:1]
synonym: "hearts" []
broad_synonym: "organ" []
xref: UBERON:0000948 "x"
is_a: MA:0000010 {source="x"} ! organ
relationship: part_of MA:0000100 {all_only="true"} ! body
intersection_of: MA:0000011
intersection_of: part_of EX:torso
property_value: http://purl.org/dc/elements/1.1/creator "Ann" xsd:string
is_obsolete: false
created_by: somebody

[Term]
id: MA:0000010
name: organ

[Term]
id: MA:0000011
is_a:

[Typedef]
id: part_of
name: part of
xref: BFO:0000050
is_a: overlaps

[Instance]
id: MA:i1
instance_of: MA:0000072
property_value: part_of MA:i2

[Annotation]
nobody: knows
"""
OWL = f"""@prefix rdfs: <{BUILT_IN["rdfs"]}> . @prefix owl: <{BUILT_IN["owl"]}> . @prefix o: <{OBO}> .
@prefix i: <{OBO_IN_OWL}> . @prefix dc: <{BUILT_IN["dc"]}> .
o:MA_0000072 a owl:Class ; rdfs:label "heart" ; o:IAO_0000115 "A \\"pump\\"\\nof blood." ; i:hasExactSynonym "cor" ;
  i:hasRelatedSynonym "hearts" ; i:hasBroadSynonym "organ" ; i:hasDbXref "UBERON:0000948" ;
  rdfs:subClassOf o:MA_0000010, [ owl:onProperty o:BFO_0000050 ; owl:someValuesFrom o:MA_0000100 ] ;
  owl:equivalentClass [ owl:intersectionOf ( o:MA_0000011
    [ owl:onProperty o:BFO_0000050 ; owl:someValuesFrom <http://example.org/torso> ] ) ] ;
  dc:creator "Ann" ; owl:deprecated "false" .
o:MA_0000010 a owl:Class ; rdfs:label "organ" . o:MA_0000011 a owl:Class .
o:BFO_0000050 a owl:ObjectProperty ; rdfs:label "part of" ; i:hasDbXref "BFO:0000050" ;
  rdfs:subPropertyOf <{OBO}ma#overlaps> .
o:MA_i1 a owl:NamedIndividual, o:MA_0000072 ; o:BFO_0000050 o:MA_i2 .
"""


def test_a_file_of_obo_is_the_graph_of_its_owl(tmp_path):
    ours, theirs = graph_of(tmp_path, {"h.obo": HEART}), graph_of(tmp_path, {"h.ttl": OWL})
    assert sorted(triples_of(ours)) == sorted(triples_of(theirs)) and set(ours.ids) == set(theirs.ids)
    assert shown(ours) == shown(theirs) and ours.kind_counts() == {"classes": 3, "properties": 2, "individuals": 4}
    said = [{(g.ids[i], *row) for i in range(g.n_entities) for row in g.attributes_of(i)} for g in (ours, theirs)]
    assert said[0] == said[1]
    [file] = ours.files
    assert (file.format, file.ontology) == ("OBO", OBO + "ma.owl") and ours.shorten(OBO + "MA_0000010") == "MA:0000010"
    assert file.notes == (
        "it imports http://other.org/a.obo: nothing is fetched. If it matters, name its file as one more of this side.",
    )


@pytest.mark.parametrize(
    "text, line, what",
    [
        ("[Term]\nname: x\n", 2, "no id before 'name: x'. A stanza begins with"),
        ("[Term]\nid: \n", 2, "an empty id"),
        ("[Term]\nid: A:1\nnonsense\n", 3, "not a line of OBO 'nonsense'. Write `tag: value`"),
        ('[Term]\nid: A:1\nsynonym: "x EXACT\n', 3, "no text in quotes"),
        ("format-version: 1.2\n", None, r"no \[Term\] with an id: the OBO file is empty"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text, line, what, tmp_path):
    with pytest.raises(DataError, match=(f"line {line}: " if line else "") + what):
        graph_of(tmp_path, {"h.obo": text})


XREFS = """[Term]
id: UB:1
is_a: UB:2
xref: MA:1
xref: Wikipedia:Heart
xref: loose

[Term]
id: UB:2
xref: MA:2 {source="x"} ! organ
"""


def test_xrefs_of_an_ontology_are_links_to_the_other(tmp_path):
    write(tmp_path, {"s.obo": "[Term]\nid: MA:1\nis_a: MA:2\n", "t.obo": XREFS})
    task = load_task(source=tmp_path / "s.obo", target=tmp_path / "t.obo", links=tmp_path / "t.obo")
    ends = [(task.source.shorten(task.source.ids[s]), task.target.shorten(task.target.ids[t])) for s, t in task.train]
    assert sorted(ends) == [("MA:1", "UB:1"), ("MA:2", "UB:2")]
    assert [warning.partition(": ")[2][:30] for warning in task.warnings] == [
        "2 links between the graphs are", "2 links turned round, to go fr",
    ]  # fmt: skip


def test_a_graph_in_obo_without_xrefs_is_not_links(tmp_path):
    write(tmp_path, {"h.obo": HEART.replace("xref:", "comment:"), "t.tsv": "A\tr\tB\n"})
    own = dict(source=tmp_path / "h.obo", target=tmp_path / "t.tsv")
    with pytest.raises(DataError, match=r"a graph \(OBO\) without an xref, where links are needed"):
        load_task(**own, links=tmp_path / "h.obo")
