"""The formats of fuzz.py: good files of each, and how each is read."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from fuzz_compare import compare, compare_task
from safetensors.numpy import save

from mixtea.cli.settings import read_settings
from mixtea.config import Config
from mixtea.errors import Problems
from mixtea.example import FOLDER
from mixtea.graph.graph import Graph
from mixtea.io.formats.rdf import read_rdf_links
from mixtea.io.formats.registry import FORMATS
from mixtea.io.links.read import read_links
from mixtea.io.load import load_task
from mixtea.io.load_graph import read_graph
from mixtea.io.naming import NameFiles, read_synonyms
from mixtea.io.safe.limits import current_limits
from mixtea.io.vectors.load import with_vectors
from mixtea.text.phrases import Synonyms

RDF_ENDINGS = {end for row in FORMATS.values() if row.read_links is read_rdf_links for end in row.endings}
LIMIT = 20_000  # bytes of a good file: longer ones take longer, and break in the same ways
E = "http://e.org/"
SAME = "http://www.w3.org/2002/07/owl#sameAs"
PLACES: list[dict[str, object]] = [
    {"id": "a", "name": "arnie mortons", "stars": 4.5, "open": True, "since": datetime(2020, 1, 31), "of": None},
    {"id": "b", "name": "東京站", "stars": None, "open": None, "since": None, "of": "a"},
]
TRIPLES = [("a", "r", "b"), ("b", "r", "c"), ("c", "s", "d"), ("a", "s", "d"), ("d", "r", "é x")]
LINKS = [("a", "A"), ("b", "B"), ("c", "C")]
NAMES = [("a", "Ang Lee (director)"), ("b", "東京站 é\u0301"), ("c", E + "resource/A_b%20c"), ("d", "")]
WORDS = [("a", "one"), ("東京", "Tokyo"), ("http b", "two words")]
VECTORS = [(0.6, 0.8, 0.0), (1.0, -1e30, 3.0), (0.0, 0.0, 0.0), (1e-30, 2.0, 5.0)]
XML = f"""<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [<!ENTITY e "{E}"><!ENTITY x "&e;x">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="{E}" xml:base="{E}">
  <e:Thing rdf:about="a" e:age="3"><e:r rdf:resource="&e;b"/><e:s rdf:nodeID="n"/><!-- c --></e:Thing>
  <rdf:Description rdf:ID="b"><e:s rdf:parseType="Collection"><e:Thing/></e:s></rdf:Description>
  <rdf:Seq><rdf:li xml:lang="en">one</rdf:li><rdf:li rdf:parseType="Literal"><b>x</b></rdf:li></rdf:Seq>
</rdf:RDF>
"""
TTL = f"""@prefix e: <{E}> .
@base <{E}> .
e:a e:r e:b , [ e:s ( 1 2.0 "x"@en ) ] ; a e:T .
<c> <r> \"\"\"long "text\"\"\" , 'x'^^e:t , true . _:n e:r _:m .
"""
TRIG = TTL + "e:g { e:a e:r e:b } GRAPH _:g { [] e:s 5 }\n"
NT = "".join(f"<{E}{h}> <{E}{r}> <{E}{t[:1]}> .\n" for h, r, t in TRIPLES) + f'_:x <{E}r> "x\\n\\u00e9"@en-gb . # c\n'
NQ = NT.replace(" .\n", f" <{E}g> .\n")
LABEL, ALTERNATIVE = "http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#altLabel"
OBO_IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"
DATED = "http://www.w3.org/2001/XMLSchema#"
SAID = [  # of an entity, under a predicate, a literal
    ("a", LABEL, '"Ang Lee (director)"@en'), ("a", LABEL, '"\u674e\u5b89"@zh'), ("b", LABEL, '"A\u0301 \U0001F600"'),
    ("c", ALTERNATIVE, '"http://e.org/resource/A_b%20c"'), ("d", ALTERNATIVE, '"(1965)"@de-AT'),
    ("a", E + "born", f'"1954-10-23"^^<{DATED}date>'), ("b", E + "born", '"23 October 1954"'),
    ("c", E + "born", f'"1954"^^<{DATED}gYear>'), ("b", E + "size", f'"-1.5e3"^^<{DATED}double>'),
    ("c", E + "size", '"1,200.0"'), ("d", E + "size", '""'),
]  # fmt: skip
SAID_NT = "".join(f"<{E}{entity}> <{predicate}> {literal} .\n" for entity, predicate, literal in SAID)
SAID_XML = f"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="{E}"
  xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
  <rdf:Description rdf:about="{E}a" rdfs:label="Ang Lee"><rdfs:label xml:lang="zh">李安</rdfs:label>
    <e:born rdf:datatype="{DATED}date">1954-10-23</e:born><e:size>1,200</e:size>
    <e:r rdf:resource="{E}b"/></rdf:Description>
  <rdf:Description rdf:about="{E}b" xml:lang="de"><rdfs:label>Straße &#x301;</rdfs:label><e:born>23.10.1954</e:born>
    <e:size rdf:datatype="{DATED}integer">-7</e:size></rdf:Description>
</rdf:RDF>
"""
SAID_TSV = (
    "a\trdfs:label\tAng Lee\na\tborn\t1954-10-23\nb\tborn\t1.5.1900\nb\tsize\t1,200.0\tm\nc\tsize\t7\n",
    "A\tschema:name\tANG LEE\nA\tgeboren\t23 Oct 1954\nB\tgeboren\t1900-05-01\nB\tmass\t1200\nC\tmass\t7.0\n",
)
ONTOLOGY = f"""@prefix : <{E}> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix i: <{OBO_IN_OWL}> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
<{E}o> a owl:Ontology ; owl:imports <{E}p> .
:a a owl:Class ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :b ] ;
  owl:equivalentClass [ owl:intersectionOf ( :b [ owl:onProperty [ owl:inverseOf :p ] ; owl:allValuesFrom :c ] ) ] ;
  i:hasExactSynonym _:s ; i:hasDefinition [ rdfs:label "text"@en ] . _:s rdfs:label "name" .
:p a owl:ObjectProperty ; rdfs:domain [ owl:unionOf ( :a :b ) ] . :x a :a ; :p [ rdf:value 5 ; :p _:s ] .
[] a owl:Axiom ; owl:annotatedSource :a ; owl:annotatedProperty rdfs:label ; owl:annotatedTarget "label" .
"""
JSON_LD = [
    {"@context": {"e": E, "r": {"@id": "e:r", "@type": "@id"}, "l": LABEL}, "@id": "e:a", "r": ["e:b", "e:c"], "l": ""},
    {"@context": {"@base": E, "@vocab": E, "n": {"@id": "n", "@container": "@language"}}, "@graph": [
        {"@id": "a", "@type": "T", "n": {"en": "one", "de": "eins"}, "r": {"@list": [1, 2.5, True, {"@id": "_:b"}]}},
        {"@id": "_:b", "s": {"@value": "3", "@type": "t"}, "@reverse": {"r": {"@id": "c"}}},
        {"@id": "d", "@included": [{"@id": "e", "r": {"@id": "d"}}], "r": {"@id": "f", "@index": "i"}}]},
]  # fmt: skip
OBO = r"""format-version: 1.4
ontology: ma
idspace: EX http://e.org/
import: http://e.org/p.obo

[Term]
id: MA:1 ! one
name: heart \! of it
def: "A \"pump\"." [X:1]
synonym: "cor" EXACT LATIN [X:1]
xref: UBERON:1 "x"
is_a: MA:2 {a="b"} ! two
relationship: part_of EX:b
intersection_of: part_of MA:2
property_value: p "v" xsd:string

[Typedef]
id: part_of
xref: BFO:0000050
is_a: p

[Instance]
id: MA:i
instance_of: MA:1
"""
CELLS = """<?xml version="1.0"?>
<rdf:RDF xmlns="http://knowledgeweb.semanticweb.org/heterogeneity/alignment#"
  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<Alignment><level>0</level><map><Cell><entity1 rdf:resource="http://e.org/a"/><entity2 rdf:resource="http://t.org/A"/>
<relation>=</relation><measure>1.0</measure></Cell></map></Alignment></rdf:RDF>
"""
SSSOM = """#curie_map:
#  e: http://e.org/
#  t: "http://t.org/"
#license: http://e.org/licence
subject_id\tpredicate_id\tobject_id\tpredicate_modifier\tcomment
e:a\tskos:exactMatch\tt:A\t\t"quoted ""text"" here"
e:b\towl:sameAs\tt:B\tNot\t
e:c\towl:equivalentClass\tt:C\t\t
"""


@dataclass(frozen=True)
class Format:
    """`lay` writes the bytes into a folder and gives the path that `read` takes; errors must mention `named` of it."""

    name: str
    good: list[bytes]
    file: str
    read: Callable[[Path], object]
    weight: float = 1.0
    others: dict[str, bytes] | None = None
    packed: str = ""

    @property
    def is_parquet(self) -> bool:
        return self.file.endswith(".parquet")

    def lay(self, folder: Path, data: bytes) -> Path:
        for name, content in (self.others or {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        (folder / self.file).write_bytes(data)
        return folder if self.others else folder / self.file

    def named(self, path: Path) -> Path:
        return path


def graph(path: Path) -> None:
    problems = Problems(current_limits().max_problems)
    read = read_graph(path, problems)
    problems.raise_if_any()
    compare(read)


def folder(path: Path) -> None:
    compare_task(load_task(path))


def vectors(name: str) -> Callable[[Path], None]:
    """How the file `name` of a folder is read, as vectors of the target."""

    def read(path: Path) -> None:
        sides = (_side(E, "abcd"), _side("http://t.org/", "ABCD"))
        compare(*with_vectors(sides, [path / f"good{Path(name).suffix}", path / name], None)[0])

    return read


def links(path: Path) -> None:
    problems = Problems(current_limits().max_problems)
    source, target = (_side(base, labels) for base, labels in ((E, "abcd"), ("http://t.org/", "ABCD")))
    read_links(path, "train", source, target, problems)  # that they fit together is checked for folders
    problems.raise_if_any()


def entity_names(path: Path) -> None:
    """A table of names, as names of a graph and as translations of them."""
    _named(NameFiles(source=[path], translations=[path]))


def dictionary(path: Path) -> None:
    _named(NameFiles(dictionary=[path]))


def synonyms(path: Path) -> None:
    """Groups of names, which the names of a graph are put into the first of."""
    problems = Problems(current_limits().max_problems)
    groups, _ = read_synonyms([path], problems)
    problems.raise_if_any()
    Synonyms(groups).count(_side(E, "abcd"))


def _named(files: NameFiles) -> None:
    problems = Problems(current_limits().max_problems)
    source, target, _ = files.add_labels(_side(E, "abcd"), _side("http://t.org/", "ABCD"), problems)
    problems.raise_if_any()
    compare(source, target)


def _side(base: str, labels: str) -> Graph:
    entities = np.array([*labels, *(base + label for label in labels)], dtype=object)
    return Graph(entities, np.array(["r"], dtype=object), np.array([[0, 0, 1]]))


def parquet(names: Iterable[str], rows: Iterable[tuple[object, ...]], **options: object) -> bytes:
    sink = io.BytesIO()
    columns = [[*column] for column in zip(*rows, strict=True)]
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), sink, **options)
    return sink.getvalue()


def workbook(frame: pd.DataFrame) -> bytes:
    sink = io.BytesIO()
    frame.to_excel(sink, index=False)
    return sink.getvalue()


def database(frame: pd.DataFrame) -> bytes:
    with closing(sqlite3.connect(":memory:")) as base:
        frame.astype({"open": str}).to_sql("places", base, index=False)
        return base.serialize()


def delimited(rows: Iterable[Iterable[str]], sign: str) -> bytes:
    return "".join(sign.join(row) + "\n" for row in rows).encode()


def as_lines(rows: Iterable[dict[str, object]]) -> bytes:
    return "".join(json.dumps(row, default=str) + "\n" for row in rows).encode()


def formats(w3c: Path | None = None) -> dict[str, Format]:
    """All but run folders, which run_fuzz.py has; with W3C's files among the good ones if their folder is there."""
    big = (FOLDER / "rel_triples_1").read_bytes()[:LIMIT]
    tsv = [delimited(TRIPLES, "\t"), big[: big.rfind(b"\n") + 1]]
    csv = [b"head,relation,tail\n" + delimited(TRIPLES, ","), b'"a","r ""x""","two\nlines"\n' * 5]
    pairs, names = delimited(LINKS, "\t"), ("head", "relation", "tail")
    tables = [parquet(names, TRIPLES), parquet(names, TRIPLES * 40, compression="zstd", use_dictionary=False)]
    tables += [parquet(names, TRIPLES * 40, compression="gzip", data_page_version="2.0", row_group_size=50)]
    statements = [f"<{E}{s}> <{SAME}> <http://t.org/{t}> .\n" for s, t in LINKS]
    texts = {"ntriples": (NT, SAID_NT), "nquads": (NQ, SAID_NT), "turtle": (TTL, SAID_NT), "trig": (TRIG, SAID_NT),
             "rdf-xml": (XML, SAID_XML)}  # fmt: skip
    rdf = {name: [*(text.encode() for text in good), *w3c_files(w3c, name)] for name, good in texts.items()}
    plain = {name: list(v) if isinstance(v, tuple) else v for name, v in Config().to_dict().items()}
    toml = "".join(f"{name} = {value!r}\n".replace("True", "true").replace("False", "false")
                   for name, value in plain.items())  # fmt: skip
    settings = b'{"seed": 1, "dropout": 0.5, "device": "cpu", "rectify": true}'
    found = [
        Format("folder", [tsv[0]], "rel_triples_1", folder, 3, folder_files()),
        Format("links of a folder", [pairs], "ent_links", folder, 3, folder_files()),
        *(Format(f"{file} of a folder", [folder_files()[file]], file, folder, 2, folder_files())
          for file in ("attr_triples_1", "attr_triples_2", "ent_names_1", "ent_names_2")),
        Format("Parquet vectors", vector_tables("ABCD"), "v.parquet", vectors("v.parquet"), 1,
               {"good.parquet": vector_tables("abcd")[0]}),
        Format("safetensors", tensors("ABCD"), "v.safetensors", vectors("v.safetensors"), 5,
               {"good.safetensors": tensors("abcd")[0]}),
        Format("TSV", tsv, "g.tsv", graph, 10), Format("CSV", csv, "g.csv", graph, 10),
        Format("Parquet", tables, "g.parquet", graph, 2), Format("TSV links", [pairs], "l.tsv", links, 6),
        Format("CSV links", [b"source,target\n" + delimited(LINKS, ",")], "l.csv", links, 6),
        Format("Parquet links", [parquet(("source", "target"), LINKS)], "l.parquet", links, 1),
        Format("TSV names", [delimited(NAMES, "\t")], "n.tsv", entity_names, 5),
        Format("CSV names", [b"id,name\n" + delimited(NAMES, ",")], "n.csv", entity_names, 5),
        Format("Parquet names", [parquet(("id", "name"), NAMES)], "n.parquet", entity_names, 1),
        Format("dictionary", [delimited(WORDS, "\t")], "d.tsv", dictionary, 5),
        Format("synonyms", [delimited([["a", "b", "c d"], ["Fe", "iron"]], "\t")], "s.tsv", synonyms, 3),
        Format("SSSOM", [SSSOM.encode()], "l.sssom.tsv", links, 10),
        Format("N-Triples", rdf["ntriples"], "g.nt", graph, 9),
        Format("N-Quads", rdf["nquads"], "g.nq", graph, 7), Format("Turtle", rdf["turtle"], "g.ttl", graph, 6),
        Format("TriG", rdf["trig"], "g.trig", graph, 4), Format("RDF/XML", rdf["rdf-xml"], "g.rdf", graph, 6),
        Format("ontology", [ONTOLOGY.encode()], "g.ttl", graph, 4), Format("OBO", [OBO.encode()], "g.obo", graph, 8),
        Format("JSON-LD", [json.dumps(one).encode() for one in JSON_LD], "g.jsonld", graph, 5),
        Format("alignment", [CELLS.encode()], "l.rdf", links, 3),
        Format("N-Triples links", ["".join(statements).encode()], "l.nt", links, 4),
        Format("Turtle links", ["".join(statements).encode()], "l.ttl", links, 2),
        Format("TSV, gzip", tsv, "g.tsv.gz", graph, 5, packed=".gz"),
        Format("CSV, zstd", csv, "g.csv.zst", graph, 5, packed=".zst"),
        Format("N-Triples, zstd", rdf["ntriples"], "g.nt.zst", graph, 4, packed=".zst"),
        Format("Turtle, gzip", rdf["turtle"], "g.ttl.gz", graph, 1, packed=".gz"),
        Format("SSSOM, gzip", [SSSOM.encode()], "l.sssom.tsv.gz", links, 3, packed=".gz"),
        Format("settings, TOML", [toml.encode(), b"seed = 3\nkeep = 'best'\n"], "s.toml", read_settings, 6),
        Format("settings, JSON", [settings], "s.json", read_settings, 6),
        Format("JSON lines", [as_lines(PLACES), as_lines(dict(zip(names, row, strict=True)) for row in TRIPLES)],
               "g.jsonl", graph, 4),
        Format("CSV of entities", [pd.DataFrame(PLACES).to_csv(index=False).encode()], "g.csv", graph, 3),
        Format("Parquet of entities", [parquet(PLACES[0], (tuple(row.values()) for row in PLACES))], "g.parquet", graph,
               1),
        Format("Excel", [workbook(pd.DataFrame(PLACES)), workbook(pd.DataFrame(TRIPLES * 40, columns=names))], "g.xlsx",
               graph, 3),
        Format("Excel links", [workbook(pd.DataFrame(LINKS, columns=["source", "target"]))], "l.xlsx", links, 1),
        Format("SQLite", [database(pd.DataFrame(PLACES)), database(pd.DataFrame(PLACES * 60))], "g.db", graph, 3),
    ]  # fmt: skip
    return {one.name: one for one in found}


def folder_files() -> dict[str, bytes]:
    pairs = delimited(LINKS, "\t").splitlines(keepends=True)
    return {
        "rel_triples_1": delimited(TRIPLES, "\t"), "rel_triples_2": delimited(TRIPLES, "\t").upper(),
        "attr_triples_1": SAID_TSV[0].encode(), "attr_triples_2": SAID_TSV[1].encode(), "ent_links": b"".join(pairs),
        "ent_names_1": delimited(NAMES[:3], "\t"), "ent_names_2": "A\tAng Lee\nB\t東京站\n".encode(),
        "721_5fold/1/train_links": pairs[0], "721_5fold/1/valid_links": pairs[1], "721_5fold/1/test_links": pairs[2],
    }  # fmt: skip


def vector_tables(ids: str) -> list[bytes]:
    """Parquet with vectors as lists, and as columns of numbers."""
    rows = list(zip(ids, VECTORS, strict=True))
    flat = [(name, *vector) for name, vector in rows]
    return [parquet(("id", "vector"), rows), parquet(("entity", "x", "y", "z"), flat, compression="gzip")]


def tensors(ids: str) -> list[bytes]:
    """safetensors with ids in the metadata, and as bytes."""
    found = {"vectors": np.array(VECTORS, dtype=np.float32)}
    places: dict[str, np.ndarray] = {
        "ids.data": np.frombuffer(ids.encode(), dtype=np.uint8),
        "ids.offsets": np.arange(len(ids) + 1),
    }
    return [
        save(found, {"ids": json.dumps([*ids])}),
        save(found | places),
        save({"vectors": found["vectors"].astype("f8")} | places),
    ]


def w3c_files(folder: Path | None, suite: str) -> list[bytes]:
    if folder is None:
        return []
    files = (path for path in sorted((folder / suite).rglob("*")) if path.suffix in RDF_ENDINGS)
    return [data for path in files if 0 < len(data := path.read_bytes()) <= LIMIT]
