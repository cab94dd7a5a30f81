"""Statements are cut into columns as the parser has written them, and what is no statement is noticed."""

from __future__ import annotations

import random

import pyoxigraph as ox
import pytest

from mixtea.io.rdf.columns import StatementColumns

SIGNS = ['"', "\\", "\n", "\t", "\r", "\b", "\f", "\0", "\x01", "\x7f", "\x85", "\ufffe", "é", "😀", " ", "<", ">", ".",
         " .", "n", "u0041", "@en", "^^<a:b>", "_:", "# ", "<<(", ""]  # fmt: skip
NODES = [ox.NamedNode(f"http://e/{i}é?#") for i in range(4)] + [ox.BlankNode("b.1"), ox.BlankNode("c")]
WORDS = [ox.NamedNode("http://e/p"), ox.NamedNode("http://e/q")]


def literal(chance):
    text = "".join(chance.choice(SIGNS) for _ in range(chance.randrange(5)))
    kind = chance.choice(({}, {}, {"language": "en"}, {"language": "de-at"}, {"datatype": WORDS[0]}))
    return ox.Literal(text, **kind)


def named(node):
    return f"_:{node.value}" if isinstance(node, ox.BlankNode) else node.value


def collected(*blocks):
    columns = StatementColumns()
    for block in blocks:
        columns.add(block)
    return columns


@pytest.mark.parametrize("seed", range(20))
def test_columns_hold_what_the_parser_has_read(seed):
    """Against a loop over the parser's own terms."""
    chance = random.Random(seed)
    graphs = [ox.DefaultGraph(), ox.NamedNode("http://g/"), ox.BlankNode("g")]
    quads = []
    for _ in range(60):
        value = chance.choice(
            [*NODES, literal(chance), literal(chance), ox.Triple(NODES[0], WORDS[0], literal(chance))]
        )
        quads.append(ox.Quad(chance.choice(NODES), chance.choice(WORDS), value, chance.choice(graphs)))
    plain = [quad for quad in quads if not isinstance(quad.object, ox.Triple)]
    lines = ox.serialize(quads, format=ox.RdfFormat.N_QUADS).splitlines(keepends=True)
    columns = collected(b"".join(lines[:23]), b"", b"".join(lines[23:]))
    graph = columns.graph({})
    ends = [named(end) for one in plain for end in (one.subject, one.object) if not isinstance(end, ox.Literal)]
    assert graph.ids.tolist() == [*dict.fromkeys(ends)] and columns.n_strange == len(quads) - len(plain)
    assert graph.predicates.tolist() == [*dict.fromkeys(one.predicate.value for one in plain)]
    triples = [(graph.ids[h], graph.predicates[r], graph.ids[t]) for h, r, t in graph.triples]
    literals = [one for one in plain if isinstance(one.object, ox.Literal)]
    assert triples == [(named(o.subject), o.predicate.value, named(o.object)) for o in plain if o not in literals]
    of = graph.attributes
    found = list(zip(graph.ids[of.entity], *(c.tolist() for c in (of.predicate, of.value, of.language)), strict=True))
    assert found == [(named(o.subject), o.predicate.value, o.object.value, o.object.language or "") for o in literals]
    assert of.datatype.tolist() == ["http://e/p" if o.object.datatype == WORDS[0] else "" for o in literals]


def test_a_direction_is_a_datatype_and_languages_are_kept():
    of = collected(b'<a:a> <a:b> "x"@ar--rtl .\n<a:a> <a:b> "x"@en-us .\n').graph({}).attributes
    assert of.language.tolist() == ["ar", "en-us"]
    assert of.datatype.tolist() == ["http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString", ""]


def test_without_statements():
    graph = collected().graph({"a": "b:"})
    assert not len(graph.ids) and graph.triples.shape == (0, 3) and not len(graph.attributes)
    assert graph.prefixes == {"a": "b:"}
    strange = collected(b"<a:a> <a:b> <<( <a:c> <a:d> <a:e> )>> .\n<<( _:a <a:b> <a:c> )>> <a:b> <a:c> .\n")
    assert strange.n_strange == 2 and not len(strange.graph({}).ids)


@pytest.mark.parametrize(
    "block",
    [
        b"<a:a> <a:b> <a:c> .", b"\n", b"<a:a> <a:b> .\n", b"<a:a> <a:b> <a:c>\n", b"x <a:b> <a:c> .\n", b"   .\n",
        b"<a:a> b <a:c> .\n", b"<a:a> <a:b> c .\n", b'<a:a> <a:b> "x .\n', b'<a:a> <a:b> "x\n', b"<a:a <a:b> <a:c> .\n",
        b"<a:a> <a:b> <a:c .\n", b"<a:a> <a:b> <a:c>.\n", b"<a:a> <a:b>\n<a:c> .\n", b"<a:a> <a:b> <\xff> .\n",
        b". .\n", b'<a:a> <a:b> "\\uD800" .\n', b'<a:a> <a:b> "\\UFFFFFFFF" .\n',
              b'<a:a> <a:b> <a:c> .\n"x"\n', b"<a:a> \n<a:b> <a:c> .\n", b"<\n", b"<a:a>  <a:b> <a:c> .\n",
    ],
)  # fmt: skip
def test_what_is_no_statement_is_an_error(block):
    with pytest.raises(SyntaxError, match="lines that are no statements"):
        collected(b"<a:a> <a:b> <a:c> .\n", block)
