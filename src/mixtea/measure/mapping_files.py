"""Files of mappings or of links, from anyone, as pairs of ids that go the same way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from mixtea.data.graph import Graph
from mixtea.data.link_ends import ids_in
from mixtea.data.links import read_link_table
from mixtea.data.lookup import by_labels
from mixtea.data.prefixes import BUILT_IN, expand, obo_iri
from mixtea.errors import Problems
from mixtea.measure.mapping_scores import ENDS


@dataclass(frozen=True, eq=False)
class PairFile:
    """`frame` has source, target and probability (NaN where none is said), a row a pair.

    `rejected` are the pairs of which the file says that they are not the same; `turned` counts the rows that stood the
    other way round.
    """

    path: Path
    frame: pd.DataFrame
    rejected: pd.DataFrame
    warnings: tuple[str, ...] = ()
    turned: int = 0

    def facing(self, sources: pd.Index, targets: pd.Index) -> PairFile:
        """The same with each pair the way in which more of its ends are known; who cannot tell goes with most."""
        frame, turned = _facing(self.frame, sources, targets)
        rejected, _ = _facing(self.rejected, sources, targets)
        return replace(self, frame=_once(frame), rejected=_once(rejected), turned=turned)

    def in_full(self) -> PairFile:
        """The same with IRIs in place of ids with common prefixes, and of OBO's."""
        return replace(self, **{name: _in_full(getattr(self, name)) for name in ("frame", "rejected")})


def read_pairs(path: Path, problems: Problems, graphs: Sequence[Graph | None] = ()) -> PairFile:
    """The pairs of a file in any format that links are read in, with how sure it is of each.

    Their ends are written as the graphs write them, where these are known.
    """
    table = read_link_table(path, problems)
    known = [graph for graph in graphs if graph is not None]
    whole = ids_in(by_labels(table, *known)[0] if len(known) == len(ENDS) else table, known)
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in zip(ENDS, whole, strict=True)})
    frame["probability"] = np.nan if table.measures is None else table.measures
    rejected = np.zeros(len(frame), dtype=bool) if table.rejected is None else table.rejected
    return PairFile(path, _once(frame[~rejected]), _once(frame[rejected]), table.warnings)


def _in_full(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**{end: [obo_iri(expand(str(id), BUILT_IN)) for id in frame[end]] for end in ENDS})


def joined(files: Sequence[PairFile]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The pairs of all files, each once, and those that one of them rejects."""
    links, rejected = (pd.concat([getattr(file, name) for file in files]) for name in ("frame", "rejected"))
    return _once(links.reset_index(drop=True)), _once(rejected.reset_index(drop=True))


def _facing(frame: pd.DataFrame, sources: pd.Index, targets: pd.Index) -> tuple[pd.DataFrame, int]:
    first, second = (frame[end] for end in ENDS)
    straight = first.isin(sources).to_numpy(int) + second.isin(targets).to_numpy(int)
    back = first.isin(targets).to_numpy(int) + second.isin(sources).to_numpy(int)
    turned = np.where(back == straight, back.sum() > straight.sum(), back > straight)
    source, target = np.where(turned, second, first), np.where(turned, first, second)
    return frame.assign(source=source, target=target), int(turned.sum())


def _once(frame: pd.DataFrame) -> pd.DataFrame:
    """A row a pair, the surest of several."""
    best = frame.sort_values("probability", ascending=False, kind="stable")
    return frame.loc[best.drop_duplicates(ENDS).index.sort_values()] if best.duplicated(ENDS).any() else frame
