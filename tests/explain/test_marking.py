"""What the other text does not have is marked: words, or letters where no word is shared."""

from __future__ import annotations

import pytest

from mixtea.explain.marking import MAX_COMPARED, cut, marked


def differing(parts):
    return [text for text, differs in parts if differs]


def test_words_that_the_other_side_does_not_have_are_marked_wherever_they_stand():
    left, right = marked("Sony TV 42.5 inch, black", "sony inch 40 TV")
    assert left == [("Sony TV ", False), ("42.5", True), (" inch, ", False), ("black", True)]
    assert right == [("sony inch ", False), ("40", True), (" TV", False)]


def test_what_stands_between_marked_words_is_marked_with_them():
    left, right = marked("(the - big - house!)", "house")
    assert left == [("(", False), ("the - big", True), (" - house!)", False)] and right == [("house", False)]
    assert marked("St. Peter", "Sankt Peter") == (
        [("St", True), (". Peter", False)], [("Sankt", True), (" Peter", False)],
    )  # fmt: skip


def test_of_texts_without_a_common_word_letters_are_marked_or_all():
    assert marked("Rome", "Roma") == ([("Rom", False), ("e", True)], [("Rom", False), ("a", True)])
    assert marked("399", "395") == ([("39", False), ("9", True)], [("39", False), ("5", True)])
    assert marked("abc", "xyz") == ([("abc", True)], [("xyz", True)])
    assert marked("", "xyz") == ([], [("xyz", True)]) and marked("abc", "") == ([("abc", True)], [])
    long = "a" * (MAX_COMPARED + 2)
    assert marked(long, long + "b") == ([(long, True)], [(long + "b", True)])


@pytest.mark.parametrize("text", ["Rome", "—", "a b"])
def test_the_same_has_no_mark(text):
    assert marked(text, text) == ([(text, False)], [(text, False)])


def test_a_text_is_cut_where_it_is_too_long():
    parts = [("Rome and ", False), ("Paris", True), ("!", False)]
    assert cut(parts, 15) == parts and cut(parts, 11) == [("Rome and ", False), ("Pa…", True)]
    assert cut(parts, 14) == [*parts[:2], ("…", False)] and differing(cut(parts, 4)) == []
