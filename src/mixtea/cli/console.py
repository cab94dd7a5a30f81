"""Lines on standard error."""

from __future__ import annotations

from rich.console import Console

from mixtea.compute.torchrun import is_first
from mixtea.messages import shortened, visible

MAX_LINE_CHARS = 20_000  # characters: more than any sentence has, with the longest paths in it


def print_line(console: Console, text: object) -> None:
    """Print one line without markup, colours or control characters."""
    console.print(one_line(text), highlight=False, markup=False, soft_wrap=True)


def print_encoded(n: int, of: int) -> None:
    """Print how many texts a model has encoded so far."""
    print_line(Console(stderr=True, quiet=not is_first()), f"{n:,} of {of:,} texts encoded")


def one_line(text: object) -> str:
    """Return text of unknown origin as a line for the terminal, shortened in the middle."""
    return shortened(visible(text), MAX_LINE_CHARS)
