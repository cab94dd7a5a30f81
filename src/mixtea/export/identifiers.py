"""The IRIs of entities: labels that are IRIs stay as they are, plain labels get one in the mapping set's namespace."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pandas as pd
from pyoxigraph import NamedNode

from mixtea.data.graph import Graph
from mixtea.data.id_iris import SIDES, decode_label, encode_label
from mixtea.errors import ConfigError
from mixtea.export.about import About, is_iri
from mixtea.export.refusal import HALF, half_character, holds, refuse
from mixtea.match.mapping import Mapping
from mixtea.text import visible

logger = logging.getLogger(__name__)

_MEANT_AS_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|urn:.")
_NOT_IN_IRI = re.compile('[\x00-\x20<>"{}|\\\\^`\x7f-\x9f\ufff0-\uffff]')


def is_blank(label: str) -> bool:
    """Whether the label is that of a blank node, which has a name inside its own file only."""
    return label.startswith("_:") and len(label) > 2


def _is_absolute(label: str) -> bool:
    return not label.endswith(":") and is_iri(label)


class Naming:
    """The IRIs of one side's entities; `problems` gathers the labels that have none.

    A label with `scheme://` or `urn:` in front is meant as an IRI. In a graph whose labels are all absolute IRIs, as
    in any RDF graph, all of them are. The others are plain text.
    """

    def __init__(self, graph: Graph, side: str, set_id: str) -> None:
        self.side, self.set_id = side, set_id
        self.only_iris = all(is_blank(label) or _is_absolute(label) for label in graph.ids)
        self.problems: dict[str, str] = {}

    def __call__(self, label: str | None) -> str | None:
        """The IRI of an entity; None for none, for a blank node, and where there is a problem."""
        if label is None or is_blank(label):
            return None
        what = self._problem(label)
        if what:
            self.problems[label] = what
            return None
        if decode_label(label) is None and (_MEANT_AS_IRI.match(label) or (self.only_iris and _is_absolute(label))):
            return label
        return encode_label(label, self.set_id, self.side)

    def _problem(self, label: str) -> str:
        half = HALF.search(label)
        if half:
            return half_character(half[0])
        if not label:
            return "has no label, so it has no identifier. .parquet can take it, or give it a label."
        if not _MEANT_AS_IRI.match(label):
            return ""
        bad = _NOT_IN_IRI.search(label)
        if bad:
            return holds(bad[0], "which an IRI must not hold")
        try:
            NamedNode(label)
        except ValueError as error:
            return f"is not a valid IRI ({error}). .parquet can take it, or mend the label."
        return ""


def text_of(column: pd.Series) -> list[str | None]:
    """The labels of a column, None where there is none."""
    return [value if isinstance(value, str) else None for value in column.tolist()]


def rows_of(mapping: Mapping, about: About) -> pd.DataFrame:
    """The rows to write: mappings, and source entities without a counterpart where these are wanted."""
    return mapping.to_frame().reset_index(drop=True) if about.with_unmapped else mapping.pairs()


def only_pairs(mapping: Mapping, path: Path, about: About) -> pd.DataFrame:
    """The mappings, for formats that cannot say that there is none."""
    if about.with_unmapped:
        raise ConfigError(
            f"{path}: this format cannot say that an entity has no counterpart. "
            "Choose .sssom.tsv or .parquet, or leave these entities out."
        )
    return mapping.pairs()


def with_iris(rows: pd.DataFrame, mapping: Mapping, path: Path, about: About) -> pd.DataFrame:
    """The rows with the columns source_iri, target_iri and runner_up_iri.

    Blank nodes cannot be named in another file: their rows are left out, and the log says how many.
    """
    source, target = (Naming(getattr(mapping, side), side, about.set_id) for side in SIDES)
    labels = {name: text_of(rows[name]) for name in ("source", "target", "runner_up")}
    iris = {
        f"{name}_iri": pd.Series([naming(label) for label in labels[name]], index=rows.index, dtype=object)
        for name, naming in (("source", source), ("target", target), ("runner_up", target))
    }
    refuse(path, source.problems | target.problems)
    ends = zip(labels["source"], labels["target"], strict=True)
    blank = pd.Series([any(is_blank(e) for e in pair if e) for pair in ends], index=rows.index, dtype=bool)
    if blank.any():
        logger.warning(
            "%s: %s of %s rows left out, for blank nodes have no name outside their file; .tsv and .parquet keep them",
            visible(path), f"{int(blank.sum()):,}", f"{len(rows):,}",
        )  # fmt: skip
    return rows.assign(**iris)[~blank]
