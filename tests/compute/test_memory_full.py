"""Memory that runs out: at every operation of every sweep, and for real in a process that may take little."""

from __future__ import annotations

import contextvars
import json
import logging
import os
import sys
from pathlib import Path

import pytest
import torch
from conftest import make_graph, said_task
from processes import run
from torch.utils._python_dispatch import TorchDispatchMode

from mixtea.compute import memory, similarity
from mixtea.compute.nearest import cosines, nearest, nearest_pairs
from mixtea.compute.similarity import (
    best_both_ways,
    count_better_and_equal,
    groups_of_equal_rows,
    products_at,
    top_k,
    unit,
)
from mixtea.council.opinions import belief_of, csls, sinkhorn
from mixtea.decide.decoders import decide, rank_top
from mixtea.encode.encoder import attend, product_in_order
from mixtea.errors import TrainingError
from mixtea.graph.joint_index import JointIndex, OpenIndex
from mixtea.relations.neighbours import NeighbourIndex
from mixtea.training.alignment_loss import hard_negatives
from mixtea.training.pseudo_mapping_loss import cross_entropy, pseudo_mapping_loss
from mixtea.voters.agreement_steps import AgreementSteps
from mixtea.voters.propagation_views import PropagationGraph
from mixtea.voters.votes import make_votes

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
N, M, D = 60, 50, 9
ERRORS = {
    "gpu": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    "torch": RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: you tried"),
    "numpy": MemoryError("Unable to allocate 2.00 GiB for an array"),
}


@pytest.fixture(autouse=True)
def usual_sizes():
    with memory.remembered_sizes():
        yield


class FullAt(TorchDispatchMode):
    """The n-th operation of torch finds no memory; counts them."""

    def __init__(self, number, error=None):
        super().__init__()
        self.number, self.error, self.count = number, error, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += 1
        if self.count == self.number:
            raise self.error
        return function(*args, **(kwargs or {}))


def vectors(*sizes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [unit(torch.randn(k, D, generator=generator)) for k in sizes]


S, T = vectors(N, M)
VOTES = make_votes(torch.arange(M), torch.arange(M), torch.rand(M, generator=torch.Generator().manual_seed(1)), (N, M))
PAIRS = nearest_pairs(S, T, 4)
SCORES = cosines(S, T, PAIRS)
BELIEF = SCORES.sigmoid()
TRIPLES = torch.randint(0, N, (300, 3), generator=torch.Generator().manual_seed(2)).T
GRAPH = make_graph([(h, r % 3, t) for h, r, t in TRIPLES.T.tolist()], N)
ROWS = (torch.arange(10, N // 2), torch.arange(N // 2 + 10, N))
LINKS = torch.stack([torch.arange(10), N // 2 + torch.arange(10)], dim=1)


def loss_and_gradient():
    source, target = S.clone().requires_grad_(), T.clone().requires_grad_()
    loss = cross_entropy(source, target, VOTES, temperature=0.1)
    return [loss.detach(), *torch.autograd.grad(loss, [source, target])]


def attention():
    from mixtea.config import Config
    from mixtea.encode.structure import build_structure

    edges = build_structure(GRAPH, GRAPH, Config()).neighbours
    hidden, upstream = (vectors(2 * N, seed=k)[0] for k in (3, 4))
    hidden.requires_grad_()
    out = attend(hidden, hidden[:, :2], edges, "elu")
    return [out.detach(), *torch.autograd.grad(out, [hidden], upstream)]


def agreement():
    half, rows = N // 2, [(h % (N // 2), r % 3, t % (N // 2)) for h, r, t in TRIPLES.T.tolist()]
    graphs = make_graph(rows[:150], half, "s"), make_graph(rows[150:], half, "t")
    index = NeighbourIndex.of(said_task(*graphs, []), shared_relations=True)
    steps = AgreementSteps(index, LINKS, JointIndex((half, half)), torch.float32)
    source, target = vectors(len(ROWS[0]), len(ROWS[1]))
    pairs = nearest_pairs(source, target, 3)
    entities = OpenIndex(ROWS, (N // 2, N - N // 2), (len(ROWS[0]), len(ROWS[1])))
    return [steps.scores(pairs, belief_of(entities.open_pairs(pairs), cosines(source, target, pairs).sigmoid(), None))]


def propagation():
    graph = PropagationGraph(TRIPLES[0], TRIPLES[1] % 3, TRIPLES[2], N, 3, torch.float32)
    return graph.vectors(LINKS, torch.Generator().manual_seed(0), ROWS)


def negatives():
    return [hard_negatives(LINKS, torch.cat([S, T]), N // 2, 3, torch.Generator().manual_seed(0))]


def in_order():
    matrix = (S @ T.T).relu().to_sparse_csr()
    return [product_in_order(matrix, T)]


WORK = {
    "best_both_ways": lambda: [*best_both_ways(S, T)],
    "counts": lambda: [*count_better_and_equal(S, T, torch.arange(N) % M)],
    "top_k": lambda: [top_k(S, T, 3, "manhattan")],
    "groups": lambda: [*groups_of_equal_rows(S)],
    "products_at": lambda: [products_at(S, T, PAIRS.source, PAIRS.target, 4 << 20)],
    "nearest_pairs": lambda: [(found := nearest_pairs(S, T, 3)).source, found.target],
    "cosines": lambda: [cosines(S, T, PAIRS)],
    "nearest": lambda: [*nearest(S, T, 3, engine="streamed")],
    "loss": loss_and_gradient,
    "attention": attention,
    "agreement": agreement,
    "propagation": propagation,
    "negatives": negatives,
    "in_order": in_order,
    "normalise": lambda: [csls(PAIRS, SCORES), sinkhorn(PAIRS, SCORES, 0.1, 3)],
    "decide": lambda: [decide(PAIRS, SCORES, BELIEF, "one_to_one"), rank_top(PAIRS, SCORES, 2)],
}
SMALLER = WORK.keys() - {"attention", "cosines", "normalise", "decide"}  # those that have blocks
EXPLAINED = {"nearest_pairs", "cosines", "nearest", "normalise", "decide"}  # the others prepare what they work on


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("name", WORK)
def test_memory_runs_out_at_any_operation(name, caplog):
    """The answer has the same bits, or an error says what to do; inside a block, work goes on."""
    work = WORK[name]
    wanted = work()
    with FullAt(-1) as whole:
        work()
    survived, step = 0, max(1, whole.count // 60)
    for number in range(1, whole.count + 1, step):
        caplog.clear()
        try:
            with FullAt(number, ERRORS["torch"]):
                found = contextvars.Context().run(work)  # which remembers no sizes
        except TrainingError as error:
            assert "Memory is full" in str(error) and "Use " in str(error)
            continue
        except RuntimeError:
            assert name not in EXPLAINED
            continue
        survived += 1
        assert "memory is full: going on" in caplog.text, "nobody noticed"
        assert all(torch.equal(f, w) for f, w in zip(found, wanted, strict=True)), number
    assert bool(survived) == (name in SMALLER)


@pytest.mark.parametrize("kind", ERRORS)
def test_it_is_said_once_and_remembered(kind, monkeypatch, caplog):
    """A place where blocks of 16 MiB are too large is not tried with them again, and another place is not slowed."""
    monkeypatch.setitem(memory.MIN_BLOCK_MIB, "cpu", 64)
    real, sizes = similarity.row_blocks, []

    def full_above_8(*args, mib=None, **kwargs):
        sizes.append(mib or args[5])
        if sizes[-1] > 8:
            raise ERRORS[kind]
        return real(*args, mib=sizes[-1]) if mib else real(*args, **kwargs)

    monkeypatch.setattr(similarity, "row_blocks", full_above_8)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            best_both_ways(S, T)
        top_k(S, T, 2)
    assert sizes == [64, 32, 16, 8, 8, 8, 64, 32, 16, 8]
    assert [record.args for record in caplog.records] == [(32,), (16,), (8,)]


@pytest.mark.parametrize("n", [M, 40])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_smaller_blocks_change_a_loss_by_its_rounding_alone(n, dtype):
    votes = make_votes(VOTES.source[:n], VOTES.target[:n], VOTES.confidence[:n].to(dtype), (N, M))
    results = []
    for size in (None, 32, 16, 5, 1):
        source, target = (t.to(dtype).requires_grad_() for t in (S, T))
        loss = pseudo_mapping_loss(source, target, votes, temperature=0.1, block_size=size)
        results.append([loss.detach(), *torch.autograd.grad(loss, [source, target])])
    for other in results[1:]:
        for found, wanted in zip(other, results[0], strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-5 if dtype == torch.float32 else 1e-12, atol=1e-5)


def test_a_short_rest_joins_the_block_before_it():
    cpu = torch.device("cpu")
    assert [s.stop - s.start for s in memory.row_blocks(0, 130, 1 << 14, cpu, mib=1)] == [64, 66]
    assert [s.stop - s.start for s in memory.row_blocks(0, 100, 1 << 15, cpu, mib=1)] == [32, 32, 36]
    assert [s.stop - s.start for s in memory.row_blocks(0, 5, 1 << 19, cpu, mib=1)] == [2, 2, 1]
    assert [s.stop - s.start for s in memory.row_blocks(0, 9, 1, cpu, 4)] == [4, 4, 1]


LIMITED = """
import json, resource, sys
import numpy as np, torch
from synthetic import synthetic_pair
from mixtea import MixTEA
task = synthetic_pair(7_000, 15_000)
settings = dict(preset="paper", entity_dim=4, relation_dim=2, max_epochs=2, validate_every=1, device="cpu")
def fitted(**more):
    aligner = MixTEA(**settings, **more).fit(task)
    return aligner.history_["loss"].tolist(), aligner.vectors_
loss, vectors = fitted(block_mib=8)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), -1))
again, close = fitted(block_mib=4096)
print(json.dumps([loss, again, float(np.abs(np.asarray(vectors) - np.asarray(close)).max())]))
"""


def test_a_process_that_may_take_little_goes_on_with_smaller_blocks():
    """All similarities at once would take 100 MiB, and 64 MiB is what there is."""
    path = os.pathsep.join([str(BENCHMARKS), *(p for p in sys.path if p)])
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    done = run([sys.executable, "-c", LIMITED], forked=True, env=environment)
    assert done.returncode == 0, done.stderr
    loss, again, difference = json.loads(done.stdout)
    assert again == pytest.approx(loss, rel=1e-5) and difference < 1e-4
    assert "memory is full: going on with blocks of" in done.stderr
    said = [line for line in done.stderr.splitlines() if "memory is full" in line]
    assert len(said) == len(set(said))
