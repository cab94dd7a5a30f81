"""One configuration as arguments, TOML, flags and JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mixtea.cli.settings import read_settings
from mixtea.config import FIELDS, PRESETS, TYPES, Config, describe, parse_setting
from mixtea.errors import ConfigError
from mixtea.experiments.tune import parse_ranges
from mixtea.fields import assignments


def test_defaults_are_the_paper_preset_and_text_differs_in_every_documented_field():
    assert Config.preset("paper") == Config()
    text = Config.preset("text")
    documented = {name for name, f in FIELDS.items() if f.metadata["text"] is not None}
    assert {n for n in FIELDS if getattr(text, n) != getattr(Config(), n)} == documented == set(PRESETS["text"])


def test_round_trips(tmp_path):
    config = Config.preset("text", entity_dim=64, dropout=0.1, seed=7)
    assert Config.from_dict(config.to_dict()) == config
    (tmp_path / "c.toml").write_text("".join(f"{k} = {toml(v)}\n" for k, v in config.to_dict().items()))
    assert Config.from_dict(read_settings(tmp_path / "c.toml")) == config
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict()))
    assert Config.from_dict(read_settings(tmp_path / "config.json")) == config
    flags = dict(map(parse_setting, assignments(config.to_dict())))
    assert Config.from_dict(flags) == config


def toml(value):
    return str(value).lower() if isinstance(value, bool) else repr(list(value) if isinstance(value, tuple) else value)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"entity_dims": 3}, "no setting 'entity_dims'. Did you mean 'entity_dim'?"),
        ({"entity_dim": 2.5}, "entity_dim must be a whole number, not 2.5"),
        ({"entity_dim": True}, "entity_dim must be a whole number"),
        ({"entity_dim": 0}, "entity_dim must be at least 1 and at most 8192, not 0"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, not 1.0"),
        ({"dropout": float("nan")}, "dropout must be"),
        ({"metric": "dot"}, "metric must be one of cosine, euclidean, manhattan"),
        ({"rectify": 1}, "rectify must be true or false"),
        ({"margin": float("inf")}, "margin must be a number"),
        ({"margin": 10**400}, "margin must be a number"),
        ({"voters": ()}, "voters is empty"),
        ({"voters": ("two words",)}, "voters holds 'two words', which is not a plain name"),
        ({"voters": ("a-b",)}, "voters holds 'a-b', which cannot name a voter"),
        ({"voters": "forward"}, "voters must be a list of names, not 'forward'"),
    ],
)
def test_wrong_settings_are_explained(settings, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        Config.preset(**settings)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_every_number_is_finite(value):
    for name in (name for name, kind in TYPES.items() if kind in (int, float)):
        for settings in ({name: value}, dict([parse_setting(f"{name}={value}")])):
            with pytest.raises(ConfigError, match=f"{name} must be a (whole )?number, not {value}"):
                Config(**settings)


@pytest.mark.parametrize("name", ["metric", "seed", "name", "x" * 3_000_000])
def test_what_is_far_too_long_is_cut(name):
    with pytest.raises(ConfigError) as refused:
        Config.preset(**{name: "x" * 3_000_000})
    assert len(str(refused.value)) < 400


def test_wrong_flags_files_and_presets_are_explained(tmp_path):
    for text, message in (("seed", "field=value"), ("seeed=1", "Did you mean 'seed'"), ("seed=one", "whole number")):
        with pytest.raises(ConfigError, match=message):
            parse_setting(text)
    with pytest.raises(ConfigError, match="Choose one of best, long, paper, text"):
        Config.preset("worst")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_settings(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("a = ")
    with pytest.raises(ConfigError, match=r"bad\.toml: not valid TOML"):
        read_settings(tmp_path / "bad.toml")
    (tmp_path / "odd.toml").write_text("preset = 'text'")
    with pytest.raises(ConfigError, match=r"odd\.toml: There is no setting 'preset'"):
        read_settings(tmp_path / "odd.toml")


@pytest.mark.parametrize("text", ["[" * 50_000, "[" * 400 + "]" * 400, '{"a":' * 50_000, "null", '"1"', "9" * 50_000])
def test_flags_that_are_no_number_are_cut(text):
    with pytest.raises(ConfigError, match=r"^seed must be a whole number, not ") as refused:
        parse_setting(f"seed={text}")
    assert len(str(refused.value)) < 200
    for wrong in (text, f"{text}=1"):
        with pytest.raises(ConfigError) as refused:
            parse_setting(wrong)
        assert len(str(refused.value)) < 200
    with pytest.raises(ConfigError):
        parse_ranges([f"margin={text}"], "paper", {})


def test_the_documentation_of_the_settings_is_current():
    page = Path(__file__).parent.parent / "docs" / "settings.md"
    assert describe() in page.read_text(encoding="utf-8"), "run: python scripts/write_settings.py"
