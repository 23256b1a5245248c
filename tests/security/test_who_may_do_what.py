"""The table of attacks: who tries what, by which way, and what becomes of a lesson that a person keeps.

Every tool that writes and every use of the command line, the board and a service has a row. A new one needs a row.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from enum import Enum, auto
from typing import Any

import pytest

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.errors import InputError, NotAllowedError
from mcp_reflect.models.access import AccessRole, Principal
from mcp_reflect.models.lesson import GuardMode, Lesson, State, Trust
from mcp_reflect.models.shown_digest import digest_of_proposal
from mcp_reflect.server.tenants import (
    _ACT_BY_WRITING_TOOL,  # pyright: ignore[reportPrivateUsage] - the list is the contract
)
from mcp_reflect.services.curation import USES
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.tool_functions import TOOL_FUNCTIONS
from mcp_reflect.speaker import (
    MARKS_OF_HOSTS,
    Speaker,
    is_in_host,
    speaker_of_answer,
    speaker_of_request,
)

WORDS = {"mistake": "Pushed to main without a review", "correction": "Open a pull request first"}
CALLS = {"wrong_call": "tsc -p .", "right_call": "npx tsc --noEmit"}
OTHER = {"mistake": "Pushed to main without a review", "correction": "Push to main, it is faster"}
_COUNTS = {"times_applied", "wins", "losses", "proof", "effectiveness", "updated_at", "strength"}


class End(Enum):
    """What becomes of an agent's try."""

    PROPOSED = auto()  # it waits in the person's review
    REFUSED = auto()
    NOTHING = auto()  # it is answered, and the lesson is as before


@dataclass(frozen=True)
class Try:
    """An agent's try to change the lesson with an id."""

    by: Callable[[Engine, str], Awaitable[Any]]
    end: End


def tool(name: str, **arguments: Any) -> Callable[[Engine, str], Awaitable[Any]]:
    """A call of a tool over MCP; ID stands for the lesson's id."""
    return lambda engine, lesson_id: engine.call(name, _with_id(arguments, lesson_id))


def use(name: str, **sent: Any) -> Callable[[Engine, str], Awaitable[Any]]:
    """A command in an agent's shell, or a request without a person's token."""
    return lambda engine, lesson_id: USES[name].work(
        engine, _with_id(sent, lesson_id), speaker=Speaker.AGENT
    )


def _with_id(sent: dict[str, Any], lesson_id: str) -> dict[str, Any]:
    return {
        name: [lesson_id] * len(value)
        if name in ("ids", "lesson_ids")
        else lesson_id
        if value == "ID"
        else value
        for name, value in sent.items()
    }


async def dream(engine: Engine, lesson_id: str) -> None:
    """A consolidation whose proposals name the lesson."""
    other = await engine.store_lesson(**OTHER)
    entry = {"ids": [lesson_id, other.lesson_id], "mistake": "Pushed", "correction": "Push on"}
    await engine.dream(analysis={"merge": [entry], "generalize": []})


async def repeat_against(engine: Engine, _: str) -> None:
    """Calls against its guard, made again and again until they work."""
    for number in range(4):
        call: dict[str, Any] = {"tool": "Bash", "arguments": {"command": CALLS["wrong_call"]}}
        await engine.before_call(**call, session=f"s{number}")
        await engine.before_call(**call, session=f"s{number}")
        await engine.after_call(**call, result="ok", session=f"s{number}")


TRIES: dict[str, Try] = {
    "tool store_lesson": Try(tool("store_lesson", **OTHER, replaces="ID"), End.PROPOSED),
    "tool store_lesson, as told by a person": Try(
        tool("store_lesson", **OTHER, replaces="ID", evidence="user"), End.PROPOSED
    ),
    "tool store_lesson, the same words with other calls": Try(
        tool("store_lesson", **WORDS, wrong_call="git status", right_call="git status -s"),
        End.NOTHING,
    ),
    "tool store_lesson, the same words": Try(tool("store_lesson", **WORDS), End.NOTHING),
    "tool forget_lesson": Try(tool("forget_lesson", lesson_id="ID"), End.PROPOSED),
    "tool record_outcome": Try(
        tool("record_outcome", success="wrong", lesson_ids=["ID"]), End.PROPOSED
    ),
    "tool record_outcome, with a test": Try(
        tool("record_outcome", success="wrong", lesson_ids=["ID"], evidence="test",
             tool_results=[{"content": "1 failed", "exit_code": 1}]),
        End.PROPOSED,
    ),
    "tool record_outcome, partly": Try(
        tool("record_outcome", success="partial", lesson_ids=["ID"]), End.NOTHING
    ),
    "tool reflect": Try(
        tool("reflect", task="push", outcome="failure", analysis=OTHER), End.NOTHING
    ),
    "dream": Try(dream, End.NOTHING),
    "calls against its guard": Try(repeat_against, End.PROPOSED),
    "use add": Try(use("add", **WORDS, why="because"), End.NOTHING),
    "use edit": Try(use("edit", id="ID", changes={"correction": "Push on"}), End.PROPOSED),
    "use state": Try(use("state", id="ID", state="retired", reason="wrong"), End.PROPOSED),
    "use decide": Try(use("decide", id="ID", approved=False), End.REFUSED),
    "use reopen": Try(use("reopen", id="ID", state="retired", trust="observed"), End.REFUSED),
    "use guard": Try(use("guard", id="ID", mode="off"), End.REFUSED),
    "use still": Try(use("still", id="ID", true=False), End.REFUSED),
    "use pin": Try(use("pin", id="ID", pinned=True), End.REFUSED),
    "use merge": Try(use("merge", ids=["ID", "ID"]), End.REFUSED),
    "use undo": Try(use("undo", id="drm_1"), End.REFUSED),
    "use finding": Try(use("finding", id="fnd_1", approved=True), End.REFUSED),
    "use import": Try(
        use("import", lines=[(1, {**WORDS, "state": "retired"})]), End.NOTHING
    ),
    "use import, its own": Try(
        use("import", own=True, lines=[(1, {**WORDS, "trust": "trusted"})]), End.REFUSED
    ),
    "use recall": Try(use("recall", task="push to main"), End.NOTHING),
}  # fmt: skip
_READS = {"lessons", "show", "history", "review", "export", "stats", "card", "try"}


@pytest.fixture
async def kept(engine: Engine) -> Lesson:
    """A lesson that a person wrote, with a guard that they chose."""
    stored = await services.lessons.add(engine.context, {**WORDS, **CALLS})
    return await services.guards.set_mode(engine.context, stored.lesson_id, GuardMode.HOLD)


def words_of(lesson: Lesson) -> dict[str, Any]:
    return {
        field.name: getattr(lesson, field.name)
        for field in fields(lesson)
        if field.name not in (*_COUNTS, "guard_repeats")
    }


@pytest.mark.parametrize("name", TRIES)
async def test_no_way_of_an_agent_changes_what_a_person_keeps(
    engine: Engine, kept: Lesson, name: str
) -> None:
    attempt = TRIES[name]
    if attempt.end is End.REFUSED:
        with pytest.raises(InputError):
            await attempt.by(engine, kept.id)
    else:
        with suppress(NotAllowedError):  # a command is told so that its change waits
            await attempt.by(engine, kept.id)
    after = await engine.bank.lessons.get(engine.scopes.own, kept.id)
    assert words_of(after) == words_of(kept)
    assert not after.harmful
    assert after.rate >= kept.rate or name == "calls against its guard"
    waiting = await engine.bank.proposals.waiting(engine.scopes.own)
    assert bool(waiting) is (attempt.end is End.PROPOSED)
    others = await engine.bank.lessons.latest(engine.scopes.own)
    assert [one.id for one in others if one.trust is Trust.TRUSTED] == [kept.id]


def test_every_tool_that_writes_and_every_use_has_a_row() -> None:
    rows = {" ".join(name.split(",")[0].split()[:2]) for name in TRIES}
    assert {f"tool {name}" for name in _ACT_BY_WRITING_TOOL} <= rows
    assert {f"use {name}" for name in USES if name not in _READS} <= rows
    assert set(_ACT_BY_WRITING_TOOL) <= set(TOOL_FUNCTIONS)


@pytest.mark.parametrize("approved", [True, False])
async def test_a_person_decides_about_what_an_agent_wants(
    engine: Engine, kept: Lesson, *, approved: bool
) -> None:
    await engine.forget_lesson(lesson_id=kept.id, reason="it is in my way")
    await engine.forget_lesson(lesson_id=kept.id, reason="it is in my way")
    found = await USES["review"].work(engine, {}, speaker=Speaker.PERSON)
    (waiting,) = found.proposals
    seen = {waiting.proposal.id: digest_of_proposal(waiting.proposal, waiting.lesson)}
    sent = {"id": waiting.proposal.id, "approved": approved, "seen": seen}
    with pytest.raises(NotAllowedError):
        await USES["decide"].work(engine, sent, speaker=Speaker.AGENT)
    after = await USES["decide"].work(engine, sent, speaker=Speaker.PERSON)
    assert after.state is (State.RETIRED if approved else State.ACTIVE)
    assert (await USES["review"].work(engine, {}, speaker=Speaker.PERSON)).proposals == ()


@pytest.mark.parametrize(
    ("role", "token", "told", "speaker"),
    [
        (AccessRole.ADMIN, "tok_1", None, Speaker.PERSON),
        (AccessRole.ADMIN, "tok_1", "person", Speaker.PERSON),
        (AccessRole.ADMIN, "tok_1", "agent", Speaker.AGENT),  # the command line in an agent's shell
        (AccessRole.ADMIN, "", None, Speaker.AGENT),  # a service that asks for no token
        (AccessRole.WRITER, "tok_1", "person", Speaker.AGENT),
        (AccessRole.READER, "tok_1", "person", Speaker.AGENT),
    ],
)
def test_a_request_is_a_persons_by_an_admins_token_alone(
    role: AccessRole, token: str, told: str | None, speaker: Speaker
) -> None:
    principal = Principal(id=token, name="ada", tenant="acme", projects=("shop",), role=role)
    assert speaker_of_request(principal, told) is speaker


@pytest.mark.parametrize("mark", sorted(MARKS_OF_HOSTS))
def test_a_child_of_a_host_is_an_agent(mark: str) -> None:
    assert is_in_host({mark: "1"})
    assert not is_in_host({mark: ""})


def test_what_people_set_themselves_marks_nobody() -> None:
    own = {
        "CODEX_HOME": "/h",
        "COPILOT_MODEL": "m",
        "CLAUDE_CONFIG_DIR": "/c",
        "GEMINI_API_KEY": "k",
    }
    assert not is_in_host(own)


def test_a_no_is_no_confirmation() -> None:
    assert [speaker_of_answer(accepted=yes) for yes in (True, False)] == [
        Speaker.PERSON,
        Speaker.AGENT,
    ]


async def test_an_own_export_with_an_id_of_another_tenant_gets_a_new_one(engine: Engine) -> None:
    stored = await services.lessons.add(engine.context, WORDS)
    lines = [line async for line in engine.bank.transfer.export("local", "app")]
    async with Engine(engine.settings, tenant_id="other") as other:
        sent = {"lines": list(enumerate(lines, 1)), "own": True}
        (restored,) = await USES["import"].work(other, sent, speaker=Speaker.PERSON)
        assert restored.status == "restored"
        assert restored.lesson_id != stored.lesson_id
        (lesson,) = await other.bank.lessons.latest(other.scopes.own)
        assert lesson.correction == WORDS["correction"]


async def test_what_agents_store_pushes_no_lesson_of_a_person_out_of_a_full_bank(
    settings: Settings,
) -> None:
    async with Engine(settings, reflection_bank_size=3) as engine:
        stored = await services.lessons.add(engine.context, {**WORDS, "importance": 0.1})
        for number in range(6):
            await engine.store_lesson(
                mistake=f"Fed animal {number} nothing", correction=f"It eats {number * 7 + 3} nuts"
            )
        lesson = await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)
    assert lesson.state is State.ACTIVE
