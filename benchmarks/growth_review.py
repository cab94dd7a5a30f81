"""Cases of growth.py about the review page: values on a card, decisions about one source, rows of an import."""

from __future__ import annotations

from pathlib import Path

from mixtea.review.decision import Decision
from mixtea.review.decisions import DecisionStore, decisions_path
from mixtea.review.import_export import read_decisions, write_decisions
from mixtea.review.session import Session

OPEN = 20  # an entity without a training link


def opened(run: Path) -> Session:
    """Begin a review of a run."""
    return Session(run, DecisionStore(decisions_path(run)))


def card(run: Path) -> object:
    """Make the card of the open entity, with all its evidence."""
    session = opened(run)
    return session.state.card(session.state.original.row_of_id(f"s{OPEN}"))


def decided_one_by_one(run: Path, n: int) -> None:
    """Take up n decisions about one source, each by itself, as a page does."""
    session = opened(run)
    for number in range(1, n + 1):
        target, action = f"t{OPEN + number % 15}", ("accept", "reject")[number % 2]
        session.state.apply_rows([Decision(f"k{number}", "ann", action, f"s{OPEN}", target, (target,), id=number)])


def import_file(run: Path, n: int) -> Path:
    """Write a file of n decisions, most of them about entities that are not in the run."""
    session = opened(run)
    rows = [
        Decision(f"k{i}", "ann", "accept", f"s{i}", f"t{i}", (f"t{i}",), at="2026-01-01", id=i + 1) for i in range(n)
    ]
    path = run.with_name("decisions.sssom.tsv")
    write_decisions(session.state.original.task, rows, {}, path)
    return path


def imported(run: Path, file: Path) -> None:
    """Read a file of decisions, keep them, and take them up."""
    session = opened(run)
    session.state.store.take_over(read_decisions(session.state.original.task, file, "ann"))
    session.state.refresh()
