"""Keep the SSSOM slots that came with given links."""

from __future__ import annotations

import pandas as pd

from mixtea.decide.mapping import Mapping
from mixtea.export.curies import Curies, is_iri
from mixtea.export.quoting import plain_line
from mixtea.io.formats.link_tables import parse_confidences
from mixtea.io.formats.sssom import REFERENCES, SLOTS, Slots

ALWAYS_FILLED = ("predicate_id", "mapping_justification")  # by a default if the link has none


def add_link_slots(
    columns: dict[str, list[str]], rows: pd.DataFrame, mapping: Mapping, curies: Curies
) -> dict[str, list[str]]:
    """Replace the default SSSOM slots of given links by those of the file that they came from."""
    own = _link_slots(rows, mapping)
    if not own:
        return columns
    found = dict(columns)
    for name in SLOTS:
        found[name] = list(columns.get(name, [""] * len(rows)))
        for place, slots in own.items():
            said = _written(name, slots.get(name, ""), curies)
            found[name][place] = said or (found[name][place] if name in ALWAYS_FILLED else "")
    last = [name for name in found if name.startswith("ext_")]
    first = [name for name in columns if name not in (*last, *SLOTS[2:])]
    return {name: found[name] for name in (*first, *SLOTS[2:], *last)}


def _link_slots(rows: pd.DataFrame, mapping: Mapping) -> dict[int, Slots]:
    """Return by row the slots of given links that have some; a file may hold them in the opposite direction."""
    slots = mapping.slots
    ends = zip(rows["source"], rows["target"], rows["given"], strict=True)
    found = ((place, slots.get((s, t)) or slots.get((t, s))) for place, (s, t, given) in enumerate(ends) if given)
    return {place: said for place, said in found if said}


def _written(name: str, text: str, curies: Curies) -> str:
    """Return a slot as SSSOM writes it; "" if its value is invalid."""
    if name in REFERENCES:
        return "|".join(curies.contract(one) for one in text.split("|") if is_iri(one))
    return "" if name == "confidence" and parse_confidences([text]) is None else plain_line(text)
