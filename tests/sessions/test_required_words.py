"""The words that are looked for before a pattern of errors: they leave out no text that the pattern matches."""

import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_reflect.sessions import error_categories
from mcp_reflect.sessions.required_words import (
    Alternatives,
    alternatives,
    folded,
    required_words,
)

SENTENCES = (
    "All 12 tests passed in 0.4 s", "error: 0 failed", "the port 8404 is open", "Killed", "not an error: exit 0",
)  # fmt: skip
NONE: set[str] = set()
TABLES = {
    f"{kind} {category}": re.compile(words.pattern, words.flags)
    for kind, table in (
        ("exception", error_categories.EXCEPTIONS),
        ("message", error_categories.MESSAGES),
    )
    for category, words in table.items()
}


@pytest.mark.hypothesis
@pytest.mark.parametrize("name", TABLES)
def test_the_alternatives_of_a_table_are_tried_where_it_matches(name: str) -> None:
    table = TABLES[name]
    tried = Alternatives(table)

    @given(st.from_regex(table))
    @settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
    def is_found(text: str) -> None:
        assert tried.match_in(text, folded(text))

    @given(st.text("abefilnort 045|'") | st.sampled_from(SENTENCES))
    def is_as_the_table_says(text: str) -> None:
        assert tried.match_in(text, folded(text)) == bool(table.search(text))

    is_found()
    is_as_the_table_says()


@pytest.mark.parametrize("name", TABLES)
def test_each_alternative_of_a_table_has_required_words(name: str) -> None:
    table = TABLES[name]
    assert all(
        required_words(one, table.flags & ~re.UNICODE) for one in alternatives(table.pattern)
    )


def test_a_pattern_is_divided_outside_of_groups_and_classes() -> None:
    assert alternatives(r"a(?:b|c)|[|]|\||[]|]d|") == ["a(?:b|c)", "[|]", r"\|", "[]|]d", ""]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("rate.?limit|throttl", {"limit", "throttl"}),
        (r"\b(?:408|504)\b", {"408", "504"}),
        ("(?:a |the )?", NONE),
        ("[ab]c|no", NONE),
        ("(?:can|could)not? find", {" find"}),
        ("x{2,3}failure{0,2}", {"failur"}),
        ("(?:ab)+", {"ab"}),
        ("İs", {"is"}),
    ],
)
def test_the_words_that_tell_most_are_required(pattern: str, words: set[str]) -> None:
    assert required_words(pattern, re.IGNORECASE) == words


def test_two_hundred_long_outputs_have_their_categories_in_a_part_of_a_second() -> None:
    lines = "\n".join(
        f"alpha{number} beta gamma{number} build target linker" for number in range(90)
    )
    error_categories.category_of("warm", f"{lines} warm")
    began = time.process_time()
    found = {error_categories.category_of("x", f"{lines} call {call}") for call in range(200)}
    assert found == {"unknown_error"}
    assert time.process_time() - began < 1
