"""What holds for all tests, those in docstrings too, as a plugin: which are counted, and that runs are not drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

TESTS = Path(__file__).parent
# Where a branch of the files that pyproject.toml names may be taken for the first time
COUNTED = (
    "cli/test_resume.py", "io/formats/test_alignment.py", "io/formats/test_excel.py", "io/formats/test_json_ld.py",
    "io/formats/test_registry.py", "io/formats/test_sqlite.py", "io/rdf/", "io/safe/test_bad_files.py",
    "io/safe/test_limits.py", "io/safe/test_lines.py", "io/safe/test_open.py", "io/safe/test_parquet_child.py",
    "io/safe/test_sandbox.py", "io/safe/test_xml_scan.py", "io/test_paths.py", "io/vectors/", "runs/",
)  # fmt: skip
PLACES = tuple(f"{TESTS}/{place}" for place in COUNTED)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item):
    """Count branches in the tests that take those which scripts/test wants taken; others are quicker uncounted."""
    counting = getattr(item.config.pluginmanager.getplugin("_cov"), "cov_controller", None)
    if counting is None or str(item.path).startswith(PLACES):
        return (yield)
    counting.pause()
    try:
        return (yield)
    finally:
        counting.resume()


@pytest.fixture(scope="session", autouse=True)
def _undrawn() -> Iterator[dict[tuple[ModuleType, str], object]]:
    """Runs have no curves and reports to look at: to draw them takes longer than to train on a small graph."""
    from mixtea.evaluation import scores
    from mixtea.report import page

    with pytest.MonkeyPatch.context() as patch:
        real = {(page, "make_report"): page.make_report, (scores, "draw_curves"): scores.draw_curves}
        patch.setattr(page, "make_report", lambda aligner: "<!DOCTYPE html>")
        patch.setattr(scores, "draw_curves", lambda history, path, title="": path.write_bytes(b"PNG"))
        yield real


@pytest.fixture
def drawn(_undrawn: dict[tuple[ModuleType, str], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs with curves and reports, for tests that look at them."""
    for (module, name), real in _undrawn.items():
        monkeypatch.setattr(module, name, real)
