"""A pattern that is compiled when it is first needed is the same pattern."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.patterns import LazyPattern, lazy_compile

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
