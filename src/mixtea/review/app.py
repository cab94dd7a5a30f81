"""The review page: routes that show cards and keep decisions. Everything on it is text from templates that escape."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import chain, count
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from mixtea.errors import MixTEAError
from mixtea.explain.value_lines import SIGNS, WORDS
from mixtea.messages import visible
from mixtea.review.answers import (
    SIGNED,
    decision_in_words,
    download,
    n_decisions,
    not_saved,
    percent,
    replaced,
    static,
    wrong,
)
from mixtea.review.card import NEIGHBOUR_WORDS, Card
from mixtea.review.decision import REPEAT, Decision
from mixtea.review.decisions import ROWS_PER_WRITE
from mixtea.review.forms import (
    LONGEST_FORM,
    body_of,
    filter_in,
    form_of,
    key_of,
    name_of,
    number_in,
    precision_in,
    shown_in,
    shown_text,
)
from mixtea.review.pictures import pictures
from mixtea.review.queue import ORDERS, STATES
from mixtea.review.security import ENTRANCE, MAX_OPEN_INVITATIONS, Guard
from mixtea.review.session import Session, new_key
from mixtea.review.state import ReplacedError
from mixtea.review.threads import Threads, in_slices
from mixtea.review.training import Training
from mixtea.review.transfer import copied, decisions_in, exported, mapping_file

T = TypeVar("T")
TSV = "text/tab-separated-values"
LONGEST_FILE = 64 << 20  # bytes of decisions from elsewhere
SOON = 0.05  # seconds after a decision until the next card is prepared
VOICES_SECONDS, EVIDENCE_SECONDS = 0.3, 15.0  # to wait for the evidence of a card: with it, and afterwards


class Page:
    """The routes over a session; `guard` stands before them and gives each browser its session."""

    def __init__(self, session: Session, training: Training, default_reviewer: str) -> None:
        self.session, self.state, self.positions = session, session.state, session.positions
        self.training, self.default = training, name_of(default_reviewer) or "reviewer"
        self.names: dict[str, str] = {}  # of reviewers, by browser session
        self.invited: dict[str, str] = {}  # names for browsers that will come, by token
        self.guard: Guard | None = None
        self.tasks: set[asyncio.Task[None]] = set()  # beside the answers
        self.files, self.cards, self.voices = Threads(), Threads(), Threads(2)  # none of them holds reviewers up
        self.drawn: tuple[str, list[Any]] | None = None
        self.templates = Environment(
            loader=PackageLoader("mixtea.review"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
            lstrip_blocks=True, auto_reload=False,
        )  # fmt: skip
        self.templates.filters |= {"visible": lambda text: visible(text, 300), "percent": percent}
        self.templates.globals |= {
            "signs": SIGNS, "words": NEIGHBOUR_WORDS, "value_words": WORDS, "orders": ORDERS,
            "states": STATES, "signed": SIGNED,
        }  # fmt: skip

    def app(self) -> FastAPI:
        app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        reads: dict[str, Callable[..., Any]] = {
            "/": self.whole, "/card": self.current, "/card/{row}": self.at, "/picture/{of}": self.picture,
            "/evidence/{of}": self.evidence, "/values/{of}": self.values, "/alike/{of}": self.alike,
            "/status": self.status, "/team": self.team,
            "/pictures": self.pictures, "/changes": self.changes, "/log": self.log, "/static/{name}": static,
            "/decisions.sssom.tsv": self.exported, "/decisions.sqlite": self.copied,
            "/mapping.sssom.tsv": self.mapped,
        }  # fmt: skip
        writes: dict[str, Callable[..., Any]] = {
            "/decide": self.decide, "/undo": self.undo, "/go": self.go, "/verdict": self.verdict, "/queue": self.queue,
            "/alike": self.decide_alike, "/settings": self.settings, "/invite": self.invite, "/train": self.train,
            "/stop": self.stop_training, "/import": self.imported,
        }  # fmt: skip
        for path, answer in reads.items():
            app.add_api_route(path, answer, methods=["GET"], response_model=None)
        for path, answer in writes.items():
            app.add_api_route(path, answer, methods=["POST"], response_model=None)
        app.add_exception_handler(OSError, not_saved)
        app.add_exception_handler(ReplacedError, replaced)
        app.add_exception_handler(ValueError, wrong)
        app.add_exception_handler(MixTEAError, wrong)
        return app

    # Who is asking

    async def reviewer(self, request: Request) -> str:
        key = _session_of(request)
        if key not in self.names:
            token = self.guard.sessions.get(key, "") if self.guard else ""
            self.names[key] = self.invited.pop(token, "") or self._free_name()
        await self._place(self.names[key])
        return self.names[key]

    def _free_name(self) -> str:
        """That of who began the server, with a number for everybody else who comes without a name."""
        numbered = (f"{self.default} {number}" for number in count(2))
        return next(name for name in chain([self.default], numbered) if name not in self.names.values())

    def _check_row(self, row: int) -> None:
        if not 0 <= row < len(self.state.original.sources):
            raise ValueError("There is no such source.")

    def show(self, name: str, **values: Any) -> HTMLResponse:
        return HTMLResponse(self.templates.get_template(name).render(values))

    # The card

    async def _card(self, reviewer: str, last: Decision | None = None, note: str = "") -> dict[str, Any]:
        """What the template of a card needs."""
        await self._have_queue(reviewer)
        session, item = self.session, self.positions.current_item(reviewer)
        place = self.positions.place(reviewer)
        found: dict[str, Any] = {"last": self._last(last), "note": note, "place": place, "card": None, "again": None}
        found |= {"progress": self._progress(), "undo_key": new_key()}
        if item is None:
            return found | {"key_now": "", "shown": False, "of": "", "pair": ""}
        await self._prepare(item.row)
        card = self.state.card(item.row, with_voices=False)
        blind = item.reason in ("known", "repeat")
        shown = place.shows and not blind
        key = session.ask(reviewer, item, card, shown=shown)
        before = None if item.reason == REPEAT else self.state.ledger.last_about(card.source.id)
        found |= {"of": self._reference(card), "pair": shown_text(session.cards_asked[key].pair)}
        return found | {"card": card, "key_now": key, "shown": shown, "again": self._last(before)}

    async def _have_queue(self, reviewer: str) -> None:
        """Make the queue of a reviewer in a thread, unless it is there."""
        place = self.positions.place(reviewer)
        key = self.positions.queue_key(place)
        if key not in self.positions.queues:
            if not place.filter.is_plain:
                await self.training.tell_all()  # probabilities are asked for, as all decisions make them
            if place.filter.state == "contradicted":
                self.state.keep_contradicted(await in_slices(self.state.judge_decisions()))
            items = await self.cards(self.positions.made_queue, place.order, place.filter, self.state.best())
            self.positions.keep_queue(key, items)

    def _reference(self, card: Card) -> str:
        return self.state.reference(card.row, card.alternatives[0].number)

    async def _prepare(self, row: int) -> None:
        """Make what takes long about a card in threads; its evidence only as long as nobody notices."""
        maker, own = self.state.maker_of(row)
        await self.cards(maker.prepare, own)
        if self.state.is_prepared and maker.voices.peek(own, 0) is None:
            with suppress(TimeoutError, MixTEAError):  # then it is asked for when the card is there
                await asyncio.wait_for(self.voices(maker.voices, own, 0), VOICES_SECONDS)

    async def _look_ahead(self, reviewer: str) -> None:
        """Prepare the card that will come next while the reviewer looks at this one."""
        await asyncio.sleep(SOON)
        coming = self.positions.coming(reviewer)
        if coming is not None:
            await self._prepare(coming.row)

    def _last(self, one: Decision | None) -> dict[str, Any] | None:
        return None if one is None else decision_in_words(one, self.state.label)

    def _progress(self) -> dict[str, Any]:
        ledger = self.state.ledger
        decided, of = len(ledger.of_source), self.state.n_to_decide
        counts = {action: ledger.counts[action] for action in SIGNED}
        return {"decided": decided, "of": of, "counts": counts, "sample": ledger.sample,
                "since": self.state.since_trained(), "elsewhere": len(ledger.elsewhere)}  # fmt: skip

    async def _write(self, function: Callable[..., T], *args: Any) -> T:
        """Write to the file of decisions, unless the run was replaced; others are not held up by a locked file."""

        def checked() -> T:
            self.state.check_run()
            return function(*args)

        return await self.training.database(checked)

    async def _place(self, reviewer: str) -> None:
        """Have the place of a reviewer, which lies in the file for who was here before."""
        if reviewer not in self.positions.places:
            kept = await self.training.reading(lambda: self.state.store.reader.place(reviewer))
            self.positions.remembered(reviewer, kept)

    async def _remember(self, reviewer: str) -> None:
        await self._write(self.state.store.keep_place, reviewer, self.positions.to_remember(reviewer))

    async def whole(self, request: Request) -> Response:
        reviewer = await self.reviewer(request)
        await self.training.catch_up()
        place = self.positions.place(reviewer)
        about = {"reviewer": reviewer, "status": self._status(), "filter": place.filter}
        about["has_triples"] = any(len(degrees.nonzero()[0]) for degrees in self.state.original.degrees)
        about |= {"voters": self.state.original.voters, "run": visible(self.state.run.name, 100)}
        return self.show("page.html.j2", **await self._card(reviewer), **about)

    async def current(self, request: Request) -> Response:
        return self.show("card.html.j2", **await self._card(await self.reviewer(request)))

    async def at(self, request: Request, row: int) -> Response:
        reviewer = await self.reviewer(request)
        self._check_row(row)
        self.positions.ask_about(reviewer, row)
        return self.show("card.html.j2", **await self._card(reviewer))

    async def go(self, request: Request) -> Response:
        reviewer, form = await self.reviewer(request), await form_of(request)
        back = form.get("step") == "-1"
        await self._have_queue(reviewer)
        self.positions.go(reviewer, -1 if back else 1, also_decided=back)
        return self.show("card.html.j2", **await self._card(reviewer))

    async def decide(self, request: Request) -> Response:
        reviewer, form = await self.reviewer(request), await form_of(request)
        session, pair = self.session, shown_in(form.get("pair", ""))
        decision = session.decision(reviewer, key_of(form), pair, form.get("action", ""), number_in(form, "place", 0))
        kept = (await self._write(self.state.store.add, [decision]))[0]
        self.state.take_up([kept])
        place = self.positions.place(reviewer)
        if place.item is not None and self.state.source_id(place.item.row) == pair.source:
            session.advance(reviewer)
            await self._remember(reviewer)
        self.training.maybe(reviewer)
        self._soon(self._look_ahead(reviewer))
        return self.show("card.html.j2", **await self._card(reviewer, kept))

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside the answer; what goes wrong with it comes up again where it is needed."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        if not task.cancelled():
            task.exception()  # else it is complained about as never looked at

    async def undo(self, request: Request) -> Response:
        reviewer, form = await self.reviewer(request), await form_of(request)
        key, store = key_of(form), self.state.store
        done = await self._write(lambda: (store.undo(reviewer, key), store.undo_rows(key)))
        taken = self.session.taken_back(reviewer, *done)
        note = "There is nothing to take back." if not taken else f"Taken back: {n_decisions(len(taken))}."
        return self.show("card.html.j2", **await self._card(reviewer, note=note))

    async def verdict(self, request: Request) -> Response:
        """The model's verdict on a card, on demand; from then on the decision is no blind one."""
        form = await form_of(request)
        asked = self.session.cards_asked.get(form.get("key", ""))
        if asked is None:
            raise ValueError("This card is not there any more. Reload the page.")
        row, place = self.state.referred(form.get("of", ""))
        await self._prepare_texts(row, place)
        asked.shown = True
        return self.show("verdict.html.j2", card=self.state.card(row, place, with_voices=False))

    async def _prepare_texts(self, row: int, place: int) -> None:
        maker, own = self.state.maker_of(row)
        await self.cards(maker.prepare, own, place)

    async def queue(self, request: Request) -> Response:
        reviewer, form = await self.reviewer(request), await form_of(request)
        place = self.positions.place(reviewer)
        order = form.get("order", place.order)
        if order not in ORDERS:
            raise ValueError("There is no such order.")
        place.order, place.filter, place.at, place.item = order, filter_in(form), -1, None
        place.part = await self.files(self.positions.part_in_words, place.filter.precision)
        return self.show("card.html.j2", **await self._card(reviewer))

    async def picture(self, of: str) -> Response:
        row, place = self.state.referred(of)
        await self._prepare_texts(row, place)
        return JSONResponse(self.state.picture(row, place))

    async def evidence(self, of: str) -> Response:
        """Who votes for a pair, once all indices are there."""
        row, place = self.state.referred(of)
        while not self.state.is_prepared:
            await asyncio.sleep(0.05)
        maker, own = self.state.maker_of(row)
        try:
            await asyncio.wait_for(self.voices(maker.voices, own, place), EVIDENCE_SECONDS)
        except TimeoutError:
            return self.show("no_evidence.html.j2", why=f"it took more than {EVIDENCE_SECONDS:.0f} s", of=of)
        except MixTEAError as error:
            return self.show("no_evidence.html.j2", why=str(error), of=of)
        return self.show("voters.html.j2", card=self.state.card(row, place, with_voices=False), shown=False, of=of)

    async def values(self, of: str) -> Response:
        """The values of a pair, compared if that does not take too long."""
        row, place = self.state.referred(of)
        maker, own = self.state.maker_of(row)
        with suppress(TimeoutError, MixTEAError):
            await asyncio.wait_for(self.voices(maker.compare, own, place), EVIDENCE_SECONDS)
        await self._prepare_texts(row, place)
        return self.show("values.html.j2", card=self.state.card(row, place, with_voices=False), of=of, waits=False)

    # Several alike

    async def alike(self, of: str) -> Response:
        row, _ = self.state.referred(of)
        rows = await self.cards(self.session.alike, row)
        found = [(shown_text(pair), left, right) for pair, left, right in self.session.alike_shown(rows)]
        voters = self.state.original.favoured_by(row)
        return self.show("alike.html.j2", rows=found, voters=voters, key_now=new_key())

    async def decide_alike(self, request: Request) -> Response:
        reviewer, session = await self.reviewer(request), self.session
        sent = parse_qsl((await body_of(request, LONGEST_FORM)).decode(), max_num_fields=500)
        form, pairs = dict(sent), [shown_in(value) for name, value in sent if name == "pairs"]
        decisions = session.decisions_alike(reviewer, pairs, form.get("action", ""), key_of(form)) if pairs else []
        kept = await self._write(self.state.store.add, decisions) if decisions else []
        self.state.take_up(kept)
        self.positions.place(reviewer).item = None
        self.positions.go(reviewer, 1)
        self.training.maybe(reviewer)
        note = (
            f"{n_decisions(len(kept))}: one by one in the log, taken back together." if kept else "Nothing was chosen."
        )
        return self.show("card.html.j2", **await self._card(reviewer, note=note))

    # People and settings

    async def settings(self, request: Request) -> Response:
        form = await form_of(request)
        if name := name_of(form.get("reviewer", "")):
            self.names[_session_of(request)] = name
        reviewer = await self.reviewer(request)
        self.positions.place(reviewer).shows = form.get("shows") == "on"
        await self._remember(reviewer)
        return self.show("card.html.j2", **await self._card(reviewer))

    async def invite(self, request: Request) -> Response:
        """An address for one more browser."""
        form = await form_of(request)
        assert self.guard is not None
        voided = [self.invited.pop(token, "") or "nobody by name" for token in self.guard.make_room()]
        self.invited[token := self.guard.invite()] = name_of(form.get("reviewer", ""))
        address = f"http://{request.headers['host']}{ENTRANCE}?token={token}"
        return self.show("invite.html.j2", address=address, voided=voided, most=MAX_OPEN_INVITATIONS)

    async def team(self, request: Request) -> Response:
        self.state.keep_contradicted(await in_slices(self.state.judge_decisions()))
        measured = await self.files(self.state.all_reviewers)
        return self.show(
            "team.html.j2", reviewers=measured.values(),
            contradicted=[(self._last(one), p) for one, p in self.state.contradicted()[:50]],
        )  # fmt: skip

    async def log(self) -> Response:
        ledger = self.state.ledger
        last = heapq.nlargest(200, ledger.standing)
        rows = [(self._last(ledger.standing[id]), id in ledger.elsewhere) for id in last]
        return self.show("log.html.j2", rows=rows, elsewhere=len(ledger.elsewhere))

    async def pictures(self) -> Response:
        """Drawn once for each model; the first time takes a moment."""
        model = self.state.current
        if self.drawn is None or self.drawn[0] != model.name:
            self.drawn = (model.name, await self.files(pictures, model))
        return self.show("pictures.html.j2", figures=self.drawn[1])

    # Learning

    def _status(self) -> dict[str, Any]:
        more = {"changes": self.state.n_changes, "notices": [*self.state.notices.values()]}
        return self.training.status() | more | {"since": self.state.since_trained()}

    async def status(self) -> Response:
        return self.show("status.html.j2", status=self._status())

    async def train(self, request: Request) -> Response:
        self.training.begin(await self.reviewer(request))
        return self.show("status.html.j2", status=self._status())

    async def stop_training(self) -> Response:
        await self.training.stop()
        return self.show("status.html.j2", status=self._status())

    async def changes(self) -> Response:
        return self.show("changes.html.j2", rows=self.state.changes, n=self.state.n_changes)

    # Files

    async def exported(self) -> Response:
        standing = [*self.state.ledger.standing.values()]
        content = await self.files(exported, self.state, standing)
        return download(content, "decisions.sssom.tsv", TSV)

    async def mapped(self, precision: str = "") -> Response:
        """The mapping with what was decided: the largest part with an expected precision, in percent, or all of it."""
        content = await self.files(mapping_file, self.state, precision_in(precision))
        return download(content, "mapping.sssom.tsv", TSV)

    async def copied(self) -> Response:
        return download(await self.files(copied, self.state), "decisions.sqlite", "application/vnd.sqlite3")

    async def imported(self, request: Request) -> Response:
        """Decisions from an SSSOM file, the whole of it as the body."""
        reviewer, body = await self.reviewer(request), await body_of(request, LONGEST_FILE)
        found, n_new = await self.files(decisions_in, self.state, body, reviewer), 0
        for first in range(0, len(found), ROWS_PER_WRITE):
            n_new += await self._write(self.state.store.add_new, found[first : first + ROWS_PER_WRITE])
        await self.training.catch_up()
        note = f"{n_decisions(n_new)} taken over from a file of {len(found):,}."
        return self.show("card.html.j2", **await self._card(reviewer, note=note))


def _session_of(request: Request) -> str:
    """The session of a browser, which the guard has found."""
    return str(request.scope.get("state", {}).get("session", ""))
