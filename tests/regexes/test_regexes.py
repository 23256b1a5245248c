"""No pattern takes long, and each is compiled when it is first used."""

import re
import signal
import time
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.patterns import LazyPattern, lazy_compile
from tests.regexes.attacks import PACKAGE, attacks, patterns, searched

SIZE = 2_000  # characters
MOST_SECONDS = 0.25  # of the processor
HOPELESS_SECONDS = 1


class TooSlowError(Exception):
    """One text took so long that it is not waited for."""


def seconds(pattern: re.Pattern[str], text: str, *, search: bool) -> float:
    """Processor time of one use of a pattern on a text."""
    start = time.process_time()
    if search:
        for _ in pattern.finditer(text):
            pass
    else:
        pattern.match(text)
    return time.process_time() - start


def slowest(search_in: dict[str, re.Pattern[str]], source: str) -> dict[str, float]:
    """The patterns that a text of theirs takes longer than allowed, with how long."""

    def give_up(_: int, __: FrameType | None) -> None:
        raise TooSlowError

    found: dict[str, float] = {}
    before = signal.signal(signal.SIGVTALRM, give_up)
    try:
        for name, pattern in search_in.items():
            for text in attacks(pattern, SIZE):
                signal.setitimer(signal.ITIMER_VIRTUAL, HOPELESS_SECONDS)
                try:
                    took = seconds(pattern, text, search=searched(name, source))
                except TooSlowError:
                    took = HOPELESS_SECONDS
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                if took > MOST_SECONDS:
                    found[name] = max(took, found.get(name, 0))
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return found


@pytest.mark.fuzz
def test_no_pattern_is_slow_over_what_was_made_to_be_slow_for_it() -> None:
    source = "\n".join(file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))
    found = patterns()
    assert len(found) > 300
    assert slowest(found, source) == {}


def test_a_pattern_that_is_slow_would_be_found() -> None:
    bad = {"_BAD[0]": re.compile(r"(?:a+)+b"), "_FINE[0]": re.compile(r"a+b")}
    assert set(slowest(bad, "_BAD.match(text)\n_FINE.match(text)")) == {"_BAD[0]"}


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
