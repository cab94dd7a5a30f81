"""Read files of synonyms: a group of names per line, separated by tabs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mixtea.errors import Problems
from mixtea.graph.synonym_groups import Groups, merge_groups
from mixtea.io.formats.tsv import text_blocks
from mixtea.io.safe.encoding import encoding_of
from mixtea.io.safe.limits import current_limits
from mixtea.io.safe.problems import collect_unreadable, limit_exceeded
from mixtea.io.sniff import detect_format_among
from mixtea.text.names import normalized_name
from mixtea.text.phrases import MAX_PHRASE_LENGTH, MAX_PHRASE_UNITS, TOO_LONG

TEXTS = ("TSV", "CSV")  # a file of tabs may be called .csv
WRITE_NAMES = "Write two names or more in a line, separated by tabs."


def read_synonyms(paths: Sequence[Path], problems: Problems) -> tuple[Groups, list[str]]:
    """Return the groups of all files in plain names, joined where they share one; and warnings.

    A line of fewer than two names, or a file without any line, is a problem.
    """
    groups: list[list[str]] = []
    warnings: list[str] = []
    for path in paths:
        file = _GroupFile(path, problems)
        with collect_unreadable(problems):
            groups += file.groups()
        if n := file.n_long:
            warnings.append(f"{path}: {f'{n:,} names are' if n > 1 else '1 name is'} left out, with {TOO_LONG}")
    return merge_groups(groups), warnings


class _GroupFile:
    """A file of groups; a line may have any number of names, so that it is not a table."""

    def __init__(self, path: Path, problems: Problems) -> None:
        self.path, self.problems, self.n_long = path, problems, 0

    def groups(self) -> Iterator[list[str]]:
        """Yield the plain names of each line that has at least two."""
        detect_format_among(self.path, TEXTS, "groups of synonyms", WRITE_NAMES)
        before, any_line = len(self.problems.found), False
        for number, line in self._lines():
            any_line = True
            if len(names := self._names(number, line)) > 1:
                yield names
            else:
                what = "only one name that can be read in" if names else "no name that can be read in"
                self.problems.add(self.path, number, line, what, WRITE_NAMES)
        if not any_line and len(self.problems.found) == before:
            self.problems.add(self.path, None, "", "the file is empty", WRITE_NAMES)

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are neither blank nor comments; those that are not UTF-8 are reported, and blank."""
        for start, text, _ in text_blocks(self.path, self.problems, encoding_of(self.path)):
            for number, line in enumerate(text.split("\n"), start):
                if line.strip() and not line.startswith("#"):
                    yield number, line

    def _names(self, number: int, line: str) -> list[str]:
        """Return the plain names of a line, except those that are too long; cells may be empty."""
        if (n := line.count("\t") + 1) > current_limits().max_columns:
            raise limit_exceeded(self.path, number, f"{n:,} columns", "max_columns")
        names = []
        for cell in line.split("\t"):
            name = normalized_name(cell)
            if len(cell) > MAX_PHRASE_LENGTH or len(name.split()) > MAX_PHRASE_UNITS:
                self.n_long += 1
            elif name:
                names.append(name)
        return names
