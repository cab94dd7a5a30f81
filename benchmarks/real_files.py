"""Files as people have them: what is found without links, with a fifth of the reference as links, and by simple rules.

    python benchmarks/real_files.py DATA [--sets ...] [--modes ...] [--splits 3] [--no-links-only]
        [--text-model FOLDER_OR_PACKAGE] [--json results.json]

DATA holds the sets, unpacked. Of tables `*_std.csv` are read. Every run is a process of its own, one at a time; a run
that fails shows its error in its cell. CONFERENCE6 is one cell: right, mapped and missing pairs of its six pairs of
ontologies are added up. The columns of F1:

no links      the whole mapping, scored on the whole reference
with links    a fifth of the reference is given, scored on the rest; mean of seeded splits
same rest     the run without links, scored on the same rest

Scored on the rest means: given links are left out, and of sources with a given link every pair that is not in the rest.
The references of PARTIAL hold a part of what the files describe (classes, or works alone): there a pair is judged only
where the reference has one of its ends, for floors and mappings alike, as `mixtea evaluate --partial` does.
The floors are scored on the whole reference, and the best of them on the same rest (floor, rest):

equal names   all pairs of entities that have a name in common, in small letters and without punctuation
token sort    rapidfuzz's token_sort_ratio of the names, at least .85, one-to-one, the most alike first
TF-IDF        pairs that are each other's most alike by TF-IDF of words, of all values or of the names

Names are the values of the predicates in NAMES, else what the id holds in words; of persons first and last name. The
second table has of each cell how many are mapped, how many of these are judged, precision, recall, excess calibration
error of the judged ones as in doubt.py, pairs that were sure after the first round, and CPU seconds from files to
mapping. The calibration of cells with fewer than 300 judged pairs means little: they are pooled in the last rows.
"""

from __future__ import annotations

import argparse
import html
import json
import multiprocessing
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
from common import header, row
from doubt import excess
from rapidfuzz import fuzz, process
from rapidfuzz.utils import default_process
from sklearn.feature_extraction.text import TfidfVectorizer

from mixtea import MixTEA, load_task
from mixtea.callbacks import History
from mixtea.decide.mapping import Mapping
from mixtea.graph.graph import Graph
from mixtea.io.vectors.model_folder import model_folder
from mixtea.text.names import is_vocabulary_term, local_name

SETS = (
    "ABT_BUY", "AMAZON_GOOGLE", "DBLP_ACM", "CONFERENCE6", "CMT_CONFERENCE", "MI_MATONTO", "OAEI_PERSONS", "FREIZEIT",
    "DOREMUS_FP_TRAP",
)  # fmt: skip
PARTIAL = ("FREIZEIT", "DOREMUS_FP_TRAP")
MODES: dict[str, Callable[[MixTEA], Mapping]] = {
    "default": lambda aligner: aligner.map(),
    "best_f1": lambda aligner: aligner.map(best_f1=True),
    "every": lambda aligner: aligner.map(every=True),
}
NAMES = ("label", "preflabel", "altlabel", "name", "title", "u70_has_title")  # what predicates of names end in
NAME_PARTS = ("given_name", "surname")  # predicates that make one name together
LEAST_RATIO = 85  # of token_sort_ratio, 0 to 100
GIVEN_SHARE = 5  # one in so many links is given
MIN_JUDGED = 300  # pairs of a cell that calibration is judged by
ROWS_AT_ONCE = 1000  # of a matrix of similarities
MAX_ERROR = 80  # characters of an error in a cell
WHOLE, LINKED, SAME_REST = "no links", "with links", "same rest"
_CELL = re.compile(r"<entity1 rdf:resource=[\"']([^\"']+)[\"'].*?<entity2 rdf:resource=[\"']([^\"']+)[\"']", re.DOTALL)
Pair = tuple[str, str]
Found = dict[Pair, float]  # and the probability of each
Row = dict[str, Any]


def reference(folder: Path) -> set[Pair]:
    """Return the right pairs of ids."""
    for table in (folder / "reference.tsv", folder / "links.tsv"):
        if table.exists():
            cells = [line.split("\t") for line in table.read_text(encoding="utf-8").splitlines()]
            return {(source, target) for source, target, *_ in cells}
    text = (folder / "reference.rdf").read_text(encoding="utf-8")
    return {(html.unescape(source), html.unescape(target)) for source, target in _CELL.findall(text)}


def graph_files(folder: Path) -> dict[str, Any]:
    """Find both graphs, the table with ids of its own before the one as it came."""
    return {
        side: next(iter([*folder.glob(f"{side}_std.*"), *folder.glob(f"{side}.*")])) for side in ("source", "target")
    }


def split(truth: set[Pair], seed: int) -> set[Pair]:
    """Choose a fifth of the links."""
    links = sorted(truth)
    chosen = np.random.default_rng(seed).permutation(len(links))[: round(len(links) / GIVEN_SHARE)]
    return {links[place] for place in chosen}


def aligned(folder: Path, modes: Sequence[str], model: Path | None, links: set[Pair]) -> Row:
    """Run mixtea on two files: the pairs that each mode maps, or the error that it raises."""
    began, history = time.process_time(), History()
    given: Row = {"links": sorted(links)} if links else {"links_from": "names"}
    task = load_task(**graph_files(folder), text_model=model, **given)
    aligner = MixTEA().fit(task, callbacks=history)
    found: dict[str, Found | str] = {}
    for mode in modes:
        try:
            pairs = MODES[mode](aligner).pairs()
            found[mode] = {(s, t): p for s, t, p in pairs[["source", "target", "probability"]].to_numpy().tolist()}
        except Exception as error:  # the other modes are shown
            found[mode] = brief(error)
    sure = history.rounds[0][1] if history.rounds else 0
    return {"found": found, "sure": sure, "seconds": time.process_time() - began}


class Side:
    """The texts of one graph: of each entity that can be mapped its names, and all its values as one text."""

    def __init__(self, graph: Graph) -> None:
        self.ids, self.names, self.values = [], [], []
        for index, one in enumerate(map(str, graph.ids)):
            if is_vocabulary_term(one):
                continue
            said = [(re.split("[#/:]", predicate)[-1].lower(), value)
                    for predicate, value, *_ in graph.attributes_of(index)]  # fmt: skip
            parts = [value for wanted in NAME_PARTS for predicate, value in said if predicate == wanted]
            names = [" ".join(parts)] if parts else [value for predicate, value in said if predicate in NAMES]
            by_id = local_name(one)
            self.ids.append(one)
            self.names.append(list(dict.fromkeys(" ".join(default_process(n).split()) for n in names or [by_id])))
            self.values.append(" ".join([by_id, *(value for _, value in said)]))

    def named(self) -> Iterator[tuple[int, str]]:
        return ((place, name) for place, names in enumerate(self.names) for name in names if name)


def equal_names(source: Side, target: Side) -> Iterable[tuple[int, int]]:
    owners: dict[str, list[int]] = {}
    for place, name in target.named():
        owners.setdefault(name, []).append(place)
    return {(place, other) for place, name in source.named() for other in owners.get(name, ())}


def token_sort(source: Side, target: Side) -> Iterable[tuple[int, int]]:
    ours, theirs = list(source.named()), list(target.named())
    alike = []
    for start in range(0, len(ours), ROWS_AT_ONCE):
        texts = [name for _, name in ours[start : start + ROWS_AT_ONCE]]
        ratio = process.cdist(
            texts, [name for _, name in theirs], scorer=fuzz.token_sort_ratio, score_cutoff=LEAST_RATIO
        )
        alike += [(-ratio[i, j], ours[start + i][0], theirs[j][0]) for i, j in np.argwhere(ratio > 0).tolist()]
    taken: tuple[set[int], set[int]] = (set(), set())
    for _, place, other in sorted(alike):
        if place not in taken[0] and other not in taken[1]:
            taken[0].add(place)
            taken[1].add(other)
            yield place, other


def mutual_best(source: Sequence[str], target: Sequence[str]) -> Iterable[tuple[int, int]]:
    model = TfidfVectorizer(token_pattern=r"\w+").fit([*source, *target])
    ours, theirs = model.transform(source), model.transform(target).T.tocsc()
    best, likeness = np.full(len(target), -1), np.zeros(len(target))
    forward: list[int] = []
    for start in range(0, len(source), ROWS_AT_ONCE):
        block = (ours[start : start + ROWS_AT_ONCE] @ theirs).toarray()
        forward += block.argmax(axis=1).tolist()
        better = block.max(axis=0) > likeness
        best[better], likeness[better] = start + block.argmax(axis=0)[better], block.max(axis=0)[better]
    return [(place, other) for place, other in enumerate(forward) if best[other] == place]


FLOORS: dict[str, Callable[[Side, Side], Iterable[tuple[int, int]]]] = {
    "equal names": equal_names,
    "token sort": token_sort,
    "TF-IDF of values": lambda source, target: mutual_best(source.values, target.values),
    "TF-IDF of names": lambda source, target: mutual_best(
        [" ".join(names) for names in source.names], [" ".join(names) for names in target.names]
    ),
}


def floors(folder: Path) -> Row:
    """Find what simple rules find in the same files."""
    task = load_task(**graph_files(folder), links_from="names")
    source, target = Side(task.source), Side(task.target)
    found = {
        name: {(source.ids[place], target.ids[other]): 1.0 for place, other in rule(source, target)}
        for name, rule in FLOORS.items()
    }
    return {"found": found}


def brief(error: BaseException) -> str:
    """Shorten an error to one line for a cell, without folders."""
    text = re.sub(r"/\S*/", "", f"{type(error).__name__}: {error}")
    return " ".join(text.split()).replace("|", "/")[:MAX_ERROR]


def attempted(work: Callable[..., Row], *job: Any) -> Row | str:
    """Return what the work returns, or its error as a text: not every error survives the way between processes."""
    try:
        return work(*job)
    except Exception as error:  # whatever it is, the table goes on
        traceback.print_exc()
        return brief(error)


def in_processes(work: Callable[..., Row], jobs: Sequence[tuple[Any, ...]]) -> list[Row] | str:
    """Return what each job returns, one after the other in processes of their own; or the error of one."""
    done = []
    for job in jobs:
        began = time.perf_counter()
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            try:
                found = pool.submit(attempted, work, *job).result()
            except BrokenProcessPool as error:
                found = brief(error)
        how = found if isinstance(found, str) else f"{time.perf_counter() - began:.0f} s"
        print(f"{work.__name__} {job[0].name}: {how}", file=sys.stderr, flush=True)
        if isinstance(found, str):
            return found
        done.append(found)
    return done


def beyond_chance(probability: Sequence[float], right: Sequence[bool]) -> float:
    """Return the excess calibration error, 0 where nothing is judged."""
    return excess(np.array(probability), np.array(right)) if len(right) else 0.0


def scored(
    runs: list[Row] | str, method: str, truths: Sequence[set[Pair]], givens: Sequence[set[Pair]], is_partial: bool
) -> Row:
    """Compute the figures of one cell: what a method found in all parts of a set, scored on links not given."""
    if isinstance(runs, str):
        return {"error": runs}
    wrong = [run["found"][method] for run in runs if isinstance(run["found"][method], str)]
    if wrong:
        return {"error": wrong[0]}
    judged: list[tuple[Pair, float, bool]] = []
    n_rest = 0
    for run, truth, given in zip(runs, truths, givens, strict=True):
        rest, sources = truth - given, {source for source, _ in given}
        n_rest += len(rest)
        known = [{link[side] for link in truth} for side in (0, 1)]
        for pair, p in run["found"][method].items():
            is_known = not is_partial or pair[0] in known[0] or pair[1] in known[1]
            if pair in rest or (is_known and pair[0] not in sources):
                judged.append((pair, p, pair in rest))
    probability, right = [p for _, p, _ in judged], [is_right for *_, is_right in judged]
    n = sum(right)
    return {
        "mapped": sum(len(run["found"][method]) for run in runs), "judged": len(right),
        "f1": 2 * n / max(len(right) + n_rest, 1), "precision": n / max(len(right), 1), "recall": n / max(n_rest, 1),
        "excess": beyond_chance(probability, right),
        "sure": sum(run.get("sure", 0) for run in runs), "seconds": sum(run.get("seconds", 0.0) for run in runs),
        "pairs": [pair for pair, *_ in judged], "probability": probability, "right": right,
    }  # fmt: skip


def measured(data: Path, name: str, modes: Sequence[str], n_splits: int, model: Path | None) -> Iterator[Row]:
    """Run everything for one set: a row per method, kind of run and split."""
    parts = sorted(path.parent for path in (data / name).rglob("source.*"))
    truths = [reference(part) for part in parts]
    nothing: list[set[Pair]] = [set() for _ in parts]
    simple = in_processes(floors, [(part,) for part in parts])
    whole = in_processes(aligned, [(part, modes, model, set()) for part in parts])

    def cells(
        kind: str, runs: list[Row] | str, methods: Iterable[str], givens: list[set[Pair]], k: int
    ) -> Iterator[Row]:
        for method in methods:
            about = {"set": name, "links": sum(map(len, truths)), "method": method, "kind": kind, "split": k}
            yield about | scored(runs, method, truths, givens, name in PARTIAL)

    yield from cells(WHOLE, simple, FLOORS, nothing, 0)
    yield from cells(WHOLE, whole, modes, nothing, 0)
    for k in range(n_splits):
        givens = [split(truth, k) for truth in truths]
        jobs = [(part, modes, model, given) for part, given in zip(parts, givens, strict=True)]
        yield from cells(LINKED, in_processes(aligned, jobs), modes, givens, k)
        yield from cells(SAME_REST, whole, modes, givens, k)
        yield from cells(SAME_REST, simple, FLOORS, givens, k)


def mean(rows: Sequence[Row], what: str, form: str = ".3f") -> str:
    """Format the mean of a figure over the splits, or the first error."""
    errors = [one["error"] for one in rows if "error" in one]
    return errors[0] if errors else format(np.mean([one[what] for one in rows]), form) if rows else "-"


def table(rows: Sequence[Row], modes: Sequence[str]) -> None:
    """Print F1 of every set and mode, beside the floors."""
    header("set", "links", "mode", WHOLE, LINKED, SAME_REST, *FLOORS, "floor, rest")
    for name in dict.fromkeys(one["set"] for one in rows):
        for mode in modes:
            ours = [mean(chosen(rows, name, mode, kind), "f1") for kind in (WHOLE, LINKED, SAME_REST)]
            simple = [mean(chosen(rows, name, floor, WHOLE), "f1") for floor in FLOORS]
            on_rest = max(mean(chosen(rows, name, floor, SAME_REST), "f1") for floor in FLOORS)
            row([name, next(one["links"] for one in rows if one["set"] == name), mode, *ours, *simple, on_rest])


def details(rows: Sequence[Row], modes: Sequence[str]) -> None:
    """Print of every cell what F1 is made of, and promised against found; the small ones once more together."""
    header("set", "mode", "run", "mapped", "judged", "precision", "recall", "excess", "sure at first", "CPU s")
    forms = {"mapped": ".0f", "judged": ".0f", "precision": ".3f", "recall": ".3f", "excess": ".3f", "sure": ".0f"}
    small: dict[tuple[str, str], list[Row]] = {}
    for name in dict.fromkeys(one["set"] for one in rows):
        for mode in modes:
            for kind in (WHOLE, LINKED, SAME_REST):
                cell = [one for one in chosen(rows, name, mode, kind) if "error" not in one]
                if cell:
                    figures = {what: mean(cell, what, form) for what, form in forms.items()}
                    if float(figures["judged"]) < MIN_JUDGED:
                        small.setdefault((mode, kind), []).extend(cell)
                        figures["excess"] = f"({figures['excess']})"
                    row([name, mode, kind, *figures.values(), mean(cell, "seconds", ".0f")])
    for (mode, kind), cells in small.items():
        names = dict.fromkeys(one["set"] for one in cells)
        by_split = [[one for one in cells if one["split"] == k] for k in sorted({one["split"] for one in cells})]
        pools = [
            [[value for one in pool for value in one[what]] for what in ("probability", "right")] for pool in by_split
        ]
        n = np.mean([len(right) for _, right in pools])
        error = np.mean([beyond_chance(*pool) for pool in pools])
        row([f"pooled: {', '.join(names)}", mode, kind, "", f"{n:.0f}", "", "", f"{error:.3f}", "", ""])


def chosen(rows: Sequence[Row], name: str, method: str, kind: str) -> list[Row]:
    return [one for one in rows if (one["set"], one["method"], one["kind"]) == (name, method, kind)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--modes", nargs="*", default=list(MODES), choices=MODES)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--no-links-only", action="store_true")
    parser.add_argument("--text-model", type=Path, metavar="FOLDER_OR_PACKAGE")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    model = model_folder(args.text_model) if args.text_model else None
    rows: list[Row] = []
    for name in args.sets:
        rows += measured(args.data, name, args.modes, 0 if args.no_links_only else args.splits, model)
        if args.json:
            args.json.write_text(json.dumps(rows), encoding="utf-8")
    print(f"Text model: {args.text_model or 'none'}\n")
    table(rows, args.modes)
    print()
    details(rows, args.modes)


if __name__ == "__main__":
    main()
