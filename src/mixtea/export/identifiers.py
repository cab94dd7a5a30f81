"""IRIs of entities: ids that are IRIs are kept, plain ids get one in a namespace of the mapping set."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from pyoxigraph import NamedNode

from mixtea.decide.mapping import Mapping
from mixtea.export.curies import LOOKS_LIKE_IRI, is_iri
from mixtea.export.metadata import MappingMetadata
from mixtea.export.quoting import character_problem, raise_unsupported, surrogate_problem
from mixtea.graph.graph import Graph
from mixtea.graph.iris import SIDES, decode_id, encode_in
from mixtea.messages import HALF_CHARACTER, visible

logger = logging.getLogger(__name__)

MAX_ID_CHARS_SHOWN = 60  # characters of an id
_NOT_IN_IRI = re.compile('[\x00-\x20<>"{}|\\\\^`\x7f-\x9f\ufff0-\uffff]')


def is_blank(name: str) -> bool:
    """Return whether the id is that of a blank node, which has a name inside its own file only."""
    return name.startswith("_:") and len(name) > 2


def _is_absolute(name: str) -> bool:
    return not name.endswith(":") and is_iri(name)


class IriAssigner:
    """IRIs of one side's entities, relations or predicates; `problems` collects the ids that cannot get one.

    An id with `scheme://` or `urn:` in front is an IRI. Where all ids are absolute IRIs, as in any RDF graph, all of
    them are. The others are plain text and get IRIs in the user's namespace for the side, else in one of the mapping
    set.
    """

    def __init__(self, ids: Iterable[str], side: str, metadata: MappingMetadata) -> None:
        self.namespace, self.is_given = metadata.namespace(side).iri, bool(metadata.given_namespace(side))
        self.only_iris = all(is_blank(name) or _is_absolute(name) for name in ids)
        self.problems: dict[str, str] = {}

    def __call__(self, name: str | None) -> str | None:
        """Return the IRI of an entity; None for None, for a blank node, and where there is a problem."""
        if name is None or is_blank(name):
            return None
        what = self._problem(name)
        if what:
            self.problems[name] = what
            return None
        if decode_id(name) is None and (LOOKS_LIKE_IRI.match(name) or (self.only_iris and _is_absolute(name))):
            return name
        return encode_in(name, self.namespace)

    def _problem(self, name: str) -> str:
        half = HALF_CHARACTER.search(name)
        if half:
            return surrogate_problem(half[0])
        if not name:
            return "has an empty id, which no IRI can hold. .parquet can take it, or give it another id."
        if not LOOKS_LIKE_IRI.match(name):
            return ""
        bad = _NOT_IN_IRI.search(name)
        if bad:
            return character_problem(bad[0], "which an IRI must not hold")
        try:
            NamedNode(name)
        except ValueError as error:
            return f"is not a valid IRI ({error}). .parquet can take it, or mend the id."
        if self.is_given and not self.only_iris and name.startswith(self.namespace):
            return f"is an IRI in {self.namespace:.200}, the namespace for ids that are none. Give them another."
        return ""


def optional_texts(column: pd.Series) -> list[str | None]:
    """Return the texts of a column, None for missing values."""
    return [value if isinstance(value, str) else None for value in column.tolist()]


def labels_of(ids: list[str | None], graph: Graph) -> list[str | None]:
    """Return the display label of each entity, None if it has none."""
    places = graph.find(np.array([*ids, None], dtype=object)[:-1]).tolist()
    return [graph.label(place) if place >= 0 else None for place in places]


def rows_to_write(mapping: Mapping, metadata: MappingMetadata) -> pd.DataFrame:
    """Return the mappings, with sources without a target if the metadata asks for them."""
    return mapping.to_frame().reset_index(drop=True) if metadata.with_unmapped else mapping.pairs()


def add_iris(rows: pd.DataFrame, mapping: Mapping, path: Path, metadata: MappingMetadata) -> pd.DataFrame:
    """Add the columns source_iri, target_iri and runner_up_iri; drop rows of blank nodes."""
    source, target = (IriAssigner(getattr(mapping, side).ids, side, metadata) for side in SIDES)
    ids = {name: optional_texts(rows[name]) for name in ("source", "target", "runner_up")}
    iris = {
        f"{name}_iri": pd.Series([naming(one) for one in ids[name]], index=rows.index, dtype=object)
        for name, naming in (("source", source), ("target", target), ("runner_up", target))
    }
    raise_unsupported(path, source.problems | target.problems)
    return drop_blank_nodes(rows.assign(**iris), path)


def ids_without_namespace(mapping: Mapping, metadata: MappingMetadata) -> dict[str, str]:
    """Return for each side without a given namespace one written id that needs one."""
    sides = [side for side in SIDES if not metadata.given_namespace(side)]
    rows, found = rows_to_write(mapping, metadata), {}
    for side in sides:
        naming = IriAssigner(getattr(mapping, side).ids, side, metadata)
        found[side] = next((id for id in optional_texts(rows[side]) if naming(id) not in (None, id)), None)
    return {side: id for side, id in found.items() if id is not None}


def missing_namespace_note(plain: dict[str, str]) -> str:
    """Explain that ids are in a generated namespace, and how to give one.

    >>> missing_namespace_note({"source": "534"})
    'the namespace of source:534 is made up for this file: give yours with --source-namespace URL'
    """
    such = " and ".join(f"{side}:{encode_in(id, '')[:MAX_ID_CHARS_SHOWN]}" for side, id in plain.items())
    options = " and ".join(f"--{side}-namespace URL" for side in plain)
    return f"the namespace of {such} is made up for this file: give yours with {options}"


def drop_blank_nodes(rows: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Drop rows of blank nodes, which have no name in another file; log how many."""
    ends = zip(optional_texts(rows["source"]), optional_texts(rows["target"]), strict=True)
    blank = pd.Series([any(is_blank(e) for e in pair if e) for pair in ends], index=rows.index, dtype=bool)
    if blank.any():
        logger.warning(
            "%s: %s of %s rows left out, for blank nodes have no name outside their file; .tsv and .parquet keep them",
            visible(path), f"{int(blank.sum()):,}", f"{len(rows):,}",
        )  # fmt: skip
    return rows[~blank]
