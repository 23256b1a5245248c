"""Runs of which rules once said something false or useless, in the wordings in which users sent them."""

from typing import Any

import pytest

from mcp_reflect import services
from mcp_reflect.services.engine import Engine
from tests.runs.api_runs import RUNS, ApiRun


def events(*steps: tuple[str, dict[str, Any], str, bool]) -> list[dict[str, Any]]:
    """Calls with their answers; True: the answer is an error."""
    return [
        event
        for tool, arguments, answer, failed in steps
        for event in (
            {"type": "tool_call", "tool_name": tool, "arguments": arguments},
            {"type": "tool_response", "tool_name": tool, ("error" if failed else "content"): answer},
        )
    ]


def shell(*steps: tuple[str, str, bool]) -> list[dict[str, Any]]:
    return events(*(("Bash", {"command": command}, answer, failed) for command, answer, failed in steps))


async def shown(engine: Engine, task: str) -> str:
    """All that a recall shows for a task."""
    return "\n".join(hit.text for hit in (await engine.recall(task=task, limit=10)).lessons)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.tool)
async def test_the_next_task_is_not_told_the_value_of_this_one(engine: Engine, run: ApiRun) -> None:
    await engine.reflect(task=run.tool, outcome="success", events=run.events)
    values = [str(value) for name in run.differs for value in (run.accepted.get(name), run.refused.get(name))]
    told = "\n".join([await shown(engine, task) for task in (run.next_task, run.tool, run.error)])
    assert not [value for value in values if len(value) > 2 and value in told and value not in run.error]


@pytest.mark.parametrize(
    "said", [{"type": "message", "role": "user"}, {"role": "user"}, {"type": "user_message"}, {"type": "human"}]
)
async def test_what_a_person_says_is_not_the_end_of_the_agent(engine: Engine, said: dict[str, Any]) -> None:
    run = [*events(("mail.send", {"to": "all"}, "sent", False)), {**said, "content": "You sent it to everybody!"}]
    reflection = await engine.reflect(task="Mail Ann", outcome="failure", events=run)
    assert "The agent ended" not in reflection.reflection
    assert "You sent it to everybody!" in reflection.reflection


@pytest.mark.parametrize(
    "text", ["Next time run make setup before make test.", "Always run make setup before make test"]
)
async def test_advice_in_plain_sentences_is_a_lesson(engine: Engine, text: str) -> None:
    reflection = await engine.reflect(task="Test it", outcome="failure", analysis=text)
    assert reflection.lessons
    assert "make setup" in await shown(engine, "run make test")


async def test_values_that_differ_are_shown(engine: Engine) -> None:
    run = shell(
        ("helm upgrade web ./c --timeout 30s", "Error: UPGRADE FAILED: timed out waiting after 30s", True),
        ("helm upgrade web ./c --timeout 300s", 'Release "web" has been upgraded.', False),
    )
    told = (await engine.reflect(task="Upgrade web", outcome="success", events=run)).reflection
    assert "30s" in told
    assert "300s" in told
    assert "stayed open" not in told


async def test_a_deployment_is_mended_by_what_changed_and_not_by_looking_again(engine: Engine) -> None:
    run = shell(
        ("kubectl set image deploy/web web=web:2.4.1", "image updated", False),
        ("kubectl rollout status deploy/web", "error: manifest unknown", True),
        ("kubectl set image deploy/web web=web:v2.4.1", "image updated", False),
        ("kubectl rollout status deploy/web", "successfully rolled out", False),
    )
    told = (await engine.reflect(task="Deploy web", outcome="success", events=run)).reflection
    assert "v2.4.1" in told


async def test_an_expired_token_is_told_and_not_the_ticket(engine: Engine) -> None:
    failing = ("jira.get", {"key": 12}, "401 Unauthorized: token expired", True)
    await engine.reflect(task="Read ticket 12", outcome="failure", events=events(failing, failing, failing))
    told = await shown(engine, "Show me the tickets on Jira board 12")
    assert "jira.get 12" not in told


async def test_a_line_of_several_commands_is_not_a_recipe(engine: Engine) -> None:
    run = shell(
        ("./mig up billing; ./mig list", "error: billing needs identity", True),
        ("./mig up identity; ./mig list; ./mig up billing; ./mig list", "identity: up\nbilling: up", False),
    )
    told = await engine.reflect(task="Migrate", outcome="success", events=run)
    assert "./mig up identity; ./mig list; ./mig up billing" not in f"{told.reflection} {told.strategy}"


async def test_what_hides_a_failure_is_not_its_correction(engine: Engine) -> None:
    run = shell(
        ("./manage migrate", "connection refused: could not connect to the database", True),
        ("./manage migrate --fake", "faked", False),
    )
    told = await engine.reflect(task="Migrate", outcome="success", events=run)
    assert told.lessons == ()


async def test_a_run_in_which_nothing_stood_out_is_not_shown_at_a_prompt(engine: Engine) -> None:
    await engine.reflect(
        task="Move the invoices of May", outcome="partial", events=shell(("./move may", "moved", False))
    )
    assert await services.warnings.remind(engine.context, "s", "Move the invoices of May") is None


async def test_what_rules_cannot_judge_is_answered_with_a_draft(engine: Engine) -> None:
    run = shell(("./vault get a/b", "denied", True), ("./vault get /a/b/", "owner", False))
    reflection = await engine.reflect(task="Find the owner", outcome="success", events=run)
    draft: Any = reflection.next["draft"]
    assert reflection.lessons == ()
    assert "denied" in draft["mistake"]
    assert (await engine.store_lesson(**draft)).status == "stored"
