"""From a trained student to answers: ranked candidates with probabilities, a mapping, scores of links."""

from __future__ import annotations

from collections.abc import Mapping as Table
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from mixtea.compute.nearest import nearest
from mixtea.compute.pairs import Pairs, pairs_of_keys, places
from mixtea.config import Config
from mixtea.data.task import Task
from mixtea.match.answers import ASSIGNED_IT, STORED, Answers, Left, Ranked, decided_mapping, given_once, with_further
from mixtea.match.calibration import Calibration, trust
from mixtea.match.candidates import Candidates
from mixtea.match.counterpart import counterparts
from mixtea.match.decode import Decoded, StoredOpinions, decode
from mixtea.match.decoders import ASSIGNED, ranked
from mixtea.match.examples import LIMIT, Examples, Judged, features, joined, rehearsed
from mixtea.match.left_over import nearest_left
from mixtea.match.mapping import Mapping
from mixtea.match.neighbours import MatchedNeighbours
from mixtea.match.ranked_links import RankedLinks
from mixtea.measure.metrics import both_directions
from mixtea.vote.kinds import own_types
from mixtea.vote.vectors import OPINION

LINKS_HALF_BELIEVED = 50  # links that count as much as what names and structure tell without any
ONCE = "one_to_one"  # the decoder that gives each target once


class Found(NamedTuple):
    """For p sources some of their targets [p, k], what ranks them, the belief, and who favours them [p, k, v]."""

    target: Tensor
    score: Tensor
    belief: Tensor
    named: Tensor


class Predictor:
    """Answers about one task by one student's vectors [n, d], the settings `decoder` and `decode_voters`."""

    def __init__(
        self, vectors: Tensor, task: Task, config: Config, last: StoredOpinions | None,
        packages: Table[str, str] | None = None, decoded: Decoded | None = None,
    ) -> None:  # fmt: skip
        self.vectors, self.task, self.config, self.last, self.packages = vectors, task, config, last, packages
        self.free = np.setdiff1d(np.arange(task.source.n_entities), task.settled(0))
        self.rows = torch.from_numpy(self.free).to(vectors.device)
        if decoded is not None:
            self.decoded = decoded

    @cached_property
    def decoded(self) -> Decoded:
        return decode(self.vectors, self.task, self.config, self.last, self.packages)

    def with_decoder(self, decoder: str) -> Predictor:
        """Another way to decide about the same opinions."""
        if decoder == self.config.decoder:
            return self
        config, decoded = self.config.replace(decoder=decoder), self.decoded.with_decoder(decoder)
        return Predictor(self.vectors, self.task, config, self.last, self.packages, decoded)

    def giving_each_once(self) -> Predictor:
        """The way to decide that gives each target once: an assignment, or a belief in which that is settled."""
        return self.with_decoder("sinkhorn" if self.decoded.alone else ONCE)

    def answers(self) -> Answers:
        """What a run keeps: the best candidates by its decoder, and a mapping that gives each target once."""
        found = self._ranked(min(STORED, self.task.target.n_entities))
        decided, is_free = (deciding := self.giving_each_once())._decided(once=True)
        left = deciding._left(decided, is_free)
        held = self.decoded.opinions.scores
        scores = {name: self._looked_up(found.target, s, np.nan).cpu().numpy() for name, s in held.items()}
        names, first = self.config.deciding_voters, torch.from_numpy(decided.target[:, :1]).to(found.target.device)
        parts = self._parts(torch.cat([first, found.target[:, :1]], dim=1))
        return Answers(self.task, names, self.free, self._complete(found), scores, decided, is_free, parts, left)

    def candidates(self, k: int) -> Candidates:
        """The k best of all targets for every source without a training link."""
        found = self._complete(self._ranked(k))
        parts = (found.target, found.score, found.probability(k), found.named, found.counterpart)
        return Candidates(self.task.source, self.task.target, self.free, *parts, self.config.deciding_voters)

    def mapping(self, *, once: bool, abstain: bool, with_given: bool, several: bool = False) -> Mapping:
        """A decision about every source without a given link; `once` gives a target to one source only.

        With `several` sources may get further targets.
        """
        found, is_free = self._decided(once)
        names, first = self.config.deciding_voters, torch.from_numpy(found.target[:, :1]).to(self.rows.device)
        parts = {name: part[:, 0] for name, part in self._parts(first).items()}
        left = self._left(found, is_free) if once and not abstain else None
        mapping = decided_mapping(
            self.task, names, self.free, found, is_free, parts, abstain=abstain, with_given=with_given, left=left
        )
        if not several:
            return mapping
        ranked = self._complete(self._ranked(min(STORED, self.task.target.n_entities)))
        return with_further(mapping, self.task, names, self.free, ranked)

    def _parts(self, target: Tensor) -> dict[str, np.ndarray]:
        """[p, k] an opinion: what it adds to the score of these targets, in units of the temperature."""
        return {name: self._looked_up(target, part, np.nan).cpu().numpy() for name, part in self.decoded.parts.items()}

    def scores(self, links: np.ndarray, first: Candidates | None = None) -> dict[str, float]:
        """Hit@k and MRR of links [p, 2] both ways, and how far the probabilities of their mappings can be trusted.

        `first` are the candidates of these settings, where they are known already.
        """
        joint = self._joint(links)
        if self.config.only_student_decodes:
            everything = self.task.source.n_entities if self.config.candidates == "all" else None
            found = both_directions(self.vectors, joint, everything, mib=self.config.block_mib)
        else:
            found = RankedLinks(self.decoded, self.task, joint).scores()
        candidates = first or self.candidates(1)
        asked = np.isin(self.free, links[:, 0])
        if not asked.any():
            return found
        right = self._among(links, self.free[asked], candidates.target_index[asked, 0])
        return found | dict(trust(candidates.probability[asked, 0], right))

    def first_hits(self, links: np.ndarray) -> np.ndarray:
        """[p]: how likely each of the links [p, 2] is the first of its source, ties in expectation."""
        return RankedLinks(self.decoded, self.task, self._joint(links)).first_hits()

    def _joint(self, links: np.ndarray) -> Tensor:
        """Links by joint numbers, targets after all sources."""
        return torch.from_numpy(links + np.array([0, self.task.source.n_entities])).to(self.vectors.device)

    def _decided(self, once: bool) -> tuple[Ranked, np.ndarray]:
        """The two best of each source, and whether the first is free for it; `once` gives a target to one source."""
        found, standing = self._choices(once)
        complete = self._complete(found, bounded=once)
        if not once:
            return complete, standing == ASSIGNED_IT
        linked = np.isin(self.free, self.task.linked_sources)
        best = complete.probability(complete.target.shape[1])[:, 0]
        is_free = given_once(complete.target[:, 0], best, np.where(linked, 0, standing))
        is_free |= linked & (standing == ASSIGNED_IT)
        return complete, is_free

    def _left(self, found: Ranked, is_free: np.ndarray) -> Left:
        """What the sources get whose targets went to others, where every one is to be mapped: the nearest left over.

        Entities without triples get and are nothing: the student knows nothing of them.
        """
        task, n = self.task, self.task.source.n_entities
        asked = ~np.isin(self.free, task.linked_sources) & ~found.silent[:, 0]
        lost = np.flatnonzero(asked & ~is_free & ~task.source.isolated()[self.free])
        given = np.concatenate([task.train[:, 1], task.valid[:, 1], found.target[asked & is_free, 0]])
        others = np.setdiff1d(np.flatnonzero(~task.target.isolated()), given)
        vectors, rejected = (self.vectors[:n], self.vectors[n:]), set(map(tuple, task.rejected.tolist()))
        target = np.full(len(self.free), -1, dtype=np.int64)
        target[lost] = nearest_left(vectors, self.free[lost], others, rejected, self.config)
        first = torch.from_numpy(np.where(target >= 0, target, found.target[:, 0]))[:, None].to(self.rows.device)
        belief, named = (self._looked_up(first, of) for of in (self.decoded.opinions.belief, self.decoded.named))
        return Left(target, self._complete(Found(first, belief.double(), belief, named)).likelihood[:, 0])

    def _choices(self, once: bool) -> tuple[Found, np.ndarray]:
        """The two best of each source where validation links are given, so that their ends are taken if `once`.

        And how the first one stands: 2 if the assignment gives it to the source, or there is none; 1 if it is the
        source's best, no more; 0 if nothing is left. Sources of validation links keep what they would get without.
        """
        decoded, task = self.decoded, self.task
        taken = (task.linked_sources, task.valid[: None if once else 0, 1])
        given = [torch.from_numpy(np.unique(side)).to(self.rows.device) for side in taken]
        own = decoded.entities.own
        kept = [(~torch.isin(own[side], given[side])).nonzero().flatten() for side in (0, 1)]
        target = self._ranked(min(2, task.target.n_entities)).target
        opinions = decoded.opinions
        self._put_best(target, opinions.pairs, decoded.ranking, own)
        pairs, ranking = decoded.among(*kept)
        row, first = self._put_best(target, pairs, ranking, (own[0][kept[0]], own[1][kept[1]]))
        standing = torch.zeros(len(self.rows), dtype=torch.int8, device=self.rows.device)
        standing[row] = 1 + ((first > ASSIGNED / 2) | (self.config.decoder != ONCE)).to(torch.int8)
        belief = self._looked_up(target, opinions.belief)
        return Found(target, belief.double(), belief, self._looked_up(target, decoded.named)), standing.cpu().numpy()

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

    def _ranked(self, k: int) -> Found:
        """The k best by the decoder."""
        if not self.config.only_student_decodes:
            return self._of_decoder(k)
        score, target = self._nearest(self.rows, k)
        named = self._named_by_student(target)
        return Found(target, score, self._looked_up(target, self.decoded.opinions.belief), named)

    def _nearest(self, rows: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """(nearness, targets) [p, k] of some sources: the student's nearest (Eq. 1), without rejected ones."""
        config = self.config
        sources, targets = self.vectors.index_select(0, rows), self.vectors[self.task.source.n_entities :]
        wider = min(k + self._most_rejected, len(targets))
        score, found = nearest(sources, targets, wider, config.metric, engine=self._engine, mib=config.block_mib)
        return self._without_rejected(rows, score, found, k)

    @property
    def _engine(self) -> str:
        return "auto" if self.config.search == "exact" else self.config.search

    def _named_by_student(self, found: Tensor) -> Tensor:
        """bool [p, k, v]: which of the nearest [p, k] its two directions favour."""
        names = self.config.deciding_voters
        named = torch.zeros(*found.shape, len(names), dtype=torch.bool, device=found.device)
        if "backward" in names:
            named[..., names.index("backward")] = self._favourites(found)
        if "forward" in names:
            named[:, :1, names.index("forward")] = True
        return named

    @cached_property
    def _most_rejected(self) -> int:
        """Of the targets of one source."""
        return int(np.bincount(self.task.rejected[:, 0]).max(initial=0)) if len(self.task.rejected) else 0

    def _without_rejected(self, rows: Tensor, score: Tensor, found: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The first k of each row that were not rejected; there are more than k where some were."""
        if not self._most_rejected:
            return score, found
        last = self._are_rejected(rows[:, None], found).int().argsort(dim=1, stable=True)[:, :k]
        return score.gather(1, last), found.gather(1, last)

    def _are_rejected(self, source: Tensor, target: Tensor) -> Tensor:
        m = self.task.target.n_entities
        rejected = torch.from_numpy(self.task.rejected[:, 0] * m + self.task.rejected[:, 1]).to(target.device)
        return torch.isin(source * m + target, rejected)

    def _favourites(self, found: Tensor) -> Tensor:
        """bool [n, k]: where source row i is the nearest of all sources to its candidate found[i, j]."""
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
        """[p, k, ...]: the values of candidates that the decoder has considered, `otherwise` for others."""
        place, there = self._considered(target)
        if not len(values):
            return values.new_full((*target.shape, *values.shape[1:]), otherwise)
        there = there.view(*there.shape, *[1] * (values.ndim - 1))
        return values[place].where(there, torch.tensor(otherwise, dtype=values.dtype, device=values.device))

    def _considered(self, target: Tensor) -> tuple[Tensor, Tensor]:
        """The place of each candidate [p, k] among the decoder's, and whether it is there."""
        source = self.decoded.places(0, self.rows)[:, None].expand_as(target)
        column = self.decoded.places(1, target)
        place, there = self.decoded.opinions.pairs.find(source.clamp(min=0), column.clamp(min=0))
        return place, there & (source >= 0) & (column >= 0)

    def _of_decoder(self, k: int) -> Found:
        """The decoder's candidates, then the nearest of what is left."""
        decoded, rows = self.decoded, self.rows
        pairs, m = decoded.opinions.pairs, self.task.target.n_entities
        ends = decoded.entities.own
        own = places(rows, self.task.source.n_entities)[ends[0][pairs.source]] * m + ends[1][pairs.target]
        short = (torch.bincount(own // m, minlength=len(rows)) < min(k, m)).nonzero().flatten()
        found = self._nearest(rows[short], k)[1]
        filler = (short[:, None] * m + found).flatten()
        both = pairs_of_keys(torch.cat([own, filler]), (len(rows), m))
        ranking, belief = (decoded.opinions.belief.new_full((len(both),), value) for value in (-1e9, 0.0))
        where = both.find(own // m, own % m)[0]
        after = torch.arange(found.shape[1], device=rows.device).expand_as(found).flatten()
        ranking[both.find(filler // m, filler % m)[0]] -= after.to(ranking.dtype) * 1e3
        ranking[where], belief[where] = decoded.ranking, decoded.opinions.belief
        shown = belief if decoded.config.decoder in ("sinkhorn", ONCE) else ranking.clamp(min=-10.0)
        named = torch.zeros(len(both), decoded.named.shape[1], dtype=torch.bool, device=rows.device)
        named[where] = decoded.named
        best = ranked(both, ranking, min(k, m))
        return Found(both.target[best], shown[best].double(), belief[best], named[best])

    def _complete(self, found: Found, *, bounded: bool = True) -> Ranked:
        """With what else is known of the candidates, and how likely they are; `bounded`: a target has one source."""
        decoded = self.decoded
        chosen = self._looked_up(found.target, decoded.opinions.pairs.best_of_columns(decoded.opinions.belief))
        silent = self._silent(found.target)
        named = found.named & ~silent[..., None]
        score, belief, named_, chosen_, silent_ = (
            part.cpu().numpy() for part in (found.score, found.belief, named, chosen, silent)
        )
        target = found.target.cpu().numpy()
        if decoded.alone:
            likelihood, counterpart = self._likelihoods_without_links(belief, silent_)
            are_random = True
        else:
            likelihood, counterpart, are_random = self._likelihoods(found.target, silent_, bounded=bounded)
            if decoded.by_text is not None and not self._several:  # which takes each entity to have one counterpart
                belief_ = self._looked_up(found.target, decoded.by_text).cpu().numpy()
                likelihood, counterpart = self._mixed(likelihood, counterpart, belief_, silent_)
        return Ranked(target, score, belief, named_, chosen_, silent_, likelihood, counterpart, are_random)

    def _silent(self, target: Tensor) -> Tensor:
        """bool [p, k]: nothing speaks for the pair: it was rejected, or an end has no triples and no voter knows it."""
        alone = [torch.from_numpy(g.isolated()).to(self.rows.device) for g in (self.task.source, self.task.target)]
        unknown = (alone[0][self.rows][:, None] | alone[1][target]) & ~self._considered(target)[1]
        return unknown | self._are_rejected(self.rows[:, None], target)

    def _likelihoods(self, target: Tensor, silent: np.ndarray, *, bounded: bool) -> tuple[np.ndarray, np.ndarray, bool]:
        """([p, k], [p], ...): how often such candidates of links are right, how likely a counterpart is, and whether

        links look like a random choice of the entities that have one.
        """
        task, free, speaks = self.task, self.free, ~silent[:, 0]
        seen, linked = self._seen(target), np.isin(free, task.linked_sources)
        known = np.isin(free, task.valid[:, 0]) & speaks
        right = self._among(task.valid, free[known], target[known, 0].cpu().numpy()) if known.any() else known[:0]
        examples = self._examples(known, seen[known, 0], right)
        calibration = Calibration(examples.seen, examples.right, examples.rehearsed)
        likelihood, counterpart = np.where(silent, 0.0, calibration(seen)), np.zeros(len(free))
        is_open = speaks & ~linked
        given = np.concatenate([task.train[:, 1], task.valid[:, 1]])
        n_targets = task.target.n_entities - len(np.unique(given))
        at_most = n_targets / max(is_open.sum(), 1) if bounded and self._links_are_single() else 1.0
        looks, triples = self._judged.looks(self._neighbours)[free], np.log1p(task.source.triple_counts()[free])
        found = counterparts(looks, triples, own_types(task.source)[free], is_open, examples, at_most)
        counterpart[speaks] = found.probability[speaks]
        return likelihood, counterpart, found.links_are_random

    def _seen(self, target: Tensor) -> np.ndarray:
        """[p, k, 8]: what is seen of candidates, without the student unless nobody else decides."""
        judged, (n, m) = self._judged, (self.task.source.triple_counts(), self.task.target.triple_counts())
        row, column, joined_, said = (
            self._looked_up(target, torch.from_numpy(part).to(target.device), otherwise).cpu().numpy()
            for part, otherwise in (
                (judged.row, -LIMIT), (judged.column, -LIMIT), (judged.joined, 0.0), (judged.said, 0.0)
            )
        )  # fmt: skip
        found = target.cpu().numpy()
        return features(row, column, joined_, said, (np.broadcast_to(n[self.free][:, None], found.shape), m[found]))

    @cached_property
    def _judged(self) -> Judged:
        """The candidates of the open entities."""
        pairs, own = self.decoded.opinions.pairs, self.decoded.entities.own
        source, target = own[0][pairs.source].cpu().numpy(), own[1][pairs.target].cpu().numpy()
        said = self.decoded.untrained(self.decoded.opinions.scores)
        return Judged(source, target, *said, self._shape, several=self._several)

    @cached_property
    def _several(self) -> bool:
        """Whether candidates of a source are not rivals: most sources with a link have several targets."""
        return self.task.several_targets_share > 0.5

    @cached_property
    def _judged_without_valid(self) -> Judged:
        return self._judged.without(self.task.valid)

    @cached_property
    def _neighbours(self) -> MatchedNeighbours:
        """Neighbours of sources that have a given link, or a candidate well ahead of its rivals."""
        matched = self._judged.sure_targets()
        for links in (self.task.valid, self.task.train):
            matched[links[:, 0]] = links[:, 1]
        return MatchedNeighbours(self.task, matched)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.task.source.n_entities, self.task.target.n_entities

    def _examples(self, known: np.ndarray, seen: np.ndarray, right: np.ndarray) -> Examples:
        """The sources of the validation links, and those of the training links as they were rehearsed."""
        task, judged, sources = self.task, self._judged, self.free[known]
        triples = task.source.triple_counts()
        looks, hidden = (of.looks(self._neighbours)[sources] for of in (judged, self._judged_without_valid))
        none = np.zeros(len(sources), dtype=bool)
        openly = Examples(seen, right, looks, hidden, np.log1p(triples[sources]), none)
        return joined(openly, self._rehearsed) if self._rehearsed is not None else openly

    @cached_property
    def _rehearsed(self) -> Examples | None:
        """Training links, judged by voters who did not know them; None where there are no such judgements."""
        task, last = self.task, self.last
        names = set(self.decoded.opinions.scores) - {OPINION}
        if last is None or not names or not names <= last.scores.keys():
            return None
        kept = np.isin(last.source, task.train[:, 0]) | np.isin(last.target, task.train[:, 1])
        if not kept.any():
            return None
        scores = {name: torch.from_numpy(last.scores[name][kept]) for name in sorted(names)}
        ends = (last.source[kept].astype(np.int64), last.target[kept].astype(np.int64))
        said = self.decoded.untrained(scores)
        judged = Judged(*ends, *said, self._shape, several=self._several)
        pairs = rehearsed(judged, self._judged, task.train)
        best = pairs.best
        source, target = pairs.source[best], pairs.target[best]
        counts = (task.source.triple_counts()[source], task.target.triple_counts()[target])
        seen = features(pairs.row[best], pairs.column[best], pairs.joined[best], pairs.said[best], counts)
        right = self._among(task.train, source, target)
        looks, hidden = (of.looks(self._neighbours)[source] for of in (pairs, pairs.without(task.train)))
        return Examples(seen, right, looks, hidden, np.log1p(counts[0]), np.ones(len(best), dtype=bool))

    def _likelihoods_without_links(self, belief: np.ndarray, silent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same where names and values are all that it began with: the belief knows no counterpart as a rival."""
        share = np.where(silent, 0.0, belief.astype(np.float64))
        counterpart = np.minimum(share.sum(axis=1), 1.0)
        return share / np.maximum(counterpart, 1e-12)[:, None], counterpart

    def _mixed(
        self, likelihood: np.ndarray, counterpart: np.ndarray, belief: np.ndarray, silent: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mix what links teach with what is known without any: the fewer there are, the less they count.

        weight = links / (links + LINKS_HALF_BELIEVED), applied to the probabilities [p, k].
        """
        n = len(self.task.train) + len(self.task.valid)
        weight = n / (n + LINKS_HALF_BELIEVED)
        without, has_one = self._likelihoods_without_links(belief, silent)
        by_links, by_text = likelihood * counterpart[:, None], without * has_one[:, None]
        mixed = weight * counterpart + (1 - weight) * has_one
        return (weight * by_links + (1 - weight) * by_text) / np.maximum(mixed, 1e-12)[:, None], mixed

    def _links_are_single(self) -> bool:
        """Whether no target has two given links: then none is expected to have."""
        links = np.concatenate([self.task.train, self.task.valid])
        return len(np.unique(links[:, 1])) == len(links)

    def _among(self, links: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """bool: whether each pair is one of the links."""
        m = self.task.target.n_entities
        return np.isin(source * m + target, links[:, 0] * m + links[:, 1])
