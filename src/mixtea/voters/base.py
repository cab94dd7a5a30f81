"""The interface of a voter. No torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from mixtea.compute.scored_pairs import ScoredPairs
    from mixtea.config import Config
    from mixtea.graph.graph import Graph
    from mixtea.graph.joint_index import OpenIndex
    from mixtea.graph.task import Task

EvidenceKind = Literal["structure", "lexical", "semantic", "human"]
EVIDENCE_KINDS: tuple[EvidenceKind, ...] = get_args(EvidenceKind)
MAX_SCORE = 1e6  # of a score, and of a voter's weight; those of our own are below 100
BEFORE_TRAINING, AFTER_TRAINING = 0, -1  # the epoch of a state before and after training
INPUT_SIZES: dict[str, Callable[[Graph], int]] = {  # of what a voter may need, how much a graph has
    "triples": lambda graph: graph.n_triples,
    "labels": lambda graph: len(graph.labels),
    "attributes": lambda graph: graph.n_attribute_triples,
    "own_vectors": lambda graph: graph.vectors.size,
}


class Evidence(NamedTuple):
    """One piece of evidence on a pair, in words for people, and its weight."""

    what: str
    weight: float


class Cost(NamedTuple):
    """Memory of a voter in MiB, and the work of one call, counted in products of all pairs of vectors."""

    mib: float = 0.0
    products: float = 0.0


class Voter:
    """Base class of voters: give it a `name` and a `score`, and `register` it; docs/voters.md has an example.

    `needs` lists required inputs, without which it is not asked: "triples", "vectors" (the student's, so there are no
    scores before training), "labels", "attributes" or "own_vectors" (that the user gave); an entity without triples is
    mapped only if some voter needs neither of the first two, and the graphs have what it needs. Voters with the same
    `score_group` have one opinion between them, which counts once. `votes_for` lists the favourites that it is named
    for: its best "target" of a source, its best "source" of a target. With `uses_belief` it is called again whenever
    the belief has changed. With `is_calibrated` its scores are log-odds, added as they are, 0 where it has no opinion,
    and not weighted by the validation links. With `leaves_links_out` it judges each link without using it. `evidence`
    is the kind of its evidence, for exports and scores by structure alone; unless stated, it is "structure" where
    `needs` holds "triples" or "vectors", else "lexical".
    """

    name: str = ""
    score_group: str = ""
    votes_for: tuple[str, ...] = ("target", "source")
    needs: tuple[str, ...] = ()
    uses_belief: bool = False
    is_calibrated: bool = False
    leaves_links_out: bool = False
    evidence: EvidenceKind = "lexical"
    is_independent = False  # derived: whether it gives log-odds that do not depend on other voters
    _states_evidence = False

    task: Task
    config: Config
    known: ScoredPairs | None = None

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Derive `is_independent`, and `evidence` from `needs` where neither the class nor a base states it."""
        super().__init_subclass__(**arguments)
        cls._states_evidence = cls._states_evidence or "evidence" in vars(cls)
        if not cls._states_evidence:
            cls.evidence = "structure" if _sees_structure(cls.needs) else "lexical"
        cls.is_independent = bool(cls.is_calibrated and not cls.uses_belief)

    def bind(self, task: Task, config: Config) -> Voter:
        """Store the task and the settings; called once, before anything else."""
        self.task, self.config = task, config
        return self

    def propose(self, state: VotingState) -> ScoredPairs | Any | None:
        """Return candidates, as open pairs or [p, 2] by entity indices; None to judge those of others alone."""
        return None

    def score(self, pairs: ScoredPairs, state: VotingState) -> Any:
        """Return one number per pair: larger for likelier, above 0 in support, NaN for no opinion.

        Scores of all voters are added, so they should be comparable to cosines; log-odds that the pair is a match,
        against a pair without evidence, are multiplied by the setting `sinkhorn_temperature`.
        """
        raise TypeError(f"the voter {self.name!r} has no score method")

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """Return evidence on a pair, by entity indices, the most important first.

        Called after training, also for a run that was read from its folder: then only the task, the settings and the
        stored candidates (`known`) are available.
        """
        return ()

    def learn(self, state: VotingState) -> None:
        """Learn from the sure pairs; called before the first scores, after rounds before training, then at
        intervals."""

    def weight(self) -> float:
        """Return the factor of its scores, beside the weights by the validation links; asked once."""
        return 1.0

    @cached_property
    def factor(self) -> float:
        """Return its `weight()`, asked once."""
        return self.weight()

    def cost(self) -> Cost:
        """Return its cost on the task that it is bound to."""
        return Cost()

    def release(self) -> None:
        """Free memory that only scores need; called after the last, or until the next."""

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed training needs: numbers, text, lists, dicts and NumPy arrays."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a `state_dict`, which may come from anyone: ValueError if it cannot be used."""

    def is_applicable(self) -> bool:
        """Return whether both graphs have the required inputs; the student's vectors come with training."""
        return self.has_inputs

    @cached_property
    def has_inputs(self) -> bool:
        """Return whether both graphs have what it needs. That does not change by learning: if not, it is not asked."""
        needed = [INPUT_SIZES[name] for name in self.needs if name in INPUT_SIZES]
        return all(held(graph) > 0 for held in needed for graph in (self.task.source, self.task.target))

    @cached_property
    def covers_isolated(self) -> bool:
        """Return whether it can judge entities without triples: it needs neither these nor vectors. Asked once."""
        return not {"triples", "vectors"} & set(self.needs) and self.is_applicable()

    def compared(self) -> tuple[int, int] | None:
        """Count the entities of each side that it can compare; None if it does not compare texts or vectors."""
        return None

    def misleading(self) -> tuple[float, int] | None:
        """Return the share of links without evidence by its comparison, and how many links; after learning."""
        return None

    @cached_property
    def opinion(self) -> str:
        """Return the name of its opinion: its own unless it is shared."""
        return self.score_group or self.name

    @cached_property
    def proposes(self) -> bool:
        return type(self).propose is not Voter.propose


class VotingState:
    """The inputs of voters: task, settings, vectors, belief, sure pairs, epoch.

    `vectors` [n_source + n_target, d] are the teacher's while training and the student's after it, None before;
    `belief` are open pairs with columns: `p`, the estimated probability of each, in [0, 1], and where independent
    voters have opinions `text_score`, the sum of their scores (log-odds by texts, times the temperature), NaN where
    none of them has one; `sure` [p, 2] are pairs by entity indices that are taken as
    matches; `epoch` is 0 before training and -1 after it; `generator` is the source of randomness. `rough` marks rounds
    before training of which only the sure pairs are used: voters may be quick rather than precise.
    """

    def __init__(
        self, task: Task, config: Config, entities: OpenIndex, generator: torch.Generator, *,
        vectors: Tensor | None = None, belief: ScoredPairs | None = None, sure: Tensor | None = None,
        epoch: int = BEFORE_TRAINING, rough: bool = False,
    ) -> None:  # fmt: skip
        self.task, self.config, self.entities, self.generator = task, config, entities, generator
        self.vectors, self.belief, self.epoch, self.rough = vectors, belief, epoch, rough
        self.sure = entities.rows[0].new_empty(0, 2) if sure is None else sure

    @cached_property
    def unit_vectors(self) -> tuple[Tensor, Tensor]:
        """Return the vectors of the open entities, each divided by its length."""
        from mixtea.compute.similarity import unit_rows

        if self.vectors is None:
            raise ValueError("there are no vectors before training")
        return unit_rows(self.vectors, *self.entities.rows)


def _sees_structure(needs: Any) -> bool:
    """Return whether a voter needs triples or vectors; `needs` is not checked yet, and may be anything."""
    return isinstance(needs, tuple) and ("triples" in needs or "vectors" in needs)
