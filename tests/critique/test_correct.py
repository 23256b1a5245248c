"""Corrections: the wrong result, and everything that was built on it."""

from mcp_reflect.critique.certain import check
from mcp_reflect.critique.verify import correct
from mcp_reflect.critique.work import Finding, Work


def corrected(*steps: str, goal: str = "") -> tuple[str, ...]:
    return correct(steps, check(Work(goal=goal, steps=steps)), goal=goal)


def test_a_wrong_cost_is_corrected_through_tax_and_total() -> None:
    assert corrected(
        "Base cost: 15 × $12.99 = $195.00",
        "Tax: $195.00 × 0.085 = $16.58",
        "Total: $195.00 + $16.58 = $211.58",
    ) == (
        "Base cost: 15 × $12.99 = $194.85",
        "Tax: $194.85 × 0.085 = $16.56",
        "Total: $194.85 + $16.56 = $211.41",
    )


def test_a_display_too_coarse_is_written_with_the_digits_it_needs() -> None:
    assert corrected("π × 5² = 3.14 × 25 = 78.5; 78.5 ÷ 43560 = 0.002") == (
        "π × 5² = 3.14 × 25 = 78.5; 78.5 ÷ 43560 = 0.0018",
    )


def test_right_steps_stay_as_they_are() -> None:
    steps = ("2x + 6 = 10", "2x = 4", "x = 2")
    assert corrected(*steps) == steps


def test_a_wrong_sum_in_a_chain_gives_way_to_its_value_and_the_answer_follows() -> None:
    assert corrected(
        "Let's calculate A = (3 - -5) = (3 - 5) = -2.", "B = 4 * 2 = 8", "A * B = -2 * 8 = -16. So the answer is -16"
    ) == ("Let's calculate A = (3 - -5) = 8.", "B = 4 * 2 = 8", "A * B = 8 * 8 = 64. So the answer is 64")


def test_a_number_that_was_given_is_not_replaced() -> None:
    assert corrected("5 + 4 = 8 boys", "There are 8 girls, so 8 × 2 = 16 shoes.", goal="There are 8 girls.") == (
        "5 + 4 = 9 boys",
        "There are 8 girls, so 8 × 2 = 16 shoes.",
    )


def test_a_conversion_is_corrected_and_used() -> None:
    assert corrected("The trail is 5 km = 500 m long.", "At 100 m a minute: 500 / 100 = 5 minutes") == (
        "The trail is 5 km = 5000 m long.",
        "At 100 m a minute: 5000 / 100 = 50 minutes",
    )


def test_a_finding_without_a_correction_changes_nothing() -> None:
    finding = Finding(step=1, wrong=True, claim="5 > 7")
    assert correct(["5 > 7"], [finding], goal="") == ("5 > 7",)
