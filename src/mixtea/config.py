"""One frozen configuration: the same fields as keyword arguments, in TOML, on the command line and in config.json.

Each field carries its reason, its range or choices, and, where the paper's text says otherwise than what produced its
published numbers, the value of the text (`text=`). The defaults are the preset "paper": the behaviour behind the
numbers. The preset "text" takes the letter of the text instead; the preset "best" goes past the paper.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from mixtea.errors import ConfigError, shorten
from mixtea.text import shortened


def _field(default: Any, why: str, *, low: float | None = None, high: float | None = None,
           below: float | None = None, choices: tuple[str, ...] = (), text: Any = None) -> Any:  # fmt: skip
    """A setting with its reason; `low` and `high` are allowed values, `below` is the first that is too large."""
    metadata = {"why": why, "low": low, "high": high, "below": below, "choices": choices, "text": text}
    return dataclasses.field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class Config:
    """All settings of an aligner; see `describe()` for a table of them."""

    # the encoder (Eq. 2-6)
    n_layers: int = _field(2, "attention layers L; how many hops away a neighbour is seen", low=1, high=8)
    entity_dim: int = _field(256, "numbers in an entity vector, d_e", low=1, high=8192)
    relation_dim: int = _field(128, "numbers in a relation vector, d_r", low=1, high=8192)
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
        ("forward", "backward"), "who votes: the teacher's two directions (BDV; forward alone is the ablation without "
        "it), propagation, agreement, or voters of other packages")  # fmt: skip
    vote_weights_from: str = _field(
        "student", "whose validation Hit@1 weighs the two directions (Eq. 11)",
        choices=("student", "teacher"), text="teacher")  # fmt: skip
    first_beta: float = _field(
        1.0, "weight of source to target (beta, Eq. 10) before the first validation", low=0, high=1, text=0.5
    )
    tied_votes: str = _field(
        "all", "a best match with twins (targets with exactly the same vector): all of them get the vote, or one",
        choices=("all", "one"), text="one")  # fmt: skip
    rectify: bool = _field(True, "rectify votes by matching diversity (MDR, Eq. 13; False: the ablation without MDR)")
    vote_normaliser: str = _field(
        "none", "what makes scores comparable before the vote, on the candidates: nothing, CSLS or Sinkhorn",
        choices=("none", "csls", "sinkhorn"))  # fmt: skip
    vote_candidates: int = _field(20, "targets of a source and sources of a target that voters propose", low=1)
    sinkhorn_temperature: float = _field(0.1, "divides the added scores before Sinkhorn; smaller is surer", low=1e-3)
    sinkhorn_rounds: int = _field(10, "times that Sinkhorn divides rows and columns by their sums", low=1, high=1000)
    propagation_rounds: int = _field(
        12, "rounds before training, at most, in which voters that need none learn from what they find; 0: none", low=0
    )
    propagation_every: int = _field(
        20, "epochs after which voters such as propagation learn from the sure pairs", low=1
    )
    propagation_label_dim: int = _field(
        512, "numbers in the label of a known pair, random and nearly orthogonal", low=1, high=65536
    )
    propagation_relation_dim: int = _field(
        128, "random weights of a relation in the third hop of propagation", low=1, high=8192
    )
    propagation_part_dim: int = _field(
        8, "numbers that propagation carries for each of these weights", low=1, high=1024
    )
    propagation_cross_fit: bool = _field(True, "judge an entity by a propagation that does not know its own sure pair")
    sure_above: float = _field(0.8, "belief above which a mutual best pair is propagated from", low=0, high=1)
    agreement_weight: float = _field(2.0, "agreement's score against the cosines of the others", low=0)
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
    max_epochs: int = _field(300, "epochs at most", low=1, high=1_000_000)
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
        ("forward", "backward"), "whose scores are decoded: names as in voters; forward and backward are the student's"
    )
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
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, _checked(field, getattr(self, field.name)))
        if self.normaliser == "moments" and self.temperature < MOMENTS_TEMPERATURE:
            raise ConfigError(f"normaliser=moments needs a temperature of at least {MOMENTS_TEMPERATURE}.")
        if not self.only_vectors_vote and (self.teaching, self.search, self.metric) != ("mixture", "exact", "cosine"):
            raise ConfigError(
                "Voters other than forward and backward, and vote_normaliser, need teaching=mixture, search=exact and "
                "metric=cosine; the preset paper does without them."
            )
        if self.search != "exact" and self.metric == "manhattan":
            raise ConfigError(f"search={self.search} needs the metric cosine or euclidean, not manhattan.")

    @classmethod
    def preset(cls, name: str = "best", **settings: Any) -> Config:
        """The settings of a preset, changed by `settings`."""
        if name not in PRESETS:
            raise ConfigError(f"preset {_shown(name)} is unknown. Choose one of {', '.join(PRESETS)}.")
        return cls.from_dict({**PRESETS[name], **settings})

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Config:
        unknown = [name for name in settings if name not in FIELDS]
        if unknown:
            raise ConfigError(" ".join(_unknown(name) for name in unknown))
        return cls(**settings)

    @property
    def only_vectors_vote(self) -> bool:
        """Whether nobody but the teacher's two directions votes, for their nearest as the paper has it."""
        return set(self.voters) <= VECTORS and self.vote_normaliser == "none"

    @property
    def only_student_decodes(self) -> bool:
        """Whether mappings are the student's nearest, and nothing else."""
        return self.decoder == "nearest" and set(self.decode_voters) <= VECTORS

    def approximations(self) -> dict[str, Any]:
        """The settings that make a run approximate; empty for an exact one. A council need not meet every epoch."""
        fields = _APPROXIMATE if self.only_vectors_vote else ("loss_rows", "normaliser", "search")
        return {name: getattr(self, name) for name in fields if getattr(self, name) != FIELDS[name].default}

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def training_settings(self) -> dict[str, Any]:
        """All settings but those that say where to compute: what a training comes to depends on them."""
        return {name: value for name, value in self.to_dict().items() if name not in ("device", "block_mib")}

    def replace(self, **settings: Any) -> Config:
        return self.from_dict({**self.to_dict(), **settings})


def _checked(field: dataclasses.Field[Any], value: Any) -> Any:
    kind, meta = TYPES[field.name], field.metadata
    if kind == tuple[str, ...]:
        return _checked_names(field, value)
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**1000:
        value = float(value)
    if type(value) is not kind or (kind is float and not math.isfinite(value)):
        raise ConfigError(f"{field.name} must be {_NAMES[kind]}, not {_shown(value)}: {meta['why']}.")
    if meta["choices"] and value not in meta["choices"]:
        choices = ", ".join(meta["choices"])
        raise ConfigError(f"{field.name} must be one of {choices}, not {_shown(value)}: {meta['why']}.")
    low, high, below = meta["low"], meta["high"], meta["below"]
    inside = (low is None or value >= low) and (high is None or value <= high) and (below is None or value < below)
    if not inside:
        raise ConfigError(f"{field.name} must be {allowed(field)}, not {_shown(value)}: {meta['why']}.")
    return value


def _checked_names(field: dataclasses.Field[Any], value: Any) -> tuple[str, ...]:
    names = tuple(value) if isinstance(value, list | tuple) else None
    if not names or not all(isinstance(n, str) and n.isidentifier() for n in names) or len({*names}) < len(names):
        raise ConfigError(
            f"{field.name} must be a list of names, each once, not {_shown(value)}: {field.metadata['why']}."
        )
    return names


def _shown(value: Any) -> str:
    return shortened(repr(value), LONGEST_VALUE)


def allowed(field: dataclasses.Field[Any]) -> str:
    """The range or the choices of a field, in words."""
    meta = field.metadata
    parts = [f"at least {meta['low']}"] if meta["low"] is not None else []
    parts += [f"at most {meta['high']}"] if meta["high"] is not None else []
    parts += [f"below {meta['below']}"] if meta["below"] is not None else []
    return " | ".join(meta["choices"]) or " and ".join(parts) or _NAMES[TYPES[field.name]]


def parse_setting(assignment: str) -> tuple[str, Any]:
    """`field=value` of the command line into the field's type."""
    name, equals, text = assignment.partition("=")
    name = name.strip()
    if not equals:
        raise ConfigError(f"{shorten(assignment)} is not of the form field=value.")
    if name not in FIELDS:
        raise ConfigError(_unknown(name))
    if TYPES[name] is str:
        return name, text.strip()
    if TYPES[name] == tuple[str, ...]:
        return name, tuple(part.strip() for part in text.split(","))
    try:
        value = json.loads(text.strip().lower())
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, int | float):
        raise ConfigError(f"{name} must be {_NAMES[TYPES[name]]}, not {shorten(text)}.")
    return name, value


def read_settings(path: Path) -> dict[str, Any]:
    """Settings from a TOML file of `field = value` lines, or from a run's config.json."""
    from mixtea.data.safe.open import opened
    from mixtea.data.safe.problems import UnreadableError

    kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
    try:
        with opened(path) as file:
            data = file.read(LONGEST_SETTINGS + 1)
        if len(data) > LONGEST_SETTINGS:
            raise ConfigError(f"more than {LONGEST_SETTINGS:,} bytes, which no settings need. Name another file.")
        text = data.decode("utf-8")
        settings = json.loads(text) if kind == "JSON" else tomllib.loads(text)
        if not isinstance(settings, dict):
            raise ConfigError("not a table of settings. Write field = value lines, or a JSON object.")
        Config.from_dict(settings)
    except UnreadableError as error:
        what, todo = error.problem.what.removeprefix("cannot be read "), error.problem.todo
        raise ConfigError(f"{path}: cannot be read ({what.strip('()')}). {todo}") from None
    except ConfigError as error:
        raise ConfigError(f"{path}: {str(error)[:LONGEST_MESSAGE]}") from None
    except RecursionError:
        raise ConfigError(f"{path}: not valid {kind}: nested too deeply, which no settings are.") from None
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{path}: not valid {kind}: {str(error)[:LONGEST_MESSAGE]}.") from None
    return dict(settings)


def describe() -> str:
    """All fields as a Markdown table: the documentation of the settings is made from the settings."""
    rows = ["| field | paper | best | text | allowed | what it does |", "|---|---|---|---|---|---|"]
    for name, field in FIELDS.items():
        others = (f"`{PRESETS[preset][name]}`" if name in PRESETS[preset] else "" for preset in ("best", "text"))
        bounds = allowed(field).replace("|", "\\|")
        rows.append(f"| `{name}` | `{field.default}` | {' | '.join(others)} | {bounds} | {field.metadata['why']} |")
    return "\n".join(rows)


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, FIELDS, n=1)
    return f"There is no setting {shorten(name)}." + (f" Did you mean {near[0]!r}?" if near else "")


LONGEST_SETTINGS, LONGEST_MESSAGE, LONGEST_VALUE = 1 << 14, 2000, 100  # bytes, characters
MOMENTS_TEMPERATURE = 0.5  # below it cosines are too far apart for two moments
_APPROXIMATE = ("votes_every", "loss_rows", "normaliser", "search")
FIELDS = {field.name: field for field in dataclasses.fields(Config)}
TYPES = get_type_hints(Config)
_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}
_NAMES[tuple[str, ...]] = "names"
ALL_VOTERS = ("forward", "backward", "propagation", "agreement")
VECTORS = frozenset({"forward", "backward"})
PRESETS: dict[str, dict[str, Any]] = {
    "best": {
        "entity_dim": 512,
        "concat_weights": "trained",
        "negatives_replace": "both",
        "negatives_every": 1,
        "first_beta": 0.5,
        "vote_normaliser": "sinkhorn",
        "voters": ALL_VOTERS,
        "votes_every": 5,
        "valid_needed": 100,
        "pseudo_weight": 0.3,
        "temperature": 0.1,
        "max_epochs": 150,
        "patience": 1000,
        "lr_decay": "cosine",
        "decoder": "sinkhorn",
        "decode_voters": ALL_VOTERS,
    },
    "paper": {},
    "text": {name: f.metadata["text"] for name, f in FIELDS.items() if f.metadata["text"] is not None},
}
