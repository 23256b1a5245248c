"""The projects of a bank, and of a transcript that is read from another folder."""

import json
from pathlib import Path

import pytest

from mcp_reflect.cli.main import main

PUSH = {"command": "git push origin main"}


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def session(file: Path, folder: Path, name: str) -> Path:
    """A session of Claude Code in which a call fails."""
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": PUSH}
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": f"remote: {name} is protected"}
    lines = [
        {"type": "user", "message": {"role": "user", "content": f"Push {name}"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [call]}},
        {"type": "user", "message": {"role": "user", "content": [result]}},
    ]
    file.write_text("\n".join(json.dumps({**line, "cwd": str(folder), "sessionId": name}) for line in lines))
    return file


def test_transcripts_are_reflected_on_for_the_project_of_their_sessions(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "bank.db"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sessions").mkdir()
    for name in ("shop", "site"):
        (tmp_path / name).mkdir()
        session(tmp_path / "sessions" / f"{name}.jsonl", tmp_path / name, name)
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
    assert "folder gone" in said(capsys, "projects")
    said(capsys, "projects", "rename", str(old), str(new))
    assert "tsc --noEmit" in said(capsys, "recall", "run tsc")
    assert main(["projects", "merge", str(old), "nowhere"]) == 2


def learned(capsys: pytest.CaptureFixture[str]) -> tuple[str, dict[str, object]]:
    """The id of the only lesson of this folder, and what came with it."""
    (lesson,) = json.loads(said(capsys, "lessons", "list", "--json"))
    shown = json.loads(said(capsys, "lessons", "show", lesson["id"], "--json"))
    history = json.loads(said(capsys, "lessons", "history", lesson["id"], "--json"))
    versions = [(version["reason"], version["text"]) for version in history["versions"]]
    return lesson["id"], {"trust": shown["trust"], "at": round(shown["created_at"], 3), "versions": versions}


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

    assert said(capsys, "import", "--own", "--project", str(other), file) == "1 lesson: 1 duplicate.\n"
    assert learned(capsys) == (lesson_id, before)

    old.rename(new)
    monkeypatch.chdir(new)
    monkeypatch.setenv("MCP_REFLECT_BANK", str(tmp_path / "another.db"))
    assert said(capsys, "import", "--own", file) == "1 lesson: 1 restored.\n"
    assert learned(capsys) == (lesson_id, before)
