"""Who voted for what at which epochs."""

from __future__ import annotations

import numpy as np
import torch

from mixtea.vote.trace import Trace
from mixtea.vote.votes import Votes, no_votes


def votes(*cast):
    source, target, bits = torch.tensor(cast, dtype=torch.int64).reshape(-1, 3).T
    return Votes(source, target, torch.ones(len(source)), (3, 3), bits)


def test_a_vote_is_one_line_as_long_as_it_stays_the_same():
    trace, sources, targets = Trace(), np.array([10, 11, 12]), np.array([20, 21, 22])
    trace.add(1, votes((0, 0, 1), (1, 1, 3)), sources, targets)
    trace.add(6, votes((1, 1, 3), (0, 0, 5)), sources, targets)  # another voter joins for the first
    trace.add(11, votes((1, 1, 3)), sources, targets)
    trace.add(16, votes((0, 0, 1), (1, 1, 3)), sources, targets)  # and the old vote comes back
    table = trace.to_arrays()
    rows = list(zip(*(table[name].tolist() for name in table), strict=True))
    assert list(table) == ["source", "target", "voters", "first_epoch", "last_epoch"]
    assert rows == [(10, 20, 1, 1, 1), (11, 21, 3, 1, 16), (10, 20, 5, 6, 6), (10, 20, 1, 16, 16)]


def test_no_votes_leave_an_empty_trace():
    trace = Trace()
    assert all(len(column) == 0 for column in trace.to_arrays().values())
    trace.add(1, no_votes((3, 3), torch.ones(1)), np.arange(3), np.arange(3))
    assert all(len(column) == 0 and column.dtype == np.int32 for column in trace.to_arrays().values())
