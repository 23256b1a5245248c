"""No text may crash a rule or keep it for long; `-m fuzz` holds all of them to 100 ms."""

import random
import time
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_reflect.critique.certain import check
from mcp_reflect.critique.verify import correct
from mcp_reflect.critique.work import Finding, Work

LIMIT = 0.1  # seconds of processor time a text, on a machine that does the loop below in 8 ms
LOOP = 0.008
ENDS = 5.0  # seconds: the text ends at all, also on a machine that others share
ODDITIES = "½ ² ³ ⁻ √ π × ÷ − ≈ ≤ $ € % ° — – … | ` ** ``` <<1+1=2>> é 中 ١ ₂ 𝟙"
SUMS = "1 2 3.5 .5 10 12.99 1,000 1e5 0 00 7 x y n A = = = < > + - * / ^ ( ) [ ] { } : ; , . ? !"
WORDS = "% of off plus minus times is are and or m km kg °C °F h min GB mod dozen million days after from to"
DATES = "March 2025 2025-02-30 10:30 UTC+2 Monday 5% \\frac \\sqrt \\times ^{ } _{ ..."
PIECES = [*f"{ODDITIES} {SUMS} {WORDS} {DATES}".split(), "\n", "\0", "\ud7ff"]
ADVERSARIES = {
    "a tower of powers": "10^9^9 = 5 and 9**9**9**9 = 1 and 2^-99999999 = 0",
    "a deep nest": "(" * 5000 + "1" + ")" * 5000 + " = 2",
    "an unclosed nest": "(" * 9000 + "1 + 1 = 2",
    "an unopened nest": "1 + 1 = 2" + ")" * 9000,
    "nested braces": "{[(" * 2000 + "1" + ")]}" * 2000 + " = 1",
    "nested roots": "√" * 8000 + "4 = 2",
    "nested fractions": "\\frac{" * 2000 + "1}{2}" * 2000 + " = 1",
    "a long sum": "1 + " * 5000 + "1 = 5001",
    "a long product": "9 * " * 5000 + "9 = 9",
    "a long chain": "1 + 1 = " * 3000 + "2",
    "a long name": "x" * 20000 + " = 3",
    "a long number": "1" * 20000 + " + 1 = " + "1" * 20000,
    "long decimals": "0." + "3" * 20000 + " × 3 = 1",
    "many signs": "-" * 20000 + "1 = 1",
    "many percents": "5" + "%" * 20000 + " = 5",
    "many factorials": "5" + "!" * 20000 + " = 5",
    "many commas": "1," * 10000 + "1 = 1",
    "many groups": "1,000" * 4000 + " = 1",
    "many spaces": "1 +" + " " * 20000 + "1 = 2",
    "many words": "a " * 10000 + "= 5",
    "many hyphens": "a-" * 10000 + "b = 5",
    "many letters and digits": "1a" * 10000 + " = 1",
    "many quantities": "5 km + " * 3000 + "5 m = 3 km",
    "many compounds": "2 hours 30 minutes " * 1000 + "= 5 hours",
    "many dates": "from 2025-01-01 to 2025-02-01 is 5 days " * 500,
    "many months": "March " * 4000,
    "many times": "10:30 " * 4000 + "is 12:00 UTC",
    "a line of a kilometre": "the quick brown fox jumps = over the lazy dog 42 + " * 2000,
    "line breaks": "\n" * 20000 + "1 + 1 = 3",
    "open calculators": "<<" * 10000,
    "open fences": "```" * 5000,
    "backslashes": "\\" * 20000,
    "scientific": "1e400 + 1e-400 = 1e999 and 1e99999 * 2 = 3",
    "equations": "".join(f"{n}x + {n} = {n * 3}; " for n in range(1, 1500)),
    "unknowns": "a + b + c + d + e = " * 1000,
    "zero": "1/0 = 0/0 = 0^0 = 0^-1 = √-1 = -1! = 5",
    "all readings": "50% - 20% / 3 × 10^4 × π - -2^2 of 5 dozen = 7 million % " * 50,
    "quantities without end": "1" * 50 + " km = " + "9" * 50 + " nm",
    "far dates": "9999-12-31 plus 999999 years is 2025-01-01; 100000 days before 1000-01-01 is 1000-01-01",
}


def slowness() -> float:
    """How many times slower than it should this machine is just now: others share its cores."""
    begun, total = time.process_time(), 0
    for number in range(100_000):
        total += number * number % 7
    return max(1.0, (time.process_time() - begun) / LOOP)


def findings(*steps: str) -> Sequence[Finding]:
    begun = time.process_time()
    found = check(Work(goal="", steps=steps))
    assert time.process_time() - begun < ENDS
    return found


def findings_within_the_limit(*steps: str) -> Sequence[Finding]:
    """The best of three runs, since other processes share the machine."""
    spent: list[float] = []
    found: Sequence[Finding] = ()
    for _ in range(3):
        begun = time.process_time()
        found = check(Work(goal="", steps=steps))
        spent.append(time.process_time() - begun)
        if spent[-1] <= LIMIT:
            return found
        spent[-1] /= slowness()
        if spent[-1] <= LIMIT:
            return found
    raise AssertionError(f"{min(spent):.3f} s for {steps[0][:80]!r}")


@pytest.mark.parametrize("text", ADVERSARIES.values(), ids=ADVERSARIES.keys())
def test_an_adversary_is_answered(text: str) -> None:
    findings(text)


@pytest.mark.fuzz
@pytest.mark.parametrize("text", ADVERSARIES.values(), ids=ADVERSARIES.keys())
def test_an_adversary_is_answered_within_100_ms(text: str) -> None:
    findings_within_the_limit(text)


def random_texts(count: int) -> Iterator[str]:
    source = random.Random(20250101)
    for index in range(count):
        length = source.randint(1, 60)
        if index % 4 == 3:
            yield "".join(chr(source.randrange(0x20, 0xD7FF)) for _ in range(length))
        else:
            glue = source.choice(("", " ", " "))
            yield glue.join(source.choice(PIECES) for _ in range(length))


@pytest.mark.fuzz
def test_ten_thousand_random_texts_are_answered_each_within_100_ms() -> None:
    for text in random_texts(10_000):
        findings_within_the_limit(text)


def test_random_texts_are_answered_with_what_they_say() -> None:
    for text in random_texts(1_500):
        for finding in findings(text):
            assert finding.claim in text
            if finding.fix is not None:
                assert 0 <= finding.fix.start <= finding.fix.end <= len(text)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=80), max_size=5))
def test_any_unicode_is_answered(steps: list[str]) -> None:
    if steps:
        findings(*steps)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join), min_size=1, max_size=4))
def test_correcting_any_text_ends_and_keeps_the_number_of_steps(steps: list[str]) -> None:
    assert len(correct(steps, findings(*steps), goal="")) == len(steps)
