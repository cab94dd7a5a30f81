"""Cut statements in canonical N-Quads, a line each, into Arrow columns, and number what they name.

The parser has checked the text: it is not parsed again, and no Python object is made for a statement or a term.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from mixtea.graph.builder import GraphData
from mixtea.graph.entity_table import Attributes
from mixtea.graph.prefixes import BUILT_IN, expand
from mixtea.graph.text_column import TextColumn

if TYPE_CHECKING:
    import pyarrow as pa

MIN_BLOCK_BYTES = 1 << 22  # of lines that are cut together
END, SPACE, QUOTE, DOT, OPEN, CLOSE, BLANK = b'\n ".<>_'
CUTS = 9  # of a line: where it begins, and begin and end of subject, predicate, object, and language or datatype
SUBJECT, PREDICATE, OBJECT, KIND = 1, 3, 5, 7  # of the parts between two cuts
NO_STATEMENTS = "lines that are no statements"
BACKSLASH, BETWEEN = b"\xfe", b"\xff"  # in no text: stand for a backslash, and between texts
ESCAPES = ((b'\\"', b'"'), (b"\\n", b"\n"), (b"\\t", b"\t"), (b"\\r", b"\r"), (b"\\b", b"\b"), (b"\\f", b"\f"))
BY_CODE = re.compile(rb"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))")
DIRECTED = expand("rdf:dirLangString", BUILT_IN)


class StatementColumns:
    """The statements of a file in columns, block by block.

    Entities and predicates are numbered in the order in which they appear. Statements about triples (RDF 1.2) are
    counted, as `n_strange`, and left out.
    """

    def __init__(self) -> None:
        self.entities, self.predicates, self.kinds = list[Any](), list[Any](), list[Any]()
        self.values, self.are_literal = list[Any](), [np.empty(0, dtype=bool)]
        self.n_strange = 0

    def add(self, block: bytes) -> None:
        """Take whole lines; a SyntaxError if they are not canonical statements."""
        if block:
            try:
                self._add(block)
            except (ValueError, OverflowError) as error:  # not UTF-8, or an escape that stands for no character
                raise SyntaxError(NO_STATEMENTS) from error

    def _add(self, block: bytes) -> None:
        import pyarrow as pa

        raw = np.frombuffer(block, dtype=np.uint8)
        cuts, is_literal, is_strange = _cut(raw)
        if not block.isascii():
            block.decode()
        parts = pa.Array.from_buffers(
            pa.large_binary(), cuts.size, [None, pa.py_buffer(np.append(cuts.ravel(), len(raw))), pa.py_buffer(raw)]
        )
        rows = np.flatnonzero(~is_strange)
        self.n_strange += len(is_literal) - len(rows)
        literal, first = is_literal[rows], CUTS * rows
        named = np.stack([first + SUBJECT, first + OBJECT], axis=1)[_have_ends(literal)]
        self.entities.append(parts.take(pa.array(named)).dictionary_encode())
        self.predicates.append(parts.take(pa.array(first + PREDICATE)).dictionary_encode())
        self.kinds.append(parts.take(pa.array(first[literal] + KIND)).dictionary_encode())
        self.values.append(_unescaped(parts.take(pa.array(first[literal] + OBJECT))))
        self.are_literal.append(literal)

    def graph(self, prefixes: dict[str, str]) -> GraphData:
        """Return all statements: those with a literal as attribute triples."""
        is_literal = np.concatenate(self.are_literal)
        found, ids = _joined(self.entities)
        predicate, words = _joined(self.predicates)
        ends = np.zeros((len(is_literal), 2), dtype=np.int32)
        ends[_have_ends(is_literal)] = found
        triples = np.stack([ends[:, 0], predicate, ends[:, 1]], axis=1)[~is_literal].astype(np.int64)
        attributes = self._attributes(ends[is_literal, 0], words.tolist(), predicate[is_literal])
        return GraphData(ids, words, triples, attributes, prefixes=prefixes)

    def _attributes(self, entity: np.ndarray, predicates: list[str], predicate: np.ndarray) -> Attributes:
        """Return the table of literals; a text without a language or datatype has "" for both."""
        import pyarrow as pa

        if not len(entity):
            return Attributes.empty()
        kind, kinds = _joined(self.kinds)
        values = TextColumn.of_arrow(pa.chunked_array(self.values).combine_chunks())
        languages, datatypes = zip(*map(_language_and_datatype, kinds.tolist()), strict=True)
        columns = (TextColumn.coded(texts, kind) for texts in (languages, datatypes))
        return Attributes(entity.astype(np.int32), TextColumn.coded(predicates, predicate), values, *columns)


def _cut(raw: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return int64 [n, CUTS], where the parts of each line begin, and which lines have a literal or a triple term."""
    ends, spaces, quotes = (np.flatnonzero(raw == sign) for sign in (END, SPACE, QUOTE))
    if len(raw) < CUTS or raw[-1] != END:
        raise SyntaxError(NO_STATEMENTS)
    last = len(raw) - 1
    spaces, quotes = np.append(spaces, [last] * 3), np.append(quotes, last)  # so that each line has what is looked for
    starts = np.append(0, ends[:-1] + 1)
    place = np.searchsorted(spaces, starts)
    first, second, third = (spaces[place + i] for i in range(3))
    value = np.minimum(second + 1, last)
    is_literal = raw[value] == QUOTE
    closing = quotes[np.maximum(np.searchsorted(quotes, ends) - 1, 0)]  # the last: others in a text have a backslash
    after = np.where(is_literal, spaces[np.searchsorted(spaces, closing)], third)
    is_blank, ends_blank = raw[starts] == BLANK, raw[value] == BLANK
    is_iri = ~(is_literal | ends_blank)
    is_strange = _are_triples(raw, starts) | _are_triples(raw, value)
    fits = is_blank | ((raw[starts] == OPEN) & (raw[first - 1] == CLOSE))
    fits &= (raw[np.minimum(first + 1, last)] == OPEN) & (raw[second - 1] == CLOSE)
    fits &= np.where(is_literal, closing > value, ends_blank | ((raw[value] == OPEN) & (raw[third - 1] == CLOSE)))
    fits &= (after < ends - 1) & (raw[ends - 2] == SPACE) & (raw[ends - 1] == DOT)
    if not (fits | is_strange).all():
        raise SyntaxError(NO_STATEMENTS)
    end = np.where(is_literal, closing, after - is_iri)
    columns = (
        starts, starts + ~is_blank, first - ~is_blank, first + 2, second - 1, value + ~ends_blank, end,
        end + is_literal, np.where(is_literal, after, end),
    )  # fmt: skip
    cuts = np.stack(columns, axis=1)
    cuts[is_strange] = starts[is_strange, None]
    return cuts, is_literal, is_strange


def _have_ends(is_literal: np.ndarray) -> np.ndarray:
    """Return bool [n, 2]: every subject is an entity, and every object that is no literal."""
    return np.stack([np.ones_like(is_literal), ~is_literal], axis=1)


def _are_triples(raw: np.ndarray, places: np.ndarray) -> np.ndarray:
    found: np.ndarray = (raw[places] == OPEN) & (raw[np.minimum(places + 1, len(raw) - 1)] == OPEN)
    return found


def _joined(chunks: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of all chunks, which are taken out of the list, and the texts in order of first occurrence."""
    import pyarrow as pa

    found = pa.chunked_array(chunks, pa.dictionary(pa.int32(), pa.large_binary())).unify_dictionaries()
    chunks.clear()
    codes = np.concatenate([np.empty(0, dtype=np.int32), *(chunk.indices.to_numpy() for chunk in found.chunks)])
    texts = found.chunk(0).dictionary.cast(pa.large_string()) if found.num_chunks else pa.array([], pa.large_string())
    words = np.empty(len(texts), dtype=object)
    words[:] = texts.to_numpy(zero_copy_only=False)
    return codes, words


def _unescaped(texts: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    """Replace the escapes of literals."""
    import pyarrow as pa
    import pyarrow.compute as pc

    escaped = pc.match_substring(texts, "\\")
    if not pc.any(escaped).as_py():
        return texts
    found = BETWEEN.join(texts.filter(escaped).to_pylist()).replace(b"\\\\", BACKSLASH)
    for escape, sign in ESCAPES:
        found = found.replace(escape, sign)
    found = BY_CODE.sub(lambda code: chr(int(code[1] or code[2], 16)).encode(), found).replace(BACKSLASH, b"\\")
    return pc.replace_with_mask(texts, escaped, pa.array(found.split(BETWEEN), pa.large_binary()))


def _language_and_datatype(text: str) -> tuple[str, str]:
    """Return what stands after the closing quote of a literal.

    >>> _language_and_datatype("@en"), _language_and_datatype("^^<xsd:date>"), _language_and_datatype("")
    (('en', ''), ('', 'xsd:date'), ('', ''))
    """
    if text.startswith("@"):
        language, _, direction = text[1:].partition("--")
        return language, DIRECTED if direction else ""
    return "", text.removeprefix("^^<").removesuffix(">")
