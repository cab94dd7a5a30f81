"""Links dealt out: nothing lost, nobody twice, the same seed the same files, in the format that they came in."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from conftest import write
from small_files import parquet

from mixtea import load_task, split_links
from mixtea.errors import ConfigError, DataError, Problems, RunError
from mixtea.export.quoting import quoted
from mixtea.export.splits import deal
from mixtea.io.formats.sssom import read_sssom
from mixtea.io.links.read import assign_splits, read_link_table

THIRDS = {"train": 0.4, "valid": 0.2, "test": 0.4}
LINKS = [(f"s{i}", f"t{i}") for i in range(10)]
SSSOM = (
    "#curie_map:\n#  a: http://a/\nsubject_id\tpredicate_id\tobject_id\tpredicate_modifier\tcomment\n"
    + "".join(f'a:{s}\tskos:exactMatch\ta:{t}\t\t"no ""{s}"""\n' for s, t in LINKS)
    + "a:s1\tskos:exactMatch\ta:t2\tNot\t\n"
)


def split_file(links, out, shares, seed=1, **how):
    """Deal out a file, and return the files of the parts and the warnings."""
    dealt = deal(links, shares, seed=seed)
    return dealt.write(out, how.get("names", ()), overwrite=how.get("overwrite", False)), dealt.rows.warnings


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
        part = assign_splits(source, target, {"train": 0.5, "test": 0.5}, seed)
        assert len({*part[:3]}) == 1 and len({*part[3:5]}) == 1
        assert 3 <= (part == "train").sum() <= 7
    assert assign_splits(source[:0], target[:0], {"train": 1.0}).tolist() == []


def test_shares_come_to_one_and_each_gets_a_link():
    some = np.array(["a"])
    for shares, said in (({"train": 0.5, "test": 0.4}, "0.5 [+] 0.4 is 0.9"), ({"train": 2.0}, "a share from 0 to 1")):
        with pytest.raises(ConfigError, match=said):
            assign_splits(some, some, shares)
    with pytest.raises(DataError, match="too few for train links"):
        assign_splits(some, some, {"train": 0.4, "test": 0.6})


def test_sssom_keeps_its_head_and_all_columns_and_rejected_pairs_train(tmp_path):
    write(tmp_path, {"l.sssom.tsv": SSSOM})
    parts, _ = split_file(tmp_path / "l.sssom.tsv", tmp_path / "out", THIRDS)
    assert {name: part.n_links for name, part in parts.items()} == {"train": 4, "valid": 2, "test": 4}
    tables = {name: read_sssom(part.path, "SSSOM", Problems()) for name, part in parts.items()}
    assert sorted(full for table in tables.values() for full in table.full_ids[0][~table.rejected]) == sorted(
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
    text = "".join(delimiter.join(quoted(cell, delimiter) for cell in row) + "\n" for row in rows)
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
    for names, said in (
        (["a"], "1 names for 2 files"),
        (["a", "a"], "not a plain file name"),
        (["a", "../b"], "not a plain file name"),
    ):
        with pytest.raises(ConfigError, match=said):
            split_file(tmp_path / "l.tsv", out, halves, names=names)


@pytest.mark.parametrize(
    "name, header",
    [
        ("l.csv", "fodors_id,zagats_id"),
        ("l.csv", "D1|D2"),
        ("l.csv", "source,target"),
        ("l.tsv", "mine\tyours"),
        ("l.tsv", "source\ttarget"),
        ("l.tsv", "target\tnote\tsource"),
    ],
)
def test_a_header_stays_in_every_file_and_is_no_link(tmp_path, name, header):
    """Whether its words are known or not, with all columns of the rows."""
    separator = next(one for one in ",|\t" if one in header)
    rows = [separator.join([str(i), *["x"] * (header.count(separator) - 1), str(100 + i)]) for i in range(10)]
    write(tmp_path, {name: "\n".join([header, *rows]) + "\n"})
    parts, warnings = split_file(tmp_path / name, tmp_path / "out", THIRDS)
    assert sum(part.n_links for part in parts.values()) == 10
    found = [part.path.read_text().splitlines() for part in parts.values()]
    assert {lines[0] for lines in found} == {header} and sorted(row for lines in found for row in lines[1:]) == rows
    unknown = "source" not in header
    bars = [": separated by bars (|)"] * (separator == "|")
    ends = [*bars, *["is read as a header, not as a link"] * unknown]
    assert all(warning.endswith(end) for warning, end in zip(warnings, ends, strict=True))
    again, _ = split_file(parts["train"].path, tmp_path / "again", {"train": 1.0})
    assert again["train"].n_links == parts["train"].n_links


def test_a_first_link_stays_a_link(tmp_path):
    write(tmp_path, {"l.tsv": "Rome\tRoma\nParis\tParigi\n"})
    parts, warnings = split_file(tmp_path / "l.tsv", tmp_path / "out", {"train": 1.0})
    assert parts["train"].n_links == 2 and warnings == ()


FRAME = pd.DataFrame({"note": range(10), "target": [t for _, t in LINKS], "source": [s for s, _ in LINKS]})


@pytest.mark.parametrize("given", [LINKS, FRAME, dict(LINKS), np.array(LINKS, dtype=object)])
def test_links_in_memory_are_dealt_out_as_those_of_a_file(tmp_path, given):
    write(tmp_path, {"l.tsv": "".join(f"{s}\t{t}\n" for s, t in LINKS)})
    of_file, found = split_links(tmp_path / "l.tsv", THIRDS), split_links(given, THIRDS)
    pairs = [
        {name: part[["source", "target"]].to_numpy().tolist() for name, part in one.items()} for one in (of_file, found)
    ]
    assert pairs[0] == pairs[1] and [*found] == ["train", "valid", "test"]
    assert [one for part in pairs[0].values() for one in part] != [*map(list, LINKS)]
    assert split_links(given, {"train": 0.5, "valid": 0.0, "test": 0.5}).keys() == {"train", "test"}


def test_a_data_frame_keeps_its_columns_and_its_parts_are_links(tmp_path):
    parts = split_links(FRAME, THIRDS, out=tmp_path / "out")
    assert all([*part.columns] == [*FRAME.columns] for part in parts.values())
    assert pd.concat(parts.values()).sort_index().equals(FRAME)
    written = (tmp_path / "out" / "test_links.csv").read_text().splitlines()
    assert written[0] == "source,target" and len(written) == 5
    source, target = ([(one[side], "r", LINKS[0][side]) for one in LINKS[1:]] for side in range(2))
    task = load_task(source=source, target=target, links=parts["train"], test_links=parts["test"])
    assert (len(task.train) + len(task.valid), len(task.test)) == (4, 4)


def test_rejected_pairs_of_a_file_are_no_links_in_memory(tmp_path, caplog):
    write(tmp_path, {"l.sssom.tsv": SSSOM})
    assert sum(len(part) for part in split_links(tmp_path / "l.sssom.tsv", THIRDS).values()) == 10
    write(tmp_path, {"h.csv": "D1|D2\n1|2\n3|4\n"})
    with caplog.at_level("WARNING"):
        split_links(tmp_path / "h.csv", {"train": 1.0})
    assert "read as a header" in caplog.text


@pytest.mark.parametrize(
    "given, said", [([], "not 0"), (["a.tsv", "b.tsv"], "not 2"), (5, "links: an object of type int")]
)
def test_what_is_no_links_is_named(given, said):
    with pytest.raises(DataError, match=said):
        split_links(given)
