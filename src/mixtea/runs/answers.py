"""Convert answers to the arrays of candidates.safetensors and mapping.safetensors, and back. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mixtea.compute.arrays import check_finite, check_lengths, check_within
from mixtea.config import Config
from mixtea.decide.answers import CANDIDATES_STORED, Answers, FallbackTargets, Ranked
from mixtea.decide.choose import DECISIONS
from mixtea.graph.task import Task
from mixtea.runs.safe_read import Form
from mixtea.voters.base import EvidenceKind

Arrays = Mapping[str, np.ndarray]
PREFIX = "score."  # of an opinion's scores
PART = "part."  # of what an opinion adds to the score of the assigned target, and of the first candidate
FALLBACK_ARRAYS = {"left", "likelihood_of_left"}  # targets where every source is to be mapped
MAX_SCORE = 1e10  # absolute; candidates that were not scored have a very low one


def candidate_arrays(answers: Answers) -> dict[str, np.ndarray]:
    """Return arrays with one row per candidate, source by source, best first."""
    found, (p, k) = answers.ranked, answers.ranked.target.shape
    columns = {
        "source": answers.source_index.astype(np.int32).repeat(k),
        "target": found.target.astype(np.int32).ravel(),
        "rank": np.tile(np.arange(1, k + 1, dtype=np.int32), p),
        "score": found.score.ravel(),
        "belief": found.belief.ravel(),
        "likelihood": found.likelihood.ravel(),
        "probability": found.probability(k).ravel(),
        "decision": answers.decisions.ravel(),
        **_bits(found),
    }
    columns |= {f"{PREFIX}{name}": values.ravel() for name, values in answers.scores.items()}
    return {name: np.ascontiguousarray(column) for name, column in columns.items()}


def mapping_arrays(answers: Answers) -> dict[str, np.ndarray]:
    """Return arrays with one row per source: its two best targets where each is given once, and the decision."""
    found, p = answers.decided, len(answers.source_index)
    columns = {
        "source": answers.source_index.astype(np.int32),
        "target": found.target.astype(np.int32),
        "likelihood": found.likelihood,
        "counterpart": found.counterpart,
        "counterpart_of_candidates": answers.ranked.counterpart,
        "is_free": answers.is_assigned.astype(np.uint8),
        "belief": found.belief,
        **{name: bits.reshape(p, found.target.shape[1], bits.shape[1]) for name, bits in _bits(found).items()},
        **{f"{PART}{name}": values for name, values in answers.parts.items()},
    }
    if answers.fallback is not None:
        columns |= {"left": answers.fallback.target.astype(np.int32), "likelihood_of_left": answers.fallback.likelihood}
    return {name: np.ascontiguousarray(column) for name, column in columns.items()}


def _bits(found: Ranked) -> dict[str, np.ndarray]:
    """Pack truth values, eight per byte: supporters of a candidate, is_best_source and no_evidence."""
    return {
        "voters": np.packbits(found.supporters.reshape(found.target.size, found.supporters.shape[-1]), axis=1),
        "flags": np.packbits(np.stack([found.is_best_source.ravel(), found.no_evidence.ravel()], axis=1), axis=1),
    }


def candidate_forms(names: Sequence[str], config: Config, real: str) -> dict[str, Form]:
    """Return the expected arrays of candidates.safetensors, with the opinions among `names`."""
    n_voters = len(config.deciding_voters)
    forms: dict[str, Form] = dict.fromkeys(("source", "target", "rank"), ("I32", (None,)))
    forms |= dict.fromkeys(("likelihood", "probability"), ("F64", (None,)))
    forms |= {"score": (real if config.only_student_decodes else "F64", (None,))}  # the student's nearness as it is
    forms |= {"belief": (real, (None,)), "decision": ("U8", (None,))}
    forms |= {"voters": ("U8", (None, -(-n_voters // 8))), "flags": ("U8", (None, 1))}
    return forms | dict.fromkeys(_of_opinions(names, PREFIX), (real, (None,)))


def _of_opinions(names: Sequence[str], prefix: str) -> list[str]:
    """Select the names of arrays that begin with the prefix and end with a possible name of an opinion."""
    return [name for name in names if name.startswith(prefix) and name.removeprefix(prefix).isidentifier()]


def mapping_forms(names: Sequence[str], real: str, n_voters: int, task: Task) -> dict[str, Form]:
    """Return the expected arrays of mapping.safetensors, with the opinions and the fallback among `names`."""
    k = min(2, task.target.n_entities)
    forms: dict[str, Form] = {
        "source": ("I32", (None,)),
        "target": ("I32", (None, k)),
        "likelihood": ("F64", (None, k)),
    }
    forms |= dict.fromkeys(("counterpart", "counterpart_of_candidates"), ("F64", (None,)))
    forms |= {"is_free": ("U8", (None,)), "belief": (real, (None, k))}
    forms |= dict.fromkeys(_of_opinions(names, PART), (real, (None, 2)))
    if FALLBACK_ARRAYS & {*names}:
        forms |= {"left": ("I32", (None,)), "likelihood_of_left": ("F64", (None,))}
    return forms | {"voters": ("U8", (None, k, -(-n_voters // 8))), "flags": ("U8", (None, k, 1))}


def check_answer_arrays(arrays: Arrays, task: Task) -> None:
    """Raise ValueError unless the arrays of one of the two files have one length, existing targets, finite numbers."""
    check_lengths(arrays)
    check_within(arrays["target"], task.target.n_entities, "a candidate's target")
    for name, values in arrays.items():
        if values.dtype.kind == "f":
            check_finite(name, values, MAX_SCORE, or_nan=name.startswith((PREFIX, PART)))


def check_answers(
    candidates: Arrays,
    mapping: Arrays,
    task: Task,
    config: Config,
    *,
    links_are_random: bool = True,
    evidence_kinds: Mapping[str, EvidenceKind] | None = None,
) -> Answers:
    """Make answers from checked arrays; raise ValueError if they are not about this task."""
    free = task.open_sources()
    free = free[task.is_asked(0)[free]]
    p, k = len(free), min(CANDIDATES_STORED, task.target.n_entities)
    ranks = np.tile(np.arange(1, k + 1), p)
    if not (np.array_equal(mapping["source"], free) and np.array_equal(candidates["source"], free.repeat(k))):
        raise ValueError("the answers are not about the sources without a training link")
    if not np.array_equal(candidates["rank"], ranks):
        raise ValueError("the candidates are not ranked from 1 on")
    check_within(candidates["decision"], len(DECISIONS), "a decision")
    if "left" in mapping:
        check_within(mapping["left"] + 1, task.target.n_entities + 1, "a target that is left")
    for arrays, names in (
        (candidates, ("likelihood", "probability")),
        (mapping, ("likelihood", "counterpart", "counterpart_of_candidates", "likelihood_of_left")),
    ):
        if any((arrays[name] < 0).any() or (arrays[name] > 1).any() for name in names if name in arrays):
            raise ValueError("a probability is not between 0 and 1")
    counterpart = mapping["counterpart_of_candidates"]
    shape, voters = (p, k), config.deciding_voters
    ranked = _ranked(candidates, shape, len(voters), candidates["score"].reshape(shape), counterpart)
    decided = _ranked(
        mapping, mapping["target"].shape, len(voters), mapping["belief"].astype(float), mapping["counterpart"]
    )
    decided = replace(decided, links_are_random=links_are_random)
    left = (
        FallbackTargets(mapping["left"].astype(np.int64), mapping["likelihood_of_left"])
        if mapping.keys() >= FALLBACK_ARRAYS
        else None
    )
    scores = {n.removeprefix(PREFIX): v.reshape(shape) for n, v in candidates.items() if n.startswith(PREFIX)}
    parts = {n.removeprefix(PART): values for n, values in mapping.items() if n.startswith(PART)}
    return Answers(
        task, voters, free, ranked, scores, decided, mapping["is_free"].astype(bool), parts, left, evidence_kinds or {}
    )


def _ranked(
    arrays: Arrays, shape: tuple[int, ...], n_voters: int, score: np.ndarray, counterpart: np.ndarray
) -> Ranked:
    target, belief, likelihood = (arrays[name].reshape(shape) for name in ("target", "belief", "likelihood"))
    flags = np.unpackbits(arrays["flags"].reshape(-1, 1), axis=1, count=2).astype(bool)
    voters = arrays["voters"].reshape(-1, arrays["voters"].shape[-1])
    supporters = np.unpackbits(voters, axis=1, count=n_voters).astype(bool).reshape(*shape, n_voters)
    is_best_source, no_evidence = (flags[:, i].reshape(shape) for i in (0, 1))
    return Ranked(
        target.astype(np.int64), score, belief, supporters, is_best_source, no_evidence, likelihood, counterpart
    )
