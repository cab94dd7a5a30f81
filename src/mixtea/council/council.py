"""Let all voters score the same candidates, add up the scores, and form a belief that decides the votes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from mixtea.callbacks import active_callbacks
from mixtea.compute import distributed
from mixtea.compute.arrays import State, check_numbers
from mixtea.compute.memory import release_free_memory
from mixtea.compute.scored_pairs import ScoredPairs, pairs_of_keys, union
from mixtea.compute.similarity import fast_products
from mixtea.config import Config
from mixtea.council.opinions import (
    Opinions,
    belief_of,
    calibrated_opinions,
    find_supporters,
    form_opinions,
    independent_log_odds,
    normalise_with_null,
    restore_opinions,
)
from mixtea.council.weights import shrunk_hits, view_weights, vote_weights
from mixtea.errors import ConfigError
from mixtea.graph.joint_index import OpenIndex
from mixtea.graph.task import Task
from mixtea.voters.base import AFTER_TRAINING, BEFORE_TRAINING, Voter, VotingState
from mixtea.voters.learned import Learned
from mixtea.voters.registry import make_voter
from mixtea.voters.similarity import SimilarityVoter
from mixtea.voters.votes import all_scores, directions, learn_from_sure, proposed_pairs

BELIEF_ROUNDS = 4  # between belief and the voters that use it, after the last epoch; else one
STUDENT_DIRECTIONS = ("forward", "backward")
STOP_GROWTH_LATE = 1.03  # growth of sure pairs per round, below which rounds stop
STOP_GROWTH_EARLY = 1.0025  # the same before LATE_PHASE_SHARE is reached
LATE_PHASE_SHARE = 0.4  # of the open entities sure, from which on the late limit holds
CANDIDATES_KEPT = 10  # per entity, carried over to the next round


def bind_voters(
    task: Task, config: Config, names: Sequence[str], packages: Mapping[str, str] | None = None
) -> list[Voter]:
    """Return the voters of these names, bound to the task; `packages` are those of voters not installed here."""
    return [make_voter(name, task, config, (packages or {}).get(name, "")) for name in names]


def cover_isolated(voters: Sequence[Voter]) -> bool:
    """Check whether some voter covers entities without triples; each is asked before it learns."""
    covering = [voter.name for voter in voters if voter.covers_isolated]
    return bool(covering)


class Council:
    """Voters, the belief that they reach, and their weights.

    Votes and beliefs are about open indices of `entities`. `weights` are those of opinions by the validation links,
    `direction_weights` those of the two directions (beta and 1 - beta of Eq. 10). `given` is what another task has
    taught: its weights are used as they are.
    """

    def __init__(
        self, task: Task, config: Config, voters: Sequence[Voter], entities: OpenIndex, generator: torch.Generator,
        given: Learned | None = None,
    ) -> None:  # fmt: skip
        self.task, self.config, self.voters, self.given = task, config, list(voters), given
        views = {} if given is None else given.views
        for voter in self.voters:
            if isinstance(voter, SimilarityVoter) and voter.name in views:
                voter.opinions().given = views[voter.name]
        self.entities, self.generator = entities, generator
        self.rejected = rejected_pairs(task, entities)
        self.opinions: Opinions | None = None
        self.learned = False
        self._settled: tuple[Opinions, ScoredPairs, Tensor] | None = None  # by which opinions, the belief, sure pairs
        self.initial_pairs = entities.rows[0].new_empty(0, 2)  # pairs that are sure before anybody was asked
        self.candidates: ScoredPairs | None = None  # those of the last judgement that stay, or that it begins with
        self.weights: dict[str, float] = {}
        if given is not None:
            log_odds = calibrated_opinions(self.voters)
            self.weights = {name: weight for name, weight in given.voter_weights.items() if name not in log_odds}
        self.view_weights: dict[str, float] | None = None  # of opinions that are log-odds, until something is learned
        self.direction_weights = [config.first_beta, 1 - config.first_beta]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(voter.name for voter in self.voters)

    @property
    def _directions(self) -> list[int]:
        """Return which of forward (0) and backward (1) cast votes: those among the voters, both where neither is."""
        return [place for place, name in enumerate(STUDENT_DIRECTIONS) if name in self.names] or [0, 1]

    @property
    def cast_weights(self) -> list[float]:
        """Return the weights of the votes that are cast; a direction that votes alone has all the weight."""
        return self.direction_weights if len(self._directions) == 2 else [1.0]

    @torch.no_grad()
    def prepare(self) -> None:
        """Judge by voters that need no training, learn from the sure pairs, and repeat until there are no more.

        The last round is as precise as can be, those before it are rough.
        """
        untrained = [voter for voter in self.voters if "vectors" not in voter.needs]
        rounds = self.config.propagation_rounds if any(voter.proposes for voter in untrained) else 0
        number, n_sure, rough = 0, 0, rounds > 1 and not len(self.initial_pairs)
        while number < rounds:
            number += 1
            rough = rough and number < rounds
            self._learn(BEFORE_TRAINING, rough)
            if not self._judge(untrained, None, BEFORE_TRAINING, 1 if rough else BELIEF_ROUNDS):
                return
            n_now = len(self.sure_pairs())
            for callback in active_callbacks():
                callback.on_round(number, n_now)
            if not rough:
                return
            many = n_now >= LATE_PHASE_SHARE * min(self.entities.shape)
            rough, n_sure = n_now >= (STOP_GROWTH_LATE if many else STOP_GROWTH_EARLY) * n_sure, n_now

    def start_from(self, sure: Tensor) -> None:
        """Take the opinions loaded so far as candidates, and pairs [p, 2] as sure, before any voter has scored."""
        if self.opinions is not None:
            self.candidates, self.opinions = top_candidates(self.opinions), None
        self.initial_pairs = sure

    @torch.no_grad()
    def judge_untrained(self) -> bool:
        """Judge once, by voters that need no training; return whether there was anything to judge."""
        return self._judge(self.voters, None, BEFORE_TRAINING, BELIEF_ROUNDS)

    @torch.no_grad()
    def cast(self, vectors: Tensor, epoch: int) -> list[ScoredPairs]:
        """Cast the votes of each direction, from vectors [n, d] of all entities.

        Where vectors vote alone these are the nearest (Eq. 9, 12), else the best of the belief of all voters.
        """
        if self.config.only_vectors_vote:
            return self._nearest(vectors)
        every = self.config.propagation_every
        if epoch > 1 and (epoch - 1) % every < self.config.votes_every:
            self._learn(epoch)
        if epoch > 1 or self.opinions is None:  # before that the others' belief decides alone
            self.judge(vectors, epoch)
        return self._best_of_belief()

    def _nearest(self, vectors: Tensor) -> list[ScoredPairs]:
        config, state = self.config, self._state(vectors, BEFORE_TRAINING)
        with fast_products(config.fast_products):
            cast = directions(
                *state.unit_vectors, tied_votes=config.tied_votes, search=config.search, rejected=self.rejected,
                mib=config.block_mib,
            )  # fmt: skip
        return [self._cast_by(STUDENT_DIRECTIONS[direction], cast[direction]) for direction in self._directions]

    def _cast_by(self, name: str, votes: ScoredPairs) -> ScoredPairs:
        """Name one voter as the voter of all these votes."""
        named = torch.tensor([voter == name for voter in self.names], device=votes.source.device)
        return votes.with_columns(voters=named.expand(len(votes), len(named)))

    def _best_of_belief(self) -> list[ScoredPairs]:
        """Return the best target of each source and the best source of each target, and which voters support them."""
        assert self.opinions is not None
        pairs, p = self.opinions.pairs, self.opinions.belief
        named = find_supporters(pairs, self.opinions.scores, self.voters)
        best = [(pairs.best_of_rows, pairs.best_of_columns)[direction](p) for direction in self._directions]
        cast = pairs.with_columns(confidence=torch.ones_like(p), voters=named)
        return [cast.where(kept) for kept in best]

    @torch.no_grad()
    def judge(self, vectors: Tensor, epoch: int = AFTER_TRAINING) -> None:
        """Form the belief anew, from vectors [n, d] of all entities and the other voters."""
        with fast_products(self.config.fast_products):
            if not self._judge(self.voters, vectors, epoch, BELIEF_ROUNDS if epoch == AFTER_TRAINING else 1):
                who = ", ".join(self.names)
                raise ConfigError(
                    f"None of the voters {who} proposes a pair and scores it by itself. Add one that does."
                )

    def _judge(self, voters: Sequence[Voter], vectors: Tensor | None, epoch: int, rounds: int) -> bool:
        """Judge by these voters, and return whether there was something to judge.

        Voters that use the belief score the candidates that others propose.
        """
        if not self.learned:
            self._learn(epoch)
        if vectors is not None:
            release_free_memory()
        state = self._state(vectors, epoch)
        pairs = self._proposed(voters, state)
        first = {voter.opinion: voter for voter in reversed(voters) if not voter.uses_belief}
        if pairs is None or not first:
            return False
        pairs, scores = drop_unscored(pairs, all_scores(first.values(), pairs, state))
        weights = self.weights | self._weights_of_views(voters)
        self.opinions = form_opinions(pairs, scores, weights, voters, state, rounds)
        distributed.broadcast_from_first(self.opinions.belief, self.opinions.total)  # the sure pairs come from either
        self.candidates = top_candidates(self.opinions)
        return True

    def _weights_of_views(self, voters: Sequence[Voter]) -> dict[str, float]:
        """Weigh the voters that compare texts against each other; anew after they have learned."""
        if self.view_weights is None and self.given is not None:
            known = self.given.voter_weights
            self.view_weights = {name: known[name] for name in calibrated_opinions(voters) & known.keys()}
        if self.view_weights is None:
            comparing = [voter for voter in voters if isinstance(voter, SimilarityVoter) and voter.is_applicable()]
            shape = self.task.joint_index.shape
            self.view_weights = view_weights(comparing, self.task.train, shape)
        return self.view_weights

    def _proposed(self, voters: Sequence[Voter], state: VotingState) -> ScoredPairs | None:
        """Collect the proposed candidates, each opinion once, and the best so far, without those that a person
        rejected.
        """
        found = proposed_pairs(voters, state)
        if not found:
            return None
        found += [] if self.candidates is None else [self.candidates]
        pairs = union(found)
        if distributed.n_processes() > 1:
            pairs = pairs_of_keys(distributed.broadcast(pairs.key), pairs.shape, ascending=True)
        return self.entities.open_pairs(pairs.without(self.rejected))

    def _learn(self, epoch: int, rough: bool = False) -> None:
        """Let all voters learn from the sure pairs."""
        if not rough:
            release_free_memory()
        learn_from_sure(self.voters, self._state(None, epoch, rough))
        self.learned, self.view_weights = True, None

    def _state(self, vectors: Tensor | None, epoch: int, rough: bool = False) -> VotingState:
        belief, sure = self._settle()
        return VotingState(
            self.task, self.config, self.entities, self.generator, vectors=vectors, belief=belief, sure=sure,
            epoch=epoch, rough=rough,
        )  # fmt: skip

    def sure_pairs(self) -> Tensor:
        """Return [p, 2], by entity index: mutual best pairs with a belief above the threshold."""
        return self._settle()[1]

    def _settle(self) -> tuple[ScoredPairs | None, Tensor]:
        """Return the belief that voters score by, and the sure pairs, once for each opinions.

        Where no links are given, a lone candidate may be as bad as any: to have no counterpart is a rival then.
        """
        if self.opinions is None:
            return None, self.initial_pairs
        if self._settled is None or self._settled[0] is not self.opinions:
            held, own = self.opinions, self.entities.own
            text_score = independent_log_odds(held.scores, self.voters, held.weights)
            p = held.belief
            if not len(self.task.train):
                odds = held.total / self.config.sinkhorn_temperature - math.log(own[1].numel())
                p = normalise_with_null(held.pairs, odds)
            sure = held.pairs.best_of_rows(p) & held.pairs.best_of_columns(p) & (p > self.config.sure_above)
            pairs = held.pairs.where(sure)
            ends = torch.stack([own[0][pairs.source], own[1][pairs.target]], dim=1)
            self._settled = held, belief_of(held.pairs, held.belief, text_score), ends
        return self._settled[1:]

    def candidates_among(self, entities: OpenIndex) -> ScoredPairs | None:
        """Return the best candidates so far by the index of other open entities of the same graphs."""
        return None if self.candidates is None else self.candidates.reindex(entities)

    @torch.no_grad()
    def weigh(self, links: Tensor, hits: Sequence[float]) -> None:
        """Weigh the directions by `hits`, and opinions by the links [v, 2], in joint indices (Eq. 11).

        weight_k = hit_k / mean of the hits: Eq. 11 for several voters, scaled so that equal voters weigh 1; hit_k is
        the share of the links that are k's favourite for their source, among those on which it has an opinion.
        """
        device = links.device
        self.direction_weights = distributed.broadcast_numbers(vote_weights(hits), device)
        if self.opinions is None or not len(self.opinions.pairs) or self.given is not None:
            return
        names = [name for name in self.opinions.scores if name not in calibrated_opinions(self.voters)]
        if not names:
            return
        counts = [self._right_and_scored(links, self.opinions.scores[name]) for name in names]
        shares = shrunk_hits([right for right, _ in counts], [scored for _, scored in counts], len(links))
        shares = distributed.broadcast_numbers(shares, device)
        self.weights = dict(zip(names, (len(names) * w for w in vote_weights(shares)), strict=True))

    def share_right(self, links: Tensor) -> float:
        """Return the share of links [v, 2], in joint indices, that the belief ranks first among all open targets."""
        if self.opinions is None or not len(self.opinions.pairs) or not len(links):
            return 0.0
        return self._right_and_scored(links, self.opinions.belief)[0] / len(links)

    def _right_and_scored(self, links: Tensor, scores: Tensor) -> tuple[int, int]:
        """Count the links that an opinion ranks first, and those on whose sources it has an opinion.

        A link whose source has no candidate counts as scored: its candidates were missed.
        """
        assert self.opinions is not None
        pairs = self.opinions.pairs
        rows = [self.entities.place_of[links[:, side]] for side in (0, 1)]
        is_open = (rows[0] >= 0) & (rows[1] >= 0)
        place, found = pairs.find(*(row.clamp(min=0) for row in rows))
        values = scores.nan_to_num(nan=-torch.inf)
        right = pairs.best_of_rows(values)[place] & ~scores.isnan()[place] & found & is_open
        asked, has_score = (
            pairs.row_sum(part.to(scores.dtype)) > 0 for part in (torch.ones_like(scores), ~scores.isnan())
        )
        row = rows[0].clamp(min=0)
        unscored = asked[row] & ~has_score[row] & (rows[0] >= 0)
        return int(right.sum()), int((~unscored).sum())

    def state_dict(self) -> State:
        """Return the last opinions, the weights, and the state of each voter."""
        return {
            "weights": self.weights,
            "direction_weights": self.direction_weights,
            "opinions": None if self.opinions is None else self.opinions.state_dict(),
            "learned": self.learned,
            "voters": {voter.name: voter.state_dict() for voter in self.voters},
        }

    def load_state_dict(self, state: State) -> None:
        """Restore a state, which may come from anywhere; raise ValueError if it is not valid."""
        check_numbers(state["weights"].values())
        check_numbers(state["direction_weights"], 2)
        known = {voter.opinion for voter in self.voters}
        if not set(state["weights"]) <= known:
            raise ValueError("opinions of unknown voters")
        self.weights, self.direction_weights = dict(state["weights"]), [float(w) for w in state["direction_weights"]]
        self.learned = bool(state["learned"])
        if state["opinions"] is not None:
            held = state["opinions"]
            if not {*held["scores"], *held["weights"]} <= known:
                raise ValueError("opinions of unknown voters")
            self.opinions = restore_opinions(held, self.entities, self.config.precision)
            self.candidates = top_candidates(self.opinions)
        if state["voters"].keys() != set(self.names):
            raise ValueError("the state of other voters")
        for voter in self.voters:
            voter.load_state_dict(state["voters"][voter.name])


def top_candidates(opinions: Opinions) -> ScoredPairs:
    """Return the best candidates of each source and of each target."""
    return opinions.pairs.top_k(opinions.total, CANDIDATES_KEPT)


def rejected_pairs(task: Task, entities: OpenIndex) -> ScoredPairs | None:
    """Return the pairs of open entities that a person rejected."""
    if not len(task.rejected):
        return None
    return entities.of_entities(task.rejected)


def drop_unscored(pairs: ScoredPairs, scores: dict[str, Tensor]) -> tuple[ScoredPairs, dict[str, Tensor]]:
    """Drop the pairs on which no voter has an opinion."""
    scored = torch.stack([~values.isnan() for values in scores.values()]).any(0)
    if bool(scored.all()):
        return pairs, scores
    return pairs.where(scored), {name: values[scored] for name, values in scores.items()}
