"""learned.json of a run folder: what its training has learned of texts. No torch."""

from __future__ import annotations

from typing import Any

import numpy as np

from mixtea.compute.array_checks import check_numbers, is_number
from mixtea.voters.attributes.index import MAX_PREDICATE_PAIRS
from mixtea.voters.candidate_pairs import Feature
from mixtea.voters.learned_text import ComparedPredicates, LearnedText, LearnedView
from mixtea.voters.names.opinions import NAME_FEATURES
from mixtea.voters.similarity import SimilarityOpinions

VERSION = 1
MAX_WEIGHT = 1e4  # or constant: log-odds beyond a hundred change nothing
FEATURES: dict[str, tuple[Feature, ...]] = {"names": NAME_FEATURES, "attributes": SimilarityOpinions.FEATURES}


def learned_json(learned: LearnedText) -> dict[str, Any]:
    """Convert it for a run folder."""
    return {"version": VERSION, **learned.to_json()}


def check_learned(held: Any) -> LearnedText:
    """Read it from a file's contents, which may come from anywhere; raise an error if they are not valid."""
    if not isinstance(held, dict) or held.keys() != {"version", "views", "constant", "calibration"}:
        raise TypeError("it is not an object of version, views, constant and calibration")
    if held["version"] != VERSION:
        raise ValueError(f"version {held['version']!r}")
    if not isinstance(held["views"], dict) or held["views"].keys() - FEATURES.keys():
        raise ValueError("views that there are not")
    _check(held["constant"], *held["calibration"])
    check_numbers(held["calibration"], 2)
    views = {name: _view(name, view) for name, view in held["views"].items()}
    return LearnedText(views, float(held["constant"]), (float(held["calibration"][0]), float(held["calibration"][1])))


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
