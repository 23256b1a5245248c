"""Tests take nothing from benchmarks, which may take from tests: a measurement may change, and what is right may not."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
IMPORTS = re.compile(r"^ *(?:from|import) benchmarks\b", re.MULTILINE)
ABOUT_BENCHMARKS = {"benchmarks"}
"""The folder of tests that are about benchmarks."""
HELD_FIGURES = {"storage/test_relevance.py"}
"""Files that hold the figures of a benchmark itself."""


def test_only_tests_of_benchmarks_import_them() -> None:
    files = {
        path.relative_to(TESTS).as_posix(): path.read_text("utf-8") for path in TESTS.rglob("*.py")
    }
    found = {
        name
        for name, text in files.items()
        if IMPORTS.search(text) and name.split("/")[0] not in ABOUT_BENCHMARKS
    }
    assert found == HELD_FIGURES
