"""Decisions: the checks in their order, figures beside their marks, verdicts in plain words, and insights of any markdown."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.decisions.checks import validate
from mcp_reflect.decisions.figures import metrics_with_marks
from mcp_reflect.decisions.telling import DecisionFacts, markdown, tell
from mcp_reflect.decisions.verdicts import read_verdict
from mcp_reflect.models.reflection import Decision, Insights
from mcp_reflect.schemas.sections import read_insights

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
        {"action": {"a": 1}},
        RAN,
        "decision.action is an object, not text.",
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


def told(metrics: dict[str, Any], action: str = "keep", **others: Any) -> DecisionFacts:
    earlier = others.pop("earlier", {})
    found = metrics_with_marks(metrics, others, earlier)
    return tell(
        Decision(action=action, component="retriever"), reason=None, result=None, metrics=found
    )


figures = st.floats(0, 1e9) | st.integers(0, 10**6)
metric_sets: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "latency": figures,
        "accuracy": st.floats(0, 1),
        "latency_before": figures,
        "previous_accuracy": st.floats(0, 1),
        "latency_threshold": figures,
        "min_accuracy": st.floats(0, 1),
    },
)
COMPARISON = re.compile(r"(?:Latency|Accuracy) (\S+) is (above|below|equal to) \w+ \((\S+)\)\.")


@given(metrics=metric_sets, action=st.sampled_from(["keep", "kill", "marry", "tune"]))
def test_every_comparative_sentence_is_true_of_the_numbers_it_quotes(
    metrics: dict[str, Any], action: str
) -> None:
    found = told(metrics, action)
    for value, said, mark in COMPARISON.findall(found.text):
        one, other = float(value), float(mark)
        truth = "equal to" if one == other else "above" if one > other else "below"
        assert said == truth
    for name, value in metrics.items():
        assert json.dumps(value) in found.text, name


@pytest.mark.parametrize("action", ["keep", "kill", "marry", "tune"])
@pytest.mark.parametrize(
    "metrics",
    [{}, {"accuracy": 0.3}, {"accuracy": 0.99, "latency": 9, "latency_threshold": 500}],
)
def test_rules_give_no_verdict_whatever_the_figures_are(
    metrics: dict[str, Any], action: str
) -> None:
    found = told(metrics, action)
    text = f"{found.text}\n{markdown(found.insights.raw_sections)}"
    for word in ("better", "worse", "speak", "right", "wrong", "default"):
        assert not re.search(rf"\b{word}\b", text)
    assert (found.insights.strengths, found.insights.improvements) == ((), ())
    assert "improve" not in found.insights.raw_sections["Recommendation"].lower()


def test_the_headings_are_those_that_callers_look_for() -> None:
    assert list(told({}).insights.raw_sections) == [
        "Reflection on Keep Decision for Component 'retriever'",
        "Decision Analysis",
        "Execution Assessment",
        "Strengths",
        "Areas for Improvement",
        "Patterns and Insights",
        "Recommendation",
    ]
    assert "- Latency: not given" in told({}).insights.raw_sections["Execution Assessment"]
    assert "- Accuracy: not given" in told({}).insights.raw_sections["Execution Assessment"]


@pytest.mark.parametrize(
    ("metrics", "others", "line"),
    [
        (
            {"latency": "340ms", "latency_before": "0.2 s"},
            {},
            "Latency: 340ms (latency_before: 0.2 s)",
        ),
        ({"accuracy": "78%"}, {"min_accuracy": 0.8}, "Accuracy: 78% (min_accuracy: 0.8)"),
        (
            {"accuracy": 0.7},
            {"thresholds": {"accuracy": 0.8}},
            "Accuracy: 0.7 (thresholds.accuracy: 0.8)",
        ),
        (
            {"latency": 2.5},
            {"task_requirements": {"max_latency": 1.0, "min_accuracy": 0.9}},
            "Latency: 2.5 (task_requirements.max_latency: 1.0)",
        ),
        (
            {"throughput": "40/s"},
            {"required_throughput": "50/s"},
            "Throughput: 40/s (required_throughput: 50/s)",
        ),
        ({"errorRate": 0.02}, {"maxErrorRate": 0.01}, "ErrorRate: 0.02 (maxErrorRate: 0.01)"),
        ({"latency": 90, "cost": 3}, {}, "Cost: 3"),
        (
            {"accuracy": 0.8},
            {"performance_targets": {"accuracy": {"min": 0.9}}},
            "Accuracy: 0.8 (performance_targets.accuracy.min: 0.9)",
        ),
        ({"accuracy": "fast"}, {}, "Accuracy: fast"),
        ({"latency": {"p95": 1}}, {}, 'Latency: {"p95": 1}'),
    ],
)
def test_a_metric_stands_as_it_was_sent_beside_the_marks_that_are_named(
    metrics: dict[str, Any], others: dict[str, Any], line: str
) -> None:
    assert (
        f"- {line}\n"
        in f"{told(metrics, **others).insights.raw_sections['Execution Assessment']}\n"
    )


@pytest.mark.parametrize(
    ("value", "mark", "said"),
    [
        ("340ms", "0.2 s", "above"),
        ("78%", 0.8, "below"),
        (0.8, "80 %", "equal to"),
        (450, 200, "above"),
        ("340ms", 200, None),  # of what unit is the mark?
        (78, 0.8, None),
        ("fast", 0.8, None),
        (True, 1, None),
        (10**40, 1, None),
    ],
)
def test_only_figures_of_one_kind_are_compared(value: Any, mark: Any, said: str | None) -> None:
    text = told({"latency": value, "latency_target": mark}).text
    assert ("is above" in text, "is below" in text, "is equal to" in text) == (
        said == "above",
        said == "below",
        said == "equal to",
    )


def test_what_was_last_time_comes_from_the_bank_where_nothing_else_is_named() -> None:
    assert "Latency: 90 (last time: 100)." in told({"latency": 90}, earlier={"latency": 100}).text
    named = told({"latency": 90, "latency_before": 95}, earlier={"latency": 100}).text
    assert "last time" not in named


SAID: list[tuple[str, bool | None, bool | None, str | None]] = [
    (
        "The kill decision was appropriate because accuracy was below the requirement.",
        True,
        None,
        None,
    ),
    ("The keep decision was not appropriate.", False, None, None),
    ("A premature decision.", False, None, None),
    ("It was the right call to kill it, but the execution was ineffective.", True, False, None),
    ("Execution was flawless.", None, True, None),
    ("The execution was ineffective. I am highly confident.", None, False, "high"),
    ("The decision to kill was sound, although the rollout failed halfway.", True, False, None),
    ("Not only was the decision appropriate, the rollout was smooth.", True, True, None),
    ("Confidence: high. The decision was justified.", True, None, "high"),
    ("The decision wasn't justified; I am not sure.", False, None, "low"),
    ("Die Entscheidung war nicht angemessen. Die Ausführung war erfolgreich.", False, True, None),
    ("Whether the decision was appropriate is unclear.", None, None, None),
    ("Was the decision appropriate?", None, None, None),
    ("The decision would have been appropriate with more data.", None, None, None),
    (
        "The decision was appropriate. Later it says: the decision was not appropriate.",
        None,
        None,
        None,
    ),
    ("Latency rose. Nothing else was seen.", None, None, None),
    ("The tool was not effective.", None, None, None),
    ("Execution effectiveness: poor", None, False, None),
    ("**Decision appropriate**: yes\n**Execution effective**: no", True, False, None),
    ("Decision: appropriate. Execution: effective.", True, True, None),
    ("The decision was neither hasty nor wrong.", None, None, None),
    ("There is no evidence that the decision was wrong.", None, None, None),
    ("The decision was not inappropriate.", None, None, None),
    ("I cannot say that the decision was appropriate.", None, None, None),
    ("The execution was effective despite the failed warm-up.", None, True, None),
    ("The execution was only partially effective.", None, None, None),
    ("The execution did not achieve its goals.", None, False, None),
    ("The decision appears questionable.", False, None, None),
    ("The decision was right because the old execution was ineffective.", True, None, None),
]


@pytest.mark.parametrize(("text", "appropriate", "effective", "confidence"), SAID)
def test_plain_words_of_a_verdict_are_read(
    text: str, appropriate: bool | None, effective: bool | None, confidence: str | None
) -> None:
    said = read_verdict(text, {})
    found = (said.decision_appropriate, said.execution_effective, said.confidence) if said else None
    wanted = (appropriate, effective, confidence)
    assert found == (None if wanted == (None, None, None) else wanted)


def test_a_heading_says_what_a_section_is_about() -> None:
    sections = {
        "Decision Analysis": "Well justified.",
        "Execution Assessment": "Not effective at all.",
    }
    said = read_verdict("", sections)
    assert said is not None
    assert (said.decision_appropriate, said.execution_effective) == (True, False)


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
