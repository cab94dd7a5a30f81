"""Score any mapping by links: precision, recall and F1. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from mixtea.compute.intervals import interval
from mixtea.errors import ConfigError, DataError, Problems, shorten
from mixtea.evaluation.mapping_files import OTHER, PairFile, join_files, read_pairs
from mixtea.evaluation.representativeness import members_by_type
from mixtea.evaluation.scores import ENDS, are_links, judged_rows, precision_recall_f1
from mixtea.graph.graph import Graph
from mixtea.io.load_graph import read_graph
from mixtea.io.memory.objects import FRAME, InMemory, Input, parse_inputs
from mixtea.io.safe.limits import Limits, current_limits, use_limits
from mixtea.io.safe.sandboxed.table_child import find_header
from mixtea.io.table_layout import LINK_HEADERS, use_separator

UNTYPED = "no type"
THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of a mapping by known links, `complete` if these are all there are.

    `scores` has precision, recall and f1, how many pairs are `mapped`, `judged` and `right`, of how many `links`, and
    the 95 % `interval` of precision and recall. `by_type` has the same for each type of entity, `thresholds` where
    pairs below a confidence are left out. `unknown` counts ends that the reference does not have, and that the graphs
    do not have. `said` are sentences about the files.
    """

    scores: Row
    complete: bool
    threshold: float = 0.0
    by_type: list[Row] = field(default_factory=list)
    thresholds: list[Row] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)
    said: tuple[str, ...] = ()

    def to_dict(self) -> Row:
        own = {name: getattr(self, name) for name in ("complete", "threshold", "unknown", "by_type", "thresholds")}
        return self.scores | own | {"said": list(self.said)}


def evaluate(
    mapping: Any,
    reference: Any,
    *,
    partial: bool = False,
    threshold: float = 0.0,
    source: Any = None,
    target: Any = None,
    limits: Limits | None = None,
    separator: str | None = None,
) -> Evaluation:
    """Score a mapping by known links: precision, recall and F1, as `mixtea evaluate` does.

    Parameters
    ----------
    mapping
        What `MixTEA.map()` returns, whose given links are left out; a file in any format that links are read in; or
        a data frame with the columns source and target, rows, an array or a dictionary. A column `probability`,
        `confidence`, `measure`, `similarity` or `score`, or a third field of a row, is the confidence of a pair.
    reference
        The links: a file or an object likewise, or a list of such.
    partial
        The links are not all there are: only pairs are judged that have an end in them, or that they reject. Else
        every other pair is wrong.
    threshold
        Pairs of less confidence are left out.
    source, target
        The graphs, as in `load_task`, or those of a task: for scores by the type of the entities, for ids with
        prefixes, and for labels in place of ids.
    limits
        Limits on input files, `Limits`.
    separator
        What separates the columns of tables of text, as in `load_task`.

    Returns
    -------
    Evaluation
        The scores, by type and by threshold, and sentences about the files. A mapping or a reference that
        goes from target to source is turned round as a whole, and that is among `said`.

    Raises
    ------
    DataError
        Something cannot be read as it is, no reference is given, or the mapping has no end in common with it.
    ConfigError
        There is a threshold, and the mapping has no confidences.

    Examples
    --------
    >>> import pandas as pd
    >>> from mixtea import evaluate
    >>> mapping = pd.DataFrame({"source": ["a", "b"], "target": ["A", "C"], "probability": [0.9, 0.6]})
    >>> found = evaluate(mapping, [("a", "A"), ("b", "B")])
    >>> found.scores["precision"], found.scores["recall"], found.scores["f1"]
    (0.5, 0.5, 0.5)
    """
    one, said = _mapping_of(mapping)
    references = parse_inputs(list(reference.items()) if isinstance(reference, Mapping) else reference, "reference")
    with use_limits(limits), use_separator(separator):
        problems = Problems(current_limits().max_problems)
        graphs = [_graph_of(value, name, problems) for value, name in ((source, "source"), (target, "target"))]
        found, *truths = (read_pairs(part, problems, graphs) for part in (one, *references))
    problems.raise_if_any()
    if not truths:
        raise DataError("A mapping is judged by links that are known: name a file of them (--reference).")
    full, *others = (file.expanded() for file in (found, *truths))
    if not _overlap(found, truths) and _overlap(full, others):
        found, truths = full, others
    found, truths = _oriented(found, truths, graphs)
    links, rejected = join_files(truths)
    _check_overlap(found, links)
    kept, sure = _confident(found, threshold)
    judge = _Judge(links, rejected, complete=not partial)
    said = (*said, *_sentences([found, *truths]), *sure)
    typed, levels = _by_type(judge, kept, links, graphs), _thresholds(judge, kept)
    return Evaluation(judge(kept), not partial, threshold, typed, levels, _unknown(kept, links, graphs), said)


def _mapping_of(mapping: Any) -> tuple[Input, tuple[str, ...]]:
    """Return the file or object with the pairs, and a sentence on rows without a target, which are left out."""
    if hasattr(mapping, "predicted") and hasattr(mapping, "pairs"):
        mapping = mapping.predicted().pairs()
    found = parse_inputs(list(mapping.items()) if isinstance(mapping, Mapping) else mapping, "mapping")
    if len(found) != 1:
        raise DataError(f"A mapping is one file or object with pairs of source and target, not {len(found):,}.")
    one = found[0]
    if not isinstance(one, InMemory) or one.kind != FRAME or one.thing.shape[1] < len(ENDS):
        return one, ()
    places = find_header([str(name) for name in one.thing.columns], LINK_HEADERS) or [0, 1]
    there = one.thing.iloc[:, places].notna().all(axis=1).to_numpy()
    n = int((~there).sum())
    said = (f"{one.path}: {n:,} of {len(there):,} rows without a source or a target are left out",) if n else ()
    return replace(one, thing=one.thing[there]), said


def _graph_of(value: Any, name: str, problems: Problems) -> Graph | None:
    """Return the graph that was given as the argument `name`; None if none was."""
    if value is None or isinstance(value, Graph):
        return value
    found = parse_inputs(value, name)
    return read_graph(found, problems) if found else None


@dataclass(frozen=True, eq=False)
class _Judge:
    """Scorer of the pairs of a mapping by links."""

    links: pd.DataFrame
    rejected: pd.DataFrame
    complete: bool

    def __call__(self, mapped: pd.DataFrame, links: pd.DataFrame | None = None) -> Row:
        """Score some of the pairs, over some of the links."""
        links = self.links if links is None else links
        judged = mapped
        if not self.complete:
            linked = judged_rows(mapped, self.links, complete=False, ends=ENDS)
            judged = mapped[mapped.index.isin(linked.index) | are_links(mapped, self.rejected)]
        right = int((are_links(judged, self.links) & ~are_links(judged, self.rejected)).sum())
        found: Row = precision_recall_f1(right, len(judged), len(links))
        counts = {"mapped": len(mapped), "judged": len(judged), "right": right, "links": len(links)}
        behind = {"precision": len(judged), "recall": len(links)}
        return found | counts | {"interval": {name: interval(found[name], n) for name, n in behind.items()}}


def _oriented(found: PairFile, truths: list[PairFile], graphs: list[Graph | None]) -> tuple[PairFile, list[PairFile]]:
    """Turn all files from source to target: of the graphs if both are there, else of the first reference."""
    source, target = graphs
    if source is not None and target is not None:
        known = tuple(pd.Index(graph.ids, dtype=object) for graph in (source, target))
        return found.oriented(*known, all_known=True), [truth.oriented(*known, all_known=True) for truth in truths]
    found = found.oriented(*(truths[0].frame[end] for end in ENDS))
    return found, [truths[0], *(truth.oriented(*(found.frame[end] for end in ENDS)) for truth in truths[1:])]


def _overlap(found: PairFile, truths: list[PairFile]) -> bool:
    """Check whether an end of the mapping is in a reference, either way round."""
    known = set().union(*(truth.frame[end] for truth in truths for end in ENDS))
    return any(found.frame[end].isin(known).any() for end in ENDS)


def _check_overlap(found: PairFile, links: pd.DataFrame) -> None:
    if any(found.frame[end].isin(links[end]).any() for end in ENDS):
        return
    here, there = (f"{shorten(str(one['source'].iloc[0]))}" if len(one) else "nothing" for one in (found.frame, links))
    swapped = any(found.frame[end].isin(links[OTHER[end]]).any() for end in ENDS)
    todo = "If it goes from target to source, exchange its columns. " if swapped else ""
    raise DataError(
        f"{found.path}: none of its {len(found.frame):,} pairs has an end in the reference. It begins with {here}, the "
        f"reference with {there}. {todo}Name links of the same two graphs, and what prefixes mean by --source and "
        "--target. A mapping is without the links that were learned from: judge it by others, or export --with-given."
    )


def _confident(found: PairFile, threshold: float) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the pairs of at least this confidence, and a sentence on those without any."""
    if not threshold:
        return found.frame, ()
    no_confidence = found.frame["probability"].isna()
    if no_confidence.all():
        raise ConfigError(f"{found.path}: no confidence is in it, so none can be asked for. Leave --threshold out.")
    said = (
        (f"{found.path}: {int(no_confidence.sum()):,} pairs without a confidence are kept",)
        if no_confidence.any()
        else ()
    )
    return found.frame[no_confidence | (found.frame["probability"] >= threshold)], said


def _by_type(judge: _Judge, mapped: pd.DataFrame, links: pd.DataFrame, graphs: list[Graph | None]) -> list[Row]:
    """Score the pairs and links of each rdf:type, by their sources; most links first.

    Where only the target graph is known, by their targets. An entity with several types counts for each.
    """
    for end, graph in zip(ENDS, graphs, strict=True):
        if graph is not None:
            groups = members_by_type(graph)
            others = {*mapped[end], *links[end]}.difference(*groups.values())
            groups |= {UNTYPED: others} if others else {}
            parts = ((name, mapped[mapped[end].isin(ids)], links[links[end].isin(ids)]) for name, ids in groups.items())
            rows = [{"type": name} | judge(some, known) for name, some, known in parts if len(some) or len(known)]
            return sorted(rows, key=lambda row: (-row["links"], -row["mapped"], row["type"]))
    return []


def _thresholds(judge: _Judge, kept: pd.DataFrame) -> list[Row]:
    """Score at several thresholds, those alone at which something changes."""
    probability = kept["probability"].fillna(1.0)
    if kept["probability"].isna().all():
        return []
    rows: list[Row] = []
    for level in (float(probability.min()), *(one for one in THRESHOLDS if one > probability.min())):
        above = kept[probability >= level]
        if len(above) and (not rows or len(above) < rows[-1]["mapped"]):
            rows.append({"threshold": level} | judge(above))
    return rows


def _unknown(kept: pd.DataFrame, links: pd.DataFrame, graphs: list[Graph | None]) -> dict[str, int]:
    """Count the different ends of the mapping that the reference lacks, and of both that the graphs lack."""
    found = {}
    for end, graph in zip(ENDS, graphs, strict=True):
        ends = {"mapping": set(kept[end]), "reference": set(links[end])}
        found[f"{end}s_not_in_reference"] = len(ends["mapping"] - ends["reference"])
        if graph is not None:
            known = set(graph.ids)
            found |= {f"{of}_{end}s_not_in_graph": len(some - known) for of, some in ends.items()}
    return found


def _sentences(files: list[PairFile]) -> list[str]:
    said = [*dict.fromkeys(warning for file in files for warning in file.warnings)]
    return said + [
        f"{file.path}: goes from target to source, so all {len(file.frame):,} pairs are turned round"
        for file in files
        if file.turned
    ]
