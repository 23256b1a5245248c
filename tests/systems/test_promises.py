"""Promises of the five documents, each with the input that was tried and what its document says of it."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.compat import ReflectionEngine, SelfCorrection
from mcp_reflect.config import Settings
from mcp_reflect.nodes import reflection_node
from mcp_reflect.services.engine import Engine
from tests.scripted import Scripted


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(bank=tmp_path / "bank.db", project="p")


# The reflection node.


def node(settings: Settings, state: dict[str, Any], *replies: str) -> dict[str, Any]:
    llm = Scripted(*replies) if replies else None
    return reflection_node(state, make_engine=partial(Engine, settings, llm=llm))


def test_a_kill_for_a_missed_accuracy_is_told_and_not_judged(settings: Settings) -> None:
    decision = {"action": "kill", "component": "analyze_fast", "reason": "accuracy 0.78 < 0.80"}
    metrics = {"latency": "340ms", "accuracy": "78%"}
    gained = node(settings, {"decision": decision, "execution": {"metrics": metrics}})
    for part in ("accuracy 0.78 < 0.80", "- Latency: 340ms", "- Accuracy: 78%"):
        assert part in gained["reflection"]
    for part in ("0.5", "speak", "better", "worse"):
        assert part not in gained["reflection"]
    assert gained["reflection_analysis"] == dict.fromkeys(
        ("decision_appropriate", "execution_effective", "confidence")
    )
    assert "Decide again" not in str(gained)


def test_advice_on_what_was_killed_asks_for_no_figures_of_it(settings: Settings) -> None:
    decision = {"action": "Kill", "component": "legacy_tokenizer"}
    metrics = {"latency": 900, "latency_threshold": 300, "accuracy": 0.6, "accuracy_before": 0.8}
    gained = node(settings, {"decision": decision, "execution": {"metrics": metrics}})
    assert "Measure both" not in gained["reflection"]
    assert gained["reflection_insights"]["improvements"] == []
    assert gained["reflection_analysis"]["execution_effective"] is None


def test_a_result_in_words_is_told_where_nothing_was_measured(settings: Settings) -> None:
    decision = {"action": "keep", "component": "summarizer", "reason": "cheap"}
    gained = node(settings, {"decision": decision, "execution": {"result": "2 facts missing"}})
    assert "returned: 2 facts missing." in gained["reflection"]
    assert "no figures were given" in gained["reflection_insights"]["recommendation"]


def test_next_steps_on_a_line_end_with_their_paragraph(settings: Settings) -> None:
    reply = (
        "The decision was appropriate.\n\n**What could be better**\n- canary\n\n"
        "**Next steps**: add a canary step\n\nWe should talk to the team."
    )
    decision = {"decision": {"action": "marry", "component": "cache"}}
    gained = node(settings, decision, reply, reply)
    assert gained["reflection_insights"]["recommendation"] == "add a canary step"
    assert gained["reflection_insights"]["improvements"] == ["canary"]
    assert gained["reflection_analysis"]["decision_appropriate"] is True


def test_a_reply_in_german_markdown_has_its_sections(settings: Settings) -> None:
    reply = (
        "# Reflexion\n\n## Entscheidung\nDie Entscheidung war angemessen.\n\n## Stärken\n- schnell\n- einfach\n\n"
        "## Verbesserungspotenzial\n- vorher ankündigen\n\n## Empfehlung\nEine Woche beobachten."
    )
    gained = node(settings, {"decision": {"action": "kill", "component": "alt"}}, reply, reply)
    insights = gained["reflection_insights"]
    assert insights["strengths"] == ["schnell", "einfach"]
    assert insights["improvements"] == ["vorher ankündigen"]
    assert insights["recommendation"] == "Eine Woche beobachten."
    assert gained["reflection_analysis"]["decision_appropriate"] is True


# Reflection Engine V2.


def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"event_type": "tool_call", "tool_name": tool, "arguments": arguments}


def answer(tool: str, content: str = "", error: str | None = None) -> dict[str, Any]:
    return {"event_type": "tool_response", "tool_name": tool, "content": content, "error": error}


def tried(tool: str, wrong: dict[str, Any], error: str, right: dict[str, Any]) -> list[Any]:
    return [call(tool, wrong), answer(tool, error=error), call(tool, right), answer(tool, "ok")]


URL = {"url": "https://api.example/issues"}
RUNS: list[tuple[list[Any], list[str]]] = [
    (
        tried(
            "http",
            {**URL, "per_page": 500},
            "400: per_page must be <= 100",
            {**URL, "per_page": 100},
        ),
        ["per_page 500", "per_page must be <= 100", "Later http with per_page 100 worked"],
    ),
    (
        tried("stripe_refund", {"amount": 12.5}, "Invalid integer: 12.50", {"amount": 1250}),
        ["amount 12.5", "Invalid integer: 12.50", "with amount 1250 worked"],
    ),
    (
        tried(
            "upload", {"part_mb": 512}, "EntityTooLarge: max part size is 100 MB", {"part_mb": 64}
        ),
        ["part_mb 512", "max part size is 100 MB", "with part_mb 64 worked"],
    ),
    (
        tried(
            "sftp.put", {"path": "/eingang"}, "/eingang ist schreibgeschützt", {"path": "/upload"}
        ),
        ["ist schreibgeschützt", 'with path "/upload" worked'],
    ),
    (
        [
            *(
                event
                for _ in range(3)
                for event in (
                    call("grep", {"pattern": "max_retries"}),
                    answer("grep", "No matches found"),
                )
            ),
            call("grep", {"pattern": "maxRetries"}),
            answer("grep", "conf/ingest.hocon:12: maxRetries = 5"),
        ],
        [
            "three times in a row",
            'Then grep "maxRetries" found "conf/ingest.hocon:12: maxRetries = 5"',
        ],
    ),
    (
        [
            {
                "event_type": "llm_call",
                "content": "Summarize all",
                "error": {"message": "context_length_exceeded"},
            },
            {"event_type": "llm_call", "content": "Summarize half"},
        ],
        ["context_length_exceeded", 'Later "Summarize half" worked'],
    ),
]


@pytest.mark.parametrize(("events", "parts"), RUNS)
async def test_values_of_what_failed_and_of_what_worked_are_told(
    events: list[Any], parts: list[str], settings: Settings
) -> None:
    async with Engine(settings) as engine:
        found = await engine.reflect(task="Do it", outcome="success", events=events)
    for part in parts:
        assert part in found.reflection
    for phrase in ("…", "another form", "in the form that the error names", "see to this"):
        assert phrase not in found.reflection
    assert found.strategy is None


@pytest.mark.parametrize(
    ("error", "category"),
    [
        ("error: timed out waiting for the condition", "timeout_error"),
        ("KeyError: 'id'", "validation_error"),
    ],
)
async def test_an_error_in_the_events_has_its_category(
    error: str, category: str, settings: Settings
) -> None:
    events = [call("kubectl", {"rollout": "status"}), answer("kubectl", error=error)]
    async with Engine(settings) as engine:
        found = await engine.reflect(task="Roll out", outcome="failure", events=events)
    assert found.error_category == category


async def test_what_one_should_have_done_is_a_lesson(settings: Settings) -> None:
    analysis = "I signed the wrong version. I should have checked the contract's date first."
    async with Engine(settings) as engine:
        found = await engine.reflect(task="Sign it", outcome="failure", analysis=analysis)
        (lesson,) = found.lessons
        stored = await engine.bank.lessons.get(engine.scopes.own, lesson.id, "lesson")
    assert stored.correction == "I should have checked the contract's date first."


# Self-correction.


@pytest.mark.parametrize(
    ("steps", "wanted"),
    [
        (["150 x 2.5 = 152.5"], ["150 x 2.5 = 375"]),
        (["1.250,00 x 0,19 = 227,50"], ["1.250,00 x 0,19 = 237,50"]),
        (["Invoice date 3 March 2026 + 14 days = 17 March 2026"], None),
        (["20 Nov 2026 + 2 weeks = 4 Dec 2026"], None),
        (["1.200 EUR + 300 EUR = 1.500 EUR"], None),
        (["14:35 + 2 h 50 min = 17:25"], None),
    ],
)
def test_sums_are_exact_and_right_ones_stay(
    steps: list[str], wanted: list[str] | None, settings: Settings
) -> None:
    found = SelfCorrection(settings=settings).enhance_reasoning("Compute it", steps)
    assert [step.replace("375.0", "375") for step in found] == (wanted or steps)


async def test_a_text_whose_total_cannot_be_recomputed_is_not_half_corrected(
    settings: Settings,
) -> None:
    work = (
        "1. Base cost: 15 × $12.99 = $195.00\n2. Tax: $195.00 × 0.085 = $16.58\n3. Total: $211.58"
    )
    async with Engine(settings) as engine:
        found = await engine.critique(goal="Tax", response=work)
    assert found.passes_quality_gate is False
    assert "194.85" in str(found.issues)
    assert "$211.58" not in str(found.corrected_steps)


# Reflection API.


async def test_lessons_are_found_by_the_words_of_their_type(settings: Settings) -> None:
    async with Engine(settings) as engine:
        await engine.store_lesson(
            task_type="terraform",
            mistake="Destroyed the database on apply",
            correction="Set prevent_destroy on the database first",
        )
        for task in ("Apply the new terraform module in prod", "Plan terraform for staging"):
            assert len((await engine.recall(task=task)).lessons) == 1
        assert (await engine.recall(task="Write a poem about the sea")).lessons == ()


def test_a_useless_reply_of_the_model_does_not_pass(settings: Settings) -> None:
    reflector = ReflectionEngine(settings=settings)
    for reply in ("", "I cannot evaluate this."):
        result = reflector.parse_reflection(reply, "low_confidence")
        assert (result.quality_score, result.passes_quality_gate) == (0.0, False)
        assert result.should_retry
