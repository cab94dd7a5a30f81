"""Put faults into a copy of the code, one at a time, and see whether the tests notice: where they do not is a gap.

    python scripts/faults.py [--tree FOLDER] [--room ROOM ...] [--jobs N] [--check]

A fault is a row of FAULTS: the room it is in, a text that occurs there once, and what is put in its place. The tests of
the file that has the text run first, then those of its room and of the rooms named beside it, up to the first failure.
Random searches (`pytest --search`) are left out. Prints a line for each fault; ends with 1 if one was not noticed or no
longer applies. `--check` only says whether the rows apply.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, NoReturn

os.environ["OMP_NUM_THREADS"] = "1"  # before torch; a fork must have no threads

import pytest

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "benchmarks", "scripts", "docs", "examples", "README.md", "CONTRIBUTING.md", "pyproject.toml")
LOADED = (  # none of mixtea, of which each fault has its own
    "torch", "torch._dynamo", "numpy", "pandas", "scipy.sparse.csgraph", "scipy.optimize", "pyarrow.parquet",
    "safetensors.numpy", "matplotlib.pyplot", "rich.progress", "typer",
)  # fmt: skip
MAX_SECONDS = 900  # of the tests of one fault, which may hang: then it is noticed


class Fault(NamedTuple):
    """`before` stands once in the Python files of a room of src/mixtea, a folder or a file; `after` is the fault."""

    room: str
    before: str
    after: str
    also: str = ""  # rooms or files of tests, with spaces between, that are looked at after those of the room

    def file(self, tree: Path) -> Path | None:
        """The one file that has the text once; None if it is gone, or there are several."""
        place = tree / "src" / "mixtea" / self.room
        files = [place] if place.is_file() else sorted(place.rglob("*.py"))
        counts = {path: path.read_text(encoding="utf-8").count(self.before) for path in files}
        return max(counts, key=counts.__getitem__) if sum(counts.values()) == 1 else None

    def tests(self, tree: Path, file: Path) -> Iterator[list[str]]:
        """Tests in the order in which they are tried: of the file, of its folder, of the room, of the other rooms."""
        inside, tests, seen = file.relative_to(tree / "src" / "mixtea"), tree / "tests", set()
        folder = tests / inside.parent
        near = [folder / f"test_{inside.stem}.py", folder, tests / inside.parts[0].removesuffix(".py")]
        near += [
            tests / f"test_{inside.parts[0].removesuffix('.py')}.py",
            *(tests / room for room in self.also.split()),
        ]
        for path in near:
            if path.exists() and path != tests and path not in seen:
                yield [str(path), *(f"--ignore={one}" for one in seen)]
                seen.add(path)


FAULTS = (
    # texts
    Fault("messages.py", r"\u2028-\u202e", r"\u2028-\u202d", "cli/test_text.py"),
    Fault("text", 'Form("-".join(date), ', 'Form("-".join(date[:2]), ', "voters/test_attributes.py"),
    Fault("text", "number * times)", "number / times)", "voters/test_attributes.py"),
    Fault("text", "found = pairs[~twice]", "found = pairs", "io voters/test_names.py"),
    Fault("text", '~side["name"].duplicated(keep=False)]', '~side["name"].duplicated()]', "io"),
    # compute, relations, evaluation
    Fault("compute", "return scores[:, :k].to(source.dtype), places[:, :k]",
          "return scores[:, :k].to(source.dtype), places[:, -k:]"),
    Fault("relations", "met, place = _equal_join(keys, near.target[p] * width + far.target[q])",
          "met, place = _equal_join(keys, near.target[p] * width + far.source[q])", "voters/test_voters.py"),
    Fault("relations", "belief, minlength=n), 1)[things]", "belief, minlength=n), 2)[things]", "explain"),
    Fault("relations", "could[1][key % self.n_kinds]))", "could[0][key % self.n_kinds]))", "voters/test_voters.py"),
    Fault("relations", ".clip(min=counts[1]) ** -0.5", ".clip(max=counts[1]) ** -0.5", "voters/test_voters.py"),
    Fault("evaluation", "(k - better) / equal).clamp(0, 1)", "(k - better - 1) / equal).clamp(0, 1)"),
    Fault("evaluation", "torch.digamma(better + equal + 1)", "torch.digamma(better + equal)"),
    # voters
    Fault("voters", "entity.index_add_(0, known[:, side], label)", "entity.index_add_(0, known[:, 0], label)"),
    Fault("voters", "+ share / m, 0.0, MAX_CERTAIN)", "+ share, 0.0, MAX_CERTAIN)"),
    Fault("voters", "return self.constant + columns @ self.weights", "return columns @ self.weights"),
    # council
    Fault("council", "return [hit / total for hit", "return [1 - hit / total for hit", "training"),
    Fault("council", "drawn = [min(MAX_SHRINKAGE, n_links - n)", "drawn = [max(MAX_SHRINKAGE, n_links - n)"),
    Fault("council", "rows[pairs.source] - columns[pairs.target]", "rows[pairs.source] - rows[pairs.source]", "decide"),
    Fault("council", "kernel * row[source] * column[target]", "kernel * row[pairs.source]", "decide"),
    Fault("council", "return torch.minimum(share(", "return torch.maximum(share(", "decide"),
    # calibration
    Fault("calibration", "sigmoid(features @ weights)", "sigmoid(-(features @ weights))"),
    Fault("calibration", "@ features + away / spread", "@ features - away / spread"),
    Fault("calibration", "mean >= precision).max(initial=-1)) + 1", "mean >= precision).max(initial=-1))"),
    Fault("calibration", "return MatchPrior(np.ones(len(odds)), True)", "return MatchPrior(np.zeros(len(odds)), True)",
          "decide"),
    # decide
    Fault("decide", "gains[:, 0] = least[part[:n]] - 1.0", "gains[:, 0] = least[part[:n]] + 9.0"),
    Fault("decide", "kept = (rank < MAX_CANDIDATES)", "kept = (rank < 1)"),
    Fault("decide", "+= way.free_at - way.distance[place]", "-= way.free_at - way.distance[place]"),
    Fault("decide", "return ranking + ASSIGNED_BONUS *", "return ranking - ASSIGNED_BONUS *"),
    # training
    Fault("training", "near[:, None] + margin - far).relu().sum()", "near[:, None] + margin + far).relu().sum()"),
    Fault("training", "index_add_(0, right[part], step, alpha=-1)", "index_add_(0, right[part], step)"),
    Fault("training", "row + column - votes.confidence", "row + column"),
    Fault("training", "(drawn >= own[:, None]).long())", "(drawn > own[:, None]).long())"),
    Fault("training", "(epoch - 1) % config.negatives_every == 0", "epoch % config.negatives_every == 0"),
    Fault("training", "torch.ones_like(total), 1 / total,", "torch.ones_like(total), 2 / total,"),
    # io
    Fault("io", "np.random.default_rng(seed).permutation(len(size))", "np.random.default_rng().permutation(len(size))",
          "cli export"),
    Fault("io", "ends[-1] = math.inf", "ends[-1] = 0", "cli export"),
    Fault("io/safe", "if self.idle > MAX_IDLE_BYTES:", "if self.idle > 10**6 * MAX_IDLE_BYTES:"),
    Fault("io/safe", "_check_regular(path, os.fstat(file.fileno()))", "_check_regular(path, path.stat())"),
    Fault("io/safe", "if not (before or found or self.frame.ended):", "if not (before or found or self.frame):"),
    Fault("io/safe", "file.read(len(BYTE_ORDER_MARK))", "file.read(0)"),
    # runs
    Fault("runs", "            flush(temporary / path.name)\n", ""),
    Fault("runs", "    file.replace(path)\n    flush(path.parent)", "    file.replace(path)"),
    Fault("runs", 'if "run.json" not in held:', 'if "run.json" not in held and not overwrite:', "cli"),
    Fault("runs", "if old.is_dir() and not old.is_symlink() and not path.exists():", "if False:"),
    Fault("runs", "sorted(named, key=epoch_of, reverse=True)", "sorted(named, key=epoch_of)", "training"),
    Fault("runs", 'if found.get("key") != self.key:', 'if not found.get("key", 1):', "training cli"),
    Fault("runs", "if checksum != _checksum(arrays, kind):", "if not checksum:"),
    # export
    Fault("export", "_SEPARATORS = re.compile('[\\t\\n\\r\"", "_SEPARATORS = re.compile('[\\t\\n\\r"),
    Fault("export", 'return _CONTROLS.sub(" ", text)', "return text"),
    Fault("export", "not self.only_iris and name.startswith(self.namespace):", "not self.only_iris and not name:"),
    # review
    Fault("review", "return hmac.compare_digest(", "return bool(given) or hmac.compare_digest("),
    Fault("review", 'if site is not None and site != "same-origin":', 'if site is not None and site == "cross-site":'),
    Fault("review", "del self.tokens[known]", "known"),
    Fault("review", "p / (p + (1 - p) * math.exp(-log_odds))", "p / (p + (1 - p) * math.exp(log_odds))"),
    Fault("review", "row.id not in self.active and row.id not in self.undone:", "row.id not in self.active:"),
    # cli
    Fault("cli", "INTERRUPTED = 130", "INTERRUPTED = 1"),
    Fault("cli", "return one_line(super().formatMessage(record))", "return super().formatMessage(record)"),
    Fault("cli", "if isinstance(error, OSError) and error.errno in HARDWARE:", "if isinstance(error, OSError):"),
)  # fmt: skip


class Copy:
    """A copy of the tree in which faults are put, one at a time."""

    def __init__(self, tree: Path, folder: Path) -> None:
        self.tree = folder
        for name in COPIED:
            if (tree / name).is_dir():
                shutil.copytree(tree / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (tree / name).exists():
                shutil.copy(tree / name, folder / name)

    def try_out(self, fault: Fault) -> str:
        """Say by which test the fault was noticed; "" if by none."""
        file = fault.file(self.tree)
        assert file is not None
        whole = file.read_text(encoding="utf-8")
        try:
            file.write_text(whole.replace(fault.before, fault.after), encoding="utf-8")
            return next(filter(None, map(self.noticed, fault.tests(self.tree, file))), "")
        finally:
            file.write_text(whole, encoding="utf-8")

    def noticed(self, words: list[str]) -> str:
        """Run tests up to the first that fails; return its name, "" if none does."""
        log = self.tree / "log"
        if not (child := os.fork()):
            self.become_pytest(words, log)
        until = time.monotonic() + MAX_SECONDS
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() > until:
                os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return f"{words[0]} does not end"
            time.sleep(0.1)
        code, said = os.waitstatus_to_exitcode(ended[1]), log.read_text(encoding="utf-8", errors="replace")
        if code in (0, 5):  # passed, or nothing to run
            return ""
        failed = [line for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return failed[0].partition(" - ")[0] if failed else f"exit code {code}: {said[-300:]}"

    def become_pytest(self, words: list[str], log: Path) -> NoReturn:
        os.setsid()
        with log.open("w") as file:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
        os.chdir(self.tree)
        os.environ["PYTHONPATH"] = str(self.tree / "src")
        sys.path[:1] = [str(self.tree / "src")]
        options = ("-x", "-n", "0", "-p", "no:cacheprovider", "--tb", "no", "--rootdir", str(self.tree))
        code = pytest.main([*options, *words])
        sys.stdout.flush()
        os._exit(code)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=ROOT, help="where the code and the tests are")
    parser.add_argument("--room", action="append", help="faults of these rooms alone")
    parser.add_argument("--jobs", type=int, default=2, help="side by side")
    parser.add_argument("--check", action="store_true", help="only say whether each fault still has its place")
    args = parser.parse_args()
    wanted = [fault for fault in FAULTS if not args.room or fault.room.partition("/")[0] in args.room]
    gone = [fault for fault in wanted if fault.file(args.tree) is None]
    for fault in gone:
        print(f"no longer applies  {fault.room}: {fault.before!r}", flush=True)
    missed = 0 if args.check else try_all([fault for fault in wanted if fault not in gone], args.tree, args.jobs)
    print(f"{len(wanted)} faults, {len(gone)} no longer apply" + ("" if args.check else f", {missed} not caught"))
    sys.exit(bool(gone or missed))


def try_all(faults: list[Fault], tree: Path, n_jobs: int) -> int:
    """Try faults, so many processes side by side; return how many were not noticed.

    The processes, and in them those of the tests, are forks of this one, which has loaded what takes long.
    """
    for name in LOADED:
        import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for number in range(n_jobs):
            if not (child := os.fork()):
                os._exit(try_some(faults[number::n_jobs], Copy(tree, Path(folder).resolve() / str(number))))
            children.append(child)
        return sum(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


def try_some(faults: list[Fault], copy: Copy) -> int:
    missed = 0
    for fault in faults:
        started = time.monotonic()
        by = copy.try_out(fault)
        missed += not by
        how = f"caught in {time.monotonic() - started:.0f} s by {by.removeprefix('FAILED ')}" if by else "NOT CAUGHT"
        print(f"{fault.room}: {fault.before!r} -> {fault.after!r}\n    {how}", flush=True)
    return missed


if __name__ == "__main__":
    main()
