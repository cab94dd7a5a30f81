"""Two Turtle files and an SSSOM file of seeds through fit, predict and export, read by others and by us."""

from __future__ import annotations

import runpy
from pathlib import Path

import pandas as pd
import pyoxigraph
import pytest
import rdflib
import sssom_pydantic
from conftest import SMALL_BEST

from mixtea import MixTEA, load_task, train
from mixtea.export.metadata import JUSTIFICATIONS

ROOT = Path(__file__).parent.parent.parent
SETTINGS = ("--set", "max_epochs=4", "--set", "propagation_rounds=1", "--set", "entity_dim=32", "--device", "cpu")
ENDINGS = (".tsv", ".sssom.tsv", ".nt", ".ttl", ".rdf", ".parquet")
CELL = "http://knowledgeweb.semanticweb.org/heterogeneity/alignment"
EXACT = "http://www.w3.org/2004/02/skos/core#exactMatch"


@pytest.fixture(scope="module")
def world(tmp_path_factory, request):
    """The RDF files of the tutorial."""
    folder = tmp_path_factory.mktemp("rdf")
    patch = pytest.MonkeyPatch()
    patch.setattr("sys.argv", ["build", str(folder)])
    runpy.run_path(str(ROOT / "scripts/build_rdf_example.py"), run_name="__main__")
    patch.undo()
    return folder


@pytest.fixture(scope="module")
def run(world, tmp_path_factory):
    task = load_task(
        source=world / "geonames.ttl", target=world / "cldr.ttl", links=world / "seeds.sssom.tsv",
        test_links=world / "check.sssom.tsv",
    )  # fmt: skip
    out = tmp_path_factory.mktemp("runs") / "run"
    train(task, out, preset="best", **SMALL_BEST)
    return out


def read_by_others(path: Path) -> set[tuple[str, str]]:
    """The pairs of a file, by a reader that is not ours."""
    name = path.name
    if name.endswith(".sssom.tsv"):
        mappings, converter, _, errors = sssom_pydantic.read(path, return_errors=True)
        assert not errors and {m.justification.curie for m in mappings} <= set(JUSTIFICATIONS)
        assert all(0 <= m.confidence <= 1 for m in mappings)
        return {(converter.expand_reference(m.subject), converter.expand_reference(m.object)) for m in mappings}
    if name.endswith(".tsv"):
        return set(pd.read_csv(path, sep="\t", header=None, dtype=str, quoting=3).itertuples(index=False, name=None))
    if name.endswith(".parquet"):
        return set(pd.read_parquet(path)[["source", "target"]].itertuples(index=False, name=None))
    if name.endswith(".nt"):
        found = pyoxigraph.parse(path=path, format=pyoxigraph.RdfFormat.N_TRIPLES)
        assert all(quad.predicate.value == EXACT for quad in found)
        found = pyoxigraph.parse(path=path, format=pyoxigraph.RdfFormat.N_TRIPLES)
        return {(quad.subject.value, quad.object.value) for quad in found}
    graph = rdflib.Graph().parse(path, format="turtle" if name.endswith(".ttl") else "xml")
    if name.endswith(".ttl"):
        return {(str(s), str(o)) for s, _, o in graph.triples((None, rdflib.URIRef(EXACT), None))}
    first, second = (rdflib.URIRef(f"{CELL}{end}") for end in ("entity1", "entity2"))
    return {(str(s), str(graph.value(cell, second))) for cell, _, s in graph.triples((None, first, None))}


def test_a_prediction_says_what_is_decided(run, mixtea, tmp_path):
    code, _, err = mixtea("predict", run, "--out", tmp_path / "c.tsv", "--k", "3")
    frame = pd.read_csv(tmp_path / "c.tsv", sep="\t", quoting=3, dtype=str, keep_default_na=False)
    assert code == 0 and "; mapped " in err
    assert set(frame["decision"]) <= {"mapped", "no counterpart", "target taken", "unsure", "given", ""}
    decided = frame[frame["decision"] != ""]
    assert decided["source"].is_unique and set(decided["source"]) == set(frame["source"])
    mapped = frame[frame["decision"] == "mapped"]
    assert mapped["source"].is_unique and mapped["target"].is_unique and len(mapped) > 100
    assert frame["source"].str.startswith("https://").all()


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_is_read_by_others_and_by_us(run, world, mixtea, tmp_path, ending):
    path = tmp_path / f"m{ending}"
    code, _, err = mixtea("export", run, "--out", path)
    assert code == 0 and "mappings" in err
    aligner = MixTEA.load(run)
    pairs = set(aligner.map().pairs()[["source", "target"]].itertuples(index=False, name=None))
    assert {pair[:2] for pair in read_by_others(path)} == pairs  # .tsv has the probability too
    again = load_task(source=world / "geonames.ttl", target=world / "cldr.ttl", links=path, seed=1)
    links = [pair for split in (again.train, again.valid) for pair in split.tolist()]
    assert {(again.source.ids[s], again.target.ids[t]) for s, t in links} == pairs


def test_given_links_and_sources_without_a_counterpart(run, mixtea, tmp_path):
    path = tmp_path / "all.sssom.tsv"
    assert mixtea("export", run, "--out", path, "--with-given", "--with-unmapped", "--min-probability", "0.5")[0] == 0
    mappings = sssom_pydantic.read(path).mappings
    kinds = {m.justification.curie for m in mappings}
    assert {"semapv:CompositeMatching", "semapv:ManualMappingCuration"} <= kinds
    assert kinds <= {"semapv:CompositeMatching", "semapv:ManualMappingCuration", "semapv:StructuralMatching"}
    code, _, err = mixtea("export", run, "--out", tmp_path / "m.nt", "--with-unmapped")
    assert code == 2 and "cannot say that an entity has no counterpart" in err


def test_scores_of_the_mapping_and_their_curve(run, mixtea, tmp_path):
    code, out, _ = mixtea("score", run, "--complete", "--curve", tmp_path / "c.csv", "--json")
    assert code == 0 and '"precision"' in out and '"f1"' in out
    curve = pd.read_csv(tmp_path / "c.csv")
    assert curve["threshold"].is_monotonic_decreasing and curve["recall"].is_monotonic_increasing
    assert mixtea("score", run, "--curve", tmp_path / "c.pdf")[0] == 2
    assert mixtea("score", run, "--curve", tmp_path / "c.png")[0] == 0
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
