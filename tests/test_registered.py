"""What every voter, decoder, reader and writer must do: whoever registers one is tested here without another line."""

from __future__ import annotations

import copy
import gzip
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import SMALL_BEST, write
from samples import GRAPH_HEADER, LINK_HEADER, LINKS, SAMPLES, TRIPLES, A, B
from small_files import triples_of

from mixtea import Config, DataError, Mapping, MixTEA, RunError, load_graph, load_task
from mixtea.compute.scored_pairs import pairs_of_keys
from mixtea.config import FIELDS
from mixtea.council.opinions import belief_of
from mixtea.decide.decoders import DECODERS, decide
from mixtea.export.formats import FORMATS as WRITTEN
from mixtea.graph.joint_index import find_open_entities
from mixtea.graph.task import Reviewed
from mixtea.io.formats.registry import FORMATS as READ
from mixtea.io.formats.registry import detect_format
from mixtea.voters.base import EVIDENCE_KINDS, INPUT_SIZES, Evidence, VotingState
from mixtea.voters.registry import BUILT_IN, make_voter, voter_class

# voters


@pytest.fixture(scope="module")
def reviewed(told):
    """Two graphs with all that a voter may need, and decisions of people."""
    pairs = np.array([[1, 1], [3, 5]])
    return told.replace(reviewed=Reviewed(pairs, np.array([3.0, -3.0])))


def asked(voter):
    """A state in which a voter has all there is, and all pairs of open entities."""
    task, generator = voter.task, torch.Generator().manual_seed(3)
    entities = find_open_entities(task, generator, torch.device("cpu"))
    n, m = entities.shape
    every = entities.open_pairs(pairs_of_keys(torch.arange(n * m), (n, m)))
    vectors = torch.randn(sum(entities.sizes), 16, generator=generator)
    belief = belief_of(every, torch.rand(n, m, generator=generator).mul(30).softmax(1).flatten(), None)
    generator = torch.Generator().manual_seed(5)
    return every, VotingState(task, voter.config, entities, generator, vectors=vectors, belief=belief, epoch=1)


@pytest.fixture(params=BUILT_IN)
def voter(request, reviewed):
    return make_voter(request.param, reviewed, Config.preset("best", **SMALL_BEST))


def scores_of(voter):
    every, state = asked(voter)
    voter.learn(state)
    return np.asarray(voter.score(every, state), dtype=float)


def test_a_voter_says_what_it_is(voter):
    kind = voter_class(voter.name)
    assert kind.name == voter.name and voter.opinion.isidentifier() and voter.evidence in EVIDENCE_KINDS
    assert set(voter.needs) <= {"vectors", *INPUT_SIZES} and set(voter.votes_for) <= {"source", "target"}
    assert isinstance(voter.is_applicable(), bool) and 0 < abs(voter.weight()) < 1e6
    assert min(voter.cost()) >= 0 and kind.__doc__


def test_a_voter_scores_each_pair_by_a_number_and_always_by_the_same(voter, reviewed):
    found = scores_of(voter)
    again = scores_of(make_voter(voter.name, reviewed, voter.config))
    assert found.ndim == 1 and not np.isinf(found).any() and np.array_equal(found, again, equal_nan=True)
    if voter.is_applicable():
        assert len(np.unique(found[~np.isnan(found)])) > 1  # it tells some pairs from others
    every, state = asked(voter)
    part = state.entities.open_pairs(pairs_of_keys(torch.arange(0, len(every), 7), state.entities.shape))
    if not voter.uses_belief:  # a pair has the score that it has among all others
        np.testing.assert_allclose(np.asarray(voter.score(part, state), dtype=float), found[::7], rtol=1e-5, atol=1e-6)


def test_a_voter_proposes_pairs_of_the_graphs(voter):
    _, state = asked(voter)
    voter.learn(state)
    found = voter.propose(state)
    assert voter.proposes or found is None
    if found is not None and not isinstance(found, np.ndarray):  # open indices
        assert found.shape == state.entities.shape and len(found.source) == len(found.target)
    elif found is not None:
        assert found.shape[1:] == (2,) and (found >= 0).all() and (found < state.entities.sizes).all()


def test_a_voter_goes_on_from_its_stored_state(voter, reviewed):
    before = scores_of(voter)
    stored = copy.deepcopy(voter.state_dict())
    other = make_voter(voter.name, reviewed, voter.config)
    other.load_state_dict(stored)
    every, state = asked(other)
    if voter.state_dict():
        assert np.array_equal(np.asarray(other.score(every, state), dtype=float), before, equal_nan=True)
    voter.release()
    assert np.array_equal(scores_of(voter), before, equal_nan=True)


def test_a_voter_explains_in_words_and_numbers(voter):
    scores_of(voter)
    for pair in ((1, 1), (3, 5), (29, 0)):
        for row in voter.explain(*pair):
            assert isinstance(row, Evidence) and row.what and np.isfinite(row.weight)


def test_a_voter_without_its_inputs_is_left_out(voter, rings):
    bare = make_voter(voter.name, rings, voter.config)
    if set(voter.needs) - {"vectors", "triples"} or voter.compared() is not None:
        assert not bare.is_applicable()
    if not bare.is_applicable():
        assert np.isnan(scores_of(bare)).all()


# decoders


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_decoder_ranks_pairs_whatever_their_order(decoder):
    rng = torch.Generator().manual_seed(1)
    n, m = 5, 6
    pairs = pairs_of_keys(torch.arange(n * m), (n, m))
    scores = torch.rand(n * m, generator=rng, dtype=torch.float64)
    belief = scores / 4
    found = decide(pairs, scores, belief, decoder)
    assert found.shape == scores.shape and found.isfinite().all()
    flipped = pairs_of_keys(torch.arange(n * m), (n, m))
    entity = torch.randperm(n, generator=rng)  # sources in another order
    place = entity[flipped.source] * m + flipped.target
    torch.testing.assert_close(decide(flipped, scores[place], belief[place], decoder), found[place])
    clear = torch.full((n, m), 0.05, dtype=torch.float64).fill_diagonal_(0.9).flatten()
    assert decide(pairs, clear, clear, decoder).view(n, m).argmax(1).tolist() == [*range(n)]


def test_every_decoder_can_be_chosen():
    assert set(FIELDS["decoder"].metadata["choices"]) == set(DECODERS)


# readers


@pytest.fixture(params=READ)
def kind(request):
    assert request.param in SAMPLES, f"tests/samples.py needs a sample of {request.param}"
    return request.param


def as_bytes(content):
    return content if isinstance(content, bytes) else content.encode()


def graph_bytes(kind):
    return as_bytes(SAMPLES[kind](TRIPLES, GRAPH_HEADER))


def links_bytes(kind):
    return as_bytes(SAMPLES[kind](LINKS, LINK_HEADER))


def link_ending(kind):
    return READ[kind].suggested_ending or READ[kind].endings[0]


def linked_by(folder, name):
    """The links of a file between two small graphs, by ids."""
    graphs = {
        "a.nt": SAMPLES["N-Triples"](TRIPLES, GRAPH_HEADER),
        "b.nt": SAMPLES["N-Triples"]([(f"{B}x", f"{B}r", f"{B}y")], GRAPH_HEADER),
    }
    write(folder, graphs)
    task = load_task(source=folder / "a.nt", target=folder / "b.nt", links=folder / name)
    found = np.concatenate([task.train, task.valid, task.test])
    return sorted((task.source.ids[s], task.target.ids[t]) for s, t in found)


def test_a_reader_reads_the_same_graph_whatever_the_format(kind, tmp_path):
    if READ[kind].read_graph is None:
        write(tmp_path, {f"g{link_ending(kind)}": links_bytes(kind)})
        with pytest.raises(DataError, match=rf"links \({kind}\), where a graph is needed"):
            load_graph(tmp_path / f"g{link_ending(kind)}")
        return
    for ending in READ[kind].endings:
        write(tmp_path, {f"g{ending}": graph_bytes(kind)})
        graph = load_graph(tmp_path / f"g{ending}")
        found = [(head, relation.removeprefix(A), tail) for head, relation, tail in triples_of(graph)]
        assert found == [(head, relation.removeprefix(A), tail) for head, relation, tail in TRIPLES]
        assert graph.files[0].format.startswith(kind) and {f"{A}a", f"{A}b", f"{A}c"} <= set(graph.ids)


def test_a_reader_reads_the_same_links_whatever_the_format(kind, tmp_path):
    write(tmp_path, {f"links{link_ending(kind)}": links_bytes(kind)})
    assert linked_by(tmp_path, f"links{link_ending(kind)}") == LINKS


def test_a_format_is_recognised_by_its_content_or_with_its_ending(kind, tmp_path):
    row = READ[kind]
    name = "plain" if row.recognise or row.recognise_unnamed else f"plain{row.endings[0]}"
    write(tmp_path, {name: graph_bytes(kind) if row.recognise and row.read_graph else links_bytes(kind)})
    assert detect_format(tmp_path / name) == kind


def test_a_damaged_file_is_an_error_that_names_it_or_says_less(kind, tmp_path):
    is_graph = READ[kind].read_graph is not None
    whole, ending = graph_bytes(kind) if is_graph else links_bytes(kind), link_ending(kind)
    damaged = {f"cut{n}{ending}": whole[:n] for n in (0, 1, len(whole) // 3, len(whole) // 2, len(whole) - 1)}
    damaged |= {f"zeros{ending}": whole[: len(whole) // 2] + bytes(64) + whole[len(whole) // 2 :]}
    damaged |= {f"half.gz{ending}.gz": gzip.compress(whole)[:-9]}
    write(tmp_path, damaged)
    for name in damaged:
        try:
            found = load_graph(tmp_path / name).n_triples if is_graph else len(linked_by(tmp_path, name))
        except DataError as error:
            assert name.split(".")[0] in str(error)
        else:
            assert found <= len(TRIPLES) == len(LINKS)


# writers


@pytest.fixture(scope="module")
def mapping(tmp_path_factory) -> Mapping:
    """What a small training maps, with ids that every format can name."""
    folder = tmp_path_factory.mktemp("named")
    ring = [(f"{A}e{i}", f"{A}next", f"{A}e{(i + 1) % 8}") for i in range(8)]
    chords = [(f"{A}e{i}", f"{A}chord", f"{A}e{i * i % 8}") for i in range(1, 8, 2)]
    there = [tuple(cell.replace(A, B) for cell in row) for row in [*ring, *chords]]
    links = [(f"{A}e{i}", f"{B}e{i}") for i in range(0, 8, 2)]
    files = {
        "a.nt": SAMPLES["N-Triples"]([*ring, *chords], GRAPH_HEADER),
        "b.nt": SAMPLES["N-Triples"](there, GRAPH_HEADER),
        "l.csv": SAMPLES["CSV"](links, LINK_HEADER),
    }
    write(folder, files)
    task = load_task(source=folder / "a.nt", target=folder / "b.nt", links=folder / "l.csv")
    return MixTEA(**SMALL_BEST).fit(task).map(every=True)


@pytest.mark.parametrize("ending", WRITTEN)
def test_what_a_writer_writes_is_read_as_the_same_links(ending, mapping, tmp_path):
    written = tmp_path / f"m{ending}"
    n = mapping.write(written)
    pairs = sorted(mapping.pairs()[["source", "target"]].itertuples(index=False, name=None))
    assert n == len(pairs) > 3
    task = load_task(source=mapping.source, target=mapping.target, links=written)
    found = np.concatenate([task.train, task.valid, task.test])
    assert sorted((task.source.ids[s], task.target.ids[t]) for s, t in found) == pairs


@pytest.mark.parametrize("ending", WRITTEN)
def test_a_writer_writes_the_same_bytes_again_and_nothing_where_it_fails(ending, mapping, tmp_path, monkeypatch):
    first, second = tmp_path / f"1{ending}", tmp_path / f"2{ending}"
    mapping.write(first)
    mapping.write(second)
    if ending != ".sssom.tsv":  # which says when it was written
        assert first.read_bytes() == second.read_bytes()
    broken = replace(mapping, frame=mapping.frame.assign(source=pd.Series(["a\ud800"] * len(mapping), dtype=object)))
    with pytest.raises(RunError, match="half a character"):
        broken.write(tmp_path / f"3{ending}")
    assert not [*tmp_path.glob("*3*")]
