"""A server that is killed loses nothing that it has acknowledged; one that is told to end does so cleanly."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from processes import MIXTEA, alive, children, run, wait_until
from served import form_of, serving, small_run

from mixtea.review.decisions import DecisionStore
from mixtea.review.model import Model
from mixtea.review.server import _listening

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "review_kills.py"


@pytest.fixture(scope="module")
def folder(rings, tmp_path_factory):
    return small_run(rings, tmp_path_factory.mktemp("killed") / "run", preset="paper", max_epochs=1, device="cpu")


def decide(server, cookie, row=0):
    form = server.card(f"/card/{row}", cookie)
    status, _, text = server.ask("POST", "/decide", form | {"action": "accept"}, cookie)
    assert status == 200 and "Saved." in text
    return form["key"]


def keys(file: Path) -> list[str]:
    store = DecisionStore(file)
    try:
        return [one.key for one in store.rows()]
    finally:
        store.close()


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.search)])
def test_nothing_that_was_acknowledged_is_lost_or_there_twice(kills):
    done = run([sys.executable, SCRIPT, "--kills", kills], forked=True)
    assert done.returncode == 0, done.stdout + done.stderr
    cells = [cell.strip() for cell in done.stdout.splitlines()[-1].strip("| ").split("|")]
    assert cells[1] == str(kills) and int(cells[2]) > kills and cells[-1] == "0"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(folder, tmp_path, number):
    file = tmp_path / "decisions.sqlite"
    with serving(folder, "--decisions", file) as server:
        cookie = server.enter()
        decided = [decide(server, cookie, row) for row in range(3)]
        assert (server.stop(number), server.said()) == (0, "")
    assert keys(file) == decided and [path.name for path in tmp_path.iterdir()] == ["decisions.sqlite"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_a_request_is_half_sent(folder, tmp_path, number):
    with serving(folder, "--decisions", tmp_path / "decisions.sqlite") as server:
        cookie = server.enter()
        head = (
            f"POST /decide HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.origin}\r\nCookie: {cookie}\r\n"
        )
        with socket.create_connection(("127.0.0.1", server.port)) as link:
            link.sendall(f"{head}Content-Length: 1000\r\n\r\nkey=".encode())
            assert server.ask("GET", "/card", None, cookie)[0] == 200
            assert server.stop(number) == 0


LET_IN = b" HTTP/1.1\r\nHost: HOST\r\nCOOKIE\r\nORIGIN\r\n"
MALFORMED = [
    b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /\xff\xfe" + LET_IN + b"\r\n",
    b"POST /decide" + LET_IN + b"Content-Length: -1\r\n\r\n", b"GET /%00%ff" + LET_IN + b"\r\n",
    b"POST /decide" + LET_IN + b"Content-Length: 100\r\n\r\nkey=",
    b"POST /import" + LET_IN + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /import" + LET_IN + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
    b"GET /card/" + b"9" * 5000 + LET_IN + b"\r\n", b"OPTIONS *" + LET_IN + b"\r\n", b"GET http://[" + LET_IN + b"\r\n",
    b"GET /enter?token=%ff%00" + LET_IN + b"\r\n", b"GET /" + LET_IN + b"Cookie: \xff\xfe=\x80\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 3000 + b"\r\n",
]  # fmt: skip


def test_malformed_requests_are_not_answered_by_a_traceback(folder, tmp_path):
    with serving(folder, "--decisions", tmp_path / "decisions.sqlite") as server:
        cookie = server.enter()
        known = {
            b"HOST": f"127.0.0.1:{server.port}",
            b"COOKIE": f"Cookie: {cookie}",
            b"ORIGIN": f"Origin: {server.origin}",
        }
        for content in MALFORMED:
            for name, value in known.items():
                content = content.replace(name, value.encode())
            with socket.create_connection(("127.0.0.1", server.port)) as link:
                link.sendall(content)
                link.settimeout(0.3)
                with suppress(TimeoutError, ConnectionError):
                    link.recv(1000)
        assert server.ask("GET", "/card", None, cookie)[0] == 200
        assert server.stop() == 0
        said = server.said()
        assert "Traceback" not in said and set(said.splitlines()) <= {"WARNING:  Invalid HTTP request received."}, said


def test_a_signal_ends_a_training_too(folder, tmp_path):
    with serving(folder, "--decisions", tmp_path / "decisions.sqlite") as server:
        cookie = server.enter()
        decide(server, cookie)
        assert "Learning from your decisions" in server.ask("POST", "/train", {}, cookie)[2]
        wait_until(lambda: children(server.process.pid), server.process)
        training = children(server.process.pid)
        assert (server.stop(), server.said()) == (0, "") and not any(map(alive, training))
    assert not folder.with_name("run.reviewed").exists()


def test_a_second_server_goes_on_where_the_killed_one_was(folder, tmp_path, rings):
    """At the same place; and cards that were open are decided as they were seen, whatever is likely by now."""
    file, model = tmp_path / "decisions.sqlite", Model(folder)
    known, plain = (int(model.row_of[links[0, 0]]) for links in (rings.valid, rings.test))
    with serving(folder, "--decisions", file) as server:
        other = server.enter(server.invite("another"))
        seen, asked = (json.loads(server.card(f"/card/{row}", other)["pair"]) for row in (plain, known))
        page = server.ask("GET", "/", None, server.cookie)[2]
        for _ in range(4):
            page = server.ask("POST", "/decide", form_of(page) | {"action": "accept"}, server.cookie)[2]
        server.process.kill()
        server.process.wait()
    assert len(keys(file)) == 4 and len(seen) == 10
    with serving(folder, "--decisions", file) as server:
        cookie = server.enter()
        again = server.ask("GET", "/", None, cookie)[2]
        assert form_of(page)["pair"] == form_of(again)["pair"]
        turned = [seen[0], *seen[:0:-1]]
        for key, shown, status in (("a", turned, 200), ("b", [seen[0], "gone"], 422), ("c", asked, 200)):
            form = {"key": key, "pair": json.dumps(shown), "action": "accept", "place": min(len(shown) - 2, 1)}
            assert server.ask("POST", "/decide", form, cookie)[0] == status
    store = DecisionStore(file)
    kept = store.rows()[4:]
    store.close()
    assert [(one.source, one.target, one.others) for one in kept] == [
        (shown[0], shown[2], tuple(shown[1:])) for shown in (turned, asked)
    ]
    assert [one.reason for one in kept] == ["", "known"]  # which a known one stays


@pytest.fixture(scope="module")
def server(folder):
    with serving(folder) as server:
        yield server


def test_a_copy_can_be_taken_while_it_runs(server, folder, tmp_path):
    cookie, copy = server.enter(server.invite("copies")), tmp_path / "copy.sqlite"
    decided = [decide(server, cookie, row) for row in range(3)]
    done = run([*MIXTEA, "review", folder, "--copy", copy])
    assert (done.returncode, done.stderr) == (0, "") and f"{copy}: " in done.stdout
    assert keys(copy)[-3:] == decided
    with sqlite3.connect(copy) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    base.close()
    decided.append(decide(server, cookie, 4))
    assert keys(folder.with_name("run.decisions.sqlite"))[-4:] == decided


def test_two_servers_may_have_the_same_file(server, folder):
    with serving(folder) as other:
        cookies = {one: one.enter(one.invite("twice")) for one in (server, other)}
        decided = [decide(one, cookies[one], row) for row in range(5, 9) for one in cookies]
        shown = [one.ask("GET", "/", None, cookies[one])[2].partition("</strong> of")[0][-3:] for one in cookies]
        assert shown[0] == shown[1]
    assert keys(folder.with_name("run.decisions.sqlite"))[-8:] == decided


def test_a_port_that_is_taken_is_said(server, folder, tmp_path):
    file = tmp_path / "decisions.sqlite"
    done = run([*MIXTEA, "review", folder, "--no-browser", "--port", server.port, "--decisions", file])
    assert done.returncode == 2 and f"port {server.port} of 127.0.0.1 cannot be used" in done.stderr
    assert "Traceback" not in done.stderr and not file.exists()


def test_who_comes_at_once_is_neither_turned_away_nor_made_to_wait():
    listening = _listening("127.0.0.1", 0)
    try:
        assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)  # already when the address is told
        assert listening.proto == socket.IPPROTO_TCP  # asyncio turns Nagle's algorithm off only if it is named
    finally:
        listening.close()
