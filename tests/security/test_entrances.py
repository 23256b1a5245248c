"""Each argument of each tool is redacted, and a name that was redacted is found by the name that was sent."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.projects import stored_name
from mcp_reflect.schemas.fields import Arguments
from mcp_reflect.schemas.run import ErrorArguments, EventArguments
from mcp_reflect.schemas.search import ProposalArguments, QueryArguments, TableArguments
from mcp_reflect.security.redact import clean_text
from mcp_reflect.server.app import build
from mcp_reflect.server.catalog import TOOLS
from mcp_reflect.services.engine import Engine
from tests.secrets import SECRETS, TELLING, found_in
from tests.services.test_sequels import sequel_of

TEXT = f"The log said {SECRETS['github_token']} and {SECRETS['password']}"
OBJECTS: dict[str, tuple[type[Arguments], dict[str, Any]]] = {
    "events": (EventArguments, {"type": "tool_response", "tool": "bash", "content": "Error: refused"}),
    "tool_results": (EventArguments, {"type": "tool_response", "tool": "bash", "content": "ok"}),
    "queries": (QueryArguments, {"table": "t", "query_text": "x"}),
    "catalog": (TableArguments, {"table": "t"}),
    "error": (ErrorArguments, {"message": "refused"}),
}


def values(name: str) -> list[Any]:
    """Values for an argument: the text, in a list and an object, and in each field of its own objects."""
    found: list[Any] = [TEXT, [TEXT], {"text": TEXT}]
    if name in OBJECTS:
        shape, item = OBJECTS[name]
        items = [{**item, field: value} for field in shape.model_fields for value in (TEXT, [TEXT], {"text": TEXT})]
        found += items if name == "error" else [[item] for item in items]
    if name == "analysis":
        fields = (*ProposalArguments.model_fields, "reflection", "mistake", "correction", "symptoms", "quality_score")
        found += [{"reflection": "It failed", field: TEXT} for field in fields]
    return found


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
async def test_no_argument_brings_a_secret_into_the_bank_or_an_answer(
    engine: Engine, bank_path: Path, capfd: pytest.CaptureFixture[str], tool: Any
) -> None:
    stored = await engine.store_lesson(mistake="The gateway timed out", correction="Raise its timeout")
    ids = {
        "record_outcome": {"recall_id": None, "lesson_ids": [stored.lesson_id]},
        "forget_lesson": {"lesson_id": stored.lesson_id},
    }
    base = {**tool.examples[0], **ids.get(tool.name, {})}
    answers: list[str] = []
    accepted = 0
    async with Client(build(engine=engine)) as client:
        for name in tool.shape.model_fields:
            for value in values(name):
                result = await client.call_tool(tool.name, {**base, name: value})
                accepted += not result.is_error
                answers.append(str(result.content) + str(result.structured_content))
    assert accepted
    parts = [part for kind in ("github_token", "password") for part in TELLING[kind]]
    assert [answer for answer in answers if any(part in answer for part in parts)] == []
    assert found_in(bank_path.parent) == {}
    assert not any(part in "".join(capfd.readouterr()) for part in parts)


NAMES = (f"nightly {SECRETS['github_token']}", "night\u200bly", SECRETS["password"])
REFUSED = "remote: error: GH006: Protected branch update failed for refs/heads/main."


@pytest.mark.parametrize("name", NAMES)
async def test_a_run_is_found_by_the_name_it_was_reflected_under(engine: Engine, name: str) -> None:
    found = await engine.reflect(task="Push the branch", outcome="failure", error=REFUSED, run_id=name)
    assert await engine.bank.reflections.of_run(engine.scopes.own, clean_text(name)) == found.reflection_id
    assert await engine.bank.reflections.of_run(engine.scopes.own, "another") is None


@pytest.mark.parametrize("name", NAMES)
async def test_a_run_s_steps_are_given_back_by_its_name(engine: Engine, name: str) -> None:
    left = [(await engine.should_reflect(confidence=0.1, run_id=name)).reflections_left for _ in range(2)]
    await engine.reset_step_counts(name)
    assert (await engine.should_reflect(confidence=0.1, run_id=name)).reflections_left == left[0] != left[1]


@pytest.mark.parametrize("name", NAMES)
async def test_a_lesson_is_found_by_its_tag_and_its_task_type(engine: Engine, name: str) -> None:
    stored = await engine.store_lesson(
        mistake="Pushed to the protected branch", correction="Open a pull request", tags=[name], task_type=name
    )
    for asked in ({"tags": [name]}, {"task_type": name}):
        (hit,) = (await engine.recall(task="push to the protected branch", **asked)).lessons
        assert hit.id == stored.lesson_id


@pytest.mark.parametrize("name", NAMES)
async def test_a_session_goes_on_under_its_name(engine: Engine, name: str) -> None:
    await engine.store_lesson(mistake="Pushed to the protected branch", correction="Open a pull request")
    for failed_in in ("before", "before that"):
        await engine.after_call("Bash", {"command": "git push origin main"}, error=REFUSED, session=failed_in)
    assert await engine.before_call("Bash", {"command": "git push origin main"}, session=name)
    await engine.after_call("Bash", {"command": "git push origin topic"}, "ok", session=name)
    assert await sequel_of(engine, clean_text(name)) == "heeded"
    assert await services.warnings.remind(engine.context, name, "push the branch") is not None
    assert await services.warnings.remind(engine.context, name, "push the branch") is None, (
        "it was shown in this session"
    )


@pytest.mark.parametrize("name", [f"work {SECRETS['github_token']}", "/home/a/👨\u200d👩\u200d👧", "soft\u00adware"])
async def test_what_a_project_learnt_is_found_under_its_name_which_holds_no_secret(
    settings: Settings, bank_path: Path, name: str
) -> None:
    one, other = (
        replace(settings, project=name),
        replace(settings, project=name.replace("a", "b") + "!", projects=(name,)),
    )
    lesson = {"mistake": "Left the gateway open", "correction": "Close the gateway"}
    async with Engine(one) as engine:
        stored = await engine.store_lesson(**lesson)
        found = await engine.recall(task="the gateway is open")
        assert [hit.id for hit in found.lessons] == [stored.lesson_id]
        said = stored.scope + found.scope
    async with Engine(other) as engine:
        assert not (await engine.recall(task="the gateway is open")).lessons
        assert (await engine.recall(task="the gateway is open", project=name)).lessons
        async for _ in engine.import_lessons([(1, {**lesson, "project": name})]):
            pass
    async with Engine(one) as engine:
        assert [hit.id for hit in (await engine.recall(task="the gateway is open")).lessons] == [stored.lesson_id]
    assert SECRETS["github_token"] not in said
    assert found_in(bank_path.parent) == {}


def test_the_stored_name_of_a_project_is_stable() -> None:
    name = stored_name(f"work {SECRETS['github_token']}")
    assert stored_name(name) == name
    assert stored_name("/home/a/project") == "/home/a/project"
