"""A project is a repository: it is found from every clone, worktree and folder of it, and under its former names."""

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.project_folders import Folder, remote_name
from mcp_reflect.projects import Scopes
from mcp_reflect.services.claims import accept_claim
from mcp_reflect.services.engine import Engine
from mcp_reflect.speaker import Speaker
from tests.clients.forked import run_forked
from tests.storage.schemas.freeze import fill

LESSON = {"mistake": "Ran tsc without --noEmit", "correction": "Run tsc --noEmit"}
SHOP = "git@github.com:acme/shop.git"

ADDRESSES = {
    "github.com/acme/shop": (
        SHOP, "git@github.com:Acme/Shop", "https://github.com/acme/shop.git", "https://github.com/acme/shop/",
        "https://ada:ghp_x@github.com:443/acme/shop.git", "ssh://git@github.com:22/acme/shop.git",
        "ssh://git@ssh.github.com:443/acme/shop.git", "git://github.com/acme/shop", "github.com:acme/shop",
    ),
    "gitlab.example.com/a/b/shop": ("https://gitlab.example.com/a/b/shop.git", "git@gitlab.example.com:a/b/shop.git"),
    "dev.azure.com/o/p/shop": ("git@ssh.dev.azure.com:v3/o/p/shop", "https://o@dev.azure.com/o/p/_git/shop"),
    "code.example.com/team/shop": (
        "https://code.example.com/scm/team/shop.git", "ssh://git@code.example.com:7999/team/shop.git",
    ),
    None: ("", "/srv/git/shop.git", "file:///srv/git/shop.git", "../shop", "C:\\work\\shop", "C:/work/shop"),
}  # fmt: skip


def git(folder: Path, *words: str) -> None:
    who = (
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.com",
        "-c",
        "protocol.file.allow=always",
    )
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def repository(folder: Path, remote: str | None = None) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", f"Begin {folder} of {remote}")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


@pytest.fixture
def own(settings: Settings) -> Settings:
    """Settings that leave the project to the folder."""
    return replace(settings, project=None, projects=())


async def learn(settings: Settings, folder: Path) -> str:
    async with Engine(replace(settings, folder=folder)) as engine:
        await engine.store_lesson(**LESSON)
        return engine.scopes.own.project


async def found(settings: Settings, folder: Path) -> tuple[str, int]:
    """The name of a folder's project, and how many lessons are there."""
    async with Engine(replace(settings, folder=folder)) as engine:
        await engine.open()
        lessons = await engine.bank.lessons.latest(engine.scopes.own)
        assert bool((await engine.recall(task="Run tsc on the shop")).lessons) == bool(lessons)
        return engine.scopes.own.project, len(lessons)


@pytest.mark.parametrize(
    ("name", "url"), [(name, url) for name, urls in ADDRESSES.items() for url in urls]
)
def test_every_address_of_a_repository_has_one_name(name: str | None, url: str) -> None:
    assert remote_name(url) == name


async def test_a_clone_a_worktree_and_a_subfolder_share_the_project(
    own: Settings, tmp_path: Path
) -> None:
    first = repository(tmp_path / "a" / "shop", SHOP)
    git(tmp_path, "clone", "-q", str(first), "b")
    second = tmp_path / "b"
    git(second, "remote", "set-url", "origin", "https://github.com/acme/shop")
    git(
        first, "remote", "add", "upstream", "git@github.com:upstream/shop.git"
    )  # of a fork, origin counts
    git(first, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(tmp_path, "clone", "-q", str(first), "copy")
    (inside := second / "src").mkdir()
    assert await learn(own, first) == "github.com/acme/shop"
    for folder in (second, inside, tmp_path / "tree", tmp_path / "copy"):
        assert await found(own, folder) == ("github.com/acme/shop", 1), folder


async def test_an_origin_alone_shows_no_lessons_until_a_person_was_told(
    own: Settings, tmp_path: Path
) -> None:
    first = repository(tmp_path / "shop", SHOP)
    assert await learn(own, first) == "github.com/acme/shop"
    stranger = repository(tmp_path / "unpacked", SHOP)
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{first}", "shallow")
    git(tmp_path / "shallow", "remote", "set-url", "origin", SHOP)
    for folder in (stranger, tmp_path / "shallow"):
        for stores in (True, False):
            settings = replace(own, stores_names=stores)
            assert await found(settings, folder) == (str(folder), 0)
        async with Engine(replace(own, folder=folder)) as engine:
            await engine.store_lesson(mistake="Kept here", correction="It goes along")
            assert "by its origin" in await accept_claim(engine)
            assert await accept_claim(engine) == ""
        count = 2 + (folder != stranger)
        assert await found(own, folder) == ("github.com/acme/shop", count)
        assert await found(own, first) == ("github.com/acme/shop", count)


@pytest.mark.sqlite
async def test_the_start_of_a_session_tells_the_person_once(
    own: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await learn(own, repository(tmp_path / "shop", SHOP))
    for name in ("MCP_REFLECT_PROJECT", "MCP_REFLECT_PROJECTS", "CLAUDECODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MCP_REFLECT_BANK", str(own.bank))
    stranger = repository(tmp_path / "unpacked", SHOP)
    sent = {
        "session_id": "s",
        "cwd": str(stranger),
        "source": "startup",
        "hook_event_name": "SessionStart",
    }

    def start() -> str:
        done = run_forked(["hook", "SessionStart"], given=json.dumps(sent))
        assert done.returncode == 0, done.stderr
        return done.stdout

    told = json.loads(start())
    assert "by its origin" in told["systemMessage"]
    assert "by its origin" not in start()
    assert await found(own, stranger) == ("github.com/acme/shop", 1)


async def test_a_repository_without_a_remote_is_known_by_its_first_commit(
    own: Settings, tmp_path: Path
) -> None:
    first = repository(tmp_path / "shop")
    name = await learn(own, first)
    assert name.startswith("commit:")
    assert await found(replace(own, stores_names=False), first) == (name, 1), (
        "a hook reads it from the bank"
    )
    first.rename(tmp_path / "moved")
    git(tmp_path, "clone", "-q", str(tmp_path / "moved"), "clone")
    for folder in (tmp_path / "moved", tmp_path / "clone"):
        assert await found(own, folder) == (name, 1)


async def test_a_bank_that_named_projects_by_path_moves_over(own: Settings, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", SHOP)
    async with Engine(replace(own, project=str(folder))) as before:
        stored = await before.store_lesson(**LESSON)
        await before.edit_lesson(stored.lesson_id, {"importance": 0.9}, by=Speaker.PERSON)
        for number in range(3):
            await before.after_call(
                "Bash", {"command": "tsc"}, error="error TS18003", session=f"s{number}"
            )
    quick = replace(own, stores_names=False)
    assert await found(quick, folder) == (str(folder), 1), "a hook that comes first finds them too"
    assert await found(own, folder) == ("github.com/acme/shop", 1)
    assert await found(quick, folder) == ("github.com/acme/shop", 1)
    async with Engine(replace(own, folder=folder)) as after:
        scope = after.scopes.own
        lesson = await after.bank.lessons.get(scope, stored.lesson_id)
        assert (lesson.importance, len(await after.bank.lessons.history(scope, lesson.id))) == (
            0.9,
            1,
        )
        assert await after.before_call("Bash", {"command": "tsc"}, session="later")
        (project,) = await after.bank.projects.list("local")
        assert (project[:3], str(folder) in project.other_names) == (
            ("github.com/acme/shop", 1, 1),
            True,
        )
    assert await found(replace(own, project=str(folder)), tmp_path) == (
        "github.com/acme/shop",
        1,
    ), "the old name"


async def test_a_remote_that_is_added_later_keeps_the_lessons(
    own: Settings, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "shop")
    await learn(own, folder)
    git(folder, "remote", "add", "origin", SHOP)
    assert await found(own, folder) == ("github.com/acme/shop", 1)


async def test_another_repository_at_the_same_path_is_another_project(
    own: Settings, tmp_path: Path
) -> None:
    for first in (repository(tmp_path / "a"), repository(tmp_path / "b", SHOP)):
        await learn(own, first)
        first.rename(tmp_path / f"{first.name}-moved")
        again = repository(first, "git@github.com:acme/another.git")
        assert (await found(own, again))[1] == 0
        assert (await found(own, tmp_path / f"{first.name}-moved"))[1] == 1


async def test_a_person_renames_and_merges_projects(own: Settings, tmp_path: Path) -> None:
    first, second = (
        repository(tmp_path / "a", SHOP),
        repository(tmp_path / "b", "git@github.com:acme/site.git"),
    )
    for folder in (first, second):
        await learn(own, folder)
        async with Engine(replace(own, folder=folder)) as engine:
            await engine.after_call("Bash", {"command": "tsc"}, error="error TS18003", session="s")
            await engine.before_call("Bash", {"command": "tsc"}, session="t")
    async with Engine(own) as engine:
        projects = engine.bank.projects
        await projects.merge("local", "github.com/acme/shop", "shop")
        await projects.merge("local", "github.com/acme/site", "shop")
    for quick in (True, False):
        assert await found(replace(own, stores_names=not quick), first) == ("shop", 2)
        assert await found(replace(own, stores_names=not quick), second) == ("shop", 2)
    async with Engine(replace(own, project="shop")) as engine:
        assert (await engine.get_stats())["failing_calls"] == 2


@pytest.mark.parametrize(
    ("patterns", "part"), [(("services/*",), "#services/api"), (("web",), ""), ((), "")]
)
def test_a_setting_tells_the_folders_of_a_repository_apart(
    tmp_path: Path, patterns: tuple[str, ...], part: str
) -> None:
    inside = repository(tmp_path / "mono", SHOP) / "services" / "api" / "src"
    inside.mkdir(parents=True)
    own = Scopes.of(Settings(folder=inside, subprojects=patterns)).own
    assert own.project == f"github.com/acme/shop{part}"


async def test_merging_leaves_nothing_under_the_old_name(bank_path: Path) -> None:
    """Whoever adds a table with a project adds it to storage/projects.py."""
    await fill(bank_path)
    async with Engine(Settings(bank=bank_path, project="new")) as engine:
        await engine.bank.projects.merge("local", "app", "new", by=Speaker.PERSON)
    with closing(sqlite3.connect(bank_path)) as looking:
        tables = [
            name
            for (name,) in looking.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        with_project = [
            name for name in tables
            if any(column[1] == "project" for column in looking.execute(f"PRAGMA table_info({name})"))
        ]  # fmt: skip
        left = {
            name: looking.execute(f"SELECT count(*) FROM {name} WHERE project = 'app'").fetchone()[  # noqa: S608
                0
            ]
            for name in with_project
        }
    assert {name for name, count in left.items() if count} == set()
    assert len(left) > 15


def test_a_folder_that_cannot_be_read_is_its_own_project(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    for content in ("", "gitdir: ", "gitdir: nowhere", "\0\xff"):
        (tmp_path / "w" / ".git").write_text(content, encoding="latin-1")
        assert Folder.of(tmp_path / "w").name.startswith((str(tmp_path), ""))
    assert Folder.of(Path(os.sep)).name == ""


async def test_the_folder_whose_hooks_came_first_is_the_project_of_its_server(
    own: Settings, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "shop", SHOP)
    async with Engine(replace(own, folder=folder, stores_names=False)) as hooks:
        await hooks.after_call("Bash", {"command": "cat NOTES"}, "Notes\n", session="s1")
        assert hooks.scopes.own.project == "github.com/acme/shop"
    async with Engine(replace(own, folder=folder)) as server:
        assert server.scopes.own.project == "github.com/acme/shop"
        assert not server.scopes.claimed
    git(tmp_path, "clone", "-q", str(folder), "copy")
    git(tmp_path / "copy", "remote", "set-url", "origin", SHOP)
    async with Engine(replace(own, folder=tmp_path / "copy")) as clone:
        assert not clone.scopes.claimed, "its first commit is known"
    stranger = repository(tmp_path / "unpacked", SHOP)
    async with Engine(replace(own, folder=stranger)) as other:
        assert other.scopes.claimed == "github.com/acme/shop"
