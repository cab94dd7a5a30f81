"""Files of decisions and mappings that the page exports and imports; each function is called in a thread."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from mixtea.errors import MixTEAError
from mixtea.export.formats import write_mapping
from mixtea.export.metadata import MappingMetadata
from mixtea.review.decision import Decision
from mixtea.review.import_export import read_decisions, write_decisions
from mixtea.review.mapped import most_precise
from mixtea.review.reviewers import measure_reviewers
from mixtea.review.state import ReviewState

NAME = "decisions.sssom.tsv"


def decisions_file(state: ReviewState, active: Iterable[Decision]) -> bytes:
    """Return decisions as an SSSOM file."""
    active = list(active)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        write_decisions(state.original.task, active, measure_reviewers(active, state.truth), path)
        return path.read_bytes()


def mapping_file(state: ReviewState, precision: float | None) -> bytes:
    """Return the mapping with the decisions as an SSSOM file: the largest part with a precision, or all of it."""
    found = most_precise(state.current_mapping(), precision)
    metadata = MappingMetadata(description=found.promise())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mapping.sssom.tsv"
        write_mapping(found, path, metadata)
        return path.read_bytes()


def database_copy(state: ReviewState) -> bytes:
    """Return a copy of the file of decisions."""
    with tempfile.TemporaryDirectory() as folder, closing(state.store.again()) as store:
        path = Path(folder) / "decisions.sqlite"
        store.copy_to(path)
        return path.read_bytes()


def parse_decisions(state: ReviewState, body: bytes, reviewer: str) -> list[Decision]:
    """Return the decisions of an uploaded SSSOM file; ValueError if it is invalid."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        path.write_bytes(body)
        try:
            return read_decisions(state.original.task, path, reviewer)
        except MixTEAError as error:
            raise ValueError(str(error).replace(str(path), "the file")) from None
