"""What the other text does not have is marked: words, or letters where no word is shared."""

from __future__ import annotations

import pytest

from mixtea.explain.value_lines import MAX_COMPARED, mark_differences, truncate


def differing(parts):
    return [text for text, differs in parts if differs]


def test_words_that_the_other_side_does_not_have_are_marked_wherever_they_stand():
    left, right = mark_differences("Sony TV 42.5 inch, black", "sony inch 40 TV")
    assert left == [("Sony TV ", False), ("42.5", True), (" inch, ", False), ("black", True)]
    assert right == [("sony inch ", False), ("40", True), (" TV", False)]


def test_what_stands_between_marked_words_is_marked_with_them():
    left, right = mark_differences("(the - big - house!)", "house")
    assert left == [("(", False), ("the - big", True), (" - house!)", False)] and right == [("house", False)]
    assert mark_differences("St. Peter", "Sankt Peter") == (
        [("St", True), (". Peter", False)], [("Sankt", True), (" Peter", False)],
    )  # fmt: skip


def test_of_texts_without_a_common_word_letters_are_marked_or_all():
    assert mark_differences("Rome", "Roma") == ([("Rom", False), ("e", True)], [("Rom", False), ("a", True)])
    assert mark_differences("399", "395") == ([("39", False), ("9", True)], [("39", False), ("5", True)])
    assert mark_differences("abc", "xyz") == ([("abc", True)], [("xyz", True)])
    assert mark_differences("", "xyz") == ([], [("xyz", True)]) and mark_differences("abc", "") == ([("abc", True)], [])
    long = "a" * (MAX_COMPARED + 2)
    assert mark_differences(long, long + "b") == ([(long, True)], [(long + "b", True)])


@pytest.mark.parametrize("text", ["Rome", "—", "a b"])
def test_the_same_has_no_mark(text):
    assert mark_differences(text, text) == ([(text, False)], [(text, False)])


def test_a_text_is_cut_where_it_is_too_long():
    parts = [("Rome and ", False), ("Paris", True), ("!", False)]
    assert truncate(parts, 15) == parts and truncate(parts, 11) == [("Rome and ", False), ("Pa…", True)]
    assert truncate(parts, 14) == [*parts[:2], ("…", False)] and differing(truncate(parts, 4)) == []
