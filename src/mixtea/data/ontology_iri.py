"""The IRI of the ontology that a graph is, where its files declare one."""

from __future__ import annotations

import numpy as np

from mixtea.data.part import Part
from mixtea.data.prefixes import BUILT_IN, expand
from mixtea.data.selection import TYPE

ONTOLOGY = expand("owl:Ontology", BUILT_IN)


def ontology_iri(part: Part) -> str:
    """The first that is said to be an owl:Ontology; empty without one, and if it has no IRI."""
    kinds = np.flatnonzero(part.ids == ONTOLOGY)
    if not len(kinds):
        return ""
    is_type = np.array([word in TYPE for word in part.predicates], dtype=bool)
    heads = part.triples[is_type[part.triples[:, 1]] & (part.triples[:, 2] == kinds[0]), 0]
    return next((str(one) for one in part.ids[heads] if not str(one).startswith("_:")), "")
