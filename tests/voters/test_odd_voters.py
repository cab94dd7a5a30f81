"""Voters as people may write them: silent, late, listening, empty-handed; and settings that cannot be decoded."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import SMALL_BEST

from mixtea import ConfigError, MixTEA
from mixtea.callbacks import History
from mixtea.decide.choose import Choice
from mixtea.errors import FullMemoryError, VoterError
from mixtea.runs.reader import StoredRun
from mixtea.vote import Voter, register
from mixtea.voters import name_index

OWN = ("forward", "backward", "propagation", "agreement")
SMALL = SMALL_BEST | dict(max_epochs=4, votes_every=1, propagation_every=2, seed=3)


@register
class Mute(Voter):
    name = "mute"
    needs = ("triples",)

    def score(self, pairs, state):
        return np.full(len(pairs), np.nan)


@register
class EmptyHanded(Voter):
    """As one that looks for equal labels and finds none."""

    name = "empty_handed"

    def propose(self, state):
        return []

    def score(self, pairs, state):
        return np.where(pairs.source == pairs.target, 0.5, 0.0)


@register
class Listening(Voter):
    name = "listening"
    uses_belief = True

    def propose(self, state):
        return [(i, i) for i in range(5)]

    def score(self, pairs, state):
        return state.belief.p[: len(pairs)] * 0 + 0.1


@register
class Late(Voter):
    """Proposes only once there are vectors."""

    name = "late"

    def propose(self, state):
        return None if state.vectors is None else [(i, i) for i in range(5)]

    def score(self, pairs, state):
        return np.where(pairs.source == pairs.target, 0.5, 0.0)


@register
class Hungry(EmptyHanded):
    """Fills memory when it is asked to do `at`."""

    name = "hungry"
    at = ""

    def propose(self, state):
        return self._fill("propose") or super().propose(state)

    def score(self, pairs, state):
        self._fill("score")
        return super().score(pairs, state)

    def learn(self, state):
        self._fill("learn")

    def _fill(self, what):
        if what == self.at:
            raise MemoryError("Unable to allocate 2.00 GiB for an array")


@pytest.mark.parametrize("at", ["learn", "propose", "score"])
def test_full_memory_names_the_voter_that_fills_it(rings, at, monkeypatch):
    monkeypatch.setattr(Hungry, "at", at)
    with pytest.raises(VoterError, match=rf"'hungry' .* failed in {at}: MemoryError.*remove it from") as caught:
        MixTEA(voters=(*OWN, "hungry"), **SMALL).fit(rings)
    assert "entity_dim" not in str(caught.value)


def test_names_that_fill_memory_are_said_to(told, monkeypatch):
    def full(*args, **options):
        raise MemoryError

    monkeypatch.setattr(name_index, "similar_rows", full)
    with pytest.raises(FullMemoryError, match="The voter names fills it"):
        MixTEA(**SMALL).fit(told)


@pytest.mark.parametrize("valid_needed", [0, 100])
def test_a_voter_that_never_speaks_changes_no_bit(rings, valid_needed):
    settings = SMALL | dict(valid_needed=valid_needed, validate_every=2)
    without, with_mute = (MixTEA(voters=voters, **settings).fit(rings) for voters in (OWN, (*OWN, "mute")))
    assert without.vectors_.equal(with_mute.vectors_) and without.trace_.equals(with_mute.trace_)
    assert without.map().to_frame().equals(with_mute.map().to_frame())


@pytest.mark.parametrize("voters", [("forward", "empty_handed"), ("empty_handed",), ("forward", "late"), ("backward",)])
def test_voters_that_find_little_do_not_end_a_training(rings, voters, tmp_path):
    aligner = MixTEA(voters=voters, **SMALL, valid_needed=0, validate_every=1).fit(rings)
    aligner.save(tmp_path / "run")
    assert StoredRun(tmp_path / "run").answers_.mapping().to_frame().equals(aligner.map().to_frame())


def test_who_only_listens_needs_others(rings):
    with pytest.raises(ConfigError, match="agreement only scores what others propose"):
        MixTEA(voters=("agreement",), **SMALL).fit(rings)
    with pytest.raises(ConfigError, match="None of the voters listening, agreement proposes a pair and scores it"):
        MixTEA(voters=("listening", "agreement"), decode_voters=("forward",), **SMALL).fit(rings)
    MixTEA(voters=("forward", "listening"), **SMALL).fit(rings).map()


@pytest.mark.parametrize(
    ("voters", "message"), [(("propagation",), "propagation did not vote"), (("zzz",), "There is no voter 'zzz'")]
)
def test_what_cannot_be_decoded_is_said_before_anything_is_learned(rings, voters, message):
    history = History()
    with pytest.raises(ConfigError, match=message):
        MixTEA("paper", decode_voters=voters, max_epochs=2, device="cpu").fit(rings, callbacks=history)
    assert history.epochs == []


def test_listeners_that_did_not_vote_are_asked_when_decoding(rings):
    aligner = MixTEA(voters=("forward", "backward", "propagation"), **SMALL).fit(rings)
    scores = [aligner.predict(2, voters=voters).score for voters in ("propagation", "propagation,agreement")]
    assert not np.array_equal(*scores)
    assert aligner.predict(2, voters="forward,listening").voter_names == ("forward", "listening")


@pytest.mark.parametrize("preset", ["paper", "best"])
def test_a_task_in_which_every_source_is_linked_can_be_saved(rings, tmp_path, preset):
    links = np.concatenate([rings.train, rings.valid, rings.test])
    full = rings.replace(train=links, valid=links[:0], test=links[:0])
    MixTEA(preset, **SMALL).fit(full).save(tmp_path / "run")
    assert len(StoredRun(tmp_path / "run").answers_.candidates(3)) == len(MixTEA.load(tmp_path / "run").map()) == 0


def test_settings_changed_after_training_do_not_change_what_was_trained(rings, tmp_path):
    aligner = MixTEA(voters=OWN, **SMALL).fit(rings)
    trace, aligner.metrics_ = aligner.trace_, aligner.score()
    aligner.set_params(voters=("agreement", "forward"), entity_dim=8, decoder="csls", decode_voters=("forward",))
    assert aligner.trace_.equals(trace) and aligner.metrics_ == {}
    aligner.save(tmp_path / "run")
    loaded = MixTEA.load(tmp_path / "run")
    assert loaded.config.voters == OWN and loaded.config.decoder == "csls" and loaded.trace_.equals(trace)
    assert StoredRun(tmp_path / "run").answers_.candidates(4).to_frame().equals(aligner.predict(4).to_frame())


def test_backward_is_named_for_the_nearest_source_that_was_not_rejected(rings):
    settings = dict(entity_dim=16, relation_dim=8, max_epochs=6, seed=2, device="cpu")
    before = MixTEA("paper", **settings).fit(rings).predict(20)
    row, rank = np.argwhere(before.voters[:, :, 1])[0]
    pair = np.array([[before.source_index[row], before.target_index[row, rank]]])
    aligner = MixTEA("paper", **settings).fit(rings)
    aligner.task_ = rings.replace(rejected=pair)
    aligner._answers = None
    after = aligner.predict(20)
    named = after.voters[:, :, 1] & (after.target_index == pair[0, 1])
    assert named.sum() == 1 and after.source_index[np.argwhere(named)[0, 0]] != pair[0, 0]


@register
class Degree(Voter):
    """Compares how many triples entities have: the evidence of a voter that needs triples is structure."""

    name = "degree"
    needs = ("triples",)

    def score(self, pairs, state):
        counts = [graph.degrees for graph in (self.task.source, self.task.target)]
        return np.where(counts[0][pairs.source] == counts[1][pairs.target], 0.5, 0.1)


def test_an_outside_voter_states_its_kind_of_evidence_or_has_that_of_its_needs():
    class Stated(Mute):
        name = "stated"
        evidence = "human"

    class Inherited(Stated):
        needs = ("labels",)

    class Careless(Voter):
        needs = 5  # refused when it is used

    voters = (Voter, Mute, Degree, EmptyHanded, Stated, Inherited, Careless)
    assert [voter.evidence for voter in voters] == [
        "lexical", "structure", "structure", "lexical", "human", "human", "lexical",
    ]  # fmt: skip


def test_outside_structure_is_exported_and_scored_as_structure(rings, tmp_path, monkeypatch):
    aligner = MixTEA(**SMALL | dict(voters=(*OWN, "degree", "names"))).fit(rings)
    assert aligner.answers_.evidence_kinds == {"degree": "structure"}
    aligner.save(tmp_path / "run")
    monkeypatch.setattr("mixtea.voters.registry._registered", {})  # a run is exported without the voter's package
    mapping = StoredRun(tmp_path / "run").answers_.mapping(Choice(every=True))
    assert (
        mapping.evidence_kinds == {"degree": "structure"}
        and mapping.pairs()["evidence"].str.contains(r"degree=\+").any()
    )
    mapping.write(tmp_path / "m.sssom.tsv")
    text = (tmp_path / "m.sssom.tsv").read_text(encoding="utf-8")
    assert "semapv:StructuralMatching" in text and "semapv:CompositeMatching" not in text
