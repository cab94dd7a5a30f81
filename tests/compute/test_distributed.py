"""Two processes against one, through PyTorch's launcher and the real command; one of them killed, lost, or unlike."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from datetime import timedelta

import pytest
import torch.distributed
from conftest import SMALL_BEST, rings_files, write
from processes import children, start, wait_for_line

from mixtea import MixTEA
from mixtea.compute import distributed
from mixtea.errors import ProcessLostError

SETTINGS = SMALL_BEST | dict(validate_every=2, votes_every=2, max_epochs=5, precision="float64")
FITS = {  # what two processes learn, one after the other
    "paper": dict(preset="paper", **SETTINGS),
    "best": dict(preset="best", **SETTINGS),
    "paper in float32": dict(preset="paper", **SETTINGS | dict(precision="float32", max_epochs=30)),
}
PROGRAM = """
import json, os, sys
import torch.distributed
from mixtea.cli import main
torch.distributed.init_process_group("gloo")
for words in json.loads(sys.argv[1]):
    sys.argv = ["mixtea", *words]
    try:
        main()
    except SystemExit as end:
        assert not end.code
torch.distributed.barrier()
sys.stdout.flush()
os._exit(0)  # to part at once with the other process makes PyTorch crash now and then
"""

UNLIKE = """
import contextlib, io, json, os, sys
from pathlib import Path
from mixtea.cli import main
rank, found, out = int(os.environ["RANK"]), {}, Path(sys.argv[2])
for name, words in json.loads(sys.argv[1]).items():
    sys.argv, said = ["mixtea", *words[rank]], io.StringIO()
    with contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            found[name] = [end.code, said.getvalue()]
(out / f"{rank}.json").write_text(json.dumps(found))
"""
FAILING = """
import json, os, sys, time
from pathlib import Path
from mixtea.cli import main
rank = int(os.environ["RANK"])
while rank == 1 and not Path(sys.argv[2]).exists():  # until the other one trains
    time.sleep(0.01)
sys.argv = ["mixtea", *json.loads(sys.argv[1])[rank]]
main()
"""
TWICE = """
import json, os, sys, time
from mixtea import MixTEA, load_task
from mixtea.errors import ProcessLostError
rank, task, settings, losses = int(os.environ["RANK"]), load_task(sys.argv[1]), json.loads(sys.argv[2]), []
for seed in (1, 2):
    losses.append(MixTEA(seed=seed, **settings).fit(task).history_["loss"].tolist())
    time.sleep(1 - rank)  # the second one comes first, and finds what is left of the meeting before
print(json.dumps(losses), flush=True)
if rank == 0:
    try:
        MixTEA(seed=3, **settings).fit(task)
    except ProcessLostError as error:
        print(error)
"""
SOON = 60  # seconds after which a test fails that would wait for half an hour


def launched(*command):
    """Begin the command in two processes of PyTorch's launcher."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2]
    streams = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return start([*launcher, *command], forked=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, **streams)


def begun(commands, environment=(), **streams):
    """Two processes without a launcher, as on two machines, where none ends the processes of the other."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        meet = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(probe.getsockname()[1]), "WORLD_SIZE": "2"}
    meet |= dict(environment)
    return [
        start([sys.executable, *words], forked=True, env=os.environ | meet | {"RANK": str(rank)}, text=True, **streams)
        for rank, words in enumerate(commands)
    ]


def done_by_two(*words):
    """What two processes say that do the same to the end."""
    both = begun([words, words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = [process.communicate(timeout=SOON)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    return "".join(said)


def fit(folder, out, *, preset, **settings):
    """The words of `mixtea fit`."""
    chosen = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    return ["fit", str(folder), "--out", str(out), "--preset", preset, *chosen]


@pytest.fixture(scope="module")
def learned_by_two(rings_folder, tmp_path_factory):
    """The command, several times in one pair of processes."""
    out = tmp_path_factory.mktemp("two")
    (out / "program.py").write_text(PROGRAM)
    output = done_by_two(out / "program.py", json.dumps([fit(rings_folder, out / n, **FITS[n]) for n in FITS]))
    assert output.count("run folder") == len(FITS)  # one process speaks
    return out


@pytest.mark.parametrize("name", FITS)
def test_two_processes_learn_the_same(name, rings, learned_by_two):
    one, two = MixTEA(**FITS[name]).fit(rings), MixTEA.load(learned_by_two / name, device="cpu")
    exact = FITS[name]["precision"] == "float64"
    losses = ["loss", "loss_alignment", "loss_pseudo"]
    wanted = one.history_[losses].to_numpy()
    assert two.history_[losses].to_numpy() == pytest.approx(wanted, rel=1e-9 if exact else 1e-3)
    if exact:
        assert two.predict(k=1).best()["target"].equals(one.predict(k=1).best()["target"])
    else:
        assert two.score()["hits@1"] == pytest.approx(one.score()["hits@1"], abs=0.1)  # one of ten links


@pytest.fixture(scope="module")
def refused(rings_folder, tmp_path_factory):
    """Exit code and standard error of each of two processes, by what is unlike in them; one pair for all."""
    out = tmp_path_factory.mktemp("refused")
    other = {name: "\n".join(rings_files()[name].splitlines()[:-1]) for name in ("rel_triples_1", "ent_links")}
    write(out, other)

    def words(name, links=rings_folder, graph=rings_folder, **settings):
        files = ["--target", rings_folder / "rel_triples_2", "--links", links / "ent_links"]
        first, *rest = fit(graph / "rel_triples_1", out / name, preset="paper", **SETTINGS | settings)
        return [first, "--source", *rest, *map(str, files)]

    changes = {"setting": dict(learning_rate=0.5), "links": dict(links=out), "graph": dict(graph=out), "nothing": {}}
    cases = {name: [words(name), words(name, **change)] for name, change in changes.items()}
    seeds = [fit(rings_folder, out / "seed", preset="paper", **SETTINGS, seed=seed) for seed in (1, 2)]
    (out / "program.py").write_text(UNLIKE)
    done_by_two(out / "program.py", json.dumps({"seed": seeds} | cases), out)
    return [json.loads((out / f"{rank}.json").read_text()) for rank in (0, 1)]


@pytest.mark.parametrize(
    ("unlike", "named"),
    [
        ("seed", ["seed is 1 in process 0, 2 in process 1"]),
        ("setting", ["learning_rate is 0.005 in process 0, 0.5 in process 1"]),
        ("links", ["the checksum of the training links is '", "the checksum of the validation links is '"]),
        ("graph", ["the checksum of the source graph is '"]),
    ],
)
def test_processes_with_other_files_or_settings_all_end_with_the_same_message(unlike, named, refused):
    for code, said in (found[unlike] for found in refused):
        message = said.splitlines()[-1]
        assert message.startswith(f"error: The processes of this run differ: {named[0]}")
        assert all(text in message for text in named) and message.count(" in process 1") == len(named)
        assert code == 2 and said.count("error:") == 1 and "Traceback" not in said


def test_what_was_refused_does_not_keep_the_next_from_training(refused):
    assert [found["nothing"][0] for found in refused] == [0, 0]


@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_cannot_read_its_files_ends_the_other_one(tmp_path, rings_folder, victim):
    folders = [tmp_path / "missing" if rank == victim else rings_folder for rank in (0, 1)]
    words = [("-m", "mixtea", *fit(folder, tmp_path / "run", **FITS["paper"])) for folder in folders]
    both = begun(words, stderr=subprocess.PIPE)
    said = [process.communicate(timeout=SOON)[1] for process in both]
    assert [process.returncode for process in both] == [2 if rank == victim else 1 for rank in (0, 1)], said
    assert "missing" in said[victim] and "error: Another process of this run has ended" in said[1 - victim]
    assert all(text.count("error:") == 1 and "Traceback" not in text for text in said)


def test_a_process_that_the_launcher_ends_early_says_why(tmp_path, rings_folder):
    words = [fit(folder, tmp_path / "run", **FITS["paper"]) for folder in (rings_folder, tmp_path / "missing")]
    (tmp_path / "program.py").write_text(FAILING)
    program = (tmp_path / "program.py", json.dumps(words), tmp_path / "run.unfinished")
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # the launcher's
    environment = {"MASTER_PORT": str(store.port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    first, failed = begun([program, program], environment, stderr=subprocess.PIPE)
    assert "missing: " in failed.communicate(timeout=SOON)[1]
    first.terminate()  # as the launcher does when one has failed
    assert first.communicate(timeout=SOON)[1].count("error: Another process of this run has ended") == 1


def test_a_second_fit_in_one_program_learns_what_it_learns_alone(tmp_path, rings_folder, rings):
    settings = dict(preset="paper", **SETTINGS)
    (tmp_path / "program.py").write_text(TWICE)
    output = done_by_two(tmp_path / "program.py", rings_folder, json.dumps(settings))
    learned = [json.loads(line) for line in output.splitlines() if line.startswith("[[")]
    alone = [MixTEA(seed=seed, **settings).fit(rings).history_["loss"].tolist() for seed in (1, 2)]
    assert len(learned) == 2 and learned[0] == learned[1], output
    assert learned[0] == [pytest.approx(losses, rel=1e-9) for losses in alone]
    assert "(process 1 ended before all had come to train)" in output  # to a third fit, of one of them alone


@pytest.fixture
def table(monkeypatch):
    """The launcher's table as the first of two processes sees it."""
    store = torch.distributed.HashStore()
    monkeypatch.setattr(distributed, "_store", lambda: store)
    monkeypatch.setattr(distributed, "n_processes", lambda: 2)
    return store


def test_a_process_that_never_came_is_not_waited_for_as_long_as_a_slow_one(table, monkeypatch):
    monkeypatch.setattr(distributed, "MAX_ARRIVAL", timedelta())
    with pytest.raises(ProcessLostError, match="Process 1 did not come"):
        distributed._exchange(table, "about", "mine")
    table.set("here 1", "")
    monkeypatch.setattr(distributed.time, "sleep", lambda seconds: table.set("about 1", "its own"))
    assert distributed._exchange(table, "about", "mine") == ["mine", "its own"]
    with pytest.raises(ProcessLostError, match="Process 1 did not come"):
        distributed._exchange(table, "more", "mine", timedelta())


def test_what_a_process_wrote_before_it_ended_counts(table):
    table.set("about 1", "its own")
    table.set("ended", "1")
    assert distributed._exchange(table, "about", "mine") == ["mine", "its own"]


def test_of_many_processes_that_differ_a_few_are_named():
    found = [{"seed": max(number, 1), "voters": ["names"]} for number in range(9)] + [{"seed": 1}]
    assert distributed._differences(found) == [
        "seed is 1 in process 0, 2 in process 2, 3 in process 3, 4 in process 4, ...",
        "voters is ['names'] in process 0, None in process 9",
    ]


@pytest.mark.parametrize("victim, by_launcher", [(0, True), (1, False)])
def test_a_killed_process_ends_the_other_and_leaves_a_readable_run(tmp_path, rings_folder, victim, by_launcher):
    settings = SMALL_BEST | dict(max_epochs=100000, patience=100000, validate_every=1)
    words = fit(rings_folder, tmp_path / "run", preset=("paper", "best")[victim], **settings)
    command = ("-m", "mixtea", *words)
    if by_launcher:
        first = launched(*command)
    else:
        first, _ = both = begun([command, command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    wait_for_line(first.stdout, "epoch 1/")  # later ones are told every few seconds
    os.kill(children(first.pid)[victim] if by_launcher else both[victim].pid, signal.SIGKILL)
    output, _ = first.communicate()
    assert first.returncode != 0
    assert "error: Another process of this run has ended" in output
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    assert about["stopped_because"].startswith("another process ended in epoch") and about["n_epochs"] >= 1
    assert 0 <= MixTEA.load(tmp_path / "run", device="cpu").score()["hits@1"] <= 1
