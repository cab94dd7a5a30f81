"""One frozen configuration: the same fields as keyword arguments, in TOML, on the command line and in config.json.

Each field carries its reason, its range or choices, and, where the paper's text differs from what produced its
published numbers, the value of the text (`text=`). The defaults are the preset "paper": the behaviour behind the
numbers. The preset "text" follows the text instead; the preset "best" goes beyond the paper.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mixtea.errors import ConfigError
from mixtea.fields import Fields, Names, names_problem, setting, shown, written

_field = partial(setting, text=None)  # and what the paper's text says, where it says otherwise


def _some_voters(names: Names) -> str:
    """Return the problem of names as those of voters, one at least; "" if there is none."""
    return _voter_names(names) if names else "is empty"


def _voter_names(names: Names) -> str:
    """Return the problem of names as those of voters; "" if there is none."""
    strange = [name for name in names if not name.isidentifier()]
    return names_problem(names) or (f"holds {shown(strange[0])}, which cannot name a voter" if strange else "")


@dataclass(frozen=True, kw_only=True)
class Config:
    """All settings of an aligner; see `describe()` for a table of them."""

    # the encoder (Eq. 2-6)
    n_layers: int = _field(2, "attention layers L; how many hops away a neighbour is seen", low=1, high=8)
    entity_dim: int = _field(256, "dimension of entity vectors, d_e", low=1, high=8192)
    relation_dim: int = _field(128, "dimension of relation vectors, d_r", low=1, high=8192)
    use_relations: bool = _field(True, "use the relation means r+ and r- (False: the ablation without relations)")
    shared_relations: bool = _field(True, "one vector for relations that have the same name in both graphs")
    layer_transform: str = _field(
        "diagonal", "W_g of Eq. 2-3: a vector multiplied element by element, or a full matrix",
        choices=("diagonal", "matrix"), text="matrix")  # fmt: skip
    attention_activation: str = _field(
        "leaky_relu", "activation inside the attention (Eq. 3); leaky_relu has slope 0.2",
        choices=("leaky_relu", "elu"), text="elu")  # fmt: skip
    self_connection: bool = _field(False, "count an entity among its own neighbours", text=True)
    relation_mean: str = _field(
        "occurrences", "mean over all relation occurrences at an entity, or over the set of them (Eq. 4-5)",
        choices=("occurrences", "set"), text="set")  # fmt: skip
    concat_weights: str = _field(
        "uniform", "weights w of the concatenation (Eq. 6): fixed and equal, or trained through a softmax",
        choices=("uniform", "trained"), text="trained")  # fmt: skip
    normalize_blocks: bool = _field(True, "L2-normalise each block before it is weighted (Eq. 6)", text=False)
    dropout: float = _field(0.2, "share of a layer's output dropped where it is concatenated", low=0, below=1, text=0.0)
    teacher_dropout: bool = _field(True, "drop in the teacher too while it votes", text=False)
    encode_twice: bool = _field(True, "encode the student once for each loss, with two dropout masks", text=False)

    # learning from the links (Eq. 8)
    margin: float = _field(2.0, "rho, the distance by which negatives should be farther", low=0)
    negatives: str = _field(
        "random", "what takes the place of a link's end in a negative: random entities, or those near the other end",
        choices=("random", "hard"), text="hard")  # fmt: skip
    negatives_replace: str = _field(
        "source", "the end of a link that a negative replaces: the source, or each end in turn",
        choices=("source", "both"), text="both")  # fmt: skip
    n_negatives: int = _field(5, "negatives for each replaced end of a link", low=1, high=1000, text=10)
    negatives_every: int = _field(10, "epochs between two draws of negatives", low=1)

    # learning from the votes (Eq. 9-15)
    teaching: str = _field(
        "mixture", "what is learned beside the links: the teacher's votes, or pairs that the student proposes as links "
        "(above a threshold, mutual neighbours, or one-to-one), to compare with",
        choices=("mixture", "threshold", "mutual", "one_to_one"))  # fmt: skip
    teaching_every: int = _field(20, "epochs between two proposals of a teaching other than mixture", low=1)
    teaching_threshold: float = _field(
        0.9, "least cosine of a pair that the teaching threshold or one_to_one proposes", low=-1, high=1
    )
    voters: tuple[str, ...] = _field(
        ("forward", "backward"), "voters: the teacher's two directions (BDV; forward alone is the ablation without "
        "it), propagation, agreement, names, attributes, descriptions, domain_range, or voters of other packages",
        problem=_some_voters)  # fmt: skip
    vote_weights_from: str = _field(
        "student", "the network whose validation Hit@1 weighs the two directions (Eq. 11)",
        choices=("student", "teacher"), text="teacher")  # fmt: skip
    first_beta: float = _field(
        1.0, "weight of source to target (beta, Eq. 10) before the first validation", low=0, high=1, text=0.5
    )
    tied_votes: str = _field(
        "all", "a best match with twins (targets with exactly the same vector): all of them get the vote, or one",
        choices=("all", "one"), text="one")  # fmt: skip
    rectify: bool = _field(True, "rectify votes by matching diversity (MDR, Eq. 13; False: the ablation without MDR)")
    vote_normaliser: str = _field(
        "none", "normalisation of scores on the candidates before the vote: none, CSLS or Sinkhorn",
        choices=("none", "csls", "sinkhorn"))  # fmt: skip
    vote_candidates: int = _field(20, "candidates that voters propose per source and per target", low=1)
    sinkhorn_temperature: float = _field(0.1, "divides the added scores before Sinkhorn; smaller is sharper", low=1e-3)
    sinkhorn_rounds: int = _field(10, "times that Sinkhorn divides rows and columns by their sums", low=1, high=1000)
    propagation_rounds: int = _field(
        12, "rounds before training, at most, in which voters that need none learn from what they find; 0: none", low=0
    )
    propagation_every: int = _field(
        20, "epochs after which voters such as propagation learn from the sure pairs", low=1
    )
    propagation_label_dim: int = _field(
        512, "dimension of the labels of known pairs, random and nearly orthogonal", low=1, high=65536
    )
    propagation_relation_dim: int = _field(
        128, "random weights of a relation in the third hop of propagation", low=1, high=8192
    )
    propagation_part_dim: int = _field(
        8, "dimension that propagation carries for each of these weights", low=1, high=1024
    )
    propagation_search_dim: int = _field(
        256, "dimension of the random projection in which propagation searches near pairs, not of scores", low=1,
        high=65536)  # fmt: skip
    propagation_cross_fit: bool = _field(True, "score an entity by a propagation without its own sure pair")
    sure_above: float = _field(0.8, "belief above which a mutual best pair is propagated from", low=0, high=1)
    agreement_weight: float = _field(2.0, "agreement's score against the cosines of the others", low=0)
    agreement_weight_few: float = _field(
        2.0,
        "the same where validation links are fewer than valid_needed and no texts are compared",
        low=0,
    )
    valid_needed: int = _field(
        0, "validation links below which all voters weigh the same and no stop is decided by them", low=0
    )
    pseudo_target: str = _field(
        "votes", "target of the cross-entropy (Eq. 14): the votes as they are, or their softmax over all targets",
        choices=("votes", "softmax"), text="softmax")  # fmt: skip
    pseudo_weight: float = _field(1.0, "lambda of Eq. 15 after the ramp-up (0: the ablation without L_u)", low=0)
    ramp_up_epochs: int = _field(20, "epochs over which lambda grows as exp(-5 (1 - e/ramp)^2)", low=0)
    temperature: float = _field(1.0, "divides the cosine in Eq. 14; smaller is sharper", low=1e-3, high=1e3)

    # the loop (Algorithm 1)
    max_epochs: int = _field(300, "epochs at most; 0: voters that need no training answer alone", low=0, high=1_000_000)
    stop_when_settled: bool = _field(
        False, "end when predictions stabilise: a vote changes hardly fewer sure pairs than the vote before it, "
        "and validation links are not found better")  # fmt: skip
    validate_every: int = _field(10, "epochs between two validations", low=1)
    patience: int = _field(5, "validations without a better Hit@1 before training stops", low=1)
    keep: str = _field(
        "last", "the student that is kept: of the last validation, or of the best one", choices=("last", "best")
    )
    learning_rate: float = _field(0.005, "Adam's step", low=1e-9, high=10)
    lr_halve_every: int = _field(10, "epochs after which the learning rate is halved (0: never)", low=0, text=0)
    lr_decay: str = _field(
        "halving", "the learning rate is halved at every lr_halve_every epochs, or follows a cosine to 0 at max_epochs",
        choices=("halving", "cosine"))  # fmt: skip
    weight_decay: float = _field(1e-5, "Adam's L2 penalty", low=0, text=0.0)
    momentum: float = _field(0.9, "m of the teacher's moving average (Eq. 7)", low=0, below=1)
    momentum_warmup: bool = _field(True, "use min(1 - 1/epoch, m) instead of m, so that epoch 1 copies", text=False)

    # inference and scoring (Eq. 1)
    metric: str = _field("cosine", "nearness of two vectors when mapping", choices=("cosine", "euclidean", "manhattan"))
    decoder: str = _field(
        "nearest", "how scores become mappings: nearest, CSLS, Sinkhorn, or a one-to-one assignment",
        choices=("nearest", "csls", "sinkhorn", "one_to_one"))  # fmt: skip
    decode_voters: tuple[str, ...] = _field(
        ("forward", "backward"), "voters whose scores are decoded (forward, backward: the student's); none: all voters",
        problem=_voter_names)  # fmt: skip
    candidates: str = _field(
        "given", "score ranks among the targets of the scored links (the literature), or among all targets",
        choices=("given", "all"), text="all")  # fmt: skip

    # approximations: the first value of each is exact
    votes_every: int = _field(1, "epochs between two votes; 1 votes in every epoch", low=1)
    loss_rows: float = _field(1.0, "share of the unlabelled sources, drawn anew each epoch, in L_u", low=1e-6, high=1)
    normaliser: str = _field(
        "exact", "sums over all targets in L_u: exact, or from the mean and covariance of the targets (temperature 1)",
        choices=("exact", "moments"))  # fmt: skip
    search: str = _field(
        "exact", "search of votes and mappings: exact, or Faiss's inverted lists (ivf) or graph (hnsw)",
        choices=("exact", "ivf", "hnsw"))  # fmt: skip

    # the machine
    seed: int = _field(1, "of everything random", low=0, high=2**31 - 1)
    device: str = _field("auto", "auto (CUDA if there is one), cpu, cuda or cuda:N")
    deterministic: bool = _field(False, "same bits on every run on a GPU too, somewhat slower")
    precision: str = _field("float32", "numbers of all vectors", choices=("float32", "float64"))
    fast_products: bool = _field(True, "tf32 products in votes and L_u on a GPU; scores are always in full precision")
    block_mib: int = _field(
        0, "block of similarities held at a time, MiB (0: 32 to 256 on a CPU, 256 to 4096 on a GPU)", low=0, high=65536
    )

    def __post_init__(self) -> None:
        SETTINGS.check(self)
        if self.normaliser == "moments" and self.temperature < MOMENTS_TEMPERATURE:
            raise ConfigError(f"normaliser=moments needs a temperature of at least {MOMENTS_TEMPERATURE}.")
        if not self.only_vectors_vote and (self.teaching, self.search, self.metric) != ("mixture", "exact", "cosine"):
            raise ConfigError(
                "Voters other than forward and backward, and vote_normaliser, need teaching=mixture, search=exact and "
                "metric=cosine; the preset paper does without them."
            )
        if not self.max_epochs and not self.deciding_voters:
            raise ConfigError(
                "max_epochs=0 needs voters that answer without training, such as propagation or names; the preset best "
                "has them."
            )
        if self.search != "exact" and self.metric == "manhattan":
            raise ConfigError(f"search={self.search} needs the metric cosine or euclidean, not manhattan.")

    @classmethod
    def preset(cls, name: str = "best", **settings: Any) -> Config:
        """Return the settings of a preset, changed by `settings`."""
        if name not in PRESETS:
            raise ConfigError(f"preset {shown(name)} is unknown. Choose one of {', '.join(PRESETS)}.")
        return cls.from_dict({**PRESETS[name], **settings})

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Config:
        SETTINGS.check_names(settings)
        return cls(**settings)

    @property
    def only_vectors_vote(self) -> bool:
        """Return whether the teacher's two directions alone vote, for their nearest as in the paper."""
        return set(self.voters) <= VECTOR_VOTERS and self.vote_normaliser == "none"

    @property
    def only_student_decodes(self) -> bool:
        """Return whether mappings are the student's nearest, without other voters."""
        return self.decoder == "nearest" and set(self.deciding_voters) <= VECTOR_VOTERS

    @property
    def deciding_voters(self) -> tuple[str, ...]:
        """Return the voters whose scores are decoded: all, unless named; without training not those of vectors."""
        names = self.decode_voters or self.voters
        return names if self.max_epochs else tuple(name for name in names if name not in VECTOR_VOTERS)

    def approximations(self) -> dict[str, Any]:
        """Return the settings that make a run approximate; empty for an exact one.

        A council need not vote in every epoch, and its answers hardly depend on how much the student learns from in
        each.
        """
        fields = _APPROXIMATE if self.only_vectors_vote else ("normaliser", "search")
        found = {name: getattr(self, name) for name in fields if getattr(self, name) != FIELDS[name].default}
        if "propagation" in self.voters:
            found |= {
                name: getattr(self, name) for name in PROPAGATION_SIZES if getattr(self, name) < FIELDS[name].default
            }
        return found

    def enough_valid(self, n_links: int) -> bool:
        """Return whether so many validation links suffice to weigh voters and to stop a training."""
        return n_links >= max(1, self.valid_needed)

    def warm(self) -> dict[str, Any]:
        """Return the changes for a warm start: fewer epochs, and votes that count from the first one on."""
        fewer = self.votes_every if self.stop_when_settled else -(-self.max_epochs // 3)
        return {"max_epochs": min(fewer, self.max_epochs), "ramp_up_epochs": 0}

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in FIELDS}

    def training_settings(self) -> dict[str, Any]:
        """Return all settings that the result of a training depends on: without those of the machine."""
        return {name: value for name, value in self.to_dict().items() if name not in ("device", "block_mib")}

    def replace(self, **settings: Any) -> Config:
        return self.from_dict({**self.to_dict(), **settings})


def parse_setting(assignment: str) -> tuple[str, Any]:
    """Parse `field=value` of the command line; a `Config` checks the value."""
    return SETTINGS.parse(assignment)


def describe() -> str:
    """Return all fields as a Markdown table, from which docs/settings.md is made."""
    rows = ["| field | paper | best | text | allowed | what it does |", "|---|---|---|---|---|---|"]
    for name, field in FIELDS.items():
        others = (f"`{written(PRESETS[one][name])}`" if name in PRESETS[one] else "" for one in ("best", "text"))
        bounds, why = SETTINGS.allowed(name).replace("|", "\\|"), field.metadata["why"]
        rows.append(f"| `{name}` | `{written(field.default)}` | {' | '.join(others)} | {bounds} | {why} |")
    return "\n".join(rows)


MOMENTS_TEMPERATURE = 0.5  # below it cosines are too far apart for two moments
PROPAGATION_SIZES = ("propagation_label_dim", "propagation_relation_dim", "propagation_part_dim")
_APPROXIMATE = ("votes_every", "loss_rows", "normaliser", "search")
SETTINGS = Fields(Config, "setting", "field=value")
FIELDS, TYPES = SETTINGS.by_name, SETTINGS.types
VECTOR_VOTERS = frozenset({"forward", "backward"})
STRUCTURE_VOTERS = ("forward", "backward", "propagation", "agreement")  # voters that see nothing but triples and links
PRESETS: dict[str, dict[str, Any]] = {
    "best": {
        "entity_dim": 128,
        "relation_dim": 64,
        "concat_weights": "trained",
        "negatives_replace": "both",
        "negatives_every": 1,
        "first_beta": 0.5,
        "vote_normaliser": "sinkhorn",
        "voters": (*STRUCTURE_VOTERS, "names", "attributes", "descriptions", "domain_range"),
        "encode_twice": False,
        "votes_every": 4,
        "propagation_every": 10,
        "agreement_weight": 1.0,
        "valid_needed": 100,
        "pseudo_weight": 0.3,
        "ramp_up_epochs": 5,
        "temperature": 0.1,
        "max_epochs": 60,
        "stop_when_settled": True,
        "validate_every": 4,
        "patience": 1000,
        "loss_rows": 0.125,
        "lr_decay": "cosine",
        "decoder": "sinkhorn",
        "decode_voters": (),
    },
    "long": {  # what differs from "best" is added below
        "entity_dim": 512,
        "relation_dim": 128,
        "encode_twice": True,
        "agreement_weight": 2.0,
        "votes_every": 5,
        "propagation_every": 20,
        "ramp_up_epochs": 20,
        "max_epochs": 150,
        "stop_when_settled": False,
        "validate_every": 10,
        "loss_rows": 1.0,
    },
    "paper": {},
    "text": {name: f.metadata["text"] for name, f in FIELDS.items() if f.metadata["text"] is not None},
}
PRESETS["long"] = PRESETS["best"] | PRESETS["long"]
