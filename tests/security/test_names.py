"""A name that holds a secret, or a sign that nobody sees, is found again by the name that was sent."""

from dataclasses import replace
from pathlib import Path

import pytest

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.projects import stored_name
from mcp_reflect.security.redact import clean_text
from mcp_reflect.services.engine import Engine
from tests.secrets import SECRETS, found_in
from tests.services.test_sequels import sequel_of

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
