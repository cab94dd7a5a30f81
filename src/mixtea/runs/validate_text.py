"""Texts of a run's graphs as arrays, what was learned of texts, and checks of both. No torch.

Offsets and codes become addresses, so each is checked before a text is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mixtea.compute.arrays import check_finite, check_numbers, is_number
from mixtea.errors import RunError, shorten
from mixtea.graph.entity_table import Attributes, EntityTable
from mixtea.graph.graph import Graph
from mixtea.graph.labels import Labels
from mixtea.graph.text_column import TextColumn, is_distinct
from mixtea.runs.safe_read import Form
from mixtea.runs.state_file import SAFETENSORS_TYPES
from mixtea.voters.attribute_values import MAX_PREDICATE_PAIRS
from mixtea.voters.candidate_pairs import Feature
from mixtea.voters.learned import ComparedPredicates, Learned, LearnedProbabilities, LearnedView
from mixtea.voters.names import NAME_FEATURES
from mixtea.voters.similarity import SimilarityOpinions

TABLES: dict[str, type[EntityTable]] = {"attributes": Attributes, "labels": Labels}


def text_forms(side: str) -> dict[str, Form]:
    """Return the expected arrays of the attribute triples and labels of a side."""
    return {
        f"{side}_{name}.{part}": (SAFETENSORS_TYPES[str(array.dtype)], (None,))
        for name, table in TABLES.items()
        for part, array in table.empty().arrays().items()
    }


def text_arrays(graph: Graph, side: str) -> dict[str, np.ndarray]:
    """Return the arrays of a graph's attribute triples and labels; an error shows a text that is not valid."""
    found: dict[str, np.ndarray] = {}
    for name in TABLES:
        table: EntityTable = getattr(graph, name)
        for column in (getattr(table, part) for part, kind in table.COLUMN_TYPES.items() if kind is TextColumn):
            _check_whole(column)
        found |= {f"{side}_{name}.{part}": array for part, array in table.arrays().items()}
    return found


def _check_whole(column: TextColumn) -> None:
    try:
        column.data.tobytes().decode("utf-8")
    except UnicodeDecodeError:
        half = next(text for text in column.texts() if text != text.encode("utf-8", "replace").decode("utf-8"))
        raise RunError(
            f"graphs.safetensors: half a character in {shorten(half)}, which no file can hold. Mend the text."
        ) from None


def check_texts(arrays: Mapping[str, np.ndarray], side: str, n_entities: int) -> tuple[Attributes, Labels]:
    """Check the tables of a side: columns of equal length, existing entities, valid texts."""
    found = []
    for name, table in TABLES.items():
        start = f"{side}_{name}."
        parts = {part.removeprefix(start): array for part, array in arrays.items() if part.startswith(start)}
        rows = table.from_arrays(parts)
        _check_table(rows, n_entities, f"the {name} of the {side}")
        found.append(rows)
    return found[0], found[1]  # type: ignore[return-value] # in the order of TABLES


def _check_table(table: EntityTable, n_entities: int, what: str) -> None:
    for name, kind in table.COLUMN_TYPES.items():
        column = getattr(table, name)
        if len(column) != len(table):
            raise ValueError(f"{what} differ in length")
        if kind is TextColumn:
            _check_column(column, f"the {name} in {what}")
    entity = table.entity
    if len(entity) and not (entity[0] >= 0 and entity[-1] < n_entities and (entity[:-1] <= entity[1:]).all()):
        raise ValueError(f"{what} are not in order, or of entities that are not there")


def _check_column(column: TextColumn, what: str) -> None:
    offsets, size = column.offsets, len(column.data)
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != size or (offsets[:-1] > offsets[1:]).any():
        raise ValueError(f"{what} has texts that begin or end where there are none")
    column.data.tobytes().decode("utf-8")
    starts = column.data[offsets[offsets < size]]
    if (starts & 0xC0 == 0x80).any():  # in UTF-8 such a byte goes on with a character
        raise ValueError(f"{what} has half a character")
    if len(column) and not 0 <= column.codes.min() <= column.codes.max() < column.n_texts:
        raise ValueError(f"{what} has rows without a text")
    if not is_distinct(column.data, offsets):
        raise ValueError(f"{what} has a text twice")


VERSION = 2
MAX_WEIGHT = 1e4  # or constant: log-odds beyond a hundred change nothing
LATER: dict[str, tuple[Feature, ...]] = {"names": NAME_FEATURES, "attributes": SimilarityOpinions.FEATURES}
FEATURES = LATER | {"descriptions": SimilarityOpinions.FEATURES}


def learned_json(learned: Learned) -> dict[str, Any]:
    """Convert it for a run folder."""
    return {"version": VERSION, **learned.to_json()}


def check_learned(held: Any) -> Learned:
    """Read it from a file's contents, which may come from anywhere; raise an error if they are not valid."""
    if not isinstance(held, dict) or held.keys() != {"version", *Learned().to_json()}:
        raise TypeError(f"it is not an object of version, {', '.join(Learned().to_json())}")
    if held["version"] != VERSION:
        raise ValueError(f"version {held['version']!r}")
    if not isinstance(held["views"], dict) or held["views"].keys() - FEATURES.keys():
        raise ValueError("views that there are not")
    _check(held["constant"], *held["calibration"])
    check_numbers(held["calibration"], 2)
    views = {name: _view(name, view) for name, view in held["views"].items()}
    calibration = (float(held["calibration"][0]), float(held["calibration"][1]))
    _check(*held["voter_weights"].values())
    weights = {str(name): float(weight) for name, weight in held["voter_weights"].items()}
    if any(weight < 0 for weight in weights.values()):
        raise ValueError("a weight of a voter below 0")
    told = None if held["probabilities"] is None else _probabilities(held["probabilities"])
    matched_by = tuple(held["matched_by"])
    if not {*matched_by} <= views.keys() & LATER.keys():
        raise ValueError("views that cannot judge what comes later")
    return Learned(views, matched_by, float(held["constant"]), calibration, weights, told)


PROBABILITY_SHAPES = {"calibration": (8,), "evidence": (6,), "recalibration": (2, 3), "link_share": (2,)}


def _probabilities(held: dict[str, Any]) -> LearnedProbabilities:
    if held.keys() != PROBABILITY_SHAPES.keys():
        raise TypeError(f"probabilities are an object of {', '.join(PROBABILITY_SHAPES)}")
    parts = {name: np.array(held[name], dtype=np.float64) for name in PROBABILITY_SHAPES}
    for name, shape in PROBABILITY_SHAPES.items():
        if parts[name].shape != shape:
            raise ValueError(f"{name}: numbers of another shape")
        check_finite(name, parts[name], MAX_WEIGHT)
    if not ((parts["link_share"] >= 0) & (parts["link_share"] <= 1)).all():
        raise ValueError("a share that is not valid")
    return LearnedProbabilities(**parts)


def _view(name: str, held: dict[str, Any]) -> LearnedView:
    weights, constant, wrong, compared = (held[part] for part in ("weights", "constant", "wrong", "compared"))
    _check(constant, *weights)
    check_numbers(weights, len(FEATURES[name]))
    if not is_number(wrong) or not 0 < wrong < 1:
        raise ValueError(f"{name}: a share that is not valid")
    if len(compared) > MAX_PREDICATE_PAIRS:
        raise ValueError(f"{name}: more pairs of predicates than are ever compared")
    return LearnedView(np.array(weights, float), float(constant), float(wrong), tuple(map(_pair, compared)))


def _pair(held: Any) -> ComparedPredicates:
    source, target, weight = held
    if type(source) is not str or type(target) is not str or not is_number(weight, MAX_WEIGHT) or not weight > 0:
        raise TypeError("predicates that are compared")
    return ComparedPredicates(source, target, float(weight))


def _check(*numbers: Any) -> None:
    if not all(is_number(number, MAX_WEIGHT) for number in numbers):
        raise ValueError("a value is not a number, or too large")
