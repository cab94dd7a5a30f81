"""The one door for input files: which format an ending means, opened plain, gzip or zstd, and what keeps one shut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from mixtea.data.door import BLOCK as BLOCK
from mixtea.data.door import Door, not_opened, open_regular
from mixtea.data.packed import AfterError, DamagedError, NotPackedError, TooWideError
from mixtea.data.problems import UnreadableError as UnreadableError
from mixtea.data.problems import collected as collected

RDF_ENDINGS = {
    ".nt": "N-Triples", ".ttl": "Turtle", ".rdf": "RDF/XML", ".owl": "RDF/XML", ".xml": "RDF/XML", ".nq": "N-Quads",
    ".trig": "TriG",
}  # fmt: skip
ENDINGS = RDF_ENDINGS | {".csv": "CSV", ".parquet": "Parquet", ".pq": "Parquet"}
RDF_FORMATS = frozenset(RDF_ENDINGS.values())
COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
NOT_READ = {
    ".jsonld": "JSON-LD", ".json": "JSON", ".n3": "Notation3", ".hdt": "HDT", ".ofn": "OWL functional syntax",
    ".omn": "Manchester syntax", ".xlsx": "Excel", ".xls": "Excel", ".zip": "zip", ".bz2": "bzip2", ".xz": "xz",
    ".tar": "tar", ".tgz": "tar", ".7z": "7z",
}  # fmt: skip
FIRST_BYTES = {
    b"\x1f\x8b": ("compressed with gzip", "Add .gz to its name, or unpack it."),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "Add .zst to its name, or unpack it."),
    b"\xff\xfe": ("UTF-16 text, which is not UTF-8", "Save the file as UTF-8."),
    b"\xfe\xff": ("UTF-16 text, which is not UTF-8", "Save the file as UTF-8."),
}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
AGAIN = "Copy or download the file again."


def format_of(path: Path) -> str:
    """The format that the ending means, under .gz or .zst; a name without a known ending is tab-separated text."""
    bare = _uncompressed(path)
    ending = bare.suffix.lower()
    if bare.name.lower().endswith(".sssom.tsv"):
        return "SSSOM"
    if ending in NOT_READ:
        todo = "Convert it to one of .nt .ttl .rdf .nq .trig .tsv .csv .parquet, plain or with .gz or .zst."
        raise UnreadableError(path, None, "", f"{NOT_READ[ending]} is not read", todo)
    return ENDINGS.get(ending, "TSV")


def plain_name(path: Path) -> str:
    """The file's name without its endings."""
    return _uncompressed(path).stem


def _uncompressed(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


@contextmanager
def opened(path: Path) -> Iterator[BufferedReader]:
    """The file's bytes, unpacked and without a byte order mark; whatever goes wrong in it is an UnreadableError."""
    kind = COMPRESSED.get(path.suffix.lower(), "")
    try:
        with open_regular(path) as raw, Door(path, raw, kind).buffered() as file:
            _check_start(path, file)
            yield file
    except EOFError:
        raise UnreadableError(path, None, "", f"the {kind} data ends in the middle", AGAIN) from None
    except NotPackedError:
        raise UnreadableError(path, None, "", f"not {kind}, in spite of its ending", AGAIN) from None
    except AfterError:
        todo = "Remove them, or copy or download the file again."
        raise UnreadableError(path, None, "", f"other bytes after the {kind} data", todo) from None
    except TooWideError:
        todo = "Compress it again without --long and --ultra, or unpack it."
        raise UnreadableError(path, None, "", f"{kind} with a window that takes too much memory", todo) from None
    except DamagedError as error:
        raise UnreadableError(path, None, "", f"damaged {kind} ({error})", AGAIN) from None
    except OSError as error:
        raise not_opened(path, error) from None


def _check_start(path: Path, file: BufferedReader) -> None:
    start = file.peek(4)
    for first, (what, todo) in FIRST_BYTES.items():
        if start.startswith(first):
            raise UnreadableError(path, None, "", what, todo)
    if start.startswith(BYTE_ORDER_MARK):
        file.read(len(BYTE_ORDER_MARK))
