"""The rooms import in one direction, and what reads, exports and explains starts without torch."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from processes import MIXTEA, run

ROOT = Path(__file__).parent.parent / "src" / "mixtea"
ORDER = (  # a room may import what stands before it; rooms side by side do not import each other
    "messages", "errors", "callbacks", "progress", "fields", "config", "compute", "graph", "text", "io", "encode",
    "relations", "voters", "council", "evaluation", "calibration", "decide", "explain", "training", "runs", "export",
    "aligner", "report", "review", "example formulas pipeline", "update_run vote", "experiments", "cli", "__main__",
)  # fmt: skip
RANK = {room: place for place, rooms in enumerate(ORDER) for room in rooms.split()}
ON_USE = {  # a mapping can be told to write itself, and a training to use another strategy than the paper's
    ("decide/mapping.py", "mixtea.export.formats"), ("training/trainer.py", "mixtea.experiments.self_training"),
    ("decide/clusters.py", "mixtea.export.formats"),
}  # fmt: skip
FORMATS = ("formats", "rdf")  # of io: they read one file each
READERS = (  # of io: they use the formats
    "checks", "links", "load", "load_graph", "memory", "naming", "new_rows", "options", "vectors",
)  # fmt: skip


def imports(node: ast.AST) -> Iterator[str]:
    """Every module that is imported, wherever that stands, but for those that are needed for types alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from _from(child)
        yield from imports(child)


def _from(found: ast.ImportFrom) -> Iterator[str]:
    """`from mixtea.graph import builder` imports that module, a class from a module the module, and `.` a neighbour."""
    assert found.level <= 1 and found.module is not None, "imports of other rooms name the whole path"
    for alias in found.names if found.level == 0 else []:
        whole = f"{found.module}.{alias.name}"
        yield whole if is_module(whole) or found.module == "mixtea" else found.module


def is_module(name: str) -> bool:
    path = ROOT.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def parts(name: str) -> tuple[str, ...]:
    """The places of a module below the package: `mixtea.io.safe.open` is ("data", "safe", "open")."""
    return tuple(name.split(".")[1:])


@cache
def all_imports() -> dict[str, list[str]]:
    return {
        path.relative_to(ROOT).as_posix(): sorted({n for n in imports(ast.parse(path.read_text())) if "mixtea" in n})
        for path in sorted(ROOT.rglob("*.py"))
        if path != ROOT / "__init__.py"  # which stands for all rooms, and imports each on use
    }


def against_the_order(file: str, name: str) -> bool:
    """The package itself is for its version alone, so that nobody reaches later rooms through it."""
    if name == "mixtea.__version__":
        return False
    room, other = Path(file).parts[0].removesuffix(".py"), (parts(name) or ("mixtea",))[0]
    return room != other and RANK[room] <= RANK.get(other, len(ORDER))


def test_rooms_import_what_stands_before_them():
    found = {(file, name) for file, names in all_imports().items() for name in names if against_the_order(file, name)}
    assert found == ON_USE


def test_every_room_has_its_place():
    rooms = {path.stem for path in ROOT.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert rooms - {"__init__"} <= RANK.keys()


def test_opening_files_knows_no_formats_and_formats_know_no_tasks():
    for file, names in all_imports().items():
        inside = [parts(name) for name in names if name.startswith("mixtea.io.")]
        if file.startswith("io/safe/"):
            assert all(one[1] == "safe" for one in inside), file
        if file.startswith("io/safe/sandboxed/"):
            assert not names, f"{file} runs in a process of its own, without the rest"
        if file.startswith(tuple(f"io/{room}/" for room in FORMATS)):
            assert all(one[1] not in READERS for one in inside), file


@pytest.mark.parametrize(
    "file, name, against",
    [
        ("council/council.py", "mixtea.training.fuse", True),
        ("training/trainer.py", "mixtea.council.council", False),
        ("training/trainer.py", "mixtea.training.fuse", False),
        ("compute/scored_pairs.py", "mixtea.graph.graph", True),
        ("aligner.py", "mixtea", True),
        ("aligner.py", "mixtea.MixTEA", True),
        ("aligner.py", "mixtea.__version__", False),
        ("__main__.py", "mixtea.cli", False),
    ],
)
def test_the_order_is_understood(file, name, against):
    assert against_the_order(file, name) == against


def test_imports_are_found_wherever_they_stand():
    code = (
        "from __future__ import annotations\nimport mixtea.messages as t\nfrom mixtea.graph import builder, graph\n"
        "from mixtea import __version__, load_task\nif TYPE_CHECKING:\n    from mixtea.cli import main\n"
        "def f():\n    try:\n        from mixtea.config import Config\n    finally:\n        import json, mixtea\n"
    )
    assert [name for name in imports(ast.parse(code)) if "mixtea" in name] == [
        "mixtea.messages", "mixtea.graph.builder", "mixtea.graph.graph", "mixtea.__version__", "mixtea.load_task",
        "mixtea.config", "mixtea",
    ]  # fmt: skip


def test_reading_exporting_and_help_start_without_torch(folder):
    """In a process of its own: every module of graph, io, text and export, the run folder, and `python -m mixtea`."""
    files = [
        file.removesuffix(".py") for file in all_imports() if file.startswith(("graph/", "io/", "text/", "export/"))
    ]
    light = ", ".join(f"mixtea.{file.replace('/', '.').removesuffix('.__init__')}" for file in files)
    program = (
        f"import sys, {light}, mixtea.runs.folder, mixtea.pipeline\n"
        "from mixtea import load_task; from mixtea.cli import main\n"
        "load_task(sys.argv[1]); sys.argv = ['mixtea', 'fit', '--help']\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        "assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules\n"
    )
    done = run([sys.executable, "-c", program, folder])
    assert done.returncode == 0, done.stderr
    done = run([*MIXTEA, "score", folder], forked=False)
    assert done.returncode == 2 and done.stderr.startswith("error: ") and "run.json" in done.stderr
