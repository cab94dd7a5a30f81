"""The voter `descriptions`: what is near by the vectors that came with the graphs."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import SMALL_BEST, make_graph
from processes import run
from voting import known_pairs

from mixtea import Config, MixTEA, Task
from mixtea.council.council import Council, bind_voters, cover_isolated
from mixtea.graph.joint_index import find_open_entities
from mixtea.voters.base import VotingState
from mixtea.voters.similarity import CANDIDATES_PER_ENTITY
from mixtea.voters.votes import voter_scores

NAN = float("nan")
OWN = ("forward", "backward", "propagation", "agreement")
SOURCE = [[1, 0], [0, 2], [3, 3], [NAN, NAN]]
TARGET = [[0, 1], [5, 0], [NAN, NAN], [-1, 0], [1e30, 1e30]]


def task_of(source=SOURCE, target=TARGET, train=(), triples=((0, 0, 1),)):
    """Two graphs with these vectors; those that are no end of a triple are without any."""
    graphs = [
        replace(make_graph(list(triples), len(rows), prefix), vectors=np.array(rows, dtype=np.float32))
        for rows, prefix in ((source, "s"), (target, "t"))
    ]
    links = np.array(train, dtype=np.int64).reshape(-1, 2)
    return Task.of_two("few", *graphs, links, links[:0], links[:0])


def asked(task, **settings):
    """The voter, and a state in which it is asked."""
    config = Config.preset("best", **settings)
    (voter,) = bind_voters(task, config, ["descriptions"])
    entities = find_open_entities(task, torch.Generator().manual_seed(1), torch.device("cpu"), without_triples=True)
    return voter, VotingState(task, config, entities, torch.Generator())


def every_pair(state):
    sides = [torch.arange(n) for n in state.entities.sizes]
    return state.entities.open_pairs(state.entities.pairs(*map(torch.flatten, torch.meshgrid(*sides, indexing="ij"))))


def likeness(voter):
    found = voter.opinions().found
    return {(int(s), int(t)): float(v) for s, t, v in zip(*found.ends, found.value, strict=True)}


def test_likeness_is_the_cosine_above_that_of_any_two():
    """Any two have a mean cosine of u; t3 is turned away from s0, and t4 is too long for its square."""
    voter, _ = asked(task_of())
    cosine = {(0, 0): 0, (0, 1): 1, (0, 3): -1, (0, 4): 0.5**0.5, (1, 0): 1, (1, 1): 0, (1, 3): 0, (1, 4): 0.5**0.5}
    cosine |= {(2, 0): 0.5**0.5, (2, 1): 0.5**0.5, (2, 3): -(0.5**0.5), (2, 4): 1}
    usual = sum(cosine.values()) / 12
    expected = {pair: max(0.0, (c - usual) / (1 - usual)) for pair, c in cosine.items()}
    assert likeness(voter) == pytest.approx(expected, abs=1e-6)
    assert voter.opinions().has[0].tolist() == [True, True, True, False]


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_scores_are_log_odds_and_silence_where_a_side_has_none(precision):
    voter, state = asked(task_of(), precision=precision, sinkhorn_temperature=0.2)
    pairs = every_pair(state)
    scores = voter_scores(voter, pairs, state)
    assert scores.dtype == getattr(torch, precision)
    source, target = pairs.by_entity.ends
    assert scores.isnan().tolist() == [s == 3 or t == 2 for s, t in zip(source, target, strict=True)]
    odds = voter.opinions().log_odds(source, target)
    torch.testing.assert_close(scores, torch.from_numpy(0.2 * odds).to(scores.dtype), equal_nan=True)
    by_pair = dict(zip(zip(source.tolist(), target.tolist(), strict=True), odds, strict=True))
    assert (
        by_pair[0, 1] == pytest.approx(by_pair[2, 4], abs=1e-3)
        and by_pair[2, 4] > 0 > by_pair[0, 0]
        and voter.is_calibrated
    )


def test_it_proposes_the_nearest_both_ways_of_those_that_have_one():
    voter, state = asked(task_of())
    pairs = {tuple(pair) for pair in voter.propose(state).tolist()}
    assert pairs == {(s, t) for s in (0, 1, 2) for t in (0, 1, 3, 4)}
    draw = np.random.default_rng(1)
    wide, state = asked(task_of(draw.normal(size=(60, 4)), draw.normal(size=(50, 4))))
    counts = np.bincount(wide.propose(state)[:, 0])
    assert counts.min() == CANDIDATES_PER_ENTITY and counts.max() < 50
    assert voter.cost().mib == pytest.approx(2 * 4 * (8 + 10) / 2**20)


def test_vectors_that_are_equal_are_all_of_it_and_others_are_not():
    voter, _ = asked(task_of([[1, 2], [1, 2.01]], [[2, 4], [9, -1], [4, 1], [-5, 3]]))
    assert likeness(voter)[0, 0] == 1 and 0.9 < likeness(voter)[1, 0] < 1


def test_vectors_without_a_direction_are_like_nobody():
    voter, state = asked(task_of([[0, 0], [1, 0]], [[0, 0], [1, 0], [0, 1]]))
    assert likeness(voter)[0, 1] <= 0 and likeness(voter)[1, 1] == 1
    assert np.isfinite(voter.score(every_pair(state), state)).all()


@pytest.mark.parametrize("target", [[[NAN, NAN], [NAN, NAN]], None])
def test_without_vectors_it_is_silent(target):
    task = task_of(target=target or TARGET)
    voter, state = asked(task if target else task.replace(target=make_graph([(0, 0, 1)], 5, "t")))
    assert voter.propose(state) is None and np.isnan(voter.score(every_pair(state), state)).all()
    assert voter.explain(0, 0) == ()


def test_entities_without_triples_are_known_where_vectors_were_given():
    without = task_of().replace(target=make_graph([(0, 0, 1)], 5, "t"))
    config = Config.preset("best")
    assert cover_isolated(bind_voters(task_of(), config, ["forward", "descriptions"]))
    assert not cover_isolated(bind_voters(without, config, ["forward", "descriptions"]))
    assert not cover_isolated(bind_voters(task_of(), config, OWN))


def test_it_maps_entities_without_triples():
    """s2 and t4 have no triple; their vectors alone say that they are the same."""
    task, config = task_of(train=[[0, 1]]), Config.preset("best", vote_candidates=2, **SMALL_BEST)
    voters = bind_voters(task, config, ["forward", "descriptions"])
    generator = torch.Generator().manual_seed(1)
    council = Council(
        task, config, voters, find_open_entities(task, generator, torch.device("cpu"), without_triples=True), generator
    )
    council.prepare()
    best = council.opinions.pairs.best_of_rows(council.opinions.belief)
    own = [
        side[rows[best]]
        for side, rows in zip(
            council.entities.own, (council.opinions.pairs.source, council.opinions.pairs.target), strict=True
        )
    ]
    assert (2, 4) in set(zip(*(side.tolist() for side in own), strict=True))


def test_it_explains_itself_by_the_cosine():
    voter, _ = asked(task_of())
    assert voter.explain(2, 4) == ()  # nothing is known of other candidates
    voter.known = known_pairs(np.array([2]), np.array([4]), np.ones(1), {"descriptions": np.array([0.4])})
    assert voter.explain(2, 4) == [("the given vectors' cosine is 1.000", 0.4)]
    [unknown] = voter.explain(2, 0)  # no stored candidate, so its score is not known
    assert unknown.what == "the given vectors' cosine is 0.707" and np.isnan(unknown.weight)
    assert voter.explain(3, 0) == () and voter.explain(0, 2) == ()


def with_vectors(rings, dim=8, share=1.0):
    """Vectors that are nearly alike for the same number, for a share of the entities."""
    graphs = []
    for seed, graph in enumerate((rings.source, rings.target)):
        numbers = [int(name[1:]) for name in graph.ids]
        rows = np.random.default_rng(7).normal(size=(30, dim))[numbers]
        rows = rows + 0.1 * np.random.default_rng(seed).normal(size=rows.shape)
        rows[np.array(numbers) >= 30 * share] = np.nan
        graphs.append(replace(graph, vectors=rows.astype(np.float32)))
    return rings.replace(source=graphs[0], target=graphs[1])


def test_silent_it_changes_no_bit(rings):
    without, silent = (MixTEA(voters=names, **SMALL_BEST).fit(rings) for names in (OWN, (*OWN, "descriptions")))
    assert without.vectors_.equal(silent.vectors_) and without.trace_.equals(silent.trace_)
    assert without.map().to_frame().equals(silent.map().to_frame())


def test_exchanged_test_links_change_nothing(rings):
    task, settings = with_vectors(rings, share=0.7), SMALL_BEST | dict(voters=(*OWN, "descriptions"))
    exchanged = task.replace(test=np.stack([task.test[:, 0], task.test[::-1, 1]], axis=1))
    first, second = (MixTEA(**settings).fit(one) for one in (task, exchanged))
    assert first.vectors_.equal(second.vectors_) and first.trace_.equals(second.trace_)
    assert first.map().to_frame().equals(second.map().to_frame())


def test_alone_with_the_student_it_finds_what_vectors_tell(rings):
    settings = SMALL_BEST | dict(voters=("forward", "backward", "descriptions"), max_epochs=1)
    aligner = MixTEA(**settings).fit(with_vectors(rings))
    trace, ids = aligner.trace_, [graph.ids for graph in (rings.source, rings.target)]
    ends = zip(ids[0][trace["source"]], ids[1][trace["target"]], strict=True)
    assert trace["voters"].str.contains("descriptions").all() and all(a[1:] == b[1:] for a, b in ends)
    assert aligner.score()["hits@1"] == 1


def test_naming_it_needs_no_torch():
    program = "import sys, mixtea.voters.user_vectors; assert 'torch' not in sys.modules"
    assert run([sys.executable, "-c", program]).returncode == 0
