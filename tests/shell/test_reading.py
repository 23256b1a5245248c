"""A script is read as bash reads it: what runs, with which words, in which order, and what it reads and writes."""

import time

import pytest

from mcp_reflect.guards.call import Call
from mcp_reflect.shell import read_script, written_files
from mcp_reflect.shell.bounds import MOST_COMMANDS


def programs_in(text: str) -> list[str]:
    return [found.name for command in read_script(text).commands for found in command.invocations]


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ("cd web && FOO=1 npx tsc -p . | tail -5; ls", ["cd", "npx", "tsc", "tail", "ls"]),
        (
            "sudo -u root timeout 5m bash -lc 'git push -f && ls'",
            ["sudo", "timeout", "bash", "git", "ls"],
        ),
        ("git commit -m \"$(cat <<'EOF'\ngit push\nEOF\n)\" && ls", ["cat", "git", "ls"]),
        ("cat > a.sh <<EOF\nrm -rf x\nEOF\nls", ["cat", "ls"]),
        ("bash <<EOF\nrm -rf x\nEOF", ["bash", "rm"]),
        ("echo 'git push' # git push", ["echo"]),
        ("if true; then rm x; fi; for f in *; do mv $f y; done", ["true", "rm", "mv"]),
        ("poetry run python -m pytest -q", ["poetry", "python", "pytest"]),
        (
            "uv run --with x pytest; pnpm exec tsc; yarn tsc",
            ["uv", "pytest", "pnpm", "tsc", "yarn", "tsc"],
        ),
        ("find . -name a | xargs -0 -n 1 sed -i s/x/y/", ["find", "xargs", "sed"]),
        ("find . -exec rm {} ;", ["find", "rm"]),
        (
            "ssh -i key -p 22 me@host ls; docker exec -i -u me db psql",
            ["ssh", "ls", "docker", "psql"],
        ),
        ('echo `git log` $(git diff "$(pwd)")', ["git", "pwd", "git", "echo"]),
        ("npx create-next-app@latest x", ["npx", "create-next-app"]),
        ("python manage.py migrate", ["python", "manage.py"]),
        ("", []),
    ],
)
def test_every_program_that_a_line_starts_is_found_and_no_other(
    text: str, programs: list[str]
) -> None:
    assert programs_in(text) == programs


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
    assert [
        file for command in read_script(text).commands for file in written_files(command)
    ] == files


def test_powershell_has_its_own_escapes_and_folders() -> None:
    command, *_ = read_script(
        "Remove-Item C:\\build\\out `\n -Recurse", is_powershell=True
    ).commands
    assert command.words == ("Remove-Item", "C:\\build\\out", "-Recurse")


def test_what_echo_pipes_into_a_program_is_its_text() -> None:
    call = Call("Bash", {"command": "echo 'DROP TABLE a' | psql x"})
    assert call.programs[1].has('"DROP TABLE"', ())
    assert not call.programs[1].has('"DROP VIEW"', ())


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
def test_a_command_of_a_quarter_megabyte_is_read_in_bounded_time(unit: str) -> None:
    text = unit * (250_000 // len(unit))
    began = time.process_time()
    script = read_script(text)
    assert time.process_time() - began < 1  # quadratic time would be many seconds
    assert len(script.commands) <= MOST_COMMANDS
    assert sum(len(word) for command in script.commands for word in command.words) <= 300_000


PUSHES = [
    "export N=$((1 << 20))\ngit push --force",
    "cat <<EOF | bash\ngit push --force\nEOF",
    "bash -s <<'EOF'\ngit push --force\nEOF",
    "bash <<< 'git push --force'",
    "echo 'git push --force' | sh",
    "eval git push --force",
    "ssh host 'cd app && git push --force'",
    "docker exec web sh -c 'git push --force'",
    "kubectl exec -n a pod -- git push --force",
    "watch -n 5 git push --force",
    "watch 'git push --force'",
    "setsid git push --force",
    "nohup git push --force &",
    "timeout -k 5 60 git push --force",
    "script -q -c 'git push --force' /dev/null",
    "parallel git push ::: --force",
    "echo --force | xargs git push",
    "find . -maxdepth 0 -exec git push --force ';'",
    "${x:-$(git push --force)}",
    "git push --{force,tags}",
    "g=git; $g push --force",
    'flags=(--force -q); git push "${flags[@]}"',
    "p='git push'; $p --force",
    'f() { git push "$@"; }; f --force',
    "alias gp='git push'; gp --force",
    "trap 'git push --force' EXIT",
    "if true; then (cd web; git push --force); fi",
    "diff <(git push --force) a",
    "env -S 'git push --force'",
    "for f in --force; do git push $f; done",
    "/usr/bin/git push --force",
    "cat <<EOF > log && git push --force\nbody\nEOF",
    "pwsh -c 'git push --force'",
]


@pytest.mark.parametrize("text", PUSHES)
def test_a_program_is_found_wherever_it_is_hidden(text: str) -> None:
    words = [
        (found.name, *found.arguments)
        for command in read_script(text).commands
        for found in command.invocations
    ]
    assert any(one[:2] == ("git", "push") and "--force" in one for one in words)


@pytest.mark.parametrize(
    "text",
    [
        "f() { git push; }",
        "alias gp='git push'",
        "echo git push",
        "cat > a.sh <<'EOF'\ngit push\nEOF",
        "git commit -m 'git push'",
        "python - <<'EOF'\nimport os\nos.system('git push')\nEOF",
    ],
)
def test_what_only_defines_or_prints_a_command_does_not_run_it(text: str) -> None:
    assert not any(
        found.name == "git" and found.arguments[:1] == ("push",)
        for command in read_script(text).commands
        for found in command.invocations
    )


@pytest.mark.parametrize(
    "text",
    [
        "((" * 2_500 + " git",
        '$(" ' * 500 + "git",
        "git|" * 30_000,
        "git;" * 2_001,
        "( " * 41 + "git" + " )" * 41,
        "git " + "x" * 64_001,
        "x=aaaaaaaaaa; " + "x=$x$x; " * 8 + "git " + "$x " * 5_000,
        "f() { g; g; }; " + "g() { h; h; }; h() { i; i; }; i() { git; git; };" + "f; " * 300,
        "eval '" + "eval " * 50 + "git'",
        "git 'open",
    ],
)
def test_what_is_too_large_too_deep_or_wrong_is_not_read_and_says_why(text: str) -> None:
    began = time.process_time()
    script = read_script(text)
    assert time.process_time() - began < 2
    assert script.commands == ()
    assert script.why_partial
    assert script.may_start("git")
    assert not script.may_start("gi")


def test_documents_that_no_shell_reads_count_for_nothing() -> None:
    document = "cat > notes <<'EOF'\n" + "use git here | often;\n" * 10_000 + "EOF\n"
    assert programs_in(f"{document}ls") == ["cat", "ls"]
    partial = read_script(f"{document}echo 'open")
    assert partial.is_partial
    assert not partial.may_start("git")
    assert read_script("bash <<'EOF'\ngit push\nEOF\necho 'open").may_start("git")
    assert read_script("echo $((1 << 20))\ngit push\necho 'open").may_start("git")


def test_a_fed_powershell_that_is_too_large_makes_the_whole_script_partial() -> None:
    script = read_script('pwsh -Command "Remove-Item x;' + "a;" * 2001 + '"')
    assert script.is_partial
    assert script.may_start("Remove-Item")
