"""Wording shared by the command, the report and the tables, and safe display of text of unknown origin."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

METRICS = {"hits@1": "Hit@1", "hits@5": "Hit@5", "hits@10": "Hit@10", "mrr": "MRR"}
FROM_NAMES = "No links were given: learning began from names"
FROM_IDS = "Links were taken from ids that both graphs have"
MAX_LABEL_LENGTH = 160  # characters of a label that people are shown

# What a reader cannot see, or what moves or recolours what he sees elsewhere. In this order: control characters (escape
# sequences begin with one, in C1 as well); the soft hyphen and the grapheme joiner; marks, embeddings and isolates that
# turn the direction of writing; letters without a shape, of Korean, Khmer and Mongolian; spaces without width;
# separators of lines and paragraphs; invisible operators; an empty pattern of Braille; the byte order mark; annotations
# and what is no character; controls of hieroglyphs, shorthand and music; tags, which spell unseen words, and all that
# stands with them; half a character.
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
)
HALF_CHARACTER = re.compile("[\ud800-\udfff]")  # of a character: a surrogate without its other half
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def origin_of(links_from: str) -> str:
    """Return the origin of links in a sentence; "" where they were given.

    >>> origin_of("names"), origin_of("given")
    ('No links were given: learning began from names', '')
    """
    return {"names": FROM_NAMES, "ids": FROM_IDS}.get(links_from, "")


def decoded_by(voters: Sequence[str]) -> str:
    """Return the voters that decided, in words.

    >>> decoded_by(("forward", "backward")), decoded_by(("forward", "backward", "agreement"))
    ('the student alone', 'the student, agreement')
    """
    others = [name for name in voters if name not in ("forward", "backward")]
    student = ["the student" if others else "the student alone"] if len(others) < len(voters) else []
    return ", ".join([*student, *others]) or "nobody"


def visible(text: object, longest: int | None = None) -> str:
    r"""Return text of unknown origin as one line to show: invisible characters as escapes, all others as they are.

    A label or a file name so shown cannot steer a terminal, turn the direction of its surroundings, or break a line.
    The joiners U+200C and U+200D remain, for Persian, the scripts of India and composed emoji are spelled with them; so
    do the variation selectors U+FE00 to U+FE0F. Tags become escapes, though the flag of England is spelled with them.
    With `longest`, more characters than that are cut.

    >>> visible("a\x1b]0;title\x07\nb\u202e"), visible("می\u200cخواهم") == "می\u200cخواهم", visible("abcd", 3)
    ('a\\x1b]0;title\\x07\\nb\\u202e', True, 'abc…')
    """
    whole = str(text)
    shown = _INVISIBLE.sub(_escaped, whole if longest is None else whole[:longest])
    return shown if longest is None or len(whole) <= longest else shown + "…"


def shortened(text: str, longest: int) -> str:
    """Cut the middle of a text that is too long: the beginning and the end of a sentence matter most.

    >>> shortened("from a long name, line 3", 12), shortened("line 3", 6)
    ('from a…line 3', 'line 3')
    """
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half].rstrip()}…{text[-half:]}"


def whole_text(text: str) -> str:
    """Escape half characters in a text, as in names of files that are not UTF-8.

    >>> whole_text("caf\\udce9")
    'caf\\\\udce9'
    """
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def is_whole(text: str) -> bool:
    """Return whether a text has no half characters, which a file cannot hold.

    >>> is_whole("café"), is_whole("caf\\udce9")
    (True, False)
    """
    return text.isascii() or HALF_CHARACTER.search(text) is None


def html_table(title: str, header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Return a short table for a notebook; all content is shown as text.

    >>> html_table("<b>", ["id"], [["a&b"]])
    '<div><p>&lt;b&gt;</p><table><thead><tr><th>id</th></tr></thead><tbody><tr><td>a&amp;b</td></tr></tbody></table></div>'
    """

    def line(cells: Iterable[object], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{html.escape(visible(cell, MAX_LABEL_LENGTH))}</{tag}>' for cell in cells)}</tr>"

    head = f"<thead>{line(header, 'th')}</thead>" if header else ""
    body = "".join(line(row, "td") for row in rows)
    table = f"<table>{head}<tbody>{body}</tbody></table>" if body or head else ""
    return f"<div><p>{html.escape(visible(title))}</p>{table}</div>"


def json_text(value: Any) -> str:
    r"""Return JSON that is safe to display: invisible characters in it as JSON's own escapes.

    >>> json_text(["\x9b\U000e0041é"])
    '[\n "\\u009b\\udb40\\udc41é"\n]'
    """
    text = json.dumps(value, indent=1, ensure_ascii=False)
    return "\n".join(_INVISIBLE.sub(_json_escaped, line) for line in text.split("\n"))


def _json_escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def _escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    width = "x%02x" if number < 0x100 else "u%04x" if number < 0x10000 else "U%08x"
    return _SHORT.get(found[0]) or "\\" + width % number
