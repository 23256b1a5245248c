"""Where `learn` finds sessions, and that what stands in several files is counted once."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.sessions.session_folders import folder_in, local_path
from mcp_reflect.sessions.session_lines import unpacker
from mcp_reflect.sessions.session_sources import HOSTS
from tests.cli.test_learn import Home, home
from tests.sessions import opencode_database as opencode
from tests.sessions.past_home import HARD_WON, PNPM, claude, codex, gemini

__all__ = ["home"]  # the fixture


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def counted(home: Home) -> list[int]:
    return [one["count"] for one in home.learn()]


def test_a_fork_of_claude_code_counts_only_what_is_new_in_it(home: Home) -> None:
    first = claude(home.folder, home.project, "first", HARD_WON)
    for name in ("b-fork", "c-fork"):
        copies = [
            {**line, "sessionId": name, "uuid": f"{name}-{number}",
             "forkedFrom": {"sessionId": "first", "messageUuid": line["uuid"]}}
            for number, line in enumerate(lines_of(first)) if "uuid" in line
        ]  # fmt: skip
        write(first.with_name(f"{name}.jsonl"), copies)
    assert counted(home) == [1]


def test_a_copy_that_was_resumed_counts_only_what_is_new_in_it(home: Home) -> None:
    first = claude(home.folder, home.project, "first", HARD_WON)
    again = [{**line, "sessionId": "again"} for line in lines_of(first)]
    other = claude(home.folder, home.project, "other", HARD_WON)  # the same again, with new ids
    write(first.with_name("again.jsonl"), [*again, *lines_of(other)])
    other.unlink()
    assert counted(home) == [2]


def test_a_fork_of_codex_counts_only_what_is_new_in_it(home: Home) -> None:
    first = codex(home.folder, home.project, "first", HARD_WON)
    for name, origin in (("second", "first"), ("third", "first")):
        meta, *items = lines_of(first)
        forked = {**meta, "payload": {**meta["payload"], "id": name, "forked_from_id": origin}}
        write(first.with_name(f"rollout-{name}.jsonl"), [forked, meta, *items])
    assert counted(home) == [1]


def test_learn_reads_the_sessions_in_the_database_of_opencode(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(home.folder / "share"))
    parts = [
        opencode.ran("c1", "./deploy.sh", "error: --confirm is missing\n", 2),
        opencode.ran("c2", "./deploy.sh --confirm", "deployed\n", 0),
    ]
    session = [("user", [opencode.said("Deploy.")]), ("assistant", parts)]
    opencode.keep(home.folder / "share" / "opencode" / "opencode.db", home.project, session)
    (found,) = home.learn("--host", "opencode")
    assert "--confirm is missing" in json.dumps(found)
    assert [one["session"] for one in found["sessions"]] == ["ses_1"]


def test_a_copy_is_known_in_a_later_reading_too(home: Home) -> None:
    first = claude(home.folder, home.project, "first", HARD_WON)
    assert counted(home) == [1]
    write(first.with_name("later.jsonl"), [{**line, "sessionId": "l"} for line in lines_of(first)])
    assert counted(home) == [1]


def test_a_compressed_session_is_read_and_a_damaged_one_is_named(home: Home) -> None:
    path = codex(home.folder, home.project, "old", HARD_WON)
    packed = unpacker().compress(path.read_bytes())
    path.with_name("rollout-old.jsonl.zst").write_bytes(packed)
    path.with_name("rollout-bad.jsonl.zst").write_bytes(b"no such form")
    path.unlink()
    found, said = home.faults()
    assert [one["count"] for one in found] == [1]
    assert "rollout-bad.jsonl.zst: it cannot be unpacked" in said


@pytest.mark.parametrize(
    ("variable", "inside", "write_session"),
    [
        ("CLAUDE_CONFIG_DIR", ".claude", claude),
        ("CODEX_HOME", ".codex", codex),
        ("GEMINI_CLI_HOME", "", gemini),
    ],
)
def test_the_variables_of_hosts_move_their_sessions(
    home: Home, monkeypatch: pytest.MonkeyPatch, variable: str, inside: str, write_session: Any
) -> None:
    other = home.folder / "other"
    write_session(other, home.project, "s", HARD_WON)
    monkeypatch.setenv(variable, "~/" + "/".join(filter(None, ("other", inside))))
    assert counted(home) == [1]
    monkeypatch.setenv(variable, str(home.folder / "nowhere"))
    assert f"there is no such folder, which {variable} names" in home.faults()[1]


def test_the_folder_is_the_session_s_and_not_one_of_a_call(home: Home) -> None:
    path = claude(home.folder, home.project, "s", HARD_WON)
    lines = lines_of(path)
    elsewhere = {"command": "ls", "cwd": "/elsewhere"}
    call = {"type": "tool_use", "id": "x", "name": "Bash", "input": elsewhere}
    message = {"type": "assistant", "message": {"role": "assistant", "content": [call]}}
    write(path, [message, *lines])
    assert counted(home) == [1]


def test_sessions_of_windows_are_a_project_of_their_own(home: Home) -> None:
    path = claude(home.folder, Path("C:\\Users\\A B\\shop"), "s", [PNPM])
    assert path.exists()
    assert home.learn() == []
    assert [one["project"] for one in home.learn("--all")] == ["C:\\Users\\A B\\shop"]
    assert local_path("D:/shop") == "D:/shop"


def test_a_session_that_names_no_folder_is_named(home: Home) -> None:
    path = claude(home.folder, home.project, "s", HARD_WON)
    write(
        path,
        [{name: value for name, value in line.items() if name != "cwd"} for line in lines_of(path)],
    )
    assert "it does not say in which folder it worked" in home.faults("--all")[1]


def test_bad_lines_are_named_by_number_and_the_rest_is_read(home: Home) -> None:
    path = claude(home.folder, home.project, "s", HARD_WON)
    whole = path.read_text("utf-8")
    image = json.dumps({"type": "user", "message": {"content": "A" * 9_000_000}})
    path.write_text(f"{whole[:100]}\n{image}\n{whole}{whole[:50]}\n", "utf-8")
    found, said = home.faults()
    assert [one["count"] for one in found] == [1]
    assert "line 3: longer than 8000000 bytes" in said
    assert "line 2: not JSON" in said


def test_our_own_refusals_teach_nothing(home: Home) -> None:
    refusal = (
        "Exit code 1\nPreToolUse:Bash hook error: mcp-reflect: this call goes against a lesson of "
        "this project. les_abc: Run it with uv"
    )
    steps = [("runs", "pytest", refusal), ("runs", "uv run pytest", "3 passed")]
    for name in ("a", "b"):
        claude(home.folder, home.project, name, steps)
    assert home.learn() == []


def test_every_host_has_a_row() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sessions.md").read_text("utf-8")
    for host in HOSTS.values():
        assert f"`{host.variable}`" in page


@pytest.mark.skipif(os.name == "nt", reason="these are names of Windows for folders elsewhere")
@pytest.mark.parametrize(
    "name",
    [
        "\\\\wsl$\\Ubuntu{windows}",
        "\\\\wsl.localhost\\Ubuntu-24.04{windows}",
        "file://{folder}",
        "vscode-remote://wsl%2Bubuntu{folder}",
    ],
)
def test_a_folder_that_has_a_name_elsewhere_too_is_the_same(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "my shop"
    folder.mkdir()
    windows = str(folder).replace("/", "\\")
    cwd = name.format(windows=windows, folder=str(folder).replace(" ", "%20"))
    assert folder_in(json.dumps({"cwd": cwd}).encode()) == str(folder)
    gone = name.format(windows="\\gone", folder="relative")
    assert folder_in(json.dumps({"cwd": gone}).encode()) in (gone, None)
