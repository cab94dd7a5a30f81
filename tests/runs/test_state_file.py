"""Units: values and arrays in one file that knows when it was changed."""

import json
import os

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mixtea.errors import RunError
from mixtea.runs.state_file import _checksum, read_state_file, write_state_file

VALUE = {
    "weights": {"entity": np.arange(6, dtype=np.float32).reshape(2, 3), "empty": np.empty((0, 2), dtype=np.int64)},
    "history": [{"epoch": 1, "loss": 0.1}, {"epoch": 2, "loss": 1e-300}],
    "words": ["Zürich", "\ud800", "\x1b[31m", ""],
    "parts": [np.array([True, False]), None, 3.5, np.array(7.5), np.arange(6)[::2]],
    "flag": True,
}


def same(first, second):
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same, first, second))
    return type(first) is type(second) and first == second


@pytest.fixture
def path(tmp_path):
    write_state_file(tmp_path / "unit.safetensors", "test 1", VALUE)
    return tmp_path / "unit.safetensors"


def test_what_is_written_is_read(path):
    assert same(read_state_file(path, "test 1"), VALUE)


def test_the_same_value_gives_the_same_bytes(path, tmp_path):
    write_state_file(tmp_path / "again.safetensors", "test 1", VALUE)
    assert path.read_bytes() == (tmp_path / "again.safetensors").read_bytes()


def test_every_flipped_bit_and_every_cut_is_noticed(path):
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        try:
            found = read_state_file(path, "test 1")
        except RunError as error:
            assert str(path) in str(error)
        else:  # only spaces after the JSON of the header can change without any effect
            assert same(found, VALUE) and whole[place : place + 1] == b" "
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(RunError, match=path.name):
            read_state_file(path, "test 1")


def test_what_is_no_file_of_its_own_is_refused(path, tmp_path):
    (tmp_path / "link").symlink_to(path)
    os.mkfifo(tmp_path / "pipe")
    for name, said in (("link", "a link, which"), ("pipe", "a device or pipe"), ("none", "missing")):
        with pytest.raises(RunError, match=said):
            read_state_file(tmp_path / name, "test 1")


def test_another_kind_or_version_is_named(path, tmp_path):
    with pytest.raises(RunError, match="holds 'test 1', while this version reads 'test 2'"):
        read_state_file(path, "test 2")
    save_file({"json": np.zeros(2, dtype=np.uint8)}, tmp_path / "plain.safetensors")
    with pytest.raises(RunError, match="holds 'something else'"):
        read_state_file(tmp_path / "plain.safetensors", "test 1")


@pytest.mark.parametrize(
    "text", ["[" * 200_000, "{", '{"array": "nowhere"}', '{"array": 7}', '{"array": ["a"]}', "1" * 5000, "\xff"]
)
def test_hostile_content_with_a_right_checksum_is_an_error(tmp_path, text):
    arrays = {"json": np.frombuffer(text.encode("latin-1"), dtype=np.uint8)}
    path = tmp_path / "unit.safetensors"
    save_file(arrays, path, {"unit": "test 1 " + _checksum(arrays, "test 1")})
    with pytest.raises(RunError, match="damaged"):
        read_state_file(path, "test 1")


def test_numbers_of_unknown_kinds_and_sizes_without_memory_are_refused(path, tmp_path, monkeypatch):
    def header(kind, n):
        text = json.dumps(
            {"__metadata__": {"unit": "test 1 0"}, "a": {"dtype": kind, "shape": [n], "data_offsets": [0, n]}}
        )
        return len(text).to_bytes(8, "little") + text.encode()

    path.write_bytes(header("F8_E4M3", 4) + b"1234")
    with pytest.raises(RunError, match="it holds F8_E4M3"):
        read_state_file(path, "test 1")
    n = 1 << 43
    with path.open("wb") as file:
        file.write(header("U8", n))
        file.truncate(n)  # a hole that costs nothing
    monkeypatch.setattr("mixtea.runs.state_file.check_plain", lambda _: None)  # which would see it
    with pytest.raises(RunError, match="needs more memory than there is"):
        read_state_file(path, "test 1")


def test_without_json_it_is_damaged(tmp_path):
    arrays = {"other": np.zeros(2, dtype=np.uint8)}
    save_file(arrays, tmp_path / "unit", {"unit": "test 1 " + _checksum(arrays, "test 1")})
    with pytest.raises(RunError, match="damaged"):
        read_state_file(tmp_path / "unit", "test 1")


def test_numbers_that_json_does_not_know_are_not_written(tmp_path):
    with pytest.raises(RunError, match="not JSON compliant"):
        write_state_file(tmp_path / "unit", "test 1", {"loss": float("nan")})
    assert not list(tmp_path.iterdir())


def test_json_is_readable_by_anyone(path):
    text = load_file(path)["json"].tobytes().decode("utf-8", "surrogatepass")
    assert json.loads(text)["weights"]["entity"] == {"array": ".0"}


def test_a_file_of_holes_is_refused_before_memory_is_taken(path):
    os.truncate(path, 1 << 40)
    with pytest.raises(RunError, match="nearly all of them holes"):
        read_state_file(path, "test 1")


def test_what_a_voter_remembers_comes_back_whatever_it_is(tmp_path):
    state = {
        "array": np.arange(3), "plain": {"array": 1}, "a.b": np.ones(2), "a": {"b": np.zeros(2)}, "n": np.int64(3),
        "turned": np.arange(3, dtype=">i4"), "nested": [{"array": {"plain": [np.float32(0.5)]}}],
    }  # fmt: skip
    write_state_file(tmp_path / "s", "a kind", state)
    found = read_state_file(tmp_path / "s", "a kind")
    assert found["array"].tolist() == [0, 1, 2] and found["plain"] == {"array": 1} and found["n"] == 3
    assert found["a.b"].tolist() == [1, 1] and found["a"]["b"].tolist() == [0, 0]
    assert found["turned"].tolist() == [0, 1, 2] and found["nested"] == [{"array": {"plain": [0.5]}}]
    for wrong in (np.zeros(1, dtype=np.int16), np.array(["text"]), object()):
        with pytest.raises(RunError, match="the state cannot be saved"):
            write_state_file(tmp_path / "w", "a kind", {"held": wrong})
    assert not (tmp_path / "w").exists()
