"""Decisions: the checks in their order, true sentences on the metrics, and insights of any markdown."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.models.reflection import Decision, Insights
from mcp_reflect.schemas.analysis import read_insights
from mcp_reflect.sessions.decisions import (
    Written,
    markdown,
    measures,
    others,
    shown,
    validate,
    write,
)

GOOD: dict[str, Any] = {"action": "keep", "component": "retriever"}
RAN: dict[str, Any] = {"component": "retriever", "metrics": {"latency": 120, "accuracy": 0.9}}
CHECKS: tuple[str, ...] = (
    "presence",
    "state_errors",
    "structure",
    "required_fields",
    "allowed_action",
    "same_component",
)
FAULTS: list[tuple[str, Any, Any, str]] = [
    ("presence", None, RAN, "There is an execution and no decision."),
    ("state_errors", {**GOOD, "error": "no model"}, RAN, "decision.error says: no model"),
    ("state_errors", GOOD, {**RAN, "error": "timed out"}, "execution.error says: timed out"),
    ("state_errors", GOOD, {"error_message": "timed out"}, "execution.error says: timed out"),
    ("structure", "keep", RAN, "decision is text, not an object."),
    ("structure", ["keep"], None, "decision is a list, not an object."),
    ("structure", GOOD, 7, "execution is a number, not an object."),
    ("structure", GOOD, {"metrics": [1]}, "execution.metrics is a list, not an object."),
    ("required_fields", {}, RAN, "decision.action is missing."),
    ("required_fields", {"action": "keep"}, RAN, "decision.component is missing."),
    ("required_fields", {"action": "keep", "component": "  "}, RAN, "decision.component is empty."),
    (
        "required_fields",
        {"action": 1, "component": "x"},
        RAN,
        "decision.action is a number, not text.",
    ),
    (
        "required_fields",
        {**GOOD, "component": "x" * 201},
        RAN,
        "decision.component has 201 characters",
    ),
    (
        "allowed_action",
        {**GOOD, "action": "divorce"},
        RAN,
        "'divorce' is not allowed; allowed are keep, kill, marry.",
    ),
    (
        "same_component",
        GOOD,
        {"component": "Retriever"},
        "The decision is about 'retriever', and 'Retriever' was",
    ),
]


@pytest.mark.parametrize(("check", "decision", "execution", "detail"), FAULTS)
def test_a_check_fails_by_its_name_and_those_before_it_passed(
    check: str, decision: Any, execution: Any, detail: str
) -> None:
    found = validate(decision, execution)
    assert (found.valid, found.failed_check) == (False, check)
    assert [one.check for one in found.checks] == [*CHECKS[: CHECKS.index(check) + 1]]
    assert [one.passed for one in found.checks] == [True] * (len(found.checks) - 1) + [False]
    assert (found.checks[-1].detail or "").startswith(detail)


@pytest.mark.parametrize(
    "execution", [None, RAN, {"result": "fine"}, {"component": " retriever ", "metrics": None}]
)
def test_a_sound_decision_passes_every_check(execution: Any) -> None:
    found = validate({**GOOD, "action": " KEEP "}, execution)
    assert (found.valid, found.failed_check, len(found.checks)) == (True, None, 6)


def test_other_actions_are_allowed_where_the_caller_says_so() -> None:
    assert validate({**GOOD, "action": "Scale"}, RAN, ("scale",)).valid
    assert validate(GOOD, RAN, ("scale",)).failed_check == "allowed_action"


values = (
    st.none()
    | st.booleans()
    | st.floats()
    | st.text(max_size=9)
    | st.lists(st.text(max_size=3), max_size=2)
)
parts = st.dictionaries(
    st.sampled_from(["action", "component", "error", "metrics"]), values, max_size=4
)


@given(decision=values | parts)
def test_nothing_that_can_be_sent_makes_a_check_raise(decision: Any) -> None:
    for one, other in ((decision, RAN), (GOOD, decision)):
        found = validate(one, other)
        assert found.valid is (found.failed_check is None)


def written(metrics: dict[str, Any], action: str = "keep", **marks: Any) -> Written:
    found = measures(metrics, marks.get("earlier", {}), marks.get("thresholds", {"accuracy": 0.5}))
    return write(Decision(action=action, component="retriever"), found, others(metrics))


numbers = st.floats(0, 1e9) | st.integers(0, 10**6)
metric_sets: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "latency": numbers,
        "accuracy": st.floats(0, 1),
        "latency_before": numbers,
        "previous_accuracy": st.floats(0, 1),
        "latency_threshold": numbers,
        "accuracy_target": st.floats(0, 1),
    },
)
COMPARISON = re.compile(
    r"(Latency|Accuracy) (\S+) is (better than|worse than|the same as) (?:before|the threshold) \((\S+)\)"
)
TREND = re.compile(r"(?:Latency|Accuracy) (rose|fell) from (\S+) to (\S+)\.$", re.MULTILINE)
COUNTS = re.compile(r"Of (\d+) comparisons .* (\d+) came out better, (\d+) worse, (\d+) the same\.")


@given(metrics=metric_sets, action=st.sampled_from(["keep", "kill", "marry", "tune"]))
def test_every_comparative_sentence_is_true_of_the_numbers_it_quotes(
    metrics: dict[str, Any], action: str
) -> None:
    found = written(metrics, action)
    text = f"{found.text}\n{markdown(found.insights.raw_sections)}"
    for name, value, said, mark in COMPARISON.findall(text):
        better = float(value) < float(mark) if name == "Latency" else float(value) > float(mark)
        truth = (
            "the same as"
            if float(value) == float(mark)
            else "better than"
            if better
            else "worse than"
        )
        assert said == truth
    for said, before, value in TREND.findall(text):
        assert said == ("rose" if float(value) > float(before) else "fell")
    compared = COMPARISON.findall(found.text)
    counts = COUNTS.search(text)
    assert (counts is not None) == bool(compared)
    if counts:
        said_of = [
            sum(word in one for one in compared)
            for word in ("better than", "worse than", "the same as")
        ]
        assert [int(number) for number in counts.groups()] == [len(compared), *said_of]
    for name in ("latency", "accuracy"):
        if name in metrics:
            assert (
                len(
                    [
                        s
                        for s in re.split(r"(?<=[.]) ", found.text)
                        if name in s.lower() and "retriever" not in s
                    ]
                )
                == 2
            )


@given(number=st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_shown_as_itself(number: float) -> None:
    assert float(shown(number)) == number


@pytest.mark.parametrize(
    ("action", "metrics", "appropriate", "effective", "confidence"),
    [
        (
            "keep",
            {"latency": 80, "latency_threshold": 100, "accuracy": 0.9, "accuracy_before": 0.8},
            True,
            True,
            "high",
        ),
        ("keep", {"accuracy": 0.3}, False, False, "medium"),
        ("kill", {"accuracy": 0.3}, True, False, "medium"),
        ("kill", {"accuracy": 0.9}, False, True, "medium"),
        ("marry", {"accuracy": 0.9, "accuracy_before": 0.95}, True, True, "low"),
        ("marry", {"accuracy": 0.9, "latency": 9, "latency_threshold": 5}, None, None, "low"),
        ("keep", {}, None, None, None),
        ("keep", {"latency": 12}, None, None, None),
        ("tune", {"accuracy": 0.9}, None, True, "medium"),
    ],
)
def test_the_assessment_follows_from_the_marks(
    action: str,
    metrics: dict[str, Any],
    appropriate: bool | None,
    effective: bool | None,
    confidence: str | None,
) -> None:
    said = written(metrics, action).assessment
    assert (said.decision_appropriate, said.execution_effective, said.confidence) == (
        appropriate,
        effective,
        confidence,
    )


def test_the_headings_are_those_that_callers_look_for() -> None:
    assert list(written({}).insights.raw_sections) == [
        "Reflection on Keep Decision for Component 'retriever'",
        "Decision Analysis",
        "Execution Assessment",
        "Strengths",
        "Areas for Improvement",
        "Patterns and Insights",
        "Recommendation",
    ]
    assert "Latency" in written({}).insights.raw_sections["Execution Assessment"]
    assert "Accuracy" in written({}).insights.raw_sections["Execution Assessment"]


def test_each_action_and_each_standing_has_its_own_analysis() -> None:
    sets: list[dict[str, Any]] = [
        {"accuracy": 0.9},
        {"accuracy": 0.3},
        {},
        {"accuracy": 0.9, "latency": 9, "latency_target": 5},
    ]
    texts = {
        written(metrics, action).text
        for metrics in sets
        for action in ("keep", "kill", "marry", "tune")
    }
    assert len(texts) == 16
    assert written({"accuracy": 0.91}).text != written({"accuracy": 0.92}).text
    assert written({"latency": 120}).text != written({"latency": 121}).text


def test_a_metric_that_is_null_was_not_measured() -> None:
    assert (
        written({"latency": None})
        .insights.raw_sections["Execution Assessment"]
        .startswith("- Latency: not measured.")
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("fast", "Accuracy was given as 'fast', which cannot be compared."),
        (-0.2, "Accuracy was given as '-0.2'"),
        (85, "Accuracy was given as '85'"),
        (float("nan"), "Accuracy was given as 'nan'"),
        (True, "Accuracy was given as 'True'"),
        (10**400, "Accuracy was given as '1000"),
        ({"p95": 1}, "Accuracy was given as"),
        ("85 %", "Accuracy 0.85 is better than the threshold (0.5)."),
    ],
)
def test_what_is_no_accuracy_is_told_and_not_compared(value: Any, said: str) -> None:
    found = written({"accuracy": value})
    assert said in found.text
    assert ("better" in found.text) == (value == "85 %")


def test_other_metrics_are_told_and_what_was_before_may_come_from_the_bank() -> None:
    found = written(
        {"latency": 90, "latency_p95": 120, "cost": 3}, earlier={"latency": 100, "cost": 9}
    )
    assert "Latency 90 is better than before (100)." in found.text
    assert "- latency_p95: 120\n- cost: 3" in found.insights.raw_sections["Execution Assessment"]
    assert found.insights.raw_sections["Patterns and Insights"] == "Latency fell from 100 to 90."


HASHES = """# Summary
Went fine.
## Strengths
- fast
- clear
### Improvements
1. more tests
# Recommendation
Add tests."""
BOLD = """**Summary:** Went fine.
**Strengths:**
* fast
* clear
**Improvements**
+ more tests
**Recommendation**: Add tests."""
NUMBERED = """1. **Summary**: Went fine.
2. **What went well**:
   - fast
   - clear
3. **Weaknesses**:
   - more tests
4. **Next steps**: Add tests."""
LEVELS = """# Summary
Went fine.

### Strengths
1) fast
2) clear

### Improvements
- more
  tests

#### Recommendation:
Add tests."""


@pytest.mark.parametrize("text", [HASHES, BOLD, NUMBERED, LEVELS])
def test_headings_of_every_form_are_read(text: str) -> None:
    read = read_insights(text)
    assert read.summary == "Went fine."
    assert read.strengths == ("fast", "clear")
    assert read.improvements == ("more tests",)
    assert read.recommendation == "Add tests."
    assert len(read.raw_sections) == 4


def test_missing_sections_are_empty() -> None:
    assert read_insights("") == Insights()
    assert read_insights("Only words.") == Insights(summary="Only words.")
    assert read_insights("## Strengths\n") == Insights(raw_sections={"Strengths": ""})


def test_raw_sections_keep_the_headings_as_written() -> None:
    assert read_insights("## What Went Well?\n- a\n## Odd Thing\ntext").raw_sections == {
        "What Went Well?": "- a",
        "Odd Thing": "text",
    }


def test_nested_items_are_items() -> None:
    assert read_insights("## Strengths\n- a\n  - b\n    1. c\n").strengths == ("a", "b", "c")


def test_headings_of_any_depth_and_of_any_words_around_theirs() -> None:
    text = "######## Key strengths of this run\n- fast\n## Room for improvement\n1) tests\n# ✅ Recommendations:\nGo on."
    read = read_insights(text)
    assert (read.strengths, read.improvements, read.recommendation) == (
        ("fast",),
        ("tests",),
        "Go on.",
    )


def test_a_title_that_names_a_thing_is_no_section_of_its_word() -> None:
    read = read_insights(
        "# Reflection on Keep Decision for Component 'improver'\n## Strengths\n- fast"
    )
    assert (read.improvements, read.strengths) == ((), ("fast",))


@given(st.text(st.sampled_from("#*_:-=\n `~1.SumaryStrength")))
def test_no_text_makes_it_raise(text: str) -> None:
    read_insights(text)
