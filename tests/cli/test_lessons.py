"""`mcp-reflect lessons` at a real terminal, and the same rows for a program."""

import json
import os
import unicodedata
from pathlib import Path

import pytest

from mcp_reflect.cli import main
from mcp_reflect.models.lesson_words import short_id
from tests.cli.commands import Command
from tests.cli.typed import Person

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no pty")

LINES = [
    {
        "mistake": "Pushed to main",
        "correction": "Open a pull request",
        "task_type": "git",
        "tags": ["git"],
    },
    {
        "mistake": "Deployed on a Friday",
        "correction": "Deploy on a Tuesday",
        "task_type": "deploy",
        "importance": 0.6,
    },
    {
        "mistake": "部署在星期五失败了因为没有人值班" * 6,
        "correction": "在星期二部署\x1b[2J",
        "task_type": "deploy",
    },
]


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    given = {"MCP_REFLECT_BANK": str(tmp_path / "bank.db"), "MCP_REFLECT_PROJECT": "app"}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return given


@pytest.fixture
def ids(env: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert env["MCP_REFLECT_BANK"].startswith(str(tmp_path))
    path = tmp_path / "lessons.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    assert main(["import", str(path), "--json"]) == 0
    return [json.loads(line)["lesson_id"] for line in capsys.readouterr().out.splitlines()]


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """What a person is told."""
    return Command(capsys, Path()).by_person("lessons", *words, code=code)


def piped(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a script is told."""
    assert main(["lessons", *words]) == 0
    return capsys.readouterr().out


def at_a_terminal(env: dict[str, str], *words: str) -> str:
    person = Person(["lessons", *words], env, columns=72)
    assert person.leaves() == 0
    return person.screen


def test_a_lesson_is_shown_retired_and_restored_at_a_terminal(
    env: dict[str, str], ids: list[str]
) -> None:
    listed = at_a_terminal(env)
    assert "\x1b[1m" in listed
    assert "\x1b[2J" not in listed  # control characters of a lesson never reach the terminal
    assert "\x1b" not in at_a_terminal({**env, "NO_COLOR": "1"})
    matches = at_a_terminal(env, "search", "friday", "deployed")
    assert f"{ids[1][-6:]}  Deployed on a Friday" in matches
    assert "Pushed to main" not in matches
    page = at_a_terminal(env, "show", ids[1][-6:])
    assert "Deploy on a Tuesday" in page
    assert "not known yet" in page
    assert "retired" in at_a_terminal(env, "forget", ids[1])
    assert "forgotten: a person said so" in at_a_terminal(env, "history", ids[1])
    assert "active again" in at_a_terminal(env, "restore", ids[1])


def test_a_row_never_is_wider_than_the_terminal(env: dict[str, str], ids: list[str]) -> None:
    assert len(ids) == len(LINES)
    (wide,) = [line for line in at_a_terminal(env).splitlines() if "部署" in line]
    assert "…" in wide
    assert (
        sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in wide.rstrip()) <= 72
    )


def test_a_merge_says_how_it_is_undone(ids: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    merged = said(capsys, "merge", ids[0], ids[1])
    assert f"{ids[1]} merged into {ids[0]}" in merged
    dream = merged.split("lessons undo ")[1].split("`")[0]
    assert "2 records put back" in said(capsys, "undo", dream)
    assert "cannot be merged with itself" in said(capsys, "merge", ids[0], ids[0], code=2)


def test_a_lesson_is_edited_in_an_editor_and_a_fault_leaves_the_text_in_its_file(
    env: dict[str, str], ids: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    editor = tmp_path / "editor"
    given = {**env, "EDITOR": str(editor), "TMPDIR": str(tmp_path)}
    editor.write_text("#!/bin/sh\nsed -i -e s/Friday/Saturday/ -e s/0.6/0.7/ $1\n")
    editor.chmod(0o755)
    person = Person(["lessons", "edit", ids[1]], given)
    assert person.leaves() == 0
    assert "changed; the wording before is in its history" in person.screen
    after = json.loads(said(capsys, "show", ids[1], "--json"))
    assert (after["mistake"], after["importance"]) == ("Deployed on a Saturday", 0.7)
    assert not list(tmp_path.glob("lesson-*"))
    editor.write_text("#!/bin/sh\nsed -i 's/^tags = .*/tags = \"deploy\"/' $1\n")
    assert Person(["lessons", "edit", ids[1]], given).leaves() == 0
    assert json.loads(said(capsys, "show", ids[1], "--json"))["tags"] == ["deploy"]
    for change, fault in (
        ("0.7/700.0", "importance: "),
        ("^tags.*/tags=3", "'tags' is no list of texts"),
        ("why/blame", "a lesson has no field 'blame'"),
    ):
        editor.write_text(f"#!/bin/sh\nsed -i 's/{change}/' $1\n")
        person = Person(["lessons", "edit", ids[1]], given)
        assert person.leaves() == 2
        assert fault in person.screen
        (left,) = tmp_path.glob("lesson-*")
        assert left.name in person.screen
        left.unlink()
    editor.write_text("#!/bin/sh\n: > $1\n")
    assert "as it was" in at_a_terminal(given, "edit", ids[1])


def test_piped_rows_are_whole_cells_parted_by_tabs(
    ids: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    lines = piped(capsys, "list", "--task-type", "deploy").splitlines()
    assert lines[0].split("\t") == ["id", "lesson", "shown", "state"]
    assert [line.split("\t")[0] for line in lines[1:]] == [short_id(ids[2]), short_id(ids[1])]
    assert str(LINES[2]["mistake"]) in lines[1]
    assert "\x1b" not in "".join(lines)


def test_each_filter_narrows_and_what_cannot_be_is_named(
    ids: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    def found(*words: str) -> list[str]:
        return [one["id"] for one in json.loads(said(capsys, *words, "--json"))]

    assert found("search", "PUSHED", "pull") == [ids[0]]
    assert found("list", "--tag", "git") == [ids[0]]
    assert found("list", "--state", "quarantined") == []
    assert found("list", "--kind", "strategy") == []
    said(capsys, "forget", ids[0])
    assert found("list", "--state", "retired") == [ids[0]]
    for number in ("0", "x"):
        assert f"'{number}' is not a whole number from 1 to" in said(
            capsys, "list", "--limit", number, code=2
        )
    assert found("list", "--project", "other") == []


def test_a_history_tells_wordings_outcomes_and_recalls(
    ids: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "edit", ids[0], "--correction", "Open a pull request first")
    assert main(["recall", "push to main with git"]) == 0
    told = said(capsys, "history", ids[0])
    assert "edited: Pushed to main. Open a pull request" in told
    assert "push to main with git" in told
    assert "nothing yet" in told.split("outcomes")[1].split("recalls that showed it")[0]


def test_only_lessons_in_use_and_alike_are_merged(
    ids: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    dream = json.loads(said(capsys, "merge", ids[0], ids[1], ids[2], "--json"))["dream_id"]
    assert [one["id"] for one in json.loads(said(capsys, "list", "--json"))] == [ids[0]]
    assert "is not in use" in said(capsys, "merge", ids[0], ids[1], code=2)
    said(capsys, "undo", dream)
    assert len(json.loads(said(capsys, "list", "--json"))) == 3


@pytest.mark.usefixtures("env")
def test_a_guard_is_made_shown_changed_and_enforced(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--mistake", "Ran `tsc` alone", "--correction", "`npx tsc --noEmit`")
    calls = ("--wrong-call", "tsc -p .", "--right-call", "npx tsc --noEmit")
    added = said(capsys, "add", *words, *calls)
    name = added.partition(":")[0]

    assert "Guard: holds at `tsc` without `--noEmit`" in added
    assert "(holds)" in said(capsys, "show", name)
    assert "each call against it is refused" in said(capsys, "enforce", name)
    assert "(holds, every time)" in said(capsys, "show", name)
    assert "the agent is told" in said(capsys, "guard", name, "tell")
    assert "(tells)" in said(capsys, "show", name)
    assert "does nothing" in said(capsys, "guard", name, "off")
    assert "(off)" in said(capsys, "show", name)
    assert "does not meet" in said(capsys, "edit", name, "--guard", "Bash: `eslint`", code=2)
    said(capsys, "edit", name, "--guard", "Bash: `tsc` with `-p`")
    assert "Bash: `tsc` with `-p`" in said(capsys, "show", name)


@pytest.mark.usefixtures("env")
def test_a_lesson_without_a_guard_says_how_it_gets_one(capsys: pytest.CaptureFixture[str]) -> None:
    added = said(capsys, "add", "Run make setup before make test")
    name = added.partition(":")[0]

    assert "Guard: none; add --wrong-call and --right-call to stop the call." in added
    assert "Write it like: Bash: `git push` with" in said(
        capsys, "edit", name, "--guard", "nonsense", code=2
    )


def test_forget_takes_several_ids_and_retires_none_where_one_is_unknown(
    ids: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "les_unknown" in said(capsys, "forget", ids[0], "les_unknown", code=2)
    assert "retired" not in said(capsys, "show", ids[0])
    assert said(capsys, "forget", ids[0], ids[1]).count("retired") == 2


def test_a_person_pins_a_lesson_and_an_agent_does_not(command: Command) -> None:
    name = json.loads(command("lessons", "add", "Run make setup before make test", "--json"))[
        "lesson_id"
    ]
    assert "only a person may" in command("lessons", "pin", name, code=2)
    assert "every session begins with it" in command.by_person("lessons", "pin", name[-6:])
    assert "pinned: every session begins with it" in command("lessons", "show", name)
    assert "no longer pinned" in command.by_person("lessons", "unpin", f"les_{name[-6:]}")
    assert "pinned" not in command("lessons", "show", name)
