"""Read OBO flat files, in which many biomedical ontologies come, as the statements of their OWL."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.errors import Problems
from mixtea.graph.builder import GraphData
from mixtea.graph.entity_table import Attributes
from mixtea.graph.prefixes import BUILT_IN, expand
from mixtea.graph.terms import imports_note, without_vocabulary
from mixtea.io.formats.link_tables import NO_LINKS, LinkTable, link_columns
from mixtea.io.formats.tsv import text_blocks
from mixtea.io.safe.limits import UnreadableError

OBO = BUILT_IN["obo"]
STANZAS = {"Term": "owl:Class", "Typedef": "owl:ObjectProperty", "Instance": "owl:NamedIndividual"}
TEXTS = {
    "name": "rdfs:label", "def": "obo:IAO_0000115", "comment": "rdfs:comment", "alt_id": "oboInOwl:hasAlternativeId",
    "namespace": "oboInOwl:hasOBONamespace", "xref": "oboInOwl:hasDbXref", "is_obsolete": "owl:deprecated",
    "subset": "oboInOwl:inSubset",
}  # fmt: skip
ENTITIES = {
    "is_a": "rdfs:subClassOf", "union_of": "owl:unionOf", "disjoint_from": "owl:disjointWith", "domain": "rdfs:domain",
    "equivalent_to": "owl:equivalentClass", "range": "rdfs:range", "inverse_of": "owl:inverseOf",
    "instance_of": "rdf:type", "replaced_by": "obo:IAO_0100001", "consider": "oboInOwl:consider",
}  # fmt: skip
OF_PROPERTIES = {"is_a": "rdfs:subPropertyOf", "equivalent_to": "owl:equivalentProperty"}
SCOPES = ("EXACT", "BROAD", "NARROW", "RELATED")
SHARED = ("RO:", "BFO:")  # a relation with such an xref is that relation
FIRST_WORD = frozenset({"alt_id", "namespace", "xref", "is_obsolete", "subset"})
HEADER = re.compile(r"\[(\w+)\]")
QUOTED = re.compile(r'\s*+"((?:[^"\\]|\\.)*+)"')  # *+ never gives back, so that no line takes long
ESCAPE = re.compile(r"\\(.)")
WHITE = {"n": "\n", "t": "\t", "W": " "}
MAX_PREFIXES = 100


def read_obo(path: Path, kind: str, problems: Problems) -> GraphData:
    """Read a file: `id: GO:1` is the entity http://purl.obolibrary.org/obo/GO_1, as in the OWL of the same ontology."""
    return without_vocabulary(_read(path, problems).part())


def read_obo_links(path: Path, kind: str, problems: Problems) -> LinkTable:
    """Read the xrefs of terms, which lead to the same entity elsewhere, or nearly."""
    found = _read(path, problems).xrefs
    if not found:
        raise UnreadableError(path, None, "", "a graph (OBO) without an xref, where links are needed", NO_LINKS)
    lines, *ends = zip(*found, strict=True)
    return LinkTable(path, link_columns(list(zip(*ends, strict=True))), np.array(lines), undirected=True)


def _read(path: Path, problems: Problems) -> _Reader:
    reader = _Reader(path, problems)
    for first, text, _ in text_blocks(path, problems):
        for number, line in enumerate(text.split("\n"), first):
            reader.read(number, line.strip())
    problems.skipped[path] += max(reader.n_wrong - problems.limit, 0)
    if not reader.triples and not any(problem.file == path for problem in problems.found):
        raise UnreadableError(path, None, "", "no [Term] with an id: the OBO file is empty", "It needs some.")
    return reader


class _Reader:
    """A line-by-line reader; stanzas of other types are skipped."""

    def __init__(self, path: Path, problems: Problems) -> None:
        self.path, self.problems, self.n_wrong = path, problems, 0
        self.stanza, self.subject = "header", ""
        self.ontology, self.spaces = "TEMP", dict[str, str]()
        self.imports, self.prefixes, self.same = list[str](), dict[str, str](), dict[str, str]()
        self.xrefs = list[tuple[int, str, str]]()  # line, term, term of another ontology
        self.triples, self.texts = list[tuple[str, str, str]](), list[tuple[str, str, str]]()

    def read(self, number: int, line: str) -> None:
        if not line or line.startswith("!"):
            return
        if line[0] == "[" and (stanza := HEADER.match(line)):
            self.stanza, self.subject = stanza[1], ""
            return
        tag, colon, value = line.partition(":")
        if not colon:
            self._report(number, line, "not a line of OBO", "Write `tag: value`.")
        elif self.stanza == "header":
            self._read_header(tag, value.strip())
        elif self.stanza in STANZAS and tag == "id":
            self._read_id(number, value)
        elif self.stanza in STANZAS and not self.subject:
            self._report(number, line, "no id before", "A stanza begins with `id: ...`.")
        elif self.stanza in STANZAS:
            self._read_tag(number, tag, value.strip())

    def _read_header(self, tag: str, value: str) -> None:
        words = [*value.split(), "", ""]
        if tag == "ontology" and value:
            self.ontology = words[0]
        elif tag == "idspace" and words[1]:
            self.spaces[words[0]] = self.prefixes[words[0]] = words[1]
        elif tag == "import" and value:
            self.imports.append(words[0])

    def _read_id(self, number: int, value: str) -> None:
        words = _words(value)
        if not words:
            self._report(number, value, "an empty id", "Write `id: ...`.")
            return
        self.subject, self.id = self._iri(words[0]), words[0]
        prefix, colon, _ = words[0].partition(":")
        if colon and prefix not in self.prefixes and len(self.prefixes) < MAX_PREFIXES:
            self.prefixes[prefix] = f"{OBO}{prefix}_"
        self._add_triple("rdf:type", expand(STANZAS[self.stanza], BUILT_IN))

    def _read_tag(self, number: int, tag: str, value: str) -> None:
        """Add the statement of one line."""
        words = _words(value)
        if tag.endswith("synonym") or (tag in ("def", "property_value") and '"' in value):
            self._read_quoted(number, tag, value, words)
        elif tag in TEXTS:
            self._add_text(TEXTS[tag], words[0] if tag in FIRST_WORD and words else _unescaped(value))
            if tag == "xref" and self.stanza == "Term" and words and ":" in words[0]:
                self.xrefs.append((number, self.subject, self._iri(words[0])))
            if tag == "xref" and self.stanza == "Typedef" and ":" not in self.id and value.startswith(SHARED):
                self.same.setdefault(self.subject, self._iri(words[0]))
        elif tag in ("relationship", "intersection_of", "property_value") and len(words) > 1:
            self._add_triple(self._iri(words[0]), self._iri(words[1]))
        elif tag in ENTITIES or tag == "intersection_of":
            known = ENTITIES | (OF_PROPERTIES if self.stanza == "Typedef" else {})
            if words:
                self._add_triple(known.get(tag, "rdfs:subClassOf"), self._iri(words[0]))

    def _read_quoted(self, number: int, tag: str, value: str, words: list[str]) -> None:
        before = words[0] if tag == "property_value" else ""
        quoted = QUOTED.match(value, len(before))
        if not quoted:
            self._report(number, value, "no text in quotes", 'Write it as "text", with \\" for a quote in it.')
            return
        scope = next(iter(value[quoted.end() :].split()), "") if tag == "synonym" else tag.partition("_")[0].upper()
        synonym = f"oboInOwl:has{scope.title() if scope in SCOPES else 'Related'}Synonym"
        predicate = self._iri(before) if before else TEXTS.get(tag, synonym)
        self._add_text(predicate, _unescaped(quoted[1]))

    def _add_text(self, predicate: str, text: str) -> None:
        self.texts.append((self.subject, expand(predicate, BUILT_IN), text))

    def _add_triple(self, predicate: str, other: str) -> None:
        self.triples.append((self.subject, expand(predicate, BUILT_IN), other))

    def _iri(self, name: str) -> str:
        prefix, colon, local = name.partition(":")
        if not colon:
            return f"{OBO}{self.ontology}#{name}"
        return name if local.startswith("//") else self.spaces.get(prefix, f"{OBO}{prefix}_") + local

    def _report(self, number: int, line: str, what: str, todo: str) -> None:
        self.n_wrong += 1
        if self.n_wrong <= self.problems.limit:  # the rest is counted, which costs little
            self.problems.add(self.path, number, line, what, todo)

    def part(self) -> GraphData:
        """Return all statements, with relations under the names that they share with other ontologies."""
        heads, relations, tails = self._columns(self.triples)
        owners, predicates, texts = self._columns(self.texts)
        ids, names = pd.factorize(np.concatenate([heads, tails, owners]))
        words, known = pd.factorize(np.concatenate([relations, predicates]))
        n = len(heads)
        triples = np.stack([ids[:n], words[:n], ids[n : 2 * n]], axis=1).astype(np.int64)
        attributes = Attributes.from_columns(ids[2 * n :], predicates, texts)
        ontology = "" if self.ontology == "TEMP" else f"{OBO}{self.ontology}.owl"
        notes = imports_note(self.imports)
        return GraphData(names, known, triples, attributes, prefixes=self.prefixes, ontology=ontology, notes=notes)

    def _columns(self, rows: list[tuple[str, str, str]]) -> tuple[np.ndarray, ...]:
        found = np.array([*rows, ("", "", "")], dtype=object)[:-1]
        return tuple(np.array([self.same.get(word, word) for word in column], dtype=object) for column in found.T)


def _words(value: str) -> list[str]:
    """Return the words before a comment and before qualifiers."""
    words = value.split()
    end = next((place for place, word in enumerate(words) if word[0] in "!{"), len(words))
    return words[:end]


def _unescaped(text: str) -> str:
    return ESCAPE.sub(lambda found: WHITE.get(found[1], found[1]), text)
