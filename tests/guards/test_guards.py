"""A guard meets the calls that go against a lesson, reads a command as the shell does, and says so in words."""

import time
from typing import Any

import pytest

from mcp_reflect.errors import InputError
from mcp_reflect.guards.call import Call
from mcp_reflect.guards.guard import parse_guard
from mcp_reflect.guards.matching import matches, may_be_met


def call_of(call: str | dict[str, Any]) -> Call:
    return (
        Call("Bash", {"command": call})
        if isinstance(call, str)
        else Call(call["tool"], call["arguments"])
    )


@pytest.mark.parametrize(
    ("guard", "met", "passed"),
    [
        (
            "Bash: `git commit` with `-a` or `--all`",
            [
                "git commit -am x",
                "cd a && git -C b commit --all",
                "sudo git commit -m x -a",
                "sh -c 'git commit -a'",
            ],
            [
                "git commit -m 'a -a'",
                "git add -a",
                "echo git commit -a",
                "git commit --amend",
                "git commit --help",
            ],
        ),
        (
            "Bash: `tsc` without `--noEmit`",
            ["npx tsc -p .", "yarn tsc", "CI=1 tsc"],
            ["tsc --noEmit", "tsc --noEmit=true", "cat tsc", "tsc --version"],
        ),
        (
            "Bash: `rm` with `-r` and `node_modules`",
            ["rm -rf ./node_modules", "rm a/node_modules -r"],
            ["rm -r x"],
        ),
        (
            "Bash: `npm test` without `cd web &&`",
            ["npm test"],
            ["cd web && npm test", "(cd ../web; npm test)"],
        ),
        (
            "Bash: `pytest` without `uv run ...`",
            ["python -m pytest"],
            ["uv run pytest", "uv run python -m pytest"],
        ),
        (
            "Bash: `pytest` without an argument",
            ["pytest -q", "pytest -n 4"],
            ["pytest tests", "pytest -k x"],
        ),
        (
            "Bash: `flask db` without `ENV=dev`",
            ["flask db x"],
            ["ENV=dev flask db x", "export ENV=dev; flask db x"],
        ),
        (
            "Bash: `git push` with `--force` or `-f`",
            [
                "$(which git) push -f",
                "$(command -v git) push --force",
                "`which git` push -f",
                "git push $(echo --force)",
                'git push "$(echo --force)"',
                "git push $(echo origin main -f)",
                "$( which  git ) push -f",
                "$(which 'git') push -f",
                "git push $(echo  '--force'   origin )",
                "git push $(\n  echo --force\n)",
            ],
            [
                "git push $(echo -n)",
                "git push $(cat flags)",
                'git push "$(echo origin -f)"',
                "$(which -a) push -f",
                "git push $(echo 'a --force b' | cut -c1)",
            ],
        ),
        ("Bash: `npm test` with `| tail`", ["npm test 2>&1 | tail -5"], ["npm test; tail a"]),
        ("Bash: `npm run` without `&`", ["npm run dev"], ["npm run dev &"]),
        (
            'Bash: `psql` with `"UPDATE"` without `"WHERE"`',
            ["psql -c 'update a set b'"],
            ["psql -c 'UPDATE a WHERE b'"],
        ),
        ("Bash: `go test` without `-race`", ["go test -r"], ["go test -race ./..."]),
        (
            "Bash: `rm` with `-rf`",
            [
                "rm -rf x",
                "rm -fr x",
                "rm -r -f x",
                "rm -r x -f",
                "rm -vfr x",
                "rm -Rf x",
                "rm --recursive --force x",
                "rm -r --force x",
            ],
            ["rm -r x", "rm -f x", "rm --recursive x", "rm f -r", "rm -- x -r", "rmdir -r -f x"],
        ),
        (
            "Bash: `git clean` with `-fd`",
            ["git clean -df", "git clean -d --force", "git -C a clean -xdf"],
            ["git clean -n -d", "git -C -f clean -n"],
        ),
        ("Bash: `ls` with `-all`", ["ls -all"], ["ls -la", "ls -l -a"]),
        ("Bash: `go test` with `-run`", ["go test -run X"], ["go test -r -u -n"]),
        ("Bash: `docker run` without `-it`", ["docker run -t x"], ["docker run -t -i x"]),
        (
            "Edit or a shell redirect: dist/bundle.js",
            ["echo > dist/bundle.js"],
            ["cat dist/bundle.js", "echo > bundle.js"],
        ),
        (
            "Edit or a shell redirect: vendor/ or *.pb.go",
            ["cp a vendor/b", "echo >> x.pb.go"],
            ["cp vendor/b a"],
        ),
    ],
)
def test_a_guard_meets_what_it_says_in_any_way_to_write_it(
    guard: str, met: list[str], passed: list[str]
) -> None:
    parsed = parse_guard(guard)
    assert [call for call in met if not matches(parsed, call_of(call))] == []
    assert [call for call in passed if matches(parsed, call_of(call))] == []
    assert str(parsed) == guard
    assert parse_guard(str(parsed)) == parsed
    assert all(call_of(call).keys & set(parsed.keys) for call in met)


PATCH = "*** Begin Patch\n*** Update File: a\n*** Move to: dist/bundle.js\n*** End Patch"


@pytest.mark.parametrize(
    ("call", "met"),
    [
        ({"tool": "Write", "arguments": {"file_path": "dist//bundle.js"}}, True),
        ({"tool": "Write", "arguments": {"file_path": "/a/dist/./bundle.js"}}, True),
        ({"tool": "Edit", "arguments": {"file_path": "dist/x/../bundle.js"}}, True),
        ({"tool": "Edit", "arguments": {"file_path": "dist/../bundle.js"}}, False),
        ({"tool": "apply_patch", "arguments": {"input": PATCH}}, True),
        ({"tool": "apply_patch", "arguments": {"command": ["apply_patch", PATCH]}}, True),
        ({"tool": "shell", "arguments": {"command": ["apply_patch", PATCH]}}, True),
        ("echo a > dist/../dist/bundle.js", True),
        ("cd dist; echo a > bundle.js", True),
        ("cd dist && cp ../a bundle.js", True),
        ("cd src && cd ../dist && echo a > ./bundle.js", True),
        ("bash -c 'cd dist; echo a > bundle.js'", True),
        ("cd dist; cd ..; echo a > bundle.js", False),
        ("cd dist; echo a > /tmp/bundle.js", False),
        ("bash -c 'cd dist'; echo a > bundle.js", False),
        ("(cd dist; ls); echo a > bundle.js", False),
        ("cd dist | ls; echo a > bundle.js", False),
        ("ls || cd dist; echo a > bundle.js", False),
        ("if a; then cd dist; fi; echo a > bundle.js", False),
        ("cd dist; pushd $X; echo a > bundle.js", False),
        ("cd dist; echo a > bundle.css", False),
        ("pushd dist; echo a > bundle.js", True),
        ("pushd dist; popd; echo a > bundle.js", False),
        ("pushd +1; echo a > bundle.js", False),
        ("curl -sSLo dist/bundle.js http://a", True),
        ("curl --output=dist/bundle.js http://a", True),
        ("curl -H dist/bundle.js http://a", False),
        ("wget -qO dist/bundle.js http://a", True),
        ("wget http://a/dist/bundle.js", False),
        ("sort -o dist/bundle.js a", True),
        ("sort dist/bundle.js", False),
        ("ln -sf x dist/bundle.js", True),
        ("ln -sf dist/bundle.js x", False),
        ("cp bundle.js dist", True),
        ("cp src/bundle.js ./dist/", True),
        ("mv a.js bundle.js dist", True),
        ("cp -t dist bundle.js", True),
        ("cd web; mv bundle.js dist", True),
        ("cp bundle.js other", False),
        ("cp dist/bundle.js dist.old", False),
        ("(cd dist && sed -i s/x/y/ bundle.js)", True),
        ("ls; (cd dist && ls && echo a > bundle.js)", True),
        ("cd web && (cd dist && echo a > bundle.js) && ls", True),
        ("(cd dist && ls) && echo a > bundle.js", False),
        ("(cd dist && ls); (echo a > bundle.js)", False),
        ("(cd dist && cd .. && echo a > bundle.js)", False),
        ("(ls || cd dist && echo a > bundle.js)", False),
        ("rsync src/a.js dist/bundle.js", True),
        ("rsync dist/bundle.js backup/", False),
        ("scp host:x dist/bundle.js", True),
        ("scp dist/bundle.js host:x", False),
        ("install -m 644 src/a.js dist/bundle.js", True),
        ("install -m 644 dist/bundle.js /srv/x", False),
        (
            {
                "tool": "mcp__filesystem__move_file",
                "arguments": {"source": "a.js", "destination": "dist/bundle.js"},
            },
            True,
        ),
    ],
)
def test_the_path_of_an_edit_is_compared_as_it_is_without_detours(call: Any, met: bool) -> None:
    guard = parse_guard("Edit or a shell redirect: dist/bundle.js")
    found = call_of(call)
    assert matches(guard, found) is met
    assert not met or found.keys & set(guard.keys)


@pytest.mark.parametrize(
    "command", ["cp bundle.js bundle.js.bak", "mv bundle.ts bundle.js.old", "cp bundle.js other/"]
)
def test_a_copy_of_a_file_is_no_change_of_it_where_nobody_says_that_its_place_is_a_folder(
    command: str,
) -> None:
    assert not matches(parse_guard("Edit or a shell redirect: bundle.js"), call_of(command))


def test_a_guard_of_a_tool_compares_its_arguments() -> None:
    guard = parse_guard("mcp__jira__search: with `limit: > 100` without `dry_run: true`")
    assert matches(guard, Call("mcp__jira__search", {"limit": 500}))
    assert not matches(guard, Call("mcp__jira__search", {"limit": 100}))
    assert not matches(guard, Call("mcp__jira__search", {"limit": 500, "dry_run": True}))
    assert not matches(guard, Call("mcp__jira__get", {"limit": 500}))


@pytest.mark.parametrize(
    "text",
    ["", "Bash:", "Bash: ", "Edit: *", "Edit: /", "Read", "x" * 401, "Bash: `a`" + " or `b`" * 20],
)
def test_a_guard_that_says_nothing_or_everything_is_an_error_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match="git push"):
        parse_guard(text)


def test_words_of_a_guard_without_backticks_are_one_command() -> None:
    guard = parse_guard("Bash: git push with --force or -f without --force-with-lease")
    assert str(guard) == "Bash: `git push` with `--force` or `-f` without `--force-with-lease`"


@pytest.mark.parametrize(
    ("words", "met"),
    [
        (["bash", "-lc", "git push -f"], True),
        (["git", "push", "-f"], True),
        (["bash", "push.sh", "git push -f"], False),
        (["git", "commit", "-m", "git push -f"], False),
    ],
)
def test_a_command_that_is_a_list_of_words_is_read_as_it_runs(words: Any, met: bool) -> None:
    assert (
        matches(parse_guard("Bash: `git push` with `-f`"), Call("shell", {"command": words})) is met
    )


@pytest.mark.parametrize(
    ("tool", "met"),
    [
        ("create_issue", True),
        ("mcp__plugin_jira__create_issue", True),
        ("mcp__jira__create_issue", True),
        ("mcp__linear__create_issue", False),
        ("mcp__otherjira__create_issue", False),
        ("myjira__create_issue", False),
    ],
)
def test_a_tool_of_another_server_is_another_tool(tool: str, met: bool) -> None:
    assert (
        matches(parse_guard("jira__create_issue: with `type: Bug`"), Call(tool, {"type": "Bug"}))
        is met
    )


@pytest.mark.parametrize(
    "arguments", [None, [], "git push", 3, {"command": None}, {"command": ["bash", "-lc", "ls"]}]
)
def test_a_call_with_any_arguments_is_compared_without_a_fault(arguments: Any) -> None:
    for tool in ("Bash", "Edit", "other", ""):
        assert not matches(parse_guard("Bash: `rm` with `-rf`"), Call(tool, arguments))


def test_a_long_list_hides_no_argument_beside_it() -> None:
    guard = parse_guard("mcp__db__insert: with `path: x`")
    rows: Any = list(range(500))
    assert matches(guard, Call("mcp__db__insert", {"path": "x", "rows": rows}))
    assert matches(guard, Call("mcp__db__insert", {"rows": rows, "path": "x"}))


def test_deep_and_large_arguments_and_slow_patterns_are_compared_in_bounded_time() -> None:
    nested: Any = "x"
    for _ in range(10_000):
        nested = [nested]
    slow = parse_guard("Edit or a shell redirect: *a*a*a*a*a*a*a*a*a*b")
    began = time.process_time()
    assert not matches(parse_guard("mcp__a__b: with `x: 1`"), Call("mcp__a__b", {"x": nested}))
    assert not matches(slow, Call("Write", {"file_path": "a" * 900}))
    assert not matches(slow, call_of("a " * 500_000))
    many = [
        parse_guard(f"Bash: `git push` with `--x{number}` or `-q` without `-z`")
        for number in range(300)
    ]
    flags = call_of("git push " + "-ab " * 14_000)
    assert not any(matches(guard, flags) for guard in many)
    assert time.process_time() - began < 2


def test_a_refspec_with_a_plus_forces_a_push() -> None:
    guard = parse_guard("Bash: `git push` with `--force` or `-f`")
    assert matches(guard, call_of("git push origin +main"))
    assert not matches(guard, call_of("git push origin main"))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Execute", {"command": "terraform destroy"}),  # Droid
        ("Monitor", {"command": "terraform destroy", "description": "wait"}),  # Claude Code
        ("runCommands", {"command": "terraform destroy"}),
        ("run_commands", {"command": "terraform destroy"}),
        ("run_in_terminal", {"command": "terraform destroy"}),
        ("run_terminal_cmd", {"command": "terraform destroy"}),
        ("BASH", {"cmd": "terraform destroy"}),
        ("execute_bash", {"command": "terraform destroy"}),
        ("mcp__commander__start_process", {"command": "terraform destroy"}),
        ("Bash", {"command": "terraform", "args": ["destroy"]}),
        ("Shell", {"command": "bash", "args": ["-lc", "cd infra && terraform destroy"]}),
        ("exec", {"cmd": "terraform -chdir=infra", "arguments": ["destroy", "-auto-approve"]}),
        ("Bash", {"command": "terraform", "args": "destroy"}),
    ],
)
def test_a_command_is_read_whatever_the_host_calls_its_shell(
    tool: str, arguments: dict[str, Any]
) -> None:
    assert matches(parse_guard("Bash: `terraform destroy`"), Call(tool, arguments))


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("str_replace_based_edit_tool", {"command": "view", "path": "terraform destroy"}),
        ("memory", {"command": "create", "file_text": "terraform destroy"}),
        ("execute_sql", {"command": "terraform destroy"}),
        ("save_note", {"command": "terraform destroy"}),
        ("Bash", {"command": "echo", "args": ["terraform", "destroy"]}),
        ("Bash", {"command": "grep", "args": ["-r", "terraform destroy; terraform destroy"]}),
        ("Task", {"prompt": "terraform destroy", "args": ["terraform", "destroy"]}),
    ],
)
def test_what_is_no_command_of_a_shell_meets_no_guard_of_one(
    tool: str, arguments: dict[str, Any]
) -> None:
    assert not matches(parse_guard("Bash: `terraform destroy`"), Call(tool, arguments))


@pytest.mark.parametrize(
    "tool", ["mcp__jira__search", "jira.search", "jira/search", "jira:search", "search"]
)
@pytest.mark.parametrize("guard", ["mcp__jira__search", "jira.search", "jira__search", "search"])
def test_a_tool_is_the_same_however_its_server_is_written(guard: str, tool: str) -> None:
    parsed, call = parse_guard(f"{guard}: with `limit: > 100`"), Call(tool, {"limit": 200})
    assert matches(parsed, call)
    assert not call.keys.isdisjoint(parsed.keys)
    assert not matches(parsed, Call("mcp__confluence__search", {"limit": 200})) or guard == "search"


@pytest.mark.parametrize("value", [1000, 1e3, "1000", "1e3", "1,000", " 1_000 ", "+101", "1000.5"])
def test_a_text_that_is_certainly_a_number_is_one(value: str | float) -> None:
    assert matches(parse_guard("search: with `limit: > 100`"), Call("search", {"limit": value}))
    assert not matches(parse_guard("search: with `limit: < 100`"), Call("search", {"limit": value}))


@pytest.mark.parametrize(
    "value",
    ["100", "1,5", "1,0000", "200 items", "200k", "150-200", "1.000,5", "", "1e", "e3", "."],
)
def test_any_other_text_is_no_number_above_the_limit(value: str) -> None:
    assert not matches(parse_guard("search: with `limit: > 100`"), Call("search", {"limit": value}))


@pytest.mark.parametrize(
    ("guard", "pretends", "does"),
    [
        ("Bash: `git push` with `--force`", "git push --force --dry-run", "git push --force"),
        ("Bash: `git push` with `-f`", "git push -nf", "git push -f"),
        ("Bash: `make deploy`", "make -n deploy", "make -k deploy"),
        (
            "Bash: `kubectl delete`",
            "kubectl delete pod a --dry-run=client",
            "kubectl delete pod a --dry-run=none",
        ),
        ("Bash: `npm publish` with `--dry-run`", "npm publish", "npm publish --dry-run"),
        ("Bash: `git commit` with `-n`", "git commit -m x", "git commit -nm x"),
    ],
)
def test_a_call_that_only_says_what_it_would_do_goes_against_nothing(
    guard: str, pretends: str, does: str
) -> None:
    assert not matches(parse_guard(guard), call_of(pretends))
    assert matches(parse_guard(guard), call_of(does))


@pytest.mark.parametrize(
    ("guard", "command", "is_met"),
    [
        ("Bash: `rm` with `-rf`", "rm list -rf dist", True),
        ("Bash: `rm` with `-rf`", "rm info -rf dist", True),
        ("Bash: `git push` with `--force`", "git push list --force", True),
        ("Bash: `chmod` with `777`", "chmod status 777", True),
        ("Bash: `helm` with `--namespace`", "helm list --namespace prod", False),
        ("Bash: `git stash` with `--all`", "git stash list --all", False),
        ("Bash: `rm` with `-rf`", "rm --help -rf", False),
    ],
)
def test_a_file_by_the_name_of_a_subcommand_asks_nothing(
    guard: str, command: str, *, is_met: bool
) -> None:
    assert matches(parse_guard(guard), call_of(command)) is is_met


@pytest.mark.parametrize(
    ("tool", "arguments", "is_met"),
    [
        ("mcp__serena__create_text_file", {"relative_path": "config/prod.yaml"}, True),
        ("mcp__serena__delete_lines", {"relative_path": "config/prod.yaml", "start_line": 1}, True),
        ("mcp__serena__replace_content", {"relative_path": "config/prod.yaml"}, True),
        ("mcp__serena__read_file", {"relative_path": "config/prod.yaml"}, False),
        ("mcp__serena__create_text_file", {"relative_path": "config/dev.yaml"}, False),
        ("mcp__jetbrains__replace_text_in_file", {"pathInProject": "config/prod.yaml"}, True),
        ("mcp__jetbrains__get_file_text", {"pathInProject": "config/prod.yaml"}, False),
    ],
)
def test_a_file_is_guarded_from_editors_that_name_it_in_their_own_way(
    tool: str, arguments: dict[str, Any], *, is_met: bool
) -> None:
    guard = parse_guard("Edit: config/prod.yaml")
    assert matches(guard, Call(tool, arguments)) is is_met


@pytest.mark.parametrize(
    "text", ["Bash: ``", "Edit: ``", "PowerShell: ``", "Bash: `` with `--force`", "Bash: `--force`"]
)
def test_a_guard_without_a_program_or_a_file_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"it does not name the (?:program|file)"):
        parse_guard(text)


@pytest.mark.parametrize(
    "text",
    [
        'eval "$(ssh-agent -s)" && git push',
        "eval `ssh-agent -s`; ssh-add k; git push origin main",
        "eval $(minikube docker-env) && git status",
        'sh -c "$(cat x)" && git push',
        'eval "$(direnv hook bash)"; git push',
    ],
)
def test_a_script_that_a_command_prints_is_not_known_and_holds_nothing(text: str) -> None:
    guard = parse_guard("Bash: `git push` with `--force`")
    call = Call("Bash", {"command": text})
    assert (matches(guard, call), may_be_met(guard, call)) == (False, False)
    forced = Call("Bash", {"command": f"{text} && git push --force"})
    assert matches(guard, forced)
