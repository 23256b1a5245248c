"""What the arithmetic checker says of a claim, what it puts in its place, and what follows from that."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.critique import certain
from mcp_reflect.critique.arithmetic import check_arithmetic
from mcp_reflect.critique.verify import correct
from mcp_reflect.critique.work import Finding, Work


def check(*steps: str, goal: str = "") -> list[Finding]:
    return list(check_arithmetic(Work(goal=goal, steps=steps)))


def failures(*steps: str, goal: str = "") -> list[Finding]:
    return [finding for finding in check(*steps, goal=goal) if finding.wrong]


def fixed(step: str) -> str:
    (finding,) = failures(step)
    assert finding.fix is not None
    return step[: finding.fix.start] + finding.fix.text + step[finding.fix.end :]


@pytest.mark.parametrize(
    "claim",
    [
        "15 × 12.99 = 194.85",
        "It is - -7 + 2 = 9",
        "500/2/5 = 50",
        ".25 + .05 = .3",
        "2³ + 2² = 12",
        "6.02e23 / 2 = 3.01e23",
        "3 × 10^8 × 2 = 6 × 10^8",
        "16% of 50 = 8",
        "8/10 x 100 = 80%",
        "100% - 40% = 60%",
        "$1,000 + $500 = $1,500",
        "48/2 = <<48/2=24>>24",
        "5/3 = 1.67",
        "78.5 / 43560 = 0.0018",
        "100/7 ≈ 14",
        "12 eggs*3 + 4 = 40",
        "60 minutes/hour / 2 minutes/mile = 30 miles/hour",
        r"\frac{1}{2} + \frac{1}{3} = \frac{5}{6}",
        "π × 5² = 3.14 × 25 = 78.5",
    ],
)
def test_a_right_claim_passes(claim: str) -> None:
    found = check(claim)
    assert found
    assert not any(finding.wrong for finding in found)


@pytest.mark.parametrize(
    ("claim", "right"),
    [
        ("15 × $12.99 = $195.00", "15 × $12.99 = $194.85"),
        ("78.5 ÷ 43560 = 0.002", "78.5 ÷ 43560 = 0.0018"),
        ("80,000 + 50,000 = $390,001", "80,000 + 50,000 = $130,000"),
        ("7 − 9 = 2", "7 − 9 = -2"),
        ("$20 - $50 = $30", "$20 - $50 = $-30"),
        ("3 - 5 = -3 degrees", "3 - 5 = -2 degrees"),
        ("20 / 80 = 20%", "20 / 80 = 25%"),
        ("8/10 × 100 = 90%", "8/10 × 100 = 80%"),
        ("7/2 = 4.5", "7/2 = 3.5"),
        ("7/2 = $5", "7/2 = $3.50"),
        ("60 / 12 = 16 dozen", "60 / 12 = 5 dozen"),
        ("A = (3 - -5) = (3 - 5) = -2.", "A = (3 - -5) = 8."),
    ],
)
def test_a_wrong_result_is_written_anew_in_the_style_it_has(claim: str, right: str) -> None:
    assert fixed(claim) == right


def test_a_finding_quotes_the_claim_and_says_what_it_should_be() -> None:
    (finding,) = failures("So she pays 15 × 12.99 = 195.00 in all.")
    assert finding.claim == "15 × 12.99 = 195.00"
    assert finding.expected == "194.85"


def test_another_problem_in_the_same_unknown_is_no_mistake() -> None:
    assert not failures("2x = 4, so x = 2. For the second shop, 3x = 9, so x = 3.")
    assert not failures("Case 1: x = 2, then x + 1 = 3. Case 2: x = 5, then x + 1 = 6.")


def test_a_rounded_number_may_be_used_at_full_precision_later() -> None:
    assert not failures("1/7 = 0.143", "0.143 × 700 = 100")
    assert failures("0.143 × 720 = 100")


@pytest.mark.parametrize(
    "right",
    [
        "5000 × 1.03^4 = 5000 × 1.1255 = 5627.54",
        "1/3 × 100 = 0.333 × 100 = 33.33",
        "26 / 3 = 8.67",
        "2 × π × 7 = 43.98",
        "π × 7² = 153.94",
    ],
)
def test_a_step_may_go_on_with_the_digits_that_it_does_not_show(right: str) -> None:
    assert not failures(right)


@pytest.mark.parametrize(
    "wrong", ["5000 × 1.1255 = 5672.54", "0.333 × 100 = 32.3", "π × 7² = 145.94"]
)
def test_more_than_the_digits_not_shown_is_wrong(wrong: str) -> None:
    assert failures(wrong)


def test_a_chain_written_as_keys_are_pressed_is_not_flagged() -> None:
    assert not failures("5 + 3 = 8 × 2 = 16")


def test_two_claims_joined_by_and_are_two_claims() -> None:
    assert [f.claim for f in failures("3 + 4 = 7 and 5 + 5 = 11")] == ["5 + 5 = 11"]
    assert not failures("The difference between 9 and 3 + 2 = 4.")


def test_mixed_units_prove_nothing_in_a_plain_sum() -> None:
    assert not failures("2 hours + 30 minutes = 150 minutes")
    assert not check("2 m + 50 cm = 52 m")
    assert not failures("$1 / 2 = 50 cents")
    assert failures("4 * 25 cents = 301 cents")


@pytest.mark.parametrize(
    "goal", ["Compute 3 + 4 modulo 5.", "Add the binary numbers.", "Work in $\\mathbb{Z}_7$."]
)
def test_another_arithmetic_is_left_alone(goal: str) -> None:
    assert not check("3 + 4 = 2", goal=goal)


@pytest.mark.parametrize(
    "text",
    [
        "Suppose 2 + 2 = 5.",
        "They say 5 × 3 = 16.",
        "It is wrong that 3 + 4 = 8.",
        "Does 3 × 5 = 16?",
        "```\n2 + 2 = 5\n```",
        "if 2 + 2 = 5",
        "20% off $50 = $40",
        "5 < 3",
        "15% more than 40 = 50",
        "2πr = 2 × 3.14 × 7 = 43.96",
        "45° = π/4",
        "1.234,50 € + 1.000 € = 2.234,50 €",
        "0.5 × 3 million = 1,500,000",
    ],
)
def test_what_is_quoted_asked_rejected_or_not_read_is_not_flagged(text: str) -> None:
    assert not failures(text)


@given(st.integers(-999, 999), st.integers(-999, 999), st.integers(-2000, 2000))
def test_an_equality_of_whole_numbers_passes_exactly_where_it_holds(a: int, b: int, c: int) -> None:
    (finding,) = check(f"({a}) + ({b}) = {c}")
    assert finding.wrong == (a + b != c)


@given(st.integers(1, 999), st.integers(1, 99), st.integers(0, 6))
def test_a_quotient_rounded_to_four_digits_or_more_passes(a: int, b: int, more: int) -> None:
    whole = len(str(a // b)) if a >= b else 0
    places = max(0, 4 - whole) + more + (2 if a < b else 0)
    shown = round(Fraction(a, b), places)
    text = f"{a} / {b} = {float(shown):.{places}f}"
    assert not failures(text), text


@given(st.integers(1, 9999), st.integers(1, 9999), st.integers(1, 50))
def test_a_fix_makes_the_claim_pass(a: int, b: int, off: int) -> None:
    step = f"{a:,} × {b} = {a * b + off:,}"
    (finding,) = check(fixed(step))
    assert not finding.wrong


def corrected(*steps: str, goal: str = "") -> tuple[str, ...]:
    return correct(steps, certain.check(Work(goal=goal, steps=steps)), goal=goal)


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
            ("π × 5² = 3.14 × 25 = 78.5; 78.5 ÷ 43560 = 0.002",),
            ("π × 5² = 3.14 × 25 = 78.5; 78.5 ÷ 43560 = 0.0018",),
        ),
        (("2x + 6 = 10", "2x = 4", "x = 2"), ("2x + 6 = 10", "2x = 4", "x = 2")),
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
            ("The trail is 5 km = 500 m long.", "At 100 m a minute: 500 / 100 = 5 minutes"),
            ("The trail is 5 km = 5000 m long.", "At 100 m a minute: 5000 / 100 = 50 minutes"),
        ),
    ],
    ids=[
        "through tax and total",
        "the digits that it needs",
        "right",
        "a sum in a chain",
        "a conversion",
    ],
)
def test_a_wrong_value_is_corrected_and_used_in_later_steps(
    steps: tuple[str, ...], right: tuple[str, ...]
) -> None:
    assert corrected(*steps) == right


def test_a_number_that_was_given_is_not_replaced() -> None:
    assert corrected(
        "5 + 4 = 8 boys", "There are 8 girls, so 8 × 2 = 16 shoes.", goal="There are 8 girls."
    ) == (
        "5 + 4 = 9 boys",
        "There are 8 girls, so 8 × 2 = 16 shoes.",
    )


def test_a_finding_without_a_correction_changes_nothing() -> None:
    finding = Finding(step=1, wrong=True, claim="5 > 7")
    assert correct(["5 > 7"], [finding], goal="") == ("5 > 7",)


def test_a_step_that_is_too_long_to_correct_keeps_no_other_from_it() -> None:
    long = "1 + 1 = 3" + " " * 20_000
    assert corrected(long, "2 + 2 = 5") == (long, "2 + 2 = 4")
