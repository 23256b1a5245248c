"""A judgment is read from any form a host sends, and refused with the field, the fault and the fix."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.errors import InputError
from mcp_reflect.models.common import Json
from mcp_reflect.models.reflection import Analysis, Assessment
from mcp_reflect.schemas.analysis import read_analysis

FULL: dict[str, Json] = {
    "reflection": "The search was too narrow.",
    "strategy": "Search for the broader term first.",
    "importance": 0.8,
    "confidence": 0.7,
    "tags": ["search", "zero results"],
    "mistake": "Three filters at once",
    "correction": "One filter at a time",
    "symptoms": ["0 hits, twice"],
    "keywords": ["filter", "search"],
}
READ = Analysis(
    reflection="The search was too narrow.",
    strategy="Search for the broader term first.",
    importance=0.8,
    confidence=0.7,
    tags=("search", "zero results"),
    mistake="Three filters at once",
    correction="One filter at a time",
    symptoms=("0 hits, twice",),
    keywords=("filter", "search"),
)
MARKDOWN = """## 1. Reflection
The search was too narrow.

**Strategy:** Search for the broader term first.

Importance: 0.8
Confidence: 70%

### Tags
search, zero results

**Mistake**
Three filters at once
**Correction**: One filter at a time

5. Symptoms
- 0 hits, twice

## Keywords
* filter
* search
"""


def fault(value: Json, event_ids: tuple[str, ...] = ()) -> InputError:
    with pytest.raises(InputError) as caught:
        read_analysis(value, event_ids)
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize(
    "value",
    [
        FULL,
        [FULL],
        {"analysis": FULL},
        json.dumps(FULL),
        json.dumps({"analysis": FULL}),
        f"Here is what I think:\n```json\n{json.dumps(FULL, indent=2)}\n```\nI hope this helps.",
        f"<think>Perhaps {{'reflection': 'x'}}</think>{json.dumps(FULL)}",
        str(FULL),
        json.dumps(FULL)[:-1] + ",",
        json.dumps({key.title(): value for key, value in FULL.items()}),
        MARKDOWN,
    ],
)
def test_every_form_of_the_same_judgment_reads_alike(value: Json) -> None:
    assert read_analysis(value) == READ


def test_a_wrapper_of_a_single_field_is_opened_too() -> None:
    assert read_analysis('{"analysis": {"reflection": "r"}}') == Analysis(reflection="r")
    assert read_analysis({"reflection": {"reflection": "r", "importance": 1}}).importance == 1


def test_text_nested_ten_thousand_deep_is_only_text() -> None:
    assert read_analysis("[" * 10_000).reflection == "[" * 10_000


def test_text_without_headings_is_the_reflection() -> None:
    text = "I called the tool twice: it failed both times.\nNext time I check {braces} first."
    assert read_analysis(text) == Analysis(reflection=text)


@pytest.mark.parametrize(
    "value",
    [
        {
            "reflection": "r",
            "decision_appropriate": False,
            "execution_effective": "yes",
            "confidence": 0.5,
        },
        "## Reflection\nr\n**Decision appropriate**: no\n**Execution effective**: true\n**Confidence**: medium",
    ],
)
def test_the_verdict_on_a_decision_is_one_of_its_fields(value: Json) -> None:
    verdict = Assessment(decision_appropriate=False, execution_effective=True, confidence="medium")
    assert read_analysis(value).assessment == verdict


@pytest.mark.parametrize(
    ("text", "lesson"),
    [
        ("Next time run make setup before make test", (None, "Next time run make setup before make test")),
        ("The tests had no database. Next time, I should run make setup first.",
         ("The tests had no database.", "Next time, I should run make setup first.")),
        ("The disk was full, and nobody knew.", (None, None)),
        ("Run make setup first. " + "It then went on. " * 40, (None, None)),
    ],
)  # fmt: skip
def test_advice_in_an_agents_plain_text_is_its_lesson(
    text: str, lesson: tuple[str | None, str | None]
) -> None:
    read = read_analysis(text, lenient=True)
    assert (read.reflection, (read.mistake, read.correction)) == (text.strip(), lesson)
    assert read_analysis(text).correction is None, "a language model is asked for fields"


def test_unknown_sections_of_markdown_are_kept() -> None:
    read = read_analysis("## Reflection\nIt broke.\n## Context for later\nA new API.\n")
    assert read.reflection == "It broke."
    assert read.raw_sections == {"Context for later": "A new API."}


def test_text_before_the_headings_is_the_reflection_where_no_heading_gives_one() -> None:
    read = read_analysis("It broke because of X.\n\n**Strategy:** check X")
    assert (read.reflection, read.strategy) == ("It broke because of X.", "check X")


@pytest.mark.parametrize(
    "text",
    [
        "**Mistake**: ran npm ci with a stale lock. **Correction**: run npm install first",
        "**Mistake:** ran npm ci with a stale lock. **Correction:** run npm install first",
        "Mistake: ran npm ci with a stale lock. Correction: run npm install first",
        "Mistake: ran npm ci with a stale lock Fix: run npm install first",
        "1. Mistake: ran npm ci with a stale lock. 2. Lesson learned: run npm install first",
        "It broke at noon. Mistake: ran npm ci with a stale lock; correction: run npm install first. Tags: npm",
        "- Mistake: ran npm ci\n  with a stale lock. Correction: run npm install first",
    ],
)
def test_fields_are_read_inside_of_a_line_too(text: str) -> None:
    analysis = read_analysis(text)
    assert " ".join((analysis.mistake or "").split()).rstrip(".;") == "ran npm ci with a stale lock"
    assert (analysis.correction or "").rstrip(".") == "run npm install first"


@pytest.mark.parametrize(
    "text",
    [
        "Mistake: the fix: prefix was missing in it",
        "Mistake: it printed 'Correction: none' to the log",
    ],
)
def test_words_before_a_colon_that_begin_nothing_are_text(text: str) -> None:
    assert read_analysis(text).mistake == text.removeprefix("Mistake: ")


def test_a_heading_inside_a_fence_is_text() -> None:
    read = read_analysis("## Reflection\nI ran\n```\n# Strategy\n```\nand it broke")
    assert read.strategy is None
    assert "# Strategy" in read.reflection


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("reflection_text", "reflection"),
        ("rootCause", "reflection"),
        ("What went wrong", "reflection"),
    ],
)
def test_synonyms_name_the_same_field(key: str, name: str) -> None:
    assert getattr(read_analysis({key: "x"}), name) == "x"


def test_a_lesson_may_come_as_an_object() -> None:
    read = read_analysis(
        {
            "reflection": "r",
            "lesson": {"mistake": "Ran it in the root", "correction": "Run it in api"},
        }
    )
    assert (read.mistake, read.correction) == ("Ran it in the root", "Run it in api")


@pytest.mark.parametrize(
    ("sent", "number"),
    [(0, 0.0), (1, 1.0), ("0.8", 0.8), ("80%", 0.8), (8, 0.8), ("high", 0.9), ("", None)],
)
def test_scores_are_read(sent: Json, number: float | None) -> None:
    assert read_analysis({"reflection": "r", "importance": sent}).importance == number


@pytest.mark.parametrize(
    "sent",
    [1.5, -0.1, math.nan, math.inf, "rather", "NaN", "150%", {}, 10**400, "1" * 5000, "1e999"],
)
def test_a_score_that_is_none_is_refused_by_name(sent: Json) -> None:
    error = fault({"reflection": "r", "importance": sent})
    assert error.field == "analysis.importance"
    assert len(str(error)) < 250


def test_nan_in_json_text_is_refused_too() -> None:
    assert fault('{"reflection": "r", "confidence": NaN}').field == "analysis.confidence"


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({}, "analysis"),
        ({"reflection": "  "}, "analysis"),
        ({"reflection": "r", "tags": 3}, "analysis.tags"),
        ({"reflection": "r", "tags": ["a"] * 21}, "analysis.tags"),
        ({"reflection": "r", "symptoms": ["a"] * 51}, "analysis.symptoms"),
        ({"reflection": "r", "keywords": ["k" * 301]}, "analysis.keywords[0]"),
        ({"reflection": "r" * 20_001}, "analysis.reflection"),
        ({"reflection": "r\x00"}, "analysis.reflection"),
        ({"reflection": "r\ud800"}, "analysis.reflection"),
        ("", "analysis"),
        ("  \n", "analysis"),
        ("x" * 10_000_000, "analysis"),
        ('{"foo": 1}', "analysis"),
        (None, "analysis"),
        (3, "analysis"),
        ([], "analysis"),
    ],
)
def test_bad_input_names_its_field(value: Json, field: str) -> None:
    error = fault(value)
    assert error.field == field
    assert len(str(error)) < 400


def test_a_misspelled_field_is_understood_and_an_unknown_one_is_kept_aside() -> None:
    read = read_analysis(
        {"reflecton": "r", "mood": "fine", "correction": "Run it in api", "fix": "b"}
    )
    assert (read.reflection, read.correction) == ("r", "Run it in api")
    assert read.raw_sections == {"mood": "fine", "fix": "b"}


@pytest.mark.parametrize(
    ("value", "reflection"),
    [
        ({"mistake": "Ran npm", "correction": "Use pnpm."}, "Ran npm. Use pnpm."),
        ({"mistake": "Ran npm with --force"}, "Tried without success: Ran npm with --force"),
        ({"correction": "Use pnpm."}, "Use pnpm."),
        ({"strategy": "Look first."}, "Look first."),
        ({"symptoms": ["ERESOLVE"]}, "ERESOLVE"),
        ("## Strategy\nLook first.", "Look first."),
    ],
)
def test_any_part_of_an_analysis_is_enough(value: Json, reflection: str) -> None:
    assert read_analysis(value).reflection == reflection


def test_lists_may_be_text() -> None:
    read = read_analysis(
        {"reflection": "r", "tags": "#net, timeout,net", "keywords": "- a\n- b", "symptoms": "x, y"}
    )
    assert (read.tags, read.keywords, read.symptoms) == (("net", "timeout"), ("a", "b"), ("x, y",))


def test_citations_must_be_in_the_trace() -> None:
    ids = ("e1", "e2")
    read = read_analysis(
        {"reflection": "As event e2 shows [e9].", "source_event_ids": ["e1", "e8"]},
        ids,
        lenient=True,
    )
    assert read.source_event_ids == ("e1", "e2")
    assert read.ignored == (
        "analysis.source_event_ids: cites event e8, which is not in this trace",
        "analysis.reflection: cites event e9, which is not in this trace",
    )
    assert (
        fault({"reflection": "r", "source_event_ids": ["e1", "e9"]}, ids).field
        == "analysis.source_event_ids"
    )
    for said in ("In event e99 it broke", "It broke [e99]", "events e1, e2 and e7 failed"):
        assert fault({"reflection": said}, ids).field == "analysis.reflection"
    assert read_analysis({"reflection": "vitamin [e99]"}, ("step-1",)).source_event_ids == ()
    assert read_analysis({"reflection": "event e99"}).source_event_ids == ()


nested = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*FULL, "lesson", "x"]), inner, max_size=5)
    ),
)


@given(nested | st.text(st.sampled_from("#*:-\n {}[]\"'eRreflection1.tags")))
def test_only_input_errors_come_out(value: Json) -> None:
    try:
        read = read_analysis(value, ("e1",))
    except InputError:
        return
    assert read.reflection.strip()
    assert read.importance is None or 0 <= read.importance <= 1
