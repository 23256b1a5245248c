"""A bank that version 0.2.0 filled is opened: drafts become facts, and what rules wrote leaves recall and guards."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_reflect import services
from mcp_reflect.config import Settings
from mcp_reflect.models.finding import FindingKind, FoundCall
from mcp_reflect.models.lesson import RecordKind, State
from mcp_reflect.moments.asks import ask_at_call
from mcp_reflect.services.engine import Engine
from tests.storage.schemas.test_frozen import made

FOLDER = Path(__file__).parent


@asynccontextmanager
async def opened(bank: Path) -> AsyncGenerator[Engine]:
    made(FOLDER / "bank_of_0_2_0.sql", bank)
    async with Engine(Settings(bank=bank, project="shop")) as engine:
        yield engine


async def test_drafts_become_the_facts_that_they_were_made_of(tmp_path: Path) -> None:
    async with opened(tmp_path / "bank" / "bank.db") as engine:
        found = await engine.bank.findings.waiting(engine.scopes.own)
        refund, vault = sorted((one.finding for one in found), key=lambda finding: finding.act)
    assert (vault.kind, vault.act, vault.line) == (
        FindingKind.WORKED,
        "./vault get",
        "error: denied",
    )
    assert vault.failed == FoundCall(
        tool="Bash", arguments={"command": "./vault get teams/billing"}, number=1
    )
    assert vault.worked == FoundCall(
        tool="Bash", arguments={"command": "./vault get /teams/billing/"}, number=2
    )
    assert vault.wording is None, "the draft was of rules"
    assert refund.line == "error: order is locked"
    assert "Give it with" not in ask_at_call(vault)
    assert "./vault get /teams/billing/" in ask_at_call(vault)


async def test_lessons_of_rules_leave_recall_but_for_the_one_that_a_person_approved(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path / "bank" / "bank.db") as engine:
        shipped = await engine.recall(task="./ship publish shop failed: --region is required")
        sealed = await engine.recall(task="./archive seal books failed: --year is required")
        own = engine.scopes.own
        archived = await engine.bank.lessons.latest(own, kind=None, limit=20, state=State.ARCHIVED)
        at_prompt = await services.reminders.at_prompt(
            engine.context, "s", "./ship publish shop fails: --region is required"
        )
    assert not [hit for hit in shipped.lessons if "--region" in hit.text]
    assert [hit.correction for hit in sealed.lessons][:1] == ["Add `--year`."]
    assert at_prompt is None
    assert "Add `--region`." in [lesson.correction for lesson in archived]
    assert {lesson.kind for lesson in archived} == {RecordKind.LESSON, RecordKind.STRATEGY}


@pytest.mark.parametrize(
    ("command", "is_told"),
    [
        ("git commit -am x", False),  # from words
        ("tsc", False),  # from one call
        ("relctl cut v2", True),  # from both calls
        ("make release", True),  # a person chose what it does
        ("make test", False),  # it was not noted who wrote it
    ],
)
async def test_guards_of_words_and_of_one_call_wait_for_a_person(
    tmp_path: Path, command: str, *, is_told: bool
) -> None:
    async with opened(tmp_path / "bank" / "bank.db") as engine:
        warning = await engine.before_call("bash", {"command": command}, session="s")
        waiting = await engine.bank.guards.unarmed(engine.scopes.own, 10)
    assert (warning is not None) is is_told
    assert {lesson.guard for lesson in waiting} == {
        "Bash: `git commit` with `-a` or `--all`",
        "Bash: `tsc` without `--noEmit`",
        "Bash: `make test`",
    }
    assert all("an earlier release made it" in str(lesson.unarmed) for lesson in waiting)


async def test_what_agents_and_persons_wrote_is_recalled_as_before(tmp_path: Path) -> None:
    async with opened(tmp_path / "bank" / "bank.db") as engine:
        found = await engine.recall(task="git commit with the names of the files")
        assert "Use `git commit` with the names of the files" in [
            hit.correction for hit in found.lessons
        ]
