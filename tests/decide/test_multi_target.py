"""Sources with several targets: which further ones are given, by hand; and a task whose links are so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import SMALL_BEST
from deciding import answers, ranked, seven_entities

from mixtea import MixTEA, load_task
from mixtea.decide.choose import Choice, further_targets
from mixtea.decide.mapping import FURTHER_TARGET
from mixtea.runs.reader import StoredRun


def test_further_targets_by_hand():
    """1 and 2 are mapped; 5 goes to the likelier of two sources; 6 is too unlikely for either."""
    found = ranked([[1, 5, 6], [2, 5, 6]], [[0.9, 0.7, 0.4], [0.9, 0.9, 0.6]], [1.0, 0.7])
    both, first = np.array([True, True]), np.array([True, False])
    for has_one, least, expected in ((both, 0.5, [(0, 1)]), (first, 0.5, [(0, 1)]), (~first, 0.5, [(1, 1)])):
        row, place, probability = further_targets(found, np.array([1, 2]), has_one, least)
        assert list(zip(row, place, strict=True)) == expected
        assert probability == pytest.approx(found.probability(3)[row, place])
    assert not len(further_targets(found, np.array([1, 2]), both, 0.7).row)  # as likely as the least is not enough
    assert further_targets(found, np.array([1, 2]), both, 0.2).place.tolist() == [1, 2]
    assert not len(further_targets(found, np.array([1, 2]), ~both).row)  # nobody has a target


METALS = ["iron", "gold", "zinc", "lead", "tin", "cobalt", "nickel", "silver"]
PLACES = ["oslo", "wien", "roma", "praha", "lima", "quito", "cairo", "delhi"]
NAMES = [f"{metal} of {place}" for metal in METALS for place in PLACES]
N = len(NAMES)


def task_of(folder, links):
    """A ring of names, and two copies of it as the target, t and u."""
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    for file, graphs in (("s.nt", "s"), ("t.nt", "tu")):
        lines = [f'<http://{k}/{i}> {label} "{name}" .' for k in graphs for i, name in enumerate(NAMES)]
        lines += [f"<http://{k}/{i}> <http://r/next> <http://{k}/{(i + 1) % N}> ." for k in graphs for i in range(N)]
        (folder / file).write_text("\n".join(lines) + "\n")
    rows = [(f"http://s/{i}", f"http://{k}/{i}") for i, k in links]
    return load_task(
        source=folder / "s.nt", target=folder / "t.nt", links=rows, valid_links=[("http://s/0", "http://t/0")]
    )


def test_where_links_are_so_sources_get_several_targets(tmp_path):
    """Linked sources are asked again: s32 has one link and a second target; unlinked ones get both."""
    task = task_of(tmp_path, [(i, k) for i in range(1, 32) for k in "tu"] + [(32, "t")])
    assert (
        len(task.multi_target_sources) == 31 and not len(task.closed_entities(0)) and len(task.closed_entities(1)) == 63
    )
    aligner = MixTEA(**SMALL_BEST).fit(task)
    mapping = aligner.map().to_frame()
    assert mapping["target"].dropna().is_unique
    pairs = set(zip(mapping["source"], mapping["target"], strict=True))
    assert ("http://s/32", "http://u/32") in pairs and ("http://s/32", "http://t/32") not in pairs
    right = [(s, t) for s, t in pairs if t and s.rsplit("/", 1)[1] == t.rsplit("/", 1)[1]]
    assert len(right) >= 40 and (mapping["decision"] == FURTHER_TARGET).any()
    assert (mapping.loc[mapping["decision"] == FURTHER_TARGET, "probability"] > 0.5).all()
    assert "further target" in aligner.map().summary()
    aligner.save(tmp_path / "run")
    assert StoredRun(tmp_path / "run").answers_.mapping().to_frame().equals(mapping)
    one = aligner.map(multiple_targets=False).to_frame()
    assert one["source"].is_unique and not (one["decision"] == FURTHER_TARGET).any()


def test_a_precision_that_is_asked_for_holds_for_further_targets_too(tmp_path):
    aligner = MixTEA(**SMALL_BEST).fit(task_of(tmp_path, [(i, k) for i in range(1, 32) for k in "tu"]))
    for precision in (0.55, 0.6, 0.95):
        pairs = aligner.map(precision=precision).pairs()
        assert not len(pairs) or pairs["probability"].mean() >= precision
        assert (pairs.loc[pairs["decision"] == FURTHER_TARGET, "probability"] > precision).all()


def test_on_request_elsewhere(tmp_path):
    """Links that are one to one: linked sources are not asked again, and candidates are rivals."""
    task = task_of(tmp_path, [(i, "t") for i in range(1, 32)])
    aligner = MixTEA(**SMALL_BEST).fit(task)
    assert not len(task.multi_target_sources) and not (aligner.map().to_frame()["decision"] == FURTHER_TARGET).any()
    asked = aligner.map(multiple_targets=True).to_frame()
    further = asked[asked["decision"] == FURTHER_TARGET]
    assert asked["target"].dropna().is_unique and len(further) and (further["probability"] > 0.5).all()
    assert not asked["source"].isin([f"http://s/{i}" for i in range(32)]).any()


def test_a_validation_link_is_no_reason_for_a_further_target():
    """s1 has a validation link, and another candidate that is likely: a mistake, whatever is asked for."""
    seven = seven_entities()
    found = ranked([[4, 1], *([i, 1] for i in range(2, 7))], [[0.9, 0.0]] * 6, [1.0] * 6)
    alone = answers(seven, found, lost=[3])
    for how in (Choice(), Choice(every=True), Choice(best_f1=True), Choice(precision=0.8)):
        for with_given in (False, True):
            mapping = alone.mapping(how, with_given=with_given).to_frame()
            assert not (mapping["decision"] == FURTHER_TARGET).any() and mapping["source"].is_unique
    twice = seven.replace(train=np.array([[0, 0], [1, 2]]))
    assert twice.multi_target_sources.tolist() == [1]
    mapping = replace(alone, task=twice).mapping().to_frame()
    assert mapping.loc[mapping["decision"] == FURTHER_TARGET, ["source", "target"]].to_numpy().tolist() == [
        ["s1", "t4"]
    ]


def test_without_links_further_targets_are_found_where_second_best_pairs_stand_out():
    """Every name is on the other side twice, once with a word more; or once, beside names of others."""
    rng = np.random.default_rng(1)
    names = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 9)) for _ in range(120)]
    ours = pd.DataFrame({"id": [f"s{i}" for i in range(60)], "name": names[:60]})
    atoms = [(f"a{i}", f"{name} atom") for i, name in enumerate(names[:60])]
    others = [(f"o{i}", name) for i, name in enumerate(names[60:])]
    right = {(f"s{i}", f"t{i}") for i in range(60)}
    found = {}
    for what, more in (("atoms", atoms), ("others", others)):
        same = [(f"t{i}", name) for i, name in enumerate(names[:60])]
        theirs = pd.DataFrame([*same, *more], columns=["id", "name"])
        aligner = MixTEA(seed=1).fit(load_task(source=ours, target=theirs, links_from="names"))
        assert set(map(tuple, aligner.map().pairs()[["source", "target"]].to_numpy())) == right
        mapped = aligner.map(multiple_targets=True).pairs()
        found[what] = set(map(tuple, mapped[["source", "target"]].to_numpy()))
    assert len(found["atoms"] & {(f"s{i}", f"a{i}") for i in range(60)}) > 50 and right <= found["atoms"]
    assert found["others"] == right
