"""What happens to a file in fuzz.py: bits flip, parts go, come twice or from another file, and nasty words come in."""

from __future__ import annotations

import gzip
import io
import random
import zipfile
from collections.abc import Callable

import zstandard
from bomb_files import unsigned, varint, with_footer
from fuzz_seeds import Format

NASTY = [
    b"", b"\x00", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    b"\xc0\x80", b"\r", b"\n", b"\r\n", b"\n\n\n", b"\t", b"\t\t\t\t", b",", b'"', b'""', b"'", b'"""', b"\\",
    b"\\u12", b"\\uD800", b"#", b"<", b">", b"<<", b"<<(", b"<<( <a:a> <a:b> " * 30, b")>>", b"[" * 200, b"]" * 50,
    b"(" * 200, b"{" * 60, b"}", b".", b"_:", b"_:a", b"@prefix", b"@base <b> .", b"a:", b"@en", b"^^<a:b>", b"&a;",
    b"&#0;", b"&#xD800;", b"<!--", b"]]>", b"<![CDATA[",
    b'<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>', b"<a>" * 100, b"</a>", b"<?x ?>",
    b' xmlns:a="b"', b" a='b'", b"99999999999999999999999", b"-1", b"1e999", b"NaN", b"0x7fffffff", b"null", b"true",
    b"[[[[", b"a.b.c = 1\n", b"x" * 5000, "é\u2028\u202e\U0001f600".encode(), b"\x1b[31m", b"PAR1", b"\x1f\x8b",
    b"%00", b"subject_id", b"curie_map:", b"head,relation,tail\n", b"GRAPH", b"rdf:li", b"rdf:parseType='Literal'",
    b"xml:base=''",
]  # fmt: skip
Change = Callable[[bytearray, bytes, random.Random], None]


def flip(data: bytearray, _: bytes, chance: random.Random) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def cut(data: bytearray, _: bytes, chance: random.Random) -> None:
    del data[chance.randrange(len(data) + 1) :]


def delete(data: bytearray, _: bytes, chance: random.Random) -> None:
    start, size = chance.randrange(len(data) + 1), chance.choice((1, 2, 8, 64))
    del data[start : start + size]


def insert(data: bytearray, _: bytes, chance: random.Random) -> None:
    start = chance.randrange(len(data) + 1)
    data[start : start + chance.choice((0, 0, 1, 4))] = chance.choice(NASTY)


def twice(data: bytearray, _: bytes, chance: random.Random) -> None:
    start, size = chance.randrange(len(data) + 1), chance.choice((1, 10, 100, 1000))
    data[start:start] = data[start : start + size] * chance.choice((1, 2, 50))


def splice(data: bytearray, other: bytes, chance: random.Random) -> None:
    data[chance.randrange(len(data) + 1) :] = other[chance.randrange(len(other) + 1) :]


def swap(data: bytearray, _: bytes, chance: random.Random) -> None:
    lines = bytes(data).split(b"\n")
    chance.shuffle(lines)
    data[:] = b"\n".join(lines)


CHANGES: list[Change] = [flip, flip, cut, delete, insert, insert, insert, twice, splice, swap]


def changed(good: bytes, other: bytes, chance: random.Random) -> bytes:
    data = bytearray(good)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        chance.choice(CHANGES)(data, other, chance)
    return bytes(data)


def footer(good: bytes, other: bytes, chance: random.Random) -> bytes:
    """A Parquet file whose footer is changed and still as long as it says; or one number in it is another."""

    def other_number(old: bytes) -> bytes:
        was, now = varint(chance.choice((1, 2, 3, 4, 5, 30, 40, 60))), chance.choice((0, 1, 3, 10**4, 2**31, 2**62))
        return old.replace(was, chance.choice((varint(now), unsigned(2 * now + 1))), chance.choice((1, 2, -1)))

    if chance.random() < 0.5:
        return with_footer(good, other_number)
    return with_footer(good, lambda old: changed(old, other, chance))


def header(good: bytes, other: bytes, chance: random.Random) -> bytes:
    """safetensors whose header is changed and still as long as it says; or some bytes of its tensors are others."""
    size = 8 + int.from_bytes(good[:8], "little")
    head, tensors = good[8:size], bytearray(good[size:])
    if chance.random() < 0.5:
        head = changed(head, other, chance)
    else:
        for _ in range(chance.choice((1, 3, 20))):
            tensors[chance.randrange(len(tensors))] = chance.randrange(256)
    return len(head).to_bytes(8, "little") + head + bytes(tensors)


def member(good: bytes, other: bytes, chance: random.Random) -> bytes:
    """A workbook with another file in its archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        which = chance.choice(old.namelist())
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, changed(content, other, chance) if name == which else content)
    return file.getvalue()


def mutated(good: bytes, other: bytes, kind: Format, chance: random.Random) -> bytes:
    """Another file; a compressed one is changed inside or outside, a binary one often in its form."""
    if kind.packed:
        inside = chance.random() < 0.5
        data = changed(good, other, chance) if inside else good
        data = gzip.compress(data, 1) if kind.packed == ".gz" else zstandard.ZstdCompressor().compress(data)
        return data if inside else changed(data, other, chance)
    if kind.is_parquet and chance.random() < 0.6:
        return footer(good, other, chance)
    if kind.file.endswith(".xlsx") and chance.random() < 0.6:
        return member(good, other, chance)
    if kind.file.endswith(".safetensors") and chance.random() < 0.6:
        return header(good, other, chance)
    return changed(good, other, chance)
