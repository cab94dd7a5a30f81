"""Links dealt out: nothing lost, nobody twice, the same seed the same files, in the format that they came in."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from conftest import write
from small_files import parquet

from mixtea.data.formats.sssom import read_sssom
from mixtea.data.links import read_link_table
from mixtea.data.splits import deal
from mixtea.errors import ConfigError, DataError, Problems, RunError
from mixtea.export.quoting import csv_text
from mixtea.export.splits import split_file

THIRDS = {"train": 0.4, "valid": 0.2, "test": 0.4}
LINKS = [(f"s{i}", f"t{i}") for i in range(10)]
SSSOM = (
    "#curie_map:\n#  a: http://a/\nsubject_id\tpredicate_id\tobject_id\tpredicate_modifier\tcomment\n"
    + "".join(f'a:{s}\tskos:exactMatch\ta:{t}\t\t"no ""{s}"""\n' for s, t in LINKS)
    + "a:s1\tskos:exactMatch\ta:t2\tNot\t\n"
)


def lines_of(parts):
    return {name: part.path.read_text().splitlines() for name, part in parts.items()}


def test_every_link_is_in_one_file_and_the_seed_decides_which(tmp_path):
    write(tmp_path, {"l.tsv": "".join(f"{s}\t{t}\n" for s, t in LINKS)})
    parts, _ = split_file(tmp_path / "l.tsv", tmp_path / "one", THIRDS)
    found = lines_of(parts)
    assert sorted(line for lines in found.values() for line in lines) == sorted(f"{s}\t{t}" for s, t in LINKS)
    assert {name: (part.path.name, part.n_links) for name, part in parts.items()} == {
        "train": ("train_links.tsv", 4), "valid": ("valid_links.tsv", 2), "test": ("test_links.tsv", 4),
    }  # fmt: skip
    again, _ = split_file(tmp_path / "l.tsv", tmp_path / "two", THIRDS)
    other, _ = split_file(tmp_path / "l.tsv", tmp_path / "three", THIRDS, seed=2)
    assert lines_of(again) == found != lines_of(other)


def test_links_that_share_an_entity_stay_together():
    source, target = np.array(list("aabccdefgh")), np.array(list("ABBCDEFGHI"))  # a-A, a-B, b-B are one
    for seed in range(20):
        part = deal(source, target, {"train": 0.5, "test": 0.5}, seed)
        assert len({*part[:3]}) == 1 and len({*part[3:5]}) == 1
        assert 3 <= (part == "train").sum() <= 7
    assert deal(source[:0], target[:0], {"train": 1.0}).tolist() == []


def test_shares_come_to_one_and_each_gets_a_link():
    some = np.array(["a"])
    for shares, said in (({"train": 0.5, "test": 0.4}, "0.5 [+] 0.4 is 0.9"), ({"train": 2.0}, "a share from 0 to 1")):
        with pytest.raises(ConfigError, match=said):
            deal(some, some, shares)
    with pytest.raises(DataError, match="too few for train links"):
        deal(some, some, {"train": 0.4, "test": 0.6})


def test_sssom_keeps_its_head_and_all_columns_and_rejected_pairs_train(tmp_path):
    write(tmp_path, {"l.sssom.tsv": SSSOM})
    parts, _ = split_file(tmp_path / "l.sssom.tsv", tmp_path / "out", THIRDS)
    assert {name: part.n_links for name, part in parts.items()} == {"train": 4, "valid": 2, "test": 4}
    tables = {name: read_sssom(part.path, Problems()) for name, part in parts.items()}
    assert sorted(full for table in tables.values() for full in table.in_full[0][~table.rejected]) == sorted(
        f"http://a/{s}" for s, _ in LINKS
    )
    assert tables["train"].rejected.sum() == 1 and not tables["test"].rejected.any()
    for part in parts.values():
        assert part.path.read_text().startswith(SSSOM[: SSSOM.index("a:s0")])
        assert set(part.path.read_text().splitlines()[3:]) <= set(SSSOM.splitlines())


def test_csv_and_parquet_stay_what_they_are_and_rdf_becomes_text(tmp_path):
    iris = [(f"http://a/{s}", f"http://b/{t}") for s, t in LINKS]
    files = {
        "l.csv": "note,target,source\n" + "".join(f'"1,{s}",{t},{s}\n' for s, t in LINKS),
        "bare.csv": "".join(f"{s},{t}\n" for s, t in LINKS),
        "l.parquet": parquet({"source": [s for s, _ in LINKS], "target": [t for _, t in LINKS]}),
        "l.nt": "".join(f"<{s}> <http://www.w3.org/2002/07/owl#sameAs> <{t}> .\n" for s, t in iris),
        "l.json": json.dumps([{"source": s, "target": t + "\t,"} for s, t in LINKS]),
        "ent_links": "".join(f"{s}\t{t}\n" for s, t in LINKS),
    }
    write(tmp_path, files)
    found = {name: split_file(tmp_path / name, tmp_path / f"of_{name}", THIRDS)[0]["train"].path for name in files}
    assert [path.name for path in found.values()] == [
        "train_links.csv", "train_links.csv", "train_links.parquet", "train_links.tsv", "train_links.csv",
        "train_links",
    ]  # fmt: skip
    lines = found["l.csv"].read_text().splitlines()
    assert lines[0] == "note,target,source" and set(lines) <= set(files["l.csv"].splitlines()) and len(lines) == 5
    assert set(found["bare.csv"].read_text().splitlines()) <= set(files["bare.csv"].splitlines())
    assert pd.read_parquet(found["l.parquet"]).columns.tolist() == ["source", "target"]
    assert {*found["l.json"].read_text().splitlines()[1:]} <= {f'{s},"{t}\t,"' for s, t in LINKS}
    assert {*found["l.nt"].read_text().splitlines()} <= {"\t".join(pair) for pair in iris}


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
def test_what_is_written_can_be_read_again(delimiter, tmp_path):
    """A column whose cells hold the delimiter, and a mark of UTF-8 at the beginning."""
    rows = [
        ("Nr", "Target", "Note", "Source"),
        *((str(i), t, f'so{delimiter} ok, {i}; "x"', s) for i, (s, t) in enumerate(LINKS)),
    ]
    text = "".join(delimiter.join(csv_text(cell, delimiter) for cell in row) + "\n" for row in rows)
    write(tmp_path, {"l.csv": b"\xef\xbb\xbf" + text.encode()})
    parts, _ = split_file(tmp_path / "l.csv", tmp_path / "parts", THIRDS)
    found = [read_link_table(part.path, Problems()).columns for part in parts.values()]
    assert sorted(pair for ends in found for pair in zip(*ends, strict=True)) == sorted(LINKS)


def test_names_of_ones_own_and_files_that_are_there(tmp_path):
    write(tmp_path, {"l.tsv": "a\tA\nb\tB\n"})
    halves, out = {"train": 0.5, "valid": 0.0, "test": 0.5}, tmp_path / "out"
    parts, _ = split_file(tmp_path / "l.tsv", out, halves, names=["seeds", "rest.tsv"])
    assert sorted(path.name for path in out.iterdir()) == ["rest.tsv", "seeds.tsv"]
    with pytest.raises(RunError, match=r"seeds.tsv: a file is already there. Name another, or say --overwrite"):
        split_file(tmp_path / "l.tsv", out, halves, names=["seeds", "more"])
    assert not (out / "more.tsv").exists()
    assert split_file(tmp_path / "l.tsv", out, halves, names=["seeds", "rest"], overwrite=True)[0] == parts
    for names, said in ((["a"], "1 names for 2 files"), (["a", "a"], "no name"), (["a", "../b"], "no name")):
        with pytest.raises(ConfigError, match=said):
            split_file(tmp_path / "l.tsv", out, halves, names=names)
