"""Train, score, report, save, resume: what `mixtea fit` does, in one call.

from mixtea import load_task, train

aligner = train(load_task("data/EN_DE_15K_V1", fold=1), "runs/en_de")
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mixtea.callbacks import (
    Callback,
    Callbacks,
    Log,
    active_callbacks,
    check_callbacks,
    report_abort,
    report_notice,
    report_step,
    report_warning,
    run_callbacks,
)
from mixtea.compute.device import is_first, n_processes, process_rank, with_other_processes
from mixtea.config import SETTINGS, Config
from mixtea.errors import (
    ConfigError,
    DataError,
    FullMemoryError,
    MixTEAError,
    ProcessLostError,
    RunError,
    StoppedError,
    VoterError,
    is_full_memory,
)
from mixtea.fields import assignments
from mixtea.graph.task import Task
from mixtea.io.checks import synonym_counts, synonyms_line, task_warnings
from mixtea.io.naming import name_coverage_line, name_warning
from mixtea.io.paths import PathOrStr, as_path
from mixtea.messages import visible
from mixtea.progress import ProgressOption, progress_callbacks
from mixtea.runs.checkpoints import Checkpoints, StopSignals
from mixtea.runs.folder import read_learned
from mixtea.runs.in_progress import TrainingInputs, UnfinishedRun, begin_training, resume_training, run_checksum
from mixtea.runs.tensorboard import TensorBoard

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA
    from mixtea.decide.mapping import Mapping
    from mixtea.voters.base import Voter
    from mixtea.voters.learned import Learned

MAX_WARNINGS = 3  # about what was found; the report has all of them
STOPPING = "stopping after this epoch (once more: at once)"
ALMOST_DONE = "almost done: the run is being written (once more: at once)"
NO_LINKS_WARNING = (
    "no link shows how often such pairs are right: give a few, or review some, before you rely on probabilities"
)


@with_other_processes()
def train(
    task: Task | Callable[[], Task] | None,
    out: PathOrStr,
    *,
    preset: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    warm_start: PathOrStr | None = None,
    learned: PathOrStr | None = None,
    checkpoint_every: float = 60.0,
    tensorboard: PathOrStr | None = None,
    callbacks: Callbacks = (),
    progress: ProgressOption = None,
    keep_earlier: int | None = None,
    **settings: Any,
) -> MixTEA:
    """Train with checkpoints, resumable; score the test links and write the run folder `out`.

    It is `MixTEA(preset, **settings).fit(task)` and `save`, with a page about the run, report.html. Meanwhile the state
    lies in `out` + ".unfinished"; the first Ctrl-C (or SIGTERM, or SIGHUP) ends the training after its epoch and saves
    that state, the second ends it at once. Several processes of torchrun train one run, which the first of them writes.

    Parameters
    ----------
    task
        The task, or a function that returns it, called once the run folder is known to be writable. None goes with
        `resume`, which has it stored.
    out
        The run folder to write. It appears whole, or not at all.
    preset, settings
        As in `MixTEA`: "best" unless another preset is named, and single fields of `Config`.
    resume
        Go on with the interrupted training of `out`, to the same bytes that it would have had. If there is none, it
        begins with `task`; if it has ended, the run is loaded. Other arguments must be those that it began with.
    overwrite
        Replace the run that is in `out`, or begin an interrupted one anew.
    warm_start
        The folder of a run of an earlier state of the graphs, to begin with what it has found and learned: then the
        epochs until the second vote are enough, or a third where it does not stop when predictions are stable.
        changes.tsv in the run folder lists which earlier mappings changed, and why.
    learned
        The folder of a run on another task of the same kind, whose voter weights, weights of names and values, and
        calibration are applied instead of fitted to the links.
    checkpoint_every
        Seconds between two savings of the state; 0 saves after every epoch.
    tensorboard
        A folder to write each epoch to as well, for TensorBoard; not inside `out`.
    callbacks
        Objects of `mixtea.Callback` that receive what the call reports; it is logged if there are none.
    progress
        As in `MixTEA.fit`: None shows the epochs in notebooks, unless there are `callbacks`.
    keep_earlier
        How many earlier runs stay in `out`/history, where a run that is replaced goes then. None: it is not kept.

    Returns
    -------
    MixTEA
        The fitted aligner, the scores of its test links, if there are any, in `metrics_`.

    Raises
    ------
    ConfigError
        A setting is wrong, or another than the training to resume began with.
    DataError
        The task cannot be trained on.
    RunError
        The folder cannot be written: a run is there, or an interrupted training, or another process at work.
    VoterError
        A voter from outside failed; no run is written.
    StoppedError
        A signal asked it to end. Like other TrainingErrors it names what is saved, and how to go on.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from mixtea import MixTEA, load_example, train
    >>> with TemporaryDirectory() as folder:
    ...     aligner = train(load_example(), f"{folder}/run", preset="paper", max_epochs=2, seed=1)
    ...     again = train(None, f"{folder}/run", resume=True)  # has ended already, so it is loaded
    >>> aligner.n_epochs_, again.n_epochs_, again.metrics_ == aligner.metrics_
    (2, 2, True)
    """
    callbacks = check_callbacks(callbacks)
    if not isinstance(checkpoint_every, int | float) or not checkpoint_every >= 0:
        raise ConfigError(f"checkpoint_every is a number of seconds, 0 or more, not {checkpoint_every!r:.100}.")
    folder, settings = as_path(out, "out"), SETTINGS.check_all(settings)
    shown = progress_callbacks(False if not is_first() or (callbacks and progress is None) else progress)
    callbacks = (*shown, *(callbacks or [Log()]))
    if tensorboard is not None:
        if as_path(tensorboard, "tensorboard").resolve().is_relative_to(folder.resolve()):
            raise ConfigError(f"{tensorboard}: inside the run folder {folder}, which is written whole. Name another.")
        callbacks = (*callbacks, TensorBoard(tensorboard))
    other_runs = {"warm_start": warm_start, "learned": learned}
    read = _input_reader(task, preset, other_runs, settings, resume)
    work = UnfinishedRun(folder)
    with run_callbacks(callbacks), work.locked():
        goes_on = resume and work.path.exists()
        start = (
            resume_training(work, read, settings, overwrite)
            if read is None or resume
            else begin_training(work, read, overwrite)
        )
        if start is not None:
            with _clean_up_on_failure(work, goes_on):
                return TrainingRun(start, work, overwrite, keep_earlier).run(checkpoint_every)
        from mixtea.aligner import MixTEA

        report_notice(f"{folder}: finished already")
        return MixTEA.load(folder, device=settings.get("device"))


@contextmanager
def _clean_up_on_failure(work: UnfinishedRun, goes_on: bool) -> Iterator[None]:
    """Remove what this call has begun if the call, the data or a voter from outside is at fault.

    A saved state stays, and so does a training that was begun before.
    """
    try:
        yield
    except (ConfigError, DataError, VoterError) as error:
        if not goes_on and work.epoch() is None:
            if is_first():
                work.remove()
        elif isinstance(error, VoterError):
            raise VoterError(f"{error} {work.resume_advice()}") from error.__cause__
        raise


def _input_reader(
    task: Task | Callable[[], Task] | None, preset: str | None, other_runs: dict[str, PathOrStr | None],
    settings: dict[str, Any], resume: bool,
) -> Callable[[], TrainingInputs] | None:  # fmt: skip
    """Return a function that reads the inputs of a new training; None if the call only resumes."""
    if task is None:
        if not resume:
            raise DataError("train needs a task, unless it resumes: load_task(...) makes one.")
        for name, value in {"preset": preset, **other_runs}.items():
            if value is not None:
                raise ConfigError(f"{name}: a training goes on with what it began with. Leave it out.")
        return None
    preset = "best" if preset is None else preset
    config = Config.preset(preset, **settings)  # raises for wrong ones, before any file is read
    if other_runs["warm_start"] is not None:
        settings = config.warm() | settings
    runs = {name: str(as_path(run, name).resolve()) for name, run in other_runs.items() if run is not None}

    if "learned" in runs:
        read_learned(Path(runs["learned"]))  # raises for what is no run, before any file is read

    def read() -> TrainingInputs:
        found = task() if callable(task) else task
        if not isinstance(found, Task):
            raise DataError(f"train needs a task, not {type(found).__name__}: load_task(...) makes one.")
        return TrainingInputs(found, preset, settings, **runs)

    return read


@dataclass(eq=False)
class TrainingRun(Callback):
    """A training from its start, or its last checkpoint, to its run folder."""

    start: TrainingInputs
    work: UnfinishedRun
    overwrite: bool
    keep_earlier: int | None = None
    last_epoch: int = 0
    stopping: StopSignals = field(default_factory=StopSignals)

    def on_start(self, task: Task, config: Config, voters: Sequence[Voter]) -> None:
        """Report what is trained on what, and what may be wrong with it."""
        from mixtea.compute.device import choose_device, describe_device
        from mixtea.council.adapt import has_structure
        from mixtea.council.summary import no_structure_line, voters_line
        from mixtea.evaluation.inspection import columns_by_voters

        device = describe_device(choose_device(config.device))
        report_notice(f"training on {device}, preset {self.start.preset}, seed {config.seed}")
        if self.start.learned is not None:
            report_notice(f"weights and calibration are those of {visible(self.start.learned)}")
        if config.approximations():
            report_notice(f"approximate: {', '.join(assignments(config.approximations()))}")
        for line in (columns := columns_by_voters(task, voters)):
            report_notice(line)
        sides = (("source", task.source), ("target", task.target))
        named = [f"{side} by {names}" for side, graph in sides if (names := name_coverage_line(graph))]
        if named and not columns:
            report_notice(f"names: {'; '.join(named)}")
        if synonyms := synonyms_line(synonym_counts(task)):
            report_notice(synonyms)
        report_notice(voters_line(voters))
        if not has_structure(task):
            report_notice(no_structure_line(voters))
        for doubt in task_warnings(task):
            report_warning(doubt)

    def on_resume(self, epoch: int) -> None:
        self.last_epoch = epoch

    def on_epoch(self, record: dict[str, Any]) -> None:
        self.last_epoch = record["epoch"]

    def on_round(self, number: int, n_sure: int) -> None:
        if self.stopping.asked:
            raise StoppedError("Stopped before the first epoch.", self.stopping.asked)

    def run(self, every: float) -> MixTEA:
        """Train, score the test links, write the run; of several processes the first one writes."""
        from mixtea.aligner import MixTEA

        report_notice(f"{self.start.task!r}")
        aligner, old = MixTEA(self.start.preset, **self.start.settings), self._earlier()
        before = run_checksum(self.work.out)
        learned = self._learned()
        try:
            self._fit(aligner, old, learned, every)
        except ProcessLostError as error:
            raise ProcessLostError(f"{error}{self._save_after_loss(aligner, before)}") from error
        epochs = f"{aligner.n_epochs_} epochs in " if aligner.n_epochs_ else ""
        report_notice(f"{epochs}{aligner.seconds_:.1f} s; stopped: {aligner.stopped_because_}")
        if is_first():
            with StopSignals(lambda: report_notice(ALMOST_DONE)):
                self.finish(aligner, old)
        return aligner

    def _earlier(self) -> MixTEA | None:
        """Load the run of a warm start. A training that goes on needs it only for comparison."""
        from mixtea.aligner import MixTEA

        earlier = self.start.warm_start
        if earlier is None:
            return None
        try:
            if self.start.warm_checksum not in (None, run_checksum(Path(earlier))):
                raise RunError(f"{earlier}: not the run any more that the training began with.")
            return MixTEA.load(earlier, device=self.start.settings.get("device"))
        except RunError as error:
            if self.work.epoch() is None:
                raise
            report_warning(f"not compared with the earlier run: {error}")
            return None

    def _learned(self) -> Learned | None:
        """Read what the run learned whose weights and calibration are applied."""
        if self.start.learned is None:
            return None
        if self.start.learned_checksum not in (None, run_checksum(Path(self.start.learned))):
            raise RunError(f"{self.start.learned}: not the run any more that the training began with.")
        return read_learned(Path(self.start.learned))

    def _fit(self, aligner: MixTEA, old: MixTEA | None, learned: Learned | None, every: float) -> None:
        """Fit with checkpoints. A signal ends it after its epoch."""
        task, advice = self.start.task, self.work.resume_advice
        self.stopping = StopSignals(lambda: report_notice(STOPPING), report_abort)
        checkpoints = Checkpoints(self.work.folder, every, self.stopping)
        callbacks = (self, *active_callbacks())
        try:
            with self.stopping if n_processes() == 1 else nullcontext():
                aligner.fit(
                    task, callbacks=callbacks, warm_start=old, learned=learned, checkpoints=checkpoints, progress=False
                )
        except StoppedError as error:
            raise error.with_advice(advice()) from None
        except KeyboardInterrupt:
            report_notice(advice())
            raise
        except FullMemoryError as error:
            raise FullMemoryError(f"In epoch {self.last_epoch + 1}: {error} {advice()}") from error

    def finish(self, aligner: MixTEA, old: MixTEA | None) -> None:
        """Score, compare, write the run folder; then remove the checkpoints."""
        out = self.work.out
        self._score(aligner)
        self._say_decided(aligner)
        pages = ({} if old is None else self._changes(old, aligner)) | self._report(aligner)
        report_step("writing the run folder")
        try:
            aligner.save(out, overwrite=self.overwrite, pages=pages, keep_earlier=self.keep_earlier)
        except (RunError, FullMemoryError) as error:
            raise type(error)(f"{error} {self.work.resume_advice()}") from error
        except BaseException as error:
            if is_full_memory(error) or isinstance(error, KeyboardInterrupt):
                report_notice(self.work.resume_advice())
            raise
        try:
            self.work.remove()
        except RunError as error:  # the run is there, which is what counts
            report_warning(str(error))
        if aligner.metrics_:
            for callback in active_callbacks():
                callback.on_scores(aligner)
        report_notice(f"run folder: {out}" + (f" (open {out / 'report.html'})" if "report.html" in pages else ""))

    def _score(self, aligner: MixTEA) -> None:
        if len(self.start.task.test):
            report_step("scoring the test links")
            try:
                aligner.metrics_ = aligner.score(self.start.task.test)
                aligner.by_evidence_ = aligner.score_by_evidence(self.start.task.test)
            except Exception as error:  # what was learned is worth more than its score
                if isinstance(error, VoterError) or not (isinstance(error, MixTEAError) or is_full_memory(error)):
                    raise
                report_warning(f"the test links could not be scored: {str(error) or 'memory is full'}")

    def _say_decided(self, aligner: MixTEA) -> None:
        """Report how many sources are mapped, the expected quality, and what may be wrong with it."""
        mapping = aligner.map()
        report_notice(mapping.summary())
        if promise := mapping.expected_quality():
            report_notice(promise)
        for doubt in warnings_at_end(aligner, mapping):
            report_warning(doubt)

    def _changes(self, old: MixTEA, new: MixTEA) -> dict[str, str]:
        """Compare with the earlier run's mappings, as a page of the run; report it in short."""
        report_step("comparing with the earlier run")
        try:
            from mixtea.export.tables import changes_text
            from mixtea.report.compare import CHANGE_REASONS, count_changes, drop_unchanged, explain_changes

            found = explain_changes(old, new)
            changed = drop_unchanged(found)
            page = changes_text(changed)
            page.encode()  # an error if it holds half a character, which no file can
        except VoterError:
            raise
        except Exception as error:  # what was learned is worth more than a comparison
            report_warning(f"the earlier mappings could not be compared: {error!r}")
            return {}
        report_notice(f"{count_changes(found)}, compared with the earlier run")
        for reason, n in changed["why"].value_counts().items():
            report_notice(f"  {n:,}: {CHANGE_REASONS[reason]}")
        return {"changes.tsv": page}

    def _report(self, aligner: MixTEA) -> dict[str, str]:
        """Make the page about the run; without it if it cannot be made."""
        report_step("writing the report")
        try:
            from mixtea.report.page import make_report

            page = make_report(aligner)
            page.encode()
            return {"report.html": page}
        except VoterError:
            raise
        except Exception as error:  # what was learned is worth more than a page about it
            report_warning(f"the report could not be made: {error!r}")
            return {}

    def _save_after_loss(self, aligner: MixTEA, before: str | None) -> str:
        """Save what was learned so far after the loss of a process; of those left the first one writes.

        Where a checkpoint is, return how to resume instead. `before` is the checksum of the run.json from before.
        """
        if getattr(aligner, "n_epochs_", 0):
            time.sleep(2 * process_rank())
        if self.work.epoch() is not None:
            return f" {self.work.resume_advice()}"
        if getattr(aligner, "n_epochs_", 0) and run_checksum(self.work.out) == before:
            aligner.save(self.work.out, overwrite=self.overwrite, keep_earlier=self.keep_earlier)
            self.work.remove()
        return ""


def warnings_at_end(aligner: MixTEA, mapping: Mapping) -> list[str]:
    """Return what may be wrong with a mapping, what matters most first, and how many more the report has."""
    from mixtea.council.summary import misleading_lines

    found = [] if mapping.n_links else [NO_LINKS_WARNING]
    doubt = name_warning(aligner.task_.source, aligner.task_.target)
    found += [
        *([doubt] if doubt else []),
        *mapping.warnings(),
        *misleading_lines(aligner.misleading_, aligner.misleading_links_),
    ]
    more = len(found) - MAX_WARNINGS
    return found if more <= 0 else [*found[:MAX_WARNINGS], f"and {more:,} more in report.html"]
