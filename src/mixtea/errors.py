"""The errors that a user can meet. Each message names the place, the problem and its remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Self

from mixtea.messages import shortened, visible

MAX_KINDS_SHOWN = 20  # kinds of problem
MAX_NAMES_LISTED = 20  # names of which a message says that they are there
MAX_PLACES_SHOWN = 5  # places of a kind that are named beside the first
FULL_MEMORY_TEXTS = (
    "can't allocate memory", "not enough memory", "out of memory", "std::bad_alloc", "STATUS_ALLOC_FAILED",
    "can't start new thread", "failed to map segment",
)  # fmt: skip
DAMAGED_FILE_ERRORS = (ValueError, KeyError, TypeError, AttributeError, RecursionError)  # of JSON that was changed
MAX_VALUE_KEPT = 400  # characters of a value: more than is ever shown
MAX_TEXT_LENGTH, MAX_LINE_LENGTH = 600, 1500  # characters of what is said about a value, and of a problem's line


class MixTEAError(Exception):
    """Base of all errors that mixtea raises on purpose; `exit_code` is what a command ends with: bad input."""

    exit_code = 2

    def lines(self) -> list[str]:
        """Return the intended lines of the message: one, whatever names it quotes."""
        return [str(self)]


class DataError(MixTEAError, ValueError):
    """An input file cannot be used as it is; `listed` are the lines of a message that has several."""

    listed: tuple[str, ...] = ()

    @classmethod
    def of(cls, lines: Iterable[str]) -> Self:
        error = cls("\n".join(listed := tuple(lines)))
        error.listed = listed
        return error

    def lines(self) -> list[str]:
        return list(self.listed) or super().lines()


class ConfigError(MixTEAError, ValueError):
    """A setting is unknown, of the wrong type, or out of range."""


class VoterError(MixTEAError, ValueError):
    """A voter from outside failed, or gave what is not asked for; the message names it and its package."""

    exit_code = 1


class MissingVoterError(ConfigError):
    """A voter is not here; the message names the package that it comes from, if that is known."""


class RunError(MixTEAError):
    """A run folder cannot be read or written."""


class WriteError(RunError):
    """Writing failed where it should have worked: the disk is full, or broken."""

    exit_code = 1


class NotFittedError(MixTEAError, RuntimeError):
    """A learned attribute was used before the aligner was fitted."""


class TrainingError(MixTEAError, RuntimeError):
    """A training could not go on, through no fault of the call or the files."""

    exit_code = 1


class StoppedError(TrainingError):
    """A signal asked the training to end, which it did after saving its state."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number, self.exit_code = number, 128 + number

    def with_advice(self, advice: str) -> StoppedError:
        return StoppedError(f"{self} {advice}", self.number)


class DivergedError(TrainingError):
    """The loss, or a parameter, is not finite or explodes."""

    def __init__(self, epoch: int, loss: float) -> None:
        self.epoch = epoch
        super().__init__(f"The training diverged at epoch {epoch}: a loss of {loss:g}. Try a smaller learning_rate.")


class FullMemoryError(TrainingError):
    """Memory is full, and smaller blocks do not help."""


class ProcessLostError(TrainingError):
    """Another process of the same run has ended."""


class MissingExtraError(MixTEAError, ImportError):
    """An optional library is needed; the message names the extra that brings it."""


@dataclass(frozen=True)
class Problem:
    """One problem in one place of one file. Long texts are cut. An object has rows, not lines."""

    file: Path
    line: int | None
    value: str
    what: str
    todo: str
    counted: str = "line"

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", self.value[:MAX_VALUE_KEPT])
        for name in ("what", "todo"):
            object.__setattr__(self, name, shortened(getattr(self, name), MAX_TEXT_LENGTH))

    def __str__(self) -> str:
        where = f"{self.counted} {self.line}: " if self.line is not None else ""
        shown = f" {shorten(self.value)}" if self.value else ""
        return "  " + shortened(visible(f"{where}{self.what}{shown}. {self.todo}"), MAX_LINE_LENGTH)


class Problems:
    """Collection of the problems in the files of one task, so that a user sees all at once.

    Of a file with more than `limit` problems, the further ones are counted, not kept. `by_row` are the files with rows
    in place of lines. With `strict` a file with anything doubtful is refused.
    """

    def __init__(self, limit: int = 1000, *, strict: bool = False) -> None:
        self.found: list[Problem] = []
        self.strict = strict
        self.limit, self.kept, self.skipped = limit, Counter[Path](), Counter[Path]()
        self.by_row: set[Path] = set()

    def add(self, file: Path, line: int | None, value: str, what: str, todo: str) -> None:
        if self.kept[file] < self.limit:
            self.kept[file] += 1
            self.found.append(Problem(file, line, value, what, todo, "row" if file in self.by_row else "line"))
        else:
            self.skipped[file] += 1

    def raise_if_any(self) -> None:
        """Raise one DataError that lists, for each file, the first kinds of problem and how often each is there."""
        if self.found:
            raise DataError.of(self._report())

    def _report(self) -> Iterator[str]:
        by_file: dict[Path, list[Problem]] = {}
        for problem in self.found:
            by_file.setdefault(problem.file, []).append(problem)
        for file, problems in by_file.items():
            n = self.skipped[file] + len(problems)
            kinds: dict[tuple[str, str], list[Problem]] = {}
            for problem in sorted(problems, key=lambda p: p.line or 0):
                kinds.setdefault((problem.what, problem.todo), []).append(problem)
            yield f"{visible(file)}: {n} problem{'s' if n > 1 else ''}"
            uncounted = self.skipped[file] if len(kinds) == 1 else 0  # they are of the only kind there is
            for alike in islice(kinds.values(), MAX_KINDS_SHOWN):
                yield str(alike[0])
                yield from _others(alike[1:], uncounted)
            shown = sum(map(len, islice(kinds.values(), MAX_KINDS_SHOWN))) + uncounted
            if n > shown:
                yield f"  ... and {n - shown} more"


def _others(alike: list[Problem], uncounted: int) -> Iterator[str]:
    """Yield one line for the problems that differ from the one before by their place and value alone."""
    if alike:
        places = [_place(problem) for problem in alike[:MAX_PLACES_SHOWN]]
        n = len(alike) + uncounted
        yield visible(f"  ... and {n} more like it: {', '.join(places)}{', ...' if n > len(places) else ''}")


def _place(problem: Problem) -> str:
    line = f"{problem.counted} {problem.line} " if problem.line is not None else ""
    return f"{line}{shorten(problem.value, 60) if problem.value else ''}".strip()


def is_full_memory(error: BaseException) -> bool:
    """Return whether an error of Python, NumPy, SciPy or torch means that memory is full, on a GPU or beside it."""
    if isinstance(error, MixTEAError):
        return False
    by_text = isinstance(error, RuntimeError | ImportError) and any(text in str(error) for text in FULL_MEMORY_TEXTS)
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or by_text


def listed(names: Sequence[str], most: int = MAX_NAMES_LISTED) -> str:
    """Return names in a message, shortened, and of many only the first."""
    return ", ".join(map(shorten, names[:most])) + ", ..." * (len(names) > most)


def shorten(value: str, width: int = 100) -> str:
    """Return the value as a Python literal, so that invisible characters show, cut to a line's length."""
    shown = repr(value[:width])
    return shown if len(shown) <= width else shown[: width - 4] + "..." + shown[0]
