"""Justifications of mappings in SSSOM's terms, by the kinds of evidence that support each."""

from __future__ import annotations

from collections.abc import Mapping as Table

import pandas as pd

from mixtea.export.identifiers import text_of
from mixtea.export.metadata import About
from mixtea.voters.base import EvidenceKind
from mixtea.voters.registry import built_in_evidence

TERMS: dict[str, str] = {
    "structure": "semapv:StructuralMatching",
    "lexical": "semapv:LexicalMatching",
    "semantic": "semapv:SemanticSimilarityThresholdMatching",
    "human": "semapv:ManualMappingCuration",
}
BY_STRUCTURE, BY_SEVERAL = TERMS["structure"], "semapv:CompositeMatching"


def justifications(rows: pd.DataFrame, about: About, kinds: Table[str, EvidenceKind]) -> list[str]:
    """Return the term of each predicted mapping: that of `about` or, where this is structure, by its evidence.

    `kinds` are the kinds of evidence of voters from outside. Evidence of several kinds is a composite matching.
    """
    if about.justification != BY_STRUCTURE:
        return [about.justification] * len(rows)
    known = {**built_in_evidence(), **kinds}
    return [_justification(evidence or "", known) for evidence in text_of(rows["evidence"])]


def _justification(evidence: str, kinds: Table[str, EvidenceKind]) -> str:
    supporting = {part.partition("=")[0] for part in evidence.split() if "=+" in part}
    found = {TERMS[kinds.get(name, "lexical")] for name in supporting} or {BY_STRUCTURE}
    return found.pop() if len(found) == 1 else BY_SEVERAL


def shared_justification(rows: pd.DataFrame, about: About, kinds: Table[str, EvidenceKind]) -> str:
    """Return the term of all predicted mappings together."""
    found = set(justifications(rows[~rows["given"]], about, kinds)) or {about.justification}
    return found.pop() if len(found) == 1 else BY_SEVERAL
