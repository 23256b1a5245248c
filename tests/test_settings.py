"""Settings, and the log."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from mcp_reflect.config import PREFIX, Settings, documented, readable
from mcp_reflect.errors import InputError
from mcp_reflect.evidence.command_kinds import kinds_of
from mcp_reflect.evidence.kinds import ProofKind
from mcp_reflect.log import Log
from mcp_reflect.nodes import reflection_node
from mcp_reflect.server.app import build
from mcp_reflect.services.engine import Engine

ROOT = Path(__file__).parent.parent

SETTINGS: list[tuple[str, Any, str, Any]] = [
    ("ENABLED", True, "false", False),
    ("MODE", "full", "lite", "lite"),
    ("QUALITY_THRESHOLD", 0.5, "0.8", 0.8),
    ("RISK_THRESHOLD", 0.7, "0.9", 0.9),
    ("DRIFT_THRESHOLD", 0.4, "0", 0.0),
    ("MAX_REFLECTIONS_PER_STEP", 2, "0", 0),
    ("PERIODIC_INTERVAL", 5, "12", 12),
    ("CRITIQUE", "auto", "ALWAYS", "always"),
    ("MAX_RETRIES", 2, "3", 3),
    ("MAX_ITERATIONS", 2, "3", 3),
    ("BANK", None, "/x/bank.db", Path("/x/bank.db")),
    ("BANK_SIZE", None, "100", 100),
    ("HOLDOUT", 0.0, "0.2", 0.2),
    ("PROJECT", None, "app", "app"),
    ("PROJECTS", (), "a, b", ("a", "b")),
    ("LLM", "off", "openai:qwen3", "openai:qwen3"),
    *(
        (f"LLM_{role}", "", "off", "off")
        for role in ("REFLECTOR", "CRITIC", "CORRECTOR", "PLANNER", "EVALUATOR", "DREAMER")
    ),
    ("LLM_KEY_FILE", "", "/x/keys", "/x/keys"),
    ("LLM_TOKENS_PER_CALL", "", "5000", "5000"),
    ("LLM_TOKENS_PER_DAY", "", "5000", "5000"),
    ("PROMPTS_DIR", None, "/x/prompts", Path("/x/prompts")),
    ("LOG_LEVEL", "warning", "debug", "debug"),
    ("LOG_FORMAT", "json", "text", "text"),
]


@pytest.mark.parametrize(
    ("name", "default", "text", "value"), SETTINGS, ids=[each[0] for each in SETTINGS]
)
def test_a_setting_has_its_default_and_is_read_from_its_variable(
    name: str, default: Any, text: str, value: Any
) -> None:
    assert getattr(Settings.from_env({}), name.lower()) == default
    read = Settings.from_env({f"{PREFIX}{name}": text})
    assert getattr(read, name.lower()) == value
    assert read.unknown == ()


def test_a_setting_that_fades_still_works_says_so_and_is_in_no_list() -> None:
    read = Settings.from_env({f"{PREFIX}RISK_THRESHOLD": "0.9"})
    assert read.risk_threshold == 0.9
    (told,) = read.fading()
    assert told.startswith(f"{PREFIX}RISK_THRESHOLD works in this version for the last time")
    assert told.endswith("the next one uses 0.7.")
    assert Settings.from_env({}).fading() == []
    assert "risk_threshold" not in {item.name for item in documented()}


def test_a_provider_of_another_package_gets_the_variables_that_begin_with_its_name() -> None:
    read = Settings.from_env(
        {"MCP_REFLECT_LLM": "acme-ai:large", "ACME_AI_API_KEY": "k", "OTHER_API_KEY": "o"}
    )
    assert read.llm_settings["ACME_AI_API_KEY"] == "k"
    assert "OTHER_API_KEY" not in read.llm_settings


def test_every_setting_is_in_the_page() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    names = {item.name.upper() for item in documented()}
    assert {name for name, *_ in SETTINGS} <= {item.name.upper() for item in readable()}
    assert {name for name in names if f"`{PREFIX}{name}`" not in page} == set()


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("ENABLED", "perhaps", "'perhaps' is not one of its values. Set one of true, false"),
        ("MODE", "turbo", "'turbo' is not one of its values. Set one of lite, full."),
        ("QUALITY_THRESHOLD", "1.01", "'1.01' is not a number from 0 to 1"),
        ("RISK_THRESHOLD", "7", "'7' is not a number from 0 to 1"),
        ("DRIFT_THRESHOLD", "-0.1", "'-0.1' is not a number from 0 to 1"),
        ("QUALITY_THRESHOLD", "nan", "'nan' is not a number from 0 to 1"),
        ("MAX_REFLECTIONS_PER_STEP", "two", "'two' is not a number"),
        ("HOLDOUT", "1.5", "'1.5' is not a number from 0 to 1"),
        ("BANK_SIZE", "many", "'many' is not a number"),
        ("PERIODIC_INTERVAL", "2.5", "'2.5' is not a number"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_its_variable(
    name: str, text: str, fault: str
) -> None:
    with pytest.raises(InputError) as caught:
        Settings.from_env({f"{PREFIX}{name}": text})
    assert str(caught.value).startswith(f"{PREFIX}{name}: {fault}")


LESSON = {
    "mistake": "Deployed without the migration",
    "correction": "Run the migration, then deploy",
}


def events(captured: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in captured.splitlines()]


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_events_below_the_level_are_not_written(
    level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Log(level)
    for write in (log.debug, log.info, log.warning, log.error):
        write("something", count=1)
    written = [event["level"] for event in events(capsys.readouterr().err)]
    assert written == ["debug", "info", "warning", "error"][-len(written) :]
    assert written[0] == level


async def test_an_event_of_a_tool_names_the_call(
    settings: Settings, capfd: pytest.CaptureFixture[str]
) -> None:
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
    assert reflection_node({"decision": {"action": "fly"}}, make_engine=lambda: Engine(own))[
        "error"
    ]
    assert ("decision_rejected" in capsys.readouterr().err) == written


@pytest.mark.parametrize("entry", ["any: bin/verify", "lints: bin/lint", ": make"])
def test_a_program_of_no_kind_of_proof_is_refused_by_the_settings_name(entry: str) -> None:
    with pytest.raises(InputError, match=r"^MCP_REFLECT_PROOFS: .*one of tests, build"):
        Settings.from_env({"MCP_REFLECT_PROOFS": f"tests: bin/test, {entry}"})


def test_each_kind_of_proof_but_any_can_be_set() -> None:
    kinds = [kind for kind in ProofKind if kind is not ProofKind.ANY]
    entries = tuple(f"{kind}: zzz" for kind in kinds)
    assert Settings.from_env({"MCP_REFLECT_PROOFS": ", ".join(entries)}).proofs == entries
    assert kinds_of(["zzz"], entries) == frozenset(kinds)


def test_a_program_that_python_sets_for_any_proof_is_left_out() -> None:
    assert kinds_of(["zzz"], ("any: zzz",)) == kinds_of(["zzz"])
