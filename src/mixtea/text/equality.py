"""Entities of two graphs with equal names that are unique on either side."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mixtea.graph.graph import Graph
from mixtea.graph.text_column import TextColumn
from mixtea.text.names import entity_names, normalized_name

Names = tuple[np.ndarray, TextColumn]


def equal_names(source: Graph, target: Graph) -> tuple[int, np.ndarray]:
    """Return (number of names that both sides have, int64 [p, 2] pairs with a name unique on each side).

    Names are compared by `normalized_name`. An entity whose names lead to two others is in no pair.
    """
    return equal_name_pairs(entity_names(source), entity_names(target))


def equal_name_pairs(source: Names, target: Names) -> tuple[int, np.ndarray]:
    """Do so for the results of `entity_names` on each side."""
    sides = [_plain_names(*names) for names in (source, target)]
    alike = set(sides[0]["name"]) & set(sides[1]["name"])
    once = [side[side["name"].isin(alike) & ~side["name"].duplicated(keep=False)] for side in sides]
    pairs = once[0].merge(once[1], on="name")[["entity_x", "entity_y"]].drop_duplicates()
    twice = pairs["entity_x"].duplicated(keep=False) | pairs["entity_y"].duplicated(keep=False)
    found = pairs[~twice].to_numpy(np.int64)
    return len(alike), found[np.argsort(found[:, 0], kind="stable")]


def linked_by_name(source: Graph, target: Graph, links: np.ndarray) -> np.ndarray:
    """Return bool [p]: the links [p, 2] whose ends have a name in common, by `normalized_name`."""
    ours, theirs = (_plain_names(*entity_names(graph)) for graph in (source, target))
    pairs = pd.DataFrame({"link": np.arange(len(links)), "entity": links[:, 0], "other": links[:, 1]})
    named = pairs.merge(ours, on="entity").merge(theirs, left_on=["other", "name"], right_on=["entity", "name"])
    return np.isin(np.arange(len(links)), named["link"].to_numpy())


def has_shared_name(source: Graph, target: Graph) -> np.ndarray:
    """Return bool [n]: the source entities with a name that the other side has too, by `normalized_name`."""
    ours, theirs = (_plain_names(*entity_names(graph)) for graph in (source, target))
    return np.isin(np.arange(source.n_entities), ours.loc[ours["name"].isin(theirs["name"]), "entity"].to_numpy())


def _plain_names(entity: np.ndarray, names: TextColumn) -> pd.DataFrame:
    """Return each entity with each of its normalized names, once."""
    writing = np.array([normalized_name(text) for text in names.texts()], dtype=object)[names.codes]
    rows = pd.DataFrame({"entity": entity, "name": pd.Series(writing, dtype=object)})
    return rows[rows["name"] != ""].drop_duplicates()
