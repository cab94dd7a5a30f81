"""Matching diversity-based rectification (MDR): votes that compete weaken each other."""

from __future__ import annotations

from dataclasses import replace

from mixtea.voters.votes import Votes


def rectify(votes: Votes) -> Votes:
    """P~_ij = P_ij / (sum_j' P_ij' + sum_i' P_i'j - P_ij) (Eq. 13), on the votes alone: where P is 0, P~ is 0."""
    row = votes.row_sum().index_select(0, votes.source)
    column = votes.column_sum().index_select(0, votes.target)
    competing = row + column - votes.confidence
    rectified = votes.confidence / competing.where(competing > 0, 1.0)
    return replace(votes, confidence=rectified)
