"""Bombs and damaged files, the quick ones of benchmarks/bombs.py and a few of benchmarks/fuzz.py."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from mixtea.errors import ConfigError, MixTEAError
from mixtea.io.formats import sssom

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
import fuzz
from bomb_files import BOMBS
from bombs import Outcome, explode
from fuzz_seeds import formats, graph, links

from mixtea.cli.settings import read_settings

READ = {"graph": graph, "links": links, "settings": read_settings}
QUICK = {
    "entities that double 40 times": "max_token_mib", "entities that double, not used": "max_token_mib",
    "a long entity used often": "max_expansion", "elements 100,000 deep": "max_nesting",
    "10,000 namespaces for each name": "max_columns", "10,000 attributes, again and again": "max_columns",
    "Parquet: a type of a megabyte": "a column of type", "100,000 attributes": "max_columns",
    "triples in triples, N-Triples": "max_nesting",
    "triples in triples, N-Quads": "max_nesting", "triples in triples, Turtle": "nested too deeply",
    "triples in triples, TriG": "nested too deeply", "triples in triples as links": "max_nesting",
    "40 GB of padding after gzip": "hold nothing", "a line without an end": "max_token_mib",
    "a comment without an end": "max_token_mib", "a map of spaces, SSSOM": "not a plain map",
    "a map in one line, SSSOM": "not a plain map", "a million columns, SSSOM": "max_columns",
    "a node that everybody shares": "max_expansion", "JSON-LD 100,000 deep": "Max stack size",
    "a line of OBO without an end": "max_token_mib", "a quote of escapes, OBO": "no text in quotes",
    "Parquet: three billion rows, a lie": "max_rows", "Parquet: groups 100,000 deep": "too deeply nested",
    "Excel: entities that double": "a document type",
    "Excel: 100,000 files": "100,000 files", "SQLite: a view without an end": "max_stall_seconds",
    "SQLite: a text of a gigabyte": "max_token_mib",
    "a pipe without a writer": "a pipe", "a socket": "a socket", "a device without an end": "a device",
    "deep JSON": "nested too deeply", "deep TOML": "nested too deeply", "a long key in TOML": "no setting 'a'",
    "100 MB of TOML": "16,384 bytes",
}  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_a_bomb_is_refused_with_its_reason(name, tmp_path):
    ending, role, write = BOMBS[name]
    bomb = write()(tmp_path / f"bomb{ending}") or tmp_path / f"bomb{ending}"
    with pytest.raises(MixTEAError) as caught:
        READ[role](bomb)
    assert QUICK[name] in str(caught.value) and str(bomb) in str(caught.value)


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("s.json", b"[1, 2]", "not a table of settings"),
        ("s.json", b'"seed"', "not a table of settings"),
        ("s.json", b'{"seed": ' + b"9" * 5000 + b"}", "not valid JSON"),
        ("s.json", b'{"seed": ' + b"[" * 900 + b"]" * 900 + b"}", "seed must be a whole number|nested too deeply"),
        ("s.toml", b"seed = \xff", "not valid TOML"),
        ("s.toml", b"seed = '" + b"x" * 9000 + b"'", "seed must be a whole number"),
        ("s.toml", b"a" * 20_000, "more than 16,384 bytes"),
        ("s.toml.gz", b"seed = 1", "not gzip"),
    ],
)
def test_settings_that_are_none(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=message) as caught:
        read_settings(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value) and len(str(caught.value)) < 2500
    with pytest.raises(ConfigError, match=r"cannot be read \(a folder"):
        read_settings(tmp_path)


def test_a_bomb_in_a_process_of_its_own(tmp_path):
    _, found = explode("triples in triples, Turtle", tmp_path)
    assert found.wrong in ("", f"{found.seconds:.1f} s") and found.mib > 20
    assert "its parser crashed on it (SIGSEGV)" in found.message
    assert Outcome(1.0, 100.0, 2, "x" * 50_000).wrong == "a message of 50,000 characters"
    assert Outcome(6.0, 2000.0, 1, "Traceback").wrong == "exit code 1, 6.0 s, 2000 MiB, Traceback"


@pytest.mark.parametrize("n, n_formats", [(30, 10), pytest.param(1000, 20, marks=pytest.mark.search)])
def test_damaged_files_are_read_or_explained(n, n_formats, tmp_path):
    """In a process of its own, whose memory is that of the files and not of the tests before."""
    done = fuzz.fuzzed(n, 5, 1, None, tmp_path, Console(file=io.StringIO()))
    assert not done.failures, "\n".join(done.failures)
    assert sum(counts.total() > 0 for counts in done.counts.values()) > n_formats


@pytest.mark.parametrize(
    "name, compares",
    [
        ("N-Triples", "voters.attribute_values.form_of"),
        ("attr_triples_2 of a folder", "voters.attribute_values.form_of"),
        ("ent_names_1 of a folder", "voters.name_index.transliterated"),
        ("CSV names", "voters.name_index.transliterated"),
        ("safetensors", "compute.nearest.cosines"),
    ],
)
def test_what_can_be_read_is_compared(name, compares, tmp_path, monkeypatch):
    kind = formats()[name]
    monkeypatch.setattr(f"mixtea.{compares}", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        kind.read(kind.lay(tmp_path, kind.good[-1]))


def test_a_case_whose_child_takes_too_much_fails_and_the_next_does_not(tmp_path, monkeypatch):
    """A process knows the largest of all its children so far, so that only its growth says something of a case."""
    held = iter([100.0, 2100.0, 2100.0, 2100.0])
    monkeypatch.setattr(fuzz, "children_mib", lambda: next(held))
    monkeypatch.setattr(fuzz, "peak_mib", lambda *, reset=False: 300.0)
    found = [fuzz.verdict(fuzz.Case(5, 0), formats(), tmp_path)[1] for _ in range(2)]
    assert found[0] == "took 2100 MiB" and found[1] in (fuzz.OK, fuzz.REFUSED)


@pytest.mark.parametrize(
    "message, verdict",
    [
        ("g.tsv: 1 problem\n  line 1,234: 2 columns.", fuzz.REFUSED),
        ("g.tsv: 1 problem\n  2 columns.", "does not name the place: g.tsv: 1 problem\n  2 columns."),
        ("g.tsv.gz: 1 problem\n  damaged gzip.", "does not name the file: g.tsv.gz: 1 problem\n  damaged gzip."),
        ("g.tsv: the file is empty.", fuzz.REFUSED),
        ("g.tsv: max_epochs must be a whole number.", fuzz.REFUSED),
    ],
)
def test_a_message_must_name_the_file_and_the_place(message, verdict):
    assert fuzz.judged(message, "g.tsv:") == verdict


def test_the_fuzzing_counts_and_keeps_what_fails(tmp_path):
    done = fuzz.Fuzz(1, None, tmp_path)
    done.count(2, "TSV", fuzz.OK)
    done.count(3, "", "the process died (-11)")
    assert done.table().row_count == len(formats()) + 1 and len([*tmp_path.iterdir()]) == 1
    assert "--seed 1 --replay 3" in done.failures[0]


def test_good_files_are_read(tmp_path):
    """Else the mutations would say little."""
    for kind in formats().values():
        for good in kind.good if not kind.packed else []:
            path = kind.lay(tmp_path, good)
            kind.read(path)
            assert path.exists()


def test_the_map_of_sssom_in_one_line():
    assert sssom.curie_map(["#curie_map: {a: http://a/, 'b c': \"x\" , d: y}"]) == {
        "a": "http://a/",
        "b c": "x",
        "d": "y",
    }
