"""Five hundred texts that try to be more than text, wherever a text of others is shown: they stay text."""

from __future__ import annotations

import os
import re
import threading
from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import urlsplit

import numpy as np
import pytest
import uvicorn
from conftest import SMALL_BEST, make_graph
from nasty import nasty
from processes import MIXTEA, start, wait_for_line
from served import OVERFLOW, Watched, browsing, small_run

from mixtea import Task
from mixtea.graph.entity_table import Attributes
from mixtea.graph.graph import Graph
from mixtea.graph.labels import Labels
from mixtea.messages import visible
from mixtea.review.app import Page
from mixtea.review.decision import Decision
from mixtea.review.decisions import DecisionStore
from mixtea.review.security import Guard
from mixtea.review.server import _listening
from mixtea.review.session import Session
from mixtea.review.training import BackgroundTraining
from mixtea.review.web import MAX_NAME_CHARS

TEXTS = nasty(500)
WEB = [f"http://example.org/{n}" for n in range(10)] + ["https://example.org/a'onclick='alert(1)&amp;"]
MIDDLE = 100
# Each card in turn, and what came to be in the page
WALK = """async (rows) => {
    const found = [];
    for (const row of rows) {
        window.expectCard();
        htmx.ajax("GET", `/card/${row}`, { target: "#card", swap: "outerHTML" });
        await window.nextCard;
        while (document.querySelector("#card [hx-trigger]")) await new Promise(requestAnimationFrame);
        const card = document.getElementById("card"), all = [...card.querySelectorAll("*:not(#graph, #graph *)")];
        const text = (selector) => card.querySelector(selector)?.textContent;
        found.push({
            row, source: text(".entity.source h2 bdi"), target: text(".entity.target h2 bdi"),
            id: text(".entity.source .id"), texts: [...card.querySelectorAll("bdi")].map((one) => one.textContent),
            tags: [...new Set(all.map((one) => one.localName))],
            attributes: [...new Set(all.flatMap((one) => one.getAttributeNames()))],
            asks: [...new Set(all.flatMap((one) => [one.getAttribute("hx-get"), one.getAttribute("hx-post")]))],
            links: [...card.querySelectorAll("a")].map((a) => [a.getAttribute("href"), a.rel, a.target]),
        });
    }
    return found;
}"""
TAGS = re.findall(
    r"\w+",
    "a bdi button caption details div dl fieldset figcaption figure form h2 h3 input kbd legend li mark ol p progress "
    "section span strong summary table tbody td th thead tr ul",
)
ATTRIBUTES = re.findall(
    r"\S+",
    "aria-hidden aria-label aria-labelledby aria-live class colspan data-choice data-do data-key-of data-of data-row "
    "href hx-get hx-post hx-swap hx-sync hx-target hx-vals id max name rel role scope tabindex target type value",
)


def graph_of_texts() -> Graph:
    """Some entities with all texts as labels, predicates, values and types; around them others, with texts as ids.

    The ids of those in the middle are such as could be addresses.
    """
    addresses = [text for text in TEXTS if ":" in text or "//" in text]
    middle = [*WEB, *addresses[: MIDDLE - len(WEB)]]
    ids = [*middle, *(text for text in TEXTS if text not in middle)]
    triples, labels, values = [], [], []
    for place, text in enumerate(TEXTS):
        hub = place % MIDDLE
        triples.append((hub, place, MIDDLE + place % (len(ids) - MIDDLE)))
        labels.append((hub, text))
        values += [(hub, text, TEXTS[place - 7]), (hub, "type", text)][: 1 + (place < MIDDLE)]
    triples += [(hub, 0, (hub + 1) % MIDDLE) for hub in range(MIDDLE)]
    graph = make_graph(triples, len(ids))
    graph.ids[:], graph.relations[:] = ids, TEXTS
    return replace(
        graph, labels=Labels.of_entities(*zip(*labels, strict=True)).as_set(),
        attributes=Attributes.from_columns(*zip(*values, strict=True)).as_set(),
    )  # fmt: skip


@pytest.fixture(scope="module")
def task():
    links = np.stack([np.arange(MIDDLE, MIDDLE + 20)] * 2, axis=1)
    return Task.of_two("<b>nasty</b>", graph_of_texts(), graph_of_texts(), links[:10], links[10:], links[:0])


@pytest.fixture(scope="module")
def served(task, tmp_path_factory):
    """The page over HTTP, in this process, so that its session can be given other names."""
    run = small_run(task, tmp_path_factory.mktemp("nasty") / "run", preset="best", **SMALL_BEST)
    listening = _listening("127.0.0.1", 0)
    store = DecisionStore(run.with_name("decisions.sqlite"))
    session = Session(run, store)
    page = Page(session, BackgroundTraining(session.state, 0), "ann")
    port = listening.getsockname()[1]
    page.guard = Guard(page.app(), "127.0.0.1", port)
    server = uvicorn.Server(uvicorn.Config(page.guard, log_level="warning", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    origin = f"http://127.0.0.1:{port}"
    yield SimpleNamespace(
        run=run, session=session, page=page, origin=origin, store=store,
        enter=lambda: f"{origin}/enter?token={page.guard.invite()}",
    )  # fmt: skip
    server.should_exit = True
    thread.join()
    listening.close()
    store.close()


@pytest.fixture(scope="module")
def browser():
    with browsing() as browser:
        yield browser


@pytest.fixture
def watched(served, browser):
    """A page on which nothing ran, nothing was asked for elsewhere and nothing was said, as is checked in the end."""
    found = Watched(browser, served.enter())
    yield found
    assert unhurt(found)
    found.close()


def unhurt(watched: Watched) -> bool:
    return watched.page.evaluate("window.hacked === undefined && !document.title.includes('= hacked')")


def test_whoever_runs_something_would_be_noticed(served, browser):
    """The watch itself: what a hostile text wants to do is seen."""
    watched = Watched(browser, served.enter())
    page = watched.page
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(1)>')")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=http://evil.example/x>')")
    page.evaluate("alert(1)")
    page.wait_for_timeout(100)
    said = " ".join(watched.said)
    assert "policy: script-src-attr" in said and "policy: img-src http://evil.example/x" in said and "dialog: 1" in said
    watched.said.clear()
    with pytest.raises(AssertionError, match=r"asked for \['http://evil.example/x'\]"):
        watched.close()


def test_cards_show_all_of_it_as_text(served, watched, task):
    model, source = served.session.state.original, task.source
    rows = model.row_of[[*range(MIDDLE), *range(MIDDLE + 20, source.n_entities, 40)]].tolist()
    found = watched.page.evaluate(WALK, rows)
    for card in found:
        number = int(model.sources[card["row"]])
        assert card["source"] == visible(source.display(number), 300), source.ids[number]
        assert (card["id"] or card["source"]) == visible(source.ids[number], 300)
        assert set(card["tags"]) <= {*TAGS} and set(card["attributes"]) <= {*ATTRIBUTES}, card
        alike = f"/alike/{served.session.state.reference(card['row'], int(model.target[card['row'], 0]))}"
        assert set(card["asks"]) <= {None, "/decide", "/undo", "/go", "/verdict", alike}
    texts = {text for card in found for text in card["texts"]}
    assert {visible(text, 300) for text in TEXTS} <= texts  # labels and values, relations and ids
    assert {visible(text, 80) for text in TEXTS} <= texts  # predicates
    assert {visible(f"inverse of {text}", 300) for text in TEXTS[:MIDDLE]} & texts
    links = {tuple(link) for card in found for link in card["links"]}
    assert {target for *_, target in links} == {"_blank"} and {rel for _, rel, _ in links} == {"noopener noreferrer"}
    addresses = {address for address, *_ in links}
    assert addresses >= {*WEB} and {urlsplit(address).scheme for address in addresses} == {"http", "https"}
    assert addresses - {*WEB} <= {text for text in TEXTS if text.startswith("http://evil.example/")}
    assert not any(c in address for address in addresses for c in '<>" \u202e')


def test_pictures_and_lists_of_several_alike(served, watched):
    page = watched.page
    for row in served.session.state.original.row_of[range(0, MIDDLE, 10)].tolist():
        page.evaluate(WALK, [row])
        page.wait_for_selector("#graph canvas", state="attached")
        page.keyboard.press("s")
        page.wait_for_selector("#several")
        assert page.locator("#several li").count() >= 1
        assert page.locator("#card :is(script, img, iframe, svg, style, link, meta, base, object)").count() == 0


def test_the_longest_texts_stay_in_a_narrow_window(served, browser):
    watched = Watched(browser, served.enter(), 390)
    for text in ("x" * 5000, "<" * 3000, "W" * 500, "﷽" * 200):
        row = int(served.session.state.original.row_of[TEXTS.index(text) % MIDDLE])
        watched.page.evaluate(WALK, [row])
        assert watched.page.evaluate(OVERFLOW) <= 0, text[:10]
    assert unhurt(watched)
    watched.close()


def folder_names() -> list[str]:
    """The texts as names that the file system allows, several in one, none of them longer than what is shown."""
    names = [""]
    for text in TEXTS:
        plain = text.replace("/", "∕").replace("\0", "")[:90]
        if len(names[-1] + plain) > 100:
            names.append("")
        names[-1] += plain
    return [name for name in names if len(os.fsencode(name)) <= 255]


def test_names_of_run_folders(served, watched, tmp_path):
    """Each as the browser would read the page, and some of them opened."""
    page, names, before = watched.page, folder_names(), served.session.state.run
    assert len(names) > 150
    watched.does(lambda: page.evaluate("htmx.ajax('POST', '/queue', {target: '#card', values: {text: 'no such'}})"))
    usual = page.evaluate(READ)
    try:
        for number, name in enumerate(names):
            (tmp_path / name).symlink_to(served.run)
            served.session.state.run = tmp_path / name
            found = page.evaluate(READ)
            assert found == usual | {"run": visible(name, 100), "title": f"Review of {visible(name, 100)} – mixtea"}
            if number % 40 == 0:
                page.goto(f"{served.origin}/", wait_until="domcontentloaded")
                assert page.locator("h1 bdi").text_content() == visible(name, 100) and unhurt(watched)
    finally:
        served.session.state.run = before


READ = """async () => {
    const found = new DOMParser().parseFromString(await (await fetch("/")).text(), "text/html");
    const all = [...found.querySelectorAll("*")];
    return {
        run: found.querySelector("h1 bdi").textContent, title: found.querySelector("title").textContent,
        tags: all.map((one) => one.localName), attributes: all.flatMap((one) => one.getAttributeNames()),
    };
}"""


def test_names_of_reviewers(served, watched):
    ids = served.session.state.original.task.source.ids
    target = str(served.session.state.original.task.target.ids[50])
    served.store.add([
        Decision(f"n{number}", text, "accept", str(ids[number % 400]), target, (target,), probability=0.5)
        for number, text in enumerate(TEXTS)
    ])  # fmt: skip
    page = watched.page
    watched.page.goto(f"{served.origin}/")
    page.goto(f"{served.origin}/team")
    shown = set(page.locator("tbody th bdi").all_text_contents())
    assert {visible(text, 300) for text in TEXTS} <= shown and page.locator("tbody tr").count() == len(TEXTS)
    assert page.locator("main :is(script, img, iframe, svg, style, link, form, [hx-get], [hx-post])").count() == 0
    page.goto(f"{served.origin}/log")
    assert page.locator("main li").count() == 200
    assert {visible(text, MAX_NAME_CHARS) for text in TEXTS[-200:]} <= set(page.locator("li bdi").all_text_contents())
    page.goto(f"{served.origin}/")
    page.locator("summary").click()
    field = page.locator("[name=reviewer]").first
    for text in TEXTS[::50]:
        field.evaluate("(field, text) => { field.removeAttribute('maxlength'); field.value = text; }", text)
        watched.does(page.get_by_role("button", name="Save").click)
        page.goto(f"{served.origin}/", wait_until="domcontentloaded")
        name = " ".join(visible(text.replace("\r", "").replace("\n", ""), MAX_NAME_CHARS).split())
        assert field.input_value() == name, text
        page.locator("summary").click()


def test_what_is_searched_for_and_what_has_changed(served, watched):
    page = watched.page
    served.session.state.changes = [(text, TEXTS[-number], text) for number, text in enumerate(TEXTS)]
    page.goto(f"{served.origin}/changes")
    assert {visible(text, 300) for text in TEXTS} <= set(page.locator("td bdi").all_text_contents())
    served.session.state.changes = []
    page.goto(f"{served.origin}/")
    for text in TEXTS[::80]:
        page.evaluate("document.querySelector('.tools').open = true")
        page.locator("#search").fill(text)
        watched.does(page.get_by_role("button", name="Show these").click)
        page.reload(wait_until="domcontentloaded")
        assert len(page.input_value("#search")) <= 200 and unhurt(watched)


def test_a_terminal_gets_no_unseen_characters(served, tmp_path):
    place = tmp_path / "a\x1b]0;title\x07\u202eb"
    place.symlink_to(served.run)
    words = ["--no-browser", "--port", 0, "--decisions", tmp_path / "d\x1b[2J.sqlite", "--reviewer", b"\xff\x1b"]
    process = start([*MIXTEA, "review", place, *words], stdout=-1, text=True)
    said = wait_for_line(process.stdout, "reviewing") + wait_for_line(process.stdout, "decisions: ")
    assert "\\x1b]0;title\\x07\\u202eb" in said and "d\\x1b[2J.sqlite" in said and "\x1b" not in said
