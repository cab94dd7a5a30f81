"""Count what makes the package hard to read: files and lines, what a fit touches, what is done more than once.

    .venv/bin/python scripts/count.py [--src FOLDER] [--json]

FOLDER holds the package `mixtea` (default: src beside this script), so that two states can be compared. Counted by
reading: lines and files, classes of scored pairs (two arrays `source` and `target` and something about each pair),
places where NumPy becomes torch or back, module constants of the same name, docstrings that begin with "What". Counted
by running `mixtea.train` with the default preset on two graphs of 40 entities in TSV, in this process: files with a
function that is called, calls from one file to another and from one room to another, how often an input is opened,
the voters are built and the calibration is fitted, and how often settings are checked.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

CROSSING = re.compile(r"\.numpy\(\)|\bfrom_numpy\(|\bas_tensor\(")
ENDS = (("source", "target"), ("sources", "targets"))
N_ENTITIES = 40
COUNTED = {  # what a call of a function of this name, in a file that contains the second word, counts as
    "voters built": ("bind_voters", ""),
    "calibrations fitted": ("fit_calibrator", "calibrator"),
    "settings checked": ("check_all", ""),
}


def trees(package: Path) -> dict[Path, tuple[str, ast.Module]]:
    texts = {path: path.read_text(encoding="utf8") for path in sorted(package.rglob("*.py"))}
    return {path: (text, ast.parse(text)) for path, text in texts.items()}


def is_scored_pairs(node: ast.ClassDef) -> bool:
    """Return whether a class has two arrays, of sources and targets, and a third field."""
    fields = {
        part.target.id: ast.unparse(part.annotation)
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    }
    arrays = {name for name, kind in fields.items() if "Array" in kind or "Tensor" in kind or "ndarray" in kind}
    return len(fields) > 2 and any(set(ends) <= arrays for ends in ENDS)


def by_reading(package: Path) -> dict[str, Any]:
    read = trees(package)
    constants: Counter[str] = Counter()
    pairs, docstrings = [], 0
    for path, (_, tree) in read.items():
        for node in tree.body:
            names = node.targets if isinstance(node, ast.Assign) else []
            constants.update({name.id for name in names if isinstance(name, ast.Name) and name.id.isupper()})
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and is_scored_pairs(node):
                pairs.append(f"{path.relative_to(package)}: {node.name}")
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                docstrings += (ast.get_docstring(node) or "").startswith("What ")
    shared = {name: n for name, n in constants.most_common() if n > 1}
    return {
        "files": len(read),
        "lines": sum(text.count("\n") for text, _ in read.values()),
        "files under 30 lines": sum(0 < text.count("\n") < 30 for text, _ in read.values()),
        "classes of scored pairs": len(pairs),
        "crossings between torch and NumPy": sum(len(CROSSING.findall(text)) for text, _ in read.values()),
        "constants of a name that others have": sum(shared.values()),
        "docstrings that begin with What": docstrings,
        "_pairs": pairs,
        "_constants": shared,
    }


class Trace:
    """Count calls between files of the package, and openings of inputs, while it is entered."""

    def __init__(self, package: Path, inputs: Path) -> None:
        self.package, self.inputs = str(package), str(inputs)
        self.files: set[str] = set()
        self.between_files = self.between_rooms = self.opened = 0
        self.named: Counter[str] = Counter()
        self.is_on = False
        sys.addaudithook(self._on_event)

    def _on_event(self, event: str, args: tuple[Any, ...]) -> None:
        if self.is_on and event == "open" and args[1] is not None and str(args[0]).startswith(self.inputs):
            self.opened += 1

    def _room(self, file: str) -> str:
        return file[len(self.package) + 1 :].split("/")[0]

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(self.package) or code.co_name == "<module>":
            return
        self.files.add(code.co_filename)
        for name, (function, word) in COUNTED.items():
            self.named[name] += code.co_name == function and word in code.co_filename
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(self.package):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            self.between_files += 1
            self.between_rooms += self._room(caller.f_code.co_filename) != self._room(code.co_filename)


def by_running(package: Path) -> dict[str, Any]:
    sys.path.insert(0, str(package.parent))
    from mixtea import load_task, train  # the package that is counted

    assert Path(sys.modules["mixtea"].__file__ or "").parent == package
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs"
        inputs.mkdir()
        for side in "ab":
            triples = [
                f"{side}:{i}\t{side}{kind}\t{side}:{(i * step + kind) % N_ENTITIES}"
                for i in range(N_ENTITIES)
                for kind, step in ((1, 1), (2, 7), (3, 3))
            ]
            (inputs / f"{side}.tsv").write_text("\n".join(triples) + "\n")
        links = [f"a:{i}\tb:{i}" for i in range(0, N_ENTITIES, 2)]
        (inputs / "links.tsv").write_text("\n".join(links) + "\n")
        trace = Trace(package, inputs)

        def run(out: str) -> None:
            files = {"source": inputs / "a.tsv", "target": inputs / "b.tsv", "links": inputs / "links.tsv"}
            train(lambda: load_task(**files), out=Path(folder) / out, seed=1)

        run("imports")  # what is imported and set up once is not part of a fit
        trace.is_on = True
        sys.setprofile(trace)
        try:
            run("traced")
        finally:
            sys.setprofile(None)
            trace.is_on = False
    return {
        "files with a function that a fit calls": len(trace.files),
        "calls from file to file": trace.between_files,
        "calls from room to room": trace.between_rooms,
        "openings of the three inputs": trace.opened,
        **trace.named,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--src", type=Path, default=Path(__file__).resolve().parent.parent / "src")
    parser.add_argument("--json", action="store_true", help="all that was found, names included")
    given = parser.parse_args()
    package = given.src.resolve() / "mixtea"
    found = by_reading(package) | by_running(package)
    if given.json:
        print(json.dumps(found, indent=1))
        return
    for name, n in found.items():
        if not name.startswith("_"):
            print(f"{n:>8,}  {name}")


if __name__ == "__main__":
    main()
