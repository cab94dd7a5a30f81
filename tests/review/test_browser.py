"""The review page in a real browser, on a real server: keys, undo, filters, several people, a server that is gone."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pandas as pd
import pytest
from served import OVERFLOW, Server, Watched, browsing, serving, texts, violations

from mixtea.errors import Problems
from mixtea.io.links.read import read_link_table
from mixtea.review.decision import Decision
from mixtea.review.decisions import DecisionStore
from mixtea.review.import_export import read_decisions
from mixtea.runs.reader import StoredRun

ACTIONS = {"a": "accept", "x": "reject", "u": "unsure", "0": "none"} | {str(n): "accept" for n in range(1, 10)}
CARD = """() => {
    const id = (one) => (one.querySelector(".id bdi") ?? one.querySelector("bdi")).textContent;
    const form = new FormData(document.getElementById("decide"));
    return {
        row: Number(document.getElementById("card").dataset.row), key: form.get("key"),
        source: id(document.querySelector(".entity.source")),
        targets: [...document.querySelectorAll(".alternatives li")].map(id),
    };
}"""
SHARED = ("source", "targets", "row")


@pytest.fixture(scope="module")
def run(fitted_best, tmp_path_factory):
    folder = tmp_path_factory.mktemp("review") / "run"
    fitted_best.save(folder)
    return folder


@pytest.fixture(scope="module")
def server(run):
    with serving(run) as server:
        yield server


@pytest.fixture(scope="module")
def browser():
    with browsing() as browser:
        yield browser


@pytest.fixture
def enter(browser):
    """Open the page as a reviewer of this name; that all stays silent and here is checked in the end."""
    opened = []

    def entered(server: Server, name: str, width: int = 1280) -> Watched:
        opened.append(Watched(browser, server.invite(name), width))
        return opened[-1]

    yield entered
    for one in opened:
        one.close()


def rows(run: Path, reviewer: str) -> list[Decision]:
    """What a reviewer has decided and taken back, as it is in the file."""
    store = DecisionStore(run.with_name("run.decisions.sqlite"))
    try:
        return [one for one in store.rows() if one.reviewer == reviewer]
    finally:
        store.close()


def card(watched: Watched) -> dict:
    return watched.page.evaluate(CARD)


def same_card(one: dict, other: dict) -> bool:
    return [one[name] for name in SHARED] == [other[name] for name in SHARED]


def opened_tools(watched: Watched) -> Watched:
    watched.page.locator("summary").click()
    watched.page.locator("#question").focus()
    return watched


def shown_queue(watched: Watched, **fields: str) -> None:
    """Choose what is asked."""
    form = watched.page.locator("form.filters").first
    for name, value in fields.items():
        field = form.locator(f"[name={name}]")
        if name in ("order", "state"):
            field.select_option(value)
        elif name.startswith("voter_"):
            field.set_checked(value == "on")
        else:
            field.fill(value)
    watched.does(form.get_by_role("button", name="Show these").click)


def test_fifty_decisions_by_keyboard_are_in_the_file_in_order(server, run, enter):
    watched, wanted = enter(server, "Fifty"), []
    for key in ("axu1 2a3x40 9aa5x0u6a78" * 4)[: 50 + 6]:
        before = card(watched)
        watched.press("Space" if key == " " else key)
        if key == " ":
            assert card(watched)["source"] != before["source"]
            continue
        places = before["targets"]
        target = None if key == "0" else places[int(key) - 1 if key.isdigit() else 0]
        wanted.append((before["key"], ACTIONS[key], before["source"], target, tuple(places)))
        assert "Saved." in watched.page.inner_text("#progress")
    kept = rows(run, "Fifty")
    assert len(wanted) >= 50
    assert [(one.key, one.action, one.source, one.target, one.others) for one in kept] == wanted
    assert [one.id for one in kept] == sorted(one.id for one in kept) and {one.shown for one in kept} == {False}
    assert {one.reason for one in kept} == {"", "known", "random", "repeat"}


@pytest.mark.parametrize("key", ["Backspace", "Control+z"])
def test_undo_brings_the_card_and_its_candidates_back(server, run, enter, key):
    watched = enter(server, f"Undone by {key}")
    before = card(watched)
    watched.press("3")
    second = card(watched)
    watched.press("x")
    watched.press(key)
    assert same_card(card(watched), second) and "Taken back: 1 decision." in watched.page.inner_text("#progress")
    watched.press(key)
    assert same_card(card(watched), before)
    watched.press(key)
    assert "nothing to take back" in watched.page.inner_text("#progress") and same_card(card(watched), before)
    watched.press("a")
    kept = rows(run, f"Undone by {key}")
    assert [one.action for one in kept] == ["accept", "reject", "undo", "undo", "accept"]
    assert [one.undoes for one in kept[2:4]] == [kept[1].id, kept[0].id]
    assert kept[0].target == before["targets"][2] and kept[4].target == before["targets"][0]


def test_the_undo_button_does_the_same(server, run, enter):
    watched = enter(server, "Undone by button")
    before = card(watched)
    watched.press("u")
    watched.does(watched.page.locator(".last [data-do=undo]").click)
    assert same_card(card(watched), before)
    assert [one.action for one in rows(run, "Undone by button")] == ["unsure", "undo"]


def test_buttons_decide_like_keys(server, run, enter):
    watched = enter(server, "Clicks")
    cards = []
    for selector in ("[data-do=accept]", "[data-do=reject]", "[data-do=alternative2]", "[data-do=none]"):
        cards.append(card(watched))
        watched.does(watched.page.locator(selector).click)
    kept = rows(run, "Clicks")
    assert [one.action for one in kept] == ["accept", "reject", "accept", "none"]
    assert [one.target for one in kept] == [*(c["targets"][0] for c in cards[:2]), cards[2]["targets"][1], None]


def test_several_alike_are_logged_one_by_one_and_undone_together(server, run, enter):
    watched = enter(server, "Several")
    for _ in range(30):  # to a card that others are like
        watched.page.keyboard.press("s")
        watched.page.wait_for_selector("#several")
        n = watched.page.locator("#several [name=pairs]").count()
        if n > 3:
            break
        watched.press("Space")
    before = card(watched)
    watched.page.locator("#several [name=pairs]").nth(1).uncheck()
    chosen = [
        watched.page.locator("#several li").nth(place).locator("bdi").all_inner_texts()
        for place in range(n) if place != 1
    ]  # fmt: skip
    watched.does(watched.page.get_by_role("button", name="accept those chosen").click)
    assert f"{n - 1} decisions: one by one in the log" in watched.page.inner_text("#progress")
    kept = rows(run, "Several")
    assert [[one.source, one.target] for one in kept] == chosen and {one.action for one in kept} == {"accept"}
    assert len({one.batch for one in kept}) == 1 and kept[0].batch and len({one.key for one in kept}) == n - 1
    watched.press("Backspace")
    assert f"Taken back: {n - 1} decisions." in watched.page.inner_text("#progress")
    undone = rows(run, "Several")[n - 1 :]
    assert [one.undoes for one in undone] == [one.id for one in kept] and same_card(card(watched), before)


def test_search_and_filters_say_what_is_asked(server, run, enter):
    watched = opened_tools(enter(server, "Filters"))
    watched.press("Space", "Space")
    wanted = card(watched)["source"]
    text = wanted.upper()[2:]
    shown_queue(watched, text=text)
    assert card(watched)["source"] == wanted
    watched.press("x")
    shown_queue(watched, text=text, state="decided", by="Filters")
    assert card(watched)["source"] == wanted and "Decided before by Filters" in watched.page.inner_text("#card")
    shown_queue(watched, text="", state="unsure", by="Filters")
    assert watched.page.inner_text("#question") == "Nothing is left in this queue."
    shown_queue(watched, state="open", by="", least="20", most="95")
    for _ in range(2):
        watched.page.keyboard.press("v")
        said = watched.page.wait_for_selector(".verdict").inner_text()
        assert 20 <= float(said.partition(", ")[2].partition(" %")[0]) <= 95, said
        watched.press("Space")
    shown_queue(watched, least="0", most="100", voter_names="on")
    for _ in range(3):
        watched.page.wait_for_selector(".voters > ul > li")  # which may come a moment after the card
        assert "names ✓ favours it" in " ".join(texts(watched.page, ".voters > ul > li"))
        watched.press("Space")
    shown_queue(watched, text="no such label")
    assert watched.page.inner_text("#question") == "Nothing is left in this queue."
    assert len(rows(run, "Filters")) == 1


def test_the_most_precise_part_of_the_mapping_is_asked_about_and_exported(server, run, enter, tmp_path):
    """Others have decided about this run before: what they accepted is exported too, and is not predicted."""
    watched = opened_tools(enter(server, "Precise"))
    whole = StoredRun(run).answers_.mapping().pairs()["probability"]
    precision = round(100 * (1 + whole.mean()) / 2, 1)
    shown_queue(watched, precision=str(precision), state="all")
    said, asked = watched.page.inner_text(".part"), []
    for _ in range(5):
        asked.append(card(watched)["source"])
        watched.press("Space")
    with watched.page.expect_download() as waiting:
        watched.page.get_by_role("link", name="Export them (SSSOM)").click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    table = pd.read_csv(path, sep="\t", comment="#")
    predicted = table[~table["mapping_justification"].str.contains("Manual")]
    mean = predicted["confidence"].mean()
    exported = {source for source, _ in read_link_table(path, Problems()).slots}
    assert path.name == "mapping.sssom.tsv" and {*asked} <= exported
    assert 100 * mean >= precision - 1e-3 and 0 < len(predicted) < len(whole)
    assert f"for a precision of {precision:g} %: {len(predicted):,} pairs, expected precision {mean:.3f} (" in said
    watched.page.reload()
    opened_tools(watched)
    assert float(watched.page.input_value("[name=precision]")) == precision and watched.page.inner_text(".part") == said
    shown_queue(watched, precision="")
    assert watched.page.locator(".part").count() == 0


def test_keys_are_dead_where_people_write(server, run, enter):
    watched = enter(server, "Writes")
    before = card(watched)
    watched.page.keyboard.press("/")
    assert watched.page.evaluate("document.activeElement.id") == "search"
    watched.page.keyboard.type("axu01 s")
    watched.page.keyboard.press("Backspace")
    watched.page.keyboard.press("Control+z")
    assert watched.page.input_value("#search").startswith("axu01")
    watched.page.locator("[name=state]").focus()
    watched.page.keyboard.press("a")
    assert same_card(card(watched), before) and card(watched)["key"] == before["key"]
    watched.page.locator("#question").focus()
    watched.page.keyboard.press("?")
    assert watched.page.locator("#help").is_visible() and "several alike" in watched.page.inner_text("#keys-list")
    watched.page.keyboard.press("a")
    watched.page.keyboard.press("Escape")
    assert not watched.page.locator("#help").is_visible() and rows(run, "Writes") == []
    watched.press("a")
    assert len(rows(run, "Writes")) == 1


def test_a_key_that_is_held_decides_once(server, run, enter):
    watched = enter(server, "Holds")
    watched.page.evaluate("expectCard()")
    for _ in range(5):
        watched.page.keyboard.down("a")  # the second and later ones are repeats
    watched.page.evaluate("nextCard")
    watched.page.keyboard.down("a")
    watched.page.keyboard.up("a")
    for key in ("Control+a", "Alt+x", "Meta+u"):
        watched.page.keyboard.press(key)
    watched.press("x")
    assert [one.action for one in rows(run, "Holds")] == ["accept", "reject"]


def test_keys_can_be_switched_off_and_changed(server, run, enter):
    watched = opened_tools(enter(server, "Changes keys"))
    page = watched.page
    page.locator("#keys-on").uncheck()
    page.locator("#question").focus()
    page.keyboard.press("a")
    assert page.locator("[data-do=accept] kbd").inner_text() == "" and rows(run, "Changes keys") == []
    page.reload()
    page.keyboard.press("a")
    assert rows(run, "Changes keys") == []
    opened_tools(watched)
    page.locator("#keys-on").check()
    page.get_by_role("button", name="Change keys").click()
    assert "Press a key for “accept”" in page.inner_text("#remap-state")
    page.keyboard.press("j")
    for _ in range(11):
        page.keyboard.press("Enter")
    assert page.inner_text("#remap-state") == "Keys are changed."
    assert page.locator("[data-do=accept] kbd").inner_text() == "J"
    page.locator("#question").focus()
    page.keyboard.press("a")
    assert rows(run, "Changes keys") == []
    watched.press("j", "x")
    page.reload()
    watched.press("j")
    assert [one.action for one in rows(run, "Changes keys")] == ["accept", "reject", "accept"]


def test_a_reload_keeps_the_place_and_the_filter(server, enter):
    watched = opened_tools(enter(server, "Reloads"))
    watched.press("Space", "Space")
    before = card(watched)
    watched.page.reload()
    assert same_card(card(watched), before)
    opened_tools(watched)
    shown_queue(watched, text="territory/", order="random")
    watched.press("ArrowRight")
    before = card(watched)
    watched.page.reload()
    assert same_card(card(watched), before) and watched.page.input_value("#search") == "territory/"
    watched.press("ArrowLeft")
    assert card(watched)["source"] != before["source"]
    watched.press("ArrowRight")
    assert same_card(card(watched), before)


def test_two_reviewers_at_once_are_not_asked_the_same(server, run, browser, enter):
    first = opened_tools(enter(server, "Both, the one"))
    first.page.locator("[placeholder='name of another reviewer']").fill("Both, the other")
    first.page.get_by_role("button", name="Make an address").click()
    second = Watched(browser, first.page.wait_for_selector("#invited input").input_value())
    assert second.page.input_value("[name=reviewer][maxlength='60'] >> nth=0") == "Both, the other"
    asked = {first: [], second: []}
    first.page.locator("#question").focus()
    for key in "axa0a2u1aaxa3aaua":
        for one in asked:
            asked[one].append(card(one)["source"])
            one.page.evaluate("expectCard()")
        for one in asked:
            one.page.keyboard.press(key)
        for one in asked:
            one.page.evaluate("nextCard")
    second.close()
    assert not {*asked[first]} & {*asked[second]}
    for one, name in ((first, "Both, the one"), (second, "Both, the other")):
        assert [kept.source for kept in rows(run, name)] == asked[one] and len(asked[one]) == 17


def test_names_of_those_invited_go_with_their_addresses(server, browser):
    addresses = {name: server.invite(name) for name in ("Invited first", "Invited second")}
    for name, address in reversed(addresses.items()):
        watched = Watched(browser, address)
        assert watched.page.input_value("[name=reviewer] >> nth=0") == name
        watched.close()


def test_the_verdict_is_hidden_until_it_is_asked_for(server, run, enter):
    watched = enter(server, "Looks")
    page = watched.page
    page.wait_for_selector("#graph canvas", state="attached")
    assert page.locator(".verdict").count() == 0 and "likely" not in page.inner_text("#card")
    assert page.locator(".alternatives .p").count() == 0
    watched.press("a")
    assert "the model said" in page.inner_text(".last") and page.locator(".verdict").count() == 0
    page.keyboard.press("v")
    assert "likely" in page.wait_for_selector(".verdict").inner_text()
    watched.press("a")
    opened_tools(watched)
    page.locator("[name=shows]").check()
    watched.does(page.get_by_role("button", name="Save").click)
    page.locator("#question").focus()
    page.wait_for_selector(".verdict")
    assert page.locator(".alternatives .p").count() > 1
    watched.press("a")
    assert [one.shown for one in rows(run, "Looks")] == [False, True, True]


def test_files_come_out_and_go_in(server, run, enter, tmp_path):
    watched = opened_tools(enter(server, "Files"))
    shown_queue(watched, text="territory/")  # no known ones among them
    watched.press("2", "x", "0")
    paths = {}
    for link, suffix in (("Export (SSSOM)", "sssom.tsv"), ("Copy", "sqlite")):
        with watched.page.expect_download() as coming:
            watched.page.get_by_role("link", name=link).click()
        assert coming.value.suggested_filename == f"decisions.{suffix}"
        paths[suffix] = tmp_path / f"decisions.{suffix}"
        coming.value.save_as(paths[suffix])
    own = rows(run, "Files")
    found = [
        one for one in read_decisions(StoredRun(run).task_, paths["sssom.tsv"], "nobody") if one.reviewer == "Files"
    ]
    assert len(found) == 2 + len(own[2].others)
    assert {(one.action, one.source, one.target) for one in found} == {
        *((one.action, one.source, one.target) for one in own[:2]),
        *(("reject", own[2].source, target) for target in own[2].others),
    }
    with sqlite3.connect(paths["sqlite"]) as base:
        assert base.execute("SELECT count(*) FROM decision WHERE reviewer = 'Files'").fetchone() == (3,)
    base.close()
    watched.does(lambda: watched.page.set_input_files("#import-file", paths["sssom.tsv"]))
    taken = [one for one in rows(run, "Files") if one.reason == "imported"]
    assert {(one.action, one.source) for one in taken} == {(one.action, one.source) for one in found}


def test_the_other_pages(server, enter):
    watched = enter(server, "Elsewhere")
    watched.press("a", "x")
    page = watched.page
    page.get_by_role("link", name="Reviewers and contradictions").click()
    assert "Elsewhere 2" in " ".join(texts(page, "tbody tr"))
    page.get_by_role("link", name="Back to the card").click()
    page.get_by_role("link", name="Log").click()
    last = texts(page, "main li")[:2]
    assert [line.split("Elsewhere ")[1].split(":")[0] for line in last] == ["✗ rejected", "✓ accepted"]
    page.goto(f"{server.origin}/changes")
    assert texts(page, "h2") == ["0 mappings changed when the model last learned"]
    page.goto(f"{server.origin}/pictures")
    sizes = page.eval_on_selector_all("img", "all => all.map(one => [one.naturalWidth, one.alt.length])")
    assert len(sizes) > 3 and all(width > 100 and words > 20 for width, words in sizes)


PAGES = ["/", "/team", "/log", "/pictures", "/changes"]


@pytest.mark.parametrize("width", [1280, 390])
def test_pages_are_accessible_and_nothing_is_wider_than_the_window(server, enter, width):
    watched = enter(server, f"Axe {width}", width)
    watched.press("a", "x")
    page = watched.page
    page.keyboard.press("v")
    page.wait_for_selector(".verdict")
    page.keyboard.press("s")
    page.wait_for_selector("#several")
    opened_tools(watched)
    page.wait_for_selector("#graph canvas", state="attached")
    for path in PAGES:
        if path != "/":
            page.goto(f"{server.origin}{path}")
        assert page.evaluate(OVERFLOW) <= 0, path
        assert violations(page) == [], path


def test_what_was_not_saved_is_said_and_sent_again(run, browser, tmp_path):
    file = tmp_path / "decisions.sqlite"
    words = ("--decisions", file, "--reviewer", "Patient")
    with serving(run, *words) as server:
        watched = Watched(browser, server.address)
        watched.press("a")
        server.kill()
    lost, page = card(watched), watched.page
    page.keyboard.press("2")
    page.wait_for_selector("#unsaved:not([hidden])")
    assert "Not saved. The server does not answer." in page.inner_text("#unsaved")
    assert same_card(card(watched), lost)
    with serving(run, *words, port=server.port) as server:
        page.locator("#retry").click()  # the browser is not known to the new server
        page.get_by_text("Open the address that the terminal shows").wait_for()
        other = watched.tab()
        other.goto(server.address)
        other.wait_for_selector("#decide")
        watched.does(page.locator("#retry").click)
        assert not page.locator("#unsaved").is_visible() and "Saved." in page.inner_text("#progress")
        watched.press("x")
        watched.said.clear()  # the browser tells of each request that failed
        watched.close()
    store = DecisionStore(file)
    kept = store.rows()
    store.close()
    assert [one.action for one in kept] == ["accept", "accept", "reject"]
    assert (kept[1].key, kept[1].source, kept[1].target) == (lost["key"], lost["source"], lost["targets"][1])


def test_a_choice_that_was_not_saved_does_not_speak_in_the_next_one(server, run, enter):
    watched = enter(server, "Hesitates")
    page, before = watched.page, card(watched)
    page.route("**/decide", lambda route: route.abort())
    page.keyboard.press("3")
    page.wait_for_selector("#unsaved:not([hidden])")
    page.unroute("**/decide")
    watched.press("x")
    watched.said.clear()  # the browser tells of the request that failed
    assert [(one.action, one.target) for one in rows(run, "Hesitates")] == [("reject", before["targets"][0])]
