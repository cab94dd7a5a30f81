"""Which voters speak, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from conftest import labelled

from mixtea.config import Config
from mixtea.council.council import bind_voters
from mixtea.council.summary import misleading_lines, misleading_links, misleading_shares, voters_line


def test_who_speaks_and_about_how_many(tiny):
    named = tiny.replace(source=replace(tiny.source, labels=labelled(tiny.source, {"a": "Alpha", "b": "Beta"})))
    names = ("forward", "propagation", "names", "descriptions")
    line = voters_line(bind_voters(named, Config(), names))
    assert line == (
        "voters: forward, propagation, names (of 5 source and 5 target entities); without evidence: descriptions"
    )
    assert voters_line(bind_voters(tiny, Config(), ("descriptions",))) == "voters: none; without evidence: descriptions"


def test_whose_likeness_tells_nothing(example):
    voters = bind_voters(example, Config(), ("forward", "names", "descriptions"))
    assert misleading_shares(voters) == {"names": pytest.approx(0.05, abs=0.05)}
    wrong = example.replace(train=example.train[:, [0, 1]].copy())
    wrong.train[:, 1] = wrong.train[::-1, 1]
    assert misleading_shares(bind_voters(wrong, Config(), ("names",)))["names"] > 0.5
    assert misleading_lines({"names": 0.04}) == []
    assert misleading_links(voters) == {"names": len(example.train)}
    many = misleading_lines({"names": 0.5}, {"names": 5000})
    assert many == misleading_lines({"names": 0.5}) == ["names are uninformative for about 50 % of the links"]
