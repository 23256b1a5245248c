"""Each command: a table for people, JSON for programs, errors on stderr with an exit code."""

import asyncio
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect import __version__
from mcp_reflect.cli import main
from mcp_reflect.cli.commands import COMMANDS, CliParser
from mcp_reflect.cli.recall import add_recall_arguments
from mcp_reflect.config import Settings
from mcp_reflect.models.access import AccessRole
from mcp_reflect.models.lesson_words import short_id
from mcp_reflect.models.recall import RecallQuery
from mcp_reflect.services.engine import Engine
from tests.cli.commands import Command
from tests.held_clock import HeldClock

ROOT = Path(__file__).parent.parent.parent
RUN: dict[str, Any] = {
    "task": "Read the settings",
    "outcome": "failure",
    "events": [
        {"type": "tool_call", "tool": "read_file", "arguments": {"path": "setings.toml"}},
        {"type": "tool_response", "tool": "read_file", "error": "No such file: setings.toml"},
    ],
}
LINES = [
    {
        "mistake": "Deployed on a Friday",
        "correction": "Deploy on a Tuesday",
        "external_id": "T-1",
        "tags": ["deploy"],
    },
    {
        "mistake": "Forgot the changelog",
        "correction": "Write it with the change",
        "importance": 0.9,
    },
]


@pytest.fixture
def stored(command: Command) -> list[str]:
    """The ids of LINES, imported."""
    said = command("import", command.file("lessons.jsonl", LINES), "--json")
    return [json.loads(line)["lesson_id"] for line in said.splitlines()]


def test_recall_prints_hits_with_their_reason(command: Command, stored: list[str]) -> None:
    text = command("recall", "deploy on a friday")
    assert text.startswith(
        f"1. Deployed on a Friday. Deploy on a Tuesday\n   lesson {stored[0]} · observed · fits well: shares "
    )
    found = command.json("recall", "deploy on a friday", "--limit", "1", "--tag", "deploy")
    assert [(hit["id"], hit["external_id"]) for hit in found["lessons"]] == [(stored[0], "T-1")]
    assert "Nothing on this in project app." in command("recall", "bake a cake")


def test_recall_has_the_defaults_of_the_tool() -> None:
    parser, defaults = CliParser(), RecallQuery(task="x")
    add_recall_arguments(parser)
    given = vars(parser.parse_args(["x"]))
    for name in ("limit", "max_chars", "min_importance", "min_effectiveness"):
        assert given[name] == getattr(defaults, name)


def test_reflect_reads_a_run_or_a_line_for_each(command: Command) -> None:
    text = command("reflect", command.file("run.json", [RUN]))
    assert "setings.toml" in text
    assert "by rules, not_found_error." in text
    # A line separator inside a text is no end of a line.
    lines = [
        {**RUN, "task": "One"},
        json.dumps({**RUN, "task": "Two\u2028lines"}, ensure_ascii=False),
    ]
    many = command("reflect", command.file("runs.jsonl", lines), "--json")
    assert [json.loads(line)["error_category"] for line in many.splitlines()] == [
        "not_found_error"
    ] * 2
    assert command.json("stats")["total_reflections"] == 3


def test_reflect_names_the_line_that_is_wrong(command: Command) -> None:
    assert "line 2: it is not JSON" in command(
        "reflect", command.file("b.jsonl", [RUN, "{"]), code=2
    )
    assert "none.json cannot be read: No such file" in command("reflect", "none.json", code=2)


def test_lessons_are_listed_shown_edited_forgotten_and_restored(
    command: Command, stored: list[str]
) -> None:
    head, *rows = command("lessons", "list").splitlines()
    assert head.split() == ["id", "lesson", "shown", "state"]
    assert [row.split()[0] for row in rows] == [short_id(one) for one in stored[::-1]]
    page = command("lessons", "show", stored[0])
    assert "mistake\n  Deployed on a Friday\n" in page
    assert re.search(r"first on \d{4}-\d\d-\d\d, changed on ", page)
    command(
        "lessons", "edit", stored[0], "--correction", "Deploy on a Monday", "--importance", "0.7"
    )
    shown = command.json("lessons", "show", stored[0])
    assert (shown["text"], shown["importance"]) == ("Deployed on a Friday. Deploy on a Monday", 0.7)
    assert [version["correction"] for version in shown["versions"]] == ["Deploy on a Tuesday"]
    assert "retired" in command("lessons", "forget", stored[0], "--reason", "wrong")
    assert [one["id"] for one in command.json("lessons", "list")] == [stored[1]]
    assert {one["id"]: one["state"] for one in command.json("lessons", "list", "--state", "all")}[
        stored[0]
    ] == "retired"
    assert command.json("lessons", "restore", stored[0]) == {
        "id": stored[0],
        "state": "active",
        "trust": "observed",
    }
    assert len(command.json("lessons", "list")) == 2


def test_erase_leaves_no_byte_and_asks_first(
    command: Command, stored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (command.folder / "lessons.jsonl").unlink()
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert "erasing cannot be undone" in command("lessons", "erase", stored[0], code=2)
    command("lessons", "edit", stored[0], "--mistake", "Deployed on a Saturday")
    assert command.json("lessons", "erase", stored[0], "--yes") == {
        "id": stored[0],
        "state": "erased",
    }
    assert "there is no" in command("lessons", "show", stored[0], code=2)
    content = b"".join(path.read_bytes().lower() for path in command.folder.iterdir())
    assert [word for word in (b"friday", b"saturday", b"tuesday") if word in content] == []


@pytest.mark.parametrize("action", ["show", "forget", "restore", "erase", "edit"])
def test_an_id_that_is_none_is_named(command: Command, action: str) -> None:
    more = {"erase": ("--yes",), "edit": ("--why", "x")}.get(action, ())
    assert "there is no 'les_none' in project app" in command(
        "lessons", action, "les_none", *more, code=2
    )


def test_an_export_imported_elsewhere_is_the_same_export(
    command: Command, stored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command("lessons", "forget", stored[1])
    first = [json.loads(line) for line in command("export").splitlines()]
    assert (
        command("export", str(command.folder / "out.jsonl"))
        == f"2 lessons in {command.folder / 'out.jsonl'}.\n"
    )
    assert (command.folder / "out.jsonl").stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("MCP_REFLECT_BANK", str(command.folder / "other.db"))
    assert command("import", str(command.folder / "out.jsonl")) == "2 lessons: 2 stored.\n"
    second = [json.loads(line) for line in command("export").splitlines()]
    for line in (*first, *second):
        for name in ("id", "created_at", "updated_at", "source", "versions"):
            line.pop(name, None)
    assert second == first
    assert [line["state"] for line in second] == ["active", "retired"]


def test_a_persons_own_export_comes_back_with_ids_dates_trust_history_and_outcomes(
    command: Command, stored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = command.json(
        "lessons", "add", "--mistake", "Fed the quokka", "--correction", "Feed it at noon"
    )
    command("lessons", "edit", stored[0], "--correction", "Deploy on a Monday")
    command("lessons", "forget", stored[1])

    async def tell() -> None:
        async with Engine(Settings(bank=command.folder / "bank.db", project="app")) as engine:
            await engine.record_lesson_outcome(stored[0], "partial", note="it went well")

    asyncio.run(tell())
    first = command.by_person("export")
    command.by_person("export", str(command.folder / "own.jsonl"))
    monkeypatch.setenv("MCP_REFLECT_BANK", str(command.folder / "other.db"))
    assert (
        command.by_person("import", str(command.folder / "own.jsonl"), "--own")
        == "3 lessons: 3 restored.\n"
    )
    assert command.by_person("export") == first
    lesson = command.json("lessons", "show", stored[0])
    assert [version["correction"] for version in lesson["versions"]] == ["Deploy on a Tuesday"]
    assert "it went well" in command("lessons", "history", stored[0])
    assert command.json("lessons", "show", written["lesson_id"])["trust"] == "trusted"
    assert written["lesson_id"] in command("recall", "feed the quokka")
    assert (
        command.by_person("import", str(command.folder / "own.jsonl"), "--own")
        == "3 lessons: 3 duplicate.\n"
    )


def test_an_import_of_others_takes_no_trust_from_the_file(
    command: Command, stored: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stored
    command("lessons", "add", "--mistake", "Fed the quokka", "--correction", "Feed it at noon")
    command("export", str(command.folder / "theirs.jsonl"))
    monkeypatch.setenv("MCP_REFLECT_BANK", str(command.folder / "other.db"))
    command("import", str(command.folder / "theirs.jsonl"))
    assert {lesson["trust"] for lesson in command.json("lessons", "list")} == {"observed"}
    bad = command.file("bad.jsonl", [{"mistake": "a", "correction": "b"}])
    assert "line 1, id: it is missing" in command.by_person("import", bad, "--own", code=2)


def test_import_leaves_out_what_is_there_word_for_word_and_counts_it(
    command: Command, stored: list[str]
) -> None:
    assert command("import", str(command.folder / "lessons.jsonl")) == "2 lessons: 2 duplicate.\n"
    assert len(command.json("lessons", "list")) == len(stored)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ('{"mistake": "x"}', "line 3, mistake: it has no content"),
        (
            '{"mistake": "Lost the key", "trust": "quarantine"}',
            "line 3, trust: 'quarantine' is not one of its values",
        ),
        (
            '{"mistake": "Lost the key", "state": "retird"}',
            "line 3, state: 'retird' is not one of its values",
        ),
        ("[1]", "line 3: it is not a JSON object"),
        ("{", "line 3: it is not a JSON object"),
        (
            '{"mistake": "Lost the key", "correction": "Keep the key at home", "importance": NaN}',
            "line 3, importance: nan is not a number",
        ),
        ("[" * 10_000, "line 3: it is not a JSON object"),
    ],
)
def test_a_bad_line_is_refused_by_its_number_and_nothing_is_stored(
    command: Command, bad: str, said: str
) -> None:
    assert said in command(
        "import", command.file("bad.jsonl", [LINES[0], "", bad, LINES[1]]), code=2
    )
    assert command.json("lessons", "list") == []


def test_an_import_takes_a_mistake_of_one_short_word(command: Command) -> None:
    lines = [{"mistake": "scrap", "correction": "-"}, {"mistake": "no", "correction": "-"}]
    assert command("import", command.file("short.jsonl", lines)) == "2 lessons: 2 stored.\n"


def test_stats_and_doctor_tell_people_and_programs(command: Command, stored: list[str]) -> None:
    assert re.search(rf"lessons stored +{len(stored)}\n", command("stats"))
    assert " 0\n" not in command("stats")
    assert command.json("stats")["lessons_stored"] == 2
    report = command.json("doctor")
    assert (report["bank_works"], report["mode"], report["degraded"]) == (True, "0o600", [])
    assert command("doctor").startswith("everything works\n")


def test_reports_are_aligned_and_in_words(command: Command, stored: list[str]) -> None:
    for report in ("stats", "doctor"):
        said = command(report)
        assert re.findall(r"[{\[]|\bNone\b|\bTrue\b|\bFalse\b", said) == []
        starts = [
            re.search(r"(?<=  )\S", line) for line in said.splitlines() if "  " in line
        ]  # sentences stand first
        assert len({start and start.start() for start in starts}) == 1
    page = command("lessons", "show", stored[0])
    assert "source         import\n" in page
    assert "effectiveness  not known yet; shown never\n" in page


def test_doctor_says_what_is_wrong_with_a_bank(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    bank, damage = command.folder / "bank.db", b"\0" * 4096 + b"the rest of it"
    bank.write_text("a letter to my aunt")
    assert main(["doctor"]) == 1
    assert "bank.db is not an SQLite database; it was left as it is" in capsys.readouterr().out
    assert bank.read_text() == "a letter to my aunt"
    bank.write_bytes(damage)
    assert main(["doctor"]) == 1
    assert "does not begin like an SQLite database. It was set aside as" in capsys.readouterr().out
    (aside,) = command.folder.glob("bank.db.damaged-*")
    assert aside.read_bytes() == damage
    assert main(["doctor"]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("problem: ")
    assert "was set aside because it is damaged" in first


@pytest.mark.parametrize("name", ["lessons", "projects", "tokens", "prompts"])
def test_options_stand_before_or_after_the_action_and_list_is_the_usual_one(
    command: Command, name: str
) -> None:
    listed = command.json(name, "list")
    assert (
        json.loads(command(name, "--json", "list")) == json.loads(command(name, "--json")) == listed
    )
    if name == "lessons":
        assert "does not answer" in command(
            name, "--url", "http://127.0.0.1:1/mcp", "show", "x", code=1
        )


def test_words_that_make_no_command_are_refused(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "there is no command 'recal'. Did you mean 'recall'?" in command("recal", code=2)
    assert "--limit: '0' is not a whole number from 1 to 50" in command(
        "recall", "x", "--limit", "0", code=2
    )
    for words, said in (
        (["lessons", "burn"], "invalid choice: 'burn'"),
        (["serve", "now"], "unrecognized arguments"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main(words)
        assert said in capsys.readouterr().err


def test_the_module_is_the_command(command: Command) -> None:
    assert command("--version") == f"mcp-reflect {__version__}\n"
    for words in (["--version"], ["--help"], ["stats"]):
        done = subprocess.run(
            [sys.executable, "-m", "mcp_reflect", *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == command(*words)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_each_command_teaches_by_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    said = capsys.readouterr().out
    assert f"mcp-reflect {command} {COMMANDS[command].examples[0]}" in said


@pytest.mark.parametrize(
    ("name", "tenant", "project", "field"),
    [
        (" ", "acme", "shop", "name:"),
        ("a\u202eb", "acme", "shop", "name:"),
        ("ada", "", "shop", "--tenant:"),
        ("ada", "acme", "shop, ", "--projects:"),
    ],
)
def test_a_name_that_nobody_can_see_is_refused(
    command: Command, name: str, tenant: str, project: str, field: str
) -> None:
    error = command(
        "tokens", "add", name, "--tenant", tenant, "--projects", project, "--role", "reader", code=2
    )
    assert f"{field} it is empty, or has invisible characters" in error
    assert command.json("tokens", "list") == []


def test_the_list_says_which_tokens_work_and_until_when(command: Command) -> None:
    async def add_all() -> None:
        """Three tokens that were made in 2020, one of them for a day, and one for three hundred years."""
        async with Engine(Settings.from_env(), clock=HeldClock(1_600_000_000.0)) as engine:
            for name, days in (("ada", None), ("bob", 1.0), ("eve", None), ("joe", 109_500.0)):
                await engine.bank.tokens.add(
                    name, tenant="acme", projects=["shop"], role=AccessRole.READER, days=days
                )
            await engine.bank.tokens.revoke("eve")

    asyncio.run(add_all())
    assert [line.split("\t")[-1] for line in command("tokens", "list").splitlines()[1:]] == [
        "works",
        "expired 2020-09-14T12:26:40+00:00",
        "revoked 2020-09-13T12:26:40+00:00",
        "works until 2320-07-03T12:26:40+00:00",
    ]
