"""What is put in the place of a wrong value, and what was computed from it: all of it, or nothing."""

import pytest

from mcp_reflect.evidence.correcting import correct_steps


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("15 × $12.99 = $195.00", "15 × $12.99 = $194.85"),
        ("78.5 ÷ 43560 = 0.002", "78.5 ÷ 43560 = 0.0018"),
        ("80,000 + 50,000 = $390,001", "80,000 + 50,000 = $130,000"),
        ("7 − 9 = 2", "7 − 9 = -2"),
        ("3 - 5 = -3 degrees", "3 - 5 = -2 degrees"),
        ("20 / 80 = 20%", "20 / 80 = 25%"),
        ("8/10 × 100 = 90%", "8/10 × 100 = 80%"),
        ("7/2 = $5", "7/2 = $3.50"),
        ("12,5 + 7,75 = 20,5", "12,5 + 7,75 = 20,25"),
        ("A = (3 - -5) = (3 - 5) = -2.", "A = (3 - -5) = 8."),
        ("$5 + $3 = $9 per day", "$5 + $3 = $8 per day"),
    ],
)
def test_a_result_is_written_anew_in_the_style_it_has(wrong: str, right: str) -> None:
    assert correct_steps([wrong]) == (right,)


@pytest.mark.parametrize(
    ("steps", "right"),
    [
        (
            (
                "Base cost: 15 × $12.99 = $195.00",
                "Tax: $195.00 × 0.085 = $16.58",
                "Total: $195.00 + $16.58 = $211.58",
            ),
            (
                "Base cost: 15 × $12.99 = $194.85",
                "Tax: $194.85 × 0.085 = $16.56",
                "Total: $194.85 + $16.56 = $211.41",
            ),
        ),
        (
            (
                "Let's calculate A = (3 - -5) = (3 - 5) = -2.",
                "B = 4 * 2 = 8",
                "A * B = -2 * 8 = -16. So the answer is -16",
            ),
            (
                "Let's calculate A = (3 - -5) = 8.",
                "B = 4 * 2 = 8",
                "A * B = 8 * 8 = 64. So the answer is 64",
            ),
        ),
        (
            ("48 - 19 = 31 tickets are left, so 31 × 2 = 62 seats.",),
            ("48 - 19 = 29 tickets are left, so 29 × 2 = 58 seats.",),
        ),
        (("2x + 6 = 10", "2x = 16", "x = 8"), ("2x + 6 = 10", "2x = 4", "x = 2")),
    ],
)
def test_what_was_computed_from_a_wrong_value_is_corrected_too(
    steps: tuple[str, ...], right: tuple[str, ...]
) -> None:
    assert correct_steps(steps) == right


@pytest.mark.parametrize(
    "steps",
    [
        ("15 × $12.99 = $195.00", "Tax: 195.00 × 0.085 = 16.58", "Total: $211.58"),
        ("12 + 30 = 44", "With shipping that is 49."),
        ("Solve x² = 49", "x = 8"),
    ],
)
def test_nothing_is_corrected_where_a_later_number_may_rest_on_the_wrong_one(
    steps: tuple[str, ...],
) -> None:
    assert correct_steps(steps) == steps


def test_a_number_that_was_given_is_not_replaced() -> None:
    steps = ("5 + 4 = 8 boys", "There are 8 girls, so 8 × 2 = 16 shoes.")
    assert correct_steps(steps, "There are 8 girls.") == ("5 + 4 = 9 boys", steps[1])
