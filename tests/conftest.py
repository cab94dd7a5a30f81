"""Small graphs written out, and the bundled example trained once."""

from __future__ import annotations

import gc
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import cpu_seconds
import everywhere
import numpy as np
import processes
import pytest
import typer.main
from hypothesis import HealthCheck, settings

from mixtea import MixTEA, Task, cli, load_example, load_task
from mixtea.config import STRUCTURE_VOTERS
from mixtea.graph.entity_table import Attributes
from mixtea.graph.graph import Graph
from mixtea.graph.labels import Labels

SOURCE = "a\tr\tb\nb\tr\tc\nc\ts\td\na\ts\td\nd\tr\te\n"
TARGET = "A\tr\tB\nB\tr\tC\nC\tp\tD\nA\tp\tD\nD\tr\tE\n"
LINKS = "a\tA\nb\tB\nc\tC\nd\tD\ne\tE\n"
# The preset `best`, as quick as it can be, for small graphs where accuracy is not the point
SMALL_BEST = dict(
    entity_dim=16, relation_dim=8, propagation_rounds=1, propagation_label_dim=64, propagation_relation_dim=16,
    max_epochs=2, device="cpu",
)  # fmt: skip
# Structure alone, as quick as it can be where accuracy is the point
SMALL_STRUCTURE = dict(
    entity_dim=32, relation_dim=16, max_epochs=12, propagation_rounds=3, propagation_label_dim=128,
    propagation_relation_dim=32, device="cpu", voters=STRUCTURE_VOTERS,
)  # fmt: skip
SMALL_PAPER = dict(preset="paper", seed=1, max_epochs=12, entity_dim=64, relation_dim=32, device="cpu")
# beside other tests an example may wait long for its turn, which says nothing about it
BESIDE_OTHERS = dict(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", max_examples=1000, **BESIDE_OTHERS)
settings.register_profile("known", max_examples=30, derandomize=True, database=None, **BESIDE_OTHERS)


TESTS = Path(__file__).parent
LONG = tuple(
    str(TESTS / name)
    for name in ("compute/test_distributed", "runs/test_sudden_death", "experiments/reproduce", "test_tutorial",
                 "test_notebook", "test_schedules", "review/", "report/", "test_docs", "cli/test_resume")
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu", action="store_true", help="print the CPU seconds of each file and of the longest tests")
    parser.addoption("--search", action="store_true", help="search at random too, and longer, for what goes wrong")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until the tests are collected, which makes much and throws nothing away
    config.pluginmanager.register(everywhere)
    processes.prepare()
    typer.main.get_command = cache(typer.main.get_command)  # which takes longer than most calls of the command
    settings.load_profile("search" if config.getoption("--search") else "known")
    if config.getoption("--cpu"):
        config.pluginmanager.register(cpu_seconds.CpuSeconds(), "cpu seconds")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave random searches out unless they are asked for; long tests come first, so that none is left for the end."""
    if not config.getoption("--search"):
        searches = [item for item in items if item.get_closest_marker("search")]
        config.hook.pytest_deselected(items=searches)
        items[:] = [item for item in items if not item.get_closest_marker("search")]
    items.sort(key=lambda item: not str(item.path).startswith(LONG))


def pytest_collection_finish() -> None:
    gc.freeze()  # libraries and tests, which stay, are not looked through again and again
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left():
    """No process outlives the tests that have started it."""
    yield
    processes.end_server()
    try:
        processes.wait_until(lambda: not processes.left_over(), seconds=60)
    except AssertionError:
        left = processes.left_over()
        processes.kill_own()
        pytest.fail("left behind by the tests: " + "; ".join(left))


@pytest.fixture(autouse=True)
def _ended():
    """What a test has started ends with it, however it ends."""
    yield
    processes.end_all()


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


def said_graph(names: list[str], values: list[tuple[int, str, str]] = [], prefix: str = "e", **more) -> Graph:  # noqa: B006
    """Entities with a name each, "" for none, and (entity, predicate, value) of some; `triples` if there are any."""
    graph = make_graph(more.pop("triples", []), len(names), prefix)
    labels = Labels.of_entities(np.arange(len(names)), names).as_set()
    attributes = Attributes.from_columns(*zip(*values, strict=True)).as_set() if values else Attributes.empty()
    return replace(graph, labels=labels, attributes=attributes, **more)


def said_task(source: Graph, target: Graph, train=(), **more) -> Task:
    """A task without other links than those to train with."""
    links = np.array(train, dtype=np.int64).reshape(-1, 2)
    return Task.of_two("said", source, target, links, links[:0], links[:0], **more)


WORDS = "arbor brin calu dorma elbi fasto grun hilda iskra jorum kelpi lumo mandra nilo orsa pelt quir rusta sven tilbo"
ABROAD = "xavi woko vintu uzhe tymba syla ropha quegg plimf ottey nebza myxo lyrk keffo jabe izzu hypno gweb fjord ekta"


def with_said(task: Task, n: int) -> Task:
    """The task with names, values and vectors for its entities s0 and t0, s1 and t1, ...

    Names have two words, and four of five targets theirs in another language; dates and heights are written otherwise
    and under other predicates, and a colour says nothing.
    """
    drawn = np.random.default_rng(7).normal(size=(n, 8))
    graphs = []
    for side, graph in enumerate((task.source, task.target)):
        numbers = [int(str(id)[1:]) for id in graph.ids]
        names = [_two_words(i, ABROAD if side and i % 5 else WORDS) for i in numbers]
        values = [row for place, i in enumerate(numbers) for row in _values(place, i, side)]
        vectors = drawn[numbers] + 0.1 * np.random.default_rng(side).normal(size=(len(numbers), 8))
        said = said_graph(names, values)
        parts = dict(labels=said.labels, attributes=said.attributes, vectors=vectors.astype(np.float32))
        graphs.append(replace(graph, **parts))
    return task.replace(source=graphs[0], target=graphs[1])


def _two_words(i: int, words: str) -> str:
    return f"{words.split()[i % 20]} {words.split()[(i // 20 + 3 * i + 5) % 20]}".title()


def _values(place: int, i: int, side: int) -> list[tuple[int, str, str]]:
    year, month, day = 1900 + i, 1 + i % 12, 1 + i % 28
    written = f"{day}.{month}.{year}" if side else f"{year}-{month:02d}-{day:02d}"
    colour = ("red", "green", "blue")[(i * i + side * i) % 3]
    named = [("geboren", "born"), ("hoch", "height"), ("farbe", "colour")]
    return [
        (place, pair[1 - side], value)
        for pair, value in zip(named, (written, f"{1000 + 7 * i}{'.0' * side}", colour), strict=True)
    ]


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


def rings_files(n: int = 30) -> dict[str, str | bytes]:
    """A benchmark folder of two folds: rings with chords, alike on both sides but for some triples."""
    triples = [(i, "next", (i + 1) % n) for i in range(n)] + [(i, "chord", (i * i + 2) % n) for i in range(n)]
    links = [f"s{i}\tt{i}\n" for i in range(n)]
    source, target = (
        "".join(f"{side}{h}\t{r}\t{side}{t}\n" for h, r, t in kept)
        for side, kept in (("s", triples), ("t", triples[4:]))
    )
    files: dict[str, str | bytes] = {"rel_triples_1": source, "rel_triples_2": target, "ent_links": "".join(links)}
    for fold, train in ((1, links[::2]), (2, links[1::2])):
        others = [link for link in links if link not in train]
        splits = {"train": train, "valid": others[::3], "test": [link for link in others if link not in others[::3]]}
        files |= {f"721_5fold/{fold}/{name}_links": "".join(lines) for name, lines in splits.items()}
    return files


@pytest.fixture(scope="session")
def rings_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Thirty entities a side: to read, and not to write in."""
    return write(tmp_path_factory.mktemp("data") / "rings", rings_files())


@pytest.fixture(scope="session")
def rings(rings_folder: Path) -> Task:
    return load_task(rings_folder)


@pytest.fixture(scope="session")
def told(rings: Task) -> Task:
    """The rings with names, values and vectors."""
    return with_said(rings, 30)


@pytest.fixture(scope="session")
def translated(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """A hundred and twenty entities a side with names in two languages: enough links to learn to translate."""
    return with_said(load_task(write(tmp_path_factory.mktemp("data") / "wide", rings_files(120))), 120)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "tiny", benchmark_files())


@pytest.fixture
def tiny(folder: Path) -> Task:
    return load_task(folder)


@pytest.fixture
def mixtea(capsys, monkeypatch):
    """Call `mixtea ARGS` in this process: (exit code, standard output, standard error)."""
    monkeypatch.setattr("mixtea.evaluation.estimate.measure_speed", lambda device: 1e10)  # which takes a second

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
    return MixTEA(**SMALL_PAPER).fit(example)


@pytest.fixture(scope="session")
def fitted_structure(example: Task) -> MixTEA:
    return MixTEA(preset="best", **SMALL_STRUCTURE).fit(example)


@pytest.fixture(scope="session")
def fitted_best(example: Task) -> MixTEA:
    """All voters: to look at, or copied to change it."""
    return MixTEA(preset="best", **SMALL_BEST).fit(example)
