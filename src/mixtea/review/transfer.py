"""Files of decisions and mappings that leave the page and come in; each function is called in a thread, beside it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from mixtea.errors import MixTEAError
from mixtea.export.mapping import write_mapping
from mixtea.export.metadata import About
from mixtea.review.decision import Decision
from mixtea.review.import_export import read_decisions, write_decisions
from mixtea.review.mapped import most_precise
from mixtea.review.reviewers import reviewers
from mixtea.review.session import Session

NAME = "decisions.sssom.tsv"


def exported(session: Session, standing: Iterable[Decision]) -> bytes:
    """Return decisions as an SSSOM file."""
    standing = list(standing)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        write_decisions(session.original.task, standing, reviewers(standing, session.truth), path)
        return path.read_bytes()


def mapping_file(session: Session, precision: float | None) -> bytes:
    """Return what is mapped as an SSSOM file, with the decisions; of all of it the part with an expected precision."""
    found = most_precise(session.mapping_now(), precision)
    about = About(description=found.expected_quality())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mapping.sssom.tsv"
        write_mapping(found, path, about)
        return path.read_bytes()


def copied(session: Session) -> bytes:
    """Return a copy of the file of decisions."""
    with tempfile.TemporaryDirectory() as folder, closing(session.store.again()) as store:
        path = Path(folder) / "decisions.sqlite"
        store.copy_to(path)
        return path.read_bytes()


def decisions_in(session: Session, body: bytes, reviewer: str) -> list[Decision]:
    """Return the decisions of an SSSOM file that was sent; ValueError if it is none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        path.write_bytes(body)
        try:
            return read_decisions(session.original.task, path, reviewer)
        except MixTEAError as error:
            raise ValueError(str(error).replace(str(path), "the file")) from None
