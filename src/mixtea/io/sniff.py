"""Detect the format of a file: by its ending, and by its beginning where the ending is missing or wrong."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from mixtea.io.formats.recognise import BINARY, UNSUPPORTED
from mixtea.io.formats.registry import FORMATS, format_row
from mixtea.io.head import Head, head_of
from mixtea.io.paths import bare_path, is_prefixed, split_name
from mixtea.io.safe.limits import UnreadableError
from mixtea.io.safe.lines import SAVE_AS_UTF_8, UTF_8, is_like_utf_16

ENDINGS = {ending: kind for kind, row in FORMATS.items() for ending in row.endings}
UNSUPPORTED_ENDINGS = {
    ".n3": "Notation3", ".hdt": "HDT", ".ofn": "OWL functional syntax",
    ".omn": "Manchester syntax", ".xls": "Excel's old format",
    ".xlsb": "Excel's binary format", ".ods": "OpenDocument", ".zip": "zip", ".bz2": "bzip2", ".xz": "xz",
    ".tar": "tar", ".tgz": "tar", ".7z": "7z",
}  # fmt: skip
SPREADSHEETS = (".xls", ".xlsb", ".ods")


def format_by_ending(path: Path) -> str:
    """Return the format of the ending, under .gz or .zst; without a known ending it is TSV."""
    if is_prefixed(path):
        return "SQLite"
    bare = bare_path(path)
    ending = bare.suffix.lower()
    if long := [kind for end, kind in ENDINGS.items() if end.count(".") > 1 and bare.name.lower().endswith(end)]:
        return long[0]
    if ending in UNSUPPORTED_ENDINGS:
        todo = (
            "Open it, and save it as .xlsx."
            if ending in SPREADSHEETS
            else "Convert it to one of .nt .ttl .rdf .nq .trig .jsonld .obo .tsv .csv .parquet, plain or with .gz or "
            ".zst."
        )
        raise UnreadableError(path, None, "", f"{UNSUPPORTED_ENDINGS[ending]} is not read", todo)
    return ENDINGS.get(ending, "TSV")


def detect_format(path: Path) -> str:
    """Return the format of a file: that of its ending if the content fits, else that of the content."""
    if is_prefixed(path):
        return "SQLite"
    try:
        meant, unknown = format_by_ending(path), None
    except UnreadableError as error:
        if not path.is_file():
            raise
        meant, unknown = "", error
    head = head_of(split_name(path).file)
    found = _detect_by_content(path, head, meant)
    _check_readable(path, head, found)
    if unknown is not None and not found:
        raise unknown
    return found


def _detect_by_content(path: Path, head: Head, meant: str) -> str:
    named = format_row(meant) if meant else None
    looks_so = named and (named.recognise_named or named.recognise)
    if meant == "SSSOM" or (looks_so and looks_so(head)):
        return meant
    for kind in UNSUPPORTED:
        if kind.begins.match(head.text.lstrip()):
            raise UnreadableError(path, None, "", kind.what, kind.todo)
    for name, row in FORMATS.items():
        is_it = (row.recognise_unnamed if meant == "TSV" else None) or row.recognise
        if is_it and is_it(head):
            return name
    return meant


def detect_format_among(path: Path, kinds: Container[str], what: str, todo: str) -> str:
    """Return the format of a file; an error if it is not one of those that can hold `what`."""
    kind = detect_format(path)
    if kind not in kinds:
        raise UnreadableError(path, None, "", f"{kind} holds no {what}", todo)
    return kind


def format_warnings(path: Path, kind: str) -> list[str]:
    """Warn about a file that was read as another format than its ending names."""
    try:
        meant = format_by_ending(path)
    except UnreadableError:
        meant = ""
    expected = (("RDF/XML", "Alignment"), ("TSV", "SSSOM"), ("JSON", "JSON-LD"))
    usual = (meant, kind) in expected or meant == kind or kind not in FORMATS
    if usual:
        return []
    row = FORMATS[kind]
    ending = row.suggested_ending or row.endings[0]
    return [f"{path}: read as {kind}, by its content; the ending {ending} would name it"]


def _check_readable(path: Path, head: Head, kind: str) -> None:
    """Refuse UTF-16 except in text tables; without a mark it would be read as text full of NULs."""
    is_utf_16 = head.encoding.startswith("utf-16") and not (kind and format_row(kind).any_encoding)
    if (is_utf_16 or (head.encoding == UTF_8 and is_like_utf_16(head.data))) and not head.data.startswith(BINARY):
        raise UnreadableError(path, None, "", "UTF-16 text, which is not UTF-8", SAVE_AS_UTF_8)
