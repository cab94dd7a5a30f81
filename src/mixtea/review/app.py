"""The review page: routes that show cards and keep decisions. Everything on it is text from templates that escape."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable
from importlib.resources import files
from itertools import chain, count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from mixtea.errors import MixTEAError
from mixtea.review.card import SIGNS, WORDS, Card
from mixtea.review.decisions import ACCEPT, NONE, REJECT, REPEAT, UNSURE, Decision
from mixtea.review.forms import LONGEST_FORM, LONGEST_NAME, body_of, filter_in, form_of, key_of, name_of, number_in
from mixtea.review.pictures import pictures
from mixtea.review.queue import ORDERS, STATES
from mixtea.review.security import ENTRANCE, Guard
from mixtea.review.session import Session, new_key
from mixtea.review.sharing import read_decisions, write_decisions
from mixtea.review.training import Training
from mixtea.text import visible

LONGEST_FILE = 64 << 20  # bytes of decisions from elsewhere
SOON, MOST_AHEAD = 0.05, 8  # seconds after a decision in which the next card is made; cards
SIGNED = {ACCEPT: ("✓", "accepted"), REJECT: ("✗", "rejected"), NONE: ("∅", "none of them"), UNSURE: ("?", "unsure")}
KINDS = {".js": "text/javascript", ".css": "text/css"}


class Page:
    """The routes over a session; `guard` stands before them and gives each browser its session."""

    def __init__(self, session: Session, training: Training, default_reviewer: str) -> None:
        self.session, self.training, self.default = session, training, name_of(default_reviewer) or "reviewer"
        self.names: dict[str, str] = {}  # of reviewers, by browser session
        self.invited: dict[str, str] = {}  # names for browsers that will come, by token
        self.guard: Guard | None = None
        self.ahead: dict[tuple[int, str], Card] = {}  # cards that will be asked for next, by row and model
        self.drawn: tuple[str, list[Any]] | None = None
        self.templates = Environment(
            loader=PackageLoader("mixtea.review"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
            lstrip_blocks=True, auto_reload=False,
        )  # fmt: skip
        self.templates.filters |= {"visible": lambda text: visible(text, 300), "percent": percent}
        self.templates.globals |= {
            "signs": SIGNS, "words": WORDS, "orders": ORDERS, "states": STATES, "signed": SIGNED,
        }  # fmt: skip

    def app(self) -> FastAPI:
        app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        reads: dict[str, Callable[..., Any]] = {
            "/": self.whole, "/card": self.current, "/card/{row}": self.at, "/picture/{row}": self.picture,
            "/evidence/{row}": self.evidence, "/alike/{row}": self.alike, "/status": self.status, "/team": self.team,
            "/pictures": self.pictures, "/changes": self.changes, "/log": self.log, "/static/{name}": self.static,
            "/decisions.sssom.tsv": self.exported, "/decisions.sqlite": self.copied,
        }  # fmt: skip
        writes: dict[str, Callable[..., Any]] = {
            "/decide": self.decide, "/undo": self.undo, "/go": self.go, "/verdict": self.verdict, "/queue": self.queue,
            "/alike": self.decide_alike, "/settings": self.settings, "/invite": self.invite, "/train": self.train,
            "/import": self.imported,
        }  # fmt: skip
        for path, answer in reads.items():
            app.add_api_route(path, answer, methods=["GET"], response_model=None)
        for path, answer in writes.items():
            app.add_api_route(path, answer, methods=["POST"], response_model=None)
        app.add_exception_handler(OSError, _not_saved)
        app.add_exception_handler(ValueError, _wrong)
        app.add_exception_handler(MixTEAError, _wrong)
        return app

    # Who is asking

    def reviewer(self, request: Request) -> str:
        key = _session_of(request)
        if key not in self.names:
            token = self.guard.sessions.get(key, "") if self.guard else ""
            self.names[key] = self.invited.pop(token, "") or self._free_name()
        return self.names[key]

    def _free_name(self) -> str:
        """That of who began the server, with a number for everybody else who comes without a name."""
        numbered = (f"{self.default} {number}" for number in count(2))
        return next(name for name in chain([self.default], numbered) if name not in self.names.values())

    def _check_row(self, row: int) -> None:
        if not 0 <= row < len(self.session.original.sources):
            raise ValueError("There is no such source.")

    def show(self, name: str, **values: Any) -> HTMLResponse:
        return HTMLResponse(self.templates.get_template(name).render(values))

    # The card

    def _card(self, reviewer: str, last: Decision | None = None, note: str = "") -> dict[str, Any]:
        """What the template of a card needs."""
        session, item = self.session, self.session.current_item(reviewer)
        place = session.place(reviewer)
        found: dict[str, Any] = {"last": self._last(last), "note": note, "place": place, "card": None, "again": None}
        found |= {"progress": self._progress(), "undo_key": new_key()}
        if item is None:
            return found | {"key_now": "", "shown": False}
        card = self._card_of(item.row)
        blind = item.reason in ("known", "repeat")
        shown = place.shows and not blind
        key = session.ask(reviewer, item, card, shown=shown)
        before = None if item.reason == REPEAT else session.ledger.last_about(session.source_id(item.row))
        return found | {"card": card, "key_now": key, "shown": shown, "again": self._last(before)}

    def _card_of(self, row: int) -> Card:
        """The card of a row: that which was made ahead, unless a decision since has changed the pair."""
        ahead = self.ahead.pop((row, self.session.current.name), None)
        usable = ahead is not None and ahead.voices is not None and ahead.probability == self.session.probability(row)
        return ahead if ahead is not None and usable else self.session.card(row)

    def _look_ahead(self, reviewer: str) -> None:
        """Make the card that will come next while the reviewer looks at this one."""
        coming = self.session.coming(reviewer)
        key = (coming.row if coming else -1, self.session.current.name)
        if coming is not None and key not in self.ahead:
            self.ahead = dict([*self.ahead.items()][-MOST_AHEAD:]) | {key: self.session.card(coming.row)}

    def _last(self, one: Decision | None) -> dict[str, Any] | None:
        """A decision in words, and what the model thought."""
        if one is None:
            return None
        session = self.session
        sign, word = SIGNED[one.action]
        return {
            "sign": sign, "word": word, "reviewer": visible(one.reviewer, LONGEST_NAME),
            "source": session.label(one.source, "source"),
            "target": session.label(one.target or (one.others[0] if one.others else None), "target"),
            "probability": one.probability, "votes": one.votes, "at": one.at[:16].replace("T", " "),
        }  # fmt: skip

    def _progress(self) -> dict[str, Any]:
        ledger = self.session.ledger
        decided, of = len(ledger.of_source), self.session.n_to_decide
        counts = {action: ledger.counts[action] for action in SIGNED}
        return {"decided": decided, "of": of, "counts": counts, "sample": ledger.sample,
                "since": self.session.since_trained()}  # fmt: skip

    async def whole(self, request: Request) -> Response:
        reviewer = self.reviewer(request)
        self.session.refresh()
        place = self.session.place(reviewer)
        about = {"reviewer": reviewer, "status": self._status(), "filter": place.filter}
        about |= {"voters": self.session.original.voters, "run": visible(self.session.run.name, 100)}
        return self.show("page.html.j2", **self._card(reviewer), **about)

    async def current(self, request: Request) -> Response:
        return self.show("card.html.j2", **self._card(self.reviewer(request)))

    async def at(self, request: Request, row: int) -> Response:
        reviewer = self.reviewer(request)
        self._check_row(row)
        self.session.ask_about(reviewer, row)
        return self.show("card.html.j2", **self._card(reviewer))

    async def go(self, request: Request) -> Response:
        reviewer, form = self.reviewer(request), await form_of(request)
        back = form.get("step") == "-1"
        self.session.go(reviewer, -1 if back else 1, also_decided=back)
        return self.show("card.html.j2", **self._card(reviewer))

    async def decide(self, request: Request) -> Response:
        reviewer, form = self.reviewer(request), await form_of(request)
        row = number_in(form, "row")
        seen = tuple(number_in({"": word}, "") for word in form.get("seen", "").split())
        kept = self.session.decide(
            reviewer, key_of(form), row, form.get("action", ""), number_in(form, "place", 0), seen
        )
        place = self.session.place(reviewer)
        if place.item is not None and place.item.row == row:
            self.session.advance(reviewer)
            self.session.remember(reviewer)
        self.training.maybe()
        asyncio.get_running_loop().call_later(SOON, self._look_ahead, reviewer)
        return self.show("card.html.j2", **self._card(reviewer, kept))

    async def undo(self, request: Request) -> Response:
        reviewer, form = self.reviewer(request), await form_of(request)
        taken = self.session.undo(reviewer, key_of(form))
        note = "There is nothing to take back." if not taken else f"Taken back: {_of(len(taken))}."
        return self.show("card.html.j2", **self._card(reviewer, note=note))

    async def verdict(self, request: Request) -> Response:
        """The model's verdict on a card, on demand; from then on the decision is no blind one."""
        asked = self.session.cards_asked.get((await form_of(request)).get("key", ""))
        if asked is None:
            raise ValueError("This card is not there any more. Reload the page.")
        asked.shown = True
        return self.show("verdict.html.j2", card=self.session.card(asked.row))

    async def queue(self, request: Request) -> Response:
        reviewer, form = self.reviewer(request), await form_of(request)
        place = self.session.place(reviewer)
        order = form.get("order", place.order)
        if order not in ORDERS:
            raise ValueError("There is no such order.")
        place.order, place.filter, place.at, place.item = order, filter_in(form), -1, None
        return self.show("card.html.j2", **self._card(reviewer))

    async def picture(self, row: int) -> Response:
        self._check_row(row)
        return JSONResponse(self.session.picture(row))

    async def evidence(self, row: int) -> Response:
        """Who votes for a pair, once all indices are there."""
        self._check_row(row)
        while not self.session.is_prepared:
            await asyncio.sleep(0.05)
        return self.show("voters.html.j2", card=self.session.card(row), shown=False)

    # Several alike

    async def alike(self, row: int) -> Response:
        self._check_row(row)
        found = [(other, self.session.card_names(other)) for other in self.session.alike(row)]
        voters = self.session.original.favoured_by(row)
        return self.show("alike.html.j2", rows=found, voters=voters, key_now=new_key())

    async def decide_alike(self, request: Request) -> Response:
        reviewer = self.reviewer(request)
        pairs = parse_qsl((await body_of(request, LONGEST_FORM)).decode(), max_num_fields=500)
        form, rows = dict(pairs), [int(value) for name, value in pairs if name == "rows" and value.isdigit()]
        kept = self.session.decide_alike(reviewer, rows, form.get("action", ""), key_of(form)) if rows else []
        self.session.place(reviewer).item = None
        self.session.go(reviewer, 1)
        self.training.maybe()
        note = f"{_of(len(kept))}: one by one in the log, taken back together." if kept else "Nothing was chosen."
        return self.show("card.html.j2", **self._card(reviewer, note=note))

    # People and settings

    async def settings(self, request: Request) -> Response:
        form = await form_of(request)
        if name := name_of(form.get("reviewer", "")):
            self.names[_session_of(request)] = name
        reviewer = self.reviewer(request)
        self.session.place(reviewer).shows = form.get("shows") == "on"
        self.session.remember(reviewer)
        return self.show("card.html.j2", **self._card(reviewer))

    async def invite(self, request: Request) -> Response:
        """An address for one more browser."""
        form = await form_of(request)
        assert self.guard is not None
        self.invited[token := self.guard.invite()] = name_of(form.get("reviewer", ""))
        address = f"http://{request.headers['host']}{ENTRANCE}?token={token}"
        return self.show("invite.html.j2", address=address)

    async def team(self, request: Request) -> Response:
        session = self.session
        return self.show(
            "team.html.j2", reviewers=session.all_reviewers().values(),
            contradicted=[(self._last(one), p) for one, p in session.contradicted()[:50]],
        )  # fmt: skip

    async def log(self) -> Response:
        last = sorted(self.session.ledger.standing.values(), key=lambda one: -one.id)[:200]
        return self.show("log.html.j2", rows=[self._last(one) for one in last])

    async def pictures(self) -> Response:
        """Drawn once for each model; the first time takes a moment."""
        model = self.session.current
        if self.drawn is None or self.drawn[0] != model.name:
            self.drawn = (model.name, await asyncio.to_thread(pictures, model))  # others go on deciding
        return self.show("pictures.html.j2", figures=self.drawn[1])

    # Learning

    def _status(self) -> dict[str, Any]:
        return self.training.status() | {"changes": len(self.session.changes), "since": self.session.since_trained()}

    async def status(self) -> Response:
        return self.show("status.html.j2", status=self._status())

    async def train(self) -> Response:
        self.training.begin()
        return self.show("status.html.j2", status=self._status())

    async def changes(self) -> Response:
        return self.show("changes.html.j2", rows=self.session.changes[:500], n=len(self.session.changes))

    # Files

    async def exported(self) -> Response:
        session = self.session
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "decisions.sssom.tsv"
            write_decisions(session.original.task, session.ledger.standing.values(), session.all_reviewers(), path)
            return _download(path.read_bytes(), "decisions.sssom.tsv", "text/tab-separated-values")

    async def copied(self) -> Response:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "decisions.sqlite"
            self.session.store.copy_to(path)
            return _download(path.read_bytes(), "decisions.sqlite", "application/vnd.sqlite3")

    async def imported(self, request: Request) -> Response:
        """Decisions from an SSSOM file, the whole of it as the body."""
        reviewer, body = self.reviewer(request), await body_of(request, LONGEST_FILE)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "decisions.sssom.tsv"
            path.write_bytes(body)
            try:
                found = read_decisions(self.session.original.task, path, reviewer)
            except MixTEAError as error:
                raise ValueError(str(error).replace(str(path), "the file")) from None
        before = self.session.ledger.last_id
        self.session.keep(found)
        note = f"{_of(self.session.ledger.last_id - before)} taken over from a file of {len(found):,}."
        return self.show("card.html.j2", **self._card(reviewer, note=note))

    async def static(self, name: str) -> Response:
        """The scripts and styles that come with the package, no other file."""
        kind = KINDS.get(Path(name).suffix)
        if kind is None or name not in STATIC:
            return PlainTextResponse("There is no such file.", 404)
        path = files("mixtea.review").joinpath("static", name)
        kept = "max-age=86400, immutable" if VERSIONED.search(name) else "no-cache"  # another mixtea has other ones
        return Response(path.read_bytes(), media_type=kind, headers={"cache-control": kept})


VERSIONED = re.compile(r"-\d+\.\d")
STATIC = frozenset(one.name for one in files("mixtea.review").joinpath("static").iterdir())


def _session_of(request: Request) -> str:
    """The session of a browser, which the guard has found."""
    return str(request.scope.get("state", {}).get("session", ""))


def percent(value: float | None) -> str:
    """A probability for people.

    >>> percent(0.9961), percent(0.5), percent(0.00001)
    ('99.6 %', '50 %', '0 %')
    """
    if value is None:
        return "–"
    digits = 1 if value > 0.99 and value < 0.9995 else 0
    return f"{100 * value:.{digits}f} %"


def _of(n: int) -> str:
    return f"{n:,} decision{'s' if n != 1 else ''}"


def _download(content: bytes, name: str, kind: str) -> Response:
    return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


async def _not_saved(request: Request, error: Exception) -> Response:
    return PlainTextResponse(f"Not saved: {visible(str(error), 300)}", 503)


async def _wrong(request: Request, error: Exception) -> Response:
    return PlainTextResponse(visible(str(error), 500), 422)
