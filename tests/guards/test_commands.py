"""A shell command is read as the shell reads it, and never slowly."""

import time

import pytest

from mcp_reflect.guards.commands import LIMIT, fed_text, invocations, read_commands, written_files


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ("cd web && FOO=1 npx tsc -p . | tail -5; ls", ["cd", "npx", "tsc", "tail", "ls"]),
        ("sudo -u root timeout 5m bash -lc 'git push -f && ls'", ["sudo", "timeout", "bash", "git", "ls"]),
        ("git commit -m \"$(cat <<'EOF'\ngit push\nEOF\n)\" && ls", ["cat", "git", "ls"]),
        ("cat > a.sh <<EOF\nrm -rf x\nEOF\nls", ["cat", "ls"]),
        ("bash <<EOF\nrm -rf x\nEOF", ["bash", "rm"]),
        ("echo 'git push' # git push", ["echo"]),
        ("if true; then rm x; fi; for f in *; do mv $f y; done", ["true", "rm", "for", "mv"]),
        ("poetry run python -m pytest -q", ["poetry", "python", "pytest"]),
        ("uv run --with x pytest; pnpm exec tsc; yarn tsc", ["uv", "pytest", "pnpm", "tsc", "yarn", "tsc"]),
        ("find . -name a | xargs -0 -n 1 sed -i s/x/y/", ["find", "xargs", "sed"]),
        ("find . -exec rm {} ;", ["find", "rm"]),
        ("ssh -i key -p 22 me@host ls; docker exec -i -u me db psql", ["ssh", "ls", "docker", "psql"]),
        ('echo `git log` $(git diff "$(pwd)")', ["git", "pwd", "git", "echo"]),
        ("npx create-next-app@latest x", ["npx", "create-next-app"]),
        ("python manage.py migrate", ["python", "manage.py"]),
        ("echo 'open", ["echo"]),
        ("", []),
    ],
)
def test_every_program_that_a_line_starts_is_found_and_no_other(text: str, programs: list[str]) -> None:
    found = [one.name for command in read_commands(text) for one in invocations(command)]
    assert found == programs


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("sed -i 's/a/b/' dist/x.js", ["s/a/b/", "dist/x.js"]),
        ("sed 's/a/b/' dist/x.js | grep y", []),
        ("echo a >> log 2>/dev/null; echo b | tee -a other", ["log", "other"]),
        ("cp a b/ && mv c my\\ d", ["b/", "my d"]),
        ("apply_patch <<'P'\n*** Update File: src/a.py\n@@\nP", ["src/a.py"]),
        ("diff <(cat a) b 2>&1", []),
    ],
)
def test_the_files_that_a_line_changes_are_found(text: str, files: list[str]) -> None:
    assert [file for command in read_commands(text) for file in written_files(command)] == files


def test_powershell_has_its_own_escapes_and_folders() -> None:
    command, *_ = read_commands("Remove-Item C:\\build\\out `\n -Recurse", powershell=True)
    assert command.words == ("Remove-Item", "C:\\build\\out", "-Recurse")


def test_what_echo_pipes_into_a_program_is_its_text() -> None:
    commands = read_commands("echo 'DROP TABLE a' | psql x")
    assert "DROP TABLE" in fed_text(commands[1], commands)


@pytest.mark.parametrize(
    "unit",
    [
        "$(",
        "(",
        '"',
        "a ",
        "<<A\n",
        "`",
        '"$(',
        "a;",
        "\\",
        "bash -c '",
        "{ ",
        "$",
        "'a'",
        "$(a ",
        "x | ",
        "<(",
        "eval ",
    ],
)
def test_a_command_of_a_megabyte_is_read_in_bounded_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    began = time.process_time()
    commands = read_commands(text)
    assert time.process_time() - began < 2  # quadratic time would be minutes
    assert len(commands) <= 400
    assert sum(map(len, (word for command in commands for word in command.words))) <= 400 * LIMIT
