"""A run of two tables: its card and its report compare values column by column, and have nothing empty."""

from __future__ import annotations

import pytest
from conftest import SMALL_BEST
from served import OVERFLOW, Watched, browsing, serving, texts, violations

from mixtea import MixTEA, load_task
from mixtea.report.page import make_report

LONG = "A very long text " * 20
SOURCE = f"""id,name,price,released,note
s0,Sony turntable PSLX350,149.00,1990-05-03,
s1,Bose speaker AM53,399,1991-06-04,{LONG}in black
s2,Canon camera G10,499.95,1992-07-05,small
s3,Panasonic phone KX20,59,1993-08-06,
s4,Samsung fridge RS25,1299,1994-09-07,steel
s5,Garmin watch F22,250,1995-10-08,
"""
TARGET = f"""id,name,cost,released,note,shop
t0,Sony turntable PS-LX350 belt,149,3 May 1990,,Oslo
t1,Bose speaker AM53,420.00,4 June 1991,{LONG}in white,
t2,Canon camera G10 14 MP,499.95,5 July 1992,tiny,Rome
t3,Panasonic phone KX20,59,6 August 1993,,
t4,Samsung fridge RS25 big,1299,7 September 1994,steel,Bonn
t5,Garmin watch F22,250,8 October 1995,,
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Trained on them without links."""
    folder = tmp_path_factory.mktemp("tables")
    for name, text in (("a.csv", SOURCE), ("b.csv", TARGET)):
        (folder / name).write_text(text, encoding="utf-8")
    return MixTEA(**SMALL_BEST).fit(load_task(source=folder / "a.csv", target=folder / "b.csv", links_from="names"))


@pytest.fixture(scope="module")
def server(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "tables"
    tables.save(folder)
    with serving(folder) as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    with browsing() as browser:
        yield browser


@pytest.mark.parametrize("width", [1280, 390])
def test_a_card_compares_columns_and_has_nothing_about_neighbours(server, browser, width):
    watched = Watched(browser, server.invite(f"Tables {width}"), width)
    page = watched.page
    watched.does(lambda: page.evaluate("htmx.ajax('GET', '/card/1', {target: '#card', swap: 'outerHTML'})"))
    page.wait_for_selector(".voters > ul > li")
    rows = texts(page, ".values tbody tr")
    assert rows[0].split(" ", 1)[1] == "= equal Bose speaker AM53 Bose speaker AM53"
    assert rows[1:3] == ["price / cost ≠ different 399 420.00", "released = equal 1991-06-04 4 June 1991"]
    assert rows[3].startswith("note ≈ similar ") and len(rows) == 4
    assert page.locator("#picture, .lines, .effect").count() == 0 and "triple" not in page.inner_text("#card")
    assert page.locator("[name=degree]").count() == 0
    assert page.evaluate(OVERFLOW) <= 0 and violations(page) == []
    left, right = (page.locator(".values .differs td").nth(place).bounding_box() for place in (1, 2))
    assert left["y"] == right["y"] and left["x"] + left["width"] <= right["x"]
    question = page.inner_text("#question")
    page.locator(".values summary").first.focus()
    page.keyboard.press("Space")  # opens all of the text, and skips nothing
    cell = page.locator(".values .alike td").nth(1)
    assert (
        " ".join(cell.inner_text().split()) == f"all of it {LONG}in black" and page.inner_text("#question") == question
    )
    assert "[only here: black" in cell.aria_snapshot() and "row " in page.locator(".values").aria_snapshot()
    watched.press("a")
    assert page.inner_text("#question") != question
    watched.close()


def test_a_report_says_how_full_and_how_equal_columns_are(tables, browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(make_report(tables), encoding="utf-8")
    page = browser.new_page(viewport={"width": 375, "height": 800}, color_scheme="dark")
    page.goto(path.as_uri())
    mapped = {*tables.map().pairs()["source"]}
    n, n_equal = len(mapped), len(mapped - {"s1"})
    assert page.evaluate(OVERFLOW) <= 0 and violations(page) == []
    assert texts(page, "[aria-label=Graphs] tr") == [
        "graph entities columns values", "source 6 4 21", "target 6 5 24",
    ]  # fmt: skip
    rows = [row.rsplit(" ", 1)[0] for row in texts(page, "[aria-label=Columns] tbody tr")]
    assert f"price / cost 6 (100.0 %) 6 (100.0 %) {n} {n_equal} ({100 * n_equal / n:.1f}" in rows
    assert any(row.startswith("note 3 (50.0 %) 3 (50.0 %) ") for row in rows) and len(rows) == 4
    values = texts(page, "[aria-label^='Values of example'] tbody tr")
    assert page.locator("[aria-label^='Values of example']").count() == 3 and any(" = equal " in row for row in values)
    said = page.inner_text("main").lower()
    assert "number of triples" not in said and "relations" not in said and "vectors are made of" not in said
    page.close()
