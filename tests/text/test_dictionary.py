"""Names by a dictionary."""

from __future__ import annotations

import pytest

from mixtea.text.names import MAX_NAME_LENGTH
from mixtea.text.phrases import MAX_PHRASE_LENGTH, MAX_PHRASE_UNITS, Dictionary

WORDS = Dictionary(
    [
        ("東京", "Tokyo"), ("東", "east"), ("站", "station"), ("新", "new"), ("Rotes", "Red"),
        ("rotes kreuz", "Red Cross"), ("Österreich", "Austria"), ("القاهرة", "Cairo"), ("Москва", "Moscow"),
        ("กรุงเทพ", "Bangkok"), ("ROTES", "never"),
    ]
)  # fmt: skip


@pytest.mark.parametrize(
    "name, translated",
    [
        ("東京站", "Tokyo station"),
        ("新東京", "new Tokyo"),
        ("東北京", "east 北京"),  # what is not in it stays together
        ("新 (東京)", "new Tokyo"),
        ("ROTES KREUZ, Österreich", "Red Cross Austria"),
        ("Das rotes Tuch", "Das Red Tuch"),
        ("القاهرة الجديدة", "Cairo الجديدة"),
        ("москва-2", "Moscow 2"),
        ("มหานครกรุงเทพ", "มหานคร Bangkok"),
        ("Ｒｏｔｅｓ", "Red"),
        ("Rotesten", None),
        ("北京", None),
        ("", None),
        ("...", None),
    ],
)
def test_words_and_signs(name, translated):
    assert WORDS.translated(name) == translated


def test_entries_that_are_no_words_are_counted():
    entries = [
        ("", "x"),
        ("...", "x"),
        ("a", " "),
        ("b" * (MAX_PHRASE_LENGTH + 1), "x"),
        ("c", "x" * (MAX_PHRASE_LENGTH + 1)),
    ]
    entries += [("字" * (MAX_PHRASE_UNITS + 1), "x"), ("d", "D")]
    words = Dictionary(entries)
    assert words.left_out == 6 and words.translated("a b c d") == "a b c D"


def test_a_translation_does_not_grow_without_end():
    words = Dictionary([("a", "x" * MAX_PHRASE_LENGTH)])
    assert len(words.translated("a " * 10**6)) <= MAX_NAME_LENGTH
