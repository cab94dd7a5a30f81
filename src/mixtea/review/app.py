"""Routes of the review page, which show cards and keep decisions. All text passes through templates that escape."""

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
from mixtea.review.card import NEIGHBOUR_WORDS, Card
from mixtea.review.decision import REPEAT, Decision
from mixtea.review.decisions import ROWS_PER_WRITE
from mixtea.review.forms import (
    MAX_FORM_BYTES,
    decision_key,
    pair_text,
    parse_filter,
    parse_number,
    parse_pair,
    parse_precision,
    read_body,
    read_form,
    reviewer_name,
)
from mixtea.review.import_export import database_copy, decisions_file, mapping_file, parse_decisions
from mixtea.review.pictures import pictures
from mixtea.review.queue import ORDERS, STATES
from mixtea.review.responses import (
    ACTION_SIGNS,
    decision_in_words,
    download,
    n_decisions,
    not_saved,
    percent,
    replaced,
    static,
    wrong,
)
from mixtea.review.security import ENTRANCE, MAX_OPEN_INVITATIONS, Guard
from mixtea.review.session import Session, new_key
from mixtea.review.state import ReplacedError
from mixtea.review.threads import Threads, in_slices
from mixtea.review.training import BackgroundTraining

T = TypeVar("T")
TSV = "text/tab-separated-values"
MAX_FILE_BYTES = 64 << 20  # bytes of decisions from elsewhere
LOOK_AHEAD_SECONDS = 0.05  # seconds after a decision until the next card is prepared
PREPARE_SECONDS, EVIDENCE_SECONDS = 0.3, 15.0  # to wait for the evidence of a card: with it, and afterwards


class Page:
    """Routes over a session; `guard` checks every request first and gives each browser its session."""

    def __init__(self, session: Session, training: BackgroundTraining, default_reviewer: str) -> None:
        self.session, self.state, self.positions = session, session.state, session.positions
        self.training, self.default = training, reviewer_name(default_reviewer) or "reviewer"
        self.names: dict[str, str] = {}  # of reviewers, by browser session
        self.invited: dict[str, str] = {}  # names for browsers that will come, by token
        self.guard: Guard | None = None
        self.tasks: set[asyncio.Task[None]] = set()  # beside the answers
        self.file_threads, self.card_threads, self.evidence_threads = (
            Threads(),
            Threads(),
            Threads(2),
        )  # none of them holds reviewers up
        self.drawn: tuple[str, list[Any]] | None = None
        self.templates = Environment(
            loader=PackageLoader("mixtea.review"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
            lstrip_blocks=True, auto_reload=False,
        )  # fmt: skip
        self.templates.filters |= {"visible": lambda text: visible(text, 300), "percent": percent}
        self.templates.globals |= {
            "signs": SIGNS, "words": NEIGHBOUR_WORDS, "value_words": WORDS, "orders": ORDERS,
            "states": STATES, "signed": ACTION_SIGNS,
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
        await self._load_position(self.names[key])
        return self.names[key]

    def _free_name(self) -> str:
        """Return the default name, with a number for every further browser without a name."""
        numbered = (f"{self.default} {number}" for number in count(2))
        return next(name for name in chain([self.default], numbered) if name not in self.names.values())

    def _check_row(self, row: int) -> None:
        if not 0 <= row < len(self.state.original.sources):
            raise ValueError("There is no such source.")

    def show(self, name: str, **values: Any) -> HTMLResponse:
        return HTMLResponse(self.templates.get_template(name).render(values))

    # The card

    async def _card(self, reviewer: str, last: Decision | None = None, note: str = "") -> dict[str, Any]:
        """Return the variables of the card template."""
        await self._have_queue(reviewer)
        session, item = self.session, self.positions.current_item(reviewer)
        position = self.positions.position(reviewer)
        found: dict[str, Any] = {
            "last": self._last(last),
            "note": note,
            "position": position,
            "card": None,
            "again": None,
        }
        found |= {"progress": self._progress(), "undo_key": new_key()}
        if item is None:
            return found | {"key_now": "", "shown": False, "of": "", "pair": ""}
        await self._prepare(item.row)
        card = self.state.card(item.row, with_evidence=False)
        blind = item.reason in ("known", "repeat")
        shown = position.shows and not blind
        key = session.note_shown(reviewer, item, card, shown=shown)
        before = None if item.reason == REPEAT else self.state.index.last_about(card.source.id)
        found |= {"of": self._reference(card), "pair": pair_text(session.shown_cards[key].pair)}
        return found | {"card": card, "key_now": key, "shown": shown, "again": self._last(before)}

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

    def _reference(self, card: Card) -> str:
        return self.state.reference(card.row, card.alternatives[0].number)

    async def _prepare(self, row: int) -> None:
        """Make the slow parts of a card in threads; wait for its evidence only briefly."""
        maker, own = self.state.card_maker(row)
        await self.card_threads(maker.prepare, own)
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
        return None if one is None else decision_in_words(one, self.state.label)

    def _progress(self) -> dict[str, Any]:
        index = self.state.index
        decided, of = len(index.by_source), self.state.n_sources_to_decide
        counts = {action: index.counts[action] for action in ACTION_SIGNS}
        return {"decided": decided, "of": of, "counts": counts, "sample": index.sample,
                "since": self.state.since_trained(), "elsewhere": len(index.outside_run)}  # fmt: skip

    async def _write(self, function: Callable[..., T], *args: Any) -> T:
        """Write to the file of decisions, unless the run was replaced; others are not held up by a locked file."""

        def checked() -> T:
            self.state.check_run()
            return function(*args)

        return await self.training.database(checked)

    async def _load_position(self, reviewer: str) -> None:
        """Load the position of a reviewer, which is stored in the file of decisions."""
        if reviewer not in self.positions.by_reviewer:
            kept = await self.training.reading(lambda: self.state.store.reader.position(reviewer))
            self.positions.restore_position(reviewer, kept)

    async def _save_position(self, reviewer: str) -> None:
        await self._write(self.state.store.keep_position, reviewer, self.positions.stored_position(reviewer))

    async def whole(self, request: Request) -> Response:
        reviewer = await self.reviewer(request)
        await self.training.catch_up()
        position = self.positions.position(reviewer)
        about = {"reviewer": reviewer, "status": self._status(), "filter": position.filter}
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
        reviewer, form = await self.reviewer(request), await read_form(request)
        back = form.get("step") == "-1"
        await self._have_queue(reviewer)
        self.positions.go(reviewer, -1 if back else 1, also_decided=back)
        return self.show("card.html.j2", **await self._card(reviewer))

    async def decide(self, request: Request) -> Response:
        reviewer, form = await self.reviewer(request), await read_form(request)
        session, pair = self.session, parse_pair(form.get("pair", ""))
        decision = session.decision(
            reviewer, decision_key(form), pair, form.get("action", ""), parse_number(form, "place", 0)
        )
        kept = (await self._write(self.state.store.add, [decision]))[0]
        self.state.apply_rows([kept])
        position = self.positions.position(reviewer)
        if position.item is not None and self.state.source_id(position.item.row) == pair.source:
            session.advance(reviewer)
            await self._save_position(reviewer)
        self.training.begin_if_due(reviewer)
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
        reviewer, form = await self.reviewer(request), await read_form(request)
        key, store = decision_key(form), self.state.store
        done = await self._write(lambda: (store.undo(reviewer, key), store.undo_rows(key)))
        taken = self.session.apply_undo(reviewer, *done)
        note = "There is nothing to take back." if not taken else f"Taken back: {n_decisions(len(taken))}."
        return self.show("card.html.j2", **await self._card(reviewer, note=note))

    async def verdict(self, request: Request) -> Response:
        """Show the model's verdict on a card, on demand; from then on the decision is not blind."""
        form = await read_form(request)
        asked = self.session.shown_cards.get(form.get("key", ""))
        if asked is None:
            raise ValueError("This card is not there any more. Reload the page.")
        row, place = self.state.resolve_reference(form.get("of", ""))
        await self._prepare_texts(row, place)
        asked.shown = True
        return self.show("verdict.html.j2", card=self.state.card(row, place, with_evidence=False))

    async def _prepare_texts(self, row: int, place: int) -> None:
        maker, own = self.state.card_maker(row)
        await self.card_threads(maker.prepare, own, place)

    async def queue(self, request: Request) -> Response:
        reviewer, form = await self.reviewer(request), await read_form(request)
        position = self.positions.position(reviewer)
        order = form.get("order", position.order)
        if order not in ORDERS:
            raise ValueError("There is no such order.")
        position.order, position.filter, position.at, position.item = order, parse_filter(form), -1, None
        position.part = await self.file_threads(self.positions.precision_line, position.filter.precision)
        return self.show("card.html.j2", **await self._card(reviewer))

    async def picture(self, of: str) -> Response:
        row, place = self.state.resolve_reference(of)
        await self._prepare_texts(row, place)
        return JSONResponse(self.state.picture(row, place))

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
            await asyncio.wait_for(self.evidence_threads(maker.compare, own, place), EVIDENCE_SECONDS)
        await self._prepare_texts(row, place)
        return self.show("values.html.j2", card=self.state.card(row, place, with_evidence=False), of=of, waits=False)

    # Several alike

    async def alike(self, of: str) -> Response:
        row, _ = self.state.resolve_reference(of)
        rows = await self.card_threads(self.session.alike, row)
        found = [(pair_text(pair), left, right) for pair, left, right in self.session.alike_pairs(rows)]
        voters = self.state.original.voters_for(row)
        return self.show("alike.html.j2", rows=found, voters=voters, key_now=new_key())

    async def decide_alike(self, request: Request) -> Response:
        reviewer, session = await self.reviewer(request), self.session
        sent = parse_qsl((await read_body(request, MAX_FORM_BYTES)).decode(), max_num_fields=500)
        form, pairs = dict(sent), [parse_pair(value) for name, value in sent if name == "pairs"]
        decisions = (
            session.decisions_alike(reviewer, pairs, form.get("action", ""), decision_key(form)) if pairs else []
        )
        kept = await self._write(self.state.store.add, decisions) if decisions else []
        self.state.apply_rows(kept)
        self.positions.position(reviewer).item = None
        self.positions.go(reviewer, 1)
        self.training.begin_if_due(reviewer)
        note = (
            f"{n_decisions(len(kept))}: one by one in the log, taken back together." if kept else "Nothing was chosen."
        )
        return self.show("card.html.j2", **await self._card(reviewer, note=note))

    # People and settings

    async def settings(self, request: Request) -> Response:
        form = await read_form(request)
        if name := reviewer_name(form.get("reviewer", "")):
            self.names[_session_of(request)] = name
        reviewer = await self.reviewer(request)
        self.positions.position(reviewer).shows = form.get("shows") == "on"
        await self._save_position(reviewer)
        return self.show("card.html.j2", **await self._card(reviewer))

    async def invite(self, request: Request) -> Response:
        """Show an address for one more browser."""
        form = await read_form(request)
        assert self.guard is not None
        voided = [self.invited.pop(token, "") or "nobody by name" for token in self.guard.make_room()]
        self.invited[token := self.guard.invite()] = reviewer_name(form.get("reviewer", ""))
        address = f"http://{request.headers['host']}{ENTRANCE}?token={token}"
        return self.show("invite.html.j2", address=address, voided=voided, most=MAX_OPEN_INVITATIONS)

    async def team(self, request: Request) -> Response:
        self.state.keep_contradicted(await in_slices(self.state.judge_decisions()))
        measured = await self.file_threads(self.state.all_reviewers)
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
            self.drawn = (model.name, await self.file_threads(pictures, model))
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
        active = [*self.state.index.active.values()]
        content = await self.file_threads(decisions_file, self.state, active)
        return download(content, "decisions.sssom.tsv", TSV)

    async def mapped(self, precision: str = "") -> Response:
        """Export the mapping with the decisions: the largest part with an expected precision (percent), or all."""
        content = await self.file_threads(mapping_file, self.state, parse_precision(precision))
        return download(content, "mapping.sssom.tsv", TSV)

    async def copied(self) -> Response:
        return download(
            await self.file_threads(database_copy, self.state), "decisions.sqlite", "application/vnd.sqlite3"
        )

    async def imported(self, request: Request) -> Response:
        """Import decisions from an SSSOM file, which is the whole body."""
        reviewer, body = await self.reviewer(request), await read_body(request, MAX_FILE_BYTES)
        found, n_new = await self.file_threads(parse_decisions, self.state, body, reviewer), 0
        for first in range(0, len(found), ROWS_PER_WRITE):
            n_new += await self._write(self.state.store.add_new, found[first : first + ROWS_PER_WRITE])
        await self.training.catch_up()
        note = f"{n_decisions(n_new)} taken over from a file of {len(found):,}."
        return self.show("card.html.j2", **await self._card(reviewer, note=note))


def _session_of(request: Request) -> str:
    """Return the session of a browser, which the guard has found."""
    return str(request.scope.get("state", {}).get("session", ""))
