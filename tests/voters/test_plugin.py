"""Voters from outside that fail, or give what they should not: one error that names them, and nothing is left."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import SMALL_BEST
from voting import make_entities

from mixtea import MixTEA, train
from mixtea.compute.scored_pairs import pairs_of_keys
from mixtea.config import Config
from mixtea.council.summary import misleading_links, misleading_shares, voters_line
from mixtea.errors import MixTEAError, NotFittedError, RunError, VoterError
from mixtea.evaluation.estimate import memory_mib
from mixtea.graph.task import Reviewed
from mixtea.runs.reader import StoredRun
from mixtea.vote import Evidence, Voter, register
from mixtea.voters import registry
from mixtea.voters.base import Cost, VotingState
from mixtea.voters.names import Names
from mixtea.voters.registry import PluginVoter, known_voters, make_voter, package_of, voter_class
from mixtea.voters.votes import voter_scores

CONFIG = Config.preset("best")
SETTINGS = SMALL_BEST | dict(
    voters=("forward", "backward", "faulty"), max_epochs=3, votes_every=1, propagation_every=2, seed=3
)
CALLS = {
    "bind": lambda voter, state, pairs: voter.bind(state.task, CONFIG),
    "propose": lambda voter, state, pairs: voter.propose(state),
    "score": lambda voter, state, pairs: voter_scores(voter, pairs, state),
    "explain": lambda voter, state, pairs: voter.explain(0, 0),
    "learn": lambda voter, state, pairs: voter.learn(state),
    "weight": lambda voter, state, pairs: voter.weight(),
    "cost": lambda voter, state, pairs: voter.cost(),
    "release": lambda voter, state, pairs: voter.release(),
    "state_dict": lambda voter, state, pairs: voter.state_dict(),
    "load_state_dict": lambda voter, state, pairs: voter.load_state_dict({}),
    "is_applicable": lambda voter, state, pairs: voter.is_applicable(),
    "compared": lambda voter, state, pairs: voter.compared(),
    "misleading": lambda voter, state, pairs: voter.misleading(),
}


class OtherError(BaseException):
    """What is no Exception, as SystemExit is none."""


class UntoldError(Exception):
    """Fails again when it is to be shown."""

    def __str__(self):
        raise RuntimeError


def faulty(**members):
    """The class of a voter `faulty`, known by that name, whose methods give or raise what is said of them."""

    def given(value):
        def method(self, *args):
            if isinstance(value, BaseException):
                raise value
            return value(self, *args) if callable(value) else value

        return method

    methods = {name: given(value) if name in (*CALLS, "__init__") else value for name, value in members.items()}
    about = {"name": "faulty", "__module__": "faulty_package.voters", "score": lambda *_: 0.5}
    return register(type("Faulty", (Voter,), about | methods))


@pytest.fixture(autouse=True)
def _quickly(monkeypatch):
    """To look through all packages that are installed takes long."""
    monkeypatch.setattr(registry, "packages_distributions", lambda: {})


@pytest.fixture
def ask(tiny):
    """Call a method of the voter `faulty`, bound to a task of five entities a side."""
    entities = make_entities(5, 5)
    state = VotingState(tiny, CONFIG, entities, torch.Generator())
    pairs = entities.open_pairs(pairs_of_keys(torch.arange(3), (5, 5)))
    return lambda method: CALLS[method](make_voter("faulty", tiny, CONFIG), state, pairs)


@pytest.mark.parametrize(
    "error", [ValueError("boom."), SystemExit(3), MemoryError(), OtherError("a\nb"), UntoldError()]
)
@pytest.mark.parametrize("method", CALLS)
def test_whatever_a_method_raises_is_one_error_with_that_as_its_cause(ask, method, error):
    faulty(**{method: error})
    with pytest.raises(VoterError) as raised:
        ask(method)
    said = {ValueError: ": boom", SystemExit: ": 3", OtherError: r": a\nb"}.get(type(error), "")
    assert str(raised.value) == (
        f"The voter 'faulty' of the package faulty_package failed in {method}: {type(error).__name__}{said}. Fix or "
        "update it, or remove it from the voters."
    )
    assert raised.value.__cause__ is error and isinstance(raised.value, MixTEAError) and raised.value.exit_code == 1


def test_whatever_is_raised_when_a_voter_is_made_is_one_error_too(ask):
    for error in (ValueError("boom"), SystemExit(3)):
        faulty(__init__=error)
        with pytest.raises(
            VoterError, match="'faulty' of the package faulty_package failed when it was made: "
        ) as raised:
            ask("score")
        assert raised.value.__cause__ is error
    faulty(needs=property(lambda self: 1 / 0))
    with pytest.raises(VoterError, match="failed when it was made: ZeroDivisionError: division by zero"):
        ask("score")


@pytest.mark.parametrize("method", [*CALLS, "__init__"])
def test_ctrl_c_passes(ask, method):
    faulty(**{method: KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        ask("score" if method == "__init__" else method)


class Unreadable:
    """What is no array, and says so by an error."""

    def __array__(self, *args, **kwargs):
        raise OSError("no array")


NO_PAIRS, NO_SCORES = "must propose pairs", "must score each of 3 pairs by a number"
BEYOND = "must score by numbers between -1e6 and 1e6, or NaN for no opinion"
WRONG = [
    ("bind", None, "must give itself, or another voter, from bind"),
    ("propose", [[0, 99]], f"{NO_PAIRS} .* inside the graphs, not int64"),
    ("propose", [[0, -1]], f"{NO_PAIRS} .* inside the graphs, not int64"),
    ("propose", [[0.5, 1.0]], rf"{NO_PAIRS} \[p, 2\] of source and target indices .* not float64 \[1, 2\]"),
    ("propose", [0, 1], rf"{NO_PAIRS} .* not int64 \[2\]"),
    ("propose", [["a", "b"]], NO_PAIRS),
    ("propose", [[0, 1], [2]], "failed in propose: ValueError"),
    ("propose", 7, NO_PAIRS),
    ("propose", Unreadable(), "failed in propose: OSError: no array"),
    ("score", [1.0, 2.0], rf"{NO_SCORES}; it gave float64 \[2\]"),
    ("score", [[1.0, 2.0, 3.0]], NO_SCORES),
    ("score", 0.5, NO_SCORES),
    ("score", None, NO_SCORES),
    ("score", ["1", "2", "3"], NO_SCORES),
    ("score", [1.0, None, 2.0], NO_SCORES),
    ("score", [1j, 2j, 3j], NO_SCORES),
    ("score", [1.0, float("inf"), 2.0], BEYOND),
    ("score", [1.0, -float("inf"), 2.0], BEYOND),
    ("score", [1.0, -1e7, 2.0], BEYOND),
    ("score", np.array([np.iinfo(np.int64).min] * 3), BEYOND),
    ("score", Unreadable(), "failed in score: OSError: no array"),
    ("explain", [("far too much", float("inf"))], "must explain by weights that are not infinite"),
    ("explain", None, "failed in explain: TypeError"),
    ("explain", [("what",)], "failed in explain: ValueError"),
    ("explain", [(5, 1.0)], "failed in explain: AttributeError"),
    ("explain", lambda self, source, target: (1 / 0 for _ in "a"), "failed in explain: ZeroDivisionError"),
    ("weight", float("nan"), "must weigh a number between -1e6 and 1e6, not nan"),
    ("weight", -float("inf"), "must weigh a number between -1e6 and 1e6, not -inf"),
    ("weight", 1e7, "must weigh a number"),
    ("weight", None, "failed in weight: TypeError"),
    ("cost", (float("nan"), 1.0), "must cost numbers from 0 on"),
    ("cost", Cost(mib=float("inf")), "must cost numbers from 0 on"),
    ("cost", 5, "failed in cost: TypeError"),
    ("state_dict", 5, "failed in state_dict: TypeError"),
    ("is_applicable", np.zeros(2), "failed in is_applicable: ValueError"),
    ("misleading", (float("nan"), 3), "must give a share of the links from misleading"),
]


@pytest.mark.parametrize(("method", "result", "message"), WRONG)
def test_what_is_not_asked_for_is_refused(ask, method, result, message):
    faulty(**{method: result})
    with pytest.raises(VoterError, match=f"The voter 'faulty' of the package faulty_package {message}"):
        ask(method)


RIGHT = [
    ("propose", [], []),
    ("propose", None, None),
    ("propose", np.array([[0, 4]], dtype=np.uint8), [[0, 4]]),
    ("propose", torch.tensor([[1, 2]]), [[1, 2]]),
    ("score", [True, False, True], [1, 0, 1]),
    ("score", torch.tensor([0.5, 1.0, 2.0]), [0.5, 1, 2]),
    ("score", np.array([1, 2, 3], dtype=np.int8), [1, 2, 3]),
    ("weight", np.float32(0.5), 0.5),
    ("cost", [1, 2], Cost(1.0, 2.0)),
    ("explain", [("half \ud800", 1), Evidence("b", -2.0)], [(r"half \ud800", 1.0), ("b", -2.0)]),
    ("learn", np.zeros(2), None),
    ("compared", (np.int64(3), 4), (3, 4)),
]


@pytest.mark.parametrize(("method", "result", "wanted"), RIGHT)
def test_what_can_be_meant_is_taken(ask, method, result, wanted):
    faulty(**{method: result})
    found = ask(method)
    assert (found.tolist() if isinstance(found, np.ndarray | torch.Tensor) else found) == wanted


def test_infinite_log_odds_of_reviewers_are_refused(tiny):
    said = tiny.replace(reviewed=Reviewed(np.array([[0, 0]]), np.array([np.inf])))
    entities = make_entities(5, 5)
    pairs = entities.open_pairs(pairs_of_keys(torch.arange(3), (5, 5)))
    with pytest.raises(VoterError, match=f"The voter 'reviewer' {BEYOND}"):
        voter_scores(
            make_voter("reviewer", said, CONFIG), pairs, VotingState(said, CONFIG, entities, torch.Generator())
        )


def test_no_opinion_is_not_a_number(ask):
    faulty(score=[1.0, float("nan"), 2.0])
    assert ask("score").isnan().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("needs", "triples"), ("needs", ("lables",)), ("votes_for", "target"), ("votes_for", ("both",)),
        ("uses_belief", "yes"), ("is_calibrated", 1), ("score_group", "two words"), ("evidence", "rumour"),
    ],
)  # fmt: skip
def test_members_that_cannot_be_meant_are_refused(ask, member, value):
    faulty(**{member: value})
    with pytest.raises(VoterError, match=f"of the package faulty_package must have {member} that is "):
        ask("score")


def test_errors_are_named_wherever_voters_are_asked(rings):
    """In a training, a decoding, an explanation and an estimate."""
    places = {
        "is_applicable": lambda: MixTEA(**SETTINGS).fit(rings),
        "propose": lambda: MixTEA(**SETTINGS).fit(rings),
        "learn": lambda: MixTEA(**SETTINGS).fit(rings),
        "weight": lambda: MixTEA(**SETTINGS).fit(rings),
        "cost": lambda: memory_mib(rings, MixTEA(**SETTINGS).config, torch.device("cpu")),
        "explain": lambda: MixTEA(**SETTINGS).fit(rings).explain("s1", "t1"),
    }
    for method, place in places.items():
        faulty(**{"score": lambda self, pairs, state: np.zeros(len(pairs)), method: ValueError("boom")})
        with pytest.raises(VoterError, match=f"failed in {method}: ValueError: boom"):
            place()


def test_an_aligner_stays_as_it_was(rings):
    faulty(score=SystemExit(3))
    aligner = MixTEA(**SETTINGS)
    with pytest.raises(VoterError, match="failed in score: SystemExit: 3"):
        aligner.fit(rings)
    with pytest.raises(NotFittedError):
        aligner.predict()
    before = aligner.set_params(voters=("forward", "backward")).fit(rings).map().to_frame()
    with pytest.raises(VoterError):
        aligner.set_params(voters=SETTINGS["voters"]).fit(rings)
    assert aligner.map().to_frame().equals(before)


class Scoring:
    """Scores that fail at an epoch, or not."""

    def __init__(self, at=None):
        self.at = at

    def __call__(self, voter, pairs, state):
        if state.epoch == self.at:
            raise ValueError("boom")
        return np.where(pairs.source == pairs.target, 0.5, 0.0)


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "members",
    [dict(__init__=SystemExit(3)), dict(score=Scoring(at=2)), dict(score=Scoring(), explain=ValueError("boom"))],
)
def test_nothing_is_written_and_what_was_there_stays(rings, tmp_path, monkeypatch, members):
    monkeypatch.setattr("mixtea.report.page.make_report", lambda aligner: str(aligner.explain("s1", "t1")))
    train(rings, tmp_path / "run", **SETTINGS | dict(voters=("forward", "backward")))
    before = contents(tmp_path)
    faulty(**members)
    for out in ("run", "new"):
        with pytest.raises(
            VoterError, match=r"The voter 'faulty' of the package faulty_package failed .*: (Sys|Val)"
        ) as raised:
            train(rings, tmp_path / out, overwrite=True, **SETTINGS)
        assert raised.value.__cause__ is not None and contents(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"] and len(StoredRun(tmp_path / "run").answers_.mapping())


def test_a_state_that_was_saved_stays_and_leads_to_the_same_end(rings, tmp_path):
    faulty(score=Scoring())
    whole = train(rings, tmp_path / "whole", **SETTINGS)
    faulty(score=Scoring(at=3))
    with pytest.raises(
        VoterError, match=r"boom.* Saved: the state after epoch 2. Go on with: mixtea fit --resume"
    ) as raised:
        train(rings, tmp_path / "run", checkpoint_every=0, **SETTINGS)
    assert isinstance(raised.value.__cause__, ValueError) and not (tmp_path / "run").exists()
    faulty(score=Scoring(), load_state_dict=KeyError("learned"))
    with pytest.raises(VoterError, match=r"failed in load_state_dict: KeyError: 'learned'.* Saved: .* epoch 2"):
        train(None, tmp_path / "run", resume=True)
    faulty(score=Scoring())
    resumed = train(None, tmp_path / "run", resume=True)
    assert resumed.vectors_.equal(whole.vectors_) and resumed.map().to_frame().equals(whole.map().to_frame())


def test_a_training_that_was_begun_before_can_still_be_gone_on_with(rings, tmp_path):
    faulty(score=Scoring(), propose=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        train(rings, tmp_path / "run", **SETTINGS)
    faulty(propose=ValueError("boom"))
    with pytest.raises(VoterError, match=r"boom.* No epoch was saved. Begin again with: mixtea fit --resume"):
        train(None, tmp_path / "run", resume=True)
    faulty(score=Scoring())
    assert train(None, tmp_path / "run", resume=True).n_epochs_ == 3


@register
class OwnNames(Names):
    """One of our own voters in another's hands."""

    name = "own_names"


def test_a_voter_made_of_one_of_ours_comes_to_the_same(told):
    ours, theirs = make_voter("names", told, CONFIG), make_voter("own_names", told, CONFIG)
    assert isinstance(theirs, PluginVoter) and theirs.leaves_links_out and theirs.is_calibrated
    assert voters_line([theirs]).replace("own_names", "names") == voters_line([ours])
    assert list(misleading_shares([theirs]).values()) == list(misleading_shares([ours]).values())
    assert list(misleading_links([theirs]).values()) == list(misleading_links([ours]).values())
    fitted = [
        MixTEA(**SMALL_BEST | dict(voters=("forward", "backward", name))).fit(told) for name in ("names", "own_names")
    ]
    assert fitted[0].vectors_.equal(fitted[1].vectors_)
    columns = ["source", "target", "score", "probability"]
    assert fitted[0].predict(3).to_frame()[columns].equals(fitted[1].predict(3).to_frame()[columns])


def test_packages_that_say_little_of_themselves_are_named_by_their_module(monkeypatch):
    def damaged(*args, **kwargs):
        raise TypeError("damaged")

    monkeypatch.setattr(registry, "packages_distributions", damaged)
    faulty()
    assert package_of("faulty") == "faulty_package"
    monkeypatch.setattr(registry, "entry_points", damaged)
    for call in (known_voters, lambda: voter_class("somebody")):
        with pytest.raises(VoterError, match=r"The voters of installed packages cannot be read \(TypeError: damaged\)"):
            call()


def test_a_wrong_call_leaves_nothing_either(rings, tmp_path):
    with pytest.raises(MixTEAError, match="There is no voter 'nobody_here'"):
        train(rings, tmp_path / "run", **SETTINGS | dict(voters=("forward", "nobody_here")))
    with pytest.raises(MixTEAError, match="no training link"):
        train(rings.replace(train=rings.train[:0]), tmp_path / "run", **SETTINGS | dict(voters=("forward",)))
    assert not any(tmp_path.iterdir())
    with pytest.raises(RunError, match="no interrupted training is there"):
        train(None, tmp_path / "run", resume=True)
