"""What is shown about a pair: texts side by side, voters, neighbours, who else it might be."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from conftest import said_graph, said_task
from reviewing import model_of

from mixtea.explain.side_by_side import ALIKE, DIFFERS, LEFT, PENDING, RIGHT, SAME
from mixtea.graph.labels import Labels
from mixtea.review.card import MAX_NEIGHBOURS_SHOWN, MAX_VALUES_SHOWN, Cards, VoterEvidence, entity, relation_steps
from mixtea.review.decision import Share
from mixtea.review.posterior import Effect, Posterior

VOTERS = ("forward", "backward", "names", "agreement")
SAID = [("names", "“Rome” ~ “Roma”", 0.8), ("names", "“Roma”", 0.4), ("forward", "a cosine", 0.2)]


def rome(**more):
    """Rome beside Italy, Lazio, which is matched to something elsewhere, and the Tiber, which is not matched."""
    values = [(0, "born", "753-04-21"), (0, "height", "21 m"), (0, "mayor", "Anna Rossi"), (0, "type", "city")]
    source = said_graph(["Rome", "Italy", "Lazio", "Tiber"], values, "s", triples=[(0, 0, 1), (0, 1, 2), (3, 1, 0)])
    values = [(0, "geboren", "753-04-21"), (0, "hoehe", "21.0 m"), (0, "x#Mayor", "Anna Bianchi"), (0, "area", "1285")]
    triples = [(0, 0, 1), (0, 1, 4), (3, 1, 2)]
    target = said_graph(["Roma", "Italia", "Latium", "Arno", "Tevere"], values, "t", triples=triples)
    task = said_task(source, target, [(1, 1)]).replace(valid=np.array([[2, 2]]))
    named = np.zeros((3, 2, 4), dtype=bool)
    named[:, 0, :3] = True
    named[0, 0, 3] = True
    rows = [{0: 0.7, 3: 0.2}, {2: 0.8, 0: 0.1}, {3: 0.3, 0: 0.25}]
    parts = {"vectors": [1.5, 1, 1], "names": [3.0, 2, 2], "agreement": [math.nan, 1, 1]}
    known = {"named": named, "mapped": [True, True, False], "voters": VOTERS, "parts": parts, "said": SAID}
    model = model_of(task, rows, **known | more)
    return Cards(model, Posterior(model))


def texts(line):
    return line.state, "".join(t for t, _ in line.left), "".join(t for t, _ in line.right)


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
    assert relation_steps(graph, 0) == [("r0", 1), ("inverse of r1", 2)] and relation_steps(graph, 1) == [
        ("inverse of r0", 0)
    ]


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
    card = rome()(0)
    assert [texts(line) for line in card.values] == [
        (SAME, "753-04-21", "753-04-21"), (SAME, "21 m", "21.0 m"), (ALIKE, "Anna Rossi", "Anna Bianchi"),
        (LEFT, "city", ""), (RIGHT, "", "1285"),
    ]  # fmt: skip
    assert card.values[2].left == [("Anna ", False), ("Rossi", True)] and 0 < card.values[2].percent < 100
    assert card.compares_values and not rome()(1).compares_values


def test_values_wait_for_the_index_until_the_evidence_is_there():
    cards = rome()
    assert [line.state for line in cards(0, with_evidence=False).values] == [SAME, SAME, PENDING, LEFT, RIGHT]
    cards.voter_evidence(0, 0)
    assert [line.state for line in cards(0, with_evidence=False).values] == [SAME, SAME, ALIKE, LEFT, RIGHT]


def test_its_neighbours_are_in_both_elsewhere_only_left_or_only_right():
    card = rome()(0)
    lines = [(*texts(line), line.left_by, line.right_by) for line in card.neighbours]
    assert lines == [
        (SAME, "Italy", "Italia", "r0", "r0"),
        (DIFFERS, "Lazio", "Latium", "r1", "is elsewhere:"),
        (LEFT, "Tiber", "", "inverse of r1", ""),
        (RIGHT, "", "Tevere", "", "r1"),
    ]
    assert card.counts == {SAME: 1, DIFFERS: 1, LEFT: 1, RIGHT: 1}


def test_neighbours_follow_what_was_decided():
    cards = rome()
    cards.posterior.decide((3, 4), math.inf)  # the Tiber is Tevere
    cards.posterior.decide((2, 2), -math.inf)  # but Lazio is not Latium, whatever the link says
    assert (cards.match(3), cards.match(2), cards.match(1), cards.match(0)) == (4, -1, 1, 0)
    assert [texts(line) for line in cards(0).neighbours] == [
        (SAME, "Italy", "Italia"), (SAME, "Tiber", "Tevere"), (LEFT, "Lazio", ""),
    ]  # fmt: skip


def test_the_relation_of_the_same_name_is_shown_where_there_is_one():
    source = said_graph(["a", "b"], prefix="s", triples=[(0, 1, 1)])
    target = said_graph(["A", "B"], prefix="t", triples=[(0, 0, 1), (0, 1, 1)])
    model = model_of(said_task(source, target, [(1, 1)]), [{0: 0.5}])
    (line,) = Cards(model, Posterior(model))(0).neighbours
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
    cards.posterior.decide((3, 0), math.inf)
    card = cards(0)
    assert card.probability == 0 and card.verdict == "not the same"
    assert [(one.entity.label, one.probability) for one in card.rivals] == [("Tiber", 1), ("Lazio", 0)]


def test_voices_say_who_favours_the_pair_and_why():
    assert rome()(0).voter_evidence == [
        VoterEvidence("names", True, 3.0, [("“Rome” ~ “Roma”", 0.8), ("“Roma”", 0.4)]),
        VoterEvidence("forward", True, 1.5, [("a cosine", 0.2)]),
        VoterEvidence("backward", True, 1.5, []),
        VoterEvidence("agreement", True, None, []),
    ]


def test_who_says_nothing_has_no_voice_and_what_is_added_is_known_of_mapped_pairs_alone():
    assert [voice.name for voice in rome(said=())(1).voter_evidence] == ["names", "forward", "backward", "agreement"]
    alone = rome(said=())(2).voter_evidence
    assert [(voice.name, voice.adds) for voice in alone] == [("forward", None), ("backward", None), ("names", None)]
    assert rome(said=())(0, 1).voter_evidence == []


def test_the_pattern_is_how_often_such_voters_are_right():
    cards = rome()
    assert cards(1).pattern == cards(2).pattern == Share(1, 1)  # the validation link of Lazio, whose target is first
    assert cards(0).pattern == Share(0, 0)
    wrong = rome()
    wrong.model.valid = {2: {3}}
    assert wrong.pattern_of(1) == Share(0, 1)


def test_what_accepting_it_would_move_is_said():
    cards = rome()
    assert cards(0).effect == cards.posterior.preview((0, 0)) and isinstance(cards(0).effect, Effect)


def test_of_many_values_and_neighbours_some_are_shown_and_the_others_counted():
    n = MAX_NEIGHBOURS_SHOWN + 6
    values = [(0, f"p{i}", f"value {i}") for i in range(MAX_VALUES_SHOWN + 2)]
    source = said_graph([""] * n, values, "s", triples=[(0, 0, i) for i in range(1, n)])
    target = said_graph(["", ""], prefix="t")
    model = model_of(said_task(source, target), [{0: 0.5}] * n)
    card = Cards(model, Posterior(model))(0)
    assert (len(card.values), card.more_values) == (MAX_VALUES_SHOWN, 2)
    assert (len(card.neighbours), card.more_neighbours) == (MAX_NEIGHBOURS_SHOWN, 5)
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
    model = session.state.original
    for row in range(0, len(model.sources), 7):
        card = session.state.card(row)
        assert card.row == row and card.source.id == session.state.source_id(row)
        assert card.alternatives[0].number == model.target[row, 0]
        assert card.probability == pytest.approx(model.probability[row, 0], abs=2e-3)
        told = {voice.name for voice in card.voter_evidence if voice.favours}
        assert told == {name for name, n in zip(model.voters, model.named[row, 0], strict=True) if n}
        assert card.source.triples == model.task.source.degrees[model.sources[row]]
        maker, own = session.state.card_maker(row)
        assert len(maker.picture(own)["nodes"]) == 2 + len(card.neighbours) + card.more_neighbours
