"""What a reflection says of the decision and its execution is read off its language; where it does not say, null."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.models.reflection import Assessment
from mcp_reflect.schemas.prose import read_assessment

# Written with their truth before there were rules. A text whose SHA-256 begins with an odd digit is kept aside.
CASES = [json.loads(line) for line in Path(__file__).with_name("assessments.jsonl").read_text("utf-8").splitlines()]


def aside(text: str) -> bool:
    return int(hashlib.sha256(text.encode()).hexdigest()[0], 16) % 2 == 1


def read(text: str) -> dict[str, object]:
    found = read_assessment(text)
    return {
        "text": text,
        "decision_appropriate": found.decision_appropriate,
        "execution_effective": found.execution_effective,
        "confidence": found.confidence,
    }


@pytest.mark.parametrize("side", [True, False])
def test_most_sentences_are_read_as_they_are_meant(*, side: bool) -> None:
    kept = [case for case in CASES if aside(case["text"]) is side]
    assert sum(read(case["text"]) == case for case in kept) >= 0.78 * len(kept)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:60])
def test_no_sentence_is_read_as_the_opposite_of_what_it_means(case: dict[str, object]) -> None:
    found = read(str(case["text"]))
    for name in ("decision_appropriate", "execution_effective"):
        assert found[name] in (None, case[name])


@pytest.mark.parametrize(
    ("text", "decision", "execution", "confidence"),
    [
        ("", None, None, None),
        ("The works of both authors are listed. I know where she worked.", None, None, None),
        ("To avoid this failure, search the other title first.", None, None, None),
        ("The decision was right. The decision was wrong.", None, None, "medium"),
        ("The choice was right. It was wise. The choice was wrong.", True, None, "medium"),
        ("Decision appropriate: null. Execution effective = true", None, True, None),
        ("Confidence: 85 %. The choice was wrong.", False, None, "high"),
        ("Confidence level: moderate. The run failed.", None, False, "medium"),
        (
            "## Decision Analysis\nWrong for this load.\n## Execution Assessment\nGood throughout.",
            False,
            True,
            "medium",
        ),
        ("## Recommendation\nThe decision was wrong.", None, None, None),
        ("## Strengths\n- good error messages\n## Summary\nThe decision was clearly right.", True, None, "high"),
        ("**Execution**: the job failed\n**Decision**: it was sensible", True, False, "medium"),
    ],
)
def test_labels_headings_and_contradictions(
    text: str, decision: bool | None, execution: bool | None, confidence: str | None
) -> None:
    assert read_assessment(text) == Assessment(
        decision_appropriate=decision, execution_effective=execution, confidence=confidence
    )


@given(judgement=st.sampled_from(["appropriate", "wise", "inappropriate", "a mistake", "right", "wrong"]))
def test_a_negation_turns_a_judgement_and_a_second_one_turns_it_back(judgement: str) -> None:
    said = read_assessment(f"The decision was {judgement}.").decision_appropriate
    assert said is not None
    assert read_assessment(f"The decision was not {judgement}.").decision_appropriate is (not said)
    assert read_assessment(f"Nobody says that the decision was not {judgement}.").decision_appropriate is said


@given(st.text(st.sampled_from("#*_: \n.,;-thedcisonwaxrgmuy%01")))
def test_no_text_makes_it_raise(text: str) -> None:
    read_assessment(text)
