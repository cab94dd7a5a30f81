"""CPU seconds that each test takes, with those of the processes that it has started: `pytest --cpu`."""

from __future__ import annotations

import resource
from collections import defaultdict

import pytest

SHOWN_TESTS = 400  # the most expensive ones


def used() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


class CpuSeconds:
    """Adds the seconds since the last report to each report, and sums them up in the process that prints."""

    def __init__(self) -> None:
        self.last = used()
        self.tests: defaultdict[str, float] = defaultdict(float)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item):
        outcome = yield
        now = used()
        outcome.get_result().cpu_seconds, self.last = now - self.last, now

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests[report.nodeid] += getattr(report, "cpu_seconds", 0.0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        files: defaultdict[str, float] = defaultdict(float)
        for name, seconds in self.tests.items():
            files[name.partition("::")[0]] += seconds
        terminalreporter.section(f"CPU seconds: {sum(files.values()):.0f} in the tests")
        for table in (files, self.tests):
            rows = sorted(table.items(), key=lambda row: -row[1])[:SHOWN_TESTS]
            for name, seconds in rows:
                terminalreporter.write_line(f"{seconds:8.2f}  {name}")
            terminalreporter.write_line("")
