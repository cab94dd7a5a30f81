"""Mixture teaching: Algorithm 1 of the paper, one epoch per step over all data."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from mixtea.callbacks import active_callbacks, report_step
from mixtea.compute import distributed
from mixtea.compute.arrays import State, to_tensor
from mixtea.compute.scored_pairs import ScoredPairs
from mixtea.compute.similarity import fast_products, unit_rows
from mixtea.config import Config
from mixtea.council.council import Council, bind_voters, cover_isolated
from mixtea.council.holdout import holdout_opinions
from mixtea.council.summary import learned_views, misleading_links, misleading_shares
from mixtea.council.trace import Trace
from mixtea.encode.encoder import Encoder
from mixtea.encode.structure import build_structure
from mixtea.errors import DivergedError, ProcessLostError
from mixtea.evaluation.metrics import both_directions
from mixtea.graph.joint_index import find_open_entities
from mixtea.graph.task import Task
from mixtea.training.alignment_loss import Negatives, alignment_loss
from mixtea.training.early_stopping import EarlyStopping, Record, Trained, count_votes
from mixtea.training.fuse import fuse, rectify
from mixtea.training.pseudo_mapping_loss import cross_entropy
from mixtea.training.resume import training_state
from mixtea.training.warm_start import WarmStart, copy_vectors, restore_candidates
from mixtea.voters.base import Voter
from mixtea.voters.learned import Learned

logger = logging.getLogger(__name__)
Keep = Callable[[int, Callable[[], State]], None]
MAX_LOSS_GROWTH = 1e4  # over its first value, beyond which it has diverged


class Strategy(Protocol):
    """A way to find further links other than mixture teaching, as experiments/self_training.py has some."""

    @property
    def links(self) -> Tensor:
        """Return [p, 2]: the pairs that are learned like links now, by joint index."""
        ...

    def due(self, epoch: int) -> bool: ...

    def propose_anew(self, vectors: Tensor) -> ScoredPairs:
        """Revise the pairs by the student's vectors [n, d] of all entities."""
        ...

    def state_dict(self) -> State: ...

    def load_state_dict(self, state: State) -> None: ...


def other_teaching(config: Config, rows: tuple[Tensor, Tensor], rejected: ScoredPairs | None) -> Strategy:
    """Return the strategy that the setting `teaching` names, for unlabelled entities `rows`; load it on use."""
    from mixtea.experiments.self_training import STRATEGIES

    return STRATEGIES[config.teaching](config, rows, rejected)


class Trainer:
    """State of one training: student, teacher, unlabelled entities, and the hits of each direction."""

    def __init__(
        self,
        task: Task,
        config: Config,
        device: torch.device,
        start: WarmStart | None = None,
        voters: Sequence[Voter] | None = None,
        given: Learned | None = None,
    ) -> None:
        """Prepare a training, with the result `start` of an earlier one, and what another has learned, `given`."""
        self.task, self.config = task, config
        voters = bind_voters(task, config, config.voters) if voters is None else voters
        self.generator = torch.Generator(device).manual_seed(config.seed)
        self.structure = build_structure(task.source, task.target, config).to(device, getattr(torch, config.precision))
        self.student = Encoder(self.structure, config, self.generator)
        self.teacher = Encoder(self.structure, config, self.generator).requires_grad_(False)
        if start is not None:
            n_known = copy_vectors(self.student, start.student, start.task, task)
            logger.info("a warm start: %d of %d entities are known", n_known, len(self.student.entity))
            self.teacher.load_state_dict(self.student.state_dict())
        joint = task.joint_index
        self.links, self.valid = (to_tensor(joint.of_pairs(p), device) for p in (task.train, task.valid))
        self.entities = find_open_entities(task, self.generator, device, without_triples=cover_isolated(voters))
        self.negatives = Negatives(task, config, self.structure, self.generator)
        self.learns_more = (config.pseudo_weight > 0 or not config.max_epochs) and 0 not in self.entities.shape
        self.enough_valid = config.enough_valid(len(task.valid))
        if len(task.valid) and not self.enough_valid and config.max_epochs:
            logger.warning(
                "%d validation links are fewer than %d: all voters weigh the same, and they do not end the training",
                len(task.valid), config.valid_needed,
            )  # fmt: skip
        self.council = Council(task, config, voters, self.entities, self.generator, given)
        if not self.enough_valid:
            self.council.direction_weights = [0.5, 0.5]
        self.holdout = None if start is None or config.only_vectors_vote else restore_candidates(self.council, start)
        self.strategy: Strategy | None = None
        if config.teaching != "mixture":
            self.strategy = other_teaching(config, self.entities.rows, self.council.rejected)
        self.votes: ScoredPairs | None = None
        self.trace = Trace(len(voters))
        self.counts: Record = {}
        self.stopping = EarlyStopping(config)
        self.history: list[Record] = []
        self.seconds_before = 0.0
        self.lowered: Record = {}  # by which factor the learning rate is lower than in the settings, and since when

    @cached_property
    def optimiser(self) -> torch.optim.Adam:
        """Return the optimiser, made in the first epoch: its library takes long to load."""
        trained, config = [p for p in self.student.parameters() if p.requires_grad], self.config
        fused = self.links.device.type == "cuda"
        return torch.optim.Adam(trained, lr=config.learning_rate, weight_decay=config.weight_decay, fused=fused)

    def train(self, keep: Keep | None = None) -> Trained:
        """Run Algorithm 1 until max_epochs, until predictions or validation stabilise, or until a process is lost.

        `keep` is called after each epoch, with its number and a function that returns the state after it, from which
        `resume.restore_training` goes on. The training does not depend on what callbacks do with the vectors.
        """
        trained = Trained(self.student, self.trace, self.entities, history=self.history)
        self.began = time.perf_counter()
        on_epoch, on_vectors = active_callbacks("on_epoch"), active_callbacks("on_vectors")
        try:
            if self.forms_belief and not self.history and self.council.opinions is None:
                self.council.prepare()
                if self.council.opinions is not None:
                    found = self.answer() | {"seconds": self.seconds()}  # in every process, for they talk about it
                    for callback in active_callbacks():
                        callback.on_answer(found)
                if keep is not None:
                    keep(0, partial(training_state, self))
            while len(self.history) < self.config.max_epochs and not self.stopping.ended:
                record = self.epoch(len(self.history) + 1)
                for callback in on_epoch:
                    callback.on_epoch(record)
                for callback in on_vectors:
                    callback.on_vectors(record["epoch"], self.encoded)
                if keep is not None:
                    keep(record["epoch"], partial(training_state, self))
            trained.stopped_because = self.stopping.why_stopped()
        except ProcessLostError as error:
            trained.lost, trained.stopped_because = error, f"another process ended in epoch {len(self.history) + 1}"
        if self.stopping.kept is not None:
            self.student.load_state_dict(self.stopping.kept)
        trained.best_epoch = self.stopping.best_epoch
        if self.forms_belief:
            self._judge_last(trained)
        trained.seconds, trained.lowered = self.seconds(), self.lowered
        if self.forms_belief:
            voters = self.council.voters
            trained.misleading, trained.misleading_links = misleading_shares(voters), misleading_links(voters)
            trained.views = learned_views(voters)
        return trained

    def epoch(self, number: int) -> Record:
        """Train an epoch and, where it is due, validate; append it to the history."""
        started = time.perf_counter()
        report_step(f"epoch {number} of at most {self.config.max_epochs}")
        record = {"epoch": number, **self.step(number)}
        if len(self.valid) and (number % self.config.validate_every == 0 or number == self.config.max_epochs):
            record |= self.validate()
            if self.enough_valid:
                self.stopping.record_validation(number, record["valid_hits@1"], self.student)
        record["seconds"] = time.perf_counter() - started
        self.history.append(record)
        return record

    def seconds(self) -> float:
        """Return the time spent on this training so far, in all sittings."""
        return self.seconds_before + time.perf_counter() - self.began

    @torch.no_grad()
    def encoded(self) -> Tensor:
        """Return the student's vectors as they are now, without anything random."""
        return self.student()

    @torch.no_grad()
    def _judge_last(self, trained: Trained) -> None:
        """Collect the council's opinions with the kept student, and of held-out links.

        If a process is lost, those that it had before.
        """
        trained.opinions = self.council.opinions
        if trained.lost is None:
            try:
                if self.history or self.council.opinions is None:
                    self.council.judge(self.student())
                trained.opinions = self.council.opinions
                trained.holdout = self.holdout
                if trained.holdout is None and self.council.given is None:
                    trained.holdout = holdout_opinions(self.council)
            except ProcessLostError as error:
                trained.lost, trained.stopped_because = error, "another process ended after the last epoch"

    def step(self, epoch: int) -> Record:
        """Run lines 4-10 of Algorithm 1 once."""
        config = self.config
        rate, weight, momentum = self.begin(epoch)
        links = self.links_to_learn(epoch)
        voted = {} if config.encode_twice or not self.learns_from_votes else self.vote(epoch)  # nothing is held yet
        vectors = self.student(self.generator)  # line 4
        loss_a = alignment_loss(vectors, links, self.negatives.draw(epoch, links, vectors), config.margin)  # line 5
        if len(self.task.rejected):
            loss_a = loss_a + self.negatives.of_rejected(vectors)
        record: Record = {"loss_alignment": loss_a, "lambda": weight, "learning_rate": rate, "momentum": momentum}
        if not self.learns_from_votes:
            loss_a.backward()
        else:
            if config.encode_twice:  # learn from the links now, so that one encoding is held at a time
                loss_a.backward()
                del vectors
                voted = self.vote(epoch)
            loss_u = self.pseudo_loss(self.student(self.generator) if config.encode_twice else vectors)  # line 8
            (weight * loss_u + (0.0 if config.encode_twice else loss_a)).backward()  # line 9
            record |= voted | {"loss_pseudo": loss_u, "beta": self.council.direction_weights[0]}
        record |= self.counts
        if config.concat_weights == "trained":
            record |= {f"concat_{name}": share for name, share in self.student.block_weights().items()}
        self.optimiser.step()
        update_teacher(self.teacher, self.student, momentum)  # line 10
        return self.as_numbers(record, epoch)

    def vote(self, epoch: int) -> Record:
        """Cast the votes of an epoch, if they are due (lines 6-7), and judge them."""
        if self.votes is not None and (epoch - 1) % self.config.votes_every:
            return {}
        before = self.council.sure_pairs()
        votes = fuse(self.council.cast(self.teacher_vectors(), epoch), self.council.cast_weights)  # line 6
        self.remember(epoch, rectify(votes) if self.config.rectify else votes)  # line 7
        return self.answer(before, epoch) if self.forms_belief else {}

    def answer(self, before: Tensor | None = None, epoch: int = 0) -> Record:
        """Count the sure pairs, the validation links that are right, and the changes since `before`, sure then.

        Stability is judged from the second vote on: the first one is of what was before training.
        """
        sure, found = self.council.sure_pairs(), {}
        if len(self.valid):
            found["valid_answers"] = distributed.broadcast_numbers(
                [self.council.share_right(self.valid)], self.valid.device
            )[0]
        if before is not None:
            found["changed"] = share_changed(before, sure)
            if epoch > 1 and (self.enough_valid or not len(self.links)):  # few links cannot show stability
                right, n = (found["valid_answers"], len(self.valid)) if self.enough_valid else (0.0, 0)
                self.stopping.record_vote(epoch, found["changed"], right, n)
        return {"sure": len(sure)} | found

    def begin(self, epoch: int) -> tuple[float, float, float]:
        """Return the learning rate, lambda and the teacher's momentum of an epoch; clear the gradients."""
        rate = self.lowered.get("factor", 1.0) * learning_rate(epoch, self.config)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad(set_to_none=True)
        return rate, ramp_up(epoch, self.config), teacher_momentum(epoch, self.config)

    @property
    def learns_from_votes(self) -> bool:
        return self.learns_more and self.strategy is None and 0 not in self.entities.n_with_triples

    @property
    def forms_belief(self) -> bool:
        """Check whether voters form a belief: not where vectors vote alone."""
        return self.learns_more and self.strategy is None and not self.config.only_vectors_vote

    def links_to_learn(self, epoch: int) -> Tensor:
        """Return the given links, and those that a strategy other than mixture teaching proposes by itself.

        Without any, the pairs that the council is sure of.
        """
        if not len(self.links):
            return self.task.joint_index.of_pairs(self.council.sure_pairs())
        if self.strategy is None or not self.learns_more:
            return self.links
        if self.strategy.due(epoch):
            with torch.no_grad():
                self.remember(epoch, self.strategy.propose_anew(self.student()))
            self.negatives.forget()  # other links, other negatives
        return torch.cat([self.links, self.strategy.links])

    @torch.no_grad()
    def teacher_vectors(self) -> Tensor:
        return self.teacher(self.generator if self.config.teacher_dropout else None)

    def remember(self, epoch: int, votes: ScoredPairs) -> None:
        """Keep new votes with their epoch, and count them."""
        self.votes, names = votes, self.council.names
        told = self.entities.open_pairs(votes).by_entity
        self.trace.add(epoch, *told.ends, told.columns.get("voters", np.zeros((len(votes), len(names)), bool)))
        self.counts = count_votes(votes, names)

    def _sound(self, loss: float) -> bool:
        """Check that all parameters are finite, and the loss is not far above the first one."""
        first = self.history[0] if self.history else {}
        largest = MAX_LOSS_GROWTH * max(1.0, first.get("loss_alignment", float("inf")) + first.get("loss_pseudo", 0.0))
        total = torch.stack([value.detach().sum() for value in self.student.parameters()])
        return abs(loss) < largest and bool(total.isfinite().all())

    def pseudo_loss(self, vectors: Tensor) -> Tensor:
        """Compute L_u of Eq. 14, over all unlabelled sources with triples or an unbiased sample of them."""
        assert self.votes is not None
        config, (sources, targets), share = self.config, self.entities.rows_with_triples, self.config.loss_rows
        votes = self.votes.among_first(len(sources), len(targets))
        if share < 1:
            order = torch.randperm(len(sources), generator=self.generator, device=sources.device)
            rows = order[: max(1, round(share * len(sources)))]
            share = len(rows) / len(sources)
            sources, votes = sources[rows], votes.of_rows(rows)
        source, target = unit_rows(vectors, sources, targets)
        with fast_products(config.fast_products):
            loss = cross_entropy(
                source, target, votes, temperature=config.temperature, target=config.pseudo_target,
                normaliser=config.normaliser, mib=config.block_mib,
            )  # fmt: skip
        return loss / share

    @torch.no_grad()
    def validate(self) -> Record:
        """Compute Hit@1 and MRR on the validation links both ways; they weigh the voters from now on (Eq. 11)."""
        distributed.broadcast_from_first(*self.student.parameters(), *self.teacher.parameters())
        scores = both_directions(self.student(), self.valid, mib=self.config.block_mib)
        voter = scores
        if self.config.vote_weights_from == "teacher":
            voter = both_directions(self.teacher(), self.valid, mib=self.config.block_mib)
        if self.enough_valid:
            self.council.weigh(self.valid, (voter["hits@1"], voter["backward_hits@1"]))
        names = ("hits@1", "mrr", "backward_hits@1", "backward_mrr")
        values = distributed.broadcast_numbers([scores[name] for name in names], self.links.device)
        return {f"valid_{name}": value for name, value in zip(names, values, strict=True)}

    def as_numbers(self, record: Record, epoch: int) -> Record:
        """Turn tensors into numbers; raise DivergedError if one is not finite, or the loss explodes."""
        numbers = {name: v.item() if isinstance(v, Tensor) else v for name, v in record.items()}
        numbers["loss"] = numbers["loss_alignment"] + numbers["lambda"] * numbers.get("loss_pseudo", 0.0)
        if not all(abs(v) < float("inf") for v in numbers.values()) or not self._sound(numbers["loss"]):
            raise DivergedError(epoch, numbers["loss"])
        return numbers


def share_changed(before: Tensor, after: Tensor) -> float:
    """Return the share of two sets of pairs [p, 2], taken together, that only one of them has."""
    total = len(before) + len(after)
    both = torch.cat([before, after]).unique(dim=0) if total else before
    return (2 * len(both) - total) / max(len(both), 1)


@torch.no_grad()
def update_teacher(teacher: nn.Module, student: nn.Module, momentum: float) -> None:
    """Update theta_tea <- m theta_tea + (1 - m) theta_stu (Eq. 7)."""
    for old, new in zip(teacher.parameters(), student.parameters(), strict=True):
        old.lerp_(new, 1 - momentum)


def teacher_momentum(epoch: int, config: Config) -> float:
    """Return m, or min(1 - 1/epoch, m) with warm-up: a copy of the student after epoch 1."""
    return min(1 - 1 / epoch, config.momentum) if config.momentum_warmup else config.momentum


def ramp_up(epoch: int, config: Config) -> float:
    """Compute lambda of Eq. 15: pseudo_weight * exp(-5 (1 - e/ramp)^2), pseudo_weight from epoch ramp on."""
    missing = max(0.0, 1 - epoch / config.ramp_up_epochs) if config.ramp_up_epochs else 0.0
    return config.pseudo_weight * math.exp(-5 * missing**2)


def learning_rate(epoch: int, config: Config) -> float:
    """Return the rate of an epoch: halved every lr_halve_every epochs, or on a cosine that is 0 after max_epochs."""
    if config.lr_decay == "cosine":
        return config.learning_rate * (1 + math.cos(math.pi * (epoch - 1) / config.max_epochs)) / 2
    halvings = (epoch - 1) // config.lr_halve_every if config.lr_halve_every else 0
    return config.learning_rate * 0.5**halvings
