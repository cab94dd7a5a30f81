"""Routes of the review page, which show cards and keep decisions. All text passes through templates that escape."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
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
from mixtea.review import web
from mixtea.review.card import NEIGHBOUR_WORDS, Cards
from mixtea.review.decision import AUDIT, REPEAT, Decision
from mixtea.review.decisions import ROWS_PER_WRITE
from mixtea.review.queue import ORDERS, STATES
from mixtea.review.reviewers import measure_reviewers
from mixtea.review.security import ENTRANCE, MAX_OPEN_INVITATIONS, Guard
from mixtea.review.session import Session, new_key
from mixtea.review.state import ReplacedError
from mixtea.review.training import BackgroundTraining, Threads, in_slices

T = TypeVar("T")
MAX_FILE_BYTES = 64 << 20  # bytes of decisions from elsewhere
LOOK_AHEAD_SECONDS = 0.05  # seconds after a decision until the next card is prepared
PREPARE_SECONDS, EVIDENCE_SECONDS = 0.3, 15.0  # to wait for the evidence of a card: with it, and afterwards


class Page:
    """Routes over a session; `guard` checks every request first and gives each browser its session."""

    def __init__(self, session: Session, training: BackgroundTraining, default_reviewer: str) -> None:
        self.session, self.state, self.positions = session, session.state, session.positions
        self.training, self.default = training, web.reviewer_name(default_reviewer) or "reviewer"
        self.names: dict[str, str] = {}  # of reviewers, by browser session
        self.invited: dict[str, str] = {}  # names for browsers that will come, by token
        self.guard: Guard | None = None
        self.tasks: set[asyncio.Task[None]] = set()  # beside the answers
        self.file_threads, self.card_threads, self.evidence_threads = Threads(), Threads(), Threads(2)
        self.drawn: tuple[str, list[Any]] | None = None
        self.templates = Environment(
            loader=PackageLoader("mixtea.review"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
            lstrip_blocks=True, auto_reload=False,
        )  # fmt: skip
        self.templates.filters |= {"visible": lambda text: visible(text, 300), "percent": web.percent}
        self.templates.globals |= {
            "signs": SIGNS, "words": NEIGHBOUR_WORDS, "value_words": WORDS, "orders": ORDERS,
            "states": STATES, "signed": web.ACTION_SIGNS,
        }  # fmt: skip

    def app(self) -> FastAPI:
        app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        reads: dict[str, Callable[..., Any]] = {
            "/": self.whole, "/card": self.current, "/card/{row}": self.at, "/picture/{of}": self.picture,
            "/evidence/{of}": self.evidence, "/values/{of}": self.values, "/alike/{of}": self.alike,
            "/status": self.status, "/team": self.team,
            "/pictures": self.pictures, "/changes": self.changes, "/log": self.log, "/static/{name}": web.static,
            "/decisions.sssom.tsv": self.exported, "/decisions.sqlite": self.copied,
            "/mapping.sssom.tsv": self.mapped,
        }  # fmt: skip
        writes: dict[str, Callable[..., Any]] = {
            "/decide": self.decide, "/undo": self.undo, "/go": self.go, "/verdict": self.verdict, "/queue": self.queue,
            "/alike": self.decide_alike, "/settings": self.settings, "/invite": self.invite, "/train": self.train,
            "/stop": self.stop_training, "/import": self.imported,
        }  # fmt: skip
        for method, routes in (("GET", reads), ("POST", writes)):
            for path, answer in routes.items():
                app.add_api_route(path, answer, methods=[method], response_model=None)
        answers = {OSError: web.not_saved, ReplacedError: web.not_saved, ValueError: web.wrong, MixTEAError: web.wrong}
        for error, error_answer in answers.items():
            app.add_exception_handler(error, error_answer)
        return app

    # Who is asking

    async def reviewer(self, request: Request) -> str:
        key = _session_of(request)
        if key not in self.names:
            token = self.guard.sessions.get(key, "") if self.guard else ""
            free = chain([self.default], (f"{self.default} {number}" for number in count(2)))
            unused = (name for name in free if name not in self.names.values())
            self.names[key] = self.invited.pop(token, "") or next(unused)
        name = self.names[key]
        if name not in self.positions.by_reviewer:  # then it is stored in the file of decisions
            kept = await self.training.reading(lambda: self.state.store.reader.position(name))
            self.positions.restore_position(name, kept)
        return name

    def show(self, name: str, **values: Any) -> HTMLResponse:
        return HTMLResponse(self.templates.get_template(name).render(values))

    # The card

    async def _card(self, reviewer: str, last: Decision | None = None, note: str = "") -> dict[str, Any]:
        """Return the variables of the card template."""
        await self._have_queue(reviewer)
        session, item = self.session, self.positions.current_item(reviewer)
        position = self.positions.position(reviewer)
        found: dict[str, Any] = {
            "last": self._last(last), "note": note, "position": position, "progress": self._progress(),
            "undo_key": new_key(), "card": None, "again": None, "key_now": "", "shown": False, "of": "", "pair": "",
        }  # fmt: skip
        if item is None:
            return found
        await self._prepare(item.row)
        card = self.state.card(item.row, with_evidence=False)
        shown = position.shows and item.reason not in AUDIT
        key = session.note_shown(reviewer, item, card, shown=shown)
        before = None if item.reason == REPEAT else self.state.index.last_about(card.source.id)
        found |= {"of": self.state.reference(card.row, card.alternatives[0].number), "card": card, "key_now": key}
        pair = web.pair_text(session.shown_cards[key].pair)
        return found | {"pair": pair, "shown": shown, "again": self._last(before)}

    async def _have_queue(self, reviewer: str) -> None:
        """Make the queue of a reviewer in a thread, unless it is there."""
        position = self.positions.position(reviewer)
        key = self.positions.queue_key(position)
        if key not in self.positions.queues:
            if not position.filter.is_plain:
                await self.training.update_posteriors()  # probabilities are asked for, as all decisions make them
            if position.filter.state == "contradicted":
                self.state.keep_contradicted(await in_slices(self.state.judge_decisions()))
            wanted = (position.order, position.filter, self.state.best())
            items = await self.card_threads(self.positions.compute_queue, *wanted)
            self.positions.keep_queue(key, items)

    async def _prepare(self, row: int) -> None:
        """Make the slow parts of a card in threads; wait for its evidence only briefly."""
        maker, own = await self._prepare_texts(row)
        if self.state.is_prepared and maker.voter_evidence.peek(own, 0) is None:
            with suppress(TimeoutError, MixTEAError):  # then it is asked for when the card is there
                await asyncio.wait_for(self.evidence_threads(maker.voter_evidence, own, 0), PREPARE_SECONDS)

    async def _look_ahead(self, reviewer: str) -> None:
        """Prepare the card that will come next while the reviewer looks at this one."""
        await asyncio.sleep(LOOK_AHEAD_SECONDS)
        coming = self.positions.next_item(reviewer)
        if coming is not None:
            await self._prepare(coming.row)

    def _last(self, one: Decision | None) -> dict[str, Any] | None:
        return None if one is None else web.decision_in_words(one, self.state.label)

    def _progress(self) -> dict[str, Any]:
        index = self.state.index
        decided, of = len(index.by_source), self.state.n_sources_to_decide
        counts = {action: index.counts[action] for action in web.ACTION_SIGNS}
        return {"decided": decided, "of": of, "counts": counts, "sample": index.sample,
                "since": self.state.since_trained(), "elsewhere": len(index.outside_run)}  # fmt: skip

    async def _write(self, function: Callable[..., T], *args: Any) -> T:
        """Write to the file of decisions, unless the run was replaced; others are not held up by a locked file."""

        def checked() -> T:
            self.state.check_run()
            return function(*args)

        return await self.training.database(checked)

    async def _save_position(self, reviewer: str) -> None:
        await self._write(self.state.store.keep_position, reviewer, self.positions.stored_position(reviewer))

    async def whole(self, request: Request) -> Response:
        reviewer = await self.reviewer(request)
        await self.training.catch_up()
        model = self.state.original
        return self.show(
            "page.html.j2", **await self._card(reviewer), reviewer=reviewer, status=self._status(),
            filter=self.positions.position(reviewer).filter, voters=model.voters,
            has_triples=bool(model.task.source.n_triples or model.task.target.n_triples),
            run=visible(self.state.run.name, 100),
        )  # fmt: skip

    async def current(self, request: Request) -> Response:
        return self.show("card.html.j2", **await self._card(await self.reviewer(request)))

    async def at(self, request: Request, row: int) -> Response:
        reviewer = await self.reviewer(request)
        if self.positions.ask_about(reviewer, row) is None:
            raise ValueError("There is no such source.")
        return self.show("card.html.j2", **await self._card(reviewer))

    async def go(self, request: Request) -> Response:
        reviewer, form = await self.reviewer(request), await web.read_form(request)
        back = form.get("step") == "-1"
        await self._have_queue(reviewer)
        self.positions.go(reviewer, -1 if back else 1, also_decided=back)
        return self.show("card.html.j2", **await self._card(reviewer))

    async def decide(self, request: Request) -> Response:
        reviewer, form = await self.reviewer(request), await web.read_form(request)
        pair, place = web.parse_pair(form.get("pair", "")), web.parse_number(form, "place", 0)
        decision = self.session.decision(reviewer, web.decision_key(form), pair, form.get("action", ""), place)
        kept = (await self._write(self.state.store.add, [decision]))[0]
        self.state.apply_rows([kept])
        position = self.positions.position(reviewer)
        if position.item is not None and self.state.source_id(position.item.row) == pair.source:
            self.session.advance(reviewer)
            await self._save_position(reviewer)
        self.training.begin_if_due(reviewer)
        task = asyncio.create_task(self._look_ahead(reviewer))
        self.tasks.add(task)
        task.add_done_callback(self._ended)
        return self.show("card.html.j2", **await self._card(reviewer, kept))

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Forget a task beside the answers; what went wrong with it comes up again where it is needed."""
        self.tasks.discard(task)
        if not task.cancelled():
            task.exception()  # else it is complained about as never looked at

    async def undo(self, request: Request) -> Response:
        reviewer, form = await self.reviewer(request), await web.read_form(request)
        key, store = web.decision_key(form), self.state.store
        done = await self._write(lambda: (store.undo(reviewer, key), store.undo_rows(key)))
        taken = self.session.apply_undo(reviewer, *done)
        note = "There is nothing to take back." if not taken else f"Taken back: {web.n_decisions(len(taken))}."
        return self.show("card.html.j2", **await self._card(reviewer, note=note))

    async def verdict(self, request: Request) -> Response:
        """Show the model's verdict on a card, on demand; from then on the decision is not blind."""
        form = await web.read_form(request)
        asked = self.session.shown_cards.get(form.get("key", ""))
        if asked is None:
            raise ValueError("This card is not there any more. Reload the page.")
        row, place = self.state.resolve_reference(form.get("of", ""))
        await self._prepare_texts(row, place)
        asked.shown = True
        return self.show("verdict.html.j2", card=self.state.card(row, place, with_evidence=False))

    async def _prepare_texts(self, row: int, place: int = 0) -> tuple[Cards, int]:
        """Make the texts of a card in a thread; return the maker of the card, and the row there."""
        maker, own = self.state.card_maker(row)
        await self.card_threads(maker.prepare, own, place)
        return maker, own

    async def queue(self, request: Request) -> Response:
        reviewer, form = await self.reviewer(request), await web.read_form(request)
        position = self.positions.position(reviewer)
        order = form.get("order", position.order)
        if order not in ORDERS:
            raise ValueError("There is no such order.")
        position.order, position.filter, position.at, position.item = order, web.parse_filter(form), -1, None
        position.part = await self.file_threads(self.positions.precision_line, position.filter.precision)
        return self.show("card.html.j2", **await self._card(reviewer))

    async def picture(self, of: str) -> Response:
        row, place = self.state.resolve_reference(of)
        maker, own = await self._prepare_texts(row, place)
        return JSONResponse(maker.picture(own, place))

    async def evidence(self, of: str) -> Response:
        """Show the voters for a pair, once all indices are ready."""
        row, place = self.state.resolve_reference(of)
        while not self.state.is_prepared:
            await asyncio.sleep(0.05)
        maker, own = self.state.card_maker(row)
        try:
            await asyncio.wait_for(self.evidence_threads(maker.voter_evidence, own, place), EVIDENCE_SECONDS)
        except TimeoutError:
            return self.show("no_evidence.html.j2", why=f"it took more than {EVIDENCE_SECONDS:.0f} s", of=of)
        except MixTEAError as error:
            return self.show("no_evidence.html.j2", why=str(error), of=of)
        return self.show("voters.html.j2", card=self.state.card(row, place, with_evidence=False), shown=False, of=of)

    async def values(self, of: str) -> Response:
        """Show the values of a pair, compared if that does not take too long."""
        row, place = self.state.resolve_reference(of)
        maker, own = self.state.card_maker(row)
        with suppress(TimeoutError, MixTEAError):
            await asyncio.wait_for(self.evidence_threads(maker.values, *maker.model.ends(own, place)), EVIDENCE_SECONDS)
        await self._prepare_texts(row, place)
        return self.show("values.html.j2", card=self.state.card(row, place, with_evidence=False), of=of, waits=False)

    # Several alike

    async def alike(self, of: str) -> Response:
        row, _ = self.state.resolve_reference(of)
        rows = await self.card_threads(self.session.alike, row)
        found = [(web.pair_text(pair), left, right) for pair, left, right in self.session.alike_pairs(rows)]
        voters = self.state.original.voters_for(row)
        return self.show("alike.html.j2", rows=found, voters=voters, key_now=new_key())

    async def decide_alike(self, request: Request) -> Response:
        reviewer = await self.reviewer(request)
        sent = parse_qsl((await web.read_body(request, web.MAX_FORM_BYTES)).decode(), max_num_fields=500)
        form, pairs = dict(sent), [web.parse_pair(value) for name, value in sent if name == "pairs"]
        note = "Nothing was chosen."
        if pairs:
            decisions = self.session.decisions_alike(reviewer, pairs, form.get("action", ""), web.decision_key(form))
            kept = await self._write(self.state.store.add, decisions)
            self.state.apply_rows(kept)
            note = f"{web.n_decisions(len(kept))}: one by one in the log, taken back together."
        self.positions.position(reviewer).item = None
        self.positions.go(reviewer, 1)
        self.training.begin_if_due(reviewer)
        return self.show("card.html.j2", **await self._card(reviewer, note=note))

    # People and settings

    async def settings(self, request: Request) -> Response:
        form = await web.read_form(request)
        if name := web.reviewer_name(form.get("reviewer", "")):
            self.names[_session_of(request)] = name
        reviewer = await self.reviewer(request)
        self.positions.position(reviewer).shows = form.get("shows") == "on"
        await self._save_position(reviewer)
        return self.show("card.html.j2", **await self._card(reviewer))

    async def invite(self, request: Request) -> Response:
        """Show an address for one more browser."""
        form = await web.read_form(request)
        assert self.guard is not None
        voided = [self.invited.pop(token, "") or "nobody by name" for token in self.guard.make_room()]
        self.invited[token := self.guard.invite()] = web.reviewer_name(form.get("reviewer", ""))
        address = f"http://{request.headers['host']}{ENTRANCE}?token={token}"
        return self.show("invite.html.j2", address=address, voided=voided, most=MAX_OPEN_INVITATIONS)

    async def team(self, request: Request) -> Response:
        self.state.keep_contradicted(await in_slices(self.state.judge_decisions()))
        active = [*self.state.index.active.values()]
        measured = await self.file_threads(measure_reviewers, active, self.state.truth)
        return self.show(
            "team.html.j2", reviewers=measured.values(),
            contradicted=[(self._last(one), p) for one, p in self.state.contradicted()[:50]],
        )  # fmt: skip

    async def log(self) -> Response:
        index = self.state.index
        last = heapq.nlargest(200, index.active)
        rows = [(self._last(index.active[id]), id in index.outside_run) for id in last]
        return self.show("log.html.j2", rows=rows, elsewhere=len(index.outside_run))

    async def pictures(self) -> Response:
        """Show the figures, drawn once for each model."""
        model = self.state.current
        if self.drawn is None or self.drawn[0] != model.name:
            self.drawn = (model.name, await self.file_threads(web.pictures, model))
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
        return await self.file_threads(web.decisions_file, self.state, [*self.state.index.active.values()])

    async def mapped(self, precision: str = "") -> Response:
        """Export the mapping with the decisions: the largest part with an expected precision (percent), or all."""
        return await self.file_threads(web.mapping_file, self.state, web.parse_precision(precision))

    async def copied(self) -> Response:
        return await self.file_threads(web.database_copy, self.state)

    async def imported(self, request: Request) -> Response:
        """Import decisions from an SSSOM file, which is the whole body."""
        reviewer, body = await self.reviewer(request), await web.read_body(request, MAX_FILE_BYTES)
        found, n_new = await self.file_threads(web.parse_decisions, self.state, body, reviewer), 0
        for first in range(0, len(found), ROWS_PER_WRITE):
            n_new += await self._write(self.state.store.add_new, found[first : first + ROWS_PER_WRITE])
        await self.training.catch_up()
        note = f"{web.n_decisions(n_new)} taken over from a file of {len(found):,}."
        return self.show("card.html.j2", **await self._card(reviewer, note=note))


def _session_of(request: Request) -> str:
    """Return the session of a browser, which the guard has found."""
    return str(request.scope.get("state", {}).get("session", ""))
