"""Names word by word: words and numbers that differ, in one spelling, and names that are the same."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import said_graph
from hypothesis import given
from hypothesis import strategies as st

from mixtea.voters.name_index import NameIndex
from mixtea.voters.word_comparison import (
    FUNCTION_WORDS,
    MAX_COUNTED,
    WORD_FEATURES,
    WordComparison,
    content_words,
    one_spelling,
)

NAMES = [feature.name for feature in WORD_FEATURES]
OTHERS = ["oslo", "wien", "roma"]  # so that words are rare


def features(one, other):
    """The features of two names by their own names, without those that are 0."""
    found = WordComparison([one, *OTHERS], [*OTHERS, other])(np.array([0]), np.array([3]))[0]
    return {name: pytest.approx(value, abs=1e-4) for name, value in zip(NAMES, found.tolist(), strict=True) if value}


def test_names_of_the_same_words_have_no_features():
    assert features("conference paper", "conference paper") == {}
    assert features("the title of a paper", "title paper") == {}
    assert features("colours", "color") == {} and features("", "") == {}


def test_words_that_both_have_alone_are_counted_in_pairs():
    assert features("red summer shoe", "red winter shoe") == {"words_differ": 1}
    assert features("plain red shoe", "fancy suede shoe") == {"words_differ": 2}
    assert features("one two three four five x", "six seven eight nine ten x") == {"words_differ": MAX_COUNTED}


def test_the_last_word_is_the_head():
    assert features("femoral artery", "femoral nerve") == {"words_differ": 1, "head_differs": 1}
    assert features("review", "paper review") == {"words_more": pytest.approx(1)}
    assert features("paper", "paper review") == {"head_differs": 1, "words_more": pytest.approx(1)}
    assert features("25", "street") == {"head_differs": 1, "words_more": pytest.approx(1)}  # a number is not a word


def test_a_word_more_counts_by_how_rare_it_is():
    """Of eight texts one has `rare`, four have `club`: from 1 for a word of one text to 0 for a word of all."""
    source, target = ["roma", "wien club", "oslo club", "graz club"], ["roma club", "roma rare", "bern", "nice"]
    found = WordComparison(source, target)(np.array([0, 0]), np.array([0, 1]))[:, NAMES.index("words_more")]
    assert found == pytest.approx([np.log(8 / 4) / np.log(8), 1.0])


def test_each_word_counts_once():
    assert features("paris paris texas", "paris texas texas") == {}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("left hand", "right hand", {"words_differ": 1, "opposites": 1}),
        ("left inner wall", "right outer wall", {"words_differ": 2, "opposites": 2}),
        ("left hand", "hand", {"words_more": 1}),
        ("red shoe", "green shoe", {"words_differ": 1, "colours_differ": 1}),
        ("red green shoe", "green shoe", {"words_more": 1}),  # a colour in common
        ("grey shoe", "gray shoe", {"words_differ": 1}),
        ("case", "red case", {"words_more": 1}),  # one of both names none
        ("ssd 256 gb", "ssd 512 gb", {"numbers_differ": 1, "quantities_differ": 1}),
        ("ssd 1 tb", "ssd 1024 gb", {"words_differ": 1, "head_differs": 1, "numbers_differ": 1}),  # the same quantity
        ("ssd 256 gb", "ssd 256 mm", {"words_differ": 1, "head_differs": 1, "numbers_shared": 1}),  # of another kind
        ("tv kdl40v", "tv kdl46v", {"numbers_differ": 1, "codes_differ": 1}),
        ("tv kdl40v", "tv kdl40v tuner", {"words_more": 1, "head_differs": 1, "numbers_shared": 1, "codes_shared": 1}),
        ("splenic vein", "spleen vein", {"words_differ": 1, "stems_shared": 1}),
    ],
)  # fmt: skip
def test_opposites_colours_quantities_codes_and_stems(one, other, expected):
    assert features(one, other) == expected == features(other, one)


@pytest.mark.parametrize(
    ("one", "other", "differ", "shared"),
    [
        ("10th Division", "23rd Division", 1, 0), ("10th Division", "Division 10", 0, 1),
        ("10th Division", "Tenth Division", 0, 0), ("007", "Agent 7", 0, 1), ("Apollo 0", "Apollo 00", 0, 1),
        ("Apollo 0", "Apollo 11", 1, 0), ("فرقة ١٠", "10th Division", 0, 1), ("第１０师", "10th Division", 0, 1),
        ("1st of 1999", "1 and 2", 1, 1), ("1 2 3 4 5", "1 2 3 4 5 6", 0, 3), ("", "Apollo 11", 0, 0),
    ],
)  # fmt: skip
def test_numbers_in_names(one, other, differ, shared):
    index = NameIndex(said_graph([one, *OTHERS]), said_graph([*OTHERS, other], prefix="t"))
    ours, theirs = (side.first[entity] for side, entity in zip(index.sides, (0, 3), strict=True))
    if ours < 0:
        assert not one
        return
    found = dict(zip(NAMES, index.compare_words(np.array([ours]), np.array([theirs]))[0], strict=True))
    assert (found["numbers_differ"], found["numbers_shared"]) == (differ, shared)


def test_words_are_compared_in_one_spelling():
    assert content_words("the organisation of papers") == ["organization", "paper"]
    assert content_words("is a 25 x9") == [] == content_words("")
    pairs = [
        ("studies", "study"),
        ("boxes", "box"),
        ("matches", "match"),
        ("dishes", "dish"),
        ("organised", "organized"),
    ]
    assert all(one_spelling(one) == one_spelling(other) for one, other in pairs)
    for word in ("bus", "gas", "glass", "analysis", "virus", "is"):
        assert one_spelling(word) == word
    assert {"of", "the", "has"} < FUNCTION_WORDS


texts = st.lists(st.sampled_from(["red", "shoes", "shoe", "of", "12", "012", "x7", "colour", "north"]), max_size=6)


@given(st.lists(texts, min_size=1, max_size=5), st.lists(texts, min_size=1, max_size=5))
def test_features_are_small_counts_that_do_not_depend_on_the_order_of_sides(ours, theirs):
    sides = [[" ".join(words) for words in side] for side in (ours, theirs)]
    a, b = (ends.ravel() for ends in np.indices((len(ours), len(theirs))))
    found, turned = WordComparison(*sides)(a, b), WordComparison(*sides[::-1])(b, a)
    assert found.shape == (len(a), len(WORD_FEATURES)) and found == pytest.approx(turned, abs=1e-5)
    assert (found >= 0).all() and (found <= MAX_COUNTED).all()
    same = WordComparison(sides[0], sides[0])(np.arange(len(ours)), np.arange(len(ours)))
    assert same[:, :4] == pytest.approx(0, abs=1e-5)


def test_typical_weights_are_against_what_differs_and_for_what_is_shared():
    weights = {feature.name: feature.weight for feature in WORD_FEATURES}
    for name, weight in weights.items():
        assert weight > 0 if name.endswith("_shared") else weight < 0
    assert all(feature.spread > 0 for feature in WORD_FEATURES)
