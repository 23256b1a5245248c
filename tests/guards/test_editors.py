"""A guard of a file holds the tools of hosts that change it, and none that reads it."""

from typing import Any

import pytest

from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import parse_guard
from mcp_reflect.guards.matching import matches, may_be_met

FILE = "config/prod.yaml"
GUARD = parse_guard(f"Edit or a shell redirect: {FILE}")
ENV = parse_guard("Edit or a shell redirect: .env")

CHANGING: tuple[tuple[str, Any], ...] = (
    ("multi_replace_string_in_file", {"replacements": [{"filePath": FILE, "oldString": "a"}]}),
    ("multi_replace_string_in_file", {"replacements": [{"filePath": "a"}, {"filePath": FILE}]}),
    ("editFiles", {"files": [FILE]}),
    ("editFiles", {"files": [{"filePath": FILE}]}),
    ("edit_files", {"files": [{"path": FILE, "content": "x"}]}),
    ("edit_file", {"edits": [{"file": FILE}]}),
    ("write_files", {"files": ["a", FILE]}),
    ("multiedit", {"filePath": FILE, "edits": [{"oldString": "a"}]}),
    ("MultiEdit", {"file_path": FILE, "edits": []}),
    ("text_editor", {"command": "write", "path": FILE, "file_text": "x"}),
    ("text_editor", {"command": "str_replace", "path": FILE}),
    ("text_editor", {"command": "undo_edit", "path": FILE}),
    ("mcp__developer__text_editor", {"command": "insert", "path": FILE}),
    ("str_replace_editor", {"command": "create", "path": FILE}),
    ("str_replace_based_edit_tool", {"command": "str_replace", "path": FILE}),
    ("apply_diff", {"path": FILE, "diff": "@@"}),
    ("Delete", {"path": FILE}),
    ("Delete", {"path": "config"}),
    ("delete_files", {"paths": [FILE]}),
)
LEAVING: tuple[tuple[str, Any], ...] = (
    ("str_replace_editor", {"command": "view", "path": FILE}),
    ("str_replace_based_edit_tool", {"command": "view", "path": FILE, "view_range": [1, 9]}),
    ("text_editor", {"command": "view", "path": FILE}),
    ("str_replace_editor", {"command": "View", "path": FILE}),
    ("multi_replace_string_in_file", {"replacements": [{"filePath": "config/dev.yaml"}]}),
    ("edit_files", {"files": ["a"], "context": [FILE]}),
    ("create_issue", {"title": "x", "attachments": [{"path": FILE}]}),
    ("create_archive", {"files": [FILE]}),
    ("read_files", {"files": [FILE]}),
    ("show_diff", {"path": FILE}),
    ("get_diff", {"path": FILE}),
    ("Read", {"path": FILE}),
    ("mcp__notion__delete", {"path": FILE}),
    ("Delete", {"path": "config/dev.yaml"}),
    ("open_editor", {"path": FILE}),
)

READING = r"""
env $(cat .env | xargs) npm start
env $(cat .env) npm start
env `cat .env | xargs` npm start
env $(grep -v '^#' .env | xargs -d '\n') npm start
env $(grep -Ev "^(#|$)" .env | xargs) npm start
env $(sed '/^#/d' .env) npm start
env $(xargs < .env) npm start
env -i $(cat .env 2>/dev/null) npm start
sudo env $(cat .env | xargs) systemctl restart web
export $(cat .env | xargs) && npm start
export $(grep -v '^#' .env)
export $(grep -v '^#' .env | xargs -d '\n'); npm start
set -a; . ./.env; set +a
set -a && source .env && npm start
source .env
. .env
docker run --env-file .env web
docker compose --env-file .env up -d
node --env-file=.env app.js
op run --env-file=.env -- npm start
npx dotenv -e .env -- npm start
dotenvx run -f .env -- npm start
dotenvx get A -f .env
op inject -i .env -o out.txt
vercel env pull .env.local
vercel env add .env
diff .env .env.example
cp .env /tmp/env
""".strip().splitlines()
WRITING = """
op inject -i tpl -o .env
op inject -i tpl --out-file=.env
op read op://a/b/c -o .env
vercel env pull .env
npx vercel env pull --environment=preview .env
vercel env pull --environment preview .env --yes
dotenvx set A b -f .env
npx dotenvx set A b --env-file=.env
dotenvx encrypt -f .env
doppler secrets download .env
""".strip().splitlines()


@pytest.mark.parametrize(("tool", "arguments"), CHANGING)
def test_a_tool_that_changes_the_file_is_held(tool: str, arguments: Any) -> None:
    assert matches(GUARD, Call(tool, arguments))


@pytest.mark.parametrize(("tool", "arguments"), LEAVING)
def test_a_tool_that_leaves_the_file_passes(tool: str, arguments: Any) -> None:
    call = Call(tool, arguments)
    assert not matches(GUARD, call)
    assert not may_be_met(GUARD, call)


@pytest.mark.parametrize("command", READING)
def test_a_command_that_reads_a_file_of_settings_passes(command: str) -> None:
    call = Call("Bash", {"command": command})
    assert not matches(ENV, call)
    assert not may_be_met(ENV, call)


@pytest.mark.parametrize("command", WRITING)
def test_a_command_that_writes_a_file_of_settings_is_held(command: str) -> None:
    assert matches(ENV, Call("Bash", {"command": command}))


@pytest.mark.parametrize("command", ["env $(echo rm) .env", "env $(cat a; echo rm) .env"])
def test_what_env_starts_by_another_output_meets_a_guard_or_may(command: str) -> None:
    call = Call("Bash", {"command": command})
    assert matches(ENV, call) or may_be_met(ENV, call)


def test_what_env_starts_behind_a_file_of_settings_goes_against_its_guard() -> None:
    call = Call("Bash", {"command": "env $(cat .env | xargs) npm publish"})
    assert matches(parse_guard("Bash: `npm publish`"), call)
