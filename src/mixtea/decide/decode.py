"""After training: from the student's vectors and the voters' last opinions to a ranking of candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from mixtea.calibration.unsupervised import PairEvidence, evidence_of, without_links
from mixtea.compute.pairs import Pairs, cosines, nearest_pairs, pairs_of_keys, positions, without
from mixtea.compute.similarity import fast_products, unit
from mixtea.config import Config
from mixtea.council.council import ROUNDS_ALONE, know_all, rejected_pairs, spoken_of, voters_of
from mixtea.council.holdout import Rehearsed
from mixtea.council.opinions import (
    Ask,
    Opinions,
    believed,
    favourites,
    giving_log_odds,
    parts_of,
    said_alone,
    scales,
    settle,
    total_score,
)
from mixtea.decide.decoders import decide
from mixtea.errors import ConfigError
from mixtea.graph.task import Task
from mixtea.voters.base import AFTER_TRAINING, Belief, Voter, VotingState, is_independent
from mixtea.voters.open_entities import EntityPairs, OpenEntities, find_open_entities
from mixtea.voters.registry import voter_class
from mixtea.voters.student import VECTORS_GROUP
from mixtea.voters.validate import voter_scores

MIXTURE = {"teaching": "mixture", "search": "exact", "metric": "cosine"}


@dataclass(frozen=True, eq=False)
class StoredOpinions:
    """What the voters beside the student thought last, as arrays that a run folder keeps.

    `source`, `target` are entities by their own graph's numbers; `scores` maps an opinion to its score of each pair,
    NaN for none. Pairs with an end that has a training link are what was said when nobody knew that link.
    """

    source: np.ndarray
    target: np.ndarray
    scores: dict[str, np.ndarray]
    weights: dict[str, float]


def stored_opinions(opinions: Opinions, entities: OpenEntities, rehearsed: Rehearsed | None = None) -> StoredOpinions:
    """A council's opinions in the graphs' own numbers, without the student's, which its vectors tell.

    Beside those about open entities, what was said of training links, and of their rivals, when nobody knew them.
    """
    pairs, own = opinions.pairs, entities.own
    source, target = (own[side][rows].cpu().numpy() for side, rows in enumerate((pairs.source, pairs.target)))
    scores = {name: s.cpu().numpy() for name, s in opinions.scores.items() if name != VECTORS_GROUP}
    if rehearsed is not None:
        source, target = np.r_[source, rehearsed.source], np.r_[target, rehearsed.target]
        silent = np.full(len(rehearsed.source), np.nan)
        scores = {name: np.r_[s, rehearsed.scores.get(name, silent).astype(s.dtype)] for name, s in scores.items()}
    order = np.lexsort((target, source))
    others = {name: s[order] for name, s in scores.items()}
    return StoredOpinions(source[order].astype(np.int32), target[order].astype(np.int32), others, opinions.weights)


@dataclass(frozen=True, eq=False)
class Decoded:
    """Candidates of the open entities with a ranking, a belief, and the voters that favour each.

    The entities of both sides are in random order, since ties go to the first.
    """

    entities: OpenEntities
    opinions: Opinions
    voters: list[Voter]
    config: Config
    alone: bool = False  # no links were given, so that the belief knows no counterpart as a rival
    evidence: PairEvidence | None = (
        None  # of text and structure, whatever links there are; None where no text is compared
    )

    def places(self, side: int, entities: Tensor) -> Tensor:
        """Where each of the entities, by their own graph's numbers, stands in the rows of its side, -1 if nowhere."""
        return self.entities.place_of[entities + side * self.entities.sizes[0]]

    @cached_property
    def ranking(self) -> Tensor:
        opinions = self.opinions
        return decide(opinions.pairs, opinions.total, opinions.belief, self.config.decoder)

    @cached_property
    def named(self) -> Tensor:
        """bool [candidates, voters]: who favours each."""
        return favourites(self.opinions.pairs, self.opinions.scores, self.voters)

    @cached_property
    def parts(self) -> dict[str, Tensor]:
        """What each opinion adds to the total of each candidate, divided by the temperature; NaN where it has none."""
        held = self.opinions
        found = parts_of(held.scores, scales(self.voters, held.weights), giving_log_odds(self.voters))
        return {name: part / self.config.sinkhorn_temperature for name, part in found.items()}

    def untrained(self, scores: Mapping[str, Tensor]) -> tuple[np.ndarray, np.ndarray]:
        """([p], [p]): what structure, and what names and the like add for pairs by their scores, divided by the

        temperature; without the student, unless nobody else decides.
        """
        heard = {name: values for name, values in scores.items() if name != VECTORS_GROUP} or dict(scores)
        log_odds = giving_log_odds(self.voters)
        parts = parts_of(heard, scales(self.voters, self.opinions.weights), log_odds)
        found = [np.zeros(len(next(iter(scores.values())))) for _ in range(2)]
        for name, part in parts.items():
            added = part.nan_to_num(0.0).double().cpu().numpy() / self.config.sinkhorn_temperature
            found[name in log_odds] += added
        return found[0], found[1]

    def among(self, sources: Tensor, targets: Tensor) -> tuple[Pairs, Tensor]:
        """Candidates and their ranking among some rows alone, which become rows 0, 1, 2, ... in their given order."""
        pairs, config = self.opinions.pairs, self.config
        source = positions(sources, pairs.shape[0])[pairs.source]
        target = positions(targets, pairs.shape[1])[pairs.target]
        inside = (source >= 0) & (target >= 0)
        order = torch.argsort(source[inside] * len(targets) + target[inside])
        few = Pairs(source[inside][order], target[inside][order], (len(sources), len(targets)))
        total = self.opinions.total[inside][order]
        belief = self.opinions.belief[inside][order] if self.alone else believed(few, total, config)
        return few, decide(few, total, belief, config.decoder)


def check_deciding(voters: Sequence[Voter], config: Config) -> None:
    """Refuse voters whose scores a training with these settings does not leave, before it begins."""
    if all(voter.uses_belief for voter in voters):
        names = ", ".join(voter.name for voter in voters)
        raise ConfigError(f"decode_voters: {names} only judges what others think. Name forward,backward too.")
    others = [
        v.name for v in voters if not v.uses_belief and v.opinion != VECTORS_GROUP and v.name not in config.voters
    ]
    if others:
        raise ConfigError(
            f"{', '.join(others)} did not vote in this training, so there is nothing to decode. "
            "Name voters of the run, or train with them: --set voters=..."
        )


def deciding_alone(config: Config, last: StoredOpinions | None) -> dict[str, tuple[str, ...]]:
    """Group the deciding voters: all, those of structure, and each that compares entities without a belief.

    Empty where none of the latter has stored opinions.
    """
    voters, held = config.deciding_voters, {} if last is None else last.scores
    with_opinion = [name for name in voters if name in held and not np.isnan(held[name]).all()]
    kinds = {name: voter_class(name) for name in (voters if with_opinion else ())}
    comparing = [name for name in with_opinion if kinds[name].evidence != "structure" and is_independent(kinds[name])]
    structure = tuple(name for name, kind in kinds.items() if kind.evidence == "structure")
    alone = {} if all(kinds[name].uses_belief for name in structure) else {"structure": structure}
    return {"all": voters} | alone | {name: (name,) for name in comparing} if comparing else {}


@torch.no_grad()
def decode(
    vectors: Tensor, task: Task, config: Config, last: StoredOpinions | None, packages: Mapping[str, str] | None = None
) -> Decoded:
    """Ranked candidates by the settings `decoder` and `decode_voters`.

    From the stored opinions where others than the student and its listeners decide; `packages` tells where voters come
    from that may not be here. Where nothing was left to vote on, the student decides.
    """
    if config.vote_normaliser != "sinkhorn":  # the decoders' belief, whatever the votes were made by
        config = config.replace(vote_normaliser="sinkhorn", **MIXTURE)
    voters = voters_of(task, config, config.deciding_voters, packages)
    check_deciding(voters, config)
    generator = torch.Generator().manual_seed(config.seed)
    entities = find_open_entities(task, generator, vectors.device, without_triples=know_all(voters))
    units = (unit(vectors[entities.rows[0]]), unit(vectors[entities.rows[1]]))
    state = VotingState(task, config, entities, torch.Generator(vectors.device), vectors=vectors, epoch=AFTER_TRAINING)
    wanted = {voter.opinion for voter in voters}
    others = {voter.opinion for voter in voters if not voter.uses_belief} - {VECTORS_GROUP}
    if last is not None and (others or wanted == {VECTORS_GROUP, *last.scores}):
        opinions = _remembered(units, state, voters, last)
    else:
        opinions = _anew(units, state, voters)
    compared = without_links(task) and any(is_independent(voter) for voter in voters)
    if not compared and said_alone(opinions.scores, voters) is None:
        return Decoded(entities, opinions, voters, config)  # nobody compares texts
    evidence, alone = evidence_of(opinions, entities, voters, task, config), without_links(task)
    if alone:
        opinions = replace(opinions, belief=torch.from_numpy(evidence.probability()).to(opinions.belief))
    return Decoded(entities, opinions, voters, config, alone, evidence)


def _remembered(
    units: tuple[Tensor, Tensor], state: VotingState, voters: list[Voter], last: StoredOpinions
) -> Opinions:
    """The council's last opinions, about the same entities in another order; listeners that had none are asked."""
    entities = state.entities

    def tensor(array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(units[0].device)

    shifts = (0, entities.sizes[0])
    ends = [
        entities.place_of[tensor(side).long() + s] for side, s in zip((last.source, last.target), shifts, strict=True)
    ]
    open_ends = (ends[0] >= 0) & (ends[1] >= 0)
    key = (ends[0] * entities.shape[1] + ends[1])[open_ends]
    pairs = pairs_of_keys(key, entities.shape)
    order = torch.argsort(key)
    wanted = {voter.opinion for voter in voters}
    scores = {VECTORS_GROUP: _student(units, pairs, entities)} if VECTORS_GROUP in wanted else {}
    scores |= {name: tensor(values)[open_ends][order] for name, values in last.scores.items() if name in wanted}
    pairs, scores = spoken_of(pairs, scores)
    if any(voter.uses_belief and voter.opinion not in scores for voter in voters):
        return settle(pairs, entities, scores, last.weights, voters, _asks(state), state.config, None, ROUNDS_ALONE)
    total = total_score(scores, scales(voters, last.weights), giving_log_odds(voters))
    return Opinions(pairs, scores, believed(pairs, total, state.config), total, last.weights)


def _student(units: tuple[Tensor, Tensor], pairs: Pairs, entities: OpenEntities) -> Tensor:
    return entities.mask_without_triples(pairs, cosines(*units, pairs))


def _anew(units: tuple[Tensor, Tensor], state: VotingState, voters: list[Voter]) -> Opinions:
    """The student's nearest, judged by the student and by those who listen to what is believed."""
    config, entities = state.config, state.entities
    with fast_products(config.fast_products):
        pairs = nearest_pairs(*units, config.vote_candidates, mib=config.block_mib)
    pairs = without(pairs, rejected_pairs(state.task, entities))
    pairs, scores = spoken_of(pairs, {VECTORS_GROUP: _student(units, pairs, entities)})
    return settle(pairs, entities, scores, {}, voters, _asks(state), config, None, ROUNDS_ALONE)


def _asks(state: VotingState) -> Ask:
    """How listeners are asked under a belief."""

    def ask(voter: Voter, asked: EntityPairs, belief: Belief | None) -> Tensor:
        state.belief = belief
        return voter_scores(voter, asked, state)

    return ask
