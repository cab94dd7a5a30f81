"""Parse an Excel workbook from standard input, and write columns of a sheet as Arrow's stream."""

from __future__ import annotations

import os
import sys
import warnings
import zipfile
from collections.abc import Iterator
from typing import IO, Any
from xml.parsers import expat

from .restrict import BYTES_PER_GRANT, WrongError, restrict
from .table_child import MAX_SHOWN, ArrowWriter, choose_columns, find_header

MAGIC = b"PK\x03\x04"
CONTENTS, STRINGS = "[Content_Types].xml", "xl/sharedStrings.xml"
MAX_MEMBERS = 10_000  # of the archive; a workbook has some dozens
MAX_SHEETS_SHOWN, MAX_NAMES_SHOWN = 20, 5  # shown
BLOCK = 1 << 16
ENCRYPTED = 1  # a flag of a member
MAX_EXACT_INTEGER = 1 << 53  # beyond it, a number with a point cannot hold every whole one
Row = tuple[int, dict[int, Any]]


class FirstElementError(Exception):
    """The first element of an XML file was reached."""


def work(wanted: dict[str, Any]) -> dict[str, Any]:
    """Write the requested columns of the sheet; return its report."""
    os.environ["OPENPYXL_LXML"] = "False"
    import openpyxl
    import pyarrow as pa

    file, sink = sys.stdin.buffer, sys.stdout.buffer
    size = file.seek(0, os.SEEK_END)
    go_on = restrict(wanted["mib"], wanted["seconds"] * (1 + size / BYTES_PER_GRANT))
    warnings.simplefilter("ignore")
    try:
        go_on(check_archive(file, size, wanted))
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        names = [one.title for one in book.worksheets]
        found = SheetReader(book.worksheets[place_of(names, wanted["sheet"])])
        return found.written(sink, wanted, go_on) | {"sheets": names[:MAX_SHEETS_SHOWN], "n_sheets": len(names)}
    except (WrongError, MemoryError, BrokenPipeError, pa.ArrowMemoryError):
        raise
    except Exception as error:  # whatever damage leads to
        messages = [line for line in str(error).splitlines() if line]
        raise WrongError((messages or ["damaged"])[0][:MAX_SHOWN].strip('".')) from None


def check_archive(file: IO[bytes], size: int, wanted: dict[str, Any]) -> int:
    """Check the archive's directory before anything is unpacked; return the size of the texts in it."""
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) > MAX_MEMBERS:
            raise WrongError(f"a zip archive of {len(members):,} files")
        if CONTENTS not in archive.NameToInfo:
            raise WrongError("a zip archive without a workbook")
        if any(member.flag_bits & ENCRYPTED for member in members):
            raise WrongError("a zip archive with a password", todo="Save the workbook without a password.")
        if (total := sum(member.file_size for member in members)) > wanted["max_bytes"]:
            raise WrongError(f"{size:,} bytes that unpack to {total:,}", limit=wanted["bytes_limit"])
        for member in members:
            with archive.open(member) as part:
                check_beginning(part)
        return sum(member.file_size for member in members if member.filename == STRINGS)


def check_beginning(file: IO[bytes]) -> None:
    """Refuse XML that declares a type, and so may declare entities that grow: no workbook does."""
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = declared
    parser.StartElementHandler = first_element
    try:
        while block := file.read(BLOCK):
            parser.Parse(block, False)
    except (expat.ExpatError, FirstElementError, LookupError, ValueError):  # no XML, or its first element
        return


def declared(*_: Any) -> None:
    raise WrongError("XML with a document type, which may hold entities that grow", todo="Save it again by Excel.")


def first_element(*_: Any) -> None:
    raise FirstElementError


def place_of(names: list[str], name: str) -> int:
    """Return the place of the sheet of this name, whatever its capital letters; without a name the first one."""
    if not names:
        raise WrongError("a workbook without a sheet")
    folded = [one.casefold() for one in names]
    if name and name.casefold() not in folded:
        shown = ", ".join(repr(one[:MAX_SHOWN]) for one in names[:MAX_SHEETS_SHOWN])
        raise WrongError(f"no sheet named {name[:MAX_SHOWN]!r}", todo=f"It has {shown}.")
    return folded.index(name.casefold()) if name else 0


class SheetReader:
    """The non-empty cells of a sheet, with counts of what is left out."""

    def __init__(self, sheet: Any) -> None:
        self.sheet, self.n_errors, self.n_empty, self.n_merged, self.n_unsaved = sheet, 0, 0, 0, 0
        self.unnamed: set[int] = set()

    def written(self, sink: Any, wanted: dict[str, Any], go_on: Any) -> dict[str, Any]:
        rows = self.rows()
        line, header = next(rows, (0, {}))
        named = {place: text for place, value in sorted(header.items()) if (text := name_of(value))}
        if not named:
            raise WrongError(f"an empty sheet, {self.sheet.title[:MAX_SHOWN]!r}", todo="It needs a header and rows.")
        names = list(named.values())
        if len(names) > wanted["max_columns"]:
            raise WrongError(f"{len(names):,} columns", limit="max_columns")
        columns = [list(named)[place] for place in choose_columns(names, wanted)[0]]
        with ArrowWriter([named[place] for place in columns], sink, wanted, go_on) as out:
            for number, cells in rows:
                out.add(number, [cells.get(place) for place in columns])
                self.unnamed |= cells.keys() - named.keys()
        counts = dict(empty=self.n_empty, errors=self.n_errors, merged=self.n_merged, unsaved=self.n_unsaved)
        counts["unnamed"] = len(self.unnamed)
        top = dict(line=line, names=[name[:MAX_SHOWN] for name in names[:MAX_NAMES_SHOWN]])
        top["known"] = bool(find_header(names, wanted["headers"]))
        return {"sheet": self.sheet.title, "header": top, "counts": counts}

    def rows(self) -> Iterator[Row]:
        """Yield the number of each row that is not empty, and its values by column."""
        before = 0
        with self.sheet._get_source() as source:
            parser = self.parser(source)
            for number, cells in parser.parse():
                if held := self.held(cells):
                    self.n_empty += max(number - before - 1, 0) if before else 0
                    before = number
                    yield number, held
        self.n_merged = len(parser.merged_cells.mergeCell) if parser.merged_cells else 0

    def parser(self, source: Any) -> Any:
        """Return a parser of the rows as they are: iter_rows would pad them to the size that the sheet claims."""
        from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser

        def counted(element: Any) -> dict[str, Any]:
            cell: dict[str, Any] = as_it_is(element)
            self.n_unsaved += cell["value"] is None and element.find(FORMULA_TAG) is not None
            return cell

        book = self.sheet.parent
        about = dict(epoch=book.epoch, date_formats=book._date_formats, timedelta_formats=book._timedelta_formats)
        parser = WorkSheetParser(source, self.sheet._shared_strings, data_only=True, **about)
        as_it_is, parser.parse_cell = parser.parse_cell, counted
        return parser

    def held(self, cells: list[dict[str, Any]]) -> dict[int, Any]:
        """Return the values of a row by column, without errors; all numbers may be floats, as in Excel."""
        found = {}
        for cell in cells:
            value, is_error = cell["value"], cell["data_type"] == "e"
            self.n_errors += is_error
            if value is not None and value != "" and not is_error:
                is_whole = type(value) is int and abs(value) < MAX_EXACT_INTEGER
                found[cell["column"]] = float(value) if is_whole else value
        return found


def name_of(value: Any) -> str:
    """Return the name of a column; a year is a whole number."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()
