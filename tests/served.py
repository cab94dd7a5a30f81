"""The review page as a real server process, and a real browser that notices whatever a page does."""

from __future__ import annotations

import html
import http.client
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from processes import MIXTEA, start, wait_for_line

from mixtea import MixTEA, Task

AXE = (Path(__file__).parent / "review" / "axe.min.js").read_text(encoding="utf-8")
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
# Says what the policy has stopped and what hostile texts have done, and lets a test wait for the next card
WATCH = """
document.addEventListener("securitypolicyviolation", (event) =>
    console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
window.expectCard = () => {
    window.nextCard = new Promise((shown, failed) => {
        document.addEventListener("mixtea:card", () => shown(true), { once: true });
        setTimeout(() => failed(new Error("no card came")), 20000);
    });
};
window.expectCard();
"""


def small_run(task: Task, folder: Path, **settings: Any) -> Path:
    MixTEA(**settings).fit(task).save(folder)
    return folder


class Server:
    """A server that runs: `address` lets the first browser in, `origin` is that of the page."""

    def __init__(self, run: Path, *words: object, port: int = 0) -> None:
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        command = [*MIXTEA, "review", run, "--no-browser", "--port", port, "--retrain-every", 0, *words]
        self.process = start(command, shared=True, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        try:
            line = wait_for_line(self.process.stdout, "open: ")
        except BaseException:
            self.kill()
            raise AssertionError(self.said()) from None
        self.address = re.search(r"http://\S+", line)[0]
        parts = urlsplit(self.address)
        self.origin, self.port = f"http://{parts.netloc}", parts.port
        self.cookie = ""

    def enter(self, address: str | None = None) -> str:
        """Go in without a browser; returns the cookie."""
        parts = urlsplit(address or self.address)
        return self.ask("GET", f"{parts.path}?{parts.query}")[1]["set-cookie"].partition(";")[0]

    def ask(self, method: str, path: str, form: dict[str, object] | None = None, cookie: str = "") -> tuple:
        """(status, headers, text) of an answer, asked for as the page itself does."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            body = None if form is None else urlencode(form)
            headers = {"cookie": cookie, "origin": self.origin, "content-type": "application/x-www-form-urlencoded"}
            link.request(method, path, body, headers)
            answer = link.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            link.close()

    def card(self, path: str, cookie: str) -> dict[str, str]:
        """Key and pair of a card, as its form sends them: that at /card/ROW, or the one a reviewer is at."""
        return form_of(self.ask("GET", path, None, cookie)[2])

    def invite(self, name: str) -> str:
        """The address for one more browser, of a reviewer with this name."""
        self.cookie = self.cookie or self.enter()
        return re.search(r'value="([^"]+)"', self.ask("POST", "/invite", {"reviewer": name}, self.cookie)[2])[1]

    def said(self) -> str:
        """What it has complained about."""
        self.errors.seek(0)
        return self.errors.read()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def form_of(page: str) -> dict[str, str]:
    """Key and pair in the form of a card."""
    found = re.search(r'name="key" value="([^"]*)"><input type="hidden" name="pair" value="([^"]*)"', page)
    return {"key": found[1], "pair": html.unescape(found[2])}


@contextmanager
def serving(run: Path, *words: object, port: int = 0) -> Iterator[Server]:
    """A server that ends here, without complaints unless it was killed before."""
    server = Server(run, *words, port=port)
    try:
        yield server
        if server.process.poll() is None:
            assert (server.stop(), server.said()) == (0, "")
    finally:
        server.kill()
        server.errors.close()


@contextmanager
def browsing() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("chromium is missing, and pages are tested in it. On Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Watched:
    """A page in a browser of its own, with what it asks for and complains about."""

    def __init__(self, browser: Browser, address: str, width: int = 1280) -> None:
        context = browser.new_context(viewport={"width": width, "height": 900}, accept_downloads=True)
        context.add_init_script(WATCH)
        self.context, self.asked, self.said = context, [], []
        self.parts = urlsplit(address)
        self.page = self.tab()
        self.page.goto(address)
        self.page.wait_for_selector("#question", state="attached")
        self.page.evaluate("nextCard")

    def tab(self) -> Page:
        page = self.context.new_page()
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: (self.said.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        return page

    def press(self, *keys: str) -> None:
        """Press keys one by one, each when the card that the one before brings is there."""
        for key in keys:
            self.does(lambda key=key: self.page.keyboard.press(key))

    def does(self, action: Any) -> None:
        """Do what brings a card, and wait for it."""
        self.page.evaluate("expectCard()")
        action()
        self.page.evaluate("nextCard")

    def close(self) -> None:
        """End it: nothing was asked for elsewhere, and nothing was said."""
        self.context.close()
        own = f"{self.parts.scheme}://{self.parts.netloc}/"
        elsewhere = [url for url in self.asked if not url.startswith((own, "data:"))]
        assert not elsewhere and not self.said, f"asked for {elsewhere}, said {self.said}"


PORT = 8123  # of a page that is asked in this process


class Answer(SimpleNamespace):
    """An answer: status, headers as a dict of lists, body."""

    @property
    def text(self) -> str:
        return self.body.decode()


async def asked(guard, method, path, headers=(), body=b"", query=""):
    """The answer of a page in this process, behind its guard."""
    messages, sent = [{"type": "http.request", "body": body, "more_body": False}], []

    async def receive():
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
        "client": ("127.0.0.1", 5), "server": ("127.0.0.1", PORT),
    }  # fmt: skip
    await guard(scope, receive, send)
    found: dict[str, list[str]] = {}
    for name, value in sent[0]["headers"]:
        found.setdefault(name.decode().lower(), []).append(value.decode())
    return Answer(status=sent[0]["status"], headers=found, body=b"".join(one.get("body", b"") for one in sent[1:]))


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """What axe finds wrong with a page that keeps people out."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert len(found["passes"]) > 10
    return [
        (one["id"], [node["html"] for node in one["nodes"]])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def texts(page: Page, selector: str) -> list[str]:
    return [" ".join(text.split()) for text in page.locator(selector).all_inner_texts()]
