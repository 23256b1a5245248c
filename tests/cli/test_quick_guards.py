"""What a guard of a file meets in process, the hook command meets too: its first part lets no such call pass."""

import io
import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.cli import main
from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import parse_guard
from mcp_reflect.guards.matching import matches, may_be_met
from mcp_reflect.guards.places import CallPlace, ProjectFolder
from mcp_reflect.guards.views import views_of
from mcp_reflect.shell.tables import words_of_table
from mcp_reflect.storage.sqlite.hook_reader import CallAtHand, may_be_known
from tests.cli.commands import Command
from tests.guards.test_files import CHANGED, OVERWRITES, UNCHANGED
from tests.storage.test_projects import repository

FILES = ("config/prod.yaml", "dist/", ".env", "*.pem", "settings.toml")
GUARDS = tuple(f"Edit or a shell redirect: {file}" for file in FILES)


@dataclass(frozen=True)
class Shop:
    """A project whose files a person guards, with the bank that has the guards."""

    bank: Path
    folder: Path
    project: str
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def is_held(self, tool: str, arguments: Any, folder: str = "") -> bool:
        """Return whether the hook command refuses a call."""
        sent = {
            "session_id": "s1",
            "cwd": str(self.folder / folder),
            "tool_name": tool,
            "tool_input": arguments,
        }
        with self.monkeypatch.context() as patch:
            text = io.BytesIO(json.dumps(sent).encode())
            patch.setattr("sys.stdin", io.TextIOWrapper(text))
            assert main(("hook", "PreToolUse")) == 0
        return '"deny"' in self.capsys.readouterr().out

    def is_met(self, tool: str, arguments: Any, folder: str = "") -> bool:
        """Return whether one of the guards meets a call, or may meet one that cannot be read in full."""
        root = str(self.folder)
        known = (ProjectFolder(self.project, root),)
        place = CallPlace(self.project, folder=str(self.folder / folder), known_folders=known)
        call = views_of(Call(tool, arguments), place)[self.project]
        is_met = may_be_met if call.script.is_partial else matches
        return any(is_met(parse_guard(guard), call) for guard in GUARDS)

    def is_looked_at(self, tool: str, arguments: Any, folder: str = "") -> bool:
        """Return whether the first part of the hook command leaves a call to the services."""
        text = json.dumps(arguments, ensure_ascii=False)
        cwd = str(self.folder / folder)
        return may_be_known(str(self.bank), CallAtHand(tool, arguments, text, self.project, cwd))


@pytest.fixture
def shop(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Shop:
    bank = tmp_path / "bank.db"
    folder = repository(tmp_path / "shop")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MCP_REFLECT_BANK", str(bank))
    monkeypatch.delenv("MCP_REFLECT_PROJECT", raising=False)
    monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)
    # The limit ends the process, and that is pytest's here.
    monkeypatch.setattr("mcp_reflect.cli.quick_hook.MAX_SECONDS", 600)
    command = Command(capsys, tmp_path)
    for file, guard in zip(FILES, GUARDS, strict=True):
        command.by_person("lessons", "add", f"Ask me before you change {file}", "--guard", guard)
    with sqlite3.connect(bank) as connection:
        lessons = connection.execute("SELECT id, project FROM lessons").fetchall()
    for lesson, _ in lessons:
        command.by_person("lessons", "enforce", lesson)
    place = Shop(bank, folder, lessons[0][1], capsys, monkeypatch)
    place.is_held("Read", {"file_path": "README.md"})  # its project is noted for the folder
    return place


COMMANDS = r"""
for f in config/*.yaml; do sed -i s/a/b/ $f; done
for f in config/*; do sed -i s/a/b/ "$f"; done
for f in config/prod.y*ml; do tee "$f" < x; done
for e in dev prod; do sed -i s/a/b/ config/$e.yaml; done
for e in dev prod; do echo x > "config/${e}.yaml"; done
for e in settings app; do echo x > $e.toml; done
sed -i s/a/b/ config/{dev,prod}.yaml
sed --in-place s/a/b/ config/*
perl -pi -e s/a/b/ config/*.yaml
touch config/*; tee config/*.yaml < x
cp x config/pro[d].yaml
git restore config
git restore config/
git restore --source=HEAD~1 config
git -C config restore .
cd config && git restore .
git checkout -- config
git checkout HEAD~1 -- config
git checkout HEAD~1 config
git checkout 'HEAD~1' -- 'con'fig
git stash push config/prod.yaml
git rm -r config
git mv config old
find config -type f -exec sed -i s/a/b/ {} \;
find config -type f -exec sed -i s/a/b/ {} +
find ./config -type f -print0 | xargs -0 sed -i s/a/b/
find config -type f | xargs sed -i s/a/b/
find config -type f | xargs -I {} sed -i s/a/b/ {}
find config -name '*.yaml' -exec sed -i s/a/b/ {} +
find . -name '*.y*ml' | xargs sed -i s/a/b/
find config | xargs rm
find config -delete
fd -e yml -x sed -i s/a/b/
mv config old
rm -r config
ri config
git restore .
git restore :/
git checkout .
git checkout -- .
git checkout main
git checkout -b config
git restore --staged config
npx prettier --write .
npx prettier --write config
find config -type f -exec cat {} +
find config -type f | xargs cat
find src -type f -exec sed -i s/a/b/ {} +
find config -type f -mtime 5 -exec sed -i s/a/b/ {} +
for f in config/*.yaml; do cat $f; done
for f in src/*; do sed -i s/a/b/ $f; done
sed -i s/a/b/ src/{a,b}.py
echo $HOME > out.txt
ls config/* 2> /dev/null
"""
IN_FOLDERS = (
    ("config", "git restore ."),
    ("config", "git checkout -- ."),
    ("config/sub", "git restore .."),
    ("config", "for e in dev prod; do echo x > $e.yaml; done"),
    ("config", "sed -i s/a/b/ *.yaml"),
    ("src", "git restore ../config"),
    ("src", "git restore ."),
    ("dist/web", "echo x > a.js"),
)
TOOLS: tuple[tuple[str, Any], ...] = (
    ("Edit", {"file_path": "config/prod.yaml"}),
    ("delete_file", {"path": "config"}),
    ("move_file", {"source": "config", "destination": "old"}),
    ("mcp__fs__remove_directory", {"path": "./config"}),
    ("delete_file", {"path": "src"}),
    ("Edit", {"file_path": "config"}),
    ("Read", {"file_path": "config/prod.yaml"}),
    ("Delete", {"path": "config"}),
    ("multi_replace_string_in_file", {"replacements": [{"filePath": "config/prod.yaml"}]}),
    ("text_editor", {"command": "write", "path": "config/prod.yaml"}),
    ("str_replace_editor", {"command": "view", "path": "config/prod.yaml"}),
    ("Bash", {"command": "cd web\nrm -r ../config"}),
    ("Bash", {"command": "git status\ngit restore config"}),
    ("Bash", {"command": "for f in config/*\ndo\n\tsed -i s/a/b/ $f\ndone"}),
    ("Bash", {"command": "env $(cat .env | xargs) npm start"}),
)


def test_what_a_guard_of_a_file_meets_the_hook_command_holds(shop: Shop) -> None:
    calls = [("Bash", {"command": command}, "") for command in COMMANDS.strip().splitlines()]
    calls += [("Bash", {"command": command}, folder) for folder, command in IN_FOLDERS]
    calls += [(tool, arguments, "") for tool, arguments in TOOLS]
    differing = [call for call in calls if shop.is_held(*call) is not shop.is_met(*call)]
    assert [(call, shop.is_met(*call)) for call in differing] == []
    assert sum(shop.is_met(*call) for call in calls) > 40


def test_each_program_that_changes_files_is_looked_at_where_a_pattern_names_them(
    shop: Shop,
) -> None:
    """The words of the hook's first part follow the tables of the shell's programs."""
    tables = (
        "programs that write their operands",
        "programs that edit in place",
        "programs that replace a pattern in files",
        "programs that copy",
        "programs that remove their operands",
        "programs that move their operands",
        "programs that rewrite their operands",
        "words with which a program rewrites its operands",
        "options that name a file to write",
    )
    entries = {entry for table in tables for entry in words_of_table(table)}
    for table in (
        "commands that fetch a file from elsewhere",
        "subcommands that write their operands",
    ):
        entries |= {entry.replace(":", " ") for entry in words_of_table(table)}
    for entry in words_of_table("options of a subcommand that name a file to write"):
        entries.add(entry.replace(":", " ", 1))
    missed: list[str] = []
    met = 0
    for entry in sorted(entries):
        program, _, option = entry.partition(":")
        for words in (
            f"{option} a b config/*.yaml",
            "-i a b config/*.yaml",
            f"x {option} config/pro?.yaml",
            "a:b config/*.yaml",
            "config/*.yaml",
        ):
            call = {"command": f"{program} {words}"}
            if not shop.is_met("Bash", call):
                continue
            met += 1
            if not shop.is_looked_at("Bash", call):
                missed.append(call["command"])
    assert missed == []
    assert met > 100


def test_no_command_of_other_tests_passes_that_a_guard_meets(shop: Shop) -> None:
    commands = [*OVERWRITES.splitlines()]
    for table in (CHANGED, UNCHANGED):
        for of_guard in table.values():
            commands += of_guard
    calls = [{"command": command} for command in commands]
    missed = [
        call["command"]
        for call in calls
        if shop.is_met("Bash", call) and not shop.is_looked_at("Bash", call)
    ]
    assert missed == []


QUICK = r"""
ls -la
git status
git checkout main
git checkout -b feature/x
git restore src/a.py
git diff config
cat config/dev.yaml
cat config/*.yaml | head
grep -rn "port" config/*.yaml 2>/dev/null
sed -n 1,20p config/*.yaml
awk '{print $1}' config/dev.yaml
ls config/{a,b}
echo $PATH
pytest tests/config -q
sed -i s/a/b/ src/app.py
cp a.txt b.txt
echo "$X" > out.txt
npm run build > build.log 2>&1
for f in src/*.py; do wc -l $f; done
"""


def test_a_call_that_no_guard_meets_ends_at_once(shop: Shop) -> None:
    calls = [{"command": command} for command in QUICK.strip().splitlines()]
    assert [call for call in calls if shop.is_looked_at("Bash", call)] == []
