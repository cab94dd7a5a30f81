"""The voter behind vectors, such as the teacher's or the student's: what is near is alike."""

from __future__ import annotations

from torch import Tensor

from mixtea.compute.pairs import Pairs, cosines, nearest_pairs


class VectorVoter:
    """Cosines of unit vectors [n, d] and [m, d]; proposes the k nearest of every row, in both directions."""

    def __init__(self, name: str, source: Tensor, target: Tensor, k: int, mib: int | None = None) -> None:
        self.name, self.source, self.target, self.k, self.mib = name, source, target, k, mib

    def pairs(self) -> Pairs:
        return nearest_pairs(self.source, self.target, self.k, mib=self.mib)

    def scores(self, pairs: Pairs) -> Tensor:
        return cosines(self.source, self.target, pairs)
