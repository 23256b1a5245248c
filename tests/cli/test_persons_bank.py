"""What a person keeps stays where it is, whatever command an agent or a script runs on the whole bank."""

import json
from pathlib import Path

import pytest

from mcp_reflect.cli import main
from mcp_reflect.errors import BankError
from mcp_reflect.storage.sqlite import backup
from tests.cli.commands import Command

WORDS = ("--mistake", "Pushed to main", "--correction", "Open a pull request first")


def kept_lesson(command: Command) -> str:
    """The id of a lesson that a person wrote at a terminal."""
    command.by_person("lessons", "add", *WORDS)
    (lesson,) = command.json("lessons", "list")
    return lesson["id"]


def of_agent(command: Command) -> None:
    """A bank with a lesson that only a script stored."""
    assert main(["lessons", "add", *WORDS]) == 0
    command.capsys.readouterr()


def a_copy(command: Command) -> str:
    copy = str(command.folder / "copy.db")
    command("backup", copy)
    return copy


def test_a_script_replaces_no_bank_that_holds_a_persons_lesson(command: Command) -> None:
    of_agent(command)
    copy = a_copy(command)
    lesson_id = kept_lesson(command)
    assert "only a person may" in command("restore", copy, "--yes", code=2)
    assert [one["id"] for one in command.json("lessons", "list")] == [lesson_id]
    command.by_person("restore", copy, "--yes")
    assert not [one for one in command.json("lessons", "list") if one["trust"] == "trusted"]


@pytest.mark.parametrize("option", ["--latest", "copy.db"])
def test_a_pinned_or_enforced_lesson_counts_as_well(command: Command, option: str) -> None:
    of_agent(command)
    a_copy(command)
    (lesson,) = command.json("lessons", "list")
    command.by_person("lessons", "pin", lesson["id"])
    file = option if option == "--latest" else str(command.folder / option)
    assert "only a person may" in command("restore", file, "--yes", code=2)


def test_a_script_restores_where_no_bank_is_or_none_with_a_persons_lesson(
    command: Command, tmp_path: Path
) -> None:
    kept_lesson(command)
    copy = a_copy(command)
    (tmp_path / "bank.db").rename(tmp_path / "bank.db.0.3")
    command("restore", copy, "--yes")
    assert [one["trust"] for one in command.json("lessons", "list")] == ["trusted"]
    (tmp_path / "bank.db").rename(tmp_path / "bank.db.0.4")
    of_agent(command)
    command("restore", copy, "--yes")


@pytest.mark.parametrize("mark", ["", "CLAUDECODE"])
@pytest.mark.parametrize("action", ["rename", "merge"])
def test_an_agent_moves_no_lesson_of_a_person_to_another_project(
    command: Command, monkeypatch: pytest.MonkeyPatch, action: str, mark: str
) -> None:
    lesson_id = kept_lesson(command)
    if action == "merge":
        assert main(["lessons", "add", *WORDS, "--project", "theirs"]) == 0
        command.capsys.readouterr()
    with monkeypatch.context() as patch:
        patch.setenv(mark or "UNMARKED", "1")
        said = command("projects", action, "app", "theirs", code=2)
        assert "only a person may" in said
        if action == "merge":  # the other's folders would see the lessons of this one
            assert "only a person may" in command("projects", action, "theirs", "app", code=2)
    listed = json.loads(command.by_person("projects", "--json"))
    assert not [name for one in listed for name in one["other_names"]]
    assert [one["id"] for one in command.json("lessons", "list")] == [lesson_id]
    command.by_person("projects", action, "app", "theirs")


def test_who_adds_a_lesson_is_told_whether_it_is_trusted(command: Command) -> None:
    words = ("lessons", "add", "--correction", "Run make setup first")
    by_person, by_script = (
        command.by_person(*words),
        command(*words[:-1], "Rotate the keys monthly"),
    )
    assert ": stored, trusted. " in by_person
    assert "it is not trusted" not in by_person
    assert ": stored. " in by_script
    assert "it is not trusted. A person vouches for it" in by_script


def test_an_agent_may_rename_a_project_that_only_agents_wrote(command: Command) -> None:
    of_agent(command)
    command("projects", "rename", "app", "other")


@pytest.mark.parametrize("words", [("tokens", "revoke", "ada"), ("export", "--here")])
def test_an_agent_revokes_no_token_and_writes_no_shared_file(
    command: Command, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "only a person may" in command(*words, code=2)


def add_token(command: Command, name: str, role: str, code: int = 0) -> str:
    place = ("--tenant", "acme", "--projects", "shop")
    return command("tokens", "add", name, *place, "--role", role, code=code)


def test_a_script_makes_the_first_token_and_neither_another_nor_an_admins(command: Command) -> None:
    assert "only a person may make a token" in add_token(command, "ada", "admin", code=2)
    assert "mcpr_" in add_token(command, "ci", "writer")
    assert "only a person may make a token" in add_token(command, "bob", "reader", code=2)
    command.by_person(
        "tokens", "add", "ada", "--tenant", "acme", "--projects", "shop", "--role", "admin"
    )
    assert [token["name"] for token in command.json("tokens", "list")] == ["ci", "ada"]


def test_what_a_person_keeps_while_a_script_restores_stays(command: Command) -> None:
    of_agent(command)
    copy = Path(a_copy(command))
    lesson_id = kept_lesson(command)
    bank = command.folder / "bank.db"
    with pytest.raises(BankError, match="A person just kept a lesson"):
        backup.restore(bank, copy, 0.0, 1.0, by_person=False)
    assert [one["id"] for one in command.json("lessons", "list")] == [lesson_id]
    assert not list(bank.parent.glob("*.before-restore-*"))
