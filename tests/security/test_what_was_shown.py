"""A person decides on what they were shown: all of it is shown, none of it looks like ours, nothing changes behind it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client, types

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.errors import NotAllowedError
from mcp_reflect.models.lesson import GuardMode, Lesson, State
from mcp_reflect.models.proposal import changes_of
from mcp_reflect.server.app import build
from mcp_reflect.services.curation import USES
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker
from tests.cli.commands import Command
from tests.cli.conftest import command
from tests.conftest import Era
from tests.server.calls import told

__all__ = ["command"]

FORCED = {
    "mistake": "Force-pushed to main",
    "correction": "Open a pull request",
    "wrong_call": "git push --force origin main",
    "right_call": "git push origin main",
}
NEARLY_THE_SAME = "Never force-push to main; open a pull request instead."
COMPILED = {
    "mistake": "Compiled with tsc and left files behind",
    "correction": "Check the types alone",
    "wrong_call": "tsc -p .",
    "right_call": "tsc --noEmit -p .",
}
ATOMIC = {"wrong_call": "git push --atomic origin main", "right_call": "git push origin main"}


async def enforced(engine: Engine, lesson: dict[str, str] = FORCED) -> Lesson:
    """A person's lesson that refuses each call against it."""
    stored = await services.lessons.add(engine.context, lesson)
    return await services.guards.set_mode(engine.context, stored.lesson_id, GuardMode.ENFORCE)


async def wanted(engine: Engine, lesson: Lesson) -> dict[str, tuple[str, str]]:
    """What the one open proposal would change of a lesson, by field: before and after."""
    (proposal,) = await engine.bank.proposals.waiting(engine.scopes.own)
    changes = changes_of(lesson, proposal.kind, proposal.body)
    return {change.field: (change.before, change.after) for change in changes}


async def approved(engine: Engine) -> Lesson:
    """The lesson after a person approved the one open proposal."""
    (proposal,) = await engine.bank.proposals.waiting(engine.scopes.own)
    return await engine.bank.proposals.decide(engine.scopes.own, proposal.id, approved=True)


async def test_a_lesson_without_calls_that_replaces_another_keeps_its_guard_mode_and_pin(
    engine: Engine,
) -> None:
    old = await enforced(engine, COMPILED)
    await engine.bank.lessons.pin(engine.scopes.own, old.id, pinned=True)
    await engine.store_lesson(lesson="Check the types alone, and emit no file.", replaces=old.id)
    assert "guard" not in await wanted(engine, old)
    new = await approved(engine)
    assert new.id != old.id
    assert (new.guard, new.guard_mode) == (old.guard, GuardMode.ENFORCE)
    assert (new.wrong_call, new.right_call) == (old.wrong_call, old.right_call)
    assert new.pinned_at is not None
    assert (await engine.bank.lessons.get(engine.scopes.own, old.id)).state is State.RETIRED


async def test_a_lesson_with_calls_of_its_own_shows_the_guard_before_and_after(
    engine: Engine,
) -> None:
    old = await enforced(engine)
    await engine.store_lesson(lesson=NEARLY_THE_SAME, **ATOMIC, replaces=old.id)
    before, after = (await wanted(engine, old))["guard"]
    assert "--force" in before
    assert "each call against it is refused" in before
    assert "--force" not in after
    assert "--atomic" in after
    assert "each call against it is refused" in after
    new = await approved(engine)
    assert new.guard_mode is GuardMode.ENFORCE


async def test_a_lesson_whose_calls_make_no_guard_says_that_the_guard_goes(engine: Engine) -> None:
    old = await enforced(engine)
    await engine.store_lesson(lesson=NEARLY_THE_SAME, wrong_call="git push", replaces=old.id)
    assert (await wanted(engine, old))["guard"][1] == "none"


async def test_an_edit_of_the_calls_shows_the_guard_that_follows(engine: Engine) -> None:
    old = await enforced(engine)
    sent = {"id": old.id, "changes": {"correction": "Open a pull request, please", **ATOMIC}}
    with pytest.raises(NotAllowedError):
        await USES["edit"].work(engine, sent, speaker=Speaker.AGENT)
    changes = await wanted(engine, old)
    assert {"correction", "wrong_call", "guard"} <= changes.keys()
    assert "--force" in changes["guard"][0]
    assert "--atomic" in changes["guard"][1]


class Answering:
    """A person who says yes to each question, after something was done while they read."""

    def __init__(self, meanwhile: Any = None) -> None:
        self.asked: list[str] = []
        self._meanwhile = meanwhile

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        del context
        self.asked.append(params.message)
        if self._meanwhile is not None:
            await self._meanwhile()
            self._meanwhile = None
        return types.ElicitResult(action="accept", content={"confirm": True})


async def test_the_hosts_question_shows_the_guard_and_a_yes_keeps_it(
    engine: Engine, era: Era
) -> None:
    old = await enforced(engine)
    person = Answering()
    async with Client(build(engine=engine), mode=era, elicitation_callback=person) as client:
        sent = {"lesson": NEARLY_THE_SAME, "replaces": old.id}
        answer = await told(client, "store_lesson", sent)
    assert answer["status"] == "stored"
    (question,) = person.asked
    assert f"{old.guard} (each call against it is refused)" in question
    (left,) = await engine.bank.lessons.latest(engine.scopes.own)
    assert (left.guard, left.guard_mode) == (old.guard, GuardMode.ENFORCE)


async def test_a_yes_about_a_lesson_that_changed_meanwhile_does_nothing(
    engine: Engine, era: Era
) -> None:
    old = await enforced(engine)

    async def turn_off() -> None:
        await services.guards.set_mode(engine.context, old.id, GuardMode.TELL)

    person = Answering(turn_off)
    async with Client(build(engine=engine), mode=era, elicitation_callback=person) as client:
        await told(client, "forget_lesson", {"lesson_id": old.id, "reason": "no use"})
    left = await engine.bank.lessons.get(engine.scopes.own, old.id)
    asked_again = len(person.asked) > 1  # about the lesson as it is then
    assert (left.state is State.ACTIVE) is not asked_again
    assert asked_again is (era != "legacy")


FORGED = "pro_1: an agent wants to change it: it gets a tag"
FORGING = f"no use{chr(10) * 40}{FORGED}\r{FORGED}\u2028{FORGED}{' ' * 300}{FORGED}"


def in_bank_of(command: Command, work: Callable[[Engine], Awaitable[Lesson]]) -> Lesson:
    """Do something in the bank of the command, and return the lesson that it is about."""

    async def run() -> Lesson:
        async with Engine(Settings(bank=command.folder / "bank.db", project="app")) as engine:
            return await work(engine)

    return asyncio.run(run())


def test_no_reason_looks_like_a_line_of_the_review(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    async def propose(engine: Engine) -> Lesson:
        lesson = await enforced(engine)
        await engine.forget_lesson(lesson_id=lesson.id, reason=FORGING)
        return lesson

    in_bank_of(command, propose)
    screen = command.at_terminal("lessons", "review", typed="q\n")
    lines = screen.replace("uit: ", "\n").splitlines()
    assert all(line.startswith("  | ") for line in lines if "it gets a tag" in line)
    (true_line,) = [line for line in lines if line.startswith("pro_")]
    assert true_line.endswith(": an agent wants to retire it.")
    assert lines.index(true_line) >= len(lines) - 3  # right above the question
    assert len(lines) < 24
