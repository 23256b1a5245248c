"""What becomes of a bank: backup, restore and doctor while a server runs, and its projects."""

import asyncio
import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.cli import main
from mcp_reflect.config import Settings
from mcp_reflect.services.engine import Engine
from mcp_reflect.storage.sqlite.backup import backup, copy_daily, restore
from mcp_reflect.storage.sqlite.files import newest
from tests.cli.commands import Command
from tests.server.servers import LESSON, server, told
from tests.sessions.past_home import claude_file

LATER: dict[str, Any] = {
    "mistake": "Read the wrong configuration",
    "correction": "Name the configuration",
}


@pytest.fixture
def bank(bank_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MCP_REFLECT_BANK", str(bank_path))
    monkeypatch.setenv("MCP_REFLECT_PROJECT", "app")
    return bank_path


def mistakes(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as looking:
        assert looking.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {row[0] for row in looking.execute("SELECT mistake FROM lessons")}


def test_a_copy_taken_and_put_back_under_a_running_server(bank: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with server(bank) as running:
        told(running, "store_lesson", LESSON)
        assert main(["backup", str(copy)]) == 0
        assert copy.stat().st_mode & 0o777 == 0o600
        told(running, "store_lesson", LATER)
        assert main(["restore", str(copy), "--yes"]) == 0
        assert not told(running, "recall_lessons", {"task": "read the configuration"}).get(
            "lessons"
        )
        assert told(running, "recall_lessons", {"task": "deploy on a Friday"})["lessons"]
        told(running, "store_lesson", {**LESSON, "mistake": "Stored after the restore"})
    (kept,) = bank.parent.glob("bank.db.before-restore-*")
    assert mistakes(kept) == {LESSON["mistake"], LATER["mistake"]}
    assert mistakes(bank) == {LESSON["mistake"], "Stored after the restore"}


def fill(bank: Path) -> None:
    async def store() -> None:
        async with Engine(Settings(bank=bank, project="app")) as engine:
            await engine.store_lesson(**LESSON)

    asyncio.run(store())


def test_a_damaged_bank_is_set_aside_by_a_restore(bank: Path, tmp_path: Path) -> None:
    fill(bank)
    assert main(["backup", str(tmp_path / "copy.db")]) == 0
    bank.write_bytes(b"\x00" * 8192)
    assert main(["restore", str(tmp_path / "copy.db"), "--yes"]) == 0
    (aside,) = bank.parent.glob("bank.db.damaged-*")
    assert aside.read_bytes() == b"\x00" * 8192
    assert mistakes(bank) == {LESSON["mistake"]}


def test_doctor_tells_of_damage_and_the_bank_begins_with_its_copy(
    bank: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(bank)
    copy = copy_daily(bank, 1_790_000_000.0, bool)
    assert copy
    bank.write_bytes(b"\x00" * 4096 + bank.read_bytes()[4096:])
    assert main(["doctor", "--json"]) == 1
    assert (
        f"The next call uses the copy {copy.name}"
        in json.loads(capsys.readouterr().out)["degraded"][-1]
    )
    assert main(["doctor", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["sound"]
    assert report["set_aside"][0] in str(report["degraded"])
    assert mistakes(bank) == {LESSON["mistake"]}


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {newest() + 1}")


def foreign(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (a)")


def zeros(path: Path) -> None:
    path.write_bytes(b"\x00" * 4096)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9000])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (newer, "is newer than this release's"),
        (foreign, "is a database of another program"),
        (zeros, "is damaged; nothing was restored"),
        (truncated, "is damaged; nothing was restored"),
        (empty, "is not a bank"),
        (Path.unlink, "There is no file"),
    ],
)
def test_what_is_no_sound_copy_is_not_restored(
    bank: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    spoil: Callable[[Path], None],
    said: str,
) -> None:
    fill(bank)
    copy = tmp_path / "copy.db"
    assert main(["backup", str(copy)]) == 0
    spoil(copy)
    before = copy.read_bytes() if copy.exists() else None
    assert main(["restore", str(copy), "--yes"]) == 1
    assert said in capsys.readouterr().err
    assert (copy.read_bytes() if copy.exists() else None) == before
    assert mistakes(bank) == {LESSON["mistake"]}
    assert not list(bank.parent.glob("*restor*"))


def test_copies_made_at_once_are_each_whole_and_none_takes_anothers_name(
    bank: Path, tmp_path: Path
) -> None:
    fill(bank)
    copy = tmp_path / "copy.db"
    with ThreadPoolExecutor(4) as threads:
        made = [threads.submit(backup, bank, copy) for _ in range(4)]
        assert sorted(type(one.exception()).__name__ for one in made) == [
            *["BankError"] * 3,
            "NoneType",
        ]
        put_back = [threads.submit(restore, bank, copy, 0.0, 10.0) for _ in range(4)]
        kept = {one.result() for one in put_back}
    assert len(kept) == 4
    for one in (copy, bank, *kept):
        assert one is not None
        assert mistakes(one) == {LESSON["mistake"]}
    assert not list(tmp_path.rglob("*.part*"))


@pytest.mark.usefixtures("bank")
def test_a_backup_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert main(["backup", str(tmp_path / "notes.txt")]) == 1
    assert "already exists" in capsys.readouterr().err
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert main(["backup", str(tmp_path / "nowhere" / "copy.db")]) == 1
    assert "cannot be used" in capsys.readouterr().err


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a person is told at a terminal."""
    return Command(capsys, Path()).by_person(*words)


def test_transcripts_are_reflected_on_for_the_project_of_their_sessions(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "bank.db"))
    monkeypatch.chdir(tmp_path)
    for name in ("shop", "site"):
        (tmp_path / name).mkdir()
        steps = [
            ("says", "Push"),
            ("runs", "git push origin main", f"Exit code 1\nremote: {name} is protected"),
        ]
        claude_file(tmp_path / "sessions" / f"{name}.jsonl", steps, cwd=str(tmp_path / name))
    said(capsys, "reflect", str(tmp_path / "sessions"))
    listed = json.loads(said(capsys, "projects", "--json"))
    assert [one["name"] for one in listed] == [str(tmp_path / "shop"), str(tmp_path / "site")]


def test_a_person_finds_the_project_of_a_folder_that_moved(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "bank.db"))
    old, new = tmp_path / "w", tmp_path / "w2"
    old.mkdir()
    monkeypatch.chdir(old)
    said(capsys, "lessons", "add", "--mistake", "Ran tsc", "--correction", "Run tsc --noEmit")
    old.rename(new)
    monkeypatch.chdir(new)
    assert f"projects rename {old} {new}" in said(capsys, "doctor")
    said(
        capsys,
        "lessons",
        "add",
        "--mistake",
        "Ran tsx",
        "--correction",
        "Run tsc",
        "--project",
        "shop",
    )
    assert said(capsys, "projects").count("folder gone") == 1
    said(capsys, "projects", "rename", str(old), str(new))
    assert "tsc --noEmit" in said(capsys, "recall", "run tsc")
    assert main(["projects", "merge", str(old), "nowhere"]) == 2


def learned(capsys: pytest.CaptureFixture[str]) -> tuple[str, dict[str, object]]:
    """The id of the only lesson of this folder, and what came with it."""
    (lesson,) = json.loads(said(capsys, "lessons", "list", "--json"))
    shown = json.loads(said(capsys, "lessons", "show", lesson["id"], "--json"))
    history = json.loads(said(capsys, "lessons", "history", lesson["id"], "--json"))
    versions = [(version["reason"], version["text"]) for version in history["versions"]]
    return lesson["id"], {
        "trust": shown["trust"],
        "at": round(shown["created_at"], 3),
        "versions": versions,
    }


def test_a_persons_own_export_comes_into_the_project_that_they_work_in(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "bank.db"))
    old, other, new = tmp_path / "w", tmp_path / "other", tmp_path / "w2"
    file = str(tmp_path / "lessons.jsonl")
    for folder in (old, other):
        folder.mkdir()
    monkeypatch.chdir(old)
    said(capsys, "lessons", "add", "--mistake", "Ran tsc", "--correction", "Run tsc --noEmit")
    lesson_id, before = learned(capsys)
    said(capsys, "lessons", "edit", lesson_id, "--importance", "0.9")
    _, before = learned(capsys)
    said(capsys, "export", file)
    assert said(capsys, "import", "--own", file) == "1 lesson: 1 duplicate.\n"

    assert (
        said(capsys, "import", "--own", "--project", str(other), file) == "1 lesson: 1 duplicate.\n"
    )
    assert learned(capsys) == (lesson_id, before)

    old.rename(new)
    monkeypatch.chdir(new)
    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "another.db"))
    assert said(capsys, "import", "--own", file) == "1 lesson: 1 restored.\n"
    assert learned(capsys) == (lesson_id, before)
