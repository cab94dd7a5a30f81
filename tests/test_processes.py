"""What tests start hears signals, whatever is ignored here, and does not outlive its test."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import processes
import pytest
from processes import alive, run, start, wait_for_line, wait_until

TREE = """
import subprocess, sys, time
inner = "import time; print('there', flush=True); time.sleep(9999)"
subprocess.Popen([sys.executable, "-c", inner], start_new_session=True)
time.sleep(9999)
"""
STOPPED = "import signal; print([int(signal.getsignal(n) == signal.SIG_IGN) for n in (signal.SIGINT, signal.SIGHUP)])"
CONFTEST = """
import sys
sys.path[:0] = [{tests!r}]
import processes, pytest

def pytest_configure():
    processes.prepare()

@pytest.fixture(autouse=True)
def ended():
    yield
    processes.end_all()
"""
INNER = """
import processes, sys, time

def test_inner():
    process = processes.start([sys.executable, "-c", {tree!r}], stdout=-1, text=True)
    processes.wait_for_line(process.stdout, "there")
    print("begun", *processes.marked(processes.started_mark(process)), flush=True)
    {how}
"""


def with_descendants(process):
    """Its number and those of what it has started, once all are there."""
    wait_for_line(process.stdout, "there")
    found = [*processes.marked(processes.started_mark(process))]
    assert len(found) == 2
    return found


def test_a_process_ends_with_what_it_has_started_in_other_sessions_too():
    process = start([sys.executable, "-c", TREE], stdout=subprocess.PIPE, text=True)
    family = with_descendants(process)
    processes.end_all()
    assert process.returncode == -signal.SIGKILL and not any(map(alive, family)) and process.stdout.closed


def test_those_that_have_lost_their_parent_are_found():
    process = start([sys.executable, "-c", TREE], stdout=subprocess.PIPE, text=True)
    orphan = max(with_descendants(process))
    process.kill()
    process.wait()
    assert alive(orphan)
    assert any(str(orphan) in line for line in processes.left_over())
    processes.end_all()
    assert not alive(orphan)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_signals_are_heard_by_what_is_started_even_if_they_are_ignored_here(number, monkeypatch):
    before = signal.signal(number, signal.SIG_IGN)
    monkeypatch.setenv(processes.MARK, os.environ[processes.MARK])
    try:
        processes.prepare()
        monkeypatch.undo()
        assert run([sys.executable, "-c", STOPPED]).stdout == "[0, 0]\n"
        os.kill(os.getpid(), number)  # nothing happens here
    finally:
        signal.signal(number, before)
    ignoring = run(["bash", "-c", f"trap '' INT HUP; exec {sys.executable} -c '{STOPPED}'"])
    assert ignoring.stdout == "[1, 1]\n"


@pytest.mark.parametrize("how, code", [("assert False", 1), ("time.sleep(9999)", -signal.SIGTERM)])
def test_nothing_is_left_of_a_test_that_fails_or_is_stopped(how, code, tmp_path):
    """A test in a process of its own; the one that hangs is told to end, as `timeout` does it."""
    (tmp_path / "conftest.py").write_text(CONFTEST.format(tests=str(Path(__file__).parent)))
    (tmp_path / "test_inner.py").write_text(INNER.format(tree=TREE, how=how))
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path]
    process = start(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    family = [int(word) for word in wait_for_line(process.stdout, "begun").split()[1:]]
    assert len(family) == 2
    if code < 0:
        process.send_signal(signal.SIGTERM)
    assert process.wait() == code
    wait_until(lambda: not any(map(alive, family)))


def ends_of(how, tmp_path, forked):
    """How a program ended and what it said, after a signal if `how` names one, and what it is to the system."""
    text = "import os, sys, signal; print(sys.argv, __name__, os.getcwd(), os.environ['GIVEN'], flush=True)\n"
    text += "print([signal.getsignal(n) for n in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM)])\n"
    text += "print(os.getppid(), os.getsid(0) == os.getpid(), len(os.listdir('/proc/self/fd')), sys.stdin.read())\n"
    text += f"print(os.environ == dict(os.environ), 'said', file=sys.stderr)\n{how}"
    environment = os.environ | {"GIVEN": "ä\n"}
    command = [sys.executable, "-c", text, "a", "b c"]
    done = run(command, forked=forked, cwd=tmp_path, env=environment, input="asked")
    return done.returncode, done.stdout, done.stderr.splitlines()[:1], done.stderr.splitlines()[-1:]


@pytest.mark.parametrize(
    "how",
    [
        "", "sys.exit(3)", "sys.exit('no')", "1 / 0", "os.kill(os.getpid(), signal.SIGINT); signal.pause()",
        "os.kill(os.getpid(), signal.SIGTERM); signal.pause()", "import atexit; atexit.register(print, 'bye')",
        "import threading, time; threading.Timer(0.1, print, ['late']).start()", "os.close(1); print('more')",
    ],
)  # fmt: skip
def test_a_forked_process_is_like_one_that_was_begun(how, tmp_path):
    assert ends_of(how, tmp_path, True) == ends_of(how, tmp_path, False)


def test_a_forked_process_halts_and_is_found_by_its_mark_and_its_words():
    process = start([sys.executable, "-c", "import time; time.sleep(9999)", "word"], forked=True)
    assert [*processes.marked(processes.started_mark(process))] == [process.pid]
    assert processes.command_of(process.pid) == f"{sys.executable} -c import time; time.sleep(9999) word"
    process.send_signal(signal.SIGSTOP)
    processes.wait_until_halted(process)
    processes.end_all()
    assert process.returncode == -signal.SIGKILL


def test_a_fork_has_imported_torch_and_another_environment_begins_anew():
    command = [sys.executable, "-c", "import sys; print('torch' in sys.modules, '/given' in sys.path)"]
    assert run(command, forked=True).stdout == "True False\n"
    assert run(command, forked=True, env=os.environ | {"PYTHONPATH": "/given"}).stdout == "True True\n"
    assert run(command, forked=True, env=os.environ | {"PYTHONHASHSEED": "7"}).stdout == "False False\n"
    assert run([*processes.MIXTEA, "--version"]).returncode == 0


def test_a_folder_that_is_not_there_is_an_error_in_a_fork_too(tmp_path):
    with pytest.raises(OSError):
        start([*processes.MIXTEA, "--version"], cwd=tmp_path / "none")
    assert run([*processes.MIXTEA, "--version"]).returncode == 0


def test_nobody_starts_processes_otherwise():
    here = Path(__file__).parent
    starts = re.compile(r"subprocess\.(run|Popen|call|check_\w+)\(|os\.(system|fork|popen)\(|\bpty\.")
    known = {here / "processes.py", here / "fork_server.py", Path(__file__)}
    assert [str(path) for path in here.rglob("*.py") if path not in known and starts.search(path.read_text())] == []
