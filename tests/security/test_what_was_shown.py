"""A person decides on what they were shown: all of it is shown, none of it looks like ours, nothing changes behind it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, types

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.errors import ChangedError, InputError, NotAllowedError
from mcp_reflect.models.lesson import GuardMode, Lesson, State, Trust
from mcp_reflect.models.proposal import changes_of
from mcp_reflect.models.shown_digest import digest_of_proposal
from mcp_reflect.server.app import build
from mcp_reflect.services.curation import USES
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker
from tests.cli.commands import Command
from tests.cli.conftest import command
from tests.cli.typed import Person
from tests.conftest import Era
from tests.server.calls import told
from tests.shown import seen

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


OF_AGENT = {
    "mistake": "Checked the types and left files behind",
    "correction": "Emit no files",
    "wrong_call": "tsc -b",
    "right_call": "tsc -b --noEmit",
}
LATER = {"correction": "Write the files into the sources"}
"""What the agent makes of its lesson while the person reads the other one."""


async def by_agent(engine: Engine) -> Lesson:
    """A lesson that an agent stored."""
    stored = await engine.store_lesson(**OF_AGENT)
    return await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)


def agent_edits(command: Command, lesson: Lesson) -> Lesson:
    """The lesson after the agent changed it, while the person reads."""
    return in_bank_of(command, lambda engine: engine.edit_lesson(lesson.id, LATER))


def lesson_now(command: Command, lesson: Lesson) -> Lesson:
    return in_bank_of(command, lambda engine: engine.bank.lessons.get(engine.scopes.own, lesson.id))


def at_terminal(command: Command, *words: str, **env: str) -> Person:
    """A person who runs a command of ours over the bank of `command`."""
    bank = str(command.folder / "bank.db")
    return Person(words, {"MCP_REFLECT_BANK": bank, "MCP_REFLECT_PROJECT": "app", **env})


def test_a_review_trusts_nothing_that_changed_while_the_person_read(command: Command) -> None:
    lesson = in_bank_of(command, by_agent)
    person = at_terminal(command, "lessons", "review", MCP_REFLECT_REVIEW="ask")
    person.until("[q]uit: ")
    agent_edits(command, lesson)
    screen = person.types("k", "[q]uit: ")
    assert "It changed while you read, and nothing was done." in screen
    assert LATER["correction"] in screen  # it is shown again, as it is now
    assert lesson_now(command, lesson).trust is Trust.OBSERVED
    person.types("d", "retired")
    assert person.leaves() == 0


@pytest.mark.parametrize(
    ("words", "question"),
    [
        (("approve",), "Shall I trust it? [y/N] "),
        (("enforce",), "Shall I refuse each call against it? [y/N] "),
        (("guard",), "Shall I refuse a call against it once? [y/N] "),
        (("pin",), "Shall I begin every session with it? [y/N] "),
        (("edit",), "Shall I change it so? [y/N] "),
    ],
)
def test_an_act_shows_the_agents_lesson_asks_and_counts_for_that_alone(
    command: Command, words: tuple[str, ...], question: str
) -> None:
    lesson = in_bank_of(command, by_agent)
    rest = {"guard": ("hold",), "edit": ("--why", "It is tidy")}.get(words[0], ())
    person = at_terminal(command, "lessons", *words, lesson.id, *rest)
    shown = person.until(question)
    for text in (*OF_AGENT.values(), lesson.guard or ""):
        assert text in shown
    edited = agent_edits(command, lesson)
    assert "changed since it was shown, and nothing was done" in person.types("y", "Look at it")
    assert person.leaves() == 2
    assert lesson_now(command, lesson) == edited


def test_a_no_does_nothing_and_a_yes_what_was_asked(command: Command) -> None:
    lesson = in_bank_of(command, by_agent)
    command.at_terminal("lessons", "enforce", lesson.id, typed="n\n", code=1)
    assert lesson_now(command, lesson) == lesson
    command.at_terminal("lessons", "enforce", lesson.id, typed="y\n")
    assert lesson_now(command, lesson).guard_mode is GuardMode.ENFORCE


def test_nobody_is_asked_about_a_lesson_that_no_agent_can_have_changed(command: Command) -> None:
    lesson = in_bank_of(command, lambda engine: enforced(engine, COMPILED))
    for words in (("guard", lesson.id, "hold"), ("enforce", lesson.id), ("pin", lesson.id)):
        assert "[y/N]" not in command.at_terminal("lessons", *words)


def test_what_an_editor_was_opened_with_is_what_is_changed(
    command: Command, tmp_path: Path
) -> None:
    lesson = in_bank_of(command, by_agent)
    editor = tmp_path / "editor"
    edit = """sed -i 's/^why = .*/why = "It is tidy"/' "$1\""""
    editor.write_text(f"#!/bin/sh\necho open\nread line\n{edit}\n")
    editor.chmod(0o700)
    person = at_terminal(command, "lessons", "edit", lesson.id, EDITOR=str(editor))
    person.until("open")
    edited = agent_edits(command, lesson)
    assert "changed since it was shown" in person.types("on", "Your text is in")
    assert person.leaves() == 2
    assert lesson_now(command, lesson) == edited


def test_what_is_kept_together_is_shown_first(command: Command) -> None:
    first = in_bank_of(command, by_agent)
    in_bank_of(command, other_of_agent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MCP_REFLECT_REVIEW", "ask")
        screen = command.at_terminal("lessons", "review", typed="a\nn\n")
    assert "Fed the emu at night" in screen
    assert OF_AGENT["mistake"] in screen
    assert lesson_now(command, first).trust is Trust.OBSERVED


async def other_of_agent(engine: Engine) -> Lesson:
    """Another lesson of an agent."""
    stored = await engine.store_lesson(mistake="Fed the emu at night", correction="Wait for noon")
    return await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)


ACTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("decide", {"approved": True}),
    ("edit", {"changes": {"why": "It is tidy"}}),
    ("state", {"state": "retired", "reason": "wrong"}),
    ("guard", {"mode": "enforce"}),
    ("pin", {"pinned": True}),
    ("still", {"true": True}),
    ("reopen", {"state": "active", "trust": "trusted"}),
)
"""Uses by which a person changes one lesson, over the board or a service."""


@pytest.mark.parametrize(("use", "values"), ACTS)
async def test_the_board_does_to_a_lesson_only_what_its_page_showed(
    engine: Engine, use: str, values: dict[str, Any]
) -> None:
    lesson = await by_agent(engine)
    shown = await seen(engine, lesson.id)
    sent = {"id": lesson.id, **values}
    with pytest.raises(InputError, match="does not say what was shown"):
        await USES[use].work(engine, sent, speaker=Speaker.PERSON)
    edited = await engine.edit_lesson(lesson.id, LATER)
    with pytest.raises(ChangedError):
        await USES[use].work(engine, {**sent, "seen": shown}, speaker=Speaker.PERSON)
    assert await engine.bank.lessons.get(engine.scopes.own, lesson.id) == edited
    now = await seen(engine, lesson.id)
    await USES[use].work(engine, {**sent, "seen": now}, speaker=Speaker.PERSON)


async def test_a_merge_of_what_changed_archives_no_lesson_of_the_person(engine: Engine) -> None:
    kept = await enforced(engine, COMPILED)
    lesson = await by_agent(engine)
    sent = {"ids": [lesson.id, kept.id], "seen": await seen(engine, lesson.id, kept.id)}
    await engine.edit_lesson(lesson.id, LATER)
    with pytest.raises(ChangedError):
        await USES["merge"].work(engine, sent, speaker=Speaker.PERSON)
    assert await engine.bank.lessons.get(engine.scopes.own, kept.id) == kept


async def test_a_proposal_about_a_lesson_that_changed_is_not_done(engine: Engine) -> None:
    kept = await enforced(engine, COMPILED)
    await engine.forget_lesson(lesson_id=kept.id, reason="no use")
    (proposal,) = await engine.bank.proposals.waiting(engine.scopes.own)
    shown = {proposal.id: digest_of_proposal(proposal, kept)}
    await services.guards.set_mode(engine.context, kept.id, GuardMode.HOLD)
    sent = {"id": proposal.id, "approved": True, "seen": shown}
    with pytest.raises(ChangedError):
        await USES["decide"].work(engine, sent, speaker=Speaker.PERSON)
    left = await engine.bank.lessons.get(engine.scopes.own, kept.id)
    assert left.state is State.ACTIVE


async def test_uses_of_a_lesson_change_nothing_that_a_person_is_shown(engine: Engine) -> None:
    lesson = await by_agent(engine)
    shown = await seen(engine, lesson.id)
    await engine.recall(task="Check the types")
    await engine.record_outcome(success=True, lesson_ids=[lesson.id])
    await engine.store_lesson(**OF_AGENT)  # learned again
    assert await seen(engine, lesson.id) == shown


FAKE = "les_1: trusted, and recalled from now on."


@pytest.mark.parametrize("words", [("show",), ("approve",)])
def test_no_text_of_a_lesson_begins_a_line_of_the_screen(
    command: Command, words: tuple[str, ...]
) -> None:
    async def forge(engine: Engine) -> Lesson:
        forging = f"Emit no files\n{FAKE}\r\n{FAKE}"
        tags = (f"types\n{FAKE}",)
        calls = {"wrong_call": f"tsc -b\n{FAKE}"}
        sent = {**OF_AGENT, "correction": forging, "why": forging, **calls}
        stored = await engine.store_lesson(**sent, tags=tags)
        return await engine.bank.lessons.get(engine.scopes.own, stored.lesson_id)

    lesson = in_bank_of(command, forge)
    screen = command.at_terminal("lessons", *words, lesson.id, code=int(words == ("approve",)))
    assert FAKE in screen
    assert not [line for line in screen.splitlines() if line.startswith("les_1:")]
