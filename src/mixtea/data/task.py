"""A task: two graphs and the links between them, split into training, validation and test."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

import numpy as np

from mixtea.data import prefixes
from mixtea.data.asked import Asked
from mixtea.data.benchmark_folder import folder_graphs, if_there, split_folder
from mixtea.data.formats.endings import plain_name
from mixtea.data.graph import Graph
from mixtea.data.graph_files import read_graph
from mixtea.data.links import REJECTED, LinkFile, check_links, find_links, read_link_table, read_links, split_off
from mixtea.data.name_files import NameFiles
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
    no whole text, as of a file whose name is not UTF-8, has escapes for what is not. `links_from` says where the links
    to learn from come from: they are "given", or found by "names", and then train and valid are empty.
    """

    name: str
    source: Graph
    target: Graph
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    fold: int | None = None
    warnings: tuple[str, ...] = ()
    rejected: np.ndarray = field(default_factory=lambda: _no_links())
    links_from: str = "given"

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
            f"{g.n_entities:,} entities{_kinds(g)}, {g.n_relations:,} relations, {g.n_triples:,} triples"
            for g in (self.source, self.target)
        )
        links = ", ".join(f"{len(getattr(self, s)):,} {s}" for s in SPLITS)
        fold = f", fold {self.fold}" if self.fold is not None else ""
        rejected = f"; {len(self.rejected):,} rejected" if len(self.rejected) else ""
        said = "links" if self.links_from == "given" else f"links from {self.links_from}"
        return f"Task({visible(self.name, LONGEST_NAME)}{fold}: {sides}; {said}: {links}{rejected})"


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
    names_source: Paths | None = None,
    names_target: Paths | None = None,
    translations: Paths | None = None,
    dictionary: Paths | None = None,
    attributes: bool = True,
    links_from: str = "given",
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
    `rejected`. A file that exceeds `limits` is refused.

    `names_source` and `names_target` are tables of ids and names, `translations` of ids and names of the source in the
    target's language, and `dictionary` one of words and their translations: all of them become labels. Without
    `attributes` literal values are not kept, though labels among them are. With `links_from="names"` no links are read
    but those that are only scored.

    `vectors_source` and `vectors_target` are files of vectors of your own for the entities; or the folder `text_model`
    holds a model that makes such of their texts, and `on_texts` is told how many of them are done, and of how many.
    """
    vectors = [None if path is None else Path(path) for path in (vectors_source, vectors_target, text_model)]
    sides = {"source": _paths(source), "target": _paths(target)}
    files = {"train": _paths(links), "valid": _paths(valid_links), "test": _paths(test_links)}
    own = {**sides, "links": files["train"]}
    names = NameFiles(*map(_paths, (names_source, names_target, translations, dictionary)))
    asked = Asked(one_to_many, seed, names, attributes, links_from)
    if folder is not None:
        if any((*own.values(), *files.values())):
            raise DataError("Give either a folder, or source, target and links; not both.")
        if reading is not None and not reading.keeps_all:
            raise DataError("A benchmark folder is read as a whole; leave the options that keep a part of it out.")
        with applied(limits):
            return _with_vectors(_load_folder(Path(folder), fold, asked), on_texts, *vectors)
    if not asked.reads_links and (files["train"] or files["valid"]):
        raise DataError("Links are given, or found by names: leave the links out, or links_from (--links-from).")
    missing = [name for name, value in own.items() if not value and (name != "links" or asked.reads_links)]
    if missing:
        way_out = " Without known links: --links-from names." if missing == ["links"] else ""
        raise DataError(f"Give a folder, or source, target and links. Missing: {', '.join(missing)}.{way_out}")
    if fold is not None:
        raise DataError("Folds belong to a benchmark folder; leave fold out for your own links.")
    with applied(limits):
        read = _load_own(sides, files, asked, Selection(reading or Reading()))
        return _with_vectors(read, on_texts, *vectors)


def _with_vectors(task: Task, on_texts: OnTexts | None, *given: Path | None) -> Task:
    *files, text_model = given
    graphs, warnings = with_vectors((task.source, task.target), files, text_model, on_texts)
    return replace(task, source=graphs[0], target=graphs[1], warnings=(*task.warnings, *_logged(warnings)))


def _paths(given: Paths | None) -> list[Path]:
    if given is None or isinstance(given, str | PathLike):
        return [] if given is None else [Path(given)]
    return [Path(path) for path in given]


def _load_folder(folder: Path, fold: int | None, asked: Asked) -> Task:
    if not folder.is_dir():
        what = "a file, where a folder is needed" if folder.exists() else "no such folder"
        raise DataError(f"{folder}: {what}. Name a folder with rel_triples_1, rel_triples_2 and ent_links.")
    where, fold = split_folder(folder, fold)
    problems = Problems(in_force().max_problems)
    all_links = read_link_table(folder / "ent_links", problems)
    source, target = folder_graphs(folder, all_links.columns, problems)
    source, target, of_names = asked.completed(source, target, problems)
    everything = find_links(all_links, "all", source, target, problems)
    files = [
        read_links(path, split, source, target, problems)
        for split in (SPLITS if asked.reads_links else ("test",))
        if split != "valid" or if_there(where / "valid_links")
        for path in [where / f"{split}_links"]
    ]
    _, more = check_links([everything], source, target, problems, one_to_many=asked.one_to_many)
    splits, warnings = _checked(files, source, target, problems, asked, valid_share=1 / 3)
    name, said = folder.resolve().name, _logged([*of_names, *more, *warnings])
    return _task(name, source, target, splits, said, asked, fold)


def _load_own(sides: dict[str, list[Path]], files: dict[str, list[Path]], asked: Asked, selection: Selection) -> Task:
    problems = Problems(in_force().max_problems)
    source, target = (read_graph(paths, problems, selection=selection) for paths in sides.values())
    source, target, of_names = asked.completed(source, target, problems, selection.reading.languages)
    read = [read_links(path, split, source, target, problems) for split in SPLITS for path in files[split]]
    splits, warnings = _checked(read, source, target, problems, asked, valid_share=0.2)
    if asked.reads_links and not len(splits["train"]):
        todo = "Learning needs links: add some, or find them by names (--links-from names)."
        problems.add(files["train"][0], None, "", "no link, only rejected pairs", todo)
        problems.raise_if_any()
    source, target = (
        replace(graph, prefixes=prefixes.joined([graph.prefixes, *(file.prefixes for file in read)]))
        for graph in (source, target)
    )
    notes = [f"{file.path}: {note}" for graph in (source, target) for file in graph.files for note in file.notes]
    name, said = "-".join(map(_name, sides.values())), _logged([*notes, *selection.warnings(), *of_names, *warnings])
    return _task(name, source, target, splits, said, asked)


def _task(
    name: str, source: Graph, target: Graph, splits: dict[str, np.ndarray], said: tuple[str, ...], asked: Asked,
    fold: int | None = None,
) -> Task:  # fmt: skip
    train, valid, test, rejected = (splits.get(split, _no_links()) for split in (*SPLITS, REJECTED))
    return Task(name, source, target, train, valid, test, fold, said, rejected, asked.links_from)


def _no_links() -> np.ndarray:
    return np.empty((0, 2), dtype=np.int64)


def _kinds(graph: Graph) -> str:
    found = graph.kind_counts()
    return f" ({', '.join(f'{n:,} {kind}' for kind, n in found.items())})" if found else ""


def _name(paths: list[Path]) -> str:
    return plain_name(paths[0]) + (f"+{len(paths) - 1}" if len(paths) > 1 else "")


def _checked(
    files: list[LinkFile], source: Graph, target: Graph, problems: Problems, asked: Asked, *, valid_share: float
) -> tuple[dict[str, np.ndarray], list[str]]:
    """The links of each split, and warnings; without validation links, a share of those to train takes their place."""
    splits, warnings = check_links(files, source, target, problems, one_to_many=asked.one_to_many)
    problems.raise_if_any()
    if "train" in splits and "valid" not in splits:
        splits["train"], splits["valid"] = split_off(splits["train"], valid_share, asked.seed)
    return splits, warnings


def _logged(warnings: list[str]) -> tuple[str, ...]:
    """What is said of the files, as text that can be shown."""
    said = tuple(visible(warning, LONGEST_WARNING) for warning in warnings)
    for warning in said:
        logger.warning("%s", warning)
    return said
