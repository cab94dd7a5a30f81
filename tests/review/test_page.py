"""The page while something takes long, hangs or fails: others go on, and one message tells what happened."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import sys
import threading
from contextlib import closing, suppress
from types import SimpleNamespace

import pytest
from reviewing import decision
from served import form_of

from mixtea.errors import VoterError
from mixtea.review import app as app_module
from mixtea.review.import_export import write_decisions
from mixtea.review.learning import _alone


async def until(condition):
    """Wait for something that comes soon."""
    for _ in range(4000):
        if condition():
            return
        await asyncio.sleep(0.02)
    pytest.fail("it did not come")


# What takes long


def test_who_only_looks_does_not_wait_for_a_locked_file(reviewing):
    async def walk():
        form = form_of((await reviewing.get("/card/3")).text)
        with closing(sqlite3.connect(reviewing.session.state.store.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            deciding = asyncio.create_task(reviewing.post("/decide", **form, action="accept"))
            await asyncio.sleep(0.1)
            pages = [await reviewing.get(path) for path in ("/card/5", "/team", "/log", "/status", "/")]
            assert [page.status for page in pages] == [200] * 5 and not deciding.done()
            other.execute("COMMIT")
        assert (await deciding).status == 200

    asyncio.run(walk())
    assert reviewing.session.state.store.last_id() == 1


def test_a_voter_that_hangs_holds_nobody_up(reviewing, monkeypatch):
    monkeypatch.setattr(app_module, "PREPARE_SECONDS", 0.01)
    monkeypatch.setattr(app_module, "EVIDENCE_SECONDS", 0.05)
    ends, maker = threading.Event(), reviewing.session.state.card_maker(0)[0]
    monkeypatch.setattr(maker.voter_evidence, "function", lambda *_: ends.wait(30))

    async def walk():
        page = await reviewing.get("/card/3")
        assert "being gathered" in page.text
        of = page.text.partition("/evidence/")[2].partition('"')[0]
        for _ in range(3):
            evidence = await reviewing.get(f"/evidence/{of}")
            assert evidence.status == 200 and "could not be gathered: it took more than" in evidence.text
        assert (await reviewing.decide(3)).status == 200 and (await reviewing.get(f"/picture/{of}")).status == 200

    try:
        asyncio.run(walk())
    finally:
        ends.set()


def test_a_card_does_not_wait_for_the_index_and_its_values_are_compared_afterwards(reviewing, monkeypatch):
    monkeypatch.setattr(app_module, "PREPARE_SECONDS", 0.0)
    compare, ends = reviewing.session.state.card_maker(0)[0].values, threading.Event()

    def hanging(*_):
        ends.wait(30)
        raise VoterError("it is too late")

    async def walk():
        page = (await reviewing.get("/card/3")).text
        asks = re.search(r'<div class="compared" hx-get="(/values/[^"]+)"([^>]+)>', page)
        address, own = asks.groups()  # not the target and the queue of the form around it
        assert 'hx-target="this"' in own and 'hx-sync="this:drop"' in own
        assert page.index("<caption>Values") < page.index("<caption>Neighbours")
        assert "not compared" in page and not re.search("similar|different", page)
        with monkeypatch.context() as patch:
            patch.setattr(app_module, "EVIDENCE_SECONDS", 0.05)
            patch.setattr(compare, "function", hanging)
            late = await reviewing.get(address)
            assert late.status == 200 and "not compared" in late.text and "hx-get" not in late.text
            ends.set()
        found = (await reviewing.get(address)).text
        assert re.search("similar|different", found) and "not compared" not in found and "hx-get" not in found

    asyncio.run(walk())


def test_evidence_that_fails_is_said(reviewing, monkeypatch):
    def failing(*_):
        raise VoterError("the voter moody of the package moods failed")

    monkeypatch.setattr(reviewing.session.state.card_maker(0)[0].voter_evidence, "function", failing)

    async def walk():
        page = (await reviewing.get("/card/3")).text
        return await reviewing.get(f"/evidence/{page.partition('/evidence/')[2].partition(chr(34))[0]}")

    assert "could not be gathered: the voter moody of the package moods failed" in asyncio.run(walk()).text


def test_others_decide_while_a_file_is_taken_over_and_rows_are_counted_that_are_new(reviewing, tmp_path, monkeypatch):
    monkeypatch.setattr(app_module, "ROWS_PER_WRITE", 2)
    task, path = reviewing.session.state.original.task, tmp_path / "d.sssom.tsv"
    rows = [decision(f"i{n}", "accept", f"s{n}", f"t{n}", reviewer="eve", id=n + 1) for n in range(30, 60)]
    write_decisions(task, rows, {}, path)

    async def walk():
        importing = asyncio.create_task(reviewing.sent("/import", path.read_bytes()))
        first = [await reviewing.decide(row) for row in range(3)]
        assert [answer.status for answer in first] == [200] * 3
        assert "30 decisions taken over from a file of 30" in (await importing).text
        assert "0 decisions taken over from a file of 30" in (await reviewing.sent("/import", path.read_bytes())).text

    asyncio.run(walk())
    assert len(reviewing.session.state.index.active) == 33 == reviewing.session.state.store.last_id()


# Learning


LEARNS = "import json, sys; print(json.dumps({'done': True, 'last_id': 1}))"
HANGS = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('{}', flush=True); time.sleep(600)"


def learned(reviewing, code):
    """What the status says after a learning by this program."""
    reviewing.training.command = [sys.executable, "-c", code]

    async def walk():
        await reviewing.decide(3)
        await reviewing.post("/train")
        await until(lambda: not reviewing.training.is_running)
        return (await reviewing.get("/status")).text

    return asyncio.run(walk())


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (LEARNS, "no such run folder"),  # it has trained, and its run cannot be read
        ("import sys; sys.exit('error: no more room')", "no more room"),
        ("import os; os.abort()", "ended without a message"),
        ("print('[]', '1', 'x', sep=chr(10))", "ended without a message"),  # nothing that mixtea writes
        ("raise RuntimeError('x')", "RuntimeError: x"),
    ],
)
def test_a_learning_that_fails_leaves_the_model_and_one_message(reviewing, code, said):
    text = learned(reviewing, code)
    assert text.count("The training failed:") == 1 and said in text
    assert reviewing.session.state.current is reviewing.session.state.original and "Learn now" in text


def test_a_learning_that_hangs_can_be_stopped(reviewing):
    reviewing.training.command = [sys.executable, "-c", HANGS]

    async def walk():
        await reviewing.post("/train")
        await until(lambda: reviewing.training.process is not None)
        process = reviewing.training.process
        assert "Stop learning" in (await reviewing.get("/status")).text
        assert (await reviewing.decide(3)).status == 200
        assert "Learn now" in (await reviewing.post("/stop")).text
        assert process.returncode is not None and not reviewing.training.is_running
        assert "Learn now" in (await reviewing.post("/stop")).text  # where nothing runs

    asyncio.run(walk())


def test_one_server_learns_and_another_says_who_does(reviewing):
    async def walk():
        with _alone(reviewing.session.state.reviewed_run, "bob"):
            await reviewing.post("/train")
            await until(lambda: not reviewing.training.is_running)
        return (await reviewing.get("/status")).text

    text = asyncio.run(walk())
    assert "Learning from these decisions is under way: bob, process" in text
    folder = reviewing.session.state.run.parent
    assert [path.name for path in folder.glob("*.learning")] == [] and not reviewing.session.state.reviewed_run.exists()


def test_what_cannot_be_prepared_is_said_and_the_page_goes_on(reviewing, monkeypatch):
    def failing():
        raise RuntimeError("an index is broken")

    reviewing.session.state.is_prepared = False
    monkeypatch.setattr(reviewing.session.state, "load", failing)

    async def walk():
        warm = asyncio.create_task(reviewing.training.warm_up())
        page = await reviewing.get("/card/3")
        of = page.text.partition("/alike/")[2].partition('"')[0]
        evidence = await reviewing.get(f"/evidence/{of}")
        status = await reviewing.get("/status")
        warm.cancel()
        with suppress(asyncio.CancelledError):
            await warm
        return evidence, status

    evidence, status = asyncio.run(walk())
    assert evidence.status == 200 and "Who votes for it" in evidence.text and "an index is broken" in status.text


def test_a_run_that_another_server_has_trained_is_taken_up(reviewing, monkeypatch):
    found, session = SimpleNamespace(name="new"), reviewing.session
    adopted = []
    monkeypatch.setattr(session.state, "load_trained", lambda: (found, 7))
    monkeypatch.setattr(session.state, "adopt", lambda *trained: adopted.append(trained))

    async def walk():
        await reviewing.training._take_up_trained()
        assert adopted == []
        session.state.reviewed_run.mkdir()
        (session.state.reviewed_run / "run.json").write_text("{}")
        for _ in range(2):
            await reviewing.training._take_up_trained()

    asyncio.run(walk())
    assert adopted == [(found, 7)]
