"""The mapping under review: what decisions make of it, and the most precise part of it, in the queue and in a file."""

from __future__ import annotations

import asyncio

import numpy as np
import pandas as pd
import pytest
from conftest import make_graph
from reviewing import decision

from mixtea.decide.mapping import COLUMNS, Mapping
from mixtea.errors import Problems
from mixtea.io.links.read import read_link_table
from mixtea.review.decision import KNOWN
from mixtea.review.import_export import apply_decisions, most_precise, precision_summary
from mixtea.review.queue import Filter


@pytest.fixture
def mapping():
    """Five sources: s0 to s2 have their targets, s0 a further one, s3 has none; about half of them have one."""
    rows = [
        ("s0", "t0", 0.9, "mapped"), ("s1", "t1", 0.8, "mapped"), ("s2", "t2", 0.6, "mapped"),
        ("s3", None, 0.7, "unsure"), ("s0", "t4", 0.7, "further target"),
    ]  # fmt: skip
    ends = pd.DataFrame(rows, columns=["source", "target", "probability", "decision"]).astype({"target": object})
    others = {"runner_up": None, "runner_up_probability": np.nan, "voters": "names", "given": False, "evidence": ""}
    frame = ends.assign(**others)[list(COLUMNS)]
    return Mapping(*(make_graph([(0, 0, 1)], 5, side) for side in "st"), frame, expected=3.5, n_links=10)


def decided(mapping, *accepted, rejected=(), several=()):
    found = {pair: decision("k", "accept", *pair, at="2026-11-18T10:00:00") for pair in accepted}
    return apply_decisions(mapping, found, rejected, several)


def pairs_of(mapping):
    return [tuple(row) for row in mapping.frame[["source", "target", "decision"]].to_numpy()]


def test_without_decisions_it_is_what_is_mapped(mapping):
    found = decided(mapping)
    assert found.frame.equals(mapping.pairs()) and found.expected == 3.5


def test_rejected_pairs_are_not_mapped(mapping):
    found = decided(mapping, rejected=[("s1", "t1"), ("s2", "t3")])
    assert pairs_of(found) == [("s0", "t0", "mapped"), ("s2", "t2", "mapped"), ("s0", "t4", "further target")]


def test_an_accepted_pair_is_given_and_ends_its_rivals(mapping):
    """s1 gets the target of s2, which has none then."""
    found = decided(mapping, ("s1", "t2"))
    assert pairs_of(found) == [("s1", "t2", "given"), ("s0", "t0", "mapped"), ("s0", "t4", "further target")]
    assert found.frame["probability"].tolist() == [1.0, 0.9, 0.7] and found.frame["given"].tolist() == [
        True,
        False,
        False,
    ]
    assert found.expected == 2.5  # of the others
    assert found.slots["s1", "t2"]["author_label"] == "ann" and found.slots["s1", "t2"]["mapping_date"] == "2026-11-18"


def test_a_source_keeps_other_targets_only_where_it_may_have_several(mapping):
    assert pairs_of(decided(mapping, ("s0", "t0")))[0] == ("s0", "t0", "given")
    assert [pair[:2] for pair in pairs_of(decided(mapping, ("s0", "t0")))] == [("s0", "t0"), ("s1", "t1"), ("s2", "t2")]
    kept = pairs_of(decided(mapping, ("s0", "t0"), several={"s0"}))
    assert kept[-1] == ("s0", "t4", "further target") and len(kept) == 4


def test_the_most_precise_part_is_the_largest_with_that_mean_probability(mapping):
    found = decided(mapping)
    for precision, n in ((1, 0), (0.9, 1), (0.85, 2), (0.8, 3), (0.75, 4), (0.01, 4)):
        part = most_precise(found, precision).frame["probability"]
        assert len(part) == n and (not n or part.mean() >= precision)
    assert most_precise(found, None) is found


def test_accepted_pairs_are_always_there_and_do_not_make_others_precise(mapping):
    part = most_precise(decided(mapping, ("s3", "t3")), 0.95)
    assert pairs_of(part) == [("s3", "t3", "given")]


def test_it_is_said_what_is_expected(mapping):
    found = decided(mapping)
    assert precision_summary(most_precise(found, 0.855), 0.855).startswith(
        "The largest part of the mapping for a precision of 85.5 %: 1 pair, expected precision 0.900 ("
    )
    assert "2 pairs, expected precision 0.850 " in precision_summary(most_precise(found, 0.85), 0.85)
    assert (
        precision_summary(most_precise(found, 0.99), 0.99)
        == "No part of the mapping has an expected precision of 99 %."
    )
    one = decided(mapping, ("s0", "t0"))
    assert precision_summary(most_precise(one, 0.99), 0.99).endswith("1 accepted pair is exported too.")


# In a review


@pytest.fixture
def session(opened):
    return opened()


def mapped(session):
    """Rows of what the run maps, with their probabilities, likeliest first."""
    model = session.state.original
    rows = [row for row in np.flatnonzero(model.is_mapped).tolist() if int(model.sources[row]) not in model.valid]
    return sorted(rows, key=lambda row: -model.probability[row, 0])


def queued(session, **wanted):
    place = session.positions.position("ann")
    place.filter = Filter(**wanted)
    return {item.row for item in session.positions.items(place)}


def test_the_queue_has_the_part_that_was_asked_for(session):
    rows, p = mapped(session), session.state.original.probability[:, 0]
    assert len(rows) > 5
    for precision in (0.5, float(p[rows[:3]].mean()), float(p[rows].mean())):
        mean = np.cumsum(p[rows]) / np.arange(1, len(rows) + 1)
        n = int(np.flatnonzero(mean >= precision - 1e-12).max()) + 1
        assert queued(session, precision=precision - 1e-12) == {*rows[:n]}
    assert queued(session, precision=1.0) == {row for row in rows if p[row] == 1}
    n = len(queued(session, precision=0.5))
    assert len(queued(session, precision=0.5, least=0.8)) < n  # beside other filters


def test_the_mapping_knows_facts_alone(session):
    """Decisions about known items and other entities, and unsure ones, decide nothing; nor do such without weight."""
    first, second, third, *_ = rows = mapped(session)
    source, target = (
        session.state.source_id,
        lambda row: str(session.state.original.task.target.ids[session.state.original.target[row, 0]]),
    )
    session.keep([
        decision("a", "reject", source(first), target(first)), decision("b", "accept", source(second), target(second)),
        decision("c", "unsure", source(third), target(third)), decision("d", "reject", "gone", "t1"),
        decision("e", "reject", source(third), target(third), reason=KNOWN),
        decision("f", "reject", source(rows[3]), target(rows[3]), reviewer="bob"),
    ])  # fmt: skip
    session.state.weights["bob"] = 1.5
    found = session.state.current_mapping().frame
    assert source(first) not in set(found["source"]) and {source(third), source(rows[3])} <= set(found["source"])
    assert found.loc[found["given"], "source"].tolist() == [source(second)]
    assert len(found) == len(session.state.original.mapping.pairs()) - 1
    session.undo("ann", "x")  # what was said of a known item
    session.undo("ann", "y")
    session.undo("ann", "z")
    session.undo("ann", "u")
    assert not session.state.current_mapping().frame["given"].any()


# The page


def exported(reviewing, tmp_path, query=""):
    """The status and the rows of the mapping that the page exports."""

    async def walk():
        return await reviewing.get("/mapping.sssom.tsv", query)

    answer, path = asyncio.run(walk()), tmp_path / "mapping.sssom.tsv"
    path.write_bytes(answer.body)
    return answer, path


def test_what_is_exported_is_what_the_queue_has(reviewing, tmp_path):
    session = reviewing.session
    first, *_, last = rows = mapped(session)
    precision = float(session.state.original.probability[rows[:4], 0].mean()) - 1e-9
    asyncio.run(reviewing.decide(last))
    answer, path = exported(reviewing, tmp_path, f"precision={100 * precision}")
    assert answer.status == 200
    assert answer.headers["content-disposition"] == ['attachment; filename="mapping.sssom.tsv"']
    assert 'mapping_set_description: "expected precision ' in path.read_text(encoding="utf-8")
    found = {source: slots for (source, _), slots in read_link_table(path, Problems()).slots.items()}
    chosen = {session.state.source_id(row) for row in queued(session, precision=precision, state="all")}
    assert found.keys() == chosen and session.state.source_id(first) in found and len(found) < len(rows)
    accepted = found[session.state.source_id(last)]
    assert accepted["author_label"] == "ann" and accepted["mapping_justification"].endswith("ManualMappingCuration")


def test_without_a_precision_all_that_is_mapped_is_exported(reviewing, tmp_path):
    answer, path = exported(reviewing, tmp_path)
    assert answer.status == 200
    assert len(read_link_table(path, Problems(10))) == len(reviewing.session.state.original.mapping.pairs())


@pytest.mark.parametrize("text", ["ninety", "0", "-5", "100.5", "nan", "inf", "<b>"])
def test_what_is_no_precision_is_refused(text, reviewing, tmp_path):
    before = reviewing.session.positions.position("ann").filter
    wanted = f"An expected precision is a number above 0 and at most 100, in percent, not '{text}'."
    answer = asyncio.run(reviewing.post("/queue", precision=text))
    assert (answer.status, answer.text) == (422, wanted) and reviewing.session.positions.position(
        "ann"
    ).filter == before
    answer, _ = exported(reviewing, tmp_path, f"precision={text}")
    assert (answer.status, answer.text) == (422, wanted)


def test_the_card_says_what_is_expected_as_long_as_it_is_asked_for(reviewing):
    async def walk():
        first = await reviewing.post("/queue", precision="60")
        page = await reviewing.get("/")
        return first, page, await reviewing.post("/queue", precision="")

    first, page, without = asyncio.run(walk())
    assert (
        "The largest part of the mapping for a precision of 60 %: " in first.text and "expected precision" in first.text
    )
    assert 'href="/mapping.sssom.tsv?precision=60"' in first.text and 'value="60"' in page.text
    assert "largest part" in page.text and "largest part" not in without.text and without.status == 200
