"""Groups of names that mean the same, and names put into the first of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conftest import labelled

from mixtea.graph.synonym_groups import canonical_names, merge_groups
from mixtea.text.names import MAX_NAME_LENGTH, comparison_form
from mixtea.text.phrases import Synonyms, acronyms

GROUPS = [("fe", "iron"), ("iron oxide", "rust"), ("h", "hydrogen"), ("größe", "size"), ("москва", "moscow")]


def test_groups_that_share_a_name_are_one_through_any_chain():
    groups = [("a", "b"), ("c", "d"), ("x", "y"), ("d", "e"), ("b", "e")]
    assert merge_groups(groups) == (("a", "b", "c", "d", "e"), ("x", "y"))
    assert merge_groups([("y", "x"), ("b", "a", "b")]) == (("a", "b"), ("x", "y"))
    assert merge_groups([("a", "a"), ("b",), ()]) == merge_groups([]) == ()


def test_the_order_of_the_groups_does_not_matter():
    groups = [("a", "b"), ("c", "d"), ("x", "y"), ("d", "b")]
    assert merge_groups(groups[::-1]) == merge_groups(groups) == merge_groups(merge_groups(groups))


def test_a_long_chain_of_groups_is_one():
    n = 50_000
    chain = [(f"{i:06}", f"{i + 1:06}") for i in range(n)]
    for groups in (chain, chain[::-1]):
        assert len(merge_groups(groups)[0]) == n + 1


def test_the_first_name_is_the_one_that_came_first():
    assert canonical_names([("c", "b"), ("y", "x"), ("a", "b")]) == {"c": "c", "b": "c", "a": "c", "y": "y", "x": "y"}


@pytest.mark.parametrize(
    "name, canonical",
    [
        ("iron", "fe"),
        ("iron ore", "fe ore"),
        ("Iron-Oxide", "iron oxide"),  # the longer one, and what was put in place of it is not looked at again
        ("rust", "iron oxide"),
        ("rust of iron", "iron oxide of fe"),
        ("ironing", "ironing"),
        ("ferry", "ferry"),  # symbols are whole words
        ("Fe2O3", "fe2o3"),
        ("H and Fe", "h and fe"),
        ("hydrogen fe iron", "h fe fe"),
        ("Size", "grosse"),  # in Latin letters, as names are compared
        ("GRÖSSE", "grosse"),
        ("Moscow", "moskva"),
        ("", ""),
        ("nothing here", "nothing here"),
    ],
)
def test_canonical_names(name, canonical):
    assert Synonyms(GROUPS).canonical(comparison_form(name)) == canonical


def test_chained_groups_have_one_first_name():
    synonyms = Synonyms([("chair", "chairman"), ("chairman", "head"), ("head", "head of the board")])
    names = ("chair", "chairman", "head", "head of the board")
    assert {synonyms.canonical(name) for name in names} == {"chair"}
    assert synonyms.canonical("the head of the boards") == "the chair of the boards"


def test_names_that_are_compared_alike_join_their_groups():
    synonyms = Synonyms([("Größe", "size"), ("grösse", "extent")])
    assert synonyms.canonical("extent") == synonyms.canonical("size") == "grosse"


def test_phrases_do_not_overlap():
    assert Synonyms([("a b", "x"), ("b c", "y")]).canonical("a b c") == "a b c"
    assert Synonyms([("x", "a b"), ("y", "b c")]).canonical("a b c") == "x c"


def test_names_do_not_grow_without_end():
    synonyms = Synonyms([("z" * 200, "a")])
    assert len(synonyms.canonical("a " * 400)) == MAX_NAME_LENGTH
    assert len(synonyms.canonical("b" * 3000 + " a")) == 3002


def test_names_of_a_graph_are_counted(tiny):
    graph = replace(tiny.source, labels=labelled(tiny.source, {"a": "Iron", "b": "Old iron (Fe)", "c": "Ironing"}))
    n, of = Synonyms(GROUPS).count(graph)
    assert (n, of) == (2, 5)
    assert Synonyms([]).count(graph) == (0, 5)


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        (["program committee chair"], ["pc chair"], [("program committee", "pc")]),
        (["pc chair"], ["program committee chair"], [("program committee", "pc")]),
        (["chair of program committee"], ["pc chair of"], [("program committee", "pc")]),
        (["program committee chair"], ["pc member"], []),  # the other words are not the same
        (["program committee"], ["pc"], []),  # there are no others: any two words would do
        (["program committee chair", "pc"], ["pc chair"], []),  # the side with the words uses it for something
        (["program committee chair", "personal computer chair"], ["pc chair"], []),  # two sequences of words fit
        (["new york f c"], ["nyfc stadium", "new york fc"], [("f c", "fc")]),
        (["a b c d e f match"], ["abcdef match"], []),  # six letters are a word
        (["4 wheel drive car"], ["4wd car"], []),  # letters alone
        ([], ["pc chair"], []),
    ],
)
def test_acronyms_of_one_side_are_found_by_the_words_beside_them(ours, theirs, found):
    assert list(acronyms(ours, theirs)) == found
