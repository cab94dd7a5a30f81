"""What is opened: regular files alone, plain or packed, and never more than was asked for."""

from __future__ import annotations

import gzip
import io
import os
import socket
import struct

import pytest
import zstandard

from mixtea.errors import Problems
from mixtea.io.formats.tables import read_table
from mixtea.io.rdf.parse import Statements, by_line, numbered
from mixtea.io.safe import open as opening
from mixtea.io.safe.limits import Limits, UnreadableError, use_limits
from mixtea.io.safe.lines import CHUNK_BYTES, Lines, line_blocks
from mixtea.io.safe.open import GzipFrame, Unpacked, open_input, zstd_frames

ZST = zstandard.ZstdCompressor().compress
NOISE = os.urandom(70_000)


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.nt")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for path in (tmp_path / "pipe.nt", tmp_path / "socket", opening.Path("/dev/zero")):
            with pytest.raises(UnreadableError, match="a pipe, a device or a socket"), open_input(path):
                pass
    with pytest.raises(UnreadableError, match="a folder"), open_input(tmp_path):
        pass
    with pytest.raises(UnreadableError, match="no such file"), open_input(tmp_path / "none"):
        pass
    with pytest.raises(UnreadableError, match=r"cannot be read \(.*null"), open_input(opening.Path("a\0b")):
        pass


def test_a_file_that_becomes_a_pipe_while_it_is_opened(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"")
    as_file = (tmp_path / "file").stat()
    monkeypatch.setattr(opening.Path, "stat", lambda _: as_file)
    with pytest.raises(UnreadableError, match="a pipe"):
        opening.open_regular(tmp_path / "pipe")


def test_what_fails_while_reading_is_told(tmp_path, monkeypatch):
    (tmp_path / "g").write_bytes(b"a")

    def broken(self, buffer):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(opening.LimitedReader, "readinto", broken)
    with pytest.raises(UnreadableError, match=r"cannot be read \(Input/output error\)"), open_input(tmp_path / "g"):
        pass


@pytest.mark.parametrize("pack, frame", [(gzip.compress, GzipFrame), (ZST, zstd_frames())])
@pytest.mark.parametrize("data", [b"", b"x", b"y" * (1 << 22), NOISE])
def test_frames_follow_each_other_with_padding(pack, frame, data, tmp_path):
    whole = pack(data) + pack(b"") + bytes(20_000) + pack(data) + bytes(5)
    assert io.BufferedReader(Unpacked(io.BytesIO(whole), frame)).read() == 2 * data
    for cut in (1, 5, len(pack(data)) - 1):
        with pytest.raises(EOFError):
            Unpacked(io.BytesIO(pack(data)[:cut]), frame).readall()
    with pytest.raises(opening.NotPackedError):
        Unpacked(io.BytesIO(b"hello, world"), frame).readall()
    broken = bytearray(pack(NOISE))
    broken[-6:-2] = b"????"
    if frame is GzipFrame:
        with pytest.raises(opening.DamagedError, match="incorrect data check"):
            Unpacked(io.BytesIO(broken), frame).readall()


def test_packed_bytes_that_hold_nothing(monkeypatch):
    monkeypatch.setattr(opening, "MAX_IDLE_BYTES", 100_000)
    skipped = struct.pack("<II", 0x184D2A50, 10**6) + bytes(10**6)
    for data, frame in ((gzip.compress(b"x") + bytes(300_000), GzipFrame), (skipped, zstd_frames())):
        with pytest.raises(opening.DamagedError, match="hold nothing"):
            Unpacked(io.BytesIO(data), frame).readall()


def test_a_zstd_frame_gives_little_at_a_time():
    """A gigabyte of zeros in 32 kB: what comes of one piece is all that is in memory."""
    packer = zstandard.ZstdCompressor().compressobj()
    data = b"".join(packer.compress(bytes(1 << 20)) for _ in range(300)) + packer.flush()
    sizes, frame, rest = [], zstd_frames()(), memoryview(data)
    while rest:
        found, rest = frame.unpack(rest)
        sizes.append(len(found))
    assert sum(sizes) == 300 << 20 and max(sizes) <= 64 << 20


def test_blocks_of_lines_are_whole_lines(tmp_path):
    line = b"a\tr\tb\n"
    (tmp_path / "g").write_bytes(line * (3 * CHUNK_BYTES // len(line)) + b"end")
    blocks = [*line_blocks(tmp_path / "g")]
    assert len(blocks) == 4 and all(block.endswith(b"\n") for _, block in blocks[:-1]) and blocks[-1][1] == b"end"
    assert [start for start, _ in blocks] == [1 + sum(b.count(b"\n") for _, b in blocks[:i]) for i in range(4)]


def read_as_rdf(path, *blocks):
    """Have the blocks looked at as a file of lines, of which at most two triples may stand in each other."""
    with use_limits(Limits(max_nesting=2)):
        rest = iter(blocks)
        lines = Lines(path, lambda _: next(rest), rdf=True)
        for _ in blocks:
            lines.block()
    return lines.n


DEEP = b"a <<( a <<( a <<( a )>> )>> )>> .\n"


@pytest.mark.parametrize(
    "blocks, line",
    [
        ([DEEP], 1),
        ([b"a\n\n" + DEEP], 3),
        ([b"a <<( a <<( ", b"x ", b"<<( "], 1),
        ([b'a "x" ', b"<<( <<( ", b"<<( "], 1),
        ([b'a\nb "<<(', b"\\", b'" <<( <<( <<( " <<( <<( <<('], 2),
    ],
)
def test_triples_in_triples_that_are_too_deep(blocks, line, tmp_path):
    with pytest.raises(UnreadableError, match=f"line {line}: triples in triples"):
        read_as_rdf(tmp_path, *blocks)


@pytest.mark.parametrize(
    "blocks",
    [
        [b"a <<( a )>> b <<( a )>> c <<( <<( a )>> )>> .\n" * 3],
        [b"a <<( <<( \n", b"<<( x\n\n", b"<<(\n"],
        [b'a b "cout<<(x); cout<<(x); cout<<(x); cout<<(x);" .\n'],
        [b'a b "\\"<<( \\\\\\"<<( <<( <<( " .\n'],
        [b'a\nb "', b"x", b" <<(", b"<<( <<(", b"\\", b'" <<( <<( " .\n'],
        [b")>> )>> )>> <<( <<( \n"],
    ],
)
def test_what_only_looks_like_triples_in_triples(blocks, tmp_path):
    assert read_as_rdf(tmp_path, *blocks) == b"".join(blocks).count(b"\n")


def test_text_about_programs_is_read(tmp_path):
    code = "cout<<(x);" * 1200
    (tmp_path / "g.tsv").write_text(f"a\tr\t{code}\n")
    assert read_table(tmp_path / "g.tsv", 3, Problems()).columns[2].tolist() == [code]
    for name, kind in (("g.nt", "N-Triples"), ("g.ttl", "Turtle")):
        (tmp_path / name).write_text(f'<a:a> <a:b> "{code}" .\n')
        assert [quad.object.value for quad in Statements(tmp_path / name, kind)] == [code]


def test_bytes_after_packed_ones(tmp_path):
    for name, data in (("g.gz", gzip.compress(b"x")), ("g.zst", ZST(b"x"))):
        (tmp_path / name).write_bytes(data + b"hello, world")
        with pytest.raises(UnreadableError, match=r"other bytes after the (gzip|zstd) data\. Remove them"):
            read_whole(tmp_path / name)


def test_a_window_that_is_too_wide(tmp_path):
    wide = zstandard.ZstdCompressionParameters.from_level(3, window_log=28, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    (tmp_path / "g.zst").write_bytes(packer.compress(b"x") + packer.flush())
    with pytest.raises(
        UnreadableError, match=r"a window that takes too much memory\. Compress it again without --long"
    ):
        read_whole(tmp_path / "g.zst")


def read_whole(path):
    with open_input(path) as file:
        return file.read()


def test_lines_are_handed_out_whole_and_one_by_one(tmp_path):
    def lines():
        blocks = iter([b"ab\ncd", b"ef\n", b"gh\ni", b""])
        return Lines(tmp_path, lambda _: next(blocks))

    assert [*lines().whole(least=1)] == [(1, b"ab\n"), (2, b"cdef\n"), (3, b"gh\n"), (4, b"i")]
    assert [*lines().whole(least=6)] == [(1, b"ab\ncdef\n"), (3, b"gh\ni")]
    assert [*by_line(lines().whole(least=6))] == [(1, b"ab"), (2, b"cdef"), (3, b""), (3, b"gh"), (4, b"i")]
    assert [*numbered(iter([(1, b"7\t<a>\n9\t<b>\n")]))] == [(7, b"<a>"), (9, b"<b>")]


def test_blank_lines_count_if_more_comes_in_a_later_block(tmp_path, monkeypatch):
    monkeypatch.setattr("mixtea.io.safe.lines.CHUNK_BYTES", 4)
    monkeypatch.setattr("mixtea.io.safe.lines.BLOCK", 2)
    (tmp_path / "g").write_bytes(b"a\tb\n\n\n\n\n\nc\td\n\xff\n\n\n\n\n\n")
    problems = Problems()
    table = read_table(tmp_path / "g", 2, problems)
    assert table.lines.tolist() == [1, 7] and table.columns[0].tolist() == ["a", "c"]
    assert sorted((p.line, p.what) for p in problems.found) == [
        *((line, "a blank line") for line in range(2, 7)), (8, "byte ff is not UTF-8 in")]  # fmt: skip


def test_a_file_whose_beginning_was_read_is_opened_once(tmp_path, monkeypatch):
    path, opened = tmp_path / "g.tsv.gz", []
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf\xef\xbb\xbfa\tb\tc\n" * 2))
    first = opening.open_regular
    monkeypatch.setattr(opening, "open_regular", lambda path: opened.append(path) or first(path))

    def whole():
        with open_input(path) as file:
            return file.read()

    text = whole()
    assert text.startswith(b"\xef\xbb\xbfa") and len(opened) == 1
    with opening.keep_open():
        with opening.keep_open():
            assert opening.first_bytes(path, 5) == text[:5] and opening.first_bytes(path, 9) == text[:9]
        assert len(opened) == 3 and whole() == text and len(opened) == 3 and whole() == text and len(opened) == 4
        opening.first_bytes(path, 5)
        path.write_bytes(gzip.compress(b"other"))
        assert whole() == b"other"  # and not what it was
        opening.first_bytes(path, 5)
        path.unlink()
        with pytest.raises(UnreadableError, match="no such file"):
            whole()
        path.write_bytes(gzip.compress(b"left"))
        kept = opening.first_bytes(path, 9) and opening._kept.get()[path][0]
    assert kept.closed and kept.raw.raw.closed and opening.first_bytes(path, 9) == b"left"
