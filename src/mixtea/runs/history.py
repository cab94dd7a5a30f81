"""Earlier runs of a run folder: RUN/history/0001, 0002 and so on, the newest last, each a whole run folder.

Their files are hard links: nothing is copied, and nothing of a run is ever written to again.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from mixtea.runs.atomic import HISTORY, RUN_FILES, flush

RUN_NUMBER = re.compile(r"\d{4,9}")


def earlier_runs(run: Path) -> list[Path]:
    """List the folders of the earlier runs of a run, the oldest first."""
    folder = run / HISTORY
    if folder.is_symlink() or not folder.is_dir():
        return []
    found = [path for path in folder.iterdir() if RUN_NUMBER.fullmatch(path.name) and path.is_dir()]
    return sorted((path for path in found if not path.is_symlink()), key=lambda path: int(path.name))


def carry_over(old: Path, new: Path, keep: int | None) -> None:
    """Put the earlier runs of `old` into `new`, and with `keep` the old run itself, the last `keep` of them all."""
    runs = earlier_runs(old)
    kept = [(int(path.name), path) for path in runs]
    if keep is not None and (old / "run.json").is_file():
        kept.append((1 + max((number for number, _ in kept), default=0), old))
    kept = kept if keep is None else kept[len(kept) - min(keep, len(kept)) :]
    for number, run in kept:
        _link(run, new / HISTORY / f"{number:04}")
    if kept:
        flush(new / HISTORY)


def _link(run: Path, place: Path) -> None:
    """Link the files of a run into another folder."""
    place.mkdir(parents=True)
    for path in run.iterdir():
        if path.name in RUN_FILES and path.is_file() and not path.is_symlink():
            try:
                os.link(path, place / path.name)
            except OSError:  # where the file system has no links
                shutil.copyfile(path, place / path.name)
    flush(place)
