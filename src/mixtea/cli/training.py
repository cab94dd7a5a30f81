"""A training from start to end, as a person sees it: progress, checkpoints, signals, scores, the run folder."""

from __future__ import annotations

import shlex
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mixtea.cli.saying import say
from mixtea.cli.tables import approximate_label, score_table
from mixtea.data.summary import doubts
from mixtea.errors import FullMemoryError, MixTEAError, ProcessLostError, RunError, StoppedError, is_full_memory
from mixtea.runs.checkpoints import Checkpoints
from mixtea.runs.signals import Stopping
from mixtea.runs.unfinished import Start, Unfinished, run_checksum

if TYPE_CHECKING:
    import pandas as pd

    from mixtea.aligner import MixTEA
    from mixtea.measure.tensorboard import TensorBoard


def train_and_save(
    start: Start, work: Unfinished, *, overwrite: bool, every: float = 60.0, tensorboard: Path | None = None
) -> MixTEA:
    """Train with live progress, from the last checkpoint if there is one; score the test links; write the run."""
    from mixtea.aligner import MixTEA
    from mixtea.compute import distributed
    from mixtea.compute.device import choose_device, describe_device
    from mixtea.measure.tensorboard import TensorBoard

    console = Console(stderr=True, quiet=not distributed.is_first())
    say(console, f"{start.task!r}")
    aligner, old = MixTEA(preset=start.preset, **start.settings), _warm(start, work, console)
    place = describe_device(choose_device(aligner.config.device))
    say(console, f"training on {place}, preset {start.preset}, seed {aligner.config.seed}")
    if aligner.config.approximations():
        say(console, f"approximate: {approximate_label(aligner.config)}")
    for doubt in doubts(start.task):
        say(console, f"warning: {doubt}")
    manifest = run_checksum(work.out)
    board = TensorBoard(tensorboard)
    stopping = Stopping(
        lambda: say(console, "stopping after this epoch (once more: at once)"), lambda: console.show_cursor(True)
    )
    try:
        _train(aligner, start, work, old, every, board, stopping, console)
    except ProcessLostError:
        save_after_loss(aligner, work, manifest, overwrite=overwrite)
        raise
    say(console, f"{aligner.n_epochs_} epochs in {aligner.seconds_:.1f} s; stopped: {aligner.stopped_because_}")
    if distributed.is_first():
        with Stopping(lambda: say(console, "almost done: the run is being written (once more: at once)")):
            _finish(aligner, start, work, old, overwrite, console)
    return aligner


def _warm(start: Start, work: Unfinished, console: Console) -> MixTEA | None:
    """The run that a warm start begins with. A training that goes on needs it no more, but for comparison."""
    from mixtea.aligner import MixTEA

    if start.warm_start is None:
        return None
    try:
        if start.warm_checksum not in (None, run_checksum(Path(start.warm_start))):
            raise RunError(f"{start.warm_start}: not the run any more that the training began with.")
        return MixTEA.load(start.warm_start, device=start.settings.get("device"))
    except RunError as error:
        if work.epoch() is None:
            raise
        say(console, f"warning: not compared with the earlier run: {error}")
        return None


def _train(
    aligner: MixTEA, start: Start, work: Unfinished, old: MixTEA | None, every: float, board: TensorBoard,
    stopping: Stopping, console: Console,
) -> None:  # fmt: skip
    """Fit with a bar, TensorBoard and checkpoints. A signal ends it after its epoch, with what to do next."""
    from mixtea.cli.progress import TrainingProgress
    from mixtea.compute import distributed

    progress = TrainingProgress(aligner.config.max_epochs, console)

    def on_load(epoch: int) -> None:
        progress.epoch = epoch
        say(console, f"going on after epoch {epoch}")

    checkpoints = Checkpoints(work.folder, every, lambda: stopping.asked, on_load)

    def on_round(number: int, n_sure: int) -> None:
        progress.round(number, n_sure)
        if stopping.asked:
            raise StoppedError("Stopped before the first epoch.", stopping.asked)

    try:
        with (
            stopping if distributed.launched() == 1 else nullcontext(),
            progress,
            board,
        ):

            def on_epoch(record: dict[str, Any]) -> None:
                progress(record)
                board(record)

            aligner.fit(start.task, on_epoch, on_round, warm_start=old, checkpoints=checkpoints)
    except StoppedError as error:
        raise error.with_advice(how_to_go_on(work)) from None
    except KeyboardInterrupt:
        say(console, how_to_go_on(work))
        raise
    except FullMemoryError as error:
        raise FullMemoryError(f"In epoch {progress.epoch + 1}: {error} {how_to_go_on(work)}") from error


def how_to_go_on(work: Unfinished) -> str:
    """What is saved of an unfinished training, and the command that goes on with it."""
    epoch = work.epoch()
    words = ["mixtea", "fit", "--resume", "--out", str(work.out)]
    words += ["--overwrite"] if (work.out / "run.json").exists() else []
    if epoch is None:
        return f"No epoch was saved. Begin again with: {shlex.join(words)}" if work.path.exists() else ""
    return f"Saved: the state after epoch {epoch}. Go on with: {shlex.join(words)}"


def _finish(
    aligner: MixTEA, start: Start, work: Unfinished, old: MixTEA | None, overwrite: bool, console: Console
) -> None:
    """Score, compare, write the run folder; then the checkpoints are not needed any more."""
    task, out = start.task, work.out
    if len(task.test):
        try:
            aligner.metrics_ = aligner.score(task.test)
        except Exception as error:  # what was learned is worth more than its score
            if not (isinstance(error, MixTEAError) or is_full_memory(error)):
                raise
            say(console, f"warning: the test links could not be scored: {str(error) or 'memory is full'}")
    changed = _changes(old, aligner, console) if old is not None else None
    try:
        with_report = _save(aligner, out, overwrite, changed, console)
    except (RunError, FullMemoryError) as error:
        raise type(error)(f"{error} {how_to_go_on(work)}") from error
    except BaseException as error:
        if is_full_memory(error) or isinstance(error, KeyboardInterrupt):
            say(console, how_to_go_on(work))
        raise
    try:
        work.forget()
    except RunError as error:  # the run is there, which is what counts
        say(console, f"warning: {error}")
    if aligner.metrics_:
        Console().print(score_table(aligner.metrics_, len(task.test), "Test links", aligner.config))
    said = f"run folder: {out}" + (f" (open {out / 'report.html'})" if with_report else "")
    say(console, said)


def _changes(old: MixTEA, new: MixTEA, console: Console) -> pd.DataFrame | None:
    """What became of the earlier run's mappings; said in short."""
    from mixtea.report.changes import WHY, changes

    try:
        changed = changes(old, new)
    except Exception as error:  # what was learned is worth more than a comparison
        say(console, f"warning: the earlier mappings could not be compared: {error!r}")
        return None
    say(console, f"{len(changed):,} earlier mappings changed")
    for reason, n in changed["why"].value_counts().items():
        say(console, f"  {n:,}: {WHY[reason]}")
    return changed


def _save(aligner: MixTEA, out: Path, overwrite: bool, changed: pd.DataFrame | None, console: Console) -> bool:
    """Write the run with its report; without one if it cannot be made, for what was learned is worth more."""
    try:
        aligner.save(out, overwrite=overwrite, report=True, changes=changed)
    except RunError:  # of the folder, which would not take a run without a report either
        raise
    except Exception as error:
        say(console, f"warning: the report could not be made: {error!r}")
        aligner.save(out, overwrite=overwrite, changes=changed)
        return False
    return True


def save_after_loss(aligner: MixTEA, work: Unfinished, before: str | None, *, overwrite: bool) -> None:
    """Each process that is left waits for those before it; the first of them writes what was learned so far.

    Where a checkpoint is, the training can go on instead. `before` is the checksum of the run.json from before.
    """
    from mixtea.compute import distributed

    time.sleep(2 * distributed.launched_as())
    if work.epoch() is not None:
        say(Console(stderr=True), how_to_go_on(work))
    elif getattr(aligner, "n_epochs_", 0) and run_checksum(work.out) == before:
        aligner.save(work.out, overwrite=overwrite)
        work.forget()
