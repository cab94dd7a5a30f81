"""What voters from outside are given: NumPy arrays, all of them, and none that can be written to."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import torch
from conftest import SMALL_BEST
from voting import make_entities

from mixtea import MixTEA
from mixtea.compute.arrays import read_only
from mixtea.compute.scored_pairs import pairs_of_keys
from mixtea.config import Config
from mixtea.council.opinions import belief_of
from mixtea.errors import VoterError
from mixtea.graph.task import Reviewed, Task
from mixtea.vote import Voter, register
from mixtea.voters.base import VotingState
from mixtea.voters.registry import PluginState, make_voter, task_view
from mixtea.voters.votes import voter_scores

PAIRS = ("source", "target", "train", "valid", "test", "rejected", "reviewed")  # of a task of two graphs
PARTS = ("task", "vectors", "belief", "sure")


def state_of(task):
    """The state of a training: vectors, a belief and a sure pair."""
    n, m = task.source.n_entities, task.target.n_entities
    entities = make_entities(n, m)
    pairs = entities.open_pairs(pairs_of_keys(torch.arange(n), (n, m)))
    vectors, sure = torch.ones(n + m, 4, requires_grad=True), torch.tensor([[0, 0]])
    belief = belief_of(pairs, torch.full((n,), 0.5), None)
    return VotingState(task, Config(), entities, torch.Generator(), vectors=vectors, belief=belief, sure=sure, epoch=1)


def arrays_in(value, path):
    """All arrays that a value holds, by where; a tensor, or a mapping that can be written to, is none of it."""
    assert not isinstance(value, torch.Tensor | dict), path
    if isinstance(value, np.ndarray):
        yield path, value
    elif is_dataclass(value):
        for field in fields(value):
            yield from arrays_in(getattr(value, field.name), f"{path}.{field.name}")
        for name in PAIRS if isinstance(value, Task) else ():
            yield from arrays_in(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from arrays_in(part, f"{path}[{name!r}]")
    elif isinstance(value, tuple):
        for name, part in zip(getattr(value, "_fields", range(len(value))), value, strict=True):
            yield from arrays_in(part, f"{path}.{name}")


def test_no_array_can_be_written_to(told):
    state = PluginState(state_of(told))
    found = dict(pair for part in PARTS for pair in arrays_in(getattr(state, part), part))
    found |= dict(arrays_in(read_only(state_of(told).belief.by_entity), "pairs"))
    assert {
        "task.train", "task.rejected", "task.reviewed.log_odds", "task.source.ids", "task.target.triples",
        "task.source.labels.text.data", "task.target.attributes.value.codes", "task.source.vectors", "vectors",
        "belief.p", "belief.pairs.source", "sure", "pairs.target",
    } <= found.keys()  # fmt: skip
    assert not [path for path, array in found.items() if array.flags.writeable]
    assert all(array.flags.writeable for _, array in arrays_in_own(told))


def arrays_in_own(task):
    return [(name, getattr(task, name)) for name in ("train", "valid", "test")] + [("triples", task.source.triples)]


def test_nothing_is_copied_and_the_same_task_is_the_same_view(told):
    state = state_of(told)
    view = PluginState(state)
    assert view.task is task_view(told) is PluginState(state).task and view.task is not told
    assert np.shares_memory(view.task.source.triples, told.source.triples)
    assert np.shares_memory(view.vectors, state.vectors.detach().numpy())
    assert (view.epoch, view.rough, view.config, view.generator) == (1, False, state.config, state.generator)
    assert view.task.source.labels_of(0) == told.source.labels_of(0)
    assert view.task.source.shorten("http://a/b") == told.source.shorten("http://a/b")
    bare = PluginState(VotingState(told, Config(), state.entities, torch.Generator()))
    assert bare.vectors is None and bare.belief is None and bare.sure.shape == (0, 2)


def test_a_view_goes_with_its_task(rings):
    none = np.empty((0, 2), dtype=np.int64)
    task = Task.of_two(
        "short-lived", rings.source, rings.target, none, none, none, reviewed=Reviewed(none, np.empty(0))
    )
    view = weakref.ref(task_view(task))
    assert view() is not None
    del task
    gc.collect()
    assert view() is None


WRITES = {
    "a link": lambda voter, pairs, state: voter.task.train.fill(0),
    "a triple": lambda voter, pairs, state: voter.task.source.triples.sort(axis=0),
    "an id": lambda voter, pairs, state: np.put(voter.task.target.ids, 0, "another"),
    "a link of the state": lambda voter, pairs, state: state.task.test.__setitem__(0, 1),
    "a pair": lambda voter, pairs, state: pairs.source.__setitem__(0, 1),
    "a sure pair": lambda voter, pairs, state: state.sure.resize(3),
    "a belief": lambda voter, pairs, state: np.multiply(state.belief.p, 0, out=state.belief.p),
    "a vector": lambda voter, pairs, state: state.vectors.__iadd__(1),
}


@pytest.mark.parametrize("what", WRITES)
def test_who_writes_is_named_and_nothing_has_changed(rings, what):
    @register
    class Writing(Voter):
        name = "writing"
        uses_belief = True

        def score(self, pairs, state):
            WRITES[what](self, pairs, state)
            return np.zeros(len(pairs))

    state = state_of(rings)
    before = [array.copy() for _, array in arrays_in_own(rings)]
    with pytest.raises(
        VoterError, match=r"The voter 'writing' .* failed in score: ValueError: .*(read-only|own its data)"
    ):
        voter_scores(make_voter("writing", rings, Config()), state.belief, state)
    assert all(np.array_equal(*both) for both in zip(before, (a for _, a in arrays_in_own(rings)), strict=True))
    assert state.belief.p.eq(0.5).all() and state.vectors.eq(1).all() and state.sure.eq(0).all()


def test_what_is_known_when_it_explains_cannot_be_written_to_either(rings):
    @register
    class Explaining(Voter):
        name = "explaining"

        def score(self, pairs, state):
            return np.zeros(len(pairs))

        def explain(self, source, target):
            for array in (self.known.source, self.known.target, self.known.belief, *self.known.scores.values()):
                assert not array.flags.writeable
            self.known.scores["vectors"][:] = 1
            return []

    aligner = MixTEA(**SMALL_BEST | dict(voters=("forward", "explaining"))).fit(rings)
    before = aligner.predict(3).to_frame()
    with pytest.raises(VoterError, match=r"'explaining' .* failed in explain: ValueError: assignment destination"):
        aligner.explain("s1", "t1")
    assert aligner.predict(3).to_frame().equals(before)
