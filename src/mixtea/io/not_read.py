"""Files that people name and that are not read: how they begin, what they are, and what to do."""

from __future__ import annotations

import re
from typing import NamedTuple

COMMENTS = r"(?>(?:<!--.*?-->\s*+)*)"


class NotRead(NamedTuple):
    """What a file is that is not read, how it begins, and what to do."""

    what: str
    begins: re.Pattern[str]
    todo: str


SAVE_AS = "Save it as RDF/XML or Turtle (in Protégé: File, Save as)."
VARIABLES = re.compile(r"(?:\?\w++\t)++\?\w++\s")
COMPOUND = "\ufffd\ufffd\x11\u0871\x1a\ufffd"  # d0 cf 11 e0 a1 b1 1a e1, where it is no UTF-8
ENCRYPTED = "\0".join("EncryptedPackage")
BY_NETWORKX = "Read it by NetworkX, and give load_task that graph; or save its edges as CSV: head, relation, tail."
SPARQL = re.compile(r"(?:PREFIX\s[^\n]*+\s*+)*+(?:SELECT|CONSTRUCT)\s", re.IGNORECASE)
NOT_READ = (
    NotRead("a web page", re.compile(COMMENTS + "<(?:!doctype html|html)", re.IGNORECASE | re.DOTALL),
            "Download the file itself, not the page about it."),
    NotRead("OWL/XML, which is not read",
            re.compile(rf"(?>(?:<\?xml.*?\?>\s*+)?){COMMENTS}<(?:owl:)?Ontology\s", re.DOTALL), SAVE_AS),
    NotRead("OWL functional syntax, which is not read", re.compile(r"(?:Prefix|Ontology)\("), SAVE_AS),
    NotRead("OWL Manchester syntax, which is not read", re.compile(r"(?:Prefix|Ontology):\s"), SAVE_AS),
    NotRead("a zip archive", re.compile("PK\x03\x04(?!.*xl/)", re.DOTALL), "Unpack it, and name the file inside."),
    NotRead("an Excel workbook with a password", re.compile(f"{COMPOUND}(?s:.*?){ENCRYPTED}"),
            "Save it without a password (.xlsx)."),
    NotRead("an Excel workbook of the old kind (.xls), or another file of Office", re.compile(COMPOUND),
            "Open it, and save it as .xlsx."),
    NotRead("a graph in GraphML or GEXF, which is not read",
            re.compile(rf"(?>(?:<\?xml.*?\?>\s*+)?){COMMENTS}<(?:graphml|gexf)\b", re.DOTALL), BY_NETWORKX),
    NotRead("a graph in GML, which is not read", re.compile(r"(?:Creator[^\n]*+\s*+)?graph\s*+\["), BY_NETWORKX),
    NotRead("a graph in DOT, which is not read", re.compile(r"(?:strict\s++)?(?:di)?graph\b[^\n{]*+\{"), BY_NETWORKX),
    NotRead("a PDF", re.compile("%PDF-"), "Name the file of data itself."),
    NotRead("the result of a query as TSV (SPARQL), with signs around each term", VARIABLES, "Save it as CSV instead."),
    NotRead("a query (SPARQL), not its result", SPARQL,
            "Run it, and save its result as Turtle, or as CSV with the columns subject, predicate and object."),
    NotRead("a pointer of Git LFS, not the file", re.compile("version https://git-lfs"), "Fetch it: git lfs pull."),
)  # fmt: skip
