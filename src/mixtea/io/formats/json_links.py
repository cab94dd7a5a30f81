"""Read links in JSON: a list of objects with source and target, alone or under `mappings` as `mixtea export` writes.

In JSON lines each line is such an object.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from mixtea.errors import Problems
from mixtea.graph.prefixes import BUILT_IN, expand
from mixtea.io.formats.headers import LINK_HEADERS, find_header
from mixtea.io.formats.link_tables import IDENTITY, LinkTable, left_out_warning, link_columns, parse_confidences
from mixtea.io.formats.table_process import CONFIDENCE_NAMES
from mixtea.io.formats.tsv import text_blocks
from mixtea.io.safe.limits import MIB, current_limits
from mixtea.io.safe.problems import HALF_A_CHARACTER, MEND, UnreadableError, limit_exceeded
from mixtea.messages import is_whole

LIST_BEGINS = re.compile(r'\s*+(?:\[|\{.*?"mappings"\s*+:\s*+\[)', re.DOTALL)
ANYTHING = re.compile("")
SPACES_AND_COMMAS = re.compile(r"[\s,]*+")
WRITE_LINKS = 'It needs a list of objects with "source" and "target", alone or under "mappings".'


def read_json_links(path: Path, kind: str, problems: Problems) -> LinkTable:
    """Read each object as a link, with its confidence if it has one; objects without a target are left out."""
    rows, lines, sure, others = [], [], [], Counter[str]()
    for line, found in _objects(path, problems, LIST_BEGINS if kind == "JSON" else ANYTHING):
        ends = _ends(found)
        if ends is None:
            problems.add(path, line, json.dumps(found)[:80], "no source and target:", WRITE_LINKS)
        elif not all(map(is_whole, ends)):
            problems.add(path, line, " ".join(ends), f"{HALF_A_CHARACTER} source or target:", MEND)
        elif "" in ends:
            others["without an end"] += 1
        elif expand(str(found.get("predicate_id") or "owl:sameAs"), BUILT_IN) not in IDENTITY:
            others[str(found["predicate_id"])] += 1
        else:
            rows.append(ends)
            lines.append(line)
            sure.append(next((str(found[name]) for name in CONFIDENCE_NAMES if found.get(name) is not None), ""))
    if not rows and not problems.found:
        raise UnreadableError(path, None, "", "no links in it", WRITE_LINKS)
    warnings = left_out_warning(path, "row", others)
    return LinkTable(
        path,
        link_columns(rows),
        np.array(lines, dtype=np.int64),
        warnings=warnings,
        confidences=parse_confidences(sure),
    )


def _ends(found: dict[str, Any]) -> tuple[str, str] | None:
    names = list(found)
    places = find_header(names, LINK_HEADERS)
    values = [found[names[place]] for place in places or ()]
    if not places or not all(value is None or isinstance(value, str) for value in values):
        return None
    return values[0] or "", values[1] or ""


def _objects(path: Path, problems: Problems, begins: re.Pattern[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, object) of each; no more of the file is held than `max_token_mib`."""
    ending = ["]"] if begins is ANYTHING else []  # as if it were a list
    blocks = chain((text for _, text, _ in text_blocks(path, problems)), ending)
    text, line, decoder, longest = next(blocks, ""), 1, json.JSONDecoder(), current_limits().max_token_mib * MIB
    if not (start := begins.match(text)):
        raise UnreadableError(path, None, "", "not JSON with a list of links", WRITE_LINKS)
    place = start.end()
    line += text.count("\n", 0, place)
    while True:
        following = SPACES_AND_COMMAS.match(text, place).end()  # type: ignore[union-attr]
        line, place = line + text.count("\n", place, following), following
        if text[place : place + 1] == "]":
            return
        try:
            found, end = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            if len(text) - place > longest:
                raise limit_exceeded(path, line, "an object that is too long", "max_token_mib") from None
            if (more := next(blocks, None)) is None:
                raise UnreadableError(path, line, "", f"not JSON ({error.msg})", "Write the file again.") from None
            text, place = text[place:] + more, 0
            continue
        except (ValueError, RecursionError):
            raise UnreadableError(path, line, "", "not JSON (a number or nesting out of range)", WRITE_LINKS) from None
        if not isinstance(found, dict):
            raise UnreadableError(path, line, str(found)[:80], "no object:", WRITE_LINKS)
        yield line, found
        line, place = line + text.count("\n", place, end), end
