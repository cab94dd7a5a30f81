"""Files that are made to hurt their reader, and what `mixtea inspect` does with them.

    python benchmarks/bombs.py [--only WORD]

Each is written to a temporary folder and read in a fresh process, whose seconds and peak memory, with those that it
starts, are measured. Prints a table; ends with 1 if any of them takes more than 5 seconds or 1 GB, ends otherwise than
with the exit code 2, or prints a traceback or more than anyone reads.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from bomb_files import BOMBS

SECONDS, MIB, GRACE, LONGEST = 5.0, 1000.0, 60.0, 30_000
TARGET, LINKS = "A\tr\tB\nB\tr\tC\n", "a\tA\nb\tB\n"
SETTINGS = (
    "import sys; from pathlib import Path; from mixtea.errors import *\n"
    "from mixtea.cli.settings import read_settings\n"
    "try: read_settings(Path(sys.argv[1]))\nexcept ConfigError as error: sys.exit(print(f'error: {error}') or 2)"
)
ALARMING = ("Traceback", "panicked", "RUST_BACKTRACE", "core dumped")


@dataclass(frozen=True)
class Outcome:
    seconds: float
    mib: float
    code: int | None
    said: str

    @property
    def wrong(self) -> str:
        """Why this is not how a bomb should end; empty if it is."""
        found = [f"exit code {self.code}"] if self.code != 2 else []
        found += [f"{self.seconds:.1f} s"] if self.seconds > SECONDS else []
        found += [f"{self.mib:.0f} MiB"] if self.mib > MIB else []
        found += [f"a message of {len(self.said):,} characters"] if len(self.said) > LONGEST else []
        found += [sign for sign in ALARMING if sign in self.said]
        return ", ".join(found)

    @property
    def message(self) -> str:
        """The line that says what is wrong, without the file's name."""
        lines = [line.strip() for line in self.said.splitlines() if line.strip()]
        return (lines[1] if len(lines) > 1 and lines[0].endswith(("problem", "problems")) else " ".join(lines))[:150]


def command(folder: Path, bomb: Path, role: str) -> list[str]:
    """What reads the bomb as its role says: a graph, links or settings; a graph may have links of its own."""
    if role == "settings":
        return [sys.executable, "-c", SETTINGS, str(bomb)]
    source, links = (folder / "s.tsv", bomb) if role == "links" else (bomb, folder / "l.tsv")
    links = folder / "links.parquet" if role == "graph and links" else links
    own = ["--source", str(source), "--target", str(folder / "t.tsv"), "--links", str(links)]
    return [sys.executable, "-m", "mixtea", "inspect", *own]


def watch(words: list[str]) -> Outcome:
    """Run the command and look at the memory of its processes every few milliseconds."""
    started, peak = time.perf_counter(), 0.0
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(words, stdout=said, stderr=said, start_new_session=True)
        while process.poll() is None:
            peak = max(peak, memory_of(process.pid))
            if time.perf_counter() - started > GRACE:
                os.killpg(process.pid, 9)
            time.sleep(0.01)
        seconds = time.perf_counter() - started
        said.seek(0)
        return Outcome(seconds, peak, process.returncode, said.read().decode("utf-8", "replace"))


def memory_of(session: int) -> float:
    """MiB that the processes of the session hold together."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                total += int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total / (1 << 20)


def explode(name: str, folder: Path) -> tuple[int, Outcome]:
    """Write the bomb and have it read: its bytes, and what came of it."""
    ending, role, write = BOMBS[name]
    for other, text in (("s.tsv", TARGET.lower()), ("t.tsv", TARGET), ("l.tsv", LINKS)):
        (folder / other).write_text(text)
    bomb = folder / f"bomb{ending}"
    bomb = write()(bomb) or bomb
    size = bomb.stat().st_size if bomb.is_file() else 0
    return size, watch(command(folder, bomb, role))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="those with this word in their names")
    args = parser.parse_args()
    failed = []
    print("| bomb | bytes | s | peak MiB | exit code | what it says |\n|---|---|---|---|---|---|")
    for name in (name for name in BOMBS if args.only in name):
        with tempfile.TemporaryDirectory() as folder:
            size, found = explode(name, Path(folder))
        shown = found.message.replace("|", "\\|").replace(folder, "")
        print(f"| {name} | {size:,} | {found.seconds:.1f} | {found.mib:.0f} | {found.code} | {shown} |", flush=True)
        failed += [f"{name}: {found.wrong}"] if found.wrong else []
    print("\n".join(failed), file=sys.stderr)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
