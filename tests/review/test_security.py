"""Who may talk to the page: every route, asked under every name, from everywhere, with and without a cookie."""

from __future__ import annotations

import asyncio
import itertools
import re
from http.cookies import SimpleCookie
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote, urlencode

import pytest
from processes import MIXTEA, run
from served import PORT, asked, small_run

import mixtea.review
from mixtea.review.app import Page
from mixtea.review.decisions import DecisionStore
from mixtea.review.security import MAX_OPEN_INVITATIONS, Guard, is_local
from mixtea.review.session import Session
from mixtea.review.training import BackgroundTraining
from mixtea.review.web import MAX_FORM_BYTES, pair_text

RIGHT, LOCAL = f"127.0.0.1:{PORT}", f"localhost:{PORT}"
HOSTS = {
    "right": [RIGHT], "by name": [LOCAL], "elsewhere": [f"evil.example:{PORT}"], "another port": ["127.0.0.1:9999"],
    "no port": ["127.0.0.1"], "none": [], "two": [RIGHT, f"evil.example:{PORT}"],
}  # fmt: skip
ORIGINS = [None, f"http://{RIGHT}", f"http://{LOCAL}", "http://evil.example", "null"]
SITES = [None, "same-origin", "same-site", "cross-site"]
METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]
STATIC = Path(mixtea.review.__file__).parent / "static"


class Still(BackgroundTraining):
    """Does not train, but counts how often it should."""

    begun = 0

    def begin(self, reviewer: str = "") -> None:
        self.begun += 1


@pytest.fixture(scope="module")
def folder(rings, tmp_path_factory):
    return small_run(rings, tmp_path_factory.mktemp("guarded") / "run", preset="paper", max_epochs=1, device="cpu")


@pytest.fixture
def served(folder, tmp_path):
    """The page behind its guard, in this process: `app` counts what comes through in `through`."""
    store = DecisionStore(tmp_path / "decisions.sqlite")
    session = Session(folder, store)
    page = Page(session, Still(session.state, 0), "ann")
    app, found = page.app(), SimpleNamespace(through=0, store=store, page=page)

    async def counted(scope, receive, send):
        found.through += 1
        await app(scope, receive, send)

    found.guard = page.guard = Guard(counted, "127.0.0.1", PORT)
    found.routes = {route.path: route.methods for route in app.routes}
    yield found
    store.close()


def ask(guard, method, path, headers=(), body=b"", query=""):
    return asyncio.run(asked(guard, method, path, headers, body, query))


def entered(guard) -> str:
    """The cookie that a token buys."""
    answer = ask(guard, "GET", "/enter", [("host", RIGHT)], query=f"token={guard.invite()}")
    return answer.headers["set-cookie"][0].partition(";")[0]


def own(guard, cookie=None, **more):
    """The headers of a request of the page itself."""
    return [("host", RIGHT), ("origin", f"http://{RIGHT}"), ("cookie", cookie or entered(guard)), *more.items()]


def wanted(routes, method, path, hosts, origin, site, cookie):
    """The status that a request must have by the rules; 0 for whatever the route itself answers."""
    if hosts not in ([RIGHT], [LOCAL]):
        return 403
    if method not in ("GET", "HEAD"):
        if site not in (None, "same-origin"):
            return 403
        if origin is None and site is None:
            return 403
        if origin is not None and origin != f"http://{hosts[0]}":
            return 403
    if path == "/enter" and method != "GET":
        return 405
    if cookie != "right":
        return 401
    if path == "/enter":
        return 200
    known = next((methods for route, methods in routes.items() if _fits(route, path)), None)
    return 404 if known is None else 0 if method in known else 405


def _fits(route, path):
    return re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", route.replace(".", r"\.")), path) is not None


def test_every_combination_is_let_in_or_turned_away_by_the_rules(served):
    """All routes by all methods, under each host, from each origin, with each cookie: more than fifty thousand."""
    kept = entered(served.guard)
    cookies = {"none": [], "wrong": [("cookie", f"mixtea_{PORT}=wrong")], "right": [("cookie", kept)]}
    session = served.page.session
    of = session.state.reference(0, session.state.card(0).alternatives[0].number)
    places = {"{row}": "0", "{name}": "review.js", "{of}": of}
    paths = [re.sub(r"\{\w+\}", lambda place: places[place[0]], route) for route in served.routes]
    pair = pair_text(session.pair_on(session.state.card(0)))
    keys = (f"key-{number}" for number in itertools.count())
    tried = {0: 0, 200: 0, 401: 0, 403: 0, 404: 0, 405: 0}
    wrong = []

    async def try_all():
        combinations = itertools.product([*paths, "/enter", "/nothing"], METHODS, HOSTS, ORIGINS, SITES, cookies)
        for path, method, host, origin, site, cookie in combinations:
            expected = wanted(served.routes, method, path, HOSTS[host], origin, site, cookie)
            if expected == 0 and method == "GET" and (origin, site) not in READ_AS:
                continue  # answers alike, and drawing them all takes long
            headers = [*(("host", name) for name in HOSTS[host]), *cookies[cookie]]
            headers += [("origin", origin)] if origin is not None else []
            headers += [("sec-fetch-site", site)] if site is not None else []
            form = {"key": next(keys), "pair": pair, "pairs": pair, "action": "accept", "reviewer": "ann", "of": of}
            body = urlencode(form).encode()
            before = served.store.last_id(), served.through, served.page.training.begun, len(served.guard.tokens)
            answer = await asked(served.guard, method, path, headers, body if path != "/import" else b"")
            after = served.store.last_id(), served.through, served.page.training.begun, len(served.guard.tokens)
            tried[expected] += 1
            if expected in (0, 404, 405):
                fine = answer.status == expected or (expected == 0 and answer.status not in (401, 403, 405))
                fine &= expected == 0 or (before[0], before[2], before[3]) == (after[0], after[2], after[3])
                fine &= path != "/decide" or expected != 0 or after[0] == before[0] + 1
            else:
                fine = answer.status == expected and before == after
            fine &= is_headed(answer)
            wrong.extend([] if fine else [(path, method, host, origin, site, cookie, expected, answer.status)])

    asyncio.run(try_all())
    assert wrong == [] and sum(tried.values()) > 50_000 and min(tried.values()) > 30, tried


READ_AS = [(None, None), (f"http://{RIGHT}", "same-origin"), ("http://evil.example", "cross-site")]


def is_headed(answer) -> bool:
    """Whether an answer has what keeps a browser from more than it should do."""
    policy = answer.headers.get("content-security-policy", [""])
    return (
        len(policy) == 1 and "default-src 'none'" in policy[0] and "script-src 'self';" in policy[0]
        and "unsafe" not in policy[0] and "frame-ancestors 'none'" in policy[0] and "base-uri 'none'" in policy[0]
        and answer.headers.get("x-content-type-options") == ["nosniff"]
        and answer.headers.get("referrer-policy") == ["no-referrer"]
        and "access-control-allow-origin" not in answer.headers
    )  # fmt: skip


def test_a_token_lets_one_browser_in_once(served):
    token = served.guard.invite()
    answer = ask(served.guard, "GET", "/enter", [("host", RIGHT)], query=f"token={token}")
    cookie = SimpleCookie(answer.headers["set-cookie"][0])[f"mixtea_{PORT}"]
    assert answer.status == 200 and cookie["httponly"] and cookie["samesite"] == "Strict" and cookie["path"] == "/"
    assert len(cookie.value) > 30 and token not in answer.text and not cookie["domain"]
    again = ask(served.guard, "GET", "/enter", [("host", RIGHT)], query=f"token={token}")
    assert again.status == 401 and "set-cookie" not in again.headers
    known = [("host", RIGHT), ("cookie", f"mixtea_{PORT}={cookie.value}")]
    again = ask(served.guard, "GET", "/enter", known, query=f"token={token}")  # the same browser goes on
    assert again.status == 200 and "set-cookie" not in again.headers
    assert ask(served.guard, "GET", "/", known).status == 200


@pytest.mark.parametrize(
    "query", ["", "token=", "token=x", "token=%00", "token=%ff%fe", "token[]=x", "token=a&token=b", "&;=%", "token=ü"]
)
def test_wrong_tokens_are_refused(served, query):
    served.guard.invite()
    assert ask(served.guard, "GET", "/enter", [("host", RIGHT)], query=query).status == 401


@pytest.mark.parametrize(
    "cookie", ["", "=", ";;", f"mixtea_{PORT}", f"mixtea_{PORT}=", f'mixtea_{PORT}="', f"mixtea_{PORT}=\xff\xfe",
               "\x00", f"MIXTEA_{PORT}=x", "a=b; c", f"mixtea_{PORT}=None"]
)  # fmt: skip
def test_cookies_that_are_none_are_refused(served, cookie):
    kept = entered(served.guard).replace(str(PORT), "9999")  # that of another server on this machine
    for one in (cookie, kept, f"{kept}; {cookie}"):
        assert ask(served.guard, "GET", "/", [("host", RIGHT), ("cookie", one)]).status == 401


OTHER_COOKIES = [
    'a={"x":1}', "a=b c", "a[]=1", "a", "", ";", "=", "a=", "=b", "a=b=c", 'a="', 'a="x;y"', "a,b=1", "a:b=1", "@=1",
    "a=;;", "$Version=1", "a=\xff", "a=\x01", "mixtea", "mixtea_9999=x", "a=mixtea_8123=x", "expires=Wed, 01 Jan",
    "Path=/", "secure", "a=" + "x" * 4000,
]  # fmt: skip


@pytest.mark.parametrize("other", OTHER_COOKIES)
def test_cookies_of_other_programs_lock_nobody_out(served, other):
    kept = entered(served.guard)
    for cookie in (
        f"{other}; {kept}",
        f"{kept}; {other}",
        f"{other};{kept};{other}",
        f'{kept.replace("=", "=" + chr(34))}"',
    ):
        assert ask(served.guard, "GET", "/status", own(served.guard, cookie)).status == 200, cookie


def test_the_oldest_of_too_many_invitations_is_void_and_that_is_said(served):
    mine = entered(served.guard)
    said = [
        ask(served.guard, "POST", "/invite", own(served.guard, mine), f"reviewer=person{number}".encode()).text
        for number in range(MAX_OPEN_INVITATIONS + 2)
    ]
    addresses = [re.search(r"token=([\w-]+)", text)[1] for text in said]
    assert not any("does not work any more" in text for text in said[:MAX_OPEN_INVITATIONS])
    assert "for person0, does not work any more" in said[-2] and "for person1, does not work" in said[-1]
    opened = [ask(served.guard, "GET", "/enter", [("host", RIGHT)], query=f"token={one}").status for one in addresses]
    assert opened == [401, 401] + [200] * MAX_OPEN_INVITATIONS


def test_invitations_are_for_one_browser_each_and_not_without_end(served):
    mine = entered(served.guard)
    for number in range(30):
        answer = ask(served.guard, "POST", "/invite", own(served.guard, mine), f"reviewer=guest+{number}".encode())
    address = re.search(r'value="http://([^"/]+)(/enter)\?token=([^"]+)"', answer.text)
    assert address[1] == RIGHT and len(served.guard.tokens) <= 20
    ask(served.guard, "GET", "/enter", [("host", RIGHT)], query=f"token={address[3]}")
    theirs = f"mixtea_{PORT}={list(served.guard.sessions)[-1]}"
    assert 'value="guest 29"' in ask(served.guard, "GET", "/", own(served.guard, theirs)).text
    assert 'value="ann"' in ask(served.guard, "GET", "/", own(served.guard, mine)).text


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/LICENSES",
             "/static/LICENSES/htmx.txt", "/static/", "/static//etc/passwd", "/static/..", "/static/.",
             "/static/..\\app.py", "/static/review.js%00.css", "/static/review.js/", "/static/app.py", "/openapi.json",
             "/docs", "/redoc", "/templates/page.html.j2"]
)  # fmt: skip
def test_no_other_files_are_served(served, path):
    answer = ask(served.guard, "GET", path, own(served.guard))
    assert answer.status in (307, 404) and b"import" not in answer.body and b"root:" not in answer.body


def test_files_of_the_page_are_served_as_what_they_are(served):
    kinds = {".js": "text/javascript", ".css": "text/css"}
    for path in (path for path in STATIC.iterdir() if path.is_file()):
        answer = ask(served.guard, "GET", f"/static/{path.name}", own(served.guard))
        assert answer.status == 200 and answer.body == path.read_bytes()
        assert answer.headers["content-type"][0].partition(";")[0] == kinds[path.suffix]
        is_ours = path.stem == "review"  # and another after an update, under the same name
        assert answer.headers["cache-control"] == ["no-cache" if is_ours else "max-age=86400, immutable"]


@pytest.mark.parametrize("path", ["/decide", "/undo", "/alike", "/settings", "/queue", "/invite", "/go", "/verdict"])
def test_forms_without_end_are_refused(served, path):
    long = b"key=k&pair=[]&action=accept&pairs=[]&text=" + b"x" * MAX_FORM_BYTES
    answer = ask(served.guard, "POST", path, own(served.guard), long)
    assert (answer.status, answer.text) == (422, "That is too long.") and served.store.last_id() == 0
    many = b"&".join(b"a%d=1" % number for number in range(600)) + b"&key=k&pair=[]&action=accept&pairs=[]"
    assert ask(served.guard, "POST", path, own(served.guard), many).status == 422 and served.store.last_id() == 0


def test_files_to_import_have_an_end(served, monkeypatch):
    monkeypatch.setattr("mixtea.review.app.MAX_FILE_BYTES", 1000)
    answer = ask(served.guard, "POST", "/import", own(served.guard), b"x" * 1001)
    assert (answer.status, answer.text) == (422, "That is too long.") and served.store.last_id() == 0


@pytest.mark.parametrize(
    ("path", "body"),
    [("/decide", b"key=k&pair=[]&action=accept"), ("/decide", b'key=k&pair=["gone","t1"]&action=accept'),
     ("/decide", b"key=k&pair=PAIR&action=destroy"), ("/decide", b"key=k&pair=PAIR&action=undo"),
     ("/decide", b"key=&pair=PAIR&action=accept"), ("/decide", b"pair=PAIR&action=accept"), ("/decide", b"\xff\xfe"),
     ("/decide", b"key=k&pair=PAIR&action=accept&place=99"), ("/decide", b"key=k&action=accept"),
     ("/decide", b"key=" + b"k" * 99 + b"&pair=PAIR&action=accept"), ("/decide", b"key=k&pair=[1,2]&action=accept"),
     ("/decide", b"key=k&pair=" + b"[" * 9999 + b"&action=accept"), ("/decide", b"key=k&pair={}&action=accept"),
     ("/undo", b""), ("/undo", b"key=" + b"k" * 99), ("/alike", b"pairs=PAIR&action=accept"), ("/alike", b"\xff"),
     ("/alike", b"key=k&pairs=PAIR&action=none"), ("/alike", b'key=k&pairs=["gone","t1"]&action=accept'),
     ("/alike", b"key=k&pairs=%C2%B2&action=accept"), ("/alike", b"key=k&pairs=" + b"9" * 5000 + b"&action=accept"),
     ("/queue", b"order=none"), ("/verdict", b"key=nothing"), ("/import", b"\x00\x01"), ("/import", b"a\tb\nc\n")],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_and_changes_nothing(served, path, body):
    session = served.page.session
    pair = quote(pair_text(session.pair_on(session.state.card(0))))
    answer = ask(served.guard, "POST", path, own(served.guard), body.replace(b"PAIR", pair.encode()))
    assert answer.status == 422 and answer.text and is_headed(answer) and served.store.last_id() == 0


def test_numbers_in_filters_that_are_none_are_as_if_not_there(served):
    cookie = entered(served.guard)
    for value in ("inf", "-inf", "x", "1e999", "-5", "9" * 400, "nan"):
        body = urlencode({"least": value, "most": value, "degree": value})
        assert ask(served.guard, "POST", "/queue", own(served.guard, cookie), body.encode()).status == 200
        assert ask(served.guard, "GET", "/", own(served.guard, cookie)).status == 200
    assert served.page.session.positions.position("ann").filter.is_plain


@pytest.mark.parametrize(
    "path",
    [
        "/card/99999",
        "/card/-1",
        "/card/x",
        "/picture/-1",
        "/alike/99999",
        "/evidence/x-y-z",
        "/picture/{run}-99999-1",
        "/alike/{run}-0-99999",
        "/evidence/{run}-0",
        "/picture/{run}-²-1",
        "/evidence/other-0-1",
        "/values/{run}-99999-1",
    ],
)
def test_rows_that_are_not_there(served, path):
    path = path.replace("{run}", served.page.session.state.original.name[:16])
    assert ask(served.guard, "GET", path, own(served.guard)).status in (404, 422)


def test_what_is_not_http_is_not_answered(served):
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(served.guard({"type": "websocket", "headers": [], "path": "/"}, None, send))
    assert sent == [] and served.through == 0


@pytest.mark.parametrize(
    ("host", "local"), [("127.0.0.1", True), ("localhost", True), ("::1", True), ("127.1.2.3", True),
                        ("0.0.0.0", False), ("::", False), ("192.168.1.5", False), ("example.org", False)]
)  # fmt: skip
def test_what_only_this_machine_can_reach(host, local):
    assert is_local(host) == local


def test_listening_elsewhere_warns_and_names_do_not_change(folder, tmp_path):
    words = ["--no-browser", "--port", 0, "--decisions", tmp_path / "d.sqlite"]
    refused = run([*MIXTEA, "review", folder, "--host", "192.0.2.1", *words])
    assert refused.returncode == 2 and "cannot be used" in refused.stderr and "Traceback" not in refused.stderr
    assert "warning: 192.0.2.1 may be reached from other machines" in refused.stderr
    assert Guard(None, "127.0.0.1", 1).hosts == Guard(None, "::1", 1).hosts == {"127.0.0.1:1", "localhost:1", "[::1]:1"}
