"""No pattern takes long, and each is compiled when it is first used."""

import re
import signal
import time
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.patterns import LazyPattern, lazy_compile
from mcp_reflect.security import injection
from tests.regexes.attacks import PACKAGE, attacks, patterns, sample_of, uses_of

LENGTH = 16_000  # characters of an attack, and a quarter of it for the comparison
QUICK_SECONDS = 0.05  # of the processor: a use that takes less is not compared
MOST_GROWTH = 8  # times the work for four times the text; what grows with the square takes 16 times
HOPELESS_SECONDS = 1.5

# Patterns that never read a text from outside, or only short pieces of one, with what bounds them.
BOUNDED = {
    "mcp_reflect.llm.prompts._PARTS": "templates of the person who runs the server",
    "mcp_reflect.evidence.outcomes._PATTERNS": "lines cut at 1,000 characters",
    "mcp_reflect.security.secret_sentences._BARE": "matched at one place, behind the sign of a sentence",
    "mcp_reflect.security.secret_sentences._TO": "matched at one place, behind the name of a secret",
}


class TooSlowError(Exception):
    """One text took so long that it is not waited for."""


def seconds(pattern: re.Pattern[str], text: str, use: str) -> float:
    """Processor time of one use of a pattern on a text."""
    try:
        return _timed(pattern, text, use)
    except TooSlowError:
        return HOPELESS_SECONDS


def _timed(pattern: re.Pattern[str], text: str, use: str) -> float:
    signal.setitimer(signal.ITIMER_VIRTUAL, HOPELESS_SECONDS)
    start = time.process_time()
    try:
        if use == "search":
            for _ in pattern.finditer(text):
                pass
        else:
            getattr(pattern, use)(text)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.process_time() - start


def growth(pattern: re.Pattern[str], uses: set[str]) -> float:
    """Return how many times the work grows at most when an attack on the pattern becomes four times as long."""
    most = 0.0
    for long, short in zip(attacks(pattern, LENGTH), attacks(pattern, LENGTH // 4), strict=True):
        for use in uses:
            took = seconds(pattern, long, use)
            if took >= HOPELESS_SECONDS:
                return 16.0
            if took > QUICK_SECONDS:
                before = max(min(seconds(pattern, short, use) for _ in range(3)), 1e-4)
                most = max(most, min(took, seconds(pattern, long, use)) / before)
    return most


def super_linear(search_in: dict[str, re.Pattern[str]], source: str) -> dict[str, float]:
    """Return the patterns whose work grows faster than a text of theirs, with how many times."""

    def give_up(_: int, __: FrameType | None) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGVTALRM, give_up)
    try:
        grown = {
            name: growth(pattern, uses_of(name, source))
            for name, pattern in search_in.items()
            if name.partition("[")[0] not in BOUNDED
        }
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return {name: times for name, times in grown.items() if times > MOST_GROWTH}


@pytest.mark.fuzz
def test_the_work_of_no_pattern_grows_faster_than_the_text() -> None:
    source = "\n".join(file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))
    found = patterns()
    assert len(found) > 300
    slow = super_linear(found, source)
    # A busy machine makes one slow by chance, and hardly the same one twice.
    assert super_linear({name: found[name] for name in slow}, source) == {}


@pytest.mark.fuzz
def test_each_pattern_that_is_left_out_is_there() -> None:
    names = {name.partition("[")[0] for name in patterns()}
    assert BOUNDED.keys() <= names


@pytest.mark.fuzz
def test_a_pattern_whose_work_grows_faster_would_be_found() -> None:
    bad = {
        "_BAD[0]": re.compile(r"(?:a+)+b"),
        "_SPACES[0]": re.compile(r"\s+$"),
        "_UNCLOSED[0]": re.compile("“[^”]*”"),
        "_FINE[0]": re.compile(r"a+b"),
    }
    source = "_BAD.match(text)\n_SPACES.search(text)\n_UNCLOSED.search(text)\n_FINE.match(text)"
    assert set(super_linear(bad, source)) == {"_BAD[0]", "_SPACES[0]", "_UNCLOSED[0]"}


TEXTS = st.text("ab1 \n", max_size=12)


@given(TEXTS, st.sampled_from((re.NOFLAG, re.IGNORECASE, re.MULTILINE)))
def test_a_late_pattern_finds_what_the_pattern_finds(text: str, flags: re.RegexFlag) -> None:
    source = r"^(?P<word>[aB]+)|\d"
    one, other = lazy_compile(source, flags), re.compile(source, flags)
    assert [found.span("word") for found in one.finditer(text)] == [
        found.span("word") for found in other.finditer(text)
    ]
    assert one.sub("-", text) == other.sub("-", text)
    assert one.pattern == source
    assert one.flags == other.flags
    assert bool(one.match(text)) == bool(other.match(text))


def test_a_late_pattern_is_compiled_when_it_is_first_used_and_once() -> None:
    pattern = LazyPattern("a(", 0)
    assert "compiled" not in vars(pattern)
    with pytest.raises(re.error, match="unterminated subpattern"):
        pattern.search("a")
    pattern = LazyPattern("a", 0)
    assert pattern.search("ba").span() == (1, 2)
    assert vars(pattern)["search"] == pattern.compiled.search


def test_what_a_pattern_does_not_have_a_late_one_does_not_have() -> None:
    assert not hasattr(lazy_compile("a"), "find")


MOST_OF_A_RULE = 0.2  # seconds of the processor for 16,000 characters in one sentence; four times what was measured


@pytest.mark.fuzz
def test_no_rule_of_injection_takes_long_on_its_own_words_over_and_over() -> None:
    """The rules are made of a table when they are first used, so that no module holds their patterns."""
    slow: dict[str, float] = {}
    for rule in injection._rules().typed:  # pyright: ignore[reportPrivateUsage] - the patterns are its own
        for sequence in rule.sequences:
            words = " ".join(sample_of(injection._sequence(link.strip()))  # pyright: ignore[reportPrivateUsage]
                             for link in sequence.split(".."))  # fmt: skip
            text = f"{words} " * (LENGTH // len(words))
            start = time.process_time()
            injection._in_order(sequence, text + "\x01")  # pyright: ignore[reportPrivateUsage]
            injection._in_order(sequence, text.rpartition(" ")[0][: -len(words)])  # pyright: ignore[reportPrivateUsage]
            for link in sequence.split(".."):
                part = sample_of(injection._sequence(link.strip()))  # pyright: ignore[reportPrivateUsage]
                injection._in_order(sequence, f"{part} " * (LENGTH // len(part)))  # pyright: ignore[reportPrivateUsage]
            took = time.process_time() - start
            if took > MOST_OF_A_RULE:
                slow[sequence] = took
    assert slow == {}
