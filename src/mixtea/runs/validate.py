"""Check the contents of each file of a run folder, and that the files fit together. No torch.

Indices become addresses in compiled code, and sizes become memory, so none is trusted. An error describes what is
wrong; the caller names the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mixtea.compute.arrays import (
    Arrays,
    check_finite,
    check_history,
    check_lengths,
    check_within,
    is_number,
    is_numbers,
)
from mixtea.config import PRESETS, Config
from mixtea.council.trace import TRACE_COLUMNS
from mixtea.graph.graph import SIDES, Graph
from mixtea.graph.synonym_groups import merge_groups
from mixtea.graph.task import SPLITS, Reviewed, Task
from mixtea.io.columns.hints import MAX_WEIGHT, ComparedColumns
from mixtea.io.formats.sssom import SLOTS
from mixtea.io.options import LINKS_FROM
from mixtea.runs.safe_read import PLAIN_NAME, Form
from mixtea.runs.validate_text import check_texts, text_forms
from mixtea.voters.base import EVIDENCE_KINDS, MAX_SCORE

MAX_EPOCHS = 1_000_000
_DEVICE = re.compile(r"auto|cpu(:0)?|cuda(:\d{1,3})?")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def is_count(value: Any, most: int = 2**53) -> bool:
    return type(value) is int and 0 <= value <= most


def is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(type(word) is str for word in value)


def is_text_dict(value: Any) -> bool:
    return isinstance(value, dict) and is_texts([*value.values()])


_RUN_FIELDS: dict[str, tuple[bool, Callable[[Any], bool]]] = {  # of run.json: required, and its check
    "task": (True, lambda value: type(value) is str),
    "fold": (True, lambda value: value is None or is_count(value)),
    "links_from": (False, lambda value: value in LINKS_FROM),
    "n_epochs": (True, lambda value: is_count(value, MAX_EPOCHS)),
    "best_epoch": (True, lambda value: value is None or is_count(value, MAX_EPOCHS)),
    "stopped_because": (True, lambda value: type(value) is str),
    "seconds": (True, lambda value: is_number(value) and value >= 0),
    "voter_weights": (True, lambda value: is_weights(value)),
    "voter_wrong_shares": (False, lambda value: is_weights(value) and all(share < 1 for share in value.values())),
    "voter_packages": (True, is_text_dict),
    "voter_evidence": (False, lambda value: is_text_dict(value) and {*value.values()} <= {*EVIDENCE_KINDS}),
    "epoch_seconds": (True, lambda value: isinstance(value, list) and all(map(is_number, value))),
    "files": (True, lambda value: isinstance(value, dict) and all(map(is_entry, value.items()))),
    "preset": (True, lambda value: type(value) is str and value in PRESETS),
    "chosen": (True, lambda value: isinstance(value, dict)),
    "seed": (False, is_count),
    "device": (False, lambda value: type(value) is str),
    "created": (False, lambda value: type(value) is str),
    "approximations": (False, lambda value: isinstance(value, dict)),
    "learning_rate_lowered": (False, lambda value: is_numbers(value)),
    "misleading": (False, lambda value: is_weights(value) and all(share <= 1 for share in value.values())),
    "misleading_links": (False, lambda value: is_weights(value)),
    "links_are_random": (False, lambda value: type(value) is bool),
    "matched_since_training": (False, is_count),
    "applies_learned": (False, lambda value: type(value) is bool),
    "versions": (False, is_text_dict),
    "parent": (False, lambda value: type(value) is str and _DIGEST.fullmatch(value) is not None),
}


def check_about(about: Any) -> dict[str, Any]:
    """Check run.json: every field of the right type."""
    if not isinstance(about, dict):
        raise TypeError("it is not an object")
    missing = [name for name, (needed, _) in _RUN_FIELDS.items() if needed and name not in about]
    if missing:
        raise KeyError(f"without {', '.join(missing)}")
    wrong = [name for name, (_, fits) in _RUN_FIELDS.items() if name in about and not fits(about[name])]
    if wrong:
        raise TypeError(f"the fields {', '.join(wrong)}")
    if (about["best_epoch"] or 0) > about["n_epochs"]:
        raise ValueError("its best epoch is after the last one")
    check_config(Config.preset(about["preset"], **about["chosen"]).to_dict())
    return about


def is_entry(item: tuple[str, Any]) -> bool:
    """Check an entry of the list of files: a name that stays in the folder, a size, a checksum."""
    name, entry = item
    return (
        PLAIN_NAME.fullmatch(name) is not None
        and isinstance(entry, dict)
        and is_count(entry.get("bytes"))
        and type(entry.get("sha256")) is str
        and _DIGEST.fullmatch(entry["sha256"]) is not None
    )


def is_weights(value: Any) -> bool:
    known = isinstance(value, dict) and all(type(name) is str and name.isidentifier() for name in value)
    return known and all(is_number(weight, MAX_SCORE) and weight >= 0 for weight in value.values())


def check_config(settings: Any) -> Config:
    """Check config.json: existing settings, in their ranges, for a device that could be here."""
    if not isinstance(settings, dict):
        raise TypeError("it is not an object")
    config = Config.from_dict(settings)
    if not _DEVICE.fullmatch(config.device):
        raise ValueError(f"there is no device {config.device!r}")
    for name in ("agreement_weight", "agreement_weight_few"):
        if getattr(config, name) > MAX_SCORE:
            raise ValueError(f"{name} is too large")
    return config


def is_slot_row(row: Any) -> bool:
    """Check for two ids, and SSSOM slots of a link between them."""
    is_row = isinstance(row, list) and len(row) == 3 and is_texts(row[:2]) and is_text_dict(row[2])
    return is_row and row[2].keys() <= {*SLOTS}


WORD_LISTS = ("name_predicates", "kept_apart")  # of a graph, where it has some


def check_vocabulary(vocabulary: Any) -> dict[str, Any]:
    """Check vocabulary.json: of both sides ids and relations, each once, and prefixes; slots of links; synonyms."""
    for side in SIDES:
        words = vocabulary[side]
        lists = {"ids": words["ids"], "relations": words["relations"]}
        lists |= {name: words.get(name, []) for name in WORD_LISTS}
        for name, found in lists.items():
            if not is_texts(found):
                raise TypeError(f"the {name} of the {side} are not a list of texts")
            if name in ("ids", "relations") and len(set(found)) != len(found):
                raise ValueError(f"the {name} of the {side} repeat a text")
        if not is_text_dict(words.get("prefixes", {})):
            raise TypeError(f"the prefixes of the {side} are not texts")
        if type(words.get("iri", "")) is not str:
            raise TypeError(f"the IRI of the {side} is not a text")
    if not all(map(is_slot_row, vocabulary.get("slots", []))):
        raise TypeError("what is said of a link is not a texts")
    check_synonyms(vocabulary.get("synonyms", []))
    check_compared(vocabulary.get("compared", []))
    return vocabulary


def check_compared(pairs: Any) -> None:
    """Check that these are pairs of columns with a weight and whether they are a key."""
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 4 for pair in pairs):
        raise TypeError("the compared columns are not a list of four")
    for source, target, weight, key in pairs:
        if (type(source), type(target), type(weight), type(key)) != (str, str, float, bool):
            raise TypeError("compared columns are two texts, a number and a truth value")
        if not 0 <= weight <= MAX_WEIGHT:
            raise ValueError("the weight of compared columns is out of range")


def check_synonyms(groups: Any) -> None:
    """Check that these are groups of words as a task has them: in order, and no word in two of them."""
    if not isinstance(groups, list) or not all(map(is_texts, groups)):
        raise TypeError("the synonyms are not groups of texts")
    if merge_groups(groups) != tuple(map(tuple, groups)):
        raise ValueError("the synonyms are not in order, or a word is in two groups")


PAIR_ARRAYS = (*SPLITS, "rejected")
GRAPH_FORMS: dict[str, Form] = {
    **{f"{side}_triples": ("I64", (None, 3)) for side in SIDES},
    **dict.fromkeys(PAIR_ARRAYS, ("I64", (None, 2))),
    **{name: form for side in SIDES for name, form in text_forms(side).items()},
}

REVIEW_ARRAYS: dict[str, Form] = {"reviewed": ("I64", (None, 2)), "reviewed_log_odds": ("F64", (None,))}


def graph_forms(names: Iterable[str]) -> dict[str, Form]:
    """Return the expected arrays of graphs.safetensors; vectors, reviews and `asked` only where a task has such."""
    there = {*names}
    own = {f"{side}_vectors" for side in SIDES} & there
    reviews = REVIEW_ARRAYS if REVIEW_ARRAYS.keys() & there else {}
    asked: dict[str, Form] = {"asked": ("U8", (None,))} if "asked" in there else {}
    return GRAPH_FORMS | dict.fromkeys(own, ("F32", (None, None))) | reviews | asked


def check_task(about: Mapping[str, Any], vocabulary: dict[str, Any], arrays: Arrays) -> Task:
    """Check graphs.safetensors: triples, texts and links of existing entities and relations."""
    source, target = (_graph(vocabulary[side], arrays, side) for side in SIDES)
    if source.vectors.size and target.vectors.size and source.vectors.shape[1] != target.vectors.shape[1]:
        raise ValueError("the vectors of the two sides differ in length")
    reviewed = _reviewed(arrays)
    for name in (*PAIR_ARRAYS, *(["reviewed"] if len(reviewed.pairs) else [])):
        check_within(arrays[name][:, 0], source.n_entities, f"a {name} pair's source")
        check_within(arrays[name][:, 1], target.n_entities, f"a {name} pair's target")
    links_from = about.get("links_from", "given")
    if links_from not in LINKS_FROM:
        raise ValueError("where its links come from")
    if not len(arrays["train"]) and links_from != "names":
        raise ValueError("there is no training link")
    train, valid, test, rejected = (arrays[name] for name in PAIR_ARRAYS)
    slots = {(one, other): slots_of_link for one, other, slots_of_link in vocabulary.get("slots", [])}
    more = {"fold": about["fold"], "rejected": rejected, "links_from": links_from, "slots": slots, "reviewed": reviewed}
    synonyms = tuple(map(tuple, vocabulary.get("synonyms", [])))
    compared = tuple(ComparedColumns(*pair) for pair in vocabulary.get("compared", []))
    more |= {"synonyms": synonyms, "compared": compared, "asked": _asked(arrays, source.n_entities + target.n_entities)}
    return Task.of_two(about["task"], source, target, train, valid, test, **more)


def _asked(arrays: Arrays, n: int) -> np.ndarray | None:
    """Read which entities are asked about, if not all are."""
    if "asked" not in arrays:
        return None
    asked = arrays["asked"]
    if len(asked) != n or asked.max(initial=0) > 1:
        raise ValueError("which entities are asked about")
    return asked.astype(bool)


def _reviewed(arrays: Arrays) -> Reviewed:
    """Read the opinions of reviewers, if any."""
    if "reviewed" not in arrays:
        return Reviewed(np.empty((0, 2), dtype=np.int64), np.empty(0))
    pairs, log_odds = (arrays[name] for name in REVIEW_ARRAYS)
    if len(pairs) != len(log_odds):
        raise ValueError("the opinions of reviewers are not one per pair")
    check_finite("reviewed_log_odds", log_odds, MAX_SCORE)
    return Reviewed(pairs, log_odds)


def _graph(words: dict[str, Any], arrays: Arrays, side: str) -> Graph:
    ids, relations = (np.array(words[name], dtype=object) for name in ("ids", "relations"))
    triples = arrays[f"{side}_triples"]
    for column, known in enumerate((ids, relations, ids)):
        check_within(triples[:, column], len(known), f"a {side} triple's {('head', 'relation', 'tail')[column]}")
    attributes, labels = check_texts(arrays, side, len(ids))
    graph = Graph(
        ids, relations, triples, attributes, labels, words.get("prefixes", {}), iri=words.get("iri", ""),
        name_predicates=tuple(words.get("name_predicates", ())), kept_apart=tuple(words.get("kept_apart", ())),
    )  # fmt: skip
    vectors = arrays.get(f"{side}_vectors")
    return graph if vectors is None else replace(graph, vectors=_check_vectors(vectors, len(ids), side))


def _check_vectors(vectors: np.ndarray, n_entities: int, side: str) -> np.ndarray:
    """Check the user's vectors: a row per entity, of finite numbers, or of NaN throughout where it has none."""
    if len(vectors) != n_entities or not vectors.shape[1]:
        raise ValueError(f"the {side} has vectors {list(vectors.shape)} for {n_entities} entities")
    if not (np.isfinite(vectors).all(axis=1) | np.isnan(vectors).all(axis=1)).all():
        raise ValueError(f"a vector of the {side} holds a value that is not a number")
    return vectors


def weight_forms(task: Task, config: Config) -> dict[str, Form]:
    """Return the expected parameters of the encoder with these settings and graphs."""
    labels = [graph.relations.tolist() for graph in (task.source, task.target)]
    n_relations = len({*labels[0], *labels[1]}) if config.shared_relations else len(labels[0]) + len(labels[1])
    d, layers = config.entity_dim, range(config.n_layers)
    shapes: dict[str, tuple[int, ...]] = {"entity": (task.source.n_entities + task.target.n_entities, d)}
    if config.use_relations:
        shapes["relation"] = (n_relations, config.relation_dim)
    shapes |= {f"transform.{i}": (d, d) if config.layer_transform == "matrix" else (d,) for i in layers}
    shapes |= {f"attention.{i}": (2 * d, 1) for i in layers}
    shapes["weight"] = (config.n_layers + 2 * config.use_relations,)
    return {name: (vector_type(config), shape) for name, shape in shapes.items()}


def vector_type(config: Config) -> str:
    """Return the safetensors name of the vectors' type."""
    return "F32" if config.precision == "float32" else "F64"


def trace_forms(n_voters: int) -> dict[str, Form]:
    """Return the expected arrays of votes.safetensors."""
    return dict.fromkeys(TRACE_COLUMNS, ("I32", (None,))) | {"voters": ("U8", (None, -(-n_voters // 8)))}


def opinion_forms(names: Sequence[str], config: Config) -> dict[str, Form]:
    """Return the expected arrays of opinions: none at all, or pairs and scores of some of the run's voters."""
    if not names:
        return {}
    voters = [name for name in names if name.startswith("score.") and name.removeprefix("score.").isidentifier()]
    forms: dict[str, Form] = dict.fromkeys(SIDES, ("I32", (None,)))
    return forms | {name: (vector_type(config), (None,)) for name in voters}


def check_opinions(opinions: Arrays, task: Task) -> None:
    """Check opinions.safetensors: each pair once, with finite scores."""
    check_lengths(opinions)
    if not opinions:
        return
    for name in opinions.keys() - {*SIDES}:
        check_finite(name, opinions[name], MAX_SCORE, or_nan=True)
    ends = [opinions[side] for side in SIDES]
    for end, graph in zip(ends, (task.source, task.target), strict=True):
        check_within(end, graph.n_entities, "an entity of an opinion")
    if len(np.unique(np.stack(ends), axis=1).T) != len(ends[0]):
        raise ValueError("the opinions repeat a pair")


def timed_history(history: Any, n_epochs: int, seconds: list[float]) -> list[dict[str, Any]]:
    """Check history.json: a record per epoch, of numbers; put back its seconds, which run.json keeps."""
    check_history(history, n_epochs)
    if len(seconds) != n_epochs:
        raise ValueError(f"it does not have a record for each of {n_epochs} epochs")
    return [record | {"seconds": float(taken)} for record, taken in zip(history, seconds, strict=True)]
