from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from conftest import make_graph

from mixtea.graph.graph import Graph
from mixtea.graph.labels import TRANSLATION_RANK, Labels
from mixtea.text.names import (
    MAX_NAME_LENGTH,
    entity_names,
    is_code,
    label_text,
    local_name,
    normalized_name,
    normalized_names,
)

NAMES = {  # ids that hold a name
    "Paris": "Paris",
    "a": "a",
    "X-Change_2": "X-Change 2",
    "hasAuthor": "has Author",
    "ConferenceMember": "Conference Member",
    "XMLFile": "XML File",
    "http://ex.org/onto#hasPart": "has Part",
    "http://ex.org/onto/Meta-Reviewer/": "Meta-Reviewer",
    "http://dbpedia.org/resource/YouTube": "YouTube",
    "http://dbpedia.org/resource/No_Way_Back/Cold_Day_in_the_Sun": "No Way Back/Cold Day in the Sun",
    "http://dbpedia.org/resource/Am_I_Black_Enough_for_You%3F": "Am I Black Enough for You?",
    "http://zh.dbpedia.org/resource/阿卜杜拉·居尔": "阿卜杜拉·居尔",
    "http://zh.dbpedia.org/resource/第3屆": "第3屆",
    "http://ru.dbpedia.org/resource/%D0%9C%D0%BE%D1%81%D0%BA%D0%B2%D0%B0": "Москва",
    "http://ru.example/ЧленСовета": "Член Совета",
    "http://ar.dbpedia.org/resource/ويكيبيديا_العربية": "ويكيبيديا العربية",
    "Ξένη_Γλώσσα": "Ξένη Γλώσσα",
    "dbr:AC/DC": "AC/DC",
    "ex:Abdullah_Gül": "Abdullah Gül",
    "urn:example:Paris": "Paris",
    "YAGO/Happy_Though_Married": "Happy Though Married",
    "Star_Trek:_Voyager": "Star Trek: Voyager",
    "20,000_Men_a_Year": "20,000 Men a Year",
    "U2": "U2",
    "VH1": "VH1",
    "LEVEL3": "LEVEL3",
    "R2D2": "R2D2",
    "D-18T": "D-18T",
    "STS-46": "STS-46",
    "ALGOL_60": "ALGOL 60",
    "FIFA_2004": "FIFA 2004",
    "Decade": "Decade",
    "Face2Face": "Face2Face",
    "Caf%E9": "Caf%E9",  # not of UTF-8
}
CODES = (
    "Q42", "Q100188", "E000143", "C0001234", "GO_0008150", "n-00001740", "wn30:n-00001740", "0038d267", "1984", "5.0",
    "http://www.wikidata.org/entity/Q1000001", "wdt:P31", "YAGO/E000032", "http://sws.geonames.org/2643743/",
    "550e8400-e29b-41d4-a716-446655440000", "{550E8400-E29B-41D4-A716-446655440000}", "m.02mjmr", "/m/0k8z", "s12",
    "http://www.okkam.org/oaie/person1-Address00", "http://www.okkam.org/oaie/person1-Person2430", "NCIT_C3262",
    "CHEBI_15377", "k3j9x2q", "_:b0", "_:Paris", "urn:isbn:0451450523", "http://example.org", "http://example.org/",
    "", "/", "#", ":", "_", "100%", "???",
)  # fmt: skip


@pytest.mark.parametrize("id, name", NAMES.items())
def test_ids_that_hold_a_name(id, name):
    assert local_name(id) == name


@pytest.mark.parametrize("id", CODES)
def test_ids_that_are_codes(id):
    assert local_name(id) == ""


@pytest.mark.parametrize(
    "text, words",
    [
        ("http://dbpedia.org/resource/Deepest_Shame", "Deepest Shame"),
        ("HTTPS://ex.org/AngLee", "Ang Lee"),
        ("http://www.wikidata.org/entity/Q1000001", ""),
        ("Happy_Though_Married", "Happy Though Married"),
        ("  E000143 \n", "E000143"),  # people call it so
        ("AC/DC", "AC/DC"),
        ("AngLee", "AngLee"),
    ],
)
def test_labels_in_words(text, words):
    assert label_text(text) == words


@pytest.mark.parametrize(
    "text, compared",
    [
        ("National_Front_(France)", "national front"),
        ("Mirage [1965] (film)", "mirage"),
        ("(1965)", "1965"),
        ("ＡＢＣ – Straße!", "abc strasse"),
        ("民族陣線（法國）", "民族陣線"),
        ("L'Été-2", "l été 2"),
        ("हिन्दी", "हिन्दी"),  # its vowels are marks that combine
        ("...", ""),
    ],
)
def test_names_as_they_are_compared(text, compared):
    assert normalized_name(text) == compared


def test_long_and_odd_texts_take_no_time():
    """Marks in the wrong order are sorted one by one, and brackets that never end are looked for again."""
    for text in ("a" + "\u0301\u0323" * 500_000, "(" * 1_000_000, "\ufdfa" * 1_000_000, "aB" * 500_000, "%41" * 10**6):
        assert max(map(len, (local_name(text), label_text(text)))) <= 2 * MAX_NAME_LENGTH
        assert len(normalized_name(text)) <= 20 * MAX_NAME_LENGTH
    assert local_name("caf\udce9_x\ud800") == "caf\udce9 x\ud800"


def named(ids: list[str], rows: list[tuple[int, str, int]]) -> Graph:
    graph = replace(make_graph([], len(ids)), ids=np.array(ids, dtype=object))
    columns = ([r[0] for r in rows], [r[1] for r in rows], [""] * len(rows), [r[2] for r in rows])
    return replace(graph, labels=Labels.from_columns(*columns).as_set())


def rows_of(graph: Graph) -> list[tuple[int, str]]:
    entity, texts = entity_names(graph)
    assert entity.dtype == np.int32
    return list(zip(entity.tolist(), texts.tolist(), strict=True))


def test_entities_are_called_by_labels_and_else_by_their_ids():
    graph = named(
        ["x:Paris", "x:Wien", "Q42", "Rome", "Q1", "Oslo"],
        [
            (0, "Ville_Lumière", 0), (0, "Ville Lumière", 1), (0, "City of Light", TRANSLATION_RANK),
            (1, "Vienna", TRANSLATION_RANK), (2, "http://www.wikidata.org/entity/Q42", 0), (3, "http://ex.org/Q7", 0),
        ],
    )  # fmt: skip
    assert rows_of(graph) == [
        (0, "Ville Lumière"), (0, "City of Light"), (1, "Vienna"), (1, "Wien"), (3, "Rome"), (5, "Oslo"),
    ]  # fmt: skip


def test_numbered_ids_are_no_names():
    numbered = [f"http://ex.org/entity_{i}" for i in range(12)]
    assert rows_of(named([*numbered, "Windows_10"], [])) == [(12, "Windows 10")]
    assert len(rows_of(named(numbered[:9], []))) == 9, "so few may be names"


def test_a_graph_without_names():
    assert rows_of(make_graph([(0, 0, 1)], 2)) == []
    assert rows_of(make_graph([], 0)) == []


def test_a_translation_is_shown_where_there_is_no_label():
    graph = named(["a", "b"], [(0, "Aa", TRANSLATION_RANK), (0, "Zz", 5), (1, "Bb", TRANSLATION_RANK)])
    assert [graph.label(0), graph.label(1)] == ["Zz", "Bb"]


@pytest.mark.parametrize(
    "text",
    ["A  b-C_d (x)", "a_b", "  x\t1\n2 ", "Ünï (a) 2", "[x] y", "(1965)", "", "9" * 2000, "a\x00b", "É" * 1200],
)
def test_many_names_are_normalized_as_one_is(text):
    assert normalized_names([text, text]) == [normalized_name(text)] * 2


def test_digits_of_an_id_matter_only_by_being_zero_or_not():
    for name in ("3T", "0T", "FIFA 14", "10cc", "Q42", "Q10", "E000143", "0038d267", "38d267ab", "X-Change 2"):
        assert is_code(name) == is_code(name.replace("4", "7").replace("3", "9"))
    assert not is_code("3T") and is_code("0T")
