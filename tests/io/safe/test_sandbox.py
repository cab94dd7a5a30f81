"""Parsers in a process of their own: what they say, how they end, and that nothing is left of them."""

from __future__ import annotations

import gzip
import io
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from decimal import Decimal
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from processes import alive, children, start, wait_until
from small_files import E, graph_of, parquet, triples_of

from mixtea.io.formats import typed_tables
from mixtea.io.formats.typed_tables import ColumnRequest, read_parquet
from mixtea.io.rdf.parse import Statements, find_line
from mixtea.io.safe import open as opening
from mixtea.io.safe import sandbox as process
from mixtea.io.safe.limits import Limits, UnreadableError, use_limits
from mixtea.io.safe.sandboxed import parquet_child, rdf_child, restrict
from mixtea.io.safe.sandboxed.restrict import WrongError
from mixtea.io.safe.sandboxed.xml_scan import XmlScan

RDF = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://e/">'
XML = dict(max_nesting=5, max_columns=4, max_token=1000, max_expansion=100)
TTL = "@prefix e: <a:> .\ne:a e:b e:c ,\n [] . e:d e:e 'x' .\n"
WANTED = {"format": "TURTLE", "base": None, "by_line": False, "mend": False, "xml": XML, "mib": 500, "seconds": 5}


def child(content, **wanted):
    """What the child makes of the content, in this process."""
    out = io.BytesIO()
    found = rdf_child.parse(WANTED | wanted, io.BytesIO(content.encode()), out, lambda n: None)
    return out.getvalue().decode().splitlines(), found


def test_statements_become_lines_with_their_numbers_if_wanted():
    lines, found = child(TTL)
    assert len(lines) == 3 and found == {"prefixes": {"e": "a:"}, "ids": {}} and lines[0] == "<a:a> <a:b> <a:c> ."
    numbered, _ = child(TTL, by_line=True)
    assert [line.partition("\t")[0] for line in numbered] == ["2", "3", "3"]
    assert [line.partition("\t")[2] for line in numbered][::2] == lines[::2]


@pytest.mark.parametrize(
    "wanted, content, about",
    [
        ({}, TTL + "x", {"what": "syntax", "line": 4, "column": 1}),
        ({}, f"{TTL}<a:a> <a:b> '{'x' * (17 << 20)}' .", {"limit": "max_token_mib", "line": 4}),
        ({"format": "RDF_XML"}, f"{RDF}\n\n<a></b>", {"what": "syntax", "line": None, "column": None}),
        ({"format": "RDF_XML", "by_line": True}, f"{RDF}\n\n<a></b>", {"what": "syntax", "line": 3, "column": None}),
        ({"format": "RDF_XML"}, f"{RDF}\n<a/><a/>\n</rdf:RDF> <b>" + " " * 5000 + "</b>" * 10**6, {"what": "syntax"}),
    ],
)
def test_what_is_wrong_is_told_with_its_line(wanted, content, about):
    with pytest.raises(WrongError) as caught:
        child(content, **wanted)
    assert about.items() <= caught.value.about.items()


def test_prefixes_that_nobody_knows_are_not_sent():
    assert dict(rdf_child.short_prefixes({"b": "x", "a": "y" * 3000, "c": "z"})) == {"b": "x", "c": "z"}
    assert dict(rdf_child.short_prefixes({str(i): "x" for i in range(20_000)})) == {}
    reader = rdf_child.Reader(io.BytesIO(b"a\nb"), False, None, lambda n: None)
    assert (reader.read(), reader.line) == (b"a\nb", 2)


@pytest.mark.parametrize(
    "content, limit",
    [
        (RDF + "<a>" * 5, "max_nesting"),
        (RDF + "<a b='' c='' d='' e='' f=''/>", "max_columns"),
        (f"<!DOCTYPE r [<!ENTITY a '{'x' * 600}'><!ENTITY a 'y'><!ENTITY b '&a;&a;'>]>", "max_token_mib"),
        ("<!DOCTYPE r [" + "".join(f"<!ENTITY e{i} 'x'>" for i in range(5)) + "]>", "max_columns"),
        (f"<!DOCTYPE r [<!ENTITY a '{'x' * 900}'>]>{RDF}" + "<a>&a;</a>" * 200, "max_expansion"),
        (RDF + "<!-- " + "x" * 1001, "max_token_mib"),
    ],
)
def test_xml_that_hurts_its_parser_is_noticed_first(content, limit):
    with pytest.raises(WrongError) as caught:
        XmlScan(**XML).checked(content.encode())
    assert caught.value.about["limit"] == limit and caught.value.about["line"] == 1


SPACES = " ".join(f"xmlns:p{i}='a:'" for i in range(9_000))
NAMES = " ".join(f"a{i}=''" for i in range(9_000))


@pytest.mark.parametrize("content", [RDF + f"<a {SPACES}>" + "<a/>\n" * 10**5, RDF + f"<a {NAMES}/>\n" * 10])
def test_attributes_and_namespaces_that_take_long_together(content):
    scan = XmlScan(**XML | {"max_columns": 10_000, "max_token": 10**6})
    with pytest.raises(WrongError, match="elements that take long, the last with") as caught:
        for place in range(0, len(content), 10**5):
            scan.checked(content[place : place + 10**5].encode())
    assert caught.value.about["limit"] == "max_columns" and caught.value.about["line"] > 5


def test_namespaces_count_where_they_are_in_scope():
    scan = XmlScan(**XML | {"max_columns": 10_000})
    few = " ".join(f"xmlns:p{i}='a:'" for i in range(200))
    scan.checked((RDF + f"<a {few}><b {few}/></a>\n" * 1000).encode())
    assert scan.n_bound == 2 and scan.depth == 1


def test_the_name_of_an_entity_is_cut():
    with pytest.raises(WrongError) as caught:
        XmlScan(**XML).checked(f"<!DOCTYPE r [<!ENTITY {'a' * 10**5} '{'x' * 1001}'>]>".encode())
    assert len(str(caught.value)) < 200


def test_entities_that_grow_in_tags_are_noticed_by_expat():
    scan = XmlScan(**XML | {"max_token": 1 << 24})
    content = f"<!DOCTYPE r [<!ENTITY a '{'x' * 10**5}'>]>{RDF}" + "<a b='&a;'></a>" * 500
    with pytest.raises(WrongError, match="entities that grow"):
        scan.checked(content.encode())


def test_entities_as_ontologies_have_them_are_read(tmp_path):
    content = f'<!DOCTYPE r [<!ENTITY e "{E}"><!ENTITY f "&e;f/">]>{RDF}'
    content += '<rdf:Description rdf:about="&e;a"><r rdf:resource="&f;b"/><s>&f; &amp;</s></rdf:Description></rdf:RDF>'
    assert triples_of(graph_of(tmp_path, {"g.owl": content})) == [(E + "a", "http://e/r", E + "f/b")]
    assert XmlScan(**XML).checked(b'<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><r>&e;</r>')


def test_xml_that_is_not_well_formed_and_that_the_parser_takes(tmp_path):
    with pytest.raises(WrongError, match="not well-formed XML"):
        scan = XmlScan(**XML)
        assert len(scan.checked(RDF.encode() + b"<a></b>" + bytes(10_000))) < 5000
        scan.checked(b"")


def test_the_box(monkeypatch, capsys):
    limits, timers = [], []
    monkeypatch.setattr(resource, "setrlimit", lambda what, value: limits.append((what, value)))
    monkeypatch.setattr(signal, "setitimer", lambda *args: timers.append(args))
    monkeypatch.setattr(signal, "signal", lambda *args: None)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (7, 10**15))
    used = iter([10.0, 10.0, 11.5, 13.9, 14.0, 20.0])
    monkeypatch.setattr(time, "process_time", lambda: next(used))
    go_on = restrict.restrict(100, 2.0)
    for n in (0, restrict.BYTES_PER_GRANT, restrict.BYTES_PER_GRANT, 0):
        go_on(n)  # what is left of 2 seconds, then of 4, of 6 and of 6, but never more than 2
    assert [seconds for _, seconds in timers] == pytest.approx([2.0, 0.5, 0.1, 2.0, restrict.MIN_SECONDS])
    assert (
        {which for which, _ in timers} == {signal.ITIMER_PROF}
        and limits[0][1][0] > 100 << 20
        and limits[1][1] == (0, 10**15)
    )
    monkeypatch.setattr(resource, "getrlimit", lambda _: (7, resource.RLIM_INFINITY))
    monkeypatch.setattr(restrict, "STATUS", "/no/such/file")
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    restrict.restrict(100, 2.0)
    assert limits[2:] == [(resource.RLIMIT_CORE, (0, resource.RLIM_INFINITY))]
    monkeypatch.setitem(sys.modules, "resource", None)
    assert restrict.restrict(100, 2.0)(1) is None
    monkeypatch.setattr(sys, "argv", ["x", '{"a": 1}'])

    def wrong(_):
        raise WrongError("bad", line=3)

    def unwanted(_):
        raise BrokenPipeError

    assert (restrict.run(lambda wanted: wanted), restrict.run(wrong), restrict.run(unwanted)) == (
        0,
        restrict.FILE_ERROR,
        0,
    )
    assert capsys.readouterr().err == '\n{"a": 1}\n{"what": "bad", "line": 3}'
    ended = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setitem(sys.modules, "numpy", sys.modules["numpy"])
    for without, work in ((False, lambda wanted: wanted), (True, wrong)):
        monkeypatch.setattr(sys, "argv", ["x", f'{{"without_numpy": {str(without).lower()}}}'])
        restrict.main(work)
        assert (sys.modules["numpy"] is None) == without
    assert ended == [0, restrict.FILE_ERROR]


def test_the_work_of_a_child_from_end_to_end(tmp_path, monkeypatch):
    """In this process, with files in place of its streams."""
    told = []
    monkeypatch.setattr(rdf_child, "restrict", lambda *_: told.append)
    (tmp_path / "in").write_text(TTL)
    with (tmp_path / "in").open() as source, (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdin", source)
        monkeypatch.setattr(sys, "stdout", out)
        assert rdf_child.work(WANTED) == {"prefixes": {"e": "a:"}, "ids": {}}
    assert (tmp_path / "out").read_text().count("\n") == 3
    assert told == [len(TTL), (tmp_path / "out").stat().st_size]


HOW = {
    "import os, signal; os.kill(os.getpid(), signal.SIGPROF)": "got nowhere for 3 seconds, .*: beyond the limit max_st",
    "print('memory allocation of 5 bytes failed', file=sys.stderr); sys.exit(6)": "more than 640 MiB: beyond",
    "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)": r"its parser crashed on it \(SIGSEGV\)",
    "print('warning', end='{}', file=sys.stderr)": r"its parser crashed on it \(exit code 0\)",
    "print('5', file=sys.stderr)": r"its parser crashed on it \(exit code 0\)",
    "raise SystemExit(5)": r"crashed on it \(exit code 5\)",
    "print('<a:a> <a:b>'); print('{}', file=sys.stderr)": "not Turtle: .*",
    "[print('x ' * 9999) for _ in range(9999)]": "not Turtle: its parser crashed on it",
}


@pytest.mark.parametrize("how", HOW)
def test_however_a_process_ends_it_is_explained(how, tmp_path, monkeypatch):
    monkeypatch.setattr(process, "BOOTSTRAP", f"import sys; {how}")
    (tmp_path / "g.ttl").write_text(TTL * 100_000)
    with pytest.raises(UnreadableError, match=HOW[how]):
        list(Statements(tmp_path / "g.ttl", "Turtle"))


def test_nothing_is_left_of_a_process(tmp_path):
    (tmp_path / "g.ttl").write_text(TTL * 100_000)
    before = children(os.getpid())
    assert next(iter(Statements(tmp_path / "g.ttl", "Turtle"))).subject.value == "a:a"
    assert find_line(tmp_path / "g.ttl", "Turtle", wanted=lambda quad: quad.predicate.value == "a:e") == 3
    assert children(os.getpid()) == before and Statements(tmp_path, "RDF/XML", by_line=True)._line_of_error() is None
    program = (
        "import sys; from pathlib import Path; from mixtea.io.rdf.parse import Statements\n"
        "quads = iter(Statements(Path(sys.argv[1]), 'Turtle')); next(quads); print(flush=True); sys.stdin.read()"
    )
    parent = start([sys.executable, "-c", program, tmp_path / "g.ttl"], stdin=-1, stdout=-1)
    parent.stdout.readline()
    started = children(parent.pid)
    parent.kill()
    parent.wait()
    assert started
    wait_until(lambda: not any(map(alive, started)))


def test_a_parser_that_gets_nowhere_is_stopped(tmp_path):
    (tmp_path / "g.rdf").write_text(
        RDF + "<a xmlns:e='http://e/' " + " ".join(f"e:a{i}=''" for i in range(60_000)) + "/></rdf:RDF>"
    )
    with (
        use_limits(Limits(max_columns=10**6, max_stall_seconds=0.2)),
        pytest.raises(UnreadableError, match="got nowhere"),
    ):
        list(Statements(tmp_path / "g.rdf", "RDF/XML"))


def test_a_prefix_that_makes_a_file_grow(tmp_path, monkeypatch):
    (tmp_path / "g.ttl").write_text(f"@prefix p: <a:{'x' * 10**5}> .\n" + "p: p: p: .\n" * 1000)
    with pytest.raises(UnreadableError, match=r"bytes become .*: beyond the limit max_expansion"):
        list(Statements(tmp_path / "g.ttl", "Turtle"))


NOT_STARTED = {
    "a folder": (tempfile, "TemporaryFile", FileNotFoundError(2, "No such file"), "no file in a tem.*TMPDIR="),
    "a process": (subprocess, "Popen", BlockingIOError(11, "Try again"), "no process .*ulimit -u"),
    "a thread": (Thread, "start", RuntimeError("can't start new thread"), "no thread .*Free memory"),
}  # fmt: skip


@pytest.mark.parametrize("missing", NOT_STARTED)
def test_what_parsing_needs_and_the_machine_does_not_give(missing, tmp_path, monkeypatch):
    where, name, error, message = NOT_STARTED[missing]
    (tmp_path / "g.ttl").write_text("<a:a> <a:b> <a:c> .")

    def fails(*_, **__):
        raise error

    monkeypatch.setattr(where, name, fails)
    with pytest.raises(UnreadableError, match=f"g.ttl: parsing it needs a process of its own: {message}"):
        list(Statements(tmp_path / "g.ttl", "Turtle"))


@pytest.mark.parametrize("encoding", ["EUC-JP", "UTF-32", "nonsense", "ISO-8859-1"])
def test_xml_in_another_encoding(encoding, tmp_path):
    (tmp_path / "g.rdf").write_text(f'<?xml version="1.0" encoding="{encoding}"?>\n<a/>')
    with pytest.raises(UnreadableError, match=r"line 1: not RDF/XML: Only UTF-8 is supported .* Save the file"):
        list(Statements(tmp_path / "g.rdf", "RDF/XML"))
    if encoding != "ISO-8859-1":
        with pytest.raises(WrongError, match="Only UTF-8"):
            XmlScan(**XML).checked((tmp_path / "g.rdf").read_bytes())


COLUMNS = {
    "n": 2, "headers": [("source", "target")], "max_token": 10**6, "max_bytes": 10**8, "max_columns": 5,
    "max_rows": 100, "bytes_limit": "max_expansion", "mib": 500, "seconds": 5.0, "without_numpy": False,
}  # fmt: skip
PAIRS = {"x": ["0", "1"], "source": ["a", None], "target": [1, 2]}


def parquet_columns(path, headers):
    return read_parquet(path, ColumnRequest(headers)).columns


def parquet_work(tmp_path, monkeypatch, content, **wanted):
    """What the child makes of a file, in this process: the rows, or what is wrong."""
    monkeypatch.setattr(parquet_child, "restrict", lambda *_: lambda n: None)
    (tmp_path / "in").write_bytes(content)
    with (tmp_path / "in").open() as source, (tmp_path / "out").open("w") as out:
        monkeypatch.setattr(sys, "stdin", source)
        monkeypatch.setattr(sys, "stdout", out)
        try:
            assert parquet_child.work(COLUMNS | wanted) == {}
        except WrongError as error:
            return error.about
    return pa.ipc.open_stream((tmp_path / "out").read_bytes()).read_all().to_pylist()


def lying(rows):
    """A table whose footer says so many rows."""
    content = parquet({"source": ["a"] * 77, "target": ["b"] * 77})
    about = bytearray(content)
    place = content.rindex(b"\x16\x9a\x01\x19\x1c")  # the rows of all groups, in the footer
    about[place + 1 : place + 3] = bytes([(2 * rows & 127) | 128, 2 * rows >> 7])
    return bytes(about)


def test_parquet_in_the_child(tmp_path, monkeypatch):
    def found(content, **wanted):
        return parquet_work(tmp_path, monkeypatch, content, **wanted)

    assert found(parquet(PAIRS)) == [{"c0": "a", "c1": "1"}, {"c0": "", "c1": "2"}]
    assert found(parquet(PAIRS), headers=[("no", "such")]) == [{"c0": "0", "c1": "a"}, {"c0": "1", "c1": ""}]
    few = parquet(PAIRS, source=pa.dictionary(pa.int8(), pa.string()))  # as pandas writes categories
    assert found(few) == [{"c0": "a", "c1": "1"}, {"c0": "", "c1": "2"}]
    for places in (pa.uint8(), pa.uint16(), pa.uint32()):
        unsigned = parquet(PAIRS, source=pa.dictionary(places, pa.string()))
        assert found(unsigned) == [{"c0": "a", "c1": "1"}, {"c0": "", "c1": "2"}]
    assert found(b"")["what"] == "it is empty"
    assert found(b"PAR1")["what"] == "it does not begin and end as Parquet does"
    assert found(b"PAR1" + bytes(20) + b"\xff\xff\0\0PAR1")["what"] == "its footer would be longer than the file"
    assert found(parquet(PAIRS), max_token=100)["limit"] == "max_token_mib"
    long = parquet({"source": ["a" * 10**5], "target": ["b"]})
    assert found(long, max_token=50_000)["limit"] == "max_token_mib" and found(long)[0]["c1"] == "b"
    assert found(parquet(PAIRS), max_columns=2)["what"] == "3 columns"
    assert found(parquet({"x": ["a"]})) == {"what": "columns", "names": ["x"]}
    assert found(parquet(PAIRS | {"source": [0.5, 1]})) == {"what": "type", "name": "source", "type": "double"}
    assert found(parquet(PAIRS), max_rows=1)["limit"] == "max_rows"
    assert found(parquet(PAIRS), max_bytes=20)["limit"] == "max_expansion"
    assert found(lying(70))["what"] == "more rows than its footer states"
    damaged = bytearray(parquet(PAIRS))
    damaged[-300:-200] = bytes(100)
    assert isinstance(found(bytes(damaged)), dict)
    long = found(parquet({"x" * 10**5: [{"y" * 10**5: 1}], "z": ["a"]}))
    assert long["what"] == "type" and len(long["name"]) == len(long["type"]) == 400
    assert found(parquet({"x" * 10**5: ["a"]}))["names"] == ["x" * 400]
    monkeypatch.setattr(pq, "ParquetFile", lambda _: (_ for _ in ()).throw(OverflowError("x" * 10**5)))
    assert found(parquet(PAIRS)) == {"what": "x" * 400}
    monkeypatch.setattr(pq, "ParquetFile", lambda _: (_ for _ in ()).throw(pa.ArrowMemoryError))
    with pytest.raises(MemoryError):
        found(parquet(PAIRS))


def test_all_columns_of_parquet_in_the_child(tmp_path, monkeypatch):
    """Where no header fits: with their names and kinds, and with values that are no labels."""

    def found(columns, **types):
        return parquet_work(tmp_path, monkeypatch, parquet(columns, **types), or_all=True)

    values = {"a": [True, None], "b": [0.5, 5], "c": [datetime(2020, 1, 31), None], "d": [None, None]}
    assert found(values) == [
        {"a": "true", "b": "0.5", "c": "2020-01-31 00:00:00.000000", "d": ""}, {"a": "", "b": "5", "c": "", "d": ""},
    ]  # fmt: skip
    schema = pa.ipc.open_stream((tmp_path / "out").read_bytes()).schema
    assert [field.metadata[b"kind"] for field in schema] == [b"truth", b"float", b"moment", b"other"]
    assert found({"a": [0.5]}, a=pa.dictionary(pa.int8(), pa.float64())) == [{"a": "0.5"}]
    assert found({"a": [Decimal("0.50")]}) == [{"a": "0.50"}]
    assert found(PAIRS) == [{"source": "a", "target": "1"}, {"source": "", "target": "2"}]
    assert found({"a": [[1]]})["what"] == found({"a": [1]}, a=pa.duration("s"))["what"] == "type"
    assert found({}) == {"what": "columns", "names": []}
    table = pa.Table.from_arrays([pa.array(["x"])] * 2, ["a", "a"])
    pq.write_table(table, tmp_path / "twice")
    twice = parquet_work(tmp_path, monkeypatch, (tmp_path / "twice").read_bytes(), or_all=True)
    assert twice == {"what": "two columns named a", "todo": "Name each column once."}


def test_a_large_file_gets_more_memory(tmp_path, monkeypatch):
    """Of labels that are all different: a plain column is read in parts, a dictionary of them held as a whole."""
    names = [f"http://example.org/resource/{i * 7919:012d}" for i in range(600_000)]
    table, headers = pa.table({"source": names, "target": names}), [("source", "target")]
    pq.write_table(table, tmp_path / "plain.parquet", use_dictionary=False, row_group_size=len(names))
    pq.write_table(table, tmp_path / "whole.parquet", dictionary_pagesize_limit=1 << 30, row_group_size=len(names))
    with use_limits(Limits(max_parser_mib=100)):
        assert parquet_columns(tmp_path / "whole.parquet", headers)[1].tolist() == names
        monkeypatch.setattr(typed_tables, "MEMORY_PER_BYTE", 0)
        assert parquet_columns(tmp_path / "plain.parquet", headers)[1].tolist() == names
        with pytest.raises(UnreadableError, match="needs more than 100 MiB: beyond the limit max_parser_mib"):
            parquet_columns(tmp_path / "whole.parquet", headers)


def test_rows_below_nothing():
    class About:
        num_columns, num_rows, num_row_groups = 2, -1, 0

    with pytest.raises(WrongError, match="negative"):
        parquet_child.check_size(About, pa.schema([("source", "string"), ("target", "string")]), 9, COLUMNS)


def test_a_parquet_stream_that_is_cut(tmp_path, monkeypatch):
    (tmp_path / "g.parquet").write_bytes(parquet(PAIRS))
    monkeypatch.setattr(process, "BOOTSTRAP", "import sys; print('{}', file=sys.stderr)")
    with pytest.raises(UnreadableError, match=r"not Parquet \(damaged\)"):
        parquet_columns(tmp_path / "g.parquet", [("source", "target")])
    monkeypatch.setattr(process, "BOOTSTRAP", "pass")
    with pytest.raises(UnreadableError, match=r"crashed on it \(exit code 0\)"):
        parquet_columns(tmp_path / "g.parquet", [("source", "target")])


def stream_of(kind, codes, texts, field="c0", about=None):
    """Arrow's stream of one column, whatever it holds."""
    out, codes = io.BytesIO(), pa.array(codes, pa.int32())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(texts, kind), safe=False)
    schema = pa.schema([pa.field(field, column.type, metadata=about)])
    with pa.ipc.new_stream(out, schema) as stream:
        stream.write_batch(pa.record_batch([column], schema=schema))
    return out.getvalue()


LARGE = pa.large_string()
FALSE_STREAMS = {
    "beyond its texts": stream_of(LARGE, [0, 5], ["a"]), "below them": stream_of(LARGE, [-2], ["a"]),
    "no text": stream_of(LARGE, [0, None], ["a"]), "another type": stream_of(pa.int64(), [0], [1]),
    "a cell of no type": stream_of(LARGE, [0], ["?5"], about={"kind": "cells"}),
    "a number that is none": stream_of(LARGE, [0], ["nx"], about={"kind": "cells"}),
    "cut": stream_of(LARGE, [0], ["a" * 500])[:-300], "nothing": b"",
}  # fmt: skip


@pytest.mark.parametrize("case", FALSE_STREAMS)
def test_nothing_that_a_child_hands_over_is_taken_for_granted(case, tmp_path, monkeypatch):
    (tmp_path / "g.parquet").write_bytes(parquet(PAIRS))
    (tmp_path / "stream").write_bytes(FALSE_STREAMS[case])
    program = "import sys; sys.stdout.buffer.write(open({!r}, 'rb').read()); print('{{}}', file=sys.stderr)"
    monkeypatch.setattr(process, "BOOTSTRAP", program.format(str(tmp_path / "stream")))
    with pytest.raises(UnreadableError, match=r"not Parquet \(damaged\)"):
        parquet_columns(tmp_path / "g.parquet", [("source",)])


def test_packed_parquet_is_looked_at_before_it_is_unpacked(tmp_path, monkeypatch):
    headers, path = [("source", "target")], tmp_path / "g.parquet.gz"
    path.write_bytes(gzip.compress(parquet(PAIRS)))
    assert parquet_columns(path, headers)[0].tolist() == ["a", ""]

    class Full(io.BytesIO):
        """A disk that takes a little, and then nothing more."""

        def write(self, data):
            if self.tell():
                raise OSError(28, "No space left on device")
            return super().write(data[:10])

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    with pytest.raises(UnreadableError, match=rf"temporary folder {tempfile.gettempdir()} \(No space left") as caught:
        parquet_columns(path, headers)
    assert "TMPDIR" in str(caught.value)
    path.write_bytes(gzip.compress(b"head,relation,tail\n" * 1000))
    with pytest.raises(UnreadableError, match="it does not begin as Parquet does"):
        parquet_columns(path, headers)


def test_a_packed_file_that_is_cut_while_it_is_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "FREE_BYTES", 10_000)
    lines = "".join(f"<a:{i}> <a:b> <a:{i * 7919 % 10007}> .\n" for i in range(10_000))
    (tmp_path / "g.ttl.gz").write_bytes(gzip.compress(lines.encode())[:-100])
    with pytest.raises(UnreadableError, match="the gzip data ends in the middle"):
        list(Statements(tmp_path / "g.ttl.gz", "Turtle"))
    (tmp_path / "g.ttl.gz").write_bytes(gzip.compress(lines.encode()))
    with use_limits(Limits(max_gib=2**-13)), pytest.raises(UnreadableError, match=r"max_gib=\.\.\. \(now 0\.00012"):
        list(Statements(tmp_path / "g.ttl.gz", "Turtle"))


@pytest.mark.parametrize("cut", ["</rdf:RDF>", "<e:p>text", "</e:p>"])
def test_rdf_xml_that_is_cut_between_tags_is_noticed(tmp_path, cut):
    """Its parser would take what is there for all."""
    head = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">\n'
    one = '<rdf:Description rdf:about="http://e/a"><e:p rdf:resource="http://e/b"/></rdf:Description>\n'
    two = '<rdf:Description rdf:about="http://e/c"><e:p>text</e:p></rdf:Description>\n</rdf:RDF>\n'
    whole = head + one + two
    path = tmp_path / "g.rdf"
    path.write_text(whole)
    assert len(list(Statements(path, "RDF/XML"))) == 2
    path.write_text(whole[: whole.rindex(cut) + (len(cut) if cut != "</rdf:RDF>" else 0)])
    with pytest.raises(UnreadableError, match="the file ends in the middle"):
        list(Statements(path, "RDF/XML"))
    with pytest.raises(WrongError, match="the file ends in the middle"):
        child(path.read_text(), format="RDF_XML")
    assert len(child(whole, format="RDF_XML")[0]) == 2
