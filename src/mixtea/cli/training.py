"""Progress of a training for the terminal: lines, a bar, a table of scores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mixtea.cli.console import print_line
from mixtea.cli.tables import evidence_table, score_table
from mixtea.compute.torchrun import is_first
from mixtea.config import Config
from mixtea.pipeline import Watch
from mixtea.progress import Heartbeat, TerminalProgress

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA


class TrainingConsole(Watch):
    """Progress on standard error, and scores on standard output; of several processes the first one."""

    def __init__(self) -> None:
        self.console = Console(stderr=True, quiet=not is_first())
        self.heartbeat = Heartbeat(lambda text: print_line(self.console, text))

    @contextmanager
    def working(self) -> Iterator[None]:
        with self.heartbeat:
            yield

    def doing(self, what: str) -> None:
        self.heartbeat.doing(what)

    def says(self, text: str) -> None:
        print_line(self.console, text)
        self.heartbeat.said()

    def warns(self, text: str) -> None:
        self.says(f"warning: {text}")

    @contextmanager
    def training(self, config: Config) -> Iterator[None]:
        with TerminalProgress(config.max_epochs, self.console) as self.progress:
            yield

    def round(self, number: int, n_sure: int) -> None:
        self.progress.round(number, n_sure)
        self.heartbeat.said()

    def answer(self, found: dict[str, Any]) -> None:
        self.progress.answer(found)
        self.heartbeat.said()

    def epoch(self, record: dict[str, Any]) -> None:
        self.progress(record)
        self.heartbeat.said()

    def ends_at_once(self) -> None:
        self.console.show_cursor(True)

    def scored(self, aligner: MixTEA) -> None:
        console, found = Console(), aligner.metrics_
        behind = aligner.answers_.sample_sizes(found, aligner.task_.test)
        console.print(score_table(found, behind, "Test links", aligner.config, aligner.answers_))
        if len(aligner.by_evidence_):
            console.print(evidence_table(aligner.by_evidence_))
