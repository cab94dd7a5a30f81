"""A graph is a set: what is stated twice, in one file or in two, counts once."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import SMALL_BEST, rings_files, write
from small_files import E, graph_of, parquet, triples_of

from mixtea import MixTEA, load_task
from mixtea.graph.builder import distinct_triples

TRIPLES = [(E + "a", E + "r", E + "b"), (E + "b", E + "s", E + "c"), (E + "c", E + "r", E + "a")]
TWICE = [TRIPLES[0], TRIPLES[1], TRIPLES[0], TRIPLES[2], TRIPLES[1], TRIPLES[2]]


def written(triples):
    """The triples in a file of each format."""
    columns = dict(zip(("head", "relation", "tail"), map(list, zip(*triples, strict=True)), strict=True))
    full = "".join(f"<{h}> <{r}> <{t}> .\n" for h, r, t in triples)
    return {
        "g.nt": full, "g.ttl": full, "g.nq": full.replace(" .\n", f" <{E}{len(triples)}> .\n"), "g.trig": full,
        "g.tsv": "".join("\t".join(triple) + "\n" for triple in triples),
        "g.csv": "".join(",".join(triple) + "\n" for triple in triples),
        "g.parquet": parquet(columns),
    }  # fmt: skip


@pytest.mark.parametrize("name", written(TRIPLES))
def test_a_repeated_triple_counts_once(name, tmp_path):
    once, twice = (written(triples)[name] for triples in (TRIPLES, TWICE))
    again = {name: once, f"more.{name}": twice}
    graphs = [graph_of(tmp_path, files) for files in ({name: once}, {name: twice}, again)]
    for graph in graphs:
        assert triples_of(graph) == TRIPLES
        assert graph.ids.tolist() == graphs[0].ids.tolist()


def test_repetitions_are_found_among_numbers_of_any_size():
    far = 1 << 40
    triples = np.array([[far, 1, far], [0, 0, 0], [far, 1, far], [far, 0, far]])
    assert distinct_triples(triples).tolist() == [[far, 1, far], [0, 0, 0], [far, 0, far]]
    assert distinct_triples(triples[:0]).shape == (0, 3)


def test_repetitions_change_nothing_that_is_learned(tmp_path):
    files, learned = rings_files(), []
    triples = files["rel_triples_1"].splitlines(keepends=True)
    for name, kept in (("once", triples), ("twice", triples + triples[::3])):
        folder = write(tmp_path / name, files | {"rel_triples_1": "".join(kept)})
        learned.append(MixTEA(**SMALL_BEST).fit(load_task(folder)))
    assert learned[0].history_.equals(learned[1].history_.assign(seconds=learned[0].history_["seconds"]))
    first, second = (aligner.predict(k=3).to_frame() for aligner in learned)
    assert first.equals(second)
