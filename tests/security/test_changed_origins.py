"""What a person enforces in a folder holds on when its origin is changed, or its `.git` is removed or replaced.

An agent points a repository at a fork every day: `git remote set-url origin git@example.com:me/b.git`.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.models.lesson import GuardMode
from mcp_reflect.services import guards
from mcp_reflect.services.engine import Engine
from tests.clients.forked import run_forked
from tests.storage.test_projects import SHOP, git, learn, repository

pytestmark = pytest.mark.sqlite

FORK = "git@example.com:me/b.git"
GUARDED = {
    "git push --force": "git push --force-with-lease",
    "npm publish --force": "npm publish",
}
CALLS = tuple(GUARDED)
NAME = "github.com/acme/shop"


def repoint(folder: Path) -> None:
    git(folder, "remote", "set-url", "origin", FORK)


def replace_git(folder: Path) -> None:
    (folder / ".git").rename(folder / ".gitx")
    git(folder, "init", "-q")
    git(folder, "remote", "add", "origin", FORK)


def replace_history(folder: Path) -> None:
    replace_git(folder)
    git(folder, "commit", "-q", "--allow-empty", "-m", "Begin another one")


def remove_git(folder: Path) -> None:
    shutil.rmtree(folder / ".git")


def remove_inside_another(folder: Path) -> None:
    remove_git(folder)
    git(folder.parent, "init", "-q")
    git(folder.parent, "remote", "add", "origin", FORK)


def rename_remote(folder: Path) -> None:
    git(folder, "remote", "rename", "origin", "upstream")
    git(folder, "remote", "add", "origin", FORK)


def link_to_itself(folder: Path) -> None:
    remove_git(folder)
    (folder / ".git").symlink_to(".git")


def point_inside(folder: Path) -> None:
    nested = folder / "nested"
    nested.mkdir()
    git(nested, "init", "-q")
    git(nested, "commit", "-q", "--allow-empty", "-m", "Begin another one")
    (folder / ".git").rename(folder / ".gitx")
    (folder / ".git").write_text("gitdir: nested/.git\n")


CHANGES = (
    repoint,
    replace_git,
    replace_history,
    remove_git,
    remove_inside_another,
    rename_remote,
    link_to_itself,
    point_inside,
)
TOLD = (repoint, replace_git, replace_history, rename_remote)


@pytest.fixture
def own(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name in ("MCP_REFLECT_PROJECT", "MCP_REFLECT_PROJECTS", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MCP_REFLECT_BANK", str(settings.bank))
    return replace(settings, project=None, projects=())


async def found(settings: Settings, folder: Path) -> tuple[str, int]:
    """The name of a folder's project for its server, and how many lessons are there."""
    async with Engine(replace(settings, folder=folder)) as engine:
        lessons = await engine.bank.lessons.latest(engine.scopes.own)
        return engine.scopes.own.project, len(lessons)


async def enforce(settings: Settings, folder: Path) -> None:
    async with Engine(replace(settings, folder=folder)) as engine:
        for wrong, right in GUARDED.items():
            stored = await engine.call(
                "store_lesson",
                {
                    "mistake": f"Called {wrong}", "correction": f"Call {right}",
                    "wrong_call": wrong, "right_call": right,
                },
            )  # fmt: skip
            await guards.set_mode(engine.context, stored.lesson_id, GuardMode.ENFORCE)


def hook(event: str, folder: Path, session: str, **values: Any) -> dict[str, Any]:
    sent = {"session_id": session, "cwd": str(folder), "hook_event_name": event, **values}
    done = run_forked(["hook", event], given=json.dumps(sent))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout else {}


def held(folder: Path, session: str) -> list[str]:
    """The calls that are refused."""
    calls: list[str] = []
    for command in CALLS:
        call = {"tool_name": "Bash", "tool_input": {"command": command}}
        answer = hook("PreToolUse", folder, session, **call)
        if answer.get("hookSpecificOutput", {}).get("permissionDecision") == "deny":
            calls.append(command)
    return calls


@pytest.mark.parametrize("change", CHANGES)
async def test_enforced_guards_hold_in_this_session_and_in_new_ones(
    own: Settings, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    folder = repository(tmp_path / "work" / "shop", SHOP)
    (inside := folder / "src").mkdir()
    await enforce(own, folder)
    hook("SessionStart", folder, "first", source="startup")
    assert held(folder, "first") == [*CALLS]
    change(folder)
    for place in (folder, inside):
        assert held(place, "first") == [*CALLS], place
    told = hook("SessionStart", folder, "second", source="startup").get("systemMessage", "")
    assert ("stay those of github.com/acme/shop" in told) is (change in TOLD)
    again = hook("SessionStart", inside, "third", source="startup")
    assert "systemMessage" not in again, "a person is told once"
    for session in ("second", "third"):
        assert held(inside, session) == [*CALLS]
    assert (await found(own, folder))[0] == NAME, "the server of the session has the same project"
    assert held(folder, "fourth") == [*CALLS]


async def test_the_start_of_a_session_binds_a_clone_that_only_hooks_have_seen(
    own: Settings, tmp_path: Path
) -> None:
    first = repository(tmp_path / "shop", SHOP)
    await enforce(own, first)
    git(tmp_path, "clone", "-q", str(first), "clone")
    clone = tmp_path / "clone"
    git(clone, "remote", "set-url", "origin", SHOP)
    hook("SessionStart", clone, "s", source="startup")
    repoint(clone)
    assert held(clone, "s") == [*CALLS]
    assert held(clone, "t") == [*CALLS]


async def test_an_origin_of_another_project_gives_a_bound_folder_nothing_of_that(
    own: Settings, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "shop", SHOP)
    await enforce(own, folder)
    await learn(own, repository(tmp_path / "other", FORK))
    repoint(folder)
    told = hook("SessionStart", folder, "s", source="startup")["systemMessage"]
    assert "stay those of" in told
    assert await found(own, folder) == (NAME, len(CALLS))


async def test_a_stranger_s_folder_gets_nothing_by_the_origin_of_another_one(
    own: Settings, tmp_path: Path
) -> None:
    await enforce(own, repository(tmp_path / "shop", SHOP))
    stranger = repository(tmp_path / "unpacked", SHOP)
    assert await found(own, stranger) == (str(stranger), 0)


async def test_a_project_without_a_remote_takes_the_name_of_its_first_one(
    own: Settings, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "shop")
    await enforce(own, folder)
    hook("SessionStart", folder, "s", source="startup")
    git(folder, "remote", "add", "origin", SHOP)
    assert held(folder, "s") == [*CALLS]
    hook("SessionStart", folder, "t", source="startup")
    assert held(folder, "t") == [*CALLS]
    assert await found(own, folder) == (NAME, len(CALLS))


async def test_a_folder_without_a_person_s_lessons_is_free_for_another_repository(
    own: Settings, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "shop", SHOP)
    await learn(own, folder)
    repoint(folder)
    assert await found(own, folder) == (NAME, 1), "a fork has the same first commit"
    replace_history(folder)
    assert await found(own, folder) == ("example.com/me/b", 0)


async def test_a_hook_of_an_agent_s_shell_takes_no_guard_from_a_part_of_a_folder(
    own: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "shop", SHOP)
    (part := folder / "web").mkdir()
    await enforce(own, folder)
    hook("SessionStart", folder, "s", source="startup")
    with monkeypatch.context() as agent:
        agent.setenv("MCP_REFLECT_SUBPROJECTS", "web")
        hook("SessionStart", part, "forged", source="startup")
    assert held(part, "s") == [*CALLS]
