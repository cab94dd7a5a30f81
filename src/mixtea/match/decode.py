"""After training: from the student's vectors and the council's last opinions to a ranking of candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mixtea.compute.pairs import Pairs, cosines, nearest_pairs, pairs_of_keys, places
from mixtea.compute.similarity import fast_products, unit
from mixtea.config import Config
from mixtea.data.task import Task
from mixtea.encode.structure import joint_triples
from mixtea.match.decoders import decide
from mixtea.vote.agreement import AgreementVoter
from mixtea.vote.council import ROUNDS_ALONE, Opinions, believed, favourites, settle, total_score


@dataclass(frozen=True, eq=False)
class LastOpinions:
    """What the voters beside the student thought last, as arrays that a run folder keeps.

    `source`, `target` are entities by their own graph's numbers; `scores` maps a voter to its score of each pair.
    """

    source: np.ndarray
    target: np.ndarray
    scores: dict[str, np.ndarray]
    weights: dict[str, float]


def last_opinions(opinions: Opinions, rows: tuple[Tensor, Tensor], n_source: int) -> LastOpinions:
    """A council's opinions in the graphs' own numbers, without the student's, which its vectors tell."""
    pairs = opinions.pairs
    source, target = rows[0][pairs.source], rows[1][pairs.target] - n_source
    order = torch.argsort(source * (int(target.max()) + 1 if len(target) else 1) + target)
    arrays = [a[order].cpu().numpy() for a in (source.int(), target.int())]
    others = {name: s[order].cpu().numpy() for name, s in opinions.scores.items() if name != "vectors"}
    return LastOpinions(arrays[0], arrays[1], others, opinions.weights)


@dataclass(frozen=True, eq=False)
class Decoded:
    """Candidates of the unlabelled entities with a ranking, a belief, and the bits of the voters that favour each.

    `rows` are the entities of both sides by their own graph's numbers, in random order, since ties go to the first.
    """

    rows: tuple[Tensor, Tensor]
    opinions: Opinions
    config: Config

    def places(self, side: int, entities: Tensor, n: int) -> Tensor:
        """Where each of the entities stands in the rows of its side, -1 for those that do not."""
        return places(self.rows[side], n)[entities]

    def ranking(self) -> Tensor:
        opinions = self.opinions
        return decide(opinions.pairs, opinions.total, opinions.belief, self.config.decoder)

    def voters(self) -> Tensor:
        return favourites(self.opinions.pairs, self.opinions.scores)

    @property
    def n_voters(self) -> int:
        return 1 + len(self.opinions.scores)

    def among(self, sources: Tensor, targets: Tensor) -> tuple[Pairs, Tensor]:
        """Candidates and their ranking among some rows alone, which become rows 0, 1, 2, ... in their given order."""
        pairs, config = self.opinions.pairs, self.config
        source = places(sources, pairs.shape[0])[pairs.source]
        target = places(targets, pairs.shape[1])[pairs.target]
        inside = (source >= 0) & (target >= 0)
        order = torch.argsort(source[inside] * len(targets) + target[inside])
        few = Pairs(source[inside][order], target[inside][order], (len(sources), len(targets)))
        total = self.opinions.total[inside][order]
        return few, decide(few, total, believed(few, total, config), config.decoder)


@torch.no_grad()
def decode(vectors: Tensor, task: Task, config: Config, last: LastOpinions | None) -> Decoded:
    """Ranked candidates by the settings `decoder` and `decode_voters`."""
    if config.vote_normaliser != "sinkhorn":  # the decoders' belief, whatever the votes were made by
        usual = {"teaching": "mixture", "voting": "both", "search": "exact", "metric": "cosine"}
        config = config.replace(vote_normaliser="sinkhorn", **usual)
    n_source = task.source.n_entities
    generator = torch.Generator().manual_seed(config.seed)
    rows = tuple(torch.from_numpy(e)[torch.randperm(len(e), generator=generator)] for e in task.unlabelled())
    rows = (rows[0].to(vectors.device), rows[1].to(vectors.device))
    source, target = unit(vectors[rows[0]]), unit(vectors[n_source + rows[1]])
    if config.decode_voters == "all" and last is not None:
        return Decoded(rows, _remembered(source, target, rows, task, config, last), config)
    with fast_products(config.fast_products):
        pairs = nearest_pairs(source, target, config.vote_candidates, mib=config.block_mib)
    scores = {"vectors": cosines(source, target, pairs)}
    agreement = None
    if config.decode_voters != "student":
        triples, n_relations = joint_triples(task.source, task.target, shared_relations=config.shared_relations)
        links = torch.from_numpy(task.train + np.array([0, n_source])).to(vectors.device)
        joint = (rows[0], rows[1] + n_source)
        head, relation, tail = torch.from_numpy(triples).to(vectors.device)
        agreement = AgreementVoter(head, relation, tail, n_relations, links, joint, n_source, len(vectors))
    return Decoded(rows, settle(pairs, scores, {}, agreement, config, None, ROUNDS_ALONE), config)


def _remembered(
    source: Tensor, target: Tensor, rows: tuple[Tensor, Tensor], task: Task, config: Config, last: LastOpinions
) -> Opinions:
    """The council's last opinions, about the same entities in another order."""
    place = [places(row, graph.n_entities) for row, graph in zip(rows, (task.source, task.target), strict=True)]

    def tensor(array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(source.device)

    key = place[0][tensor(last.source).long()] * len(rows[1]) + place[1][tensor(last.target).long()]
    pairs = pairs_of_keys(key, (len(rows[0]), len(rows[1])))
    order = torch.argsort(key)
    scores = {"vectors": cosines(source, target, pairs)} | {n: tensor(s)[order] for n, s in last.scores.items()}
    total = total_score(scores, last.weights, config)
    return Opinions(pairs, scores, believed(pairs, total, config), total, last.weights)
