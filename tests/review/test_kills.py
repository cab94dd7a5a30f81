"""A server that is killed loses nothing that it has acknowledged; one that is told to end does so cleanly."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import sys
import uuid
from pathlib import Path

import pytest
from processes import MIXTEA, alive, children, run, wait_until
from served import serving, small_run

from mixtea.review.decisions import Decisions
from mixtea.review.model import Model
from mixtea.review.server import _listening

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "review_kills.py"


@pytest.fixture(scope="module")
def folder(rings, tmp_path_factory):
    return small_run(rings, tmp_path_factory.mktemp("killed") / "run", preset="paper", max_epochs=1, device="cpu")


def decide(server, cookie, row=0):
    key = uuid.uuid4().hex
    status, _, text = server.ask("POST", "/decide", {"key": key, "row": row, "action": "accept"}, cookie)
    assert status == 200 and "Saved." in text
    return key


def keys(file: Path) -> list[str]:
    store = Decisions(file)
    try:
        return [one.key for one in store.rows()]
    finally:
        store.close()


def test_nothing_that_was_acknowledged_is_lost_or_there_twice():
    done = run([sys.executable, SCRIPT, "--kills", 6], env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    cells = [cell.strip() for cell in done.stdout.splitlines()[-1].strip("| ").split("|")]
    assert cells[1] == "6" and int(cells[2]) > 6 and cells[-1] == "0"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(folder, tmp_path, number):
    file = tmp_path / "decisions.sqlite"
    with serving(folder, "--decisions", file) as server:
        cookie = server.enter()
        decided = [decide(server, cookie, row) for row in range(3)]
        assert (server.stop(number), server.said()) == (0, "")
    assert keys(file) == decided and [path.name for path in tmp_path.iterdir()] == ["decisions.sqlite"]


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
    file, ids, model = tmp_path / "decisions.sqlite", rings.target.ids, Model(folder)
    known, plain = (int(model.row_of[links[0, 0]]) for links in (rings.valid, rings.test))
    with serving(folder, "--decisions", file) as server:
        other = server.enter(server.invite("another"))
        seen = value_of(server.ask("GET", f"/card/{plain}", None, other)[2], "seen").split()
        page = server.ask("GET", "/", None, server.cookie)[2]
        for _ in range(4):
            form = {"key": value_of(page, "key", 1), "row": value_of(page, "row"), "action": "accept"}
            page = server.ask("POST", "/decide", form, server.cookie)[2]
        server.process.kill()
        server.process.wait()
    assert len(keys(file)) == 4 and len(seen) == 9
    with serving(folder, "--decisions", file) as server:
        cookie = server.enter()
        again = server.ask("GET", "/", None, cookie)[2]
        assert value_of(page, "row") == value_of(again, "row")
        for key, row, place, shown in (("a", plain, 1, seen[::-1]), ("b", plain, 0, ["99999"]), ("c", known, 0, [])):
            form = {"key": key, "row": row, "action": "accept", "place": place, "seen": " ".join(shown)}
            assert server.ask("POST", "/decide", form, cookie)[0] == 200
    store = Decisions(file)
    kept = store.rows()[4:]
    store.close()
    assert [one.target for one in kept[:2]] == [ids[int(seen[-2])], ids[int(seen[0])]]
    assert kept[0].others == tuple(ids[int(number)] for number in seen[::-1])
    assert [one.reason for one in kept] == ["", "", "known"]  # which a known one stays


def value_of(page: str, name: str, place: int = 0) -> str:
    """What a hidden field of the card holds, the first one of this name or another."""
    return re.findall(rf'name="{name}" value="([^"]*)"', page)[place]


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
