"""Vectors of one's own on the command line: read, trained with, kept, explained."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

SHORT = ("max_epochs=2", "propagation_rounds=1", "entity_dim=16", "voters=forward,backward,propagation,descriptions")


@pytest.fixture
def given(tmp_path):
    """The options that name a file a side, for two thirds of thirty entities."""
    rows = np.random.default_rng(1).normal(size=(20, 6)).astype(np.float32)
    for side, name in (("source", "s"), ("target", "t")):
        ids = json.dumps([f"{name}{i}" for i in range(20)])
        save_file({"vectors": rows}, tmp_path / f"{side}.safetensors", {"ids": ids})
    return [word for side in ("source", "target") for word in (f"--vectors-{side}", tmp_path / f"{side}.safetensors")]


def test_inspect_counts_them(mixtea, rings_folder, given):
    code, out, _ = mixtea("inspect", rings_folder, *given, "--device", "cpu")
    assert code == 0 and out.count("with a vector: 20") == 2 and "safetensors" in out
    code, out, _ = mixtea("inspect", rings_folder, *given, "--json", "--device", "cpu")
    assert code == 0 and json.loads(out)["target"]["vectors"] == 20


def test_a_run_is_trained_with_them(mixtea, rings_folder, given, tmp_path):
    settings = [word for value in SHORT for word in ("--set", value)]
    call = ("fit", rings_folder, *given, *settings, "--device", "cpu", "--out", tmp_path / "run")
    code, _, err = mixtea(*call)
    assert code == 0 and "Traceback" not in err
    assert load_file(tmp_path / "run" / "graphs.safetensors")["source_vectors"].shape == (30, 6)
    assert mixtea("export", tmp_path / "run", "--out", tmp_path / "m.tsv")[0] == 0
    code, _, err = mixtea(*call, "--resume")
    assert code == 0  # it has ended as it was called
    code, _, err = mixtea("fit", "--resume", "--out", tmp_path / "run", *given)
    assert code == 2 and "--vectors-source: a training goes on with what it began with. Leave it out." in err


def test_what_is_wrong_is_one_message(mixtea, rings_folder, given):
    code, out, err = mixtea("inspect", rings_folder, *given[:2])
    assert (code, out) == (2, "") and "give both vectors_source and vectors_target" in err
    code, _, err = mixtea("inspect", rings_folder, "--text-model", rings_folder)
    assert code == 2 and "modules.json: no such file" in err
