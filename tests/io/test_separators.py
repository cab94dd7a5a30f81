"""What separates columns: any sign that divides all rows, said in a note; or what the user says."""

from __future__ import annotations

import csv

import pytest
from conftest import write
from small_files import graph_of

from mixtea import DataError, evaluate, load_task, split_links
from mixtea.errors import Problems
from mixtea.io.formats.link_tables import is_header
from mixtea.io.formats.registry import FORMATS, detect_format
from mixtea.io.head import Head
from mixtea.io.table_layout import odd_separator, possible_separators, separator_name

ROWS = [["id", "title", "note", "price"], ["0", "noah's ark, 3-8", "", "0.0"], ["1", "a/b (c) d_e@f", 'a "b"', "5"],
        ["2", "", "50 off; - 'x'", ""], ["3", "x", "y", "1.5"]]  # fmt: skip
SIGNS = "|#%^~;\t:!$&*+=?\\§¦\x01\x1f"


def written(rows, sign):
    return "".join(sign.join(f'"{cell}"' if sign in cell else cell for cell in row) + "\n" for row in rows)


def cells(graph):
    """Each id with its values by their predicates."""
    return {
        str(id): {word.rpartition("#")[2]: value for word, value, *_ in graph.attributes_of(place)}
        for place, id in enumerate(graph.ids)
    }


@pytest.mark.parametrize("name", ["g.csv", "g.txt", "g.tsv", "g"])
@pytest.mark.parametrize("sign", SIGNS)
def test_any_sign_that_divides_all_rows_is_found_and_said(sign, name, tmp_path):
    text = written(ROWS, sign)
    path = write(tmp_path, {name: text}) / name
    found = list(csv.reader(text.splitlines(True), delimiter=sign)) if sign != "\t" else ROWS
    graph = graph_of(tmp_path, {name: text})
    want = {row[0]: {word: cell for word, cell in zip(ROWS[0][1:], row[1:], strict=True) if cell} for row in found[1:]}
    assert cells(graph) == want and found == ROWS
    usual = sign == "\t" and name != "g.csv"
    notes = [note for note in graph.files[0].notes if note.startswith("separated")]
    assert notes == ([] if usual else [f"separated by {separator_name(sign)}"]) and detect_format(path) == (
        "TSV" if usual else "CSV"
    )


LINKS = "D1{0}D2\n0{0}1\n2{0}0\n7{0}7\n"


@pytest.mark.parametrize("sign", "|#%")
def test_links_with_a_header_that_is_not_known(sign, tmp_path):
    path, problems = write(tmp_path, {"gt.csv": LINKS.format(sign)}) / "gt.csv", Problems()
    table = FORMATS["CSV"].read_links(path, "CSV", problems)
    assert [column.tolist() for column in table.columns] == [["D1", "0", "2", "7"], ["D2", "1", "0", "7"]]
    assert is_header(table.columns) and table.warnings == (f"{path}: separated by {separator_name(sign)}",)
    scores = evaluate(str(path), str(path)).scores
    assert (scores["links"], scores["right"], problems.found) == (3, 3, [])


@pytest.mark.parametrize(
    "text",
    [
        "a-1\nb-2\n", "1.5\n2.5\n", "a_b\nc_d\n", "a/b\nc/d\n", "a@b\nc@d\n", "x1x\ny1y\n", "a b\nc d\n", "'a'\n'b'\n",
        "http://a.org/Rome http://b.org/Roma\nhttp://a.org/Italy http://b.org/Italia\n", "wd:Q1 db:a\nwd:Q2 db:b\n",
        "{a:b}\n{c:d}\n", "a#b\n", "a#b\nc\n", "a#b\nc#d#e\n", "(a)\n(b)\n", "a,b#1\nc,d#2\n", "a\tb#\nc\td#\n",
        "a,b#1\n" * 9 + "c#2\n", '"a#b\n"c#d\n', "a#b\rc\nd#e\n",
    ],
)  # fmt: skip
def test_nothing_else_wins_by_accident(text):
    head = Head(text.encode(), True)
    assert odd_separator(head) is None and possible_separators("CSV", head) == [",", ";", "\t", "|"]


@pytest.mark.parametrize(
    "text, sign", [("a,b#1\nc#2\n", "#"), ("a:b~c\nd:e~f\n", "~"), ("a:b:c\nd:e:f\n", ":"), ("a!b!c&d\ne!f!g&h\n", "!")]
)
def test_the_likelier_of_several(text, sign):
    assert odd_separator(Head(text.encode(), True)) == sign


def test_a_cut_row_does_not_count():
    head = Head(b"a#b#c\n" * 20 + b"a#b", False)
    assert odd_separator(head) == "#" and odd_separator(Head(head.data, True)) is None


PAIR = {"s.csv": "id#note\n1#a,b\n2#c\n", "t.csv": "id#note\n1#x\n2#y\n", "l.csv": "source#target\n1#2\n"}


def test_a_named_separator_overrules(tmp_path, mixtea):
    write(tmp_path, PAIR)
    options = dict(target=tmp_path / "t.csv", links=tmp_path / "l.csv", separator="#")
    task = load_task(source=tmp_path / "s.csv", **options)
    assert cells(task.source) == {"1": {"note": "a,b"}, "2": {"note": "c"}} and task.train.tolist() == [[0, 1]]
    assert not any("separated" in warning for warning in task.warnings)
    code, _, err = mixtea("split", tmp_path / "l.csv", "--separator", "#", "--train", 1, "--valid", 0, "--test", 0,
                            "--out", tmp_path / "parts")  # fmt: skip
    assert code == 0 and (tmp_path / "parts/train_links.csv").read_text() == PAIR["l.csv"]
    assert split_links(str(tmp_path / "l.csv"), {"train": 1.0}, separator="#")["train"]["target"].tolist() == ["2"]
    code, _, err = mixtea("evaluate", tmp_path / "l.csv", "--reference", tmp_path / "l.csv", "--separator", "#")
    assert code == 0 and "separated" not in err


def test_tabs_by_their_name(tmp_path):
    write(tmp_path, {"l.csv": 'a,1\tb,"2\nc,3\td,4\n'})
    for name in ("tab", "\\t", "\t"):
        scores = evaluate(str(tmp_path / "l.csv"), [("a,1", 'b,"2'), ("c,3", "d,4")], separator=name).scores
        assert scores["right"] == 2
    write(tmp_path, {"l.csv": "a,1#b,1\nc,2#d,2\n"})  # where commas would do too
    assert evaluate(str(tmp_path / "l.csv"), [("a,1", "b,1"), ("c,2", "d,2")], separator="#").scores["right"] == 2


@pytest.mark.parametrize("separator", ["", "##", '"', "\n", "comma", 5])
def test_what_no_separator_is(separator):
    with pytest.raises(DataError, match=r"Give one character, or tab \(--separator\)"):
        evaluate("a.csv", "b.csv", separator=separator)


def test_a_separator_that_does_not_fit(tmp_path, folder):
    write(tmp_path, PAIR)
    with pytest.raises(DataError) as caught:
        load_task(source=tmp_path / "s.csv", target=tmp_path / "t.csv", links=tmp_path / "l.csv", separator=";")
    said = str(caught.value)
    assert all(name in said for name in PAIR) and "Name what separates the columns (--separator), or leave it" in said
    path = write(tmp_path, {"c.csv": "# made by hand\nid,note\n"}) / "c.csv"
    with pytest.raises(DataError, match=r"line 2: no bars \(\|\) in 'id,note'"):
        evaluate(str(path), str(path), separator="|")
    with pytest.raises(DataError, match="A benchmark folder is separated by tabs"):
        load_task(folder, separator=";")


def test_rows_that_a_named_separator_divides_otherwise_are_told(tmp_path):
    write(tmp_path, PAIR | {"s.csv": "id#note\n1#a#b\n2#c\n"})
    with pytest.raises(DataError, match=r"line 2: 3 columns '1#a#b'. Write 2 columns separated by #"):
        load_task(source=tmp_path / "s.csv", target=tmp_path / "t.csv", links=tmp_path / "l.csv", separator="#")
