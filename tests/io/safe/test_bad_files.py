"""Damaged and mistaken files: one message with the file, the place and what to do, never a traceback."""

from __future__ import annotations

import gzip
import os
import random

import pyarrow as pa
import pytest
import zstandard
from conftest import LINKS, TARGET, write
from small_files import excel, parquet, sqlite

from mixtea.errors import Problems
from mixtea.io.load_graph import read_graph

TSV = "".join(f"a{i}\tr\tb{i}\n" for i in range(3000)).encode()
NT = "".join(f"<http://e/a{i}> <http://e/r> <http://e/b{i}> .\n" for i in range(3000)).encode()
ZST = zstandard.ZstdCompressor(write_checksum=True).compress
NAMES = ("head", "relation", "tail")
TWICE = parquet({"head": ["a"], "relation": ["r"], "tail": ["b"], "Tail": ["c"]})
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + b"\x3e\x00\x03\x00" + b"\xff" * 484
LOCKED = OLD_OFFICE + "EncryptedPackage".encode("utf-16-le")
BOOK = excel({"S": [("id", "name"), ("a", "A")]})
BASE = sqlite({"t": ("id, n", [("a", 1)])})
TWO = parquet({"head": ["a"], "tail": ["b"]})

LATIN = (
    b'<?xml version="1.0" encoding="ISO-8859-1"?>\n<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    b'xmlns="http://e/"><r:Description r:about="http://e/a"><n>caf\xe9</n></r:Description></r:RDF>'
)


def table(*columns):
    return parquet(dict(zip(NAMES, columns, strict=True)))


BAD = {
    "truncated gzip": ("g.tsv.gz", gzip.compress(TSV)[:-200], "the gzip data ends in the middle. Copy or download"),
    "truncated gzip of RDF": ("g.nt.gz", gzip.compress(NT)[:-200], "the gzip data ends in the middle"),
    "damaged gzip": ("g.tsv.gz", gzip.compress(TSV)[:-8] + b"12345678", "damaged gzip (incorrect data check"),
    "no gzip": ("g.nt.gz", NT, "not gzip, in spite of its ending"),
    "garbage in gzip": ("g.tsv.gz", gzip.compress(TSV)[:20] + bytes(100), "gzip"),
    "truncated zstd": ("g.tsv.zst", ZST(TSV)[:-200], "the zstd data ends in the middle"),
    "truncated zstd of RDF": ("g.nt.zst", ZST(NT)[:-5], "the zstd data ends in the middle"),
    "no zstd": ("g.nt.zst", NT, "not zstd, in spite of its ending"),
    "damaged zstd": ("g.tsv.zst", ZST(TSV)[:100] + b"xxxxxxxx" + ZST(TSV)[108:], "damaged zstd ("),
    "gzip without the ending": ("g.nt", gzip.compress(NT), "compressed with gzip. Add .gz to its name"),
    "zstd without the ending": ("g.csv", ZST(TSV), "compressed with zstd. Add .zst to its name"),
    "UTF-16": ("g.ttl", NT.decode().encode("utf-16"), "UTF-16 text, which is not UTF-8"),
    "no RDF": ("g.nt", b"hello\n", "line 1: not N-Triples: "),
    "XML in another encoding": ("g.rdf", LATIN, "not RDF/XML: Only UTF-8 is supported by the RDF/XML parser. Save"),
    "XML that is not UTF-8": ("g.rdf", LATIN.partition(b"\n")[2], "byte sequence from index 3. Save the file as UTF-8"),
    "Turtle that is not UTF-8": ("g.ttl", b'<a:a> <a:b> "caf\xe9" .', "(column 17). Save the file as UTF-8"),
    "no XML": ("g.rdf", b"hello\n", "line 1: not RDF/XML: "),
    "HTML": ("g.owl", b"<html>\n<body>404</body></html>", "a web page. Download the file itself"),
    "no Parquet": ("g.parquet", b"head,relation,tail\n", "not Parquet ("),
    "an empty Parquet": ("g.parquet", b"", "not Parquet ("),
    "two columns of Parquet": ("g.parquet", TWO, "2 columns 'head, tail'. It needs 3: head, relation, tail or"),
    "numbers with a point": ("g.pq", table([0.5], ["r"], ["b"]), "a column of type double: 'head'"),
    "a missing label": ("g.pq", table(["a", None], ["r", "r"], ["b", "c"]), "line 2: column 1 is empty"),
    "no rows": ("g.pq", table(*[pa.array([], "string")] * 3), "the file is empty"),
    "an open quote": ("g.csv", 'a,r,b\nc,r,"d\ne,r,f\n', "line 2: an open quote 'c,r,\"d'. Quote a field"),
    "text after a quote": ("g.csv", 'a,r,b\n"c"x,r,d\n', "line 2: broken quoting ("),
    "two columns": ("g.csv", "head,relation,tail\na,r\n", "line 2: 2 columns 'a,r'. Write 3 columns separated"),
    "colons": ("g.csv", "a:r:b\n", "line 1: 1 column 'a:r:b'"),
    "two columns of a name": ("g.csv", "head,relation,tail,Tail\na,r,b,c\n", "line 1: two columns named tail: 'head"),
    "the same in Parquet": ("g.pq", TWICE, "two columns named tail. Name each column once."),
    "UTF-16 without a mark": ("g.ttl", NT.decode().encode("utf-16-le"), "UTF-16 text, which is not UTF-8. Save"),
    "OWL/XML": ("g.owl", '<?xml version="1.0"?>\n<Ontology xmlns="http://www.w3.org/2002/07/owl#"/>', "OWL/XML, which"),
    "a zip": ("g.csv", b"PK\x03\x04\x14\x00", "a zip archive. Unpack it, and name the file inside"),
    "a zip as Excel": ("g.xlsx", b"PK\x03\x04\x14\x00", "a zip archive. Unpack it"),
    "an old workbook": ("g.xls", OLD_OFFICE, "an Excel workbook of the old kind (.xls), or another file of Office."),
    "an old workbook, renamed": ("g.xlsx", OLD_OFFICE, "an Excel workbook of the old kind (.xls)"),
    "a workbook with a password": ("g.xlsx", LOCKED, "an Excel workbook with a password. Save it without a password"),
    "no workbook": ("g.xlsx", b"id,name\n", "not Excel (it does not begin as Excel does). Write the file again"),
    "an empty workbook": ("g.xlsx", b"", "not Excel (it does"),
    "half a workbook": ("g.xlsx", BOOK[: len(BOOK) // 2], "not Excel (File is not a zip file)"),
    "OpenDocument": ("g.ods", b"", "OpenDocument is not read. Open it, and save it as .xlsx."),
    "no database": ("g.db", b"\x01\xff" * 100, "not SQLite (it does not begin as SQLite does)"),
    "half a database": ("g.db", BASE[:4097], "not SQLite (it ends in the middle)"),
    "a pointer": ("g.nt", "version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS, not the file. Fetch"),
    "Manchester syntax": ("g.owl", "Prefix: a: <http://a.org/>\n", "OWL Manchester syntax, which is not read. Save it"),
    "an empty CSV": ("g.csv", "", "the file is empty"),
    "an empty label": ("g.csv", "a,,b\n", "line 1: column 2 is empty"),
    "not UTF-8": ("g.csv", b"a,r,b\ncaf\xe9,r,\xc3\xa9\n", "line 2: byte e9 is not UTF-8"),
    "Notation3": ("g.n3.gz", b"", "Notation3 is not read. Convert it to one of .nt"),
    "links": ("g.sssom.tsv", b"", "links (SSSOM), where a graph is needed"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_graph_is_explained(case, tmp_path, mixtea):
    name, content, message = BAD[case]
    write(tmp_path, {name: content, "t.tsv": TARGET, "l.tsv": LINKS})
    own = ("--source", tmp_path / name, "--target", tmp_path / "t.tsv", "--links", tmp_path / "l.tsv")
    code, out, err = mixtea("inspect", *own)
    assert code == 2 and out == "" and err.startswith(f"error: {tmp_path / name}: 1 problem\n") and message in err


GOOD = {
    "g.nt": NT[:600], "g.ttl": b"@prefix e: <http://e/> .\ne:a e:r [ e:s (1 e:b) ] .\n", "g.csv": b'"a",r,b\n' * 5,
    "g.rdf": b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://e/"><r:Bag/></r:RDF>',
    "g.parquet": table(["a"], ["r"], ["b"]), "g.xlsx": BOOK, "g.db": BASE,
    "g.nt.gz": gzip.compress(NT[:600]), "g.tsv.zst": ZST(TSV[:600]),
    "g.trig": b"@prefix e: <http://e/> . e:g { e:a e:r e:b, 'x'@en }",
    "mended.nt": NT[:300] + b'<a:b> a <x> .\n<#a> <a:c> "<i>"@francaise .\n' * 2,
    "mended.ttl": b"@prefix : <http://e/> .\n:a :r <x> , 'x'@francaise ; :s [ :t <http://e/ x> ] . :a :b :c .\n",
    "mended.rdf": b'''<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://e/">
<a r:ID="1 x"><b r:resource="#c"/><b r:ID=":" xml:lang="francaise">x</b></a></r:RDF>''',
}  # fmt: skip


@pytest.mark.parametrize("times", [5, pytest.param(50, marks=pytest.mark.search)])
@pytest.mark.parametrize("name", GOOD)
def test_whatever_happens_to_a_file_it_is_read_or_explained(name, times, tmp_path):
    chance = random.Random(1)
    for _ in range(times * 4 if name.endswith((".nt", ".csv", ".gz", ".zst")) else times):
        data = bytearray(GOOD[name])
        for _ in range(chance.choice((1, 1, 3, 10))):
            place = chance.randrange(len(data) + 1)
            data[place : place + chance.choice((0, 1, 20))] = chance.choice(SPLINTERS)
        (tmp_path / name).write_bytes(data)
        problems = Problems()
        read_graph(tmp_path / name, problems)
        assert all(problem.file == tmp_path / name and problem.todo for problem in problems.found)


SPLINTERS = (b"", b"\x00", b"\xff", b'"', b"\n", b"\r", b"\t", b"<", b"<<(", b"_:", b"&a;", b"\\u12", b"[" * 100)


def test_a_file_that_may_not_be_read(tmp_path, mixtea):
    write(tmp_path, {"g.nt": NT, "t.tsv": TARGET, "l.tsv": LINKS})
    (tmp_path / "g.nt").chmod(0)
    own = ("--source", tmp_path / "g.nt", "--source", tmp_path, "--target", tmp_path / "t.tsv")
    code, _, err = mixtea("inspect", *own, "--links", tmp_path / "l.tsv")
    assert code == 2 and "a folder, where a file is needed" in err
    assert os.geteuid() == 0 or "cannot be read (Permission denied)" in err
