"""The paper's formulas with dense matrices, in plain lines: what every fast path must equal, value and gradient."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import combinations

import torch
import torch.nn.functional as F
from torch import Tensor


def cosine(source: Tensor, target: Tensor) -> Tensor:
    return F.normalize(source, dim=-1) @ F.normalize(target, dim=-1).T


def layer(hidden: Tensor, attention: Tensor, neighbours: Tensor, activation: str) -> Tensor:
    """Eq. 2-3 before the outer activation: hidden [n, d] is W_g h, attention [2d], neighbours bool [n, n]."""
    left, right = hidden @ attention[: hidden.shape[1]], hidden @ attention[hidden.shape[1] :]
    scores = left[:, None] + right[None, :]
    scores = F.leaky_relu(scores, 0.2) if activation == "leaky_relu" else F.elu(scores)
    alpha = scores.masked_fill(~neighbours, -torch.inf).softmax(1).nan_to_num(0.0)
    return alpha @ hidden


def relation_mean(triples: list[tuple[int, int, int]], relation: Tensor, n: int, end: int, kind: str) -> Tensor:
    """Eq. 4 (end 0: outward) and Eq. 5 (end 2: inward), over occurrences or over the set."""
    rows = []
    for entity in range(n):
        found = [r for h, r, t in triples if (h, r, t)[end] == entity]
        found = sorted(set(found)) if kind == "set" else found
        rows.append(relation[found].mean(0) if found else torch.zeros_like(relation[0]))
    return torch.stack(rows)


def teacher_update(teacher: Tensor, student: Tensor, momentum: float) -> Tensor:
    """Eq. 7."""
    return momentum * teacher + (1 - momentum) * student


def alignment_loss(vectors: Tensor, links: Tensor, negatives: Tensor, margin: float) -> Tensor:
    """Eq. 8."""
    loss = vectors.new_zeros(())
    for (s, t), pairs in zip(links.tolist(), negatives.tolist(), strict=True):
        near = (vectors[s] - vectors[t]).norm()
        for a, b in pairs:
            loss = loss + (near + margin - (vectors[a] - vectors[b]).norm()).relu()
    return loss


def one_hot_of_best(similarity: Tensor) -> Tensor:
    """g(M), Eq. 12: the first maximum of each row."""
    return F.one_hot(similarity.argmax(1), similarity.shape[1]).to(similarity.dtype)


def bidirectional(source: Tensor, target: Tensor, hit_forward: float, hit_backward: float) -> Tensor:
    """P, Eq. 9-12."""
    similarity = cosine(source, target)
    total = hit_forward + hit_backward
    beta = hit_forward / total if total else 0.5
    return beta * one_hot_of_best(similarity) + (1 - beta) * one_hot_of_best(similarity.T).T


def rectified(votes: Tensor) -> Tensor:
    """Eq. 13; 0 where there is no vote."""
    competing = votes.sum(1, keepdim=True) + votes.sum(0, keepdim=True) - votes
    return torch.where(votes > 0, votes / competing, 0.0)


def pseudo_mapping_loss(source: Tensor, target: Tensor, votes: Tensor, temperature: float, kind: str) -> Tensor:
    """Eq. 14."""
    wanted = votes.softmax(1) if kind == "softmax" else votes
    return -(wanted * (cosine(source, target) / temperature).log_softmax(1)).sum()


def objective(loss_a: Tensor, loss_u: Tensor, epoch: int, ramp: int) -> Tensor:
    """Eq. 15 with the ramp-up exp(-5 (1 - e/ramp)^2)."""
    return loss_a + math.exp(-5 * max(0.0, 1 - epoch / ramp) ** 2) * loss_u


def expected_metrics(similarity: Tensor, truth: list[int], ks: tuple[int, ...]) -> dict[str, float]:
    """Hit@k and MRR as means over every possible rank of the true target among those equal to it."""
    hits, reciprocal = dict.fromkeys(ks, 0.0), 0.0
    for row, true in zip(similarity, truth, strict=True):
        better = sum(bool(s > row[true]) for s in row)
        equal = sum(bool(s == row[true]) for s in row)
        ranks = range(better + 1, better + equal + 1)
        reciprocal += sum(1 / r for r in ranks) / equal
        for k in ks:
            hits[k] += sum(r <= k for r in ranks) / equal
    n = len(truth)
    return {f"hits@{k}": h / n for k, h in hits.items()} | {"mrr": reciprocal / n}


def csls(scores: Tensor, neighbours: int) -> Tensor:
    """2 s_ij less the mean of the greatest scores of row i and of column j."""
    rows = scores.topk(min(neighbours, scores.shape[1]), dim=1).values.mean(1)
    columns = scores.topk(min(neighbours, scores.shape[0]), dim=0).values.mean(0)
    return 2 * scores - rows[:, None] - columns[None]


def sinkhorn(scores: Tensor, temperature: float, rounds: int) -> Tensor:
    """exp(s / temperature) with rows, then columns, divided by their sums, again and again."""
    belief = (scores / temperature).exp()
    for _ in range(rounds):
        belief = belief / belief.sum(1, keepdim=True)
        belief = belief / belief.sum(0, keepdim=True)
    return belief


Step = tuple[int, int, int]  # from an entity, through a relation or its inverse (-1 - relation), to another


def walked(triples: list[Step]) -> set[Step]:
    """Every triple both ways; the inverse of relation r is -1 - r."""
    return {(h, r, t) for h, r, t in triples} | {(t, -1 - r, h) for h, r, t in triples}


def agreement(
    first: list[Step], second: list[Step], belief: dict[tuple[int, int], float]
) -> dict[tuple[int, int], float]:
    """log(1 + sum belief(a, b) alike(r, r') / sqrt(max(|N_r(a)|, |N_r'(b)|))) of each pair (x, y) that is reached.

    alike(r, r') is the belief in triples that meet, over the geometric mean (each side plus 1) of what could have met.
    """
    ours, theirs = walked(first), walked(second)

    def count(steps: set[Step], a: int, r: int) -> int:
        return sum(s[:2] == (a, r) for s in steps)

    matched: list[dict[int, float]] = [{}, {}]
    for pair, p in belief.items():
        for side in (0, 1):
            matched[side][pair[side]] = min(1.0, matched[side].get(pair[side], 0.0) + p)
    met: dict[tuple[int, int], float] = {}
    could: list[dict[int, float]] = [{}, {}]
    for side, steps in enumerate((ours, theirs)):
        for a, r, x in steps:
            could[side][r] = could[side].get(r, 0.0) + matched[side].get(a, 0.0) * matched[side].get(x, 0.0)
    for a, r, x in ours:
        for b, q, y in theirs:
            met[r, q] = met.get((r, q), 0.0) + belief.get((a, b), 0.0) * belief.get((x, y), 0.0)
    total: dict[tuple[int, int], float] = {}
    for a, r, x in ours:
        for b, q, y in theirs:
            alike = min(1.0, met[r, q] / math.sqrt((could[0][r] + 1) * (could[1][q] + 1)))
            few = math.sqrt(max(count(ours, a, r), count(theirs, b, q)))
            if belief.get((a, b), 0.0) > 0:
                total[x, y] = total.get((x, y), 0.0) + belief[a, b] * alike / few
    return {pair: math.log1p(value) for pair, value in total.items()}


def propagated(triples: list[Step], known: Tensor, label: Tensor, n: int, n_relations: int) -> tuple[Tensor, Tensor]:
    """Two hops of labels [p, d]: entities [3, n, d], relations with their inverses [3, 2 r, d]; rows of length 1."""
    steps = {(h, 2 * r, t) for h, r, t in triples} | {(t, 2 * r + 1, h) for h, r, t in triples}
    entity, kind = label.new_zeros(n, label.shape[1]), label.new_zeros(2 * n_relations, label.shape[1])
    entity[known[:, 0]], entity[known[:, 1]] = label, label
    entities, kinds = [entity], [kind]
    for _ in range(2):
        own = torch.tensor([2.0 * sum(s[0] == e for s in steps) for e in range(n)], dtype=label.dtype)
        new, seen = own[:, None] * entity, torch.zeros_like(kind)
        for to, _, at in steps:
            new[to] += entity[at]
        for at, r in {(at, r) for _, r, at in steps}:
            new[at] += kind[r]
        for to, r in {(to, r) for to, r, _ in steps}:
            seen[r] += entity[to]
        entity, kind = F.normalize(new, dim=1), F.normalize(seen, dim=1)
        entities.append(entity)
        kinds.append(kind)
    return torch.stack(entities), torch.stack(kinds)


Belief = dict[tuple[int, int], float]


def third_hop(triples: list[Step], entities: list[Tensor], weight: Tensor, mixture: Tensor) -> Tensor:
    """out_i = unit of, for every k, sum over the kinds r and neighbours j of i by r of weight_rk (unit(e_j) mixture_k).

    entities [n, d] by hop, weight [2 r, k], mixture [3 d, k, part]; a zero vector stays zero.
    """
    seen = torch.nn.functional.normalize(torch.cat(entities, dim=1), dim=1)
    out = torch.zeros(len(seen), *mixture.shape[1:], dtype=seen.dtype)
    for to, kind, at in {(h, 2 * r, t) for h, r, t in triples} | {(t, 2 * r + 1, h) for h, r, t in triples}:
        out[to] += weight[kind][:, None] * torch.einsum("d,dkp->kp", seen[at], mixture)
    return torch.nn.functional.normalize(out.flatten(1), dim=1)


def met(ours: set[Step], theirs: set[Step], near: Belief, far: Belief) -> dict[tuple[int, int], list[float]]:
    """For relations r and q that meet: how much of r meets q, and could have; how much of q meets r, and could have."""
    turned = [{(t, s): p for (s, t), p in belief.items()} for belief in (near, far)]
    there, back = _within(ours, theirs, near, far), _within(theirs, ours, turned[0], turned[1])
    return {(r, q): [*row, *back[q, r]] for (r, q), row in there.items() if row[0] > 0}


def _within(own: set[Step], other: set[Step], near: Belief, far: Belief) -> dict[tuple[int, int], list[float]]:
    found: dict[tuple[int, int], list[float]] = {}
    for a, r, x in own:
        first, last = (min(1.0, sum(p for (s, _), p in b.items() if s == e)) for b, e in ((near, a), (far, x)))
        for kind in {q for _, q, _ in other}:
            row = found.setdefault((r, kind), [0.0, 0.0])
            row[0] += max(near.get((a, b), 0.0) * far.get((x, y), 0.0) for b, q, y in other if q == kind)
            row[1] += first * last
    return found


def grams(text: str, lengths: tuple[int, ...]) -> list[tuple[int, str]]:
    """The words (length 0) and the n-grams of a text with a space at both ends."""
    padded = f" {text} "
    found = [(n, padded[i : i + n]) for n in lengths for i in range(len(padded) - n + 1)]
    return found + [(0, word) for word in text.split(" ") if word]


def tfidf(*sides: list[str], lengths: tuple[int, ...] = (2, 3, 4)) -> list[Tensor]:
    """Rows of (1 + log count) log(texts / texts with it), divided by their length; the same columns for all sides."""
    counted = [[grams(text, lengths) for text in texts] for texts in sides]
    columns = sorted({gram for side in counted for row in side for gram in row})
    tables = [torch.tensor([[float(row.count(c)) for c in columns] for row in side]) for side in counted]
    held = torch.stack([(table > 0).sum(0) for table in tables]).sum(0)
    rarity = (sum(map(len, sides)) / held).log()
    return [F.normalize(torch.where(t > 0, 1 + t.log(), 0.0) * rarity, dim=1) for t in tables]


def ridge(kernel: Tensor, to_known: Tensor, values: Tensor, penalty: float) -> Tensor:
    """k (K + lambda I)^-1 Y: kernel ridge regression, K [p, p] between the known, k [n, p] to them, Y [p, d]."""
    return to_known @ torch.linalg.solve(kernel + penalty * torch.eye(len(kernel), dtype=kernel.dtype), values)


def ridge_without(kernel: Tensor, values: Tensor, penalty: float, left_out: int) -> Tensor:
    """What regression from all but one of the known says of that one."""
    kept = [i for i in range(len(kernel)) if i != left_out]
    return ridge(kernel[kept][:, kept], kernel[left_out][None, kept], values[kept], penalty)[0]


def among_rivals(log_odds: Tensor) -> Tensor:
    """e / (1 + the greater of its row's and its column's sum), e = exp(log-odds)."""
    e = log_odds.exp()
    return e / (1 + torch.maximum(e.sum(1, keepdim=True).expand_as(e), e.sum(0, keepdim=True).expand_as(e)))


Ends = tuple[int, int]


def matchings(pairs: Sequence[Ends], several: Collection[int] = ()) -> list[tuple[int, ...]]:
    """All sets of places of pairs that have no end in common, but for sources that may have several targets."""
    found = []
    for size in range(len(pairs) + 1):
        for places in combinations(range(len(pairs)), size):
            sources = [pairs[p][0] for p in places if pairs[p][0] not in several]
            targets = [pairs[p][1] for p in places]
            if len(set(sources)) == len(sources) and len(set(targets)) == len(targets):
                found.append(places)
    return found


def matching(pairs: Sequence[Ends], log_odds: Sequence[float], several: Collection[int] = ()) -> list[float]:
    """P(pair in M), M drawn with weight exp(sum of l over M) from all matchings."""
    weights = {places: math.exp(sum(log_odds[p] for p in places)) for places in matchings(pairs, several)}
    total = sum(weights.values())
    return [sum(w for places, w in weights.items() if p in places) / total for p in range(len(pairs))]


def link_loss(weights: Tensor, pairs: Sequence[Ends], columns: Tensor, links: Sequence[Ends]) -> Tensor:
    """Sum over links of -log(exp(l_link) / (1 + sum of exp(l) over the candidates of its end)), mean of both ends.

    The candidates of an end: its links, and pairs whose other end has no link. For a link that is
    not a candidate exp(l_link) is 1. l = weights[0] + columns [p, f] . weights[1:].
    """
    log_odds = {pair: weights[0] + row @ weights[1:] for pair, row in zip(pairs, columns, strict=True)}
    loss = weights.new_zeros(())
    for side in (0, 1):
        linked = {link[1 - side] for link in links}
        for link in links:
            others = [p for p in pairs if p[side] == link[side] and (p in links or p[1 - side] not in linked)]
            total = weights.new_ones(()) + sum(log_odds[p].exp() for p in others)
            loss = loss + (total.log() - log_odds.get(link, 0.0)) / 2
    return loss


def best_expected_f1(probability: list[float], n_matched: float) -> float:
    """The greatest 2 right / (mapped + matched) of all thresholds, of which right is expected of what is mapped."""
    found = [0.0]
    for threshold in probability:
        mapped = [p for p in probability if p >= threshold]
        found.append(2 * sum(mapped) / (len(mapped) + n_matched))
    return max(found)


def greedy_matching(probability: dict[tuple[int, int], float]) -> set[tuple[int, int]]:
    """The likeliest pair, whose ends are then gone, again and again; the first of equals."""
    left, chosen = {pair: p for pair, p in probability.items() if p > 0}, set()
    while left:
        best = max(left, key=lambda pair: left[pair])
        chosen.add(best)
        left = {pair: p for pair, p in left.items() if pair[0] != best[0] and pair[1] != best[1]}
    return chosen


def most_of_precision(probability: list[float], precision: float) -> int:
    """How many of the likeliest can be taken with that mean probability."""
    ordered = sorted(probability, reverse=True)
    return max((n for n in range(1, len(ordered) + 1) if sum(ordered[:n]) / n >= precision), default=0)
