"""Contradictions of a work with itself."""

import pytest

from mcp_reflect.checkers.base import Work
from mcp_reflect.checkers.consistency import ConsistencyChecker
from mcp_reflect.models.critique import Status


def contradicted(*steps: str) -> list[str]:
    found = ConsistencyChecker().check(Work(goal="", steps=steps))
    return [finding.claim for finding in found if finding.status is Status.FAIL]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The timeout is 30 s.", "The timeout is 60 s."),
        ("The retry limit is 5, the port is 80.", "So the retry limit is 3."),
        ("The budget is $1,200.", "The budget is $1,500."),
    ],
)
def test_another_value_for_the_same_thing_is_contradicted(first: str, second: str) -> None:
    assert contradicted(first, second) == [second]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The timeout is 30 s.", "The timeout is 30 seconds."),
        ("The timeout is 0.5 min.", "The timeout is 30 s."),
        ("The timeout is 30 s.", "The timeout is 60 s on staging."),
        ("The timeout is 30 s.", "I raised it. The timeout is 60 s."),
        ("The timeout is 30 s.", "The connect timeout is 60 s."),
        ("If the timeout is 30 s, it fails.", "The timeout is 60 s."),
        ("The height is 30 cm.", "The height is 60 %."),
        ("The timeout should be 30 s.", "The timeout is 60 s."),
    ],
)
def test_values_of_other_things_other_cases_and_changes_are_left_alone(first: str, second: str) -> None:
    assert contradicted(first, second) == []
