"""What comes in by the one door: regular files alone, plain or packed, and never more than was asked for."""

from __future__ import annotations

import gzip
import io
import os
import socket
import struct

import pytest
import zstandard

from mixtea.data import door, packed
from mixtea.data.files import UnreadableError, opened
from mixtea.data.lines import CHUNK, Lines, line_blocks
from mixtea.data.packed import GzipFrame, Unpacked
from mixtea.data.rdf_sources import ByLine
from mixtea.data.text import read_table
from mixtea.data.zstd import ZstdFrame
from mixtea.errors import Problems

ZST = zstandard.ZstdCompressor().compress
NOISE = os.urandom(70_000)


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.nt")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for path in (tmp_path / "pipe.nt", tmp_path / "socket", door.Path("/dev/zero")):
            with pytest.raises(UnreadableError, match="a pipe, a device or a socket"), opened(path):
                pass
    with pytest.raises(UnreadableError, match="a folder"), opened(tmp_path):
        pass
    with pytest.raises(UnreadableError, match="no such file"), opened(tmp_path / "none"):
        pass
    with pytest.raises(UnreadableError, match=r"cannot be read \(.*null"), opened(door.Path("a\0b")):
        pass


def test_a_file_that_becomes_a_pipe_while_it_is_opened(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"")
    as_file = (tmp_path / "file").stat()
    monkeypatch.setattr(door.Path, "stat", lambda _: as_file)
    with pytest.raises(UnreadableError, match="a pipe"):
        door.open_regular(tmp_path / "pipe")


def test_what_fails_while_reading_is_told(tmp_path, monkeypatch):
    (tmp_path / "g").write_bytes(b"a")

    def broken(self, buffer):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(door.Door, "readinto", broken)
    with pytest.raises(UnreadableError, match=r"cannot be read \(Input/output error\)"), opened(tmp_path / "g"):
        pass


@pytest.mark.parametrize("pack, frame", [(gzip.compress, GzipFrame), (ZST, ZstdFrame)])
@pytest.mark.parametrize("data", [b"", b"x", b"y" * (1 << 22), NOISE])
def test_frames_follow_each_other_with_padding(pack, frame, data, tmp_path):
    whole = pack(data) + pack(b"") + bytes(20_000) + pack(data) + bytes(5)
    assert io.BufferedReader(Unpacked(io.BytesIO(whole), frame)).read() == 2 * data
    for cut in (1, 5, len(pack(data)) - 1):
        with pytest.raises(EOFError):
            Unpacked(io.BytesIO(pack(data)[:cut]), frame).readall()
    with pytest.raises(packed.NotPackedError):
        Unpacked(io.BytesIO(b"hello, world"), frame).readall()
    broken = bytearray(pack(NOISE))
    broken[-6:-2] = b"????"
    if frame is GzipFrame:
        with pytest.raises(packed.DamagedError, match="incorrect data check"):
            Unpacked(io.BytesIO(broken), frame).readall()


def test_packed_bytes_that_hold_nothing(monkeypatch):
    monkeypatch.setattr(packed, "MOST_IDLE", 100_000)
    skipped = struct.pack("<II", 0x184D2A50, 10**6) + bytes(10**6)
    for data, frame in ((gzip.compress(b"x") + bytes(300_000), GzipFrame), (skipped, ZstdFrame)):
        with pytest.raises(packed.DamagedError, match="hold nothing"):
            Unpacked(io.BytesIO(data), frame).readall()


def test_a_zstd_frame_gives_little_at_a_time():
    """A gigabyte of zeros in 32 kB: what comes of one piece is all that is in memory."""
    packer = zstandard.ZstdCompressor().compressobj()
    data = b"".join(packer.compress(bytes(1 << 20)) for _ in range(300)) + packer.flush()
    sizes, frame, rest = [], ZstdFrame(), memoryview(data)
    while rest:
        found, rest = frame.unpack(rest)
        sizes.append(len(found))
    assert sum(sizes) == 300 << 20 and max(sizes) <= 64 << 20


def test_blocks_of_lines_are_whole_lines(tmp_path):
    line = b"a\tr\tb\n"
    (tmp_path / "g").write_bytes(line * (3 * CHUNK // len(line)) + b"end")
    blocks = [*line_blocks(tmp_path / "g")]
    assert len(blocks) == 4 and all(block.endswith(b"\n") for _, block in blocks[:-1]) and blocks[-1][1] == b"end"
    assert [start for start, _ in blocks] == [1 + sum(b.count(b"\n") for _, b in blocks[:i]) for i in range(4)]


def test_nesting_is_counted_in_a_line_over_blocks(tmp_path):
    blocks = iter([b"<<( <<( ", b"<<( \n <<( \n\n", b"x", b""])
    lines = Lines(tmp_path, lambda _: next(blocks))
    lines.block()
    assert lines.depth == 2
    lines.block()
    assert lines.depth == 0 and lines.n == 3
    assert lines.read() == b"x" and lines.read(5) == b""


def test_lines_are_handed_out_one_by_one(tmp_path):
    blocks = iter([b"ab\ncd", b"ef\n", b""])
    lines = ByLine(Lines(tmp_path, lambda _: next(blocks)))
    found = [(lines.read(size), lines.n) for size in (-1, 3, 2, 5, 5)]
    assert found == [(b"ab\n", 1), (b"cd", 2), (b"ef", 2), (b"\n", 2), (b"", 2)]


def test_blank_lines_count_if_more_comes_in_a_later_block(tmp_path, monkeypatch):
    monkeypatch.setattr("mixtea.data.lines.CHUNK", 4)
    monkeypatch.setattr("mixtea.data.lines.BLOCK", 2)
    (tmp_path / "g").write_bytes(b"a\tb\n\n\n\n\n\nc\td\n\xff\n\n\n\n\n\n")
    problems = Problems()
    table = read_table(tmp_path / "g", 2, problems)
    assert table.lines.tolist() == [1, 7] and table.columns[0].tolist() == ["a", "c"]
    assert sorted((p.line, p.what) for p in problems.found) == [
        *((line, "a blank line") for line in range(2, 7)), (8, "byte ff is not UTF-8 in")]  # fmt: skip
