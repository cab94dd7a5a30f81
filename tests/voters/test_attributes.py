"""Literal values: predicates that mean the same are found by them, rare ones weigh more, and wrong ones nothing."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from conftest import SMALL_BEST, benchmark_files, said_graph, said_task, write
from voting import known_pairs

from mixtea import MixTEA, load_task
from mixtea.config import Config
from mixtea.graph.entity_table import Attributes as Table
from mixtea.voters.attributes import AttributeOpinions, Attributes

NONE = np.empty((0, 2), dtype=np.int64)
N = 40
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def task_of(ours, theirs, train=(), n=N, **more):
    """`ours` and `theirs` map a predicate to the values of entities 0, 1, ..., "" for none."""
    rows = [
        [(i, name, value) for name, values in of.items() for i, value in enumerate(values) if value]
        for of in (ours, theirs)
    ]
    sides = [said_graph([""] * n, part, prefix) for part, prefix in zip(rows, "st", strict=True)]
    return said_task(sides[0], replace(sides[1], **more), train)


def opinions_of(*args, **more):
    opinions = AttributeOpinions(task_of(*args, **more))
    opinions.learn(NONE)
    return opinions


def aligned(opinions):
    return {
        tuple(side.names[end] for side, end in zip(opinions.sides, pair.ends, strict=True)): pair.weight
        for pair in opinions.aligned
    }


def best(opinions):
    """The most alike target of each source that has one alone."""
    found = {}
    for s, t, value in zip(*opinions.found.ends, opinions.found.value, strict=True):
        found.setdefault(int(s), []).append((float(value), int(t)))
    tops = {s: sorted(rows, reverse=True) for s, rows in found.items()}
    return {s: rows[0][1] for s, rows in tops.items() if len(rows) == 1 or rows[0][0] > rows[1][0]}


DATES = [f"{1900 + i}-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(N)]
WRITTEN = [f"{1 + i % 28}.{1 + i % 12}.{1900 + i}" for i in range(N)]
COLOURS = [("red", "green", "blue")[i % 3] for i in range(N)]


def test_predicates_of_other_names_are_aligned_by_their_values():
    opinions = opinions_of({"born": DATES, "colour": COLOURS}, {"geboren": WRITTEN, "farbe": COLOURS[1:] + COLOURS[:1]})
    assert set(aligned(opinions)) >= {("born", "geboren")} and best(opinions) == {i: i for i in range(N)}
    assert not set(aligned(opinions)) & {("born", "farbe"), ("colour", "geboren")}


def test_coordinates_of_different_digits_are_aligned():
    """No two values are equal, but most are at the same place."""
    exact = [40 + i * 0.731713 for i in range(N)]
    opinions = opinions_of({"lat": [f"{x:.6f}" for x in exact]}, {"breite": [f"{x + 1e-5:.4f}" for x in exact]})
    assert set(aligned(opinions)) == {("lat", "breite")} and best(opinions) == {i: i for i in range(N)}


def test_rare_values_make_a_predicate_weigh_more():
    opinions = opinions_of({"born": DATES, "colour": COLOURS}, {"geboren": WRITTEN, "farbe": COLOURS})
    weight = aligned(opinions)
    assert weight["born", "geboren"] > 3 * weight["colour", "farbe"] > 0


def test_a_rare_value_counts_for_more_than_one_that_many_have_of_the_same_predicate():
    """The first entity shares a common colour with the second target and a rare shape with the last."""
    colours = ["red"] * 20 + [f"colour {i}" for i in range(20)]
    shapes = [f"shape {i}" for i in range(20)] + ["round"] * 20
    target = {"colour": [*colours], "shape": [*shapes]}
    target["shape"][0], target["shape"][-1] = "another", shapes[0]
    opinions = opinions_of({"colour": colours, "shape": shapes}, target)
    place, there = opinions.found.find(np.array([0, 0]), np.array([1, N - 1]))
    assert there[1] and opinions.found.value[place[1]] > (opinions.found.value[place[0]] if there[0] else 0.0)
    rare = dict(zip(opinions.values.texts, opinions.values.rarity, strict=True))
    assert rare["red\x00"] < rare["shape 1\x00"] <= 1


def test_a_rare_word_counts_for_more_than_one_that_many_values_have():
    ours = [f"Saint {name} Church" for name in ("Alba", "Bruno", "Carlo", "Dora", "Emil", "Fritz", "Gerd", "Hanno")]
    theirs = ["Saint Nobody Church", "Alba", *ours[2:]]
    opinions = opinions_of({"name": ours}, {"titel": theirs}, n=8)
    likeness = dict(
        zip(zip(*(e.tolist() for e in opinions.found.ends), strict=True), opinions.found.value, strict=True)
    )
    assert likeness[0, 1] > likeness[0, 0]


def test_a_predicate_that_links_show_to_be_wrong_has_no_weight():
    shifted = [*WRITTEN[1:], WRITTEN[0]]
    links = [(i, i) for i in range(25)]
    codes = [f"code {i * i}" for i in range(N)]
    said = {"born": DATES, "code": codes}, {"geboren": shifted, "kode": codes}
    assert set(aligned(opinions_of(*said))) == {("born", "geboren"), ("code", "kode")}  # nobody has said otherwise
    opinions = opinions_of(*said, train=links)
    weight = aligned(opinions)
    assert weight["code", "kode"] > 20 * weight.get(("born", "geboren"), 0.0)
    assert best(opinions) == {i: i for i in range(N)}
    assert not opinions_of({"born": DATES}, {"geboren": shifted}, train=links).has_both_sides


def lettered_cities():
    """s0, s1, ... are born in a city, by its name; t0, t1, ... by the entity that is called so."""
    cities = [f"{a}{b}ville" for a in ("Al", "Ber", "Cor", "Dun") for b in ("ma", "no", "ri", "tu")]
    source = said_graph([""] * 16, [(i, "city", name) for i, name in enumerate(cities)], "s")
    target = said_graph([""] * 16 + cities, [(0, "other", "x")], "t", triples=[(i, 0, 16 + i) for i in range(16)])
    return source, target


def test_a_literal_here_is_an_entity_with_a_name_there():
    source, target = lettered_cities()
    opinions = AttributeOpinions(said_task(source, target))
    assert set(aligned(opinions)) == {("city", "r0")}
    assert best(opinions) == {i: i for i in range(16)}
    back = AttributeOpinions(said_task(target, source))
    assert set(aligned(back)) == {("r0", "city")} and best(back) == {i: i for i in range(16)}


def in_languages(predicate, prefix, **values):
    """A graph where entities 0, 1, ... have a value of one predicate in each language."""
    rows = [(i, predicate, value, tag) for tag, of in values.items() for i, value in enumerate(of)]
    return said_graph([""] * 8, rows, prefix)


def test_values_of_the_same_language_are_compared():
    """t1 says in German what s0 says in English."""
    english = [f"a gift of {word}" for word in ("ale", "bread", "corn", "dates", "eggs", "figs", "gold", "hay")]
    german = [f"das {word} bier" for word in ("alte", "braune", "kalte", "dunkle", "erste", "feine", "gute", "helle")]
    source = in_languages("comment", "s", en=english, de=german)
    target = in_languages("note", "t", **{"en-GB": english, "DE": [german[0], english[0], *german[2:]]})
    opinions = AttributeOpinions(said_task(source, target))
    assert set(aligned(opinions)) == {("comment@en", "note@en"), ("comment@de", "note@de")}
    likeness = dict(
        zip(zip(*(e.tolist() for e in opinions.found.ends), strict=True), opinions.found.value, strict=True)
    )
    assert likeness[0, 0] == 1 and likeness.get((0, 1), 0.0) < 0.3


def test_a_predicate_of_one_language_is_compared_with_any():
    words = [f"word{i} of {i * i}" for i in range(8)]
    one = in_languages("comment", "s", en=words)
    for other in ("en", "de", ""):
        opinions = AttributeOpinions(said_task(one, in_languages("note", "t", **{other: words})))
        assert set(aligned(opinions)) == {("comment", "note")} and best(opinions) == {i: i for i in range(8)}
    opinions = AttributeOpinions(said_task(one, in_languages("note", "t", fr=["x"] * 8, de=words)))
    assert set(aligned(opinions)) == {("comment", "note@de")} and best(opinions) == {i: i for i in range(8)}


def test_labels_are_no_values_and_who_has_none_has_no_opinion():
    opinions = opinions_of({LABEL: DATES, "born": [*DATES[:20], *[""] * 20]}, {"rdfs:label": DATES, "geboren": WRITTEN})
    assert set(aligned(opinions)) == {("born", "geboren")}
    odds = opinions.log_odds(np.array([0, 0, 30]), np.array([0, 1, 30]))
    assert np.isnan(odds).tolist() == [False, False, True] and odds[0] > 0 > odds[1]
    assert opinions.has[0].sum() == 20 and opinions.has[1].sum() == N


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [({}, {}), ({"a": ["x"]}, {}), ({}, {"a": ["x"]}), ({"a": ["x"]}, {"a": ["x"]}), ({"a": ["!?"]}, {"b": ["!?"]}),
     ({"a": ["x", "y"]}, {"b": ["v", "w"]}), ({"a": ["\x00", "x\x00y"]}, {"b": ["\x00", "x\x00y"]})],
)  # fmt: skip
def test_little_to_compare_is_no_trouble(ours, theirs):
    opinions = opinions_of(ours, theirs, n=2)
    assert len(opinions.found) <= 2
    assert not np.isinf(opinions.log_odds(np.array([0, 1]), np.array([0, 1]))).any()


def test_an_entity_with_many_values_is_no_trouble():
    """It is among the pairs of any two entities, many times: each is multiplied once, and few at a time."""
    values = [(max(i - 499, 0), "tag", f"a value {i * 7919 % 10007} of {i}") for i in range(505)]
    graphs = (said_graph([""] * 6, values, prefix) for prefix in "st")
    opinions = AttributeOpinions(said_task(*graphs))
    tracemalloc.start()
    assert aligned(opinions).keys() == {("tag", "tag")} and best(opinions)[0] == 0
    assert tracemalloc.get_traced_memory()[1] < 30 * 2**20
    tracemalloc.stop()


def test_what_is_compared_follows_from_what_was_learned_from():
    said = {"born": DATES, "colour": COLOURS}, {"geboren": WRITTEN, "farbe": COLOURS}
    long = opinions_of(*said, train=[(i, i) for i in range(5)])
    assert long.has_both_sides and len(long.found.value)
    long.learn(np.stack([np.arange(5, 30)] * 2, axis=1))
    fresh = AttributeOpinions(long.task)
    assert len(fresh.found.value)
    fresh.load_state_dict(long.state_dict())
    assert fresh.aligned == long.aligned and all(map(np.array_equal, fresh.found.ends, long.found.ends))
    assert np.array_equal(fresh.judged.log_odds, long.judged.log_odds)


def voter_of(task):
    return Attributes().bind(task, Config.preset("best"))


def explained(task, source, target, score):
    """What is said of a pair that has a score."""
    voter = voter_of(task)
    assert voter.explain(source, target) == ()  # nothing is known yet
    ends = np.array([source]), np.array([target])
    voter.known = known_pairs(*ends, np.ones(1), {"attributes": np.array([score])})
    rows = dict(voter.explain(source, target))
    assert np.isnan(score) or sum(rows.values()) == pytest.approx(score if rows else 0.0)
    return rows


def test_it_shows_values_side_by_side_and_what_differs_has_no_share():
    task = task_of({"born": DATES, "colour": COLOURS}, {"geboren": WRITTEN, "farbe": [*COLOURS[1:], "red"]})
    assert voter_of(task).is_applicable() and voter_of(task).cost().mib > 0
    same, other = "born: 1900-01-01 ~ geboren: 1.1.1900", "colour: red ≠ farbe: green"
    assert explained(task, 0, 0, 0.6) == {same: pytest.approx(0.6), other: 0.0}
    against = explained(task, 0, 0, -0.6)  # what differs speaks against the pair
    assert list(against) == [other, same] and against == {other: pytest.approx(-0.6), same: pytest.approx(0.0)}
    assert explained(task, 0, 0, float("nan")) == {}  # it had no opinion
    voter = voter_of(task)
    voter.known = known_pairs(np.array([1]), np.array([1]), np.ones(1), {"attributes": np.array([0.6])})
    assert all(np.isnan(row.weight) for row in voter.explain(0, 0)) and len(voter.explain(0, 0)) == 2


def test_it_shows_no_values_of_predicates_that_are_not_compared():
    moods = ["red", *(f"mood {i}" for i in range(1, N))]
    task = task_of({"born": DATES, "colour": COLOURS}, {"geboren": WRITTEN, "mood": moods})
    assert list(explained(task, 0, 0, 0.6)) == ["born: 1900-01-01 ~ geboren: 1.1.1900"]
    unseen = task_of({"colour": ["red"]}, {"mood": ["blue"]}, n=1)
    assert list(explained(unseen, 0, 0, 0.6).values()) == [0.6]  # what it went by is not known any more


def test_it_shows_the_links_word_on_which_predicates_are_compared():
    shifted, codes, links = [*WRITTEN[1:], WRITTEN[0]], [f"code {i * i}" for i in range(N)], [(i, i) for i in range(25)]
    said = {"born": DATES, "code": codes}, {"geboren": shifted, "kode": codes}
    assert set(explained(task_of(*said), 30, 30, 0.6)) > set(explained(task_of(*said, train=links), 30, 30, 0.6))


def test_it_shows_names_of_entities_beside_literals():
    source, target = lettered_cities()
    assert explained(said_task(source, target), 1, 1, 0.4) == {"city: Alnoville ~ r0: Alnoville": pytest.approx(0.4)}
    assert explained(said_task(target, source), 1, 1, 0.4) == {"r0: Alnoville ~ city: Alnoville": pytest.approx(0.4)}


def test_many_values_are_shown_as_a_number_and_each_beside_the_most_alike():
    ours = [(i, "has", f"{word} {i * k}") for i in range(8) for k, word in enumerate("abcdefg")]
    theirs = [(i, "hat", value) for i, _, value in reversed(ours)]
    task = said_task(said_graph([""] * 8, ours, "s"), said_graph([""] * 8, theirs, "t"))
    found = explained(task, 3, 3, 0.7)
    assert len(found) == 6 and list(found)[-1] == "2 more values"
    shown = [what.split(" ~ ") for what in list(found)[:-1]]
    assert all(ours.removeprefix("has") == theirs.removeprefix("hat") for ours, theirs in shown)


def test_without_values_it_is_silent_and_changes_no_bit(told):
    names = ("forward", "backward", "propagation", "agreement")
    sides = [replace(graph, attributes=Table.empty()) for graph in (told.source, told.target)]
    silent = told.replace(source=sides[0], target=sides[1])
    assert voter_of(told).is_applicable() and not voter_of(silent).is_applicable()
    without, same = (MixTEA(voters=who, **SMALL_BEST).fit(silent) for who in (names, (*names, "attributes")))
    assert without.vectors_.equal(same.vectors_) and without.trace_.equals(same.trace_)


def test_values_that_are_not_read_are_not_compared(tmp_path):
    ages = ["".join(f"{e}\tage\t{40 + n}\n" for n, e in enumerate(side)) for side in ("abcde", "ABCDE")]
    folder = write(tmp_path / "said", benchmark_files() | {"attr_triples_1": ages[0], "attr_triples_2": ages[1]})
    assert (
        voter_of(load_task(folder)).is_applicable()
        and not voter_of(load_task(folder, attributes=False)).is_applicable()
    )
