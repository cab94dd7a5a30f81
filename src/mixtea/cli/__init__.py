"""The command `mixtea`: one file a verb, no logic of its own."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import IO, Annotated, Any

import typer
from typer import rich_utils

from mixtea.cli.demo import demo
from mixtea.cli.evaluate import evaluate
from mixtea.cli.export import export
from mixtea.cli.fit import fit
from mixtea.cli.info import info
from mixtea.cli.inspect import inspect
from mixtea.cli.predict import predict
from mixtea.cli.reproduce import reproduce
from mixtea.cli.review import review
from mixtea.cli.saying import one_line
from mixtea.cli.score import score
from mixtea.cli.settings import listed, settings
from mixtea.cli.split import split
from mixtea.cli.tune import tune
from mixtea.compute.torchrun import is_first
from mixtea.errors import MixTEAError, RunError, StoppedError, is_full_memory
from mixtea.runs.atomic import HARDWARE

INTERRUPTED = 130  # as shells call it
OUTPUT = "standard output"
_WrongCall: Any = typer.BadParameter.__mro__[1]  # wherever this version of Typer keeps it

app = typer.Typer(
    name="mixtea",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def about(
    version: Annotated[bool, typer.Option("--version", is_eager=True, help="Show the version and stop.")] = False,
) -> None:
    """Find which entities of two knowledge graphs are the same, from a few known links.

    Start with: mixtea demo
    """
    if version:
        from mixtea import __version__

        typer.echo(f"mixtea {__version__}")
        raise typer.Exit


for verb in (demo, inspect, split, fit, tune, predict, score, export, review, evaluate, reproduce, settings, info):
    app.command(epilog=listed() if verb is fit else None)(verb)


def main() -> None:
    """Exit code 0 for success, 2 for a wrong call or bad input (one message on stderr), 1 for anything else.

    Interrupted it is 130. Who reads standard output may leave early: that is a success.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed before we began
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a letter that the terminal lacks is no reason to stop
            stream.reconfigure(errors="backslashreplace")
    output: Any = _Output(sys.stdout)
    with redirect_stdout(output), redirect_stderr(_Aside(sys.stderr)):
        _log()
        code = _run()
    sys.exit(code)


def _run() -> int:
    try:
        _check_folder()
        code = app(standalone_mode=False) or 0
        sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except (Exception, SystemExit) as error:
        return _ended_by(error)
    if code == INTERRUPTED:
        _say(["interrupted"])
    return int(code)


def _check_folder() -> None:
    """Libraries that we need end the program where there is none."""
    try:
        Path.cwd()
    except OSError as error:
        raise RunError(f"the working folder cannot be used ({error.strerror}). Change to one that exists.") from None


def _ended_by(error: BaseException) -> int:
    """The exit code, after a word about the error; it is raised again if it is a bug."""
    if isinstance(error, BrokenPipeError) or (isinstance(error, SystemExit) and _left(error)):
        _to_nowhere(sys.stdout)
        return 0
    if isinstance(error, _WrongCall):
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
        _to_nowhere(sys.stdout)
        if error.filename is not None:
            _say([f"error: {error.filename}: cannot be written ({error.strerror}). Make room for it."])
        else:
            _say([f"error: a file could not be read or written ({error.strerror}). Make room, or check the disk."])
        return 1
    if isinstance(error, OSError) and error.filename is not None:
        _say([f"error: {error.filename}: {error.strerror}. Check the path and its permissions."])
        return 2
    raise error


def _left(error: BaseException) -> bool:
    """Whether Typer or Rich ended the program because nobody reads standard output any more."""
    cause = error.__context__
    return cause is not None and (isinstance(cause, BrokenPipeError) or _left(cause))


def _say(lines: Iterable[str]) -> None:
    """A message on standard error, in the lines that it is meant to have."""
    print("\n".join(map(one_line, lines)), file=sys.stderr)


class _Visible(logging.Formatter):
    """A line for each message, whatever it quotes."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return one_line(super().formatMessage(record))


def _log() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_Visible("%(levelname)s: %(message)s"))
    first = is_first()
    logging.basicConfig(level=logging.WARNING if first else logging.ERROR, handlers=[handler])


class _Stream:
    """A stream that something is added to."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _Output(_Stream):
    """Standard output, whose errors say that they are of it."""

    def write(self, text: str) -> int:
        with _of_output():
            return self.stream.write(text)

    def flush(self) -> None:
        with _of_output():
            self.stream.flush()


@contextmanager
def _of_output() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = OUTPUT
        raise


class _Aside(_Stream):
    """Standard error as long as somebody listens: what is said there is never worth the work."""

    def write(self, text: str) -> int:
        try:
            return self.stream.write(text)
        except OSError:
            _to_nowhere(self.stream)
            return len(text)

    def flush(self) -> None:
        try:
            self.stream.flush()
        except OSError:
            _to_nowhere(self.stream)


def _to_nowhere(stream: IO[str]) -> None:
    """What is still to be written, at the end of the program too, goes where it cannot fail."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
