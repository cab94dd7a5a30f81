"""Relations, attribute predicates and classes by what they state of the same things."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import oracle
import pandas as pd
import pytest
from conftest import SMALL_BEST, make_graph

from mixtea import MixTEA
from mixtea.decide.mapping import Mapping
from mixtea.errors import ConfigError, NotFittedError
from mixtea.graph.entity_table import Attributes
from mixtea.graph.graph import Graph
from mixtea.graph.text_column import TextColumn
from mixtea.relations import alignment as module
from mixtea.relations.alignment import RELATION_COLUMNS, relations_of
from mixtea.runs.reader import StoredRun

N = 8
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def graph(rows, values=()) -> Graph:
    """A graph of (head, relation, tail) and (entity, predicate, value) by their names."""
    ids = list(dict.fromkeys(name for h, _, t in rows for name in (h, t)))
    relations = list(dict.fromkeys(r for _, r, _ in rows))
    triples = [(ids.index(h), relations.index(r), ids.index(t)) for h, r, t in rows]
    texts = [(ids.index(entity), predicate, value) for entity, predicate, value in values]
    names = (np.array([*words, None], dtype=object)[:-1] for words in (ids, relations))
    table = Attributes.from_columns(*zip(*texts, strict=True)) if texts else Attributes.empty()
    return Graph(*names, np.array(triples, dtype=np.int64).reshape(-1, 3), table.as_set())


def mapping(source, target, pairs=None) -> Mapping:
    """`a1` is `A1`, and so on, or what is given with its probability."""
    found = {id: id.upper() for id in source.ids if id.upper() in set(target.ids)}
    rows = pairs or [(*pair, 1.0) for pair in found.items()]
    frame = pd.DataFrame(rows, columns=["source", "target", "probability"])
    return Mapping(source, target, frame.assign(given=True))


@pytest.fixture
def town() -> Mapping:
    """People and the cities that they come from, twice, in other words."""
    few, home = range(3), [f"c{i % 2}" for i in range(N)]
    source = [(f"p{i}", "born in", home[i]) for i in range(N)]
    source += [(f"p{i}", "father of", f"p{i + 1}") for i in range(N - 1)]
    source += [(f"p{i}", "mayor of", "c9") for i in few]
    source += [(f"p{i}", TYPE, "human") for i in range(N)] + [(f"p{i}", "rdf:type", "mayor") for i in few]
    target = [(f"P{i}", "birthPlace", home[i].upper()) for i in range(N)]
    target += [(f"P{i + 1}", "sonOf", f"P{i}") for i in range(N - 1)]
    target += [(f"P{i}", "worksIn", "C9") for i in range(N)]
    target += [(f"P{i}", TYPE, "Person") for i in range(N)]
    ours = [(f"p{i}", "height", f"1.{i}0") for i in range(N)] + [("p0", "motto", ""), ("p0", "nick", "Jo  Do")]
    theirs = [(f"P{i}", "size", f"1.{i}") for i in range(N)] + [("P0", "slogan", " "), ("P1", "nick", "jo do")]
    return mapping(graph(source, ours), graph(target, theirs))


def rows_of(found):
    return {(r.kind, r.source, r.target): (r.relation, bool(r.inverse)) for r in found.frame.itertuples()}


def test_names_differ_and_statements_tell(town):
    found = relations_of(town)
    assert rows_of(found) == {
        ("relation", "born in", "birthPlace"): ("equal", False),
        ("relation", "father of", "sonOf"): ("inverse", True),
        ("relation", "mayor of", "worksIn"): ("narrower", False),
        ("attribute", "height", "size"): ("equal", False),
        ("class", "human", "Person"): ("equal", False),
        ("class", "mayor", "Person"): ("narrower", False),
    }
    assert repr(found) == "Relations(3 of kind relation, 1 of kind attribute, 2 of kind class)" and len(found) == 6
    frame = found.to_frame().set_index("source")
    assert frame.loc["mayor of", ["count", "source_count", "target_count"]].tolist() == [3, 3, N]
    assert frame.loc["human", "score"] == pytest.approx(N / (N + module.LOWER_Z**2))
    assert found.frame["kind"].unique().tolist() == ["relation", "attribute", "class"]
    assert all(scores.is_monotonic_decreasing for _, scores in found.frame.groupby("kind")["score"])


def test_read_from_the_other_side_it_is_the_other_way_round(town):
    turned = Mapping(town.target, town.source, town.frame.rename(columns={"source": "target", "target": "source"}))
    assert rows_of(relations_of(turned)) == {
        ("relation", "birthPlace", "born in"): ("equal", False),
        ("relation", "sonOf", "father of"): ("inverse", True),
        ("relation", "worksIn", "mayor of"): ("broader", False),
        ("attribute", "size", "height"): ("equal", False),
        ("class", "Person", "human"): ("equal", False),
        ("class", "Person", "mayor"): ("broader", False),
    }


def test_what_is_believed_less_counts_less(town):
    doubted = Mapping(town.source, town.target, town.frame.assign(probability=0.5))
    rows = [relations_of(one).frame.set_index(["source", "target"]) for one in (town, doubted)]
    place = ("born in", "birthPlace")
    assert rows[1].loc[place, ["count", "source_count", "target_count"]].tolist() == [N / 4] * 3
    assert rows[1].loc[place, "score"] < rows[0].loc[place, "score"]


def test_one_meeting_is_no_certainty_and_low_scores_are_left_out():
    one = mapping(graph([("a", "r", "b")]), graph([("A", "q", "B")]))
    found = relations_of(one)
    assert found.frame["score"].tolist() == pytest.approx([1 / (1 + module.LOWER_Z**2)])
    assert len(relations_of(one, 0.3)) == len(found.above(0.3)) == 0
    with pytest.raises(ConfigError, match="min_score must be from 0 to 1, not 2"):
        relations_of(one, 2)


def test_a_symmetric_relation_is_not_called_inverse():
    pairs = [(f"a{i}", f"a{i + 1}") for i in range(0, 10, 2)]
    ours = [(a, "married", b) for a, b in pairs] + [(b, "married", a) for a, b in pairs[:4]]
    theirs = [(b.upper(), "spouse", a.upper()) for a, b in pairs] + [(a.upper(), "spouse", b.upper()) for a, b in pairs]
    found = relations_of(mapping(graph(ours), graph(theirs)))
    assert rows_of(found) == {("relation", "married", "spouse"): ("equal", False)}


def test_siblings_that_have_something_better_are_not_equal():
    """Who starts first is often the fastest, too."""
    ours = [(f"a{i}", r, f"b{i}") for i in range(9) for r in ("first", "fastest") if i != (3 if r == "first" else 5)]
    found = relations_of(mapping(graph(ours), graph([(h.upper(), r, t.upper()) for h, r, t in ours])))
    assert rows_of(found) == {("relation", r, r): ("equal", False) for r in ("first", "fastest")}


def test_counts_are_those_of_the_plain_formula():
    """Graphs drawn at random, with one-to-many pairs, against loops over everything."""
    rng = np.random.default_rng(1)
    for _ in range(5):
        rows = [np.unique(rng.integers(0, (6, 3, 6), (20, 3)), axis=0) for _ in range(2)]
        source, target = (make_graph([tuple(row) for row in side.tolist()], 6) for side in rows)
        belief = {(int(s), int(t)): round(0.1 + float(p), 2) for s, t, p in rng.random((8, 3)) * (6, 6, 0.9)}
        names = [(source.ids[s], target.ids[t], p) for (s, t), p in belief.items()]
        pairs = module._matched_pairs(mapping(source, target, names))
        ours, theirs, near, far = module.compare_relations(source, target, pairs)
        counts = module._counts(ours, theirs, near, far)
        both_ways = {tuple(r) for r in rows[1].tolist()} | {(t, r + 3, h) for h, r, t in rows[1].tolist()}
        wanted = oracle.met({tuple(r) for r in rows[0].tolist()}, both_ways, belief, belief)
        columns = ["count", "source_count", "count_back", "target_count"]
        found = {(r.first, r.second): [getattr(r, name) for name in columns] for r in counts.itertuples()}
        assert found.keys() == wanted.keys() and len(found) > 3
        for pair, numbers in wanted.items():
            assert found[pair] == pytest.approx(numbers)


def test_of_what_has_too_much_said_about_it_nothing_is_believed(town, monkeypatch):
    monkeypatch.setattr(module, "MAX_TRIPLES_PER_PAIR", 1)
    assert ("class", "mayor", "Person") not in rows_of(relations_of(town))  # mayors have two classes
    monkeypatch.setattr(module, "MAX_COUNTERPARTS", 0)
    assert len(relations_of(town)) == 0


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("1.50", "1.5", True), ("1e3", "1000", True), ("+7", "7", True), ("-0.0", "0", True), ("007", "7", False),
        (" New\tYork ", "new york", True), ("ﬁn", "fin", True), ("1_000", "1000", False), ("nan", "NaN", True),
        ("1,200", "1200.0", True), ("1990-05-03", "3.5.1990", True), ("1.5 km", "1500 m", True), ("?", "!", False),
        ("http://www.wikidata.org/entity/Q64", "http://www.wikidata.org/entity/Q65", False), ("42", "41", False),
        ("12345678901234567", "12345678901234568", False), ("1e999", "1e998", False), ("", "0", False),
    ],
)  # fmt: skip
def test_values_are_compared_by_what_they_say(one, other, same):
    assert (module.normalized_value(one) == module.normalized_value(other)) is same


def test_predicates_are_alike_by_dates_and_numbers_however_they_are_written():
    rows = [(f"p{i}", "r", "c") for i in range(N)]
    ours = [row for i in range(N) for row in ((f"p{i}", "born", f"1990-05-{i + 1:02d}"), (f"p{i}", "code", f"00{i}"))]
    theirs = [row for i in range(N) for row in ((f"P{i}", "geboren", f"{i + 1}.5.1990"), (f"P{i}", "nummer", f"{i}"))]
    ours += [(f"p{i}", "income", f"{i + 1},500") for i in range(N)]
    theirs += [(f"P{i}", "lohn", f"{i + 1} 500,0") for i in range(N)]
    found = relations_of(mapping(graph(rows, ours), graph([(h.upper(), r, "C") for h, r, _ in rows], theirs)))
    assert {pair for pair in rows_of(found) if pair[0] == "attribute"} == {
        ("attribute", "born", "geboren"), ("attribute", "income", "lohn"),
    }  # fmt: skip


def test_a_datatype_says_what_is_a_number():
    rows, integer = [(f"p{i}", "r", "c") for i in range(N)], "http://www.w3.org/2001/XMLSchema#integer"
    ours = graph(rows, [(f"p{i}", "age", f"00{i}") for i in range(N)])
    typed = Attributes(*(getattr(ours.attributes, name) for name in ("entity", "predicate", "value", "language")),
                       TextColumn.from_texts([integer] * N))  # fmt: skip
    theirs = graph([(h.upper(), r, "C") for h, r, _ in rows], [(f"P{i}", "alter", str(i)) for i in range(N)])
    for side, wanted in ((ours, 0), (replace(ours, attributes=typed), 1)):
        assert (relations_of(mapping(side, theirs)).frame["kind"] == "attribute").sum() == wanted


def test_nothing_in_common_is_an_empty_table(town):
    for pairs in ([("p0", "P0", 1.0)], [("p0", None, 0.9)]):
        empty = relations_of(mapping(graph([("p0", "r", "x")]), graph([("P0", "q", "y")]), pairs))
        assert len(empty) == 0 and tuple(empty.frame.columns) == RELATION_COLUMNS
    nothing = graph([])
    assert len(relations_of(Mapping(nothing, nothing, town.frame[:0]))) == 0


def test_an_aligner_and_its_stored_run_say_the_same(rings, tmp_path):
    """The rings have neither attributes nor types."""
    aligner = MixTEA(preset="best", shared_relations=False, **SMALL_BEST)
    with pytest.raises(NotFittedError):
        aligner.relations()
    aligner.fit(rings).save(tmp_path / "run")
    found = aligner.relations()
    assert rows_of(found).items() >= {("relation", r, r): ("equal", False) for r in ("next", "chord")}.items()
    stored = StoredRun(tmp_path / "run").answers_.relations()
    pd.testing.assert_frame_equal(found.frame, stored.frame)
    pd.testing.assert_frame_equal(MixTEA.load(tmp_path / "run").relations().frame, stored.frame)
    assert len(StoredRun(tmp_path / "run").answers_.relations(0.9)) < len(stored)


def test_a_literal_here_is_a_named_entity_there():
    """Towns are words in the one graph and entities in the other, with a label or an id that says it."""
    towns = ["Oslo", "Wien", "Roma"]
    source = graph([(f"p{i}", "knows", f"p{(i + 1) % N}") for i in range(N)],
                   [(f"p{i}", "town", f" {towns[i % 3].upper()}") for i in range(N)])  # fmt: skip
    target = graph([(f"P{i}", "livesIn", f"http://x.org/{towns[i % 3]}") for i in range(N)])
    for ours, theirs, pairs, names in (
        (source, target, None, ("town", "livesIn")),
        (target, source, [(f"P{i}", f"p{i}", 1.0) for i in range(N)], ("livesIn", "town")),
    ):
        frame = relations_of(mapping(ours, theirs, pairs)).to_frame()
        assert frame[["kind", "source", "target", "relation"]].to_numpy().tolist() == [["attribute", *names, "equal"]]
        assert frame["count"].tolist() == [N]
