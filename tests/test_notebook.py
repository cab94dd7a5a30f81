"""The notebook runs from top to bottom, in a real kernel of the interpreter that runs the tests."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat
from conftest import SMALL_BEST
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from processes import LONG

import mixtea

NOTEBOOK = Path(__file__).parent.parent / "examples" / "first_alignment.ipynb"


class OwnKernel(AsyncKernelManager):
    """This interpreter, whatever kernels are registered."""

    @property
    def kernel_spec(self):
        argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=argv, language="python", display_name="this interpreter")


def shorter(notebook):
    """The same cells, whose trainings take a moment only."""
    settings = ", ".join(f"{name}={value!r}" for name, value in SMALL_BEST.items())
    changed = 0
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source, n = re.subn(r"max_epochs=40, ", f"{settings}, ", cell.source)
            cell.source, m = re.subn(r"max_epochs=10\b", f"max_epochs={SMALL_BEST['max_epochs']}", cell.source)
            changed += n + m
    assert changed == 3
    return notebook


def test_every_cell_runs(tmp_path, monkeypatch):
    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PYTHONPATH", str(Path(mixtea.__file__).parents[1]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # steady beside other work
    notebook = shorter(nbformat.read(NOTEBOOK, as_version=4))
    work = tmp_path / "work"
    work.mkdir()
    place, patience = {"metadata": {"path": str(work)}}, dict(timeout=LONG, startup_timeout=LONG)
    NotebookClient(notebook, kernel_manager_class=OwnKernel, resources=place, **patience).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = [output.data for output in outputs if output.output_type == "display_data"]
    assert sum("image/png" in page for page in shown) == 2
    trained = [page["text/html"] for page in shown if "<progress " in page.get("text/html", "")]
    assert len(trained) == 5 and all('value="2" max="2"' in page for page in trained)  # each line has come to its end
    pages = [output.data.get("text/html", "") for output in outputs if output.output_type == "execute_result"]
    assert [page for page in pages if "Task(source-target" in page] and [p for p in pages if "Mapping(mapped" in p]
    assert not [output for output in outputs if output.output_type == "error"]
    said = "".join(output.text for output in outputs if output.get("name") == "stderr")
    assert "Warning" not in said
    assert (work / "runs" / "first_alignment" / "run.json").exists()


def test_it_is_stored_without_outputs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")
