"""Lines for a person, on standard error."""

from __future__ import annotations

from rich.console import Console

from mixtea.words import visible


def say(console: Console, text: object) -> None:
    """One line as it is: no markup, nothing coloured, nothing in it that steers the terminal."""
    console.print(visible(text), highlight=False, markup=False, soft_wrap=True)
