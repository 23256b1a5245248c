"""Plans whose steps undo each other, and plans that only look like it."""

import pytest

from mcp_reflect.checkers.base import Work
from mcp_reflect.checkers.order import OrderChecker


def contradicted(*steps: str) -> list[int]:
    return [finding.step for finding in OrderChecker().check(Work(goal="", steps=steps))]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Migrate the production database.", "Take a backup of the old database."),
        ("Revoke the old signing key.", "Deploy the services that still accept the old signing key."),
        ("Delete the log files below /var/log.", "Compress the log files below /var/log and upload them."),
        ("Switch the record to the new host.", "Wait a day before switching."),
    ],
)
def test_a_step_that_comes_too_late_is_contradicted_in_this_order_only(first: str, second: str) -> None:
    assert contradicted(first, second) == [2]
    assert contradicted(second, first) == []


@pytest.mark.parametrize(
    "steps",
    [
        ("Dump the database.", "Migrate the database.", "Delete the dump after a week."),
        ("Remove the feature flag.", "Use the new menu."),
        ("Delete the branch.", "Back up the photos."),
    ],
)
def test_other_orders_are_left_alone(steps: tuple[str, ...]) -> None:
    assert contradicted(*steps) == []
