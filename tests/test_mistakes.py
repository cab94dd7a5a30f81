"""Each mistake is answered in three lines at most, as docs/mistakes.md quotes it, and its mending goes through."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from conftest import write
from mistakes import GOOD, MISTAKES, told

from mixtea.messages import visible

PAGE = (Path(__file__).parent.parent / "docs" / "mistakes.md").read_text(encoding="utf-8")


@pytest.fixture
def printed(tmp_path, monkeypatch, mixtea, caplog):
    """The exit code of a command on some files, and its messages."""
    monkeypatch.chdir(tmp_path)
    for name, instead in (("estimates", lambda task, device: {}), ("estimate_table", lambda found: "")):
        monkeypatch.setattr(sys.modules["mixtea.cli.inspect"], name, instead)  # which take long

    def run(call, files, before):
        write(tmp_path, GOOD | files)
        assert not before or mixtea(*before.split()[1:], "--overwrite")[0] == 0
        caplog.clear()
        code, out, err = mixtea(*shlex.split(call)[1:])
        logged = [f"{record.levelname}: {record.getMessage()}" for record in caplog.records]  # on standard error
        return code, [*logged, *err.splitlines(), *(line for line in out.splitlines() if told(line))]

    return run


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.title)
def test_a_mistake_is_explained_as_the_page_says(mistake, printed):
    code, lines = printed(mistake.call, mistake.files, mistake.before)
    assert 1 <= len(lines) <= 3 and code == (2 if lines[0].startswith("error: ") else 0)
    assert all(line == visible(line) for line in lines) and "Traceback" not in lines[0]
    assert mistake.section("\n".join(lines)) in PAGE
    mended, said = printed(mistake.mended_call, mistake.mended, mistake.before)
    assert mended == 0 and not set(lines) & set(said)


def test_the_page_has_no_other_mistakes():
    assert len(re.findall(r"^\*\*", PAGE, re.MULTILINE)) == len(MISTAKES) >= 25
