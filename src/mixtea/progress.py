"""What a person sees while something takes long: a bar in a terminal, a line in a notebook, or a function."""

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
    """ProgressCallback whoever listens what is being waited for from now on, such as `reading a.csv`; it is shown if it lasts."""
    if (tell := _listener.get()) is not None:
        tell(what)


@contextmanager
def listening(tell: Callable[[str], None]) -> Iterator[None]:
    """Let a function hear what is being waited for, in this thread and as long as this lasts.

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
    """Says what is being waited for whenever nothing was said for MAX_SILENT_SECONDS seconds. Use as a context."""

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
        """Something was shown just now."""
        self.last = time.monotonic()

    def _run(self) -> None:
        while not self._ended.wait(max(self.last + MAX_SILENT_SECONDS - time.monotonic(), 0)):
            if time.monotonic() - self.last >= MAX_SILENT_SECONDS:
                self.say(f"{self.what} ({time.monotonic() - self.since:.0f} s)")
                self.said()


def progress_callback(progress: ProgressOption) -> ProgressCallback | bool:
    """Who is told: a function, a terminal (True) or nobody (False). None is a notebook, and nobody elsewhere."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise ConfigError(
            f"progress is {progress!r:.100}. Choose True, False, None (in notebooks alone) or a function."
        )
    if callable(progress) or progress is False:
        return progress
    return NotebookLine() if in_notebook() else bool(progress)


def training_progress(progress: ProgressOption, max_epochs: int) -> SilentProgress:
    """What shows a training, as it is asked for."""
    tell = progress_callback(progress)
    if tell is True:
        from rich.console import Console

        return TerminalProgress(max_epochs, Console(stderr=True))
    return CallbackProgress(max_epochs, tell) if callable(tell) else SilentProgress(max_epochs)


def text_progress() -> Callable[[int, int], None] | None:
    """What shows how many texts a model has read: a line in a notebook, and nothing elsewhere."""
    if not in_notebook():
        return None
    line = NotebookLine()
    return lambda done, of: line(done, of, "texts")


def chain(first: Callable[..., None], second: Callable[..., None] | None) -> Callable[..., None]:
    """A function that calls the two, one after the other."""

    def call(*args: Any) -> None:
        first(*args)
        if second is not None:
            second(*args)

    return call


def in_notebook() -> bool:
    """Whether this runs in a kernel of Jupyter; nothing is imported to find out."""
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
    """Shows nothing of a training, but knows what could be said of it, round by round and epoch by epoch."""

    def __init__(self, max_epochs: int) -> None:
        self.max_epochs, self.last_score = max_epochs, ""
        self.seconds, self.n_epochs = 0.0, 0

    def sure(self, number: int, n_sure: int) -> str:
        return f"round {number}: {n_sure:,} sure pairs"

    def answered(self, found: dict[str, Any]) -> str:
        """The answer before the first epoch, in words."""
        right = f", validation Hit@1 {found['valid_answers']:.3f}" if "valid_answers" in found else ""
        return f"first answer after {found['seconds']:.0f} s: {found['sure']:,} sure pairs{right}"

    def losses(self, record: dict[str, Any]) -> str:
        """The losses of an epoch; its time and validation are remembered."""
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
        """A round before the first epoch has ended."""

    def answer(self, found: dict[str, Any]) -> None:
        """Voters that need no training have answered."""

    def __call__(self, record: dict[str, Any]) -> None:
        """An epoch has ended."""


class CallbackProgress(SilentProgress):
    """Tells a function how a training goes. Use as a context and call with each record."""

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
    """A live bar in a terminal, elsewhere a line now and then. Use as a context and call with each record."""

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
