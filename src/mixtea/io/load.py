"""Read a task: a benchmark folder, or two graphs and links in files and objects of any format."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mixtea.callbacks import Callbacks, active_callbacks, check_callbacks, report_step, run_callbacks
from mixtea.errors import DataError, Problems
from mixtea.graph import prefixes
from mixtea.graph.graph import Graph
from mixtea.graph.literal_columns import literal_warnings
from mixtea.graph.task import SPLITS, Task, no_links
from mixtea.io.columns.hints import column_hints, compared_columns
from mixtea.io.filter import AppliedFilter, GraphFilter
from mixtea.io.formats.link_tables import LinkTable
from mixtea.io.formats.registry import format_warnings
from mixtea.io.formats.sssom import Slots
from mixtea.io.head import remembered_heads
from mixtea.io.links.embedded import extract_links, links_by_ids, shared_id_warnings
from mixtea.io.links.read import (
    REJECTED,
    LinkFile,
    check_links,
    find_links,
    multiple_link_warnings,
    read_given_links,
    read_link_table,
    read_links,
    split_validation,
)
from mixtea.io.links.resolve import require_unique_labels
from mixtea.io.load_graph import existing_path, find_split, read_folder_graphs, read_graph
from mixtea.io.memory.objects import InMemory, Input, parse_inputs, path_of
from mixtea.io.naming import NameColumns, NameFiles, read_synonyms
from mixtea.io.options import LoadOptions, TextOrTexts, as_texts, check_option_types
from mixtea.io.paths import PathOrStr, Paths, as_path, as_paths, plain_name, with_queries
from mixtea.io.safe.limits import Limits, current_limits, use_limits
from mixtea.io.table_layout import use_separator
from mixtea.io.vectors.load import with_vectors
from mixtea.io.vectors.model_folder import model_folder
from mixtea.messages import visible
from mixtea.progress import text_callbacks

logger = logging.getLogger(__name__)
MAX_WARNING = 6000  # characters; a warning may name a file by its whole path


def load_task(
    folder: PathOrStr | None = None,
    fold: int | None = None,
    *,
    source: Any = None,
    target: Any = None,
    links: Any = None,
    valid_links: Any = None,
    test_links: Any = None,
    strict: bool = False,
    seed: int = 1,
    graph_filter: GraphFilter | None = None,
    limits: Limits | None = None,
    separator: str | None = None,
    names_source: Paths | None = None,
    names_target: Paths | None = None,
    translations: Paths | None = None,
    dictionary: Paths | None = None,
    synonyms: Paths | None = None,
    name_column: TextOrTexts = None,
    source_name_column: TextOrTexts = None,
    target_name_column: TextOrTexts = None,
    columns: Mapping[str, Any] | PathOrStr | None = None,
    attributes: bool = True,
    links_from: str = "given",
    vectors_source: PathOrStr | None = None,
    vectors_target: PathOrStr | None = None,
    text_model: PathOrStr | None = None,
    source_query: TextOrTexts = None,
    target_query: TextOrTexts = None,
    links_query: TextOrTexts = None,
    callbacks: Callbacks = (),
) -> Task:
    """Load a benchmark folder in OpenEA's layout, or a user's own two graphs and links.

    Parameters
    ----------
    folder, fold
        A folder has `rel_triples_1`, `rel_triples_2`, `ent_links` and splits in `721_5fold/K` (fold K, 1 unless given)
        or in one folder `split*`; without validation links there, a seeded third of the training links is in their
        place.
    source, target
        A user's own graphs: each a file in one of the formats of docs/formats.md, a data frame or an Arrow table
        (head, relation, tail; or an entity in each row), a list of dictionaries, rows, a NumPy array, an rdflib or a
        NetworkX graph, or several of these, which are read as one graph; tables by their names as a dictionary.
    links, valid_links, test_links
        Files, data frames, rows, dictionaries or arrays of source and target, or several of these; objects may name
        entities by labels that no other entity has. Without any, names and values find the first pairs. `links` are for
        learning: all of them train if `valid_links` are given, else 80 % train and 20 % validate. Each may also
        have pairs that are not the same (SSSOM can): these are `rejected`.
    strict
        Make a link with an end outside its graph an error, and an invalid statement in RDF; else they are left out, or
        repaired, with a warning.
    seed
        Seed of the choice of validation links.
    graph_filter
        The part of the graphs to keep, a `GraphFilter`.
    limits
        `Limits` on each input file; a file that exceeds them is refused.
    separator
        The separator of all text tables: one character, or "tab". Else it is detected.
    names_source, names_target, translations, dictionary
        Tables of ids and names, of ids and names of the source in the target's language, and of words and their
        translations: all of them become labels.
    synonyms
        Files of names that mean the same, a group per line, separated by tabs: `Task.synonyms`, of either side.
    name_column, source_name_column, target_name_column
        The columns of tables, or predicates, that hold the names of entities, one or several: of whichever graph has
        them, or of one. Other labels of that graph are values then. Without them names are found, see docs/names.md.
    columns
        Descriptions of columns, as a dictionary or a TOML file of such: {"price": "ignore", "sku": {"key": True},
        "source": {"title": {"kind": "name", "same_as": "product"}}}. `kind` is one of id, name, text, number, date,
        category, reference, list and ignore; a `key` decides alone; `weight` multiplies a column's score;
        `same_as` is its column on the other side, `refers_to` the table whose ids it holds, and `separator` separates
        the items of lists.
    attributes
        Keep literal values; without it only labels among them are kept.
    links_from
        With "names" and "ids" no links are read but those that are only scored. "names": names and values find the
        first; "ids": entities with the same id on both sides are links, as if they were given by `links`.
    vectors_source, vectors_target, text_model
        Files of vectors of your own for the entities; or a model that makes such of their texts: its folder, or an
        installed package that has one.
    source_query, target_query, links_query
        A query for each database (`sqlite:FILE`, `.db`, `.sqlite`) among `source`, `target` and `links`: one SELECT.
        Without queries a database is read by its only table, or by the one named behind it: `sqlite:FILE#table`.
    callbacks
        Objects of `mixtea.Callback` that receive steps, and how many texts a model has encoded; in a notebook the
        default shows a line about texts.

    Returns
    -------
    Task
        Both graphs and the links, split.

    Raises
    ------
    DataError
        Something cannot be read as it is. All problems come together, each with its file and line, or object and row.

    Examples
    --------
    >>> import pandas as pd
    >>> from mixtea import load_task
    >>> source = pd.DataFrame([("Rome", "in", "Italy")], columns=["head", "relation", "tail"])
    >>> load_task(source=source, target=[("Roma", "sta in", "Italia")], links={"Rome": "Roma"}).train.tolist()
    [[0, 0]]
    """
    check_option_types(graph_filter, limits)
    wanted = {"vectors_source": vectors_source, "vectors_target": vectors_target, "text_model": text_model}
    vectors = [None if path is None else as_path(path, name) for name, path in wanted.items()]
    vectors[-1] = None if vectors[-1] is None else model_folder(vectors[-1])
    sides = {"source": parse_inputs(source, "source"), "target": parse_inputs(target, "target")}
    splits = {"links": links, "valid_links": valid_links, "test_links": test_links}
    files = {split: parse_inputs(value, name) for split, (name, value) in zip(SPLITS, splits.items(), strict=True)}
    queries = {"source": source_query, "target": target_query, "links": links_query}
    queries_of = {name: as_texts(value, f"{name}_query") for name, value in queries.items()}
    sides = {side: with_queries(found, queries_of[side], side) for side, found in sides.items()}
    files["train"] = with_queries(files["train"], queries_of["links"], "links")
    own = {**sides, "links": files["train"]}
    called = {"names_source": names_source, "names_target": names_target, "translations": translations}
    called |= {"dictionary": dictionary, "synonyms": synonyms}
    names = NameFiles(*(as_paths(value, name) for name, value in called.items()))
    chosen = {
        "name_column": name_column,
        "source_name_column": source_name_column,
        "target_name_column": target_name_column,
    }
    of_both, of_source, of_target = (as_texts(value, name) for name, value in chosen.items())
    name_columns = NameColumns(of_both, of_source, of_target)
    options = LoadOptions(strict, seed, names, attributes, links_from, name_columns, column_hints(columns))
    called_back = check_callbacks(callbacks) or active_callbacks() or text_callbacks()
    if folder is not None:
        if any((*own.values(), *files.values())):
            raise DataError("Give either a folder, or source, target and links; not both.")
        if graph_filter is not None and not graph_filter.keeps_all:
            raise DataError("A benchmark folder is read as a whole; leave the options that keep a part of it out.")
        if options.columns:
            raise DataError("A benchmark folder has no columns of tables: leave columns (--columns) out.")
        if separator is not None:
            raise DataError("A benchmark folder is separated by tabs; leave the separator out (--separator).")
        with run_callbacks(called_back), use_limits(limits), remembered_heads():
            return _with_vectors(_load_folder(as_path(folder, "folder"), fold, options), *vectors)
    if not options.reads_links and (files["train"] or files["valid"]):
        raise DataError("Links are given, or found by names or ids: leave the links out, or links_from (--links-from).")
    missing = [name for name, value in own.items() if not value and name != "links"]
    missing += ["links"] if files["valid"] and not files["train"] else []
    if missing:
        raise DataError(
            f"Give a folder, or source and target, and links if there are any. Missing: {', '.join(missing)}."
        )
    if not files["train"] and options.reads_links:
        options = replace(options, links_from="names")
    if fold is not None:
        raise DataError("Folds belong to a benchmark folder; leave fold out for your own links.")
    with run_callbacks(called_back), use_limits(limits), use_separator(separator), remembered_heads():
        read = _load_own(sides, files, options, AppliedFilter(graph_filter))
        return _with_vectors(read, *vectors)


def _with_vectors(task: Task, *given: Path | None) -> Task:
    *files, text_model = given
    graphs, warnings = with_vectors((task.source, task.target), files, text_model)
    return task.replace(source=graphs[0], target=graphs[1], warnings=(*task.warnings, *_logged(warnings)))


def _load_folder(folder: Path, fold: int | None, options: LoadOptions) -> Task:
    if not folder.is_dir():
        what = "a file, where a folder is needed" if folder.exists() else "no such folder"
        raise DataError(f"{folder}: {what}. Name a folder with rel_triples_1, rel_triples_2 and ent_links.")
    where, fold = find_split(folder, fold)
    problems = Problems(current_limits().max_problems, strict=options.strict)
    all_links = read_link_table(folder / "ent_links", problems)
    source, target = read_folder_graphs(folder, all_links.columns, problems)
    source, target, of_names = options.complete(source, target, problems)
    synonyms, of_synonyms = read_synonyms(options.names.synonyms, problems)
    everything = find_links(all_links, "all", source, target, problems, strict=options.strict)
    files = [
        read_links(path, split, source, target, problems, strict=options.strict)
        for split in (SPLITS if options.reads_links else ("test",))
        if split != "valid" or existing_path(where / "valid_links")
        for path in [where / f"{split}_links"]
    ]
    _, more = check_links([everything], source, target, problems)
    splits, warnings = _checked(files, source, target, problems, options, valid_share=1 / 3)
    more += multiple_link_warnings([everything], source, target)
    name, shown = folder.resolve().name, _logged([*_notes(source, target), *of_names, *of_synonyms, *more, *warnings])
    return _task(name, source, target, splits, shown, options, fold=fold, synonyms=synonyms)


def _load_own(
    sides: dict[str, list[Input]], files: dict[str, list[Input]], options: LoadOptions, graph_filter: AppliedFilter
) -> Task:
    problems = Problems(current_limits().max_problems, strict=options.strict)
    source, target = (
        read_graph(paths, problems, graph_filter=graph_filter, hints=options.columns.of_side(side))
        for side, paths in sides.items()
    )
    languages = graph_filter.filter.languages
    report_step("finding which values are names")
    source, target, of_names = options.complete(source, target, problems, languages, finds_names=True)
    synonyms, of_synonyms = read_synonyms(options.names.synonyms, problems)
    wanted = [(split, one) for split in SPLITS for one in files[split]]
    tables = [_link_table(one, source, target, problems) for _, one in wanted]
    tables, source, target, of_held = extract_links(tables, source, target)
    read = [
        find_links(table, split, source, target, problems, strict=options.strict)
        for (split, _), table in zip(wanted, tables, strict=True)
    ]
    splits, warnings = _checked(read, source, target, problems, options, valid_share=0.2)
    if options.reads_links and not len(splits["train"]):
        todo = "Learning needs links: add some, or find them by names (--links-from names)."
        problems.add(path_of(files["train"][0]), None, "", "no link, only rejected pairs", todo)
        problems.raise_if_any()
    source, target = (
        replace(graph, prefixes=prefixes.merge_prefixes([graph.prefixes, *(file.prefixes for file in read)]))
        for graph in (source, target)
    )
    if options.links_from == "names":
        warnings += shared_id_warnings(source, target)
    warnings = [
        *(note for graph in (source, target) for one in graph.files for note in format_warnings(one.path, one.format)),
        *of_held, *warnings, *multiple_link_warnings(read, source, target),
    ]  # fmt: skip
    of_values = [*literal_warnings(source, "source"), *literal_warnings(target, "target")]
    name = "-".join(map(_name, sides.values()))
    shown = _logged([*_notes(source, target), *graph_filter.warnings(), *of_values, *of_names, *of_synonyms, *warnings])
    slots: dict[tuple[str, str], Slots] = {}
    for (split, _), table in zip(wanted, tables, strict=True):
        slots |= table.slots if split != "test" else {}
    compared = compared_columns(options.columns, source, target)
    more: dict[str, Any] = {"slots": slots, "synonyms": synonyms, "compared": compared}
    return _task(name, source, target, splits, shown, options, **more)


def _notes(*graphs: Graph) -> list[str]:
    """Return the notes on the files of graphs."""
    return [f"{file.path}: {note}" for graph in graphs for file in graph.files for note in file.notes]


def _link_table(one: Input, source: Graph, target: Graph, problems: Problems) -> LinkTable:
    """Read the links of a file, or of an object, which may name entities by unique labels."""
    table = read_given_links(one, problems)
    return table if isinstance(one, Path) else require_unique_labels(table, source, target, problems)


def _task(
    name: str, source: Graph, target: Graph, splits: dict[str, np.ndarray], warnings: tuple[str, ...],
    options: LoadOptions, **more: Any,
) -> Task:  # fmt: skip
    train, valid, test, rejected = (splits.get(split, no_links()) for split in (*SPLITS, REJECTED))
    more |= {"warnings": warnings, "rejected": rejected, "links_from": options.links_from}
    return Task.of_two(name, source, target, train, valid, test, **more)


def _name(given: list[Input]) -> str:
    first = given[0].name if isinstance(given[0], InMemory) else plain_name(given[0])
    return first + (f"+{len(given) - 1}" if len(given) > 1 else "")


def _checked(
    files: list[LinkFile], source: Graph, target: Graph, problems: Problems, options: LoadOptions, *, valid_share: float
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the links of each split, and warnings; a share of the training links replaces missing validation links."""
    splits, warnings = check_links(files, source, target, problems)
    problems.raise_if_any()
    if options.links_from == "ids":
        known = [splits.get(split, no_links()) for split in ("test", REJECTED)]
        splits["train"], of_ids = links_by_ids(source, target, *known)
        warnings += of_ids
    if "train" in splits and "valid" not in splits:
        splits["train"], splits["valid"] = split_validation(splits["train"], valid_share, options.seed)
    return splits, warnings


def _logged(warnings: list[str]) -> tuple[str, ...]:
    """Log the warnings, and return them as printable text."""
    shown = tuple(visible(warning, MAX_WARNING) for warning in warnings)
    for warning in shown:
        logger.warning("%s", warning)
    return shown
