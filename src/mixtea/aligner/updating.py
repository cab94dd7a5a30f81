"""Update an aligner after a few entities of its graphs have changed, without training: see decide/rematch.py."""

from __future__ import annotations

import copy
import time
from typing import TYPE_CHECKING

import torch

from mixtea.decide.answers import CANDIDATES_STORED
from mixtea.decide.rematch import rematch
from mixtea.encode.encoder import Encoder
from mixtea.encode.structure import build_structure
from mixtea.evaluation.scores import empty_table
from mixtea.graph.difference import Difference
from mixtea.graph.task import Task
from mixtea.training.warm_start import copy_vectors

if TYPE_CHECKING:
    from mixtea.aligner import MixTEA

SIDES = ("sources", "targets")
MAX_TOUCHED_SHARE = 0.1  # of a side's entities new, changed or gone, up to which only these are matched
MAX_MATCHED_SHARE = 0.3  # of the sources matched, and not learned from, since the last training


def why_train(old: MixTEA, task: Task, changed: tuple[Difference, Difference], *, same_links: bool) -> str:
    """Return why a changed task needs a training, in words; "" if what an aligner has learned is enough."""
    sizes = [of.target.n_entities for of in (old.task_, task)]
    since = (old._matched_since + int(changed[0].touched.sum())) / max(task.source.n_entities, 1)
    graphs = (old.task_.source, old.task_.target, task.source, task.target)
    shares = [(f"{of.share:.0%} of the {side}", of.share) for side, of in zip(SIDES, changed, strict=True)]
    reasons = {
        "the run has compared neither names nor values": not old.learned_.views,
        "names and values do not decide": not old.learned_.views.keys() <= {*old.answers_.active_voters},
        "relations connect the entities": any(graph.n_triples for graph in graphs),
        "entities have vectors of your own": any(graph.vectors.size for graph in graphs),
        "the links, or decisions about pairs, are others": not same_links,
        **{f"{part} are new, changed or gone": share > MAX_TOUCHED_SHARE for part, share in shares},
        f"{since:.0%} of the sources came after the last training": since > MAX_MATCHED_SHARE,
        "there are few targets": min(sizes) < CANDIDATES_STORED and sizes[0] != sizes[1],
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def update_aligner(old: MixTEA, task: Task, changed: tuple[Difference, Difference]) -> tuple[MixTEA, str]:
    """Return the aligner for a changed task, and what was done, in words."""
    assert old._last is not None
    began, new = time.perf_counter(), copy.copy(old)
    temperature = old.config_.sinkhorn_temperature
    found = rematch(task, old.answers_, old._last, changed, old.learned_, temperature)
    new.task_, new._student, new._vectors = task, _student(old, task), None
    new._last, new._answers, new._answers_by = found.last, found.answers, new._trained_config()
    new._learned_text, new._matcher = old.learned_, None
    new._trace = {name: column[:0] for name, column in old._trace.items()}  # votes of entities that have changed since
    new.metrics_, new.by_evidence_ = {}, empty_table()
    new._manifest, new._parent = "", old._manifest
    new._matched_since = old._matched_since + int(changed[0].touched.sum())
    new.seconds_, new.stopped_because_ = time.perf_counter() - began, "updated without training"
    touched = [int(of.touched.sum()) for of in changed]
    sides = zip(("sources", "targets"), touched, changed, strict=True)
    summary = "; ".join(f"{side}: {n:,} new or changed, {of.n_gone:,} gone" for side, n, of in sides) + (
        f"; matched anew: {found.renewed:,}; without a target, so compared with what is new: "
        f"{found.asked - found.renewed:,}; all others stay as they were"
    )
    return new, summary


def _student(old: MixTEA, task: Task) -> Encoder:
    """Return the student with the vectors of entities that are still there; no relation teaches any."""
    like = old._student.entity
    structure = build_structure(task.source, task.target, old.config_).to(like.device, like.dtype)
    generator = torch.Generator(like.device).manual_seed(old.config_.seed)
    student = Encoder(structure, old.config_, generator)
    copy_vectors(student, old._student.state_dict(), old.task_, task)
    return student
