"""A run at the limits is read in time: long commands, and the same long output of each that names no known error."""

import time

from mcp_reflect.models.run import ErrorCategory
from mcp_reflect.sessions.diagnose import diagnose
from tests.sessions.run import Run

_MOST_SECONDS = 2.5  # of processor time; some five before the same text was searched once


def test_a_run_at_the_limits_is_read_in_time() -> None:
    run = Run()
    for place in range(178):
        run.bash(f"cmd{place} " + "x" * 2_000, "Error: " * 500)
    start = time.process_time()
    found = diagnose(run.trace())
    assert time.process_time() - start < _MOST_SECONDS
    assert len(found.failures) == 178


def test_a_category_is_found_behind_some_errors_without_one() -> None:
    run = Run()
    for place in range(10):
        run.bash(f"odd{place}", f"Error: odd number {place}")
    run.bash("fetch", "Error: permission denied")
    assert diagnose(run.trace()).category is ErrorCategory.PERMISSION
