"""The guards of a project hold what is done in its folders, however the folder is named, and nothing in another's."""

from dataclasses import replace
from typing import Any

import pytest

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import parse_guard
from mcp_reflect.guards.matching import matches, may_be_met
from mcp_reflect.guards.places import CallPlace, ProjectFolder
from mcp_reflect.guards.views import views_of

# A call in BLOG, of a session that began there. SHOP has the guards, and lies beside it.
PLACE = CallPlace(
    own="blog",
    folder="/home/u/work/blog",
    known_folders=(
        ProjectFolder("shop", "/home/u/work/shop"),
        ProjectFolder("blog", "/home/u/work/blog"),
    ),
)
GUARDS = (
    "Bash: `git push` with `--force` or `-f`",
    "Bash: `make deploy`",
    "Bash: `npm publish`",
    "Edit: config/prod.yaml",
    "Edit: dist/",
)
IN_SHOP = [
    "(cd ../shop && git push -f)",
    "(cd ../shop; git push -f)",
    "(cd ../shop; git push -f) | tee log",
    "(cd ../shop; git push -f) &",
    "pushd ../shop; git push -f",
    "cd ../shop\ngit push -f",
    "cd ../shop || exit 1; git push -f",
    "cd ../shop && ls | xargs rm; rm -rf dist",
    "cd ../shop && (rm -rf dist)",
    "cd ../shop && { rm -rf dist; }",
    "cd ../shop && if true; then git push -f; fi",
    "cd .. && cd shop && git push -f",
    'cd "$HOME/work/shop" && git push -f',
    "cd ~/work/shop/sub/.. && git push -f",
    "sh -c 'cd ~/work/shop && git push -f'",
    "cd ../shop && bash -c 'rm -rf dist'",
    "git -C .. -C shop push -f",
    "D=../shop; git -C $D push -f",
    "for d in ../shop; do git -C $d push -f; done",
    "sudo -u x git -C ../shop push -f",
    "GIT_WORK_TREE=../shop git push -f",
    "git --work-tree=../shop --git-dir=../shop/.git push -f",
    "make --directory=../shop deploy",
    "npm --prefix ../shop publish",
    "npm publish --prefix ../shop",
    "env -C ../shop make deploy",
    "rm -rf ~/work/shop/dist/*",
    "rm -rf $HOME/work/shop/dist",
    "rm ../shop/dist/{a,b}.js",
    "cat > ~/work/shop/config/prod.yaml <<EOF\na\nEOF",
    "git -C ../shop checkout -- config/prod.yaml",
    "(cd ../shop && git push -f) 2>&1 | tail",
    "x=$(cd ../shop && git push -f 2>&1)",
    "x=`cd ../shop; git push -f`",
    "$(cd ../shop && git push -f)",
    "echo $(ls $(cd ../blog; ls); cd ../shop; git push -f)",
    "x=$(cd ../blog; ls $(cd ../shop; git push -f))",
    "cd ../shop; x=$(git push -f)",
    "cd ../shop; x=$( (git push -f) )",
    "cd ../shop; x=$( ( (git push -f) ) )",
    "(env -C ../shop bash -c '(git push -f)')",
    "env -C ../shop bash -c 'x=$( (git push -f) )'",
    "x=$(cd ../shop; (ls); git push -f)",
    "cd -- ../shop && git push -f",
    "cd -P ../shop && git push -f",
    "cd -L -- ../shop; git push -f",
    "builtin cd ../shop && git push -f",
    "command cd ../shop && git push -f",
    "builtin cd -P -- ../shop; rm -rf dist",
    "export GIT_DIR=../shop/.git; git push -f",
    "export A=1 GIT_DIR=../shop/.git && (git push -f)",
    "export GIT_DIR=../shop/.git; bash -c 'git push -f'",
    "if cd ../shop; then git push -f; fi",
    "if cd ../shop && ls; then ls; git push -f; else ls; fi",
    "if test -d ../shop; then cd ../shop; git push -f; fi",
    "if a; then ls; elif b; then cd ../shop; git push -f; fi",
    "if a; then ls; else cd ../shop; if b; then (git push -f); fi; fi",
    "if cd ../blog; then ls; fi; cd ~/work/shop; git push -f",
]
ELSEWHERE = [
    "git push -f",
    "cat ../shop/dist/a; git push -f",
    "git -C ../shop pull && git push -f",
    "(cd ../shop && ls); git push -f",
    "(cd ../shop; ls); (git push -f)",
    "(cd ../shop; ls) && (git push -f)",
    "x=$(cd ../shop; ls); y=$(git push -f)",
    "cd ../shop | git push -f",
    "make -C ../shop test; make deploy",
    "npm --prefix ../shop test && npm publish",
    "cd ../shop && git pull; cd ../blog && git push -f",
    "pushd ../shop; git pull; popd; git push -f",
    "bash -c 'cd ../shop && ls'; git push -f",
    "cp -r ../shop/dist dist",
    "rsync -a ../shop/dist/ dist/",
    "mv ../shop/README.md .",
    "rm -rf dist ../shop/build",
    "find ../shop -name '*.log' -delete",
    "ssh host 'cd ../shop && rm -rf dist'",
    "echo > config/prod.yaml",
    "x=$(cd ../shop && ls); git push -f",
    "x=$(cd ../shop; ls; cd ../blog; git push -f)",
    "x=$(cd ../shop; ls); y=$( (git push -f) )",
    "x=$(cd ../blog; ls $(cd ../shop; ls); git push -f)",
    "x=$(ls); (cd ../shop; ls); y=$(git push -f)",
    "(cd ../shop; ls); ( (git push -f) )",
    "(cd ../shop; ls); ( ( (git push -f) ) )",
    "git -C ../shop log; ( (git push -f) )",
    "bash -c 'cd ../shop; ls'; x=$(git push -f)",
    "x=$(bash -c 'cd ../shop; ls'; git push -f)",
    "cd -- ../shop; ls; cd -- ../blog; git push -f",
    "(builtin cd ../shop && ls); git push -f",
    "command -v cd ../shop; git push -f",
    "export GIT_DIR=../shop/.git; git log; unset GIT_DIR; git push -f",
    "export GIT_DIR=../shop/.git; git log; export GIT_DIR=../blog/.git; git push -f",
    "export GIT_DIR=../shop/.git; GIT_DIR=../blog/.git git push -f",
    "export GIT_DIR=../shop/.git; make deploy",
    "(export GIT_DIR=../shop/.git; git log); git push -f",
    "GIT_DIR=../shop/.git; GIT_DIR=.git git push -f",
    "if cd ../shop; then ls; else git push -f; fi",
    "if ! cd ../shop; then git push -f; fi",
    "if cd ../shop; then ls; fi; cd ~/work/blog; git push -f",
    "if a; then cd ../shop; ls; else git push -f; fi",
    "if a; then cd ../shop; ls; elif git push -f; then b; fi",
    "if a; then (cd ../shop; ls); git push -f; fi",
    "if a; then export GIT_DIR=../shop/.git; fi; git push -f",
    "if cd ../shop | ls; then git push -f; fi",
]
# From SHOP into BLOG: a guard of SHOP holds none of it.
OUT_OF_SHOP = [
    "(cd ../blog; git push -f)",
    "(cd ../blog && git push -f) 2>&1 | tail",
    "x=$(cd ../blog && git push -f)",
    "$(cd ../blog; git push -f)",
    "cd -- ../blog && git push -f",
    "cd -P ../blog && git push -f",
    "builtin cd ../blog && git push -f",
    "export GIT_DIR=../blog/.git; git push -f",
    "if cd ../blog; then git push -f; fi",
    "cd $PWD/../blog && git push -f",
]
STILL_IN_SHOP = [
    "x=$(cd ../blog && ls); git push -f",
    "if cd ../blog; then ls; else git push -f; fi",
    "if cd ../blog; then ls; fi; git push -f",
    "if ! cd ../blog; then git push -f; fi",
    "if a; then export GIT_DIR=../blog/.git; fi; git push -f",
    "f() { cd ../blog; }; git push -f",
    "while a; do cd ../blog; done; git push -f",
]
TOOLS_IN_SHOP: list[tuple[str, dict[str, Any]]] = [
    ("Write", {"file_path": "/home/u/work/shop/config/prod.yaml"}),
    ("MultiEdit", {"file_path": "../shop/dist/x"}),
    ("apply_patch", {"input": "*** Update File: ../shop/config/prod.yaml\n"}),
    ("mcp__fs__move_file", {"source": "a", "destination": "/home/u/work/shop/dist/a"}),
    ("mcp__fs__move_file", {"source": "/home/u/work/shop/dist/a", "destination": "/srv/a"}),
    ("mcp__fs__delete_file", {"path": "/home/u/work/shop/dist/a"}),
    ("shell", {"command": ["bash", "-lc", "git push -f"], "workdir": "/home/u/work/shop"}),
    ("run_shell_command", {"command": "git push -f", "directory": "../shop"}),
    ("PowerShell", {"command": "Set-Location ../shop; git push -f"}),
    ("PowerShell", {"command": "Remove-Item -Recurse ..\\shop\\dist"}),
]
TOOLS_ELSEWHERE: list[tuple[str, dict[str, Any]]] = [
    ("Write", {"file_path": "config/prod.yaml", "content": "/home/u/work/shop/config/prod.yaml"}),
    ("Read", {"file_path": "/home/u/work/shop/config/prod.yaml"}),
    ("Grep", {"path": "/home/u/work/shop/dist"}),
    ("mcp__fs__read_file", {"path": "/home/u/work/shop/dist/a"}),
    ("mcp__fs__move_file", {"source": "/home/u/work/shop/a", "destination": "dist/a"}),
    ("mcp__jira__delete_issue", {"path": "/home/u/work/shop/dist/a"}),
    ("shell", {"command": "git push -f", "workdir": "/home/u/work/blog"}),
]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")


def is_held(tool: str, arguments: dict[str, Any]) -> bool:
    call = views_of(Call(tool, arguments), PLACE).get("shop")
    if call is None:
        return False
    guards = map(parse_guard, GUARDS)
    return any(matches(guard, call) or may_be_met(guard, call) for guard in guards)


@pytest.mark.parametrize("command", IN_SHOP)
def test_a_command_in_a_folder_of_the_project_is_held(command: str) -> None:
    assert is_held("Bash", {"command": command})


@pytest.mark.parametrize("command", ELSEWHERE)
def test_a_command_elsewhere_is_not(command: str) -> None:
    assert not is_held("Bash", {"command": command})


def is_held_in_shop(command: str) -> bool:
    place = replace(PLACE, own="shop", folder="/home/u/work/shop")
    call = views_of(Call("Bash", {"command": command}), place)["shop"]
    return any(matches(guard, call) for guard in map(parse_guard, GUARDS))


@pytest.mark.parametrize("command", OUT_OF_SHOP)
def test_a_command_that_leaves_the_project_is_not_held(command: str) -> None:
    assert not is_held_in_shop(command)


@pytest.mark.parametrize("command", STILL_IN_SHOP)
def test_a_command_that_may_have_stayed_is_held(command: str) -> None:
    assert is_held_in_shop(command)


@pytest.mark.parametrize(("tool", "arguments"), TOOLS_IN_SHOP)
def test_a_call_that_names_the_project_s_folder_is_held(
    tool: str, arguments: dict[str, Any]
) -> None:
    assert is_held(tool, arguments)


@pytest.mark.parametrize(("tool", "arguments"), TOOLS_ELSEWHERE)
def test_a_call_that_changes_nothing_there_is_not(tool: str, arguments: dict[str, Any]) -> None:
    assert not is_held(tool, arguments)
