"""Trainings that die suddenly: at every system call, at random moments, on a full or broken disk; nothing may be lost.

    python benchmarks/sudden_death.py --save              # SIGKILL at every call that a save makes
    python benchmarks/sudden_death.py --errors            # every call that writes fails once, "disk full" and "broken"
    python benchmarks/sudden_death.py --kills 100         # SIGKILL at random moments, also while it goes on
    python benchmarks/sudden_death.py --steps 50          # stopped after each epoch, elsewhere and in other ways

`--sample N` takes every N-th call alone. Needs strace. Trainings are forks of this process, which has loaded torch, so
that each costs little; strace attaches to them. Prints a Markdown table for each part, and what went wrong; ends with 1
if anything did.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch; a fork must have no threads

from common import header
from death_by_call import failing_disk, killed_checkpoints, killed_runs, killed_trainings
from death_by_chance import every_step, random_kills
from death_trials import Problems, tiny_run, write_task
from synthetic import synthetic_pair

import mixtea.evaluation.scores
import mixtea.report.page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="kill at every system call of a save")
    parser.add_argument("--errors", action="store_true", help="let every call that writes fail")
    parser.add_argument("--kills", type=int, default=0, metavar="N", help="kill at so many random moments")
    parser.add_argument("--steps", type=int, default=0, metavar="N", help="stop after each of so many epochs")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every N-th call, or epoch, alone")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the random moments")
    args = parser.parse_args()
    if (args.save or args.errors) and shutil.which("strace") is None:
        sys.exit("strace is missing, which this needs. On Debian: apt-get install strace")
    problems = Problems()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        task = write_task(synthetic_pair(100, 400, n_relations=8, train=0.4, valid=0.2), place / "task")
        tiny_run(task, 1).save(place / "warm")  # loads what a run needs, once for all forks
        # nobody looks at pictures, and drawing them takes most of the time
        mixtea.report.page.make_report = lambda aligner: "a page"
        mixtea.evaluation.scores.draw_curves = _picture
        if args.save:
            header("killed in", "times", "at", "what was there then")
            killed_checkpoints(place, args.sample, problems)
            killed_runs(place, task, args.sample, problems)
            killed_trainings(place, task, args.sample, problems)
        if args.errors:
            header("failing call in", "times", "at", "how it ended")
            failing_disk(place, task, args.sample, problems)
        if args.kills:
            header(f"training (seed {args.seed})", "kills", "trainings", "most kills in one", "problems")
            random_kills(place, task, args.kills, 12, args.seed, problems)
        if args.steps:
            header("gone on", "with")
            every_step(place, task, args.steps, args.sample, problems)
    print(f"{len(problems.found)} problems", flush=True)
    sys.exit(1 if problems.found else 0)


def _picture(history: list[dict[str, Any]], path: Path, title: str = "") -> None:
    path.write_bytes(b"a picture")


if __name__ == "__main__":
    main()
