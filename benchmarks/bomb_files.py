"""The bombs of bombs.py: for each its ending, what it is read as, and a function that writes it to a path."""

from __future__ import annotations

import gzip
import os
import socket
import sqlite3
import zipfile
import zlib
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

MIB = 1 << 20
RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://e/">'
SSSOM = "subject_id\tpredicate_id\tobject_id"
Write = Callable[[Path], Path | None]


def text(content: str | Iterable[str]) -> Write:
    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8") as file:
            file.writelines([content] if isinstance(content, str) else content)

    return write


def gz(piece: bytes, times: int, start: bytes = b"", packed: str = "gzip") -> Write:
    """A piece of text many times, compressed."""

    def write(path: Path) -> None:
        packer = zlib.compressobj(9, wbits=31) if packed == "gzip" else zstandard.ZstdCompressor(19).compressobj()
        block = piece * max(MIB // len(piece), 1)
        with path.open("wb") as file:
            file.write(packer.compress(start))
            for _ in range(times * len(piece) // len(block)):
                file.write(packer.compress(block))
            file.write(packer.flush())

    return write


def members(n: int) -> Write:
    """Compressed nothing, again and again."""

    def write(path: Path) -> None:
        path.write_bytes(gzip.compress(b"") * n)

    return write


def holes(start: bytes, size: int) -> Write:
    """A file that is mostly a hole: zeros that take no disk."""

    def write(path: Path) -> None:
        path.write_bytes(start)
        os.truncate(path, size)

    return write


def entities(n: int, body: str) -> str:
    """Each entity is the one before, twice."""
    declared = "".join(f'<!ENTITY e{i} "&e{i - 1};&e{i - 1};">' for i in range(1, n + 1))
    return f'<!DOCTYPE r [<!ENTITY e0 "x">{declared}]>{RDF}{body}</rdf:RDF>'


def triple_terms(n: int) -> str:
    return "<a:a> <a:b> " + "<<( <a:a> <a:b> " * n + "<a:c>" + " )>>" * n + " .\n"


def workbook(member: str, content: str | bytes) -> Write:
    """A workbook with another member in its archive."""

    def write(path: Path) -> None:
        openpyxl.Workbook().save(path)
        with zipfile.ZipFile(path) as book:
            members = {name: book.read(name) for name in book.namelist()} | {member: content}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
            for name, data in members.items():
                book.writestr(name, data)

    return write


def archive(path: Path, n: int) -> None:
    with zipfile.ZipFile(path, "w") as book:
        for i in range(n):
            book.writestr(f"xl/{i}", "")


def sheet(rows: Iterable[str], claims: str = "A1") -> Write:
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    start = f'<worksheet xmlns="{space}"><dimension ref="{claims}"/><sheetData>'
    return workbook("xl/worksheets/sheet1.xml", f"{start}{''.join(rows)}</sheetData></worksheet>")


def database(view: str) -> Write:
    """A database of one view."""

    def write(path: Path) -> None:
        with closing(sqlite3.connect(path)) as base:
            base.execute(f"CREATE VIEW v AS {view}")

    return write


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def device(path: Path) -> Path:
    return Path("/dev/zero")


def table(columns: dict[str, pa.Array], **options: object) -> Write:
    return lambda path: pq.write_table(pa.table(columns), path, **options)


def same(rows: int) -> pa.Array:
    """One label in all rows: a run of any length takes a few bytes."""
    return pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()).take(pa.array(range(1))), ["a"]).take(
        pa.nulls(rows, pa.int32()).fill_null(0)
    )


def runs(rows: int) -> Write:
    def write(path: Path) -> None:
        column = same(rows)
        pq.write_table(pa.table({"head": column, "relation": column, "tail": column}), path, row_group_size=rows)

    return write


def lie(was: int, now: int) -> Write:
    """A table of `was` rows whose footer speaks of `now`."""

    def write(path: Path) -> None:
        runs(was)(path)
        path.write_bytes(with_footer(path.read_bytes(), lambda footer: footer.replace(varint(was), varint(now))))

    return write


def long_labels(lying: bool) -> Write:
    """A label of 700 MiB; the footer may say that it is short."""

    def write(path: Path) -> None:
        label = pa.array(["x" * (700 * MIB)], pa.large_string())
        columns = {"head": label, "relation": pa.array(["r"]), "tail": pa.array(["t"])}
        pq.write_table(pa.table(columns), path, compression="zstd", use_dictionary=False, write_statistics=False)
        if lying:
            size = pq.read_metadata(path).row_group(0).column(0).total_uncompressed_size
            path.write_bytes(with_footer(path.read_bytes(), lambda old: old.replace(varint(size), varint(100))))

    return write


def deep_schema(n: int) -> Write:
    """Groups in groups; the footer is written by hand, since no writer gets that far."""

    def write(path: Path) -> None:
        leaf = b"\x15\x0c\x25\x02\x18\x01b\x00"  # of type BYTE_ARRAY, optional, with the name "b"
        group = b"\x35\x02\x18\x01a\x15\x02\x00"  # optional, with the name "a" and one child
        schema = b"\xfc" + unsigned(n + 1) + b"\x48\x01r\x15\x02\x00" + group * (n - 1)
        footer = b"\x15\x02\x19" + schema + leaf + b"\x16\x00\x19\x0c\x00"
        path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")

    return write


def strangers(n: int) -> Write:
    """A graph of two labels of 3 MB, and links of two other such labels to n entities: a few kB in all."""

    def write(path: Path) -> None:
        long = "http://e/" + "x" * 3_000_000
        two, others = [f"{long}1", f"{long}2"], [f"e{i}" for i in range(n)]
        columns = {"head": two, "relation": ["r"] * 2, "tail": ["t"] * 2}
        few({name: pa.array(labels) for name, labels in columns.items()})(path)
        path.with_name("t.tsv").write_text("".join(f"{other}\tr\tt\n" for other in others))
        links = {"source": pa.array([f"{long}3", f"{long}4"] * n), "target": pa.array(sorted(others * 2))}
        few(links)(path.with_name("links.parquet"))

    return write


def few(columns: dict[str, pa.Array]) -> Write:
    """A table of few labels, however long and however often they occur."""
    return table({name: labels.dictionary_encode() for name, labels in columns.items()}, compression="zstd")


def with_footer(data: bytes, changed: Callable[[bytes], bytes]) -> bytes:
    """The Parquet file with another footer."""
    length = int.from_bytes(data[-8:-4], "little")
    footer = changed(data[-8 - length : -8])
    return data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def varint(value: int) -> bytes:
    """As the footer of Parquet writes whole numbers."""
    return unsigned(2 * value)


def unsigned(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def numbers(n: int, before: str, after: str = "") -> Iterable[str]:
    return (f"{before}{i}{after}" for i in range(n))


# the ending of the file, what reads it, and what makes it, which takes long and much memory for some
BOMBS: dict[str, tuple[str, str, Callable[[], Write]]] = {
    "entities that double 40 times": (".rdf", "graph", lambda: text(entities(40, "<a><p>&e40;</p></a>"))),
    "entities that double, not used": (".rdf", "graph", lambda: text(entities(40, ""))),
    "a long entity used often": (".rdf", "graph", lambda: text(
        f'<!DOCTYPE r [<!ENTITY e "{"x" * MIB}">]>{RDF}' + "<a><p>&e;</p></a>" * 20_000 + "</rdf:RDF>")),
    "a million entities": (".owl", "graph", lambda: text(
        ["<!DOCTYPE r [", *numbers(1_000_000, "<!ENTITY e", ' "x">'), f"]>{RDF}</rdf:RDF>"])),
    "elements 100,000 deep": (".rdf", "graph", lambda: text(RDF + "<a><b>" * 50_000)),
    "100,000 attributes": (".xml", "graph", lambda: text([RDF, "<a ", *numbers(100_000, "a", '="" '), "/></rdf:RDF>"])),
    "10,000 namespaces for each name": (".rdf.gz", "graph", lambda: gz(
        b"<a/>\n", 3_000_000, (RDF[:-1] + "".join(numbers(9_990, " xmlns:p", '="a:"')) + ">").encode())),
    "10,000 attributes, again and again": (".rdf", "graph", lambda: text(
        [RDF, *["<a xmlns:z='a:'", *numbers(9_990, " z:a", '=""'), "/>"] * 100, "</rdf:RDF>"])),
    "100 MB of text in XML": (".rdf", "graph", lambda: text(f"{RDF}<a><p>{'x' * 10**8}</p></a></rdf:RDF>")),
    "100 MB in an attribute": (".rdf", "graph", lambda: text(f"{RDF}<a p='{'x' * 10**8}'/></rdf:RDF>")),
    "triples in triples, N-Triples": (".nt", "graph", lambda: text(triple_terms(100_000))),
    "triples in triples, N-Quads": (".nq", "graph", lambda: text(triple_terms(100_000))),
    "triples in triples, Turtle": (".ttl", "graph", lambda: text(triple_terms(100_000))),
    "triples in triples, TriG": (".trig", "graph", lambda: text(triple_terms(100_000))),
    "triples in triples as links": (".ttl", "links", lambda: text(triple_terms(5_000))),
    "a million open brackets": (".ttl", "graph", lambda: text("<a:a> <a:b> " + "[ <a:b> " * 1_000_000)),
    "200,000 open lists": (".ttl", "graph", lambda: text("<a:a> <a:b> " + "( " * 200_000)),
    "500,000 prefixes": (".ttl", "graph", lambda: text(
        [*numbers(500_000, "@prefix p", ": <a:b> .\n"), "p1:a p2:b p3: ."])),
    "a long prefix used often": (".ttl", "graph", lambda: text(
        f"@prefix p: <a:{'x' * MIB}> .\n" + "p: p: p: .\n" * 100_000)),
    "a literal of 100 MB": (".ttl", "graph", lambda: text(f'<a:a> <a:b> "{"x" * 10**8}" .')),
    "an IRI of 100 MB": (".nt", "graph", lambda: text(f"<a:{'a' * 10**8}> <a:b> <a:c> .\n")),
    "a node that everybody shares": (".ttl", "graph", lambda: text(
        [*numbers(50_000, "<a:s", "> <a:b> _:x . "), *numbers(50_000, "_:x <a:b> <a:t", "> .\n")])),
    "blank nodes in a row": (".ttl", "graph", lambda: text(
        ["<a:a> <a:b> _:n0 .\n", *(f"_:n{i} <a:b> _:n{i + 1} .\n" for i in range(200_000))])),
    "JSON-LD 100,000 deep": (".jsonld", "graph", lambda: text('{"a:b":' * 100_000)),
    "JSON-LD with 300,000 terms": (".jsonld", "graph", lambda: text(
        ['{"@context": {', *numbers(300_000, '"t', '": "a:b",'), '"x": "a:b"}, "@id": "a:a", "t1": {"@id": "a:c"}}'])),
    "a long prefix used often, JSON-LD": (".json", "graph", lambda: text(
        f'{{"@context": {{"p": "a:{"x" * MIB}/"}}, "@id": "p:a", "p:r": [' + '{"@id": "p:b"},' * 100_000 + "1]}")),
    "a line of OBO without an end": (".obo", "graph", lambda: holes(b"[Term]\nid: a:b\nname: ", 40 << 30)),
    "two million bad lines, OBO": (".obo", "graph", lambda: text("a b c\n" * 2_000_000)),
    "1 GB of stanzas, gzip": (".obo.gz", "graph", lambda: gz(b"[Term]\nid: a:b\n", 10**9 // 15)),
    "a quote of escapes, OBO": (".obo", "graph", lambda: text('[Term]\nid: a:b\ndef: "' + "\\x" * 5_000_000)),
    "1 GB of zeros, gzip, TSV": (".tsv.gz", "graph", lambda: gz(bytes(MIB), 1024)),
    "1 GB of zeros, zstd, TSV": (".tsv.zst", "graph", lambda: gz(bytes(MIB), 1024, packed="zstd")),
    "1 GB of zeros, zstd, Turtle": (".ttl.zst", "graph", lambda: gz(bytes(MIB), 1024, packed="zstd")),
    "1 GB of rows, gzip, TSV": (".tsv.gz", "graph", lambda: gz(b"a\tr\tb\n", 10**9 // 6)),
    "1 GB of blank lines, gzip, TSV": (".tsv.gz", "graph", lambda: gz(b"\n", 10**9)),
    "1 GB of rows, gzip, CSV": (".csv.gz", "graph", lambda: gz(b"a,r,b\n", 10**9 // 6)),
    "1 GB of rows, zstd, SSSOM": (".sssom.tsv.zst", "links", lambda: gz(
        b"a\towl:sameAs\tA\n", 10**9 // 15, SSSOM.encode() + b"\n", "zstd")),
    "1 GB of statements, gzip": (".nt.gz", "graph", lambda: gz(b"<a:a> <a:b> <a:c> .\n", 10**9 // 20)),
    "1 GB of Turtle, zstd": (".ttl.zst", "graph", lambda: gz(b"<a:a> <a:b> <a:c> .\n", 10**9 // 20, packed="zstd")),
    "1 GB of elements, gzip": (".rdf.gz", "graph", lambda: gz(b"<a/>", 10**9 // 4, RDF.encode())),
    "40 GB of padding after gzip": (".tsv.gz", "graph", lambda: holes(gzip.compress(b"a\tr\tb\n"), 40 << 30)),
    "empty members of gzip": (".tsv.gz", "graph", lambda: members(2_000_000)),
    "a line without an end": (".tsv", "graph", lambda: holes(b"a\tr\t", 40 << 30)),
    "a comment without an end": (".nt", "graph", lambda: holes(b"# ", 40 << 30)),
    "an XML comment without an end": (".rdf", "graph", lambda: text("<!-- " + "x" * 10**8)),
    "a quote without an end": (".csv", "graph", lambda: text(['a,r,"b\n', *["c,r,d\n"] * 20_000_000])),
    "a million broken quotes": (".csv", "graph", lambda: text('"a"x,r,b\n' * 1_000_000)),
    "a million columns, CSV": (".csv", "graph", lambda: text(",".join(numbers(1_000_000, "c")))),
    "a million columns, TSV": (".tsv", "graph", lambda: text("\t".join(numbers(1_000_000, "c")))),
    "a million columns, SSSOM": (".sssom.tsv", "links", lambda: text("\t".join([SSSOM, *numbers(1_000_000, "c")]))),
    "a million comments, SSSOM": (".sssom.tsv", "links", lambda: text("#\n" * 1_000_000)),
    "a map of spaces, SSSOM": (".sssom.tsv", "links", lambda: text(
        f"#curie_map:\n# {' ' * 10**6}x\n# {'a' * 10**6}\n")),
    "a map in one line, SSSOM": (".sssom.tsv", "links", lambda: text(f"#curie_map: {{{'a' * 10**6}\n")),
    "two million bad rows": (".tsv", "graph", lambda: text("a b c\n" * 2_000_000)),
    "a million links to nowhere": (".tsv", "links", lambda: text([*numbers(1_000_000, "x\ty", "\n")])),
    "Parquet: three billion rows, a lie": (".parquet", "graph", lambda: lie(7_654, 3_000_000_000)),
    "Parquet: 10^15 rows, a lie": (".parquet", "graph", lambda: lie(7_654, 10**15)),
    "Parquet: 50 million equal rows": (".parquet", "graph", lambda: runs(50_000_000)),
    "Parquet: a label of 700 MiB": (".parquet", "graph", lambda: long_labels(False)),
    "Parquet: the same, lying": (".parquet", "graph", lambda: long_labels(True)),
    "Parquet: 50,000 columns": (".parquet", "graph", lambda: table({f"c{i}": pa.array(["x"]) for i in range(50_000)})),
    "Parquet: groups 100,000 deep": (".parquet", "graph", lambda: deep_schema(100_000)),
    "Parquet: a type of a megabyte": (".parquet", "graph", lambda: table(
        {name: pa.array([{"x" * MIB: 1}]) for name in ("head", "relation", "tail")})),
    "Parquet: long labels, unknown": (".parquet", "graph and links", lambda: strangers(200)),
    "Excel: 1 GB of zeros": (".xlsx", "graph", lambda: workbook("xl/theme/theme1.xml", bytes(10**9))),
    "Excel: entities that double": (".xlsx", "graph", lambda: workbook("xl/workbook.xml", entities(40, "&e40;"))),
    "Excel: a billion rows, claimed": (".xlsx", "graph", lambda: sheet(
        [f'<row r="{row}"><c r="XFD{row}"><v>1</v></c></row>' for row in (1, 10**9)], "A1:XFD1048576")),
    "Excel: 100,000 files": (".xlsx", "graph", lambda: lambda path: archive(path, 100_000)),
    "Excel: elements 100,000 deep": (".xlsx", "graph", lambda: sheet(["<a>" * 100_000 + "</a>" * 100_000])),
    "Excel: a row of 10 million cells": (".xlsx", "graph", lambda: sheet(
        ["<row>" + "<c><v>1</v></c>" * 10**7 + "</row>"])),
    "SQLite: a view without an end": (".db", "graph", lambda: database(
        "WITH RECURSIVE n(id, x) AS (SELECT 1, 2 UNION ALL SELECT id + 1, x FROM n) SELECT max(id) id, x FROM n")),
    "SQLite: rows without an end": (".db", "graph", lambda: database(
        "WITH RECURSIVE n(id, x) AS (SELECT 1, 2 UNION ALL SELECT id + 1, x FROM n) SELECT * FROM n")),
    "SQLite: a text of a gigabyte": (".db", "graph", lambda: database("SELECT 1 AS id, hex(zeroblob(500000000)) AS x")),
    "SQLite: a view that sorts without an end": (".db", "graph", lambda: database(
        "WITH RECURSIVE n(id, x) AS (SELECT 1, hex(zeroblob(9999)) UNION ALL SELECT id + 1, x FROM n) "
        "SELECT * FROM n ORDER BY x, -id")),
    "entities that double, an alignment": (".rdf", "links", lambda: text(
        entities(40, '<Alignment xmlns="http://knowledgeweb.semanticweb.org/heterogeneity/alignment">&e40;</Alignment>'))),
    "a pipe without a writer": (".nt", "graph", lambda: pipe),
    "a socket": (".ttl", "graph", lambda: listening),
    "a device without an end": ("", "graph", lambda: device),
    "deep JSON": (".json", "settings", lambda: text("[" * 16_000)),
    "deep TOML": (".toml", "settings", lambda: text("a = " + "[" * 16_000)),
    "a long key in TOML": (".toml", "settings", lambda: text("a" + ".a" * 8_000 + " = 1")),
    "100 MB of TOML": (".toml", "settings", lambda: text("seed = 1\n" * 10**7)),
}  # fmt: skip
