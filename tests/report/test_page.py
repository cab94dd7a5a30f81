"""The page in a real browser: complete, silent, alone, narrow and wide; what labels hold stays text."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest
from conftest import SMALL_BEST, labelled, make_graph
from served import OVERFLOW, browsing

from mixtea import MixTEA, Task
from mixtea.messages import visible
from mixtea.report.page import make_report

SHORT = dict(preset="paper", max_epochs=2, device="cpu")
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\u202egnp.exe",
    "{{ 7 * 7 }}",
    "&amp;\x00\x9b",
)
SHOWN = [*HOSTILE[:2], "\\u202egnp.exe", HOSTILE[3], "&amp;\\x00\\x9b"]
TRAINING = ["Losses", "Validation", "Votes by voter", "Votes by agreement", "What the vectors are made of"]
CHECKED = ["All mappings", "Calibration", "Right by number of triples"]


@pytest.fixture(scope="module")
def browser():
    with browsing() as browser:
        yield browser


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page as a file, with what it asks for and complains about in `asked` and `said`; both are checked."""
    pages = []

    def open_page(html, width=1280):
        path = tmp_path / f"{len(pages)}.html"
        path.write_text(html, encoding="utf-8")
        page = browser.new_page(viewport={"width": width, "height": 800})
        asked, said = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri())
        pages.append((page, path.as_uri(), asked, said))
        return page

    yield open_page
    for page, own, asked, said in pages:
        page.close()
        assert asked == [own] and said == []


@pytest.fixture(scope="module")
def best(fitted_best):
    aligner = copy(fitted_best)
    aligner.metrics_, aligner.by_evidence_ = aligner.score(), aligner.score_by_evidence()
    return aligner


@pytest.fixture(scope="module")
def html(best):
    return make_report(best)


def texts(page, selector):
    return [" ".join(text.split()) for text in page.locator(selector).all_inner_texts()]


def test_the_page_has_all_its_parts(html, opened, best):
    page = opened(html)
    assert page.title() == "world, fold 1: report of a run" and texts(page, "h1") == ["world, fold 1"]
    assert texts(page, "h2") == ["Task", "Scores", "Training", "Probabilities", "Examples"]
    assert texts(page, "h3") == ["Right", "Wrong", "Doubtful"]
    assert texts(page, "figcaption strong") == [f"{title}." for title in TRAINING + CHECKED]
    assert page.locator("figure [role=img][aria-label] svg").count() == 8
    for name in texts(page, "h3"):
        assert page.locator(f"[aria-label='{name} mappings'] tbody tr").count() in range(1, 11)
    scores = texts(page, "[aria-label=Scores] tbody tr")
    assert f"test source to target {best.metrics_['hits@1']:.3f}" in scores[0] and len(scores) == 4
    trusted = texts(page, "[aria-label='Mappings and their probabilities'] tbody tr")
    assert f"expected calibration error {best.metrics_['calibration_error']:.3f}" in trusted
    changed = texts(page, "[aria-label='Settings that differ from the preset'] tbody tr")
    assert {"propagation_rounds 12 1", "max_epochs 60 2"} <= {" ".join(row.split()[:3]) for row in changed}
    ids = page.eval_on_selector_all("[id]", "found => found.map(element => element.id)")
    assert len(ids) == len(set(ids)) > 0 and page.locator("script, link, iframe, img, object").count() == 0


def test_it_says_what_was_decided_and_what_is_expected_of_it(html, opened, best):
    mapping, shown = best.map(), " ".join(opened(html).inner_text("main").split())
    assert (
        f"Sources without a given link: {mapping.summary()}. Of what is mapped: {mapping.expected_quality()}." in shown
    )


def test_who_finds_which_links_and_why(html, opened, best):
    page = opened(html)
    rows = texts(page, "[aria-label='Hit@1 by evidence'] tbody tr")
    assert [row.rsplit(" ", 3)[0] for row in rows] == ["all voters", "structure alone", "names alone"]
    assert rows[1].split()[2] == f"{best.by_evidence_.loc['structure', 'hits@1']:.3f}"
    assert "structure has learned from what the others found" in page.inner_text("main")
    assert "forward, backward, propagation, agreement, names" in " ".join(texts(page, "[aria-label=Training] td"))
    first = page.locator("[aria-label='Right mappings'] details").first
    assert "names +" in first.inner_text() and "“" not in first.inner_text()
    first.locator("summary").click()
    assert "names: “" in first.inner_text() and "” ~ “" in first.inner_text() and page.evaluate(OVERFLOW) <= 0


def test_a_run_without_links_says_so(tiny, opened):
    aligner = MixTEA(preset="best", **SMALL_BEST).fit(
        tiny.replace(train=tiny.train[:0], valid=tiny.valid[:0], links_from="names")
    )
    aligner.misleading_, aligner.misleading_links_ = {"names": 0.5}, {"names": 100}
    notes = texts(opened(make_report(aligner)), "li")
    assert "No links were given: learning began from names." in notes
    assert "names are uninformative for about 50 % (40 %–60 %) of the links" in notes


def test_nothing_is_wider_than_the_window(html, opened):
    for width in (1280, 375):
        page = opened(html, width)
        assert page.evaluate(OVERFLOW) <= 0
        for box in (figure.bounding_box() for figure in page.locator("figure svg").all()):
            assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["height"] > 150
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 680, "height": 900})
    assert page.evaluate(OVERFLOW) <= 0


def test_the_same_aligner_gives_the_same_page(html, best):
    assert make_report(best) == html


def test_labels_are_shown_as_text_whatever_they_hold(tiny, opened):
    names = {str(label): hostile for label, hostile in zip(tiny.source.ids, HOSTILE, strict=True)}
    others = {str(label): hostile for label, hostile in zip(tiny.target.ids, HOSTILE, strict=True)}
    task = tiny.replace(name=HOSTILE[0],
        source=replace(tiny.source, labels=labelled(tiny.source, names)),
        target=replace(tiny.target, labels=labelled(tiny.target, others)),
        warnings=HOSTILE, train=tiny.train[:1],
    )  # fmt: skip
    page = opened(make_report(MixTEA(**SHORT).fit(task)), 375)
    assert texts(page, "h1") == [f"{HOSTILE[0]}, fold 1"] and page.evaluate(OVERFLOW) <= 0
    shown = set(texts(page, "[aria-label='Doubtful mappings'] tbody th"))
    assert shown == set(SHOWN[1:]) and texts(page, "li")[: len(SHOWN)] == SHOWN
    assert page.locator("script, img").count() == 0


LABELS = [
    "javascript:alert(1)//", "data:text/html,<script>alert(1)</script>", "</script></style><svg/onload=alert(1)>",
    "http://example.invalid/?a=1&b='\"><img src=x onerror=alert(1)>", "https://example.invalid/a'onclick='alert(1)&amp;",
    "vbscript:x", "<a href=http://example.invalid/x>x</a>", "http://example.invalid/\u2066\u202e", "[red]x[/]",
    "http://example.invalid/Köln", "JavaScript:alert(1)", "//example.invalid/x", "<base href=http://example.invalid/>",
]  # fmt: skip
LINKED = ["https://example.invalid/a'onclick='alert(1)&amp;", "http://example.invalid/Köln"]


def test_hostile_identifiers_are_text_and_only_addresses_are_links(tmp_path, opened):
    """They are the labels themselves, without a name: one a source entity, and each its own target."""
    n = len(LABELS)
    chain = [(i, 0, (i + 1) % n) for i in range(n)] + [(i, 0, (i * 5 + 2) % n) for i in range(n)]
    graphs = [make_graph(chain, n) for _ in range(2)]
    for graph in graphs:
        graph.ids[:] = LABELS
        graph.relations[:] = ["<script>alert(2)</script>"]
    links = np.stack([np.arange(n), np.arange(n)], axis=1)
    task = Task.of_two("</title><script>alert(3)</script>", *graphs, links[:1], links[1:4], links[4:])
    page = opened(make_report(MixTEA(**SHORT).fit(task)))
    anchors = page.eval_on_selector_all("a", "all => all.map(a => [a.getAttribute('href'), a.rel, a.protocol])")
    assert {href for href, *_ in anchors} == set(LINKED)
    assert {rel for _, rel, _ in anchors} == {"noreferrer noopener"}
    assert {protocol for *_, protocol in anchors} == {"http:", "https:"}
    cells = set(page.locator("[aria-label='Doubtful mappings'] tbody th bdi").all_text_contents())
    assert len(cells) == 10 and cells <= {visible(label) for label in LABELS}
    assert page.locator("script, img, base, iframe, [onclick], [onerror], [onload]").count() == 0
    assert page.title() == "</title><script>alert(3)</script>: report of a run"
    assert page.evaluate(OVERFLOW) <= 0


def test_a_label_without_end_stays_in_its_table(tiny, opened):
    labels = labelled(tiny.source, dict.fromkeys("abcde", "w" * 999))
    task = tiny.replace(name="w" * 999, source=replace(tiny.source, labels=labels))
    assert opened(make_report(MixTEA(**SHORT).fit(task)), 375).evaluate(OVERFLOW) <= 0


def test_without_test_links_the_page_says_what_probabilities_were_fitted_on(tiny, opened):
    page = opened(make_report(MixTEA(**SHORT).fit(tiny.replace(test=tiny.test[:0]))))
    assert "fitted on these validation links" in page.inner_text("main")
    assert "There are no test links" in page.inner_text("main")
    assert texts(page, "figcaption strong")[-3:] == [f"{title}." for title in CHECKED]


def test_without_any_links_to_check_by_the_page_says_so(tiny, opened):
    task = tiny.replace(valid=tiny.valid[:0], test=tiny.test[:0])
    page = opened(make_report(MixTEA(**SHORT).fit(task)))
    assert "neither test nor validation links" in page.inner_text("main")
    assert texts(page, "figcaption strong")[-1] == "All mappings." and texts(page, "h3") == ["Doubtful"]
    assert set(texts(page, "[aria-label='Doubtful mappings'] tbody td:last-child")) == {"not known"}


def test_when_all_sources_are_linked_there_is_nothing_to_map(tiny, opened):
    everything = np.stack([np.arange(5), np.arange(5)], axis=1)
    task = tiny.replace(train=everything, valid=everything[:0], test=everything[:0])
    page = opened(make_report(MixTEA(**SHORT).fit(task)))
    assert "there was nothing to map" in page.inner_text("main") and texts(page, "h3") == []


@pytest.mark.parametrize(
    ("settings", "training"), [({"pseudo_weight": 0.0}, TRAINING[:2]), ({"teaching": "threshold"}, TRAINING[:4])]
)
def test_figures_of_the_training_are_those_it_has_numbers_for(tiny, opened, settings, training):
    page = opened(make_report(MixTEA(**SHORT, teaching_every=1, **settings).fit(tiny)))
    assert texts(page, "figcaption strong") == [f"{title}." for title in (*training, *CHECKED)]
