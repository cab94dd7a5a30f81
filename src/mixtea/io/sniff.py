"""Which format a file has by its content, where the ending of its name is missing or wrong.

A format is recognised by its row in `LOOKS`: what the beginning of such a file looks like. The rows are asked in order,
after that of the format which the ending means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container
from pathlib import Path

from mixtea.io.endings import ENDINGS, format_of
from mixtea.io.head import Head, head_of
from mixtea.io.named_parts import SQLITE_MAGIC, is_prefixed, named
from mixtea.io.not_read import NOT_READ, VARIABLES
from mixtea.io.safe.encoding import SAVE, UTF_8, is_like_utf_16
from mixtea.io.safe.problems import UnreadableError
from mixtea.io.safe.sandboxed import excel_child, parquet_child
from mixtea.io.separators import odd_separator
from mixtea.io.table_layout import cells

Look = Callable[[Head], bool]
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
BINARY = (parquet_child.MAGIC, excel_child.MAGIC, SQLITE_MAGIC, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
TEXT_TABLES = ("TSV", "CSV", "SSSOM")  # which may have another encoding than UTF-8


def _is_parquet(head: Head) -> bool:
    return head.data.startswith(parquet_child.MAGIC)


def _is_excel(head: Head) -> bool:
    return head.data.startswith(excel_child.MAGIC) and b"xl/" in head.data


def _is_sqlite(head: Head) -> bool:
    return head.data.startswith(SQLITE_MAGIC)


def _is_xml(head: Head) -> bool:
    return head.text.lstrip().startswith("<") and bool(RDF_ROOT.search(head.text))


def _is_alignment(head: Head) -> bool:
    return _is_xml(head) and ALIGNMENT in head.text and "Alignment" in head.text


def _is_rdf_xml(head: Head) -> bool:
    return _is_xml(head) and not _is_alignment(head)


def _is_sssom(head: Head) -> bool:
    names = re.split("[\t,]", head.lines[0]) if head.lines else []
    return {"subject_id", "predicate_id", "object_id"} <= set(names)


def _is_triples(head: Head) -> bool:
    return bool(head.lines and TRIPLE.fullmatch(head.lines[0]))


def _is_quads(head: Head) -> bool:
    return bool(head.lines and QUAD.fullmatch(head.lines[0]))


def _is_trig(head: Head) -> bool:
    return bool(_is_turtle(head) or (head.lines and IN_A_GRAPH.match(head.lines[0])))


def _is_turtle(head: Head) -> bool:
    return bool(head.lines and DECLARED.match(head.lines[0]))


def _may_be_turtle(head: Head) -> bool:
    return bool(_is_turtle(head) or (head.lines and WRITTEN_OUT.match(head.lines[0])))


def _is_table(head: Head) -> bool:
    others = (_is_parquet, _is_excel, _is_sqlite, _is_xml, _is_sssom, _is_quads, _is_turtle)
    return not any(look(head) for look in others)


def _is_tsv(head: Head) -> bool:
    has_tabs = _is_table(head) and any("\t" in line for line in head.lines) and not VARIABLES.match(head.text)
    return has_tabs and ("\t" in head.lines[0] or odd_separator(head) is None)


def _is_csv(head: Head) -> bool:
    """The same number of columns, at least two, in each of the first lines."""
    counts = [{len(cells(line, one)) for line in head.lines} for one in ",;|"]
    even = any(len(found) == 1 and max(found) > 1 for found in counts)
    return _is_table(head) and (even or odd_separator(head) is not None)


def _may_be_json(head: Head) -> bool:
    return head.text.lstrip().startswith(("[", "{"))


def _is_json_lines(head: Head) -> bool:
    """A whole object in each of the first two lines."""
    try:
        first = [json.loads(line) for _, line in head.numbered[:2]] if _may_be_json(head) else []
    except (ValueError, RecursionError):
        return False
    return len(first) > 1 and all(isinstance(one, dict) for one in first)


def _is_json_ld(head: Head) -> bool:
    return _may_be_json(head) and bool(KEYWORD.search(head.text)) and not _is_json_lines(head)


def _is_json(head: Head) -> bool:
    return _may_be_json(head) and not _is_json_ld(head) and not _is_json_lines(head)


def _is_obo(head: Head) -> bool:
    return bool(OBO.search(head.text))


LOOKS: dict[str, Look] = {
    "Parquet": _is_parquet,
    "Excel": _is_excel,
    "SQLite": _is_sqlite,
    "Alignment": _is_alignment,
    "RDF/XML": _is_rdf_xml,
    "SSSOM": _is_sssom,
    "N-Triples": _is_triples,
    "N-Quads": _is_quads,
    "TriG": lambda head: _is_turtle(head) and bool(IN_A_GRAPH.search(head.text)),
    "Turtle": _is_turtle,
    "JSON lines": _is_json_lines,
    "JSON-LD": _is_json_ld,
    "OBO": _is_obo,
}
TABLES: dict[str, Look] = {"TSV": _is_tsv, "CSV": _is_csv, "Turtle": _may_be_turtle}  # where no ending says otherwise
ALSO: dict[str, Look] = {  # where the ending says so
    "Turtle": _may_be_turtle, "TriG": _may_be_turtle, "TSV": _is_tsv,
    "CSV": lambda head: _is_csv(head) or _is_tsv(head), "JSON": _is_json,
    "JSON lines": _may_be_json,
}  # fmt: skip


def kind_of(path: Path) -> str:
    """The format of a file: what its ending means if the file looks like that, else what it looks like."""
    if is_prefixed(path):
        return "SQLite"
    try:
        meant, unknown = format_of(path), None
    except UnreadableError as error:
        if not path.is_file():
            raise
        meant, unknown = "", error
    head = head_of(named(path).file)
    found = _looked_at(path, head, meant)
    _check_readable(path, head, found)
    if unknown is not None and not found:
        raise unknown
    return found


def _looked_at(path: Path, head: Head, meant: str) -> str:
    if meant == "SSSOM" or (meant and (LOOKS | ALSO)[meant](head)):
        return meant
    for kind in NOT_READ:
        if kind.begins.match(head.text.lstrip()):
            raise UnreadableError(path, None, "", kind.what, kind.todo)
    looks = LOOKS | TABLES if meant == "TSV" else LOOKS
    return next((kind for kind, look in looks.items() if look(head)), meant)


def kind_among(path: Path, kinds: Container[str], what: str, todo: str) -> str:
    """Return the format of a file, if it is one of those that can hold `what`; else an error says what to do."""
    kind = kind_of(path)
    if kind not in kinds:
        raise UnreadableError(path, None, "", f"{kind} holds no {what}", todo)
    return kind


def remark(path: Path, kind: str) -> list[str]:
    """What to say of a file that was read as another format than its ending means; what is no file has no ending."""
    try:
        meant = format_of(path)
    except UnreadableError:
        meant = ""
    expected = (("RDF/XML", "Alignment"), ("TSV", "SSSOM"), ("JSON", "JSON-LD"))
    usual = (meant, kind) in expected or meant == kind or kind not in LOOKS | ALSO
    endings = ENDINGS | {".sssom.tsv": "SSSOM", ".rdf": "Alignment"}
    ending = next((ending for ending, meant in endings.items() if meant == kind), ".tsv")
    return [] if usual else [f"{path}: read as {kind}, by its content; the ending {ending} would say so"]


def _check_readable(path: Path, head: Head, kind: str) -> None:
    """Only tables of text may be UTF-16; without a mark it would be read as text full of NULs."""
    is_utf_16 = head.encoding.startswith("utf-16") and kind not in TEXT_TABLES
    if (is_utf_16 or (head.encoding == UTF_8 and is_like_utf_16(head.data))) and not head.data.startswith(BINARY):
        raise UnreadableError(path, None, "", "UTF-16 text, which is not UTF-8", SAVE)
