"""A guard that a person enforces in a project holds in the folders of that project, wherever the agent is.

SHOP has the guards, BLOG has none; both are known to the bank. A session begins in one of them, and its calls are made
in any folder: `cd /tmp` and then `git -C SHOP push --force` were not refused once.
"""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.config import Settings
from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import parse_guard
from mcp_reflect.guards.matching import matches
from mcp_reflect.guards.places import CallPlace, ProjectFolder
from mcp_reflect.guards.views import views_of
from mcp_reflect.models.lesson import GuardMode
from mcp_reflect.server import hook_tool
from mcp_reflect.services import guards, lessons
from mcp_reflect.services.engine import Engine
from tests.clients.forked import run_forked
from tests.storage.test_projects import repository

pytestmark = pytest.mark.sqlite

GUARDS = (
    "Bash: `git push` with `--force` or `-f`",
    "Edit: config/prod.yaml",
    "Bash: `terraform destroy`",
    'mcp__db__query: with "drop table"',
)


@dataclass
class World:
    bank: Path
    shop: Path
    blog: Path
    tmp: Path

    def filled_in(self, text: str) -> str:
        places = {"SHOP": self.shop, "BLOG": self.blog, "TMP": self.tmp, "ROOT": self.shop.parent}
        for name, place in places.items():
            text = text.replace(name, str(place))
        return text

    def is_refused(self, call: str, *, begins: str, folder: str) -> bool:
        """Whether a call in a folder is refused, in a session that began in another one."""
        env = {"MCP_REFLECT_BANK": str(self.bank), "CLAUDE_PROJECT_DIR": self.filled_in(begins)}
        session = f"{begins} {folder} {call}"
        start = {"session_id": session, "cwd": self.filled_in(begins), "source": "startup"}
        run_forked(["hook", "SessionStart"], env, given=json.dumps(start))
        sent: dict[str, Any] = {"session_id": session, "cwd": self.filled_in(folder)}
        sent |= _call_of(self.filled_in(call))
        answers = [
            '"deny"' in run_forked(["hook", "PreToolUse"], env, given=json.dumps(sent)).stdout
            for _ in range(
                2
            )  # the second one finds the project of the folder that the first one noted
        ]
        assert answers[0] == answers[1]
        return answers[0]


def _call_of(call: str) -> dict[str, Any]:
    if call.startswith("edit "):
        return {"tool_name": "Edit", "tool_input": {"file_path": call.removeprefix("edit ")}}
    if call.startswith("query "):
        return {"tool_name": "mcp__db__query", "tool_input": {"sql": call.removeprefix("query ")}}
    return {"tool_name": "Bash", "tool_input": {"command": call}}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("world")
    found = World(root / "bank.db", root / "work/shop", root / "work/blog", root / "tmp")
    found.tmp.mkdir()
    for folder, remote in ((found.shop, "acme/shop"), (found.blog, "acme/blog")):
        repository(folder, f"git@github.com:{remote}.git")
        (folder / "sub").mkdir()

    async def fill() -> None:
        for folder, texts in ((found.shop, GUARDS), (found.blog, ())):
            async with Engine(Settings(bank=found.bank, folder=folder)) as engine:
                await lessons.add(engine.context, {"correction": f"Look at {folder.name} first"})
                for text in texts:
                    stored = await lessons.add(
                        engine.context, {"correction": f"Not {text}", "guard": text}
                    )
                    await guards.set_mode(engine.context, stored.lesson_id, GuardMode.ENFORCE)

    asyncio.run(fill())
    return found


@pytest.fixture(autouse=True)
def no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MCP_REFLECT_PROJECT", "MCP_REFLECT_PROJECTS"):
        monkeypatch.delenv(name, raising=False)


HELD = [
    # begins, folder, call
    ("SHOP", "SHOP", "git push --force"),
    ("SHOP", "SHOP/sub", "git push --force"),
    ("SHOP", "TMP", "git -C SHOP push --force"),
    ("SHOP", "TMP", "git push --force"),
    ("SHOP", "TMP", "terraform destroy"),
    ("SHOP", "TMP", "edit SHOP/config/prod.yaml"),
    ("SHOP", "TMP", "rm -rf SHOP/config"),
    ("SHOP", "TMP", "rm -rf ../work"),
    ("SHOP", "TMP", "query drop table a"),
    ("SHOP", "BLOG", "query drop table a"),
    ("SHOP", "BLOG", "git -C SHOP push --force"),
    ("SHOP", "BLOG", "git -C ../shop push --force"),
    ("SHOP", "BLOG", "cd ../shop && git push -f"),
    ("SHOP", "BLOG", "cd SHOP; git push -f"),
    ("SHOP", "BLOG", "edit SHOP/config/prod.yaml"),
    ("SHOP", "BLOG", "edit ../shop/config/prod.yaml"),
    ("SHOP", "BLOG", "echo a > SHOP/config/prod.yaml"),
    ("SHOP", "BLOG", "GIT_DIR=SHOP/.git git push --force"),
    ("SHOP", "BLOG", "git --git-dir SHOP/.git push --force"),
    ("SHOP", "BLOG", "env -C SHOP git push --force"),
    ("SHOP", "BLOG", "bash -c 'cd SHOP && git push --force'"),
    ("BLOG", "BLOG", "git -C SHOP push --force"),
    ("BLOG", "BLOG", "edit SHOP/config/prod.yaml"),
    ("BLOG", "TMP", "edit SHOP/config/prod.yaml"),
    ("BLOG", "TMP", "cd SHOP && git push --force"),
    ("TMP", "TMP", "git -C SHOP push --force"),
    ("TMP", "TMP", "edit SHOP/config/prod.yaml"),
    ("TMP", "SHOP/config", "echo a > prod.yaml"),
    ("TMP", "SHOP/sub", "tee ../config/prod.yaml"),
    ("BLOG", "ROOT", "rm -rf shop"),
    ("SHOP", "SHOP", "rm -rf *"),
    ("SHOP", "SHOP", "rm -rf ."),
    ("SHOP", "SHOP", "rm -rf conf*"),
    ("SHOP", "SHOP/sub", "rm -rf ../*"),
    ("SHOP", "SHOP/sub", "rm -rf .."),
    ("SHOP", "SHOP", "rm -rf ROOT"),
    ("SHOP", "SHOP", "find . -name '*.yaml' -delete"),
    ("SHOP", "SHOP", "sed -i s/a/b/ config/*.yaml"),
    ("SHOP", "SHOP", "git checkout -- config/*"),
    ("SHOP", "SHOP", "ls; cd config && rm *.yaml"),
    ("SHOP", "SHOP", "find config -type f | xargs rm"),
    ("SHOP", "SHOP/config", "rm *"),
    ("SHOP", "TMP", "rm -rf ROOT/*"),
    ("BLOG", "ROOT", "cd shop && terraform destroy"),
    ("BLOG", "ROOT", "terraform -chdir=shop destroy"),
]
PASSED = [
    ("SHOP", "BLOG", "git push --force"),
    ("SHOP", "BLOG", "terraform destroy"),
    ("SHOP", "BLOG", "edit BLOG/config/prod.yaml"),
    ("SHOP", "BLOG", "edit config/prod.yaml"),
    ("SHOP", "BLOG", "rm -rf config"),
    ("SHOP", "SHOP", "cd BLOG && git push --force"),
    ("SHOP", "SHOP", "git -C ../blog push --force"),
    ("SHOP", "SHOP", "edit BLOG/config/prod.yaml"),
    ("SHOP", "SHOP", "edit TMP/config/prod.yaml"),
    ("SHOP", "SHOP", "edit SHOP/other/config/prod.yaml"),
    ("SHOP", "SHOP", "edit SHOP/config/dev.yaml"),
    ("SHOP", "SHOP/sub", "tee config/prod.yaml"),
    ("SHOP", "TMP", "edit TMP/config/prod.yaml"),
    ("SHOP", "TMP", "rm -rf config"),
    ("SHOP", "TMP", "git -C SHOP push"),
    ("BLOG", "BLOG", "git push --force"),
    ("BLOG", "TMP", "git push --force"),
    ("BLOG", "TMP", "terraform destroy"),
    ("BLOG", "BLOG", "query drop table a"),
    ("BLOG", "BLOG", "edit BLOG/config/prod.yaml"),
    ("BLOG", "BLOG", "cat SHOP/config/prod.yaml"),
    ("BLOG", "BLOG", "cp SHOP/config/prod.yaml config/prod.yaml"),
    ("BLOG", "BLOG", "ls ../shop && git push --force"),
    ("BLOG", "BLOG", "echo git -C SHOP push --force"),
    ("TMP", "TMP", "git push --force"),
    ("TMP", "TMP", "rm -rf config"),
    ("TMP", "TMP", "rm -rf *"),
    ("SHOP", "SHOP", "rm build.log"),
    ("SHOP", "SHOP", "rm *.log"),
    ("SHOP", "SHOP/sub", "rm *"),
    ("SHOP", "SHOP", "find . -name '*.pyc' -delete"),
    ("BLOG", "SHOP", "cd ../blog && git push --force"),
]


@pytest.mark.parametrize(("begins", "folder", "call"), HELD)
def test_a_guard_holds_in_the_folders_of_its_project(
    world: World, begins: str, folder: str, call: str
) -> None:
    assert world.is_refused(call, begins=begins, folder=folder)


@pytest.mark.parametrize(("begins", "folder", "call"), PASSED)
def test_a_guard_refuses_nothing_in_the_folders_of_another_project(
    world: World, begins: str, folder: str, call: str
) -> None:
    assert not world.is_refused(call, begins=begins, folder=folder)


def test_a_path_of_the_outer_project_is_held_in_a_repository_inside_of_it() -> None:
    shop = CallPlace(
        own="inner",
        folder="/w/shop/inner",
        known_folders=(ProjectFolder("shop", "/w/shop"), ProjectFolder("inner", "/w/shop/inner")),
    )
    call = views_of(Call("Edit", {"file_path": "a.py"}), shop)["shop"]
    assert matches(parse_guard("Edit: inner/a.py"), call)
    assert not matches(parse_guard("Edit: a.py"), call)


@pytest.mark.parametrize(
    ("folder", "call", "is_refused"),
    [
        ("SHOP", "git push --force", True),
        ("BLOG", "git push --force", False),
        ("BLOG", "git -C SHOP push --force", True),
        ("BLOG", "edit SHOP/config/prod.yaml", True),
        ("BLOG", "edit BLOG/config/prod.yaml", False),
        ("TMP", "git push --force", True),
        ("SHOP", "edit SHOP/other/config/prod.yaml", False),
    ],
)
async def test_the_server_that_a_host_asks_holds_the_same(
    world: World, folder: str, call: str, *, is_refused: bool
) -> None:
    sent = {
        "hook_event_name": "PreToolUse",
        "session_id": f"{folder} {call}",
        "cwd": world.filled_in(folder),
        **_call_of(world.filled_in(call)),
    }
    async with Engine(Settings(bank=world.bank, folder=world.shop)) as engine:
        answer = await hook_tool.answer(engine.context, sent)
    assert ("deny" in str(answer)) is is_refused


def test_a_guard_holds_elsewhere_after_a_new_project_appears(world: World) -> None:
    """A host that does not name the session's first folder: it is known from the start of the session alone."""
    env = {"MCP_REFLECT_BANK": str(world.bank)}
    start = {"session_id": "first", "cwd": str(world.shop), "source": "startup"}
    run_forked(["hook", "SessionStart"], env, given=json.dumps(start))

    def is_refused(folder: Path, command: str) -> bool:
        sent = {"session_id": "first", "cwd": str(folder), **_call_of(command)}
        return '"deny"' in run_forked(["hook", "PreToolUse"], env, given=json.dumps(sent)).stdout

    assert is_refused(world.tmp, "git push --force")
    new = repository(world.tmp / "new", "git@github.com:acme/new.git")
    assert not is_refused(new, "ls")
    assert is_refused(world.tmp, "git push --force")
