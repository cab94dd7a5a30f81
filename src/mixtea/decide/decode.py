"""Decode the student's vectors and the voters' last opinions into a ranking of candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from mixtea.calibration.unsupervised import PairEvidence, collect_evidence, has_no_links
from mixtea.compute.arrays import as_numpy, to_tensor
from mixtea.compute.nearest import cosines, nearest_pairs
from mixtea.compute.scored_pairs import ScoredPairs, concat, positions, scored
from mixtea.compute.similarity import fast_products, unit
from mixtea.config import Config
from mixtea.council.council import BELIEF_ROUNDS, bind_voters, cover_isolated, drop_unscored, rejected_pairs
from mixtea.council.opinions import (
    Opinions,
    calibrated_opinions,
    compute_belief,
    find_supporters,
    form_opinions,
    independent_log_odds,
    score_factors,
    score_parts,
    total_score,
)
from mixtea.decide.decoders import decide
from mixtea.errors import ConfigError
from mixtea.evaluation.metrics import METRICS, better_and_equal, hits_at_1, sparse_ranking_metrics
from mixtea.graph.joint_index import OpenIndex, find_open_entities
from mixtea.graph.task import Task
from mixtea.voters.base import AFTER_TRAINING, Voter, VotingState
from mixtea.voters.log_odds import log_odds_of_several
from mixtea.voters.registry import voter_class
from mixtea.voters.structure import VECTORS_GROUP

MIXTURE = {"teaching": "mixture", "search": "exact", "metric": "cosine"}


@dataclass(frozen=True, eq=False)
class StoredOpinions:
    """The last opinions of the voters beside the student, as a run folder keeps them.

    `pairs` are those of entities, with the scores of each opinion, NaN for none. Pairs with an end that has a training
    link were scored with that link held out. `wrong` is the share of matches about which each view of text is wrong.
    """

    pairs: ScoredPairs
    weights: dict[str, float]
    wrong: Mapping[str, float] = field(default_factory=dict)

    @property
    def scores(self) -> dict[str, np.ndarray]:
        return self.pairs.scores


def stored_opinions(
    opinions: Opinions, holdout: ScoredPairs | None = None, wrong: Mapping[str, float] | None = None
) -> StoredOpinions:
    """Return a council's opinions by entity index, without the student's, which follows from its vectors.

    Beside those about open entities there are those of held-out training links and of their rivals.
    """
    others = {name: scores for name, scores in opinions.scores.items() if name != VECTORS_GROUP}
    pairs = opinions.pairs.with_columns(**scored(others)).by_entity
    if holdout is not None:
        known = {name: values for name, values in holdout.columns.items() if name in pairs.columns}
        pairs = concat([pairs, replace(holdout, columns=known)])
    return StoredOpinions(pairs.sorted(), opinions.weights, wrong or {})


@dataclass(frozen=True, eq=False)
class Decoded:
    """Candidates of the open entities with a ranking, a belief, and the voters that support each.

    The entities of both sides are in random order, since ties go to the first.
    """

    entities: OpenIndex
    opinions: Opinions
    voters: list[Voter]
    config: Config
    unsupervised: bool = False  # without links, the belief has no counterpart as a rival
    evidence: PairEvidence | None = (
        None  # of text and structure, whatever links there are; None where no text is compared
    )
    wrong: Mapping[str, float] = field(default_factory=dict)  # of each view of text, as in StoredOpinions

    @cached_property
    def ranking(self) -> Tensor:
        opinions = self.opinions
        return decide(opinions.pairs, opinions.total, opinions.belief, self.config.decoder)

    @cached_property
    def gain_of_several(self) -> np.ndarray:
        """Return [p]: what views of text add to the log-odds of each pair if the targets of a source are no rivals."""
        held, temperature = self.opinions, self.config.sinkhorn_temperature
        source, shape = as_numpy(held.pairs.source), held.pairs.shape
        scores, log_m = dict(held.scores), np.log(shape[1])
        for name in self.wrong.keys() & scores.keys():
            odds = as_numpy(scores[name].double()) / temperature - log_m
            apart = log_odds_of_several(source, odds, self.wrong[name], shape)
            scores[name] = to_tensor((apart + log_m) * temperature).to(scores[name])
        before, after = (independent_log_odds(part, self.voters, held.weights) for part in (held.scores, scores))
        if before is None or after is None:
            return np.zeros(len(source))
        return as_numpy((after - before).nan_to_num(0.0).double()) / temperature

    @cached_property
    def supporters(self) -> Tensor:
        """Return bool [candidates, voters]: which support each."""
        return find_supporters(self.opinions.pairs, self.opinions.scores, self.voters)

    @cached_property
    def parts(self) -> dict[str, Tensor]:
        """Return what each opinion adds to the total of each candidate, divided by the temperature; NaN for nothing."""
        held = self.opinions
        found = score_parts(held.scores, score_factors(self.voters, held.weights), calibrated_opinions(self.voters))
        return {name: part / self.config.sinkhorn_temperature for name, part in found.items()}

    def structure_and_text(self, scores: Mapping[str, Tensor]) -> tuple[np.ndarray, np.ndarray]:
        """Return ([p], [p]): what structure and what text add for pairs by their scores, divided by the temperature.

        Without the student, unless it decides alone.
        """
        scored = {name: values for name, values in scores.items() if name != VECTORS_GROUP} or dict(scores)
        log_odds = calibrated_opinions(self.voters)
        parts = score_parts(scored, score_factors(self.voters, self.opinions.weights), log_odds)
        found = [np.zeros(len(next(iter(scores.values())))) for _ in range(2)]
        for name, part in parts.items():
            added = as_numpy(part.nan_to_num(0.0).double()) / self.config.sinkhorn_temperature
            found[name in log_odds] += added
        return found[0], found[1]

    def rank_among(self, sources: Tensor, targets: Tensor) -> tuple[ScoredPairs, Tensor]:
        """Rank candidates among some rows alone, which become rows 0, 1, 2, ... in their given order."""
        pairs, config = self.opinions.pairs, self.config
        source = positions(sources, pairs.shape[0])[pairs.source]
        target = positions(targets, pairs.shape[1])[pairs.target]
        inside = (source >= 0) & (target >= 0)
        held = {"total": self.opinions.total, "belief": self.opinions.belief}
        few = ScoredPairs(source, target, (len(sources), len(targets)), held).where(inside)
        few = few.where(torch.argsort(few.key))
        total = few.total
        belief = few.belief if self.unsupervised else compute_belief(few, total, config)
        return few, decide(few, total, belief, config.decoder)


def check_deciding(voters: Sequence[Voter], config: Config) -> None:
    """Refuse voters whose scores a training with these settings does not leave, before it begins."""
    if all(voter.uses_belief for voter in voters):
        names = ", ".join(voter.name for voter in voters)
        raise ConfigError(f"decode_voters: {names} only scores what others propose. Name forward,backward too.")
    others = [
        v.name for v in voters if not v.uses_belief and v.opinion != VECTORS_GROUP and v.name not in config.voters
    ]
    if others:
        raise ConfigError(
            f"{', '.join(others)} did not vote in this training, so there is nothing to decode. "
            "Name voters of the run, or train with them: --set voters=..."
        )


def voter_groups(config: Config, last: StoredOpinions | None) -> dict[str, tuple[str, ...]]:
    """Group the deciding voters: all, those of structure, and each that compares entities without a belief.

    Empty where none of the latter has stored opinions.
    """
    voters, held = config.deciding_voters, {} if last is None else last.scores
    with_opinion = [name for name in voters if name in held and not np.isnan(held[name]).all()]
    kinds = {name: voter_class(name) for name in (voters if with_opinion else ())}
    comparing = [name for name in with_opinion if kinds[name].evidence != "structure" and kinds[name].is_independent]
    structure = tuple(name for name, kind in kinds.items() if kind.evidence == "structure")
    alone = {} if all(kinds[name].uses_belief for name in structure) else {"structure": structure}
    return {"all": voters} | alone | {name: (name,) for name in comparing} if comparing else {}


@torch.no_grad()
def decode(
    vectors: Tensor,
    task: Task,
    config: Config,
    last: StoredOpinions | None,
    packages: Mapping[str, str] | None = None,
    bound: Sequence[Voter] = (),
) -> Decoded:
    """Rank candidates by the settings `decoder` and `decode_voters`.

    From the stored opinions where others than the student and voters that use its belief decide; `packages` names the
    packages of voters that may not be here; `bound` are voters of a training that are taken where they are bound to the
    same settings. Where nothing was left to vote on, the student decides.
    """
    if config.vote_normaliser != "sinkhorn":  # the decoders' belief, whatever the votes were made by
        config = config.replace(vote_normaliser="sinkhorn", **MIXTURE)
    known = {voter.name: voter for voter in bound if voter.task is task and voter.config == config}
    missing = [name for name in config.deciding_voters if name not in known]
    known |= {voter.name: voter for voter in bind_voters(task, config, missing, packages)} if missing else {}
    voters = [known[name] for name in config.deciding_voters]
    check_deciding(voters, config)
    generator = torch.Generator().manual_seed(config.seed)
    entities = find_open_entities(task, generator, vectors.device, without_triples=cover_isolated(voters))
    units = (unit(vectors[entities.rows[0]]), unit(vectors[entities.rows[1]]))
    state = VotingState(task, config, entities, torch.Generator(vectors.device), vectors=vectors, epoch=AFTER_TRAINING)
    deciding = {voter.opinion for voter in voters}
    others = {voter.opinion for voter in voters if not voter.uses_belief} - {VECTORS_GROUP}
    if last is not None and (others or deciding == {VECTORS_GROUP, *last.scores}):
        opinions = _reindexed(units, state, voters, last)
    else:
        opinions = _from_student(units, state, voters)
    wrong = {} if last is None else last.wrong
    compared = has_no_links(task) and any(voter.is_independent for voter in voters)
    if not compared and independent_log_odds(opinions.scores, voters) is None:
        return Decoded(entities, opinions, voters, config, wrong=wrong)  # no voter compares texts
    evidence, alone = collect_evidence(opinions, voters, task, config), has_no_links(task)
    if alone:
        opinions = replace(opinions, belief=to_tensor(evidence.probability()).to(opinions.belief))
    return Decoded(entities, opinions, voters, config, alone, evidence, wrong)


def _reindexed(units: tuple[Tensor, Tensor], state: VotingState, voters: list[Voter], last: StoredOpinions) -> Opinions:
    """Reindex the council's last opinions; ask the voters that use the belief and had none."""
    pairs, deciding = last.pairs.reindex(state.entities), {voter.opinion for voter in voters}
    held, pairs = pairs.scores, replace(pairs, columns={})
    scores = {VECTORS_GROUP: _student_scores(units, pairs, state.entities)} if VECTORS_GROUP in deciding else {}
    scores |= {name: values for name, values in held.items() if name in deciding}
    pairs, scores = drop_unscored(pairs, scores)
    if any(voter.uses_belief and voter.opinion not in scores for voter in voters):
        return form_opinions(pairs, scores, last.weights, voters, state, BELIEF_ROUNDS)
    total = total_score(scores, score_factors(voters, last.weights), calibrated_opinions(voters))
    return Opinions(pairs, scores, compute_belief(pairs, total, state.config), total, last.weights)


def _student_scores(units: tuple[Tensor, Tensor], pairs: ScoredPairs, entities: OpenIndex) -> Tensor:
    return entities.mask_without_triples(pairs, cosines(*units, pairs))


def _from_student(units: tuple[Tensor, Tensor], state: VotingState, voters: list[Voter]) -> Opinions:
    """Let the student and the voters that use the belief score the student's nearest."""
    config, entities = state.config, state.entities
    with fast_products(config.fast_products):
        pairs = nearest_pairs(*units, config.vote_candidates, mib=config.block_mib)
    pairs = entities.open_pairs(pairs).without(rejected_pairs(state.task, entities))
    pairs, scores = drop_unscored(pairs, {VECTORS_GROUP: _student_scores(units, pairs, entities)})
    return form_opinions(pairs, scores, {}, voters, state, BELIEF_ROUNDS)


class RankedLinks:
    """Links [p, 2] by joint index. A training link is given, so it is right; others of its ends are not."""

    def __init__(self, decoded: Decoded, task: Task, joint: Tensor) -> None:
        self.decoded, self.places = decoded, decoded.entities.place_of[joint]
        self.is_open = (self.places >= 0).all(1)
        links = ScoredPairs.of(as_numpy(task.joint_index.to_pairs(joint)), task.joint_index.shape)
        given = to_tensor(links.are_among(task.train), joint.device)
        self.right = (given & ~self.is_open).double()

    def _among_candidates(self) -> tuple[ScoredPairs, Tensor, Tensor]:
        """Return the candidates among the ends of the links (or all), their ranking, and the open links by place."""
        open_places, decoded = self.places[self.is_open], self.decoded
        if decoded.config.candidates == "all":
            kept = [torch.arange(n, device=open_places.device) for n in decoded.entities.shape]
        else:
            kept = [torch.unique(open_places[:, side]) for side in (0, 1)]
        ends = [torch.searchsorted(kept[side], open_places[:, side].contiguous()) for side in (0, 1)]
        return *decoded.rank_among(*kept), torch.stack(ends, dim=1)

    def scores(self) -> dict[str, float]:
        """Compute Hit@k and MRR both ways."""
        right, share = float(self.right.mean()), float(self.is_open.double().mean())
        if not share:
            return {prefix + name: right for prefix in ("", "backward_") for name in METRICS}
        pairs, ranking, links = self._among_candidates()
        turned = ScoredPairs(pairs.target, pairs.source, (pairs.shape[1], pairs.shape[0]))
        order = torch.argsort(turned.key)
        turned = turned.where(order)
        found = sparse_ranking_metrics(pairs, ranking, links)
        back = sparse_ranking_metrics(turned, ranking[order], links.flip(1))
        found |= {f"backward_{name}": value for name, value in back.items()}
        return {name: value * share + right for name, value in found.items()}

    def first_hits(self) -> np.ndarray:
        """Return [p]: how likely each link is the first of its source, ties in expectation."""
        hits = self.right.clone()
        if self.is_open.any():
            hits[self.is_open] = hits_at_1(*better_and_equal(*self._among_candidates()))
        return as_numpy(hits)
