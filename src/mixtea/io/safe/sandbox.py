"""Run a parser in a process of its own, feed it a file, and explain how it ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from threading import Thread
from typing import Any

from mixtea.io.safe.limits import UnreadableError, current_limits, limit_exceeded
from mixtea.io.safe.open import BLOCK
from mixtea.io.safe.sandboxed.restrict import FILE_ERROR

BOOTSTRAP = (  # our folder is looked at first, and for our own modules only: it has names that others may have too
    "import sys; sys.path.insert(0, sys.argv[2]); from importlib import import_module as load\n"
    "start, work = load('sandboxed.restrict').main, load(sys.argv[1]).work; sys.path[:1] = sys.argv[3:-1]; start(work)"
)
NO_MEMORY = ("memory allocation of", "bad_alloc", "MemoryError")
NAME_A_FOLDER = "Make room in the temporary folder, or name one that can be written: TMPDIR=..."
MAKE_ROOM = "Free memory, or allow more memory and processes (ulimit -v, ulimit -u)."
WRITE_AGAIN = "Write the file again, or give it the ending of its format."


class Process:
    """A parser in a process of its own: use as a context, read `out`, then call `result`.

    Its standard input is `file` itself if that is a file of the system, else what can be read from it.
    """

    def __init__(self, path: Path, script: str, kind: str, wanted: dict[str, Any], libraries: Iterable[Path]) -> None:
        self.path, self.kind, self.n_fed = path, kind, 0
        limits = current_limits()
        about = {"mib": limits.max_parser_mib, "seconds": limits.max_stall_seconds, **wanted}
        self.mib = about["mib"]
        folders = [str(Path(__file__).parent), *dict.fromkeys(map(str, libraries))]
        start = [sys.executable or "python3", "-I", "-S", "-c", BOOTSTRAP, f"sandboxed.{script}"]
        self.command = [*start, *folders, json.dumps(about)]
        self.error: BaseException | None = None
        self.feeder: Thread | None = None

    def start(self, file: Any, *, feed: bool) -> Process:
        environment = os.environ | {"RUST_BACKTRACE": "0", "MALLOC_ARENA_MAX": "1"}
        try:
            self.stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        except OSError as error:
            raise self._not_started("no file in a temporary folder", error, NAME_A_FOLDER) from None
        stdin = subprocess.PIPE if feed else file
        streams: dict[str, Any] = {"stdin": stdin, "stderr": self.stderr, "env": environment}
        try:
            self.child = subprocess.Popen(self.command, stdout=subprocess.PIPE, bufsize=BLOCK, **streams)
        except OSError as error:
            self.stderr.close()
            raise self._not_started("no process", error, MAKE_ROOM) from None
        self.out: Any = self.child.stdout
        return self._fed(file) if feed else self

    def _fed(self, file: Any) -> Process:
        feeder = Thread(target=copy_context().run, args=(self._feed, file), daemon=True)  # with our limits
        try:
            feeder.start()
        except RuntimeError as error:
            self.__exit__()
            raise self._not_started("no thread", error, MAKE_ROOM) from None
        self.feeder = feeder
        return self

    def _not_started(self, what: str, error: Exception, todo: str) -> UnreadableError:
        why = getattr(error, "strerror", None) or error
        return UnreadableError(self.path, None, "", f"parsing it needs a process of its own: {what} ({why})", todo)

    def _feed(self, file: Any) -> None:
        """Feed the file; its errors are kept for the reading thread."""
        pipe: Any = self.child.stdin
        with suppress(BrokenPipeError), pipe:  # if the process has ended, its exit code explains it
            try:
                while block := file.read(BLOCK):
                    self.n_fed += len(block)
                    pipe.write(block)
            except BrokenPipeError:
                raise
            except Exception as error:
                self.error = error

    def result(self) -> dict[str, Any]:
        """End the output, and return the process's report; else raise an error that explains what is wrong."""
        self.out.close()
        if self.feeder:
            self.feeder.join()
        code = self.child.wait()
        if self.error:
            raise self.error
        self.stderr.seek(0)
        stderr = self.stderr.read().decode("utf-8", "replace")
        found = self._found(stderr) if code in (0, FILE_ERROR) else None
        if found is None:
            raise self._died(code, stderr)
        if code == FILE_ERROR and "limit" in found:
            raise limit_exceeded(self.path, found.get("line"), found["what"], found["limit"])
        return found

    @staticmethod
    def _found(stderr: str) -> dict[str, Any] | None:
        """Return the last line if it is a report: libraries may write there too."""
        try:
            found = json.loads(stderr.splitlines()[-1])
        except (IndexError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def _died(self, code: int, stderr: str) -> UnreadableError:
        limits = current_limits()
        if code == -getattr(signal, "SIGPROF", 0):
            seconds = f"{limits.max_stall_seconds:g} seconds"
            what = f"parsing it as {self.kind} got nowhere for {seconds}, or takes far longer than its size explains"
            return limit_exceeded(self.path, None, what, "max_stall_seconds")
        if any(sign in stderr for sign in NO_MEMORY):
            what = f"parsing it as {self.kind} needs more than {self.mib:,} MiB"
            return limit_exceeded(self.path, None, what, "max_parser_mib")
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        what = f"not {self.kind}: its parser crashed on it ({how}), as on a file that is damaged or nested too deeply"
        return UnreadableError(self.path, None, "", what, WRITE_AGAIN)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        """End the process and close its files, however far the reading went."""
        self.child.kill()
        self.child.wait()
        if self.feeder:
            self.feeder.join()
        self.out.close()
        self.stderr.close()
