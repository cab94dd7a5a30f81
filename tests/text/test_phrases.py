"""Phrases in texts."""

from __future__ import annotations

from mixtea.text.phrases import MAX_PHRASE_UNITS, Phrases


def phrases(*texts: str) -> Phrases:
    found = Phrases()
    for text in texts:
        assert found.add(text, f"<{text}>")
    return found


def test_longer_phrases_come_first_and_none_is_taken_twice():
    found = phrases("a", "a b", "b c d")
    assert found.replaced("a b c d") == "<a b> c d" and found.replaced("a x b c d") == "<a> x <b c d>"
    assert found.replaced("a a") == "<a> <a>" and found.replaced("b c") is None


def test_of_two_replacements_the_first_counts():
    found = phrases("a")
    assert found.add("A", "never") and found.replaced("a") == "<a>"


def test_what_is_no_phrase_is_not_taken():
    found = Phrases()
    assert not found.add("", "x") and not found.add("a " * (MAX_PHRASE_UNITS + 1), "x")
    assert found.add("a " * MAX_PHRASE_UNITS, "x") and found.replaced("a " * MAX_PHRASE_UNITS) == "x"
    assert found.replaced("") is None
