"""Any mapping file against links: counted by hand, in every format, either way round."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import write
from small_files import parquet

from mixtea import Mapping, evaluate, load_task
from mixtea.errors import ConfigError, DataError

LINKS = "a\tA\nb\tB\nc\tC\nd\tD\n"
MAPPING = "a\tA\nb\tB\nc\tD\nx\tX\n"  # two right, one wrong, one of entities that the links do not have
CSV = "target,probability,source\nA,0.9,a\nB,0.6,b\nD,0.8,c\nX,0.6,x\n"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
CELLS = """<rdf:RDF xmlns="http://knowledgeweb.semanticweb.org/heterogeneity/alignment"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><Alignment>{}</Alignment></rdf:RDF>"""
CELL = """<map><Cell><entity1 rdf:resource="{}"/><entity2 rdf:resource="{}"/><relation>=</relation>
  <measure>{}</measure></Cell></map>"""


def judged(folder, files, **options):
    write(folder, files)
    mapping, *reference = (folder / name for name in files)
    return evaluate(mapping, reference, **options)


def shares(found):
    return tuple(found.scores[name] for name in ("precision", "recall", "f1"))


def test_every_other_pair_is_wrong_unless_the_links_are_a_part(tmp_path):
    files = {"m.tsv": MAPPING, "l.tsv": LINKS}
    whole, part = judged(tmp_path, files), judged(tmp_path, files, partial=True)
    assert shares(whole) == (0.5, 0.5, 0.5) and whole.scores["judged"] == 4
    assert shares(part) == pytest.approx((2 / 3, 0.5, 4 / 7)) and part.scores["judged"] == 3
    assert whole.unknown == {"sources_not_in_reference": 1, "targets_not_in_reference": 1}
    low, high = whole.scores["interval"]["recall"]
    assert low < 0.5 < high


def test_a_part_judges_pairs_of_which_only_the_target_has_a_link_and_rejected_ones(tmp_path):
    rejected = "subject_id\tpredicate_id\tpredicate_modifier\tobject_id\nx\tskos:exactMatch\tNot\tX\n"
    files = {"m.tsv": "a\tA\ny\tB\nx\tX\nz\tZ\n", "l.tsv": LINKS, "no.sssom.tsv": rejected}
    found = judged(tmp_path, files, partial=True)
    assert (found.scores["judged"], found.scores["right"], found.scores["links"]) == (3, 1, 4)


@pytest.mark.parametrize(
    ("name", "content"),
    {
        "m.csv": CSV,
        "m.parquet": parquet({"source": list("abcx"), "target": list("ABDX"), "confidence": [0.9, 0.6, 0.8, 0.6]}),
        "m.sssom.tsv": "subject_id\tpredicate_id\tobject_id\tconfidence\n"
        + "".join(f"{s}\tskos:exactMatch\t{t}\t0.{c}\n" for s, t, c in ("aA9", "bB6", "cD8", "xX6")),
    }.items(),
)  # fmt: skip
def test_confidences_make_thresholds(tmp_path, name, content):
    found = judged(tmp_path, {name: content, "l.tsv": LINKS})
    rows = {row["threshold"]: (row["mapped"], row["precision"], row["recall"]) for row in found.thresholds}
    assert rows == {0.6: (4, 0.5, 0.5), 0.7: (2, 0.5, 0.25), 0.9: (1, 1.0, 0.25)}
    assert shares(judged(tmp_path, {name: content, "l.tsv": LINKS}, threshold=0.85))[0] == 1


def test_an_alignment_against_sameas_the_other_way_round(tmp_path):
    iris = [(f"http://s/{one}", f"http://t/{one}") for one in "abc"]
    wrong = ("http://s/a", "http://t/c")
    cells = CELLS.format("".join(CELL.format(*pair, 0.75) for pair in (*iris[:2], wrong)))
    same = "".join(f"<{t}> <http://www.w3.org/2002/07/owl#sameAs> <{s}> .\n" for s, t in iris)
    found = judged(tmp_path, {"m.rdf": cells, "l.nt": same})
    assert shares(found) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert [row["threshold"] for row in found.thresholds] == [0.75]
    assert [line.partition(": ")[2][:28] for line in found.said] == ["goes from target to source, "]  # not of measures


def test_types_come_from_a_graph_and_ends_outside_are_counted(tmp_path):
    graph = "a\trdf:type\tCity\nb\trdf:type\tCity\nc\trdf:type\tRiver\nc\trdf:type\tBorder\nd\tnear\tc\n"
    write(tmp_path, {"g.tsv": graph})
    found = judged(tmp_path, {"m.tsv": MAPPING, "l.tsv": LINKS}, source=tmp_path / "g.tsv")
    rows = {row["type"]: (row["mapped"], row["links"], row["right"]) for row in found.by_type}
    assert rows == {"City": (2, 2, 2), "River": (1, 1, 0), "Border": (1, 1, 0), "no type": (1, 1, 0)}
    assert found.unknown["mapping_sources_not_in_graph"] == 1
    assert found.unknown["reference_sources_not_in_graph"] == 0


def test_a_type_may_be_a_value(tmp_path):
    write(tmp_path, {"g.nt": f'<http://a> <{RDF_TYPE}> "City" .\n<http://b> <{RDF_TYPE}> <http://River> .\n'})
    files = {"m.tsv": "http://a\tA\nhttp://b\tB\n", "l.tsv": "http://a\tA\n"}
    rows = judged(tmp_path, files, source=tmp_path / "g.nt").by_type
    assert [(row["type"], row["links"], row["right"]) for row in rows] == [("City", 1, 1), ("http://River", 0, 0)]


def test_several_references_are_one_and_repeated_pairs_count_once(tmp_path):
    files = {"m.tsv": MAPPING + "a\tA\n", "one.tsv": "a\tA\nb\tB\n", "two.tsv": "D\td\nC\tc\nA\ta\n"}
    found = judged(tmp_path, files)
    assert shares(found) == (0.5, 0.5, 0.5) and "two.tsv: goes from target to source, so all 3" in " ".join(found.said)


def test_graphs_say_which_way_both_files_go(tmp_path):
    write(tmp_path, {"s.tsv": "a\tr\tb\nc\tr\td\n", "t.tsv": "A\tr\tB\nC\tr\tD\n"})
    files = {"m.tsv": "A\ta\n", "l.tsv": "B\tb\nA\ta\n"}
    found = judged(tmp_path, files, source=tmp_path / "s.tsv", target=tmp_path / "t.tsv")
    assert shares(found)[:2] == (1, 0.5) and found.unknown["targets_not_in_reference"] == 0


def test_what_cannot_be_judged_is_said(tmp_path):
    with pytest.raises(DataError, match="none of its 1 pairs has an end in the reference"):
        judged(tmp_path, {"m.tsv": "x\tX\n", "l.tsv": LINKS})
    with pytest.raises(ConfigError, match="no confidence is in it"):
        judged(tmp_path, {"m.tsv": MAPPING, "l.tsv": LINKS}, threshold=0.5)
    with pytest.raises(DataError, match="no such file"):
        evaluate(tmp_path / "none.tsv", tmp_path / "l.tsv")
    with pytest.raises(DataError, match="name a file of them"):
        evaluate(tmp_path / "m.tsv", [])


def test_pairs_that_say_nothing_of_their_confidence_are_kept(tmp_path):
    found = judged(tmp_path, {"m.csv": "source,target,score\na,A,0.2\nb,B,\nc,D,high\n", "l.tsv": LINKS}, threshold=0.5)
    assert found.scores["mapped"] == 2 and "2 pairs without a confidence are kept" in found.said[-1]
    assert [row["threshold"] for row in found.thresholds] == []


def test_ids_with_prefixes_are_what_they_stand_for(tmp_path):
    iris = "http://www.wikidata.org/entity/Q64\thttp://purl.obolibrary.org/obo/GO_1\n"
    assert shares(judged(tmp_path, {"m.tsv": iris, "l.tsv": "wd:Q64\tGO:1\n"})) == (1, 1, 1)
    assert shares(judged(tmp_path, {"m.tsv": "wd:Q64\tGO:1\n", "l.tsv": "wd:Q64\tGO:1\n"})) == (1, 1, 1)
    with pytest.raises(DataError, match=r"begins with 'wd:Q64', the reference with 'x:1'\..*--with-given"):
        judged(tmp_path, {"m.tsv": "wd:Q64\tGO:1\n", "l.tsv": "x:1\ty:1\n"})


def test_graphs_say_what_ids_with_prefixes_and_labels_stand_for(tmp_path):
    write(tmp_path, {"s.ttl": "@prefix x: <http://s/> . x:a x:p x:b .", "t.tsv": "A\trdfs:label\theart\nA\tr\tB\n"})
    graphs = dict(source=tmp_path / "s.ttl", target=tmp_path / "t.tsv")
    assert shares(judged(tmp_path, {"m.tsv": "http://s/a\tA\n", "l.tsv": "x:a\theart\n"}, **graphs)) == (1, 1, 1)


def test_a_file_is_turned_as_a_whole_or_not_at_all(tmp_path):
    """With numbers on both sides the pair 6-5 is not 5-6, and one pair that fits the other way turns nothing."""
    found = judged(tmp_path, {"m.csv": "source,target\n1,2\n6,5\n", "l.csv": "source,target\n1,2\n5,6\n"})
    assert shares(found) == (0.5, 0.5, 0.5) and found.said == ()
    with pytest.raises(DataError, match=r"1 pairs .*If it goes from target to source, exchange its columns"):
        evaluate([(6, 5)], [(1, 2), (5, 6)])
    found = judged(tmp_path, {"m.tsv": "a\tA\nb\tB\nC\tc\n", "l.tsv": LINKS})
    assert shares(found)[1] == 0.5 and found.said == ()
    found = judged(tmp_path, {"m.tsv": "A\ta\nB\tb\nc\tC\n", "l.tsv": LINKS})
    assert shares(found)[1] == 0.5 and found.said[0].endswith("so all 3 pairs are turned round")


def test_numbers_of_one_range_each_say_which_way_a_file_goes():
    reference = [(one, 1000 + one) for one in range(5)]
    assert shares(evaluate([(target, source) for source, target in reference], reference)) == (1, 1, 1)


def test_rejected_pairs_turn_with_the_file(tmp_path):
    head = "subject_id\tpredicate_id\tpredicate_modifier\tobject_id\n"
    rows = "A\tskos:exactMatch\t\ta\nB\tskos:exactMatch\t\tb\nX\tskos:exactMatch\tNot\ta\n"
    found = judged(
        tmp_path, {"m.tsv": "a\tX\nb\tB\n", "l.tsv": "a\tA\nb\tB\n", "no.sssom.tsv": head + rows}, partial=True
    )
    assert (found.scores["judged"], found.scores["right"]) == (2, 1)


@pytest.mark.parametrize(
    "name, header, rows",
    [
        ("l.csv", "fodors_id,zagats_id", "534,219\n535,220\n"),
        ("l.csv", "fodors_id,zagats_id", "arnie morton's,arnie mortons\nart's deli,arts delicatessen\n"),
        ("l.csv", "D1|D2", "0|0\n1|2\n"),
        ("l.csv", "D1;D2", "ab;xy\ncd;zw\n"),
        ("l.csv", "idDBLP,idACM", "journals/x,304586\nconf/y,304587\n"),
        ("l.tsv", "mine\tyours", "http://a/1\thttp://b/1\nhttp://a/2\thttp://b/2\n"),
    ],
)
def test_a_header_whose_words_are_not_known_is_no_pair(tmp_path, name, header, rows):
    files = {f"{one}_{name}": f"{header}\n{rows}" for one in "ml"}
    found = judged(tmp_path, files)
    assert (found.scores["mapped"], found.scores["links"], found.scores["right"]) == (2, 2, 2)
    said = [one for one in found.said if ": separated by " not in one]
    assert len(said) == 2 and "line 1, " in said[0] and len(found.said) - len(said) == (2 if header[2] in "|;" else 0)
    assert said[0].endswith("is read as a header, not as a link")


@pytest.mark.parametrize(
    "rows",
    [
        "Rome,Roma\nParis,Parigi\n",
        "customer_id,cust_id\nname,full_name\n",
        "x1,x2\nx3,x5\n",
        "1,2\n3,4\n",
        "Q64,5\nBerlin,7\n",
        "http://a/x,y\nhttp://a/z,w\n",
        "a,b\nb,c\n",
    ],
)
def test_a_first_pair_is_no_header(tmp_path, rows):
    found = judged(tmp_path, {"m.csv": rows, "l.csv": rows})
    assert found.scores["mapped"] == 2 and found.said == ()


def test_with_graphs_a_first_line_that_alone_is_outside_is_a_header(tmp_path):
    write(tmp_path, {"s.tsv": "a\tr\tb\n", "t.tsv": "A\tr\tB\n"})
    graphs = dict(source=tmp_path / "s.tsv", target=tmp_path / "t.tsv")
    found = judged(tmp_path, {"m.tsv": "mine\tyours\na\tA\nb\tB\n", "l.tsv": "a\tA\nb\tB\n"}, **graphs)
    assert found.scores["mapped"] == 2 and "'mine, yours', is read as a header" in found.said[0]


FRAME = pd.DataFrame({"target": list("ABDX"), "probability": [0.9, 0.6, 0.8, 0.6], "source": list("abcx")})
ROWS = [("a", "A"), ("b", "B"), ("c", "D"), ("x", "X")]
KNOWN = [(one, one.upper()) for one in "abcd"]


@pytest.mark.parametrize(
    "mapping",
    [FRAME, FRAME.rename(columns={"probability": "Confidence"}), ROWS, [(*row, 0.5) for row in ROWS], dict(ROWS),
     np.array(ROWS, dtype=object)],
    ids=["frame", "confidence", "rows", "rows with confidences", "dictionary", "array"],
)  # fmt: skip
@pytest.mark.parametrize(
    "reference",
    [KNOWN, pd.DataFrame(KNOWN, columns=["source", "target"]), dict(KNOWN), [pd.DataFrame(KNOWN[:2]), KNOWN[2:]]],
    ids=["rows", "frame", "dictionary", "several"],
)
def test_objects_in_place_of_files(mapping, reference):
    found = evaluate(mapping, reference)
    assert shares(found) == (0.5, 0.5, 0.5) and found.said == ()


def test_confidences_of_objects_make_thresholds(tmp_path):
    found = evaluate(FRAME, KNOWN)
    assert [(row["threshold"], row["mapped"]) for row in found.thresholds] == [(0.6, 4), (0.7, 2), (0.9, 1)]
    write(tmp_path, {"l.tsv": LINKS})
    assert evaluate(FRAME, tmp_path / "l.tsv", threshold=0.7).scores["mapped"] == 2
    assert evaluate([(*row, p) for row, p in zip(ROWS, (0.9, 0.2, 0.2, 1), strict=True)], KNOWN, threshold=0.5).scores[
        "mapped"
    ] == 2  # fmt: skip
    with pytest.raises(ConfigError, match=r"mapping \(rows\): no confidence is in it"):
        evaluate(ROWS, KNOWN, threshold=0.5)


def test_a_mapping_is_judged_without_its_given_links_and_its_frame_as_it_is():
    rows = [("a", "A", 0.9, False), ("b", "B", 1.0, True), ("c", None, 0.7, False), ("x", "X", 0.8, False)]
    frame = pd.DataFrame(rows, columns=["source", "target", "probability", "given"])
    mapping = Mapping(None, None, frame)
    assert evaluate(mapping, KNOWN).scores["mapped"] == 2 and evaluate(mapping, KNOWN).said == ()
    found = evaluate(mapping.to_frame(), KNOWN)
    assert found.scores["mapped"] == 3 and found.said == (
        "mapping (data frame): 1 of 4 rows without a source or a target are left out",
    )


def test_graphs_may_be_those_of_a_task():
    task = load_task(source=[("a", "r", "b")], target=[("A", "r", "B")], links=[("a", "A"), ("b", "B")])
    found = evaluate([("A", "a")], [("a", "A"), ("b", "B")], source=task.source, target=task.target)
    assert shares(found)[:2] == (1, 0.5) and found.unknown["mapping_sources_not_in_graph"] == 0


@pytest.mark.parametrize(
    "mapping, message",
    [
        (5, "mapping: an object of type int is not read"),
        ([], "not 0"),
        (["a.tsv", "b.tsv"], "A mapping is one file or object .*, not 2"),
        (FRAME[["source"]], "1 column 'source'"),
        ([(0.5, "A")], "row 1: source is not an id but float"),
        ([("a", "A", "r")], "3 fields"),
    ],
)
def test_objects_that_are_no_mapping_are_named(mapping, message):
    with pytest.raises(DataError, match=message):
        evaluate(mapping, KNOWN)
