"""Hand-made mappings, and readers of every format that are not ours."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pyoxigraph
import pytest
import rdflib
import sssom_pydantic
from conftest import labelled

from mixtea.decide.mapping import COLUMNS, Mapping
from mixtea.export.quoting import plain_line
from mixtea.graph.graph import Graph
from mixtea.graph.iris import decode_id

ALIGNMENT = "http://knowledgeweb.semanticweb.org/heterogeneity/alignment"
Pairs = list[tuple[str, str]]


def make(rows: Sequence[tuple], *, more: tuple[Sequence[str], Sequence[str]] = ((), ()), **fields: dict) -> Mapping:
    """Rows are (source, target) or begin like that; `fields` are source_labels (by id), target_prefixes and so on."""
    defaults = (None, None, 0.5, None, None, "forward", False, "", "mapped")
    frame = pd.DataFrame([(*row, *defaults[len(row) :]) for row in rows], columns=list(COLUMNS), dtype=object)
    frame = frame.astype({"probability": float, "runner_up_probability": float, "given": bool})
    columns = ([frame["source"]], [frame["target"], frame["runner_up"]])
    graphs = [_graph([*pd.concat(c).dropna(), *m]) for c, m in zip(columns, more, strict=True)]
    for name, value in fields.items():
        side, _, field = name.partition("_")
        graph = graphs[side == "target"]
        object.__setattr__(graph, field, labelled(graph, value) if field == "labels" else value)
    return Mapping(*graphs, frame)


def _graph(ids: list[str]) -> Graph:
    empty = np.array([], dtype=object)
    return Graph(np.array([*dict.fromkeys(ids), None], dtype=object)[:-1], empty, np.zeros((0, 3), dtype=np.int64))


def as_links(path: Path) -> Pairs:
    frame = pd.read_csv(path, sep="\t", header=None, dtype=str, keep_default_na=False, quoting=csv.QUOTE_NONE)
    return list(frame[[0, 1]].itertuples(index=False, name=None))


def as_sssom(path: Path) -> Pairs:
    """The identifiers by the reader of the standard; what people read by Python's csv, which strips nothing."""
    mappings, converter, _, errors = sssom_pydantic.read(path, return_errors=True)
    assert errors == []
    pairs = [(converter.expand_reference(m.subject), converter.expand_reference(m.object)) for m in mappings]
    with path.open(encoding="utf-8", newline="") as file:
        start = next(line for line in file if not line.startswith("#"))
        rows = csv.DictReader(file, start.rstrip("\n").split("\t"), delimiter="\t")
        shown = [(row.get("subject_label", ""), row.get("object_label", "")) for row in rows]
    assert shown == [tuple(plain_line(decode_id(iri) or "") for iri in pair) for pair in pairs]
    return [_labels(*pair) for pair in pairs]


def as_triples(path: Path) -> Pairs:
    """By two readers, which must agree. rdflib is spared the very long lines, which take it seconds."""
    first = [(t.subject.value, t.object.value) for t in pyoxigraph.parse(path=path)]
    short = [line for line in path.read_text(encoding="utf-8").split("\n") if len(line) < 10_000]
    second = rdflib.Graph().parse(data="\n".join(short), format="turtle" if path.suffix == ".ttl" else "nt")
    pairs = {(str(s), str(o)) for s, _, o in second}
    assert pairs <= set(first) and all(max(map(len, pair)) > 4000 for pair in set(first) - pairs)
    return [_labels(*pair) for pair in first]


def as_cells(path: Path) -> Pairs:
    """As XML and as RDF, which must agree."""
    resource = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}resource"
    cells = ET.parse(path).getroot().findall(f"{{{ALIGNMENT}}}Alignment/{{{ALIGNMENT}}}map/{{{ALIGNMENT}}}Cell")
    first = [tuple(cell.find(f"{{{ALIGNMENT}}}entity{i}").get(resource) for i in (1, 2)) for cell in cells]
    ends: dict[str, dict] = {"entity1": {}, "entity2": {}}
    for triple in pyoxigraph.parse(path=path, format=pyoxigraph.RdfFormat.RDF_XML):
        name = triple.predicate.value.removeprefix(ALIGNMENT)
        if name in ends:
            ends[name][triple.subject] = triple.object.value
    assert sorted(first) == sorted((iri, ends["entity2"][cell]) for cell, iri in ends["entity1"].items())
    return [_labels(*pair) for pair in first]


def as_parquet(path: Path) -> Pairs:
    table = pq.read_table(path)
    return list(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))


def as_csv(path: Path) -> Pairs:
    with path.open(encoding="utf-8", newline="") as file:
        return [(row["source"], row["target"]) for row in csv.DictReader(file)]


def as_json(path: Path) -> Pairs:
    return [(row["source"], row["target"]) for row in json.loads(path.read_text(encoding="utf-8"))["mappings"]]


def _labels(*iris: str) -> tuple[str, ...]:
    decoded = (decode_id(iri) for iri in iris)
    return tuple(iri if label is None else label for iri, label in zip(iris, decoded, strict=True))


READERS: dict[str, Callable[[Path], Pairs]] = {
    ".tsv": as_links,
    ".sssom.tsv": as_sssom,
    ".nt": as_triples,
    ".ttl": as_triples,
    ".rdf": as_cells,
    ".parquet": as_parquet,
    ".csv": as_csv,
    ".json": as_json,
}


@pytest.fixture
def make_mapping() -> Callable[..., Mapping]:
    return make


@pytest.fixture
def readers() -> dict[str, Callable[[Path], Pairs]]:
    return READERS


@pytest.fixture
def wide_fields():
    """Python's csv stops at 131,072 characters a field unless told otherwise."""
    before = csv.field_size_limit(10**9)
    yield
    csv.field_size_limit(before)
