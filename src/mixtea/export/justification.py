"""How mappings were found, in SSSOM's words, by what spoke for each."""

from __future__ import annotations

import pandas as pd

from mixtea.export.identifiers import text_of
from mixtea.export.metadata import About

BY_STRUCTURE, BY_NAMES = "semapv:StructuralMatching", "semapv:LexicalMatching"
BY_SEVERAL = "semapv:CompositeMatching"
STRUCTURE = {"vectors", "propagation", "agreement", "domain_range"}  # opinions that see nothing but triples and links


def justifications(rows: pd.DataFrame, about: About) -> list[str]:
    """Of each predicted mapping: that of `about`; where this is structure, and others spoke for the pair, by several.

    Names that spoke alone are a lexical matching.
    """
    if about.justification != BY_STRUCTURE:
        return [about.justification] * len(rows)
    return [_justification(evidence or "") for evidence in text_of(rows["evidence"])]


def _justification(evidence: str) -> str:
    spoke_for = {part.partition("=")[0] for part in evidence.split() if "=+" in part}
    if spoke_for <= STRUCTURE:
        return BY_STRUCTURE
    return BY_NAMES if spoke_for == {"names"} else BY_SEVERAL


def shared_justification(rows: pd.DataFrame, about: About) -> str:
    """That of all predicted mappings together."""
    found = set(justifications(rows[~rows["given"]], about)) or {about.justification}
    return found.pop() if len(found) == 1 else BY_SEVERAL
