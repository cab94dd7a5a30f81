"""From a trained student to answers: ranked candidates with probabilities, a mapping, scores of links."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from mixtea.compute.nearest import nearest
from mixtea.compute.pairs import Pairs, cosines, pairs_of_keys, places
from mixtea.compute.similarity import unit
from mixtea.config import Config
from mixtea.data.task import Task
from mixtea.match.calibration import Calibration, features, trust
from mixtea.match.candidates import BACKWARD, FORWARD, VOTERS, Candidates
from mixtea.match.counterpart import counterparts
from mixtea.match.decode import Decoded, LastOpinions, decode
from mixtea.match.decoders import ASSIGNED, ranked
from mixtea.match.mapping import Mapping
from mixtea.measure.metrics import METRICS, both_directions, sparse_ranking_metrics


class Ranked(NamedTuple):
    """For p sources their k best targets: targets, what ranks them, the belief, bits of voters, each [p, k].

    `chosen` is true where no other source has a greater belief in the target; `silent` where structure says nothing.
    """

    target: np.ndarray
    score: np.ndarray
    belief: np.ndarray
    voters: np.ndarray
    chosen: np.ndarray
    silent: np.ndarray


class Predictor:
    """Answers about one task by one student's vectors [n, d], the settings `decoder` and `decode_voters`."""

    def __init__(self, vectors: Tensor, task: Task, config: Config, last: LastOpinions | None) -> None:
        self.vectors, self.task, self.config, self.last = vectors, task, config, last
        self.plain = (config.decoder, config.decode_voters) == ("nearest", "student")
        self.free = np.setdiff1d(np.arange(task.source.n_entities), task.train[:, 0])
        self.rows = torch.from_numpy(self.free).to(vectors.device)

    @cached_property
    def decoded(self) -> Decoded:
        return decode(self.vectors, self.task, self.config, self.last)

    def alignment(self, k: int) -> Candidates:
        """The k best of all targets for every source without a training link."""
        return self._with_probabilities(self._complete(*self._ranked(k)))

    def _with_probabilities(self, found: Ranked, *, bounded: bool = True) -> Candidates:
        probability, counterpart = self._probabilities(found, bounded=bounded)
        graphs = (self.task.source, self.task.target)
        return Candidates(*graphs, self.free, found.target, found.score, probability, found.voters, counterpart)

    def mapping(self, *, once: bool, abstain: bool, with_given: bool) -> Mapping:
        """A decision about every source without a given link; `once` gives a target to one source only."""
        task = self.task
        found, free_target = self._choices(once)
        alignment = self._with_probabilities(found, bounded=once)
        frame, counterpart = alignment.decisions(), alignment.counterpart
        silent, best = found.silent[:, 0], alignment.probability[:, 0]
        asked = ~np.isin(self.free, task.valid[:, 0])
        if once and self.config.decoder != "one_to_one":  # an assignment has given each target once
            order = np.flatnonzero(asked)[np.argsort(-best[asked], kind="stable")]
            free_target[order] &= ~frame["target"].iloc[order].duplicated().to_numpy()
        doubted = (1 - counterpart > best) if abstain else np.zeros(len(frame), dtype=bool)
        lost = silent | ~free_target
        frame["probability"] = np.select([silent, lost, doubted], [np.nan, 1 - best, 1 - counterpart], best)
        frame.loc[lost | doubted, "target"] = None
        frame.loc[lost | doubted, "voters"] = ""
        frame = frame[asked]
        if with_given:
            frame = pd.concat([self._given(), frame])
        return Mapping(task.source, task.target, frame.reset_index(drop=True))

    def _given(self) -> pd.DataFrame:
        """The training and validation links as rows of a mapping."""
        links = np.concatenate([self.task.train, self.task.valid])
        names = {"source": self.task.source.ids[links[:, 0]], "target": self.task.target.ids[links[:, 1]]}
        others = {"probability": 1.0, "runner_up": None, "runner_up_probability": np.nan, "voters": "", "given": True}
        return pd.DataFrame(names).assign(**others).astype({"runner_up": object})

    def _choices(self, once: bool) -> tuple[Ranked, np.ndarray]:
        """The two best of each source where validation links are given, so that their ends are taken if `once`.

        And whether the first one is free: some source's, and not another one's by the assignment. Sources of validation
        links keep what they would get without.
        """
        decoded, task = self.decoded, self.task
        taken = (task.valid[:, 0], task.valid[: None if once else 0, 1])
        given = [torch.from_numpy(np.unique(side)).to(self.rows.device) for side in taken]
        kept = [(~torch.isin(decoded.rows[side], given[side])).nonzero().flatten() for side in (0, 1)]
        target = self._ranked(min(2, task.target.n_entities))[0]
        opinions = decoded.opinions
        self._put_best(target, opinions.pairs, decoded.ranking(), decoded.rows)
        pairs, ranking = decoded.among(*kept)
        row, first = self._put_best(target, pairs, ranking, (decoded.rows[0][kept[0]], decoded.rows[1][kept[1]]))
        free = torch.zeros(len(self.rows), dtype=torch.bool, device=self.rows.device)
        free[row] = first > ASSIGNED / 2 if self.config.decoder == "one_to_one" else True
        belief, bits = (self._looked_up(target, values) for values in (opinions.belief, decoded.voters()))
        return self._complete(target, belief.double(), belief, bits), free.cpu().numpy()

    def _put_best(
        self, target: Tensor, pairs: Pairs, ranking: Tensor, ends: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Write the two best of each row of `pairs`, between the entities `ends`, into `target` [p, 2].

        Returns the places of these sources, and what ranks their first one.
        """
        if not len(pairs):
            return ends[0][:0], ranking[:0]
        best = ranked(pairs, ranking, 2)
        best, sources = best[best[:, 0] >= 0], ends[0][best[:, 0] >= 0]
        row = places(self.rows, self.task.source.n_entities)[sources]
        named = ends[1][pairs.target[best.clamp(min=0)]]
        old = target[row]
        other = old[:, 0].where(old[:, 0] != named[:, 0], old[:, -1])
        named[:, 1] = named[:, 1].where(best[:, 1] >= 0, other)
        target[row] = named[:, : target.shape[1]]
        return row, ranking[best[:, 0]]

    def scores(self, links: np.ndarray) -> dict[str, float]:
        """Hit@k and MRR of links [p, 2] both ways, and how far the probabilities of their mappings can be trusted."""
        n_source = self.task.source.n_entities
        joint = torch.from_numpy(links + np.array([0, n_source])).to(self.vectors.device)
        if self.plain:
            everything = n_source if self.config.candidates == "all" else None
            found = both_directions(self.vectors, joint, everything, mib=self.config.block_mib)
        else:
            found = self._decoded_scores(joint)
        alignment = self.alignment(1)
        asked = np.isin(self.free, links[:, 0])
        if not asked.any():
            return found
        right = self._among(links, self.free[asked], alignment.target_index[asked, 0])
        return found | dict(trust(alignment.probability[asked, 0], right))

    def _ranked(self, k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """(targets, score, belief, voters) [p, k]: the k best by the decoder."""
        score, found, bits = self._nearest(k)
        if self.plain:
            return found, score, self._looked_up(found, self.decoded.opinions.belief), bits
        return self._of_decoder(found, k)

    def _complete(self, found: Tensor, score: Tensor, belief: Tensor, bits: Tensor) -> Ranked:
        """With what else is known of the candidates."""
        alone = [torch.from_numpy(g.isolated()).to(self.rows.device) for g in (self.task.source, self.task.target)]
        silent = alone[0][self.rows][:, None] | alone[1][found]  # structure says nothing of entities without triples
        pairs, held = self.decoded.opinions.pairs, self.decoded.opinions.belief
        chosen = self._looked_up(found, pairs.best_of_columns(held).to(held.dtype)) > 0
        parts = (found, score, belief, bits.masked_fill(silent, 0), chosen, silent)
        return Ranked(*(part.cpu().numpy() for part in parts))

    def _nearest(self, k: int) -> tuple[Tensor, Tensor, Tensor]:
        """(nearness, targets, voters) [p, k]: the student's nearest of all targets (Eq. 1)."""
        config = self.config
        sources, targets = self.vectors.index_select(0, self.rows), self.vectors[self.task.source.n_entities :]
        engine = "auto" if config.search == "exact" else config.search
        score, found = nearest(sources, targets, k, config.metric, engine=engine, mib=config.block_mib)
        bits = self._favourites(sources, targets, found, engine).long() * BACKWARD
        bits[:, 0] += FORWARD
        return score, found, bits

    def _favourites(self, sources: Tensor, targets: Tensor, found: Tensor, engine: str) -> Tensor:
        """bool [n, k]: where source row i is the nearest of all sources to its candidate found[i, j]."""
        if not len(sources):
            return torch.zeros_like(found, dtype=torch.bool)
        chosen, place = torch.unique(found, return_inverse=True)
        chosen_vectors = targets.index_select(0, chosen)
        metric, mib = self.config.metric, self.config.block_mib
        _, favourite = nearest(chosen_vectors, sources, 1, metric, engine=engine, mib=mib)
        return favourite[place, 0] == torch.arange(len(sources), device=found.device)[:, None]

    def _looked_up(self, found: Tensor, values: Tensor) -> Tensor:
        """[p, k]: the values of candidates that the decoder has considered, 0 for others."""
        source = self.decoded.places(0, self.rows, self.task.source.n_entities)[:, None].expand_as(found)
        target = self.decoded.places(1, found, self.task.target.n_entities)
        if not len(values):
            return values.new_zeros(found.shape)
        place, there = self.decoded.opinions.pairs.find(source.clamp(min=0), target.clamp(min=0))
        return values[place].where(there & (source >= 0) & (target >= 0), 0)

    def _of_decoder(self, found: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """(targets, score, belief, voters) [p, k]: the decoder's candidates, then the nearest of what is left."""
        decoded, rows = self.decoded, self.rows
        pairs, m = decoded.opinions.pairs, self.task.target.n_entities
        place = places(rows, self.task.source.n_entities)[decoded.rows[0][pairs.source]]
        own = place * m + decoded.rows[1][pairs.target]
        filler = (torch.arange(len(rows), device=rows.device)[:, None] * m + found).flatten()
        both = pairs_of_keys(torch.cat([own, filler]), (len(rows), m))
        ranking, belief = (decoded.opinions.belief.new_full((len(both),), value) for value in (-1e9, 0.0))
        where = both.find(own // m, own % m)[0]
        after = torch.arange(found.shape[1], device=rows.device).expand_as(found).flatten()
        ranking[both.find(filler // m, filler % m)[0]] -= after.to(ranking.dtype) * 1e3
        ranking[where], belief[where] = decoded.ranking(), decoded.opinions.belief
        shown = belief if decoded.config.decoder in ("sinkhorn", "one_to_one") else ranking.clamp(min=-10.0)
        bits = torch.zeros_like(both.source)
        bits[where] = decoded.voters()
        best = ranked(both, ranking, min(k, m))
        return both.target[best], shown[best].double(), belief[best], bits[best]

    def _probabilities(self, found: Ranked, *, bounded: bool) -> tuple[np.ndarray, np.ndarray]:
        """([p, k], [p]): of each candidate, and of a counterpart at all; both learned from the validation links.

        A candidate is right if there is a counterpart and, then, as often as such candidates of the validation links
        are; a row's further candidates share what its first one leaves. `bounded`: a target has one source at most.
        """
        task, free = self.task, self.free
        agreeing = np.stack([(found.voters >> bit) & 1 for bit in range(len(VOTERS))]).sum(0) / self.decoded.n_voters
        k = found.target.shape[1]
        counts = (task.source.triple_counts()[free].repeat(k), task.target.triple_counts()[found.target].ravel())
        belief = found.belief.astype(np.float64).ravel()
        seen = features(belief, agreeing.ravel(), self._cosines(found.target), counts)
        seen = seen.reshape(*found.belief.shape, seen.shape[1])
        speaks = ~found.silent[:, 0]
        known = np.isin(free, task.valid[:, 0]) & speaks
        calibration = Calibration(seen[known, 0], self._among(task.valid, free[known], found.target[known, 0]))
        probability = np.where(found.silent, 0.0, calibration(seen))
        counterpart = np.zeros(len(free))
        if speaks.any():
            first = np.column_stack([seen[:, 0, 1:], found.chosen[:, 0]])[speaks]
            at_most = len(task.unlabelled()[1]) / speaks.sum() if bounded and self._links_are_single() else 1.0
            counterpart[speaks] = counterparts(first, known[speaks], probability[speaks, 0], at_most)
        probability *= counterpart[:, None]
        left, others = counterpart[:, None] - probability[:, :1], probability[:, 1:]
        others *= np.minimum(1.0, left / np.maximum(others.sum(axis=1, keepdims=True), 1e-12))
        return probability, counterpart

    def _links_are_single(self) -> bool:
        """Whether no target has two given links: then none is expected to have."""
        links = np.concatenate([self.task.train, self.task.valid])
        return len(np.unique(links[:, 1])) == len(links)

    def _cosines(self, found: np.ndarray) -> np.ndarray:
        """[p * k]: the student's cosine of every source and its candidates."""
        vectors = self.vectors
        source, target = unit(vectors[self.rows]), unit(vectors[self.task.source.n_entities :])
        rows = torch.arange(len(self.free), device=vectors.device).repeat_interleave(found.shape[1])
        columns = torch.from_numpy(found.ravel()).to(vectors.device)
        return cosines(source, target, Pairs(rows, columns, (len(source), len(target)))).double().cpu().numpy()

    def _among(self, links: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """bool: whether each pair is one of the links."""
        m = self.task.target.n_entities
        return np.isin(source * m + target, links[:, 0] * m + links[:, 1])

    def _decoded_scores(self, joint: Tensor) -> dict[str, float]:
        """The metrics of a decoder's ranking. A training link is given, so it is right; others of its ends are not."""
        decoded, n_source, n_target = self.decoded, self.task.source.n_entities, self.task.target.n_entities
        stand = torch.stack(
            [decoded.places(0, joint[:, 0], n_source), decoded.places(1, joint[:, 1] - n_source, n_target)], dim=1
        )
        both = (stand >= 0).all(1)
        if decoded.config.candidates == "all":
            kept = [torch.arange(len(side), device=joint.device) for side in decoded.rows]
        else:
            kept = [torch.unique(stand[both, side]) for side in (0, 1)]
        given = {tuple(pair) for pair in self.task.train.tolist()}
        right = sum((s, t - n_source) in given for s, t in joint[~both].tolist()) / len(joint)
        if not both.any():
            return {prefix + name: right for prefix in ("", "backward_") for name in METRICS}
        pairs, ranking = decoded.among(*kept)
        new = torch.stack([torch.searchsorted(kept[side], stand[both, side]) for side in (0, 1)], dim=1)
        order = torch.argsort(pairs.target * len(kept[0]) + pairs.source)
        turned = Pairs(pairs.target[order], pairs.source[order], pairs.shape[::-1])
        found = sparse_ranking_metrics(pairs, ranking, new)
        back = sparse_ranking_metrics(turned, ranking[order], new.flip(1))
        found |= {f"backward_{name}": value for name, value in back.items()}
        share = int(both.sum()) / len(joint)
        return {name: value * share + right for name, value in found.items()}
