"""The card at the end of a session: met again and avoided, kept, held and corrected, in three lines."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_reflect import services
from mcp_reflect.dashboard.contents import collect
from mcp_reflect.models.card import SessionCard
from mcp_reflect.models.common import Json
from mcp_reflect.services.curation import USES
from mcp_reflect.services.engine import Engine
from mcp_reflect.services.hook_events import read_hook
from mcp_reflect.speaker import Speaker
from tests.held_clock import HeldClock
from tests.sessions.past_home import claude_file

LESSON = {
    "mistake": "`relctl cut` without a rehearsal broke the release",
    "correction": "Run `relctl cut --rehearse` first",
    "wrong_call": "relctl cut v1",
    "right_call": "relctl cut --rehearse v1",
}
FOLLOWS: dict[str, Json] = {"command": "relctl cut --rehearse v1"}


async def card(engine: Engine, session: str | None = None) -> SessionCard | None:
    return await USES["card"].work(engine, {"session": session}, speaker=Speaker.AGENT)


async def stop(engine: Engine, file: Path, message: str, *, again: bool = False) -> str | None:
    sent: dict[str, Any] = {
        "session_id": "s",
        "transcript_path": str(file),
        "last_assistant_message": message,
        "stop_hook_active": again,
    }
    hook = read_hook("Stop", sent)
    assert hook is not None
    return (await services.hooks.answer(engine.context, replace(hook, watched=True)))[0]


async def test_a_session_is_told_in_three_lines(
    engine: Engine, clock: HeldClock, tmp_path: Path
) -> None:
    await engine.store_lesson(**LESSON)
    clock.time += 3_600
    await services.reminders.at_prompt(engine.context, "s", "Cut the release with relctl today")
    await engine.after_call("bash", FOLLOWS, "done", session="s")
    clock.time += 5
    await engine.store_lesson(mistake="Tagged by hand", correction="Run make tag")
    clock.time += 5
    await engine.after_call("bash", {"command": "ls"}, "a", session="s")
    seen = (("says", "Release it"), ("runs", str(FOLLOWS["command"]), "done"), ("runs", "ls", "a"))
    failed = ("runs", "pytest -q", "Exit code 1\n1 failed, 11 passed in 0.2s")
    file = claude_file(tmp_path / "s.jsonl", [*seen, failed])
    held = await stop(engine, file, "All tests pass.")
    assert held is not None
    passed = ("runs", "pytest -q", "12 passed in 0.2s")
    file = claude_file(tmp_path / "s.jsonl", [*seen, failed, passed])
    await stop(engine, file, "All 12 tests pass now.", again=True)
    found = await card(engine)
    assert found is not None
    assert found.lines == (
        "Met again and avoided: 1 lesson followed and worked (Run `relctl cut --rehearse` first)",
        "Kept: 1 lesson (Run make tag)",
        "Held and corrected: 1 last message held, 1 corrected after it",
    )
    assert found == await card(engine, "s")
    assert (await collect(engine))["card"] == [*found.lines]


async def test_a_session_in_which_nothing_happened_says_so_and_an_unknown_one_has_no_card(
    engine: Engine,
) -> None:
    assert await card(engine) is None
    await engine.after_call("bash", {"command": "ls"}, "a", session="s")
    found = await card(engine)
    assert found is not None
    assert found.lines == (
        "Met again and avoided: nothing",
        "Kept: nothing",
        "Held and corrected: nothing",
    )
    assert (await collect(engine))["card"] == []
    assert await card(engine, "other") is None
    assert await card(engine, "%") is None


def test_in_markdown_the_words_of_a_lesson_are_no_marks() -> None:
    words = "<img src=x> [click](http://x) **now** `rm`\n# Title"
    text = SessionCard(session="s", started_at=0.0, kept=(words,)).markdown
    assert text.startswith(
        "### What mcp-reflect did in this session\n\n- **Met again and avoided:** "
    )
    assert r"\<img src=x\> \[click\](http://x) \*\*now\*\* \`rm\` \# Title" in text
    assert len(text.splitlines()) == 5
