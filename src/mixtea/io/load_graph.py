"""Read one side of a task from its files and objects, whatever their formats; or both from a benchmark folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mixtea.callbacks import report_step
from mixtea.errors import DataError, Problems
from mixtea.graph import prefixes
from mixtea.graph.builder import FileRead, GraphData, attribute_data, concat, distinct_triples, entity_data
from mixtea.graph.graph import Graph
from mixtea.graph.labels import Labels
from mixtea.graph.terms import entity_kinds
from mixtea.io.columns.hints import Hints, column_hints
from mixtea.io.columns.rows import RowTable, convert_tables
from mixtea.io.filter import AppliedFilter, GraphFilter
from mixtea.io.formats.registry import detect_format, read_graph_data
from mixtea.io.formats.tables import read_table
from mixtea.io.head import remembered_heads
from mixtea.io.memory.objects import GRAPH, InMemory, Input, parse_inputs
from mixtea.io.naming import NameColumns, NameFiles
from mixtea.io.options import LoadOptions, as_texts, check_option_types
from mixtea.io.paths import PathOrStr, Paths, as_paths, with_queries
from mixtea.io.safe.limits import Limits, collect_unreadable, current_limits, use_limits
from mixtea.io.table_layout import use_separator


def load_graph(
    source: Any,
    *,
    strict: bool = False,
    graph_filter: GraphFilter | None = None,
    limits: Limits | None = None,
    separator: str | None = None,
    names: Paths | None = None,
    name_column: str | Sequence[str] | None = None,
    columns: Mapping[str, Any] | PathOrStr | None = None,
    attributes: bool = True,
    query: str | Sequence[str] | None = None,
) -> Graph:
    """Load one graph, to look at it or to give it to `load_task` as `source` or `target`.

    Parameters
    ----------
    source
        What `source` of `load_task` may be: a file, a data frame, a list of dictionaries, rows, an rdflib or a NetworkX
        graph, or several of these, which are read as one graph.
    strict, graph_filter, limits, separator, columns, attributes
        As in `load_task`.
    names
        Tables of ids and names, which become labels.
    name_column
        The columns of tables, or predicates, that hold the names of entities. Else they are found, see docs/names.md.
    query
        A query for each database among `source`: one SELECT.

    Returns
    -------
    Graph
        Entities, relations, triples, literal values and labels as arrays; `len(graph.ids)` entities.

    Raises
    ------
    DataError
        Something cannot be read as it is. All problems come together, each with its file and line, or object and row.

    Examples
    --------
    >>> from mixtea import load_graph, load_task
    >>> graph = load_graph([("Rome", "in", "Italy"), ("Paris", "in", "France")])
    >>> graph.n_entities, graph.relations.tolist()
    (4, ['in'])
    >>> task = load_task(source=graph, target=graph, links_from="ids")
    >>> len(task.train) + len(task.valid)
    4
    """
    check_option_types(graph_filter, limits)
    options = LoadOptions(
        strict, 1, NameFiles(source=as_paths(names, "names")), attributes, "names",
        NameColumns(source=as_texts(name_column, "name_column")), column_hints(columns),
    )  # fmt: skip
    files = with_queries(parse_inputs(source, "source"), as_texts(query, "query"), "source")
    if not files:
        raise DataError("load_graph needs a graph: a file, a data frame, rows, or several of these.")
    with use_limits(limits), use_separator(separator), remembered_heads():
        problems, applied = Problems(current_limits().max_problems, strict=strict), AppliedFilter(graph_filter)
        graph = read_graph(files, problems, graph_filter=applied, hints=options.columns.of_side("source"))
        languages = applied.filter.languages
        graph, _, _ = options.complete(graph, _no_graph(), problems, languages, finds_names=True)
        problems.raise_if_any()
    return graph


def read_graph(
    triples: Path | Sequence[Input],
    problems: Problems,
    *,
    attributes: Path | None = None,
    labels: Path | None = None,
    also: np.ndarray | None = None,
    graph_filter: AppliedFilter | None = None,
    hints: Hints | None = None,
) -> Graph:
    """Read a graph: entities in the order of the files, then of the attribute triples, then `also`, sorted.

    `labels` is a table of ids and labels, `hints` describe columns of tables. `also` are the entities that a benchmark
    names in its links alone; they are sorted so that their order does not reveal the links. A file that cannot be read
    is a problem, and then the graph is empty.
    """
    paths = [triples] if isinstance(triples, Path) else list(triples)
    graph_filter = graph_filter or AppliedFilter(GraphFilter(keep_obsolete=True))
    if len(paths) == 1 and isinstance(paths[0], InMemory) and paths[0].kind == GRAPH:
        return _read_already(paths[0], graph_filter, hints)
    read = []
    for path in paths:
        with collect_unreadable(problems):
            read.append(_read(path, problems))
    parts, files = [], []
    with collect_unreadable(problems):
        of_tables = iter(
            convert_tables([one for one, _, _ in read if isinstance(one, RowTable)], hints or {}, problems)
        )
        for one, path, kind in read:
            part, columns, notes = next(of_tables) if isinstance(one, RowTable) else (one, (), ())
            parts.append(part)
            n, n_values = len(part.triples), len(part.attributes)
            files.append(FileRead(path, kind, n, n_values, part.ontology, (*one.notes, *notes), part.base, columns))
    if attributes is not None:
        with collect_unreadable(problems):
            table = read_table(attributes, 3, problems, rest_is_value=True, may_be_empty=True)
            parts.append(attribute_data(table))
            files.append(FileRead(attributes, "TSV", 0, len(table)))
    if len(parts) < len(paths) + (attributes is not None):
        return _no_graph()
    if also is not None:
        parts.append(entity_data(np.sort(also)))
    part = concat(parts)
    part = graph_filter.with_values(part, prefixes.merge_prefixes([part.prefixes]))
    return _graph(_labelled(part, labels, problems), files, graph_filter, problems)


def _no_graph() -> Graph:
    return Graph(np.empty(0, dtype=object), np.empty(0, dtype=object), np.empty((0, 3), dtype=np.int64))


def _read_already(one: InMemory, graph_filter: AppliedFilter, hints: Hints | None) -> Graph:
    """Return a graph that `load_graph` gave, which has been read with options of its own."""
    if hints or not graph_filter.filter.keeps_all:
        raise DataError(f"{one.path}: read already. Give graph_filter and columns to load_graph.")
    graph: Graph = one.thing
    return graph


def _read(one: Input, problems: Problems) -> tuple[GraphData | RowTable, Path, str]:
    """Read a file or an object; return what it holds, what it is called, and its format."""
    if isinstance(one, InMemory):
        report_step(f"reading {one.path}")
        return one.part(problems), one.path, one.kind
    report_step(f"reading {one}")
    kind = detect_format(one)
    return read_graph_data(one, kind, problems), one, kind


def _graph(part: GraphData, files: list[FileRead], graph_filter: AppliedFilter, problems: Problems) -> Graph:
    """Return the graph, filtered, with the relations that its triples have."""
    known = prefixes.merge_prefixes([part.prefixes])
    part = replace(part, kinds=entity_kinds(part))
    kept, left_out, obsolete = graph_filter(part, known)
    if len(part.ids) and not len(kept.ids):
        todo = "The options hold for both graphs: name types, predicates or namespaces of this one too."
        problems.add(files[0].path, None, "", "nothing is left of the graph with these options", todo)
    used = np.bincount(kept.triples[:, 1], minlength=len(kept.predicates)) > 0  # not by attribute triples alone
    triples = distinct_triples(kept.triples)
    if not used.all():
        triples = triples.copy()
        triples[:, 1] = (np.cumsum(used) - 1)[triples[:, 1]]
    attributes, labels = kept.attributes.as_set(), kept.labels.as_set(graph_filter.filter.languages)
    parts = (kept.ids, kept.predicates[used], triples, attributes, labels, known, tuple(files), left_out)
    iri = next((file.ontology for file in files if file.ontology), "")
    return Graph(*parts, iri=iri, kinds=kept.kinds, obsolete=obsolete, kept_apart=kept.kept_apart)


def _labelled(part: GraphData, path: Path | None, problems: Problems) -> GraphData:
    """Add the labels that attribute triples state, and those that a table has for known entities."""
    part = replace(part, labels=Labels.of_attributes(part.attributes))
    if path is None:
        return part
    with collect_unreadable(problems):
        ids, texts = read_table(path, 2, problems, may_be_empty=True).columns
        place = pd.Index(part.ids, dtype=object).get_indexer(pd.Index(ids, dtype=object))
        more = Labels.of_entities(place[place >= 0], texts[place >= 0])
        return replace(part, labels=Labels.concat([part.labels, more]))
    return part


def read_folder_graphs(folder: Path, linked: tuple[np.ndarray, ...], problems: Problems) -> tuple[Graph, Graph]:
    """Read both graphs, with the entities that occur in links alone."""
    source, target = (
        read_graph(
            folder / f"rel_triples_{side}", problems,
            attributes=existing_path(folder / f"attr_triples_{side}"),
            labels=existing_path(folder / f"ent_names_{side}"),
            also=linked[side - 1],
        )
        for side in (1, 2)
    )  # fmt: skip
    return source, target


def find_split(folder: Path, fold: int | None) -> tuple[Path, int | None]:
    """Return the folder that holds train_links and test_links, and its fold."""
    folds = folder / "721_5fold"
    if folds.is_dir():
        fold = 1 if fold is None else fold
        if not (folds / str(fold)).is_dir():
            there = ", ".join(sorted(p.name for p in folds.iterdir() if p.is_dir()))
            raise DataError(f"{folds}: there is no fold {fold}. Choose one of {there}.")
        return folds / str(fold), fold
    splits = sorted(p for p in folder.glob("split*") if p.is_dir())
    if len(splits) != 1:
        found = "more than one split folder" if splits else "no split: neither 721_5fold nor a folder split*"
        raise DataError(f"{folder}: {found}. Lay train_links and test_links into one folder named split.")
    if fold is not None:
        raise DataError(f"{folder}: it has one split ({splits[0].name}) and no folds; leave the fold out.")
    return splits[0], None


def existing_path(path: Path) -> Path | None:
    """Return the path if it exists, even as a broken link, which opening reports."""
    return path if os.path.lexists(path) else None
