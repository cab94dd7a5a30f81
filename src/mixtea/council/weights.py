"""How much each voter's word weighs, by how often it was right on the validation links."""

from __future__ import annotations

from collections.abc import Sequence

DRAWN = 20  # links by which a voter that is silent on some is drawn to the mean


def vote_weights(hits: Sequence[float]) -> list[float]:
    """beta_k = hit_k / sum of hits (Eq. 11, for any number of voters); equal weights when nobody was ever right."""
    total = sum(hits)
    return [hit / total for hit in hits] if total > 0 else [1 / len(hits)] * len(hits)


def shares_right(right: Sequence[float], spoken: Sequence[float], n_links: int) -> list[float]:
    """hit_k = (right_k + d_k mean) / (spoken_k + d_k): each voter's share right among the links on which it speaks,

    drawn to the mean of all by d_k = min(20, the links on which it is silent). One that speaks on all is not drawn.
    """
    mean = sum(right) / total if (total := sum(spoken)) > 0 else 0.0
    drawn = [min(DRAWN, n_links - n) for n in spoken]
    return [(r + d * mean) / (n + d) if n + d else mean for r, n, d in zip(right, spoken, drawn, strict=True)]
