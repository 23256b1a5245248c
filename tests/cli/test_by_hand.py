"""What a person does by hand: writes a lesson, names one by a few characters, approves what was shown, restores."""

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_reflect.cli.lesson_editor import format_document, parse_document
from tests.cli.commands import Command
from tests.cli.typed import Person

ADDED = (
    "lessons",
    "add",
    "--mistake",
    "Deployed on a Friday",
    "--correction",
    "Deploy on a Tuesday",
)
terminal = pytest.mark.skipif(os.name == "nt", reason="Windows has no pty")


def env(command: Command, **more: str) -> dict[str, str]:
    return {
        "MCP_REFLECT_BANK": str(command.folder / "bank.db"),
        "MCP_REFLECT_PROJECT": "app",
        **more,
    }


def test_a_lesson_written_by_a_person_is_trusted_and_recalled(command: Command) -> None:
    stored = command.json(*ADDED, "--tag", "deploy", "--why", "Nobody is there on a Saturday")
    lesson = command.json("lessons", "show", stored["lesson_id"])
    assert (lesson["source"], lesson["trust"], lesson["tags"]) == ("person", "trusted", ["deploy"])
    assert lesson["why"] == "Nobody is there on a Saturday"
    assert stored["lesson_id"] in command("recall", "deploy on a friday")


def test_a_lesson_has_the_visibility_and_importance_that_it_was_given(command: Command) -> None:
    here = command.json(*ADDED)["lesson_id"]
    everywhere = command.json(
        "lessons",
        "add",
        "--mistake",
        "Fed the quokka",
        "--correction",
        "Feed it at noon",
        "--global",
    )["lesson_id"]
    shown = [command.json("lessons", "show", lesson_id) for lesson_id in (here, everywhere)]
    assert [(lesson.get("project"), lesson["importance"]) for lesson in shown] == [
        ("app", 0.5),
        (None, 0.5),
    ]


TEXTS = st.text(min_size=1).map(str.strip)
ITEMS = st.lists(st.text(alphabet="a- #\\\n", min_size=1).map(str.strip).filter(bool))


@given(
    st.fixed_dictionaries({"mistake": TEXTS, "correction": TEXTS, "symptoms": ITEMS, "tags": ITEMS})
)
def test_a_document_holds_each_field_as_it_is(fields: dict[str, Any]) -> None:
    others = {"why": None, "context": "", "keywords": (), "task_type": "deploy", "importance": 0.5}
    read = parse_document(format_document({**others, **fields}))
    assert [read[name] or "" for name in ("mistake", "correction")] == [
        fields["mistake"],
        fields["correction"],
    ]
    assert [read[name] for name in ("symptoms", "tags")] == [
        tuple(fields["symptoms"]),
        tuple(fields["tags"]),
    ]
    assert (read["why"], read["task_type"], read["importance"]) == (None, "deploy", 0.5)


def test_a_board_of_a_file_that_is_no_bank_is_not_served(command: Command) -> None:
    (command.folder / "bank.db").unlink()
    with closing(sqlite3.connect(command.folder / "bank.db")) as other:
        other.execute("CREATE TABLE letters (text)")
    assert "is a database of another program" in command("board", "--no-open", code=1)


def test_a_lesson_without_content_names_the_field_and_stores_nothing(command: Command) -> None:
    assert "mistake: it has no content" in command.by_person(
        "lessons", "add", "--mistake", "x", code=2
    )
    assert command.json("lessons", "list") == []


@terminal
def test_a_person_who_gives_no_words_is_asked_for_them(command: Command) -> None:
    person = Person(["lessons", "add"], env(command))
    person.until("What went wrong")
    person.types("Fed the quokka", "What to do instead")
    person.types("Feed it at noon", "Why")
    person.types("", "stored")
    assert person.leaves() == 0, person.screen
    (lesson,) = command.json("lessons", "list")
    told = (lesson["mistake"], lesson["correction"], lesson["trust"])
    assert told == ("Fed the quokka", "Feed it at noon", "trusted")


@terminal
def test_without_an_editor_in_the_environment_vi_is_taken(command: Command) -> None:
    programs = command.folder / "bin"
    programs.mkdir()
    vi = programs / "vi"
    vi.write_text("#!/bin/sh\necho vi was here\n")
    vi.chmod(0o755)
    lesson_id = command.json(*ADDED)["lesson_id"]
    person = Person(
        ["lessons", "edit", lesson_id], env(command, EDITOR="", VISUAL="", PATH=str(programs))
    )
    assert person.leaves() == 0, person.screen
    assert "vi was here" in person.screen


def test_an_id_is_named_by_its_first_or_last_characters(command: Command) -> None:
    lesson_id = command.json(*ADDED)["lesson_id"]
    for part in (lesson_id[:-1], lesson_id[-6:]):
        assert command.json("lessons", "show", part)["id"] == lesson_id
    assert command.json("lessons", "forget", lesson_id[-6:])["id"] == lesson_id
    other = command.json("lessons", "add", "--mistake", "Lost the key", "--correction", "Keep it")[
        "lesson_id"
    ]
    said = command.by_person("lessons", "show", "les_", code=2)
    assert f"'les_' is the start or end of {lesson_id}, {other}. Give more characters." in said
    assert "there is no 'zz'" in command.by_person("lessons", "show", "zz", code=2)


def test_approve_shows_what_it_approves(command: Command) -> None:
    line = {"mistake": "Fed the wombat", "correction": "Feed it once", "trust": "quarantined"}
    command("import", command.file("lessons.jsonl", [line]))
    (waiting,) = command.json("lessons", "review")
    said = command.by_person("lessons", "approve", waiting["id"])
    assert said.index("Feed it once") < said.index("trusted, and recalled from now on")


def test_a_recall_by_hand_is_no_use_of_a_lesson(command: Command) -> None:
    lesson_id = command.json(*ADDED)["lesson_id"]
    assert lesson_id in command("recall", "deploy on a friday")
    assert command.json("lessons", "show", lesson_id)["times_applied"] == 0


def test_other_projects_of_the_bank_are_named(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(*ADDED)
    monkeypatch.setenv("MCP_REFLECT_PROJECT", "shop")
    assert "This bank has lessons of other projects: app (1)." in command(
        "recall", "deploy on a friday"
    )
    assert command.json("doctor")["projects_in_bank"] == {"app": 1}
    assert re.search(r"projects in bank +app \(1\)\n", command("doctor"))


@terminal
def test_an_empty_bank_says_what_to_do_next(command: Command) -> None:
    person = Person(["lessons"], env(command))
    assert person.leaves() == 0
    assert "No such lessons in project app." in person.screen
    assert "mcp-reflect lessons add" in person.screen


@terminal
def test_the_bare_command_in_a_terminal_explains_itself(command: Command) -> None:
    person = Person([], env(command))
    assert person.leaves() == 0
    assert "a host starts it" in person.screen
    assert "mcp-reflect demo" in person.screen
    assert "usage:" not in person.screen


@terminal
def test_restore_asks_and_a_no_changes_nothing(command: Command, tmp_path: Path) -> None:
    command(*ADDED)
    copy = tmp_path / "copy.db"
    command("backup", str(copy))
    command.by_person("lessons", "add", "--mistake", "Lost the key", "--correction", "Keep it")
    assert "only a person may replace a bank" in command("restore", str(copy), "--yes", code=2)
    person = Person(["restore", str(copy)], env(command))
    person.until("[y/N] ")
    person.types("n", "Nothing was restored.")
    assert person.leaves() == 1
    assert len(command.json("lessons", "list")) == 2
    assert "Restored" in command.at_terminal("restore", str(copy), "--yes")


@pytest.mark.long
def test_the_demo_recalls_its_lesson_from_a_new_server_and_raises_its_effectiveness(
    command: Command,
) -> None:
    shown = command("demo")
    stored = re.findall(r"Lesson (les_\w+) is stored", shown)
    assert "PYTHONPATH=src pytest tests/billing" in shown
    assert (
        float(re.findall(rf"Effectiveness of {stored[0]}: not known yet → (\S+)", shown)[0]) > 0.5
    )
