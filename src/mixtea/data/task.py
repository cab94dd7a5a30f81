"""A task: two graphs and the links between them, split into training, validation and test."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

import numpy as np

from mixtea.data import prefixes
from mixtea.data.formats.endings import plain_name
from mixtea.data.graph import Graph
from mixtea.data.graph_files import read_graph
from mixtea.data.links import REJECTED, LinkFile, check_links, find_links, read_link_table, read_links, split_off
from mixtea.data.reading import Reading
from mixtea.data.safe.limits import Limits, applied, in_force
from mixtea.data.selection import Selection
from mixtea.data.text_model import OnTexts
from mixtea.data.vectors import with_vectors
from mixtea.errors import DataError, Problems
from mixtea.text import visible, whole_text

logger = logging.getLogger(__name__)
SPLITS = ("train", "valid", "test")
LONGEST_WARNING, LONGEST_NAME = 6000, 200  # characters; a warning may name a file by its whole path
PathOrStr = str | PathLike[str]
Paths = PathOrStr | Iterable[PathOrStr]


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """Two graphs and int64 [p, 2] arrays of links (source index, target index).

    `rejected` are pairs of which somebody has said that they are not the same; none of them is a link. A name that is
    no whole text, as of a file whose name is not UTF-8, has escapes for what is not.
    """

    name: str
    source: Graph
    target: Graph
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    fold: int | None = None
    warnings: tuple[str, ...] = ()
    rejected: np.ndarray = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", whole_text(self.name))

    def unlabelled(self) -> tuple[np.ndarray, np.ndarray]:
        """The source and the target entities without a training link, less those without a relation triple.

        Nothing can be learned about the latter from structure.
        """
        source, target = (
            np.setdiff1d(np.flatnonzero(~graph.isolated()), self.train[:, side])
            for side, graph in enumerate((self.source, self.target))
        )
        return source, target

    def __repr__(self) -> str:
        sides = " <-> ".join(
            f"{g.n_entities:,} entities, {g.n_relations:,} relations, {g.n_triples:,} triples"
            for g in (self.source, self.target)
        )
        links = ", ".join(f"{len(getattr(self, s)):,} {s}" for s in SPLITS)
        fold = f", fold {self.fold}" if self.fold is not None else ""
        rejected = f"; {len(self.rejected):,} rejected" if len(self.rejected) else ""
        return f"Task({visible(self.name, LONGEST_NAME)}{fold}: {sides}; links: {links}{rejected})"


def load_task(
    folder: PathOrStr | None = None,
    fold: int | None = None,
    *,
    source: Paths | None = None,
    target: Paths | None = None,
    links: Paths | None = None,
    valid_links: Paths | None = None,
    test_links: Paths | None = None,
    one_to_many: bool = False,
    seed: int = 1,
    reading: Reading | None = None,
    limits: Limits | None = None,
    vectors_source: PathOrStr | None = None,
    vectors_target: PathOrStr | None = None,
    text_model: PathOrStr | None = None,
    on_texts: OnTexts | None = None,
) -> Task:
    """Load a benchmark folder in OpenEA's layout, or a user's own two graphs and links.

    A folder has `rel_triples_1`, `rel_triples_2`, `ent_links` and splits in `721_5fold/K` (fold K, 1 unless given) or
    in one folder `split*`; without validation links there, a seeded third of the training links takes their place.
    A user's `source` and `target` are each a file or several, in the formats of docs/formats.md; `reading` keeps a part
    of them. `links` are for learning: all of them train if `valid_links` are given, else 80 % train and 20 % validate.
    Each of the three may be several files, and each may also say which pairs are not the same (SSSOM can): these are
    `rejected`. A file that exceeds `limits` is refused. `vectors_source` and `vectors_target` are files of vectors of
    your own for the entities; or the folder `text_model` holds a model that makes such of their texts, and `on_texts`
    is told how many of them are done, and of how many.
    """
    vectors = [None if path is None else Path(path) for path in (vectors_source, vectors_target, text_model)]
    sides = {"source": _paths(source), "target": _paths(target)}
    files = {"train": _paths(links), "valid": _paths(valid_links), "test": _paths(test_links)}
    own = {**sides, "links": files["train"]}
    if folder is not None:
        if any((*own.values(), *files.values())):
            raise DataError("Give either a folder, or source, target and links; not both.")
        if reading is not None and not reading.keeps_all:
            raise DataError("A benchmark folder is read as a whole; leave the options that keep a part of it out.")
        with applied(limits):
            return _with_vectors(_load_folder(Path(folder), fold, one_to_many, seed), on_texts, *vectors)
    missing = [name for name, value in own.items() if not value]
    if missing:
        raise DataError(f"Give a folder, or source, target and links. Missing: {', '.join(missing)}.")
    if fold is not None:
        raise DataError("Folds belong to a benchmark folder; leave fold out for your own links.")
    with applied(limits):
        return _with_vectors(
            _load_own(sides, files, one_to_many, seed, Selection(reading or Reading())), on_texts, *vectors
        )


def _with_vectors(task: Task, on_texts: OnTexts | None, *given: Path | None) -> Task:
    *files, text_model = given
    graphs, warnings = with_vectors((task.source, task.target), files, text_model, on_texts)
    return replace(task, source=graphs[0], target=graphs[1], warnings=(*task.warnings, *_logged(warnings)))


def _paths(given: Paths | None) -> list[Path]:
    if given is None or isinstance(given, str | PathLike):
        return [] if given is None else [Path(given)]
    return [Path(path) for path in given]


def _load_folder(folder: Path, fold: int | None, one_to_many: bool, seed: int) -> Task:
    if not folder.is_dir():
        what = "a file, where a folder is needed" if folder.exists() else "no such folder"
        raise DataError(f"{folder}: {what}. Name a folder with rel_triples_1, rel_triples_2 and ent_links.")
    where, fold = _split_folder(folder, fold)
    problems = Problems(in_force().max_problems)
    all_links = read_link_table(folder / "ent_links", problems)
    source, target = (
        read_graph(
            folder / f"rel_triples_{side}", problems,
            attributes=_if_there(folder / f"attr_triples_{side}"),
            labels=_if_there(folder / f"ent_names_{side}"),
            also=all_links.columns[side - 1],
        )
        for side in (1, 2)
    )  # fmt: skip
    everything = find_links(all_links, "all", source, target, problems)
    files = [
        read_links(path, split, source, target, problems)
        for split in SPLITS
        if split != "valid" or os.path.lexists(where / "valid_links")
        for path in [where / f"{split}_links"]
    ]
    _, more = check_links([everything], source, target, problems, one_to_many=one_to_many)
    splits, warnings = _checked(files, source, target, problems, one_to_many)
    if "valid" not in splits:
        splits["train"], splits["valid"] = split_off(splits["train"], 1 / 3, seed)
    name, said = folder.resolve().name, _logged([*more, *warnings])
    return Task(name, source, target, splits["train"], splits["valid"], splits["test"], fold, said, splits[REJECTED])


def _load_own(
    sides: dict[str, list[Path]], files: dict[str, list[Path]], one_to_many: bool, seed: int, selection: Selection
) -> Task:
    problems = Problems(in_force().max_problems)
    source, target = (read_graph(paths, problems, selection=selection) for paths in sides.values())
    read = [read_links(path, split, source, target, problems) for split in SPLITS for path in files[split]]
    splits, warnings = _checked(read, source, target, problems, one_to_many)
    if not len(splits["train"]):
        problems.add(files["train"][0], None, "", "no link, only rejected pairs", "Learning needs links: add some.")
        problems.raise_if_any()
    if "valid" not in splits:
        splits["train"], splits["valid"] = split_off(splits["train"], 0.2, seed)
    splits.setdefault("test", np.empty((0, 2), dtype=np.int64))
    source, target = (
        replace(graph, prefixes=prefixes.joined([graph.prefixes, *(file.prefixes for file in read)]))
        for graph in (source, target)
    )
    name, said = "-".join(map(_name, sides.values())), _logged([*selection.warnings(), *warnings])
    return Task(name, source, target, splits["train"], splits["valid"], splits["test"], None, said, splits[REJECTED])


def _name(paths: list[Path]) -> str:
    return plain_name(paths[0]) + (f"+{len(paths) - 1}" if len(paths) > 1 else "")


def _checked(
    files: list[LinkFile], source: Graph, target: Graph, problems: Problems, one_to_many: bool
) -> tuple[dict[str, np.ndarray], list[str]]:
    splits, warnings = check_links(files, source, target, problems, one_to_many=one_to_many)
    problems.raise_if_any()
    return splits, warnings


def _logged(warnings: list[str]) -> tuple[str, ...]:
    """What is said of the files, as text that can be shown."""
    said = tuple(visible(warning, LONGEST_WARNING) for warning in warnings)
    for warning in said:
        logger.warning("%s", warning)
    return said


def _split_folder(folder: Path, fold: int | None) -> tuple[Path, int | None]:
    """The folder that holds train_links and test_links, and the fold it is."""
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


def _if_there(path: Path) -> Path | None:
    """The path, also of a link that leads nowhere: who opens it says so."""
    return path if os.path.lexists(path) else None
