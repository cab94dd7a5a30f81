"""Callbacks: the one way in which progress, epochs, checkpoints and notices leave a computation.

A call such as `MixTEA.fit` or `train` runs its work within `run_callbacks`. What is deep inside of it reports to
`active_callbacks`, so that no function has to pass callbacks on: they are held by a ContextVar, which belongs to one
call in one thread and is as before when the call ends. Outside of such a call reports go nowhere.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from mixtea.errors import ConfigError
from mixtea.messages import METRICS, visible

if TYPE_CHECKING:
    from torch import Tensor

    from mixtea.aligner import MixTEA
    from mixtea.config import Config
    from mixtea.graph.task import Task
    from mixtea.voters.base import Voter

logger = logging.getLogger(__name__)


class Callback:
    """Receiver of what a call reports; every method does nothing until it is overridden.

    Pass instances as `callbacks` to `MixTEA.fit`, `train`, `update` or `load_task`. They are called in their order, in
    the thread of the call. Nothing that they return is used, and an error that one raises ends the call.

    Methods
    -------
    on_begin(), on_close()
        The whole call begins, before anything is read; it has ended, also if by an error.
    on_step(text)
        Another step of the work begins, such as "reading a.csv".
    on_texts(done, of)
        So many texts of all are encoded by a text model.
    on_notice(text), on_warning(text)
        A line for people: what is trained and where, results, how to resume; or a doubt that does not end the call.
    on_start(task, config, voters), on_end()
        The training begins, with settings adapted to the task and voters bound to it; it has ended, also by an error.
    on_resume(epoch)
        The training goes on from the checkpoint of this epoch.
    on_round(number, n_sure)
        A round of voters that need no training has ended, before the first epoch, with so many sure pairs.
    on_answer(found)
        Voters that need no training have answered: how many pairs are `sure`, the share of validation links that are
        right, `valid_answers`, and the `seconds` it took. With `max_epochs=0` that is all.
    on_epoch(record)
        An epoch has ended; `record` is its row of `history_`.
    on_vectors(epoch, vectors)
        An epoch has ended, and `vectors()` returns the student's vectors anew: for curves of scores that the
        training must not see.
    on_checkpoint(epoch)
        The state after this epoch is saved.
    on_scores(aligner)
        The test links are scored, in `aligner.metrics_`, and the run is written.
    on_abort()
        A second signal ends the process at once: restore what outlives it, such as the terminal.

    Examples
    --------
    >>> from mixtea import Callback, MixTEA, load_example
    >>> class Losses(Callback):
    ...     def on_epoch(self, record):
    ...         print(record["epoch"], record["loss"] > 0)
    >>> aligner = MixTEA(preset="paper", max_epochs=2, seed=1).fit(load_example(), callbacks=[Losses()])
    1 True
    2 True
    """

    def on_begin(self) -> None: ...

    def on_close(self) -> None: ...

    def on_step(self, text: str) -> None: ...

    def on_texts(self, done: int, of: int) -> None: ...

    def on_notice(self, text: str) -> None: ...

    def on_warning(self, text: str) -> None: ...

    def on_start(self, task: Task, config: Config, voters: Sequence[Voter]) -> None: ...

    def on_end(self) -> None: ...

    def on_resume(self, epoch: int) -> None: ...

    def on_round(self, number: int, n_sure: int) -> None: ...

    def on_answer(self, found: dict[str, Any]) -> None: ...

    def on_epoch(self, record: dict[str, Any]) -> None: ...

    def on_vectors(self, epoch: int, vectors: Callable[[], Tensor]) -> None: ...

    def on_checkpoint(self, epoch: int) -> None: ...

    def on_scores(self, aligner: MixTEA) -> None: ...

    def on_abort(self) -> None: ...


Callbacks = Callback | Iterable[Callback]
_active: ContextVar[tuple[Callback, ...]] = ContextVar("mixtea_callbacks", default=())


def active_callbacks(method: str = "") -> tuple[Callback, ...]:
    """Return the callbacks of the call that is running in this thread; only those that have the method, if named."""
    if not method:
        return _active.get()
    usual = getattr(Callback, method)
    return tuple(one for one in _active.get() if getattr(getattr(one, method), "__func__", None) is not usual)


def report_step(text: str) -> None:
    """Report the current step, such as `reading a.csv`; a terminal shows it if it lasts."""
    for callback in _active.get():
        callback.on_step(text)


def report_notice(text: str) -> None:
    for callback in _active.get():
        callback.on_notice(text)


def report_warning(text: str) -> None:
    for callback in _active.get():
        callback.on_warning(text)


def report_abort() -> None:
    for callback in _active.get():
        callback.on_abort()


def check_callbacks(callbacks: Callbacks) -> tuple[Callback, ...]:
    """Return the callbacks of an option, which may be a single one."""
    found = (callbacks,) if not isinstance(callbacks, Iterable) else tuple(callbacks)
    for one in found:
        if not isinstance(one, Callback):
            raise ConfigError(f"callbacks are objects of mixtea.Callback, not of type {type(one).__name__}.")
    return found


@contextmanager
def run_callbacks(callbacks: Iterable[Callback]) -> Iterator[None]:
    """Report to these callbacks, in this thread and while the block runs, in place of those from before.

    Of a call within a call, those that are active already do not begin again.

    >>> history = History()
    >>> with run_callbacks([history]):
    ...     report_step("reading a.csv")
    >>> report_step("nobody hears that")
    >>> history.steps
    ['reading a.csv']
    """
    before, given = _active.get(), tuple(callbacks)
    token = _active.set(given)
    try:
        with ExitStack() as stack:
            for one in given:
                if one not in before:
                    one.on_begin()
                    stack.callback(one.on_close)
            yield
    finally:
        _active.reset(token)


@contextmanager
def training_callbacks(task: Task, config: Config, voters: Sequence[Voter]) -> Iterator[None]:
    """Report the start of a training, and its end however it comes."""
    with ExitStack() as stack:
        for one in _active.get():
            one.on_start(task, config, voters)
            stack.callback(one.on_end)
        yield


def round_text(number: int, n_sure: int) -> str:
    return f"round {number}: {n_sure:,} sure pairs"


def answer_text(found: dict[str, Any]) -> str:
    """Describe the answer before the first epoch."""
    right = f", validation Hit@1 {found['valid_answers']:.3f}" if "valid_answers" in found else ""
    return f"first answer after {found['seconds']:.0f} s: {found['sure']:,} sure pairs{right}"


class Log(Callback):
    """Write notices, warnings, rounds, validation and test scores to the log, by the logger `mixtea.callbacks`."""

    def on_notice(self, text: str) -> None:
        logger.info("%s", visible(text))

    def on_warning(self, text: str) -> None:
        logger.warning("%s", visible(text))

    def on_resume(self, epoch: int) -> None:
        self.on_notice(f"going on after epoch {epoch}")

    def on_round(self, number: int, n_sure: int) -> None:
        self.on_notice(round_text(number, n_sure))

    def on_answer(self, found: dict[str, Any]) -> None:
        self.on_notice(answer_text(found))

    def on_epoch(self, record: dict[str, Any]) -> None:
        if "valid_hits@1" in record:
            self.on_notice(f"epoch {record['epoch']}: valid Hit@1 {record['valid_hits@1']:.3f}")

    def on_scores(self, aligner: MixTEA) -> None:
        scores = ", ".join(f"{name} {aligner.metrics_[key]:.3f}" for key, name in METRICS.items())
        self.on_notice(f"test links: {scores}")


class History(Callback):
    """Keep what a call reports, in lists: `steps`, `notices`, `warnings`, `rounds`, `epochs` (records) and others.

    >>> from mixtea import MixTEA, load_example
    >>> history = History()
    >>> aligner = MixTEA(preset="paper", max_epochs=2, seed=1).fit(load_example(), callbacks=history)
    >>> history.steps[-1], [record["epoch"] for record in history.epochs]
    ('epoch 2 of at most 2', [1, 2])
    """

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.texts: list[tuple[int, int]] = []  # encoded, of how many
        self.notices: list[str] = []
        self.warnings: list[str] = []
        self.rounds: list[tuple[int, int]] = []  # number, sure pairs
        self.answers: list[dict[str, Any]] = []
        self.epochs: list[dict[str, Any]] = []
        self.checkpoints: list[int] = []
        self.resumed: list[int] = []

    def on_step(self, text: str) -> None:
        self.steps.append(text)

    def on_texts(self, done: int, of: int) -> None:
        self.texts.append((done, of))

    def on_notice(self, text: str) -> None:
        self.notices.append(text)

    def on_warning(self, text: str) -> None:
        self.warnings.append(text)

    def on_round(self, number: int, n_sure: int) -> None:
        self.rounds.append((number, n_sure))

    def on_answer(self, found: dict[str, Any]) -> None:
        self.answers.append(found)

    def on_epoch(self, record: dict[str, Any]) -> None:
        self.epochs.append(record)

    def on_checkpoint(self, epoch: int) -> None:
        self.checkpoints.append(epoch)

    def on_resume(self, epoch: int) -> None:
        self.resumed.append(epoch)
