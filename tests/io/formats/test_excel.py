"""Workbooks of Excel: which sheet and header are read, what is left out, and what is refused."""

from __future__ import annotations

import io
import sys
import zipfile
from datetime import date, datetime, time, timedelta

import openpyxl
import pyarrow as pa
import pytest
from conftest import write
from small_files import excel, graph_of, triples_of

from mixtea import DataError, Limits, load_task
from mixtea.errors import MissingExtraError
from mixtea.io.formats import typed_tables
from mixtea.io.formats.typed_tables import ColumnRequest, read_excel
from mixtea.io.safe.limits import UnreadableError, use_limits
from mixtea.io.safe.sandboxed import excel_child
from mixtea.io.safe.sandboxed.restrict import WrongError

PEOPLE = [("id", "name", "knows"), ("a", "Ada", "b"), ("b", "Bob", None)]
OTHERS = [("id", "name"), ("x", "Xenia"), ("y", "Yves")]
LINKS = [("source", "target"), ("a", "x"), ("b", "y")]
BOOK = excel({"People": PEOPLE, "Other people": OTHERS, "Links": LINKS})


def test_a_sheet_is_named_behind_the_file(tmp_path):
    write(tmp_path, {"b.xlsx": BOOK, "b#.xlsx": BOOK})
    book = tmp_path / "b.xlsx"
    task = load_task(source=book, target=f"{book}#other PEOPLE", links=f"{book}#Links")
    assert task.source.ids.tolist() == ["a", "b"] and task.target.label(1) == "Yves" and task.name == "b-b"
    assert len(task.train) + len(task.valid) == 2 and triples_of(task.source) == [("a", "knows", "b")]
    several = "the sheet 'People' is read, the first of 3; another one is named behind the file: b.xlsx#Other people"
    assert task.warnings[0] == f"{book}: {several}" and "the first of" not in "".join(task.warnings[1:])
    named = read_excel(tmp_path / "b#.xlsx#Links", ColumnRequest([("source", "target")]))
    assert named.columns[0].tolist() == ["a", "b"] and named.notes == ()
    with pytest.raises(
        DataError, match=r"b.xlsx#Peple: 1 problem\n  no sheet named 'Peple'. It has 'People', 'Other pe"
    ):
        load_task(source=f"{book}#Peple", target=book, links=f"{book}#Links")


def test_rows_and_columns_that_are_left_out_are_counted(tmp_path):
    rows = [(None,), ("id", "name", None), ("a", "Ada"), (None,), ("b",)]
    book = openpyxl.load_workbook(io.BytesIO(excel({"S": rows})))
    sheet = book.active
    sheet.merge_cells("A6:B6")
    sheet["C3"], sheet["B5"], sheet["A8"], sheet["B8"] = "aside", "#N/A", "c", "=1+1"
    sheet["A1000"].font = openpyxl.styles.Font(bold=True)
    book.save(tmp_path / "b.xlsx")
    graph = graph_of(tmp_path, {"b.xlsx": (tmp_path / "b.xlsx").read_bytes()})
    assert graph.ids.tolist() == ["a", "b", "c"] and [graph.label(i) for i in range(3)] == ["Ada", None, None]
    assert graph.files[0].notes[:5] == (
        "3 empty rows are left out", "1 cell with an error, such as #N/A, is taken as empty",
        "1 range of merged cells: its first cell alone has a value",
        "1 formula without a stored value is taken as empty: open the workbook, and save it",
        "1 column without a name is left out",
    )  # fmt: skip


def test_values_become_the_text_that_they_have_elsewhere(tmp_path):
    rows = [("a", 1, 1.5, True, datetime(2020, 1, 31, 10, 30), date(2020, 1, 31), time(10, 30), timedelta(1), "007"),
            ("b", 2**53, 2, False, datetime(2020, 2, 1), None, None, None, None)]  # fmt: skip
    header = ("id", 2020, 2.5, "truth", "moment", "day", "time", "hours", "text")
    write(tmp_path, {"b.xlsx": excel({"S": [header, *rows]})})
    cells = read_excel(tmp_path / "b.xlsx", ColumnRequest([("head", "relation", "tail")], or_all=True))
    assert cells.names == ["id", "2020", "2.5", "truth", "moment", "day", "time", "hours", "text"]
    assert list(zip(*cells.columns, strict=True)) == [
        ("a", "1", "1.5", "True", "2020-01-31 10:30:00", "2020-01-31", "10:30:00", "1 day, 0:00:00", "007"),
        ("b", "9007199254740992", "2.0", "False", "2020-02-01 00:00:00", "", "", "", ""),
    ]
    assert cells.lines.tolist() == [2, 3]


def test_a_problem_names_the_row_of_the_sheet(tmp_path):
    rows = [("head", "relation", "tail"), ("a", "r", "b"), (None,), ("a", None, "b")]
    with pytest.raises(DataError, match="row 4: column 2 is empty"):
        graph_of(tmp_path, {"b.xlsx": excel({"S": rows})})
    with pytest.raises(DataError, match=r"2 columns 'id, head'. It needs 3: x, y, z"):
        read_excel(
            write(tmp_path, {"b.xlsx": excel({"S": [("id", "head")]})}) / "b.xlsx", ColumnRequest([("x", "y", "z")])
        )


def test_links_whose_header_is_not_known_and_how_sure_they_are(tmp_path):
    write(tmp_path, {"l.xlsx": excel({"L": [("mine", "yours"), ("a", "x")]})})
    write(tmp_path, {"m.xlsx": excel({"L": [("source", "target", "confidence"), ("a", "x", 0.5), ("b", "y", 1)]})})
    graphs = dict(source=[("a", "r", "b")], target=[("x", "r", "y")])
    task = load_task(**graphs, links=tmp_path / "l.xlsx")
    assert task.warnings == (f"{tmp_path / 'l.xlsx'}: row 1, 'mine', 'yours', is read as the header",)
    write(tmp_path, {"e.xlsx": excel({"L": [("source", "target")]})})
    with pytest.raises(DataError, match=r"the file is empty\. It needs rows of 2 columns"):
        load_task(**graphs, links=tmp_path / "e.xlsx")
    task = load_task(**graphs, links=tmp_path / "m.xlsx")
    (warning,) = task.warnings
    assert warning.startswith(f"{tmp_path / 'm.xlsx'}: 1 of 2 links has a confidence below 1, the least 0.5: all have")


def test_names_of_entities_come_from_a_sheet_too(tmp_path):
    write(tmp_path, {"n.xlsx": excel({"Names": [("id", "name"), ("a", "Ada")], "More": [("id",)]})})
    graphs = dict(source=[("a", "r", "b")], target=[("x", "r", "y")], links=[("a", "x")])
    task = load_task(**graphs, names_source=tmp_path / "n.xlsx", dictionary=tmp_path / "n.xlsx")
    assert task.source.label(0) == "Ada"
    assert sum("the sheet 'Names' is read, the first of 2" in warning for warning in task.warnings) == 2


def test_without_openpyxl_it_is_told_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr(typed_tables, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"b.xlsx: reading Excel needs openpyxl: pip install 'mixtea\[excel\]'"):
        graph_of(tmp_path, {"b.xlsx": BOOK})


WANTED = {
    "n": 2, "headers": [("source", "target")], "max_token": 10**6, "max_bytes": 10**6, "max_columns": 5, "links": False,
    "max_rows": 100, "bytes_limit": "max_expansion", "mib": 500, "seconds": 5.0, "without_numpy": False, "sheet": "",
}  # fmt: skip


@pytest.fixture
def found(tmp_path, monkeypatch):
    """What the child makes of a workbook, in this process: rows, or what is wrong."""
    monkeypatch.setattr(excel_child, "restrict", lambda *_: lambda n: None)

    def work(content, **wanted):
        (tmp_path / "in").write_bytes(content)
        with (tmp_path / "in").open() as source, (tmp_path / "out").open("w") as out:
            monkeypatch.setattr(sys, "stdin", source)
            monkeypatch.setattr(sys, "stdout", out)
            try:
                excel_child.work(WANTED | wanted)
            except WrongError as error:
                return error.about
        return [
            tuple(row.values()) for row in pa.ipc.open_stream((tmp_path / "out").read_bytes()).read_all().to_pylist()
        ]

    return work


def changed(members, dropped=()):
    """The workbook with other members, and without some."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(BOOK)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name not in members and name not in dropped:
                new.writestr(name, old.read(name))
        for name, content in members.items():
            new.writestr(name, content)
    return file.getvalue()


def sheet_of(rows, before=""):
    return f'{before}<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{rows}</sheetData></worksheet>'


def text(cell, value):
    return f'<c r="{cell}" t="inlineStr"><is><t>{value}</t></is></c>'


FIRST = "xl/worksheets/sheet1.xml"
ENTITIES = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "lol">]>'


def test_workbooks_in_the_child(found):
    assert found(BOOK, sheet="links") == [("ta", "tx", 2), ("tb", "ty", 3)]
    assert found(BOOK)[0] == ("ta", "tAda", 2)
    assert found(BOOK, sheet="x") == {"what": "no sheet named 'x'", "todo": "It has 'People', 'Other people', 'Links'."}
    assert found(BOOK, or_all=True)[1] == ("tb", "tBob", "", 3)
    assert found(b"PK\x03\x04") == {"what": "File is not a zip file"}
    assert found(changed({f"m{i}": b"" for i in range(10_001)}))["what"] == "a zip archive of 10,012 files"
    assert found(changed({}, ["[Content_Types].xml"]))["what"] == "a zip archive without a workbook"
    assert found(changed({}, ["xl/workbook.xml"]))["what"] == "There is no item named 'xl/workbook.xml' in the archive"
    assert found(changed({"big": bytes(10**6)}))["limit"] == "max_expansion"
    locked = bytearray(BOOK)
    place = locked.index(b"PK\x01\x02")
    locked[place + 8] |= 1
    assert found(bytes(locked))["todo"] == "Save the workbook without a password."
    assert found(changed({FIRST: sheet_of("", ENTITIES)}))["what"].startswith("XML with a document type")
    assert found(changed({"logo.png": b"\x89PNG"}), sheet="Links")[0] == ("ta", "tx", 2)
    assert found(changed({"note.xml": "   "}), sheet="Links")[0] == ("ta", "tx", 2)
    assert found(changed({FIRST: sheet_of("")}))["what"] == "an empty sheet, 'People'"
    assert found(excel({"S": [("a", "b", "c", "d", "e", "f")]}))["limit"] == "max_columns"
    assert found(excel({"S": [("id", "n"), *[("a", "b")] * 101]}))["limit"] == "max_rows"
    assert found(excel({"S": [("id", "n"), ("a", "x" * 2000)]}), max_token=1000)["limit"] == "max_token_mib"
    rows = [("id", "n"), *[(f"a{i}" * 50, "b") for i in range(90)]]
    assert found(excel({"S": rows}), max_bytes=20_000)["limit"] == "max_expansion"
    assert len(found(excel({"S": rows}), max_bytes=50_000, max_token=1000)) == 90  # in several batches
    with pytest.raises(WrongError, match="a workbook without a sheet"):
        excel_child.place_of([], "")


def test_what_a_sheet_claims_to_have_costs_nothing(found):
    first = f'<row r="1">{text("A1", "id")}{text("B1", "n")}</row>'
    claimed = sheet_of(f'{first}<row r="1048576">{text("A1048576", "z")}</row>')
    claimed = claimed.replace("<sheetData>", '<dimension ref="A1:XFD1048576"/><sheetData>')
    assert found(changed({FIRST: claimed})) == [("tz", "", 1_048_576)]
    assert found(changed({FIRST: sheet_of('<row r="x"/>')})) == {"what": "could not convert string to float: 'x'"}
    beyond = sheet_of(f'{first}<row r="{10**30}">{text("A2", "z")}</row>')
    assert "what" in found(changed({FIRST: beyond}))
    hollow = sheet_of(f'{first}<row r="2"><c r="A2"/><c r="B2" t="e"><v>#N/A</v></c></row><row r="3"/>')
    assert found(changed({FIRST: hollow})) == []
    assert found(changed({"xl/styles.xml": "<"}))["what"]


def test_memory_that_is_full_is_no_damage(found, monkeypatch):
    monkeypatch.setattr(openpyxl, "load_workbook", lambda *_, **__: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(MemoryError):
        found(BOOK)


def with_strings(texts, cells=""):
    """The workbook as Excel writes it: texts that cells share, and the first sheet."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    part = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
    with zipfile.ZipFile(io.BytesIO(BOOK)) as book:
        types = book.read("[Content_Types].xml").decode().replace("</Types>", part)
    strings = "".join(f"<si><t>{text}</t></si>" for text in texts)
    strings = f'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{strings}</sst>'
    return changed({"[Content_Types].xml": types, "xl/sharedStrings.xml": strings, FIRST: sheet_of(cells)})


def test_texts_that_cells_share_and_what_formulas_came_to(found):
    first = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>'
    second = '<row r="2"><c r="A2" t="s"><v>2</v></c><c r="B2"><f>1+1</f><v>2</v></c><c r="C2"><f>1/0</f></c></row>'
    assert found(with_strings(["id", "n", "a"], first + second)) == [("ta", "f2.0", 2)]
    assert found(with_strings(["id", "n"], first + second))["what"] == "list index out of range"


def test_strings_that_need_much_memory_or_time(tmp_path, monkeypatch):
    """In the process of its own."""
    monkeypatch.setattr(typed_tables, "MEMORY_PER_BYTE", 0)
    write(tmp_path, {"s.xlsx": with_strings(range(400_000))})
    with use_limits(Limits(max_stall_seconds=0.1)), pytest.raises(UnreadableError, match="got nowhere for 0"):
        read_excel(tmp_path / "s.xlsx", ColumnRequest([("source", "target")]))
    write(tmp_path, {"s.xlsx": with_strings(f"{i}" * 900 for i in range(30_000))})
    with use_limits(Limits(max_parser_mib=64, max_expansion=10_000)), pytest.raises(UnreadableError) as caught:
        read_excel(tmp_path / "s.xlsx", ColumnRequest([("source", "target")]))
    assert "needs more than 64 MiB: beyond the limit max_parser_mib" in str(caught.value)
