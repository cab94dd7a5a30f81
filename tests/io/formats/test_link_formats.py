"""Links in every format, and what is left out of them or turned round."""

from __future__ import annotations

import gzip

import pytest
from conftest import write
from small_files import E, parquet
from sssom_pydantic import read as read_by_others

from mixtea import DataError, load_task
from mixtea.errors import Problems
from mixtea.graph.iris import encode_id
from mixtea.io.filter import GraphFilter
from mixtea.io.formats.sssom import curie_map, read_sssom
from mixtea.io.safe.limits import UnreadableError

SOURCE = "".join(f"<{E}{a}> <{E}r> <{E}{b}> .\n" for a, b in ("ab", "bc", "cd"))
TARGET = "".join(f"<http://t.org/{a}> <http://t.org/r> <http://t.org/{b}> .\n" for a, b in ("AB", "BC", "CD"))
SAME = "<http://www.w3.org/2002/07/owl#sameAs>"
LINKS = [(E + "a", "http://t.org/A"), (E + "b", "http://t.org/B"), (E + "c", "http://t.org/C")]
SSSOM = """#curie_map:
#  e: http://e.org/
#  t: http://t.org/
#mapping_set_id: http://e.org/set
#license: http://e.org/licence
subject_id\tpredicate_id\tobject_id\tmapping_justification
e:a\tskos:exactMatch\tt:A\tsemapv:ManualMappingCuration
e:b\towl:sameAs\tt:B\tsemapv:ManualMappingCuration
e:c\towl:equivalentClass\tt:C\tsemapv:ManualMappingCuration
"""
FILES = {
    "l.tsv": "".join(f"{s}\t{t}\n" for s, t in LINKS),
    "l.csv": "target,source,note\n" + "".join(f'{t},"{s}",x\n' for s, t in LINKS),
    "l.parquet": parquet({"source": [s for s, _ in LINKS], "target": [t for _, t in LINKS]}),
    "l.pq": parquet({"x": [s for s, _ in LINKS], "y": [t for _, t in LINKS], "z": [1, 2, 3]}),
    "l.nt": "".join(f"<{s}> {SAME} <{t}> .\n" for s, t in LINKS),
    "l.ttl.gz": gzip.compress("".join(f"<{s}> {SAME} <{t}> .\n" for s, t in LINKS).encode()),
    "l.sssom.tsv": SSSOM,
}


def task_of(tmp_path, name, content, source=SOURCE, target=TARGET, ending="nt", **more):
    write(tmp_path, {f"s.{ending}": source, f"t.{ending}": target, name: content})
    return load_task(source=tmp_path / f"s.{ending}", target=tmp_path / f"t.{ending}", links=tmp_path / name, **more)


def links_of(task):
    links = [*task.train.tolist(), *task.valid.tolist()]
    return sorted((task.source.ids[s], task.target.ids[t]) for s, t in links)


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_links(name, tmp_path):
    task = task_of(tmp_path, name, FILES[name])
    assert links_of(task) == LINKS and task.warnings == ()


def test_rdf_links_are_turned_round_where_only_that_fits(tmp_path):
    content = f"<http://t.org/A> {SAME} <{E}a> .\n<{E}b> {SAME} <http://t.org/B> .\n<{E}b> <{E}r> <{E}c> .\n"
    task = task_of(tmp_path, "l.nt", content)
    assert links_of(task) == LINKS[:2]
    left_out, turned = task.warnings
    assert left_out.endswith("1 statement is left out, not stating that two are the same (1 http://e.org/r)")
    assert turned.endswith("1 link turned round, to go from source to target")


def test_links_to_nowhere_are_told_with_line_and_side(tmp_path):
    content = f'<{E}a> {SAME} <http://t.org/A> .\n\n<http://t.org/Z> {SAME} <{E}b> .\n<{E}c> {SAME} "C" .\n'
    with pytest.raises(DataError) as caught:
        task_of(tmp_path, "l.nt", content, strict=True)
    message = str(caught.value)
    assert "line 3: the target graph has no entity 'http://t.org/Z'" in message
    assert "line 4: a link to something without an IRI: '\"C\"'" in message and "2 problems" in message


def test_a_cell_of_an_alignment_is_told_with_its_line(tmp_path):
    cells = "".join(
        f'<map><Cell>\n<entity1 rdf:resource="{E}{s}"/>\n<entity2 rdf:resource="http://t.org/{t}"/>\n'
        "<relation>=</relation>\n</Cell></map>\n"
        for s, t in ("aA", "zB", "bB", "cZ")
    )
    content = (
        '<rdf:RDF xmlns="http://knowledgeweb.semanticweb.org/heterogeneity/alignment#" '
        f'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\n<Alignment>\n{cells}</Alignment></rdf:RDF>'
    )
    with pytest.raises(DataError) as caught:
        task_of(tmp_path, "l.rdf", content, strict=True)
    found = [line.partition(". ")[0].strip() for line in str(caught.value).splitlines()[1:]]
    assert found == [
        f"line 10: the source graph has no entity '{E}z'",
        "line 20: the target graph has no entity 'http://t.org/Z'",
    ]


def test_what_is_no_link_in_sssom_is_left_out_with_its_reason(tmp_path):
    rows = SSSOM.replace("justification\n", "justification\tpredicate_modifier\n").replace("Curation\n", "Curation\t\n")
    rows += "e:d\tskos:broadMatch\tt:D\tx\t\ne:d\tskos:broadMatch\tt:C\tx\tNot\n"
    task = task_of(tmp_path, "l.sssom.tsv", rows + "e:d\tskos:exactMatch\tsssom:NoTermFound\tx\tNot\n")
    assert links_of(task) == LINKS and len(task.rejected) == 0
    assert task.warnings[0].endswith(
        "3 rows are left out, not stating that two are the same (1 skos:broadMatch, 1 Not skos:broadMatch, 1 no id)"
    )


def test_close_matches_are_links_and_told(tmp_path):
    skos = f"<{E}a> <http://www.w3.org/2004/02/skos/core#closeMatch> <http://t.org/A> .\n"
    for name, content in (("l.nt", skos), ("l.sssom.tsv", SSSOM.partition("e:b")[0].replace("exact", "close"))):
        task = task_of(tmp_path, name, content)
        assert links_of(task) == LINKS[:1]
        assert task.warnings[0].endswith("1 link is skos:closeMatch, nearly the same, and taken as such")


NEGATED = SSSOM.replace("justification\n", "justification\tpredicate_modifier\n").replace("Curation\n", "Curation\t\n")


def rejected_of(task):
    return [(task.source.ids[s], task.target.ids[t]) for s, t in task.rejected]


def test_rows_with_not_are_rejected_pairs_and_no_links(tmp_path):
    rows = "e:d\tskos:exactMatch\tt:C\tx\tNot\nt:A\towl:sameAs\te:b\tx\t NOT \ne:d\tskos:exactMatch\tt:C\tx\tNot\n"
    task = task_of(tmp_path, "l.sssom.tsv", NEGATED + rows)
    assert links_of(task) == LINKS
    assert rejected_of(task) == [(E + "d", "http://t.org/C"), (E + "b", "http://t.org/A")]
    assert task.rejected.dtype == "int64" and repr(task).endswith("0 test; 2 rejected)")
    assert [warning.partition(": ")[2] for warning in task.warnings] == [
        "1 pair turned round, to go from source to target"
    ]


def test_a_pair_that_is_linked_and_rejected_is_a_problem_with_its_place(tmp_path):
    with pytest.raises(DataError) as caught:
        task_of(tmp_path, "l.sssom.tsv", NEGATED + "e:a\tskos:exactMatch\tt:A\tx\tNot\n")
    message = str(caught.value)
    assert f"{tmp_path / 'l.sssom.tsv'}: 1 problem" in message
    assert "line 10: rejected here, and a link in l.sssom.tsv, line 7: 'http://e.org/a\\thttp://t.org/A'" in message
    assert "Two are the same or they are not; remove one of the rows." in message


def test_a_link_that_another_file_rejects_is_a_problem_of_the_later_file(tmp_path):
    head, _, _ = NEGATED.partition("e:a")
    write(
        tmp_path, {"no.sssom.tsv": head + "e:a\tskos:exactMatch\tt:A\tx\tNot\n", "test.tsv": f"{E}a\thttp://t.org/A\n"}
    )
    own = own_files(tmp_path)
    with pytest.raises(
        DataError, match=r"test\.tsv: 1 problem\n  line 1: a link here, and rejected in no\.sssom\.tsv, line 7"
    ):
        load_task(**own, links=[tmp_path / "l.tsv", tmp_path / "no.sssom.tsv"], test_links=tmp_path / "test.tsv")


def own_files(folder):
    """Two graphs, and the links of b and c."""
    write(folder, {"s.nt": SOURCE, "t.nt": TARGET, "l.tsv": "".join(f"{s}\t{t}\n" for s, t in LINKS[1:])})
    return {"source": folder / "s.nt", "target": folder / "t.nt"}


def test_rejected_pairs_in_a_file_of_their_own(tmp_path):
    head, _, _ = NEGATED.partition("e:a")
    write(tmp_path, {"no.sssom.tsv": head + "e:a\tskos:exactMatch\tt:B\tx\tNot\n"})
    own = own_files(tmp_path)
    task = load_task(**own, links=[tmp_path / "l.tsv"], valid_links=[tmp_path / "no.sssom.tsv"])
    assert rejected_of(task) == [(E + "a", "http://t.org/B")] and (len(task.train), len(task.valid)) == (2, 0)
    with pytest.raises(DataError, match=r"no link, only rejected pairs\. Learning needs links"):
        load_task(**own, links=tmp_path / "no.sssom.tsv")


def test_a_rejected_pair_of_strangers_is_left_out_as_a_link_is(tmp_path):
    content = NEGATED + "e:zz\tskos:exactMatch\tt:A\tx\tNot\n"
    with pytest.raises(DataError, match=r"line 10: the source graph has no entity 'e:zz'\. Correct the id"):
        task_of(tmp_path, "l.sssom.tsv", content, strict=True)
    task = task_of(tmp_path, "l.sssom.tsv", content)
    assert links_of(task) == LINKS and len(task.rejected) == 0
    assert (
        "1 of 4 pairs is left out, with ends outside the graphs, such as 'e:zz' (source, line 10)." in task.warnings[0]
    )


def test_rejected_pairs_of_what_is_left_out_are_left_out_too(tmp_path):
    rows = NEGATED.partition("e:b")[0] + "e:d\tskos:exactMatch\tt:B\tx\tNot\n"
    write(tmp_path, {"l.sssom.tsv": rows})
    more = f"<{E}d> <{E}only> <{E}c> .\n"
    write(tmp_path, {"s.nt": SOURCE.replace(f"<{E}c> <{E}r> <{E}d> .\n", more), "t.nt": TARGET})
    kept = GraphFilter(drop_predicates=[E + "only"])
    task = load_task(
        source=tmp_path / "s.nt", target=tmp_path / "t.nt", links=tmp_path / "l.sssom.tsv", graph_filter=kept
    )
    assert len(task.rejected) == 0 and task.warnings[0].endswith(
        "1 pair left out, of entities that the options leave out"
    )


def test_sssom_ids_as_they_are_written_and_prefixes_for_display(tmp_path):
    task = task_of(
        tmp_path,
        "l.sssom.tsv",
        SSSOM,
        "e:a\tr\te:b\ne:b\tr\te:c\n",
        TARGET.replace("<", "").replace("> .", "").replace("> ", "\t"),
        "tsv",
    )
    assert ("e:a", "http://t.org/A") in links_of(task)
    assert task.target.display(0) == "t:A" and task.target.prefixes["e"] == E


def test_sssom_is_what_others_take_it_for(tmp_path):
    """Another reader finds the same rows in the file of these tests."""
    write(tmp_path, {"l.sssom.tsv": SSSOM})
    rows, _, _ = read_by_others(tmp_path / "l.sssom.tsv")
    assert [(row.subject.curie, row.object.curie) for row in rows] == [("e:a", "t:A"), ("e:b", "t:B"), ("e:c", "t:C")]


@pytest.mark.parametrize(
    "lines",
    [
        ["# curie_map:", "#   e: 'http://e.org/'", '#   "t": "http://t.org/"  # a note', "# license: x"],
        ["#license: x", "#curie_map: {e: http://e.org/, 't': http://t.org/}"],
        ["#curie_map:", "#", "#  e: http://e.org/", "#  t: http://t.org/"],
    ],
)
def test_ways_to_write_the_prefixes(lines):
    assert curie_map(lines) == {"e": E, "t": "http://t.org/"}
    assert curie_map(["#mapping_set_id: x"]) == {}


def test_plain_labels_that_stand_in_iris(tmp_path):
    """As `mixtea export` writes them."""
    source, target = (encode_id(label, "http://set", side) for label, side in (("a b", "source"), ("Ä", "target")))
    task = task_of(tmp_path, "l.nt", f"<{source}> {SAME} <{target}> .\n", "a b\tr\tc\n", "Ä\tr\tC\n", "tsv")
    assert links_of(task) == [("a b", "Ä")]


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("l.nt", f"<{E}a> <{E}r> <{E}b> .\n", "no links among its 1 other statements. Links are"),
        ("l.sssom.tsv", SSSOM.replace("object_id", "object"), "line 6: no column object_id: 'subject_id"),
        ("l.sssom.tsv", "#curie_map:\n", "line 2: no column subject_id"),
        ("l.sssom.tsv", SSSOM + "e:d\tskos:exactMatch\n", "line 10: 2 columns"),
        ("l.sssom.tsv", SSSOM + 'e:d\tskos:exactMatch\t"t:D\tx\n', "line 10: an open quote"),
        ("l.sssom.tsv", SSSOM.partition("e:b")[0].replace("exact", "broad"), "no links among its 1 other rows"),
        ("l.csv", "source,target\n", "no row below its header. It needs lines of 2 columns separated by commas"),
        ("l.parquet", parquet({"source": ["a"]}), "1 column 'source'. It needs 2: source, target"),
    ],
)  # fmt: skip
def test_links_that_cannot_be_used(name, content, message, tmp_path):
    with pytest.raises(DataError) as caught:
        task_of(tmp_path, name, content)
    assert f"{tmp_path / name}: 1 problem" in str(caught.value) and message in str(caught.value)


NO_MAPS = {
    "#curie_map:\n#  - e: x\n": 2,
    "#curie_map: [e]\n": 1,
    "#curie_map: {e: x,\n#  t: y}\n": 1,
    "#x: y\n#curie_map: e\n": 2,
}


@pytest.mark.parametrize("text", NO_MAPS)
def test_a_curie_map_that_is_no_plain_map(text, tmp_path):
    write(tmp_path, {"l.sssom.tsv": text + "subject_id\tpredicate_id\tobject_id\n"})
    with pytest.raises(UnreadableError, match=rf"line {NO_MAPS[text]}: the curie_map is not a plain map of .* Write"):
        read_sssom(tmp_path / "l.sssom.tsv", "SSSOM", Problems())
