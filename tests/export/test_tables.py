"""Rows of several tables of a side, as .csv has them."""

from __future__ import annotations

import numpy as np
from conftest import SMALL_BEST, write

from mixtea import MixTEA, evaluate, load_task

NAMES = {
    "people": ["Ada Lovelace", "Charles Babbage", "Grace Hopper"],
    "films": ["Alpine Road", "Bonn", "Cork Harbour"],
}
ROW = {"people": "name", "films": "title"}
OURS = {table: [{"id": n, ROW[table]: name} for n, name in enumerate(names)] for table, names in NAMES.items()}
THEIRS = [{"id": f"{table[0]}{n}", "name": name} for table, names in NAMES.items() for n, name in enumerate(names)]
RIGHT = {(table, str(n), f"{table[0]}{n}") for table, names in NAMES.items() for n in range(len(names))}


def test_an_id_stands_as_it_came_beside_the_name_of_its_table(tmp_path):
    task = load_task(source=OURS, target=THEIRS, links_from="names")
    mapping = MixTEA(**SMALL_BEST).fit(task).map()
    mapping.write(tmp_path / "m.csv")
    header, *rows = [line.split(",") for line in (tmp_path / "m.csv").read_text().splitlines()]
    assert header == ["source", "target", "probability", "decision", "source_table"]
    assert {(table, source, target) for source, target, *_, table in rows} == RIGHT
    links = "".join(f"{source},{target},{table}\n" for table, source, target in sorted(RIGHT))
    write(tmp_path, {"links.csv": f"source,target,source_table\n{links}"})
    assert evaluate(tmp_path / "m.csv", tmp_path / "links.csv").scores["right"] == 6
    again = load_task(source=OURS, target=THEIRS, links=tmp_path / "m.csv")
    given = np.concatenate([again.train, again.valid])
    assert len(given) == 6 and {str(again.source.ids[i]) for i in given[:, 0]} == {f"{t}/{s}" for t, s, _ in RIGHT}
