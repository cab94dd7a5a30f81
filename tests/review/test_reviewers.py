"""How far a reviewer can be relied on: known items, hidden repeats, and the pull of a verdict that is shown."""

from __future__ import annotations

import math

import pytest
from reviewing import decision

from mixtea.review.decision import Share
from mixtea.review.reviewers import (
    FACT_RELIABILITY,
    MIN_KNOWN_ITEMS,
    MIN_RELIABILITY,
    UNMEASURED,
    Reviewer,
    agrees,
    is_right,
    measure_reviewers,
)

TRUTH = {f"s{i}": {f"t{i}"} for i in range(100)}


def judged(n_right, n_wrong, name="ann"):
    """So many known items decided rightly, so many wrongly."""
    right = [decision(f"r{i}", "accept", f"s{i}", f"t{i}", reason="known") for i in range(n_right)]
    wrong = [decision(f"w{i}", "accept", f"s{i}", "zzz", reason="known") for i in range(n_wrong)]
    return measure_reviewers([one._replace(reviewer=name) for one in right + wrong], TRUTH)[name]


def test_a_share_says_how_sure_it_is():
    few, many = Share(9, 10), Share(900, 1000)
    assert few.share == many.share == 0.9 and few.low < many.low < 0.9 < many.high < few.high
    assert str(few) == "90% (60%–98%)"
    nothing = Share(0, 0)
    assert math.isnan(nothing.share) and (nothing.low, nothing.high) == (0, 1) and str(nothing) == "not measured"


def test_who_decided_too_few_known_items_is_not_measured():
    assert (
        math.isnan(judged(0, MIN_KNOWN_ITEMS - 1).reliability) and judged(0, MIN_KNOWN_ITEMS - 1).log_odds == math.inf
    )
    assert judged(0, MIN_KNOWN_ITEMS).reliability == MIN_RELIABILITY
    assert math.isnan(UNMEASURED.reliability)


def test_who_may_be_right_often_enough_is_a_fact():
    one = judged(18, 2)  # nine of ten, but it may be 97 of 100
    assert one.right == Share(18, 20) and one.right.high >= FACT_RELIABILITY and math.isnan(one.reliability)
    more = judged(81, 9)  # as often, and measured well enough to say that it is too little
    assert more.right.high < FACT_RELIABILITY and more.reliability == pytest.approx(0.9)
    assert more.log_odds == pytest.approx(math.log(9))


def test_who_is_wrong_more_often_than_right_counts_nothing():
    assert judged(5, 20).reliability == MIN_RELIABILITY and judged(5, 20).log_odds == 0


def test_what_is_right():
    told = {"t1"}
    assert is_right(decision("k", "accept", "s", "t1"), told) and not is_right(decision("k", "accept", "s", "u"), told)
    assert is_right(decision("k", "reject", "s", "u"), told) and not is_right(decision("k", "reject", "s", "t1"), told)
    assert is_right(decision("k", "none", "s", None, "u", "v"), told)
    assert not is_right(decision("k", "none", "s", None, "u", "t1"), told)
    assert is_right(decision("k", "unsure", "s", "t1"), told) is None


def test_only_known_items_whose_link_is_known_are_judged_and_unsure_ones_are_not():
    own = [
        decision("a", "accept", "s1", "t1", reason="known"), decision("b", "unsure", "s2", "t2", reason="known"),
        decision("c", "accept", "new", "t2", reason="known"), decision("d", "accept", "s3", "zzz"),
    ]  # fmt: skip
    one = measure_reviewers(own, TRUTH)["ann"]
    assert one.right == Share(1, 1) and one.decided == 4


def test_repeats_are_the_same_or_not():
    own = [
        decision("a", "accept", "s1", "t1"), decision("b", "accept", "s2", "t2"), decision("c", "none", "s3"),
        decision("d", "accept", "s1", "t1", reason="repeat"), decision("e", "accept", "s2", "t9", reason="repeat"),
        decision("f", "none", "s3", reason="repeat"), decision("g", "reject", "s4", "t4", reason="repeat"),
    ]  # fmt: skip
    assert measure_reviewers(own, {})["ann"].same == Share(2, 3)  # what was never asked before is no repeat


def test_a_repeat_is_compared_with_the_first_word_about_it():
    own = [
        decision("a", "accept", "s1", "t1"), decision("b", "accept", "s1", "t1", reason="repeat"),
        decision("c", "reject", "s1", "t1"),
    ]  # fmt: skip
    assert measure_reviewers(own, {})["ann"].same == Share(1, 1)


@pytest.mark.parametrize(
    ("action", "target", "probability", "wanted"),
    [
        ("accept", "t", 0.9, True), ("accept", "t", 0.1, False), ("accept", "u", 0.9, False),
        ("reject", "t", 0.9, False), ("reject", "t", 0.1, True), ("none", None, 0.1, True),
        ("none", None, 0.9, False), ("unsure", "t", 0.9, None), ("accept", "t", None, None),
    ],
)  # fmt: skip
def test_who_agrees_with_the_model(action, target, probability, wanted):
    assert agrees(decision("k", action, "s", target, "t", "u", probability=probability)) is wanted


def test_what_was_imported_says_nothing_about_the_model():
    assert agrees(decision("k", "accept", "s", "t", probability=0.9)) is None


def test_pull_is_how_much_more_often_one_agrees_with_what_is_shown():
    about = {"probability": 0.9}
    shown = [decision(f"a{i}", "accept", f"s{i}", "t", "t", shown=True, **about) for i in range(4)]
    blind = [decision(f"b{i}", "accept", f"s{i}", "t", "t", **about) for i in range(1)]
    blind += [decision(f"c{i}", "reject", f"s{i}", "t", "t", **about) for i in range(3)]
    one = measure_reviewers(shown + blind, {})["ann"]
    assert (one.seen, one.blind, one.pull) == (Share(4, 4), Share(1, 4), 0.75)
    assert math.isnan(measure_reviewers(shown, {})["ann"].pull)


def test_each_by_name():
    own = [decision("a", "accept", "s1", "t1", reviewer=name) for name in ("bob", "ann", "bob")]
    found = measure_reviewers(own, {})
    assert [*found] == ["ann", "bob"] and [one.decided for one in found.values()] == [1, 2]
    assert isinstance(found["ann"], Reviewer) and measure_reviewers([], TRUTH) == {}
