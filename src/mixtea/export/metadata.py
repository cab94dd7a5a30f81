"""Metadata of a mapping file: identifier, title, licence, date, graphs, relation."""

from __future__ import annotations

import datetime
import hashlib
import re
import uuid
from dataclasses import dataclass, field, replace
from urllib.parse import quote

import pandas as pd

from mixtea.errors import ConfigError
from mixtea.export.identifiers import Namespace, is_iri, parse_namespace
from mixtea.graph.graph import SIDES, Graph
from mixtea.graph.iris import MARK, id_namespace
from mixtea.messages import origin_of

UNSPECIFIED = "https://w3id.org/sssom/license/unspecified"  # what SSSOM writes where no licence is named
PREDICATE_IRIS = {
    "skos:exactMatch": "http://www.w3.org/2004/02/skos/core#exactMatch",
    "owl:sameAs": "http://www.w3.org/2002/07/owl#sameAs",
}
JUSTIFICATIONS = (
    "semapv:BackgroundKnowledgeBasedMatching", "semapv:CompositeMatching", "semapv:InstanceBasedMatching",
    "semapv:LexicalMatching", "semapv:LexicalSimilarityThresholdMatching", "semapv:LogicalReasoning",
    "semapv:ManualMappingCuration", "semapv:MappingChaining", "semapv:MappingInversion", "semapv:MappingReview",
    "semapv:SemanticSimilarityThresholdMatching", "semapv:StructuralMatching", "semapv:UnspecifiedMatching",
)  # fmt: skip
_TEXTS = (
    "set_id", "title", "licence", "version", "tool_version", "description", "source_namespace", "target_namespace",
)  # fmt: skip
_NO_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def _installed() -> str:
    from mixtea import __version__

    return __version__


@dataclass(frozen=True)
class MappingMetadata:
    """Metadata of a mapping set. Empty fields are left out, except `set_id`.

    `set_id` is an absolute IRI without `#`; if empty, one is made from the mappings, the same for the same mappings.
    `justification` is that of predicted mappings, one of SSSOM's: by default structural matching, or what other
    evidence supports the pair. `with_unmapped` adds a row for each source entity without a counterpart,
    in formats that can hold such rows; `all_columns` the columns of .csv beside the four default ones.
    `source_namespace` and `target_namespace`, `URL` or `PREFIX=URL`, are where ids that are not IRIs get some; by
    default a namespace below `set_id`.
    """

    set_id: str = ""
    title: str = ""
    licence: str = UNSPECIFIED
    version: str = ""
    date: datetime.date | None = None
    tool_version: str = field(default_factory=_installed)
    source_name: str = "source"
    target_name: str = "target"
    predicate: str = "skos:exactMatch"
    justification: str = "semapv:StructuralMatching"
    with_unmapped: bool = False
    description: str = ""
    source_namespace: str = ""
    target_namespace: str = ""
    all_columns: bool = False

    def __post_init__(self) -> None:
        for name in (*_TEXTS, "source_name", "target_name"):
            if _NO_TEXT.search(getattr(self, name)):
                raise ConfigError(f"{name}: {getattr(self, name)!r} holds a control character. Write it without.")
        for name in ("source_name", "target_name"):
            if not getattr(self, name):
                raise ConfigError(f"{name}: empty. Name the graph, or give its IRI.")
        if not is_iri(self.licence):
            raise ConfigError(f"licence: {self.licence!r} is not an IRI. Give its address, or {UNSPECIFIED}.")
        if self.set_id and ("#" in self.set_id or not is_iri(self.set_id)):
            raise ConfigError(
                f"set_id: {self.set_id!r} is not an IRI without '#'. Give one like https://example.org/links."
            )
        for name, allowed in (("predicate", tuple(PREDICATE_IRIS)), ("justification", JUSTIFICATIONS)):
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name}: {getattr(self, name)!r} is unknown. Choose one of {', '.join(allowed)}.")
        source, target = map(self.namespace, SIDES)
        if source.prefix == target.prefix and source.iri != target.iri:
            raise ConfigError(
                f"source_namespace, target_namespace: the prefix {source.prefix!r} is used twice. Give each its own."
            )

    def with_id(self, frame: pd.DataFrame) -> MappingMetadata:
        """Add an identifier made from the mappings if none was given."""
        if self.set_id:
            return self
        digest = hashlib.sha256()
        for name in ("source", "target"):
            digest.update("\n".join(map(str, frame[name])).encode("utf-8", "surrogatepass"))
        made = uuid.uuid5(uuid.NAMESPACE_URL, digest.hexdigest())
        return replace(self, set_id=f"https://w3id.org/sssom/mappings/{made}")

    def with_link_origin(self, links_from: str) -> MappingMetadata:
        """Add the origin of the links to the description if they were not given."""
        if links_from == "given":
            return self
        return replace(self, description=" ".join(filter(None, (self.description, f"{origin_of(links_from)}."))))

    def with_graph_iris(self, source: Graph, target: Graph) -> MappingMetadata:
        """Name graphs that are ontologies by their IRIs, unless they have names."""
        own = ((self.source_name, "source", source.iri), (self.target_name, "target", target.iri))
        first, second = (iri if name == unnamed and is_iri(iri) else name for name, unnamed, iri in own)
        return replace(self, source_name=first, target_name=second)

    def namespace(self, side: str) -> Namespace:
        """Return the namespace for ids of a side that are not IRIs."""
        given = self.given_namespace(side)
        return parse_namespace(given, side) if given else Namespace(side, id_namespace(self.set_id, side))

    def given_namespace(self, side: str) -> str:
        """Return the user's namespace of a side, "" if none was given."""
        return str(getattr(self, f"{side}_namespace"))

    def id_notes(self) -> dict[str, str]:
        """Return the given namespaces as notes (`source_ids`, `target_ids`), so that a reader finds the ids again."""
        return {f"{side}_ids": self.namespace(side).iri for side in SIDES if self.given_namespace(side)}

    def graph_iri(self, name: str) -> str:
        """Return the IRI of a graph: its name if that is an IRI, else one of this mapping set."""
        return name if is_iri(name) else f"{self.set_id}{MARK}graph/{quote(name, safe='')}"

    def slots(self) -> dict[str, str]:
        """Return the metadata under SSSOM's names."""
        found = {
            "mapping_set_id": self.set_id,
            "mapping_set_version": self.version,
            "mapping_set_title": self.title,
            "mapping_set_description": self.description,
            "license": self.licence,
            "subject_source": self.source_name,
            "object_source": self.target_name,
        }
        return {name: value for name, value in found.items() if value}

    def tool_slots(self) -> dict[str, str]:
        """Return tool and date of the predicted mappings under SSSOM's names."""
        date = self.date.isoformat() if self.date else ""
        found = {"mapping_tool": "mixtea", "mapping_tool_version": self.tool_version, "mapping_date": date}
        return {name: value for name, value in found.items() if value}
