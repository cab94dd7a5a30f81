"""The attention layer three ways: compressed rows with our gradient, PyTorch Geometric, and torch.sparse.

    python benchmarks/attention.py [--entities 30000] [--dim 256]

Two layers, forward and backward, time and the largest extra memory, each as a ratio to ours in the same run. Needs
`pip install 'mixtea[benchmarks]'` for the second way. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from common import header, row
from memory import Peak
from synthetic import synthetic_pair
from torch import Tensor

from mixtea import Config
from mixtea.encode.encoder import LEAKY_SLOPE, attend
from mixtea.encode.structure import Adjacency, build_structure

Layer = Callable[[Tensor, Tensor, Adjacency], Tensor]


def ours(hidden: Tensor, scores: Tensor, edges: Adjacency) -> Tensor:
    return attend(hidden, scores, edges, "leaky_relu")


def geometric(hidden: Tensor, scores: Tensor, edges: Adjacency) -> Tensor:
    """softmax and scatter of PyTorch Geometric over edges x dimensions."""
    from torch_geometric.utils import scatter, softmax

    before = F.leaky_relu(scores[edges.row, 0] + scores[edges.column, 1], LEAKY_SLOPE)
    alpha = softmax(before, ptr=edges.start)
    return scatter(alpha[:, None] * hidden[edges.column], edges.row, dim=0, dim_size=len(hidden))


def torch_sparse(hidden: Tensor, scores: Tensor, edges: Adjacency) -> Tensor:
    """torch.sparse.softmax and torch.sparse.mm, whose gradient to the values is dense."""
    n = len(hidden)
    before = F.leaky_relu(scores[edges.row, 0] + scores[edges.column, 1], LEAKY_SLOPE)
    matrix = torch.sparse_coo_tensor(torch.stack([edges.row, edges.column]), before, (n, n), is_coalesced=True)
    return torch.sparse.mm(torch.sparse.softmax(matrix, dim=1), hidden)


def run(layer: Layer, hidden: Tensor, attention: Tensor, edges: Adjacency) -> list[Tensor]:
    """Two layers forward and backward; the gradients."""
    out = hidden
    for _ in range(2):
        out = F.elu(layer(out, out @ attention.T, edges))
    return list(torch.autograd.grad(out.square().sum(), (hidden, attention)))


def measure(layer: Layer, hidden: Tensor, attention: Tensor, edges: Adjacency, repeats: int) -> tuple[float, float]:
    run(layer, hidden, attention, edges)
    watch = Peak()
    watch.start()
    started = time.perf_counter()
    for _ in range(repeats):
        run(layer, hidden, attention, edges)
    seconds = (time.perf_counter() - started) / repeats
    watch.done.set()
    watch.join()
    return seconds, watch.peak_mib - watch.start_mib


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=30000, help="of both sides together")
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    task = synthetic_pair(args.ids // 2)
    edges = build_structure(task.source, task.target, Config()).neighbours
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(args.ids, args.dim, generator=generator).requires_grad_()
    attention = (torch.randn(2, args.dim, generator=generator) / args.dim).requires_grad_()
    print(f"{args.ids:,} entities, {len(edges.row):,} edges, {args.dim} dimensions, two layers\n")
    header("attention", "s", "ratio", "extra MiB", "largest difference of gradients")
    expected = run(ours, hidden, attention, edges)
    first = None
    ways = (("compressed rows (used)", ours), ("PyTorch Geometric", geometric), ("torch.sparse", torch_sparse))
    for name, layer in ways:
        found = run(layer, hidden, attention, edges)
        apart = max(((a - b).abs().max() / b.abs().max()).item() for a, b in zip(found, expected, strict=True))
        seconds, mib = measure(layer, hidden, attention, edges, args.repeats)
        first = first or seconds
        row([name, f"{seconds:.2f}", f"{seconds / first:.1f}", f"{mib:,.0f}", f"{apart:.0e}"])


if __name__ == "__main__":
    main()
