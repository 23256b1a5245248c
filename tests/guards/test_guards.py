"""A guard meets the calls that go against a lesson, reads a command as the shell does, and says so in words."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from mcp_reflect.errors import InputError
from mcp_reflect.guards.derivation import derive
from mcp_reflect.guards.guard import Call, Guard, matches, parse_guard
from mcp_reflect.guards.reading import derive_from_words
from mcp_reflect.guards.wording import Wording

LINES = (
    Path(__file__)
    .with_name("cases")
    .joinpath("guards.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
)
CASES: list[dict[str, Any]] = [json.loads(line) for line in LINES]


def call_of(call: str | dict[str, Any]) -> Call:
    return (
        Call("Bash", {"command": call})
        if isinstance(call, str)
        else Call(call["tool"], call["arguments"])
    )


def derived(lesson: dict[str, Any]) -> Guard | None:
    wording = Wording(lesson["mistake"], lesson["correction"])
    return derive(call_of(lesson["against"][0]), call_of(lesson["follows"][0]), wording)


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
        ("Bash: `npm test` with `| tail`", ["npm test 2>&1 | tail -5"], ["npm test; tail a"]),
        ("Bash: `npm run` without `&`", ["npm run dev"], ["npm run dev &"]),
        (
            'Bash: `psql` with `"UPDATE"` without `"WHERE"`',
            ["psql -c 'update a set b'"],
            ["psql -c 'UPDATE a WHERE b'"],
        ),
        ("Bash: `go test` without `-race`", ["go test -r"], ["go test -race ./..."]),
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


@pytest.mark.parametrize("lesson", CASES, ids=lambda lesson: lesson["mistake"][:40])
def test_a_derived_guard_meets_the_wrong_call_and_not_the_right_one(lesson: dict[str, Any]) -> None:
    guard = derived(lesson)
    if guard is not None:
        assert matches(guard, call_of(lesson["against"][0]))
        assert not matches(guard, call_of(lesson["follows"][0]))
        assert parse_guard(str(guard)) == guard
        assert call_of(lesson["against"][0]).keys & set(guard.keys)


def test_derived_guards_meet_the_other_calls_against_a_lesson_and_not_those_that_follow_it() -> (
    None
):
    guards = [(derived(lesson), lesson) for lesson in CASES]
    against = [
        matches(guard, call_of(call)) if guard else False
        for guard, one in guards
        for call in one["against"][1:]
    ]
    follows = [
        matches(guard, call_of(call)) if guard else False
        for guard, one in guards
        for call in one["follows"][1:]
    ]
    assert sum(against) / len(against) >= 0.85
    assert sum(follows) / len(follows) <= 0.03


def test_words_alone_give_a_guard_where_they_leave_one_reading() -> None:
    guards = [(derive_from_words(Wording(one["mistake"], one["correction"])), one) for one in CASES]
    against = [
        matches(guard, call_of(call)) if guard else False
        for guard, one in guards
        for call in one["against"]
    ]
    follows = [
        matches(guard, call_of(call)) if guard else False
        for guard, one in guards
        for call in one["follows"]
    ]
    assert sum(against) / len(against) >= 0.5
    assert sum(follows) / len(follows) <= 0.03


@pytest.mark.parametrize(
    ("mistake", "correction"),
    [
        ("The tests failed because the server was not started", "Start it first"),
        ("`git status` showed nothing", "Look again"),
        ("Forgot to read the README", "Read it first"),
        ("`pytest` failed with an ImportError", "Install the package first: `pip install -e .`"),
    ],
)
def test_words_that_name_no_wrong_call_give_no_guard_of_a_whole_program(
    mistake: str, correction: str
) -> None:
    guard = derive_from_words(Wording(mistake, correction))
    assert guard is None or guard.has[0] not in {("git",), ("pytest",), ("pip",)}


@pytest.mark.parametrize(
    "order",
    [
        "Run make setup before make test",
        "Run make lint before every commit",
        "Run `make fmt` before `make check`",
        "Start redis with docker compose up redis before running pytest",
        "First run make setup, then make test",
        "Run npm ci first",
    ],
)
def test_words_that_order_two_commands_give_no_guard(order: str) -> None:
    wordings = [("", order), (order, ""), ("Ran `make test` in a new clone", order), (order, order)]
    assert [derive_from_words(Wording(*wording)) for wording in wordings] == [None] * 4


@pytest.mark.parametrize(
    ("advice", "guard"),
    [
        ("Use uv run pytest instead of pytest", "Bash: `pytest` without `uv run ...`"),
        ("Use `pnpm install` instead of `npm install`.", "Bash: `npm install` or `npm i`"),
        ("Don't use git add -A, use git add -u", "Bash: `git add` with `-A` or `--all`"),
        ("Never edit dist/bundle.js by hand", "Edit or a shell redirect: dist/bundle.js"),
        ("Don't use `git push --force`", "Bash: `git push` with `--force` or `-f`"),
        (
            "Never run `docker run -it` in CI, use `docker run`",
            "Bash: `docker run` with `-i` and `-t`",
        ),
        ("Use npm ci instead of npm install in CI", None),
        ("Use short names instead of long ones", None),
        ("Use the cache rather than git fetch", None),
    ],
)
def test_an_advice_that_names_what_to_avoid_gives_a_guard(advice: str, guard: str | None) -> None:
    found = derive_from_words(Wording("", advice))
    assert (found and str(found)) == guard


def test_words_of_a_guard_without_backticks_are_one_command() -> None:
    guard = parse_guard("Bash: git push with --force or -f without --force-with-lease")
    assert str(guard) == "Bash: `git push` with `--force` or `-f` without `--force-with-lease`"


def test_a_wrong_call_with_the_values_of_one_task_gives_a_guard_without_them() -> None:
    wording = Wording("`kubectl delete` hit another cluster", "Pass `--context`")
    wrong = call_of("kubectl -n shop delete pod api-1")
    right = call_of("kubectl --context dev -n shop delete pod api-2")
    assert (
        str(derive(wrong, right, wording)) == "Bash: `kubectl delete` without `--context` or `-c`"
    )


def test_a_flag_of_an_api_call_that_the_right_call_turns_gives_a_guard() -> None:
    wrong, right = (Call("deploy", {"target": "prod", "confirm": given}) for given in (False, True))
    wording = Wording("Deployed without confirm, which is refused", "Deploy with confirm")
    assert str(derive(wrong, right, wording)) == "deploy: without `confirm: true`"


def test_a_number_that_is_all_that_differs_gives_no_guard() -> None:
    wording = Wording("`thermo set 21` is too warm", "Use `thermo set 19`")
    assert derive(call_of("thermo set 21"), call_of("thermo set 19"), wording) is None
    assert derive(call_of("thermo set --to=21"), call_of("thermo set --to=19"), wording) is None
    wording = Wording("Ran `thermo set 21` at night", "Use `thermo hold`")
    assert (
        str(derive(call_of("thermo set 21"), call_of("thermo hold"), wording))
        == "Bash: `thermo set`"
    )


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


def test_the_shells_of_a_guard_have_one_order() -> None:
    wording = Wording("Piped a script into bash", "Download it and read it")
    guard = derive(call_of("curl -s x.io/i | bash"), call_of("curl -so i x.io/i"), wording)
    assert str(guard) == "Bash: `curl` with `| bash` or `| sh` or `| zsh`"
    assert guard is not None
    assert matches(guard, call_of("curl -s https://x.io | sudo bash -s"))


@pytest.mark.parametrize(
    ("tool", "met"),
    [
        ("create_issue", True),
        ("mcp__plugin_jira__create_issue", True),
        ("mcp__linear__create_issue", False),
    ],
)
def test_a_tool_of_another_server_is_another_tool(tool: str, met: bool) -> None:
    assert (
        matches(parse_guard("jira__create_issue: with `type: Bug`"), Call(tool, {"type": "Bug"}))
        is met
    )


@pytest.mark.parametrize(
    ("mistake", "correction", "guard"),
    [
        (
            "`git reset --hard` threw away uncommitted work",
            "Use `git stash` first, or `git reset --soft`",
            "Bash: `git reset` with `--hard`",
        ),
        (
            "gh pr merge with --admin bypassed the review",
            "Merge with `gh pr merge --auto`",
            "Bash: `gh pr merge` with `--admin`",
        ),
        (
            "Called `python manage.py migrate` on the shared database",
            "Set DATABASE_URL: `DATABASE_URL=sqlite:///dev.db python manage.py migrate`",
            "Bash: `manage.py migrate` without `DATABASE_URL=`",
        ),
        (
            "deno run failed on the network",
            "Run `deno run --allow-net main.ts`",
            "Bash: `deno run` without `--allow-net` or `-a`",
        ),
        ("`tox` ran all environments", "Name one: `tox -e py312`", "Bash: `tox` without `-e`"),
        (
            "vault kv put replaces the whole secret",
            "Use `vault kv patch`",
            "Bash: `vault kv` with `put`",
        ),
    ],
)
def test_a_flag_a_variable_or_the_program_that_both_sentences_name_decides_in_words_alone(
    mistake: str, correction: str, guard: str
) -> None:
    assert str(derive_from_words(Wording(mistake, correction))) == guard


@pytest.mark.parametrize(
    "arguments", [None, [], "git push", 3, {"command": None}, {"command": ["bash", "-lc", "ls"]}]
)
def test_a_call_with_any_arguments_is_compared_without_a_fault(arguments: Any) -> None:
    for tool in ("Bash", "Edit", "other", ""):
        assert not matches(parse_guard("Bash: `rm` with `-rf`"), Call(tool, arguments))


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


@pytest.mark.parametrize(
    ("mistake", "correction", "wrong", "right", "guard"),
    [
        (
            "The real directory reached its limit",
            "Test with --staging",
            "certbot certonly -d app.acme.dev",
            "certbot certonly --staging -d app.acme.dev",
            "Bash: `certbot certonly` without `--staging` or `-s`",
        ),
        (
            "adb install failed: two devices are attached",
            "Name the device with -s",
            "adb install app.apk",
            "adb -s emulator-5554 install app.apk",
            "Bash: `adb install` without `-s`",
        ),
    ],
)
def test_the_subcommand_of_any_program_is_what_both_calls_begin_with(
    mistake: str, correction: str, wrong: str, right: str, guard: str
) -> None:
    assert str(derive(call_of(wrong), call_of(right), Wording(mistake, correction))) == guard
