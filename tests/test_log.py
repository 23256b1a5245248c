"""Log events: on stderr, at the level and in the format of the settings, with the call that they belong to."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.config import Settings
from mcp_reflect.log import Log
from mcp_reflect.nodes import reflection_node
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine

LESSON = {"mistake": "Deployed without the migration", "correction": "Run the migration, then deploy"}


def events(captured: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in captured.splitlines()]


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_events_below_the_level_are_not_written(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    log = Log(level)
    for write in (log.debug, log.info, log.warning, log.error):
        write("something", count=1)
    written = [event["level"] for event in events(capsys.readouterr().err)]
    assert written == ["debug", "info", "warning", "error"][-len(written) :]
    assert written[0] == level


async def test_an_event_of_a_tool_names_the_call(settings: Settings, capfd: pytest.CaptureFixture[str]) -> None:
    async with Client(build(replace(settings, log_level="info"))) as client:
        await client.call_tool("store_lesson", LESSON)
    (stored,) = [one for one in events(capfd.readouterr().err) if one["event"] == "lesson_stored"]
    assert (stored["tool"], stored["project"]) == ("store_lesson", settings.project)
    assert stored["session"].startswith("ses_")
    assert stored["request"] is not None


@pytest.mark.sqlite
@pytest.mark.parametrize(("level", "style"), [("error", "json"), ("warning", "text")])
async def test_a_damaged_record_is_logged_as_the_settings_say(
    settings: Settings, level: str, style: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with Engine(replace(settings, log_level=level, log_format=style)) as engine:
        await engine.store_lesson(**LESSON)
        with closing(sqlite3.connect(engine.bank.path)) as other, other:
            other.execute("PRAGMA ignore_check_constraints = ON")
            other.execute("UPDATE lessons SET tags = '[broken'")
        assert await engine.bank.lessons.latest(engine.scopes.own) == []
    said = capsys.readouterr().err
    assert ("event='bank_record_damaged'" in said) == (style == "text")


@pytest.mark.parametrize(("level", "written"), [("warning", True), ("error", False)])
def test_a_rejected_decision_is_logged_as_the_settings_say(
    settings: Settings, level: str, written: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    own = replace(settings, log_level=level)
    assert reflection_node({"decision": {"action": "fly"}}, make_engine=lambda: Engine(own))["error"]
    assert ("decision_rejected" in capsys.readouterr().err) == written
