"""What is shown about a pair: texts side by side, voters, neighbours, who else it might be."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import said_graph, said_task
from hypothesis import given
from hypothesis import strategies as st
from reviewing import model_of

from mixtea.data.labels import Labels
from mixtea.data.values import form_of
from mixtea.review import card as card_module
from mixtea.review.belief import Belief, Effect
from mixtea.review.card import (
    ALIKE,
    DIFFERS,
    LEFT,
    LONGEST,
    RIGHT,
    SAME,
    SHOWN_NEIGHBOURS,
    SHOWN_VALUES,
    Cards,
    Voice,
    entity,
    marked,
    side_by_side,
    steps,
)
from mixtea.review.reviewers import Share

VOTERS = ("forward", "backward", "names", "agreement")
SAID = [("names", "“Rome” ~ “Roma”", 0.8), ("names", "“Roma”", 0.4), ("forward", "a cosine", 0.2)]


def rome(**more):
    """Rome beside Italy, Lazio, which is matched to something elsewhere, and the Tiber, which is not matched."""
    values = [(0, "born", "753-04-21"), (0, "height", "21 m"), (0, "mayor", "Anna"), (0, "type", "city")]
    source = said_graph(["Rome", "Italy", "Lazio", "Tiber"], values, "s", triples=[(0, 0, 1), (0, 1, 2), (3, 1, 0)])
    values = [(0, "geboren", "753-04-21"), (0, "hoehe", "21.0 m"), (0, "x#Mayor", "Bruno"), (0, "area", "1285")]
    triples = [(0, 0, 1), (0, 1, 4), (3, 1, 2)]
    target = said_graph(["Roma", "Italia", "Latium", "Arno", "Tevere"], values, "t", triples=triples)
    task = replace(said_task(source, target, [(1, 1)]), valid=np.array([[2, 2]]))
    named = np.zeros((3, 2, 4), dtype=bool)
    named[:, 0, :3] = True
    named[0, 0, 3] = True
    rows = [{0: 0.7, 3: 0.2}, {2: 0.8, 0: 0.1}, {3: 0.3, 0: 0.25}]
    parts = {"vectors": [1.5, 1, 1], "names": [3.0, 2, 2], "agreement": [math.nan, 1, 1]}
    known = {"named": named, "mapped": [True, True, False], "voters": VOTERS, "parts": parts, "said": SAID}
    model = model_of(task, rows, **known | more)
    return Cards(model, Belief(model))


def texts(line):
    return line.state, "".join(t for t, _ in line.left), "".join(t for t, _ in line.right)


# Texts


def test_what_the_other_side_does_not_have_is_marked():
    assert marked("Rome", "Rome") == ([("Rome", False)], [("Rome", False)])
    left, right = marked("St. Peter", "Sankt Peter")
    assert "".join(text for text, _ in left) == "St. Peter" and (" Peter", False) in left and (" Peter", False) in right
    assert [text for text, differs in left if differs] == ["."]


def test_unlike_texts_are_marked_as_wholes():
    assert marked("abc", "xyz") == ([("abc", True)], [("xyz", True)])
    assert marked("", "xyz") == ([], [("xyz", True)]) and marked("abc", "") == ([("abc", True)], [])
    long = "a" * (LONGEST + 2)
    assert marked(long, long + "b") == ([(long, True)], [(long + "b", True)])


def test_values_side_by_side():
    left = [("born", "1990-05-03"), ("colour", "red"), ("size", "3"), ("note", "hello")]
    right = [("http://x/Colour", "blue"), ("size", "3"), ("geboren", "3 May 1990"), ("other", "world")]
    lines = side_by_side(left, right)
    assert [texts(line) for line in lines] == [
        (ALIKE, "1990-05-03", "3 May 1990"), (SAME, "3", "3"), (DIFFERS, "red", "blue"), (LEFT, "hello", ""),
        (RIGHT, "", "world"),
    ]  # fmt: skip
    assert (lines[0].left_by, lines[0].right_by) == ("born", "geboren")
    assert (lines[3].left_by, lines[3].right_by, lines[4].left_by) == ("note", "", "")


def test_each_value_is_shown_once():
    lines = side_by_side([("a", "1"), ("b", "1"), ("b", "1")], [("a", "1"), ("c", "1")])
    assert [line.state for line in lines] == [SAME, SAME, LEFT]
    assert side_by_side([], []) == []


def test_many_values_are_each_looked_at_once(monkeypatch):
    """Whatever their number: each is brought into its form once, and only those that are shown are marked."""
    forms, marks = [], []
    monkeypatch.setattr(card_module, "form_of", lambda value: forms.append(value) or form_of(value))
    monkeypatch.setattr(card_module, "marked", lambda left, right: marks.append(left) or ([], []))
    left = [(f"p{n % 7}", f"value {n} of the left") for n in range(300)]
    right = [(f"p{n % 7}", f"value {n} of the {'left' if n % 3 else 'right'}") for n in range(300)]
    found = card_module.paired(left, right)
    assert len(forms) == 600 and len(found) == 300 and marks == []
    assert [one[0] for one in found].count("same") == 200 and {one[0] for one in found} == {"same", "differs"}


LEFT_VALUES = st.tuples(st.sampled_from("ab"), st.sampled_from(("1", "1.0", "x", "X", "—", "?")))
RIGHT_VALUES = st.tuples(st.sampled_from(("a", "c", "x:b")), st.sampled_from(("1", "1.0", "x", "—", "y")))


@given(st.lists(LEFT_VALUES), st.lists(RIGHT_VALUES))
def test_values_are_paired_as_by_looking_at_each_other_one(left, right):
    assert [(line.state, line.left_by, line.right_by) for line in side_by_side(left, right)] == [
        (state, *(one[0] if one else "" for one in pair)) for state, *pair in slowly_paired(left, right)
    ]


def slowly_paired(left, right):
    """The first that fits of all others, for each value: the same values, then predicates of the same name."""
    left, right, found = list(left), list(right), []
    for fits in (_same_value, lambda a, b: a[0].rpartition(":")[2] == b[0].rpartition(":")[2]):
        for one in list(left):
            other = next((other for other in right if fits(one, other)), None)
            if other is not None:
                state = "differs" if fits is not _same_value else "same" if one[1] == other[1] else "alike"
                found.append((state, one, other))
                left.remove(one)
                right.remove(other)
    return found + [("left", one, None) for one in left] + [("right", None, one) for one in right]


def _same_value(a, b):
    return a[1] == b[1] or (any(form_of(a[1])) and form_of(a[1]) == form_of(b[1]))


def test_signs_without_a_word_are_alike_only_if_equal():
    assert [line.state for line in side_by_side([("a", "—"), ("b", "?")], [("c", "!"), ("d", "?")])] == [
        SAME, LEFT, RIGHT,
    ]  # fmt: skip


def test_whatever_a_value_holds_it_is_one_line():
    (line,) = side_by_side([("by\nme", "a\x1b[31m\n" + "b" * 1000)], [])
    ((text, _),) = line.left
    assert line.left_by == r"by\nme" and text.startswith(r"a\x1b[31m\nbbb") and len(text) < LONGEST + 20


# Entities


def test_an_entity_as_people_see_it():
    graph = said_graph(["Rome", "city", "x"], [(0, "P31", "capital")], triples=[(0, 0, 1), (2, 0, 0), (0, 1, 2)])
    graph = replace(graph, relations=np.array(["rdf:type", "near"], dtype=object))
    graph = replace(graph, ids=np.array(["http://a/rome", "b", "c"], dtype=object))
    labels = Labels.of_entities([0, 0, 1], ["Roma", "Rome", "city"]).as_set()
    found = entity(replace(graph, labels=labels), 0)
    assert found == ("Roma", "http://a/rome", "http://a/rome", ("city", "capital"), 3, ("Rome",))
    assert entity(graph, 1).address == "" and entity(graph, 1).types == ()


def test_steps_go_both_ways():
    graph = said_graph(["", "", ""], triples=[(0, 0, 1), (2, 1, 0)])
    assert steps(graph, 0) == [("r0", 1), ("inverse of r1", 2)] and steps(graph, 1) == [("inverse of r0", 0)]


# Cards


def test_a_card_says_who_is_compared():
    card = rome()(0)
    assert (card.source.label, card.target.label, card.row) == ("Rome", "Roma", 0)
    assert card.names == ([("Rom", False), ("e", True)], [("Rom", False), ("a", True)])
    assert (card.source.types, card.source.triples, card.target.triples) == (("city",), 3, 2)
    assert (card.probability, card.verdict) == (pytest.approx(0.7), "the same")


def test_the_verdict_turns_at_a_half():
    card = rome()(2)
    assert (card.probability, card.verdict) == (pytest.approx(0.3), "not the same")
    assert replace(card, probability=0.5).verdict == "the same"


def test_its_values_are_side_by_side():
    assert [texts(line) for line in rome()(0).values] == [
        (SAME, "753-04-21", "753-04-21"), (ALIKE, "21 m", "21.0 m"), (DIFFERS, "Anna", "Bruno"), (LEFT, "city", ""),
        (RIGHT, "", "1285"),
    ]  # fmt: skip


def test_its_neighbours_are_in_both_elsewhere_only_left_or_only_right():
    card = rome()(0)
    lines = [(*texts(line), line.left_by, line.right_by) for line in card.neighbours]
    assert lines == [
        (SAME, "Italy", "Italia", "r0", "r0"),
        (DIFFERS, "Lazio", "Latium", "r1", "is elsewhere:"),
        (LEFT, "Tiber", "", "inverse of r1", ""),
        (RIGHT, "", "Tevere", "", "r1"),
    ]
    assert card.counts == {SAME: 1, ALIKE: 0, DIFFERS: 1, LEFT: 1, RIGHT: 1}


def test_neighbours_follow_what_was_decided():
    cards = rome()
    cards.belief.decide((3, 4), math.inf)  # the Tiber is Tevere
    cards.belief.decide((2, 2), -math.inf)  # but Lazio is not Latium, whatever the link says
    assert (cards.match(3), cards.match(2), cards.match(1), cards.match(0)) == (4, -1, 1, 0)
    assert [texts(line) for line in cards(0).neighbours] == [
        (SAME, "Italy", "Italia"), (SAME, "Tiber", "Tevere"), (LEFT, "Lazio", ""),
    ]  # fmt: skip


def test_the_relation_of_the_same_name_is_shown_where_there_is_one():
    source = said_graph(["a", "b"], prefix="s", triples=[(0, 1, 1)])
    target = said_graph(["A", "B"], prefix="t", triples=[(0, 0, 1), (0, 1, 1)])
    model = model_of(said_task(source, target, [(1, 1)]), [{0: 0.5}])
    (line,) = Cards(model, Belief(model))(0).neighbours
    assert (line.state, line.left_by, line.right_by) == (SAME, "r1", "r1")


def test_others_in_both_directions():
    card = rome()(0)
    assert [(one.entity.label, one.number) for one in card.alternatives] == [("Roma", 0), ("Arno", 3)]
    assert [one.probability for one in card.alternatives] == pytest.approx([0.7, 0.2])
    assert [(one.entity.label, one.number) for one in card.rivals] == [("Tiber", 3), ("Lazio", 2)]
    assert [one.probability for one in card.rivals] == pytest.approx([0.25, 0.1])


def test_another_candidate_can_be_looked_at():
    card = rome()(0, 1)
    assert (card.target.label, card.probability) == ("Arno", pytest.approx(0.2))
    assert [one.entity.label for one in card.alternatives] == ["Arno", "Roma"]


def test_others_follow_what_was_decided():
    cards = rome()
    cards.belief.decide((3, 0), math.inf)
    card = cards(0)
    assert card.probability == 0 and card.verdict == "not the same"
    assert [(one.entity.label, one.probability) for one in card.rivals] == [("Tiber", 1), ("Lazio", 0)]


def test_voices_say_who_favours_the_pair_and_why():
    assert rome()(0).voices == [
        Voice("names", True, 3.0, [("“Rome” ~ “Roma”", 0.8), ("“Roma”", 0.4)]),
        Voice("forward", True, 1.5, [("a cosine", 0.2)]),
        Voice("backward", True, 1.5, []),
        Voice("agreement", True, None, []),
    ]


def test_who_says_nothing_has_no_voice_and_what_is_added_is_known_of_mapped_pairs_alone():
    assert [voice.name for voice in rome(said=())(1).voices] == ["names", "forward", "backward", "agreement"]
    alone = rome(said=())(2).voices
    assert [(voice.name, voice.adds) for voice in alone] == [("forward", None), ("backward", None), ("names", None)]
    assert rome(said=())(0, 1).voices == []


def test_the_pattern_is_how_often_such_voters_are_right():
    cards = rome()
    assert cards(1).pattern == cards(2).pattern == Share(1, 1)  # the validation link of Lazio, whose target is first
    assert cards(0).pattern == Share(0, 0)
    wrong = rome()
    wrong.model.valid = {2: {3}}
    assert wrong.pattern_of(1) == Share(0, 1)


def test_what_accepting_it_would_move_is_said():
    cards = rome()
    assert cards(0).effect == cards.belief.preview((0, 0)) and isinstance(cards(0).effect, Effect)


def test_of_many_values_and_neighbours_some_are_shown_and_the_others_counted():
    n = SHOWN_NEIGHBOURS + 6
    values = [(0, f"p{i}", f"value {i}") for i in range(SHOWN_VALUES + 2)]
    source = said_graph([""] * n, values, "s", triples=[(0, 0, i) for i in range(1, n)])
    target = said_graph(["", ""], prefix="t")
    model = model_of(said_task(source, target), [{0: 0.5}] * n)
    card = Cards(model, Belief(model))(0)
    assert (len(card.values), card.more_values) == (SHOWN_VALUES, 2)
    assert (len(card.neighbours), card.more_neighbours) == (SHOWN_NEIGHBOURS, 5)
    assert card.counts[LEFT] + card.counts[DIFFERS] + card.counts[SAME] == n - 1


def test_the_picture_has_matched_ends_once():
    found = rome().picture(0)
    assert [(node["id"], node["label"], node["kind"]) for node in found["nodes"]] == [
        ("s", "Rome", "source"), ("t", "Roma", "target"), ("n0", "Italy = Italia", SAME),
        ("n1", "Lazio", DIFFERS), ("n2", "Tiber", LEFT), ("n3", "Tevere", RIGHT),
    ]  # fmt: skip
    assert [(edge["source"], edge["target"], edge["label"]) for edge in found["edges"]] == [
        ("s", "n0", "r0"), ("t", "n0", "r0"), ("s", "n1", "r1"), ("s", "n2", "inverse of r1"), ("t", "n3", "r1"),
    ]  # fmt: skip


def test_a_trained_run_has_cards(opened):
    session = opened()
    model = session.original
    for row in range(0, len(model.sources), 7):
        card = session.card(row)
        assert card.row == row and card.source.id == session.source_id(row)
        assert card.alternatives[0].number == model.target[row, 0]
        assert card.probability == pytest.approx(model.probability[row, 0], abs=2e-3)
        told = {voice.name for voice in card.voices if voice.favours}
        assert told == {name for name, n in zip(model.voters, model.named[row, 0], strict=True) if n}
        assert card.source.triples == model.degrees[0][model.sources[row]]
        assert len(session.picture(row)["nodes"]) == 2 + len(card.neighbours) + card.more_neighbours
