"""Given links keep what the SSSOM file that gave them said of them."""

from __future__ import annotations

import pandas as pd

from mixtea.decide.mapping import Mapping
from mixtea.export.curies import Curies
from mixtea.export.iris import is_iri
from mixtea.export.quoting import plain_line
from mixtea.io.formats.link_tables import parse_confidences
from mixtea.io.formats.sssom_slots import REFERENCES, SLOTS, Slots

STAYS = ("predicate_id", "mapping_justification")  # where nothing else is said; other slots are empty then


def with_own_slots(
    columns: dict[str, list[str]], rows: pd.DataFrame, mapping: Mapping, curies: Curies
) -> dict[str, list[str]]:
    """The columns of SSSOM with the slots of given links in place of what is written of links in general."""
    own = _own(rows, mapping)
    if not own:
        return columns
    found = dict(columns)
    for name in SLOTS:
        found[name] = list(columns.get(name, [""] * len(rows)))
        for place, slots in own.items():
            said = _written(name, slots.get(name, ""), curies)
            found[name][place] = said or (found[name][place] if name in STAYS else "")
    last = [name for name in found if name.startswith("ext_")]
    first = [name for name in columns if name not in (*last, *SLOTS[2:])]
    return {name: found[name] for name in (*first, *SLOTS[2:], *last)}


def _own(rows: pd.DataFrame, mapping: Mapping) -> dict[int, Slots]:
    """By their places, the slots of given rows that have some; a file may have had them the other way round."""
    slots = mapping.slots
    ends = zip(rows["source"], rows["target"], rows["given"], strict=True)
    found = ((place, slots.get((s, t)) or slots.get((t, s))) for place, (s, t, given) in enumerate(ends) if given)
    return {place: said for place, said in found if said}


def _written(name: str, text: str, curies: Curies) -> str:
    """A slot as SSSOM has it; empty where it is not what it should be."""
    if name in REFERENCES:
        return "|".join(curies.contract(one) for one in text.split("|") if is_iri(one))
    return "" if name == "confidence" and parse_confidences([text]) is None else plain_line(text)
