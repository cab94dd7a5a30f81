"""How many votes there are, and whose: what the history says of an epoch's votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from mixtea.voters.votes import Votes


def counted(votes: Votes, names: Sequence[str]) -> dict[str, Any]:
    """Votes in all, those that both directions agree on, that each voter favours, and that 1, 2, ... voters do."""
    if votes.voters is None:
        return {"votes": len(votes)}
    by_voter = dict(zip(names, votes.voters.sum(0).tolist(), strict=True))
    by_number = torch.bincount(votes.voters.sum(1), minlength=len(names) + 1).tolist()
    both = [names.index(name) for name in ("forward", "backward") if name in names]
    agreed = int(votes.voters[:, both].all(1).sum()) if len(both) == 2 else 0
    return (
        {"votes": len(votes), "votes_agreed": agreed}
        | {f"votes_{name}": n for name, n in by_voter.items()}
        | {f"votes_of_{k}": n for k, n in enumerate(by_number[1:], 1)}
    )
