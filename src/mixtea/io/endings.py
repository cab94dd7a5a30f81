"""Which format the ending of a file's name means."""

from __future__ import annotations

from pathlib import Path

from mixtea.io.named_parts import is_prefixed, named
from mixtea.io.safe.open import COMPRESSED
from mixtea.io.safe.problems import UnreadableError

RDF_ENDINGS = {
    ".nt": "N-Triples", ".ttl": "Turtle", ".rdf": "RDF/XML", ".owl": "RDF/XML", ".xml": "RDF/XML", ".nq": "N-Quads",
    ".trig": "TriG", ".jsonld": "JSON-LD",
}  # fmt: skip
ENDINGS = RDF_ENDINGS | {
    ".csv": "CSV", ".json": "JSON", ".jsonl": "JSON lines", ".ndjson": "JSON lines", ".parquet": "Parquet",
    ".pq": "Parquet", ".obo": "OBO", ".xlsx": "Excel", ".xlsm": "Excel",
    ".db": "SQLite", ".sqlite": "SQLite", ".sqlite3": "SQLite",
}  # fmt: skip
RDF_FORMATS = frozenset(RDF_ENDINGS.values())
NOT_READ = {
    ".n3": "Notation3", ".hdt": "HDT", ".ofn": "OWL functional syntax",
    ".omn": "Manchester syntax", ".xls": "Excel's old format",
    ".xlsb": "Excel's binary format", ".ods": "OpenDocument", ".zip": "zip", ".bz2": "bzip2", ".xz": "xz",
    ".tar": "tar", ".tgz": "tar", ".7z": "7z",
}  # fmt: skip
SPREADSHEETS = (".xls", ".xlsb", ".ods")


def format_of(path: Path) -> str:
    """The format that the ending means, under .gz or .zst; a name without a known ending is tab-separated text."""
    if is_prefixed(path):
        return "SQLite"
    bare = _uncompressed(path)
    ending = bare.suffix.lower()
    if bare.name.lower().endswith(".sssom.tsv"):
        return "SSSOM"
    if ending in NOT_READ:
        todo = (
            "Open it, and save it as .xlsx."
            if ending in SPREADSHEETS
            else "Convert it to one of .nt .ttl .rdf .nq .trig .jsonld .obo .tsv .csv .parquet, plain or with .gz or "
            ".zst."
        )
        raise UnreadableError(path, None, "", f"{NOT_READ[ending]} is not read", todo)
    return ENDINGS.get(ending, "TSV")


def plain_name(path: Path) -> str:
    """The file's name without its endings, and without what the path names of it."""
    return _uncompressed(path).stem


def _uncompressed(path: Path) -> Path:
    file = named(path).file
    return file.with_suffix("") if file.suffix.lower() in COMPRESSED else file
