"""Progress of long computations: a bar in a terminal, a line in a notebook, or calls of a function."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from mixtea.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

MIN_WIDE_COLUMNS = 105  # columns for a bar with all of its numbers; where there are fewer, the losses are left out
REFRESH_SECONDS = 0.2  # seconds between two changes of a line in a notebook
MAX_SILENT_SECONDS = (
    7.0  # seconds until a terminal or a log is told what is waited for; long products delay that by seconds
)
ProgressCallback = Callable[[int, int, str], object]  # how much is done, of how much, and how it goes in words
ProgressOption = bool | ProgressCallback | None
_listener: ContextVar[Callable[[str], None] | None] = ContextVar("mixtea_doing", default=None)


def doing(what: str) -> None:
    """Report the current step, such as `reading a.csv`, to the listener; it is shown if it lasts."""
    if (tell := _listener.get()) is not None:
        tell(what)


@contextmanager
def listening(tell: Callable[[str], None]) -> Iterator[None]:
    """Pass reports of `doing` to a function, in this thread and while the block runs.

    >>> heard = []
    >>> with listening(heard.append):
    ...     doing("reading a.csv")
    >>> doing("nobody hears that")
    >>> heard
    ['reading a.csv']
    """
    token = _listener.set(tell)
    try:
        yield
    finally:
        _listener.reset(token)


class Heartbeat:
    """A context that reports the current step after MAX_SILENT_SECONDS seconds without output."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say, self.what = say, "starting"
        self.since = self.last = time.monotonic()
        self._ended = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def doing(self, what: str) -> None:
        self.what, self.since = what, time.monotonic()

    def said(self) -> None:
        """Note that something was shown just now."""
        self.last = time.monotonic()

    def _run(self) -> None:
        while not self._ended.wait(max(self.last + MAX_SILENT_SECONDS - time.monotonic(), 0)):
            if time.monotonic() - self.last >= MAX_SILENT_SECONDS:
                self.say(f"{self.what} ({time.monotonic() - self.since:.0f} s)")
                self.said()


def progress_callback(progress: ProgressOption) -> ProgressCallback | bool:
    """Return the callback of an option: a function, True (terminal) or False. None is a line in notebooks alone."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise ConfigError(
            f"progress is {progress!r:.100}. Choose True, False, None (in notebooks alone) or a function."
        )
    if callable(progress) or progress is False:
        return progress
    return NotebookLine() if in_notebook() else bool(progress)


def training_progress(progress: ProgressOption, max_epochs: int) -> SilentProgress:
    """Return the progress display of a training."""
    tell = progress_callback(progress)
    if tell is True:
        from rich.console import Console

        return TerminalProgress(max_epochs, Console(stderr=True))
    return CallbackProgress(max_epochs, tell) if callable(tell) else SilentProgress(max_epochs)


def text_progress() -> Callable[[int, int], None] | None:
    """Return a display of texts read by a model: a line in a notebook, and nothing elsewhere."""
    if not in_notebook():
        return None
    line = NotebookLine()
    return lambda done, of: line(done, of, "texts")


def chain(first: Callable[..., None], second: Callable[..., None] | None) -> Callable[..., None]:
    """Return a function that calls the two, one after the other."""

    def call(*args: Any) -> None:
        first(*args)
        if second is not None:
            second(*args)

    return call


def in_notebook() -> bool:
    """Return whether this runs in a kernel of Jupyter; nothing is imported to find out."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


class NotebookLine:
    """A bar and words, in one line of a notebook's output that changes."""

    def __init__(self) -> None:
        self.handle: Any = None
        self.shown = 0.0

    def __call__(self, done: int, of: int, words: str) -> None:
        if self.handle is not None and done < of and time.monotonic() - self.shown < REFRESH_SECONDS:
            return
        self.shown = time.monotonic()
        bar = f'<progress value="{done}" max="{of}" style="width: 16em; vertical-align: middle"></progress>'
        text = f"{done:,} of {of:,}  {words}"
        page = {"text/plain": text, "text/html": f"{bar} <code>{html.escape(text)}</code>"}
        if self.handle is None:
            from IPython.display import display

            self.handle = display(page, raw=True, display_id=True)
        else:
            self.handle.update(page, raw=True)


class SilentProgress:
    """Base of displays: it shows nothing, but formats the state of a training per round and epoch."""

    def __init__(self, max_epochs: int) -> None:
        self.max_epochs, self.last_score = max_epochs, ""
        self.seconds, self.n_epochs = 0.0, 0

    def sure(self, number: int, n_sure: int) -> str:
        return f"round {number}: {n_sure:,} sure pairs"

    def answered(self, found: dict[str, Any]) -> str:
        """Describe the answer before the first epoch."""
        right = f", validation Hit@1 {found['valid_answers']:.3f}" if "valid_answers" in found else ""
        return f"first answer after {found['seconds']:.0f} s: {found['sure']:,} sure pairs{right}"

    def losses(self, record: dict[str, Any]) -> str:
        """Describe the losses of an epoch; its time and validation are stored."""
        self.seconds += record["seconds"]
        self.n_epochs += 1
        if "valid_hits@1" in record:
            self.last_score = f"  valid Hit@1 {record['valid_hits@1']:.3f}"
        pseudo = f"  L_u {record['loss_pseudo']:.0f}" if "loss_pseudo" in record else ""
        return f"L_a {record['loss_alignment']:.0f}{pseudo}"

    def time(self, epoch: int) -> str:
        left = self.seconds / self.n_epochs * (self.max_epochs - epoch)
        return f"{self.seconds:.0f} s, at most {left:.0f} s left"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def round(self, number: int, n_sure: int) -> None:
        """Show the end of a round before the first epoch."""

    def answer(self, found: dict[str, Any]) -> None:
        """Show the answer of voters without training."""

    def __call__(self, record: dict[str, Any]) -> None:
        """Show the end of an epoch."""


class CallbackProgress(SilentProgress):
    """A context that passes the progress of a training to a function; call it with each record."""

    def __init__(self, max_epochs: int, tell: ProgressCallback) -> None:
        super().__init__(max_epochs)
        self.tell = tell

    def round(self, number: int, n_sure: int) -> None:
        self.tell(0, self.max_epochs, self.sure(number, n_sure))

    def answer(self, found: dict[str, Any]) -> None:
        self.tell(0, self.max_epochs, self.answered(found))

    def __call__(self, record: dict[str, Any]) -> None:
        losses = self.losses(record)
        self.tell(record["epoch"], self.max_epochs, f"epochs  {losses}{self.last_score}  {self.time(record['epoch'])}")


class TerminalProgress(SilentProgress):
    """A live bar in a terminal, elsewhere a line at intervals. Use as a context and call with each record."""

    def __init__(self, max_epochs: int, console: Console) -> None:
        from rich import progress

        super().__init__(max_epochs)
        self.live = console.is_terminal and not console.quiet
        self.printed = float("-inf")  # when the last line about an epoch was
        self.console, self.wide, text = console, console.width >= MIN_WIDE_COLUMNS, progress.TextColumn
        self.progress = progress.Progress(
            text("epoch"), progress.MofNCompleteColumn(), progress.BarColumn(bar_width=20 if self.wide else 10),
            text("{task.description}"), progress.TimeElapsedColumn(), text("at most"), progress.TimeRemainingColumn(),
            text("left"), console=console, disable=not self.live,
        )  # fmt: skip
        self.bar = self.progress.add_task("voters that need no training answer first", total=max_epochs)

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()

    def round(self, number: int, n_sure: int) -> None:
        said = self.sure(number, n_sure)
        self.progress.update(self.bar, description=said)
        if not self.live:
            self.console.print(said, highlight=False)

    def answer(self, found: dict[str, Any]) -> None:
        self.console.print(self.answered(found), highlight=False)

    def __call__(self, record: dict[str, Any]) -> None:
        losses, epoch = self.losses(record), record["epoch"]
        said = (losses if self.wide else "") + self.last_score
        self.progress.update(self.bar, completed=epoch, description=said.strip())
        if not self.live and time.monotonic() - self.printed >= MAX_SILENT_SECONDS:
            self.printed = time.monotonic()
            line = f"epoch {epoch}/{self.max_epochs}  {losses}{self.last_score}  {self.time(epoch)}"
            self.console.print(line, highlight=False)
