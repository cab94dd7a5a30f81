"""What people get wrong with their files, and what mends it. `scripts/write_mistakes.py` makes docs/mistakes.md of it.

To add one, add it to `MISTAKES`: the files that differ from `GOOD`, and what mends it if `GOOD` itself does not.
"""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import openpyxl

A, B = "http://a.org/", "http://b.org/"
TOWNS = (("Rome", "Roma"), ("Italy", "Italia"), ("Évian", "Évian_città"), ("France", "Francia"))
LABEL = "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
PAIRS = [(A + a, B + b) for a, b in TOWNS]
SAME = "<http://www.w3.org/2002/07/owl#sameAs>"
ALIGNMENT = f"""<rdf:RDF xmlns="http://knowledgeweb.semanticweb.org/heterogeneity/alignment"
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<Alignment><map><Cell><entity1 rdf:resource="{A}Rome"/><entity2 rdf:resource="{B}Roma"/></Cell></map></Alignment>
</rdf:RDF>
"""
SSSOM = """#curie_map:
#  b: http://b.org/
subject_id\tpredicate_id\tobject_id
town:Rome\tskos:exactMatch\tb:Roma
town:Italy\tskos:exactMatch\tb:Italia
"""
VALUES = f"""{B}Roma,{B}sta_in,{B}Italia
{B}Évian_città,{B}sta_in,{B}Francia
{B}Roma,fondata,-753
{B}Évian_città,fondata,1790
"""
HEADED = "Chi,come,chi?\n" + VALUES.partition(f"{B}Roma,fondata")[0]
EDGES = f"source,target,weight\n{B}Roma,{B}Italia,1\n{B}Évian_città,{B}Francia,1\n"
JSON_LD = f'''{{"@context": "https://schema.org/", "@graph": [
{{"@id": "{B}Roma", "containedInPlace": {{"@id": "{B}Italia"}}}},
{{"@id": "{B}Évian_città", "containedInPlace": {{"@id": "{B}Francia"}}}}
]}}
'''
JSON_ROWS = "".join(
    json.dumps({"id": B + b, "sta_in": {"id": B + "Italia"} if b == "Roma" else None}) + "\n" for _, b in TOWNS
)
LINES = "".join(
    f"<{B}{a}> <{B}sta_in> <{B}{b}> .\n"
    for a, b in (("Roma", "Italia"), ("Évian_città", "Francia"), ("Nizza", "Francia"))
)
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
TYPE = f"<{B}Roma> {{}} <{B}Città> .\n"
NAMED = f'<{B}Roma> <{B}nome> "Rome"@{{}} .\n'
RDF_XML = f"""<rdf:RDF xmlns:rdf="{RDF}" xmlns="{B}">
<rdf:Description rdf:about="Roma"><sta_in rdf:resource="Italia"/></rdf:Description>
<rdf:Description rdf:about="Évian_città"><sta_in rdf:resource="Francia"/></rdf:Description>
{{}}</rdf:RDF>
"""
BASED = RDF_XML.replace("xmlns=", f'xml:base="{B}" xmlns=')
SHOP = '<rdf:Description rdf:ID="{}"><sta_in rdf:resource="Roma"/></rdf:Description>\n'
SHOPS = SHOP.format("http://bar/") + SHOP.format("Bar") * 2


def graph(base: str, words: list[str], relation: str) -> str:
    lines = [
        f'<{base}{a}> <{base}{relation}> <{base}{b}> ; rdfs:label "{a} (town)" .'
        for a, b in zip(words[::2], words[1::2], strict=True)
    ]
    return LABEL + "\n".join(lines) + "\n"


def table(pairs: list[tuple[str, ...]], separator: str = "\t") -> str:
    return "".join(separator.join(pair) + "\n" for pair in pairs)


def sources(change: Any) -> str:
    """The links with another way to write the sources."""
    return table([(change(a), b) for a, b in PAIRS])


GOOD: dict[str, str | bytes] = {
    "a.ttl": graph(A, [a for a, _ in TOWNS], "in"),
    "b.ttl": graph(B, [b for _, b in TOWNS], "sta_in"),
    "links.tsv": table(PAIRS),
}
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + b"\x3e\x00\x03\x00" + b"\xff" * 484
ROWS = [("id", "sta_in"), *((B + b, B + "Italia" if b == "Roma" else None) for _, b in TOWNS)]
PEOPLE = "id,people,since\n" + "".join(f"{B}{b},{7 * n}00,{1900 + n}\n" for n, (_, b) in enumerate(TOWNS, 1))
OLD = str(GOOD["a.ttl"]) + f"<{A}Lutetia> <{A}in> <{A}France> ; <http://www.w3.org/2002/07/owl#deprecated> true .\n"
OLD_LINKS = table([*PAIRS, (A + "Lutetia", B + "Francia")])
CALL = "mixtea inspect --source a.ttl --target b.ttl --links links.tsv"
FIT = "mixtea fit --source a.ttl --target b.csv --links links.tsv --out runs/mine --quick"
EXPORT = "mixtea export runs/mine --out m.sssom.tsv"
EVALUATE = "mixtea evaluate mapping.tsv --reference links.tsv"
NUMBERED = "id,title,people,since\n" + "".join(f"{n},{b},{7 * n}00,{1900 + n}\n" for n, (_, b) in enumerate(TOWNS, 1))
TOWN_TABLE = "".join(line.partition(",")[2] for line in NUMBERED.splitlines(keepends=True))
UNNUMBERED = {"links.tsv": table([(A + a, str(n)) for n, (a, _) in enumerate(TOWNS, 1)])}
PLAIN_PAIRS = [(A + a, b.partition("_")[0]) for a, b in TOWNS]
PLAIN = {
    "b.csv": "head,relation,tail\nRoma,sta_in,Italia\nÉvian,sta_in,Francia\n",
    "links.tsv": "".join(f"{a}\t{b}\n" for a, b in PLAIN_PAIRS),
}
NOTED = f"#curie_map:\n#  b: {B}\n#ext_target_ids: {B}\nsubject_id\tpredicate_id\tobject_id\n" + "".join(
    f"{a}\tskos:exactMatch\tb:{quote(b)}\n" for a, b in PLAIN_PAIRS
)


@dataclass(frozen=True)
class Mistake:
    """`files` beside or in place of the good ones, the command, and what mends it: other files, another command.

    `before` is a command that goes before both.
    """

    title: str
    files: dict[str, str | bytes] = field(default_factory=dict)
    call: str = CALL
    mended: dict[str, str | bytes] = field(default_factory=dict)
    mended_call: str = CALL
    before: str = ""

    def section(self, printed: str) -> str:
        """As the page has it."""
        return f"**{self.title}**\n\n```text\n$ {self.call}\n{printed}\n```\n"


def told(line: str) -> bool:
    """Whether a line on standard output is a warning, other than those about every small task."""
    return line.startswith("warning: ") and "expect low accuracy" not in line and "scores are rough" not in line


def workbook(rows: list[tuple[str | None, ...]]) -> bytes:
    """One sheet, called Città."""
    book = openpyxl.Workbook()
    book.active.title = "Città"
    for row in rows:
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def database(rows: list[tuple[str | None, ...]]) -> bytes:
    """One table, called towns."""
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute(f"CREATE TABLE towns ({', '.join(map(str, rows[0]))})")
        base.executemany("INSERT INTO towns VALUES (?, ?)", rows[1:])
        base.commit()
        return base.serialize()


def links(title: str, text: str | bytes, **more: Any) -> Mistake:
    """A mistake in the file of links."""
    return Mistake(title, {"links.tsv": text}, **more)


MISTAKES = [
    links("Source and target are swapped in the links.", table([(b, a) for a, b in PAIRS])),
    links("http on one side, https on the other.", sources(lambda id: id.replace("http", "https"))),
    links("A slash at the end.", sources(lambda id: id + "/")),
    links("A space at the end.", sources(lambda id: id + " ")),
    links("Percent-encoding on one side.", f"{A}%C3%89vian\t{B}Évian_città\n"),
    links("Capital and small letters.", sources(str.lower)),
    links("Angle brackets around IRIs in a table.", table([(f"<{a}>", f"<{b}>") for a, b in PAIRS])),
    links("A prefix that is declared nowhere.", sources(lambda id: id.replace(A, "town:"))),
    Mistake("A prefix that is missing in the curie_map of SSSOM.", {"l.sssom.tsv": SSSOM},
            CALL.replace("links.tsv", "l.sssom.tsv"), {"l.sssom.tsv": SSSOM.replace("#  b:", f"#  town: {A}\n#  b:")},
            CALL.replace("links.tsv", "l.sssom.tsv")),
    links("Only the last part of the IRIs.", sources(lambda id: id.removeprefix(A))),
    links("Labels in place of ids.", table([(f"{a} (town)", B + b) for a, b in TOWNS[::2]] + PAIRS[1::2])),
    links("Relations in place of entities.", f"{A}in\t{B}sta_in\n"),
    links("The links of another pair.", "http://c.org/Q1\thttp://d.org/P1\nhttp://c.org/Q2\thttp://d.org/P2\n"),
    links("One id is misspelt.", table(PAIRS).replace("Italia", "Itali")),
    links("A header whose words are not known.", "mine\tyours\n" + table(PAIRS),
          mended={"links.tsv": "source\ttarget\n" + table(PAIRS)}),
    links("More columns, and no header that says which are the links.", table([("town", a, b) for a, b in PAIRS]),
          mended={"links.tsv": "kind\tsource\ttarget\n" + table([("town", a, b) for a, b in PAIRS])}),
    links("Two columns of the same name.", "source\ttarget\ttarget\n" + table([(a, b, b) for a, b in PAIRS])),
    links("Spaces in place of tabs.", table(PAIRS, " ")),
    links("A graph in place of links.", "", call=CALL.replace("links.tsv", "a.ttl")),
    Mistake("Links in place of a graph.", {}, CALL.replace("a.ttl", "links.tsv")),
    Mistake("An alignment in place of a graph.", {"alignment.rdf": ALIGNMENT}, CALL.replace("b.ttl", "alignment.rdf"),
            {"alignment.rdf": ALIGNMENT}, CALL.replace("links.tsv", "alignment.rdf")),
    Mistake("Links to learn from that are also the test.", {}, CALL + " --test-links links.tsv",
            {"links.tsv": table(PAIRS[:2]), "test.tsv": table(PAIRS[2:])}, CALL + " --test-links test.tsv"),
    Mistake("A web page in place of the file.", {"b.owl": "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n"},
            CALL.replace("b.ttl", "b.owl")),
    Mistake("OWL in a syntax that is not read.", {"b.owl": f"Prefix(:=<{B}>)\nOntology(<{B}>)\n"},
            CALL.replace("b.ttl", "b.owl")),
    Mistake("An ending that is not that of the format.", {"b.owl": GOOD["b.ttl"]}, CALL.replace("b.ttl", "b.owl")),
    links("Text saved as UTF-16, as spreadsheets do.", table(PAIRS).encode("utf-16-le")),
    Mistake("RDF saved as UTF-16.", {"b.ttl": str(GOOD["b.ttl"]).encode("utf-16-le")}),
    links("Text saved by an old program on Windows, in its own encoding.", table(PAIRS).encode("cp1252")),
    links("A sign between the columns that nobody expects.", table(PAIRS, "#")),
    Mistake("A wrong separator.", {"links.tsv": table(PAIRS, "#")}, CALL + " --separator ;",
            {"links.tsv": table(PAIRS, "#")}, CALL + " --separator #"),
    Mistake("A hint about a column that is not there.", {"b.csv": PEOPLE, "columns.toml": 'poeple = "ignore"\n'},
            CALL.replace("b.ttl", "b.csv") + " --columns columns.toml",
            {"b.csv": PEOPLE, "columns.toml": 'people = "ignore"\n'},
            CALL.replace("b.ttl", "b.csv") + " --columns columns.toml"),
    Mistake("Ids that repeat, where each is to come once.", {"b.csv": PEOPLE + PEOPLE.splitlines()[-1] + "\n"},
            CALL.replace("b.ttl", "b.csv") + " --strict", {"b.csv": PEOPLE},
            CALL.replace("b.ttl", "b.csv") + " --strict"),
    Mistake("A table without a column of ids.", UNNUMBERED | {"b.csv": TOWN_TABLE}, CALL.replace("b.ttl", "b.csv"),
            UNNUMBERED | {"b.csv": NUMBERED}, CALL.replace("b.ttl", "b.csv")),
    Mistake("A column of names that is not there.", UNNUMBERED | {"b.csv": NUMBERED},
            CALL.replace("b.ttl", "b.csv") + " --target-name-column titel", UNNUMBERED | {"b.csv": NUMBERED},
            CALL.replace("b.ttl", "b.csv") + " --target-name-column title"),
    Mistake("A mapping that goes from target to source.", {"mapping.tsv": table([(b, a) for a, b in PAIRS[:3]])},
            EVALUATE, {"mapping.tsv": table(PAIRS[:3])}, EVALUATE),
    Mistake("A mapping whose header nobody knows.", {"mapping.tsv": "mine\tyours\n" + table(PAIRS[:3])},
            EVALUATE, {"mapping.tsv": "source\ttarget\n" + table(PAIRS[:3])}, EVALUATE),
    Mistake("A compressed file without its ending.", {"a.ttl": gzip.compress(str(GOOD["a.ttl"]).encode(), mtime=0)}),
    Mistake("Values in a table without a sign that they are none of the entities.", {"b.csv": VALUES},
            CALL.replace("b.ttl", "b.csv"), {"b.csv": VALUES}, CALL.replace("b.ttl", "b.csv") + " --literals fondata"),
    Mistake("A header whose words are not known, in a graph.", {"b.csv": HEADED}, CALL.replace("b.ttl", "b.csv"),
            {"b.csv": HEADED.replace("Chi,come,chi?", "head,relation,tail")}, CALL.replace("b.ttl", "b.csv")),
    Mistake("Edges without a relation.", {"b.csv": EDGES}, CALL.replace("b.ttl", "b.csv"),
            {"b.csv": EDGES.replace("weight", "relation")}, CALL.replace("b.ttl", "b.csv")),
    Mistake("The result of a query, saved as TSV.", {"b.tsv": f"?s\t?p\t?o\n<{B}Roma>\t<{B}sta_in>\t<{B}Italia>\n"},
            CALL.replace("b.ttl", "b.tsv"), {"b.csv": f"s,p,o\n{B}Roma,{B}sta_in,{B}Italia\n"},
            CALL.replace("b.ttl", "b.csv")),
    Mistake("JSON lines with objects inside objects.", {"b.jsonl": JSON_ROWS}, CALL.replace("b.ttl", "b.jsonl"),
            {"b.jsonl": JSON_ROWS.replace('{"id": "http://b.org/Italia"}', '"http://b.org/Italia"')},
            CALL.replace("b.ttl", "b.jsonl")),
    Mistake("A workbook of the old kind of Excel.", {"b.xls": OLD_OFFICE}, CALL.replace("b.ttl", "b.xls"),
            {"b.xlsx": workbook(ROWS)}, CALL.replace("b.ttl", "b.xlsx")),
    Mistake("A sheet that the workbook does not have.", {"b.xlsx": workbook(ROWS)},
            CALL.replace("b.ttl", "b.xlsx#Towns"), {"b.xlsx": workbook(ROWS)}, CALL.replace("b.ttl", "b.xlsx#Città")),
    Mistake("A query that writes.", {"b.db": database(ROWS)},
            CALL.replace("b.ttl", "sqlite:b.db --target-query 'DELETE FROM towns'"), {"b.db": database(ROWS)},
            CALL.replace("b.ttl", "sqlite:b.db --target-query 'SELECT * FROM towns'")),
    Mistake("A query of two statements.", {"b.db": database(ROWS)},
            CALL.replace("b.ttl", "sqlite:b.db --target-query 'SELECT 1; SELECT * FROM towns'"),
            {"b.db": database(ROWS)}, CALL.replace("b.ttl", "sqlite:b.db --target-query 'SELECT * FROM towns'")),
    Mistake("A database that is not there.", {"b.db": database(ROWS)}, CALL.replace("b.ttl", "sqlite:a.db"),
            {"b.db": database(ROWS)}, CALL.replace("b.ttl", "sqlite:b.db")),
    Mistake("A graph of a format that is not read.", {"b.graphml": '<?xml version="1.0"?>\n<graphml></graphml>\n'},
            CALL.replace("b.ttl", "b.graphml")),
    Mistake("JSON-LD that means its words by an address.", {"b.jsonld": JSON_LD}, CALL.replace("b.ttl", "b.jsonld"),
            {"b.jsonld": JSON_LD.replace('"https://schema.org/"', '{"@vocab": "https://schema.org/"}')},
            CALL.replace("b.ttl", "b.jsonld")),
    Mistake("One line of N-Triples is wrong.", {"b.nt": LINES + f"<{B}Roma> fondata -753 .\n"},
            CALL.replace("b.ttl", "b.nt"), {"b.nt": LINES}, CALL.replace("b.ttl", "b.nt")),
    Mistake("Turtle's `a` in N-Triples.", {"b.nt": LINES + TYPE.format("a")},
            CALL.replace("b.ttl", "b.nt"), {"b.nt": LINES + TYPE.format(f"<{RDF}type>")},
            CALL.replace("b.ttl", "b.nt")),
    Mistake("A language tag that is none.", {"b.nt": LINES + NAMED.format("francaise")},
            CALL.replace("b.ttl", "b.nt"), {"b.nt": LINES + NAMED.format("fr")},
            CALL.replace("b.ttl", "b.nt")),
    Mistake("A mistake of this kind, with --strict.", {"b.nt": LINES + TYPE.format("a")},
            CALL.replace("b.ttl", "b.nt") + " --strict", {"b.nt": LINES + TYPE.format(f"<{RDF}type>")},
            CALL.replace("b.ttl", "b.nt") + " --strict"),
    Mistake("Relative IRIs in RDF/XML without xml:base.", {"b.rdf": RDF_XML.format("")},
            CALL.replace("b.ttl", "b.rdf"), {"b.rdf": BASED.format("")}, CALL.replace("b.ttl", "b.rdf")),
    Mistake("rdf:ID that is not a name, or comes twice.", {"b.rdf": BASED.format(SHOPS)},
            CALL.replace("b.ttl", "b.rdf"), {"b.rdf": BASED.format(SHOP.format("Bar"))},
            CALL.replace("b.ttl", "b.rdf")),
    links("Links that somebody was not sure of.", "source\ttarget\tconfidence\n" + table(
        [(*pair, sure) for pair, sure in zip(PAIRS, ("1", "1", "0.9", "0.3"), strict=True)])),
    Mistake("Obsolete entities among the links.", {"a.ttl": OLD, "links.tsv": OLD_LINKS},
            mended={"a.ttl": OLD, "links.tsv": OLD_LINKS}, mended_call=CALL + " --keep-obsolete"),
    Mistake("The same graph twice.", {"links.tsv": table([(a, a) for a, _ in PAIRS])}, CALL.replace("b.ttl", "a.ttl")),
    Mistake("IRIs in the links, and plain ids in the graph.",
            PLAIN | {"links.tsv": table([(a, B + b) for a, b in PLAIN_PAIRS])}, CALL.replace("b.ttl", "b.csv"),
            PLAIN | {"l.sssom.tsv": NOTED}, CALL.replace("b.ttl", "b.csv").replace("links.tsv", "l.sssom.tsv")),
    Mistake("A namespace for such ids that ends in a letter.", PLAIN, EXPORT + f" --target-namespace {B}id", PLAIN,
            EXPORT + f" --target-namespace {B}id/", FIT),
    Mistake("An export beside a mapping of other graphs.", PLAIN | {"old.tsv": "http://c.org/Q1\thttp://d.org/P1\n"},
            EXPORT + " --with-given --compare-with old.tsv", PLAIN | {"old.tsv": table(PLAIN_PAIRS)},
            EXPORT + " --with-given --compare-with old.tsv", FIT),
    Mistake("Links that stand in the graph as triples.",
            {"a.ttl": f"{GOOD['a.ttl']}<{A}Rome> {SAME} <{B}Roma> .\n"},
            mended={"a.ttl": f"{GOOD['a.ttl']}<{A}Rome> {SAME} <{B}Roma> .\n"},
            mended_call=CALL + " --drop-predicates owl:sameAs"),
]  # fmt: skip
