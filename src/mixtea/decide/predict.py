"""From a trained student to answers: ranked candidates with probabilities, a mapping, scores of links."""

from __future__ import annotations

from collections.abc import Mapping as Table
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mixtea.calibration.calibrator import calibration_measures
from mixtea.calibration.probabilities import PairProbabilities
from mixtea.callbacks import report_step
from mixtea.compute.matching import match_greedily
from mixtea.compute.nearest import nearest
from mixtea.compute.pairs import pairs_of_keys, positions
from mixtea.config import Config
from mixtea.decide.answers import CANDIDATES_STORED, Answers, FallbackTargets, Ranked
from mixtea.decide.candidates import Candidates
from mixtea.decide.choose import Choice
from mixtea.decide.decode import Decoded, StoredOpinions, decode
from mixtea.decide.decoders import rank_top
from mixtea.decide.fallback import fallback_targets
from mixtea.decide.mapping import Mapping
from mixtea.decide.ranked_links import RankedLinks
from mixtea.evaluation.metrics import both_directions
from mixtea.graph.task import Task
from mixtea.voters.registry import outside_evidence

ONE_TO_ONE = "one_to_one"  # the decoder that gives each target once


class DecodedTargets(NamedTuple):
    """For p sources some of their targets [p, k], what ranks them, the belief, and supporting voters [p, k, v]."""

    target: Tensor
    score: Tensor
    belief: Tensor
    supporters: Tensor


class Predictor:
    """Answers about one task by one student's vectors [n, d], the settings `decoder` and `decode_voters`.

    Where targets are given `once`, sources are rivals for them. `multiple_targets` is how likely a source has several;
    None: as often as sources of links have.
    """

    def __init__(
        self, vectors: Tensor, task: Task, config: Config, last: StoredOpinions | None,
        packages: Table[str, str] | None = None, decoded: Decoded | None = None, *, once: bool = True,
        multiple_targets: float | None = None,
    ) -> None:  # fmt: skip
        self.vectors, self.task, self.config, self.last, self.packages = vectors, task, config, last, packages
        self.once, self.multiple_targets = once, multiple_targets
        self.source_index = np.setdiff1d(np.arange(task.source.n_entities), task.closed_entities(0))
        self.rows = torch.from_numpy(self.source_index).to(vectors.device)
        if decoded is not None:
            self.decoded = decoded

    @cached_property
    def decoded(self) -> Decoded:
        return decode(self.vectors, self.task, self.config, self.last, self.packages)

    @cached_property
    def pairs(self) -> PairProbabilities:
        """Return how likely each candidate is right."""
        return PairProbabilities(
            self.task, self.decoded, self.last, self.source_index, once=self.once,
            multiple_targets=self.multiple_targets,
        )  # fmt: skip

    def answers(self) -> Answers:
        """Return what a run keeps: the best candidates, likeliest first, and the assignment of mappings."""
        report_step("calibration of probabilities, and the mapping")
        found = self._ranked(CANDIDATES_STORED)
        decided, is_assigned = self._decided()
        left = self._left(decided, is_assigned)
        held = self.decoded.opinions.scores
        target = torch.from_numpy(found.target).to(self.rows.device)
        scores = {name: self._looked_up(target, s, np.nan).cpu().numpy() for name, s in held.items()}
        first = torch.from_numpy(decided.target[:, :1]).to(self.rows.device)
        parts = self._parts(torch.cat([first, target[:, :1]], dim=1))
        kinds = outside_evidence(self.decoded.voters)
        return Answers(
            self.task,
            self.config.deciding_voters,
            self.source_index,
            found,
            scores,
            decided,
            is_assigned,
            parts,
            left,
            kinds,
        )

    def candidates(self, k: int) -> Candidates:
        """Return the k likeliest of all targets for every source without a training link."""
        found = self._ranked(max(k, CANDIDATES_STORED))
        parts = (
            found.target[:, :k],
            found.score[:, :k],
            found.probability(k),
            found.supporters[:, :k],
            found.counterpart,
        )
        voters = self.config.deciding_voters
        return Candidates(self.task.source, self.task.target, self.source_index, *parts, voters)

    def mapping(self, choice: Choice, *, with_given: bool = False) -> Mapping:
        """Decide about every source without a given link."""
        return self.answers().mapping(choice, with_given=with_given)

    def _parts(self, target: Tensor) -> dict[str, np.ndarray]:
        """Return [p, k] per opinion: what it adds to the score of these targets, in units of the temperature."""
        return {name: self._looked_up(target, part, np.nan).cpu().numpy() for name, part in self.decoded.parts.items()}

    def scores(self, links: np.ndarray, first: Candidates | None = None) -> dict[str, float]:
        """Compute Hit@k and MRR of links [p, 2] both ways, and calibration measures of their mappings.

        `first` are the candidates of these settings, where they are known already.
        """
        joint = self._joint(links)
        if self.config.only_student_decodes:
            everything = self.task.source.n_entities if self.config.candidates == "all" else None
            found = both_directions(self.vectors, joint, everything, mib=self.config.block_mib)
        else:
            found = RankedLinks(self.decoded, self.task, joint).scores()
        candidates = first or self.candidates(1)
        asked = np.isin(self.source_index, links[:, 0])
        if not asked.any():
            return found
        right = self._among(links, self.source_index[asked], candidates.target_index[asked, 0])
        return found | dict(calibration_measures(candidates.probability[asked, 0], right))

    def first_hits(self, links: np.ndarray) -> np.ndarray:
        """Return [p]: how likely each of the links [p, 2] is the first of its source, ties in expectation."""
        return RankedLinks(self.decoded, self.task, self._joint(links)).first_hits()

    def _joint(self, links: np.ndarray) -> Tensor:
        """Return links by joint index, targets after all sources."""
        return torch.from_numpy(links + np.array([0, self.task.source.n_entities])).to(self.vectors.device)

    def _decided(self) -> tuple[Ranked, np.ndarray]:
        """Return the target that each source is assigned and its likeliest other one; and whether it is assigned any.

        The likeliest pair is taken again and again, without the ends of validation links, whose sources have theirs. A
        source that gets none has its two likeliest targets here.
        """
        task, pairs = self.task, self.pairs
        k = min(2, task.target.n_entities)
        found = self._ranked(max(CANDIDATES_STORED, k))
        p, target = found.probability(found.target.shape[1]), found.target[:, :k].copy()
        row = pairs.row[pairs.source]
        taken = np.isin(pairs.target, task.valid[:, 1]) if self.once else np.zeros(len(row), dtype=bool)
        is_open = ~taken & ~np.isin(pairs.source, task.linked_sources)
        kept = np.flatnonzero(is_open & (row >= 0))
        if self.once:
            kept = kept[match_greedily(row[kept], pairs.target[kept], pairs.probability[kept], self._shape)]
            assigned = np.full(len(self.source_index), -1)
            assigned[row[kept]] = pairs.target[kept]
        else:
            has = np.isin(np.arange(len(self.source_index)), row[kept]) & (p[:, 0] > 0 if k else False)
            assigned = np.where(has, target[:, 0] if k else -1, -1)
        other = np.flatnonzero((assigned >= 0) & (assigned != target[:, 0])) if k else np.empty(0, dtype=np.int64)
        target[other, 1:] = target[other, :1]
        target[other, 0] = assigned[other]
        return self._complete(self._with_belief(torch.from_numpy(target).to(self.rows.device))), assigned >= 0

    @property
    def _shape(self) -> tuple[int, int]:
        return self.task.source.n_entities, self.task.target.n_entities

    def _with_belief(self, target: Tensor) -> DecodedTargets:
        """Return candidates [p, k] with the belief in them, which is their score, and the voters that support them."""
        belief = self._looked_up(target, self.decoded.opinions.belief)
        return DecodedTargets(target, belief.double(), belief, self._looked_up(target, self.decoded.supporters))

    def _left(self, found: Ranked, is_assigned: np.ndarray) -> FallbackTargets:
        """Return the fallback targets of the sources that lost theirs, where every one is to be mapped.

        Entities without triples get and are none: they have no trained vectors.
        """
        task, n = self.task, self.task.source.n_entities
        asked = ~np.isin(self.source_index, task.linked_sources) & ~found.no_evidence[:, 0]
        lost = np.flatnonzero(asked & ~is_assigned & ~task.source.isolated()[self.source_index])
        given = np.concatenate([task.train[:, 1], task.valid[:, 1], found.target[asked & is_assigned, 0]])
        others = np.setdiff1d(np.flatnonzero(~task.target.isolated()), given)
        vectors, rejected = (self.vectors[:n], self.vectors[n:]), set(map(tuple, task.rejected.tolist()))
        target = np.full(len(self.source_index), -1, dtype=np.int64)
        target[lost] = fallback_targets(vectors, self.source_index[lost], others, rejected, self.config)
        first = torch.from_numpy(np.where(target >= 0, target, found.target[:, 0]))[:, None].to(self.rows.device)
        return FallbackTargets(target, self._complete(self._with_belief(first)).likelihood[:, 0])

    def _ranked(self, k: int) -> Ranked:
        """Return the k best by the decoder, the likeliest first; equally likely ones in the order of the decoder."""
        found = self._complete(self._by_decoder(min(k, self.task.target.n_entities)))
        order = np.argsort(-found.likelihood, axis=1, kind="stable")
        return found.ordered(order)

    def _by_decoder(self, k: int) -> DecodedTargets:
        """Return the k best by the decoder."""
        if not self.config.only_student_decodes:
            return self._of_decoder(k)
        score, target = self._nearest(self.rows, k)
        named = self._student_supporters(target)
        return DecodedTargets(target, score, self._looked_up(target, self.decoded.opinions.belief), named)

    def _nearest(self, rows: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return (nearness, targets) [p, k] of some sources: the student's nearest (Eq. 1), without rejected ones."""
        config = self.config
        sources, targets = self.vectors.index_select(0, rows), self.vectors[self.task.source.n_entities :]
        wider = min(k + self._most_rejected, len(targets))
        score, found = nearest(sources, targets, wider, config.metric, engine=self._engine, mib=config.block_mib)
        return self._without_rejected(rows, score, found, k)

    @property
    def _engine(self) -> str:
        return "auto" if self.config.search == "exact" else self.config.search

    def _student_supporters(self, found: Tensor) -> Tensor:
        """Return bool [p, k, v]: which of the nearest [p, k] the student's two directions support."""
        names = self.config.deciding_voters
        named = torch.zeros(*found.shape, len(names), dtype=torch.bool, device=found.device)
        if "backward" in names:
            named[..., names.index("backward")] = self._favourites(found)
        if "forward" in names:
            named[:, :1, names.index("forward")] = True
        return named

    @cached_property
    def _most_rejected(self) -> int:
        """Return the greatest number of rejected targets of one source."""
        return int(np.bincount(self.task.rejected[:, 0]).max(initial=0)) if len(self.task.rejected) else 0

    def _without_rejected(self, rows: Tensor, score: Tensor, found: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Return the first k of each row that were not rejected; there are more than k where some were."""
        if not self._most_rejected:
            return score, found
        last = self._are_rejected(rows[:, None], found).int().argsort(dim=1, stable=True)[:, :k]
        return score.gather(1, last), found.gather(1, last)

    def _are_rejected(self, source: Tensor, target: Tensor) -> Tensor:
        m = self.task.target.n_entities
        rejected = torch.from_numpy(self.task.rejected[:, 0] * m + self.task.rejected[:, 1]).to(target.device)
        return torch.isin(source * m + target, rejected)

    def _favourites(self, found: Tensor) -> Tensor:
        """Return bool [n, k]: where source row i is the nearest of all sources to its candidate found[i, j]."""
        if not len(self.rows):
            return torch.zeros_like(found, dtype=torch.bool)
        chosen, place = torch.unique(found, return_inverse=True)
        sources = self.vectors.index_select(0, self.rows)
        targets = self.vectors.index_select(0, chosen + self.task.source.n_entities)
        metric, mib = self.config.metric, self.config.block_mib
        most = int(np.bincount(self.task.rejected[:, 1]).max(initial=0)) if len(self.task.rejected) else 0
        _, near = nearest(targets, sources, min(1 + most, len(sources)), metric, engine=self._engine, mib=mib)
        if most:  # the nearest that was not rejected
            first = self._are_rejected(self.rows[near], chosen[:, None]).int().argsort(dim=1, stable=True)[:, :1]
            near = near.gather(1, first)
        return near[place, 0] == torch.arange(len(sources), device=found.device)[:, None]

    def _looked_up(self, target: Tensor, values: Tensor, otherwise: float = 0) -> Tensor:
        """Return [p, k, ...]: the values of candidates that the decoder has considered, `otherwise` for others."""
        place, there = self._find(target)
        if not len(values):
            return values.new_full((*target.shape, *values.shape[1:]), otherwise)
        there = there.view(*there.shape, *[1] * (values.ndim - 1))
        return values[place].where(there, torch.tensor(otherwise, dtype=values.dtype, device=values.device))

    def _find(self, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the place of each candidate [p, k] among the decoder's, and whether it is there."""
        source = self.decoded.places(0, self.rows)[:, None].expand_as(target)
        column = self.decoded.places(1, target)
        place, there = self.decoded.opinions.pairs.find(source.clamp(min=0), column.clamp(min=0))
        return place, there & (source >= 0) & (column >= 0)

    def _of_decoder(self, k: int) -> DecodedTargets:
        """Return the decoder's candidates, then the nearest of what is left."""
        decoded, rows = self.decoded, self.rows
        pairs, m = decoded.opinions.pairs, self.task.target.n_entities
        ends = decoded.entities.own
        own = positions(rows, self.task.source.n_entities)[ends[0][pairs.source]] * m + ends[1][pairs.target]
        short = (torch.bincount(own // m, minlength=len(rows)) < min(k, m)).nonzero().flatten()
        found = self._nearest(rows[short], k)[1]
        filler = (short[:, None] * m + found).flatten()
        both = pairs_of_keys(torch.cat([own, filler]), (len(rows), m))
        ranking, belief = (decoded.opinions.belief.new_full((len(both),), value) for value in (-1e9, 0.0))
        where = both.find(own // m, own % m)[0]
        after = torch.arange(found.shape[1], device=rows.device).expand_as(found).flatten()
        ranking[both.find(filler // m, filler % m)[0]] -= after.to(ranking.dtype) * 1e3
        ranking[where], belief[where] = decoded.ranking, decoded.opinions.belief
        shown = belief if decoded.config.decoder in ("sinkhorn", ONE_TO_ONE) else ranking.clamp(min=-10.0)
        named = torch.zeros(len(both), decoded.supporters.shape[1], dtype=torch.bool, device=rows.device)
        named[where] = decoded.supporters
        best = rank_top(both, ranking, min(k, m))
        return DecodedTargets(both.target[best], shown[best].double(), belief[best], named[best])

    def _complete(self, found: DecodedTargets) -> Ranked:
        """Add what else is known of the candidates, and how likely they are."""
        opinions = self.decoded.opinions
        chosen = self._looked_up(found.target, opinions.pairs.best_of_columns(opinions.belief))
        no_evidence = self._has_no_evidence(found.target)
        supporters = found.supporters & ~no_evidence[..., None]
        target, score, belief, favoured, best, unknown = (
            part.cpu().numpy() for part in (found.target, found.score, found.belief, supporters, chosen, no_evidence)
        )
        p = torch.from_numpy(self.pairs.probability).to(self.rows.device)
        probability = self._looked_up(found.target, p).masked_fill(no_evidence, 0.0).cpu().numpy()
        counterpart = self.pairs.counterpart
        likelihood = np.minimum(probability / np.maximum(counterpart, 1e-12)[:, None], 1.0)
        parts = (target, score, belief, favoured, best, unknown, likelihood, counterpart)
        return Ranked(*parts, links_are_random=self.pairs.links_are_random)

    def _has_no_evidence(self, target: Tensor) -> Tensor:
        """Return bool [p, k]: pairs without evidence: rejected, or with an end without triples that no voter covers."""
        alone = [torch.from_numpy(g.isolated()).to(self.rows.device) for g in (self.task.source, self.task.target)]
        unknown = (alone[0][self.rows][:, None] | alone[1][target]) & ~self._find(target)[1]
        return unknown | self._are_rejected(self.rows[:, None], target)

    def _among(self, links: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return bool: whether each pair is one of the links."""
        m = self.task.target.n_entities
        return np.isin(source * m + target, links[:, 0] * m + links[:, 1])
