"""A pytest plugin: the processes that a test starts measure their coverage under its name; how long each test takes."""

import json
import os
from pathlib import Path

import pytest

_seconds: dict[str, float] = {}


def pytest_runtest_setup() -> None:
    os.environ["COVERAGE_PROCESS_START"] = os.environ["MUTATION_COVERAGE"]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        file = Path(os.environ["MUTATION_SECONDS"])
        before: dict[str, float] = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps({**before, **_seconds}))
