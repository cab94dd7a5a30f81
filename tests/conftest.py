"""Small graphs written out, and the bundled example trained once."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from mixtea import MixTEA, Task, cli, load_example, load_task
from mixtea.data.graph import Graph
from mixtea.data.labels import Labels

SOURCE = "a\tr\tb\nb\tr\tc\nc\ts\td\na\ts\td\nd\tr\te\n"
TARGET = "A\tr\tB\nB\tr\tC\nC\tp\tD\nA\tp\tD\nD\tr\tE\n"
LINKS = "a\tA\nb\tB\nc\tC\nd\tD\ne\tE\n"
# beside other tests an example may wait long for its turn, which says nothing about it
settings.register_profile("side by side", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("side by side")


def make_graph(triples: list[tuple[int, int, int]], n: int, prefix: str = "e", relation: str = "r") -> Graph:
    n_relations = 1 + max((r for _, r, _ in triples), default=-1)
    entities, relations = ([f"{p}{i}" for i in range(k)] for p, k in ((prefix, n), (relation, n_relations)))
    return Graph(
        np.array(entities, dtype=object),
        np.array(relations, dtype=object),
        np.array(triples, dtype=np.int64).reshape(-1, 3),
    )


def labelled(graph: Graph, texts: dict[str, str]) -> Labels:
    """Labels without a language for those of the ids that the graph has."""
    place = {name: i for i, name in enumerate(graph.ids)}
    known = [name for name in texts if name in place]
    return Labels.from_columns([place[name] for name in known], [texts[name] for name in known]).as_set()


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def benchmark_files() -> dict[str, str | bytes]:
    """A complete benchmark folder of five entities a side."""
    lines = LINKS.splitlines(keepends=True)
    return {
        "rel_triples_1": SOURCE,
        "rel_triples_2": TARGET,
        "ent_links": LINKS,
        "721_5fold/1/train_links": "".join(lines[:2]),
        "721_5fold/1/valid_links": lines[2],
        "721_5fold/1/test_links": "".join(lines[3:]),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "tiny", benchmark_files())


@pytest.fixture
def tiny(folder: Path) -> Task:
    return load_task(folder)


@pytest.fixture
def mixtea(capsys, monkeypatch):
    """Call `mixtea ARGS` in this process: (exit code, standard output, standard error)."""

    def call(*args):
        monkeypatch.setattr(sys, "argv", ["mixtea", *map(str, args)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    return call


@pytest.fixture(scope="session")
def example() -> Task:
    return load_example()


@pytest.fixture(scope="session")
def fitted(example: Task) -> MixTEA:
    return MixTEA(preset="paper", seed=1, max_epochs=12, device="cpu").fit(example)
