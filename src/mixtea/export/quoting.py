"""Quote text for YAML, CSV and SSSOM's TSV; refuse text that a format cannot hold, before anything is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from mixtea.errors import RunError, shorten
from mixtea.messages import HALF_CHARACTER

DEFAULT_ADVICE = ".parquet can take it, or mend the id."
_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9_./#%?=&~+:@-]|(?<!:) (?=[A-Za-z0-9_]))*(?<!:)")
_NOT_TEXT = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
_FOLDED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff]")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LINE_SEPARATORS = re.compile("[\t\n\r]")
_SEPARATORS = re.compile('[\t\n\r"\x0b\x0c\x1c-\x1e\x85\u2028\u2029]')


def yaml_text(text: str) -> str:
    """Return a YAML scalar for this text: plain where that is safe, else in double quotes.

    >>> yaml_text("https://example.org/a#"), yaml_text("1.0"), yaml_text("no"), yaml_text("a: b")
    ('https://example.org/a#', '"1.0"', '"no"', '"a: b"')
    """
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT:
        return text
    return _FOLDED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def quoted(text: str, delimiter: str = ",") -> str:
    """Quote a field if it contains quotes, the delimiter, tabs or line ends.

    >>> quoted("a b"), quoted("a,b"), quoted("a,b", ";"), quoted('a "b"').count('"')
    ('a b', '"a,b"', 'a,b', 6)
    """
    return '"' + text.replace('"', '""') + '"' if delimiter in text or _SEPARATORS.search(text) else text


def plain_line(text: str) -> str:
    r"""Replace control characters by spaces, so that the text is one line; readers drop lines that begin with `#`.

    >>> plain_line("x\n#y\tz")
    'x #y z'
    """
    return _CONTROLS.sub(" ", text)


def raise_unsupported(path: Path, problems: dict[str, str], kind: str = "entity") -> None:
    """Raise an error with the first of `problems`: an entity, what is wrong with it, and what to do."""
    if problems:
        entity, what = next(iter(problems.items()))
        more = f" {len(problems) - 1:,} more cannot be written either." if len(problems) > 1 else ""
        raise RunError(f"{path}: the {kind} {shorten(entity)} {what}{more}")


def character_problem(character: str, why: str, instead: str = DEFAULT_ADVICE) -> str:
    """Describe a character that a format cannot hold."""
    return f"holds {character!r} (U+{ord(character):04X}), {why}. {instead}"


def surrogate_problems(texts: Iterable[str | None]) -> dict[str, str]:
    """Return the texts with half a surrogate pair, which no encoding can hold, with the problem."""
    found = ((text, HALF_CHARACTER.search(text)) for text in texts if text)
    return {text: surrogate_problem(half[0]) for text, half in found if half}


def surrogate_label_problems(ids: Iterable[str | None], labels: Iterable[str | None]) -> dict[str, str]:
    """Return the entities whose labels contain half a surrogate pair, with the problem."""
    found = {one: label for one, label in zip(ids, labels, strict=True) if one is not None and label is not None}
    broken = surrogate_problems(found.values())
    return {one: f"has a label that {broken[label]}" for one, label in found.items() if label in broken}


def surrogate_problem(character: str) -> str:
    return character_problem(character, "which is half a character", "No format can take it: mend the text.")


def line_problem(id: str, advice: str = DEFAULT_ADVICE) -> str:
    """Return why a line without quotes cannot hold an id: separators, or a byte order mark in front; "" if it can."""
    if not id:
        return f"has no label, where a line needs one. {advice}"
    if half := HALF_CHARACTER.search(id):
        return surrogate_problem(half[0])
    if found := _LINE_SEPARATORS.search(id):
        return character_problem(found[0], "which separates columns or lines in .tsv", advice)
    if id[0] == "\ufeff":
        return character_problem(id[0], "which readers drop from the start of a file", advice)
    return ""
