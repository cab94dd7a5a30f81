"""One small graph in every format, plain and compressed, alone and in several files."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pyarrow as pa
import pytest
import zstandard
from conftest import write
from processes import run
from small_files import E, excel, graph_of, parquet, sqlite, triples_of

from mixtea import DataError, load_task
from mixtea.io.formats.registry import format_by_ending
from mixtea.io.paths import plain_name
from mixtea.io.safe.open import open_input
from mixtea.io.table_layout import TRIPLE_HEADERS

TRIPLES = [(E + "a", E + "r", E + "b"), (E + "b", E + "s", E + "c")]
NT = "".join(f"<{h}> <{r}> <{t}> .\n" for h, r, t in TRIPLES)
TTL = f"@prefix e: <{E}> .\ne:a e:r e:b .\ne:b e:s e:c .\n"
XML = f"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="{E}">
  <rdf:Description rdf:about="{E}a"><e:r rdf:resource="{E}b"/></rdf:Description>
  <rdf:Description rdf:about="{E}b"><e:s rdf:resource="{E}c"/></rdf:Description>
</rdf:RDF>
"""
NQ = f"<{E}a> <{E}r> <{E}b> <{E}g1> .\n<{E}b> <{E}s> <{E}c> .\n"
TRIG = f"@prefix e: <{E}> .\ne:g1 {{ e:a e:r e:b }}\ne:b e:s e:c .\n"
TSV = "".join("\t".join(triple) + "\n" for triple in TRIPLES)
CSV = "Subject,Predicate,Object\n" + "".join(",".join(f'"{end}"' for end in triple) + "\n" for triple in TRIPLES)
PARQUET = parquet(dict(zip(("head", "relation", "tail"), map(list, zip(*TRIPLES, strict=True)), strict=True)))
EXCEL = excel({"Triples": [("head", "relation", "tail"), *TRIPLES]})
SQLITE = sqlite({"triples": ("head, relation, tail", TRIPLES)})
FILES = {
    "g.nt": NT, "g.ttl": TTL, "g.rdf": XML, "g.owl": XML, "g.xml": XML, "g.nq": NQ, "g.trig": TRIG, "g.tsv": TSV,
    "g.txt": TSV, "g": TSV, "g.csv": CSV, "g.parquet": PARQUET, "g.PQ": PARQUET, "g.xlsx": EXCEL, "g.XLSM": EXCEL,
    "g.db": SQLITE, "g.sqlite3": SQLITE,
}  # fmt: skip
PACKED = {"": lambda data: data, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_triples(name, packed, tmp_path):
    content = FILES[name]
    data = PACKED[packed](content if isinstance(content, bytes) else content.encode())
    graph = graph_of(tmp_path, {name + packed: data})
    assert triples_of(graph) == TRIPLES
    assert graph.triples.dtype == np.int64 and graph.ids.dtype == object
    assert [(file.format, file.n_triples) for file in graph.files] == [
        (format_by_ending(tmp_path / (name + packed)), 2)
    ]


def test_several_files_of_a_side_are_one_graph(tmp_path):
    write(tmp_path, {"1.nt": NT, "2.csv": f"{E}c,{E}r,{E}d\n", "3.ttl": f"<{E}d> <{E}s> <{E}a> ."})
    write(tmp_path, {"t.tsv": TSV, "l": f"{E}d\t{E}c\n"})
    files = [tmp_path / name for name in ("1.nt", "2.csv", "3.ttl")]
    task = load_task(source=files, target=str(tmp_path / "t.tsv"), links=tmp_path / "l")
    assert triples_of(task.source) == [*TRIPLES, (E + "c", E + "r", E + "d"), (E + "d", E + "s", E + "a")]
    assert task.source.relations.tolist() == [E + "r", E + "s"] and task.name == "1+2-t"


def test_names_of_files_say_what_they_are(tmp_path):
    kinds = {
        "a.sssom.tsv": "SSSOM", "a.SSSOM.TSV.gz": "SSSOM", "a.b.nt.zst": "N-Triples", "x.gz": "TSV", "v1.2": "TSV",
    }  # fmt: skip
    assert {name: format_by_ending(tmp_path / name) for name in kinds} == kinds
    assert [plain_name(tmp_path / name) for name in ("a.nt.gz", "a.tsv", "a", "a.zst")] == ["a", "a", "a", "a"]


def test_text_in_csv_stays_text(tmp_path):
    odd = ["NA", "007", "1e5", 'a "quoted", one', " spaced ", "two\nlines", "é"]
    text = "".join('"' + label.replace('"', '""') + '",r,t\n' for label in odd)
    assert graph_of(tmp_path, {"g.csv": text}).ids.tolist() == [*odd, "t"]


def test_columns_of_csv_and_parquet_are_found_by_name(tmp_path):
    for number, (head, relation, tail) in enumerate(TRIPLE_HEADERS):
        csv = f"weight,{tail},{head},{relation}\n0.5,b,a,r\n"
        columns = parquet({"weight": [0.5], tail: ["b"], head: ["a"], relation: ["r"]})
        for name, content in ((f"{number}.csv", csv), (f"{number}.parquet", columns)):
            assert triples_of(graph_of(tmp_path, {name: content})) == [("a", "r", "b")]


def test_parquet_with_numbers_dictionaries_and_columns_of_no_use(tmp_path):
    columns = {"z": ["7", "8"], "w": [[1], [2]], "head": [1, 2], "relation": ["r", "r"], "tail": ["7", "8"]}
    content = parquet(columns, relation=pa.dictionary(pa.int8(), pa.string()))
    assert triples_of(graph_of(tmp_path, {"g.parquet": content})) == [("1", "r", "7"), ("2", "r", "8")]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    for name in ("g.nt", "g.ttl", "g.csv", "g.tsv"):
        assert triples_of(graph_of(tmp_path, {name: b"\xef\xbb\xbf" + FILES[name].encode()})) == TRIPLES


def test_zstd_frames_follow_each_other(tmp_path):
    pack = zstandard.ZstdCompressor().compress
    big = "".join(f"a{i}\tr\tb{i}\n" for i in range(50_000)).encode()
    write(tmp_path, {"g.zst": pack(big[:100_000]) + pack(big[100_000:])})
    with open_input(tmp_path / "g.zst") as file:
        assert file.read() == big


def test_readers_are_loaded_when_they_are_needed():
    program = "import sys, mixtea; print([m for m in ('torch', 'pyoxigraph', 'zstandard') if m in sys.modules])"
    assert run([sys.executable, "-c", program]).stdout == "[]\n"


def test_a_wrong_second_file_is_told_with_the_first(tmp_path):
    write(tmp_path, {"1.nt": "<x> <y>\n", "2.tsv": "a\tb\n", "t": TSV, "l": "a\tb\n"})
    with pytest.raises(DataError) as caught:
        files = [tmp_path / name for name in ("1.nt", "2.tsv", "3.nt")]
        load_task(source=files, target=tmp_path / "t", links=tmp_path / "l")
    message = str(caught.value)
    assert (
        "1.nt: 1 problem\n  line 1: not N-Triples" in message
        and "2.tsv: 1 problem\n  2 columns, as links have" in message
    )
    assert "3.nt: 1 problem\n  no such file" in message and "source graph has no entity" not in message
