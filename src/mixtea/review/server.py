"""Serve the review page on this machine until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mixtea.errors import ConfigError, RunError
from mixtea.messages import visible
from mixtea.review.decisions import DecisionStore
from mixtea.review.model import Model
from mixtea.review.security import ENTRANCE, Guard
from mixtea.review.session import Session
from mixtea.review.training import BackgroundTraining

SWITCH_SECONDS = 0.001  # after which a busy thread lets the page go on
SHUTDOWN_SECONDS = 2  # for requests that are under way when the server ends
INSTALL_ADVICE = 'The review page needs FastAPI and uvicorn: pip install "mixtea[review]".'


def serve(
    run: Path, decisions: Path, *, host: str, port: int, reviewer: str, every: int, browser: bool,
    notify: Callable[[str], None],
) -> None:  # fmt: skip
    """Serve until a signal; `notify` gets lines for the terminal, the address among them."""
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(Model, run)  # while libraries are loaded
        try:
            import uvicorn

            from mixtea.review.app import Page
        except ImportError:
            raise ConfigError(INSTALL_ADVICE) from None
        model = reading.result()
    listening = _listening(host, port)
    port = listening.getsockname()[1]
    store = DecisionStore(decisions)
    try:
        try:
            session = Session(run, store, model, lazily=True)
            state = session.state
        except OSError as error:
            raise RunError(f"{error}. Name another file: --decisions FILE, or mend it.") from None
        training = BackgroundTraining(state, every, notify)
        page = Page(session, training, reviewer)
        app = page.app()
        guard = page.guard = Guard(app, host, port)

        @contextlib.asynccontextmanager
        async def lifespan(_: object) -> AsyncIterator[None]:
            warm = asyncio.create_task(training.warm_up())
            yield
            warm.cancel()
            await training.stop()
            with contextlib.suppress(asyncio.CancelledError):
                await warm

        app.router.lifespan_context = lifespan
        name = f"[{host}]" if ":" in host else host
        address = f"http://{name}:{port}{ENTRANCE}?token={guard.invite()}"
        config = uvicorn.Config(
            guard, log_level="warning", access_log=False, lifespan="on", ws="none", server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )  # fmt: skip
        server = uvicorn.Server(config)
        notify(
            f"reviewing {visible(run)}: {state.n_sources_to_decide:,} sources, {len(state.index.by_source):,} decided"
        )
        notify(f"decisions: {visible(decisions)}")
        if state.index.outside_run:
            n = len(state.index.outside_run)
            notify(f"{n:,} decisions are about entities that are not in this run: they are kept and exported")
        notify(f"open: {address}")
        notify("Ctrl-C ends it; every decision that was shown as saved is there.")
        if browser:
            threading.Timer(0.3, webbrowser.open, [address]).start()
        sys.setswitchinterval(SWITCH_SECONDS)
        with _signals():
            server.run(sockets=[listening])
    finally:
        store.close()
        listening.close()


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Swallow the signals that uvicorn raises again after a clean end."""
    before = {kind: signal.getsignal(kind) for kind in (signal.SIGINT, signal.SIGTERM)}
    for kind in before:
        signal.signal(kind, lambda *_: None)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, or answers wait 40 ms for Nagle
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(128)  # whoever opens the address at once waits, and is not turned away
    except OSError as error:
        found.close()
        raise RunError(f"port {port} of {host} cannot be used ({error.strerror}). Name another: --port 0.") from None
    return found
