"""Limit the memory and time of a parsing process, and report its errors."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

TYPE_CHECKING = False  # importing typing would take a third of the time that starting takes
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

STATUS = "/proc/self/statm"
FILE_ERROR = 3  # the exit code when the file is at fault
BYTES_PER_GRANT = 6 << 20  # bytes, read or written, that are worth as much computing again: a tenth of the usual speed
BLOCK = 1 << 18  # bytes that are read at a time
MIN_SECONDS = 0.001  # seconds; none would be no limit


class WrongError(Exception):
    """Problem of the file, for the message of the parent process."""

    def __init__(self, what: str, **about: Any) -> None:
        super().__init__(what)
        self.about = {"what": what, **about}


def restrict(mib: int, seconds: float) -> Callable[[int], None]:
    """Limit further memory to `mib`, and computing to `seconds` until the returned function is called again.

    It takes the number of bytes that were read or written, and total computing may not exceed their allowance: else
    each part of a file could take `seconds`. Computing time is limited, so that a busy computer does not shorten it,
    and a process whose parent has gone ends too.
    """
    try:
        import resource
    except ImportError:  # not on this system
        return lambda n: None
    if os.path.exists(STATUS):  # noqa: PTH110 - pathlib takes its time too
        with open(STATUS) as about:  # noqa: PTH123
            pages = int(about.read().split()[0])
        lower_limit(resource.RLIMIT_AS, pages * os.sysconf("SC_PAGE_SIZE") + (mib << 20))
    lower_limit(resource.RLIMIT_CORE, 0)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)

    end = time.process_time() + seconds

    def go_on(n: int) -> None:
        nonlocal end
        end += seconds * n / BYTES_PER_GRANT
        signal.setitimer(signal.ITIMER_PROF, max(min(seconds, end - time.process_time()), MIN_SECONDS))

    go_on(0)
    return go_on


def lower_limit(what: int, value: int) -> None:
    """Lower a limit of the system; one that is lower already stays."""
    import resource

    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def run(work: Callable[[dict[str, Any]], dict[str, Any]]) -> int:
    """Do the work that the last argument describes in JSON; what comes of it goes to standard error, as JSON."""
    wanted = json.loads(sys.argv[-1])
    if wanted.get("without_numpy"):  # half of the time that starting pyarrow takes
        sys.modules["numpy"] = None  # type: ignore[assignment]
    try:
        found, code = work(wanted), 0
    except WrongError as error:
        found, code = error.about, FILE_ERROR
    except BrokenPipeError:  # the parent reads no more
        return 0
    sys.stderr.write("\n" + json.dumps(found))  # in a line of its own, whatever a library has written before
    sys.stderr.flush()
    return code


def main(work: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Do the work, and end at once: taking down what the parser has built can crash where building it did not."""
    code = run(work)
    sys.stdout.flush()
    os._exit(code)
