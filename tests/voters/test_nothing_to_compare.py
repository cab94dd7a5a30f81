"""Graphs of which nothing that is said tells entities apart."""

from __future__ import annotations

import pytest

from mixtea import MixTEA, load_task
from mixtea.errors import DataError
from mixtea.voters.attributes import AttributeOpinions


def _task(tmp_path, value):
    for side, name in (("a", "source"), ("b", "target")):
        lines = [f'<http://{side}/E{i:06d}> <http://{side}/p> "{value(side)}" .\n' for i in range(5)]
        (tmp_path / f"{name}.nt").write_text("".join(lines))
    return load_task(source=tmp_path / "source.nt", target=tmp_path / "target.nt", links_from="names")


def test_one_value_that_everybody_has_tells_nothing(tmp_path):
    opinions = AttributeOpinions(_task(tmp_path, lambda side: "x"))
    assert opinions.aligned == [] and not opinions.has_both_sides


def test_learning_from_nothing_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"nothing that both graphs say.*names, attributes"):
        MixTEA().fit(_task(tmp_path, lambda side: side * 5))
