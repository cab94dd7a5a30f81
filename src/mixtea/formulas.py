"""The paper's formulas as functions on torch tensors, differentiable where the paper differentiates.

Vectors come raw: each function normalises where the paper has a cosine. Losses are sums over rows, and the lowest index
wins an exact tie. docs/paper-to-code.md lists the place of each equation.

>>> import torch
>>> from mixtea.formulas import bidirectional_votes, rectify
>>> source, target = torch.eye(3), torch.eye(3)[[1, 0, 2]]
>>> rectify(bidirectional_votes(source, target, hit_forward=0.6, hit_backward=0.4)).to_dense().tolist()
[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
"""

from __future__ import annotations

from mixtea.evaluation.metrics import ranking_metrics
from mixtea.training.alignment_loss import alignment_loss
from mixtea.training.fuse import bidirectional_votes
from mixtea.training.pseudo_mapping_loss import pseudo_mapping_loss
from mixtea.training.rectify import rectify

__all__ = ["alignment_loss", "bidirectional_votes", "pseudo_mapping_loss", "ranking_metrics", "rectify"]
