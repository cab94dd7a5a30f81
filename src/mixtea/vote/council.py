"""The council: all voters judge the same candidates, their scores add up, and a belief decides the votes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from mixtea.compute import distributed
from mixtea.compute.pairs import Pairs, pairs_of_keys, places, union
from mixtea.compute.similarity import fast_products, unit_rows
from mixtea.config import Config
from mixtea.data.task import Task
from mixtea.encode.structure import joint_triples
from mixtea.match.candidates import VOTERS
from mixtea.teach.fuse import fuse, vote_weights
from mixtea.teach.state import State, as_array, as_arrays, as_tensors, checked_rows
from mixtea.vote import Voter
from mixtea.vote.agreement import AgreementVoter, Belief
from mixtea.vote.normalise import csls, sinkhorn
from mixtea.vote.propagation import Propagation, PropagationVoter
from mixtea.vote.vectors import VectorVoter
from mixtea.vote.votes import Votes

OnRound = Callable[[int, int], None]
ROUNDS_ALONE = 4  # in which belief and agreement settle before and after training; while training, one a vote
SETTLED = 1.0025  # sure pairs that grow by less a round: more rounds do not help


@dataclass(frozen=True, eq=False)
class Opinions:
    """What the council thinks: candidates in rows of the unlabelled entities, each voter's scores of them, the belief.

    `total` are the scores added up by the voters' weights.
    """

    pairs: Pairs
    scores: dict[str, Tensor]
    belief: Tensor
    total: Tensor
    weights: dict[str, float]


class Council:
    """Voters beside the vectors, the belief they came to, and how much each one's word weighs.

    `rows` are the unlabelled entities of both sides in joint numbers; votes and beliefs are about places in them.
    """

    def __init__(
        self, task: Task, config: Config, links: Tensor, rows: tuple[Tensor, Tensor], generator: torch.Generator
    ) -> None:
        self.config, self.rows, self.generator = config, rows, generator
        triples, n_relations = joint_triples(task.source, task.target, shared_relations=config.shared_relations)
        head, relation, tail = torch.from_numpy(triples).to(links.device)
        n_source, n = task.source.n_entities, task.source.n_entities + task.target.n_entities
        self.agreement = self.propagation = None
        if config.agreement:
            self.agreement = AgreementVoter(head, relation, tail, n_relations, links, rows, n_source, n)
        if config.propagation:
            graph = Propagation(head, relation, tail, n, n_relations, getattr(torch, config.precision))
            folds = 2 if config.cross_fit else 1
            k = 2 * config.vote_candidates
            self.propagation = PropagationVoter(graph, links, rows, k, folds, config.block_mib)
        self.place_of = torch.maximum(places(rows[0], n), places(rows[1], n))
        self.opinions: Opinions | None = None
        self._propagated: tuple[Tensor, Tensor] | None = None
        self.weights: dict[str, float] = {}

    @torch.no_grad()
    def prepare(self, on_round: OnRound | None = None) -> None:
        """Before any training: propagate, believe, take up the sure pairs, and again until there are no more.

        `on_round` is called after each round with its number and how many pairs are sure.
        """
        if self.propagation is None:
            return
        n_sure = 0
        for number in range(1, self.config.propagation_rounds + 1):
            self.opinions = None
            self._judge([self.propagation], ROUNDS_ALONE)
            sure = self.sure_pairs()
            if on_round is not None:
                on_round(number, len(sure))
            self._refresh(sure)
            if len(sure) < SETTLED * n_sure:
                break
            n_sure = len(sure)

    @torch.no_grad()
    def vote(self, vectors: Tensor, epoch: int, direction_weights: Sequence[float]) -> Votes:
        """Votes from vectors [n, d] of all entities and the other voters: the best of the belief both ways."""
        every = self.config.propagation_every
        if self.propagation is not None and epoch > 1 and (epoch - 1) % every < self.config.votes_every:
            self._refresh(self.sure_pairs())
        if epoch > 1 or self.opinions is None:  # before it has learned, the others' belief speaks alone
            self.judge(vectors)
        return self.votes(direction_weights)

    @torch.no_grad()
    def judge(self, vectors: Tensor, rounds: int = 1) -> None:
        """Form the belief anew, from vectors [n, d] of all entities and the other voters."""
        config = self.config
        source, target = unit_rows(vectors, *self.rows)
        with fast_products(config.fast_products):
            voters: list[Voter] = [VectorVoter("vectors", source, target, config.vote_candidates, config.block_mib)]
            self._judge(voters + ([self.propagation] if self.propagation else []), rounds)

    def _refresh(self, sure: Tensor) -> None:
        """Propagate anew, remembering from what: that is little, what comes of it much."""
        assert self.propagation is not None
        self._propagated = (sure, self.generator.get_state())
        self.propagation.refresh(sure, self.generator)

    def state(self) -> State:
        """What was thought last, and what propagation began with."""
        found: State = {"weights": self.weights, "opinions": None, "propagated": None}
        if self.opinions is not None:
            held = self.opinions
            tensors = as_arrays({"key": held.pairs.key, "belief": held.belief, "total": held.total})
            found["opinions"] = tensors | {"scores": as_arrays(held.scores), "weights": held.weights}
        if self._propagated is not None:
            found["propagated"] = [as_array(part) for part in self._propagated]
        return found

    @torch.no_grad()
    def restore(self, state: State) -> None:
        """Go on from a state; propagation is done again, with the same random numbers."""
        self.weights, shape = dict(state["weights"]), (len(self.rows[0]), len(self.rows[1]))
        device = self.rows[0].device
        if (held := state["opinions"]) is not None:
            pairs = pairs_of_keys(checked_rows(held["key"], shape[0] * shape[1], self.rows[0]), shape)
            scores = as_tensors(held["scores"], device)
            belief, total = as_tensors({"belief": held["belief"], "total": held["total"]}, device).values()
            if any(part.shape != (len(pairs),) for part in (belief, total, *scores.values())):
                raise ValueError("opinions of different lengths")
            self.opinions = Opinions(pairs, scores, belief, total, dict(held["weights"]))
        if (begun := state["propagated"]) is not None and self.propagation is not None:
            sure = checked_rows(begun[0], self.propagation.graph.n, self.rows[0], 2)
            numbers = torch.from_numpy(begun[1])
            self._propagated = (sure, numbers)
            generator = torch.Generator(device)
            generator.set_state(numbers)
            self.propagation.refresh(sure, generator)

    def _judge(self, voters: Sequence[Voter], rounds: int) -> None:
        if self.propagation is not None and not self.propagation.views:
            self._refresh(self.sure_pairs())
        proposed = [found for voter in voters if (found := voter.pairs()) is not None]
        pairs = pairs_of_keys(distributed.copied(union(proposed).key), proposed[0].shape)
        scores = {voter.name: voter.scores(pairs) for voter in voters}
        held = Belief(self.opinions.pairs, self.opinions.belief) if self.opinions is not None else None
        self.opinions = settle(pairs, scores, self.weights, self.agreement, self.config, held, rounds)
        distributed.from_first(self.opinions.belief)

    def sure_pairs(self) -> Tensor:
        """[p, 2] in joint numbers: each the best of the other, believed above the threshold."""
        if self.opinions is None:
            return self.rows[0].new_empty(0, 2)
        pairs, p = self.opinions.pairs, self.opinions.belief
        sure = pairs.best_of_rows(p) & pairs.best_of_columns(p) & (p > self.config.sure_above)
        return torch.stack([self.rows[0][pairs.source[sure]], self.rows[1][pairs.target[sure]]], dim=1)

    def votes(self, direction_weights: Sequence[float]) -> Votes:
        """The best target of each source and the best source of each target, and which voters favour them too."""
        assert self.opinions is not None
        pairs, p = self.opinions.pairs, self.opinions.belief
        cast = []
        for best in (pairs.best_of_rows(p), pairs.best_of_columns(p)):
            chosen = pairs.where(best)
            cast.append(Votes(chosen.source, chosen.target, p.new_ones(len(chosen)), pairs.shape))
        votes = fuse(cast, direction_weights)
        place, _ = pairs.find(votes.source, votes.target)
        return replace(votes, voters=favourites(pairs, self.opinions.scores)[place])

    @torch.no_grad()
    def weigh(self, links: Tensor) -> None:
        """weight_k = hit_k / mean of the hits: Eq. 11 for several voters, scaled so that equal voters weigh 1.

        hit_k is the share of the links [v, 2], in joint numbers, that are voter k's favourite for their source.
        """
        if self.opinions is None:
            return
        pairs, place_of = self.opinions.pairs, self.place_of
        place, found = pairs.find(*(place_of[links[:, side]].clamp(min=0) for side in (0, 1)))
        found &= (place_of[links] >= 0).all(1)
        names = list(self.opinions.scores)
        hits = [(pairs.best_of_rows(self.opinions.scores[n])[place] & found).double().mean().item() for n in names]
        hits = distributed.agreed(hits, links.device)
        self.weights = dict(zip(names, (len(names) * w for w in vote_weights(hits)), strict=True))


def settle(
    pairs: Pairs, scores: dict[str, Tensor], weights: dict[str, float], agreement: AgreementVoter | None,
    config: Config, belief: Belief | None, rounds: int,
) -> Opinions:  # fmt: skip
    """Add the voters' scores, normalise them to a belief, and let neighbours agree on it, `rounds` times.

    Agreement judges by the belief before; without one, by the belief of the other voters.
    """
    scores = dict(scores)
    total = total_score(scores, weights, config)
    p = believed(pairs, total, config)
    if agreement is not None:
        agreement.belief = belief or Belief(pairs, p)
        for _ in range(rounds):
            scores[agreement.name] = agreement.scores(pairs)
            total = total_score(scores, weights, config)
            p = believed(pairs, total, config)
            agreement.belief = Belief(pairs, p)
    return Opinions(pairs, scores, p, total, weights)


def total_score(scores: Mapping[str, Tensor], weights: Mapping[str, float], config: Config) -> Tensor:
    """sum_k weight_k score_k, agreement's by agreement_weight too."""
    scale = {name: weights.get(name, 1.0) for name in scores}
    if "agreement" in scale:
        scale["agreement"] *= config.agreement_weight
    parts = [scale[name] * scores[name] for name in sorted(scores)]  # one order, so that sums round alike
    return torch.stack(parts).sum(0) if len(parts) > 1 else parts[0]


def believed(pairs: Pairs, scores: Tensor, config: Config) -> Tensor:
    """The belief behind scores: p in [0, 1] a pair."""
    if config.vote_normaliser == "sinkhorn":
        return sinkhorn(pairs, scores, config.sinkhorn_temperature, config.sinkhorn_rounds)
    scaled = (csls(pairs, scores) if config.vote_normaliser == "csls" else scores) / config.sinkhorn_temperature
    exponent = (scaled - pairs.row_max(scaled)[pairs.source]).exp()
    return exponent / pairs.row_sum(exponent)[pairs.source]


def favourites(pairs: Pairs, scores: dict[str, Tensor]) -> Tensor:
    """int64 a candidate, bits as in VOTERS: the vectors' favourite forward and backward, the others' in either way."""
    bits = torch.zeros_like(pairs.source)
    for name, values in scores.items():
        rows, columns = pairs.best_of_rows(values), pairs.best_of_columns(values)
        says = values > 0 if name == "agreement" else torch.ones_like(rows)
        if name == "vectors":
            bits += rows.long() + 2 * columns.long()
        else:
            bits += ((rows | columns) & says).long() << VOTERS.index(name)
    return bits
