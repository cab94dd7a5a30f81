"""Tables are read whatever encoding they have, and it is said; UTF-8 with mistakes stays an error."""

from __future__ import annotations

import gzip

import pytest
from conftest import write
from small_files import graph_of, shown

from mixtea import DataError, load_task
from mixtea.errors import Problems
from mixtea.io.formats.registry import detect_format
from mixtea.io.formats.tsv import text_lines
from mixtea.io.safe.limits import Limits, UnreadableError, use_limits
from mixtea.io.safe.lines import encoding_of, encoding_of_start

TABLE = "id,name,note\n1,Évian,“Café” – déjà vu\n2,Köln,50 €\n3,Rome,\n"
NAMES = {"1": "Évian", "2": "Köln", "3": "Rome"}
ENCODINGS = {
    "utf-8": None, "utf-8-sig": None, "utf-16": "UTF-16", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16",
    "cp1252": "Windows-1252, as it is not UTF-8",
}  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "name, ends", [("g.csv", "\n"), ("g.csv.gz", "\r\n"), ("g.tsv", "\n"), ("g.txt", "\r\n"), ("g", "\n")]
)
def test_a_table_in_any_encoding(encoding, name, ends, tmp_path):
    text = (TABLE if "csv" in name else TABLE.replace(",", "\t")).replace("\n", ends)
    data = text.encode(encoding)
    graph = graph_of(tmp_path, {name: gzip.compress(data) if name.endswith(".gz") else data})
    assert shown(graph) == NAMES and graph.attributes_of(0)[1][1] == "“Café” – déjà vu"
    said = [note for note in graph.files[0].notes if note.startswith("read as ") and "table" not in note]
    assert said == ([f"read as {ENCODINGS[encoding]}"] if ENCODINGS[encoding] else [])


def test_a_big_endian_mark(tmp_path):
    graph = graph_of(tmp_path, {"g.csv": b"\xfe\xff" + TABLE.encode("utf-16-be")})
    assert shown(graph) == NAMES


def test_what_is_not_ascii_may_come_late(tmp_path):
    rows = "".join(f"{i},name {i},\n" for i in range(9, 9000))
    graph = graph_of(tmp_path, {"g.csv": (TABLE[:13] + rows + TABLE[13:]).encode("cp1252")})
    assert shown(graph)["2"] == "Köln" and graph.n_entities == 8994
    assert graph.files[0].notes[0] == "read as Windows-1252, as it is not UTF-8"


NO_WINDOWS = {
    "one bad byte": "é,ö\nü,ß\n".encode() + b"a\xe9,b\n",
    "Cyrillic": "Москва,город\n".encode("cp1251"),
    "Japanese": "東京,駅\n".encode("shift-jis"),
    "undefined": b"caf\xe9,\x81\n",
    "a control character": b"caf\xe9,\x02\n",
    "no letters": b"a\xff,b\n",
    "UTF-8": "é,ö\n".encode(),
    "ASCII": b"a,b\n",
}


@pytest.mark.parametrize("kind", NO_WINDOWS)
def test_what_is_not_windows_1252(kind, tmp_path):
    assert encoding_of(write(tmp_path, {"t.csv": NO_WINDOWS[kind]}) / "t.csv") == "utf-8"


@pytest.mark.parametrize("kind", ["one bad byte", "Cyrillic"])
def test_it_is_told_with_its_line(kind, tmp_path):
    with pytest.raises(DataError, match=r"line \d: byte .. is not UTF-8 in"):
        graph_of(tmp_path, {"g.csv": b"source,relation,target\n" + NO_WINDOWS[kind]})


def test_line_numbers_and_limits_in_utf_16(tmp_path):
    text = "head\trelation\ttail\na\tr\tb\na\tr\n".encode("utf-16")
    with pytest.raises(DataError, match="line 3: 2 columns"):
        graph_of(tmp_path, {"g.tsv": text})
    path = write(tmp_path, {"t.txt": ("a\tb\n" + "c" * (1 << 20) + "\td\n").encode("utf-16")}) / "t.txt"
    with use_limits(Limits(max_token_mib=1)), pytest.raises(UnreadableError, match="line 2: more than 1 MiB long"):
        list(text_lines(path, Problems(), "utf-16-le"))


def test_utf_16_that_is_broken(tmp_path):
    for data in (TABLE.encode("utf-16") + b"\x00", TABLE.encode("utf-16") + b"\x00\xd8\n\x00"):
        with pytest.raises(DataError, match=r"not UTF-16 throughout \(.*\)\. Save the file as UTF-8"):
            graph_of(tmp_path, {"g.csv": data})


def test_other_formats_are_utf_8_alone(tmp_path):
    for name, text in (("g.ttl", "@prefix : <http://a.org/> .\n:a :b :c .\n"), ("g.jsonl", '{"id": 1, "b": 2}\n' * 3)):
        with pytest.raises(UnreadableError, match="UTF-16 text, which is not UTF-8"):
            detect_format(write(tmp_path, {name: text.encode("utf-16")}) / name)
    with pytest.raises(DataError, match="not UTF-8"):
        graph_of(tmp_path, {"g.jsonl": '{"id": "é", "b": "c"}\n'.encode("cp1252")})


def test_nuls_alone_make_no_utf_16(tmp_path):
    assert encoding_of_start(b"\x01\x00" * 20) == encoding_of_start(b"a\x00" * 20 + b"\x00\xd8a\x00") == "utf-8"
    with pytest.raises(UnreadableError, match="UTF-16 text"):
        detect_format(write(tmp_path, {"g.tsv": b"\x01\x00" * 20}) / "g.tsv")


def test_links_and_sssom(tmp_path):
    sides = {"s.csv": "id,name\né,a\nb,b\n", "t.csv": "id,name\nö,x\ny,y\n"}
    links = {
        "l.csv": "source,target\né,ö\n".encode("cp1252"),
        "l.sssom.tsv": "subject_id\tpredicate_id\tobject_id\né\towl:sameAs\tö\n".encode("utf-16"),
    }
    write(tmp_path, sides | links)
    for name in links:
        task = load_task(source=tmp_path / "s.csv", target=tmp_path / "t.csv", links=tmp_path / name)
        assert task.train.tolist() == [[0, 0]] and any("l." in one and "read as" in one for one in task.warnings)


def test_files_of_names_and_synonyms(tmp_path):
    files = {
        "s.csv": "id,name\n1,Wien\n2,b\n", "t.csv": "id,name\n1,x\n2,y\n",
        "names.csv": "id#name\n1#Köln\n2#Évian\n".encode("cp1252"),
        "words.csv": "word,translation\nWien,Vienne l'été\n".encode("utf-16"),
        "same.tsv": "café\tthé\n".encode("utf-16-le"),
    }  # fmt: skip
    write(tmp_path, files)
    task = load_task(
        source=tmp_path / "s.csv", target=tmp_path / "t.csv", links=[("1", "1")], names_target=tmp_path / "names.csv",
        dictionary=tmp_path / "words.csv", synonyms=tmp_path / "same.tsv",
    )  # fmt: skip
    assert ("Évian", "") in task.target.labels_of(1) and any("été" in text for text, _ in task.source.labels_of(0))
    assert task.synonyms == (("café", "thé"),)
    said = [one.rpartition("/")[2] for one in task.warnings]
    assert [one for one in said if one[0] in "nw"] == [
        "names.csv: separated by #", "names.csv: read as Windows-1252, as it is not UTF-8", "words.csv: read as UTF-16",
    ]  # fmt: skip
