"""Access to the page: the right host, writes from the page itself alone, and a cookie in exchange for a one-time token.

A web page elsewhere can send requests to a server on this machine, and a foreign host name can resolve to it. So every
request must name an allowed host; every change must come from our own page; and every request needs the cookie, which
only the owner of the address from the terminal can have.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ENTRANCE = "/enter"
READS = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
MAX_OPEN_INVITATIONS = 20  # addresses that wait to be opened


class Guard:
    """Checks every request before the routes of an app; `hosts` are the allowed host names."""

    def __init__(self, app: App, host: str, port: int) -> None:
        self.app, self.port = app, port
        self.hosts = {f"{name}:{port}" for name in hosts_of(host)}
        self.cookie = f"mixtea_{port}"
        self.tokens: dict[str, None] = {}  # in the order in which they were made
        self.sessions: dict[str, str] = {}  # and the token of each

    def make_room(self) -> list[str]:
        """Void the oldest unused tokens, so that there is room for one more; return them."""
        voided = [*self.tokens][: max(len(self.tokens) + 1 - MAX_OPEN_INVITATIONS, 0)]
        for one in voided:
            del self.tokens[one]
        return voided

    def invite(self) -> str:
        """Make a token that lets one browser in, once."""
        self.make_room()
        self.tokens[token := secrets.token_urlsafe(24)] = None
        return token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        names = [name for name, _ in scope["headers"]]
        if names.count(b"host") != 1 or headers.get("host", "").lower() not in self.hosts:
            await _answer(send, 403, "This server does not answer to that name.")
        elif not self._own_page(scope["method"], headers):
            await _answer(send, 403, "Only the review page itself may do this.")
        elif scope["path"] == ENTRANCE:
            await self._enter(scope, headers, send)
        elif self._session(headers) is None:
            await _answer(send, 401, "Open the address that the terminal shows: it lets one browser in, once.")
        else:
            scope.setdefault("state", {})["session"] = self._session(headers)
            with suppress(asyncio.CancelledError):  # the server ends, and this request did not
                await self.app(scope, receive, _with_headers(send))

    def _own_page(self, method: str, headers: dict[str, str]) -> bool:
        """Return whether a request that changes something comes from our page; reads always pass."""
        if method in READS:
            return True
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if site is not None and site != "same-origin":
            return False
        if origin is None:
            return site == "same-origin"
        return origin.lower() == f"http://{headers['host'].lower()}"

    def _session(self, headers: dict[str, str]) -> str | None:
        """Return the session of a browser; cookies of other programs on this machine may be of any form."""
        pairs = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
        given = [value.strip().strip('"') for name, _, value in pairs if name.strip() == self.cookie]
        known = (one for one in self.sessions for value in given if _equal(one, value))
        return next(known, None)

    async def _enter(self, scope: Scope, headers: dict[str, str], send: Send) -> None:
        """Exchange a token for a cookie, and go on to a clean address."""
        if scope["method"] != "GET":
            await _answer(send, 405, "The entrance is opened, nothing else.")
            return
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        known = next((one for one in self.tokens if _equal(one, given)), None)
        if known is None and self._session(headers) is None:
            await _answer(send, 401, "This address was used already, or is not whole. Ask for another one.")
            return
        cookie = []
        if known is not None:
            del self.tokens[known]
            self.sessions[session := secrets.token_urlsafe(32)] = known
            cookie = [("set-cookie", f"{self.cookie}={session}; HttpOnly; SameSite=Strict; Path=/")]
        # a page of ours that goes on by itself: a redirect would count as coming from where the address was opened
        head = '<!DOCTYPE html><meta http-equiv="refresh" content="0; url=/"><link rel="icon" href="data:,">'
        page = f"{head}<title>mixtea</title>"
        await _answer(send, 200, page, [*cookie], kind="text/html")


def _equal(secret: str, given: str) -> bool:
    """Compare in constant time, so that timing does not reveal parts of a secret."""
    return hmac.compare_digest(secret.encode(), given.encode("utf-8", "surrogatepass"))


def hosts_of(host: str) -> list[str]:
    """Return the host names of a server that listens on `host`."""
    local = ["127.0.0.1", "localhost", "[::1]"]
    if host in ("127.0.0.1", "localhost", "::1"):
        return local
    return [*local, f"[{host}]" if ":" in host else host]


def is_everywhere(host: str) -> bool:
    """Return whether this is the address of all interfaces: then no request could name the right host."""
    try:
        return not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def is_local(host: str) -> bool:
    """Return whether only this machine can reach a server there."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message.get("headers", [])}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in own]
            message["headers"] = [*message.get("headers", []), *more]
        await send(message)

    return sending


async def _answer(
    send: Send, status: int, text: str, more: list[tuple[str, str]] | None = None, kind: str = "text/plain"
) -> None:
    body = text.encode()
    headers = [("content-type", f"{kind}; charset=utf-8"), ("content-length", str(len(body))), *(more or [])]
    start = {"type": "http.response.start", "status": status,
             "headers": [(name.encode(), value.encode()) for name, value in headers]}  # fmt: skip
    await _with_headers(send)(start)
    await send({"type": "http.response.body", "body": body})
