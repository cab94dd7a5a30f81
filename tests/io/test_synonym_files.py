"""Files of synonyms: groups that can be read, and one message for all that cannot."""

from __future__ import annotations

import copy
import gzip
from dataclasses import replace

import numpy as np
import pytest
from conftest import LINKS, SOURCE, TARGET, benchmark_files, write

from mixtea import DataError, load_task
from mixtea.graph.fingerprint import checksum
from mixtea.io.safe.limits import Limits
from mixtea.review.learning import merge_decisions


@pytest.fixture
def own(tmp_path):
    """Load two small graphs with files of synonyms of this content."""

    def load(*contents, **options):
        files = {f"s{i}.tsv": content for i, content in enumerate(contents)}
        write(tmp_path, {"source.tsv": SOURCE, "target.tsv": TARGET, "links.tsv": LINKS} | files)
        graphs = {name: tmp_path / f"{name}.tsv" for name in ("source", "target", "links")}
        return load_task(**graphs | {"synonyms": [tmp_path / name for name in files]} | options)

    return load


def test_a_group_per_line(own):
    task = own("# words\nFe\tIron\n\nwave-number\tWavenumber (1/cm)\tκ\n\t\t\nx y\t\tX\n")
    assert task.synonyms == (("fe", "iron"), ("wave number", "wavenumber", "κ"), ("x", "x y")) and task.warnings == ()


def test_several_files_and_lines_are_joined(own):
    task = own("c\td\r\na\tb\r\n", "e\tD\nz\ty\n", "b\tE\n")
    assert task.synonyms == (("a", "b", "c", "d", "e"), ("y", "z"))


def test_a_packed_file_or_one_of_another_ending(own, tmp_path):
    write(tmp_path, {"s.txt.gz": gzip.compress(b"fe\tiron\n"), "s.csv": "fe\tferrum\n", "s": "\ufeff# x\na\tb\n"})
    paths = [tmp_path / name for name in ("s.txt.gz", "s.csv", "s")]
    assert own(synonyms=paths).synonyms == (("a", "b"), ("fe", "ferrum", "iron"))
    assert own(synonyms=str(paths[0])).synonyms == (("fe", "iron"),) and own(synonyms=None).synonyms == ()


def test_a_benchmark_folder_takes_them_too(tmp_path):
    folder = write(tmp_path / "f", benchmark_files() | {"s.tsv": "fe\tiron\n"})
    assert load_task(folder, synonyms=folder / "s.tsv").synonyms == (("fe", "iron"),)


def test_names_that_are_equal_in_plain_form_are_no_group(own):
    assert own("Iron\tiron\nFe\tferrum\n").synonyms == (("fe", "ferrum"),)


def test_names_that_are_too_long_are_left_out_with_a_warning(own, tmp_path):
    task = own(f"fe\tiron\t{'x' * 201}\na\tb\t{'w ' * 33}\n", f"c\td\t{'y' * 10**6}\n")
    assert task.synonyms == (("a", "b"), ("c", "d"), ("fe", "iron"))
    longest = "left out, with more than 200 characters or 32 words"
    assert task.warnings == (
        f"{tmp_path / 's0.tsv'}: 2 names are {longest}", f"{tmp_path / 's1.tsv'}: 1 name is {longest}"
    )  # fmt: skip


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "the file is empty. Write two names or more in a line, separated by tabs."),
        ("# nothing\n\n \n", "the file is empty"),
        ("a\tb\niron\n", "line 2: only one name that can be read in 'iron'. Write two names or more in a line"),
        ("a\tb\n\n#\niron\t...\n", r"line 4: only one name that can be read in 'iron\t...'"),
        ("...\t()\n", r"line 1: no name that can be read in '...\t()'"),
        (f"fe\t{'x' * 201}\n", "line 1: only one name that can be read in"),
        ("fe,iron\n", "line 1: only one name that can be read in 'fe,iron'"),
        (b"a\tb\nx\xff\ty\n", "line 2: byte ff is not UTF-8"),
        (b"a\tb\n\x00\t\x00\x00c\n", r"line 2: only one name that can be read in '\x00\t\x00\x00c'"),
        (b"\0" * 100, "line 1: no name that can be read in"),
        ("a\tb\n".encode("utf-16") + b"\0", "not UTF-16 throughout (truncated data)"),
        (b"\x1f\x8b\x08", "compressed with gzip"),
        ("<a:a> <a:b> <a:c> .\n", "N-Triples holds no groups of synonyms"),
        ("a\t" * 20_000, "line 1: 20,001 columns: beyond the limit max_columns"),
        ("a\t" + "b" * (17 << 20), "line 1: more than 16 MiB long: beyond the limit max_token_mib"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file(own, content, message):
    with pytest.raises(DataError) as caught:
        own(content)
    assert "s0.tsv: 1 problem" in str(caught.value) and message in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_all_problems_come_together(own, tmp_path):
    write(tmp_path, {"n.tsv": "x\tX\n"})
    with pytest.raises(DataError) as caught:
        own("a\n\nb\n", "c\td\ne\n", names_source=tmp_path / "n.tsv")
    said = str(caught.value)
    assert "s0.tsv: 2 problems" in said and "line 1: only one name" in said and "1 more like it: line 3 'b'" in said
    assert "s1.tsv: 1 problem" in said and "n.tsv: 1 problem" in said
    with pytest.raises(DataError, match=r"3 problems\n.*\n.*and 2 more like it"):
        own("a\nb\nc\n", limits=Limits(max_problems=20))


def test_what_is_no_file(own, tmp_path):
    with pytest.raises(DataError, match="a folder, where a file is needed"):
        own(synonyms=tmp_path)
    with pytest.raises(DataError, match="no such file"):
        own(synonyms=tmp_path / "nothing.tsv")
    with pytest.raises(DataError, match="synonyms is a path, not an object of type list"):
        own(synonyms=[["fe", "iron"]])


def test_they_are_part_of_the_task(own):
    task, without = own("fe\tiron\n"), own(synonyms=None)
    assert checksum(task) != checksum(without) == checksum(task.replace(synonyms=()))
    assert checksum(own("iron\tFE\n")) == checksum(task) != checksum(own("fe\tiron\na\tb\n"))
    assert copy.deepcopy(task).synonyms == replace(task, name="x").synonyms == task.synonyms
    assert task.replace(synonyms=[["b", "a"], ["c", "b"]]).synonyms == (("a", "b", "c"),)
    reviewed = merge_decisions(task, np.array([[0, 1]]), np.array([False]), np.array([np.nan]))
    assert reviewed.synonyms == task.synonyms and len(reviewed.rejected) == 1
