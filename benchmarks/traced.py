"""Work in a fork of this process, traced and disturbed by strace.

This process has loaded torch, so that each fork costs little; strace attaches to it. A fork must have no threads.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CALL = re.compile(r"^\d+ +(\w+)\((.*)")
SECONDS = 120  # that a training may take at most, here


@dataclass(frozen=True)
class Call:
    """The `number`-th call of its name."""

    name: str
    number: int


@dataclass(frozen=True)
class Ended:
    """How a child ended, and what it said."""

    code: int
    said: str


class Child:
    """A fork of this process that waits for `go` and then works."""

    def __init__(self, work: Callable[[], object], log: Path) -> None:
        self.log = log
        receive, self.send = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(receive)
            return
        os.close(self.send)
        _allow_attaching()
        written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(written, 1)
        os.dup2(written, 2)
        os.read(receive, 1)
        os._exit(_code_of(work))

    def go(self) -> None:
        os.write(self.send, b"!")
        os.close(self.send)

    def wait(self) -> Ended:
        until = time.monotonic() + SECONDS
        while not (found := os.waitpid(self.pid, os.WNOHANG))[0]:
            if time.monotonic() > until:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.002)
        return Ended(os.waitstatus_to_exitcode(found[1]), self.log.read_text(errors="replace"))


def _allow_attaching() -> None:
    """Some systems let only a parent trace a process, unless that agrees (PR_SET_PTRACER, any)."""
    import ctypes

    ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)


def _code_of(work: Callable[[], object]) -> int:
    try:
        work()
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    except KeyboardInterrupt:
        return 130
    except BaseException:
        traceback.print_exc()
        return 99
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def run(work: Callable[[], object], log: Path) -> Ended:
    child = Child(work, log)
    child.go()
    return child.wait()


def traced(work: Callable[[], object], log: Path, *options: str) -> Ended:
    """Run under strace with these options; its trace is in log.trace."""
    child = Child(work, log)
    words = ["strace", "-f", "-y", "-o", str(log.with_suffix(".trace")), *options, "-p", str(child.pid)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        said = strace.stderr.readline()
        if "attached" not in said:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            sys.exit(f"strace cannot attach: {said}")
        child.go()
        ended = child.wait()
        strace.stderr.read()
    return ended


def calls_of(work: Callable[[], object], log: Path, folder: Path, names: tuple[str, ...]) -> list[Call]:
    """Those calls of the work that touch the folder, in order."""
    ended = traced(work, log, "-e", f"trace={','.join('?' + name for name in names)}")
    if ended.code:
        sys.exit(f"without any disturbance it ends with {ended.code}: {ended.said}")
    counts: Counter[str] = Counter()
    found = []
    for line in log.with_suffix(".trace").read_text(errors="replace").splitlines():
        call = CALL.match(line)
        if call is None:
            continue
        name, rest = call[1], call[2]
        counts[name] += 1
        reads = name in ("openat", "open") and "O_CREAT" not in rest
        if str(folder) in rest and not reads:
            found.append(Call(name, counts[name]))
    return found


def injected(work: Callable[[], object], log: Path, call: Call, what: str) -> Ended:
    return traced(work, log, "-e", f"trace={call.name}", "-e", f"inject={call.name}:{what}:when={call.number}")
