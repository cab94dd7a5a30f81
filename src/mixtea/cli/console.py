"""Lines on standard error, and the progress of a training there: lines, a bar, a table of scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console

from mixtea.callbacks import Callback
from mixtea.cli.tables import evidence_table, score_table
from mixtea.compute.device import is_first
from mixtea.messages import shortened, visible
from mixtea.progress import Heartbeat, TerminalBar

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA


MAX_LINE_CHARS = 20_000  # characters: more than any sentence has, with the longest paths in it


def print_line(console: Console, text: object) -> None:
    """Print one line without markup, colours or control characters."""
    console.print(one_line(text), highlight=False, markup=False, soft_wrap=True)


class TextLines(Callback):
    """Print how many texts a model has encoded so far."""

    def on_texts(self, done: int, of: int) -> None:
        print_line(Console(stderr=True, quiet=not is_first()), f"{done:,} of {of:,} texts encoded")


def one_line(text: object) -> str:
    """Return text of unknown origin as a line for the terminal, shortened in the middle."""
    return shortened(visible(text), MAX_LINE_CHARS)


class TrainingConsole(TextLines, TerminalBar):
    """Progress on standard error, and scores on standard output; of several processes the first one."""

    def __init__(self) -> None:
        super().__init__(Console(stderr=True, quiet=not is_first()))
        self.heartbeat = Heartbeat(lambda text: print_line(self.console, text))

    def on_begin(self) -> None:
        self.heartbeat.__enter__()

    def on_close(self) -> None:
        self.heartbeat.__exit__()

    def on_step(self, text: str) -> None:
        self.heartbeat.begin(text)

    def on_texts(self, done: int, of: int) -> None:
        super().on_texts(done, of)
        self.heartbeat.said()

    def on_notice(self, text: str) -> None:
        print_line(self.console, text)
        self.heartbeat.said()

    def on_warning(self, text: str) -> None:
        self.on_notice(f"warning: {text}")

    def on_resume(self, epoch: int) -> None:
        self.on_notice(f"going on after epoch {epoch}")

    def on_round(self, number: int, n_sure: int) -> None:
        super().on_round(number, n_sure)
        self.heartbeat.said()

    def on_answer(self, found: dict[str, Any]) -> None:
        super().on_answer(found)
        self.heartbeat.said()

    def on_epoch(self, record: dict[str, Any]) -> None:
        super().on_epoch(record)
        self.heartbeat.said()

    def on_abort(self) -> None:
        self.console.show_cursor(True)

    def on_scores(self, aligner: MixTEA) -> None:
        console, found = Console(), aligner.metrics_
        behind = aligner.answers_.sample_sizes(found, aligner.task_.test)
        console.print(score_table(found, behind, "Test links", aligner.config, aligner.answers_))
        if len(aligner.by_evidence_):
            console.print(evidence_table(aligner.by_evidence_))
