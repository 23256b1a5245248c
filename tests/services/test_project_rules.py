"""Rules of a project's files, stored by an agent: proposals that do nothing before a person arms them."""

from typing import Any

from mcp_reflect import services
from mcp_reflect.models.lesson import GuardMode
from mcp_reflect.services.curation import USES
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.guards import PROJECT_RULE, UNARMED_RULE
from mcp_reflect.services.reviews import Waiting
from mcp_reflect.speaker import Speaker
from tests.shown import seen

RULE: dict[str, Any] = {
    "mistake": "Installed with npm",
    "correction": "Use pnpm, never npm",
    "why": "CLAUDE.md, line 12",
    "wrong_call": "npm install",
    "right_call": "pnpm install",
    "tags": [PROJECT_RULE],
}


async def warned(engine: Engine, command: str, session: str = "s") -> Any:
    arguments: dict[str, Any] = {"command": command}
    return await services.warnings.before_call(engine.context, "Bash", arguments, session=session)


async def test_a_rule_that_an_agent_read_is_off_until_a_person_arms_it(engine: Engine) -> None:
    stored = await engine.store_lesson(**RULE)
    assert stored.guard is not None
    assert "off until a person arms it" in stored.guard
    assert await warned(engine, "npm install left-pad") is None
    waiting: Waiting = await USES["review"].work(engine, {}, speaker=Speaker.PERSON)
    assert [(one.id, one.unarmed) for one in waiting.guards] == [(stored.lesson_id, UNARMED_RULE)]
    sent = {
        "id": stored.lesson_id,
        "mode": GuardMode.HOLD.value,
        "seen": await seen(engine, stored.lesson_id),
    }
    await USES["guard"].work(engine, sent, speaker=Speaker.PERSON)
    warning = await warned(engine, "npm install left-pad")
    assert warning.hold
    assert await warned(engine, "pnpm install left-pad") is None
    assert not (await USES["review"].work(engine, {}, speaker=Speaker.PERSON)).guards


async def test_a_lesson_of_an_agents_own_tells_as_before(engine: Engine) -> None:
    await engine.store_lesson(**{**RULE, "tags": []})
    warning = await warned(engine, "npm install left-pad")
    assert warning is not None
    assert not warning.hold
