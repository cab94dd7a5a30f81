"""Given links keep their own justification, from an SSSOM file through a run to the file that is exported."""

from __future__ import annotations

from dataclasses import replace

import sssom_pydantic
from conftest import SOURCE, TARGET, write

from mixtea import load_task
from mixtea.errors import Problems
from mixtea.export.formats import write_mapping
from mixtea.export.metadata import MappingMetadata
from mixtea.io.links.read import read_link_table
from mixtea.runs.folder import vocabulary
from mixtea.runs.validate import check_vocabulary

CURIES = "#curie_map:\n#  orcid: https://orcid.org/\n#  semapv: https://w3id.org/semapv/vocab/\n"
LINKS = CURIES + (
    '#mapping_tool: "theirs"\n#license: https://x/\n'
    "subject_id\tpredicate_id\tobject_id\tmapping_justification\tauthor_id\tconfidence\tcomment\n"
    "a\towl:equivalentClass\tA\tsemapv:ManualMappingCuration\torcid:1|orcid:2\t0.7\tsure\n"
    "B\tskos:exactMatch\tb\tsemapv:MappingReview\t\t7\t\n"
    "c\tskos:exactMatch\tC\tsome words\tno-one\t\t\n"
)
ROWS = [
    ("a", "A", 1.0, None, None, "", True),
    ("b", "B", 1.0, None, None, "", True),
    ("c", "C", 1.0, None, None, "", True),
    ("d", "D", 1.0, None, None, "", True),
    ("e", "E", 0.9, None, None, "forward", False),
]


def test_slots_are_read_in_full_and_the_head_counts_for_all(tmp_path):
    write(tmp_path, {"l.sssom.tsv": LINKS, "l.tsv": "a\tA\n"})
    found = read_link_table(tmp_path / "l.sssom.tsv", Problems()).slots
    assert not read_link_table(tmp_path / "l.tsv", Problems()).slots
    assert found["a", "A"] == {
        "predicate_id": "http://www.w3.org/2002/07/owl#equivalentClass",
        "mapping_justification": "https://w3id.org/semapv/vocab/ManualMappingCuration",
        "author_id": "https://orcid.org/1|https://orcid.org/2",
        "mapping_tool": "theirs",
        "confidence": "0.7",
        "comment": "sure",
    }
    assert list(found) == [("a", "A"), ("B", "b"), ("c", "C")]


def test_they_are_written_in_place_of_ours(tmp_path, make_mapping):
    write(tmp_path, {"l.sssom.tsv": LINKS})
    mapping = replace(make_mapping(ROWS), slots=read_link_table(tmp_path / "l.sssom.tsv", Problems()).slots)
    write_mapping(mapping, tmp_path / "m.sssom.tsv", MappingMetadata(tool_version="1"))
    mappings, converter, _, errors = sssom_pydantic.read(tmp_path / "m.sssom.tsv", return_errors=True)
    assert not errors
    first, second, third, fourth, predicted = mappings
    assert first.predicate.curie == "owl:equivalentClass" and first.confidence == 0.7 and first.comment == "sure"
    assert first.justification.curie == "semapv:ManualMappingCuration" and first.mapping_tool.name == "theirs"
    assert [converter.expand_reference(one) for one in first.authors] == ["https://orcid.org/1", "https://orcid.org/2"]
    assert (second.justification.curie, second.confidence) == ("semapv:MappingReview", None), "7 is no confidence"
    assert (third.justification.curie, third.authors) == ("semapv:UnspecifiedMatching", None), "words are no IRI"
    assert (fourth.justification.curie, fourth.confidence) == ("semapv:UnspecifiedMatching", 1.0)
    assert fourth.mapping_tool is None and predicted.mapping_tool.name == "mixtea" and predicted.confidence == 0.9


def test_a_task_and_its_run_keep_them(tmp_path):
    write(tmp_path, {"s.tsv": SOURCE, "t.tsv": TARGET, "l.sssom.tsv": LINKS})
    task = load_task(source=tmp_path / "s.tsv", target=tmp_path / "t.tsv", links=tmp_path / "l.sssom.tsv")
    kept = check_vocabulary(vocabulary(task))["slots"]
    assert {(one, other): said for one, other, said in kept} == task.slots and len(kept) == 3
