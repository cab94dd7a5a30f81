"""The interface of a voter: everything that has an opinion on which source and target are the same. No torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from mixtea.compute.pairs import Pairs
    from mixtea.config import Config
    from mixtea.graph.graph import Graph
    from mixtea.graph.task import Task
    from mixtea.relations.scored_pairs import ScoredPairs
    from mixtea.voters.open_entities import EntityPairs, OpenEntities

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
    """One thing that speaks for a pair, in words for people, and how much."""

    what: str
    weight: float


class Cost(NamedTuple):
    """What a voter needs: memory in MiB, and the work of one asking, counted in products of all pairs of vectors."""

    mib: float = 0.0
    products: float = 0.0


class Voter:
    """Subclass it, give it a `name` and a `score`, and `register` it; docs/voters.md has an example.

    `needs` says what it cannot do without: "triples", "vectors" (the student's, so it is silent before training),
    "labels", "attributes" or "own_vectors" (that the user gave); an entity without triples is mapped only if some voter
    does without both of the first two, and the graphs have what it needs. Voters with the same `score_group` have one
    opinion between them, which counts once. `votes_for` says whose favourites it is named for: its best "target" of a
    source, its best "source" of a target. One that `uses_belief` is asked again whenever the belief has changed. One
    that gives `is_calibrated` knows what its word is worth: its scores are added as they are, 0 where it has no opinion, and
    the validation links do not weigh it. One that `leaves_links_out` judges each link as if it did not know it.
    """

    name: str = ""
    score_group: str = ""
    votes_for: tuple[str, ...] = ("target", "source")
    needs: tuple[str, ...] = ()
    uses_belief: bool = False
    is_calibrated: bool = False
    leaves_links_out: bool = False
    evidence: EvidenceKind = "lexical"
    _states_evidence = False

    task: Task
    config: Config
    known: ScoredPairs | None = None

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Derive `evidence` from `needs` where neither the class nor a base states it."""
        super().__init_subclass__(**arguments)
        cls._states_evidence = cls._states_evidence or "evidence" in vars(cls)
        if not cls._states_evidence:
            cls.evidence = "structure" if _sees_structure(cls.needs) else "lexical"

    def bind(self, task: Task, config: Config) -> Voter:
        """Remember the task and the settings; called once, before anything is asked."""
        self.task, self.config = task, config
        return self

    def propose(self, state: VotingState) -> Pairs | Any | None:
        """Candidates: an array [p, 2] of source and target numbers in their own graphs; None to judge others' alone."""
        return None

    def score(self, pairs: EntityPairs, state: VotingState) -> Any:
        """One number a pair, larger for likelier, above 0 where it speaks for the pair, NaN where it has no opinion.

        Scores of all voters are added, so they should be comparable to cosines; log-odds that the pair is a match,
        against a pair of which nothing is known, are multiplied by the setting `sinkhorn_temperature`.
        """
        raise TypeError(f"the voter {self.name!r} has no score method")

    def explain(self, source: int, target: int) -> Sequence[Evidence]:
        """What speaks for a pair, by numbers in their own graphs, the most important first; `known` says what is known.

        Asked after training, also of a run that was read from its folder: then nothing but the task, the settings and
        the stored candidates is there.
        """
        return ()

    def learn(self, state: VotingState) -> None:
        """Take up the sure pairs; called before the first question, after each round before training, then at times."""

    def weight(self) -> float:
        """Times its score where scores are added, beside what the validation links say."""
        return 1.0

    def cost(self) -> Cost:
        """What it takes on the task that it is bound to."""
        return Cost()

    def release(self) -> None:
        """Give back memory that is needed for questions alone; after the last one, or until the next."""

    def state_dict(self) -> dict[str, Any]:
        """What it has to remember to go on after an interruption: numbers, text, lists, dicts and NumPy arrays."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a `state_dict`, which may be anyone's: ValueError if it cannot be."""

    def is_applicable(self) -> bool:
        """Whether both graphs have what it cannot do without; vectors of the student come with training."""
        needed = [INPUT_SIZES[name] for name in self.needs if name in INPUT_SIZES]
        return all(held(graph) > 0 for held in needed for graph in (self.task.source, self.task.target))

    def compared(self) -> tuple[int, int] | None:
        """Count the entities of each side that it can compare; None if it does not compare their texts or vectors."""
        return None

    def misleading(self) -> tuple[float, int] | None:
        """Return the share of links for which its comparison is of no use, and how many links; after learning."""
        return None

    @property
    def opinion(self) -> str:
        """The name of its opinion among all: its own unless it is shared."""
        return self.score_group or self.name

    @property
    def proposes(self) -> bool:
        return type(self).propose is not Voter.propose


class VotingState:
    """What voters may look at: the task, the settings, the vectors now, the belief before, the sure pairs, the epoch.

    `vectors` [n_source + n_target, d] are the teacher's while training and the student's after it, None before;
    `belief` holds pairs and how likely each is thought to be; `sure` [p, 2] are pairs of entities, by their own
    graph's numbers, that everybody is sure of; `epoch` is 0 before training and -1 after it; `generator` is where
    randomness comes from. `rough` says that sure pairs are all that is wanted of this round, before training: then
    voters may be quick rather than precise.
    """

    def __init__(
        self, task: Task, config: Config, entities: OpenEntities, generator: torch.Generator, *,
        vectors: Tensor | None = None, belief: Belief | None = None, sure: Tensor | None = None, epoch: int = BEFORE_TRAINING,
        rough: bool = False,
    ) -> None:  # fmt: skip
        self.task, self.config, self.entities, self.generator = task, config, entities, generator
        self.vectors, self.belief, self.epoch, self.rough = vectors, belief, epoch, rough
        self.sure = entities.rows[0].new_empty(0, 2) if sure is None else sure

    @cached_property
    def unit_vectors(self) -> tuple[Tensor, Tensor]:
        """The vectors of the open entities, each divided by its length."""
        from mixtea.compute.similarity import unit_rows

        if self.vectors is None:
            raise ValueError("there are no vectors before training")
        return unit_rows(self.vectors, *self.entities.rows)


class Belief(NamedTuple):
    """How likely each of some pairs is thought to be: p in [0, 1].

    `text_score` are the scores of voters that `is_independent` holds for, added up: log-odds by texts, times the temperature;
    NaN where none of them has an opinion, None where none has any.
    """

    pairs: EntityPairs
    p: Tensor
    text_score: Tensor | None = None


def _sees_structure(needs: Any) -> bool:
    """Return whether a voter needs triples or vectors; `needs` is not checked yet, and may be anything."""
    return isinstance(needs, tuple) and ("triples" in needs or "vectors" in needs)


def is_independent(voter: Voter | type[Voter]) -> bool:
    """Whether it gives log-odds that do not depend on what others think, as those who compare texts do."""
    return voter.is_calibrated and not voter.uses_belief
