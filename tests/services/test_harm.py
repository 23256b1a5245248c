"""Harm is counted beside help: by the endings that runs prove, with a lesson and with it held out."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect import services
from mcp_reflect.evidence.endings import ended_well
from mcp_reflect.evidence.ledger import Ledger
from mcp_reflect.models.common import Json
from mcp_reflect.models.effect import Arm, Comparison, Effect
from mcp_reflect.services.curation import USES
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.hook_events import read_hook
from mcp_reflect.sessions.session_file import SessionFile
from mcp_reflect.speaker import Speaker
from tests.sessions.past_home import Step, claude_file
from tests.shown import seen

LESSON = {
    "mistake": "`relctl cut` without a rehearsal broke the release",
    "correction": "Run `relctl cut --rehearse` first",
    "wrong_call": "relctl cut v1",
    "right_call": "relctl cut --rehearse v1",
}
PROMPT = "Cut the release with relctl today"
FOLLOWS: dict[str, Json] = {"command": "relctl cut --rehearse v1"}
PASSED: Step = ("runs", "pytest -q", "12 passed in 0.1s")
FAILED: Step = ("runs", "pytest -q", "Exit code 1\n1 failed, 11 passed in 0.2s")
EDIT: Step = (
    "calls",
    "Edit",
    {"file_path": "/app/shop.py", "old_string": "a", "new_string": "b"},
    "ok",
)


def ledger_of(tmp_path: Path, *steps: Step) -> Ledger:
    file = SessionFile(claude_file(tmp_path / "s.jsonl", steps), Ledger("/app"))
    file.read()
    return file.ledger


@pytest.mark.parametrize(
    ("steps", "good"),
    [
        ((EDIT, PASSED), True),
        ((PASSED, EDIT, FAILED), False),
        ((FAILED, EDIT, PASSED), True),
        ((PASSED, EDIT), None),  # nobody knows what the edit did
        ((EDIT,), None),
        ((), None),
        ((PASSED, ("runs", "npx tsc --noEmit", "Exit code 2\na.ts(1,1): error TS1")), False),
    ],
)
def test_the_latest_runs_prove_how_a_session_ended(
    tmp_path: Path, steps: tuple[Step, ...], good: bool | None
) -> None:
    assert ended_well(ledger_of(tmp_path, *steps)) is good


def test_nothing_is_known_under_ten_cases_on_either_side_and_then_by_the_whole_interval() -> None:
    for shown, held, effect in (
        (Arm(9, 0), Arm(100, 100), Effect.UNKNOWN),
        (Arm(100, 0), Arm(9, 9), Effect.UNKNOWN),
        (Arm(10, 1), Arm(10, 9), Effect.HURT),
        (Arm(10, 9), Arm(10, 1), Effect.HELPED),
        (Arm(12, 7), Arm(12, 6), Effect.UNKNOWN),
        (Arm(10, 0), Arm(10, 0), Effect.UNKNOWN),
        (Arm(), Arm(), Effect.UNKNOWN),
    ):
        assert Comparison(shown, held).effect is effect


async def session(engine: Engine, tmp_path: Path, name: str, *, held_out: bool, good: bool) -> str:
    """A session that is asked to release, follows the lesson if it was shown, and ends; return what it was told."""
    own = engine.scopes.own
    state = await engine.bank.warnings.session(own, name, held_out=held_out)
    await engine.bank.warnings.note(own, state)
    text = await services.reminders.at_prompt(engine.context, name, PROMPT) or ""
    await engine.after_call("bash", FOLLOWS, "done", session=name)
    steps: tuple[Step, ...] = (("runs", FOLLOWS["command"], "done"), PASSED if good else FAILED)
    file = claude_file(tmp_path / f"{name}.jsonl", [("says", PROMPT), *steps])
    hook = read_hook(
        "Stop",
        {
            "session_id": name,
            "cwd": "/app",
            "transcript_path": str(file),
            "last_assistant_message": "I looked at it.",
        },
    )
    assert hook is not None
    await services.hooks.answer(engine.context, hook)
    return text


async def play(engine: Engine, tmp_path: Path, *, cases: int, with_it: bool, without: bool) -> None:
    """Play sessions with the lesson and with it held out, which end well or not."""
    for number in range(cases):
        await session(engine, tmp_path, f"shown{number}", held_out=False, good=with_it)
        await session(engine, tmp_path, f"held{number}", held_out=True, good=without)


async def effect_of(engine: Engine, lesson_id: str) -> Comparison:
    return (await engine.bank.effects.of(engine.scopes.own, [lesson_id]))[lesson_id].comparison


async def test_a_held_out_session_is_told_nothing_and_counts_on_the_other_side(
    engine: Engine, tmp_path: Path
) -> None:
    stored = await engine.store_lesson(**LESSON)
    assert "rehearse" in await session(engine, tmp_path, "a", held_out=False, good=True)
    assert await session(engine, tmp_path, "b", held_out=True, good=False) == ""
    assert await effect_of(engine, stored.lesson_id) == Comparison(Arm(1, 1), Arm(1, 0))


async def test_an_agents_lesson_that_harms_is_no_longer_shown_and_waits_for_a_person(
    engine: Engine, tmp_path: Path
) -> None:
    stored = await engine.store_lesson(**LESSON)
    await play(engine, tmp_path, cases=10, with_it=False, without=True)
    assert (await effect_of(engine, stored.lesson_id)).effect is Effect.HURT
    assert await session(engine, tmp_path, "next", held_out=False, good=True) == ""
    waiting = await USES["review"].work(engine, {}, speaker=Speaker.PERSON)
    [doubted] = waiting.doubted
    assert doubted.told.startswith("hurt: 0 of 10 sessions ended well with it, 10 of 10 without")
    recall = await engine.recall(task=PROMPT)
    assert "hurt: 0 of 10" in recall.lessons[0].text
    sent: dict[str, Any] = {
        "id": stored.lesson_id,
        "true": True,
        "seen": await seen(engine, stored.lesson_id),
    }
    await USES["still"].work(engine, sent, speaker=Speaker.PERSON)
    text = await session(engine, tmp_path, "later", held_out=False, good=True)
    assert "rehearse" in text
    assert "hurt: " in text
    assert not (await USES["review"].work(engine, {}, speaker=Speaker.PERSON)).doubted


async def test_a_persons_lesson_that_harms_is_marked_and_shown(
    engine: Engine, tmp_path: Path
) -> None:
    await USES["add"].work(engine, LESSON, speaker=Speaker.PERSON)
    await play(engine, tmp_path, cases=10, with_it=False, without=True)
    text = await session(engine, tmp_path, "next", held_out=False, good=True)
    assert "(hurt: 0 of 10 sessions ended well with it, 10 of 10 without" in text
    assert not (await USES["review"].work(engine, {}, speaker=Speaker.PERSON)).doubted


async def test_stats_and_the_lesson_say_helped_hurt_or_unknown(
    engine: Engine, tmp_path: Path
) -> None:
    stored = await engine.store_lesson(**LESSON)
    await play(engine, tmp_path, cases=2, with_it=True, without=False)
    shown = await USES["show"].work(engine, {"id": stored.lesson_id}, speaker=Speaker.PERSON)
    assert shown.effect == (
        "unknown: 2 of 2 sessions ended well with it, 0 of 2 without; it takes 10 on each side"
    )
    stats = json.loads(json.dumps(await engine.get_stats()))
    assert stats["lessons_by_effect"] == {"helped": 0, "hurt": 0, "unknown": 1}


async def test_a_session_without_a_proof_of_its_ending_counts_nowhere(
    engine: Engine, tmp_path: Path
) -> None:
    stored = await engine.store_lesson(**LESSON)
    await services.reminders.at_prompt(engine.context, "s", PROMPT)
    await engine.after_call("bash", FOLLOWS, "done", session="s")
    file = claude_file(tmp_path / "s.jsonl", [("says", PROMPT), EDIT])
    sent = {"session_id": "s", "transcript_path": str(file), "last_assistant_message": "Done."}
    hook = read_hook("Stop", sent)
    assert hook is not None
    await services.hooks.answer(engine.context, hook)
    assert not await engine.bank.effects.of(engine.scopes.own, [stored.lesson_id])
