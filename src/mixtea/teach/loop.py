"""Mixture teaching: Algorithm 1 of the paper, one epoch a step over all data."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import torch
from torch import Tensor

from mixtea.compute import distributed
from mixtea.compute.similarity import fast_products, unit_rows
from mixtea.config import Config
from mixtea.data.task import Task
from mixtea.encode.encoder import Encoder
from mixtea.encode.structure import build_structure
from mixtea.errors import DivergedError, ProcessLostError
from mixtea.match.candidates import VOTERS
from mixtea.measure.metrics import both_directions
from mixtea.teach import schedule
from mixtea.teach.alignment_loss import alignment_loss
from mixtea.teach.fuse import vote_weights
from mixtea.teach.negatives import hard_negatives, random_negatives
from mixtea.teach.progress import Progress, Record, Trained
from mixtea.teach.pseudo_loss import cross_entropy
from mixtea.teach.resume import state_of
from mixtea.teach.state import State
from mixtea.teach.strategies import strategy_of
from mixtea.teach.warm_start import take_over
from mixtea.vote.council import ROUNDS_ALONE, Council, OnRound
from mixtea.vote.trace import Trace
from mixtea.vote.votes import Votes

logger = logging.getLogger(__name__)
OnEpoch = Callable[[Record], None]
Observer = Callable[[int, Callable[[], Tensor]], None]
Start = tuple[Task, Mapping[str, Tensor]]
Keep = Callable[[int, Callable[[], State]], None]
EXPLODED = 1e4  # times its first value: a loss that will not come down again


class Trainer:
    """The state of one training: student, teacher, what is unlabelled, and how right each direction was last."""

    def __init__(self, task: Task, config: Config, device: torch.device, start: Start | None = None) -> None:
        """`start` is a task and the parameters of a student of it, to begin with."""
        self.config = config
        self.generator = torch.Generator(device).manual_seed(config.seed)
        self.structure = build_structure(task.source, task.target, config).to(device, getattr(torch, config.precision))
        self.student = Encoder(self.structure, config, self.generator)
        self.teacher = Encoder(self.structure, config, self.generator).requires_grad_(False)
        if start is not None:
            n_known = take_over(self.student, start[1], start[0], task)
            logger.info("a warm start: %d of %d entities are known", n_known, len(self.student.entity))
            self.teacher.load_state_dict(self.student.state_dict())
        trained = [p for p in self.student.parameters() if p.requires_grad]
        self.optimiser = torch.optim.Adam(
            trained, lr=config.learning_rate, weight_decay=config.weight_decay, fused=device.type == "cuda"
        )
        shift = torch.tensor([0, task.source.n_entities])
        self.links = (torch.from_numpy(task.train) + shift).to(device)
        self.valid = (torch.from_numpy(task.valid) + shift).to(device)
        source, target = task.unlabelled()
        self.unlabelled_source = self._shuffled(source, 0)
        self.unlabelled_target = self._shuffled(target, task.source.n_entities)
        self.has_voters = config.pseudo_weight > 0 and len(source) > 0 and len(target) > 0
        self.enough_valid = len(task.valid) >= max(1, config.valid_needed)
        if len(task.valid) and not self.enough_valid:
            logger.warning(
                "%d validation links are fewer than %d: all voters weigh the same, and training does not stop early",
                len(task.valid), config.valid_needed,
            )  # fmt: skip
        self.weights = [config.first_beta, 1 - config.first_beta] if self.enough_valid else [0.5, 0.5]
        self.negatives = self.links.new_empty(0, 0, 2)
        self.votes: Votes | None = None
        self.trace = Trace()
        self.rows = (self.unlabelled_source, self.unlabelled_target)
        self.council: Council | None = None
        if config.has_council and self.has_voters:
            self.council = Council(task, config, self.links, self.rows, self.generator)
        self.strategy = strategy_of(config, self.rows, self.council)
        self.proposed = self.links.new_empty(0, 2)
        self.counts: Record = {}
        self.progress = Progress(config)
        self.history: list[Record] = []
        self.seconds_before = 0.0
        self.lowered: Record = {}  # by which factor the learning rate is lower than the settings say, and since when

    def _shuffled(self, entities: np.ndarray, shift: int) -> Tensor:
        """Entities of one side in joint numbers and random order.

        Link files list both sides in the same order, and ties go to the first: each side is shuffled on its own.
        """
        order = torch.randperm(len(entities), generator=self.generator, device=self.generator.device)
        return (torch.from_numpy(entities).to(order.device) + shift)[order]

    def train(
        self,
        on_epoch: OnEpoch | None = None,
        on_round: OnRound | None = None,
        observer: Observer | None = None,
        keep: Keep | None = None,
    ) -> Trained:
        """Algorithm 1, until max_epochs, until validation stops getting better, or until a process is lost.

        The observer is called after each epoch with its number and a function that gives the student's vectors. What
        it does with them, training cannot see. `keep` is called last, with the epoch and a function that gives the
        state after it, from which `resume.restore` goes on.
        """
        trained = Trained(self.student, self.trace, self.rows, history=self.history)
        self.began = time.perf_counter()
        try:
            if self.council is not None and not self.history and self.council.opinions is None:
                self.council.prepare(on_round)
                if keep is not None:
                    keep(0, partial(state_of, self))
            while len(self.history) < self.config.max_epochs and self.progress.misses < self.config.patience:
                record = self.epoch(len(self.history) + 1)
                if on_epoch is not None:
                    on_epoch(record)
                if observer is not None:
                    observer(record["epoch"], self.encoded)
                if keep is not None:
                    keep(record["epoch"], partial(state_of, self))
            trained.stopped_because = self.progress.why_stopped()
        except ProcessLostError as error:
            trained.lost, trained.stopped_because = error, f"another process ended in epoch {len(self.history) + 1}"
        if self.progress.kept is not None:
            self.student.load_state_dict(self.progress.kept)
        trained.best_epoch = self.progress.best_epoch
        if self.council is not None:
            self._judge_last(trained)
        trained.seconds, trained.lowered = self.seconds(), self.lowered
        return trained

    def epoch(self, number: int) -> Record:
        """One epoch and, where it is due, a validation; remembered in the history."""
        started = time.perf_counter()
        record = {"epoch": number, **self.step(number)}
        if len(self.valid) and (number % self.config.validate_every == 0 or number == self.config.max_epochs):
            record |= self.validate()
            if self.enough_valid:
                self.progress.validated(number, record["valid_hits@1"], self.student)
        record["seconds"] = time.perf_counter() - started
        self.history.append(record)
        return record

    def seconds(self) -> float:
        """Spent on this training so far, in all sittings."""
        return self.seconds_before + time.perf_counter() - self.began

    @torch.no_grad()
    def encoded(self) -> Tensor:
        """The student's vectors as they are now, without anything random."""
        return self.student()

    @torch.no_grad()
    def _judge_last(self, trained: Trained) -> None:
        """The council's opinions with the kept student; if a process is lost, those that it had before."""
        assert self.council is not None
        trained.opinions = self.council.opinions
        if trained.lost is None:
            try:
                self.council.judge(self.student(), ROUNDS_ALONE)
                trained.opinions = self.council.opinions
            except ProcessLostError as error:
                trained.lost, trained.stopped_because = error, "another process ended after the last epoch"

    def step(self, epoch: int) -> Record:
        """One pass through lines 4-10 of Algorithm 1."""
        config = self.config
        rate = self.lowered.get("factor", 1.0) * schedule.learning_rate(epoch, config)
        weight = schedule.ramp_up(epoch, config)
        momentum = schedule.teacher_momentum(epoch, config)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad(set_to_none=True)
        from_votes = self.has_voters and self.strategy.learned_as == "votes"
        if self.has_voters and not from_votes and self.strategy.due(epoch):
            self.cast(epoch)
            self.negatives = self.negatives[:0]  # other links, other negatives
        links = torch.cat([self.links, self.proposed])
        vectors = self.student(self.generator)
        if (epoch - 1) % config.negatives_every == 0 or len(self.negatives) != len(links):
            self.negatives = self.draw_negatives(vectors, links)
        loss_a = alignment_loss(vectors, links, self.negatives, config.margin)
        record: Record = {"loss_alignment": loss_a, "lambda": weight, "learning_rate": rate, "momentum": momentum}
        if not from_votes:
            loss_a.backward()
        else:
            if config.encode_twice:  # learn from the links now, so that one encoding is held at a time
                loss_a.backward()
                del vectors
            votes = self.cast(epoch) if self.votes is None or self.strategy.due(epoch) else self.votes
            loss_u = self.pseudo_loss(self.student(self.generator) if config.encode_twice else vectors, votes)
            (weight * loss_u + (0.0 if config.encode_twice else loss_a)).backward()
            record |= {"loss_pseudo": loss_u, "beta": self.weights[0]}
        record |= self.counts
        if config.concat_weights == "trained":
            record |= {f"concat_{name}": share for name, share in self.student.block_weights().items()}
        self.optimiser.step()
        schedule.update_teacher(self.teacher, self.student, momentum)
        return self.as_numbers(record, epoch)

    def _sound(self, loss: float) -> bool:
        """Whether all parameters are numbers, and the loss is not far above the first one."""
        first = self.history[0] if self.history else {}
        largest = EXPLODED * max(1.0, first.get("loss_alignment", float("inf")) + first.get("loss_pseudo", 0.0))
        total = torch.stack([value.detach().sum() for value in self.student.parameters()])
        return abs(loss) < largest and bool(total.isfinite().all())

    def cast(self, epoch: int) -> Votes:
        """New votes, remembered with their epoch and counted."""
        self.votes = votes = self.vote(epoch)
        source, target = self.rows
        self.trace.add(epoch, votes, source.cpu().numpy(), target.cpu().numpy() - self.structure.n_source)
        self.counts = self.count(votes)
        if self.strategy.learned_as == "links":
            self.proposed = torch.stack([source[votes.source], target[votes.target]], dim=1)
        return votes

    def draw_negatives(self, vectors: Tensor, links: Tensor) -> Tensor:
        config, n_source, n_target = self.config, self.structure.n_source, self.structure.n_target
        k, replace, generator = config.n_negatives, config.negatives_replace, self.generator
        if config.negatives == "random":
            return random_negatives(links, n_source, n_target, k, generator, replace)
        return hard_negatives(links, vectors, n_source, k, generator, replace, config.block_mib)

    @torch.no_grad()
    def vote(self, epoch: int) -> Votes:
        """What the strategy makes of the teacher's or the student's vectors."""
        if self.strategy.asks == "student":
            vectors = self.student()
        else:
            vectors = self.teacher(self.generator if self.config.teacher_dropout else None)
        return self.strategy.votes(vectors, epoch, self.weights)

    def pseudo_loss(self, vectors: Tensor, votes: Votes) -> Tensor:
        """L_u of Eq. 14, over all unlabelled sources or an unbiased sample of them."""
        config, sources, share = self.config, self.unlabelled_source, self.config.loss_rows
        if share < 1:
            order = torch.randperm(len(sources), generator=self.generator, device=sources.device)
            rows = order[: max(1, round(share * len(sources)))]
            share = len(rows) / len(sources)
            sources, votes = sources[rows], votes.of_rows(rows)
        source, target = unit_rows(vectors, sources, self.unlabelled_target)
        with fast_products(config.fast_products):
            loss = cross_entropy(
                source, target, votes, temperature=config.temperature, target=config.pseudo_target,
                normaliser=config.normaliser, mib=config.block_mib,
            )  # fmt: skip
        return loss / share

    def count(self, votes: Votes) -> Record:
        """How many votes there are, how many both directions agree on, each voter favours, and 1, 2, ... voters do."""
        if votes.voters is None:
            return {"votes": len(votes)}
        of_bits = np.array(torch.bincount(votes.voters, minlength=1 << len(VOTERS)).tolist())
        has = np.arange(len(of_bits))[:, None] >> np.arange(len(VOTERS)) & 1
        voting = {"forward": True, "backward": self.config.voting == "both"}
        voting |= {"propagation": self.config.propagation, "agreement": self.config.agreement}
        by_voter = zip(VOTERS, of_bits @ has, strict=True)
        by_number = np.bincount(has.sum(1), weights=of_bits)[1 : sum(voting.values()) + 1]
        return (
            {"votes": len(votes), "votes_agreed": int(of_bits @ (has[:, 0] & has[:, 1]))}
            | {f"votes_{name}": int(n) for name, n in by_voter if voting[name]}
            | {f"votes_of_{k}": int(n) for k, n in enumerate(by_number, 1)}
        )

    @torch.no_grad()
    def validate(self) -> Record:
        """Hit@1 and MRR on the validation links in both directions; they weigh the voters from now on (Eq. 11)."""
        distributed.from_first(*self.student.parameters(), *self.teacher.parameters())
        scores = both_directions(self.student(), self.valid, mib=self.config.block_mib)
        voter = scores
        if self.config.vote_weights_from == "teacher":
            voter = both_directions(self.teacher(), self.valid, mib=self.config.block_mib)
        device = self.links.device
        if self.enough_valid:
            self.weights = distributed.agreed(vote_weights((voter["hits@1"], voter["backward_hits@1"])), device)
            if self.council is not None:
                self.council.weigh(self.valid)
        names = ("hits@1", "mrr", "backward_hits@1", "backward_mrr")
        values = distributed.agreed([scores[name] for name in names], device)
        return {f"valid_{name}": value for name, value in zip(names, values, strict=True)}

    def as_numbers(self, record: Record, epoch: int) -> Record:
        """Tensors become numbers; what is no number any more, or explodes, is no training any more."""
        numbers = {name: v.item() if isinstance(v, Tensor) else v for name, v in record.items()}
        numbers["loss"] = numbers["loss_alignment"] + numbers["lambda"] * numbers.get("loss_pseudo", 0.0)
        if not all(abs(v) < float("inf") for v in numbers.values()) or not self._sound(numbers["loss"]):
            raise DivergedError(epoch, numbers["loss"])
        return numbers
