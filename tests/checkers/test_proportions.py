"""Percentages, ratios, parts and totals: each rule on a right and a wrong sentence, and on one that is not its own."""

import pytest

from mcp_reflect.checkers.base import Work
from mcp_reflect.checkers.proportions import ProportionsChecker
from mcp_reflect.models.critique import Status


def statuses(text: str) -> list[Status]:
    return [finding.status for finding in ProportionsChecker().check(Work(goal="", steps=(text,)))]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("11,640 of 12,000 (97 %) were delivered.", "11,640 of 12,000 (98.5 %) were delivered."),
        ("It went from 200k to 250k, a 25 % increase.", "It went from 200k to 250k, a 20 % increase."),
        ("It fell from 800 to 600 ms, a reduction of 25 %.", "It fell from 800 to 600 ms, a reduction of 33 %."),
        ("It fell from 1.25 s to 1 s: 20 % less.", "It fell from 1.25 s to 1 s: 25 % less."),
        ("Response time 800 → 600 ms, a 25% reduction.", "Response time 800 → 600 ms, a 20% reduction."),
        ("The image is 312 MB instead of 1.25 GB: a quarter.", "The image is 312 MB instead of 1.25 GB: about half."),
        ("So 0x1F = 31.", "So 0x1F = 33."),
        ("It ran from 1789 to 1799, 10 years.", "It ran from 1789 to 1799, 12 years."),
        (
            "We are 18 people: ten from sales, five from support and three guests.",
            "We are 18 people: ten from sales, five from support and four guests.",
        ),
        (
            "| item | cost |\n|---|---|\n| rent | 100 |\n| food | 50 |\n| total | 150 |\n",
            "| item | cost |\n|---|---|\n| rent | 100 |\n| food | 50 |\n| total | 160 |\n",
        ),
    ],
)
def test_what_follows_from_the_numbers_passes_and_what_does_not_fails(right: str, wrong: str) -> None:
    assert statuses(right) == [Status.PASS]
    assert statuses(wrong) == [Status.FAIL]


@pytest.mark.parametrize(
    "text",
    [
        "Of 48 balls, 12 of 30 red ones (and 25 % of the rest) are new.",
        "Two shirts at 49.50 each make 99.00 altogether.",
        "It rose by 20 % in 2023 and fell from 8 to 7 in 2024 in another town, 5 % of it in May.",
        "There are 3 rules: read, write and run.",
        "There are 3 rules: two hours of rest and one of work, then home.",
        "Invoices 12, 17 and 940 are open, 1,200,000 in all.",
    ],
)
def test_numbers_of_something_else_get_no_verdict(text: str) -> None:
    assert Status.FAIL not in statuses(text)
