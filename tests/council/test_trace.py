"""Who voted for what at which epochs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mixtea.council.trace import Trace, check_trace, trace_table, voter_texts

SOURCES, TARGETS = np.array([10, 11, 12]), np.array([20, 21, 22])


def add(trace, epoch, *cast):
    """Votes as (source row, target row, numbers of the voters)."""
    voters = np.zeros((len(cast), trace.n_voters), dtype=bool)
    for row, (_, _, who) in enumerate(cast):
        voters[row, list(who)] = True
    rows = np.array([(s, t) for s, t, _ in cast], dtype=int).reshape(-1, 2)
    trace.add(epoch, SOURCES[rows[:, 0]], TARGETS[rows[:, 1]], voters)


def test_a_vote_is_one_line_as_long_as_it_stays_the_same():
    trace = Trace(3)
    add(trace, 1, (0, 0, {0}), (1, 1, {0, 1}))
    add(trace, 6, (1, 1, {0, 1}), (0, 0, {0, 2}))  # another voter joins for the first
    add(trace, 11, (1, 1, {0, 1}))
    add(trace, 16, (0, 0, {0}), (1, 1, {0, 1}))  # and the old vote comes back
    frame = trace_table(trace.to_arrays(), ("a", "b", "c"))
    assert frame.columns.tolist() == ["source", "target", "voters", "first_epoch", "last_epoch"]
    assert [tuple(row) for row in frame.itertuples(index=False)] == [
        (10, 20, "a", 1, 1), (11, 21, "a+b", 1, 16), (10, 20, "a+c", 6, 6), (10, 20, "a", 16, 16)
    ]  # fmt: skip


def test_votes_of_an_epoch_that_did_not_end_are_left_out():
    """An error in epoch 6, after its votes were cast: the first pair's vote had stayed, the second's was new."""
    trace = Trace(2)
    add(trace, 5, (0, 0, {0}))
    add(trace, 6, (0, 0, {0}), (1, 1, {1}))
    frame = trace_table(trace.to_arrays(5), ("a", "b"))
    assert [tuple(row) for row in frame.itertuples(index=False)] == [(10, 20, "a", 5, 5)]
    check_trace(trace.to_arrays(5), (30, 30), 2, 5)
    assert len(trace.to_arrays(6)["source"]) == 2 == len(trace.to_arrays()["source"])


def test_no_votes_leave_an_empty_trace():
    trace = Trace(2)
    assert all(len(column) == 0 for column in trace.to_arrays().values())
    add(trace, 1)
    assert all(len(column) == 0 for column in trace.to_arrays().values())
    assert trace_table(trace.to_arrays(), ("a", "b")).empty


@st.composite
def trainings(draw):
    """(number of voters, for each epoch a dict from pairs to who voted for them)."""
    n_voters = draw(st.integers(1, 40))
    who = st.frozensets(st.integers(0, n_voters - 1), max_size=n_voters)
    pair = st.tuples(st.integers(0, 2), st.integers(0, 2))
    return n_voters, draw(st.lists(st.dictionaries(pair, who, max_size=5), max_size=5))


@given(trainings())
def test_the_trace_tells_every_vote_of_every_epoch_with_all_its_voters(training):
    n_voters, epochs = training
    trace = Trace(n_voters)
    for epoch, votes in enumerate(epochs, 1):
        if epoch == 2:  # as after an interruption
            again = Trace(n_voters)
            again.load_state_dict(trace.state_dict())
            trace = again
        add(trace, epoch, *((s, t, who) for (s, t), who in votes.items()))
    arrays = trace.to_arrays()
    check_trace(arrays, (13, 23), n_voters, len(epochs))
    told = {epoch: {} for epoch in range(1, len(epochs) + 1)}
    voters = np.unpackbits(arrays["voters"], axis=1, count=n_voters)
    for row in range(len(arrays["source"])):
        pair = (int(arrays["source"][row]) - 10, int(arrays["target"][row]) - 20)
        for epoch in range(arrays["first_epoch"][row], arrays["last_epoch"][row] + 1):
            assert pair not in told[epoch]  # each vote of an epoch is in one line
            told[epoch][pair] = frozenset(np.flatnonzero(voters[row]).tolist())
    assert list(told.values()) == epochs


def test_voters_are_named():
    assert voter_texts(np.array([[[True, False], [False, False]]]), ("a", "b")).tolist() == [["a", ""]]
    many = np.ones((1, 20), dtype=bool)
    assert voter_texts(many, [f"v{i}" for i in range(20)])[0].count("+") == 19


BROKEN = {
    "another column": lambda t: t.pop("voters"),
    "an entity that is not there": lambda t: t["source"].__setitem__(0, 99),
    "an epoch that was not": lambda t: t["last_epoch"].__setitem__(0, 7),
    "an end before its beginning": lambda t: (t["first_epoch"].__setitem__(0, 3), t["last_epoch"].__setitem__(0, 2)),
    "a voter too many": lambda t: t["voters"].__setitem__(0, 1),
    "another kind": lambda t: t.update(source=t["source"].astype(np.int64)),
    "another width": lambda t: t.update(voters=np.zeros((1, 2), np.uint8)),
    "another length": lambda t: t.update(source=t["source"][:0]),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_trace_that_cannot_be_is_refused(kind):
    trace = Trace(3)
    add(trace, 1, (0, 0, {0}))
    arrays = trace.to_arrays()
    check_trace(arrays, (13, 23), 3, 3)
    BROKEN[kind](arrays)
    with pytest.raises(ValueError, match="a trace of"):
        check_trace(arrays, (13, 23), 3, 3)
