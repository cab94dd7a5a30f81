"""Definitions of the tables and figures: the rows of each, and the settings that a row changes in a preset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mixtea.config import STRUCTURE_VOTERS, Config
from mixtea.errors import ConfigError

CURVE = {"max_epochs": 150, "patience": 1_000_000}
SHARES = (0.01, 0.05, 0.1, 0.2, 0.3)


@dataclass(frozen=True)
class Variant:
    """A row of a table or a curve of a figure: what is changed, and what is looked at."""

    label: str
    preset: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    share: float | None = None  # of all links that train; None: as the fold has it
    observed: bool = False  # the test links are scored during the training too
    own: frozenset[str] = frozenset()  # the settings that make it this row


@dataclass(frozen=True)
class Experiment:
    """A table or figure: a title, what it shows, and its rows for a preset."""

    title: str
    about: str
    variants: Sequence[tuple[str, Mapping[str, Any]]] = ()
    shares: Sequence[float] = ()
    observed: bool = False
    presets: tuple[str, ...] = ("paper",)

    def of_preset(self, preset: str) -> Iterator[Variant]:
        """Yield the rows of one preset; leave out settings that it refuses."""
        for label, changed in self.variants:
            settings = _of_preset(preset, changed)
            try:
                Config.preset(preset, **settings)
            except ConfigError:
                continue
            for share in self.shares or (None,):
                yield Variant(label, preset, settings, share, self.observed, frozenset(settings))


NO_BACKWARD = "all of the preset's voters but backward"


def structural_voters(preset: str) -> tuple[str, ...]:
    """Return the voters of a preset that use triples and links alone: only these are compared here."""
    return tuple(name for name in Config.preset(preset).voters if name in STRUCTURE_VOTERS)


def _of_preset(preset: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings, restricted to structural voters where the preset has others."""
    voters = structural_voters(preset)
    if settings.get("voters") is NO_BACKWARD:
        return {**settings, "voters": tuple(name for name in voters if name != "backward")}
    return dict(settings) if voters == Config.preset(preset).voters else {"voters": voters, **settings}


EXPERIMENTS = {
    "data": Experiment("Data", "What the graphs hold, beside what was published."),
    "main": Experiment(
        "Accuracy",
        "From structure alone: Hit@k and MRR on the test links, ranked among the test targets, ties in expectation, "
        "mean over the folds ± their standard deviation. Rows in italics are published.",
        [("", {})],
        presets=("paper", "best"),
    ),
    "ablation": Experiment(
        "Ablation",
        "One part switched off at a time, the student by plain cosine.",
        [
            ("without relations", {"use_relations": False}),
            ("without L_u", {"pseudo_weight": 0.0}),
            ("without BDV", {"voters": NO_BACKWARD}),
            ("without MDR", {"rectify": False}),
            ("without BDV and MDR", {"voters": NO_BACKWARD, "rectify": False}),
            ("complete", {}),
        ],
    ),
    "strategies": Experiment(
        "Teaching strategies",
        "The same encoder, taught in other ways: by the links alone, by pairs above a cosine of .9 (self-training), by "
        "one-to-one editing above .7 (BootEA's way), by mutual nearest neighbours (MRAEA's way), by mixture teaching.",
        [
            ("links alone", {"pseudo_weight": 0.0}),
            ("threshold self-training", {"teaching": "threshold"}),
            ("one-to-one editing", {"teaching": "one_to_one", "teaching_threshold": 0.7}),
            ("mutual nearest neighbours", {"teaching": "mutual"}),
            ("mixture teaching", {}),
        ],
    ),
    "curves": Experiment(
        "Training curves",
        "Hit@1 on the test links by epoch, read by a callback that the training cannot see; no early stop.",
        [
            ("encoder alone", {"pseudo_weight": 0.0, **CURVE}),
            ("self-training, threshold .9", {"teaching": "threshold", **CURVE}),
            ("mixture teaching", CURVE),
        ],
        observed=True,
    ),
    "layers": Experiment(
        "Attention layers",
        "Hit@1 by the number of attention layers L.",
        [(str(n), {} if n == 2 else {"n_layers": n}) for n in (1, 2, 3, 4)],
    ),
    "momentum": Experiment(
        "Momentum",
        "Hit@1 by the momentum m of the teacher's moving average.",
        [(f"{m:g}", {} if m == 0.9 else {"momentum": m}) for m in (0.0, 0.9, 0.99, 0.999)],
    ),
    "seeds": Experiment(
        "Share of seeds",
        "Hit@1 by the share of all links that train, with at most half as many validation links. Every share is scored "
        "on the same links: the test links less the tenth of all links that train at 30 %.",
        [("", {})],
        shares=SHARES,
        presets=("paper", "best"),
    ),
}
