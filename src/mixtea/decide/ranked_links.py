"""Ranks of links among the candidates of a decoder."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mixtea.compute.pairs import Pairs
from mixtea.decide.decode import Decoded
from mixtea.evaluation.metrics import METRICS, better_and_equal, hits_at_1, sparse_ranking_metrics
from mixtea.graph.task import Task


class RankedLinks:
    """Links [p, 2] by joint index. A training link is given, so it is right; others of its ends are not."""

    def __init__(self, decoded: Decoded, task: Task, joint: Tensor) -> None:
        self.decoded, self.places = decoded, decoded.entities.place_of[joint]
        self.is_open = (self.places >= 0).all(1)
        given, n_source = {tuple(pair) for pair in task.train.tolist()}, task.source.n_entities
        self.right = torch.zeros(len(joint), dtype=torch.float64, device=joint.device)
        closed = [(s, t - n_source) in given for s, t in joint[~self.is_open].tolist()]
        self.right[~self.is_open] = torch.tensor(closed, dtype=torch.float64, device=joint.device)

    def _among_candidates(self) -> tuple[Pairs, Tensor, Tensor]:
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
        order = torch.argsort(pairs.target * pairs.shape[0] + pairs.source)
        turned = Pairs(pairs.target[order], pairs.source[order], pairs.shape[::-1])
        found = sparse_ranking_metrics(pairs, ranking, links)
        back = sparse_ranking_metrics(turned, ranking[order], links.flip(1))
        found |= {f"backward_{name}": value for name, value in back.items()}
        return {name: value * share + right for name, value in found.items()}

    def first_hits(self) -> np.ndarray:
        """Return [p]: how likely each link is the first of its source, ties in expectation."""
        hits = self.right.clone()
        if self.is_open.any():
            hits[self.is_open] = hits_at_1(*better_and_equal(*self._among_candidates()))
        return hits.cpu().numpy()
