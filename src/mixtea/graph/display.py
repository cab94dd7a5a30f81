"""Entities as people see them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mixtea.graph.graph import Graph
from mixtea.messages import visible

LONGEST_ADDRESS = 2000
_LINK = re.compile(r"https?://[^\s/?#<>\"{}|\\^`@]+([/?#][^\s<>\"{}|\\^`]*)?", re.IGNORECASE)


@dataclass(frozen=True)
class Name:
    """An entity as people see it: a text, and where to read about it, if its label is an address on the web."""

    text: str
    address: str = ""


def name_of(graph: Graph, index: int) -> Name:
    """Only http and https are addresses; all other labels are text, whatever a browser would do with them."""
    label = str(graph.ids[index])
    is_address = len(label) <= LONGEST_ADDRESS and _LINK.fullmatch(label) and visible(label) == label
    return Name(graph.display(index), label if is_address else "")
