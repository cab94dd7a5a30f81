"""Fields of settings: numbers, words, lists of names, from Python, TOML, JSON and the command line."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from dataclasses import dataclass

import numpy as np
import pytest

from mixtea.errors import ConfigError
from mixtea.fields import Fields, Names, assignments, setting, written


def even(value: int) -> str:
    return "" if value % 2 == 0 else f"is {value}, which is odd"


@dataclass(frozen=True, kw_only=True)
class Boat:
    """As few settings as show every kind."""

    crew: int = setting(4, "people on board", low=2, high=8, problem=even)
    speed: float = setting(0.5, "knots", low=0, below=10)
    sails: bool = setting(True, "whether the wind helps")
    port: str = setting("Kiel", "where it lies", choices=("Kiel", "Riga"))
    flags: Names = setting(("red", "green"), "what it shows")  # noqa: RUF009

    def __post_init__(self) -> None:
        BOAT.check(self)


BOAT = Fields(Boat, "setting", "field=value")


def given(*texts):
    return Boat(**dict(map(BOAT.parse, texts)))


def test_a_list_of_names_is_the_same_from_everywhere():
    boat = Boat(flags=("blue", "my.flag-2"))
    assert Boat(flags=["blue", "my.flag-2"]) == boat and hash(boat) == hash(Boat(flags=["blue", "my.flag-2"]))
    assert Boat(**tomllib.loads('flags = ["blue", "my.flag-2"]')) == boat
    text = json.dumps(dataclasses.asdict(boat))
    assert '"flags": ["blue", "my.flag-2"]' in text and Boat(**json.loads(text)) == boat
    assert given("flags=blue, my.flag-2") == given(f"flags={written(boat.flags)}") == boat
    assert given("flags=") == Boat(flags=[]) == Boat(flags=())
    assert BOAT.check_all({"flags": ["blue"], "speed": 1}) == {"flags": ("blue",), "speed": 1.0}


@pytest.mark.parametrize(
    "names, message",
    [
        ("red", r"flags must be a list of names, not 'red': what it shows\."),
        (["red", 1], r"flags must be a list of names, not \('red', 1\)"),
        ({"red"}, "flags must be a list of names"),
        (["red", "blue", "red"], r"flags names 'red' twice: what it shows\."),
        (["red", ""], "flags holds '', which is not a plain name"),
        (["red,green"], "flags holds 'red,green', which is not a plain name"),
        (["red\n"], r"flags holds 'red\\n', which is not a plain name"),
        (["x" * 1000 + " "], "flags holds 'xxx"),
    ],
)
def test_lists_of_anything_else_are_refused(names, message):
    with pytest.raises(ConfigError, match=message) as refused:
        Boat(flags=names)
    assert len(str(refused.value)) < 300


def test_names_on_the_command_line_are_checked_too():
    for text, message in (
        ("flags=red,,blue", "holds ''"),
        ("flags=red,red", "twice"),
        ("flags=a b", "not a plain name"),
    ):
        with pytest.raises(ConfigError, match=message):
            given(text)


def test_a_function_may_judge():
    assert Boat(crew=6).crew == 6
    with pytest.raises(ConfigError, match=r"^crew is 5, which is odd: people on board\.$"):
        Boat(crew=5)


def test_a_number_is_a_number_however_it_is_written():
    assert given("crew=6e0", "speed=2", "sails=FALSE") == Boat(crew=6, speed=2.0, sails=False)
    boat = Boat(crew=6.0, speed=np.float64(1.5))
    assert (type(boat.crew), type(boat.speed)) == (int, float)
    for text in ("crew=six", "crew=", "speed=1,5", "sails=null"):
        with pytest.raises(ConfigError, match=r"must be (a whole number|a number|true or false), not"):
            given(text)
    for wrong in (dict(crew=True), dict(crew=4.5), dict(speed=float("nan")), dict(speed=10**400), dict(sails=1)):
        with pytest.raises(ConfigError, match="must be"):
            Boat(**wrong)
    with pytest.raises(ConfigError, match="speed must be a number, not nan: knots"):
        given("speed=nan")


def test_what_is_allowed_is_said():
    assert [BOAT.allowed(name) for name in BOAT.by_name] == [
        "at least 2 and at most 8", "at least 0 and below 10", "true or false", "Kiel | Riga", "a list of names",
    ]  # fmt: skip
    with pytest.raises(ConfigError, match=r"crew must be at least 2 and at most 8, not 10: people on board\."):
        Boat(crew=10)
    with pytest.raises(ConfigError, match="port must be one of Kiel, Riga, not 'Rome': where it lies"):
        given("port=Rome")


def test_unknown_names_are_answered_with_known_ones():
    for text, message in (
        ("crews=4", r"There is no setting 'crews'\. Did you mean 'crew'\?"),
        ("x=4", r"There is no setting 'x'\. There are crew, speed, sails, port, flags\."),
        ("crew", "'crew' is not of the form field=value"),
    ):
        with pytest.raises(ConfigError, match=message):
            BOAT.parse(text)
    with pytest.raises(ConfigError, match=r"no setting 'x'.* no setting 'y'"):
        BOAT.check_all({"x": 1, "crew": 2, "y": 3})


def test_assignments_come_back():
    boat = Boat(crew=2, sails=False, flags=("blue",))
    assert given(*assignments(dataclasses.asdict(boat))) == boat
