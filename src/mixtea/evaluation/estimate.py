"""Estimate the memory and time of a training before it runs.

The counts are exact, the constants measured: one short product measures how fast this machine is, and the rest is put
in relation to it. Expect the right order, within a factor of two.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import torch

from mixtea.compute.memory import block_mib
from mixtea.compute.nearest import has_faiss
from mixtea.compute.similarity import fast_products
from mixtea.config import MOMENTS_TEMPERATURE, STRUCTURE_VOTERS, Config
from mixtea.council.adapt import adapt_config
from mixtea.council.council import bind_voters
from mixtea.graph.task import Task
from mixtea.text.names import entity_names

TYPICAL_EPOCHS = 100  # of trainings that may stop early
LONG_SECONDS, VERY_LONG_SECONDS = 600.0, 3600.0  # of a training, from which on an approximation is suggested
ENCODER_FLOP = {"cpu": 6.5e3, "cuda": 6e4}  # for each number of all vectors, an encoding, as fast products
OVERHEAD = {"cpu": 1.1, "cuda": 1.8}  # of the sweeps over their matrix products
TYPICAL_VOTES = 3  # until predictions are stable
TYPICAL_ROUNDS = 5  # of propagation before them
OPEN_SHARE = 0.45  # of entities that look for candidates again after the first round: those in no sure pair
CANDIDATE_SECONDS = {"cpu": 2.2e-6, "cuda": 2e-8}  # per judgement, for each of 20 candidates of an open entity
# per name, per name that the other side does not have, and per value: read, compared and weighed on the host
NAME_SECONDS, DIFFERENT_NAME_SECONDS, VALUE_SECONDS = 2e-4, {"cpu": 8e-4, "cuda": 1e-4}, 3e-5
ANSWER_SECONDS = 5e-6  # of deciding and scoring, likewise
START_SECONDS = {"cpu": 8.0, "cuda": 4.0}  # of the libraries, the files and the report
LIBRARIES_MIB = {"cpu": 500, "cuda": 0}  # of the process before it trains
MIN_EPOCH_SECONDS = {"cpu": 0.02, "cuda": 0.016}  # for the start of many small operations


@dataclass(frozen=True)
class Estimate:
    """Memory of a training and the time of its epochs; `suggestion` are settings that would shorten a long one.

    `seconds_beside` is what voters take before the first epoch and after the last one, and the answers.
    """

    mib: float
    epochs: int
    seconds_per_epoch: float
    seconds_beside: float
    suggestion: dict[str, Any]
    seconds_with_suggestion: float | None

    @property
    def seconds(self) -> float:
        return self.seconds_per_epoch * self.epochs + self.seconds_beside


def estimate(task: Task, config: Config, device: torch.device, flop_per_second: float | None = None) -> Estimate:
    """Estimate what training `task` with `config` needs on `device`."""
    speed = flop_per_second or measure_speed(device)
    config = adapt_config(task, config, device.type)
    seconds, beside = seconds_per_epoch(task, config, device, speed), seconds_beside(task, config, device, speed)
    suggestion, shorter = _suggestion(task, config, device, speed, seconds * expected_epochs(task, config) + beside)
    return Estimate(
        memory_mib(task, config, device), expected_epochs(task, config), seconds, beside, suggestion, shorter
    )


def expected_epochs(task: Task, config: Config) -> int:
    """Estimate the epochs: until predictions stabilise; all where the rate is planned to the end; else typical."""
    enough_links = config.enough_valid(len(task.valid)) or not len(task.train)  # few links cannot show stability
    if config.stop_when_settled and enough_links:
        return min(config.max_epochs, TYPICAL_VOTES * config.votes_every + 1)
    return config.max_epochs if config.lr_decay == "cosine" else min(config.max_epochs, TYPICAL_EPOCHS)


def measure_speed(device: torch.device) -> float:
    """Measure floating-point operations per second in a product as the sweeps have it."""
    left, right = (torch.randn(n, 768, device=device) for n in (1024, 8192))
    best = float("inf")
    with fast_products(True):
        for _ in range(4):
            started = time.perf_counter()
            (left @ right.T)[-1, -1].item()
            best = min(best, time.perf_counter() - started)
    return 2 * len(left) * len(right) * 768 / best


def sizes(task: Task, config: Config) -> tuple[int, int, int, int]:
    """Return (all entities, unlabelled sources, unlabelled targets, numbers in a concatenated vector)."""
    source, target = task.unlabelled()
    width = config.n_layers * config.entity_dim + 2 * config.relation_dim * config.use_relations
    return task.source.n_entities + task.target.n_entities, len(source), len(target), width


def memory_mib(task: Task, config: Config, device: torch.device) -> float:
    """Estimate the peak of a training: of the process on a CPU, of the device's memory on a GPU.

    Student, teacher, gradient and Adam's two averages; three tensors and a mask per layer; relation means; all vectors
    and their gradient; the unlabelled ones and theirs; a block.
    """
    entities, n, m, width = sizes(task, config)
    item = 8 if config.precision == "float64" else 4
    layers = entities * config.entity_dim * ((5 + 3 * config.n_layers) * item + config.n_layers)
    vectors = (2 * entities * config.relation_dim + 2 * entities * width + 2 * (n + m) * width) * item
    block = (config.block_mib or block_mib(m * item, device)) if config.normaliser == "exact" else 0
    voters = sum(voter.cost().mib for voter in bind_voters(task, config, config.voters))
    judged = 0 if config.only_vectors_vote else 100 * 1.5 * (n + m) * config.vote_candidates  # a dozen numbers each
    mib = (layers + vectors + judged) / 2**20 + voters + min(block, n * m * item / 2**20)
    return mib + LIBRARIES_MIB[device.type]


def seconds_per_epoch(task: Task, config: Config, device: torch.device, speed: float) -> float:
    """Estimate the sweeps of votes (one product) and loss (three), and the encodings."""
    entities, n, m, width = sizes(task, config)
    kind = device.type
    product = 2 * n * m * width * OVERHEAD[kind]
    loss = 3 * product * config.loss_rows if config.normaliser == "exact" else 6 * (n + m) * width**2
    if config.only_vectors_vote:
        vote = product * (1.0 if config.search == "exact" else 0.5) / speed
    else:
        names = [name for name in config.voters if name not in STRUCTURE_VOTERS]
        others = {voter.opinion: voter.cost().products for voter in bind_voters(task, config, names)}
        vote = product * (2 * OPEN_SHARE + sum(others.values())) / speed
        vote += CANDIDATE_SECONDS[kind] * (n + m) * config.vote_candidates
    sweeps = vote / config.votes_every + loss / speed if config.pseudo_weight > 0 else 0.0
    encodings = (1 + config.encode_twice) * ENCODER_FLOP[kind] * entities * width
    return max(sweeps + encodings / speed, MIN_EPOCH_SECONDS[kind])


def seconds_beside(task: Task, config: Config, device: torch.device, speed: float) -> float:
    """Estimate the time before the first epoch and after the last.

    Names and values, propagation, the last judgement, the hold-out scoring, and the answers.
    """
    entities, n, m, _ = sizes(task, config)
    kind, candidates = device.type, (n + m) * config.vote_candidates
    if config.only_vectors_vote:
        return 0.0
    judged, answers = CANDIDATE_SECONDS[kind] * candidates, ANSWER_SECONDS * candidates + START_SECONDS[kind]
    answers += seconds_of_texts(task, config, kind)
    if "propagation" not in config.voters or not config.propagation_rounds:
        return 3 * judged + answers
    search = 2 * 2 * n * m * config.propagation_search_dim * OVERHEAD[kind] / speed
    width = config.propagation_relation_dim * config.propagation_part_dim
    precise = 1.5 * 2 * 2 * entities * 3 * config.propagation_label_dim * width / speed
    rounds = min(TYPICAL_ROUNDS, config.propagation_rounds)
    before = search * (1 + OPEN_SHARE * (rounds - 1)) + precise * (1 + (rounds - 1) / 4) + rounds * judged
    return before + 2 * judged + (precise + OPEN_SHARE * search + 2 * judged) + answers


def seconds_of_texts(task: Task, config: Config, kind: str) -> float:
    """Estimate the time for names and values: names that both sides have find each other without a search."""
    seconds = 0.0
    if "names" in config.voters:
        ours, theirs = (entity_names(graph) for graph in (task.source, task.target))
        if len(ours[0]) and len(theirs[0]):
            n = len(ours[0]) + len(theirs[0])
            n_equal = len({*ours[1].texts()} & {*theirs[1].texts()})
            seconds += NAME_SECONDS * n + DIFFERENT_NAME_SECONDS[kind] * max(n - 2 * n_equal, 0)
    if "attributes" in config.voters:
        seconds += VALUE_SECONDS * (task.source.n_attribute_triples + task.target.n_attribute_triples)
    return seconds


def _suggestion(
    task: Task, config: Config, device: torch.device, speed: float, seconds: float
) -> tuple[dict[str, Any], float | None]:
    """Suggest the mildest approximation that shortens a long training, and the seconds that it would take.

    Where voters answer without training, that is their answer.
    """
    if seconds <= LONG_SECONDS:
        return {}, None
    changes: dict[str, Any] = {"normaliser": "moments", "votes_every": 2}
    if not config.only_vectors_vote:
        changes = {"max_epochs": 0}
    elif config.temperature < MOMENTS_TEMPERATURE:
        changes = {"loss_rows": 0.25}
    elif (
        seconds_per_epoch(task, config.replace(**changes), device, speed) * expected_epochs(task, config)
        > VERY_LONG_SECONDS
    ):
        changes["votes_every"] = 10
        if device.type == "cpu" and has_faiss():
            changes["search"] = "ivf"
    if not (changed := config.replace(**changes)).deciding_voters:
        return {}, None
    shorter = seconds_per_epoch(task, changed, device, speed) * expected_epochs(task, changed)
    shorter += seconds_beside(task, changed, device, speed)
    return (changes, shorter) if shorter < seconds else ({}, None)
