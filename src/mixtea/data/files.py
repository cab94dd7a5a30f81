"""The one door for input files: which format an ending means, opened plain, gzip or zstd, and what keeps one shut."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mixtea.data.zstd import DamagedZstdError, ZstdStream
from mixtea.errors import DataError, Problem, Problems

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


class UnreadableError(DataError):
    """A file that cannot be read, or not any further."""

    def __init__(self, path: Path, line: int | None, value: str, what: str, todo: str) -> None:
        self.problem = Problem(path, line, value, what, todo)
        super().__init__(f"{path}: {str(self.problem).strip()}")


@contextmanager
def collected(problems: Problems) -> Iterator[None]:
    """A file that turns out unreadable in the block joins the problems."""
    try:
        yield
    except UnreadableError as error:
        problems.found.append(error.problem)


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
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked and without a byte order mark; whatever goes wrong in it is an UnreadableError."""
    kind = COMPRESSED.get(path.suffix.lower(), "")
    try:
        with _open(path, kind) as file:
            _check_start(path, file)
            yield file
    except FileNotFoundError:
        raise UnreadableError(path, None, "", "no such file", "Check the path.") from None
    except IsADirectoryError:
        what = "a folder, where a file is needed"
        raise UnreadableError(path, None, "", what, "Name the file inside it.") from None
    except EOFError:
        raise UnreadableError(path, None, "", f"the {kind} data ends in the middle", AGAIN) from None
    except (zlib.error, gzip.BadGzipFile, DamagedZstdError) as error:
        other = any(said in str(error) for said in ("Not a gzipped file", "Unknown frame descriptor"))
        what = f"not {kind}, in spite of its ending" if other else f"damaged {kind} ({error})"
        raise UnreadableError(path, None, "", what, AGAIN) from None
    except OSError as error:
        why = error.strerror or str(error)
        raise UnreadableError(
            path, None, "", f"cannot be read ({why})", "Check the path and its permissions."
        ) from None


def read_bytes(path: Path) -> bytes:
    with opened(path) as file:
        return file.read()


def _open(path: Path, kind: str) -> Any:
    if kind == "gzip":
        return gzip.open(path, "rb")
    return io.BufferedReader(ZstdStream(path.open("rb"))) if kind == "zstd" else path.open("rb")


def _check_start(path: Path, file: Any) -> None:
    start = file.peek(4)
    for first, (what, todo) in FIRST_BYTES.items():
        if start.startswith(first):
            raise UnreadableError(path, None, "", what, todo)
    if start.startswith(BYTE_ORDER_MARK):
        file.read(len(BYTE_ORDER_MARK))
