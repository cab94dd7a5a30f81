"""Rows become tables and figures."""

from __future__ import annotations

import pytest

from mixtea.experiments.reproduce.pages import (
    Measured,
    cost_frame,
    data_frame,
    data_markdown,
    draw,
    frame,
    markdown,
    mean_std,
)
from mixtea.experiments.reproduce.plan import Variant

TASK = "D_W_15K_V1"


def run(hits, fold=1, **more):
    scores = {"hits@1": hits, "hits@5": hits + 0.1, "mrr": hits + 0.05}
    return {
        "key": f"k{fold}", "task": TASK, "fold": fold, "preset": "paper", "share": None, "seed": 1, "epochs": 5,
        "seconds": 2.0, "decoding_seconds": 0.1, "peak_gib": 1.0, "device": "CPU", "settings": {"n_layers": 3},
        "scores": {"student": scores}, "curve": [], "versions": {"mixtea": "1", "torch": "2"},
    } | more  # fmt: skip


def measured(label="", values=(0.6, 0.7), preset="paper", **more):
    return Measured(Variant(label, preset), {TASK: [run(v, fold, **more) for fold, v in enumerate(values, 1)]})


def test_mean_and_standard_deviation():
    assert mean_std([0.6, 0.7]) == "0.650 ± 0.071" and mean_std([0.5]) == "0.500" and mean_std([]) == ""


def test_the_main_table_has_the_published_rows_above_the_measured():
    text = markdown("main", [measured()], [TASK])
    lines = text.splitlines()
    assert lines.index("| *BootEA* | 0.572 |") < lines.index("| *MixTEA* | 0.647 |")
    assert lines.index("| *MixTEA* | 0.647 |") < lines.index("| mixtea `paper`, student | 0.650 ± 0.071 |")
    assert "| *RANM* |  |" in lines  # nothing was published
    assert "Folds: 1, 2. Seed: 1." in lines and "Sun et al. (2020)" in text
    assert "| Hit@5 | D_W_15K_V1 |" in lines and "| MRR | D_W_15K_V1 |" in lines


def test_decoders_are_rows_of_the_main_table_alone():
    both = {
        "student": {"hits@1": 0.6, "hits@5": 0.7, "mrr": 0.65},
        "one_to_one": {"hits@1": 0.8, "hits@5": 0.9, "mrr": 0.85},
    }
    row = measured("complete", (0.6,), "best", scores=both)
    assert "| mixtea `best`, complete, one-to-one | 0.800 |" in markdown("main", [row], [TASK])
    assert "0.800" not in markdown("ablation", [row], [TASK])


def test_each_ablation_has_its_published_row_below():
    lines = markdown("ablation", [measured("without MDR"), measured("complete")], [TASK]).splitlines()
    place = lines.index("| without MDR | 0.650 ± 0.071 |")
    assert lines[place + 1] == "| *without MDR, published* | 0.635 |"


def test_a_task_that_nobody_published_shows_measured_rows_only():
    row = Measured(Variant("", "paper"), {"mine": [run(0.5)]})
    text = markdown("main", [row], ["mine"])
    assert "BootEA" not in text and "| mixtea `paper`, student | 0.500 |" in text


def test_the_frame_holds_every_figure():
    table = frame("main", [measured()], [TASK])
    mine = table[(table["preset"] == "paper") & (table["metric"] == "hits@1")]
    assert mine["mean"].item() == pytest.approx(0.65) and mine["runs"].item() == 2
    theirs = table[(table["row"] == "MixTEA") & (table["metric"] == "mrr")]
    assert theirs["mean"].item() == 0.731 and theirs["preset"].item() == "published"


def test_the_frame_of_curves_has_a_line_a_point():
    table = frame("curves", [measured("alone", (0.6,), curve=[[1, 0.1], [5, 0.2]])], [TASK])
    assert table[["epoch", "hit"]].values.tolist() == [[1, 0.1], [5, 0.2]]


def test_the_data_table_counts_and_cites(example):
    table = data_frame({"D_Y_15K_V1": example, "mine": example})
    assert table["published triples"].tolist()[:2] == [30_292, 26_638] and table["published triples"].isna().sum() == 2
    assert "| mine | source | 1,008 | 9 | 2,288 |  |  |  |" in data_markdown(table)


def test_costs_have_a_line_a_run():
    costs = cost_frame([run(0.6, 2), run(0.5, 1)])
    assert costs["fold"].tolist() == [1, 2] and costs["settings"][0] == "n_layers=3" and costs["hits@1"][0] == 0.5


def test_figures_are_drawn_for_one_task_and_several(tmp_path):
    curve = [[1, 0.1], [5, 0.3]]
    rows = [measured(label, (0.6,), curve=curve) for label in ("encoder alone", "mixture teaching")]
    draw("curves", rows, [TASK], tmp_path / "one")
    draw("layers", [measured(n) for n in "1234"], [TASK, "b", "c"], tmp_path / "three")
    for name in ("one", "three"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    draw("curves", rows, [TASK], tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "one").read_bytes()


def test_a_table_says_which_settings_were_changed():
    own = Measured(Variant("without MDR", "paper", {"rectify": False, "max_epochs": 4}, own=frozenset({"rectify"})), {})
    runs = {TASK: [run(0.5, config={"rectify": False, "max_epochs": 4})]}
    text = markdown("ablation", [Measured(own.variant, runs)], [TASK])
    assert "Settings changed by --set: max_epochs=4." in text and "rectify" not in text
    assert "--set" not in markdown("main", [measured()], [TASK])
