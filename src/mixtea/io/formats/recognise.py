"""Recognise formats by the beginning of a file, both supported and unsupported ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import NamedTuple

from mixtea.io.head import Head
from mixtea.io.paths import SQLITE_MAGIC
from mixtea.io.safe.sandboxed import excel_child, parquet_child
from mixtea.io.table_layout import odd_separator, split_line

Recogniser = Callable[[Head], bool]
# *+ and (?>...) take what they can and never give back, so that no beginning takes long
IRI, BLANK, LITERAL = r'<[^<>"{}|^`\\\s]*+>', r"_:[^\s<>.]++", r'"(?:[^"\\]|\\.)*+"(?:@[\w-]++|\^\^<[^<>\s]*+>)?+'
SUBJECT, OBJECT = rf"(?:{IRI}|{BLANK})", rf"(?:{IRI}|{BLANK}|{LITERAL})"
TRIPLE = re.compile(rf"\s*+{SUBJECT}\s*+{IRI}\s*+{OBJECT}\s*+\.\s*+(?:#.*)?")
QUAD = re.compile(rf"\s*+{SUBJECT}\s*+{IRI}\s*+{OBJECT}\s*+{SUBJECT}?+\s*+\.\s*+(?:#.*)?")
DECLARED = re.compile(r"\s*+(?:@prefix|@base|prefix|base)\s[^\t<]*+<[^>]*+>", re.IGNORECASE)
WRITTEN_OUT = re.compile(rf"\s*+(?:{SUBJECT}|\[)\s*+(?:{IRI}|a\s|$)")
NAMED_GRAPH = r"^[ \t]*+(?:GRAPH[ \t]++)?+(?:<[^<>\s]*+>|[\w.-]*+:[\w.-]*+)?+[ \t]*+\{"
IN_A_GRAPH = re.compile(NAMED_GRAPH, re.MULTILINE | re.IGNORECASE)
KEYWORD = re.compile(r'"@(?:context|id|graph|type)"\s*:')
OBO = re.compile(r"^(?:format-version:|\[(?:Term|Typedef|Instance)\]\s*$)", re.MULTILINE)
RDF_ROOT = re.compile(r"<(?:[\w.-]+:)?RDF[\s>]")
ALIGNMENT = "knowledgeweb.semanticweb.org/heterogeneity/alignment"
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
BINARY = (parquet_child.MAGIC, excel_child.MAGIC, SQLITE_MAGIC, OLD_OFFICE)  # beginnings of files that are no text
COMMENTS = r"(?>(?:<!--.*?-->\s*+)*)"
SAVE_AS = "Save it as RDF/XML or Turtle (in Protégé: File, Save as)."
SPARQL_TSV = re.compile(r"(?:\?\w++\t)++\?\w++\s")
COMPOUND = "\ufffd\ufffd\x11\u0871\x1a\ufffd"  # d0 cf 11 e0 a1 b1 1a e1, where it is no UTF-8
ENCRYPTED = "\0".join("EncryptedPackage")
BY_NETWORKX = "Read it by NetworkX, and give load_task that graph; or save its edges as CSV: head, relation, tail."
SPARQL = re.compile(r"(?:PREFIX\s[^\n]*+\s*+)*+(?:SELECT|CONSTRUCT)\s", re.IGNORECASE)


class UnsupportedFormat(NamedTuple):
    """A format that is not read: its name, how a file begins, and what to do."""

    what: str
    begins: re.Pattern[str]
    todo: str


def is_parquet(head: Head) -> bool:
    return head.data.startswith(parquet_child.MAGIC)


def is_excel(head: Head) -> bool:
    return head.data.startswith(excel_child.MAGIC) and b"xl/" in head.data


def is_sqlite(head: Head) -> bool:
    return head.data.startswith(SQLITE_MAGIC)


def is_xml(head: Head) -> bool:
    return head.text.lstrip().startswith("<") and bool(RDF_ROOT.search(head.text))


def is_alignment(head: Head) -> bool:
    return is_xml(head) and ALIGNMENT in head.text and "Alignment" in head.text


def is_rdf_xml(head: Head) -> bool:
    return is_xml(head) and not is_alignment(head)


def is_sssom(head: Head) -> bool:
    names = re.split("[\t,]", head.lines[0]) if head.lines else []
    return {"subject_id", "predicate_id", "object_id"} <= set(names)


def is_triples(head: Head) -> bool:
    return bool(head.lines and TRIPLE.fullmatch(head.lines[0]))


def is_quads(head: Head) -> bool:
    return bool(head.lines and QUAD.fullmatch(head.lines[0]))


def is_trig(head: Head) -> bool:
    return is_turtle(head) and bool(IN_A_GRAPH.search(head.text))


def is_turtle(head: Head) -> bool:
    return bool(head.lines and DECLARED.match(head.lines[0]))


def may_be_turtle(head: Head) -> bool:
    return bool(is_turtle(head) or (head.lines and WRITTEN_OUT.match(head.lines[0])))


def is_table(head: Head) -> bool:
    others = (is_parquet, is_excel, is_sqlite, is_xml, is_sssom, is_quads, is_turtle)
    return not any(look(head) for look in others)


def is_tsv(head: Head) -> bool:
    has_tabs = is_table(head) and any("\t" in line for line in head.lines) and not SPARQL_TSV.match(head.text)
    return has_tabs and ("\t" in head.lines[0] or odd_separator(head) is None)


def is_csv(head: Head) -> bool:
    """Return whether the first lines have the same number of columns, at least two."""
    counts = [{len(split_line(line, one)) for line in head.lines} for one in ",;|"]
    even = any(len(found) == 1 and max(found) > 1 for found in counts)
    return is_table(head) and (even or odd_separator(head) is not None)


def is_csv_or_tsv(head: Head) -> bool:
    return is_csv(head) or is_tsv(head)


def may_be_json(head: Head) -> bool:
    return head.text.lstrip().startswith(("[", "{"))


def is_json_lines(head: Head) -> bool:
    """Return whether each of the first two lines is a whole object."""
    try:
        first = [json.loads(line) for _, line in head.numbered[:2]] if may_be_json(head) else []
    except (ValueError, RecursionError):
        return False
    return len(first) > 1 and all(isinstance(one, dict) for one in first)


def is_json_ld(head: Head) -> bool:
    return may_be_json(head) and bool(KEYWORD.search(head.text)) and not is_json_lines(head)


def is_json(head: Head) -> bool:
    return may_be_json(head) and not is_json_ld(head) and not is_json_lines(head)


def is_obo(head: Head) -> bool:
    return bool(OBO.search(head.text))


UNSUPPORTED = (
    UnsupportedFormat(
        "a web page",
        re.compile(COMMENTS + "<(?:!doctype html|html)", re.IGNORECASE | re.DOTALL),
        "Download the file itself, not the page about it.",
    ),
    UnsupportedFormat(
        "OWL/XML, which is not read",
        re.compile(rf"(?>(?:<\?xml.*?\?>\s*+)?){COMMENTS}<(?:owl:)?Ontology\s", re.DOTALL),
        SAVE_AS,
    ),
    UnsupportedFormat("OWL functional syntax, which is not read", re.compile(r"(?:Prefix|Ontology)\("), SAVE_AS),
    UnsupportedFormat("OWL Manchester syntax, which is not read", re.compile(r"(?:Prefix|Ontology):\s"), SAVE_AS),
    UnsupportedFormat(
        "a zip archive", re.compile("PK\x03\x04(?!.*xl/)", re.DOTALL), "Unpack it, and name the file inside."
    ),
    UnsupportedFormat(
        "an Excel workbook with a password",
        re.compile(f"{COMPOUND}(?s:.*?){ENCRYPTED}"),
        "Save it without a password (.xlsx).",
    ),
    UnsupportedFormat(
        "an Excel workbook of the old kind (.xls), or another file of Office",
        re.compile(COMPOUND),
        "Open it, and save it as .xlsx.",
    ),
    UnsupportedFormat(
        "a graph in GraphML or GEXF, which is not read",
        re.compile(rf"(?>(?:<\?xml.*?\?>\s*+)?){COMMENTS}<(?:graphml|gexf)\b", re.DOTALL),
        BY_NETWORKX,
    ),
    UnsupportedFormat(
        "a graph in GML, which is not read", re.compile(r"(?:Creator[^\n]*+\s*+)?graph\s*+\["), BY_NETWORKX
    ),
    UnsupportedFormat(
        "a graph in DOT, which is not read", re.compile(r"(?:strict\s++)?(?:di)?graph\b[^\n{]*+\{"), BY_NETWORKX
    ),
    UnsupportedFormat("a PDF", re.compile("%PDF-"), "Name the file of data itself."),
    UnsupportedFormat(
        "the result of a query as TSV (SPARQL), with signs around each term", SPARQL_TSV, "Save it as CSV instead."
    ),
    UnsupportedFormat(
        "a query (SPARQL), not its result",
        SPARQL,
        "Run it, and save its result as Turtle, or as CSV with the columns subject, predicate and object.",
    ),
    UnsupportedFormat(
        "a pointer of Git LFS, not the file", re.compile("version https://git-lfs"), "Fetch it: git lfs pull."
    ),
)
