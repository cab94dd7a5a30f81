"""Names in any script, tied, shared, empty, long; and what tells like names apart."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from conftest import said_graph, said_task
from voting import known_pairs

from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.config import Config
from mixtea.graph.labels import Labels
from mixtea.text.names import transliterated
from mixtea.voters.later import NameLookup
from mixtea.voters.name_index import NameIndex, side_names
from mixtea.voters.names import NAME_FEATURES, NameOpinions, Names

NAN = float("nan")
NONE = np.empty((0, 2), dtype=np.int64)
LATIN = ["Moskva", "Beijing", "Athina", "Toukiou", "Crème Brûlée", "Straße", "Sankt-Peterburg"]
OTHER = ["Москва", "北京", "Αθήνα", "トウキヨウ", "creme brulee", "STRASSE", "Санкт-Петербург"]


def opinions_of(source, target, train=(), learn=True):
    opinions = NameOpinions(said_task(said_graph(source, prefix="s"), said_graph(target, prefix="t"), train))
    if learn:
        opinions.learn(NONE)
    return opinions


def likeness(opinions):
    return {(int(s), int(t)): float(v) for s, t, v in zip(*opinions.found.ends, opinions.found.value, strict=True)}


def probability(opinions, links=()):
    """P(match) of the pairs found between entities without a link."""
    kept = np.ones(len(opinions.found.value), dtype=bool)
    for line, ends in zip(opinions.found.ends, np.array(links, dtype=np.int64).reshape(-1, 2).T, strict=True):
        kept &= ~np.isin(line, ends)
    source, target = (line[kept] for line in opinions.found.ends)
    p = 1 / (1 + np.exp(-opinions.judged.log_odds[kept]))
    return dict(zip(zip(source.tolist(), target.tolist(), strict=True), p.tolist(), strict=True))


def test_names_in_other_scripts_are_compared_as_they_sound():
    found = likeness(opinions_of(LATIN, OTHER))
    for i in range(len(LATIN)):
        best = max((value, t) for (s, t), value in found.items() if s == i)
        assert best[1] == i, (LATIN[i], OTHER[best[1]])
    assert found[0, 0] == found[1, 1] == found[4, 4] == found[5, 5] == 1


def test_arabic_names_without_their_vowels_are_alike_still():
    found = likeness(opinions_of(["al-Qahira", "Dimashq", "اَلْقَاهِرَة"], ["القاهرة", "دمشق", "بغداد"]))
    assert found[2, 0] == 1 and found[1, 1] > max(found.get((1, other), 0.0) for other in (0, 2))


@pytest.mark.parametrize(
    ("text", "latin"),
    [
        ("ベルリン", "berurin"), ("パリ", "pari"), ("서울", "seoul"), ("андрей", "andrey"), ("hà nội", "ha noi"),
        ("a\u0300", "a"), ("ベ", "be"), ("القاهرة", "lqhrh"), ("", ""), ("x 2", "x 2"),
    ],
)  # fmt: skip
def test_marks_that_belong_to_a_letter_sound_and_others_do_not(text, latin):
    assert transliterated(text) == latin


def test_who_has_no_name_has_no_opinion():
    opinions = opinions_of(["Oslo", "", "Wien"], ["", "Oslo", "Roma", "!!!"])
    source, target = (ends.ravel() for ends in np.indices((3, 4)))
    odds = opinions.log_odds(source, target).reshape(3, 4)
    assert np.isnan(odds).tolist() == [[True, False, False, True], [True] * 4, [True, False, False, True]]
    assert odds[0, 1] > 0 > odds[0, 2] and opinions.has_both_sides
    assert not opinions_of(["Oslo"], [""]).has_both_sides and not opinions_of([], ["a"]).has_both_sides


def test_equal_names_of_two_entities_share_what_one_has_alone():
    opinions = opinions_of(["Springfield", "Oslo"], ["Springfield", "Springfield", "Oslo"])
    tied, other, clear = opinions.log_odds(np.array([0, 0, 1]), np.array([0, 1, 2]))
    assert tied == other < clear - 2 and tied > 0
    p = probability(opinions)
    assert p[0, 0] == p[0, 1] < 0.5 and p[1, 2] > 0.9


def test_of_equal_names_the_linked_one_is_not_a_rival():
    names = [f"{word}polis" for word in ("Akro", "Nea", "Mega", "Petro", "Anna")]
    target = ["Springfield", "Springfield", *names]
    links = [(i + 1, i + 2) for i in range(len(names))]
    without = opinions_of(["Springfield", *names], target, links)
    assert probability(without, links)[0, 0] < 0.5
    known = opinions_of(["Springfield", *names, "x"], target, [*links, (6, 0)])
    assert probability(known, [*links, (6, 0)])[0, 1] > 0.8
    assert min(opinions.log_odds(np.array([0]), np.array([1]))[0] for opinions in (without, known)) > 0


def test_a_name_of_a_million_letters_is_cut():
    tracemalloc.start()
    long = "Very long " * 100_000
    opinions = opinions_of([long, "Oslo", "(" * 10**6], ["Oslo", long + "x", "1" * 10**6])
    assert likeness(opinions)[0, 1] == 1 and likeness(opinions)[1, 0] == 1
    assert np.isfinite(opinions.log_odds(np.array([0]), np.array([1]))).all()
    assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    tracemalloc.stop()


def test_a_name_that_many_share_tells_nothing():
    opinions = opinions_of(["John Smith"] * 51 + ["Oslo"], ["John Smith", "Oslo"])
    assert set(likeness(opinions)) == {(51, 1)}
    odds = opinions.log_odds(np.array([0, 0, 51, 51]), np.array([0, 1, 0, 1]))
    assert np.isnan(odds[0]) and odds[1] < 0 and odds[2] < 0 < odds[3]
    assert set(likeness(opinions_of(["John Smith"] * 50, ["John Smith"]))) == {(i, 0) for i in range(50)}


def test_names_that_differ_by_spaces_alone_are_equal():
    found = likeness(
        opinions_of(["wave number", "co-author", "p H", "paper"], ["wavenumber", "coauthor", "pH", "papers"])
    )
    assert found[0, 0] == found[1, 1] == found[2, 2] == 1 > found[3, 3]


def spaced(word, number):
    """Put a space behind each letter of a word whose bit is set in the number."""
    return "".join(letter + " " * (number >> place & 1) for place, letter in enumerate(word)).strip()


def labelled(texts, n, prefix):
    """Make a graph of n entities with these labels in turn."""
    labels = Labels.from_columns(np.arange(len(texts)) % n, texts).as_set()
    return replace(said_graph([""] * n, prefix=prefix), labels=labels)


def test_many_spacings_of_a_word_are_no_pairs_of_each_with_each():
    texts = [spaced("telegraphically", number) for number in range(4000)]
    index = NameIndex(labelled(texts[:2000], 4, "s"), labelled(texts[1000:3000], 3, "t"))
    assert [len(ends) for ends in index.same] == [1, 1] and max(owners.nnz for owners in index.owners) < 2010
    a, b = np.arange(0, 2000, 7), np.arange(1999, -1, -7)
    found = index.of_texts(a, b, np.full(len(a), 0.5, dtype=np.float32))
    assert found.value.tolist() == [1.0] * 12
    assert [list(pair) for pair in zip(*found.ends, strict=True)] == [[s, t] for s in range(4) for t in range(3)]


def test_a_word_that_too_many_have_however_spaced_tells_nothing():
    """Those who write it in the same way are equal still."""
    texts = [spaced("telegraphically", number) for number in range(51)]
    opinions = opinions_of([*texts, "Oslo"], ["telegraphically", "Oslo"])
    found = likeness(opinions)
    assert [pair for pair, value in found.items() if value == 1] == [(0, 0), (51, 1)]
    assert np.isfinite(opinions.log_odds(np.array([0, 51]), np.array([0, 0]))).all()
    fewer = likeness(opinions_of(texts[:50], ["telegraphically"]))
    assert fewer == {(i, 0): 1.0 for i in range(50)}


def test_numbers_brackets_and_types_tell_like_names_apart():
    target = ["23rd Infantry Division", "10th Infantry Division", "Ulysses (album)", "Ulysses (1953 film)"]
    opinions = opinions_of(["10th Infantry Division", "Ulysses (film)"], target)
    odds = opinions.log_odds(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3]))
    assert odds[0] < 0 < odds[1] and odds[2] + 1 < odds[3]


def test_a_class_is_no_property_of_the_same_name():
    ids = [np.array([f"{p}{i}" for i in range(2)] + ["owl:Class", "owl:Property"], dtype=object) for p in "st"]
    typed = np.array([(0, 0, 2), (1, 0, 3)])
    sides = [
        said_graph(["Review", "Review" if p == "t" else "Paper", "", ""], triples=typed, ids=own,
                   relations=np.array(["http://www.w3.org/1999/02/22-rdf-syntax-ns#type"], dtype=object))
        for p, own in zip("st", ids, strict=True)
    ]  # fmt: skip
    opinions = NameOpinions(said_task(*sides))
    same, other = opinions.log_odds(np.array([0, 0]), np.array([0, 1]))
    assert same > max(other, 0.0) + 3 and probability(opinions)[0, 0] > 0.9 > 0.1 > probability(opinions)[0, 1]


def test_words_of_owl_and_blank_nodes_have_no_name():
    ids = np.array(["http://www.w3.org/2002/07/owl#Thing", "owl:Class", "_:b0", "http://ex.org/Thing"], dtype=object)
    graph = said_graph(["Thing", "Class", "Blank", "Thing"], ids=ids)
    assert side_names(graph).has.tolist() == [False, False, False, True]


def test_the_best_of_several_names_counts_and_the_first_is_shown():
    graph = said_graph(["", "Wien"])
    graph = replace(graph, labels=Labels.from_columns([0, 0, 1], ["Roma", "Eternal City", "Wien"]).as_set())
    index = NameIndex(graph, said_graph(["eternal city", "Vienna"], prefix="t"))
    found = dict(
        zip(zip(*(ends.tolist() for ends in index.likeness.ends), strict=True), index.likeness.value, strict=True)
    )
    assert found[0, 0] == 1 and (np.unique(index.sides[0].entity, return_counts=True)[1] == [2, 1]).all()
    assert index.sides[0].texts[index.sides[0].first[0]] == "eternal city"  # by the alphabet, as labels are sorted


def weight_of(name, opinions):
    return opinions.learned.weights[[feature.name for feature in NAME_FEATURES].index(name)]


def in_brackets(ours, theirs, train):
    """Twenty names with a word in brackets of each side, in turn."""
    words = [f"{a}{b}ville" for a in ("Al", "Ber", "Cor", "Dun", "Er") for b in ("ma", "no", "ri", "tu")]
    sides = [[f"{word} ({kind})" for kind in kinds for word in words] for kinds in (ours, theirs)]
    return opinions_of(*sides, train)


def test_names_with_and_without_brackets_are_not_swapped():
    """The band and its singer, on both sides, with words for band that have nothing in common."""
    found = opinions_of(["Manson", "Manson (band)"], ["Manson", "Manson (groupe)"], ())
    straight, crossed = (found.log_odds(np.array([0, 1]), np.array(targets)) for targets in ([0, 1], [1, 0]))
    assert (straight > crossed + 0.3).all()


def test_brackets_count_as_missing_where_both_graphs_use_them():
    place = [feature.name for feature in NAME_FEATURES].index("brackets_missing")

    def missing(source, target):
        return opinions_of(source, target, ()).columns[:, place].sum()

    assert missing(["Manson (band)", "Rome"], ["Manson", "Rome"]) == 0
    assert missing(["Manson (band)", "Rome"], ["Manson", "Rome (city)"]) >= 2


def test_brackets_count_for_entities_that_come_later_as_they_do_in_the_run():
    """The graphs of the run use brackets, the new entity has none."""
    target = said_graph(["Manson (groupe)", "Manson"], prefix="t")
    view = opinions_of(["Manson (band)"], ["Manson (groupe)"], ()).view()
    lookup = NameLookup(said_task(said_graph(["Manson (band)"]), target), view)
    found = lookup.opinions(said_task(said_graph(["Manson"], prefix="n"), target))
    place = [feature.name for feature in NAME_FEATURES].index("brackets_missing")
    assert dict(zip(found.found.target.tolist(), found.columns[:, place].tolist(), strict=True)) == {0: 1.0, 1: 0.0}


def test_links_move_what_words_in_brackets_are_worth():
    typical = next(feature.weight for feature in NAME_FEATURES if feature.name == "brackets_differ")
    links = [(i, i) for i in range(20)]
    assert weight_of("brackets_differ", in_brackets(["film"], ["film", "album"], ())) == typical
    telling = in_brackets(["film"], ["film", "album"], links[:15])  # all albums are open, and none is a film
    misleading = in_brackets(["film"], ["album", "film"], links[:15])  # each film is linked to an album
    assert weight_of("brackets_differ", telling) < typical - 0.1
    assert weight_of("brackets_differ", misleading) > typical + 0.1
    right, wrong = telling.log_odds(np.array([17, 17]), np.array([17, 37]))
    assert right > wrong + 1


def test_synonyms_are_the_same_word_and_count_for_less_than_equal_names():
    source, target = (
        said_graph(["Iron ore", "Fe ore", "Ferry"], prefix="s"),
        said_graph(["Fe ore", "Ferrum"], prefix="t"),
    )
    plain, told = (
        NameOpinions(said_task(source, target, synonyms=groups)) for groups in ((), (("fe", "iron", "ferrum"),))
    )
    before, after = likeness(plain), likeness(told)
    assert before[1, 0] == after[1, 0] == 1 > after[0, 0] > 0.9 > before[0, 0]
    assert weight_of("synonym", told) < 0
    synonym = told.columns[:, [feature.name for feature in NAME_FEATURES].index("synonym")]
    assert synonym[told.found.find(np.array([0, 1]), np.array([0, 0]))[0]].tolist() == [1, 0]


def column(opinions, name, source, target):
    place, is_there = opinions.found.find(np.array(source), np.array(target))
    assert is_there.all()
    return opinions.columns[place, [feature.name for feature in NAME_FEATURES].index(name)].tolist()


def test_an_acronym_is_its_words_and_counts_as_a_synonym():
    opinions = opinions_of(["Program committee chair", "Program committee", "Author"], ["PC chair", "Author", "PC"])
    found = likeness(opinions)
    assert found[0, 0] > 0.9 and found[1, 2] > 0.9
    assert column(opinions, "synonym", [0, 1, 2], [0, 2, 1]) == [1, 1, 0]


def test_first_names_count_for_more_than_further_ones():
    """The first two targets have the name of the first source: as their first name, and as a further one."""
    source, target = said_graph(["Femur", "Skull"]), said_graph(["Femur", "Thigh", "Skull"], prefix="t")
    names = Labels.of_entities(np.array([0, 1, 1, 2]), ["Femur", "Thigh", "Femur", "Skull"])
    opinions = NameOpinions(said_task(source, replace(target, labels=names)))
    opinions.learn(NONE)
    assert column(opinions, "further_name", [0, 0, 1], [0, 1, 2]) == [0, 1, 0]
    first, further = opinions.log_odds(np.array([0, 0]), np.array([0, 1]))
    assert first > further + 0.5


def test_where_a_side_has_no_names_there_are_no_features_and_no_opinion():
    opinions = opinions_of(["Oslo"], [""])
    assert opinions.columns.shape == (0, len(NAME_FEATURES)) and len(opinions.judged.log_odds) == 0
    assert np.isnan(opinions.log_odds(np.array([0]), np.array([0]))).all()


def voter_of(source, target):
    return Names().bind(said_task(said_graph(source), said_graph(target, prefix="t")), Config.preset("best"))


def test_it_says_which_names_it_compared():
    voter = voter_of(["Oslo", ""], ["Oslo", "Kristiania"])
    assert voter.explain(0, 0) == ()  # nothing is known yet
    voter.known = known_pairs(np.array([0]), np.array([0]), np.ones(1), {"names": np.array([0.6])})
    assert voter.explain(0, 0) == [("“Oslo” ~ “Oslo”", 0.6)] and voter.explain(1, 0) == ()
    [unknown] = voter.explain(0, 1)  # no stored candidate, so its score is not known
    assert unknown.what == "“Oslo” ~ “Kristiania”" and np.isnan(unknown.weight) and voter.cost().mib > 0
    voter.known = known_pairs(np.array([0]), np.array([0]), np.ones(1), {"names": np.array([NAN])})
    assert voter.explain(0, 0) == ()  # it had no opinion


def test_it_shows_the_names_that_are_alike_first():
    many = [f"{word} Name" for word in ("A", "B", "C", "D", "E", "F", "G")]
    source = replace(said_graph([""]), labels=Labels.from_columns([0] * 9, [*many, "Zürich", "!"]).as_set())
    target = said_graph([""], prefix="t")
    target = replace(target, labels=Labels.from_columns([0] * 3, ["Other", "Turicum", "ZURICH"]).as_set())
    voter = Names().bind(said_task(source, target), Config.preset("best"))
    voter.known = known_pairs(np.array([0]), np.array([0]), np.ones(1), {"names": np.array([0.6])})
    [row] = voter.explain(0, 0)
    ours, theirs = row.what.split(" ~ ")
    assert ours.startswith("“Zürich”, “") and theirs.startswith("“ZURICH”, “") and row.weight == 0.6
    assert ours.count("“") == 5 and theirs.count("“") == 3


def test_silent_it_proposes_nothing_and_scores_nothing():
    pairs = ScoredPairs(np.array([0, 0]), np.array([0, 1]), (1, 2))

    silent = voter_of(["Oslo"], ["", ""])
    assert not silent.is_applicable() and silent.propose(None) is None and np.isnan(silent.score(pairs, None)).all()
    speaking = voter_of(["Oslo"], ["Oslo", ""])
    found = speaking.score(pairs, None)
    assert speaking.propose(None).tolist() == [[0, 0]] and np.isnan(found).tolist() == [False, True]
    assert found[0] == pytest.approx(0.1 * speaking.opinions().log_odds(np.array([0]), np.array([0]))[0])
