"""A pytest plugin: the processes that a test starts measure their coverage under the test's name."""

import os


def pytest_runtest_setup() -> None:
    os.environ["COVERAGE_PROCESS_START"] = os.environ["MUTATION_COVERAGE"]
