"""A Python that has imported mixtea and torch, and becomes the programs that tests start: forked, not begun anew.

To import torch takes seconds of a processor, which most tests of processes are not about. What is forked differs from
what is begun in nothing that a test sees: it is a child of the process that asks, in a session of its own, with its own
streams, environment, folder, command line and main module, and it ends as Python ends. Only pictures of runs are left
out.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, NoReturn

ROOM = 4096  # bytes kept free in the server's command line and in the mark, for those of its children
LOADED = (
    "torch._dynamo", "torch.optim", "torch.distributed", "matplotlib.pyplot", "matplotlib.backends.backend_agg",
    "faiss", "PIL.PngImagePlugin", "pandas.io.formats.style", "pyarrow.parquet", "zstandard", "uvicorn", "fastapi",
    "pydantic", "rich.progress", "rich.table", "typer.rich_utils",
)  # fmt: skip
NOT_LOADED = ("mixtea.experiments.tune", "mixtea.runs.tensorboard", "mixtea.io.safe.sandboxed", "mixtea.__main__")


def everything() -> None:
    """Import what the programs do, in whatever they are called to do."""
    for name in LOADED:
        import_module(name)
    package = import_module("mixtea")
    for found in pkgutil.walk_packages(package.__path__, "mixtea."):
        if not found.name.startswith(NOT_LOADED):
            import_module(found.name)


class Program(NamedTuple):
    """What a child becomes: `words` as Python gets them, -m MODULE ..., -c CODE ... or FILE ..."""

    words: list[str]
    environment: dict[str, str]
    folder: str

    def main(self) -> None:
        first, *rest = self.words
        if first == "-m":
            sys.argv, sys.path[0] = rest, self.folder
            sys.modules.pop(rest[0], None)
            runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        elif first == "-c":
            sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
            sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(rest[0], "<string>", "exec"), vars(sys.modules["__main__"]))
        else:
            sys.argv, sys.path[0] = self.words, str(Path(first).parent)
            runpy.run_path(first, run_name="__main__")


def memory_of(name: str) -> tuple[int, bytes]:
    """Where the kernel reads /proc/self/cmdline or environ, and what stands there."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return int(fields[{"cmdline": 45, "environ": 47}[name]]), Path(f"/proc/self/{name}").read_bytes()


def show(name: str, before: bytes, text: bytes) -> None:
    """Write `text` over what /proc/self/`name` shows from `before` on, padded to ROOM bytes."""
    begin, shown = memory_of(name)
    with open("/proc/self/mem", "r+b", buffering=0) as memory:  # noqa: PTH123
        memory.seek(begin + shown.index(before) + len(before))
        memory.write(text[: ROOM - 1].ljust(ROOM, b"\0"))


def become(program: Program, streams: list[int], mark: str) -> None:
    """Take on what a process of its own would have."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(program.folder)
    show("environ", f"\0{mark}=".encode(), program.environment[mark].encode())
    show("cmdline", b"\0", b"\0".join(word.encode() for word in program.words))
    before, given = (paths.get("PYTHONPATH", "").split(os.pathsep) for paths in (os.environ, program.environment))
    sys.path[1:] = [*filter(None, given), *(path for path in sys.path[1:] if path not in before)]
    os.environ.clear()
    os.environ.update(program.environment)
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            open(number, mode, buffering=0 if stream.write_through else -1, closefd=False),  # noqa: SIM115
            encoding=stream.encoding,
            errors=stream.errors,
            line_buffering=number == 2 or os.isatty(number),
            write_through=stream.write_through,  # with PYTHONUNBUFFERED
        )
        for number, mode, stream in ((0, "rb", sys.stdin), (1, "wb", sys.stdout), (2, "wb", sys.stderr))
    )
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr


def serve(asked: socket.socket) -> Program:
    """Fork for each who asks, and tell the number; returns in the children only.

    A child's parent ends at once, so that the process that asks, which adopts orphans meanwhile, becomes its parent.
    """
    while True:
        head, streams, *_ = socket.recv_fds(asked, 8, 3)
        if len(head) < 8:
            os._exit(0)  # nobody can ask any more
        with asked.makefile("rb") as stream:
            mark, *parts = json.loads(stream.read(int.from_bytes(head)))
        reading, writing = os.pipe()
        if parent := os.fork():
            os.close(writing)
            os.waitpid(parent, 0)
            asked.sendall(os.read(reading, 20).ljust(20))
            for number in (reading, *streams):
                os.close(number)
            continue
        parent = os.getpid()
        if os.fork():
            os._exit(0)
        os.close(reading)
        asked.close()
        while os.getppid() == parent:
            time.sleep(0.0005)
        try:
            become(program := Program(*parts), streams, mark)
        except OSError as error:
            os.write(writing, str(-(error.errno or 1)).encode())
            os._exit(1)
        os.write(writing, str(os.getpid()).encode())
        os.close(writing)
        return program


def end(main: Callable[[], None]) -> NoReturn:
    """Run the program, and end as Python does, but for taking apart all that has been imported."""
    code = 0
    try:
        main()
    except SystemExit as error:
        code = 1 if isinstance(error.code, str) else int(error.code or 0)
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if not (stream is None or stream.closed):
                stream.flush()
        except OSError as error:
            code = code or 120
            print(f"Exception ignored in: {stream!r}\n{type(error).__name__}: {error}", file=sys.stderr)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def undraw() -> None:
    """Leave out curves and reports of runs, which nobody looks at and which take longer than a small training."""
    vars(import_module("mixtea.report.page"))["make_report"] = lambda aligner: "<!DOCTYPE html>"
    vars(import_module("mixtea.evaluation.scores"))["draw_curves"] = lambda history, path, title="": path.write_bytes(
        b"PNG"
    )


if __name__ == "__main__":
    everything()
    undraw()
    gc.collect()
    gc.freeze()  # what is there is not looked at again, so that it stays shared
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        connection.sendall(b"ready")
        wanted = serve(connection)
    end(wanted.main)
