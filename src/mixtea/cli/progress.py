"""What a person sees while a training runs, on standard error."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

WIDE = 105  # columns for a bar with all of its numbers; where there are fewer, the losses are left out


class TrainingProgress:
    """A live bar in a terminal, a line at each validation elsewhere. Use as a context and call with each record."""

    def __init__(self, max_epochs: int, console: Console) -> None:
        self.live = console.is_terminal and not console.quiet
        self.console, self.max_epochs, self.last_score = console, max_epochs, ""
        self.wide = console.width >= WIDE
        bar = BarColumn(bar_width=20 if self.wide else 10)
        self.progress = Progress(
            TextColumn("epoch"), MofNCompleteColumn(), bar, TextColumn("{task.description}"), TimeElapsedColumn(),
            TextColumn("at most"), TimeRemainingColumn(), TextColumn("left"), console=console, disable=not self.live,
        )  # fmt: skip
        self.bar = self.progress.add_task("", total=max_epochs)
        self.seconds, self.n_epochs = 0.0, 0

    def __enter__(self) -> TrainingProgress:
        self.progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.progress.stop()

    def round(self, number: int, n_sure: int) -> None:
        """A round of propagation before the first epoch has ended."""
        said = f"propagation, round {number}: {n_sure:,} sure pairs"
        self.progress.update(self.bar, description=said)
        if not self.live:
            self.console.print(said, highlight=False)

    def __call__(self, record: dict[str, Any]) -> None:
        self.seconds += record["seconds"]
        self.n_epochs += 1
        losses = f"L_a {record['loss_alignment']:.0f}"
        if "loss_pseudo" in record:
            losses += f"  L_u {record['loss_pseudo']:.0f}"
        validated = "valid_hits@1" in record
        if validated:
            self.last_score = f"  valid Hit@1 {record['valid_hits@1']:.3f}"
        said = (losses if self.wide else "") + self.last_score
        self.progress.update(self.bar, completed=record["epoch"], description=said.strip())
        if not self.live and (validated or self.n_epochs == 1):
            left = self.seconds / self.n_epochs * (self.max_epochs - record["epoch"])
            self.console.print(
                f"epoch {record['epoch']}/{self.max_epochs}  {losses}{self.last_score}  "
                f"{self.seconds:.0f} s, at most {left:.0f} s left",
                highlight=False,
            )
