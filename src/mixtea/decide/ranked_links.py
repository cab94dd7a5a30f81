"""Ranks of links among the candidates of a decoder."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mixtea.compute.scored_pairs import ScoredPairs, as_numpy
from mixtea.decide.decode import Decoded
from mixtea.evaluation.metrics import METRICS, better_and_equal, hits_at_1, sparse_ranking_metrics
from mixtea.graph.task import Task


class RankedLinks:
    """Links [p, 2] by joint index. A training link is given, so it is right; others of its ends are not."""

    def __init__(self, decoded: Decoded, task: Task, joint: Tensor) -> None:
        self.decoded, self.places = decoded, decoded.entities.place_of[joint]
        self.is_open = (self.places >= 0).all(1)
        links = ScoredPairs.of(as_numpy(task.joint_index.to_pairs(joint)), task.joint_index.shape)
        given = torch.as_tensor(links.are_among(task.train), device=joint.device)
        self.right = (given & ~self.is_open).double()

    def _among_candidates(self) -> tuple[ScoredPairs, Tensor, Tensor]:
        """Return the candidates among the ends of the links (or all), their ranking, and the open links by place."""
        open_places, decoded = self.places[self.is_open], self.decoded
        if decoded.config.candidates == "all":
            kept = [torch.arange(n, device=open_places.device) for n in decoded.entities.shape]
        else:
            kept = [torch.unique(open_places[:, side]) for side in (0, 1)]
        ends = [torch.searchsorted(kept[side], open_places[:, side].contiguous()) for side in (0, 1)]
        return *decoded.rank_among(*kept), torch.stack(ends, dim=1)

    def scores(self) -> dict[str, float]:
        """Compute Hit@k and MRR both ways."""
        right, share = float(self.right.mean()), float(self.is_open.double().mean())
        if not share:
            return {prefix + name: right for prefix in ("", "backward_") for name in METRICS}
        pairs, ranking, links = self._among_candidates()
        turned = ScoredPairs(pairs.target, pairs.source, (pairs.shape[1], pairs.shape[0]))
        order = torch.argsort(turned.key)
        turned = turned.where(order)
        found = sparse_ranking_metrics(pairs, ranking, links)
        back = sparse_ranking_metrics(turned, ranking[order], links.flip(1))
        found |= {f"backward_{name}": value for name, value in back.items()}
        return {name: value * share + right for name, value in found.items()}

    def first_hits(self) -> np.ndarray:
        """Return [p]: how likely each link is the first of its source, ties in expectation."""
        hits = self.right.clone()
        if self.is_open.any():
            hits[self.is_open] = hits_at_1(*better_and_equal(*self._among_candidates()))
        return as_numpy(hits)
