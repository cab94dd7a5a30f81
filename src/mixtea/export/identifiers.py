"""The IRIs of entities: ids that are IRIs stay as they are, plain ids get one in the mapping set's namespace."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from pyoxigraph import NamedNode

from mixtea.decide.mapping import Mapping
from mixtea.errors import ConfigError
from mixtea.export.iris import MEANT_AS_IRI, is_iri
from mixtea.export.metadata import About
from mixtea.export.unsupported import half_character, holds, refuse
from mixtea.graph.graph import Graph
from mixtea.graph.iris import SIDES, decode_id, encode_in
from mixtea.messages import HALF_CHARACTER, visible

logger = logging.getLogger(__name__)

BY_IRIS = (".sssom.tsv", ".nt", ".ttl", ".rdf")  # formats that name entities by IRIs
MAX_SHOWN = 60  # characters of an id
_NOT_IN_IRI = re.compile('[\x00-\x20<>"{}|\\\\^`\x7f-\x9f\ufff0-\uffff]')


def is_blank(name: str) -> bool:
    """Whether the id is that of a blank node, which has a name inside its own file only."""
    return name.startswith("_:") and len(name) > 2


def _is_absolute(name: str) -> bool:
    return not name.endswith(":") and is_iri(name)


class Naming:
    """The IRIs of one side's entities, relations or predicates; `problems` gathers the ids that have none.

    An id with `scheme://` or `urn:` in front is meant as an IRI. Where all ids are absolute IRIs, as in any RDF graph,
    all of them are. The others are plain text, and get IRIs in the namespace that the user gave for the side, else in
    one of the mapping set.
    """

    def __init__(self, ids: Iterable[str], side: str, about: About) -> None:
        self.namespace, self.is_given = about.namespace(side).iri, bool(about.given_namespace(side))
        self.only_iris = all(is_blank(name) or _is_absolute(name) for name in ids)
        self.problems: dict[str, str] = {}

    def __call__(self, name: str | None) -> str | None:
        """The IRI of an entity; None for none, for a blank node, and where there is a problem."""
        if name is None or is_blank(name):
            return None
        what = self._problem(name)
        if what:
            self.problems[name] = what
            return None
        if decode_id(name) is None and (MEANT_AS_IRI.match(name) or (self.only_iris and _is_absolute(name))):
            return name
        return encode_in(name, self.namespace)

    def _problem(self, name: str) -> str:
        half = HALF_CHARACTER.search(name)
        if half:
            return half_character(half[0])
        if not name:
            return "has an empty id, which no IRI can hold. .parquet can take it, or give it another id."
        if not MEANT_AS_IRI.match(name):
            return ""
        bad = _NOT_IN_IRI.search(name)
        if bad:
            return holds(bad[0], "which an IRI must not hold")
        try:
            NamedNode(name)
        except ValueError as error:
            return f"is not a valid IRI ({error}). .parquet can take it, or mend the id."
        if self.is_given and not self.only_iris and name.startswith(self.namespace):
            return f"is an IRI in {self.namespace:.200}, the namespace for ids that are none. Give them another."
        return ""


def text_of(column: pd.Series) -> list[str | None]:
    """The texts of a column, None where there is none."""
    return [value if isinstance(value, str) else None for value in column.tolist()]


def labels_of(ids: list[str | None], graph: Graph) -> list[str | None]:
    """The label that people read of each entity, None where there is none."""
    places = graph.find(np.array([*ids, None], dtype=object)[:-1]).tolist()
    return [graph.label(place) if place >= 0 else None for place in places]


def rows_of(mapping: Mapping, about: About) -> pd.DataFrame:
    """The rows to write: mappings, and source entities without a counterpart where these are wanted."""
    return mapping.to_frame().reset_index(drop=True) if about.with_unmapped else mapping.pairs()


def only_pairs(mapping: Mapping, path: Path, about: About) -> pd.DataFrame:
    """The mappings, for formats that cannot say that there is none."""
    if about.with_unmapped:
        raise ConfigError(
            f"{path}: this format cannot say that an entity has no counterpart. "
            "Choose .sssom.tsv, .parquet, .csv or .json, or leave these entities out."
        )
    return mapping.pairs()


def with_iris(rows: pd.DataFrame, mapping: Mapping, path: Path, about: About) -> pd.DataFrame:
    """The rows with the columns source_iri, target_iri and runner_up_iri, without those of blank nodes."""
    source, target = (Naming(getattr(mapping, side).ids, side, about) for side in SIDES)
    ids = {name: text_of(rows[name]) for name in ("source", "target", "runner_up")}
    iris = {
        f"{name}_iri": pd.Series([naming(one) for one in ids[name]], index=rows.index, dtype=object)
        for name, naming in (("source", source), ("target", target), ("runner_up", target))
    }
    refuse(path, source.problems | target.problems)
    return without_blank(rows.assign(**iris), path)


def made_up(mapping: Mapping, about: About) -> dict[str, str]:
    """By the sides for which no namespace was given, an id that is written and needs one."""
    sides = [side for side in SIDES if not about.given_namespace(side)]
    rows, found = rows_of(mapping, about), {}
    for side in sides:
        naming = Naming(getattr(mapping, side).ids, side, about)
        found[side] = next((id for id in text_of(rows[side]) if naming(id) not in (None, id)), None)
    return {side: id for side, id in found.items() if id is not None}


def made_up_note(plain: dict[str, str]) -> str:
    """A sentence about ids that are in a namespace nobody gave, and what to do.

    >>> made_up_note({"source": "534"})
    'the namespace of source:534 is made up for this file: give yours with --source-namespace URL'
    """
    such = " and ".join(f"{side}:{encode_in(id, '')[:MAX_SHOWN]}" for side, id in plain.items())
    options = " and ".join(f"--{side}-namespace URL" for side in plain)
    return f"the namespace of {such} is made up for this file: give yours with {options}"


def without_blank(rows: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The rows without blank nodes, which cannot be named in another file; the log says how many are left out."""
    ends = zip(text_of(rows["source"]), text_of(rows["target"]), strict=True)
    blank = pd.Series([any(is_blank(e) for e in pair if e) for pair in ends], index=rows.index, dtype=bool)
    if blank.any():
        logger.warning(
            "%s: %s of %s rows left out, for blank nodes have no name outside their file; .tsv and .parquet keep them",
            visible(path), f"{int(blank.sum()):,}", f"{len(rows):,}",
        )  # fmt: skip
    return rows[~blank]
