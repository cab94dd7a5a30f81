"""Write docs/mistakes.md: each mistake of tests/mistakes.py with what mixtea prints about it."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tests")]
from mistakes import GOOD, MISTAKES, told  # noqa: E402

INTRODUCTION = """# Mistakes

What people get wrong with their files, and what mixtea says about it. Where it says `error`, nothing was done; after a
`WARNING` the run goes on without what was wrong. `mixtea inspect` shows all of it before a training.

"""


def messages(call: str, files: dict[str, str | bytes], before: str) -> list[str]:
    """Return the errors and warnings of a command on the files, after another command if given."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (GOOD | files).items():
            (Path(folder) / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        for one in filter(None, (before, call)):
            command = [sys.executable, "-m", "mixtea", *shlex.split(one)[1:]]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return [*done.stderr.splitlines(), *(line for line in done.stdout.splitlines() if told(line))]


def main() -> None:
    sections = [one.section("\n".join(messages(one.call, one.files, one.before))) for one in MISTAKES]
    (ROOT / "docs" / "mistakes.md").write_text(INTRODUCTION + "\n".join(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
