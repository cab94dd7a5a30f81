"""Ten thousand labels through every writer and a reader that is not ours: equal, or refused by name."""

from __future__ import annotations

import csv
import io
import random
import re
from itertools import takewhile

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from mixtea.errors import RunError, shorten
from mixtea.export.formats import write_mapping
from mixtea.export.metadata import MappingMetadata
from mixtea.export.quoting import plain_line
from mixtea.export.tables import changes_text
from mixtea.graph.iris import decode_id, encode_id

ABOUT = MappingMetadata(set_id="https://example.org/set", licence="https://example.org/licence")
PIECES = [
    '"', '""', "'", "\t", "\n", "\r", "\r\n", "\\", "\\n", "\x00", "\x01", "\x0b", "\x0c", "\x1f", "\x7f", "\x85", " ",
    "  ", "\u2028", "\u2029", "\u00a0", "\u3000", "\u200b", "\u200e", "\u200f", "\u202e", "\u2066", "\u2069", "\ufeff",
    "\ufffe", "😀", "👩\u200d💻", "e\u0301", "é", "ß", "中", "ا", "\U0010ffff", "\ue000", "=1+1", "+", "-", "@", "%",
    "%41", "%zz", "%00", "#", "/", "//", ".", "..", ":", "://", "?", "&", "&amp;", "<", ">", "<b>", "|", "^", "`", "{",
    "}", "[", "]", "_:", "NA", "null", "nan", "None", "true", "1.0", "a", "Q42", "territory/France", "]]>", "<!--",
    "${x}", "source:", "skos:exactMatch", "\x1b]0;x\x07", "\x1b[31m", "\x9b31m", "\u061c", "\u2067",
    "\U000e0041", "\n#mapping_set_id: x", "</entity1>", "--><x/>", "> <a:b> <c:d> .\n<", "\r\nevil\trow", "&#10;",
    "@prefix x: <y:> .",
]  # fmt: skip
WHOLE = [
    "", " ", "\u200b", "\u3000", "NA", "nan", "None", "null", "#", '"', "=1+1", ".", "..", "\ufeff", "\x00", "_:b0",
    "_:", "sssom:NoTermFound", "https://example.org/set#mixtea/source/Q42",
    "https://example.org/set#mixtea/source/%zz",
]  # fmt: skip
IRI = [
    "http://example.org/",
    "https://dbpedia.org/resource/",
    "urn:isbn:",
    "HTTP://A.b:80/x/../",
    "http://a/?q=1&r='2'#",
]
ENDINGS = [".tsv", ".sssom.tsv", ".nt", ".ttl", ".rdf", ".parquet", ".csv", ".json"]


def any_label(dice: random.Random) -> str:
    kind = dice.random()
    if kind < 0.5:
        return "".join(dice.choices(PIECES, k=dice.randint(1, 6)))
    if kind < 0.7:
        return "".join(chr(dice.randrange(1 << dice.choice((7, 8, 11, 15, 16)))) for _ in range(dice.randint(1, 8)))
    if kind < 0.85:
        return dice.choice(IRI) + "".join(dice.choices("abcÅß中é_-.~:%", k=dice.randint(0, 5)))
    if kind < 0.9:
        return dice.choice(IRI) + dice.choice(PIECES) + dice.choice(PIECES)
    if kind < 0.997:
        return dice.choice(("", "x", "\u0434")) + dice.choice(WHOLE)
    return dice.choice(("é", "a", "😀", '"\t')) * 100_000


def different_labels(n: int, dice: random.Random) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        found[any_label(dice)] = None
    return list(found)


def is_blank(label: str) -> bool:
    return label.startswith("_:") and label != "_:"


def unwritable(label: str, ending: str) -> bool:
    if re.search("[\ud800-\udfff]", label):
        return True
    if ending in (".parquet", ".json"):
        return False
    if ending == ".csv":
        return label == ""
    if ending == ".tsv":
        return label == "" or label[0] == "\ufeff" or any(c in label for c in "\t\n\r")
    if is_blank(label) or not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://|urn:.", label):
        return label == ""
    try:
        NamedNode(label)
    except ValueError:
        return True
    return ending == ".sssom.tsv" and label[-1].isspace() and decode_id(label) is None


def write_what_can_be(rows, path, ending, make_mapping):
    """Write; after each refusal, which must be right, without the refused. Returns the rows written."""
    for _ in range(4):
        try:
            write_mapping(make_mapping(rows), path, ABOUT)
            return rows
        except RunError as error:
            assert str(path) in str(error) and not path.exists()
            named = {e for row in rows for e in row if f"the entity {shorten(e)} " in str(error)}
            assert named and all(unwritable(e, ending) for e in named)
            rows = [row for row in rows if not named.intersection(row)]
    rows = [row for row in rows if not any(unwritable(e, ending) for e in row)]
    write_mapping(make_mapping(rows), path, ABOUT)
    return rows


@pytest.mark.parametrize("n_batches", [2, pytest.param(10, marks=pytest.mark.search)])
@pytest.mark.parametrize("ending", ENDINGS)
def test_thousands_of_labels(ending, n_batches, tmp_path, make_mapping, readers, wide_fields):
    labels = different_labels(1000 * n_batches, random.Random(7))
    for batch in range(n_batches):
        part = labels[1000 * batch : 1000 * (batch + 1)]
        rows = list(zip(part[::2], part[1::2], strict=True))
        path = tmp_path / f"{batch}{ending}"
        rows = write_what_can_be(rows, path, ending, make_mapping)
        assert len(rows) > 150 and not any(unwritable(e, ending) for row in rows for e in row)
        if ending not in (".tsv", ".parquet", ".csv", ".json"):
            rows = [row for row in rows if not any(map(is_blank, row))]
        assert sorted(readers[ending](path)) == sorted(rows)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.sampled_from(["source", "target"]))
def test_plain_labels_come_back_from_their_iris(label, side):
    iri = encode_id(label, "https://example.org/set", side)
    assert NamedNode(iri).value == iri and iri.isascii() and decode_id(iri) == label


@given(st.text())
def test_only_what_encode_id_makes_is_decoded(text):
    iri = f"https://example.org/set#mixtea/source/{text}"
    label = decode_id(iri)
    assert label is None or encode_id(label, "https://example.org/set", "source") == iri
    assert decode_id(text) is None or "#mixtea/" in text


SPECIAL = st.sampled_from('\t\n\r"#\x1b\x85\u2028\u202e<>&\\\x0c')
TEXT = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), SPECIAL))


@pytest.mark.parametrize("ending", [".sssom.tsv", ".parquet"])
def test_names_stay_in_their_cells(ending, tmp_path, make_mapping):
    """What people call an entity is written too, in formats that can hold any text."""
    path = tmp_path / f"m{ending}"

    @given(st.lists(TEXT, min_size=3, max_size=3))
    def check(names):
        named = dict(zip("abc", names, strict=True))
        write_mapping(make_mapping([("a", "x"), ("b", "y"), ("c", "z")], source_labels=named), path, ABOUT)
        if ending == ".parquet":
            assert pq.read_table(path)["source_label"].to_pylist() == names
        else:
            found, head = rows_of_sssom(path)
            shown = [plain_line(name or label) for label, name in named.items()]
            assert [row["subject_label"] for row in found] == shown
            assert all(None not in row and None not in row.values() for row in found)
            assert [line for line in head if "mapping_set_id" in line] == [f"#mapping_set_id: {ABOUT.set_id}\n"]

    check()


def rows_of_sssom(path):
    """The rows by Python's csv, and the lines of metadata before them."""
    with path.open(encoding="utf-8", newline="") as file:
        head = list(takewhile(lambda line: line.startswith("#"), file))
    with path.open(encoding="utf-8", newline="") as file:
        names = next(line for line in file if not line.startswith("#")).rstrip("\n").split("\t")
        return list(csv.DictReader(file, names, delimiter="\t")), head


@given(st.lists(st.tuples(TEXT, TEXT, st.none() | TEXT), max_size=4))
def test_changes_stay_in_their_rows(rows):
    frame = pd.DataFrame([(*row, "learning") for row in rows], columns=["source", "old_target", "new_target", "why"])
    first, *found = csv.reader(io.StringIO(changes_text(frame), newline=""), delimiter="\t")
    assert first == list(frame) and found == [[a, b, c or "", "learning"] for a, b, c in rows]
