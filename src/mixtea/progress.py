"""Displays of progress: a bar in a terminal, a line in a notebook, or calls of a function."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Self

from mixtea.callbacks import Callback, answer_text, round_text
from mixtea.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from mixtea.config import Config
    from mixtea.graph.task import Task
    from mixtea.voters.base import Voter

MIN_WIDE_COLUMNS = 105  # columns for a bar with all of its numbers; where there are fewer, the losses are left out
REFRESH_SECONDS = 0.2  # seconds between two changes of a line in a notebook
MAX_SILENT_SECONDS = 7.0  # until a terminal or a log is told what is waited for; long products delay that
ProgressFunction = Callable[[int, int, str], object]  # how much is done, of how much, and how it goes in words
ProgressOption = bool | ProgressFunction | None


def progress_callbacks(progress: ProgressOption) -> tuple[Callback, ...]:
    """Return the display of an option: True is a bar on standard error, None a line in notebooks alone."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise ConfigError(
            f"progress is {progress!r:.100}. Choose True, False, None (in notebooks alone) or a function."
        )
    if progress is False:
        return ()
    if callable(progress):
        return (FunctionProgress(progress),)
    if in_notebook():
        return (NotebookProgress(),)
    if progress is None:
        return ()
    from rich.console import Console

    return (TerminalBar(Console(stderr=True)),)


def text_callbacks() -> tuple[Callback, ...]:
    """Return a display of texts read by a model: a line in a notebook, and nothing elsewhere."""
    return (NotebookProgress(),) if in_notebook() else ()


def in_notebook() -> bool:
    """Return whether this runs in a kernel of Jupyter; nothing is imported to find out."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


class Heartbeat:
    """A context that reports the current step after MAX_SILENT_SECONDS seconds without output."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say, self.step = say, "starting"
        self.since = self.last = time.monotonic()
        self._ended = Event()

    def __enter__(self) -> Self:
        self._ended.clear()
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def begin(self, step: str) -> None:
        self.step, self.since = step, time.monotonic()

    def said(self) -> None:
        """Note that something was shown just now."""
        self.last = time.monotonic()

    def _run(self) -> None:
        while not self._ended.wait(max(self.last + MAX_SILENT_SECONDS - time.monotonic(), 0)):
            if time.monotonic() - self.last >= MAX_SILENT_SECONDS:
                self.say(f"{self.step} ({time.monotonic() - self.since:.0f} s)")
                self.said()


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


class Display(Callback):
    """Base of displays: it describes the state of a training, and shows nothing."""

    def on_start(self, task: Task, config: Config, voters: Sequence[Voter]) -> None:
        self.max_epochs, self.last_score = config.max_epochs, ""
        self.seconds, self.n_epochs = 0.0, 0

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


class FunctionProgress(Display):
    """Pass the progress of a training to a function: the epochs done, the most there will be, the state in words."""

    def __init__(self, show: ProgressFunction) -> None:
        self.show = show

    def on_round(self, number: int, n_sure: int) -> None:
        self.show(0, self.max_epochs, round_text(number, n_sure))

    def on_answer(self, found: dict[str, Any]) -> None:
        self.show(0, self.max_epochs, answer_text(found))

    def on_epoch(self, record: dict[str, Any]) -> None:
        losses = self.losses(record)
        self.show(record["epoch"], self.max_epochs, f"epochs  {losses}{self.last_score}  {self.time(record['epoch'])}")


class NotebookProgress(FunctionProgress):
    """Show progress in a line of a notebook."""

    def __init__(self) -> None:
        super().__init__(NotebookLine())

    def on_texts(self, done: int, of: int) -> None:
        self.show(done, of, "texts")


class TerminalBar(Display):
    """A live bar in a terminal, elsewhere a line at intervals."""

    def __init__(self, console: Console) -> None:
        self.console, self.wide = console, console.width >= MIN_WIDE_COLUMNS
        self.live = console.is_terminal and not console.quiet

    def on_start(self, task: Task, config: Config, voters: Sequence[Voter]) -> None:
        from rich import progress

        super().on_start(task, config, voters)
        self.printed, text = float("-inf"), progress.TextColumn  # when the last line about an epoch was
        self.progress = progress.Progress(
            text("epoch"), progress.MofNCompleteColumn(), progress.BarColumn(bar_width=20 if self.wide else 10),
            text("{task.description}"), progress.TimeElapsedColumn(), text("at most"), progress.TimeRemainingColumn(),
            text("left"), console=self.console, disable=not self.live,
        )  # fmt: skip
        self.bar = self.progress.add_task("voters that need no training answer first", total=self.max_epochs)
        self.progress.start()

    def on_end(self) -> None:
        self.progress.stop()

    def on_round(self, number: int, n_sure: int) -> None:
        self.progress.update(self.bar, description=round_text(number, n_sure))
        if not self.live:
            self.console.print(round_text(number, n_sure), highlight=False)

    def on_answer(self, found: dict[str, Any]) -> None:
        self.console.print(answer_text(found), highlight=False)

    def on_epoch(self, record: dict[str, Any]) -> None:
        losses, epoch = self.losses(record), record["epoch"]
        said = (losses if self.wide else "") + self.last_score
        self.progress.update(self.bar, completed=epoch, description=said.strip())
        if not self.live and time.monotonic() - self.printed >= MAX_SILENT_SECONDS:
            self.printed = time.monotonic()
            line = f"epoch {epoch}/{self.max_epochs}  {losses}{self.last_score}  {self.time(epoch)}"
            self.console.print(line, highlight=False)
