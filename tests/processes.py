"""Processes that tests start: each hears the usual signals, and ends with its test, with all that it has started.

A family is known by a mark in its environment, which is inherited whatever else becomes of a process: a session of its
own, another parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

SERVER = str(Path(__file__).parent / "fork_server.py")
SERVER_ROOM = 4096  # bytes of the server's command line and mark that its children write their own in
LONG = 600.0  # seconds. No test depends on time, but one that hangs is to end some day
MARK = "MIXTEA_TESTS"
MIXTEA = (sys.executable, "-m", "mixtea")
READ_AT_START = re.compile(r"PYTHON(?!PATH$)|LC_|LANG|LD_|MALLOC_|COV")  # by Python and by the C library
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER
_started: dict[subprocess.Popen, tuple[str, threading.Timer]] = {}
_numbers = itertools.count(1)


def prepare() -> None:
    """Mark what this process starts, let it hear signals that are ignored here, and see to it that it is not left.

    What a process ignores, as under `nohup ... &`, those that it starts ignore too; what it handles, they do not.
    """
    os.environ[MARK] = f"{os.environ.get(MARK, '/')}{os.getpid()}/"
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _ignored)
        elif signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end_with_all)


def _ignored(number: int, frame: object) -> None:
    pass


def _end_with_all(number: int, frame: object) -> None:
    kill_own()
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


class ForkServer:
    """The process that has imported what takes long, and is forked; begun when it is first needed."""

    def __init__(self) -> None:
        self.process: subprocess.Popen | None = None

    def begin(self) -> None:
        self.asks, answers = socket.socketpair()
        mark = f"{os.environ[MARK]}fork-server/"
        self.environment = dict(os.environ)
        command = [sys.executable, SERVER, str(answers.fileno()), " " * SERVER_ROOM]
        environment = self.environment | {MARK: mark.ljust(SERVER_ROOM), "OMP_NUM_THREADS": "1"}
        options = dict(start_new_session=True, stdin=subprocess.DEVNULL, pass_fds=[answers.fileno()])
        with answers:
            self.process = subprocess.Popen(command, env=environment, **options)
        assert self.asks.recv(5) == b"ready", "the fork server did not begin"

    def end(self) -> None:
        if self.process is not None:
            self.asks.close()
            self.process.wait()
            self.process = None

    def takes(self, environment: dict[str, str]) -> bool:
        """Whether a fork has what Python and its libraries read in the environment when they begin."""
        if self.process is None or self.process.poll() is not None:
            self.begin()
        names = {name for name in {*environment, *self.environment} if READ_AT_START.match(name)} - {
            "OMP_NUM_THREADS",
            "PYTHONPATH",
        }
        return all(environment.get(name) == self.environment.get(name) for name in names)

    def fork(self, command: list[str], environment: dict[str, str], folder: str, streams: list[int]) -> int:
        """The number of a child of this process that is what the command would have started."""
        text = json.dumps([MARK, command[1:], environment, folder]).encode()
        adopt = ctypes.CDLL(None).prctl
        adopt(ADOPT_ORPHANS, 1)
        try:
            socket.send_fds(self.asks, [len(text).to_bytes(8)], streams)
            self.asks.sendall(text)
            number = int(self.asks.recv(20, socket.MSG_WAITALL))
        finally:
            adopt(ADOPT_ORPHANS, 0)
        if number < 0:
            raise OSError(-number, os.strerror(-number), folder)
        return number


class Forked(subprocess.Popen):
    """A process that was forked from the server, and is otherwise like one that was begun."""

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags,
                       shell, *streams_and_more) -> None:  # fmt: skip
        stdin, _, _, stdout, _, stderr = streams = streams_and_more[:6]
        given = [own if stream == -1 else stream for own, stream in enumerate((stdin, stdout, stderr))]
        self.pid = _server.fork(args, env, os.fspath(cwd or Path.cwd()), given)
        self._child_created = True
        self._close_pipe_fds(*streams)


_server = ForkServer()


def start(
    command: Iterable[object], *, shared: bool = False, forked: bool | None = None, **options: Any
) -> subprocess.Popen:
    """Begin a process, as subprocess.Popen does; what is left of it is killed when the test ends.

    The command mixtea, and other Python if it is to be `forked`, comes from a server that has imported it, unless its
    environment says otherwise. Who begins a process that several tests share ends it, or the end of the session does.
    """
    words, environment = [str(word) for word in command], dict(options.pop("env", None) or os.environ)
    if not shared:
        environment[MARK] = mark = f"{os.environ[MARK]}process-{next(_numbers)}/"
    if forked is None:
        forked = tuple(words[: len(MIXTEA)]) == MIXTEA
    kind = Forked if forked and _server.takes(environment) else subprocess.Popen
    process = kind(words, start_new_session=True, env=environment, **options)
    if not shared:
        timer = threading.Timer(LONG, kill, [mark])
        timer.daemon = True
        timer.start()
        _started[process] = mark, timer
    return process


def end_server() -> None:
    """End what processes are forked from; it begins anew when it is needed."""
    _server.end()


def run(command: Iterable[object], *, input: str | None = None, **options: Any) -> subprocess.CompletedProcess:
    """How a process ended, and what it said."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    process = start(command, **options, **({} if input is None else {"stdin": subprocess.PIPE}))
    try:
        out, err = process.communicate(input)
    finally:
        end(process)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def end(process: subprocess.Popen) -> None:
    """Kill it, and whatever it has started; nothing happens to what has ended."""
    mark, timer = _started.pop(process)
    timer.cancel()
    kill(mark)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


def started_mark(process: subprocess.Popen) -> str:
    """The mark of its family."""
    return _started[process][0]


def end_all() -> None:
    for process in [*_started]:
        end(process)


def kill(mark: str) -> None:
    """Kill all processes with this mark, and those that they start meanwhile."""
    while found := [*marked(mark)]:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def kill_own() -> None:
    """Kill all that this process has started, and what that has started."""
    kill(os.environ[MARK])


def marked(mark: str) -> Iterator[int]:
    """The processes with this mark that have not ended."""
    wanted = f"{MARK}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(folder.name) != os.getpid() and wanted in (folder / "environ").read_bytes() and alive(folder.name):
                yield int(folder.name)


def alive(pid: int | str) -> bool:
    """Whether the process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """What a process has started, in order."""
    return sorted(int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


def command_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def wait_until(true: Callable[[], object], process: subprocess.Popen | None = None, *, seconds: float = LONG) -> None:
    """Wait for an event, during which the process must not end."""
    until = time.monotonic() + seconds
    while not true():
        assert process is None or process.poll() is None, f"ended with {process.returncode}"
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.01)


def wait_until_halted(process: subprocess.Popen) -> None:
    """Wait for a process that halts itself (SIGSTOP); it goes on with SIGCONT."""
    assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1]), "it ended instead"


def wait_for_line(stream: Iterable[str], text: str) -> str:
    """The first line with this text that a process says; all up to there is read."""
    said = []
    for line in stream:
        said.append(line)
        if text in line:
            return line
    raise AssertionError(f"{text!r} was never said: {''.join(said)}")


def left_over() -> list[str]:
    """What this process has started, directly or not, and what is still there."""
    own = [int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()]
    commands = {pid: command_of(pid) for pid in {*marked(os.environ[MARK]), *filter(alive, own)}}
    helper = "multiprocessing.resource_tracker"  # Python keeps it as long as this process
    return [f"{pid} {command}" for pid, command in commands.items() if helper not in command]
