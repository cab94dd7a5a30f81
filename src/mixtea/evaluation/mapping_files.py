"""Read mappings and links, from files or memory, as pairs of ids that go the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.errors import Problems
from mixtea.evaluation.scores import ENDS
from mixtea.graph.graph import Graph
from mixtea.graph.prefixes import BUILT_IN, expand, obo_iri
from mixtea.io.formats.link_tables import LinkTable, can_have_header, drop_header_link, is_header
from mixtea.io.formats.registry import detect_format
from mixtea.io.links.read import read_given_links
from mixtea.io.links.resolve import UNKNOWN, resolve_ends, resolve_ids, unique_labels_to_ids
from mixtea.io.memory.objects import Input

OTHER = dict(zip(ENDS, reversed(ENDS), strict=True))
MAX_DIGITS = 30  # of ids that are compared as numbers


@dataclass(frozen=True, eq=False)
class PairFile:
    """Pairs of one file: `frame` has source, target and probability (NaN for none), one row per pair.

    `rejected` are the pairs that the file rejects; `turned` if it went from target to source.
    """

    path: Path
    frame: pd.DataFrame
    rejected: pd.DataFrame
    warnings: tuple[str, ...] = ()
    turned: bool = False

    def oriented(self, sources: pd.Index, targets: pd.Index, *, all_known: bool = False) -> PairFile:
        """Return the file from source to target: with all pairs turned round, or none.

        It is turned if more of its ends fit so, among ids that one side alone has. `all_known` if there are no more
        than these sources and targets; else numbers are no evidence where both sides count alike.
        """
        first, second = (set(self.frame[end]) | set(self.rejected[end]) for end in ENDS)
        own, others = set(sources) - set(targets), set(targets) - set(sources)
        turned = len(first & others) + len(second & own) > len(first & own) + len(second & others)
        if not turned or (not all_known and _count_alike(set(sources), set(targets))):
            return self
        frame, rejected = (
            _deduplicated(frame.rename(columns=OTHER)[[*frame]]) for frame in (self.frame, self.rejected)
        )
        return replace(self, frame=frame, rejected=rejected, turned=True)

    def expanded(self) -> PairFile:
        """Expand ids with common prefixes, and OBO's, to IRIs."""
        return replace(self, **{name: _in_full(getattr(self, name)) for name in ("frame", "rejected")})


def read_pairs(one: Input, problems: Problems, graphs: Sequence[Graph | None] = ()) -> PairFile:
    """Return the pairs of a file in any format that links are read in, or of an object, with their confidences.

    Their ends are written as the graphs write them, where these are known. A header whose words are not known is left
    out.
    """
    table = read_given_links(one, problems)
    known = [graph for graph in graphs if graph is not None]
    both = known if len(known) == len(ENDS) else []
    table = unique_labels_to_ids(table, *both)[0] if both else table
    if isinstance(one, Path) and len(table) and can_have_header(table, detect_format(one)):
        table = drop_header_link(table) if is_header(table.columns) or _alone_outside(table, both) else table
    whole = resolve_ids(table, known)
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in zip(ENDS, whole, strict=True)})
    frame["probability"] = np.nan if table.confidences is None else table.confidences
    rejected = np.zeros(len(frame), dtype=bool) if table.rejected is None else table.rejected
    return PairFile(table.path, _deduplicated(frame[~rejected]), _deduplicated(frame[rejected]), table.warnings)


def _alone_outside(table: LinkTable, graphs: Sequence[Graph]) -> bool:
    """Check whether the first row has no end in the graphs, and all others have both."""
    if not graphs:
        return False
    outside = resolve_ends(table, *graphs).indices == UNKNOWN
    return bool(outside[:, 0].all() and not outside[:, 1:].any())


def _in_full(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**{end: [obo_iri(expand(str(id), BUILT_IN)) for id in frame[end]] for end in ENDS})


def join_files(files: Sequence[PairFile]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs of all files, each once, and those that one of them rejects."""
    links, rejected = (pd.concat([getattr(file, name) for file in files]) for name in ("frame", "rejected"))
    return _deduplicated(links.reset_index(drop=True)), _deduplicated(rejected.reset_index(drop=True))


def _count_alike(sources: set[str], targets: set[str]) -> bool:
    """Check whether the ids of both sides are numbers of one range: equal numbers are other entities then."""
    if not all(id.isdecimal() and len(id) <= MAX_DIGITS for id in sources | targets):
        return False
    ranges = [(min(ids), max(ids)) for ids in ({*map(int, sources)}, {*map(int, targets)}) if ids]
    return len(ranges) == len(ENDS) and max(low for low, _ in ranges) <= min(high for _, high in ranges)


def _deduplicated(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep one row per pair, the surest of several."""
    best = frame.sort_values("probability", ascending=False, kind="stable")
    return frame.loc[best.drop_duplicates(ENDS).index.sort_values()] if best.duplicated(ENDS).any() else frame
