"""Summarise a task in numbers, and check its graphs and links together for what will hurt the learning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mixtea.errors import shorten
from mixtea.graph.builder import FileRead
from mixtea.graph.graph import Graph
from mixtea.graph.labels import TRANSLATION_RANK, Labels
from mixtea.graph.prefixes import BUILT_IN
from mixtea.graph.task import SPLITS, Task
from mixtea.io.naming import name_coverage
from mixtea.text.names import equal_names
from mixtea.text.phrases import Synonyms

MIN_LINKS = 100
VOCABULARIES = tuple(
    BUILT_IN[name] for name in ("rdf", "rdfs", "owl", "xsd", "skos", "foaf", "schema", "sdo", "dc", "dcterms", "prov")
)


def task_warnings(task: Task) -> list[str]:
    """Return warnings about what will hurt the learning, in both graphs and the links."""
    graphs = (*_check_graph("source", task.source), *_check_graph("target", task.target))
    return [*graphs, *_check_pair(task), *_check_links(task)]


def _check_graph(side: str, graph: Graph) -> Iterator[str]:
    if graph.n_triples and graph.isolated().any():
        n = int(graph.isolated().sum())
        yield f"{n:,} {side} entities have no relation triple: structure cannot map them"
    for what, ids in (("entities", graph.ids), ("relations", graph.relations)):
        alike = _differ_by_spaces(ids)
        if alike:
            yield f"{len(alike):,} {side} {what} differ from others by spaces alone, such as {shorten(alike[0])}"


def _differ_by_spaces(ids: np.ndarray) -> list[str]:
    """Return the ids that without the spaces around them would be another id."""
    spaced = [one for one in ids if one != one.strip()]
    if not spaced:
        return []
    bare = Counter(one.strip() for one in ids)
    return [one for one in spaced if bare[one.strip()] > 1]


def _check_links(task: Task) -> Iterator[str]:
    links = np.concatenate([task.train, task.valid, task.test])
    for column, (side, graph) in enumerate((("source", task.source), ("target", task.target))):
        alone = int(graph.isolated()[links[:, column]].sum())
        if alone and graph.n_triples:
            yield f"{alone:,} of {len(links):,} links go to a {side} entity without a relation triple"
    if not (task.source.n_triples and task.target.n_triples):
        return  # names and values decide, which need few links, and nothing is trained
    if task.links_from == "names":
        n = len(equal_names(task.source, task.target)[1])
        yield f"no links are read: {n:,} pairs of equal names are what learning can begin with"
        return
    if len(task.train) < MIN_LINKS:
        yield f"only {len(task.train)} train links: expect low accuracy"
    if not len(task.valid):
        yield "no validation links: training runs to max_epochs and all voters weigh the same"
    elif len(task.valid) < MIN_LINKS:
        yield f"only {len(task.valid)} valid links: their scores are rough"


def _check_pair(task: Task) -> Iterator[str]:
    if same := list(_same_files(task)):
        yield from same
        return
    links = np.concatenate([task.train, task.valid, task.test])
    for side, graph in (("source", task.source), ("target", task.target)):
        yield from _links_in(graph, side, task.source.ids[links[:, 0]], task.target.ids[links[:, 1]])
    yield from _equal_iris(task.source, task.target)


def _same_files(task: Task) -> Iterator[str]:
    """Warn about a file that is given twice."""
    source, target = ([file.path.resolve() for file in graph.files] for graph in (task.source, task.target))
    for paths in (source, target):
        if twice := [path for path in dict.fromkeys(paths) if paths.count(path) > 1]:
            yield f"{twice[0].name} is given twice for one graph: it adds nothing the second time"
    if both := [path for path in dict.fromkeys(source) if path in target]:
        yield f"{both[0].name} is given as source and as target: every entity of it is its own counterpart"


def _equal_iris(source: Graph, target: Graph) -> Iterator[str]:
    """Warn about entities with the same IRI in both graphs, other than terms of common vocabularies."""
    both = source.ids[target.find(source.ids) >= 0]
    equal = [iri for iri in both if "://" in iri and not iri.startswith(VOCABULARIES)]
    if equal:
        n = len(equal)
        many = f"{n:,} entities have" if n > 1 else "1 entity has"
        yield (
            f"{many} the same IRI in both graphs, such as {shorten(equal[0])}: that alone does not make them the same; "
            "if it should, give such pairs as links"
        )


def _links_in(graph: Graph, side: str, sources: np.ndarray, targets: np.ndarray) -> Iterator[str]:
    """Warn about links between whose ends a graph has a triple."""
    ends = np.stack([graph.find(sources), graph.find(targets)], axis=1)
    ends = np.sort(ends[(ends >= 0).all(axis=1)], axis=1)
    pairs = np.sort(graph.triples[:, [0, 2]], axis=1)
    n = graph.n_entities
    held = np.isin(pairs[:, 0] * n + pairs[:, 1], ends[:, 0] * n + ends[:, 1]) & (pairs[:, 0] != pairs[:, 1])
    if held.any():
        many = len(np.unique(pairs[held], axis=0))
        links = f"{many:,} links are triples" if many > 1 else "1 link is a triple"
        name = graph.shorten(str(graph.relations[graph.triples[held][0, 1]]))
        yield (
            f"{links} of the {side} graph too, such as of {name}: what is to be found is there, "
            f"and scores will be too high; name the graph's file as links, or leave such triples out "
            f"(--drop-predicates {name})"
        )


TOP_RELATIONS, TOP_LANGUAGES = 5, 20


def summary(task: Task) -> dict[str, Any]:
    """Return counts of both graphs and of the links, and warnings."""
    return {
        "task": task.name,
        "fold": task.fold,
        "source": _graph(task.source),
        "target": _graph(task.target),
        "links": {split: len(getattr(task, split)) for split in SPLITS},
        "links_from": task.links_from,
        "rejected": len(task.rejected),
        "synonyms": synonym_counts(task),
        "shared_relations": len(set(task.source.relations) & set(task.target.relations)),
        "warnings": [*task.warnings, *task_warnings(task)],
    }


def _graph(graph: Graph) -> dict[str, Any]:
    degree = degrees(graph)
    own = graph.labels.take(graph.labels.rank != TRANSLATION_RANK)
    return {
        "entities": graph.n_entities,
        "relations": graph.n_relations,
        "triples": graph.n_triples,
        "attribute_triples": graph.n_attribute_triples,
        "isolated_entities": int(graph.isolated().sum()),
        "kinds": graph.kind_counts(),
        "labels": len(own),
        "names": name_coverage(graph),
        "vectors": int(graph.has_vector().sum()),
        "label_coverage": len(np.unique(own.entity)) / max(graph.n_entities, 1),
        "languages": languages(own),
        "files": [_file(file) for file in graph.files],
        "top_relations": top_relations(graph),
        "degree": {"median": float(np.median(degree)), "mean": float(degree.mean()), "max": int(degree.max())},
    }


def synonym_counts(task: Task) -> dict[str, Any]:
    """Count the groups of synonyms, and of each side the names that have a member of one."""
    if not task.synonyms:
        return {"groups": 0}
    synonyms = Synonyms(task.synonyms)
    counted = {side: synonyms.count(graph) for side, graph in (("source", task.source), ("target", task.target))}
    return {"groups": len(task.synonyms)} | {side: {"with": n, "names": of} for side, (n, of) in counted.items()}


def synonyms_line(found: Mapping[str, Any]) -> str:
    """Return what `synonym_counts` has found in words, empty without groups.

    >>> synonyms_line({"groups": 2, "source": {"with": 3, "names": 10}, "target": {"with": 0, "names": 9}})
    'synonyms: 2 groups; in 3 of 10 names of the source and 0 of 9 of the target'
    """
    if not found["groups"]:
        return ""
    source, target = (f"{found[side]['with']:,} of {found[side]['names']:,}" for side in ("source", "target"))
    groups = f"{found['groups']:,} group{'s' if found['groups'] > 1 else ''}"
    return f"synonyms: {groups}; in {source} names of the source and {target} of the target"


def _file(file: FileRead) -> dict[str, Any]:
    return {
        "path": str(file.path),
        "format": file.format,
        "triples": file.n_triples,
        "attribute_triples": file.n_attribute_triples,
    }


def degrees(graph: Graph) -> np.ndarray:
    """Return [n], the number of distinct neighbours of each entity."""
    head, tail = graph.triples[:, 0], graph.triples[:, 2]
    n = graph.n_entities
    pairs = np.unique(np.concatenate([head * n + tail, tail * n + head]))
    return np.bincount(pairs // n, minlength=n)


def languages(labels: Labels) -> dict[str, int]:
    """Count the labels in each language, the most frequent first; "" is none."""
    column = labels.language
    counts = np.bincount(column.codes, minlength=column.n_texts).tolist()
    return dict(Counter(dict(zip(column.texts(), counts, strict=True))).most_common(TOP_LANGUAGES))


def top_relations(graph: Graph, n: int = TOP_RELATIONS) -> list[dict[str, Any]]:
    """Return the relations with the most triples, for display."""
    counts = np.bincount(graph.triples[:, 1], minlength=graph.n_relations)
    most = np.argsort(-counts, kind="stable")[:n]
    return [{"relation": graph.shorten(str(graph.relations[i])), "triples": int(counts[i])} for i in most]
