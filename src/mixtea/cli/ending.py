"""End a command: exit codes, one error message, and streams that may be closed or full."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import IO, Any, NoReturn

import typer
from typer import rich_utils

from mixtea.cli.console import one_line
from mixtea.compute.device import is_first
from mixtea.errors import MixTEAError, RunError, StoppedError, is_full_memory
from mixtea.runs.atomic import HARDWARE

INTERRUPTED = 130  # as shells call it
OUTPUT = "standard output"
_WrongCall: Any = typer.BadParameter.__mro__[1]  # wherever this version of Typer keeps it


def end(work: Callable[[], Any], *, advice: str = "") -> NoReturn:
    """Do the work, which may return an exit code, and end the process with it, or with that of an error.

    An interruption ends with 130. If the reader of standard output leaves early, that is a success. An unforeseen error
    is raised again, for its traceback. All this is for people; `advice` is for a program that reads the output: then
    such an error, and a reader that leaves, end in one line and an exit code other than 0, and warnings are left out.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed before we began
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a letter that the terminal lacks is no reason to stop
            stream.reconfigure(errors="backslashreplace")
    output: Any = _Stream(sys.stdout, _name_output)
    errors: Any = _Stream(sys.stderr, _drop)
    with redirect_stdout(output), redirect_stderr(errors):
        handler = logging.StreamHandler()
        handler.setFormatter(_Visible("%(levelname)s: %(message)s"))
        logging.basicConfig(level=logging.WARNING if is_first() and not advice else logging.ERROR, handlers=[handler])
        code = _run(work, advice)
    sys.exit(code)


def _run(work: Callable[[], Any], advice: str) -> int:
    try:
        try:
            Path.cwd()  # without which libraries would end the program
        except OSError as error:
            why = error.strerror
            raise RunError(f"the working folder cannot be used ({why}). Change to one that exists.") from None
        code = work() or 0
        sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except BaseException as error:
        return _ended_by(error, advice)
    if code == INTERRUPTED:
        _say(["interrupted"])
    return int(code)


def _ended_by(error: BaseException, advice: str) -> int:
    """Return the exit code, after a message about the error; without advice, raise it again if it is a bug."""
    is_for_people = not advice
    if is_for_people and (isinstance(error, BrokenPipeError) or (isinstance(error, SystemExit) and _left(error))):
        _redirect_to_null(sys.stdout)
        return 0
    if is_for_people and isinstance(error, _WrongCall):
        error.message = one_line(error.message)
        rich_utils.rich_format_error(error)
        return int(error.exit_code)
    if isinstance(error, MixTEAError):
        first, *others = error.lines()
        _say([first if isinstance(error, StoppedError) else f"error: {first}", *others])
        return error.exit_code
    if is_full_memory(error):
        why = str(error).partition("\n")[0] or type(error).__name__
        advice = "Use smaller graphs, with fewer labels and values, or a machine with more memory."
        _say([f"error: memory is full ({why}). {advice}"])
        return 1
    if isinstance(error, OSError) and error.errno in HARDWARE:
        _redirect_to_null(sys.stdout)
        if error.filename is not None:
            _say([f"error: {error.filename}: cannot be written ({error.strerror}). Make room for it."])
        else:
            _say([f"error: a file could not be read or written ({error.strerror}). Make room, or check the disk."])
        return 1
    if isinstance(error, OSError) and error.filename is not None:
        _say([f"error: {error.filename}: {error.strerror}. Check the path and its permissions."])
        return 2
    if is_for_people:
        raise error
    _say([f"error: {_named(error)}. {advice}"])
    return 1


def _named(error: BaseException) -> str:
    """Name the kind of an error, its message and the place where it was raised."""
    what = "".join(traceback.format_exception_only(error)).strip()
    *_, place = traceback.extract_tb(error.__traceback__)
    return f"{what} ({place.filename}, line {place.lineno})"


def _left(error: BaseException) -> bool:
    """Return whether Typer or Rich ended the program because standard output was closed."""
    cause = error.__context__
    return cause is not None and (isinstance(cause, BrokenPipeError) or _left(cause))


def _say(lines: Iterable[str]) -> None:
    """Print a message on standard error, line by line."""
    print("\n".join(map(one_line, lines)), file=sys.stderr)


class _Visible(logging.Formatter):
    """Formatter with one line per message, whatever it quotes."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return one_line(super().formatMessage(record))


class _Stream:
    """A stream whose errors are handled by a function."""

    def __init__(self, stream: IO[str], on_error: Callable[[IO[str], OSError], None]) -> None:
        self.stream, self.on_error = stream, on_error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        try:
            return self.stream.write(text)
        except OSError as error:
            self.on_error(self.stream, error)
            return len(text)

    def flush(self) -> None:
        try:
            self.stream.flush()
        except OSError as error:
            self.on_error(self.stream, error)


def _name_output(stream: IO[str], error: OSError) -> None:
    """Raise an error of standard output with its name."""
    error.filename = OUTPUT
    raise error


def _drop(stream: IO[str], error: OSError) -> None:
    """Drop messages once standard error is closed, instead of ending the work."""
    _redirect_to_null(stream)


def _redirect_to_null(stream: IO[str]) -> None:
    """Redirect remaining output to the null device, where writing cannot fail."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
