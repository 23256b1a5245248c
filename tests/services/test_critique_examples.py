"""Critique on the examples of its document, by the host that samples, and on what the session has shown."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CreateMessageRequestParams, CreateMessageResult, TextContent

from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.transcripts import named_call, read_outputs, with_written_lines
from tests.server.calls import answered, told
from tests.sessions.past_home import claude_file

BILL = [
    "Base cost: 15 × $12.99 = $195.00",
    "Tax: $195.00 × 0.085 = $16.58",
    "Total: $195.00 + $16.58 = $211.58",
]
AREA = ["π × 5² = 3.14 × 25 = 78.5", "78.5 ÷ 43560 = 0.002"]
SOLVED = ["2x + 6 = 10", "2x = 4", "x = 2"]
LOG = "FAILED tests/test_a.py::test_one\n=========== 3 failed, 39 passed in 1.20s ==========="


def both_ways(steps: list[str]) -> list[dict[str, Any]]:
    return [
        {"goal": "Work it out", "steps": steps},
        {"goal": "Work it out", "response": "; ".join(steps)},
    ]


@pytest.mark.parametrize("work", both_ways(BILL))
async def test_a_wrong_product_is_corrected_through_every_step_that_used_it(
    client: Client, work: Any
) -> None:
    found = await told(client, "critique", work)
    assert (found["first_error_step"], found["passes_quality_gate"], found["stopped"]) == (
        1,
        False,
        "passed",
    )
    assert not found["claims"][0]["computes"]
    assert [step.rpartition("$")[2] for step in found["corrected_steps"]] == [
        "194.85",
        "16.56",
        "211.41",
    ]
    again = await told(
        client, "critique", {"goal": "Work it out", "steps": found["corrected_steps"]}
    )
    assert "issues" not in again


@pytest.mark.parametrize("work", both_ways(AREA))
async def test_a_quotient_that_lost_its_digits_is_the_wrong_step(client: Client, work: Any) -> None:
    found = await told(client, "critique", work)
    assert (found["first_error_step"], found["corrected_steps"][1]) == (2, "78.5 ÷ 43560 = 0.0018")


@pytest.mark.parametrize("work", both_ways(SOLVED))
async def test_a_solved_equation_is_left_for_the_judge(client: Client, work: Any) -> None:
    found = await told(client, "critique", work)
    assert "action" not in found
    assert all(claim["computes"] for claim in found["claims"][1:])
    assert not {
        "first_error_step",
        "corrected_steps",
        "issues",
        "quality_score",
        "passes_quality_gate",
    } & set(found)


async def test_a_claim_over_a_log_with_failures_stands_beside_the_log(client: Client) -> None:
    results = [{"tool": "pytest", "content": LOG, "exit_code": 1}]
    found = await told(
        client,
        "critique",
        {"goal": "Report", "response": "All 42 tests pass", "tool_results": results},
    )
    assert [(claim["text"], claim["outputs"]) for claim in found["claims"]] == [
        ("All 42 tests pass", [1])
    ]
    (shown,) = found["outputs"]
    assert (shown["tool"], shown["exit_code"]) == ("pytest", 1)
    assert shown["lines"] == ["FAILED tests/test_a.py::test_one", "3 failed, 39 passed in 1.20s"]
    assert (found["action"], "passes_quality_gate" in found) == ("verify_first", False)


async def test_a_claim_without_evidence_asks_for_it_first(client: Client) -> None:
    found = await told(client, "critique", {"goal": "Report", "response": "All 42 tests pass"})
    assert (found["action"], found["evidence"]) == ("verify_first", "none was sent")
    assert [claim["text"] for claim in found["claims"]] == ["All 42 tests pass"]
    assert not {"quality_score", "passes_quality_gate", "criteria", "first_error_step"} & set(found)


@pytest.mark.parametrize("most", range(6))
async def test_corrections_are_bounded_and_none_means_only_verifying(
    client: Client, most: int
) -> None:
    found = await told(client, "critique", {"goal": "Bill", "steps": BILL, "max_iterations": most})
    assert found["iterations"] == min(most, 1)
    assert ("corrected_steps" in found) == (most > 0)
    assert found["stopped"] == ("passed" if most else "budget")
    assert found["tokens"] == {"input": 0, "output": 0}
    assert found["reflection_time_ms"] >= 0


async def test_criteria_stay_unscored_by_rules(client: Client) -> None:
    found = await told(
        client, "critique", {"goal": "Sum", "steps": SOLVED, "criteria": ["tone", "safety"]}
    )
    assert "criteria" not in found


async def test_progress_says_which_step_is_wrong_and_how(client: Client) -> None:
    heard: list[str] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        del progress, total
        heard.append(message or "")

    await client.call_tool("critique", {"goal": "Bill", "steps": BILL}, progress_callback=listen)
    assert heard[0] == "3 steps, 3 claims; Step 1: 15 × $12.99 = 194.85, not $195.00"
    assert heard[-1] == "3 steps, 3 claims"


async def test_a_component_that_ran_in_the_place_of_the_one_decided_on_is_a_failure(
    client: Client,
) -> None:
    work = {
        "goal": "rank the results",
        "steps": ["I ran the reranker."],
        "decided": "reranker_v2",
        "executed": "bm25",
    }
    found = await told(client, "critique", work)
    assert (found["first_error_step"], found["passes_quality_gate"], found["action"]) == (
        1,
        False,
        "revise",
    )
    same = await told(client, "critique", {**work, "executed": "reranker-v2"})
    assert "issues" not in same


class HostModel:
    """Answers as a critic that never finds it good, or as a corrector that adds a word; counts what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(
        self, context: Any, params: CreateMessageRequestParams
    ) -> CreateMessageResult:
        del context
        content = params.messages[0].content
        assert isinstance(content, TextContent)
        self.asked.append(content.text)
        if "corrected steps" in content.text:
            words = "draft" + " more" * len(self.asked)
            said: dict[str, Any] = {"corrected_steps": [words]}
        else:
            score = len(self.asked) / 20
            said = {"quality_score": score, "issues": [f"Step 1: issue {len(self.asked)}"]}
        text = TextContent(type="text", text=json.dumps(said))
        return CreateMessageResult(
            role="assistant", content=text, model="host", stop_reason="endTurn"
        )


async def critiqued(engine: Engine, era: Any, most: int) -> tuple[dict[str, Any], list[str]]:
    model = HostModel()
    async with Client(build(engine=engine), mode=era, sampling_callback=model) as client:
        found = await told(
            client, "critique", {"goal": "A letter", "steps": ["draft"], "max_iterations": most}
        )
    return {
        name: found[name] for name in found if name not in ("critique_id", "reflection_time_ms")
    }, model.asked


async def test_three_rounds_are_the_same_in_both_eras(engine: Engine) -> None:
    old, new = [await critiqued(engine, era, 3) for era in ("legacy", "2026-07-28")]
    assert old == new
    assert len(old[1]) == 7
    assert (old[0]["thinker"], old[0]["iterations"], old[0]["stopped"]) == ("sampling", 3, "budget")


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_call_asks_at_most_eight_times(engine: Engine, era: Any) -> None:
    found, asked = await critiqued(engine, era, 5)
    assert len(asked) == 8
    assert found["stopped"] == "budget"


RAN_TESTS = [("says", "Run the tests"), ("runs", "pytest -q", "F.\n1 failed, 12 passed in 0.3s")]


def test_outputs_come_with_the_command_that_printed_them(tmp_path: Path) -> None:
    (result,) = read_outputs(claude_file(tmp_path / "s.jsonl", RAN_TESTS))
    assert (result.tool, result.content) == ("pytest -q", "F.\n1 failed, 12 passed in 0.3s")


def test_a_command_that_printed_nothing_is_an_output_too(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "rm a.py"}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": ""}
    records = [
        {"type": "assistant", "uuid": "a", "message": {"role": "assistant", "content": [call]}},
        {"type": "user", "uuid": "b", "message": {"role": "user", "content": [answer]}},
    ]
    file = tmp_path / "s.jsonl"
    file.write_text("\n".join(map(json.dumps, records)) + "\n")
    (result,) = read_outputs(file)
    assert (result.tool, result.content) == ("rm a.py", "")


def test_an_edit_shows_the_lines_that_it_wrote_unless_the_host_shows_them_or_refused_it() -> None:
    call = named_call("edit", {"path": "theme/dark.json", "oldText": '"a": 1', "newText": '"a": 2'})
    answer = "Successfully replaced text in theme/dark.json."
    assert with_written_lines(answer, call, failed=False) == f'{answer}\n+ "a": 2'
    assert with_written_lines(answer, call, failed=True) == answer
    assert with_written_lines('7→"a": 2', call, failed=False) == '7→"a": 2'


def test_a_call_without_a_command_or_a_file_is_named_by_what_it_is_about() -> None:
    assert named_call("WebFetch", {"url": "https://a.org/faq"}).name == "WebFetch https://a.org/faq"
    assert named_call("TodoWrite", {"todos": []}).name == "TodoWrite"


def test_a_file_that_is_not_a_transcript_has_no_outputs(tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_bytes(b"\x00\xff{not json\n")
    assert read_outputs(tmp_path / "odd.jsonl") == ()
    assert read_outputs(tmp_path / "missing.jsonl") == ()


async def test_a_critique_without_output_uses_the_session_that_a_hook_told_of(
    client: Client, engine: Engine, tmp_path: Path
) -> None:
    engine.context.transcripts[engine.context.scopes.own] = str(
        claude_file(tmp_path / "s.jsonl", RAN_TESTS)
    )
    work = {"goal": "Fix it", "response": "12 tests pass. The fix is in."}
    found = await answered(client, "critique", work)
    assert found["evidence"] == "1 outputs of this session, as the host kept them"
    assert found["outputs"] == [
        "1. pytest -q, failed (claim 1 says it went well): 1 failed, 12 passed in 0.3s",
        "(no output plainly shows claim 2)",
    ]
    sent = await answered(client, "critique", {**work, "tool_results": ["13 passed"]})
    assert "evidence" not in sent
