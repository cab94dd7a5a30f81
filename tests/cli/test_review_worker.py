"""The process in which a review page learns, when something is raised that nobody foresaw."""

from __future__ import annotations

import errno
import os
import shutil
import sys

import pytest
from conftest import SMALL_BEST, write
from processes import run as run_process

from mixtea import MixTEA
from mixtea.cli.ending import end

LEARN = (sys.executable, "-m", "mixtea.cli.review_worker")
PACKAGE = {
    "moody_voter.py": """
import errno, os
from mixtea.vote import Voter

class TemperError(Exception):
    pass

MOODS = {
    "an error of its own": TemperError("not now,\\nlater"),
    "the end of the program": SystemExit(0),
    "full memory": MemoryError(),
    "a full disk": OSError(errno.ENOSPC, "No space left", "x"),
}

class Moody(Voter):
    name = "moody"

    def propose(self, state):
        return [(0, 0)]

    def score(self, pairs, state):
        if "MOOD" in os.environ:
            raise MOODS[os.environ["MOOD"]]
        return [1.0] * len(pairs.source)
""",
    "moody_voter-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: moody-voter\nVersion: 1.0\n",
    "moody_voter-1.0.dist-info/entry_points.txt": "[mixtea.voters]\nmoody = moody_voter:Moody\n",
}
FAILED = "error: The voter 'moody' of the package moody-voter 1.0 failed in score: "
MESSAGES = {
    "an error of its own": r"TemperError: not now,\nlater",
    "the end of the program": "SystemExit: 0",
    "full memory": "MemoryError",
    "a full disk": "OSError: [Errno 28] No space left: 'x'",
}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A voter of another package, which raises what the environment names."""
    return write(tmp_path_factory.mktemp("packages"), PACKAGE)


@pytest.fixture(scope="module")
def moody_run(package, rings, tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(package)
        MixTEA(voters=("forward", "backward", "propagation", "moody"), **SMALL_BEST).fit(rings).save(run)
    sys.modules.pop("moody_voter")
    return run


@pytest.mark.parametrize("mood", MESSAGES)
def test_what_a_voter_raises_is_one_line_and_leaves_the_run_as_it_was(mood, moody_run, package, tmp_path):
    out = shutil.copytree(moody_run, tmp_path / "out")
    before = {path: path.read_bytes() for path in out.iterdir()}
    paths = [str(package), *sys.path]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "MOOD": mood}
    done = run_process([*LEARN, moody_run, tmp_path / "decisions", out], forked=True, env=env)
    assert done.stderr == f"{FAILED}{MESSAGES[mood]}. Fix or update it, or remove it from the voters.\n"
    assert done.stderr.count("\n") == 1 and done.returncode == 1 and '"done"' not in done.stdout
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    assert {path.name for path in tmp_path.iterdir()} == {"out", "decisions"}


def test_a_call_without_paths_says_what_is_needed(capsys, monkeypatch):
    from mixtea.cli.review_worker import main

    monkeypatch.setattr(sys, "argv", ["learn"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2 and capsys.readouterr().err.startswith("error: Three paths are needed: python -m")


class Panic(BaseException):
    """As libraries in other languages raise it: not an Exception."""


ENDS = {
    "a panic": (Panic("lost"), 1, f"{__name__}.Panic: lost ("),
    "a bug": (OSError(errno.EBADF, "bad"), 1, f"OSError: [Errno {errno.EBADF}] bad ("),
    "memory while reading": (MemoryError(), 1, "memory is full (MemoryError). Use smaller graphs"),
    "a pipe of a voter": (BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, "BrokenPipeError: [Errno 32] Broken pipe ("),
    "nobody reads": (BrokenPipeError(errno.EPIPE, "Broken pipe", "standard output"), 2, "standard output: Broken pipe"),
}


@pytest.mark.parametrize("kind", ENDS)
def test_with_advice_every_error_is_one_line_and_not_a_success(kind, capsys):
    error, expected, message = ENDS[kind]

    def work():
        raise error

    with pytest.raises(SystemExit) as stopped:
        end(work, advice="Try again.")
    out, err = capsys.readouterr()
    assert stopped.value.code == expected and out == "" and err.count("\n") == 1
    assert err.startswith(f"error: {message}")
