"""A voter from a package that is installed for the test: from fit to export, and when the package is gone."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint

import numpy as np
import pandas as pd
import pytest
from conftest import SMALL_BEST, write
from processes import run as run_process

from mixtea import MixTEA
from mixtea.callbacks import Callback
from mixtea.errors import ConfigError, MissingVoterError, StoppedError, VoterError
from mixtea.report.page import make_report
from mixtea.runs.checkpoints import Checkpoints
from mixtea.runs.reader import StoredRun
from mixtea.vote import Voter, register
from mixtea.voters import registry
from mixtea.voters.registry import known_voters, package_of, voter_class

ALL = ("forward", "backward", "propagation", "agreement", "numbers")
SETTINGS = SMALL_BEST | dict(
    voters=ALL, max_epochs=8, votes_every=1, propagation_every=2, seed=3, stop_when_settled=False
)
PACKAGE = {
    "number_voter.py": '''
from mixtea.vote import Evidence, Voter

class Numbers(Voter):
    """Equal numbers at the end of ids; no opinion on sources beyond the twentieth; counts how often it has learned."""

    name = "numbers"
    learned = 0

    def propose(self, state):
        places = [{e[1:]: i for i, e in enumerate(ids)} for ids in (self.task.source.ids, self.task.target.ids)]
        return [(places[0][str(i)], places[1][str(i)]) for i in range(20)]

    def score(self, pairs, state):
        found = zip(self.task.source.ids[pairs.source], self.task.target.ids[pairs.target])
        return [self.opinion_of(int(a[1:]), int(b[1:])) for a, b in found]

    def opinion_of(self, a, b):
        return float("nan") if a >= 20 else 1 + 0.01 * self.learned if a == b else 0.0

    def explain(self, source, target):
        ends = self.task.source.ids[source], self.task.target.ids[target]
        return [Evidence("the same number", float(ends[0][1:] == ends[1][1:]))]

    def learn(self, state):
        self.learned += 1

    def state_dict(self):
        return {"learned": self.learned}

    def load_state_dict(self, state):
        self.learned = state["learned"]
''',
    "number_voter-1.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: number-voter\nVersion: 1.2\n",
    "number_voter-1.2.dist-info/entry_points.txt": "[mixtea.voters]\nnumbers = number_voter:Numbers\n",
    "number_voter-1.2.dist-info/top_level.txt": "number_voter\n",
    "number_voter-1.2.dist-info/RECORD": "number_voter.py,,\n",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The package beside the others, for this module alone."""
    folder = write(tmp_path_factory.mktemp("packages"), PACKAGE)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    sys.modules.pop("number_voter", None)


@pytest.fixture(scope="module")
def aligner(installed, rings):
    return MixTEA(**SETTINGS).fit(rings)


@pytest.fixture(scope="module")
def run(aligner, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    aligner.metrics_ = aligner.score()
    aligner.save(folder, pages={"report.html": make_report(aligner)})
    return folder


def test_it_is_known_by_its_entry_point(installed):
    assert "numbers" in known_voters() and issubclass(voter_class("numbers"), Voter)
    assert package_of("numbers") == "number-voter 1.2" and package_of("forward") == ""


def test_it_votes_and_is_named_only_where_it_spoke(aligner, rings):
    trace, number = aligner.trace_, [np.array([int(e[1:]) for e in g.ids]) for g in (rings.source, rings.target)]
    source, target = number[0][trace["source"]], number[1][trace["target"]]
    named = trace["voters"].str.contains("numbers").to_numpy()
    assert named.any() and (source[named] == target[named]).all() and (source[named] < 20).all()
    assert (source >= 20).any()
    pairs = aligner.map(every=True).pairs()
    spoken = pairs["source"].str[1:].astype(int) < 20
    assert pairs["voters"].str.contains("numbers")[spoken].all()
    assert not pairs["voters"].str.contains("numbers")[~spoken].any() and (~spoken).any()
    assert aligner.history_["votes_numbers"].iloc[-1] > 0 and "votes_of_5" in aligner.history_
    assert np.isnan(aligner.answers_.scores["numbers"][number[0][aligner.answers_.source_index] >= 20]).all()


def test_it_is_saved_loaded_reported_scored_and_exported(aligner, rings, run, mixtea, tmp_path):
    loaded, stored = MixTEA.load(run), StoredRun(run)
    assert loaded.trace_.equals(aligner.trace_)
    pd.testing.assert_frame_equal(stored.answers_.candidates(5).to_frame(), aligner.predict(5).to_frame())
    pd.testing.assert_frame_equal(
        loaded.predict(5, decoder="csls").to_frame(), aligner.predict(5, decoder="csls").to_frame()
    )
    assert "numbers" in (run / "report.html").read_text(encoding="utf-8")
    assert mixtea("score", run, "--json")[0] == 0
    assert mixtea("export", run, "--out", tmp_path / "m.sssom.tsv")[0] == 0
    assert "+numbers" in (tmp_path / "m.sssom.tsv").read_text(encoding="utf-8")
    ends = (
        int(graph.find(np.array([e], dtype=object))[0]) for graph, e in ((rings.source, "s7"), (rings.target, "t7"))
    )
    row = stored.explain(*ends).set_index("voter").loc["numbers"]
    assert (row["what"], row["weight"]) == ("the same number", 1.0)


def test_resumed_it_comes_to_the_same_bytes(aligner, rings, tmp_path):
    kept = Checkpoints(tmp_path, 0)

    class StopLater(Callback):
        def on_epoch(self, record):
            kept.stopping.asked = 15 * (record["epoch"] == 4)

    with pytest.raises(StoppedError):
        MixTEA(**SETTINGS).fit(rings, callbacks=StopLater(), checkpoints=kept)
    again = MixTEA(**SETTINGS).fit(rings, checkpoints=Checkpoints(tmp_path, 0))
    assert again.vectors_.equal(aligner.vectors_) and again.trace_.equals(aligner.trace_)
    assert again.map().to_frame().equals(aligner.map().to_frame())


def test_without_its_package_a_run_is_exported_and_the_package_named_where_it_would_be_needed(run, tmp_path):
    """In a process of its own, where the package is not there; torch is not loaded for what is stored."""
    program = """
import sys
from mixtea.cli import main
from mixtea.runs.reader import StoredRun
def call(*words):
    sys.argv = ["mixtea", *words]
    try: main()
    except SystemExit as stop: return stop.code or 0
run, out = sys.argv[1:]
for words in (["export", run, "--out", out + "/m.tsv"], ["predict", run, "--out", out + "/c.tsv"], ["score", run]):
    assert call(*words) == 0, words
print(StoredRun(run).explain(19, 19).to_string())
assert "torch" not in sys.modules and "number_voter" not in sys.modules
assert call("predict", run, "--out", out + "/d.tsv", "--decoder", "csls") == 2
assert call("predict", run, "--out", out + "/d.tsv", "--decoder", "csls", "--voters", "forward,backward") == 0
"""
    done = run_process([sys.executable, "-c", program, run, tmp_path])
    assert done.returncode == 0, done.stderr
    named = "The voter 'numbers' comes from the package number-voter 1.2, which is not available."
    assert named in done.stderr and named in done.stdout and (tmp_path / "m.tsv").stat().st_size


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "nowhere:Voter",
            "package nowhere failed when it was loaded from nowhere:Voter: ModuleNotFoundError: No module",
        ),
        ("mixtea.vote:Nobody", "package mixtea.* failed when it was loaded from mixtea.vote:Nobody: AttributeError"),
        ("mixtea.vote:register", "package mixtea.* cannot be used: mixtea.vote:register is not a Voter of that name"),
        ("mixtea.vote:Voter", "package mixtea.* mixtea.vote:Voter is not a Voter of that name"),
        ("", "package without a name failed when it was loaded from : AttributeError"),
    ],
)
def test_a_package_that_brings_no_voter_is_named(value, message, monkeypatch):
    monkeypatch.setattr(registry, "entry_points", lambda group: [EntryPoint("broken", value, group)])
    with pytest.raises(VoterError, match=f"The voter 'broken' of the {message}"):
        voter_class("broken")


def test_what_cannot_be_a_voter_is_refused():
    with pytest.raises(TypeError, match="a class that is a Voter"):
        register(object)
    for name in ("forward", "vectors", "two words", "", 5, ["a"]):
        with pytest.raises(ConfigError, match="cannot name a voter"):
            register(type("Mine", (Voter,), {"name": name}))
    with pytest.raises(MissingVoterError, match=r"There is no voter 'nobody_here'\. There are forward, backward"):
        voter_class("nobody_here")
    with pytest.raises(TypeError, match="has no score method"):
        Voter().score(None, None)
