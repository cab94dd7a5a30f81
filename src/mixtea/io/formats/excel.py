"""A sheet of an Excel workbook (.xlsx) into columns of texts: its first row that is filled names them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mixtea.errors import MissingExtraError, shorten
from mixtea.io.formats.table_process import Cells, Parser, Wanted, cells_of, parsed
from mixtea.io.named_parts import named
from mixtea.io.safe.sandboxed.excel_child import MAGIC

PARSER = Parser("Excel", "excel_child", MAGIC, ("pyarrow", "numpy", "openpyxl", "et_xmlfile"))
COUNTED = {  # what is left out, or taken otherwise: one, several
    "empty": ("1 empty row is left out", "{:,} empty rows are left out"),
    "unnamed": ("1 column without a name is left out", "{:,} columns without a name are left out"),
    "merged": ("1 range of merged cells: its first cell alone has a value",
               "{:,} ranges of merged cells: the first cell of each alone has a value"),
    "unsaved": ("1 formula without a stored value is taken as empty: open the workbook, and save it",
                "{:,} formulas without a stored value are taken as empty: open the workbook, and save it"),
    "errors": ("1 cell with an error, such as #N/A, is taken as empty",
               "{:,} cells with an error, such as #N/A, are taken as empty"),
}  # fmt: skip


def excel_cells(path: Path, wanted: Wanted) -> Cells:
    """The wanted columns of the sheet that the path names (`people.xlsx#Sheet name`), else of the first one."""
    if find_spec("openpyxl") is None:
        raise MissingExtraError(f"{path}: reading Excel needs openpyxl: pip install 'mixtea[excel]'.")
    about = named(path)
    cells, found = parsed(PARSER, path, about.file, wanted, cells_of, sheet=about.part)
    return cells._replace(notes=tuple(_notes(about.file, about.part, found, wanted)))


def _notes(file: Path, part: str, found: dict[str, Any], wanted: Wanted) -> list[str]:
    """What to say of the sheet."""
    notes, header = [], found["header"]
    if found["n_sheets"] > 1 and not part:
        other = f"{file.name}#{found['sheets'][1]}"
        sheet = f"the sheet {shorten(found['sheet'])} is read, the first of {found['n_sheets']:,}"
        notes.append(f"{sheet}; another one is named behind the file: {other}")
    if not (header["known"] or wanted.or_all):
        notes.append(f"row {header['line']:,}, {', '.join(map(shorten, header['names']))}, is read as the header")
    counts = ((COUNTED[name], n) for name, n in found["counts"].items() if n)
    return [*notes, *(words[n > 1].format(n) for words, n in counts)]
