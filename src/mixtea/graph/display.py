"""Entities as people see them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mixtea.graph.graph import Graph
from mixtea.messages import visible

MAX_ADDRESS_LENGTH = 2000
_LINK = re.compile(r"https?://[^\s/?#<>\"{}|\\^`@]+([/?#][^\s<>\"{}|\\^`]*)?", re.IGNORECASE)


@dataclass(frozen=True)
class DisplayName:
    """An entity as people see it: a text, and where to read about it, if its label is an address on the web."""

    text: str
    address: str = ""


def display_name(graph: Graph, index: int) -> DisplayName:
    """Only http and https are addresses; all other labels are text, whatever a browser would do with them."""
    label = str(graph.ids[index])
    is_address = len(label) <= MAX_ADDRESS_LENGTH and _LINK.fullmatch(label) and visible(label) == label
    return DisplayName(graph.display(index), label if is_address else "")
